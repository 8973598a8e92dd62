//! Subjects of the search and their references.

use std::sync::Arc;

use paceline_congestion::decc::law::{COEFFICIENTS, Coefficient, Scale};
use paceline_congestion::learned::ModelRef;
use paceline_congestion::learned::model::Model;
use paceline_congestion::params::Auto;
use paceline_congestion::registry::SchemeConfig;
use paceline_congestion::{decc, fixed, swift};
use paceline_kernel::{BitRate, Span};

use super::{Network, files};
use crate::Error;

/// Set of parameters to search for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Coefficients of DECC's rate law.
    Law,
    /// Swift's parameters; times are in base round trips of the network.
    Swift,
}

const fn ratio(name: &'static str, start: f64, low: f64, high: f64) -> Coefficient {
    Coefficient {
        name,
        start,
        range: (low, high),
        scale: Scale::Ratio,
    }
}

/// Axes of Swift's parameters. `base-delay` and `fs-range` are in base round trips. `hop-delay` is 0 and the
/// host window is off, because hosts have no processing delay here.
const SWIFT: [Coefficient; 9] = [
    ratio("base-delay", 1.11, 1.0, 3.0),
    ratio("fs-range", 0.5, 0.01, 30.0),
    ratio("fs-min", 0.1, 0.0005, 1.0),
    ratio("fs-max", 256.0, 2.0, 400.0),
    ratio("ai", 1.0, 0.001, 64.0),
    ratio("beta", 0.8, 0.05, 1.0),
    ratio("max-mdf", 0.5, 0.02, 0.9),
    ratio("min-window", 0.001, 1e-5, 0.05),
    ratio("initial-window", 0.05, 0.01, 1000.0),
];

/// Swift's parameters set by hand, in the order of its axes, and the start of its search: a target of 9 us
/// for a base round trip of 8.1 us, and up to 4 us more for small windows. The others are Swift's defaults,
/// except that windows may be small.
pub const SWIFT_BY_HAND: [f64; SWIFT.len()] = {
    let (mut values, mut index) = ([0.0; SWIFT.len()], 0);
    while index < values.len() {
        values[index] = SWIFT[index].start;
        index += 1;
    }
    values
};

/// Swift's parameters from `paceline train swift`, in the same order.
pub const SWIFT_SEARCHED: [f64; SWIFT.len()] = [
    1.033889586276378,
    0.7273620504754865,
    0.04214628087846642,
    233.31670530397386,
    10.774072754135462,
    0.29095891920943523,
    0.24938434350426916,
    0.00634177775992629,
    0.02877579700490191,
];

impl Subject {
    /// Returns the parameters of the search with their ranges.
    pub const fn axes(self) -> &'static [Coefficient] {
        match self {
            Self::Law => COEFFICIENTS,
            Self::Swift => &SWIFT,
        }
    }

    /// Returns its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Law => "decc",
            Self::Swift => "swift",
        }
    }

    /// Returns the values at a point of the search. Each axis is from 0 to 1; points outside are mirrored.
    pub fn values(self, point: &[f64]) -> Vec<f64> {
        let axes = self.axes().iter().zip(point);
        axes.map(|(axis, &at)| axis_value(axis, mirrored(at))).collect()
    }

    /// Returns the start of the search.
    pub(crate) fn start(self) -> Vec<f64> {
        let axes = self.axes().iter();
        axes.map(|axis| axis_point(axis, axis.start)).collect()
    }

    /// Returns the point of the search that has these values.
    pub(crate) fn point(self, values: &[f64]) -> Vec<f64> {
        let axes = self.axes().iter().zip(values);
        axes.map(|(axis, &value)| axis_point(axis, value)).collect()
    }

    /// Returns the scheme with these values for a network.
    ///
    /// # Errors
    /// The values do not fit the subject.
    pub fn config(self, values: &[f64], network: &Network) -> Result<SchemeConfig, Error> {
        match self {
            Self::Law => {
                let files = files::law("candidate", values, |card| card)?;
                Ok(decc_of(files::model_of(&files)?))
            }
            Self::Swift => swift_config(values, network.base_us()),
        }
    }
}

/// Returns DECC under a model.
pub fn decc_of(model: Arc<Model>) -> SchemeConfig {
    decc::Params {
        model: Auto::Is(ModelRef::read_from("model", model)),
        ..decc::Params::default()
    }
    .into()
}

/// Returns flows that know their number: each sends at 0.99 of its share of the link from its first packet.
pub fn oracle(network: &Network) -> SchemeConfig {
    let share = 0.99 * network.data_share() * network.gbps * 1e9 / f64::from(network.flows());
    fixed::Params {
        rate: BitRate::from_bps(share as u64),
    }
    .into()
}

fn swift_config(values: &[f64], base_us: f64) -> Result<SchemeConfig, Error> {
    let &[
        base,
        range,
        fs_min,
        fs_max,
        ai,
        beta,
        max_mdf,
        min_window,
        initial_window,
    ] = values
    else {
        return Err(Error::Options(format!(
            "Swift has {} values here; found {}",
            SWIFT.len(),
            values.len()
        )));
    };
    let span = |round_trips: f64| Span::from_ps((round_trips * base_us * 1e6) as u64);
    Ok(swift::Params {
        base_delay: span(base),
        hop_delay: Span::ZERO,
        fs_range: span(range),
        fs_min,
        fs_max,
        ai,
        beta,
        max_mdf,
        min_window,
        initial_window,
        endpoint: false,
        ..swift::Params::default()
    }
    .into())
}

/// Returns the value at a point of an axis from 0 to 1.
fn axis_value(axis: &Coefficient, at: f64) -> f64 {
    let (low, high) = axis.range;
    match axis.scale {
        Scale::Linear => low + at * (high - low),
        Scale::Ratio => low * libm::pow(high / low, at),
    }
}

/// Returns the point of a value on an axis.
fn axis_point(axis: &Coefficient, value: f64) -> f64 {
    let (low, high) = axis.range;
    match axis.scale {
        Scale::Linear => (value - low) / (high - low),
        Scale::Ratio => libm::log(value / low) / libm::log(high / low),
    }
}

/// Mirrors a coordinate into the range 0 to 1.
fn mirrored(at: f64) -> f64 {
    let at = at.abs() % 2.0;
    if at > 1.0 { 2.0 - at } else { at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_starts_where_the_axes_say() {
        for subject in [Subject::Law, Subject::Swift] {
            let values = subject.values(&subject.start());
            for (axis, value) in subject.axes().iter().zip(values) {
                assert!((value - axis.start).abs() < 1e-9, "{axis:?} {value}");
            }
        }
        assert_eq!([-0.25, 1.25, 2.5, 0.5].map(mirrored), [0.25, 0.75, 0.5, 0.5]);
    }
}
