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
    // Scenarios are accepted, too.
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

/// A job by a model whose communication does not overlap takes as long as its trace in Chakra.
#[test]
fn a_job_by_a_model_is_converted_to_chakra() {
    let of = |job: &str| {
        format!(
            "duration = '1s'\ntopology.star.hosts = 8\ncc.scheme = 'none'\n[[job]]\nlabel = 'job'\n{job}\n"
        )
    };
    let model = "model = { layers = 4, hidden = 512, heads = 8, vocabulary = 2048, experts = 4, top-k = 2, expert-ffn = 512 }\n\
                 parallel = { tensor = 2, pipeline = 2, data = 2, expert = 2 }\n\
                 training = { global-batch = 8, sequence = 512, flops = '20T', memory = '300GB/s' }";
    let folder = folder_with("model.toml", of(model));
    let path = folder.path();
    let here = |args: &[&str]| run(path, args);
    let done = here(&["convert", "model.toml", "job.et"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(
        stderr(&done).contains("job.0.et to job.7.et"),
        "{}",
        stderr(&done)
    );
    let again = here(&["convert", "model.toml", "job.et"]);
    assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));
    fs::write(
        path.join("trace.toml"),
        of("chakra = 'job'\nrules = { groups = 'job.groups.json' }"),
    )
    .unwrap();
    let time = |name: &str| {
        let done = here(&["run", &format!("{name}.toml"), "-q", "--out", name]);
        assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
        let summary = crate::common::json(&path.join(name).join("summary.json"));
        summary["jobs"][0]["iteration_us"]["mean"].as_f64().unwrap()
    };
    let (model, trace) = (time("model"), time("trace"));
    assert!((trace / model - 1.0).abs() < 0.02, "{model} {trace}");
    // A trace of more ranks, of which one file would stay.
    fs::write(path.join("job.8.et"), "").unwrap();
    let more = here(&["convert", "model.toml", "job.et", "--force"]);
    assert_eq!(more.status.code(), Some(2));
    assert!(
        stderr(&more).contains("job.8.et is there, and the job has 8 ranks"),
        "{}",
        stderr(&more)
    );
    let goal = data("goal/mixed_01.goal");
    let other = here(&["convert", &goal, "other.et"]);
    assert!(
        stderr(&other).contains("only jobs by a model are written as Chakra"),
        "{}",
        stderr(&other)
    );
}

/// If nothing was reused because states with packets in flight cannot be compared, that reason is reported.
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
    // Without telemetry there is no message, and phases are reused.
    let done = run(
        folder.path(),
        &["run", "ring.toml", "--scheme", "dcqcn", "--out", "dcqcn"],
    );
    assert!(stderr(&done).contains("phases came again"), "{}", stderr(&done));
    let repeats = json(&folder.path().join("dcqcn/repeats.json"));
    assert!(repeats.get("only_at_rest").is_none(), "{repeats}");
}

/// The million flows of repeated iterations are written once and read as all flows. `why` explains a repeated flow
/// through its first occurrence.
#[test]
#[ignore = "runs a million flows: `cargo test --workspace -- --include-ignored`"]
fn flows_that_come_again_are_written_once() {
    let scenario = format!(
        "duration = '10s'\nfidelity = 'simai'\ntopology.file = {:?}\ncc.scheme = 'dcqcn'\n[[job]]\n\
         simai = {:?}\niterations = 600\n",
        data("simai/Rail_Opti_SingleToR_8g_8gps_200Gbps_H20"),
        data("simai/microAllReduce.txt")
    );
    let folder = folder_with("micro.toml", &scenario);
    let at = |args: &[&str]| run(folder.path(), args);
    let done = at(&["run", "micro.toml", "--out", "folded"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(
        stderr(&done).contains("of 1075200 flows are as earlier ones"),
        "{}",
        stderr(&done)
    );
    let is_there = |name: &str| folder.path().join(name).is_file();
    assert!(is_there("folded/unique_flows.csv") && is_there("folded/flow_repeats.csv"));
    assert!(!is_there("folded/flows.csv") && !is_there("folded/fct.txt"));
    // The repeated command reuses the results, unless it asks for expanded flows.
    let done = at(&["run", "micro.toml", "--out", "folded"]);
    assert!(stderr(&done).contains("folded"), "{}", stderr(&done));
    let done = at(&["run", "micro.toml", "--quiet", "--expand", "--out", "expanded"]);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    assert!(is_there("expanded/flows.csv") && is_there("expanded/fct.txt"));
    let done = at(&["diff", "folded", "expanded"]);
    assert!(stdout(&done).contains("are the same"), "{}", stdout(&done));
    let summary = |name: &str| {
        let text = fs::read_to_string(folder.path().join(name).join("summary.json")).unwrap();
        let mut summary: serde_json::Value = serde_json::from_str(&text).unwrap();
        let numbers = summary.as_object_mut().unwrap();
        for key in ["wall_s", "cpu_s", "packet_hops_per_s", "peak_rss_bytes"] {
            numbers.remove(key);
        }
        summary
    };
    assert_eq!(summary("folded"), summary("expanded"));
    let done = at(&["why", "folded", "900000"]);
    assert!(
        stderr(&done).contains("has the numbers of flow "),
        "{}",
        stderr(&done)
    );
    let lines = fs::read_to_string(folder.path().join("folded/unique_flows.csv")).unwrap();
    assert!(lines.lines().count() < 5000);
    fs::write(
        folder.path().join("folded/flow_repeats.csv"),
        "flow_id,flows,as_flow_id,later_ps\n9,1,9,1\n",
    )
    .unwrap();
    let done = at(&["report", "folded", "--force"]);
    assert!(
        stderr(&done).contains("flow_repeats.csv is not what a run writes"),
        "{}",
        stderr(&done)
    );
}
