//! No command replaces a user's file that it did not make, follows a link, or writes over its own input.

use std::fs;

use crate::common::{SMALL, folder_with, run, stdout};

const PRECIOUS: &str = "precious\n";

/// Commands that write one file: arguments, where `OUT` stands for the file, and the required extension.
const WRITERS: [(&[&str], &str); 8] = [
    (&["generate", "topology", "star", "hosts=3", "-o", "OUT"], "txt"),
    (
        &[
            "generate",
            "flows",
            "incast",
            "fan-in=2",
            "receiver=3",
            "--topology",
            "star",
            "-o",
            "OUT",
        ],
        "txt",
    ),
    (&["plot", "a", "--what", "fct-cdf", "-o", "OUT"], "svg"),
    (&["report", "a", "-o", "OUT"], "html"),
    (&["convert", "my.goal", "OUT"], "bin"),
    (&["forest", "export", "decc-tree-100", "-o", "OUT"], "h"),
    (&["forest", "import", "catboost.json", "-o", "OUT"], "json"),
    (&["explain", "decc-tree-100", "--page", "OUT"], "html"),
];

const CATBOOST: &str = include_str!("../../../forest/tests/catboost/model.json");
const GOAL: &str = "num_ranks 2\nrank 0 {\ns: send 8b to 1 tag 0\n}\nrank 1 {\nr: recv 8b from 0 tag 0\n}\n";

/// Creates a folder with inputs for all commands.
fn inputs() -> tempfile::TempDir {
    let folder = folder_with("my.toml", SMALL);
    fs::write(folder.path().join("my.goal"), GOAL).unwrap();
    fs::write(folder.path().join("catboost.json"), CATBOOST).unwrap();
    stdout(folder.path(), &["run", "my.toml", "-q", "--out", "a"]);
    folder
}

fn with<'a>(arguments: &[&'a str], out: &'a str) -> Vec<&'a str> {
    let put = |argument: &&'a str| if *argument == "OUT" { out } else { argument };
    arguments.iter().map(put).collect()
}

#[cfg(feature = "training")]
#[test]
fn files_of_users_stay() {
    let folder = inputs();
    let path = folder.path();
    for (arguments, ending) in WRITERS {
        let refused = |out: &str, said: &str| {
            let output = run(path, &with(arguments, out));
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2), "{arguments:?} {out}: {error}");
            assert!(
                error.contains(said) && error.contains(out),
                "{arguments:?}: {error}"
            );
        };
        let (file, link, victim) = (
            format!("mine.{ending}"),
            format!("link.{ending}"),
            path.join("victim"),
        );
        for name in [path.join(&file), path.join("mine.part"), victim.clone()] {
            fs::write(name, PRECIOUS).unwrap();
        }
        refused(&file, "exists");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("victim", path.join(&link)).unwrap();
            refused(&link, "is not a file");
            let mut forced = with(arguments, &link);
            forced.push("--force");
            assert_eq!(run(path, &forced).status.code(), Some(2), "{arguments:?}");
            assert!(fs::symlink_metadata(path.join(&link)).unwrap().is_symlink());
        }
        let new = format!("new.{ending}");
        stdout(path, &with(arguments, &new));
        assert!(path.join(&new).is_file(), "{arguments:?}");
        let mut forced = with(arguments, &file);
        forced.push("--force");
        stdout(path, &forced);
        assert_ne!(
            fs::read(path.join(&file)).unwrap(),
            PRECIOUS.as_bytes(),
            "{arguments:?}"
        );
        for name in [path.join("mine.part"), victim] {
            assert_eq!(fs::read_to_string(name).unwrap(), PRECIOUS, "{arguments:?}");
        }
        for name in [file, link, new] {
            let _ = fs::remove_file(path.join(name));
        }
    }
}

#[test]
fn what_a_command_reads_is_never_written() {
    let folder = inputs();
    let path = folder.path();
    let before = |name: &str| fs::read(path.join(name)).unwrap();
    for (arguments, input) in [
        (
            &["plot", "a", "--what", "fct-cdf", "-o", "a/flows.csv", "--force"][..],
            "a/flows.csv",
        ),
        (
            &["report", "a", "-o", "a/summary.json", "--force"],
            "a/summary.json",
        ),
        (&["convert", "my.goal", "./my.goal", "--force"], "my.goal"),
        (
            &["generate", "topology", "my.toml", "-o", "my.toml", "--force"],
            "my.toml",
        ),
    ] {
        let there = before(input);
        let output = run(path, arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(
            error.contains("is what this command reads"),
            "{arguments:?}: {error}"
        );
        assert_eq!(before(input), there, "{arguments:?}");
    }
}

#[test]
fn an_experiment_begins_where_its_scenario_is() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    stdout(path, &["reproduce", "--new", ".", "--from", "my.toml"]);
    assert_eq!(fs::read_to_string(path.join("my.toml")).unwrap(), SMALL);
    fs::create_dir(path.join("other")).unwrap();
    fs::write(path.join("other/my.toml"), PRECIOUS).unwrap();
    let output = run(path, &["reproduce", "--new", "other", "--from", "my.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(path.join("other/my.toml")).unwrap(), PRECIOUS);
    assert!(!path.join("other/experiment.toml").exists());
}

/// If a folder is filled by something else during a run, the results are not lost but go next to it.
#[test]
fn results_go_next_to_a_place_that_was_filled() {
    let long = SMALL.replace("100KB", "1GB");
    assert_ne!(long, SMALL);
    let folder = folder_with("my.toml", long);
    let path = folder.path();
    let child = crate::common::command(path)
        .args(["run", "my.toml", "--out", "a"])
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    fs::create_dir(path.join("a")).unwrap();
    fs::write(path.join("a/mine"), PRECIOUS).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert!(
        error.contains("was filled while this ran") && error.contains("results in a-2"),
        "{error}"
    );
    assert!(path.join("a-2/summary.json").is_file());
    assert_eq!(fs::read_dir(path.join("a")).unwrap().count(), 1);
}
