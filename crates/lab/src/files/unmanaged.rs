//! Files in a run's folder that no run has written.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use paceline_kernel::sorted::SortedSet;

use super::TABLES;
use super::folder::OURS;
use super::staging::is_hidden;

/// Fixed names of files that runs, comparisons, sweeps, reproductions and trainings write, with the tables of
/// recorders.
const WRITTEN: [&str; 37] = [
    "comparison.json",
    "dataset.parquet",
    "fct.txt",
    "fct_table.tsv",
    "flow_marks.tsv",
    "flow_repeats.csv",
    "flows.csv",
    "flows.parquet",
    "gains.toml",
    "htsim.txt",
    "index.html",
    "labels.csv",
    "left_out.txt",
    "pfc.txt",
    "points.csv",
    "points.parquet",
    "port_changes.tsv",
    "port_marks.tsv",
    "qlen.txt",
    "rates.tsv",
    "repeats.json",
    "report.html",
    "results.csv",
    "results.parquet",
    "rtt_samples.txt",
    "scenario.toml",
    "series.parquet",
    "timeline.pftrace",
    "topology.txt",
    "trace.parquet",
    "trace.pcapng",
    "trace.tr",
    "uet_counters.tsv",
    "uet_flows.tsv",
    "unique_flows.csv",
    "unique_flows.parquet",
    ".lock",
];

/// Gives files in `from` that no run has written a second name in `to`.
pub(super) fn keep_foreign(from: &Path, to: &Path) -> io::Result<()> {
    keep(from, to, &files_named(from), Path::new(""))
}

/// Keeps the files of one folder, at `within` in a run's folder whose scenario names the files `named`.
fn keep(from: &Path, to: &Path, named: &SortedSet<String>, within: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        let (target, relative) = (to.join(&name), within.join(&name));
        // Links are not followed: they may lead out of the folder, or in a circle.
        if !fs::symlink_metadata(&entry)?.is_dir() {
            let is_named = relative.to_str().is_some_and(|path| named.contains(path));
            if !is_named && !is_written(&name, within) && !target.exists() {
                copy(&entry, &target)?;
            }
        } else if within == Path::new("") && name == "scenario" && from.join("sweep.json").is_file() {
            // A sweep's scenario: two of them in its folder would be one too many.
        } else if OURS.iter().any(|mark| entry.join(mark).is_file()) {
            keep(&entry, &target, &files_named(&entry), Path::new(""))?;
        } else {
            keep(&entry, &target, named, &relative)?;
        }
    }
    Ok(())
}

/// Returns true if Paceline writes files of this name at `within` in a folder.
pub(super) fn is_written(name: &OsStr, within: &Path) -> bool {
    let (Some(name), Some(within)) = (name.to_str(), within.to_str()) else {
        return false;
    };
    if is_hidden(name) {
        // Left by a process that was killed.
        return true;
    }
    let stem = |ending: &str| name.strip_suffix(ending);
    let is_model = name.starts_with("rtt-") && (name.ends_with(".safetensors") || name.ends_with(".json"));
    match within {
        "" if OURS.contains(&name) || WRITTEN.contains(&name) || is_model => true,
        "" if stem(".csv").is_some_and(|stem| TABLES.iter().any(|table| table.name == stem)) => true,
        "" => name.starts_with(".lock-") || stem(".html").is_some_and(|stem| stem.starts_with("seed-")),
        "why" => stem(".json")
            .or_else(|| stem(".csv"))
            .is_some_and(|flow| flow.parse::<u32>().is_ok()),
        "rows" | "outcomes" => name.ends_with(".json"),
        "figures" => name.ends_with(".pdf"),
        _ if within.starts_with("unfinished") => true,
        _ => within.starts_with("checkpoints") && is_model,
    }
}

/// Returns the files that the scenario of a run's folder names; copies of them are written next to it.
fn files_named(run: &Path) -> SortedSet<String> {
    let text = paceline_scenario::read_text(run.join("scenario.toml")).unwrap_or_default();
    let mut named = SortedSet::new();
    if let Ok(table) = text.parse::<toml::Table>() {
        texts(&toml::Value::Table(table), &mut named);
    }
    named
}

fn texts(value: &toml::Value, into: &mut SortedSet<String>) {
    match value {
        toml::Value::String(text) => {
            into.insert(text.clone());
            // A model is named without the ending of its files.
            into.extend(["json", "safetensors"].map(|ending| format!("{text}.{ending}")));
        }
        toml::Value::Array(all) => all.iter().for_each(|value| texts(value, into)),
        toml::Value::Table(table) => table.values().for_each(|value| texts(value, into)),
        _ => {}
    }
}

/// Creates a hard link to a file, or a copy if that is impossible; a symbolic link is copied as a link.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::hard_link(from, to) {
        Err(_) => fs::copy(from, to).map(|_| ()),
        Ok(()) => Ok(()),
    }
}
