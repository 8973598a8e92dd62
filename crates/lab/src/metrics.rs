//! The quantities of a summary that comparisons show.

use crate::results::{CollectiveTime, FlowCount, Summary, WORTH_SAYING};
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
    "FCT" "last end" "finish_us": |s| s.finish_us, duration_us, low;
    "RTT" "mean" "rtt_us.mean": |s| s.rtt_us.mean, duration_us, low;
    "RTT" "p99" "rtt_us.p99": |s| s.rtt_us.p99, duration_us, low;
    "RTT" "max" "rtt_us.max": |s| s.rtt_us.max, duration_us, low;
    "RTT" "all ACKs" "rtt_all_us.mean": |s| s.rtt_all_us.mean, duration_us, low;
    "Gbit/s" "mean rate" "rate_mean_gbps": |s| s.rate_mean_gbps, number, high;
    "queue" "max" "queue_bytes.max": |s| Some(s.queue_bytes.max as f64), whole_bytes, low;
    "PFC" "pauses" "pfc.pauses": |s| Some(s.pfc.pauses as f64), whole, low;
    "packets" "drops" "drops": |s| Some(s.drops as f64), whole, low;
};

/// The mean time of a collective's iterations.
const COLLECTIVE_TIME: Metric = Metric {
    group: "collectives",
    name: "mean time",
    key: "collectives.time_us",
    text: |s| match s.collectives.iter().filter(|one| one.time_us.is_some()).count() {
        ended if ended == s.collectives.len() => duration_us(mean_of(s, |time| time.time_us)),
        ended => format!("{ended} of {} ended", s.collectives.len()),
    },
    value: |s| mean_of(s, |time| time.time_us),
    show: duration_us,
    cost: |s| mean_of(s, |time| time.time_us),
};

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

/// What is shown besides where a run has collectives.
const COLLECTIVES: &[Metric] = metrics! {
    COLLECTIVE_TIME;
    "collectives" "bus Gbit/s" "collectives.busbw_gbps": |s| mean_of(s, |time| time.busbw_gbps), number, high;
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

/// What had left before its sender heard anything, where that is worth saying.
const UNHEARD: Metric = Metric {
    group: "bytes sent",
    name: "unheard",
    key: "before_feedback.share",
    text: |s| percent(unheard(s)),
    value: unheard,
    show: percent,
    cost: |_| None,
};

/// What is shown besides where most of the bytes left before any feedback.
const BEFORE_FEEDBACK: &[Metric] = &[UNHEARD];

fn unheard(summary: &Summary) -> Option<f64> {
    let share = summary.before_feedback.map(|before| before.share);
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
        .chain(MARKS)
        .chain(CREDITS)
        .chain(LATENCY)
        .chain(BEFORE_FEEDBACK)
}

/// What a comparison of these runs shows.
pub(crate) fn shown(runs: &[&Summary]) -> Vec<&'static Metric> {
    let collectives = runs.iter().any(|run| !run.collectives.is_empty());
    let decisions = runs.iter().any(|run| run.decisions.is_some());
    let feedback = runs.iter().any(|run| unheard(run).is_some());
    let mut metrics: Vec<&Metric> = METRICS.iter().collect();
    for (more, shown) in [
        (COLLECTIVES, collectives),
        (DECISIONS, decisions),
        (MARKS, runs.iter().any(|run| run.detection.is_some())),
        (CREDITS, runs.iter().any(|run| run.credits.stalls > 0)),
        (LATENCY, runs.iter().any(|run| run.latency_us.is_some())),
        (BEFORE_FEEDBACK, feedback),
    ] {
        metrics.extend(more.iter().filter(|_| shown));
    }
    metrics
}

/// The mean over all iterations. Where one has not come to its end there is none: of runs of which others ended, means
/// cannot be compared.
fn mean_of(summary: &Summary, value: fn(&CollectiveTime) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = summary.collectives.iter().map(value).collect();
    stats::mean(&values?)
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
