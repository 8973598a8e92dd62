//! The waiting matrix: in the folder, on the terminal and on the page, and errors without it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{folder_with, said, stdout};

const TWO_JOBS: &str = "name = 'two'\nduration = '5ms'\n\
    [topology.leaf-spine]\nleaves = 2\nhosts-per-leaf = 4\noversubscription = 4\n[cc]\nscheme = 'dcqcn'\n\
    [[job]]\nlabel = 'llm'\nhosts = '0, 1, 4, 5'\niterations = 2\n\
    [[job.step]]\ncompute = '5us'\nall-reduce = { size = '400KB' }\n\
    [[job.step]]\ncompute = '5us'\nall-gather = { size = '100KB' }\n\
    [[job]]\nlabel = 'moe'\nhosts = '2, 3, 6, 7'\niterations = 2\n\
    [[job.step]]\ncompute = '5us'\nall-to-all = { size = '200KB' }\n";

/// Reads a CSV table without quotes, as cells.
fn csv(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap();
    let row = |line: &str| line.split(',').map(str::to_string).collect();
    text.lines().map(row).collect()
}

/// Runs a scenario with accounts between labels, in the folder `run`.
fn blamed() -> tempfile::TempDir {
    blamed_like("exact")
}

fn blamed_like(fidelity: &str) -> tempfile::TempDir {
    let folder = folder_with("two.toml", TWO_JOBS);
    let command = format!(
        "run two.toml --fidelity {fidelity} --set record.blame=labels --set record.accounts=all --out run -q"
    );
    stdout(folder.path(), &command.split(' ').collect::<Vec<_>>());
    folder
}

#[test]
fn the_file_adds_up_to_the_accounts_of_flows() {
    adds_up("exact");
}

#[test]
fn it_does_so_in_other_fidelities() {
    adds_up("ns3-hpcc");
}

fn adds_up(fidelity: &str) {
    let folder = blamed_like(fidelity);
    let run = folder.path().join("run");
    let rows = csv(&run.join("blame.csv"));
    assert_eq!(
        rows[0],
        ["victim", "packets", "cause", "port", "why", "waited_ps"]
    );
    let labels: Vec<String> = csv(&run.join("flows.csv"))[1..]
        .iter()
        .map(|row| row[1].clone())
        .collect();
    let times = csv(&run.join("flow_time.csv"));
    for label in ["llm/all-reduce", "llm/all-gather", "moe/all-to-all"] {
        for (stage, packets) in [("data", "data"), ("ack", "acks")] {
            // The mean over packets times their number is a whole number of picoseconds.
            let of_flows = times[1..].iter().filter(|row| {
                let waits = ["queueing", "paused"].contains(&row[3].as_str());
                row[1] == stage && waits && labels[row[0].parse::<usize>().unwrap()] == label
            });
            let accounted: f64 = of_flows
                .map(|row| (row[5].parse::<f64>().unwrap() * row[6].parse::<f64>().unwrap()).round())
                .sum();
            let of_label = rows[1..]
                .iter()
                .filter(|row| row[0] == label && row[1] == packets);
            let blamed: u64 = of_label.map(|row| row[5].parse::<u64>().unwrap()).sum();
            assert_eq!(blamed as f64, accounted, "{label} {stage}");
        }
    }
    assert!(
        rows.iter()
            .any(|row| row[0] == "moe/all-to-all" && row[2] == "llm/all-reduce")
    );
}

#[test]
fn matrices_add_up_to_the_file() {
    let folder = blamed();
    let path = folder.path();
    let all: u64 = csv(&path.join("run/blame.csv"))[1..]
        .iter()
        .map(|row| row[5].parse::<u64>().unwrap())
        .sum();
    let json: Value = serde_json::from_str(&stdout(path, &["why", "run", "--matrix", "--json"])).unwrap();
    let matrices = json["matrices"].as_array().unwrap();
    let by: Vec<&str> = matrices.iter().map(|one| one["by"].as_str().unwrap()).collect();
    assert_eq!(by, ["job", "label"]);
    for matrix in matrices {
        let rows = matrix["rows"].as_array().unwrap();
        let total: u64 = rows.iter().map(|row| row["total_ps"].as_u64().unwrap()).sum();
        let cells = rows.iter().flat_map(|row| row["waited_ps"].as_array().unwrap());
        assert_eq!((total, cells.map(|ps| ps.as_u64().unwrap()).sum()), (all, all));
    }
    let text = stdout(path, &["why", "run", "--matrix"]);
    assert!(
        text.contains("by job: each row waited for the columns") && text.contains("own flow"),
        "{text}"
    );
    assert!(
        text.contains("where packets waited longest for other flows"),
        "{text}"
    );
    let page = fs::read_to_string(path.join("run/report.html")).unwrap();
    assert!(page.contains("Who made whom wait") && page.contains("waiting job"));
    // A scenario is run with accounts.
    let again: Value =
        serde_json::from_str(&stdout(path, &["why", "two.toml", "--matrix", "--json", "-q"])).unwrap();
    assert_eq!(again, json);
}

#[test]
fn accounts_change_nothing_and_threads_change_no_accounts() {
    let folder = blamed();
    let path = folder.path();
    let run = |arguments: &str| stdout(path, &arguments.split(' ').collect::<Vec<_>>());
    run("run two.toml --out plain -q");
    let digest = |name: &str| -> Value {
        let text = fs::read_to_string(path.join(name).join("summary.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["digest"].clone()
    };
    assert_eq!(digest("run"), digest("plain"));
    assert!(!path.join("plain/blame.csv").exists());
    run("run two.toml --set record.blame=labels --set record.accounts=all --threads 2 --out threads -q");
    let bytes = |name: &str| fs::read(path.join(name).join("blame.csv")).unwrap();
    assert_eq!(bytes("run"), bytes("threads"));
    run("run two.toml --set record.blame=hosts --out hosts -q");
    assert!(run("why hosts --matrix").contains("by host"));
    // The error for a run without accounts says which key to set.
    let refused = said(path, &["why", "plain", "--matrix"]);
    assert!(
        refused.contains("plain has no account of who made whom wait"),
        "{refused}"
    );
    assert!(refused.contains("--set record.blame=labels"), "{refused}");
}

#[cfg(feature = "parity")]
#[test]
fn where_it_cannot_be_told_that_is_an_error() {
    let folder = folder_with("two.toml", TWO_JOBS);
    let path = folder.path();
    let refused = |change: &str| {
        said(
            path,
            &["run", "two.toml", "--set", "record.blame=labels", "--set", change],
        )
    };
    let bolt = refused("fidelity=bolt-ns3");
    assert!(bolt.contains("`blame` with `fidelity = \"bolt-ns3\"`"), "{bolt}");
    assert!(bolt.contains("\"exact\""), "{bolt}");
    let credits = refused("network.flow-control=credits");
    assert!(
        credits.contains("`blame` with `flow-control = \"credits\"`"),
        "{credits}"
    );
    let misspelt = said(path, &["run", "two.toml", "--set", "record.blame=lables"]);
    assert!(misspelt.contains("labels"), "{misspelt}");
}
