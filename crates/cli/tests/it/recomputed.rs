//! The numbers of a run, recomputed from its table of flows and its list of pause frames.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{folder_with, json, stdout};
use serde_json::Value;

/// Short and long flows in one class with small buffers, which cause queues, pauses and marks.
const MIXED: &str = r#"name = "mixed"
duration = "10ms"
[topology.star]
hosts = 9
[[workload]]
label = "long"
incast = { fan-in = 8, receiver = 9, size = "400KB" }
[[workload]]
label = "short"
incast = { fan-in = 4, receiver = 9, size = "20KB", start = "20us", period = "30us", rounds = 5 }
[cc]
scheme = "dcqcn"
[network]
buffer = "500KB"
"#;

/// Endless flows, and one that ends.
const UNFINISHED: &str = r#"name = "unfinished"
duration = "200us"
[topology.star]
hosts = 4
[[workload]]
label = "a"
flows = [{ src = 1, dst = 4, size = "100MB" }, { src = 2, dst = 4, size = "100MB" }, { src = 3, dst = 4, size = "10KB" }]
[cc]
scheme = "dctcp"
"#;

type Row = BTreeMap<String, String>;

fn flows(folder: &Path) -> Vec<Row> {
    let text = fs::read_to_string(folder.join("flows.csv")).unwrap();
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells = line.split(',').map(String::from);
        head.iter().map(|name| name.to_string()).zip(cells).collect()
    };
    lines.map(row).collect()
}

fn of(row: &Row, name: &str) -> f64 {
    row[name].parse().unwrap_or_else(|_| panic!("{name}: {row:?}"))
}

/// Computes a percentile as numpy does.
fn percentile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = share * (values.len() - 1) as f64;
    let (low, high) = (values[place.floor() as usize], values[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

fn assert_close(found: &Value, expected: f64, what: &str) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{what}: {found}"));
    let error = (found - expected).abs();
    assert!(
        error <= 1e-9 * expected.abs().max(1e-9),
        "{what}: {found}, again {expected}"
    );
}

/// Compares the numbers of a group of flows with their rows.
fn check_group(group: &Value, rows: &[&Row], what: &str) {
    let done: Vec<&&Row> = rows.iter().filter(|row| row["status"] == "completed").collect();
    let all = |name: &str| -> Vec<f64> { done.iter().map(|row| of(row, name)).collect() };
    assert_close(&group["flows"]["total"], rows.len() as f64, what);
    assert_close(&group["flows"]["completed"], done.len() as f64, what);
    let ratio = |row: &&&Row| of(row, "fct_ps") / of(row, "ideal_fct_ps");
    let slowdowns: Vec<f64> = done.iter().map(ratio).collect();
    let us: Vec<f64> = all("fct_ps").iter().map(|ps| ps / 1e6).collect();
    for (name, values) in [("fct_slowdown", &slowdowns), ("fct_us", &us)] {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert_close(&group[name]["mean"], mean, &format!("{what}: {name}.mean"));
        for (key, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0)] {
            let again = percentile(values.clone(), share);
            assert_close(&group[name][key], again, &format!("{what}: {name}.{key}"));
        }
    }
    let (bytes, ps): (f64, f64) = (all("size_bytes").iter().sum(), all("fct_ps").iter().sum());
    assert_close(&group["rate_while_active_gbps"], 8e3 * bytes / ps, what);
    let sum = |name: &str| rows.iter().map(|row| of(row, name)).sum::<f64>();
    assert_close(&group["retransmitted_bytes"], sum("retransmitted_bytes"), what);
    assert_close(&group["unscheduled"]["bytes"], sum("unscheduled_bytes"), what);
    assert_close(&group["unscheduled"]["sent_bytes"], sum("sent_bytes"), what);
    assert_close(&group["marks"]["ce_packets"], sum("ce_packets"), what);
    let sizes: Vec<&String> = rows.iter().map(|row| &row["size_bytes"]).collect();
    let alike = sizes.iter().all(|size| *size == sizes[0]) && done.len() == rows.len();
    if alike {
        let rates: Vec<f64> = done
            .iter()
            .map(|row| of(row, "size_bytes") / of(row, "fct_ps"))
            .collect();
        let (sum, squares) = rates.iter().fold((0.0, 0.0), |(a, b), x| (a + x, b + x * x));
        assert_close(&group["jain"], sum * sum / (rates.len() as f64 * squares), what);
    } else {
        assert!(group["jain"].is_null(), "{what}: {}", group["jain"]);
    }
}

/// Recomputes pauses, pause frames and paused time from `pfc.txt`: time, node, kind, interface, pause.
fn check_pauses(summary: &Value, folder: &Path) {
    let text = fs::read_to_string(folder.join("pfc.txt")).unwrap();
    let mut since: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    let (mut pauses, mut frames, mut paused_ns) = (0, [0, 0], 0.0);
    for line in text.lines() {
        let parts: Vec<&str> = line.split_whitespace().collect();
        let (at, port): (f64, _) = (parts[0].parse().unwrap(), (parts[1], parts[3]));
        let pause = parts[4] == "1";
        frames[usize::from(pause)] += 1;
        if pause && !since.contains_key(&port) {
            since.insert(port, at);
            pauses += 1;
        } else if !pause {
            paused_ns += since.remove(&port).map_or(0.0, |from| at - from);
        }
    }
    let pfc = &summary["pfc"];
    assert!(pauses > 3, "{pauses} pauses");
    assert_eq!(
        [&pfc["pauses"], &pfc["resume_frames"], &pfc["pause_frames"]].map(Value::as_u64),
        [pauses, frames[0], frames[1]].map(Some)
    );
    // The file has whole nanoseconds.
    let error = pfc["paused_s"].as_f64().unwrap() * 1e9 - paused_ns;
    assert!(error.abs() <= pauses as f64, "{error} ns");
}

#[test]
fn what_a_run_says_follows_from_its_flows() {
    for (name, text) in [("mixed", MIXED), ("unfinished", UNFINISHED)] {
        let folder = folder_with("my.toml", text);
        let path = folder.path();
        let table = stdout(path, &["run", "my.toml", "--out", "run"]);
        let run = path.join("run");
        let (summary, flows) = (json(&run.join("summary.json")), flows(&run));
        let all: Vec<&Row> = flows.iter().collect();
        check_group(&summary, &all, name);
        for (label, group) in summary["schemes"].as_object().unwrap().values().next().unwrap()["labels"]
            .as_object()
            .unwrap()
        {
            let of_label: Vec<&Row> = flows.iter().filter(|row| row["label"] == *label).collect();
            check_group(group, &of_label, label);
        }
        let first = flows
            .iter()
            .map(|row| of(row, "start_ps"))
            .fold(f64::INFINITY, f64::min);
        let done = || flows.iter().filter(|row| row["status"] == "completed");
        let last = done()
            .map(|row| of(row, "start_ps") + of(row, "fct_ps"))
            .fold(0.0, f64::max);
        assert_close(&summary["makespan_us"], (last - first) / 1e6, "makespan");
        let rtt = |key: &str| summary["rtt_per_ack_us"][key].as_f64().unwrap();
        assert!(rtt("p50") <= rtt("p99") && rtt("mean") <= rtt("max") && rtt("p99") <= rtt("max"));
        assert!(rtt("max") >= summary["rtt_per_round_trip_us"]["max"].as_f64().unwrap());
        if name == "mixed" {
            // The table shows the same value.
            let makespan = format!("{:.1} µs", (last - first) / 1e6);
            assert!(table.contains(&makespan), "{makespan}:\n{table}");
            check_pauses(&summary, &run);
        }
    }
}

/// Tables with a row per input value are limited on the terminal, and complete in a file.
#[test]
fn many_labels_are_whole_in_a_file() {
    let flow = |i: usize| {
        format!("[[workload]]\nlabel = 'dport-{i}'\nflows = [{{ src = 1, dst = 2, size = '1KB' }}]\n")
    };
    let flows: String = (0..300).map(flow).collect();
    let text = format!("name = 'ports'\n[topology.star]\nhosts = 2\n[cc]\nscheme = 'dctcp'\n{flows}");
    let folder = folder_with("my.toml", &text);
    let table = stdout(folder.path(), &["run", "my.toml", "--out", "run"]);
    assert!(table.lines().count() < 60, "{table}");
    assert!(table.contains("... and 276 more, in labels.csv\n"), "{table}");
    let run = folder.path().join("run");
    let labels = fs::read_to_string(run.join("labels.csv")).unwrap();
    let names: Vec<&str> = labels
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').nth(1))
        .collect();
    assert_eq!((names.len(), names[2], names[10]), (300, "dport-2", "dport-10"));
    let size = |file: &str| fs::metadata(run.join(file)).unwrap().len();
    assert!(size("summary.json") < 200_000, "{} bytes", size("summary.json"));
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("and 236 more, in <code>labels.csv</code>"));
}
