//! That faults of readers are noticed, and that those that were mended stay so.

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
