//! Tables of large sweeps, written in pieces: a million runs fit in a few hundred megabytes of memory.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use paceline_scenario::Warning;

use super::data::{check_version, read_plan, read_row, row_file};
use super::notes::{Brief, RunResult, Runs, notes_of};
use super::points::{self, PointRow, columns_of_points, of_runs};
use super::results::{self, columns_of_runs, write_records, write_results};
use super::spool::{Line, Spool};
use super::{Metric, Plan, Row, Seeds, Status, SweepData, SweepError};
use crate::files::columns::{Column, GroupWriter, Values, groups};
use crate::files::{Out, OutputError, write_file};

/// Largest number of runs whose rows are held in memory; larger sweeps have tables, and no page.
pub const IN_MEMORY_MAX: usize = 10_000;
/// Number of rows of a table that are in memory at a time.
const PIECE: usize = 1 << 13;

/// Sweep whose tables have been written.
#[derive(Clone, Debug)]
pub enum Tables {
    /// Sweep of at most [`IN_MEMORY_MAX`] runs, with its rows.
    Whole(SweepData),
    /// Larger one, with counts.
    Large(Overview),
}

impl Tables {
    /// Returns the plan of the sweep.
    pub const fn plan(&self) -> &Plan {
        match self {
            Self::Whole(data) => &data.plan,
            Self::Large(overview) => &overview.plan,
        }
    }

    /// Returns the sweep with its rows; `None` for a large one.
    pub const fn whole(&self) -> Option<&SweepData> {
        match self {
            Self::Whole(data) => Some(data),
            Self::Large(_) => None,
        }
    }
}

/// Returns the number of runs of a plan that have a row in its folder.
pub fn count_rows(folder: &Path, plan: &Plan) -> usize {
    let ids = plan.runs().into_iter().map(|(id, ..)| id);
    ids.filter(|id| row_file(folder, id).is_file()).count()
}

/// Counts of a large sweep.
#[derive(Clone, Debug)]
pub struct Overview {
    /// Plan of the sweep.
    pub plan: Plan,
    /// Number of runs that succeeded, each counted once per point and seed.
    pub completed: usize,
    /// Number of runs that failed.
    pub failed: usize,
    /// Number of runs without a row.
    pub missing: usize,
    /// First failed runs: index of the point, seed, and message.
    pub failures: Vec<(usize, u64, String)>,
    /// Warnings of the runs, each once with the number of runs that have it.
    pub warnings: Vec<(Warning, usize)>,
}

impl Overview {
    /// Returns a line with the counts.
    pub fn line(&self) -> String {
        let mut text = format!("{} runs completed", self.completed);
        for (count, what) in [(self.failed, "failed"), (self.missing, "missing")] {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        text
    }
}

/// Writes `results.csv`, `points.csv`, their Parquet files and `notes.json` from the rows in a sweep's folder.
///
/// # Errors
/// It is not a sweep's folder, a file in it is damaged, or a table cannot be written.
pub fn write_tables(folder: &Path) -> Result<Tables, SweepError> {
    let plan = read_plan(folder)?;
    if plan.points.len() * plan.seeds.len() <= IN_MEMORY_MAX {
        let data = SweepData::of(plan, folder)?;
        write_results(folder, &data)?;
        return Ok(Tables::Whole(data));
    }
    let overview = write_in_pieces(folder, plan)?;
    // A page of an earlier, smaller grid would show other runs.
    match fs::remove_file(folder.join("report.html")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(super::store::io_error("remove", &folder.join("report.html"))(error).into())
        }
        _ => Ok(Tables::Large(overview)),
    }
}

/// Number of failed runs that are kept with their messages.
const FAILURES_MAX: usize = 1000;

/// Writes the tables of a sweep of any size with a bounded part of the rows in memory.
pub(super) fn write_in_pieces(folder: &Path, plan: Plan) -> Result<Overview, SweepError> {
    let failed = |source| OutputError::Io {
        action: "write a temporary file in",
        path: folder.to_path_buf(),
        source,
    };
    // The tables need several passes: one file is faster to read again than the rows' files.
    let mut spool = Spool::create(folder).map_err(failed)?;
    let mut overview = Overview {
        plan,
        completed: 0,
        failed: 0,
        missing: 0,
        failures: Vec::new(),
        warnings: Vec::new(),
    };
    let (points, seeds) = (overview.plan.points.len(), overview.plan.seeds.len());
    for point in 0..points {
        for repeat in 0..seeds {
            let id = &overview.plan.points[point].runs[repeat];
            let row = read_row(folder, id)?;
            if let Some(row) = &row {
                check_version(folder, &overview.plan, row)?;
            }
            spool.push(row.as_ref()).map_err(failed)?;
            overview.add(point, overview.plan.seeds[repeat], row);
        }
    }
    overview
        .warnings
        .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let effects = write_points(folder, &overview.plan, &mut spool)?;
    write_runs(folder, &overview.plan, &mut spool)?;
    let mut source = Source {
        folder,
        plan: &overview.plan,
        spool: &mut spool,
        failure: None,
    };
    let notes = notes_of(&overview.plan, &effects, &mut source);
    if let Some(error) = source.failure {
        return Err(error);
    }
    write_file(&folder.join("notes.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, &notes)?;
        writeln!(out)
    })?;
    Ok(overview)
}

impl Overview {
    fn add(&mut self, point: usize, seed: u64, row: Option<Row>) {
        let Some(row) = row else {
            self.missing += 1;
            return;
        };
        match row.status {
            Status::Completed => self.completed += 1,
            Status::Failed => self.failed += 1,
        }
        if row.status == Status::Failed && self.failures.len() < FAILURES_MAX {
            self.failures.push((point, seed, row.message.unwrap_or_default()));
        }
        for warning in row.summary.into_iter().flat_map(|summary| summary.warnings) {
            match self.warnings.iter().position(|(known, _)| *known == warning) {
                Some(known) => self.warnings[known].1 += 1,
                // A text with numbers of the run would be another one in each.
                None if self.warnings.len() < FAILURES_MAX => self.warnings.push((warning, 1)),
                None => {}
            }
        }
    }
}

/// A table as CSV and as Parquet, written side by side.
struct Both<'a> {
    csv: csv::Writer<&'a mut Out>,
    parquet: GroupWriter<&'a mut Out>,
}

impl Both<'_> {
    fn piece(&mut self, columns: &[Column], rows: usize) -> io::Result<()> {
        write_records(&mut self.csv, columns)?;
        self.parquet.group(columns, 0..rows)
    }
}

/// Writes `<name>.csv` and `<name>.parquet` with columns like `like`, in pieces that `fill` gives.
fn write_both(
    folder: &Path,
    name: &str,
    (like, metadata): (&[Column], &[(&str, String)]),
    fill: impl FnOnce(&mut Both<'_>) -> io::Result<()>,
) -> Result<(), OutputError> {
    let mut inner = Ok(());
    let written = write_file(&folder.join(format!("{name}.csv")), |csv| {
        inner = write_file(&folder.join(format!("{name}.parquet")), |parquet| {
            let mut both = Both {
                csv: csv::Writer::from_writer(csv),
                parquet: groups(parquet, like, metadata)?,
            };
            both.csv
                .write_record(like.iter().map(|column| column.name.as_str()))?;
            fill(&mut both)?;
            both.csv.flush()?;
            both.parquet.close()
        });
        match &inner {
            Ok(()) => Ok(()),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    });
    // The inner error names its file.
    inner.and(written)
}

/// Writes `results.csv` and `results.parquet`.
fn write_runs(folder: &Path, plan: &Plan, spool: &mut Spool) -> Result<(), OutputError> {
    let seeds = plan.seeds.len();
    let names = spool.names.clone();
    let piece = |first: usize, lines: &[Line]| {
        let runs: Vec<(usize, usize)> = (first..first + lines.len())
            .map(|run| (run / seeds, run % seeds))
            .collect();
        let ended = lines
            .iter()
            .map(|line| line.status.map(|status| (status, line.message.as_deref())));
        let mut columns = columns_of_runs(plan, &runs, ended);
        let mut table = vec![vec![None; lines.len()]; names.len()];
        for (i, line) in lines.iter().enumerate() {
            for &(name, value) in &line.metrics {
                table[name as usize][i] = Some(value);
            }
        }
        let metrics = names.iter().zip(table);
        columns.extend(metrics.map(|(name, values)| Column::new(name, Values::Real(values))));
        columns
    };
    // An empty piece has the columns, which the file needs before its first row.
    let like = piece(0, &[]);
    write_both(folder, "results", (&like, &results::metadata(plan)), |both| {
        let count = spool.len();
        let mut all = spool.from(0)?;
        for first in (0..count).step_by(PIECE) {
            let lines: io::Result<Vec<Line>> =
                (first..count.min(first + PIECE)).map(|_| all.next()).collect();
            let lines = lines?;
            both.piece(&piece(first, &lines), lines.len())?;
        }
        Ok(())
    })
}

/// Writes `points.csv` and `points.parquet`; returns the effect of the seeds of each point.
fn write_points(folder: &Path, plan: &Plan, spool: &mut Spool) -> Result<Vec<Seeds>, OutputError> {
    let mut effects = Vec::with_capacity(plan.points.len());
    let like = columns_of_points(plan, &[]);
    let names = spool.names.clone();
    write_both(folder, "points", (&like, &points::metadata(plan)), |both| {
        let mut all = spool.from(0)?;
        let mut rows: Vec<PointRow> = Vec::new();
        for point in 0..plan.points.len() {
            let lines: io::Result<Vec<Line>> = plan.seeds.iter().map(|_| all.next()).collect();
            let lines = lines?;
            let there = lines.iter().filter(|line| line.status.is_some());
            let runs = there.map(|line| {
                let digest = (line.status == Some(Status::Completed)).then_some(line.digest.as_str());
                (digest, line.draws_nothing)
            });
            let effect = Seeds::of(plan.seeds.len(), runs);
            effects.push(effect);
            let metrics = lines.iter().map(|line| named(&names, line));
            let estimates = of_runs(metrics, effect).into_iter();
            rows.extend(estimates.map(|(name, estimate)| (point, name, estimate)));
            if rows.len() >= PIECE {
                both.piece(&columns_of_points(plan, &rows), rows.len())?;
                rows.clear();
            }
        }
        match rows.is_empty() {
            true => Ok(()),
            false => both.piece(&columns_of_points(plan, &rows), rows.len()),
        }
    })?;
    Ok(effects)
}

fn named(names: &[String], line: &Line) -> Vec<Metric> {
    let metrics = line.metrics.iter();
    metrics
        .map(|&(name, value)| (names[name as usize].clone(), value))
        .collect()
}

/// Results of a large sweep for its notes.
struct Source<'a> {
    folder: &'a Path,
    plan: &'a Plan,
    spool: &'a mut Spool,
    /// First error, after which there are no more results.
    failure: Option<SweepError>,
}

impl Source<'_> {
    fn lines(&mut self, point: usize) -> io::Result<Option<Vec<RunResult>>> {
        let seeds = self.plan.seeds.len();
        let mut found = Vec::with_capacity(seeds);
        for repeat in 0..seeds {
            let line = self.spool.line(point * seeds + repeat)?;
            if line.status != Some(Status::Completed) {
                return Ok(None);
            }
            let metrics = named(&self.spool.names, &line);
            found.push((line.digest, metrics));
        }
        Ok(Some(found))
    }
}

impl Runs for Source<'_> {
    fn results(&mut self, point: usize) -> Option<Vec<RunResult>> {
        self.lines(point).unwrap_or_else(|source| {
            let error = OutputError::Io {
                action: "read a temporary file in",
                path: self.folder.to_path_buf(),
                source,
            };
            self.failure.get_or_insert(error.into());
            None
        })
    }

    fn briefs(&mut self, point: usize, key: &str) -> Vec<Brief> {
        let mut found = Vec::new();
        for id in &self.plan.points[point].runs {
            match read_row(self.folder, id) {
                Ok(row) => found.extend(row.and_then(|row| row.summary).map(|one| Brief::of(&one, key))),
                Err(error) => {
                    self.failure.get_or_insert(error);
                }
            }
        }
        found
    }
}
