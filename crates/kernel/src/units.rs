//! Types for quantities: [`Time`], [`Span`], [`Bytes`], [`BitRate`], all integers.
//!
//! An instant and a span are different types: `Time - Time = Span`, and `Time + Time` does not compile. One
//! byte at 100, 200, 400, 800 Gbit/s is 80, 40, 20, 10 ps, exactly.

use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

mod text;

pub use text::QuantityError;

/// Number of picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;
/// Number of picoseconds in a nanosecond.
pub const PS_PER_NS: u64 = 1_000;

/// Instant in picoseconds since the start of the run (64 bits last for 213 days).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// Length of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

/// Amount of data in bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// Data rate in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitRate(u64);

impl Time {
    /// Start of the run.
    pub const ZERO: Self = Self(0);
    /// Instant later than every event.
    pub const MAX: Self = Self(u64::MAX);
    /// Latest instant allowed in a scenario: a day.
    pub const LATEST: Self = Self(86_400 * PS_PER_S);

    /// Returns the instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// Returns the instant `ns` nanoseconds after the start.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * PS_PER_NS)
    }
    /// Returns the picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Returns the whole nanoseconds since the start, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }
    /// Returns the seconds since the start as a real number.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// Returns the span since `earlier`; zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
    /// Returns this instant plus `span`, at most [`Time::MAX`].
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// Span of length zero.
    pub const ZERO: Self = Self(0);
    /// Span longer than every run.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns true if the length is zero.
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }

    /// Returns a span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// Returns a span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * PS_PER_NS)
    }
    /// Returns a span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }
    /// Returns the length in picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Returns the whole nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / PS_PER_NS
    }
    /// Returns the length in nanoseconds as a real number.
    pub fn as_ns_f64(self) -> f64 {
        self.0 as f64 / PS_PER_NS as f64
    }
    /// Returns the length in microseconds as a real number.
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns the length in seconds as a real number.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// Rounds down to whole nanoseconds.
    pub const fn floor_ns(self) -> Self {
        Self(self.0 / PS_PER_NS * PS_PER_NS)
    }

    /// Rounds to the nearest whole nanoseconds; half a nanosecond is rounded up.
    pub const fn round_ns(self) -> Self {
        Self(self.0.saturating_add(PS_PER_NS / 2) / PS_PER_NS * PS_PER_NS)
    }
    /// Returns the sum of two spans, at most [`Span::MAX`].
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Bytes {
    /// Amount of zero bytes.
    pub const ZERO: Self = Self(0);
    /// Highest amount, used for "no limit".
    pub const MAX: Self = Self(u64::MAX);
    /// Upper limit in inputs: 1000 TB.
    pub const LARGEST: Self = Self(1_000_000_000_000_000);

    /// Returns an amount of `n` bytes.
    pub const fn new(n: u64) -> Self {
        Self(n)
    }
    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// Returns a number, or the largest of 64 bits if that is smaller.
const fn saturated(number: u128) -> u64 {
    if number > u64::MAX as u128 {
        u64::MAX
    } else {
        number as u64
    }
}

impl BitRate {
    /// Upper limit in inputs: 1000 Tbit/s.
    pub const LARGEST: Self = Self(1_000_000_000_000_000);

    /// Returns a rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// Returns a rate of `gbps` gigabits (10^9 bits) per second.
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }
    /// Returns the rate in bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Returns the rate in gigabits per second as a real number.
    pub fn as_gbps_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// Returns the serialisation time of `n` bytes, rounded up to the picosecond so that no byte is early.
    /// All serialisation times are computed here.
    ///
    /// A rate of zero sends nothing, so its result is [`Span::MAX`]; so is a time that a span cannot hold.
    pub const fn time_to_send(self, n: Bytes) -> Span {
        const PS_BITS: u64 = 8 * PS_PER_S;
        if self.0 == 0 {
            return Span::MAX;
        }
        // Both branches are exact. The first avoids a 128-bit division and is sufficient for packets.
        match n.0.checked_mul(PS_BITS) {
            Some(bits) => Span(bits.div_ceil(self.0)),
            None => Span(saturated(
                (n.0 as u128 * PS_BITS as u128).div_ceil(self.0 as u128),
            )),
        }
    }
    /// Returns the number of bytes carried in `span`, rounded down; at most the largest number.
    pub const fn bytes_in(self, span: Span) -> Bytes {
        Bytes(saturated(
            self.0 as u128 * span.0 as u128 / (8 * PS_PER_S as u128),
        ))
    }
    /// Returns the rate multiplied by a non-negative factor, truncated to whole bit/s.
    pub fn scale(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor) as u64)
    }
    /// Returns the sum of two rates, at most the highest value.
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

#[cfg(test)]
mod tests;
