//! Metrics of `summary.json` that can be used as measures, by path.

use super::{Measure, measure};

/// Measures that every run has.
pub const SUMMARY: &[Measure] = &[
    measure("flows.completed", "flows completed", "", 0),
    measure("flows.total", "flows", "", 0),
    measure("flows.given_up", "flows given up", "", 0),
    measure("fct_slowdown.mean", "mean slowdown", "×", 3),
    measure("fct_slowdown.p50", "median slowdown", "×", 3),
    measure("fct_slowdown.p95", "p95 of slowdown", "×", 3),
    measure("fct_slowdown.p99", "p99 of slowdown", "×", 3),
    measure("fct_us.mean", "mean completion time", "µs", 2),
    measure("fct_us.p50", "median completion time", "µs", 2),
    measure("fct_us.p95", "p95 of completion time", "µs", 2),
    measure("fct_us.p99", "p99 of completion time", "µs", 2),
    measure("makespan_us", "makespan", "µs", 1),
    measure("rtt_per_ack_us.mean", "mean RTT", "µs", 4),
    measure("rtt_per_ack_us.p99", "p99 RTT", "µs", 3),
    measure("rtt_per_ack_us.max", "max RTT", "µs", 3),
    measure(
        "rtt_per_round_trip_us.mean",
        "mean RTT, one sample per round trip",
        "µs",
        4,
    ),
    measure(
        "rtt_per_round_trip_us.p99",
        "p99 RTT, one sample per round trip",
        "µs",
        3,
    ),
    measure(
        "rtt_per_round_trip_us.max",
        "max RTT, one sample per round trip",
        "µs",
        3,
    ),
    measure("latency_us.mean", "mean one-way latency", "µs", 3),
    measure("latency_us.p99", "p99 of one-way latency", "µs", 3),
    measure("rate_while_active_gbps", "mean rate", "Gbit/s", 4),
    measure("goodput_gbps.aggregate", "goodput", "Gbit/s", 2),
    measure("jain", "Jain's index of goodput", "", 4),
    measure("queue_bytes.mean", "mean queue", "B", 0),
    measure("queue_bytes.p99", "p99 of the queue", "B", 0),
    measure("queue_bytes.max", "largest queue", "B", 0),
    measure("pfc.pauses", "pauses", "", 0),
    measure("pfc.pause_frames", "pause frames", "", 0),
    measure("pfc.paused_s", "time paused, all ports", "s", 6),
    measure("ecn.ce", "packets marked congested", "", 0),
    measure("ecn.ue", "packets marked undetermined", "", 0),
    measure("credits.stalls", "stalls for want of credit", "", 0),
    measure("credits.stalled_s", "time stalled, all lanes", "s", 6),
    measure("cnps", "congestion notifications", "", 0),
    measure("drops", "packets dropped", "", 0),
    measure("retransmitted_bytes", "payload sent again", "B", 0),
    measure("base_rtt_us", "RTT of the empty network", "µs", 3),
    measure("bdp_bytes", "bandwidth-delay product", "B", 0),
    measure("simulated_s", "simulated time", "s", 6),
    measure("events", "events", "", 0),
    measure("packet_hops", "packet-hops", "", 0),
];

/// Prefixes of measures that depend on the scenario: jobs, services, collectives, labels of flows, schemes, counters, and optional recordings.
const GROUPS: [&str; 16] = [
    "jobs.",
    "services.",
    "collectives.",
    "measures.",
    "labels.",
    "schemes.",
    "counters.",
    "marks.",
    "states.",
    "decisions.",
    "busiest_port.",
    "queue_cdf.",
    "utilisation.",
    "pause_share.",
    "jain_over_time.",
    "convergence_us.",
];

/// Returns the measure at a path of the summary.
pub fn find_summary(path: &str) -> Option<Measure> {
    let found = SUMMARY.iter().find(|one| one.name == path).cloned();
    found.or_else(|| {
        let is_known = GROUPS.iter().any(|group| path.starts_with(group));
        is_known.then(|| Measure {
            name: path.to_string().into(),
            what: path.to_string().into(),
            unit: unit(path).into(),
            digits: 3,
        })
    })
}

/// Returns the unit that the suffix of a metric's name implies.
fn unit(path: &str) -> &'static str {
    let in_names = [("_us", "µs"), ("_bytes", "B"), ("_gbps", "Gbit/s"), ("_s", "s")];
    let found = path
        .split('.')
        .find_map(|part| in_names.iter().find(|(end, _)| part.ends_with(end)));
    found.map_or("", |(_, unit)| unit)
}

/// Returns the paths that every run has.
pub fn summary_names() -> impl Iterator<Item = &'static str> {
    SUMMARY.iter().map(|one| one.name.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{results::Machine, sample, sweep};

    /// All measures exist in a summary, and all metrics in the summary of a plain run are measures.
    #[test]
    fn summaries_have_them() {
        let (input, outcome) = sample::incast();
        let summary = sample::summarised(&input, &outcome, Machine::default());
        let found: Vec<String> = sweep::metrics(&summary)
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        let rare = ["flows.given_up", "latency_us.mean", "latency_us.p99", "jain"];
        let missing: Vec<&str> = summary_names()
            .filter(|name| !rare.contains(name) && !found.iter().any(|path| path == name))
            .collect();
        assert_eq!(missing, Vec::<&str>::new(), "{found:#?}");
    }

    /// Jobs and collectives have their measures by label, with units.
    #[test]
    fn jobs_have_them_by_label() {
        let unit = |path: &str| find_summary(path).map(|measure| measure.unit.to_string());
        assert_eq!(unit("jobs.llm.iteration_us.mean").as_deref(), Some("µs"));
        assert_eq!(unit("jobs.llm.communication").as_deref(), Some(""));
        assert_eq!(
            unit("collectives.llm/all-reduce.busbw_gbps").as_deref(),
            Some("Gbit/s")
        );
        assert_eq!(unit("job.llm"), None);
    }
}
