//! Output that cannot be written, because of a full disk or a closed pipe, does not affect results.

#![cfg(target_os = "linux")]

use crate::common;

use std::fs::File;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::common::{SMALL, TINY, TRAIN, command, folder_with, interrupt};

/// Long-running commands, and the files that they write.
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
        "train pidnn --scenario tiny.toml --episodes 1 --out gains",
        "gains/gains.toml",
    ),
    ("reproduce thesis-table7 --out tables", "tables/index.html"),
    ("why run 0", "run/why/0.json"),
    ("why small.toml", ""),
    ("generate topology star hosts=3 -o star.txt", "star.txt"),
    ("bench --quick --only incast-20 --runs 1", ""),
];

/// Returns a pipe without a reader.
fn nobody() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// Runs a command and returns its output.
fn output(path: &Path, words: &[&str], (out, error): (Stdio, Stdio)) -> Output {
    let mut command = command(path);
    command.args(words).stdin(Stdio::null()).stdout(out).stderr(error);
    command.spawn().unwrap().wait_with_output().unwrap()
}

/// Every command finishes and writes its results, even if its messages are lost.
#[cfg(feature = "training")]
#[test]
fn results_do_not_depend_on_who_reads() {
    type Stream = fn() -> Stdio;
    let streams: [(&str, Stream, Stream, i32); 4] = [
        ("a log on a full disk", Stdio::piped, full, 0),
        ("a log that nobody reads", Stdio::piped, nobody, 0),
        ("results that nobody reads", nobody, nobody, 0),
        // Requested results that cannot be printed are reported, at least by the exit status.
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
            // If the command only writes a file, it prints nothing that could fail.
            let expected = if words[0] == "generate" { 0 } else { expected };
            assert_eq!(ended.status.code(), Some(expected), "{what}: {words:?}");
            assert!(folder.path().join(makes).exists(), "{what}: {words:?}");
        }
    }
}

/// The exit status is right even if nobody reads the table.
#[test]
fn a_reader_that_is_gone_does_not_hide_a_failure() {
    let folder = folder_with("small.toml", SMALL);
    let checked = ["reproduce", "thesis-table5", "--strict", "-q"];
    let ended = output(folder.path(), &checked, (nobody(), Stdio::piped()));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("are not within their tolerances"), "{said}");
}

/// An interruption keeps partial results, even if nobody reads the message.
#[test]
fn an_interruption_keeps_what_ran_though_nobody_reads() {
    for error in [full(), nobody()] {
        let folder = folder_with("long.toml", SMALL.replace("100KB", "20GB"));
        let path = folder.path();
        let mut command = command(path);
        command.args(["run", "long.toml", "--duration", "10s", "--out", "long"]);
        let mut child = command.stdout(nobody()).stderr(error).spawn().unwrap();
        // Its folder must have been created, otherwise the interruption ends the command at once.
        std::thread::sleep(std::time::Duration::from_millis(1500));
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let summary = common::json(&path.join("long/summary.json"));
        assert_eq!(summary["status"], "partial");
    }
}
