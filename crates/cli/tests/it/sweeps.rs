//! Sweeps: tables, errors, interruptions and shards.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::common::{SMALL, assert_same, command, folder_with, interrupt, run, said, stdout};
use insta::assert_snapshot;

fn small() -> tempfile::TempDir {
    let folder = folder_with("my.toml", SMALL);
    let swept = format!(
        "{SMALL}[sweep]\n\"cc.scheme\" = [\"hpcc\", \"dcqcn\"]\n\"workload.0.incast.size\" = [\"100KB\", \"200KB\"]\nrepeats = 2\n"
    );
    fs::write(folder.path().join("swept.toml"), swept).unwrap();
    folder
}

const GRID: [&str; 3] = ["sweep", "my.toml", "--over=cc.scheme=hpcc,dcqcn,none"];

#[test]
fn a_table_of_a_sweep() {
    let folder = small();
    let path = folder.path();
    assert_snapshot!(said(path, &["sweep", "swept.toml"]));
    assert_snapshot!("a_finished_sweep_again", said(path, &["sweep", "swept.toml"]));
    assert!(path.join("results/small-sweep-1/results.csv").is_file());
    let json = stdout(path, &["sweep", "swept.toml", "--json", "--quiet"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["plan"]["points"].as_array().unwrap().len(), 4);
    assert_eq!(json["rows"].as_array().unwrap().len(), 8);
    assert_eq!(json["rows"][7]["summary"]["scheme"], "dcqcn");
    // A row of the sweep equals the single run.
    let args = [
        "run",
        "my.toml",
        "--scheme=dcqcn",
        "--seed=2",
        "--set=workload.0.incast.size=200KB",
        "--json",
    ];
    let alone: serde_json::Value = serde_json::from_str(&stdout(path, &args)).unwrap();
    assert_eq!(json["rows"][7]["summary"]["digest"], alone["digest"]);
    assert_eq!(json["rows"][7]["summary"]["fct_slowdown"], alone["fct_slowdown"]);
}

/// Suspicious inputs are reported as by `run`, once for all points.
#[test]
fn odd_inputs_are_told() {
    let folder = small();
    let odd = ["--set", "cc.timely.t-low=10us"];
    let warnings = |args: &[&str]| -> Vec<String> {
        let said = run(folder.path(), &[args, &odd].concat());
        assert!(said.status.success(), "{args:?}");
        let text = String::from_utf8(said.stderr).unwrap();
        let lines = text.lines().filter(|line| line.starts_with("warning: "));
        lines.map(str::to_string).collect()
    };
    let of_run = warnings(&["run", "my.toml"]);
    assert_eq!(of_run.len(), 1, "{of_run:?}");
    assert_eq!(warnings(&GRID), of_run);
    assert!(warnings(&[&GRID[..], &["--quiet"]].concat()).is_empty());
}

#[test]
fn mistakes() {
    let folder = small();
    let path = folder.path();
    let bad = format!("{SMALL}[sweep]\n\"cc.hpcc.etaa\" = [0.9, 0.95]\n");
    fs::write(path.join("bad.toml"), bad).unwrap();
    let mut text = String::new();
    for args in [
        &["my.toml"][..],
        &["bad.toml"],
        &["my.toml", "--over", "cc.hpcc.etaa=0.9,0.95"],
        &["my.toml", "--over", "cc.scheme=hpcc,dcqnc"],
        &["my.toml", "--over", "cc.scheme="],
        &["my.toml", "--over", "cc.scheme=hpcc,hpcc"],
        &["my.toml", "--over", "network.mtu=1KB,1000B"],
        &["swept.toml", "--scheme", "timely"],
        &["my.toml", "--over", "seed=1,2"],
        &["my.toml", "--repeats", "0"],
        &["my.toml", "--repeats", "2", "--shard", "0/4"],
        &["my.toml", "--repeats", "2", "--shard", "2"],
    ] {
        text.push_str(&said(path, &[&["sweep"], args].concat()));
        text.push('\n');
    }
    text.push_str(&said(path, &["merge", "nowhere"]));
    assert_snapshot!(text);
    assert!(!path.join("results").exists());
}

#[test]
fn other_folders_are_kept() {
    let folder = small();
    let path = folder.path();
    fs::create_dir(path.join("thesis")).unwrap();
    fs::write(path.join("thesis/chapter1.tex"), "years of work").unwrap();
    for force in [&[][..], &["--force"]] {
        let output = run(path, &[&GRID[..], &["--out=thesis"], force].concat());
        assert_eq!(output.status.code(), Some(2));
    }
    assert_eq!(fs::read_dir(path.join("thesis")).unwrap().count(), 1);
}

/// Some settings of a point can make a run fail although the scenario is valid.
#[test]
fn a_failed_run_is_told_and_the_others_count() {
    let folder = small();
    let path = folder.path();
    // In these scenarios only a defect could make a run fail, so a row is edited to be a failed one.
    stdout(path, &[&GRID[..], &["--out=s"]].concat());
    let row = fs::read_dir(path.join("s/rows"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut value: serde_json::Value = serde_json::from_slice(&fs::read(&row).unwrap()).unwrap();
    value.as_object_mut().unwrap().remove("digest");
    value["status"] = "failed".into();
    value["message"] = "bytes in 3 are not bytes out 2".into();
    value["summary"] = serde_json::Value::Null;
    fs::write(&row, value.to_string()).unwrap();
    let output = run(path, &["merge", "s"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("1 of 3 runs failed"), "{error}");
    assert!(error.contains("bytes in 3 are not bytes out 2"), "{error}");
    // The failed run is repeated.
    stdout(path, &[&GRID[..], &["--out=s"]].concat());
    stdout(path, &["merge", "s"]);
}

#[test]
fn shards_together_are_the_whole() {
    let folder = small();
    let path = folder.path();
    let sweep = |more: &[&str]| stdout(path, &[&["sweep", "swept.toml", "-q"], more].concat());
    let whole = sweep(&["--out=whole"]);
    assert_eq!(sweep(&["--out=parts", "--shard=1/2"]), "");
    assert_snapshot!("what_is_missing", said(path, &["merge", "parts"]));
    sweep(&["--out=other", "--shard=2/2"]);
    let merged = stdout(path, &["merge", "parts", "other", "--out=merged", "-q"]);
    assert_eq!(merged, whole);
    assert_same(
        &without_lock(&path.join("merged")),
        &without_lock(&path.join("whole")),
    );
    // With a shared folder, the last shard has all rows.
    assert_eq!(sweep(&["--out=parts", "--shard=2/2"]), whole);
}

fn without_lock(folder: &Path) -> std::path::PathBuf {
    let _ = fs::remove_file(folder.join(".lock"));
    folder.to_path_buf()
}

#[test]
fn a_script_for_slurm() {
    let folder = small();
    let args = [
        "sweep",
        "my.toml",
        "--over",
        "cc.scheme=hpcc,dcqcn",
        "--over",
        "network.headroom={ fixed = \"1MB\" },{ fixed = \"2MB\" }",
        "--repeats=5",
        "--set",
        "network.mtu=4KB",
        "--seed=3",
        "--jobs=2",
        "--print-slurm=8",
    ];
    let script = stdout(folder.path(), &args);
    assert_snapshot!(script);
    assert!(!folder.path().join("results").exists(), "it runs nothing");
    // The command accepts the script's line; the first task submits the merge, by a command that only notes it.
    let tools = tempfile::tempdir().unwrap();
    let tool = |name: &str, text: &str| {
        let file = tools.path().join(name);
        fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    };
    tool(
        "paceline",
        &format!("exec '{}' \"$@\"", env!("CARGO_BIN_EXE_paceline")),
    );
    tool("sbatch", "echo \"$@\" >> submitted");
    fs::write(folder.path().join("job.sh"), &script).unwrap();
    for (task, rows) in [("8", 2), ("1", 5)] {
        let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").unwrap());
        let output = Command::new("sh")
            .arg("job.sh")
            .env("PATH", path)
            .env("SLURM_ARRAY_TASK_ID", task)
            .env("SLURM_ARRAY_JOB_ID", "77")
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let there = fs::read_dir(folder.path().join("results/small-sweep-3/rows")).unwrap();
        assert_eq!(there.count(), rows);
    }
    let submitted = fs::read_to_string(folder.path().join("submitted")).unwrap();
    assert_eq!(
        submitted,
        "--job-name=paceline-merge --time=60 --dependency=afterany:77 --wrap paceline merge results/small-sweep-3\n"
    );
}

/// Starts a sweep whose runs take a moment.
fn start(path: &Path, out: &str) -> Child {
    let long = SMALL
        .replace("100KB", "20MB")
        .replace("[record]", "[record]\nports = \"off\"");
    fs::write(path.join("long.toml"), long).unwrap();
    command(path)
        .args([
            "sweep",
            "long.toml",
            "--over=cc.scheme=hpcc,dcqcn",
            "--repeats=6",
            "--jobs=1",
        ])
        .arg(format!("--out={out}"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until a sweep has finished a run.
fn first_row(child: &mut Child, rows: &Path) {
    let finished = || rows_of(rows).keys().any(|name| !name.starts_with('.'));
    while !finished() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn rows_of(rows: &Path) -> BTreeMap<String, SystemTime> {
    let entries = fs::read_dir(rows).into_iter().flatten().map(Result::unwrap);
    let times = entries.filter_map(|entry| {
        let time = entry.metadata().ok()?.modified().ok()?;
        Some((entry.file_name().into_string().unwrap(), time))
    });
    times.collect()
}

#[test]
fn a_killed_sweep_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let rows = path.join("out/rows");
    let mut child = start(path, "out");
    first_row(&mut child, &rows);
    child.kill().unwrap();
    child.wait().unwrap();
    let finished: BTreeMap<_, _> = rows_of(&rows)
        .into_iter()
        .filter(|(name, _)| !name.starts_with('.'))
        .collect();
    assert!(!finished.is_empty());
    let output = start(path, "out").wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let expected = format!(
        "{} runs, and {} that are finished",
        12 - finished.len(),
        finished.len()
    );
    assert!(error.contains(&expected), "{expected}: {error}");
    let after = rows_of(&rows);
    assert_eq!(after.len(), 12);
    for (name, time) in &finished {
        assert_eq!(after[name], *time, "{name} was made again");
    }
    assert_eq!(
        fs::read_dir(path.join("out/runs")).unwrap().count(),
        12,
        "nothing half-made is left"
    );
    // The result equals that of an uninterrupted sweep.
    assert!(start(path, "whole").wait().unwrap().success());
    assert_same(&path.join("out"), &path.join("whole"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_sweep_keeps_what_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut child = start(path, "out");
    first_row(&mut child, &path.join("out/rows"));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(
        error.contains("of 12 runs are finished; repeat the command to resume"),
        "{error}"
    );
    let table = fs::read_to_string(path.join("out/results.csv")).unwrap();
    let count = |status: &str| table.lines().filter(|line| line.contains(status)).count();
    assert!(count(",completed,") >= 1 && count(",missing,") >= 1, "{table}");
    assert_eq!(count(",completed,") + count(",missing,"), 12);
}

/// Another grid of the same scenario does not overwrite existing results; a larger one reuses them.
#[test]
fn another_grid_has_a_folder_of_its_own() {
    let folder = small();
    let path = folder.path();
    let rows = |name: &str| {
        let text = fs::read_to_string(path.join("results").join(name).join("results.csv")).unwrap();
        text.lines().count() - 1
    };
    stdout(path, &["sweep", "my.toml", "--over=cc.scheme=hpcc,dcqcn", "-q"]);
    let first = fs::read(path.join("results/small-sweep-1/results.csv")).unwrap();
    stdout(
        path,
        &[
            "sweep",
            "my.toml",
            "--over=network.buffer=1MiB,2MiB",
            "--scheme=dcqcn",
            "-q",
        ],
    );
    assert_eq!(
        fs::read(path.join("results/small-sweep-1/results.csv")).unwrap(),
        first
    );
    assert_eq!(rows("small-sweep-1-2"), 2);
    stdout(
        path,
        &["sweep", "my.toml", "--over=cc.scheme=hpcc,dcqcn,none", "-q"],
    );
    assert_eq!(rows("small-sweep-1"), 3);
    assert!(!path.join("results/small-sweep-1-3").exists());
}

/// Numbers that depend on the seed are averaged over all seeds, even if flows end at the same times, as with random
/// marks.
#[test]
fn numbers_that_differ_with_the_seed_are_of_all_seeds() {
    let folder = small();
    let path = folder.path();
    let args = [
        "sweep",
        "my.toml",
        "--scheme=none",
        "--over=network.ecn.pmax=0.2,1",
        "--set=network.ecn.kmin=1KB",
        "--set=network.ecn.kmax=10MB",
        "--repeats=3",
        "-q",
        "--out=s",
    ];
    stdout(path, &args);
    let table = |name: &str| -> Vec<Vec<String>> {
        let text = fs::read_to_string(path.join("s").join(name)).unwrap();
        let cells = |line: &str| line.split(',').map(str::to_string).collect();
        text.lines().map(cells).collect()
    };
    let (results, points) = (table("results.csv"), table("points.csv"));
    let column = |name: &str| results[0].iter().position(|head| head == name).unwrap();
    let (pmax, ce) = (column("network.ecn.pmax"), column("ecn.ce"));
    for value in ["0.2", "1"] {
        let marks = results[1..].iter().filter(|row| row[pmax] == value);
        let marks: Vec<f64> = marks.map(|row| row[ce].parse().unwrap()).collect();
        let mean = marks.iter().sum::<f64>() / 3.0;
        assert!(
            marks.len() == 3 && marks.iter().any(|mark| *mark != marks[0]),
            "{marks:?}"
        );
        let at = |name: &str| points[0].iter().position(|head| head == name).unwrap();
        let row = points
            .iter()
            .find(|row| row[0] == value && row[at("metric")] == "ecn.ce")
            .unwrap();
        assert_eq!(row[at("n")], "3");
        assert!(
            (row[at("mean")].parse::<f64>().unwrap() - mean).abs() < 1e-9,
            "{row:?}, {marks:?}"
        );
    }
}
