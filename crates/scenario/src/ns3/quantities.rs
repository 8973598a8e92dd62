//! Notation of rates and times in ns-3, and decimal seconds.

use paceline_kernel::units::PS_PER_S;
use paceline_kernel::{BitRate, Span, Time, ns3};

use crate::schema::{Clock, Fidelity};

use super::tokens::{Read, Unreadable};

/// Fastest rate that a scenario can have.
pub(super) const BPS_MAX: u64 = BitRate::LARGEST.as_bps();

/// Splits a text into its number and its unit.
fn split<'a>(text: &'a str, number: &str) -> (&'a str, &'a str) {
    text.split_at(text.find(|c: char| !number.contains(c)).unwrap_or(text.len()))
}

fn non_negative(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0)
}

/// Parses a rate like ns-3: a real number and a unit of bits or bytes per second; without a unit, in bit/s.
pub(crate) fn rate(text: &str) -> Option<BitRate> {
    let (number, unit) = split(text, "0123456789.");
    let number = non_negative(number)?;
    let factor = if unit.is_empty() { 1.0 } else { rate_unit(unit)? };
    let bps = number * factor;
    (bps <= BPS_MAX as f64).then(|| BitRate::from_bps(bps as u64))
}

/// Returns the number of bits per second in a unit.
fn rate_unit(unit: &str) -> Option<f64> {
    let amount = unit.strip_suffix("ps").or_else(|| unit.strip_suffix("/s"))?;
    let (prefix, bits) = match amount.strip_suffix('b') {
        Some(prefix) => (prefix, 1.0),
        None => (amount.strip_suffix('B')?, 8.0),
    };
    let scale = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(scale * bits)
}

/// Parses a time like ns-3: a real number and a unit; without a unit, in seconds. ns-3 truncates it to nanoseconds.
pub(crate) fn span(text: &str, fidelity: Fidelity) -> Result<Span, Unreadable> {
    parse_span(text, fidelity).ok_or_else(|| {
        let (number, unit) = split(text, "+-0123456789.eE");
        match unit_ns(unit).and(non_negative(number)) {
            Some(value) if value > 0.0 => Unreadable::OutOfRange("a shorter time".to_string()),
            _ => Unreadable::Malformed("a time, such as 1000ns or 0.001ms".to_string()),
        }
    })
}

/// Returns the number of nanoseconds in a unit of time; 0 for shorter units.
fn unit_ns(unit: &str) -> Option<u64> {
    Some(match unit {
        "" | "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1_000,
        "ns" => 1,
        "min" => 60_000_000_000,
        "ps" | "fs" => 0,
        _ => return None,
    })
}

fn parse_span(text: &str, fidelity: Fidelity) -> Option<Span> {
    // The exponent's `e` belongs to the number, since no unit starts with one.
    let (number, unit) = split(text, "+-0123456789.eE");
    let unit_ns = unit_ns(unit)?;
    let value = non_negative(number)?;
    if value * unit_ns.max(1) as f64 > Time::LATEST.as_ps() as f64 / 1e3 {
        return None;
    }
    match (fidelity.profile().clock, unit_ns) {
        (Clock::Picoseconds, _) => exact(number, unit),
        (Clock::Rounded, _) => exact(number, unit).map(Span::round_ns),
        // ns-3's clock has no fractions of a nanosecond.
        (Clock::Cut, 0) => exact(number, unit).map(Span::floor_ns),
        (Clock::Cut, 1_000_000_000) => Some(ns3::span_of_seconds(value)),
        (Clock::Cut, _) => {
            // ns-3 holds a fraction in 64 bits, and cuts the product instead of rounding it.
            let fraction = ((value - value.floor()) * 18_446_744_073_709_551_616.0) as u64;
            let cut = ((fraction as u128 * unit_ns as u128) >> 64) as u64;
            Some(Span::from_ns(value.floor() as u64 * unit_ns + cut))
        }
    }
}

/// Parses a decimal number of a unit of time without floating-point errors, truncating to picoseconds.
fn exact(number: &str, unit: &str) -> Option<Span> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (number, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: u128 = format!("{}{fraction}", whole.trim_start_matches('+'))
        .parse()
        .ok()?;
    let unit_exponent = match unit {
        "" | "s" => 12,
        "ms" => 9,
        "us" => 6,
        "ns" => 3,
        "ps" => 0,
        "fs" => -3,
        "min" => return exact(number, "s")?.as_ps().checked_mul(60).map(Span::from_ps),
        _ => return None,
    };
    let power = exponent + unit_exponent - fraction.len() as i32;
    let ps = if power >= 0 {
        digits.checked_mul(10u128.checked_pow(power as u32)?)?
    } else {
        // A power beyond the range leaves less than a picosecond.
        10u128.checked_pow(power.unsigned_abs()).map_or(0, |p| digits / p)
    };
    u64::try_from(ps).ok().map(Span::from_ps)
}

/// Longest time that a scenario can express, in seconds.
pub(crate) const SECONDS_MAX: u64 = Time::LATEST.as_ps() / PS_PER_S;

/// Parses a decimal number of seconds, as a start or stop time, such as `example`.
pub(crate) fn seconds(text: &str, fidelity: Fidelity, example: &str) -> Result<Span, Unreadable> {
    let malformed = || Unreadable::Malformed(format!("seconds, such as {example}"));
    let number = text.strip_suffix('s').unwrap_or(text);
    let value = non_negative(number).ok_or_else(malformed)?;
    if value > SECONDS_MAX as f64 {
        return Err(Unreadable::OutOfRange(format!("at most {SECONDS_MAX} seconds")));
    }
    match fidelity.profile().clock {
        Clock::Picoseconds => exact(number, "s").ok_or_else(malformed),
        Clock::Rounded => exact(number, "s").map(Span::round_ns).ok_or_else(malformed),
        Clock::Cut => Ok(ns3::span_of_seconds(value)),
    }
}

/// Returns true if a rate has a unit; ns-3 takes a bare number as bit/s.
pub(crate) fn has_unit(text: &str) -> bool {
    text.ends_with(|c: char| c.is_alphabetic())
}

impl Read for BitRate {
    fn read(text: &str) -> Result<Self, Unreadable> {
        rate(text).ok_or_else(|| {
            let (number, unit) = split(text, "0123456789.");
            let is_rate = unit.is_empty() || rate_unit(unit).is_some();
            match non_negative(number).filter(|_| is_rate) {
                Some(_) => Unreadable::OutOfRange(format!("at most {BPS_MAX} bit/s")),
                None => Unreadable::Malformed("a rate, such as 100Gbps or 50Mb/s".to_string()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{EXACT, NS3_HPCC, SIMAI};

    #[test]
    fn rates_as_ns3_reads_them() {
        for (text, bps) in [
            ("100Gbps", 100_000_000_000),
            ("50Mb/s", 50_000_000),
            ("1000Mb/s", 1_000_000_000),
            ("0.5kbps", 500),
            ("10GB/s", 80_000_000_000),
            ("1Kibps", 1024),
            ("8bps", 8),
            ("1000000", 1_000_000),
        ] {
            assert_eq!(rate(text), Some(BitRate::from_bps(bps)), "{text}");
        }
        for text in ["Gbps", "-1Gbps", "100Gb", "1e3bps", "nanbps", "100Xbps"] {
            assert_eq!(rate(text), None, "{text}");
        }
    }

    #[test]
    fn times_as_ns3_reads_them() {
        for (text, ns) in [
            ("1000ns", 1000),
            ("0.001ms", 1000),
            ("1us", 1000),
            ("1e-6s", 999),
            ("0.0014ms", 1399),
        ] {
            assert_eq!(span(text, NS3_HPCC), Ok(Span::from_ns(ns)), "{text}");
        }
        for (text, ns) in [
            ("0.000025ms", 25),
            ("0.0014ms", 1400),
            ("1e-6s", 1000),
            ("1500ps", 2),
        ] {
            assert_eq!(span(text, SIMAI), Ok(Span::from_ns(ns)), "{text}");
        }
        assert_eq!(span("0.0014ms", EXACT), Ok(Span::from_ns(1400)));
        assert_eq!(span("1e-6s", EXACT), Ok(Span::from_us(1)));
        assert_eq!(span("1.5ns", EXACT), Ok(Span::from_ps(1500)));
        assert_eq!(span("1.5ns", NS3_HPCC), Ok(Span::from_ns(1)));
        assert_eq!(span("0.000001", EXACT), Ok(Span::from_us(1)));
        for text in ["1parsec", "nans", "-1us", "us", "1e300s"] {
            assert!(span(text, EXACT).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_are_cut_or_exact() {
        assert_eq!(
            seconds("2.000005", NS3_HPCC, "2.5"),
            Ok(Span::from_ns(2_000_004_999))
        );
        assert_eq!(
            seconds("2.000005", EXACT, "2.5"),
            Ok(Span::from_ns(2_000_005_000))
        );
        assert_eq!(
            seconds("2.0100000000005", EXACT, "2.5"),
            Ok(Span::from_ps(2_010_000_000_000))
        );
        let bound = || Unreadable::OutOfRange("at most 86400 seconds".to_string());
        assert_eq!(seconds("40000000000000.00", EXACT, "2.5"), Err(bound()));
        assert_eq!(seconds("86401", NS3_HPCC, "2.5"), Err(bound()));
        assert!(matches!(
            seconds("NaN", EXACT, "2.5"),
            Err(Unreadable::Malformed(_))
        ));
    }
}
