//! The validation command fails if a reference differs, or is not compared with anything.

use std::fs;
use std::path::Path;

use crate::command::verdict::Verdict;
use crate::command::{bolt, infiniband, tcd};

/// Copies a file or folder.
fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name();
        copy(&from.join(&name), &to.join(&name));
    }
}

/// Copies parts of a reference to a temporary folder.
fn part_of(root: &Path, names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        copy(&root.join(name), &folder.path().join(name));
    }
    folder
}

#[track_caller]
fn assert_faults(verdict: &Verdict, faults: &[&str]) {
    assert_eq!(verdict.faults.len(), faults.len(), "{:?}", verdict.faults);
    for (found, expected) in verdict.faults.iter().zip(faults) {
        assert!(found.contains(expected), "{found}: no `{expected}`");
        assert!(verdict.text().contains(found));
    }
    assert_eq!(verdict.status(), u8::from(!faults.is_empty()));
}

#[test]
fn bolt() {
    let folder = part_of(&bolt::shipped(), &["scenarios.tsv", "flows", "runs/single_bolt"]);
    let path = folder.path();
    assert_faults(&bolt::section(path), &[]);
    // A time changed by a nanosecond, an unknown scenario or variant, and a run without results.
    let fct = path.join("runs/single_bolt/fct.tsv");
    let text = fs::read_to_string(&fct).unwrap();
    fs::write(&fct, text.replace("\t607875\t", "\t607876\t")).unwrap();
    for name in ["mystery_bolt", "single_magic", "single_bolt_nosm"] {
        fs::create_dir(path.join("runs").join(name)).unwrap();
    }
    assert_faults(
        &bolt::section(path),
        &[
            "runs/mystery_bolt: scenarios.tsv has no scenario",
            "runs/single_bolt: ",
            "runs/single_bolt_nosm: there is no fct.tsv",
            "runs/single_magic: `magic` is not known",
        ],
    );
    let nothing = tempfile::tempdir().unwrap();
    assert_faults(&bolt::section(nothing.path()), &["nothing was compared"]);
}

#[test]
fn tcd() {
    let run = "runs/b_burstflow_4x30us/tcd";
    let folder = part_of(&tcd::shipped(), &["scenarios", "runs.tsv", run]);
    let path = folder.path();
    assert_faults(&tcd::section(path), &[]);
    // A changed digest, and a file and a run without a comparison.
    let table = path.join("runs.tsv");
    let text = fs::read_to_string(&table).unwrap();
    let row = text
        .lines()
        .find(|line| line.starts_with("b_burstflow_4x30us/tcd\t"));
    let digest = row.unwrap().split('\t').nth(3).unwrap();
    fs::write(&table, text.replace(digest, "0123456789abcdef")).unwrap();
    fs::write(path.join(run).join("x.mystery.tsv"), "1\n").unwrap();
    fs::create_dir_all(path.join("runs/mystery/tcd")).unwrap();
    assert_faults(
        &tcd::section(path),
        &[
            "x.marks.tsv: differs",
            "runs/mystery/tcd: there is no config.txt",
            "x.mystery.tsv: nothing here is compared with it",
        ],
    );
    // A file with nothing to compare also counts as a difference.
    fs::write(path.join(run).join("fct.txt"), "\n").unwrap();
    let verdict = tcd::section(path);
    let fct = |fault: &String| fault.contains("fct.txt: 0 of 0");
    assert!(verdict.faults.iter().any(fct), "{:?}", verdict.faults);
}

#[test]
fn infiniband() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/ib-omnet/single-flow.csv");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let single = path.join("cbfc_unit/single_flow_throughput.csv");
    let text = fs::read_to_string(shipped).unwrap();
    let rows: Vec<&str> = text.lines().take(3).collect();
    fs::create_dir_all(single.parent().unwrap()).unwrap();
    fs::write(&single, rows.join("\n")).unwrap();
    fs::write(path.join("README.md"), "").unwrap();
    assert_faults(&infiniband::section(path), &[]);
    // A changed throughput, an unknown run, and a damaged run.
    let fields: Vec<&str> = rows[1].split(',').collect();
    let other = rows[1].replace(fields[3], "1.5");
    fs::write(&single, [rows[0], &other].join("\n")).unwrap();
    fs::create_dir(path.join("demo")).unwrap();
    fs::write(path.join("demo/trace_N400_cbfc_g10.csv.gz"), "").unwrap();
    fs::write(path.join("demo/msg_N200_cbfc_g10.csv.gz"), "none").unwrap();
    assert_faults(
        &infiniband::section(path),
        &[
            "demo/msg_N200_cbfc_g10.csv.gz: ",
            "single_flow_throughput.csv: 1 of 1 differ",
            "demo/trace_N400_cbfc_g10.csv.gz: nothing here is compared with it",
        ],
    );
}
