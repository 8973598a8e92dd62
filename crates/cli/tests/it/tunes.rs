//! `paceline tune`: files, errors, interruptions.

use std::fs;

use crate::common::{SMALL, folder_with, run, stdout};

const TUNE: [&str; 8] = [
    "tune",
    "my.toml",
    "--over=workload.0.incast.size=50KB..200KB",
    "--objective=fct_us.mean",
    "--trials=13",
    "--repeats=2",
    "--held-out=2",
    "--out=tuned",
];

#[test]
fn a_search_has_a_scenario_a_page_and_a_table() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    let table = stdout(path, &TUNE);
    // The smallest flows are the fastest, and lie at the end of the range.
    assert!(
        table.contains("50KB") && table.trim_end().ends_with("better"),
        "{table}"
    );
    let tuned = stdout(path, &["run", "tuned/tuned.toml", "--json", "-q", "--out", "one"]);
    let tuned: serde_json::Value = serde_json::from_str(&tuned).unwrap();
    let json = stdout(path, &[&TUNE[..], &["--json", "-q"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["parameters"][0]["best"], "50KB");
    assert_eq!(json["parameters"][0]["edge"], "lower");
    let page = fs::read_to_string(path.join("tuned/index.html")).unwrap();
    for part in [
        "Trade-off",
        "lies at the lower end",
        "The best candidate is better",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let rows = fs::read_to_string(path.join("tuned/trials.csv")).unwrap();
    let best = json["best"].as_u64().unwrap() as usize;
    let row = rows.lines().nth(best + 1).unwrap();
    assert!(row.contains(&tuned["fct_us"]["mean"].to_string()), "{row}");
}

#[test]
fn mistakes_leave_nothing() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    for (wrong, expected) in [
        ("--over=workload.0.incast.sise=1KB..2KB", "unknown key `sise`"),
        ("--over=network.buffer=1KB..2us", "have different units"),
        ("--limit=drops<2", "expected MEASURE<=VALUE"),
        ("--against=fct_us.mein", "did you mean `fct_us.mean`"),
    ] {
        let ended = run(path, &[&TUNE[..], &[wrong]].concat());
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
        assert!(!path.join("tuned").exists(), "{wrong}");
    }
}
