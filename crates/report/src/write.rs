//! Folders of runs and of comparisons, with their pages.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use paceline_lab::compare::One;
use paceline_lab::files::write_run_into as write_files_into;
use paceline_lab::files::{Folder, OutputError, RunData, Writing, write_fct_table, write_file};
use paceline_lab::repeats::{Part, Repeats};
use paceline_lab::results::{FlowRows, Summary};
use paceline_lab::run::Finished;
use paceline_lab::sweep::SweepData;
use paceline_scenario::Resolved;
use serde::Serialize;

use super::{render, render_sweep, repeats_pages};

/// Result of writing a folder.
#[derive(Debug)]
pub struct Written {
    /// Folder of the results; if the requested one meanwhile got other content, one next to it.
    pub folder: PathBuf,
    /// Files left out for lack of time.
    pub left_out: Vec<PathBuf>,
}

/// Writes everything of a run into `destination`: all of it or nothing.
///
/// An existing folder with content is an error unless [`Writing::force`] is set; then it is replaced, but only if it
/// is the folder of an earlier run. Returns the files left out for lack of time ([`Writing::waiting`]).
pub fn write_run(
    destination: &Path,
    input: &Resolved,
    finished: &Finished,
    how: Writing,
) -> Result<Written, OutputError> {
    let folder = Folder::create_for_long(destination, how.force)?.written(how);
    write_run_into(&folder, Path::new(""), input, finished)?;
    whole(folder)
}

/// Moves a finished folder to its destination; returns the files left out.
fn whole(folder: Folder) -> Result<Written, OutputError> {
    let written = Written {
        folder: folder.destination().to_path_buf(),
        left_out: folder.left_out()?,
    };
    folder.commit()?;
    Ok(written)
}

/// Writes several runs, each in a folder of `destination`, and their comparison: `comparison.json`, a list of their
/// summaries, and a `report.html` about all.
///
/// The folders are named after the schemes, with the seed and the run's number if these are not unique. Otherwise
/// like [`write_run`].
pub fn write_comparison(
    destination: &Path,
    runs: &[(&Resolved, &Finished)],
    how: Writing,
) -> Result<Written, OutputError> {
    let summaries: Vec<&Summary> = runs.iter().map(|(_, finished)| &finished.summary).collect();
    let folder = Folder::create_for_long(destination, how.force)?.written(how);
    let data = write_runs(&folder, &folder_names(runs), runs, &summaries)?;
    write_report(&folder, Path::new("report.html"), &data)?;
    let flows: Vec<(&str, &[FlowRows])> = data
        .iter()
        .map(|run| (run.summary.scheme.as_str(), std::slice::from_ref(&run.flows)))
        .collect();
    write_fct_table(&folder, Path::new("fct_table.tsv"), &flows)?;
    whole(folder)
}

/// Writes repeats with several seeds: like [`write_comparison`], but `comparison.json` is [`Repeats`], and only the
/// runs that it lists are written, under the names that it has. The page is about all seeds; next to it,
/// `seed-N.html` compares the runs of each one. If the seed changes nothing, the page is that of one run of each
/// scheme.
pub fn write_repeats(
    destination: &Path,
    runs: &[(&Resolved, &Finished)],
    repeats: &Repeats,
    how: Writing,
) -> Result<Written, OutputError> {
    let named = repeat_names(runs);
    let listed: Vec<(&Resolved, &Finished)> = (repeats.runs.iter())
        .filter_map(|run| Some(runs[named.iter().position(|name| *name == run.folder)?]))
        .collect();
    let names: Vec<String> = repeats.runs.iter().map(|run| run.folder.clone()).collect();
    let folder = Folder::create_for_long(destination, how.force)?.written(how);
    let data = write_runs(&folder, &names, &listed, repeats)?;
    for (name, page) in repeats_pages(repeats, &data) {
        folder.write_if_time(Path::new(&name), |out| {
            out.write_all(page.map_err(io::Error::other)?.as_bytes())
        })?;
    }
    // The background flows of all seeds together.
    let together: Vec<(&str, Vec<FlowRows>)> = data
        .chunk_by(|a, b| a.summary.scheme == b.summary.scheme)
        .map(|runs| {
            let flows = runs.iter().map(|run| run.flows.clone());
            (runs[0].summary.scheme.as_str(), flows.collect())
        })
        .collect();
    let flows: Vec<(&str, &[FlowRows])> = (together.iter())
        .map(|(scheme, flows)| (*scheme, flows.as_slice()))
        .collect();
    write_fct_table(&folder, Path::new("fct_table.tsv"), &flows)?;
    whole(folder)
}

/// Combines the runs of a comparison of `inputs`, if there are several seeds of each scheme.
pub fn together(inputs: &[Vec<Resolved>], runs: &[One<'_>]) -> Option<Repeats> {
    let names = repeat_names(&pairs(runs));
    let mut parts = Vec::with_capacity(runs.len());
    for (folder, one) in names.into_iter().zip(runs) {
        parts.push(Part {
            folder,
            summary: &one.run.summary,
            flows: &one.run.flows,
            fixed: one.fixed,
        });
    }
    let seeds: Vec<u64> = inputs.first()?.iter().map(|input| input.seed).collect();
    Repeats::of(&parts, &seeds)
}

/// Writes a comparison; `repeats` is the result of [`together`].
pub fn write_compared(
    destination: &Path,
    runs: &[One<'_>],
    repeats: Option<&Repeats>,
    how: Writing,
) -> Result<Written, OutputError> {
    match repeats {
        Some(repeats) => write_repeats(destination, &pairs(runs), repeats, how),
        None => write_comparison(destination, &pairs(runs), how),
    }
}

fn pairs<'a>(runs: &'a [One<'_>]) -> Vec<(&'a Resolved, &'a Finished)> {
    runs.iter().map(|one| (one.input, &one.run)).collect()
}

/// Writes the folders of several runs and their `comparison.json`; returns the data for their pages.
fn write_runs(
    folder: &Folder,
    names: &[String],
    runs: &[(&Resolved, &Finished)],
    comparison: &(impl Serialize + ?Sized),
) -> Result<Vec<RunData>, OutputError> {
    let mut data = Vec::with_capacity(runs.len());
    for (name, (input, finished)) in names.iter().zip(runs) {
        let run = write_with_page(folder, Path::new(name), input, finished)?;
        data.push(RunData {
            folder: Some(name.clone()),
            ..run
        });
    }
    folder.write(Path::new("comparison.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, comparison)?;
        writeln!(out)
    })?;
    Ok(data)
}

/// Returns the names of the folders of repeats: `<scheme>-<seed>`.
pub fn repeat_names(runs: &[(&Resolved, &Finished)]) -> Vec<String> {
    let name =
        |(input, _): &(&Resolved, &Finished)| format!("{}-{}", scheme_folder(&input.scheme), input.seed);
    runs.iter().map(name).collect()
}

/// Returns the folder name of a scheme's run in a comparison: its name, with hyphens for characters that file systems
/// reject.
pub fn scheme_folder(text: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    text.chars().map(|c| if safe(c) { c } else { '-' }).collect()
}

/// Returns a unique, valid folder name for each run.
fn folder_names(runs: &[(&Resolved, &Finished)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (number, (input, _)) in runs.iter().enumerate() {
        let short = scheme_folder(&input.scheme);
        let taken = |name: &String| names.contains(name) || name.trim_matches('.').is_empty();
        let name = [short.clone(), format!("{short}-{}", input.seed)]
            .into_iter()
            .find(|name| !taken(name));
        names.push(name.unwrap_or_else(|| format!("{short}-{}-{number}", input.seed)));
    }
    names
}

/// Writes `report.html`, the page about a sweep, into its folder.
pub fn write_sweep_page(folder: &Path, data: &SweepData) -> Result<(), OutputError> {
    write_file(&folder.join("report.html"), |out| {
        let page = render_sweep(data).map_err(io::Error::other)?;
        out.write_all(page.as_bytes())
    })
}

fn write_report(folder: &Folder, name: &Path, runs: &[RunData]) -> Result<(), OutputError> {
    folder.write_if_time(name, |out| {
        let page = render(runs).map_err(io::Error::other)?;
        runs.iter().try_for_each(|run| run.flows.check())?;
        out.write_all(page.as_bytes())
    })
}

/// Writes everything of a run into `sub` of an unfinished folder.
pub fn write_run_into(
    folder: &Folder,
    sub: &Path,
    input: &Resolved,
    finished: &Finished,
) -> Result<(), OutputError> {
    write_with_page(folder, sub, input, finished).map(|_| ())
}

/// Writes everything of a run, and returns the data for pages about it.
fn write_with_page(
    folder: &Folder,
    sub: &Path,
    input: &Resolved,
    finished: &Finished,
) -> Result<RunData, OutputError> {
    let data = write_files_into(folder, sub, input, finished)?;
    write_report(folder, &sub.join("report.html"), std::slice::from_ref(&data))?;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_lab::sample;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_runs_folder() {
        let (input, outcome) = sample::incast();
        let finished = sample::finished(&input, outcome);
        let tmp = tempfile::tempdir().unwrap();
        let (a, b) = (tmp.path().join("a"), tmp.path().join("b"));
        write_run(&a, &input, &finished, Writing::default()).unwrap();
        write_run(&b, &input, &finished, Writing::default()).unwrap();
        let expected = [
            "fct.txt",
            "flow_time.csv",
            "flows",
            "flows.csv",
            "labels.csv",
            "nodes.csv",
            "pfc.txt",
            "qlen.txt",
            "report.html",
            "rtt_samples.txt",
            "scenario.toml",
            "series.parquet",
            "summary.json",
            "topology.txt",
        ];
        assert_eq!(names(&a), expected);
        for name in expected.iter().filter(|name| a.join(name).is_file()) {
            assert!(
                std::fs::read(a.join(name)).unwrap() == std::fs::read(b.join(name)).unwrap(),
                "{name}"
            );
        }
        assert_eq!(
            std::fs::read_to_string(a.join("flows/f.csv")).unwrap(),
            "src,dst\n1,4\n"
        );
    }

    #[test]
    fn a_comparisons_folder() {
        let (mut input, outcome) = sample::incast();
        // A resolved scenario names the files next to it.
        input.toml.push_str("[[workload]]\nfile = \"flows/f.csv\"\n");
        let finished = sample::finished(&input, outcome);
        let other = Resolved {
            scheme: "a/b".into(),
            ..input.clone()
        };
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("c");
        let (one, two) = ((&input, &finished), (&other, &finished));
        write_comparison(&path, &[one, two, one, one], Writing::default()).unwrap();
        assert_eq!(
            names(&path),
            [
                "a-b",
                "comparison.json",
                "none",
                "none-7",
                "none-7-3",
                "report.html"
            ]
        );
        let summaries: Vec<Summary> =
            serde_json::from_str(&std::fs::read_to_string(path.join("comparison.json")).unwrap()).unwrap();
        assert_eq!(summaries.len(), 4);
        let replacing = Writing {
            force: true,
            ..Writing::default()
        };
        write_comparison(&path, &[one], replacing).unwrap();
        assert_eq!(names(&path), ["comparison.json", "none", "report.html"]);
    }
}
