//! SQL queries about runs, on the terminal and in experiments.

use std::fs;

use crate::common::{folder_with, run};

const SCENARIO: &str = "duration = '1ms'\n[topology.star]\nhosts = 4\n[[workload]]\nincast = { receiver = 1, fan-in = 3, \
                        size = '20KB' }\nlabel = '=x'\n[cc]\nscheme = 'hpcc'\n";

const EXPERIMENT: &str = r#"
title = "Own measures"
source = { cite = "nobody", short = "nobody", where = "nowhere" }
about = "Two schemes."

[runs]
scenario = "small.toml"
measures = ["ends", "bins", "named"]

[[case]]
name = "HPCC"
scheme = "hpcc"

[[case]]
name = "DCTCP"
scheme = "dctcp"

[measure.worst]
what = "largest slowdown of a receiver"
unit = "×"
digits = 2
sql = "SELECT max(slowdown) FROM flows GROUP BY dst"

[measure.bytes]
what = "payload"
unit = "B"
sql = "SELECT sum(size_bytes) FROM flows"

[measure.done]
what = "flows done"
curve = true
sql = "SELECT (start_ps + fct_ps) / 1e6, row_number() OVER (ORDER BY start_ps + fct_ps) FROM flows ORDER BY 1"

[question.ends]
sql = "SELECT min(fct_ps) / 1e6 AS soonest, max(fct_ps) / 1e6 AS latest FROM flows"
values."soonest latest" = { what = "completion time", unit = "µs", digits = 1 }

[question.bins]
curves = true
sql = "SELECT bin, sum(bytes) FILTER (WHERE flow_id = 0) AS first, sum(bytes) AS whole FROM acknowledged GROUP BY bin"
values."first whole" = { what = "payload", unit = "B" }

[question.named]
sql = "SELECT 'flow' || flow_id AS name, size_bytes AS value FROM flows"
values."flow0 flow1 flow2" = { what = "size", unit = "B" }

[[table]]
columns = "case"
rows = ["worst", "bytes", "soonest", "latest", "flow1", { value = "worst / fct_slowdown.p99", what = "over the p99", digits = 3, expect = { between = [1.0, 1.5], because = "there is one receiver", says = "us" } }]

[[chart]]
x = ["time", "µs"]
y = ["flows", ""]
curves = [{ name = "{case}", value = "done", each = "case" }, { name = "{case}, payload", value = "whole", each = "case" }]
"#;

#[test]
fn questions_are_answered() {
    let folder = folder_with("small.toml", SCENARIO);
    let text = |args: &[&str]| {
        let done = run(folder.path(), args);
        let of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), of(&done.stdout), of(&done.stderr))
    };
    assert_eq!(text(&["run", "small.toml", "--quiet", "--out", "r"]).0, Some(0));
    let (code, tables, _) = text(&["query", "r"]);
    assert_eq!(code, Some(0));
    assert!(
        tables.contains("flows: a flow, in order of start (3 rows)"),
        "{tables}"
    );
    assert!(tables.contains("time_average(x, t, from, to)"), "{tables}");
    let sql = "SELECT label, count(*) AS flows, sum(size_bytes) / 2.0 AS half FROM flows GROUP BY label";
    let (_, csv, _) = text(&["query", "r", sql, "--format", "csv"]);
    // As in every other CSV, no cell is a formula.
    assert_eq!(csv, "label,flows,half\n'=x,3,30000\n");
    let (_, json, _) = text(&["query", "r", sql, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["flows"], 3);
    let (code, _, error) = text(&["query", "r", "SELECT count(*) FROM rtt_samples"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("does not have the table `rtt_samples`"), "{error}");
    let (code, out, error) = text(&["query", "r", "SELECT sizebytes FROM flows"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(error.contains("did you mean `size_bytes`"), "{error}");
    let (code, _, error) = text(&["query", "r", "VACUUM INTO 'x.db'"]);
    assert_eq!(code, Some(2), "{error}");
    assert!(!folder.path().join("x.db").exists());
}

#[test]
fn experiments_have_measures_of_their_own() {
    let folder = folder_with("small.toml", SCENARIO);
    let file = folder.path().join("experiment.toml");
    fs::write(&file, EXPERIMENT).unwrap();
    let done = run(folder.path(), &["reproduce", ".", "--out", "out"]);
    let out = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(
        done.status.code(),
        Some(0),
        "{out}{}",
        String::from_utf8_lossy(&done.stderr)
    );
    assert!(out.contains("largest slowdown of a receiver, ×"), "{out}");
    assert!(out.contains("60000"), "{out}");
    assert!(out.contains("properties: all 2"), "{out}");
    for (from, to, expected) in [
        ("FROM flows GROUP BY dst", "FROM flws", "experiment.toml:22:7"),
        (
            "FROM flows GROUP BY dst",
            "FROM flws",
            "no such table: flws: did you mean `flows`",
        ),
        (
            "SELECT max(slowdown)",
            "SELECT dst, max(slowdown)",
            "its rows have 2 columns, expected 1",
        ),
        ("rows = [\"worst\"", "rows = [\"worse\"", "did you mean `worst`"),
        (
            "SELECT sum(size_bytes) FROM flows",
            "DROP TABLE flows",
            "measure `bytes`",
        ),
        (
            "AS soonest",
            "AS sonest",
            "the column `sonest` is not in `values` (did you mean `soonest`",
        ),
        (
            "soonest latest",
            "soonest latest last",
            "`last` stands in `values`, and is no column of the answer",
        ),
        ("\"latest\"", "\"latst\"", "did you mean `latest`"),
        ("AS whole", "AS first", "two columns have one name"),
        ("\"ends\", \"bins\"", "\"end\", \"bins\"", "did you mean `ends`"),
        (", \"named\"]", "]", "no runs are asked the question `named`"),
        (
            "flow0 flow1",
            "flow0 soonest",
            "two of these have a measure `soonest`",
        ),
    ] {
        fs::write(&file, EXPERIMENT.replacen(from, to, 1)).unwrap();
        let done = run(folder.path(), &["reproduce", "--check", "."]);
        let error = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{error}");
        assert!(error.contains(expected), "{to}: {error}");
    }
}
