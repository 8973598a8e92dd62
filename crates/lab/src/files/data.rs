//! Content of a run's folder, from which pages are made.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::folder::LEFT_OUT;
use super::{
    Format, Series, TABLES, file_of, flow_times, read_flows_csv, read_flows_parquet, read_series, read_table,
    series_of,
};
use crate::results::{
    Again, FlowRows, NodeRow, Summary, collective_rows, node_rows, operation_rows, path_rows, request_rows,
};
use crate::run::Finished;
use paceline_fabric::table::{Declared, Row, Table, Tables};
use paceline_scenario::topology::Topology;
use paceline_scenario::{EXACT, Fidelity, NodeNames, Resolved, multiply_rates};

/// File with the network of a run whose scenario names no topology file.
pub(crate) const TOPOLOGY: &str = "topology.txt";

/// Run as read from its folder.
#[derive(Clone, Debug, PartialEq)]
pub struct RunData {
    /// Metrics of the run, from `summary.json`.
    pub summary: Summary,
    /// Text of `scenario.toml`, with every default filled in.
    pub scenario: String,
    /// Rows of `flows.csv` or `flows.parquet`.
    pub flows: FlowRows,
    /// Series of `series.parquet`; empty if there is no such file.
    pub series: Vec<Series>,
    /// Tables of recorders; empty for tables that were not recorded.
    pub tables: Tables,
    /// Network from the file that the scenario names, or from `topology.txt`.
    pub topology: Option<Topology>,
    /// Names of its nodes; none without a network.
    pub names: NodeNames,
    /// Folder of the run relative to that of a page about several runs, which then links to the run's own page.
    pub folder: Option<String>,
    /// Times of the pauses in `pfc.txt`, if there is one, in ns.
    pub pauses_ns: Vec<u64>,
}

/// Explains why a path is not the folder of a run.
fn not_a_run(folder: &Path) -> String {
    let name = folder.display();
    if folder.is_file() {
        return format!("{name} is a file: expected the folder of a run");
    }
    if !folder.exists() {
        let near = folder_beside(folder, "summary.json");
        let near = near.map_or_else(String::new, |near| format!(": did you mean {}?", near.display()));
        return format!("there is no folder {name}{near}");
    }
    let what = if folder.join("sweep.json").is_file() {
        ". It is a sweep's: its runs are in its folder `runs`, its points in points.csv"
    } else if folder.join("comparison.json").is_file() {
        ". It is a comparison's: its runs have folders in it"
    } else {
        ""
    };
    format!("{name} is not the folder of a run: there is no summary.json in it{what}")
}

/// Returns a sibling folder whose name is close to that of the missing one and that contains `file`.
pub(crate) fn folder_beside(missing: &Path, file: &str) -> Option<PathBuf> {
    let parent = missing.parent()?;
    let inside = match parent.as_os_str().is_empty() {
        true => Path::new("."),
        false => parent,
    };
    let entries = fs::read_dir(inside).ok()?.flatten();
    let names: Vec<String> = entries
        .filter(|entry| entry.path().join(file).is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let name = missing.file_name()?.to_string_lossy();
    let near = crate::layout::nearest(&name, names.iter().map(String::as_str))?;
    Some(parent.join(near))
}

/// Error on reading a run's folder.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The folder has no `summary.json`.
    #[error("{}", not_a_run(path))]
    NotARun {
        /// Path that was given.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// File or folder that could not be read.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The table of flows was left out by an interruption.
    #[error(
        "{} was not written, since the run was interrupted twice (left_out.txt): run it again with --force",
        path.display()
    )]
    LeftOut {
        /// Table of flows that is missing.
        path: PathBuf,
    },
    /// The content differs from the format that runs write.
    #[error("{} is not what a run writes: {message}", path.display())]
    Content {
        /// File with the bad content.
        path: PathBuf,
        /// Description of the fault and its position.
        message: String,
    },
}

impl RunData {
    /// Returns the data of a run that has just ended.
    pub fn new(input: &Resolved, finished: &Finished) -> Self {
        let mut data = Self::without_paths(input, finished);
        data.add(path_rows(input, &finished.outcome, &finished.flows));
        data
    }

    /// Returns the data without critical paths, whose computation reads all flows.
    pub(super) fn without_paths(input: &Resolved, finished: &Finished) -> Self {
        let outcome = &finished.outcome;
        let mut data = Self {
            summary: finished.summary.clone(),
            scenario: input.toml.clone(),
            flows: finished.flows.clone(),
            series: series_of(&input.run, outcome),
            tables: outcome.tables.clone(),
            topology: Some(Topology::of(&input.run)),
            names: input.names.clone(),
            folder: None,
            pauses_ns: outcome
                .pfc
                .iter()
                .filter(|event| event.pause)
                .map(|event| event.at.as_ns())
                .collect(),
        };
        data.add(flow_times(&input.run, outcome));
        data.add(collective_rows(input, outcome));
        data.add(node_rows(input));
        data.add(operation_rows(input, outcome));
        data.add(request_rows(input, outcome));
        data
    }

    /// Adds a table, if it has rows.
    pub(super) fn add<R: Row>(&mut self, rows: Vec<R>) {
        if !rows.is_empty() {
            self.tables.add(Table::new(rows));
        }
    }

    /// Reads the folder of a run.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        let summary = folder.join("summary.json");
        if !summary.is_file() {
            return Err(ReadError::NotARun {
                path: folder.to_path_buf(),
            });
        }
        let text = read(&summary)?;
        let summary = serde_json::from_str(&text).map_err(|error| content(&summary, error.to_string()))?;
        let scenario = read(&folder.join("scenario.toml"))?;
        let topology = topology_in(folder, &scenario)?;
        let tables = tables_in(folder)?;
        let names = names_of(topology.as_ref(), tables.rows());
        Ok(Self {
            summary,
            flows: flows_in(folder)?,
            topology,
            names,
            scenario,
            series: series_in(&folder.join("series.parquet"))?,
            tables,
            folder: None,
            pauses_ns: pauses_in(&folder.join("pfc.txt"))?,
        })
    }

    /// Returns the fidelity of the run.
    pub fn fidelity(&self) -> Fidelity {
        let table: toml::Table = self.scenario.parse().unwrap_or_default();
        let written = table.get("fidelity").and_then(toml::Value::as_str);
        written.and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Returns the end of the run in ps.
    pub fn end_ps(&self) -> u64 {
        (self.summary.simulated_s * 1e12).round() as u64
    }
}

pub(super) fn content(path: &Path, message: String) -> ReadError {
    ReadError::Content {
        path: path.to_path_buf(),
        message,
    }
}

fn read(path: &Path) -> Result<String, ReadError> {
    paceline_scenario::read_text(path).map_err(|source| ReadError::Io {
        path: path.to_path_buf(),
        source,
    })
}

/// Reads the flows of a run, in the format in which it wrote them.
fn flows_in(folder: &Path) -> Result<FlowRows, ReadError> {
    let (format, name) = flow_table(folder)?;
    let path = folder.join(name);
    let flows = match format {
        Format::Parquet => read_flows_parquet(&path),
        Format::Csv => read_flows_csv(open(&path)?),
    };
    let flows = flows.map_err(|error| content(&path, error.0))?;
    if name == format.flows() {
        return Ok(flows);
    }
    let rows = repeats_in(folder)?;
    flows
        .with_repeats(rows)
        .map_err(|message| content(&folder.join(file_of(Again::DECLARED)), message))
}

/// Returns the table of flows in a run's folder: its format and its name.
pub(super) fn flow_table(folder: &Path) -> Result<(Format, &'static str), ReadError> {
    for format in [Format::Parquet, Format::Csv] {
        let names = [format.flows(), format.unique_flows()];
        if let Some(name) = names.into_iter().find(|name| folder.join(name).is_file()) {
            return Ok((format, name));
        }
    }
    match left_out_of(folder) {
        Some(name) => Err(ReadError::LeftOut {
            path: folder.join(name),
        }),
        // Opening it gives the error of the operating system.
        None => Ok((Format::Csv, Format::Csv.flows())),
    }
}

/// Reads the sequences of repeated flows next to a table of unique ones.
pub(super) fn repeats_in(folder: &Path) -> Result<Vec<Again>, ReadError> {
    let rows = table_in(&folder.join(file_of(Again::DECLARED)), Again::DECLARED)?;
    Ok(rows.rows().unwrap_or_default().to_vec())
}

pub(super) fn open(path: &Path) -> Result<fs::File, ReadError> {
    paceline_scenario::open_file(path).map_err(|source| ReadError::Io {
        path: path.to_path_buf(),
        source,
    })
}

/// Returns the name of the flow table that an interrupted run did not write, if any.
fn left_out_of(folder: &Path) -> Option<&'static str> {
    let names = paceline_scenario::read_text(folder.join(LEFT_OUT)).ok()?;
    let flows = [Format::Csv, Format::Parquet].map(|format| [format.flows(), format.unique_flows()]);
    (flows.into_iter().flatten()).find(|table| names.lines().any(|name| name == *table))
}

/// Reads the series of a run; returns none if it recorded none.
fn series_in(path: &Path) -> Result<Vec<Series>, ReadError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    read_series(path).map_err(|message| content(path, message))
}

/// Reads the pauses of a run; returns none if it kept no list of them.
fn pauses_in(path: &Path) -> Result<Vec<u64>, ReadError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    read_pauses(path)
}

/// Reads the tables that exist.
fn tables_in(folder: &Path) -> Result<Tables, ReadError> {
    let mut tables = Tables::default();
    for declared in TABLES.iter() {
        let path = folder.join(file_of(declared));
        if path.exists() {
            tables.add(table_in(&path, declared)?);
        }
    }
    Ok(tables)
}

pub(super) fn table_in(path: &Path, declared: &Declared) -> Result<Table, ReadError> {
    read_table(path, declared).map_err(|message| content(path, message))
}

/// Returns the file with a run's network and the fidelity with which to read it, both from the scenario.
pub(crate) fn topology_file(scenario: &str) -> (String, Fidelity) {
    let table: toml::Table = scenario.parse().unwrap_or_default();
    let text = |value: Option<&toml::Value>| value.and_then(toml::Value::as_str).map(str::to_string);
    match text(table.get("topology").and_then(|topology| topology.get("file"))) {
        Some(file) => {
            let fidelity = text(table.get("fidelity")).and_then(|name| name.parse().ok());
            (file, fidelity.unwrap_or_default())
        }
        None => (TOPOLOGY.to_string(), EXACT),
    }
}

/// Reads the network of a run; returns `None` if the folder was written by a version that did not store it.
fn topology_in(folder: &Path, scenario: &str) -> Result<Option<Topology>, ReadError> {
    let (name, fidelity) = topology_file(scenario);
    let path = folder.join(name);
    if !path.exists() {
        return Ok(None);
    }
    let wrong = |problems: paceline_scenario::Diagnostics| content(&path, problems.to_string());
    let text = read(&path)?;
    let mut topology = Topology::parse(&path.display().to_string(), &text, fidelity).map_err(wrong)?;
    // Paceline's own file has the rates of the run, others those before `network.rate-factor`.
    let table: toml::Table = scenario.parse().unwrap_or_default();
    if table
        .get("topology")
        .is_some_and(|topology| topology.get("file").is_some())
    {
        let factors = table
            .get("network")
            .and_then(|network| network.get("rate-factor"));
        let factors = factors.and_then(toml::Value::as_table).into_iter().flatten();
        let factors = factors.filter_map(|(name, factor)| Some((name.as_str(), factor.as_float()?)));
        multiply_rates(&mut topology, factors)
            .map_err(|(name, _)| content(&path, format!("it has no links `{name}`")))?;
    }
    Ok(Some(topology))
}

/// Returns the names of a run's nodes from its folder, whose scenario is already read.
///
/// # Errors
/// The network or the table of names cannot be read.
pub fn names_in(folder: &Path, scenario: &str) -> Result<NodeNames, ReadError> {
    let path = folder.join(file_of(NodeRow::DECLARED));
    let table = path
        .is_file()
        .then(|| table_in(&path, NodeRow::DECLARED))
        .transpose()?;
    let rows = table.as_ref().and_then(|table| table.rows()).unwrap_or_default();
    Ok(names_of(topology_in(folder, scenario)?.as_ref(), rows))
}

/// Returns the names of nodes that a run wrote. A network's file does not say what its generator knew, so names from it
/// only stand in for missing ones.
fn names_of(topology: Option<&Topology>, written: &[NodeRow]) -> NodeNames {
    let names = topology.map(NodeNames::of).unwrap_or_default();
    names.renamed(written.iter().map(|row| (row.node, row.name.as_str())))
}

fn read_pauses(path: &Path) -> Result<Vec<u64>, ReadError> {
    /// Largest time in ns that fits into 64 bits of picoseconds.
    const LAST_NS: u64 = u64::MAX / 1000;
    let mut pauses = Vec::new();
    let mut last = 0;
    for (number, line) in (1..).zip(read(path)?.lines()) {
        let fields: Option<Vec<u64>> = line.split_whitespace().map(|field| field.parse().ok()).collect();
        match fields.as_deref() {
            Some(&[time, _, _, _, kind]) if (last..=LAST_NS).contains(&time) => {
                last = time;
                pauses.extend((kind == 1).then_some(time));
            }
            Some(&[time, ..]) => {
                let message =
                    format!("line {number}: {time} ns: expected {last} to {LAST_NS}, times in order");
                return Err(content(path, message));
            }
            _ => {
                return Err(content(
                    path,
                    format!("line {number}: expected 5 numbers, found `{line}`"),
                ));
            }
        }
    }
    Ok(pauses)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::files::{Folder, Waiting, Writing, write_run_into};
    use crate::sample;

    #[test]
    fn a_folder_tells_the_same_as_the_run() {
        let (mut input, outcome) = sample::incast();
        input.run_mut().labels[0] = "a,\"b\"\n<c>".into();
        let finished = sample::finished(&input, outcome);
        let tmp = tempfile::tempdir().unwrap();
        let folder = tmp.path().join("run");
        sample::write(&folder, &input, &finished, Writing::default());
        assert_eq!(RunData::read(&folder).unwrap(), RunData::new(&input, &finished));
        let parquet = Writing {
            force: true,
            format: Format::Parquet,
            ..Writing::default()
        };
        sample::write(&folder, &input, &finished, parquet);
        assert!(!folder.join("flows.csv").exists());
        assert_eq!(RunData::read(&folder).unwrap(), RunData::new(&input, &finished));
    }

    #[test]
    fn a_network_comes_from_the_scenarios_file_or_ours() {
        let (mut input, outcome) = sample::incast();
        input.toml = "fidelity = \"ns3-hpcc\"\n[topology]\nfile = \"net.txt\"\n".into();
        input.files = vec![("net.txt".into(), "2 1 1\n0\n0 1 100Gbps 1us 0\n".into())];
        let finished = sample::finished(&input, outcome);
        let tmp = tempfile::tempdir().unwrap();
        let folder = tmp.path().join("run");
        sample::write(&folder, &input, &finished, Default::default());
        assert!(!folder.join(TOPOLOGY).exists());
        let topology = RunData::read(&folder).unwrap().topology.unwrap();
        assert_eq!(
            (topology.nodes.len(), topology.links[0].delay.as_ps()),
            (2, 1_000_000)
        );
        fs::write(folder.join("net.txt"), "2 1 1\n0\n0 7 100Gbps 1us 0\n").unwrap();
        let error = RunData::read(&folder).unwrap_err().to_string();
        assert!(error.contains("net.txt:3:3: there is no node 7"), "{error}");
        fs::remove_file(folder.join("net.txt")).unwrap();
        assert_eq!(RunData::read(&folder).unwrap().topology, None);
    }

    #[test]
    fn flows_that_were_left_out_are_told_of() {
        let (input, outcome) = sample::incast();
        let finished = sample::finished(&input, outcome);
        let tmp = tempfile::tempdir().unwrap();
        let folder = tmp.path().join("run");
        let waiting = Waiting {
            until: Instant::now(),
            no_longer: || true,
            tell: |what| panic!("{what} is not written"),
        };
        let how = Writing {
            waiting: Some(waiting),
            ..Writing::default()
        };
        let made = Folder::create(&folder, false).unwrap().written(how);
        write_run_into(&made, Path::new(""), &input, &finished).unwrap();
        made.left_out().unwrap();
        made.commit().unwrap();
        let left_out = fs::read_to_string(folder.join(LEFT_OUT)).unwrap();
        assert!(left_out.lines().any(|name| name == "flows.csv"), "{left_out}");
        assert!(!folder.join("flows.csv").exists());
        let error = RunData::read(&folder).unwrap_err().to_string();
        assert!(error.contains("flows.csv was not written"), "{error}");
    }

    #[test]
    fn errors_name_file_and_line() {
        let tmp = tempfile::tempdir().unwrap();
        let error = RunData::read(tmp.path()).unwrap_err();
        assert!(
            error.to_string().contains("is not the folder of a run"),
            "{error}"
        );
        let path = tmp.path().join("series.parquet");
        fs::write(&path, "entity,metric,time_ps,value\n").unwrap();
        let error = series_in(&path).unwrap_err().to_string();
        assert!(
            error.contains("series.parquet is not what a run writes"),
            "{error}"
        );
    }
}
