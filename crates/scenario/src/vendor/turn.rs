//! Conversions of vendors' values, in every notation that their tools use.

use serde::Deserialize;

/// Conversion of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Turn {
    /// Number that needs no conversion.
    Same,
    /// Power of two, converted to the equivalent right shift.
    Power,
    /// Time in whole microseconds.
    Us,
    /// Time in whole milliseconds.
    Ms,
    /// Word `drop`, `forward` or `alert`.
    Action,
    /// Rate in whole Mbit/s.
    Mbps,
    /// Size in whole bytes.
    Bytes,
    /// Size in credits of 64 bytes.
    Credits,
    /// Share in whole percent.
    Percent,
    /// Share in units of 1/1024.
    Of1024,
    /// Complement of a share in units of 1/1024: 1024 minus the value.
    RestOf1024,
    /// Boolean in bit 0.
    Flag,
    /// Mask of ports: all or none.
    Mask,
    /// List of numbers separated by commas.
    List,
    /// Rate after the first CNP, where zero leaves the line rate, a share of 1; no other value can be converted.
    UnchangedIfZero,
}

/// Exponents of a switch's alpha, which is a power of two.
const POWERS: std::ops::RangeInclusive<i64> = -8..=7;

impl Turn {
    /// Converts a value to a scenario's notation.
    ///
    /// # Errors
    /// A description of the expected value.
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
            Self::Power => match whole()? {
                number if POWERS.contains(&number) => (-number).to_string(),
                _ => {
                    return Err(format!(
                        "expected a power of two from {} to {}",
                        POWERS.start(),
                        POWERS.end()
                    ));
                }
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
            Self::Flag => (at_least_zero()? & 1 == 1).to_string(),
            Self::Mask => ports(text)?.to_string(),
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

    /// Describes the conversion for `explain` and the book.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Same => "the same number",
            Self::Power => "the number with the other sign: -3 is 3",
            Self::Us => "with its unit: 4 is \"4us\"",
            Self::Ms => "with its unit: 200 is \"200ms\"",
            Self::Action => "the same word",
            Self::Mbps => "with its unit: 5 is \"5Mbps\"",
            Self::Bytes => "with its unit: 1000 is \"1000B\"",
            Self::Credits => "times 64 bytes: 8 is \"512B\"",
            Self::Percent => "a share: 5 is 0.05",
            Self::Of1024 => "a share: 1023 is 0.9990234375",
            Self::RestOf1024 => "1 - value/1024: 1019 is 0.0048828125",
            Self::Flag => "0 and False(0) are false, 1 and True(1) are true",
            Self::Mask => "no port is false; ports from 0 or 1 on without a gap are true",
            Self::List => "a list: \"3,4\" is [3, 4]",
            Self::UnchangedIfZero => "0 is 1.0; other values as a share of the rate",
        }
    }
}

/// Parses an integer: decimal, hexadecimal, a boolean, or a word with its number as in `True(1)` and `ECN(0)`.
pub(crate) fn whole(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Some((_, number)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        return whole(number);
    }
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None if text.eq_ignore_ascii_case("true") => Some(1),
        None if text.eq_ignore_ascii_case("false") => Some(0),
        None => text.parse().ok(),
    }
}

/// Returns true if two values are the same number or the same text.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    a.trim() == b.trim() || whole(a).is_some_and(|a| whole(b) == Some(a))
}

/// Parses a mask of ports. Returns true for consecutive ports from 0 or 1 on, which are all ports of a switch, and
/// false for none.
fn ports(text: &str) -> Result<bool, String> {
    let digits = text.trim_start_matches("0x").trim_start_matches("0X");
    let mut bits = Vec::new();
    // The last digit has the lowest ports.
    for digit in digits.chars().rev() {
        let digit = digit
            .to_digit(16)
            .ok_or("expected a mask of ports, such as 0x1ffffffffe")?;
        bits.extend((0..4).map(|bit| digit >> bit & 1 == 1));
    }
    let set: Vec<usize> = (0..bits.len()).filter(|&bit| bits[bit]).collect();
    let (Some(&first), Some(&last)) = (set.first(), set.last()) else {
        return match digits {
            "" => Err("expected a mask of ports, such as 0x1ffffffffe".to_string()),
            _ => Ok(false),
        };
    };
    if first <= 1 && last - first + 1 == set.len() {
        return Ok(true);
    }
    let shown: Vec<String> = set.iter().take(6).map(ToString::to_string).collect();
    let more = if set.len() > shown.len() { ", .." } else { "" };
    Err(format!(
        "expected no port (0), or ports from 1 on without a gap (0x1ffffffffe): this is ports {}{more}, and here all ports \
         of a network mark alike",
        shown.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_in_every_form() {
        for (turn, there, here) in [
            (Turn::RestOf1024, "1019", "0.0048828125"),
            (Turn::Of1024, "1023", "0.9990234375"),
            (Turn::Mbps, "5", "\"5Mbps\""),
            (Turn::Us, "300", "\"300us\""),
            (Turn::Us, "DEVICE_DEFAULT(4)", "\"4us\""),
            (Turn::Bytes, "32767", "\"32767B\""),
            (Turn::Bytes, " 166912", "\"166912B\""),
            (Turn::Ms, "200", "\"200ms\""),
            (Turn::Action, "forward", "\"forward\""),
            (Turn::Credits, "8", "\"512B\""),
            (Turn::Percent, "5", "0.05"),
            (Turn::Power, "-3", "3"),
            (Turn::Power, "0", "0"),
            (Turn::Power, "1", "-1"),
            (Turn::Same, "0x0F", "15"),
            (Turn::Flag, "0x0001", "true"),
            (Turn::Flag, "false", "false"),
            (Turn::Flag, "True(1)", "true"),
            (Turn::Flag, "False(0)", "false"),
            (Turn::Mask, "0xFFFF", "true"),
            (Turn::Mask, "0x0000", "false"),
            (
                Turn::Mask,
                "0x000000000000000000000000000000000000000000000000001ffffffffe",
                "true",
            ),
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
            (Turn::Power, "9"),
            (Turn::Mask, "0x14"),
            (Turn::Mask, "0x"),
            (Turn::Mask, "all"),
            (Turn::List, "3;4"),
            (Turn::UnchangedIfZero, "50000"),
        ] {
            assert!(turn.apply(there).is_err(), "{turn:?} {there}");
        }
        let error = Turn::Mask.apply("0x14").unwrap_err();
        assert!(error.contains("ports 2, 4, and here"), "{error}");
    }
}
