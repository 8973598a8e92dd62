//! Workloads with dependencies on the command line: collectives, and traces of other runs.

use std::fs;
use std::path::Path;

use crate::common::{assert_same, said, stdout};
use insta::assert_snapshot;

const RING: &str = r#"name = "ring"
duration = "10ms"
[topology.star]
hosts = 4
[[workload]]
label = "sum"
all-reduce = { size = "100KB", iterations = 2, compute = "50us" }
[[workload]]
label = "loop"
closed-loop = { senders = [1], receivers = [2, 3], messages = 4, size = "5KB" }
[cc]
scheme = "none"
"#;

fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("my.toml"), text).unwrap();
    folder
}

fn summary(folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(folder.join("summary.json")).unwrap()).unwrap()
}

/// Returns the rows of `flows.csv` without results: hosts, sizes and start times.
fn flows(folder: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join("flows.csv")).unwrap();
    let mut rows: Vec<Vec<String>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').skip(1).take(7).map(str::to_string).collect())
        .collect();
    rows.sort();
    rows
}

#[test]
fn a_ring_all_reduce_and_its_replay() {
    let folder = folder(RING);
    let path = folder.path();
    assert_snapshot!("ring", said(path, &["run", "my.toml", "--out", "a"]));
    let summary = summary(&path.join("a"));
    let times = summary["collectives"].as_array().unwrap();
    assert_eq!(times.len(), 2);
    assert_eq!(
        (&times[0]["label"], times[1]["iteration"].as_u64()),
        (&"sum".into(), Some(1))
    );
    assert!(times[0]["busbw_gbps"].as_f64().unwrap() > 30.0);
    // The resolved scenario gives the same run, dependencies included.
    stdout(path, &["run", "a", "--out", "b"]);
    assert_same(&path.join("a"), &path.join("b"));
    // Its flows can be replayed at the times at which they actually started.
    let replay = "name = 'replay'\nduration = '10ms'\n[topology.star]\nhosts = 4\n[[workload]]\ntrace = { file = 'a/flows.csv' }\n[cc]\nscheme = 'none'\n";
    fs::write(path.join("replay.toml"), replay).unwrap();
    stdout(path, &["run", "replay.toml", "--out", "c"]);
    assert_eq!(flows(&path.join("a")), flows(&path.join("c")));
    // Parquet files can be replayed, too.
    stdout(path, &["run", "my.toml", "--format", "parquet", "--out", "p"]);
    fs::write(
        path.join("parquet.toml"),
        replay.replace("a/flows.csv", "p/flows.parquet"),
    )
    .unwrap();
    stdout(path, &["run", "parquet.toml", "--out", "q"]);
    assert_eq!(flows(&path.join("a")), flows(&path.join("q")));
    // Another scheme requires that the scheme column is ignored.
    let other = replay.replace("csv' }", "csv', ignore = ['scheme'] }");
    fs::write(path.join("other.toml"), other).unwrap();
    let table = stdout(
        path,
        &["compare", "other.toml", "--schemes", "hpcc,dctcp", "--out", "d"],
    );
    assert!(table.contains("hpcc") && table.contains("dctcp"), "{table}");
    let rows = flows(&path.join("d/dctcp"));
    assert!(rows.iter().all(|row| row[1] == "dctcp"), "{rows:?}");
}

#[test]
fn a_workload_as_a_trace() {
    let folder = folder("");
    let path = folder.path();
    let generate = [
        "generate",
        "flows",
        "all-reduce",
        "size=40KB",
        "--topology",
        "star,hosts=2",
    ];
    assert_snapshot!(
        "trace",
        stdout(path, &[&generate[..], &["--format", "csv"]].concat())
    );
    assert_snapshot!("no_trace", said(path, &generate));
}

#[test]
fn a_trace_with_a_column_missing() {
    let folder = folder(&RING.replace(
        "all-reduce = { size = \"100KB\", iterations = 2, compute = \"50us\" }",
        "trace = { file = 'flows.csv' }",
    ));
    fs::write(
        folder.path().join("flows.csv"),
        "src,dst,bytes,start_us\n1,2,1000,0\n",
    )
    .unwrap();
    assert_snapshot!(said(folder.path(), &["run", "my.toml"]));
}

#[test]
fn a_collective_over_one_host() {
    let folder = folder(&RING.replace("size = \"100KB\"", "hosts = [3]"));
    assert_snapshot!(said(folder.path(), &["run", "my.toml"]));
}
