//! `why` and `diff`: where a flow's time went, what differs between two runs.

mod common;

use std::fs;

use common::{SMALL, run, said, stdout};
use insta::assert_snapshot;

fn small() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("my.toml"), SMALL).unwrap();
    stdout(folder.path(), &["run", "my.toml", "--out", "a"]);
    folder
}

/// Everything said of a command that is refused for its arguments.
fn refused(folder: &tempfile::TempDir, args: &[&str]) -> String {
    let output = run(folder.path(), args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn why_of_a_run() {
    let folder = small();
    let told = said(folder.path(), &["why", "a", "1"]);
    assert_snapshot!(told);
    // The same of a run that kept no accounts, and of the scenario itself: both are run for it.
    let off = ["run", "my.toml", "--set", "record.accounts=off", "--out", "off"];
    stdout(folder.path(), &off);
    assert!(!folder.path().join("off/flow_time.csv").exists());
    let kept = stdout(folder.path(), &["why", "a", "1"]);
    assert_eq!(stdout(folder.path(), &["why", "off", "1"]), kept);
    assert_eq!(stdout(folder.path(), &["why", "my.toml", "1"]), kept);
    let error = String::from_utf8(run(folder.path(), &["why", "off", "1"]).stderr).unwrap();
    assert!(error.contains("running its scenario again"), "{error}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout(folder.path(), &["why", "a", "1", "--json"])).unwrap();
    let parts = json["parts"].as_array().unwrap().iter();
    let sum: u64 = parts.map(|part| part["time_ps"].as_u64().unwrap()).sum();
    assert_eq!(json["flow"]["fct_ps"], sum);
}

/// What a run without accounts leaves out is all that it leaves out.
#[test]
fn accounts_move_nothing() {
    let folder = small();
    for (name, value) in [("off", "off"), ("all", "all"), ("one", "[1]")] {
        let set = format!("record.accounts={value}");
        stdout(folder.path(), &["run", "my.toml", "--set", &set, "--out", name]);
        for file in ["flows.csv", "fct.txt", "pfc.txt", "qlen.txt"] {
            let read = |run: &str| fs::read(folder.path().join(run).join(file)).unwrap();
            assert!(read(name) == read("a"), "{name} {file}");
        }
    }
    let one = fs::read_to_string(folder.path().join("one/flow_time.csv")).unwrap();
    assert!(one.lines().skip(1).all(|line| line.starts_with("1,")), "{one}");
}

#[test]
fn why_refuses() {
    let folder = small();
    let many = ["compare", "my.toml", "--schemes", "hpcc,dcqcn", "--out", "c"];
    stdout(folder.path(), &many);
    let mut told = String::new();
    for args in [
        ["why", "a", "7"],
        ["why", "my.toml", "7"],
        ["why", "c", "0"],
        ["why", "nowhere", "0"],
        ["why", "a", "one"],
    ] {
        told.push_str(&format!("{}\n{}\n", args.join(" "), refused(&folder, &args)));
    }
    assert_snapshot!(told);
    fs::write(
        folder.path().join("a/flow_time.csv"),
        "flow_id,stage\n0,nowhere\n",
    )
    .unwrap();
    let error = refused(&folder, &["why", "a", "0"]);
    assert!(
        error.contains("flow_time.csv is not what a run writes"),
        "{error}"
    );
    fs::write(folder.path().join("a/summary.json"), "{").unwrap();
    let error = refused(&folder, &["why", "a", "0"]);
    assert!(error.contains("summary.json is not what a run writes"), "{error}");
    let error = refused(&folder, &["diff", "a", "c/hpcc"]);
    assert!(error.contains("summary.json is not what a run writes"), "{error}");
    let error = refused(&folder, &["diff", "c", "nowhere"]);
    assert!(error.contains("c is not the folder of a run"), "{error}");
}

#[test]
fn differences() {
    let folder = small();
    stdout(folder.path(), &["run", "my.toml", "--out", "again"]);
    assert_snapshot!("the_same", stdout(folder.path(), &["diff", "a", "again"]));
    let many = ["compare", "my.toml", "--schemes", "hpcc,dcqcn", "--out", "c"];
    stdout(folder.path(), &many);
    assert_snapshot!(stdout(folder.path(), &["diff", "c/hpcc", "c/dcqcn"]));
    let json = stdout(folder.path(), &["diff", "c/hpcc", "c/dcqcn", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["flows"]["both"], 2);
    let inputs = json["inputs"].as_array().unwrap();
    assert!(inputs.iter().any(|input| input["key"] == "cc.scheme"));
}

/// The deadlock is found, named, and ends the run; the storm is told with its victims.
#[test]
fn standstills_are_told() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(
        "deadlock",
        said(folder.path(), &["run", "pfc-deadlock", "--check"])
    );
    let summary = fs::read_to_string(folder.path().join("results/pfc-deadlock-none-1/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["status"], "standstill");
    assert_eq!(
        summary["standstill"]["cycles"][0]["nodes"],
        serde_json::json!([0, 1, 2, 3])
    );
    assert!(summary["simulated_s"].as_f64().unwrap() < 0.02);
    // With short queues the same ring may live.
    stdout(
        folder.path(),
        &["run", "pfc-deadlock", "--scheme", "hpcc", "--check", "--out", "h"],
    );
    let storm = stdout(folder.path(), &["run", "pfc-storm", "--json", "--check"]);
    let storm: serde_json::Value = serde_json::from_str(&storm).unwrap();
    assert_eq!(storm["standstill"]["storms"], serde_json::json!([0]));
    assert!(storm["standstill"]["pauses"].as_array().unwrap().len() > 4);
    // A flow that is stuck is accounted for to the end.
    let why = stdout(folder.path(), &["why", "results/pfc-deadlock-none-1", "0"]);
    assert!(why.contains("had not finished when the run ended"), "{why}");
}
