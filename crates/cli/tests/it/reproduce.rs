//! Published numbers alongside ours: what is said where, what is written, how it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::{command, run, said, stdout};
use insta::assert_snapshot;
use serde_json::Value;

#[test]
fn an_incast_and_its_differences() {
    let folder = tempfile::tempdir().unwrap();
    let args = [
        "reproduce",
        "thesis-table6",
        "thesis-table5",
        "--check",
        "--out",
        "here",
        "-q",
    ];
    let text = said(folder.path(), &args);
    assert_snapshot!(text);
    // What differs is not lost: the page is there, and what programs read.
    let at = |name: &str| folder.path().join("here").join(name);
    let page = fs::read_to_string(at("index.html")).unwrap();
    assert!(page.contains("id=\"thesis-table6\"") && page.contains("runs/b_incast20-timely/report.html"));
    assert!(at("runs/b_incast20-timely/report.html").is_file());
    let records: Vec<Value> =
        serde_json::from_str(&fs::read_to_string(at("reproductions.json")).unwrap()).unwrap();
    let max = |record: &&Value| record["case"] == "dctcp" && record["metric"] == "max RTT";
    let max = records.iter().find(max).unwrap();
    let text = r#"{"id":"thesis-table6","case":"dctcp","metric":"max RTT","unit":"µs","paper":86.32,"ours":86.32,"tolerance":"exact","ok":true,"kind":"published","source":"paper"}"#;
    assert_eq!(max.to_string(), text);
    // An earlier one is replaced only when told.
    assert_eq!(run(folder.path(), &args).status.code(), Some(2));
}

#[test]
fn programs_get_a_list_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["reproduce", "thesis-table7", "--json", "--check"];
    let records: Vec<Value> = serde_json::from_str(&stdout(folder.path(), &args)).unwrap();
    let of = |kind: &str| records.iter().filter(|record| record["kind"] == kind).count();
    assert_eq!((of("published"), of("shown"), of("choice")), (20, 1, 1));
    let published = records.iter().filter(|record| record["kind"] == "published");
    assert!(published.clone().all(|record| record["ok"] == true));
    let others = records.iter().filter(|record| record["kind"] != "published");
    assert!(others.clone().all(|record| record["ok"].is_null()));
    assert!(folder.path().join("results/reproduce/index.html").is_file());
    // Again, over its own folder.
    stdout(folder.path(), &[&args[..], &["--force", "--quiet"]].concat());
    // Without a name: the registry.
    let list: Vec<Value> = serde_json::from_str(&stdout(folder.path(), &["reproduce", "--json"])).unwrap();
    assert_eq!(list.len(), 84);
    assert_eq!(list[2]["cases"][0]["paper"], 4.3223);
    assert!(stdout(folder.path(), &["reproduce"]).contains("hpcc-fct"));
}

#[test]
fn names_that_are_nearly_right() {
    let folder = tempfile::tempdir().unwrap();
    assert_snapshot!(
        "nearly",
        said(folder.path(), &["reproduce", "thesis-table6", "hpcc-fkt"])
    );
    assert_snapshot!("unknown", said(folder.path(), &["reproduce", "figure"]));
}

/// Files in a folder, if it is there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'));
    files.sort();
    files
}

/// What is killed goes on: finished runs are taken, and what comes out is the same in every digit. Of another version, or
/// of other tables, they are not.
#[test]
fn what_is_stopped_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let args = ["reproduce", "thesis-table6", "--jobs", "1"];
    let whole = stdout(path, &[&args[..], &["--out", "whole", "--quiet"]].concat());
    let (here, unfinished) = (
        path.join("results/reproduce"),
        path.join("results/reproduce/unfinished"),
    );
    let mut child = command(path)
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while files(&unfinished.join("rows")).len() < 2 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it is over before it is killed"
        );
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let rows = files(&unfinished.join("rows"));

    let refused = |what: &str| {
        let output = run(path, &args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.code(), error.contains(what)),
            (Some(2), true),
            "{error}"
        );
    };
    let edited = |file: &Path| {
        let text = fs::read_to_string(file).unwrap();
        // Not as an edit, of which a row's digest would tell.
        let other = (text.replace("{\n  \"digest\"", "{\n  \"former\""))
            .replace(concat!("\"", env!("CARGO_PKG_VERSION"), "\""), "\"0.0.1\"");
        assert_ne!(other, text);
        fs::write(file, other).unwrap();
        text
    };
    for file in [&rows[0], &unfinished.join("plan.json")] {
        let text = edited(file);
        refused("by version 0.0.1, this is");
        fs::write(file, text).unwrap();
    }
    let other = run(
        path,
        &["reproduce", "thesis-table7", "--out", "results/reproduce"],
    );
    assert_eq!(other.status.code(), Some(2), "another table");
    // A number that somebody improved.
    let text = fs::read_to_string(&rows[0]).unwrap();
    fs::write(&rows[0], text.replacen("\"run\": \"", "\"run\": \"x", 1)).unwrap();
    refused("was edited");
    // A row that is damaged is made again.
    fs::write(&rows[0], "{").unwrap();

    let output = run(path, &args);
    let (said, shown) = (
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout),
    );
    assert_eq!(output.status.code(), Some(0), "{said}");
    let there = format!("{} of ", rows.len() - 1);
    assert!(
        said.starts_with(&there) && said.contains("results in results/reproduce,"),
        "{said}"
    );
    assert_eq!(shown, whole);
    assert!(!unfinished.exists());
    let read = |at: &Path| fs::read_to_string(at.join("reproductions.json")).unwrap();
    assert_eq!(read(&here), read(&path.join("whole")));
    let names = |at: &Path| {
        let runs = files(&at.join("runs")).into_iter();
        runs.map(|run| (run.file_name().unwrap().to_owned(), files(&run).len()))
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&here), names(&path.join("whole")));
    assert!(!names(&here).is_empty());
}
