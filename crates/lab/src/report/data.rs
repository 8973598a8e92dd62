//! What a report is made of: the content of a run's folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::files::{Series, series_of};
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
    /// `flows.csv`.
    pub flows: Vec<FlowRow<'static>>,
    /// `series.csv`, if there is one.
    pub series: Vec<Series>,
    /// Times of the pauses in `pfc.txt`, in ns.
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
            flows: read_flows(&folder.join("flows.csv"))?,
            series: read_series(&folder.join("series.csv"))?,
            pauses_ns: read_pauses(&folder.join("pfc.txt"))?,
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

fn read_flows(path: &Path) -> Result<Vec<FlowRow<'static>>, ReadError> {
    let text = read(path)?;
    let mut csv = csv::Reader::from_reader(text.as_bytes());
    csv.deserialize()
        .map(|row| row.map_err(|error| content(path, error.to_string())))
        .collect()
}

/// The series of a file in its order; none when there is no file.
fn read_series(path: &Path) -> Result<Vec<Series>, ReadError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut all: Vec<Series> = Vec::new();
    for (number, line) in (2..).zip(read(path)?.lines().skip(1)) {
        let mut fields = line.split(',');
        let row = (|| {
            let (entity, metric) = (fields.next()?, fields.next()?);
            Some((
                entity,
                metric,
                fields.next()?.parse().ok()?,
                fields.next()?.parse().ok()?,
            ))
        })();
        let Some((entity, metric, time, value)) = row else {
            let message = format!("line {number}: expected `entity,metric,time_ps,value`, found `{line}`");
            return Err(content(path, message));
        };
        match all.last_mut() {
            Some(last) if last.entity == entity && last.metric == metric => last.points.push((time, value)),
            _ => all.push(Series {
                entity: entity.to_string(),
                metric: metric.to_string(),
                points: vec![(time, value)],
            }),
        }
    }
    Ok(all)
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
    use crate::sample;

    #[test]
    fn a_folder_tells_the_same_as_the_run() {
        let (mut input, outcome) = sample::incast();
        input.run.labels[0] = "a,\"b\"\n<c>".into();
        let finished = sample::finished(&input, outcome);
        let tmp = tempfile::tempdir().unwrap();
        let folder = tmp.path().join("run");
        crate::files::write_run(&folder, &input, &finished, false).unwrap();
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
        let path = tmp.path().join("series.csv");
        fs::write(
            &path,
            "entity,metric,time_ps,value\nflow 1,goodput_bps,1,2\nflow 1,x\n",
        )
        .unwrap();
        let error = read_series(&path).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("series.csv is not what a run writes: line 3"),
            "{error}"
        );
    }
}
