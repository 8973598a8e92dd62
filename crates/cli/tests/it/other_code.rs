//! Results of other code are recognised, and never mixed with results of this code.

use std::fs;
use std::path::Path;

use crate::common::{SMALL, folder_with, run, stdout};

/// Version of other code with the same release number.
const OTHER: &str = "0.1.0+0ddc0de5";

const SWEEP: [&str; 4] = ["sweep", "my.toml", "--over=cc.scheme=hpcc,dcqcn", "-q"];

/// Rewrites all files of a folder as if other code had written them, digests included.
fn by_other_code(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            by_other_code(&path);
        } else if let Ok(text) = fs::read_to_string(&path) {
            let mut other = text.replace(paceline_lab::version(), OTHER);
            // A sealed file without its digest is accepted. The digest in a summary is that of the run's events.
            if !path.ends_with("summary.json") {
                other = other.replace("{\n  \"digest\": \"", "{\n  \"former\": \"");
            }
            fs::write(&path, other).unwrap();
        }
    }
}

fn refused(folder: &Path, args: &[&str]) -> String {
    let output = run(folder, args);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert!(output.stdout.is_empty(), "{args:?}");
    error
}

fn names_both(text: &str) -> bool {
    text.contains(OTHER) && text.contains(paceline_lab::version())
}

#[test]
fn the_version_has_the_identity_of_the_code() {
    let folder = tempfile::tempdir().unwrap();
    let said = stdout(folder.path(), &["--version"]);
    assert_eq!(said, format!("paceline {}\n", paceline_lab::version()));
    let (release, code) = said.trim().split_once('+').unwrap();
    assert_eq!(release, concat!("paceline ", env!("CARGO_PKG_VERSION")));
    assert_eq!(code.len(), 8, "{code}");
}

/// Every command that reads a folder refuses one of another format, by its number.
#[test]
fn folders_of_another_format_are_refused() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    stdout(path, &["run", "my.toml", "-o", "run"]);
    for (file, written) in [
        ("summary.json", "\"format\": 1,"),
        ("scenario.toml", "format = 1\n"),
    ] {
        let text = fs::read_to_string(path.join("run").join(file)).unwrap();
        assert!(text.contains(written), "{file}: {text}");
        let newer = text.replace(written, &written.replace('1', "7"));
        fs::write(path.join("run").join(file), newer).unwrap();
        let commands: &[&[&str]] = match file {
            "summary.json" => &[
                &["report", "run"],
                &["plot", "run", "--what", "fct-cdf", "--out", "f.svg"],
                &["table", "run"],
                &["diff", "run", "run"],
                &["query", "run", "select 1"],
            ],
            _ => &[&["run", "run"], &["check", "run/scenario.toml"]],
        };
        for args in commands {
            let error = refused(path, args);
            assert!(error.contains("format 7"), "{args:?}: {error}");
            assert!(
                error.contains(file) || error.contains("reads format 1"),
                "{args:?}: {error}"
            );
        }
        fs::write(path.join("run").join(file), text).unwrap();
    }
}

#[test]
fn runs_of_other_code_are_made_again_elsewhere() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    stdout(path, &["run", "my.toml"]);
    let there = path.join("results/small-hpcc-1");
    let again = run(path, &["run", "my.toml"]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("of the same command earlier"));
    by_other_code(&there);
    let again = run(path, &["run", "my.toml"]);
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(names_both(&said) && said.contains("they are not used"), "{said}");
    assert!(path.join("results/small-hpcc-1-2/summary.json").is_file());
    let read = |run: &str| fs::read_to_string(path.join(run).join("summary.json")).unwrap();
    assert!(read("results/small-hpcc-1").contains(OTHER));
    assert!(read("results/small-hpcc-1-2").contains(paceline_lab::version()));
}

#[test]
fn sweeps_of_other_code_are_neither_continued_nor_merged() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    stdout(path, &[&SWEEP[..], &["--out", "old"]].concat());
    by_other_code(&path.join("old"));
    let error = refused(path, &[&SWEEP[..], &["--out", "old"]].concat());
    assert!(
        names_both(&error) && error.contains("its 2 finished runs are not mixed"),
        "{error}"
    );
    stdout(path, &[&SWEEP[..], &["--out", "new"]].concat());
    let error = refused(path, &["merge", "old", "new", "--out", "both"]);
    assert!(names_both(&error) && error.contains("--mix-versions"), "{error}");
    stdout(path, &[&SWEEP[..], &["--out", "old", "--force"]].concat());
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(read("old/results.csv"), read("new/results.csv"));
    // With the default folder, all points are run again in the next one.
    stdout(path, &SWEEP);
    by_other_code(&path.join("results/small-sweep-1"));
    let args = ["sweep", "my.toml", "--over=cc.scheme=hpcc,dcqcn"];
    let said = String::from_utf8(run(path, &args).stderr).unwrap();
    assert!(names_both(&said) && said.contains("they are not used"), "{said}");
    assert_eq!(
        read("results/small-sweep-1-2/results.csv"),
        read("new/results.csv")
    );
}

#[test]
fn why_explains_no_other_run() {
    let folder = folder_with("my.toml", SMALL);
    let path = folder.path();
    stdout(path, &["run", "my.toml", "--out", "a"]);
    let expected = stdout(path, &["why", "a", "1"]);
    fs::remove_dir_all(path.join("a/why")).unwrap();
    by_other_code(&path.join("a"));
    // Other code with the same events can explain the flows.
    assert_eq!(stdout(path, &["why", "a", "1"]), expected);
    fs::remove_dir_all(path.join("a/why")).unwrap();
    // Code with other events cannot.
    let summary = path.join("a/summary.json");
    let text = fs::read_to_string(&summary).unwrap();
    let digest = crate::common::json(&summary)["digest"]
        .as_str()
        .unwrap()
        .to_string();
    fs::write(&summary, text.replace(&digest, "0123456789abcdef")).unwrap();
    let error = refused(path, &["why", "a", "1"]);
    assert!(
        names_both(&error) && error.contains("different events"),
        "{error}"
    );
    assert!(
        error.contains("paceline run a/scenario.toml --out NEW"),
        "{error}"
    );
    assert!(!path.join("a/why").exists());
    // A flow with a different time is named with both times.
    let flows = path.join("a/flows.csv");
    let text = fs::read_to_string(&flows).unwrap();
    let row: Vec<&str> = text.lines().nth(2).unwrap().split(',').collect();
    let fct = text
        .lines()
        .next()
        .unwrap()
        .split(',')
        .position(|name| name == "fct_ps")
        .unwrap();
    fs::write(&flows, text.replace(row[fct], "570538400")).unwrap();
    let error = refused(path, &["why", "a", "1"]);
    assert!(
        error.contains("flow 1 takes 570.5 µs there, and takes "),
        "{error}"
    );
    assert!(!error.contains("Some("), "{error}");
    // Data in the folder itself is shown as usual.
    stdout(path, &["why", "a", "1", "--brief"]);
}
