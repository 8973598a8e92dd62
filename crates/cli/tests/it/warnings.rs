//! Warnings are printed once on the terminal, and kept in every result.

use std::fs;
use std::path::Path;

use crate::common::{folder_with, json, run, stdout};
use serde_json::Value;

/// A scenario with two warnings about the input: credits that cannot carry the link's rate, and an unused scheme.
const LONG_CABLE: &str = r#"name = "cable"
duration = "2ms"
[topology.dumbbell]
left = 1
right = 1
rate = "200Gbps"
delay = "100ns"
bottleneck-delay = "25us"
[[workload]]
flows = [ { src = 0, dst = 1, size = "100KB" } ]
[network]
mtu = "4096B"
flow-control = "credits"
[network.credit]
binding = "ib"
buffer = "256KiB"
[cc]
scheme = "none"
[cc.hpcc]
eta = 0.9
"#;

const TOLD: [(&str, &str); 2] = [
    ("unused-scheme", "[cc.hpcc] is not used: no flow runs under hpcc"),
    ("credit-rate", "credit counters hold at most 2048 credits of 64B"),
];

/// Returns the warnings about the input in a summary.
fn of_input(summary: &Value) -> Vec<(String, String)> {
    let all = summary["warnings"].as_array().expect("warnings").iter();
    let of_input = all.filter(|warning| warning["about"] == "input");
    let text = |warning: &Value, key: &str| warning[key].as_str().expect(key).to_string();
    of_input
        .map(|warning| (text(warning, "id"), text(warning, "text")))
        .collect()
}

fn assert_told(summary: &Value, expected: &[(&str, &str)]) {
    let found = of_input(summary);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (id, part) in expected {
        let has = |(kind, text): &(String, String)| kind == id && text.contains(part);
        assert!(found.iter().any(has), "{id} `{part}` is not in {found:?}");
    }
}

fn text(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).expect("the file")
}

#[test]
fn a_run_keeps_the_warnings_about_its_input() {
    let folder = folder_with("s.toml", LONG_CABLE);
    let quiet = run(
        folder.path(),
        &["run", "s.toml", "-q", "--json", "--out", "quiet"],
    );
    assert_eq!(String::from_utf8(quiet.stderr).unwrap(), "");
    assert_told(&serde_json::from_slice(&quiet.stdout).unwrap(), &TOLD);
    assert_told(&json(&folder.path().join("quiet/summary.json")), &TOLD);
    let page = text(folder.path(), "quiet/report.html");
    for (_, part) in TOLD {
        assert!(page.contains(part), "{part}");
    }
    // Each warning is printed once.
    let loud = run(folder.path(), &["run", "s.toml", "--out", "loud"]);
    let loud = String::from_utf8(loud.stderr).unwrap();
    for (_, part) in TOLD {
        assert_eq!(loud.matches(part).count(), 1, "{loud}");
    }
}

#[test]
fn comparisons_keep_them() {
    let folder = folder_with("s.toml", LONG_CABLE);
    // Under hpcc the block is used, so both runs only warn about credits.
    let args = ["compare", "s.toml", "--schemes", "none,hpcc", "-q", "--json"];
    let both: Value = serde_json::from_str(&stdout(folder.path(), &args)).unwrap();
    for summary in both.as_array().unwrap() {
        assert_told(summary, &TOLD[1..]);
    }
    let args = ["compare", "s.toml", "--schemes", "none", "--out", "one"];
    let loud = run(folder.path(), &args);
    let loud = String::from_utf8(loud.stderr).unwrap();
    for (_, part) in TOLD {
        assert_eq!(loud.matches(part).count(), 1, "{loud}");
    }
    for summary in json(&folder.path().join("one/comparison.json"))
        .as_array()
        .unwrap()
    {
        assert_told(summary, &TOLD);
    }
    // Repeats, in a scenario in which the seed matters.
    let jitter = LONG_CABLE.replace(
        "flows = [ { src = 0, dst = 1, size = \"100KB\" } ]",
        "incast = { senders = [0], receiver = 1, size = \"100KB\" }\nstart-jitter = \"1us\"",
    );
    fs::write(folder.path().join("s.toml"), jitter).unwrap();
    let args = [
        "compare",
        "s.toml",
        "--schemes",
        "none",
        "--repeats",
        "2",
        "-q",
        "--out",
        "two",
    ];
    stdout(folder.path(), &args);
    let repeats = json(&folder.path().join("two/comparison.json"));
    assert_told(&repeats, &TOLD);
    let page = text(folder.path(), "two/report.html");
    for (_, part) in TOLD {
        assert!(page.contains(part), "{part}");
    }
    // Warnings about all runs together are present as well.
    let all = repeats["warnings"].as_array().unwrap().iter();
    let ids: Vec<&str> = all.map(|warning| warning["id"].as_str().unwrap()).collect();
    assert!(
        repeats["seed_matters"] == true || ids.contains(&"seed-changes-nothing"),
        "{ids:?}"
    );
}

#[test]
fn sweeps_keep_them_in_every_row() {
    let folder = folder_with("s.toml", LONG_CABLE);
    let over = "network.mtu=4096B,2048B";
    let args = ["sweep", "s.toml", "--over", over, "--out", "swept"];
    let loud = run(folder.path(), &args);
    let loud = String::from_utf8(loud.stderr).unwrap();
    assert_eq!(loud.matches(TOLD[0].1).count(), 1, "{loud}");
    let rows = fs::read_dir(folder.path().join("swept/rows")).unwrap();
    let rows: Vec<Value> = rows.map(|row| json(&row.unwrap().path())).collect();
    assert_eq!(rows.len(), 2);
    for row in &rows {
        assert_told(&row["summary"], &TOLD);
    }
    assert!(text(folder.path(), "swept/report.html").contains(TOLD[0].1));
    // Warnings are repeated by `merge`, whose user may not have seen those of the runs.
    let collected = run(folder.path(), &["merge", "swept"]);
    let collected = String::from_utf8(collected.stderr).unwrap();
    assert_eq!(collected.matches(TOLD[0].1).count(), 1, "{collected}");
}
