//! What preprocessing makes of round-trip times: figures 7 and 8.

use crate::citation::Citation;
use crate::{Curve, Done, Drawing, Metrics, Panel, Reproduction, Step, StepError, Work};
use paceline_congestion::lstm_pid::Features;
use paceline_congestion::papers;

use super::networks::recorded;
use super::{Line, column, panel};
use paceline_learn::dataset::{EDGES, SMOOTHING, STRATA, Source, Trace, UNTUNED};

pub(super) const FIGURE_7: Reproduction = Reproduction {
    id: "thesis-figure7",
    data: None,
    title: "Round-trip times before and after smoothing",
    source: Citation::of(papers::PIDNN_THESIS, "section 3.3.1, figure 7"),
    setting: "The incast of table 6 under the untuned controller: the first 300 samples of the first node, and \
              S[t] = 0.2 R[t] + 0.8 S[t-1].",
    notes: &["The thesis's figure has no numbers, and does not say which run it is of."],
    choices: &[],
    steps: &[FEATURES],
    needs: Vec::new,
    panels: smoothing,
};

pub(super) const FIGURE_8: Reproduction = Reproduction {
    id: "thesis-figure8",
    data: None,
    title: "How far samples are from the smoothed round-trip time, by scheme",
    source: Citation::of(papers::PIDNN_THESIS, "section 3.3.1, figure 8"),
    setting: "The incast of table 6, all 20 nodes: distribution of |K[t]| = |R[t] - S[t]| / S[t].",
    notes: &[
        "From the figure the thesis names two shares, of HPCC and DCTCP below 0.04, and that TIMELY lies mostly between \
         0.08 and 1 with some beyond. TIMELY here is that of the public simulator (see the note at table 6).",
        "The last rows are the strata from which training pairs are drawn.",
    ],
    panels: distribution,
    ..FIGURE_7
};

/// A scheme's series and shares.
struct Names {
    scheme: &'static str,
    settings: &'static [&'static str],
    title: &'static str,
    cdf: &'static str,
    shares: [&'static str; RANGES.len()],
}

/// Ranges of |K| whose shares are told.
const RANGES: [(f64, f64); 3 + STRATA] = [
    (0.0, 0.04),
    (0.08, 1.0),
    (1.0, 2.0),
    (0.0, EDGES[0] as f64),
    (EDGES[0] as f64, EDGES[1] as f64),
    (EDGES[1] as f64, EDGES[2] as f64),
    (EDGES[2] as f64, f64::INFINITY),
];

macro_rules! names {
    ($scheme:literal, $settings:expr, $title:literal) => {
        Names {
            scheme: $scheme,
            settings: $settings,
            title: $title,
            cdf: concat!($title, " cdf"),
            shares: [
                concat!($title, " 0"),
                concat!($title, " 1"),
                concat!($title, " 2"),
                concat!($title, " 3"),
                concat!($title, " 4"),
                concat!($title, " 5"),
                concat!($title, " 6"),
            ],
        }
    };
}

const SCHEMES: [Names; 4] = [
    names!("hpcc", &[], "hpcc"),
    names!("timely", &[], "timely"),
    names!("dctcp", &[], "dctcp"),
    names!("pidnn", UNTUNED, "pidnn, untuned"),
];

const FEATURES: Step = Step {
    name: "features",
    title: "recording round-trip times",
    work,
};

/// Series of figure 7.
const MEASURED: &str = "measured";
const SMOOTHED: &str = "smoothed";

/// Samples that are drawn there.
const SHOWN: usize = 300;

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let sources = SCHEMES
        .iter()
        .map(|names| Source::incast(names.scheme, names.settings));
    let sources: Vec<Source> = sources.collect();
    work.inform(0.0, "running the incast under four schemes")?;
    let traces = recorded(&sources, work)?;
    let mut numbers = Metrics::default();
    for (names, trace) in SCHEMES.iter().zip(&traces) {
        let mut sizes: Vec<f64> = trace
            .candidates(0)
            .iter()
            .map(|pair| f64::from(pair.k[2].abs()))
            .collect();
        sizes.sort_by(f64::total_cmp);
        numbers.series.insert(names.cdf, cdf(&sizes));
        for (name, range) in names.shares.into_iter().zip(RANGES) {
            numbers.values.insert(name, share(&sizes, range));
        }
    }
    let [measured, smoothed] = first_node(&traces[3]);
    numbers.series.insert(MEASURED, measured);
    numbers.series.insert(SMOOTHED, smoothed);
    Ok(numbers)
}

/// Share of ascending values in a range, the upper edge out of it.
fn share(ascending: &[f64], (from, to): (f64, f64)) -> f64 {
    let below = |edge: f64| ascending.partition_point(|&value| value < edge);
    (below(to) - below(from)) as f64 / ascending.len().max(1) as f64
}

/// The share of values that are not above 0, 0.005, 0.01 and so on up to 1.
fn cdf(ascending: &[f64]) -> Vec<(f64, f64)> {
    let at = |step: u32| {
        let edge = f64::from(step) / 200.0;
        let count = ascending.partition_point(|&value| value <= edge);
        (edge, count as f64 / ascending.len().max(1) as f64)
    };
    (0..=200).map(at).collect()
}

/// What the first node measures, by number of the sample: as it is, and smoothed.
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

fn smoothing(done: &Done) -> Vec<Panel> {
    let numbers = done.step(FEATURES.name);
    let both = [(MEASURED, "timely"), (SMOOTHED, "pidnn")];
    let points = |name: &str| {
        numbers
            .and_then(|numbers| numbers.series.get(name))
            .cloned()
            .unwrap_or_default()
    };
    let spread = |name: &str| {
        let values: Vec<f64> = points(name).iter().map(|&(_, value)| value).collect();
        let mean = paceline_lab::stats::mean(&values)?;
        let squares: Vec<f64> = values.iter().map(|value| (value - mean).powi(2)).collect();
        Some([mean, paceline_lab::stats::mean(&squares)?.sqrt()])
    };
    let row = |label: &str, k: usize| {
        Line::shown(
            label,
            ("RTT", "µs", 3),
            both.map(|(name, _)| spread(name).map(|values| values[k])),
        )
    };
    let lines = [row("mean, µs", 0), row("standard deviation, µs", 1)];
    let columns = both.map(|(name, scheme)| column(name, scheme)).to_vec();
    vec![Panel {
        drawing: Some(Drawing {
            stepped: false,
            x: ("sample", ""),
            y: ("RTT", "µs"),
            curves: both
                .map(|(name, scheme)| Curve {
                    name: name.to_string(),
                    scheme,
                    published: false,
                    points: points(name),
                })
                .to_vec(),
        }),
        ..panel("Smoothing", "", columns, &lines)
    }]
}

fn distribution(done: &Done) -> Vec<Panel> {
    let numbers = done.step(FEATURES.name);
    let curves = SCHEMES.iter().map(|names| Curve {
        name: names.title.to_string(),
        scheme: names.scheme,
        published: false,
        points: numbers
            .and_then(|numbers| numbers.series.get(names.cdf))
            .cloned()
            .unwrap_or_default(),
    });
    let line = |place: usize| {
        let (from, to) = RANGES[place];
        let label = match (from, to.is_finite()) {
            (_, false) => format!("above {from:.2}"),
            (0.0, _) => format!("below {to:.2}"),
            _ => format!("from {from:.2} to {to:.2}"),
        };
        let ours = SCHEMES
            .iter()
            .map(|names| Some(100.0 * numbers?.values.get(names.shares[place])?));
        Line::shown(label, ("share of samples", "%", 1), ours)
    };
    let lines: Vec<Line> = (0..RANGES.len())
        .map(|place| match place {
            // The only shares that the thesis names.
            0 => line(place).printed(0, 90.0).printed(2, 87.0),
            _ => line(place),
        })
        .collect();
    let columns = SCHEMES
        .iter()
        .map(|names| column(names.title, names.scheme))
        .collect();
    vec![Panel {
        drawing: Some(Drawing {
            stepped: false,
            x: ("|K|", ""),
            y: ("share of samples", ""),
            curves: curves.collect(),
        }),
        ..panel("Share of samples, %", "|K|", columns, &lines)
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_curves_of_known_values() {
        let values = [0.0, 0.01, 0.03, 0.5];
        assert_eq!(share(&values, (0.0, 0.04)), 0.75);
        assert_eq!(share(&values, (0.01, 0.5)), 0.5);
        assert_eq!(share(&values, (0.15, f64::INFINITY)), 0.25);
        assert_eq!(share(&[], (0.0, 1.0)), 0.0);
        let curve = cdf(&values);
        assert_eq!((curve.len(), curve[0], curve[2]), (201, (0.0, 0.25), (0.01, 0.5)));
        assert_eq!(curve[200], (1.0, 1.0));
    }
}
