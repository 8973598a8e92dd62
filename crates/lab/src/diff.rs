//! Compares the inputs and results of two runs: `paceline diff`.

mod text;

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use serde::Serialize;
use serde_json::Value;

use crate::files::RunData;
use crate::results::{FlowRow, FlowRows, JobTimes};
use crate::stats;
use crate::sweep::{labels, of_collectives};

/// Differences between two runs, A and B.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// Keys of the resolved scenarios whose values differ, the program's version among them.
    pub inputs: Vec<Changed<String>>,
    /// Iterations of the jobs that both runs have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobChange>,
    /// Metrics of the summaries that differ, the most important first. Measurements of the machine are left out.
    pub results: Vec<Metric>,
    /// Comparison flow by flow; null if the runs have different flows.
    pub flows: Option<Flows>,
    /// True if all events of the two runs have the same digest.
    pub same_digest: bool,
}

/// Setting that differs between A and B; a value is `None` if the run does not have the key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Changed<T> {
    /// Dotted key of the resolved scenario, such as `cc.hpcc.eta`.
    pub key: String,
    /// Value in A; `None` without the key.
    pub a: Option<T>,
    /// Value in B; `None` without the key.
    pub b: Option<T>,
}

/// Metric in A and in B.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// Dotted key in `summary.json`.
    pub key: String,
    /// Value in A; `None` if its summary lacks the key.
    pub a: Option<f64>,
    /// Value in B; `None` if its summary lacks the key.
    pub b: Option<f64>,
    /// Difference `b - a`; `None` if either value is missing.
    pub difference: Option<f64>,
    /// Relative difference `b / a - 1`; `None` if A's value is zero.
    pub relative: Option<f64>,
}

/// Times of a job's iterations in both runs, in microseconds: A, then B.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JobChange {
    /// Label of the job.
    pub label: String,
    /// Mean of its iterations.
    pub mean_us: [Option<f64>; 2],
    /// 99th percentile of its iterations.
    pub p99_us: [Option<f64>; 2],
    /// Share of the mean that is communication, 0 to 1.
    pub communication: [Option<f64>; 2],
}

/// Completion times of the same flows in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flows {
    /// Flows that finished in both runs.
    pub both: u64,
    /// Flows that finished in A only.
    pub only_a: u64,
    /// Flows that finished in B only.
    pub only_b: u64,
    /// Flows that finished faster in B than in A.
    pub faster: u64,
    /// Flows that finished slower in B than in A.
    pub slower: u64,
    /// Flows with the same completion time in both runs.
    pub same: u64,
    /// Distribution of the ratio of completion times, B over A.
    pub ratio: Ratio,
    /// Flows with the largest ratios, in descending order.
    pub largest: Vec<FlowChange>,
}

/// Distribution of the ratio of completion times, B over A.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "percentiles say what they are")]
pub struct Ratio {
    pub min: Option<f64>,
    pub p5: Option<f64>,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub max: Option<f64>,
}

/// Completion times of one flow in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "as in flows.csv")]
pub struct FlowChange {
    pub flow_id: u32,
    pub size_bytes: u64,
    pub a_fct_ps: u64,
    pub b_fct_ps: u64,
    /// Completion time in B divided by that in A.
    pub ratio: f64,
}

/// Maximum number of flows listed in `Flows::largest`.
const LARGEST: usize = 8;
/// Keys of the summary that measure the machine or name the run.
const NOT_RESULTS: [&str; 10] = [
    "format",
    "version",
    "scenario",
    "scheme",
    "seed",
    "wall_s",
    "cpu_s",
    "packet_hops_per_s",
    "peak_rss_bytes",
    "digest",
];
/// Keys listed first, in this order.
const FIRST: [&str; 21] = [
    "flows.completed",
    "fct_slowdown.mean",
    "fct_slowdown.p50",
    "fct_slowdown.p95",
    "fct_slowdown.p99",
    "fct_slowdown.max",
    "fct_us.mean",
    "makespan_us",
    "rtt_per_ack_us.mean",
    "rtt_per_ack_us.p99",
    "rate_while_active_gbps",
    "goodput_gbps.aggregate",
    "jain",
    "queue_bytes.mean",
    "queue_bytes.max",
    "pfc.pauses",
    "pfc.paused_s",
    "ecn.ce",
    "ecn.ue",
    "drops",
    "retransmitted_bytes",
];

/// Ends of the keys that are listed for each job.
const OF_JOBS: [&str; 6] = [
    ".iterations.completed",
    ".iteration_us.mean",
    ".iteration_us.p99",
    ".iteration_us.max",
    ".exposed_us",
    ".communication",
];
const OF_SERVICES: [&str; 5] = [
    ".requests.completed",
    ".ttft_us.mean",
    ".ttft_us.p99",
    ".kv_us.mean",
    ".goodput_per_s",
];
const OF_COLLECTIVES: [&str; 3] = [".time_us.mean", ".time_us.p99", ".busbw_gbps"];
/// Maximum number of metrics of jobs and collectives that are listed.
const NAMED_MAX: usize = 24;

impl Diff {
    /// Compares `a` and `b`; returns an error if a scenario is not TOML.
    pub fn of(a: &RunData, b: &RunData) -> Result<Self, String> {
        let (mut in_a, mut in_b) = (scenario(a)?, scenario(b)?);
        // The version is an input, too: other code may explain other results.
        in_a.insert("version".into(), a.summary.version.clone());
        in_b.insert("version".into(), b.summary.version.clone());
        let results = |run: &RunData| -> Result<SortedMap<String, f64>, String> {
            let value = serde_json::to_value(&run.summary).map_err(|error| error.to_string())?;
            let mut numbers = SortedMap::new();
            collect_numbers("", &value, &mut numbers);
            numbers.extend(of_collectives(&run.summary));
            numbers.retain(|key, _| !NOT_RESULTS.contains(&key.as_str()));
            Ok(numbers)
        };
        Ok(Self {
            inputs: changed(&in_a, &in_b),
            jobs: jobs(a, b),
            results: metrics(&results(a)?, &results(b)?),
            flows: flows(&a.flows, &b.flows),
            same_digest: a.summary.digest == b.summary.digest,
        })
    }

    /// Returns true if inputs, results, flows and events are all equal.
    pub fn is_empty(&self) -> bool {
        let flows = self.flows.as_ref();
        let same_flows =
            flows.is_some_and(|flows| flows.faster + flows.slower + flows.only_a + flows.only_b == 0);
        self.inputs.is_empty() && self.results.is_empty() && same_flows && self.same_digest
    }
}

/// Returns the values of a resolved scenario by their keys: `cc.hpcc.eta`, `workload[0].label`.
pub(crate) fn scenario(run: &RunData) -> Result<SortedMap<String, String>, String> {
    let table: toml::Table = run
        .scenario
        .parse()
        .map_err(|error| format!("scenario.toml of {}: {error}", run.summary.scenario))?;
    let mut values = SortedMap::new();
    collect_values("", &toml::Value::Table(table), &mut values);
    Ok(values)
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_string()
    } else {
        format!("{path}.{key}")
    }
}

fn collect_values(path: &str, value: &toml::Value, into: &mut SortedMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                collect_values(&join(path, key), value, into);
            }
        }
        // A list of values is one setting; only tables in a list have keys of their own.
        toml::Value::Array(list) if list.iter().any(toml::Value::is_table) => {
            for (i, value) in list.iter().enumerate() {
                collect_values(&format!("{path}[{i}]"), value, into);
            }
        }
        toml::Value::String(text) => {
            into.insert(path.to_string(), text.clone());
        }
        other => {
            into.insert(path.to_string(), other.to_string());
        }
    }
}

fn collect_numbers(path: &str, value: &Value, into: &mut SortedMap<String, f64>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                collect_numbers(&join(path, key), value, into);
            }
        }
        Value::Array(list) => {
            // Labelled items are matched by label, since the runs may have different lists.
            let labels = labels(list);
            for (i, value) in list.iter().enumerate() {
                let path = match &labels {
                    Some(labels) => join(path, labels[i]),
                    None => format!("{path}[{i}]"),
                };
                collect_numbers(&path, value, into);
            }
        }
        Value::Number(number) => {
            into.extend(number.as_f64().map(|number| (path.to_string(), number)));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn keys<'a, T>(a: &'a SortedMap<String, T>, b: &'a SortedMap<String, T>) -> Vec<&'a String> {
    let only_b = b.keys().filter(|key| !a.contains_key(*key));
    let mut keys: Vec<&String> = a.keys().chain(only_b).collect();
    keys.order();
    keys
}

fn changed(a: &SortedMap<String, String>, b: &SortedMap<String, String>) -> Vec<Changed<String>> {
    let differs = keys(a, b).into_iter().filter(|key| a.get(*key) != b.get(*key));
    differs
        .map(|key| Changed {
            key: key.clone(),
            a: a.get(key).cloned(),
            b: b.get(key).cloned(),
        })
        .collect()
}

fn metrics(a: &SortedMap<String, f64>, b: &SortedMap<String, f64>) -> Vec<Metric> {
    let differs = keys(a, b).into_iter().filter(|key| a.get(*key) != b.get(*key));
    let mut metrics: Vec<Metric> = differs
        .map(|key| {
            let (a, b) = (a.get(key).copied(), b.get(key).copied());
            let difference = a.zip(b).map(|(a, b)| b - a);
            let relative = a.zip(b).filter(|&(a, _)| a != 0.0).map(|(a, b)| b / a - 1.0);
            Metric {
                key: key.clone(),
                a,
                b,
                difference,
                relative,
            }
        })
        .collect();
    let rank = |metric: &Metric| {
        if metric.key.starts_with("jobs.") && is_named(&metric.key) {
            // The time of an iteration is the result that users of jobs look for.
            return usize::from(!metric.key.ends_with(".iteration_us.mean"));
        }
        if metric.key.starts_with("services.") && is_named(&metric.key) {
            return usize::from(!metric.key.ends_with(".ttft_us.p99"));
        }
        let known = FIRST.iter().position(|first| *first == metric.key);
        2 + known.unwrap_or(FIRST.len() + usize::from(!is_named(&metric.key)))
    };
    metrics.order_by_key(rank);
    metrics
}

/// Returns true if a key names a metric of one job or collective, which is listed after those of the whole run.
fn is_named(key: &str) -> bool {
    let (of_jobs, of_collectives) = (key.starts_with("jobs."), key.starts_with("collectives."));
    of_jobs && OF_JOBS.iter().any(|end| key.ends_with(end))
        || key.starts_with("services.") && OF_SERVICES.iter().any(|end| key.ends_with(end))
        || of_collectives && OF_COLLECTIVES.iter().any(|end| key.ends_with(end))
}

/// Returns the jobs that both runs have, with the times of their iterations.
fn jobs(a: &RunData, b: &RunData) -> Vec<JobChange> {
    let pairs = a.summary.jobs.iter().filter_map(|job| {
        let other = b.summary.jobs.iter().find(|other| other.label == job.label)?;
        Some((job, other))
    });
    let change = |(a, b): (&JobTimes, &JobTimes)| JobChange {
        label: a.label.clone(),
        mean_us: [a, b].map(|job| job.iteration_us.mean),
        p99_us: [a, b].map(|job| job.iteration_us.p99),
        communication: [a, b].map(|job| job.communication),
    };
    pairs.map(change).collect()
}

/// Compares the flows of two runs; returns `None` if the runs have different flows.
fn flows(a: &FlowRows, b: &FlowRows) -> Option<Flows> {
    // Starts are not compared: those of flows that wait for others depend on the run.
    let what = |row: &FlowRow<'_>| (row.src, row.dst, row.size_bytes, row.label.to_string());
    let pairs = || a.rows().zip(b.rows());
    if a.len() != b.len() || pairs().any(|(a, b)| what(&a) != what(&b)) {
        return None;
    }
    let count =
        |of: &dyn Fn(&FlowRow<'_>, &FlowRow<'_>) -> bool| pairs().filter(|(a, b)| of(a, b)).count() as u64;
    let changes = pairs().filter_map(|(a, b)| {
        let (a_fct_ps, b_fct_ps) = (a.fct_ps?, b.fct_ps?);
        Some(FlowChange {
            flow_id: a.flow_id,
            size_bytes: a.size_bytes,
            a_fct_ps,
            b_fct_ps,
            ratio: b_fct_ps as f64 / a_fct_ps.max(1) as f64,
        })
    });
    let mut changes: Vec<FlowChange> = changes.collect();
    let mut ratios: Vec<f64> = changes.iter().map(|change| change.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |p| stats::percentile(&ratios, p);
    let both = changes.len() as u64;
    let by = |of: &dyn Fn(&FlowChange) -> bool| changes.iter().filter(|change| of(change)).count() as u64;
    let (faster, slower) = (by(&|c| c.b_fct_ps < c.a_fct_ps), by(&|c| c.b_fct_ps > c.a_fct_ps));
    let ratio = Ratio {
        min: ratios.first().copied(),
        p5: at(0.05),
        p50: at(0.5),
        p95: at(0.95),
        max: ratios.last().copied(),
    };
    // Logarithms make a flow that is twice as fast as large a change as one that is twice as slow.
    let size = |change: &FlowChange| change.ratio.ln().abs();
    changes.retain(|change| change.a_fct_ps != change.b_fct_ps);
    changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
    changes.truncate(LARGEST);
    Some(Flows {
        both,
        only_a: count(&|a, b| a.fct_ps.is_some() && b.fct_ps.is_none()),
        only_b: count(&|a, b| a.fct_ps.is_none() && b.fct_ps.is_some()),
        faster,
        slower,
        same: both - faster - slower,
        ratio,
        largest: changes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn data() -> RunData {
        let (input, outcome) = sample::incast();
        RunData::new(&input, &sample::finished(&input, outcome))
    }

    #[test]
    fn the_same_run_twice() {
        let diff = Diff::of(&data(), &data()).unwrap();
        assert!(diff.is_empty());
        assert_eq!(
            diff.text(["a", "b"], 100),
            "a and b are the same: inputs, results, and every event (2 flows).\n"
        );
    }

    #[test]
    fn what_differs() {
        let (a, mut b) = (data(), data());
        b.scenario
            .push_str("seed = 8\n[cc]\nlist = [{ x = 1 }, { x = 'y' }]\n");
        b.summary.wall_s = 7.0;
        b.summary.fct_slowdown.mean = Some(3.0);
        b.summary.drops = 4;
        b.summary.counters.timeouts = 1;
        b.summary.digest = "0".repeat(16);
        // Flow 0 takes twice as long, flow 1 half, flow 2 finishes.
        b.flows = b.flows.changed(|flows| {
            flows[0].fct_ps = flows[0].fct_ps.map(|ps| ps * 2);
            flows[1].fct_ps = flows[1].fct_ps.map(|ps| ps / 2);
            flows[2].fct_ps = Some(1);
        });
        let diff = Diff::of(&a, &b).unwrap();
        let flows = diff.flows.as_ref().unwrap();
        assert_eq!(
            (flows.both, flows.only_b, flows.faster, flows.slower),
            (2, 1, 1, 1)
        );
        assert_eq!((flows.ratio.min, flows.ratio.max), (Some(0.5), Some(2.0)));
        assert_eq!(diff.results[0].key, "fct_slowdown.mean");
        assert_eq!(
            (diff.results[0].difference, diff.results[0].relative),
            (Some(1.5), Some(1.0))
        );
        insta::assert_snapshot!("diff", diff.text(["runs/a", "runs/b"], 100));
        // Other flows cannot be paired.
        b.flows = b.flows.changed(|flows| flows[0].size_bytes += 1);
        assert_eq!(Diff::of(&a, &b).unwrap().flows, None);
        b.scenario.push_str("= 3\n");
        assert!(Diff::of(&a, &b).unwrap_err().contains("scenario.toml of tiny"));
    }
}
