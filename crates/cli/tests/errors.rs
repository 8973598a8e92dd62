//! Every wrong input gets a message with its place, and its exit status.

#![allow(clippy::disallowed_macros, reason = "a test says that it was skipped")]

mod common;

use std::fs;
use std::path::Path;

use common::{SMALL, command, folder_with, run, said};
use insta::assert_snapshot;

/// What is said of a scenario text, with further arguments.
fn said_of(text: impl AsRef<[u8]>, args: &[&str]) -> String {
    let folder = folder_with("my.toml", text);
    said(folder.path(), &[&["run", "my.toml"], args].concat())
}

#[test]
fn unknown_key() {
    assert_snapshot!(said_of(SMALL.replace("eta", "etaa"), &[]));
}

#[test]
fn several_topologies() {
    assert_snapshot!(said_of(format!("{SMALL}[topology.dumbbell]\n"), &[]));
}

#[test]
fn misspelt_scheme() {
    assert_snapshot!(said_of(SMALL.replace("\"hpcc\"", "\"hpc\""), &[]));
}

#[test]
fn misspelt_scheme_option() {
    assert_snapshot!(said_of(SMALL, &["--scheme", "timley"]));
}

#[test]
fn wrong_unit() {
    assert_snapshot!(said_of(SMALL.replace("100KB", "100Gbps"), &[]));
}

#[test]
fn wrong_setting() {
    assert_snapshot!(said_of(SMALL, &["--set", "cc.hpcc.rate-ai=fast"]));
}

#[test]
fn setting_without_value() {
    assert_snapshot!(said_of(SMALL, &["--set", "seed"]));
}

#[test]
fn out_of_range() {
    assert_snapshot!(said_of(SMALL.replace("0.9", "1.5"), &[]));
}

#[test]
fn not_utf8() {
    assert_snapshot!(said_of(b"name = \"caf\xe9\"\n", &[]));
}

#[test]
fn not_toml() {
    assert_snapshot!(said_of("name = \n[topology\n", &[]));
}

#[test]
fn headroom_above_buffer() {
    assert_snapshot!(said_of(format!("{SMALL}[network]\nbuffer = \"100KB\"\n"), &[]));
}

#[test]
fn missing_file() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(said(folder.path(), &["run", "nowhere.toml"]));
    assert_snapshot!("misspelt_scenario", said(folder.path(), &["run", "incast20"]));
}

#[test]
fn missing_flow_file() {
    let workload = r#"incast = { fan-in = 2, receiver = 3, size = "100KB" }"#;
    assert_snapshot!(said_of(SMALL.replace(workload, "file = \"flows.txt\""), &[]));
}

#[test]
fn wrong_arguments() {
    for (name, args) in [
        ("no_threads", &["run", "incast-16", "--threads", "0"][..]),
        ("no_unit", &["run", "incast-16", "--duration", "5"]),
        ("no_schemes", &["compare", "incast-16", "--schemes", ","]),
        (
            "scheme_twice",
            &["compare", "incast-16", "--schemes", "hpcc,dctcp,hpcc"],
        ),
        (
            "misspelt_schemes",
            &["compare", "incast-16", "--schemes", "hpcc,dcqn"],
        ),
        ("misspelt_command", &["ruun", "incast-16"]),
        ("no_scale", &["demo", "--scale", "0"]),
        ("unknown_name", &["explain", "pcf"]),
        ("unknown_generator", &["generate", "topology", "fattree"]),
        ("odd_fat_tree", &["generate", "topology", "fat-tree", "k=3"]),
        ("unknown_benchmark", &["bench", "--only", "70"]),
    ] {
        assert_snapshot!(name, said(Path::new("."), args));
    }
}

#[test]
fn an_existing_folder_is_kept() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    fs::create_dir(path.join("thesis")).unwrap();
    fs::write(path.join("thesis/chapter1.tex"), "years of work").unwrap();
    assert_snapshot!(
        "existing_folder",
        said(path, &["run", "my.toml", "--out", "thesis"])
    );
    assert_snapshot!(
        "existing_folder_force",
        said(path, &["run", "my.toml", "--out", "thesis", "--force"])
    );
    assert_eq!(
        fs::read_to_string(path.join("thesis/chapter1.tex")).unwrap(),
        "years of work"
    );
}

#[test]
fn an_earlier_run_is_replaced_only_when_told() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    let status = |args: &[&str]| {
        run(path, &[&["run", "my.toml", "-q"], args].concat())
            .status
            .code()
    };
    assert_eq!(status(&[]), Some(0));
    assert!(path.join("results/small-hpcc-1/summary.json").is_file());
    assert_eq!(status(&[]), Some(2));
    assert_eq!(status(&["--force"]), Some(0));
}

#[test]
fn a_folder_that_cannot_be_made() {
    let folder = folder_with("my.toml", SMALL);
    fs::write(folder.path().join("file"), "").unwrap();
    assert_snapshot!(said(
        folder.path(),
        &["run", "my.toml", "-q", "--out", "file/inside"]
    ));
}

/// A file system of 64 KB in a mount namespace of its own: nothing is left behind.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    use std::process::Command;

    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    fs::create_dir(path.join("disk")).unwrap();
    let within = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", script]).current_dir(path);
        command.output()
    };
    let mount = "mount -t tmpfs -o size=64k tmpfs disk";
    if !within(mount).is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: this system lets nobody mount a small file system");
        return;
    }
    let program = env!("CARGO_BIN_EXE_paceline");
    let output = within(&format!(
        "{mount} && '{program}' run my.toml -q --out disk/run; s=$?; ls -A disk; exit $s"
    ));
    let output = output.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.starts_with("error: cannot write "), "{error}");
    assert!(error.contains("No space left on device"), "{error}");
    assert!(error.contains("disk/run/"), "{error}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "",
        "nothing is left behind"
    );
}

/// What a file says never moves the cursor or changes colours.
#[test]
fn what_would_act_on_a_terminal_is_shown() {
    let text = SMALL.replace("incast = {", "label = \"=\\u001b[31mred\\u0007\"\nincast = {");
    let folder = folder_with("my.toml", text);
    let more = "\n[network]\n\"\\u001b]0;title\\u0007\" = 1\n";
    fs::write(folder.path().join("odd.toml"), SMALL.to_string() + more).unwrap();
    for arguments in [
        &["run", "my.toml", "--out", "a", "--buckets", "2"][..],
        &["run", "odd.toml"],
        &["run", "\u{1b}[31m.toml"],
        &["why", "a"],
        &["report", "a"],
    ] {
        let output = command(folder.path()).args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let acts = |byte: &u8| byte.is_ascii_control() && *byte != b'\n';
        assert!(
            !said.iter().any(acts),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&said)
        );
    }
    let flows = fs::read_to_string(folder.path().join("a/flows.csv")).unwrap();
    assert!(flows.contains(",'=\u{1b}[31mred"), "{flows}");
}

#[test]
fn of_many_errors_the_first_are_told() {
    let folder = folder_with("my.toml", "a = = 1\n".repeat(20_000));
    let said = command(folder.path()).args(["run", "my.toml"]).output().unwrap();
    let text = String::from_utf8(said.stderr).unwrap();
    assert_eq!(text.lines().count(), 21, "{text}");
    assert!(
        text.lines().next().unwrap().starts_with("error: my.toml:1:5:"),
        "{text}"
    );
    assert!(text.lines().last().unwrap().starts_with("and "), "{text}");
}

/// More seeds than anybody can wait for would take the memory of most machines before the first run begins.
#[test]
fn too_many_repeats() {
    let folder = folder_with("my.toml", SMALL);
    let args = [
        "compare",
        "my.toml",
        "--schemes",
        "hpcc",
        "--repeats",
        "4000000000",
    ];
    let text = said(folder.path(), &args);
    assert!(
        text.contains("expected a number of seeds from 1 to 10000"),
        "{text}"
    );
}
