//! Metrics of a summary that comparisons show: those of every run, and those of its jobs and collectives by name.

mod named;

use crate::results::{FlowCount, Summary, WORTH_SAYING, bus_bandwidth};
use crate::stats;
use crate::text::{duration_us, number, whole, whole_bytes};

use named::OfNamed;
pub use named::{of_jobs, of_services};

/// Column of a comparison.
#[derive(Clone)]
pub struct Metric {
    /// Heading of the group of columns that it belongs to.
    pub group: String,
    /// Heading of the column.
    pub name: &'static str,
    /// Dotted key in `summary.json`; in lists of named items the name replaces the index: `jobs.llm.iteration_us.mean`.
    pub key: String,
    of: ValueSource,
}

/// Source of a metric's values.
#[derive(Clone)]
enum ValueSource {
    Run(&'static Declared),
    Named(OfNamed),
}

impl Metric {
    /// Returns the value in a summary; `None` if the run has none.
    pub fn value(&self, summary: &Summary) -> Option<f64> {
        match &self.of {
            ValueSource::Run(of) => (of.value)(summary),
            ValueSource::Named(of) => of.value(summary),
        }
    }

    /// Returns the value in a summary as text.
    pub fn text(&self, summary: &Summary) -> String {
        match &self.of {
            ValueSource::Run(of) => (of.text)(summary),
            ValueSource::Named(of) => (of.show())(of.value(summary)),
        }
    }

    /// Formats a value as text.
    pub fn show(&self, value: Option<f64>) -> String {
        match &self.of {
            ValueSource::Run(of) => (of.show)(value),
            ValueSource::Named(of) => (of.show())(value),
        }
    }

    /// Returns the value with its sign chosen so that smaller is better; `None` also if neither direction is better.
    pub fn cost(&self, summary: &Summary) -> Option<f64> {
        match &self.of {
            ValueSource::Run(of) => (of.cost)(summary),
            ValueSource::Named(of) => of.value(summary).map(|value| value * of.sign()),
        }
    }

    /// Returns the label of the job or collective that the metric describes; empty for a metric of the whole run.
    pub fn label(&self) -> &str {
        match &self.of {
            ValueSource::Run(_) => "",
            ValueSource::Named(of) => of.label(),
        }
    }

    /// Returns 1 if less is better, -1 if more is.
    pub fn sign(&self) -> i8 {
        match &self.of {
            ValueSource::Run(_) => 1,
            ValueSource::Named(of) => of.sign() as i8,
        }
    }
}

impl From<&'static Declared> for Metric {
    fn from(of: &'static Declared) -> Self {
        Self {
            group: of.group.to_string(),
            name: of.name,
            key: of.key.to_string(),
            of: ValueSource::Run(of),
        }
    }
}

/// Metric that is defined for every run.
pub struct Declared {
    /// Heading of the group of columns that it belongs to.
    pub group: &'static str,
    /// Heading of the column.
    pub name: &'static str,
    /// Dotted key in `summary.json`.
    pub key: &'static str,
    /// Formats the value in a summary as text.
    pub text: fn(&Summary) -> String,
    /// Reads the value from a summary.
    pub value: fn(&Summary) -> Option<f64>,
    /// Formats a value as text.
    pub show: fn(Option<f64>) -> String,
    /// Value with its sign chosen so that smaller is better; `None` also if neither direction is better.
    pub cost: fn(&Summary) -> Option<f64>,
}

/// Completed flows out of all flows.
const DONE: Declared = Declared {
    group: "flows",
    name: "done",
    key: "flows.completed",
    text: |s| done(s.flows, "/"),
    value: |s| Some(s.flows.completed as f64),
    show: whole,
    cost: |_| None,
};

/// Returns the cost of a metric for which low is good.
const fn low(value: f64) -> Option<f64> {
    Some(value)
}

/// Returns the cost of a metric for which high is good.
const fn high(value: f64) -> Option<f64> {
    Some(-value)
}

/// Returns the cost of a metric for which neither direction is good in itself.
const fn neither(_value: f64) -> Option<f64> {
    None
}

macro_rules! metrics {
    ($first:expr; $($group:literal $name:literal $key:literal: $value:expr, $show:expr, $cost:path;)*) => {
        &[$first, $(Declared {
            group: $group,
            name: $name,
            key: $key,
            text: |summary| {
                let (value, show): (fn(&Summary) -> Option<f64>, fn(Option<f64>) -> String) = ($value, $show);
                show(value(summary))
            },
            value: $value,
            show: $show,
            cost: |summary| {
                let value: fn(&Summary) -> Option<f64> = $value;
                value(summary).and_then($cost)
            },
        },)*]
    };
}

/// Columns of every comparison.
pub const METRICS: &[Declared] = metrics! {
    DONE;
    "FCT slowdown" "mean" "fct_slowdown.mean": |s| s.fct_slowdown.mean, number, low;
    "FCT slowdown" "p50" "fct_slowdown.p50": |s| s.fct_slowdown.p50, number, low;
    "FCT slowdown" "p95" "fct_slowdown.p95": |s| s.fct_slowdown.p95, number, low;
    "FCT slowdown" "p99" "fct_slowdown.p99": |s| s.fct_slowdown.p99, number, low;
    "FCT" "mean" "fct_us.mean": |s| s.fct_us.mean, duration_us, low;
    "FCT" "p50" "fct_us.p50": |s| s.fct_us.p50, duration_us, low;
    "FCT" "p99" "fct_us.p99": |s| s.fct_us.p99, duration_us, low;
    "FCT" "makespan" "makespan_us": |s| s.makespan_us, duration_us, low;
    "RTT" "mean" "rtt_per_ack_us.mean": |s| s.rtt_per_ack_us.mean, duration_us, low;
    "RTT" "p99" "rtt_per_ack_us.p99": |s| s.rtt_per_ack_us.p99, duration_us, low;
    "RTT" "max" "rtt_per_ack_us.max": |s| s.rtt_per_ack_us.max, duration_us, low;
    "Gbit/s" "while active" "rate_while_active_gbps": |s| s.rate_while_active_gbps, number, high;
    "queue" "max" "queue_bytes.max": |s| Some(s.queue_bytes.max as f64), whole_bytes, low;
    "PFC" "pauses" "pfc.pauses": |s| Some(s.pfc.pauses as f64), whole, low;
    "packets" "drops" "drops": |s| Some(s.drops as f64), whole, low;
};

/// Mean time of a collective's iterations.
const COLLECTIVE_TIME: Declared = Declared {
    group: "collective",
    name: "mean time",
    key: "collectives.time_us",
    text: |s| match one_collective(s).map(|one| one.ended) {
        None => duration_us(None),
        Some(ended) if ended.completed == ended.total => duration_us(mean_time(s)),
        Some(ended) => format!("{} of {} ended", ended.completed, ended.total),
    },
    value: mean_time,
    show: duration_us,
    cost: mean_time,
};

/// Collective with its iterations.
struct OneCollective {
    ended: FlowCount,
    mean_us: Option<f64>,
    busbw_gbps: Option<f64>,
}

/// Returns the only collective of a run; times and rates of several are not comparable.
fn one_collective(summary: &Summary) -> Option<OneCollective> {
    // For a trace the list has only the slowest collectives.
    let mut listed = summary
        .collectives
        .iter()
        .filter(|one| one.name.is_none())
        .peekable();
    match (&summary.collective_sums[..], listed.peek().is_some()) {
        ([one], false) => Some(OneCollective {
            ended: one.collectives,
            mean_us: one.time_us.mean,
            busbw_gbps: one.busbw_gbps,
        }),
        ([], true) => {
            let all = &summary.collectives[..];
            let times: Vec<f64> = all.iter().filter_map(|one| one.time_us).collect();
            let ended = FlowCount {
                total: all.len() as u64,
                completed: times.len() as u64,
            };
            let alike = all.iter().all(|one| one.label == all[0].label);
            alike.then(|| OneCollective {
                ended,
                mean_us: stats::mean(&times),
                busbw_gbps: bus_bandwidth(all),
            })
        }
        _ => None,
    }
}

/// Returns the only collective if all its iterations ended; otherwise the mean over the ended ones would mislead.
fn only_collective(summary: &Summary) -> Option<OneCollective> {
    one_collective(summary).filter(|one| one.ended.completed == one.ended.total)
}

fn mean_time(summary: &Summary) -> Option<f64> {
    only_collective(summary)?.mean_us
}

/// Decisions that took effect.
const DECISIONS_MADE: Declared = Declared {
    group: "decisions",
    name: "made",
    key: "decisions.made",
    text: |s| whole(s.decisions.map(|of| of.made as f64)),
    value: |s| s.decisions.map(|of| of.made as f64),
    show: whole,
    cost: |_| None,
};

/// Returns the number of decisions that changed parameters.
fn triggers(summary: &Summary) -> Option<f64> {
    Some(summary.decisions?.triggers? as f64)
}

/// Extra columns for schemes whose decisions mostly watch (SPINE).
const TRIGGERS: &[Declared] = &[Declared {
    name: "triggers",
    key: "decisions.triggers",
    text: |s| whole(triggers(s)),
    value: triggers,
    ..DECISIONS_MADE
}];

/// Extra columns for runs with one collective; several have a table of their own.
const COLLECTIVES: &[Declared] = metrics! {
    COLLECTIVE_TIME;
    "collective" "bus Gbit/s" "collectives.busbw_gbps": |s| only_collective(s)?.busbw_gbps, number, high;
};

/// Extra columns for runs whose decisions take time.
const DECISIONS: &[Declared] = metrics! {
    DECISIONS_MADE;
    "decisions" "mean wait" "decisions.wait_us_mean": |s| s.decisions.map(|of| of.wait_us_mean), duration_us, low;
    "decisions" "busy" "decisions.busy": |s| s.decisions.and_then(|of| of.busy), number, low;
};

/// Mean of the one-way latencies.
const LATENCY_MEAN: Declared = Declared {
    group: "latency",
    name: "mean",
    key: "latency_us.mean",
    text: |s| duration_us(s.latency_us.and_then(|of| of.mean)),
    value: |s| s.latency_us.and_then(|of| of.mean),
    show: duration_us,
    cost: |s| s.latency_us.and_then(|of| of.mean),
};

/// Extra columns for runs that recorded latencies; the share of goodput shows the price of low latency.
const LATENCY: &[Declared] = metrics! {
    LATENCY_MEAN;
    "latency" "p99" "latency_us.p99": |s| s.latency_us.and_then(|of| of.p99), duration_us, low;
    "latency" "max" "latency_us.max": |s| s.latency_us.and_then(|of| of.max), duration_us, low;
    "goodput" "of links" "goodput_share.of_links": |s| s.goodput_share.map(|of| of.of_links), number, high;
};

/// Returns a measure of the second half, if `record.measures` has `halves`.
fn late(summary: &Summary, name: &str) -> Option<f64> {
    summary.measures.get("halves")?.get(name).copied()
}

/// Goodput in the second half.
const LATE_GOODPUT: Declared = Declared {
    group: "second half",
    name: "goodput, % of links",
    key: "measures.halves.goodput",
    text: |s| number(late(s, "goodput")),
    value: |s| late(s, "goodput"),
    show: number,
    cost: |s| late(s, "goodput").and_then(high),
};

/// Extra columns for runs that measured their second half.
const HALVES: &[Declared] = metrics! {
    LATE_GOODPUT;
    "second half" "latency p99" "measures.halves.p99": |s| late(s, "p99"), duration_us, low;
    "second half" "Jain's index" "measures.halves.jain": |s| late(s, "jain"), number, high;
    "second half" "lost, %" "measures.halves.loss": |s| late(s, "loss"), number, low;
};

/// Packets that arrived with a congestion mark.
const CE_PACKETS: Declared = Declared {
    group: "marked",
    name: "CE packets",
    key: "marks.ce_packets",
    text: |s| whole(marked(s, s.marks.ce_packets)),
    value: |s| marked(s, s.marks.ce_packets),
    show: whole,
    cost: |_| None,
};

/// Extra columns for networks whose ports have detectors.
const MARKS: &[Declared] = metrics! {
    CE_PACKETS;
    "marked" "CE flows" "marks.ce_flows": |s| marked(s, s.marks.ce_flows), whole, neither;
    "marked" "UE packets" "marks.ue_packets": |s| marked(s, s.marks.ue_packets), whole, neither;
    "marked" "UE flows" "marks.ue_flows": |s| marked(s, s.marks.ue_flows), whole, neither;
};

/// Number of times that a lane waited for credit.
const STALLS: Declared = Declared {
    group: "credits",
    name: "stalls",
    key: "credits.stalls",
    text: |s| whole(stalls(s)),
    value: stalls,
    show: whole,
    cost: stalls,
};

fn stalls(summary: &Summary) -> Option<f64> {
    let stalls = summary.credits.stalls;
    (stalls > 0).then_some(stalls as f64)
}

/// Extra columns for runs in which lanes waited for credit.
const CREDITS: &[Declared] = metrics! {
    STALLS;
    "credits" "stalled ms" "credits.stalled_s": |s| stalls(s).map(|_| s.credits.stalled_s * 1e3), number, low;
};

/// Returns a count of marks, if ports have detectors.
fn marked(summary: &Summary, count: u64) -> Option<f64> {
    summary.detection.as_ref().map(|_| count as f64)
}

/// Share of unscheduled bytes, if it is large enough to report.
const UNSCHEDULED_SHARE: Declared = Declared {
    group: "bytes",
    name: "unscheduled",
    key: "unscheduled.share",
    text: |s| percent(unscheduled(s)),
    value: unscheduled,
    show: percent,
    cost: |_| None,
};

/// Extra columns for runs in which most bytes left before any feedback.
const UNSCHEDULED: &[Declared] = &[UNSCHEDULED_SHARE];

fn unscheduled(summary: &Summary) -> Option<f64> {
    let share = summary.unscheduled.map(|of| of.share);
    share.filter(|&share| share >= WORTH_SAYING)
}

/// Formats a share in percent; a share below one is never rounded up to 100 %.
fn percent(share: Option<f64>) -> String {
    share.map_or_else(
        || "–".to_string(),
        |share| format!("{:.0}%", (share * 100.0).floor()),
    )
}

/// Returns the metrics that are shown only for runs that have them.
fn occasional() -> impl Iterator<Item = &'static Declared> + Clone {
    COLLECTIVES
        .iter()
        .chain(DECISIONS)
        .chain(TRIGGERS)
        .chain(MARKS)
        .chain(CREDITS)
        .chain(LATENCY)
        .chain(HALVES)
        .chain(UNSCHEDULED)
}

/// Returns every metric that some of these runs may have: those of all runs, the occasional ones, and those of their
/// jobs and collectives.
pub fn all_of<'a>(runs: impl IntoIterator<Item = &'a Summary>) -> Vec<Metric> {
    let declared = METRICS.iter().chain(occasional());
    declared.map(Metric::from).chain(named::of_all(runs)).collect()
}

/// Returns the metrics of all runs and the occasional ones.
pub fn of_runs() -> impl Iterator<Item = Metric> {
    METRICS.iter().chain(occasional()).map(Metric::from)
}

/// Maximum number of jobs with columns in the first table; more have a table by job.
const JOBS_SHOWN: usize = 2;

/// Returns the metrics that tables and pages of these runs show.
pub fn shown(runs: &[&Summary]) -> Vec<Metric> {
    let has_one_collective = |run: &&Summary| one_collective(run).is_some();
    let decisions = runs.iter().any(|run| run.decisions.is_some());
    let feedback = runs.iter().any(|run| unscheduled(run).is_some());
    // Flows without end have no completion times.
    let there =
        |metric: &&Declared| metric.key == DONE.key || runs.iter().any(|run| (metric.value)(run).is_some());
    let mut metrics: Vec<Metric> = METRICS.iter().filter(there).map(Metric::from).collect();
    for (more, shown) in [
        (COLLECTIVES, runs.iter().any(has_one_collective)),
        (DECISIONS, decisions),
        (TRIGGERS, runs.iter().any(|run| triggers(run).is_some())),
        (MARKS, runs.iter().any(|run| run.detection.is_some())),
        (CREDITS, runs.iter().any(|run| run.credits.stalls > 0)),
        (LATENCY, runs.iter().any(|run| run.latency_us.is_some())),
        (HALVES, runs.iter().any(|run| late(run, "goodput").is_some())),
        (UNSCHEDULED, feedback),
    ] {
        metrics.extend(more.iter().filter(|_| shown).map(Metric::from));
    }
    let mut jobs = of_jobs(runs.iter().copied());
    jobs.extend(of_services(runs.iter().copied()));
    let mut labels: Vec<&str> = jobs.iter().map(|metric| metric.group.as_str()).collect();
    labels.dedup();
    // Many jobs would push the other rows off the screen; a table by job has them.
    if labels.len() <= JOBS_SHOWN {
        metrics.splice(0..0, jobs);
    }
    metrics
}

/// Formats the completed flows out of all flows, with `of` between the two numbers.
pub(crate) fn done(flows: FlowCount, of: &str) -> String {
    if flows.completed == flows.total {
        format!("all {}", flows.total)
    } else {
        format!("{}{of}{}", flows.completed, flows.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CollectiveTime, Machine};
    use crate::sample;

    /// One sample per round trip under-represents long ones: 4, 5 and 6 µs here, although acknowledgements took up to
    /// 90.
    #[test]
    fn round_trips_are_of_all_acknowledgements() {
        let (input, mut outcome) = sample::incast();
        outcome.rtt_per_ack = sample::rtt(&[4_000, 90_000, 90_000, 90_000]);
        let summary = sample::summarised(&input, &outcome, Machine::default());
        let of_group = METRICS.iter().filter(|metric| metric.group == "RTT");
        let values: Vec<_> = of_group
            .map(|metric| (metric.name, (metric.value)(&summary)))
            .collect();
        let expected = [("mean", Some(68.5)), ("p99", Some(90.0)), ("max", Some(90.0))];
        assert_eq!(values, expected);
    }

    /// Rates over NVLink and over Ethernet have no meaningful mean.
    #[test]
    fn several_collectives_have_no_mean() {
        let (input, outcome) = sample::incast();
        let mut summary = sample::summarised(&input, &outcome, Machine::default());
        let one = |label: &str, gbps: f64| CollectiveTime {
            label: label.into(),
            iteration: 0,
            start_s: Some(0.0),
            end_s: Some(1e-6),
            time_us: Some(1.0),
            algbw_gbps: Some(gbps),
            busbw_gbps: Some(gbps),
            name: None,
            group: None,
        };
        let names = |summary: &Summary| -> Vec<&str> {
            let shown = shown(&[summary]).into_iter();
            shown
                .filter(|metric| metric.group == "collective")
                .map(|metric| metric.name)
                .collect()
        };
        summary.collectives = vec![one("sum", 100.0), one("sum", 100.0)];
        assert_eq!(names(&summary), ["mean time", "bus Gbit/s"]);
        summary.collectives[1] = one("sum over NVLink", 900.0);
        assert_eq!(names(&summary), [] as [&str; 0]);
        assert_eq!((COLLECTIVES[1].value)(&summary), None);
    }

    #[test]
    fn flows_that_are_done() {
        assert_eq!(
            done(
                FlowCount {
                    total: 20,
                    completed: 20
                },
                "/"
            ),
            "all 20"
        );
    }
}
