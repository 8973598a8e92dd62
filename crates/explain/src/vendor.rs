//! Parameters as vendors of NICs name them.

use paceline_congestion::dcqcn::vendor::{NAMES, VendorName};
use paceline_congestion::registry::Scheme;
use paceline_lab::layout;

/// Whose names they are.
const VENDOR: &str = "NVIDIA's ConnectX";

/// The vendor's parameter of this name, in either case.
fn find(name: &str) -> Option<&'static VendorName> {
    NAMES.iter().find(|vendor| vendor.name.eq_ignore_ascii_case(name))
}

/// All names, with a few words on each.
pub(crate) fn list() -> impl Iterator<Item = (&'static str, String)> {
    NAMES.iter().map(|vendor| (vendor.name, here(vendor)))
}

fn here(vendor: &VendorName) -> String {
    match vendor.ours {
        Some(ours) => format!("cc.dcqcn.{ours}"),
        None => "not modelled".to_string(),
    }
}

/// The page of a vendor's parameter.
pub(crate) fn page(name: &str, width: usize) -> Option<String> {
    let vendor = find(name)?;
    let about = match vendor.ours {
        Some(ours) => format!(
            "`{}` of {VENDOR} is `cc.dcqcn.{ours}` here. Values: {}.",
            vendor.name, vendor.about
        ),
        None => format!("`{}` of {VENDOR} is not modelled: {}.", vendor.name, vendor.about),
    };
    let mut page = layout::paragraph(&about, width);
    page.push_str("\nAll names of this vendor:\n");
    page.push_str(&table(width));
    page.push_str("\nExample:\n  paceline explain dcqcn\n");
    Some(page)
}

fn table(width: usize) -> String {
    let row = |vendor: &VendorName| {
        vec![
            format!("  {}", vendor.name),
            vendor.ours.unwrap_or("not modelled").to_string(),
            vendor.about.to_string(),
        ]
    };
    let rows: Vec<_> = NAMES.iter().map(row).collect();
    layout::columns(&rows, width)
}

/// What a scheme's page says of vendors' names.
pub(crate) fn of_scheme(scheme: &Scheme, width: usize) -> String {
    if scheme.name != "dcqcn" {
        return String::new();
    }
    format!("\nNames on {VENDOR}:\n{}", table(width))
}

#[cfg(test)]
mod tests {
    use crate::explain;

    #[test]
    fn a_vendors_name_leads_to_ours_or_is_said_to_be_missing() {
        for (name, says) in [
            (
                "rpg_ai_rate",
                "`rpg_ai_rate` of NVIDIA's ConnectX is `cc.dcqcn.rate-ai` here. Values: in Mbit/s: 5 is \"5Mbps\".",
            ),
            ("RPG_GD", "`rpg_gd` of NVIDIA's ConnectX is not modelled:"),
            ("rpg_byte_reset", "with flavour = \"paper\" only"),
        ] {
            let page = explain(name, 2000).unwrap();
            assert!(page.contains(says), "{page}");
        }
        assert!(explain("dcqcn", 100).unwrap().contains("rpg_hai_rate"));
    }
}
