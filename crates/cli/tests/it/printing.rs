//! What cannot be printed: a full disk under the log, a reader that is gone. No result depends on it.

#![cfg(target_os = "linux")]

use crate::common;

use std::fs::File;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::common::{SMALL, TINY, TRAIN, command, folder_with, interrupt};

/// Commands that run long, and what each leaves.
const CASES: [(&str, &str); 11] = [
    ("run small.toml --out run", "run/report.html"),
    (
        "compare small.toml --schemes hpcc,dctcp --out compared",
        "compared/comparison.json",
    ),
    (
        "sweep small.toml --over cc.scheme=hpcc,dctcp --out swept",
        "swept/results.csv",
    ),
    ("merge swept --out collected", "collected/results.csv"),
    (
        "demo --scale 0.01 --schemes hpcc,dctcp --out demo",
        "demo/report.html",
    ),
    (
        "train pidnn --scenarios tiny.toml --episodes 1 --out gains",
        "gains/gains.toml",
    ),
    ("reproduce thesis-table7 --out tables", "tables/index.html"),
    ("why run 0", "run/why/0.json"),
    ("why small.toml", ""),
    ("generate topology star hosts=3 -o star.txt", "star.txt"),
    ("bench --quick --only incast-20 --runs 1", ""),
];

/// A pipe that nobody reads.
fn nobody() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// What a command comes to.
fn output(path: &Path, words: &[&str], (out, error): (Stdio, Stdio)) -> Output {
    let mut command = command(path);
    command.args(words).stdin(Stdio::null()).stdout(out).stderr(error);
    command.spawn().unwrap().wait_with_output().unwrap()
}

/// Every command comes to its end and leaves what it makes, whatever becomes of its lines.
#[cfg(feature = "training")]
#[test]
fn results_do_not_depend_on_who_reads() {
    type Stream = fn() -> Stdio;
    let streams: [(&str, Stream, Stream, i32); 4] = [
        ("a log on a full disk", Stdio::piped, full, 0),
        ("a log that nobody reads", Stdio::piped, nobody, 0),
        ("results that nobody reads", nobody, nobody, 0),
        // What was asked for is not there: that is told, by the exit status at least.
        ("results on a full disk", full, full, 1),
    ];
    for (what, out, error, expected) in streams {
        let folder = folder_with("small.toml", SMALL);
        std::fs::write(folder.path().join("tiny.toml"), TINY).unwrap();
        let train = [(TRAIN.join(" "), "trained/training.json")];
        let cases = CASES.map(|(words, makes)| (words.to_string(), makes));
        for (words, makes) in cases.into_iter().chain(train) {
            let words: Vec<&str> = words.split(' ').collect();
            let ended = output(folder.path(), &words, (out(), error()));
            // Where a file is all there is to make, nothing is printed that could fail.
            let expected = if words[0] == "generate" { 0 } else { expected };
            assert_eq!(ended.status.code(), Some(expected), "{what}: {words:?}");
            assert!(folder.path().join(makes).exists(), "{what}: {words:?}");
        }
    }
}

/// How a command ended is told by its exit status, also where nobody reads its table.
#[test]
fn a_reader_that_is_gone_does_not_hide_a_failure() {
    let folder = folder_with("small.toml", SMALL);
    let checked = ["reproduce", "thesis-table5", "--strict", "-q"];
    let ended = output(folder.path(), &checked, (nobody(), Stdio::piped()));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("are not within their tolerances"), "{said}");
}

/// An interruption whose words nobody reads keeps what ran, as any other.
#[test]
fn an_interruption_keeps_what_ran_though_nobody_reads() {
    for error in [full(), nobody()] {
        let folder = folder_with("long.toml", SMALL.replace("100KB", "20GB"));
        let path = folder.path();
        let mut command = command(path);
        command.args(["run", "long.toml", "--duration", "10s", "--out", "long"]);
        let mut child = command.stdout(nobody()).stderr(error).spawn().unwrap();
        // Its folder is in the making, or it would end at once.
        std::thread::sleep(std::time::Duration::from_millis(1500));
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let summary = common::json(&path.join("long/summary.json"));
        assert_eq!(summary["status"], "partial");
    }
}
