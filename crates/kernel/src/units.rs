//! Units as types: [`Time`], [`Span`], [`Bytes`], [`BitRate`], all integers.
//!
//! An instant and a span are different types: `Time - Time = Span`, and `Time + Time` does not
//! compile. One byte at 100, 200, 400, 800 Gbit/s is 80, 40, 20, 10 ps, exactly.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};
use std::str::FromStr;

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;
/// Picoseconds in a nanosecond.
pub const PS_PER_NS: u64 = 1_000;

/// An instant: picoseconds since the start of the run (64 bits last for 213 days).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A span of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A rate in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitRate(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event.
    pub const MAX: Self = Self(u64::MAX);

    /// An instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// An instant `ns` nanoseconds after the start.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * PS_PER_NS)
    }
    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Whole nanoseconds since the start.
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }
    /// Seconds since the start, as a real number.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// The span since `earlier`; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
    /// This instant plus `span`, at most [`Time::MAX`].
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than every run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * PS_PER_NS)
    }
    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }
    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }
    /// Nanoseconds as a real number.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / PS_PER_NS as f64
    }
    /// Microseconds as a real number.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Seconds as a real number.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// The span without its fraction of a nanosecond.
    pub const fn floor_ns(self) -> Self {
        Self(self.0 / PS_PER_NS * PS_PER_NS)
    }
}

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// More than any amount: used for "no limit".
    pub const MAX: Self = Self(u64::MAX);

    /// `n` bytes.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }
    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl BitRate {
    /// `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// `gbps` gigabits (10^9 bits) per second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }
    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Gigabits per second, as a real number.
    pub fn as_gbps_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// The time that `n` bytes take on the wire, rounded up to the picosecond: a byte is never
    /// early. The one definition of serialisation time.
    ///
    /// A rate of zero sends nothing: [`Span::MAX`].
    pub const fn time_to_send(self, n: Bytes) -> Span {
        const PS_BITS: u64 = 8 * PS_PER_S;
        if self.0 == 0 {
            return Span::MAX;
        }
        // Both branches are exact; the first avoids a 128-bit division, and holds for packets.
        match n.0.checked_mul(PS_BITS) {
            Some(bits) => Span(bits.div_ceil(self.0)),
            None => Span((n.0 as u128 * PS_BITS as u128).div_ceil(self.0 as u128) as u64),
        }
    }
    /// The bytes that this rate carries in `span`, rounded down.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        Bytes((self.0 as u128 * span.0 as u128 / (8 * PS_PER_S as u128)) as u64)
    }
    /// The rate times a non-negative factor, rounded towards zero to whole bit/s.
    pub fn scale(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor) as u64)
    }
    /// The sum of two rates, at most the largest that there is.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        debug_assert!(self.0 >= earlier.0, "time runs backwards");
        Span(self.0 - earlier.0)
    }
}
impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0 + span.0)
    }
}
impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}
impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, n: u64) -> Self {
        Self(self.0 * n)
    }
}
impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}
impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// There is no number where one should be.
    #[error("expected a number followed by a unit, such as {example}, found `{found}`")]
    NoNumber {
        /// What the text was.
        found: String,
        /// A text that would do.
        example: &'static str,
    },
    /// The number has no unit.
    #[error("`{found}` has no unit: write for example {example}")]
    NoUnit {
        /// What the text was.
        found: String,
        /// A text that would do.
        example: &'static str,
    },
    /// The unit is not one of this quantity's.
    #[error("unknown unit `{unit}`: expected {expected}")]
    UnknownUnit {
        /// The unit that was written.
        unit: String,
        /// The units that there are.
        expected: &'static str,
    },
    /// The value does not fit.
    #[error("`{found}` is too large")]
    TooLarge {
        /// What the text was.
        found: String,
    },
}

/// Splits `text` into its decimal number (as digits and a power of ten) and its unit.
fn split(text: &str, example: &'static str) -> Result<(u128, u32, String), QuantityError> {
    let trimmed = text.trim();
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let number = trimmed[..end].replace('_', "");
    let unit = trimmed[end..].trim().to_string();
    let no_number = || QuantityError::NoNumber {
        found: trimmed.to_string(),
        example,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(no_number());
    }
    let fraction = fraction.trim_end_matches('0');
    if whole.len() + fraction.len() > 24 {
        return Err(QuantityError::TooLarge {
            found: trimmed.to_string(),
        });
    }
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| no_number())?;
    Ok((digits, fraction.len() as u32, unit))
}

/// Reads `text` as a whole multiple of the smallest unit, fractions of that unit cut off.
fn parse(
    text: &str,
    example: &'static str,
    expected: &'static str,
    unit_size: impl Fn(&str) -> Option<u128>,
) -> Result<u64, QuantityError> {
    let (digits, decimals, unit) = split(text, example)?;
    if unit.is_empty() {
        return Err(QuantityError::NoUnit {
            found: text.trim().to_string(),
            example,
        });
    }
    let Some(size) = unit_size(&unit) else {
        return Err(QuantityError::UnknownUnit { unit, expected });
    };
    let too_large = || QuantityError::TooLarge {
        found: text.trim().to_string(),
    };
    let value = digits.checked_mul(size).ok_or_else(too_large)? / 10u128.pow(decimals);
    u64::try_from(value).map_err(|_| too_large())
}

impl FromStr for Span {
    type Err = QuantityError;
    /// Reads `"1us"`, `"2.5 ms"`; a fraction of a picosecond is cut off.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(text, "\"1us\"", "s, ms, us, ns or ps", |unit| match unit {
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
    /// Reads `"500KB"` (1000 bytes each, as in the field), `"64KiB"` (1024 each), `"300B"`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(
            text,
            "\"64KB\"",
            "B, KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB (powers of 1024)",
            |unit| match unit {
                "B" | "bytes" | "byte" => Some(1),
                "KB" | "kB" => Some(1_000),
                "MB" => Some(1_000_000),
                "GB" => Some(1_000_000_000),
                "TB" => Some(1_000_000_000_000),
                "KiB" => Some(1 << 10),
                "MiB" => Some(1 << 20),
                "GiB" => Some(1 << 30),
                _ => None,
            },
        )
        .map(Self)
    }
}

impl FromStr for BitRate {
    type Err = QuantityError;
    /// Reads `"100Gbps"`, `"50Mb/s"`, `"25 Gbit/s"`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(text, "\"100Gbps\"", "bps, Kbps, Mbps, Gbps or Tbps", |unit| {
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

/// Writes `value` in the largest unit that gives a short exact decimal.
fn write_scaled(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    for &(size, name) in units {
        // At most three decimals, and exact.
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
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl serde::Serialize for $name {
            /// Written as a text with its unit, which reads back as the same value.
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )* };
}
quantity_traits!(Time: "a time", Span: "a time", Bytes: "a size", BitRate: "a rate");

impl FromStr for Time {
    type Err = QuantityError;
    /// Reads an instant as the span since the start of the run.
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
                deserializer.deserialize_str(Text)
            }
        }
    )* };
}
quantity_deserialize!(Time: "a time, such as \"10us\",", Span: "a time, such as \"10us\",", Bytes: "a size, such as \"64KB\",", BitRate: "a rate, such as \"100Gbps\",");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_at_round_rates_is_a_whole_number_of_picoseconds() {
        for (gbps, ps) in [(100, 80), (200, 40), (400, 20), (800, 10)] {
            assert_eq!(
                BitRate::from_gbps(gbps).time_to_send(Bytes::new(1)),
                Span::from_ps(ps)
            );
        }
        // 1000 B at 3 Gbit/s is 2666.67 ns: rounded up.
        assert_eq!(
            BitRate::from_gbps(3).time_to_send(Bytes::new(1000)),
            Span::from_ps(2_666_667)
        );
        // Too large for 64 bits before the division.
        assert_eq!(
            BitRate::from_gbps(8).time_to_send(Bytes::new(1 << 40)),
            Span::from_ps((1 << 40) * 1000)
        );
    }

    #[test]
    fn quantities_read_and_write() {
        assert_eq!("1.5us".parse::<Span>().unwrap(), Span::from_ps(1_500_000));
        assert_eq!("100 Gbps".parse::<BitRate>().unwrap(), BitRate::from_gbps(100));
        assert_eq!(
            "50Mb/s".parse::<BitRate>().unwrap(),
            BitRate::from_bps(50_000_000)
        );
        assert_eq!("64KiB".parse::<Bytes>().unwrap(), Bytes::new(65536));
        for text in ["1us", "2.5ms", "87ns", "1s"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        for text in ["32MiB", "500KB", "1B", "1.048KB"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
        assert_eq!(
            "100".parse::<BitRate>().unwrap_err().to_string(),
            "`100` has no unit: write for example \"100Gbps\""
        );
        assert_eq!(
            "1 sec".parse::<Span>().unwrap_err().to_string(),
            "unknown unit `sec`: expected s, ms, us, ns or ps"
        );
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_back(ps in 0u64.., bytes in 0u64.., bps in 0u64..) {
            proptest::prop_assert_eq!(Span::from_ps(ps).to_string().parse::<Span>().unwrap(), Span::from_ps(ps));
            proptest::prop_assert_eq!(Bytes::new(bytes).to_string().parse::<Bytes>().unwrap(), Bytes::new(bytes));
            proptest::prop_assert_eq!(BitRate::from_bps(bps).to_string().parse::<BitRate>().unwrap(), BitRate::from_bps(bps));
        }
    }
}
