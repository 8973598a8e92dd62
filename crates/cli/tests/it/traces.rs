//! `paceline check`, `explain` and `convert` of traces.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{folder_with, json, run};

fn paceline(args: &[&str]) -> Output {
    run(Path::new("."), args)
}

fn stdout(done: &Output) -> String {
    String::from_utf8_lossy(&done.stdout).into_owned()
}

fn stderr(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

fn data(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/data");
    folder.canonicalize().unwrap().join(name).display().to_string()
}

#[test]
fn traces_are_checked() {
    let done = paceline(&[
        "check",
        &data("goal/halo_4x4.goal"),
        &data("chakra/dags/overlap/trace.0.et"),
    ]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains(": GOAL, 16 ranks"), "{}", stdout(&done));
    assert!(stdout(&done).contains(": Chakra, 8 ranks"), "{}", stdout(&done));
    let done = paceline(&["check", &data("goal/damaged/rendezvous_deadlock.goal")]);
    assert_eq!(done.status.code(), Some(2));
    assert!(stdout(&done).contains("error: "), "{}", stdout(&done));
    assert_eq!(stderr(&done), "error: 1 input cannot run\n");
    let done = paceline(&[
        "check",
        "--eager",
        "100000",
        &data("goal/damaged/rendezvous_deadlock.goal"),
    ]);
    assert_eq!(done.status.code(), Some(0), "{}", stdout(&done));
    let done = paceline(&["check", &data("goal/damaged/truncated.bin")]);
    assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(2), ""));
    assert!(stderr(&done).contains("truncated.bin"), "{}", stderr(&done));
    // A scenario, too.
    let done = paceline(&["check", "incast-16"]);
    assert_eq!(stdout(&done), "incast-16: a scenario that can run\n");
}

#[test]
fn traces_are_explained() {
    let done = paceline(&["explain", &data("goal/ring_allreduce_8.bin")]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    for part in [
        "GOAL",
        "ranks          8",
        "critical path",
        "1000 ns and 100 Gbit/s",
    ] {
        assert!(stdout(&done).contains(part), "{part}: {}", stdout(&done));
    }
}

#[test]
fn goal_is_converted_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let done = paceline(&["convert", &data("goal/mixed_01.goal"), &path("a.bin")]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let binary = fs::read(path("a.bin")).unwrap();
    assert_eq!(binary, fs::read(data("goal/mixed_01.bin")).unwrap());
    let done = paceline(&["convert", &path("a.bin"), &path("b.goal")]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let done = paceline(&["convert", &path("b.goal"), &path("a.bin")]);
    assert_eq!(done.status.code(), Some(2));
    assert!(stderr(&done).contains("a.bin exists: choose another file, or replace it with --force"));
    let done = paceline(&["convert", "--force", &path("b.goal"), &path("a.bin")]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert_eq!(fs::read(path("a.bin")).unwrap(), binary);
}

/// Where states with packets under way cannot be compared, and nothing was taken from memory, that is the reason.
#[test]
fn a_run_that_takes_nothing_from_memory_says_why() {
    let ring = data("chakra/microbenchmarks/all_reduce/8npus_1MB/all_reduce");
    let scenario = format!(
        "duration = '1s'\ncc.scheme = 'hpcc'\ntopology.star.hosts = 8\n[[job]]\niterations = 10\nchakra = {ring:?}\n"
    );
    let folder = folder_with("ring.toml", scenario);
    let words = ["run", "ring.toml", "--out", "ring"];
    let done = run(folder.path(), &words);
    let said = stderr(&done);
    assert_eq!(done.status.code(), Some(0), "{said}");
    let expected =
        "no phase came again, and states with packets under way cannot be compared: packets carry telemetry";
    assert!(said.contains(expected), "{said}");
    let repeats = json(&folder.path().join("ring/repeats.json"));
    assert_eq!(repeats["only_at_rest"], "packets carry telemetry");
    assert_eq!(repeats["phases"]["taken"], 0);
    // Without telemetry there is nothing to say, and phases are taken.
    let done = run(
        folder.path(),
        &["run", "ring.toml", "--scheme", "dcqcn", "--out", "dcqcn"],
    );
    assert!(stderr(&done).contains("phases came again"), "{}", stderr(&done));
    let repeats = json(&folder.path().join("dcqcn/repeats.json"));
    assert!(repeats.get("only_at_rest").is_none(), "{repeats}");
}
