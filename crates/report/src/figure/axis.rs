//! Range of an axis, and its ticks.

use super::Scale;

/// Axis with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ticked {
    pub(super) low: f64,
    pub(super) high: f64,
    log: bool,
    /// Positions of the ticks, with labels.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Ticked {
    /// Creates an axis for positions: from the first to the last, or from 0 if that is close.
    pub(super) fn across(scale: &Scale, indices: &[f64], wanted: usize) -> Self {
        Self::unlimited_across(scale, indices, wanted).limited(scale, wanted)
    }

    fn unlimited_across(scale: &Scale, indices: &[f64], wanted: usize) -> Self {
        let whole = Self::unlimited(scale, indices, wanted);
        if scale.log || !scale.names.is_empty() || indices.is_empty() {
            return whole;
        }
        let first = indices.iter().copied().fold(f64::INFINITY, f64::min);
        let last = indices.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if first == last {
            return whole;
        }
        // Starts at the first position; a twentieth of the axis without data looks better than an odd number at its end.
        let low = if first > last / 20.0 {
            first
        } else {
            first.min(0.0)
        };
        let step = nice((last - low) / wanted.max(2) as f64);
        // The tolerance keeps ticks at the very ends in spite of rounding.
        let (from, to) = (
            (low / step - 1e-9).ceil() as i64,
            (last / step + 1e-9).floor() as i64,
        );
        let ticks = (from..=to).map(|k| k as f64 * step);
        Self {
            low,
            high: last,
            log: false,
            ticks: ticks.map(|value| (value, text(value, scale))).collect(),
        }
    }

    /// Creates an axis for values with about `wanted` ticks: from 0, to a tick.
    pub(super) fn of(scale: &Scale, values: &[f64], wanted: usize) -> Self {
        Self::unlimited(scale, values, wanted).limited(scale, wanted)
    }

    fn unlimited(scale: &Scale, values: &[f64], wanted: usize) -> Self {
        if !scale.names.is_empty() {
            let ticks = (0..).map(f64::from).zip(scale.names.iter().cloned());
            return Self {
                // Half a step on both sides keeps the first and the last name inside.
                low: -0.5,
                high: scale.names.len() as f64 - 0.5,
                log: false,
                ticks: ticks.collect(),
            };
        }
        // Zero has no position on a logarithmic axis.
        let above = values.iter().copied().filter(|&value| !scale.log || value > 0.0);
        let low = above.clone().fold(f64::INFINITY, f64::min);
        let high = above.fold(f64::NEG_INFINITY, f64::max);
        match scale.log {
            true if low.is_finite() => Self::logarithmic(scale, low / 1.1, high * 1.1, wanted),
            // Values start at 0, so that heights can be compared.
            _ => Self::linear(scale, low.min(0.0), high, wanted),
        }
    }

    fn linear(scale: &Scale, low: f64, high: f64, wanted: usize) -> Self {
        let low = if low.is_finite() { low } else { 0.0 };
        let high = scale.max.unwrap_or(if high > low { high } else { low + 1.0 });
        let step = nice((high - low) / wanted.max(2) as f64);
        let first = (low / step).floor() as i64;
        // The last tick is at the end of the data, or beyond it.
        let last = (high / step - 1e-9).ceil() as i64;
        let ticks = (first..=last).map(|k| k as f64 * step);
        Self {
            low: first as f64 * step,
            high: last as f64 * step,
            log: false,
            ticks: ticks.map(|value| (value, text(value, scale))).collect(),
        }
    }

    fn logarithmic(scale: &Scale, low: f64, high: f64, wanted: usize) -> Self {
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let make = |steps: &[f64]| -> Vec<f64> {
            let all = (first..=last).flat_map(|e| steps.iter().map(move |step| step * 10f64.powi(e)));
            all.filter(|&value| value >= low && value <= high).collect()
        };
        let decades = make(&[1.0]);
        let fine = make(&[1.0, 2.0, 5.0]);
        let every = decades.len().div_ceil(wanted + 1).max(1);
        let chosen = match fine.len() <= wanted + 2 {
            true => fine,
            false => decades.into_iter().step_by(every).collect(),
        };
        Self {
            low,
            high,
            log: true,
            ticks: chosen
                .into_iter()
                .map(|value| (value, text(value, scale)))
                .collect(),
        }
    }

    /// Returns the position of a value, from 0 at the lower end to 1 at the upper.
    pub(super) fn place(&self, value: f64) -> f64 {
        match self.log {
            true => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        }
    }

    /// Creates an axis between limits set by the user.
    fn within(scale: &Scale, low: f64, high: f64, wanted: usize) -> Self {
        if scale.log {
            // Zero has no logarithm, so the axis covers three decades instead.
            let low = if low > 0.0 { low } else { high / 1e3 };
            return Self::logarithmic(scale, low, high, wanted);
        }
        let step = nice((high - low) / wanted.max(2) as f64);
        let (from, to) = (
            (low / step - 1e-9).ceil() as i64,
            (high / step + 1e-9).floor() as i64,
        );
        let ticks = (from..=to).map(|k| k as f64 * step);
        Self {
            low,
            high,
            log: false,
            ticks: ticks.map(|value| (value, text(value, scale))).collect(),
        }
    }

    /// Applies the limits set by the user; the other ends stay.
    fn limited(self, scale: &Scale, wanted: usize) -> Self {
        let (low, high) = scale.limits;
        if (low, high) == (None, None) || !scale.names.is_empty() {
            return self;
        }
        let (low, high) = (low.unwrap_or(self.low), high.unwrap_or(self.high));
        match low < high {
            true => Self::within(scale, low, high, wanted),
            false => self,
        }
    }
}

/// Returns the next larger number of 1, 2, 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let digit = step / power;
    let whole = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|&whole| digit <= whole * (1.0 + 1e-9));
    whole.unwrap_or(10.0) * power
}

/// Formats the number at a tick.
fn text(value: f64, scale: &Scale) -> String {
    if !scale.bytes {
        return number(value);
    }
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "KB")];
    let unit = units.into_iter().find(|(size, _)| value >= *size);
    let (size, unit) = unit.unwrap_or((1.0, "B"));
    format!("{} {unit}", number(value / size))
}

/// Formats a number without rounding noise in the last digits.
fn number(value: f64) -> String {
    let rounded: f64 = format!("{value:.9e}").parse().unwrap_or(value);
    format!("{rounded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale, values: &[f64]) -> Vec<String> {
        let ticked = Ticked::of(scale, values, 5);
        ticked.ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        let linear = Scale::new("x");
        assert_eq!(labels(&linear, &[0.0, 9.3]), ["0", "2", "4", "6", "8", "10"]);
        assert_eq!(labels(&linear, &[0.1, 0.3]), ["0", "0.1", "0.2", "0.3"]);
        let log = Scale {
            log: true,
            bytes: true,
            ..Scale::new("x")
        };
        assert_eq!(
            labels(&log, &[900.0, 2e7]),
            ["1 KB", "10 KB", "100 KB", "1 MB", "10 MB"]
        );
        assert_eq!(labels(&linear, &[]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
    }

    #[test]
    fn places_go_from_the_first_to_the_last() {
        let of = |indices: &[f64]| Ticked::across(&Scale::new("x"), indices, 5);
        let near = of(&[0.8, 0.9, 0.99]);
        assert_eq!((near.low, near.high), (0.8, 0.99));
        let texts: Vec<_> = near.ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["0.8", "0.85", "0.9", "0.95"]);
        let far = of(&[2.0, 15.2]);
        assert_eq!((far.low, far.high, far.ticks.len()), (2.0, 15.2, 3));
        let from_zero = of(&[0.5, 15.2]);
        assert_eq!(
            (from_zero.low, from_zero.high, from_zero.ticks.len()),
            (0.0, 15.2, 4)
        );
    }

    #[test]
    fn limits_are_kept() {
        let scale = Scale {
            limits: (Some(1.0), Some(3.0)),
            ..Scale::new("x")
        };
        let set = Ticked::of(&scale, &[0.0, 10.0], 5);
        assert_eq!((set.low, set.high), (1.0, 3.0));
        let texts: Vec<_> = set.ticks.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["1", "1.5", "2", "2.5", "3"]);
        let half = Scale {
            limits: (None, Some(4.0)),
            ..Scale::new("x")
        };
        let half = Ticked::across(&half, &[1.0, 15.2], 5);
        assert_eq!((half.low, half.high), (1.0, 4.0));
    }

    #[test]
    fn places_are_shares_of_the_axis() {
        let ticked = Ticked::of(&Scale::new("x"), &[0.0, 10.0], 5);
        assert_eq!(
            [0.0, 2.5, 10.0, 11.0].map(|x| ticked.place(x)),
            [0.0, 0.25, 1.0, 1.1]
        );
    }
}
