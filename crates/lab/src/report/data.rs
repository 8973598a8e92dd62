//! What a report is made of: the content of a run's folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::{Format, Series, read_flows_parquet, read_series, series_of};
use crate::results::{FlowRow, Summary, flow_rows};
use crate::run::Finished;
use paceline_scenario::Resolved;

/// A run as its folder tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunData {
    /// `summary.json`.
    pub summary: Summary,
    /// `scenario.toml`.
    pub scenario: String,
    /// `flows.csv` or `flows.parquet`.
    pub flows: Vec<FlowRow<'static>>,
    /// `series.parquet`, if there is one.
    pub series: Vec<Series>,
    /// Times of the pauses in `pfc.txt`, if there is one, in ns.
    pub pauses_ns: Vec<u64>,
}

/// Why a run's folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no `summary.json`.
    #[error("{} is not the folder of a run: there is no summary.json in it", path.display())]
    NotARun {
        /// The folder.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The content is not what a run writes.
    #[error("{} is not what a run writes: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
}

impl RunData {
    /// The data of a run that has just ended.
    pub fn new(input: &Resolved, finished: &Finished) -> Self {
        let outcome = &finished.outcome;
        Self {
            summary: finished.summary.clone(),
            scenario: input.toml.clone(),
            flows: flow_rows(input, outcome).map(FlowRow::into_owned).collect(),
            series: series_of(&input.run, outcome),
            pauses_ns: outcome
                .pfc
                .iter()
                .filter(|event| event.pause)
                .map(|event| event.at.as_ns())
                .collect(),
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
        Ok(Self {
            summary,
            scenario: read(&folder.join("scenario.toml"))?,
            flows: flows_in(folder)?,
            series: series_in(&folder.join("series.parquet"))?,
            pauses_ns: pauses_in(&folder.join("pfc.txt"))?,
        })
    }
}

fn content(path: &Path, message: String) -> ReadError {
    ReadError::Content {
        path: path.to_path_buf(),
        message,
    }
}

fn read(path: &Path) -> Result<String, ReadError> {
    fs::read_to_string(path).map_err(|source| ReadError::Io {
        path: path.to_path_buf(),
        source,
    })
}

/// The flows of a run, in the format in which it wrote them.
fn flows_in(folder: &Path) -> Result<Vec<FlowRow<'static>>, ReadError> {
    let parquet = folder.join(Format::Parquet.flows());
    if parquet.is_file() {
        return read_flows_parquet(&parquet).map_err(|message| content(&parquet, message));
    }
    read_flows(&folder.join(Format::Csv.flows()))
}

fn read_flows(path: &Path) -> Result<Vec<FlowRow<'static>>, ReadError> {
    let text = read(path)?;
    let mut csv = csv::Reader::from_reader(text.as_bytes());
    csv.deserialize()
        .map(|row| row.map_err(|error| content(path, error.to_string())))
        .collect()
}

/// The series of a run; none when it recorded none.
fn series_in(path: &Path) -> Result<Vec<Series>, ReadError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    read_series(path).map_err(|message| content(path, message))
}

/// The pauses of a run; none when it kept no list of them.
fn pauses_in(path: &Path) -> Result<Vec<u64>, ReadError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    read_pauses(path)
}

fn read_pauses(path: &Path) -> Result<Vec<u64>, ReadError> {
    let mut pauses = Vec::new();
    for (number, line) in (1..).zip(read(path)?.lines()) {
        let fields: Option<Vec<u64>> = line.split_whitespace().map(|field| field.parse().ok()).collect();
        match fields.as_deref() {
            Some([time, _, _, _, kind]) => pauses.extend((*kind == 1).then_some(*time)),
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
    use super::*;
    use crate::files::Writing;
    use crate::sample;

    #[test]
    fn a_folder_tells_the_same_as_the_run() {
        let (mut input, outcome) = sample::incast();
        input.run.labels[0] = "a,\"b\"\n<c>".into();
        let finished = sample::finished(&input, outcome);
        let tmp = tempfile::tempdir().unwrap();
        let folder = tmp.path().join("run");
        crate::files::write_run(&folder, &input, &finished, Writing::default()).unwrap();
        assert_eq!(RunData::read(&folder).unwrap(), RunData::new(&input, &finished));
        let parquet = Writing {
            force: true,
            format: Format::Parquet,
        };
        crate::files::write_run(&folder, &input, &finished, parquet).unwrap();
        assert!(!folder.join("flows.csv").exists());
        assert_eq!(RunData::read(&folder).unwrap(), RunData::new(&input, &finished));
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
