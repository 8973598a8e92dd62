//! Metrics of a summary as one flat row.

use serde_json::Value;

use crate::results::{Summary, collective_totals};

/// Metric of a summary: its path, such as `fct_slowdown.p99`, and its value.
pub type Metric = (String, f64);

/// Fields that measure the machine, name the run, or are not numbers.
const LEFT_OUT: [&str; 14] = [
    "format",
    "version",
    "scenario",
    "scheme",
    "seed",
    "status",
    "wall_s",
    "cpu_s",
    "packet_hops_per_s",
    "peak_rss_bytes",
    "by_size",
    "warnings",
    "digest",
    // The critical path holds shares of a single iteration, with nested lists.
    "path",
];

/// Returns every number of a summary, in the order of the file; null values are left out. In a list of labelled items,
/// such as `jobs`, the label replaces the index: `jobs.llm.iteration_us.mean`. Collectives are combined by label over
/// all iterations: `collectives.llm/all-reduce.busbw_gbps`. Groups by label of flows (`schemes` in the file) are called
/// `labels.<label>.` if all flows have one scheme, so that different schemes have the same columns.
pub fn metrics(summary: &Summary) -> Vec<Metric> {
    let mut found = Vec::new();
    let Ok(Value::Object(all)) = serde_json::to_value(summary) else {
        return found;
    };
    for (name, value) in &all {
        match (name.as_str(), value) {
            ("schemes", Value::Object(schemes)) if schemes.len() == 1 => {
                let labels = schemes.values().next().and_then(|group| group.get("labels"));
                labels
                    .iter()
                    .for_each(|labels| walk("labels", labels, &mut found));
            }
            // Below, together with those of traces, which the file has sums of alone.
            ("collectives" | "collective_sums", _) => {}
            (name, value) => field(name, name, value, &mut found),
        }
    }
    found.extend(of_collectives(summary));
    found
}

/// Returns the metrics of collectives by label, over all iterations of each.
pub(crate) fn of_collectives(summary: &Summary) -> Vec<Metric> {
    let mut found = Vec::new();
    let all = serde_json::to_value(collective_totals(summary)).unwrap_or_default();
    walk("collectives", &all, &mut found);
    found
}

/// Returns the labels of a list if all items have distinct ones.
pub(crate) fn labels(list: &[Value]) -> Option<Vec<&str>> {
    let labels: Option<Vec<&str>> = list.iter().map(|one| one.get("label")?.as_str()).collect();
    let mut labels = labels.filter(|labels| !labels.is_empty())?;
    let in_order = labels.clone();
    labels.sort_unstable();
    labels
        .windows(2)
        .all(|pair| pair[0] != pair[1])
        .then_some(in_order)
}

/// Adds the numbers of a field called `name`.
fn field(name: &str, path: &str, value: &Value, found: &mut Vec<Metric>) {
    if !LEFT_OUT.contains(&name) {
        walk(path, value, found);
    }
}

fn walk(path: &str, value: &Value, found: &mut Vec<Metric>) {
    match value {
        Value::Number(number) => found.extend(number.as_f64().map(|number| (path.to_string(), number))),
        Value::Object(inside) => {
            for (name, value) in inside {
                field(name, &format!("{path}.{name}"), value, found);
            }
        }
        Value::Array(list) => {
            for (label, one) in labels(list).into_iter().flatten().zip(list) {
                walk(&format!("{path}.{label}"), one, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// Jobs and collectives are found by their labels, independently of their index.
    #[test]
    fn jobs_are_called_by_their_labels() {
        let text = "[topology.star]\nhosts = 4\n[cc]\nscheme = 'none'\n\
             [[job]]\nlabel = 'v1.5'\nhosts = '1..2'\niterations = 2\n\
             [[job.step]]\ncompute = '20us'\nall-reduce = { size = '100KB' }\n\
             [[job]]\nlabel = 'seed'\nhosts = '3..4'\n[[job.step]]\nall-gather = {}\n";
        let input = paceline_scenario::load_text("test.toml", text, &Default::default()).unwrap();
        let summary = crate::run::execute(&input, &mut |_| crate::run::Control::Continue)
            .unwrap()
            .summary;
        let found = metrics(&summary);
        let of = |wanted: &str| {
            found
                .iter()
                .find(|(path, _)| path == wanted)
                .map(|(_, value)| *value)
        };
        let job = &summary.jobs[0];
        assert_eq!(of("jobs.v1.5.iteration_us.mean"), job.iteration_us.mean);
        assert_eq!(of("jobs.v1.5.exposed_us"), job.exposed_us);
        assert_eq!(of("jobs.seed.iterations.completed"), Some(1.0));
        let times: Vec<f64> = summary.collectives[..2]
            .iter()
            .filter_map(|one| one.time_us)
            .collect();
        assert_eq!(
            of("collectives.v1.5/all-reduce.time_us.mean"),
            crate::stats::mean(&times)
        );
        let bus = crate::results::bus_bandwidth(&summary.collectives[..2]);
        assert_eq!(of("collectives.v1.5/all-reduce.busbw_gbps"), bus);
        // The comparison's columns are the same numbers under the same names.
        for metric in crate::metrics::all_of([&summary]) {
            if let (Some(value), Some(there)) = (metric.value(&summary), of(&metric.key)) {
                assert_eq!(value, there, "{}", metric.key);
            }
            let is_named = !metric.label().is_empty();
            assert!(!is_named || of(&metric.key).is_some(), "{}", metric.key);
        }
    }

    /// Means over seeds are taken of all numbers, so identifiers must not be numbers.
    #[test]
    fn names_are_no_numbers() {
        let (input, outcome) = sample::incast();
        let summary = sample::summarised(&input, &outcome, crate::results::Machine::default());
        let found = metrics(&summary);
        let names = ["node", "interface", "peer", "flow", "host", "port", "by", "id"];
        let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_string();
        let bad: Vec<&Metric> = found
            .iter()
            .filter(|(path, _)| names.contains(&&*last(path)))
            .collect();
        assert!(bad.is_empty(), "{bad:?}");
        let known = |wanted: &str| found.iter().any(|(path, _)| path == wanted);
        assert!(
            known("busiest_port.mean") && known("pause_share.worst.share"),
            "{found:?}"
        );
    }
}
