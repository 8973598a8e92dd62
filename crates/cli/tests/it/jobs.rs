//! Jobs have results like flows: the same numbers by name in all comparisons.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{folder_with, said, stdout};

const JOBS: &str = "name = 'jobs'\nduration = '5ms'\n[topology.star]\nhosts = 4\n[cc]\nscheme = 'dcqcn'\n\
    [[job]]\nlabel = 'llm'\nhosts = '1..4'\niterations = 3\n\
    [[job.step]]\ncompute = '20us'\nall-reduce = { size = '100KB' }\n\
    [[job]]\nlabel = 'moe'\nhosts = '1..4'\nshare-hosts = true\niterations = 2\n\
    [[job.step]]\ncompute = '10us'\nall-to-all = { size = '50KB' }\n\
    [sweep]\n'cc.scheme' = ['dcqcn', 'hpcc']\n";

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Reads a CSV table without quotes, as cells.
fn csv(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    let row = |line: &str| line.split(',').map(str::to_string).collect();
    text.lines().map(row).collect()
}

#[test]
fn sweeps_have_jobs_by_name() {
    let folder = folder_with("jobs.toml", JOBS);
    let path = folder.path();
    let table = stdout(path, &["sweep", "jobs.toml", "--out", "grid", "-q"]);
    assert!(table.contains("job llm") && table.contains("job moe"), "{table}");
    let results = csv(&path.join("grid/results.csv"));
    let column = |name: &str| results[0].iter().position(|one| one == name).unwrap();
    let summary = |scheme: &str| {
        let row = results.iter().find(|row| row[0] == scheme).unwrap();
        let run = path.join("grid/runs").join(&row[column("id")]);
        (row.clone(), json(&run.join("summary.json")))
    };
    let (row, of_hpcc) = summary("hpcc");
    let number = |name: &str| row[column(name)].parse::<f64>().unwrap();
    let llm = &of_hpcc["jobs"][0];
    for (name, value) in [
        ("jobs.llm.iteration_us.mean", &llm["iteration_us"]["mean"]),
        ("jobs.llm.iteration_us.max", &llm["iteration_us"]["max"]),
        ("jobs.llm.exposed_us", &llm["exposed_us"]),
        ("jobs.moe.communication", &of_hpcc["jobs"][1]["communication"]),
    ] {
        assert_eq!(Some(number(name)), value.as_f64(), "{name}");
    }
    // A collective's bus bandwidth is that of all its bytes over its whole time.
    let all = of_hpcc["collectives"].as_array().unwrap();
    let of_llm = all.iter().filter(|one| one["label"] == "llm/all-reduce");
    let (bits, time) = of_llm.fold((0.0, 0.0), |(bits, time), one| {
        let us = one["time_us"].as_f64().unwrap();
        (bits + one["busbw_gbps"].as_f64().unwrap() * us, time + us)
    });
    let bus = number("collectives.llm/all-reduce.busbw_gbps");
    assert!((bus / (bits / time) - 1.0).abs() < 1e-12, "{bus}");
    let plot = |what: &str| {
        let arguments = ["plot", "grid", "--what", what, "-o", "t.csv", "--force"];
        stdout(path, &arguments);
        csv(&path.join("t.csv"))
    };
    let drawn = plot("jobs.llm.iteration_us.mean");
    assert!(drawn.iter().any(|row| {
        row.iter()
            .any(|cell| cell.parse() == Ok(number("jobs.llm.iteration_us.mean")))
    }));
    // The page offers these measures.
    let page = fs::read_to_string(path.join("grid/report.html")).unwrap();
    assert!(
        page.contains("Job llm, iteration mean") && page.contains("Collective moe/all-to-all, bus Gbit/s")
    );
    let misspelt = [
        "plot",
        "grid",
        "--what",
        "jobs.lm.iteration_us.mean",
        "-o",
        "u.csv",
    ];
    let said = said(path, &misspelt);
    assert!(
        said.contains("did you mean `jobs.llm.iteration_us.mean`?"),
        "{said}"
    );
}

#[test]
fn comparisons_and_differences_have_jobs_by_name() {
    let placed = "ranks = 3\nplacement = 'random'\nshare-hosts = true\niterations = 3";
    let folder = folder_with(
        "jobs.toml",
        JOBS.replace("hosts = '1..4'\niterations = 3", placed),
    );
    let path = folder.path();
    let arguments = "compare jobs.toml --schemes dcqcn,hpcc --repeats 2 --out both -q";
    let table = stdout(path, &arguments.split(' ').collect::<Vec<_>>());
    let repeats = json(&path.join("both/comparison.json"));
    let of = |index: usize| &repeats["intervals"][index]["metrics"]["jobs.llm.iteration_us.mean"]["mean"];
    let paired = &repeats["paired"][0]["metrics"]["jobs.llm.iteration_us.mean"]["difference"]["mean"];
    let (first, second) = (of(0).as_f64().unwrap(), of(1).as_f64().unwrap());
    assert!(
        (paired.as_f64().unwrap() - (second - first)).abs() < 1e-9,
        "{table}"
    );
    assert!(table.contains("by job, mean over the seeds") && table.contains("collective moe/all-to-all"));
    let differ = stdout(path, &["diff", "both/dcqcn-1", "both/hpcc-1"]);
    for name in [
        "jobs.llm.iteration_us.mean",
        "jobs.moe.exposed_us",
        "collectives.llm/all-reduce.busbw_gbps",
    ] {
        assert!(differ.contains(name), "{name} in {differ}");
    }
}

#[test]
fn iterations_are_drawn() {
    let folder = folder_with("jobs.toml", JOBS);
    let path = folder.path();
    let text = stdout(path, &["run", "jobs.toml", "--out", "run", "-q"]);
    // One or two jobs are shown in the first table.
    assert!(
        text.contains("job llm") && text.contains("exposed share"),
        "{text}"
    );
    stdout(path, &["plot", "run", "--what", "iterations", "-o", "t.csv"]);
    let drawn = csv(&path.join("t.csv"));
    let summary = json(&path.join("run/summary.json"));
    for (name, count) in [("llm", 3), ("moe", 2)] {
        let rows: Vec<_> = drawn.iter().filter(|row| row[0] == name).collect();
        assert_eq!(rows.len(), count, "{drawn:?}");
        let jobs = summary["jobs"].as_array().unwrap();
        let job = jobs.iter().find(|job| job["label"] == name).unwrap();
        for (row, us) in rows.iter().zip(job["iterations_us"].as_array().unwrap()) {
            let (drawn, us) = (row[2].parse::<f64>().unwrap(), us.as_f64().unwrap());
            // The chart's values have four digits.
            assert!((drawn / us - 1.0).abs() < 1e-3, "{drawn} {us}");
        }
    }
    let page = fs::read_to_string(path.join("run/report.html")).unwrap();
    assert!(page.contains("Iterations of jobs") && page.contains("Iteration, mean"));
    let said = said(path, &["plot", "run", "--what", "iteratoins", "-o", "u.csv"]);
    assert!(said.contains("did you mean `iterations`?"), "{said}");
}

/// Pages, tables and differences list the iteration time first, since it is a job's main result.
#[test]
fn the_iteration_comes_first() {
    let folder = folder_with("jobs.toml", JOBS);
    let path = folder.path();
    let table = stdout(path, &["sweep", "jobs.toml", "--out", "grid", "-q"]);
    let head = table.lines().next().unwrap();
    assert!(head.find("job llm") < head.find("FCT slowdown"), "{table}");
    let page = fs::read_to_string(path.join("grid/report.html")).unwrap();
    let measures = page.split("\"measures\":[").nth(1).unwrap();
    assert!(
        measures.starts_with("{\"name\":\"Job llm, iteration mean\""),
        "{}",
        &measures[..200]
    );
    assert!(page.contains("The mean iteration of job llm is smallest with"));
    stdout(
        path,
        &[
            "compare",
            "jobs.toml",
            "--schemes",
            "dcqcn,hpcc",
            "--out",
            "both",
            "-q",
        ],
    );
    let page = fs::read_to_string(path.join("both/report.html")).unwrap();
    assert!(page.contains("An iteration of llm is shortest with"));
    let page = fs::read_to_string(path.join("both/dcqcn/report.html")).unwrap();
    let tiles = page.split("aria-label=\"Key figures\"").nth(1).unwrap();
    let first = |text: &str| tiles.find(text).unwrap_or(usize::MAX);
    assert!(first("Iteration, mean") < first("Flows finished"));
    let story = |text: &str| page.find(text).unwrap_or(usize::MAX);
    assert!(story("An iteration of llm took") < story(" under dcqcn, "));
    let differ = stdout(path, &["diff", "both/dcqcn", "both/hpcc"]);
    let results = differ.split("Results that differ:\n").nth(1).unwrap();
    let keys: Vec<&str> = results
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        keys[..2],
        ["jobs.llm.iteration_us.mean", "jobs.moe.iteration_us.mean"],
        "{differ}"
    );
}

/// Iterations of a job are a measure of an experiment: in a table, in a claim and in a figure, as in the sweep.
#[test]
fn experiments_have_jobs_by_name() {
    let folder = folder_with("jobs.toml", JOBS);
    let path = folder.path();
    stdout(path, &["sweep", "jobs.toml", "--out", "grid", "-q"]);
    stdout(path, &["sweep", "jobs.toml", "--save-experiment", "paper", "-q"]);
    let file = path.join("paper/experiment.toml");
    let text = fs::read_to_string(&file).unwrap();
    let more = r#"
[[table]]
columns = "scheme"
rows = ["'jobs.llm.iteration_us.mean'", "'jobs.moe.communication'"]
[[claim]]
what = "iteration of llm, HPCC over DCQCN"
expr = "'jobs.llm.iteration_us.mean'['hpcc'] / 'jobs.llm.iteration_us.mean'['dcqcn']"
digits = 6
expect = { between = [0.9, 1.2], because = "two short jobs" }
[[figure]]
what = "jobs.llm.iteration_us.mean"
over = "scheme"
out = "llm.csv"
"#;
    fs::write(&file, format!("{text}{more}")).unwrap();
    let check = said(path, &["reproduce", "--check", "paper"]);
    assert!(check.contains("exit status: 0"), "{check}");
    let args = [
        "reproduce",
        "paper",
        "--json",
        "--quiet",
        "--strict",
        "--out",
        "results",
    ];
    let records: Vec<Value> = serde_json::from_str(&stdout(path, &args)).unwrap();
    let points = csv(&path.join("grid/points.csv"));
    let mean = |scheme: &str, metric: &str| {
        let found = points.iter().find(|row| row[0] == scheme && row[1] == metric);
        found.unwrap()[3].parse::<f64>().unwrap()
    };
    let ours = |case: &str, metric: &str| {
        let found = records
            .iter()
            .find(|one| one["case"] == case && one["metric"] == metric);
        found.unwrap_or_else(|| panic!("{metric}: {records:?}"))["ours"].as_f64()
    };
    let metric = "jobs.llm.iteration_us.mean";
    for scheme in ["hpcc", "dcqcn"] {
        for metric in [metric, "jobs.moe.communication"] {
            assert_eq!(ours(scheme, metric), Some(mean(scheme, metric)), "{scheme}");
        }
    }
    let claim = "iteration of llm, HPCC over DCQCN";
    let ratio = mean("hpcc", metric) / mean("dcqcn", metric);
    let found = records.iter().find(|one| one["metric"] == claim).unwrap();
    assert_eq!(
        (found["ours"].as_f64(), &found["ok"]),
        (Some(ratio), &Value::Bool(true))
    );
    stdout(path, &["plot", "grid", "--what", metric, "-o", "llm.csv"]);
    assert_eq!(
        fs::read_to_string(path.join("llm.csv")).unwrap(),
        fs::read_to_string(path.join("results/figures/paper-llm.csv")).unwrap()
    );
    // A label that no job has is found when the figure is drawn, with its line.
    fs::write(
        &file,
        format!(
            "{text}{}",
            more.replace(
                "jobs.llm.iteration_us.mean\"\nover",
                "jobs.lm.iteration_us.mean\"\nover"
            )
        ),
    )
    .unwrap();
    let wrong = said(path, &["reproduce", "paper", "--quiet", "--out", "wrong"]);
    assert!(
        wrong.contains("exit status: 2") && wrong.contains("did you mean `jobs.llm.iteration_us.mean`?"),
        "{wrong}"
    );
}
