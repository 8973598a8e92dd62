//! Faults of readers are detected, and earlier ones do not return.

use std::process::{Command, Output};

fn fuzz(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paceline-fuzz"));
    command.args(args).output().expect("the program starts")
}

#[test]
fn faults_are_noticed() {
    let faulty = [
        ("faulty-panic", "panic"),
        ("faulty-silence", "panic"),
        ("faulty-memory", "memory"),
        ("faulty-crash", "crash"),
    ];
    for (target, outcome) in faulty {
        let output = fuzz(&[target, "--inputs", "3"]);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{target}: {said}");
        assert!(
            said.contains(&format!("{target}: {outcome} x3, first --seed 0")),
            "{said}"
        );
    }
}

#[test]
fn what_broke_a_reader_once_breaks_none() {
    let output = fuzz(&["--regressions"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The resolved text of any random scenario results in the same run.
#[test]
fn what_is_written_of_random_scenarios_is_the_same_run() {
    let output = fuzz(&["random", "--inputs", "300"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}");
    let line = said.lines().find(|line| line.starts_with("random"));
    let counts: Vec<u64> = line
        .unwrap()
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    assert!(counts[0] >= 90, "most of them are refused: {said}");
}
