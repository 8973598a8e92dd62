//! The program runs a scenario of its scheme, with every invariant checked.

use std::process::Command;

fn own(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_own-scheme"));
    let output = command.args(args).output().expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

#[test]
fn a_scenario_runs() {
    let folder = std::env::temp_dir().join(format!("own-scheme-{}", std::process::id()));
    let out = folder.to_str().expect("a path");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/incast.toml");
    let said = own(&["run", scenario, "--check", "--quiet", "--out", out]);
    let resolved = std::fs::read_to_string(folder.join("scenario.toml")).expect("it is written");
    std::fs::remove_dir_all(&folder).expect("it was written");
    assert!(said.contains("all 8"), "{said}");
    assert!(resolved.contains("gd = 0.25"), "{resolved}");
}

#[test]
fn the_scheme_is_listed() {
    assert!(own(&["list", "schemes"]).contains("bcn"));
    assert!(own(&["explain", "bcn"]).contains("[cc.bcn]"));
}
