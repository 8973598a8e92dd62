//! The numbers of a summary as one flat row.

use serde_json::Value;

use crate::results::Summary;

/// A number of a summary: the path to it, such as `fct_slowdown.p99`, and its value.
pub type Metric = (String, f64);

/// What measures the machine, names the run, or is not a number.
const LEFT_OUT: [&str; 12] = [
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
];

/// Every number of a summary, in the order of the file; what is null is left out. What is kept by
/// label (`schemes` in the file) is called `labels.<label>.` where all flows have one scheme, so
/// that the columns of different schemes are the same.
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
            (name, value) => walk(name, value, &mut found),
        }
    }
    found
}

fn walk(path: &str, value: &Value, found: &mut Vec<Metric>) {
    if LEFT_OUT.contains(&path.rsplit('.').next().unwrap_or(path)) {
        return;
    }
    match value {
        Value::Number(number) => found.extend(number.as_f64().map(|number| (path.to_string(), number))),
        Value::Object(inside) => {
            for (name, value) in inside {
                walk(&format!("{path}.{name}"), value, found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// Means over seeds are taken of all numbers: what names something must not be one.
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
