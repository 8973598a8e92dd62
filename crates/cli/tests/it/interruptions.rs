//! Ctrl-C at any time during any command leaves complete results only.
//!
//! `PACELINE_INTERRUPTIONS=20 cargo test --release -p paceline --test it interruptions -- --nocapture` interrupts
//! each command twenty times, and prints how long each took to end.

#![allow(clippy::disallowed_macros, reason = "a test says what it measured")]
#![cfg(unix)]

use crate::common;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use crate::common::{SMALL, command, folder_with, interrupt, run, stdout};

/// A command, and the folder or file that it makes.
struct Case {
    words: &'static str,
    makes: &'static str,
}

const CASES: &[Case] = &[
    Case::of("run my.toml --out out", "out/summary.json"),
    Case::of("run my.toml --out done --force", "done/summary.json"),
    Case::of(
        "compare my.toml --schemes hpcc,dctcp --out out",
        "out/comparison.json",
    ),
    Case::of(
        "sweep my.toml --over cc.scheme=hpcc,dctcp --repeats 2 --out out",
        "",
    ),
    Case::of("merge shard-1 shard-2 --out out", ""),
    Case::of("report done -o page.html", "page.html"),
    Case::of("plot done --what queue -o figure.pdf", "figure.pdf"),
    Case::of(
        "generate flows poisson sizes=websearch load=0.9 to=5ms --topology star,hosts=64 -o flows.csv",
        "flows.csv",
    ),
    Case::of("why done 0", ""),
    Case::of("diff done done", ""),
    Case::of("explain hpcc", ""),
    Case::of("list reproductions", ""),
    #[cfg(feature = "training")]
    Case::of("train pidnn --scenario incast-16 --out out", "out/training.json"),
];

impl Case {
    const fn of(words: &'static str, makes: &'static str) -> Self {
        Self { words, makes }
    }
}

/// Creates a folder with inputs for all commands.
fn prepared() -> tempfile::TempDir {
    let folder = folder_with("my.toml", SMALL.replace("1us", "50ns").replace("100KB", "400KB"));
    let path = folder.path();
    for words in [
        "run my.toml --out done --quiet",
        "sweep my.toml --over cc.scheme=hpcc,dctcp --shard 1/2 --out shard-1 --quiet",
        "sweep my.toml --over cc.scheme=hpcc,dctcp --shard 2/2 --out shard-2 --quiet",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        stdout(path, &words);
    }
    folder
}

fn start(path: &Path, words: &str) -> Child {
    command(path)
        .args(words.split(' '))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Returns the duration of a command, up to a limit.
fn duration(mut child: Child) -> Duration {
    const LONG: Duration = Duration::from_secs(3);
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > LONG {
            child.kill().unwrap();
            child.wait().unwrap();
            return LONG;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    begun.elapsed()
}

/// Lists hidden files in a folder: unfinished ones, and those moved aside.
fn hidden(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let half = |name: &str| name.starts_with('.') && (name.contains(".partial-") || name.contains(".old-"));
    entries
        .filter(|entry| half(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect()
}

/// Interrupts a command after a part of its duration, and checks the files that it leaves.
fn interrupted(case: &Case, after: Duration) -> Option<Duration> {
    let folder = prepared();
    let path = folder.path();
    let mut child = start(path, case.words);
    std::thread::sleep(after);
    if child.try_wait().unwrap().is_some() {
        return None;
    }
    interrupt(&child);
    let asked = Instant::now();
    let status = child.wait().unwrap();
    let took = asked.elapsed();
    // Before the handler is installed the signal ends the command, and after the end of its work the signal may have
    // no effect.
    assert!(
        matches!(status.code(), Some(0 | 130) | None),
        "{}: {status}",
        case.words
    );
    assert_eq!(hidden(path), Vec::<PathBuf>::new(), "{}", case.words);
    let made = path.join(case.makes);
    match made.extension().and_then(|ending| ending.to_str()) {
        Some("json") if made.exists() => drop(common::json(&made)),
        Some("html") if made.exists() => {
            assert!(fs::read_to_string(&made).unwrap().trim_end().ends_with("</html>"))
        }
        _ => {}
    }
    if case.words.contains("--force") {
        assert!(
            path.join("done/report.html").is_file(),
            "the former run or the new one"
        );
        assert_eq!(run(path, &["report", "done"]).status.code(), Some(0));
    }
    Some(took)
}

#[test]
fn what_is_left_is_whole() {
    let times = std::env::var("PACELINE_INTERRUPTIONS").ok();
    let times: u32 = times.map_or(2, |times| times.parse().unwrap());
    println!("{:>8} {:>8} {:>8}  to end, in ms", "asked", "median", "max");
    for case in CASES {
        let folder = prepared();
        let whole = duration(start(folder.path(), case.words));
        // The instants depend on the machine's speed, so they vary between runs.
        let instants = (0..times).map(|i| whole * (2 * i + 1) / (2 * times));
        let mut took: Vec<Duration> = instants.filter_map(|after| interrupted(case, after)).collect();
        took.sort_unstable();
        let ms = |time: Option<&Duration>| time.map_or("-".to_string(), |time| time.as_millis().to_string());
        let (asked, median) = (took.len(), ms(took.get(took.len() / 2)));
        println!("{asked:>8} {median:>8} {:>8}  {}", ms(took.last()), case.words);
    }
}

/// Finished runs are written despite one interruption, since they may have taken hours. A second one ends the
/// command.
#[test]
fn writing_goes_on_after_the_first() {
    let folder = folder_with("my.toml", SMALL.replace("1us", "20ns").replace("100KB", "8MB"));
    let path = folder.path();
    let whole = stdout(path, &["run", "my.toml", "--out", "whole"]);
    for times in [1, 2] {
        let mut child = command(path)
            .args(["run", "my.toml", "--out", "out"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begun = |hidden: &PathBuf| hidden.join("summary.json").is_file();
        while !hidden(path).iter().any(begun) {
            assert!(
                child.try_wait().unwrap().is_none(),
                "it is over before it is seen to write"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
        interrupt(&child);
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("writing what is finished") {
            assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
        }
        if times == 2 {
            interrupt(&child);
        }
        stderr.read_to_string(&mut said).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert_eq!(hidden(path), Vec::<PathBuf>::new());
        if times == 2 {
            assert!(!path.join("out").exists(), "{said}");
            continue;
        }
        assert_eq!(String::from_utf8(output.stdout).unwrap(), whole);
        let (first, again) = (
            common::files(&path.join("whole")),
            common::files(&path.join("out")),
        );
        assert!(first.keys().eq(again.keys()), "{said}");
        fs::remove_dir_all(path.join("out")).unwrap();
    }
}

/// While input is read, there is nothing to keep: the first interruption ends the program.
#[cfg(target_os = "linux")]
#[test]
fn an_interruption_where_nothing_is_to_keep_ends_at_once() {
    let folder = folder_with("my.toml", SMALL);
    run(folder.path(), &["run", "my.toml", "--out", "a", "--quiet"]);
    let slow = folder.path().join("a/scenario.toml").canonicalize().unwrap();
    // Reading it takes a second.
    fs::File::create(&slow).unwrap().set_len(1 << 30).unwrap();
    let before = files_of(folder.path());
    for arguments in [
        &["report", "a"][..],
        &["diff", "a", "a"],
        &["report", "a", "-o", "b.html"],
    ] {
        let mut child = command(folder.path())
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let open = PathBuf::from(format!("/proc/{}/fd", child.id()));
        let reads = || {
            let files = fs::read_dir(&open).into_iter().flatten().flatten();
            files
                .filter_map(|file| fs::read_link(file.path()).ok())
                .any(|file| file == slow)
        };
        while !reads() {
            assert!(
                child.try_wait().unwrap().is_none(),
                "{arguments:?}: it reads the file"
            );
            std::thread::yield_now();
        }
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
        assert_eq!(files_of(folder.path()), before, "{arguments:?}");
    }
}

/// Lists all files in a folder and its subfolders.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_of(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

/// Starts the long run, and interrupts it after its first line. Returns that line and the remaining output.
fn interrupted_run(path: &Path, more: &[&str]) -> (Child, BufReader<ChildStderr>, String) {
    let mut child = command(path)
        .args(["run", "long.toml", "--duration", "10s"])
        .args(["--set", "record.queue=off", "--set", "record.rates=off"])
        .args(more)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    stderr.read_line(&mut first).unwrap();
    interrupt(&child);
    (child, stderr, first)
}

/// After the second interruption, partial results are kept as well; flows may be left out, and are then named.
#[test]
fn a_second_interruption_leaves_a_whole_folder() {
    let folder = folder_with("long.toml", SMALL.replace("100KB", "20GB"));
    let path = folder.path();
    let (mut child, mut stderr, mut said) = interrupted_run(path, &["--out", "out"]);
    while !said.contains("interrupted: ") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "{said}");
    }
    interrupt(&child);
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    let out = path.join("out");
    let summary = fs::read_to_string(out.join("summary.json")).unwrap();
    assert!(summary.contains("\"status\": \"partial\""));
    let left_out = fs::read_to_string(out.join("left_out.txt")).unwrap_or_default();
    let is_named = left_out.lines().any(|name| name == "flows.csv");
    assert_ne!(out.join("flows.csv").exists(), is_named, "{left_out}");
    assert_eq!(hidden(path), Vec::<PathBuf>::new());
}

/// The first interruption stops a run at its next slice, and keeps its results.
#[test]
fn an_interruption_keeps_what_ran() {
    let folder = folder_with("long.toml", SMALL.replace("100KB", "20GB"));
    let path = folder.path();
    let (mut child, mut stderr, first) = interrupted_run(path, &[]);
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{first}{rest}");
    assert!(rest.contains("interrupted"), "{rest}");
    let written = fs::read_to_string(path.join("results/small-hpcc-1/summary.json")).unwrap();
    assert!(written.contains("\"status\": \"partial\""));
    // The repeated command is rejected because of the partial results.
    let again = [
        "run",
        "long.toml",
        "--duration",
        "10s",
        "--set",
        "record.queue=off",
        "--set",
        "record.rates=off",
    ];
    let again = command(path).args(again).output().unwrap();
    let said = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(2), "{said}");
    assert!(said.contains("when it was interrupted"), "{said}");
}
