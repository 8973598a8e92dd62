//! Human-readable numbers, durations, sizes and port names.

use std::cmp::Ordering;

/// Formats a number with at most four significant digits; a dash for none.
pub fn number(value: Option<f64>) -> String {
    let Some(value) = value else {
        return "–".to_string();
    };
    match value.abs() {
        0.0 => "0".to_string(),
        small if small < 0.001 => format!("{value:.1e}"),
        small if small < 1.0 => format!("{value:.3}"),
        small if small < 100.0 => format!("{value:.2}"),
        small if small < 10_000.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Formats a duration given in microseconds, in the unit that suits its size.
pub fn duration_us(value: Option<f64>) -> String {
    match value {
        Some(us) if us >= 1e6 => format!("{} s", number(Some(us / 1e6))),
        Some(us) if us >= 1e3 => format!("{} ms", number(Some(us / 1e3))),
        Some(us) => format!("{} µs", number(Some(us))),
        None => number(None),
    }
}

/// Formats a share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// Formats a size in powers of 1000, without trailing zeros.
pub fn short_bytes(value: u64) -> String {
    let text = bytes(value);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// Formats a count: whole, or with the digits of [`number`].
pub(crate) fn whole(value: Option<f64>) -> String {
    match value {
        Some(count) if count.fract() == 0.0 => format!("{count:.0}"),
        other => number(other),
    }
}

/// Formats a size that need not be whole.
pub(crate) fn whole_bytes(value: Option<f64>) -> String {
    value.map_or_else(|| number(None), |value| bytes(value.round() as u64))
}

/// Formats a size in powers of 1000.
pub fn bytes(value: u64) -> String {
    match value {
        0..1_000 => format!("{value} B"),
        1_000..1_000_000 => format!("{} KB", number(Some(value as f64 / 1e3))),
        1_000_000..1_000_000_000 => format!("{} MB", number(Some(value as f64 / 1e6))),
        _ => format!("{} GB", number(Some(value as f64 / 1e9))),
    }
}

/// Compares names in natural order: whole numbers in them by value, so `host-2` precedes `host-10`.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let ((name_a, rest_a), (name_b, rest_b)) = (until_digit(left), until_digit(right));
        let ((digits_a, rest_a), (digits_b, rest_b)) = (digits(rest_a), digits(rest_b));
        let (value_a, value_b) = (digits_a.trim_start_matches('0'), digits_b.trim_start_matches('0'));
        // Without leading zeros the longer number is larger; no integer type has room for all of them.
        let order = name_a
            .cmp(name_b)
            .then_with(|| (value_a.len(), value_a).cmp(&(value_b.len(), value_b)));
        if order != Ordering::Equal {
            return order;
        }
        if rest_a.is_empty() || rest_b.is_empty() {
            // Names that differ only in leading zeros need a fixed order, too.
            return rest_a.len().cmp(&rest_b.len()).then_with(|| a.cmp(b));
        }
        (left, right) = (rest_a, rest_b);
    }
}

fn until_digit(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len()))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let mut names = [
            "h10", "h9", "a-2-b", "h010", "a-10-a", "h", "a-2-a", "7", "x1y", "x1",
        ];
        names.sort_by(|a, b| natural_order(a, b));
        let expected = [
            "7", "a-2-a", "a-2-b", "a-10-a", "h", "h9", "h010", "h10", "x1", "x1y",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn numbers() {
        let texts: Vec<String> = [0.0, 0.000_12, 0.5, 1.5, 99.994, 123.45, 123_456.7]
            .map(|v| number(Some(v)))
            .into();
        assert_eq!(
            texts,
            ["0", "1.2e-4", "0.500", "1.50", "99.99", "123.5", "123457"]
        );
        assert_eq!(duration_us(Some(1_866.0)), "1.87 ms");
        assert_eq!(duration_us(Some(4.318)), "4.32 µs");
        assert_eq!(bytes(2_500), "2.50 KB");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(
            [100, 5_000, 2_500, 150_000_000].map(short_bytes),
            ["100 B", "5 KB", "2.5 KB", "150 MB"]
        );
    }
}
