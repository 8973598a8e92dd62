//! Quantities that a sweep's page offers.

use paceline_lab::metrics::{self, Metric};
use paceline_lab::results::Summary;
use paceline_lab::sweep::SweepData;
use paceline_lab::text::duration_us;

/// Quantity of a run.
pub(super) struct Measure {
    pub(super) name: &'static str,
    /// Unit, such as `B` or `µs`; the page chooses a multiple that reads well.
    pub(super) unit: &'static str,
    /// 1: lower is better; -1: higher is better; 0: neither.
    pub(super) cost: i8,
    pub(super) of: fn(&Summary) -> Option<f64>,
}

macro_rules! measures {
    ($($name:literal $unit:literal $cost:literal: $of:expr;)*) => {
        /// Measures in the order in which they are offered; the first is shown first.
        pub(super) const MEASURES: &[Measure] =
            &[$(Measure { name: $name, unit: $unit, cost: $cost, of: $of },)*];
    };
}
measures! {
    "FCT slowdown, p99" "×" 1: |s| s.fct_slowdown.p99;
    "FCT slowdown, mean" "×" 1: |s| s.fct_slowdown.mean;
    "FCT slowdown, median" "×" 1: |s| s.fct_slowdown.p50;
    "FCT slowdown, p95" "×" 1: |s| s.fct_slowdown.p95;
    "FCT, mean" "µs" 1: |s| s.fct_us.mean;
    "Makespan" "µs" 1: |s| s.makespan_us;
    "RTT, mean" "µs" 1: |s| s.rtt_per_ack_us.mean;
    "RTT, p99" "µs" 1: |s| s.rtt_per_ack_us.p99;
    "Rate while active" "Gbit/s" -1: |s| s.rate_while_active_gbps;
    "Goodput of all flows" "Gbit/s" -1: |s| s.goodput_gbps.aggregate;
    "Jain's index" "" -1: |s| s.jain;
    "Largest queue" "B" 1: |s| Some(s.queue_bytes.max as f64);
    "Queue, mean" "B" 1: |s| s.queue_bytes.mean;
    "PFC pauses" "" 1: |s| Some(s.pfc.pauses as f64);
    "Packets marked" "" 0: |s| Some(s.ecn.ce as f64);
    "Packets lost" "" 1: |s| Some(s.drops as f64);
    "Flows completed" "%" -1: |s| {
        (s.flows.total > 0).then(|| s.flows.completed as f64 / s.flows.total as f64 * 100.0)
    };
}

/// Quantity that the page offers.
pub(super) struct Offered {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) cost: i8,
    of: ValueSource,
}

enum ValueSource {
    Run(fn(&Summary) -> Option<f64>),
    Named(Metric),
}

impl Offered {
    pub(super) fn value(&self, summary: &Summary) -> Option<f64> {
        match &self.of {
            ValueSource::Run(of) => of(summary),
            ValueSource::Named(metric) => metric.value(summary),
        }
    }
}

/// Largest number of quantities of jobs and collectives; `points.csv` has all.
const NAMED_MAX: usize = 60;

/// Returns the quantities that a sweep's page offers: those of whole runs, then those of jobs and collectives, by
/// name.
pub(super) fn offered(data: &SweepData) -> Vec<Offered> {
    let of_runs = MEASURES.iter().map(|measure| Offered {
        name: measure.name.to_string(),
        unit: measure.unit,
        cost: measure.cost,
        of: ValueSource::Run(measure.of),
    });
    let summaries = data.in_order().filter_map(|(_, row)| row.summary.as_ref());
    let named = metrics::all_of(summaries)
        .into_iter()
        .filter(|metric| !metric.label().is_empty());
    let named = named.take(NAMED_MAX).map(|metric| Offered {
        name: format!("{}, {}", capital(&metric.group), metric.name),
        unit: match metric.key.as_str() {
            key if key.ends_with("_gbps") => "Gbit/s",
            key if key.ends_with(".communication") => "",
            _ => "µs",
        },
        cost: metric.sign(),
        of: ValueSource::Named(metric),
    });
    let mut all: Vec<Offered> = of_runs.chain(named).collect();
    // The iteration time is the purpose of a job, so it comes first.
    let is_iteration = |one: &Offered| matches!(&one.of, ValueSource::Named(metric) if metric.key.ends_with(".iteration_us.mean"));
    if let Some(place) = all.iter().position(is_iteration) {
        all[..=place].rotate_right(1);
    }
    all
}

/// Measure in a sentence.
pub(super) struct Words {
    pub(super) name: String,
    pub(super) show: fn(f64) -> String,
}

/// Returns the measure with this name, if points are compared by it.
pub(super) fn in_words(name: &str) -> Option<Words> {
    if name == MEASURES[MAIN].name {
        return Some(Words {
            name: "The 99th percentile of slowdowns".into(),
            show: |value| format!("{value:.2}"),
        });
    }
    let job = name.strip_prefix("Job ")?.strip_suffix(", iteration mean")?;
    Some(Words {
        name: format!("The mean iteration of job {job}"),
        show: |value| duration_us(Some(value)),
    })
}

/// Capitalizes the first letter: `Job llm`.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Index of the measure by which the summary compares points.
pub(super) const MAIN: usize = 0;
