//! Parsing and formatting of quantities with units.

use std::fmt;
use std::str::FromStr;

use super::{BitRate, Bytes, PS_PER_S, Span, Time};

/// Reason for which a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Text without a number at its beginning.
    #[error("expected a number followed by a unit, such as {example}, found `{found}`")]
    NoNumber {
        /// Text that was found.
        found: String,
        /// Valid text as an example.
        example: &'static str,
    },
    /// Number without a unit.
    #[error("`{found}` has no unit: write for example {example}")]
    NoUnit {
        /// Text that was found.
        found: String,
        /// Valid text as an example.
        example: &'static str,
    },
    /// Unit that the quantity does not have.
    #[error("unknown unit `{unit}`: expected {expected}")]
    UnknownUnit {
        /// Unit that was found.
        unit: String,
        /// Valid units of the quantity.
        expected: &'static str,
    },
    /// Value above the upper limit.
    #[error("`{found}` is too large: expected at most {most}")]
    TooLarge {
        /// Text that was found.
        found: String,
        /// Highest valid value as text.
        most: &'static str,
    },
}

/// Textual properties of a quantity.
struct UnitKind {
    /// Valid text as an example in error messages.
    example: &'static str,
    units: &'static str,
    /// Highest value, as number and text. The sum of two of them, and the product with a number of hosts, fit
    /// in 64 bits.
    most: (u64, &'static str),
}

/// The limit is a day, so the sum of several is before the end of time
/// ([`crate::queue::EventQueue::END_OF_TIME`]).
const TIME: UnitKind = UnitKind {
    example: "\"1us\"",
    units: "s, ms, us, ns or ps",
    most: (Time::LATEST.as_ps(), "86400s"),
};
const SIZE: UnitKind = UnitKind {
    example: "\"64KB\"",
    units: "B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB (powers of 1024)",
    most: (Bytes::LARGEST.get(), "1000TB"),
};
const RATE: UnitKind = UnitKind {
    example: "\"100Gbps\"",
    units: "bps, Kbps, Mbps, Gbps or Tbps",
    most: (BitRate::LARGEST.as_bps(), "1000Tbps"),
};

/// Splits `text` into its decimal number (as digits and the number of decimals) and its unit.
fn split(text: &str, kind: &UnitKind) -> Result<(u128, u32, String), QuantityError> {
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let number = trimmed[..end].replace('_', "");
    let unit = trimmed[end..].trim().to_string();
    let no_number = || QuantityError::NoNumber {
        found: trimmed.to_string(),
        example: kind.example,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(no_number());
    }
    let fraction = fraction.trim_end_matches('0');
    // With this limit the product with any unit fits in 128 bits.
    if whole.len() + fraction.len() > 24 {
        return Err(QuantityError::TooLarge {
            found: trimmed.to_string(),
            most: kind.most.1,
        });
    }
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| no_number())?;
    Ok((digits, fraction.len() as u32, unit))
}

/// Parses `text` as an integer multiple of the smallest unit; fractions of it are truncated.
fn parse(
    text: &str,
    kind: &UnitKind,
    unit_size: impl Fn(&str) -> Option<u128>,
) -> Result<u64, QuantityError> {
    let (digits, decimals, unit) = split(text, kind)?;
    if unit.is_empty() {
        return Err(QuantityError::NoUnit {
            found: text.trim().to_string(),
            example: kind.example,
        });
    }
    let Some(size) = unit_size(&unit) else {
        let expected = kind.units;
        return Err(QuantityError::UnknownUnit { unit, expected });
    };
    let too_large = || QuantityError::TooLarge {
        found: text.trim().to_string(),
        most: kind.most.1,
    };
    let value = digits.checked_mul(size).ok_or_else(too_large)? / 10u128.pow(decimals);
    let value = u64::try_from(value).ok().filter(|value| *value <= kind.most.0);
    value.ok_or_else(too_large)
}

impl FromStr for Span {
    type Err = QuantityError;
    /// Parses `"1us"`, `"2.5 ms"`; a fraction of a picosecond is truncated.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(text, &TIME, |unit| match unit {
            "s" => Some(PS_PER_S as u128),
            "ms" => Some(1_000_000_000),
            "us" | "µs" => Some(1_000_000),
            "ns" => Some(1_000),
            "ps" => Some(1),
            _ => None,
        })
        .map(Self)
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    /// Parses `"500KB"` (units of 1000 bytes, as in the literature), `"64KiB"` (units of 1024), `"300B"`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(text, &SIZE, |unit| match unit {
            "B" | "bytes" | "byte" => Some(1),
            "KB" | "kB" => Some(1_000),
            "MB" => Some(1_000_000),
            "GB" => Some(1_000_000_000),
            "TB" => Some(1_000_000_000_000),
            "KiB" => Some(1 << 10),
            "MiB" => Some(1 << 20),
            "GiB" => Some(1 << 30),
            _ => None,
        })
        .map(Self)
    }
}

impl FromStr for BitRate {
    type Err = QuantityError;
    /// Parses `"100Gbps"`, `"50Mb/s"`, `"25 Gbit/s"`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(text, &RATE, |unit| {
            let prefix = ["bps", "b/s", "bit/s", "bits/s"]
                .iter()
                .find_map(|suffix| unit.strip_suffix(suffix))?;
            match prefix {
                "" => Some(1),
                "k" | "K" => Some(1_000),
                "M" => Some(1_000_000),
                "G" => Some(1_000_000_000),
                "T" => Some(1_000_000_000_000),
                _ => None,
            }
        })
        .map(Self)
    }
}

/// Writes `value` in the largest unit with a short exact decimal.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    for &(size, name) in units {
        // At most three decimals without a rounding error.
        if value >= size && (value as u128 * 1000).is_multiple_of(size as u128) {
            let thousandths = value as u128 * 1000 / size as u128;
            let (whole, fraction) = (thousandths / 1000, thousandths % 1000);
            if fraction == 0 {
                return write!(f, "{whole}{name}");
            }
            let decimals = format!("{fraction:03}");
            return write!(f, "{whole}.{}{name}", decimals.trim_end_matches('0'));
        }
    }
    let (_, name) = units[units.len() - 1];
    write!(f, "{value}{name}")
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(
            f,
            self.0,
            &[
                (PS_PER_S, "s"),
                (1_000_000_000, "ms"),
                (1_000_000, "us"),
                (1_000, "ns"),
                (1, "ps"),
            ],
        )
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 1 << 10 && self.0.is_multiple_of(1 << 10) && !self.0.is_multiple_of(1000) {
            return write_scaled(f, self.0, &[(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]);
        }
        write_scaled(
            f,
            self.0,
            &[
                (1_000_000_000_000, "TB"),
                (1_000_000_000, "GB"),
                (1_000_000, "MB"),
                (1_000, "KB"),
                (1, "B"),
            ],
        )
    }
}
impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(
            f,
            self.0,
            &[
                (1_000_000_000_000, "Tbps"),
                (1_000_000_000, "Gbps"),
                (1_000_000, "Mbps"),
                (1_000, "Kbps"),
                (1, "bps"),
            ],
        )
    }
}

macro_rules! quantity_traits {
    ($($name:ident: $what:literal),*) => { $(
        impl fmt::Debug for $name {
            /// Writes the display form. With `{:-?}` it is the number alone, after `@` for instants, so that
            /// comparisons of states at different times can recognise them.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                if f.sign_minus() {
                    let sign = if stringify!($name) == "Time" { '@' } else { '~' };
                    return write!(f, "{sign}{}", self.0);
                }
                fmt::Display::fmt(self, f)
            }
        }
        impl serde::Serialize for $name {
            /// Serialises as a text with a unit, which parses to the same value; in formats that nobody reads, as the
            /// number.
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match serializer.is_human_readable() {
                    true => serializer.collect_str(self),
                    false => serializer.serialize_u64(self.0),
                }
            }
        }
    )* };
}
quantity_traits!(Time: "a time", Span: "a time", Bytes: "a size", BitRate: "a rate");

impl FromStr for Time {
    type Err = QuantityError;
    /// Parses an instant as the span since the start of the run.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        text.parse::<Span>().map(|span| Self(span.0))
    }
}

macro_rules! quantity_deserialize {
    ($($name:ident: $what:literal),*) => { $(
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($what, " as a text with its unit"))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                match deserializer.is_human_readable() {
                    true => deserializer.deserialize_str(Text),
                    false => serde::Deserialize::deserialize(deserializer).map(Self),
                }
            }
        }
    )* };
}
quantity_deserialize!(Time: "a time, such as \"10us\",", Span: "a time, such as \"10us\",", Bytes: "a size, such as \"64KB\",", BitRate: "a rate, such as \"100Gbps\",");
