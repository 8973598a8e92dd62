//! Folders of sweeps that are swept again.

use std::fs;
use std::path::Path;

use crate::common::{assert_same, json, run, said, stdout};

/// Scenario whose flows are in a file outside of its folder, and whose grid has named cases.
const SCENARIO: &str = r#"
duration = "2ms"
[topology.star]
hosts = 4
[[workload]]
label = "trace"
trace = { file = "../flows/some.csv" }
[cc]
scheme = "hpcc"
[[sweep.case]]
label = "whole"
[[sweep.case]]
label = "other flows"
"workload.trace.trace.file" = "other.csv"
"#;

fn mine() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("paper/in")).unwrap();
    fs::create_dir(at("paper/flows")).unwrap();
    fs::write(at("paper/in/mine.toml"), SCENARIO).unwrap();
    let head = "start_us,src,dst,size_bytes\n";
    fs::write(
        at("paper/flows/some.csv"),
        format!("{head}0,1,4,100000\n1,2,4,50000\n"),
    )
    .unwrap();
    fs::write(at("paper/in/other.csv"), format!("{head}0,1,3,200000\n")).unwrap();
    folder
}

/// Compares the folders of two sweeps.
fn same(path: &Path, a: &str, b: &str) {
    for name in [a, b] {
        let _ = fs::remove_file(path.join(name).join(".lock"));
    }
    assert_same(&path.join(a), &path.join(b));
}

#[test]
fn a_folder_holds_what_its_sweep_needs() {
    let folder = mine();
    let path = folder.path();
    let grid = [
        "sweep",
        "paper/in/mine.toml",
        "--over=cc.scheme=hpcc,dctcp",
        "--over=network.mtu=1KB,2KB",
        "--repeats=2",
        "--set=topology.star.delay=2us",
        "--seed=3",
        "-q",
    ];
    stdout(path, &[&grid[..], &["-o", "grid"]].concat());
    stdout(path, &[&grid[..], &["-o", "shard", "--shard=1/2"]].concat());
    stdout(path, &[&grid[..], &["-o", "other", "--shard=2/2"]].concat());
    stdout(path, &["merge", "shard", "other", "--out", "merged", "-q"]);
    assert_eq!(
        fs::read_to_string(path.join("grid/scenario/mine.toml")).unwrap(),
        SCENARIO
    );
    // Nothing but the folder is left, elsewhere.
    fs::remove_dir_all(path.join("paper")).unwrap();
    fs::create_dir(path.join("mail")).unwrap();
    fs::rename(path.join("grid"), path.join("mail/grid")).unwrap();
    stdout(path, &["sweep", "mail/grid", "-o", "again", "-q"]);
    same(path, "mail/grid", "again");
    stdout(path, &["sweep", "merged", "-o", "of-merged", "-q"]);
    same(path, "merged", "of-merged");
    // What is finished is not run again, there or with more values.
    let output = said(path, &["sweep", "again", "-o", "again"]);
    assert!(output.contains("exit status: 0"), "{output}");
    stdout(path, &["sweep", "again", "-o", "of-merged", "--force", "-q"]);
    same(path, "again", "of-merged");
    // Options replace what they name.
    let changed = [
        "sweep",
        "again",
        "--over=network.mtu=4KB",
        "--over=case=whole",
        "--repeats=1",
        "--set=topology.star.delay=3us",
        "-o",
        "changed",
        "-q",
    ];
    stdout(path, &changed);
    let plan = json(&path.join("changed/sweep.json"));
    let arguments: Vec<&str> = (plan["arguments"].as_array().unwrap().iter())
        .map(|word| word.as_str().unwrap())
        .collect();
    assert_eq!(
        arguments.join(" "),
        "paper/in/mine.toml --over cc.scheme=hpcc,dctcp --over network.mtu=4KB --over case=whole --repeats 1 --set \
         topology.star.delay=3us --seed 3"
    );
    assert_eq!(plan["points"].as_array().unwrap().len(), 2);
    assert_eq!(plan["seeds"], serde_json::json!([3]));
    // An experiment of it is a folder of its own, too.
    stdout(path, &["sweep", "again", "--save-experiment", "experiment", "-q"]);
    fs::remove_dir_all(path.join("again")).unwrap();
    let text = stdout(
        path,
        &["reproduce", "experiment", "--json", "--quiet", "--out", "results"],
    );
    let ours: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    assert!(
        ours.len() > 8 && ours.iter().all(|value| value["ours"].is_number()),
        "{text}"
    );
}

/// A built-in scenario has its files in the program, and a configuration of ns-3 has its own.
#[test]
fn other_inputs_are_stored_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::create_dir_all(path.join("mix/hpcc")).unwrap();
    let at = |name: &str| path.join("mix").join(name);
    fs::write(
        at("topology.txt"),
        "3 1 2\n0\n1 0 100Gbps 1us 0\n2 0 100Gbps 1us 0\n",
    )
    .unwrap();
    fs::write(at("flow.txt"), "1\n1 2 3 100 100000 2\n").unwrap();
    fs::write(at("trace.txt"), "0\n\n").unwrap();
    fs::write(
        at("hpcc/config.txt"),
        "CC_MODE 3\nTOPOLOGY_FILE mix/topology.txt\nFLOW_FILE mix/flow.txt\nTRACE_FILE mix/trace.txt\n\
         SIMULATOR_STOP_TIME 2.01\nRATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nL2_CHUNK_SIZE 4000\n\
         KMAX_MAP 1 100000000000 400\nKMIN_MAP 1 100000000000 100\nPMAX_MAP 1 100000000000 0.2\n",
    )
    .unwrap();
    for (input, over) in [
        ("incast-16", "network.buffer=2MB,8MB"),
        ("mix/hpcc/config.txt", "cc.scheme=hpcc,dctcp"),
    ] {
        let first = ["sweep", input, "--over", over, "-o", "first", "--force", "-q"];
        stdout(path, &first);
        if input.starts_with("mix") {
            fs::remove_dir_all(path.join("mix")).unwrap();
        }
        stdout(path, &["sweep", "first", "-o", "second", "--force", "-q"]);
        same(path, "first", "second");
    }
}

#[test]
fn an_older_folder_is_refused() {
    let folder = mine();
    let path = folder.path();
    stdout(path, &["sweep", "paper/in/mine.toml", "-o", "grid", "-q"]);
    fs::remove_dir_all(path.join("grid/scenario")).unwrap();
    let output = run(path, &["sweep", "grid", "-o", "again"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        error,
        "error: grid does not hold the scenario of its sweep, as an older version wrote it: sweep `paper/in/mine.toml` \
         itself\n"
    );
    assert!(!path.join("again").exists());
}
