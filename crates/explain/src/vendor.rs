//! Parameters under their vendors' names.

use std::sync::LazyLock;

use paceline_congestion::registry::Scheme;
use paceline_lab::layout;
use paceline_scenario::vendor::{Key, Vendor, find, vendors};

/// Returns all names, with a short description of each.
pub(crate) fn list() -> impl Iterator<Item = (&'static str, String)> {
    static NAMES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
        let of = |vendor: &'static Vendor| {
            let names = vendor.keys.iter().map(|key| (key.path(), here(key).to_string()));
            let page = format!("keys of {}", vendor.title);
            std::iter::once((vendor.name.clone(), page)).chain(names)
        };
        vendors()
            .iter()
            .filter(|vendor| is_readable(vendor))
            .flat_map(of)
            .collect()
    });
    NAMES.iter().map(|(name, here)| (name.as_str(), here.clone()))
}

/// Returns true if any of its keys has a counterpart. Names of other vendors are explained but not listed.
fn is_readable(vendor: &Vendor) -> bool {
    vendor.keys.iter().any(|key| key.ours.is_some())
}

fn here(key: &Key) -> &str {
    key.ours.as_deref().unwrap_or("not modelled")
}

/// Returns the page of a vendor's parameter, of a table of its configuration, or of the vendor.
pub(crate) fn page(name: &str, width: usize) -> Option<String> {
    let of_vendor = |vendor: &&Vendor| vendor.name.eq_ignore_ascii_case(name);
    if let Some(vendor) = vendors().iter().find(of_vendor) {
        let about = format!(
            "Keys of {} and their counterparts here. Source: {}. `[vendor]` takes its file as well: `{} = \"{}\"`.",
            vendor.title, vendor.source, vendor.name, vendor.file_name
        );
        return Some(
            layout::paragraph(&about, width) + "\n" + &table(&vendor.keys, width) + &example(vendor),
        );
    }
    let has_table = |vendor: &&Vendor| vendor.keys.iter().any(|key| is_in(key, name));
    if let Some(vendor) = vendors().iter().find(has_table) {
        let about = format!(
            "Keys of the table {name} of {}, and their counterparts here.",
            vendor.title
        );
        let keys = vendor.keys.iter().filter(|key| is_in(key, name));
        return Some(layout::paragraph(&about, width) + "\n" + &table(keys, width) + &example(vendor));
    }
    let (vendor, key) = find(name)?;
    let default = match key.default.as_str() {
        "" => String::new(),
        default => format!(" Default there: {default}."),
    };
    let about = match &key.ours {
        Some(ours) => format!(
            "`{}` of {} is `{ours}` here. Values: {}.{default}",
            key.path(),
            vendor.title,
            key.words()
        ),
        None => format!(
            "`{}` of {} is not modelled: {}.{}{default}",
            key.path(),
            vendor.title,
            key.about,
            as_here(key)
        ),
    };
    let mut page = layout::paragraph(&about, width);
    if !key.also.is_empty() {
        page.push_str(&layout::paragraph(
            &format!("Also called {}.", key.also.join(", ")),
            width,
        ));
    }
    for (ours, value) in &key.sets {
        let text = format!(
            "`[vendor.{}]` sets `{ours} = \"{value}\"` with it, unless that is set.",
            vendor.name
        );
        page.push_str(&layout::paragraph(&text, width));
    }
    page.push_str(&example(vendor));
    Some(page)
}

/// Describes the values that match Paceline's behaviour.
fn as_here(key: &Key) -> String {
    match key.same.first() {
        Some(same) => format!(" Paceline does the same as with {same}."),
        None => String::new(),
    }
}

fn is_in(key: &Key, table: &str) -> bool {
    !table.is_empty() && key.table.eq_ignore_ascii_case(table)
}

fn example(vendor: &Vendor) -> String {
    let Some(key) = vendor.keys.iter().find(|key| key.ours.is_some()) else {
        return String::new();
    };
    format!(
        "\nIn a scenario: [vendor.{}], or --set vendor.{}.{}=<value>.\nAll of them: paceline explain {}\n{}",
        vendor.name,
        vendor.name,
        key.path(),
        vendor.name,
        crate::example::shown(&vendor.example)
    )
}

fn table<'k>(keys: impl IntoIterator<Item = &'k Key>, width: usize) -> String {
    let row = |key: &Key| vec![format!("  {}", key.path()), here(key).to_string(), key.words()];
    let rows: Vec<_> = keys.into_iter().map(row).collect();
    layout::columns(&rows, width)
}

/// Returns the part of a scheme's page on vendors' names.
pub(crate) fn of_scheme(scheme: &Scheme, width: usize) -> String {
    let block = format!("cc.{}.", scheme.name);
    let is_of = |key: &Key| key.ours.as_deref().is_some_and(|ours| ours.starts_with(&block));
    let mut text = String::new();
    for vendor in vendors() {
        let keys: Vec<&Key> = vendor.keys.iter().filter(|key| is_of(key)).collect();
        if !keys.is_empty() {
            text.push_str(&format!(
                "\nNames of {} (all: paceline explain {}):\n",
                vendor.title, vendor.name
            ));
            text.push_str(&table(keys, width));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::explain;

    #[test]
    fn a_vendors_name_leads_to_ours_or_is_said_to_be_missing() {
        for (name, says) in [
            (
                "rpg_ai_rate",
                "`rpg_ai_rate` of NVIDIA ConnectX is `cc.dcqcn.rate-ai` here. Values: in Mbit/s; with its unit: 5 is \"5Mbps\". \
                 Default there: 5.",
            ),
            ("RPG_GD_P1", "`rpg_gd` of NVIDIA ConnectX is not modelled:"),
            ("np_min_time_between_cnps", "`cc.dcqcn.cnp-interval` here"),
            ("rpg_byte_reset", "with flavour = \"paper\" only"),
            ("green_min_threshold", "is `network.ecn.kmin` here"),
            ("BUFFER_PROFILE.xoff", "is `network.headroom.fixed` here"),
            ("PFC_WD", "network.pfc.watchdog.detection"),
            ("cc_sw_cong_setting_packet_size", "8 is \"512B\""),
            ("connectx", "rpg_hai_rate"),
            ("broadcom", "not modelled"),
        ] {
            let page = explain(name, 2000).unwrap();
            assert!(page.contains(says), "{page}");
        }
        assert!(explain("dcqcn", 100).unwrap().contains("rpg_hai_rate"));
        assert!(
            explain("ibcc", 100)
                .unwrap()
                .contains("cc_ca_cong_setting_ccti_timer")
        );
    }
}
