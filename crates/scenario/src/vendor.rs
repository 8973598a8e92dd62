//! Parameters of NICs, switches and subnet managers under the names that their vendors use.
//!
//! The table is data (`vendor/keys.toml`). `[vendor.NAME]` in a scenario, `explain` and the book read it.

use std::sync::LazyLock;

use serde::Deserialize;

/// A vendor with its parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vendor {
    /// Its table in a scenario: `[vendor.NAME]`.
    pub name: String,
    /// The product.
    pub title: String,
    /// Where names and units are documented.
    pub source: String,
    /// A command that uses one; empty where none has a counterpart.
    #[serde(default)]
    pub example: String,
    /// Its parameters.
    pub keys: Vec<Key>,
}

/// A vendor's parameter.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// The table that it stands in, for configurations of several tables.
    #[serde(default)]
    pub table: String,
    /// Its name.
    pub key: String,
    /// Further names.
    #[serde(default)]
    pub also: Vec<String>,
    /// The key here, if there is one.
    pub ours: Option<String>,
    /// How a value becomes one of ours.
    pub turns: Option<Turn>,
    /// The vendor's unit.
    #[serde(default)]
    pub unit: String,
    /// The vendor's default, if it is documented.
    #[serde(default)]
    pub default: String,
    /// With no key here: the values that Paceline acts by.
    #[serde(default)]
    pub same: Vec<String>,
    /// With no key here: the reason.
    #[serde(default)]
    pub about: String,
    /// A key that gives the value its meaning.
    pub needs: Option<String>,
}

/// Conversions of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// The same number.
    Same,
    /// The number with the other sign, which must not be negative.
    Negate,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// `drop`, `forward` or `alert`.
    Action,
    /// Mbit/s.
    Mbps,
    /// Bytes.
    Bytes,
    /// Credits of 64 bytes.
    Credits,
    /// Percent.
    Percent,
    /// 1024ths.
    Of1024,
    /// What is missing to 1024, in 1024ths.
    RestOf1024,
    /// Bit 0.
    Flag,
    /// All bits or none.
    Mask,
    /// Numbers between commas.
    List,
    /// Zero for a share of 1.
    UnchangedIfZero,
}

impl Turn {
    /// The value as a scenario has it.
    ///
    /// # Errors
    /// What was expected.
    pub fn apply(self, text: &str) -> Result<String, String> {
        let text = text.trim();
        let whole = || whole(text).ok_or_else(|| "expected a whole number".to_string());
        let at_least_zero = || match whole()? {
            number if number >= 0 => Ok(number),
            _ => Err("expected a number of at least 0".to_string()),
        };
        let share = |number: i64, of: i64| match (0..=of).contains(&number) {
            true => Ok(number as f64 / of as f64),
            false => Err(format!("expected a number from 0 to {of}")),
        };
        Ok(match self {
            Self::Same => at_least_zero()?.to_string(),
            Self::Negate => match whole()? {
                number if number <= 0 => (-number).to_string(),
                _ => return Err("a pause threshold above the free buffer is not modelled".to_string()),
            },
            Self::Us => format!("\"{}us\"", at_least_zero()?),
            Self::Ms => format!("\"{}ms\"", at_least_zero()?),
            Self::Action => match text {
                "drop" | "forward" | "alert" => format!("\"{text}\""),
                _ => return Err("expected drop, forward or alert".to_string()),
            },
            Self::Mbps => format!("\"{}Mbps\"", at_least_zero()?),
            Self::Bytes => format!("\"{}B\"", at_least_zero()?),
            Self::Credits => format!("\"{}B\"", at_least_zero()?.saturating_mul(64)),
            Self::Percent => share(whole()?, 100)?.to_string(),
            Self::Of1024 => share(whole()?, 1024)?.to_string(),
            Self::RestOf1024 => (1.0 - share(whole()?, 1024)?).to_string(),
            Self::Flag => match text.to_lowercase().as_str() {
                "true" => "true".to_string(),
                "false" => "false".to_string(),
                _ => (at_least_zero()? & 1 == 1).to_string(),
            },
            Self::Mask => {
                let digits = text.trim_start_matches("0x").to_lowercase();
                let all = |of: char| !digits.is_empty() && digits.chars().all(|digit| digit == of);
                match (all('0'), all('f')) {
                    (true, _) => "false".to_string(),
                    (_, true) => "true".to_string(),
                    _ => return Err("expected no port (0) or all ports (0xff..)".to_string()),
                }
            }
            Self::List => {
                let parts: Option<Vec<i64>> = text.split(',').map(|part| self::whole(part.trim())).collect();
                let parts = parts.ok_or("expected numbers between commas")?;
                format!("{parts:?}")
            }
            Self::UnchangedIfZero => match whole()? {
                0 => "1.0".to_string(),
                _ => {
                    return Err(
                        "a rate depends on the line: set the share in cc.dcqcn.rate-on-first-cnp".to_string(),
                    );
                }
            },
        })
    }

    /// The conversion in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Same => "the same number",
            Self::Negate => "the number without its sign",
            Self::Us => "with its unit: 4 is \"4us\"",
            Self::Ms => "with its unit: 200 is \"200ms\"",
            Self::Action => "the same word",
            Self::Mbps => "with its unit: 5 is \"5Mbps\"",
            Self::Bytes => "with its unit: 1000 is \"1000B\"",
            Self::Credits => "times 64 bytes: 8 is \"512B\"",
            Self::Percent => "a share: 5 is 0.05",
            Self::Of1024 => "a share: 1023 is 0.9990234375",
            Self::RestOf1024 => "1 - value/1024: 1019 is 0.0048828125",
            Self::Flag => "0 is false, 1 is true",
            Self::Mask => "no port is false, all ports are true",
            Self::List => "a list: \"3,4\" is [3, 4]",
            Self::UnchangedIfZero => "0 is 1.0; other values as a share of the rate",
        }
    }
}

/// A whole number, decimal or hexadecimal.
fn whole(text: &str) -> Option<i64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Key {
    /// The name with its table.
    pub fn path(&self) -> String {
        match self.table.as_str() {
            "" => self.key.clone(),
            table => format!("{table}.{}", self.key),
        }
    }

    /// Whether `name` is this parameter, in either case, also as firmware names that of a port (`_P1`).
    pub fn is_called(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        let port = ["_p1", "_p2"].iter().find_map(|end| lower.strip_suffix(end));
        let is = |own: &str| own.to_lowercase() == lower || port == Some(own.to_lowercase().as_str());
        is(&self.path()) || is(&self.key) || self.also.iter().any(|own| is(own))
    }

    /// The unit, the conversion, or the reason, in a phrase.
    pub fn words(&self) -> String {
        let Some(turns) = self.turns.filter(|_| self.ours.is_some()) else {
            return self.about.clone();
        };
        match self.unit.as_str() {
            "" => turns.words().to_string(),
            unit => format!("in {unit}; {}", turns.words()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vendors {
    vendor: Vec<Vendor>,
}

/// All vendors.
pub fn vendors() -> &'static [Vendor] {
    static VENDORS: LazyLock<Vec<Vendor>> = LazyLock::new(|| {
        let read = toml::from_str::<Vendors>(include_str!("vendor/keys.toml"));
        read.expect("the table is tested").vendor
    });
    &VENDORS
}

/// The parameter of this name, with its vendor.
pub fn find(name: &str) -> Option<(&'static Vendor, &'static Key)> {
    let all = || {
        let of = |vendor: &'static Vendor| vendor.keys.iter().map(move |key| (vendor, key));
        vendors().iter().flat_map(of)
    };
    let exact = all().find(|(_, key)| key.path().eq_ignore_ascii_case(name));
    exact.or_else(|| all().find(|(_, key)| key.is_called(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_converted_by_hand() {
        for (turn, there, here) in [
            (Turn::RestOf1024, "1019", "0.0048828125"),
            (Turn::Of1024, "1023", "0.9990234375"),
            (Turn::Mbps, "5", "\"5Mbps\""),
            (Turn::Us, "300", "\"300us\""),
            (Turn::Bytes, "32767", "\"32767B\""),
            (Turn::Ms, "200", "\"200ms\""),
            (Turn::Action, "forward", "\"forward\""),
            (Turn::Credits, "8", "\"512B\""),
            (Turn::Percent, "5", "0.05"),
            (Turn::Negate, "-3", "3"),
            (Turn::Same, "0x0F", "15"),
            (Turn::Flag, "0x0001", "true"),
            (Turn::Flag, "false", "false"),
            (Turn::Mask, "0xFFFF", "true"),
            (Turn::Mask, "0x0000", "false"),
            (Turn::List, "3,4", "[3, 4]"),
            (Turn::UnchangedIfZero, "0", "1.0"),
        ] {
            assert_eq!(turn.apply(there).as_deref(), Ok(here), "{turn:?} {there}");
        }
        for (turn, there) in [
            (Turn::Us, "4us"),
            (Turn::Us, "-1"),
            (Turn::Ms, "0.2"),
            (Turn::Action, "none"),
            (Turn::Percent, "101"),
            (Turn::Of1024, "-1"),
            (Turn::Negate, "3"),
            (Turn::Mask, "0x0F"),
            (Turn::List, "3;4"),
            (Turn::UnchangedIfZero, "50000"),
        ] {
            assert!(turn.apply(there).is_err(), "{turn:?} {there}");
        }
    }

    #[test]
    fn every_parameter_has_a_key_or_a_reason() {
        for vendor in vendors() {
            for key in &vendor.keys {
                assert_eq!(key.ours.is_some(), key.turns.is_some(), "{}", key.path());
                assert_eq!(key.ours.is_none(), !key.about.is_empty(), "{}", key.path());
                let default = key.turns.filter(|_| !key.default.is_empty());
                let turned = default.map(|turns| turns.apply(&key.default));
                assert!(turned.is_none_or(|turned| turned.is_ok()), "{}", key.path());
            }
        }
        assert_eq!(find("RPG_AI_RATE_P1").unwrap().1.key, "rpg_ai_rate");
        assert_eq!(find("np_cnp_dscp").unwrap().0.name, "connectx");
        assert_eq!(
            find("BUFFER_PROFILE.xoff").unwrap().1.ours.as_deref(),
            Some("network.headroom.fixed")
        );
    }
}
