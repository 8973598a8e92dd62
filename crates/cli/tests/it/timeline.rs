//! `--format perfetto`: the timeline agrees with the run.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::{folder_with, json, stdout};
use paceline_lab::files::{QUEUE, RunData};
use serde_json::Value;

/// Two rings at a time, and an incast that triggers PFC.
const SCENARIO: &str = r#"name = "busy"
[topology.star]
hosts = 9
[[workload]]
label = "ring"
all-reduce = { hosts = [1, 2, 3, 4], size = "400KB", iterations = 2 }
[[workload]]
label = "incast"
incast = { senders = [1, 2, 5, 6, 7, 8], receiver = 9, size = "2MB" }
[cc]
scheme = "none"
[record]
queue = "1us"
[network]
buffer = "2MiB"
"#;

/// Runs a scenario and returns the events of its timeline.
fn timeline(folder: &Path, more: &[&str]) -> Vec<Value> {
    let run = [
        "run",
        "busy.toml",
        "--format",
        "perfetto,csv",
        "--out",
        "r",
        "-q",
        "--force",
    ];
    stdout(folder, &[&run[..], more].concat());
    let events = json(&folder.join("r/timeline.json"))["traceEvents"].take();
    events.as_array().expect("a list of events").clone()
}

fn number(event: &Value, key: &str) -> f64 {
    event[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{event} has no {key}"))
}

/// Groups events of a kind by row, in the order of the file.
fn rows(events: &[Value], kind: &str) -> BTreeMap<String, Vec<Value>> {
    let mut rows: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] == kind) {
        let name = if kind == "C" {
            &event["name"]
        } else {
            &event["tid"]
        };
        let row = format!("{} {name}", event["pid"]);
        rows.entry(row).or_default().push(event.clone());
    }
    rows
}

#[test]
fn slices_follow_each_other_and_counters_go_on() {
    let folder = folder_with("busy.toml", SCENARIO);
    let events = timeline(folder.path(), &[]);
    let slices = rows(&events, "X");
    assert!(slices.len() > 8);
    for (row, slices) in &slices {
        for pair in slices.windows(2) {
            let end = number(&pair[0], "ts") + number(&pair[0], "dur");
            assert!(end <= number(&pair[1], "ts") + 1e-6, "{row}: {pair:?}");
        }
    }
    for (row, values) in rows(&events, "C") {
        let later = |pair: &[Value]| number(&pair[0], "ts") < number(&pair[1], "ts");
        assert!(values.windows(2).all(later), "{row}");
    }
}

#[test]
fn counts_are_those_of_the_run() {
    let folder = folder_with("busy.toml", SCENARIO);
    let path = folder.path();
    let events = timeline(path, &[]);
    let summary = json(&path.join("r/summary.json"));
    let flows: Vec<&Value> = events
        .iter()
        .filter(|event| event["args"]["flow_id"].is_u64())
        .collect();
    assert_eq!(flows.len() as u64, summary["flows"]["total"].as_u64().unwrap());
    let table = std::fs::read_to_string(path.join("r/flows.csv")).unwrap();
    for flow in flows {
        let id = flow["args"]["flow_id"].as_u64().unwrap();
        let row: Vec<&str> = table.lines().nth(id as usize + 1).unwrap().split(',').collect();
        let [start, fct] = [7, 8].map(|column| row[column].parse::<f64>().unwrap() / 1e6);
        assert_eq!((number(flow, "ts"), number(flow, "dur")), (start, fct), "{row:?}");
    }
    let of = |process: u64| {
        let slices = events
            .iter()
            .filter(move |event| event["ph"] == "X" && event["pid"] == process);
        slices.collect::<Vec<_>>()
    };
    assert_eq!(of(3).len(), summary["collectives"].as_array().unwrap().len());
    let frames: u64 = of(2)
        .iter()
        .map(|pause| pause["args"]["frames"].as_u64().unwrap())
        .sum();
    let pauses = summary["pfc"]["pauses"].as_u64().unwrap();
    assert!(pauses > 0);
    assert_eq!(frames, pauses);
    let data = RunData::read(&path.join("r")).unwrap();
    let queues = || data.series.iter().filter(|series| series.metric == QUEUE);
    let counters = rows(&events, "C");
    assert_eq!(counters.len(), queues().count());
    for series in queues() {
        let values = &counters[&format!("1 \"{}\"", data.names.entity(&series.entity))];
        let mut changes = series.points.clone();
        changes.dedup_by_key(|point| point.1);
        let got = values
            .iter()
            .map(|event| (number(event, "ts"), event["args"]["bytes"].as_f64().unwrap()));
        let recorded = changes.iter().map(|&(at, bytes)| (at as f64 / 1e6, bytes));
        assert!(got.eq(recorded), "{}", series.entity);
    }
}

/// Operations that have not ended when the run does end there in the timeline.
#[test]
fn a_run_that_is_cut_short_is_whole() {
    let folder = folder_with("busy.toml", SCENARIO);
    let events = timeline(folder.path(), &["--duration", "100us"]);
    let ends = events.iter().filter(|event| event["ph"] == "X");
    let ends: Vec<f64> = ends
        .map(|event| number(event, "ts") + number(event, "dur"))
        .collect();
    assert!(ends.iter().all(|&end| end <= 100.0 + 1e-6));
    assert!(ends.iter().filter(|&&end| (end - 100.0).abs() < 1e-6).count() > 4);
}
