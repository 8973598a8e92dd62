//! Runs on several threads: equal bytes for any number of threads, and messages if only one is used.

use crate::common;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::Stdio;

use crate::common::{SMALL, assert_same, command, folder_with, interrupt, run, stdout};

/// A leaf-spine with losses and a failure, under two schemes, with checks and all recorders.
const LEAVES: &str = r#"
name = "leaves"
duration = "1ms"
check = true
[topology.leaf-spine]
leaves = 16
spines = 3
hosts-per-leaf = 2
[[workload]]
permutation = { size = "20KB" }
[[workload]]
incast = { fan-in = 20, receiver = 1, size = "50KB" }
[[workload]]
label = "others"
scheme = "dcqcn"
permutation = { size = "10KB" }
[[workload]]
label = "messages"
poisson = { sizes = "fb-hadoop", load = 0.2, to = "15us" }
[network]
error-rate = 0.001
buffer = "2MB"
rto = "200us"
[[network.failure]]
link = 34
at = "4us"
until = "20us"
[cc]
scheme = "hpcc"
[record]
queue = "1us"
queue-dump = "10us"
ports = "1us"
flows = "2us"
rates = "5us"
rtt-samples = true
accounts = "all"
trace = [0, 3, 40]
pcap = true
"#;

fn stderr(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{args:?}: {text}");
    text
}

#[test]
fn their_number_changes_no_byte() {
    let folder = folder_with("my.toml", LEAVES);
    let path = folder.path();
    let one = stdout(path, &["run", "my.toml", "--out", "1"]);
    for threads in ["2", "3", "7", "16"] {
        let args = ["run", "my.toml", "--out", threads, "--threads", threads];
        assert_eq!(stdout(path, &args), one);
        assert_same(&path.join("1"), &path.join(threads));
    }
    // Threads set in the scenario do not matter either: a run's folder does not depend on the machine.
    let args = ["run", "my.toml", "--out", "set", "--set", "threads=4"];
    assert_eq!(stdout(path, &args), one);
    assert_same(&path.join("1"), &path.join("set"));
    stdout(path, &["run", "7", "--out", "again", "--threads", "5"]);
    assert_same(&path.join("1"), &path.join("again"));
}

/// The run is partitioned into as many parts as there are leaves, so the tests cover partitioned runs.
#[test]
fn such_a_run_is_cut() {
    let folder = folder_with("my.toml", LEAVES);
    let said = |threads: &str| {
        let args = ["run", "my.toml", "--force", "--threads", threads];
        stderr(folder.path(), &args)
    };
    assert!(!said("16").contains("thread"));
    let more = said("17");
    assert!(
        more.contains("the run goes on 16 threads: its network can be cut into no more parts"),
        "{more}"
    );
}

/// A run that cannot be partitioned uses one thread, and reports the reason in one line.
#[test]
fn one_piece() {
    let folder = folder_with("my.toml", LEAVES);
    let path = folder.path();
    let said = |args: &[&str]| {
        let args = [&["run", "my.toml", "--force", "--threads", "4"], args].concat();
        let text = stderr(path, &args);
        let lines = text.lines().filter(|line| line.contains("one thread"));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let ns3 = said(&["--fidelity", "ns3-hpcc", "--set", "check=false"]);
    assert_eq!(ns3.len(), 1, "{ns3:?}");
    assert!(ns3[0].starts_with("the run goes on one thread: "), "{ns3:?}");
    assert_eq!(said(&[]), [""; 0]);
    assert_eq!(said(&["--fidelity", "ns3-hpcc", "--quiet"]), [""; 0]);
}

/// A star has one switch, so it cannot be partitioned.
#[test]
fn one_switch() {
    let folder = folder_with("my.toml", SMALL);
    let text = stderr(folder.path(), &["run", "my.toml", "--threads", "2"]);
    assert!(text.contains("the run goes on one thread: "), "{text}");
}

#[test]
fn comparisons_and_sweeps() {
    let folder = folder_with("my.toml", LEAVES.replace("check = true", ""));
    let path = folder.path();
    let compare = |out: &str, args: &[&str]| {
        let base = ["compare", "my.toml", "--schemes", "hpcc,dctcp", "--out", out];
        stdout(path, &[&base[..], args].concat())
    };
    let one = compare("a", &[]);
    assert_eq!(compare("b", &["--jobs", "1", "--threads", "3"]), one);
    assert_same(&path.join("a"), &path.join("b"));
    let sweep = |out: &str, args: &[&str]| {
        let over = "cc.scheme=hpcc,dctcp";
        let base = ["sweep", "my.toml", "--over", over, "--keep", "all", "--out", out];
        stdout(path, &[&base[..], args].concat())
    };
    assert_eq!(sweep("c", &["--jobs", "1", "--threads", "3"]), sweep("d", &[]));
    // Rows of results.parquet are excluded, since they have host measurements.
    assert_same(&path.join("c/runs"), &path.join("d/runs"));
}

/// Sweeps report only once that runs cannot be partitioned.
#[test]
fn sweeps_say_why_runs_are_whole() {
    let folder = folder_with("my.toml", SMALL);
    let base = ["sweep", "my.toml", "--over", "cc.scheme=hpcc,dctcp"];
    let said = |args: &[&str]| {
        let text = stderr(folder.path(), &[&base[..], args].concat());
        let lines = text.lines().filter(|line| line.contains("thread"));
        lines.map(str::to_string).collect::<Vec<_>>()
    };
    let lines = said(&["--threads", "2", "--jobs", "1", "--out", "a"]);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with("runs of this sweep go on one thread: no cut of this network"),
        "{lines:?}"
    );
    assert_eq!(said(&["--out", "b"]), [""; 0]);
    // With as many runs as cores, each run has one thread, which is reported once, too.
    let lines = said(&["--threads", "4096", "--jobs", "2", "--repeats", "2", "--out", "c"]);
    assert!(lines[0].starts_with("2 runs side by side on "), "{lines:?}");
}

/// Parallel runs share the cores, which is reported.
#[test]
fn runs_come_first() {
    let folder = folder_with("my.toml", LEAVES);
    let args = [
        "compare",
        "my.toml",
        "--schemes",
        "hpcc,dctcp",
        "--threads",
        "4096",
        "--jobs",
        "2",
    ];
    let text = stderr(folder.path(), &args);
    assert!(text.contains("2 runs side by side on "), "{text}");
}

/// Ctrl-C ends a partitioned run like any other.
#[cfg(unix)]
#[test]
fn an_interruption_keeps_what_ran() {
    let long = LEAVES.replace("20KB", "20GB").replace("check = true", "");
    let folder = folder_with(
        "long.toml",
        long.replace("1ms", "10s")
            .replace("[record]", "[record]\npfc = false"),
    );
    let path = folder.path();
    let mut child = command(path)
        .args([
            "run",
            "long.toml",
            "--threads",
            "4",
            "--set",
            "record.pcap=false",
            "--set",
            "record.trace=[]",
        ])
        .args([
            "--set",
            "record.queue=off",
            "--set",
            "record.rtt-samples=false",
            "--set",
            "record.queue-dump=off",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    // Input warnings come first, before there are results to keep.
    while !text.contains("running leaves") {
        assert_ne!(stderr.read_line(&mut text).unwrap(), 0, "{text}");
    }
    interrupt(&child);
    stderr.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{text}");
    let summary = common::json(&path.join("results/leaves-hpcc-1/summary.json"));
    assert_eq!(summary["status"], "partial");
}

/// Two services, and jobs by a model and of steps, on one network. Hosts of the services carry a job, too.
const SHARED: &str = r#"
name = "shared"
duration = "1s"
check = true
[topology.leaf-spine]
leaves = 4
spines = 2
hosts-per-leaf = 4
[[inference]]
label = "chat"
share-hosts = true
token-size = "4KB"
requests = { rate = 3000, count = 8, prompt = 100, output = 5 }
prefill = { hosts = "0-1", rate = 1000000 }
decode = { hosts = "4-5", step = "50us" }
slo = { ttft = "10ms" }
[[inference]]
label = "code"
share-hosts = true
token-size = "8KB"
requests = { rate = 2000, count = 6, burst = 2, prompt = 60, output = 3 }
prefill = { hosts = "2-3", instance = 2, rate = 500000 }
decode = { hosts = "8-9", instance = 2, step = "80us" }
transfer = { mode = "push", layers = 2, message = "100KB", outstanding = 2 }
[[job]]
label = "training"
hosts = [6, 7, 10, 11, 12, 13, 14, 15]
iterations = 3
model = { layers = 2, hidden = 128, heads = 4, vocabulary = 512, experts = 4, top-k = 2, expert-ffn = 128 }
parallel = { tensor = 2, expert = 2 }
training = { global-batch = 8, sequence = 128, experts-skew = 1.0 }
local = { rate = "900Gbps" }
rules = { gpus-per-server = 2 }
[[job]]
label = "storage"
hosts = "0-9"
share-hosts = true
iterations = 2
[[job.step]]
compute = "100us"
all-to-all = { size = "20KB" }
[cc]
scheme = "dcqcn"
"#;

#[test]
fn services_and_jobs_share_a_network() {
    let folder = folder_with("my.toml", SHARED);
    let path = folder.path();
    let one = stdout(path, &["run", "my.toml", "--out", "1", "--threads", "1"]);
    let summary = common::json(&path.join("1/summary.json"));
    let done = |of: &serde_json::Value| (of["completed"].as_u64().unwrap(), of["total"].as_u64().unwrap());
    let services: Vec<_> = summary["services"].as_array().unwrap().iter().collect();
    let requests: Vec<_> = services
        .iter()
        .map(|service| done(&service["requests"]))
        .collect();
    assert_eq!(requests, [(8, 8), (6, 6)]);
    let jobs: Vec<_> = summary["jobs"].as_array().unwrap().iter().collect();
    let iterations: Vec<_> = jobs.iter().map(|job| done(&job["iterations"])).collect();
    assert_eq!(iterations, [(3, 3), (2, 2)]);
    assert!(jobs[0]["priced"]["messages"].as_u64().unwrap() > 0 && jobs[1].get("priced").is_none());
    let said = jobs[0]["priced"]["messages"].to_string() + " messages inside servers";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&one).contains(&said), "{one}");
    for threads in ["2", "3"] {
        let args = ["run", "my.toml", "--out", threads, "--threads", threads];
        assert_eq!(stdout(path, &args), one);
        assert_same(&path.join("1"), &path.join(threads));
    }
    // Without the job on its hosts, the service has other times.
    let alone = [
        "run",
        "my.toml",
        "--out",
        "alone",
        "--set",
        "job.storage.start=\"500ms\"",
    ];
    stdout(path, &alone);
    let alone = common::json(&path.join("alone/summary.json"));
    let cache = |summary: &serde_json::Value| summary["services"][0]["kv_us"]["mean"].as_f64().unwrap();
    assert!((cache(&alone) - cache(&summary)).abs() > 0.1);
}
