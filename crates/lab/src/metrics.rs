//! The quantities of a summary that comparisons show.

use crate::results::{FlowCount, Summary, WORTH_SAYING, bus_bandwidth};
use crate::stats;
use crate::text::{duration_us, number, whole, whole_bytes};

/// A column of a comparison.
pub struct Metric {
    /// Which group of columns it is in.
    pub group: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// Where it is in `summary.json`.
    pub key: &'static str,
    /// Its value in a summary, as text.
    pub text: fn(&Summary) -> String,
    /// Its value in a summary.
    pub value: fn(&Summary) -> Option<f64>,
    /// A value as text.
    pub show: fn(Option<f64>) -> String,
    /// Its value, the smaller the better; `None` also where small is not good.
    pub cost: fn(&Summary) -> Option<f64>,
}

/// How many flows finished, of how many.
const DONE: Metric = Metric {
    group: "flows",
    name: "done",
    key: "flows.completed",
    text: |s| done(s.flows, "/"),
    value: |s| Some(s.flows.completed as f64),
    show: whole,
    cost: |_| None,
};

/// The cost where low is good.
const fn low(value: f64) -> Option<f64> {
    Some(value)
}

/// The cost where high is good.
const fn high(value: f64) -> Option<f64> {
    Some(-value)
}

/// The cost where neither is good for itself.
const fn neither(_value: f64) -> Option<f64> {
    None
}

macro_rules! metrics {
    ($first:expr; $($group:literal $name:literal $key:literal: $value:expr, $show:expr, $cost:path;)*) => {
        &[$first, $(Metric {
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

/// The columns of every comparison.
pub const METRICS: &[Metric] = metrics! {
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

/// The mean time of a collective's iterations.
const COLLECTIVE_TIME: Metric = Metric {
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

/// A collective with its iterations.
struct OneCollective {
    ended: FlowCount,
    mean_us: Option<f64>,
    busbw_gbps: Option<f64>,
}

/// The only collective of a run: times and rates of several are not of the same kind.
fn one_collective(summary: &Summary) -> Option<OneCollective> {
    // Of a trace the list has the slowest only.
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

/// The same if all its iterations ended: where some did not, the means of the others cannot be compared.
fn only_collective(summary: &Summary) -> Option<OneCollective> {
    one_collective(summary).filter(|one| one.ended.completed == one.ended.total)
}

fn mean_time(summary: &Summary) -> Option<f64> {
    only_collective(summary)?.mean_us
}

/// Decisions that took effect.
const DECISIONS_MADE: Metric = Metric {
    group: "decisions",
    name: "made",
    key: "decisions.made",
    text: |s| whole(s.decisions.map(|of| of.made as f64)),
    value: |s| s.decisions.map(|of| of.made as f64),
    show: whole,
    cost: |_| None,
};

/// Decisions that made new parameters.
fn triggers(summary: &Summary) -> Option<f64> {
    Some(summary.decisions?.triggers? as f64)
}

/// What is shown besides where decisions mostly watch.
const TRIGGERS: &[Metric] = &[Metric {
    name: "triggers",
    key: "decisions.triggers",
    text: |s| whole(triggers(s)),
    value: triggers,
    ..DECISIONS_MADE
}];

/// What is shown besides where runs have one collective; of several there is a table.
const COLLECTIVES: &[Metric] = metrics! {
    COLLECTIVE_TIME;
    "collective" "bus Gbit/s" "collectives.busbw_gbps": |s| only_collective(s)?.busbw_gbps, number, high;
};

/// What is shown besides where decisions take time.
const DECISIONS: &[Metric] = metrics! {
    DECISIONS_MADE;
    "decisions" "mean wait" "decisions.wait_us_mean": |s| s.decisions.map(|of| of.wait_us_mean), duration_us, low;
    "decisions" "busy" "decisions.busy": |s| s.decisions.and_then(|of| of.busy), number, low;
};

/// The mean of one-way latencies.
const LATENCY_MEAN: Metric = Metric {
    group: "latency",
    name: "mean",
    key: "latency_us.mean",
    text: |s| duration_us(s.latency_us.and_then(|of| of.mean)),
    value: |s| s.latency_us.and_then(|of| of.mean),
    show: duration_us,
    cost: |s| s.latency_us.and_then(|of| of.mean),
};

/// What is shown besides where latencies were recorded: with them goodput as a share, which is their other side.
const LATENCY: &[Metric] = metrics! {
    LATENCY_MEAN;
    "latency" "p99" "latency_us.p99": |s| s.latency_us.and_then(|of| of.p99), duration_us, low;
    "latency" "max" "latency_us.max": |s| s.latency_us.and_then(|of| of.max), duration_us, low;
    "goodput" "of links" "goodput_share.of_links": |s| s.goodput_share.map(|of| of.of_links), number, high;
};

/// Packets that came marked as congested.
const CE_PACKETS: Metric = Metric {
    group: "marked",
    name: "CE packets",
    key: "marks.ce_packets",
    text: |s| whole(marked(s, s.marks.ce_packets)),
    value: |s| marked(s, s.marks.ce_packets),
    show: whole,
    cost: |_| None,
};

/// What is shown besides where ports have detectors.
const MARKS: &[Metric] = metrics! {
    CE_PACKETS;
    "marked" "CE flows" "marks.ce_flows": |s| marked(s, s.marks.ce_flows), whole, neither;
    "marked" "UE packets" "marks.ue_packets": |s| marked(s, s.marks.ue_packets), whole, neither;
    "marked" "UE flows" "marks.ue_flows": |s| marked(s, s.marks.ue_flows), whole, neither;
};

/// Times that a lane waited for credit.
const STALLS: Metric = Metric {
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

/// What is shown besides where lanes waited for credit.
const CREDITS: &[Metric] = metrics! {
    STALLS;
    "credits" "stalled ms" "credits.stalled_s": |s| stalls(s).map(|_| s.credits.stalled_s * 1e3), number, low;
};

/// A count of marks, where ports have detectors.
fn marked(summary: &Summary, count: u64) -> Option<f64> {
    summary.detection.as_ref().map(|_| count as f64)
}

/// The share of unscheduled bytes, where that is worth saying.
const UNSCHEDULED_SHARE: Metric = Metric {
    group: "bytes",
    name: "unscheduled",
    key: "unscheduled.share",
    text: |s| percent(unscheduled(s)),
    value: unscheduled,
    show: percent,
    cost: |_| None,
};

/// What is shown besides where most of the bytes left before any feedback.
const UNSCHEDULED: &[Metric] = &[UNSCHEDULED_SHARE];

fn unscheduled(summary: &Summary) -> Option<f64> {
    let share = summary.unscheduled.map(|of| of.share);
    share.filter(|&share| share >= WORTH_SAYING)
}

/// A share in percent, never rounded to all.
fn percent(share: Option<f64>) -> String {
    share.map_or_else(
        || "–".to_string(),
        |share| format!("{:.0}%", (share * 100.0).floor()),
    )
}

/// What is shown only of runs that have it.
pub fn occasional() -> impl Iterator<Item = &'static Metric> + Clone {
    COLLECTIVES
        .iter()
        .chain(DECISIONS)
        .chain(TRIGGERS)
        .chain(MARKS)
        .chain(CREDITS)
        .chain(LATENCY)
        .chain(UNSCHEDULED)
}

/// What tables and pages of these runs show.
pub fn shown(runs: &[&Summary]) -> Vec<&'static Metric> {
    let has_one_collective = |run: &&Summary| one_collective(run).is_some();
    let decisions = runs.iter().any(|run| run.decisions.is_some());
    let feedback = runs.iter().any(|run| unscheduled(run).is_some());
    let mut metrics: Vec<&Metric> = METRICS.iter().collect();
    for (more, shown) in [
        (COLLECTIVES, runs.iter().any(has_one_collective)),
        (DECISIONS, decisions),
        (TRIGGERS, runs.iter().any(|run| triggers(run).is_some())),
        (MARKS, runs.iter().any(|run| run.detection.is_some())),
        (CREDITS, runs.iter().any(|run| run.credits.stalls > 0)),
        (LATENCY, runs.iter().any(|run| run.latency_us.is_some())),
        (UNSCHEDULED, feedback),
    ] {
        metrics.extend(more.iter().filter(|_| shown));
    }
    metrics
}

/// How many flows finished, of how many.
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

    /// A sample per round trip has few of the long ones: 4, 5 and 6 µs here, where acknowledgements took up to 90.
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

    /// Rates over NVLink and over Ethernet have no mean.
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
