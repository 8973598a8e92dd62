//! Repeats, intervals, and slowdown by size, from the command line.

mod common;

use std::fs;
use std::path::Path;

use common::{assert_same, run, said, stdout};
use insta::assert_snapshot;
use serde_json::Value;

/// Random traffic, so that seeds differ.
const RANDOM: &str = r#"name = "random"
duration = "20ms"
[topology.star]
hosts = 4
[[workload]]
label = "background"
poisson = { sizes = "fb-hadoop", load = 0.4, to = "1ms" }
[cc]
scheme = "hpcc"
[record]
rates = "10us"
"#;

fn random() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("my.toml"), RANDOM).unwrap();
    folder
}

fn json(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn repeats() {
    let folder = random();
    let path = folder.path();
    let compare = [
        "compare",
        "my.toml",
        "--schemes",
        "hpcc,dctcp",
        "--repeats",
        "3",
        "--seed",
        "5",
    ];
    assert_snapshot!(said(
        path,
        &[&compare[..], &["--out", "a", "--jobs", "1"]].concat()
    ));
    stdout(path, &[&compare[..], &["--out", "b", "--jobs", "3"]].concat());
    assert_same(&path.join("a"), &path.join("b"));
    // A run among repeats is the run of its scheme and seed.
    stdout(
        path,
        &[
            "run", "my.toml", "--scheme", "dctcp", "--seed", "6", "--out", "alone",
        ],
    );
    assert_same(&path.join("a/dctcp-6"), &path.join("alone"));

    let all = json(&path.join("a/comparison.json"));
    assert_eq!(
        (all["repeats"].as_u64(), all["seeds"].to_string()),
        (Some(3), "[5,6,7]".into())
    );
    let p99 = |folder: &str| {
        json(&path.join("a").join(folder).join("summary.json"))["fct_slowdown"]["p99"].as_f64()
    };
    let values: Vec<f64> = ["hpcc-5", "hpcc-6", "hpcc-7"]
        .iter()
        .map(|f| p99(f).unwrap())
        .collect();
    let interval = &all["intervals"][0]["metrics"]["fct_slowdown.p99"];
    let mean = interval["mean"].as_f64().unwrap();
    assert!((mean - values.iter().sum::<f64>() / 3.0).abs() < 1e-9);
    let p = &all["paired"][0];
    assert_eq!(
        (p["scheme"].as_str(), p["reference"].as_str()),
        (Some("dctcp"), Some("hpcc"))
    );

    // The page again, of the same runs.
    let report = fs::read(path.join("a/report.html")).unwrap();
    stdout(path, &["report", "a", "--out", "a/again.html"]);
    assert!(fs::read(path.join("a/again.html")).unwrap() == report);
}

#[test]
fn repeats_as_json() {
    let folder = random();
    let text = stdout(
        folder.path(),
        &[
            "compare",
            "my.toml",
            "--schemes",
            "hpcc,dctcp",
            "--repeats",
            "2",
            "--json",
            "--quiet",
        ],
    );
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(all["runs"].as_array().unwrap().len(), 4);
    // One repeat is as ever a list of summaries.
    let text = stdout(
        folder.path(),
        &[
            "compare",
            "my.toml",
            "--schemes",
            "hpcc,dctcp",
            "--repeats",
            "1",
            "--json",
            "--quiet",
            "--force",
        ],
    );
    assert_eq!(
        serde_json::from_str::<Value>(&text)
            .unwrap()
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn slowdown_by_size() {
    let folder = random();
    let path = folder.path();
    let all = said(
        path,
        &[
            "compare",
            "my.toml",
            "--schemes",
            "hpcc,dctcp",
            "--buckets",
            "4",
            "--out",
            "a",
        ],
    );
    assert_snapshot!(all);
    assert_snapshot!(
        "by_sizes",
        stdout(path, &["report", "a/hpcc", "--buckets", "1KB,100KB"])
    );
    // The table in the folder is what `fct-analysis` shows.
    let table = fs::read_to_string(path.join("a/fct_table.tsv")).unwrap();
    assert_eq!(table.lines().count(), 21);
    let shown = stdout(path, &["report", "a", "--buckets", "fct-analysis"]);
    let last: Vec<&str> = table.lines().last().unwrap().split('\t').collect();
    let row = shown.lines().last().unwrap();
    assert!(row.contains(&format!(" {} ", last[2])), "{row} / {last:?}");
    assert_eq!(shown.lines().count(), 6 + 20);
}

#[test]
fn wrong_buckets() {
    let folder = random();
    let texts = ["10KB,1KB", "0", "fct_analysis"].map(|text| {
        let args = ["run", "my.toml", "--buckets", text];
        assert_eq!(run(folder.path(), &args).status.code(), Some(2));
        said(folder.path(), &args)
    });
    let json = said(folder.path(), &["run", "my.toml", "--buckets", "3", "--json"]);
    assert_snapshot!([texts.join("\n"), json].join("\n"));
    assert!(!folder.path().join("results").exists());
}

#[test]
fn too_many_seeds() {
    let folder = random();
    let seed = i64::MAX.to_string();
    let args = [
        "compare",
        "my.toml",
        "--schemes",
        "hpcc",
        "--repeats",
        "2",
        "--seed",
        &seed,
    ];
    assert_snapshot!(said(folder.path(), &args));
}

/// Two hosts send 100 KB each to a third: its link is the bottleneck, and hardly ever idle.
#[test]
fn a_bottleneck_is_busy() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("my.toml"), common::SMALL).unwrap();
    let text = stdout(folder.path(), &["run", "my.toml", "--json", "--quiet"]);
    let summary: Value = serde_json::from_str(&text).unwrap();
    let utilisation = &summary["utilisation"];
    let busiest = &utilisation["busiest"];
    assert_eq!(
        (busiest["node"].as_u64(), busiest["peer"].as_u64()),
        (Some(0), Some(3))
    );
    // 200 packets of 1000 bytes and their headers (48, and 42 of telemetry), at 12.5 bytes a ns.
    let sent_us = 200.0 * 1090.0 / 12.5e3;
    let share = busiest["share"].as_f64().unwrap();
    let expected = sent_us / summary["finish_us"].as_f64().unwrap();
    assert!((share - expected).abs() < 0.02, "{share}, expected {expected}");
    assert!(utilisation["mean"].as_f64().unwrap() < share);
    assert_eq!(summary["pause_share"]["mean"].as_f64(), Some(0.0));
    assert!(summary["pause_share"]["worst"].is_null());
}
