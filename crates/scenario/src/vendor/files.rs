//! Vendors' configuration files: SONiC's `config_db.json`, the output of `mlxconfig`, options of subnet managers.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

use super::item::{Fate, Item};
use super::{Key, Vendor, vendors};
use crate::diagnostics::{Problem, Source};

/// Format of a vendor's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Tables of entries with keys, in JSON.
    Json,
    /// Lines of a name with several values, of which the current one counts, as `mlxconfig` prints them.
    Columns,
    /// Lines of a name and a value, with `#` before comments.
    Options,
}

/// Reads a vendor's file whose first character is at `start`.
///
/// # Errors
/// If the file is not in the vendor's format.
pub(crate) fn read(vendor: &'static Vendor, source: &Source, start: usize) -> Result<Vec<Item>, Problem> {
    let mut items = match vendor.file {
        Format::Json => json(source)?,
        Format::Columns => columns(source.text()),
        Format::Options => options(source.text()),
    };
    for item in &mut items {
        item.key = vendor.key(&item.table, &item.name);
        item.name_span = item.name_span.start + start..item.name_span.end + start;
        item.span = item.span.start + start..item.span.end + start;
    }
    if items.iter().any(|item| item.key.is_some()) {
        return Ok(items);
    }
    let message = format!(
        "`{}` has no setting that `paceline explain {}` lists",
        source.name(),
        vendor.name
    );
    Err(Problem::new(message).help(format!("expected a file such as `{}`", vendor.file_name)))
}

/// Returns the vendor whose file this looks like: the one that knows most of its names.
pub(crate) fn vendor_of(text: &str) -> Option<&'static Vendor> {
    let source = Source::new("", text);
    let known = |vendor: &'static Vendor| {
        let items = read(vendor, &source, 0).unwrap_or_default();
        // Names that are a single word also occur in other files, so they do not count.
        let is_telling = |item: &&Item| !item.table.is_empty() || item.name.contains('_');
        let is_own = |item: &&Item| {
            let is = |key: &Key| item.key.is_some_and(|known| std::ptr::eq(known, key));
            vendor.keys.iter().any(is)
        };
        items.iter().filter(is_telling).filter(is_own).count()
    };
    let has_counterparts = |vendor: &&'static Vendor| vendor.keys.iter().any(|key| key.ours.is_some());
    let all = vendors().iter().filter(has_counterparts);
    // Reversed, so that of equals the first vendor wins.
    let best = all
        .map(|vendor| (known(vendor), vendor))
        .rev()
        .max_by_key(|(known, _)| *known);
    best.filter(|(known, _)| *known > 0).map(|(_, vendor)| vendor)
}

/// Word of a file, and its position.
type Word<'t> = (&'t str, Range<usize>);

fn item(table: &str, entry: &str, name: Word<'_>, value: Word<'_>) -> Item {
    let (name, name_span) = name;
    Item {
        table: table.to_string(),
        entry: entry.to_string(),
        name: name.to_string(),
        value: value.0.to_string(),
        name_span,
        span: value.1,
        in_file: true,
        key: None,
        fate: Fate::Own,
    }
}

/// Returns the words of a line with their positions in the text.
fn words<'t>(text: &'t str, line: &'t str) -> impl Iterator<Item = (&'t str, Range<usize>)> {
    let base = text.as_ptr() as usize;
    line.split_whitespace().map(move |word| {
        let at = word.as_ptr() as usize - base;
        (word, at..at + word.len())
    })
}

/// Parses lines such as `* RPG_AI_RATE_P1   5   10   10`: a star if the values differ, then the default, the current
/// value and that of the next boot, or fewer of them.
fn columns(text: &str) -> Vec<Item> {
    let mut column = 0;
    let mut items = Vec::new();
    for line in text.lines() {
        if let Some((_, titles)) = line.split_once("Configurations:") {
            let titles = titles.replace("Next Boot", "Next");
            column = titles
                .split_whitespace()
                .position(|title| title == "Current")
                .unwrap_or(0);
            continue;
        }
        let line = line.trim_start().trim_start_matches('*');
        let mut words = words(text, line);
        let Some(name) = words.next() else { continue };
        let values: Vec<_> = words.collect();
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        // Also `NAME=value`, which is mlxconfig's input syntax.
        if let Some((word, value)) = name.0.split_once('=')
            && is_name(word)
            && values.is_empty()
        {
            let at = name.1.start;
            let value_at = at + word.len() + 1..name.1.end;
            items.push(item("", "", (word, at..at + word.len()), (value, value_at)));
            continue;
        }
        let value = values.get(column).or(values.last());
        if let Some(value) = value.filter(|_| is_name(name.0)) {
            items.push(item("", "", name, value.clone()));
        }
    }
    items
}

/// Parses lines such as `cc_ca_cong_setting_ccti_timer 0 150`.
fn options(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = words(text, line);
        let Some((name, name_at)) = words.next() else {
            continue;
        };
        let mut rest = words.filter(|(word, _)| !matches!(*word, "=" | ":"));
        let Some((first, at)) = rest.next() else { continue };
        let end = rest.last().map_or(at.end, |(_, at)| at.end);
        let value = text.get(at.start..end).unwrap_or(first);
        if value != "(null)" {
            let name = name.trim_end_matches([':', '=']);
            let name_at = name_at.start..name_at.start + name.len();
            items.push(item("", "", (name, name_at), (value, at.start..end)));
        }
    }
    items
}

/// JSON value with the positions of its strings; numbers and booleans are strings too.
enum Json<'t> {
    Text(Cow<'t, str>),
    List(Vec<Self>),
    Table(Vec<(Cow<'t, str>, Self)>),
}

/// String, borrowed from the text unless it has escapes.
struct Text<'t>(Cow<'t, str>);

impl<'t> Deserialize<'t> for Text<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        match Json::deserialize(deserializer)? {
            Json::Text(text) => Ok(Self(text)),
            _ => Err(de::Error::custom("expected a text")),
        }
    }
}

impl<'t> Deserialize<'t> for Json<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'t> Visitor<'t> for Any {
            type Value = Json<'t>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'t str) -> Result<Json<'t>, E> {
                Ok(Json::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Json<'t>, E> {
                Ok(Json::Text(Cow::Owned(text.to_string())))
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Json<'t>, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Json<'t>, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Json<'t>, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Json<'t>, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_unit<E: de::Error>(self) -> Result<Json<'t>, E> {
                Ok(Json::List(Vec::new()))
            }
            fn visit_seq<A: SeqAccess<'t>>(self, mut list: A) -> Result<Json<'t>, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(Json::List(all))
            }
            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Json<'t>, A::Error> {
                let mut all = Vec::new();
                while let Some((Text(key), value)) = map.next_entry()? {
                    all.push((key, value));
                }
                Ok(Json::Table(all))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

impl Json<'_> {
    /// Returns the value on one line, with lists separated by commas as SONiC's tools write them.
    fn value(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.to_string()),
            Self::List(list) => {
                let all: Option<Vec<String>> = list.iter().map(Self::value).collect();
                Some(all?.join(","))
            }
            Self::Table(_) => None,
        }
    }
}

/// Parses tables of entries with keys: `{"BUFFER_POOL": {"ingress_lossless_pool": {"size": "11213696"}}}`.
fn json(source: &Source) -> Result<Vec<Item>, Problem> {
    let text = source.text();
    let base = text.as_ptr() as usize;
    let span = |text: &Cow<'_, str>, other: &Range<usize>| match text {
        // A borrowed text lies within the source, so its address gives its position.
        Cow::Borrowed(text) => {
            let at = text.as_ptr() as usize - base;
            at..at + text.len()
        }
        Cow::Owned(_) => other.clone(),
    };
    let tables = match serde_json::from_str::<Json<'_>>(text) {
        Ok(Json::Table(tables)) => tables,
        Ok(_) => {
            return Err(Problem::new(
                "expected tables of SONiC's configuration: { \"TABLE\": { .. } }",
            ));
        }
        Err(error) => {
            let lines = text.split_inclusive('\n').map(str::len);
            let before: usize = lines.take(error.line().saturating_sub(1)).sum();
            let at = (before + error.column().saturating_sub(1)).min(text.len());
            let message = error.to_string();
            let message = message.split(" at line").next().unwrap_or_default();
            return Err(Problem::new(format!("this is not JSON: {message}")).at(&source.at(at..at)));
        }
    };
    let mut items = Vec::new();
    for (table, entries) in &tables {
        let table_at = span(table, &(0..0));
        let Json::Table(entries) = entries else { continue };
        for (entry, keys) in entries {
            let entry_at = span(entry, &table_at);
            let mut push = |entry: &str, (name, name_at): (&str, Range<usize>), value: &Json<'_>| {
                if let Some(shown) = value.value() {
                    let at = match value {
                        Json::Text(text) => span(text, &name_at),
                        _ => name_at.clone(),
                    };
                    items.push(item(table, entry, (name, name_at), (&shown, at)));
                }
            };
            match keys {
                Json::Table(keys) => {
                    for (key, value) in keys {
                        push(entry, (key, span(key, &entry_at)), value);
                    }
                }
                value => push("", (entry, entry_at.clone()), value),
            }
        }
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vendor(name: &str) -> &'static Vendor {
        vendors().iter().find(|vendor| vendor.name == name).unwrap()
    }

    fn shown(name: &str, text: &str) -> Vec<String> {
        let items = read(vendor(name), &Source::new("f", text), 0).unwrap();
        let shown = |item: &Item| {
            assert_eq!(text.get(item.name_span.clone()), Some(item.name.as_str()));
            assert_eq!(text.get(item.span.clone()), Some(item.value.as_str()), "{item:?}");
            format!("{} = {}", item.path(), item.value)
        };
        items
            .iter()
            .filter(|item| item.key.is_some())
            .map(shown)
            .collect()
    }

    #[test]
    fn what_mlxconfig_prints() {
        let text = "\nDevice #1:\n----------\n\nDevice type:    ConnectX6\nName:           MCX653105A\n\n\
                    Configurations:                              Default         Current         Next Boot\n\
                    *        RPG_AI_RATE_P1                      5               10              20\n\
                    \x20        CLAMP_TGT_RATE_P1                   False(0)        False(0)        False(0)\n\
                    \x20        NUM_OF_VFS                          0               16              16\n";
        let found = shown("connectx", text);
        assert_eq!(found, ["rpg_ai_rate = 10", "clamp_tgt_rate = False(0)"]);
        let text = "Configurations:          Next Boot\n  ROCE_CC_PRIO_MASK_P1   255(0xff)\nRPG_GD_P1=11\n";
        let found = shown("connectx", text);
        assert_eq!(found, ["roce_cc_prio_mask = 255(0xff)", "rpg_gd = 11"]);
    }

    #[test]
    fn options_of_subnet_managers() {
        let text = "# CC\ncongestion_control TRUE\ncc_ca_cong_setting_ccti_timer 0 150 # SL 0\n\
                    cc_ca_cong_setting_ccti_timer 1 150\ncc_cct (null)\nsm_priority 15\n";
        let found = shown("opensm", text);
        assert_eq!(
            found,
            [
                "congestion_control = TRUE",
                "cc_ca_cong_setting_ccti_timer = 0 150",
                "cc_ca_cong_setting_ccti_timer = 1 150"
            ]
        );
        assert_eq!(shown("ccmgr", "packet_size: 0x200\nenable = TRUE\n").len(), 2);
    }

    #[test]
    fn tables_of_sonic() {
        let text = r#"{"DEVICE_METADATA": {"localhost": {"hwsku": "X"}}, "BUFFER_POOL": {"ingress_lossless_pool":
            {"size": "11213696", "mode": "dynamic"}}, "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3,4"}}}"#;
        assert_eq!(
            shown("sonic", text),
            [
                "BUFFER_POOL.ingress_lossless_pool.size = 11213696",
                "BUFFER_POOL.ingress_lossless_pool.mode = dynamic",
                "PORT_QOS_MAP.Ethernet0.pfc_enable = 3,4"
            ]
        );
        let error = read(vendor("sonic"), &Source::new("f", "{\"A\":\n1,}"), 0).unwrap_err();
        assert!(
            error.to_string().starts_with("f:2:3: this is not JSON"),
            "{error}"
        );
        assert!(read(vendor("sonic"), &Source::new("f", "{}"), 0).is_err());
        for (text, name) in [
            (text, Some("sonic")),
            ("RPG_AI_RATE_P1  5\n", Some("connectx")),
            ("cc_max_outstanding_mads 500\n", Some("opensm")),
            ("marking_rate 0xa\n", Some("ccmgr")),
            ("{\"flows\": 3}", None),
            ("duration = \"1ms\"\n", None),
        ] {
            assert_eq!(vendor_of(text).map(|vendor| vendor.name.as_str()), name, "{text}");
        }
    }
}
