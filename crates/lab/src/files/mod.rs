//! A run's folder.

pub mod columns;
mod flow_time;
mod flows;
mod folder;
pub mod ns3;
pub mod ports;
mod series;
mod trace;

pub(crate) use flow_time::read as read_flow_times;
pub use flow_time::{FlowTime, Stage, flow_times};
pub(crate) use flows::read_flows_parquet;
pub use folder::{Folder, OutputError, check_destination, write_file};
pub(crate) use ports::name_of as port_name;
pub(crate) use series::read_series;
pub use series::{GOODPUT, QUEUE, RATE, RTT, Range, Series, WINDOW, series_of};

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::capture;
use crate::repeats::Repeats;
use crate::report::{self, RunData};
use crate::results::{FlowRow, Summary, fct_table};
use crate::run::Finished;
use paceline_scenario::generate::topology_text;
use paceline_scenario::topology::Topology;
use paceline_scenario::{Fidelity, Resolved};
use serde::Serialize;

/// Formats of the table of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text: `flows.csv`.
    #[default]
    Csv,
    /// Apache Parquet: `flows.parquet`.
    Parquet,
}

impl Format {
    /// The name of the file that has a row per flow.
    pub const fn flows(self) -> &'static str {
        match self {
            Self::Csv => "flows.csv",
            Self::Parquet => "flows.parquet",
        }
    }
}

/// How results are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writing {
    /// Whether the folder of an earlier run is replaced.
    pub force: bool,
    /// Format of the table of flows.
    pub format: Format,
}

/// What Parquet files say about where they come from.
fn metadata(input: &Resolved) -> Vec<(&'static str, String)> {
    vec![
        ("scenario", input.name.clone()),
        ("scheme", input.scheme.clone()),
        ("seed", input.seed.to_string()),
        ("version", env!("CARGO_PKG_VERSION").to_string()),
    ]
}

/// Writes everything of a run into `destination`: all of it or nothing.
///
/// An existing folder with something in it is an error unless [`Writing::force`]; then it is replaced if it
/// is the folder of an earlier run, and nothing else.
pub fn write_run(
    destination: &Path,
    input: &Resolved,
    finished: &Finished,
    how: Writing,
) -> Result<(), OutputError> {
    let folder = Folder::create(destination, how.force)?.with_format(how.format);
    write_run_into(&folder, Path::new(""), input, finished)?;
    folder.commit()
}

/// Writes several runs, a folder in `destination` for each, and what compares them:
/// `comparison.json`, a list of their summaries, and a `report.html` about all.
///
/// The folders are called after the schemes; where these are not different, with the seed and the
/// run's number. Otherwise as [`write_run`].
pub fn write_comparison(
    destination: &Path,
    runs: &[(&Resolved, &Finished)],
    how: Writing,
) -> Result<(), OutputError> {
    let summaries: Vec<&Summary> = runs.iter().map(|(_, finished)| &finished.summary).collect();
    let folder = Folder::create(destination, how.force)?.with_format(how.format);
    let data = write_runs(&folder, &folder_names(runs), runs, &summaries)?;
    write_report(&folder, Path::new("report.html"), &data)?;
    let flows: Vec<(&str, &[FlowRow<'_>])> = data
        .iter()
        .map(|run| (run.summary.scheme.as_str(), run.flows.as_slice()))
        .collect();
    write_fct_table(&folder, Path::new("fct_table.tsv"), &flows)?;
    folder.commit()
}

/// Writes repeats with several seeds: as [`write_comparison`], but `comparison.json` is [`Repeats`], and only
/// the runs that it lists are written, under the names that it gives them. The page is about all seeds;
/// beside it `seed-N.html` compares the runs of each one. Where the seed changes nothing, the page is that
/// of one run of each scheme.
pub fn write_repeats(
    destination: &Path,
    runs: &[(&Resolved, &Finished)],
    repeats: &Repeats,
    how: Writing,
) -> Result<(), OutputError> {
    let named = repeat_names(runs);
    let listed: Vec<(&Resolved, &Finished)> = (repeats.runs.iter())
        .filter_map(|run| Some(runs[named.iter().position(|name| *name == run.folder)?]))
        .collect();
    let names: Vec<String> = repeats.runs.iter().map(|run| run.folder.clone()).collect();
    let folder = Folder::create(destination, how.force)?.with_format(how.format);
    let data = write_runs(&folder, &names, &listed, repeats)?;
    for (name, page) in report::repeats_pages(repeats, &data) {
        folder.write(Path::new(&name), |out| {
            out.write_all(page.map_err(io::Error::other)?.as_bytes())
        })?;
    }
    // The background flows of all seeds together.
    let together: Vec<(&str, Vec<FlowRow<'_>>)> = data
        .chunk_by(|a, b| a.summary.scheme == b.summary.scheme)
        .map(|runs| {
            let flows = runs.iter().flat_map(|run| run.flows.iter().cloned());
            (runs[0].summary.scheme.as_str(), flows.collect())
        })
        .collect();
    let flows: Vec<(&str, &[FlowRow<'_>])> = (together.iter())
        .map(|(scheme, flows)| (*scheme, flows.as_slice()))
        .collect();
    write_fct_table(&folder, Path::new("fct_table.tsv"), &flows)?;
    folder.commit()
}

/// Writes the folders of several runs and their `comparison.json`; gives what pages about them need.
fn write_runs(
    folder: &Folder,
    names: &[String],
    runs: &[(&Resolved, &Finished)],
    comparison: &(impl Serialize + ?Sized),
) -> Result<Vec<RunData>, OutputError> {
    for (name, (input, finished)) in names.iter().zip(runs) {
        write_run_into(folder, Path::new(name), input, finished)?;
    }
    folder.write(Path::new("comparison.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, comparison)?;
        writeln!(out)
    })?;
    let data = names.iter().zip(runs).map(|(name, (input, finished))| RunData {
        folder: Some(name.clone()),
        ..RunData::new(input, finished)
    });
    Ok(data.collect())
}

/// The names that the folders of repeats have: `<scheme>-<seed>`.
pub fn repeat_names(runs: &[(&Resolved, &Finished)]) -> Vec<String> {
    let name = |(input, _): &(&Resolved, &Finished)| format!("{}-{}", plain(&input.scheme), input.seed);
    runs.iter().map(name).collect()
}

/// `text` with nothing in it that a file system does not take.
fn plain(text: &str) -> String {
    let safe = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    text.chars().map(|c| if safe(c) { c } else { '-' }).collect()
}

/// A name per run that a file system takes and no other run has.
fn folder_names(runs: &[(&Resolved, &Finished)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (number, (input, _)) in runs.iter().enumerate() {
        let short = plain(&input.scheme);
        let taken = |name: &String| names.contains(name) || name.trim_matches('.').is_empty();
        let name = [short.clone(), format!("{short}-{}", input.seed)]
            .into_iter()
            .find(|name| !taken(name));
        names.push(name.unwrap_or_else(|| format!("{short}-{}-{number}", input.seed)));
    }
    names
}

fn write_report(folder: &Folder, name: &Path, runs: &[RunData]) -> Result<(), OutputError> {
    folder.write(name, |out| {
        let page = report::render(runs).map_err(io::Error::other)?;
        out.write_all(page.as_bytes())
    })
}

/// Writes `fct_table.tsv` if the runs have the flows for it.
fn write_fct_table(folder: &Folder, name: &Path, runs: &[(&str, &[FlowRow<'_>])]) -> Result<(), OutputError> {
    fct_table(runs).map_or(Ok(()), |text| {
        folder.write(name, |out| out.write_all(text.as_bytes()))
    })
}

/// Writes the network of a run, unless the scenario names a file of it.
fn write_network(folder: &Folder, sub: &Path, input: &Resolved) -> Result<(), OutputError> {
    let (name, _) = report::topology_file(&input.toml);
    if input.files.iter().any(|(file, _)| *file == name) {
        return Ok(());
    }
    let network = Topology {
        nodes: input.run.nodes.clone(),
        links: input.run.links.clone(),
    };
    folder.write(&sub.join(name), |out| {
        out.write_all(topology_text(&network).as_bytes())
    })
}

/// Writes what a run amounts to into `sub` of a folder that is being made: its summary, its
/// scenario with the files that it names, its flows.
pub fn write_summary_into(
    folder: &Folder,
    sub: &Path,
    input: &Resolved,
    finished: &Finished,
) -> Result<(), OutputError> {
    let at = |name: &str| -> PathBuf { sub.join(name) };
    folder.write(&at("summary.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, &finished.summary)?;
        writeln!(out)
    })?;
    folder.write(&at("scenario.toml"), |out| out.write_all(input.toml.as_bytes()))?;
    for (name, content) in &input.files {
        folder.write(&at(name), |out| out.write_all(content.as_bytes()))?;
    }
    let format = folder.format();
    folder.write(&at(format.flows()), |out| {
        flows::write(out, format, input, &finished.outcome)
    })
}

/// Writes everything of a run into `sub` of a folder that is being made.
pub fn write_run_into(
    folder: &Folder,
    sub: &Path,
    input: &Resolved,
    finished: &Finished,
) -> Result<(), OutputError> {
    write_summary_into(folder, sub, input, finished)?;
    let outcome = &finished.outcome;
    let spec = &input.run;
    let at = |name: &str| -> PathBuf { sub.join(name) };
    write_network(folder, sub, input)?;
    let data = RunData::new(input, finished);
    write_fct_table(folder, &at("fct_table.tsv"), &[(&input.scheme, &data.flows)])?;
    folder.write(&at("fct.txt"), |out| ns3::fct(out, spec, outcome))?;
    if !spec.record.omit_pfc {
        folder.write(&at("pfc.txt"), |out| ns3::pfc(out, outcome))?;
    }
    folder.write(&at("qlen.txt"), |out| ns3::qlen(out, spec, outcome))?;
    if !data.series.is_empty() {
        folder.write(&at("series.parquet"), |out| {
            series::write(out, &data.series, &metadata(input))
        })?;
    }
    if !data.flow_times.is_empty() {
        folder.write(&at("flow_time.csv"), |out| {
            flow_time::write(out, &data.flow_times)
        })?;
    }
    if spec.record.rtt_samples {
        folder.write(&at("rtt_samples.txt"), |out| ns3::rtt_samples(out, spec, outcome))?;
    }
    write_report(folder, &at("report.html"), &[data])?;
    if input.pcap {
        folder.write(&at("trace.pcapng"), |out| {
            capture::write(out, spec, outcome, capture::WHOLE)
        })?;
    }
    let traced = !(spec.record.trace_nodes.is_empty() && spec.record.trace_ports.is_empty());
    match input.fidelity {
        Fidelity::Ns3Hpcc if outcome.trace.is_empty() => {}
        Fidelity::Ns3Hpcc => folder.write(&at("trace.tr"), |out| ns3::trace(out, spec, outcome))?,
        _ if traced => folder.write(&at("trace.parquet"), |out| {
            trace::write(out, &outcome.trace, &metadata(input))
        })?,
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

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
        let (input, outcome) = sample::incast();
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
