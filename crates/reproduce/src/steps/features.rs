//! Step for figures 7 and 8: preprocessing of round-trip times.

use paceline_congestion::lstm_pid::Features;
use paceline_learn::dataset::{EDGES, SMOOTHING, STRATA, Source, Trace, UNTUNED};

use super::predictors::recorded;
use crate::{Metrics, Step, StepError, Work};

/// Ranges of |K| whose shares are computed.
const RANGES: [(f64, f64); 3 + STRATA] = [
    (0.0, 0.04),
    (0.08, 1.0),
    (1.0, 2.0),
    (0.0, EDGES[0] as f64),
    (EDGES[0] as f64, EDGES[1] as f64),
    (EDGES[1] as f64, EDGES[2] as f64),
    (EDGES[2] as f64, f64::INFINITY),
];

/// Scheme, settings, and name of its values.
const SCHEMES: [(&str, &[&str], &str); 4] = [
    ("hpcc", &[], "hpcc"),
    ("timely", &[], "timely"),
    ("dctcp", &[], "dctcp"),
    ("pidnn", UNTUNED, "pidnn, untuned"),
];

pub(super) const STEP: Step = Step {
    name: "features",
    title: "recording round-trip times",
    work,
};

/// Names of figure 7's series.
const MEASURED: &str = "measured";
const SMOOTHED: &str = "smoothed";

/// Number of samples in the series.
const SHOWN: usize = 300;

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let sources = SCHEMES.map(|(scheme, settings, _)| Source::incast(scheme, settings));
    // Announced before the slow part, or the progress line would stand still.
    work.inform(0.0, "running the incast under four schemes")?;
    let traces = recorded(&sources, work)?;
    let mut numbers = Metrics::default();
    for ((.., name), trace) in SCHEMES.into_iter().zip(&traces) {
        let mut sizes: Vec<f64> = trace
            .candidates(0)
            .iter()
            .map(|pair| f64::from(pair.k[2].abs()))
            .collect();
        sizes.sort_by(f64::total_cmp);
        numbers.draw(format!("{name} cdf"), cdf(&sizes));
        for (index, (from, to)) in RANGES.into_iter().enumerate() {
            numbers.set(format!("{name} {index}"), share(&sizes, from, to));
        }
    }
    let [measured, smoothed] = first_node(&traces[3]);
    numbers.draw(MEASURED, measured);
    numbers.draw(SMOOTHED, smoothed);
    Ok(numbers)
}

/// Returns the share of ascending values in a range, excluding its upper edge.
fn share(ascending: &[f64], from: f64, to: f64) -> f64 {
    let below = |edge: f64| ascending.partition_point(|&value| value < edge);
    (below(to) - below(from)) as f64 / ascending.len().max(1) as f64
}

/// Returns the shares of values up to 0, 0.005, 0.01 and so on to 1.
fn cdf(ascending: &[f64]) -> Vec<(f64, f64)> {
    let at = |step: u32| {
        let edge = f64::from(step) / 200.0;
        let count = ascending.partition_point(|&value| value <= edge);
        (edge, count as f64 / ascending.len().max(1) as f64)
    };
    (0..=200).map(at).collect()
}

/// Returns the first node's samples by number, unchanged and smoothed.
fn first_node(trace: &Trace) -> [Vec<(f64, f64)>; 2] {
    let samples: Vec<f64> = trace
        .flows
        .first()
        .map_or_else(Vec::new, |flow| flow.rtt_us().take(SHOWN).collect());
    let mut features = Features::new(SMOOTHING);
    let smoothed = samples.iter().map(|&rtt| {
        features.push(rtt);
        features.smoothed()
    });
    let smoothed: Vec<f64> = smoothed.collect();
    [samples, smoothed].map(|values| (0..).map(f64::from).zip(values).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_curves_of_known_values() {
        let values = [0.0, 0.01, 0.03, 0.5];
        assert_eq!(share(&values, 0.0, 0.04), 0.75);
        assert_eq!(share(&values, 0.01, 0.5), 0.5);
        assert_eq!(share(&values, 0.15, f64::INFINITY), 0.25);
        assert_eq!(share(&[], 0.0, 1.0), 0.0);
        let curve = cdf(&values);
        assert_eq!((curve.len(), curve[0], curve[2]), (201, (0.0, 0.25), (0.01, 0.5)));
        assert_eq!(curve[200], (1.0, 1.0));
    }
}
