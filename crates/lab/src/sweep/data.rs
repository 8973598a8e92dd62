//! Content of a sweep's folder, from which tables and pages are made.

use std::path::Path;

use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;
use paceline_scenario::Warning;

use super::{Plan, Row, SweepError, sealed_plan};
use crate::files::{Unsealed, folder_beside, unsealed};
use crate::results::Summary;

/// Effect of the seeds of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seeds {
    /// Results differ; or there is only one seed, or not all have run.
    Matter,
    /// Results are equal, since nothing is drawn at random.
    NothingDrawn,
    /// No packet's timing differs, since nothing reacts to random choices, such as the choice of marked packets.
    NothingActs,
}

impl Seeds {
    /// Returns the effect of `count` seeds by the finished runs of a point: the digest of each, if it succeeded, and
    /// true if it drew nothing.
    pub(super) fn of<'a>(count: usize, runs: impl Iterator<Item = (Option<&'a str>, bool)> + Clone) -> Self {
        let digests: Option<Vec<&str>> = runs.clone().map(|(digest, _)| digest).collect();
        let whole = runs.clone().count() == count && count > 1;
        let same = digests.is_some_and(|all| all.windows(2).all(|pair| pair[0] == pair[1]));
        match whole && same {
            false => Self::Matter,
            true if runs.clone().all(|(_, draws_nothing)| draws_nothing) => Self::NothingDrawn,
            true => Self::NothingActs,
        }
    }

    /// Returns the reason, in a few words, why runs with several seeds count as one.
    pub fn in_short(self) -> Option<&'static str> {
        match self {
            Self::Matter => None,
            Self::NothingDrawn => Some("one run: nothing is random"),
            Self::NothingActs => Some("one run: the seed changes no packet"),
        }
    }
}

/// Plan of a sweep and its finished rows.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepData {
    /// Axes, points and seeds of the sweep.
    pub plan: Plan,
    /// Rows by the ids of their runs; an unfinished run has none.
    pub rows: SortedMap<String, Row>,
}

impl SweepData {
    /// Reads a sweep's folder, finished or not.
    ///
    /// # Errors
    /// It is not a sweep's folder, or a file in it is damaged; the error names the file.
    pub fn read(folder: &Path) -> Result<Self, SweepError> {
        Self::of(read_plan(folder)?, folder)
    }

    /// Reads the rows of a plan from its folder.
    pub(super) fn of(plan: Plan, folder: &Path) -> Result<Self, SweepError> {
        let mut rows = SortedMap::new();
        for (id, ..) in plan.runs() {
            if let Some(row) = read_row(folder, id)? {
                check_version(folder, &plan, &row)?;
                rows.insert(id.to_string(), row);
            }
        }
        Ok(Self { plan, rows })
    }

    /// Returns every existing row once, in the order of the plan, with the number of its point.
    pub fn in_order(&self) -> impl Iterator<Item = (usize, &Row)> {
        let runs = self.plan.runs().into_iter();
        runs.filter_map(|(id, point, _)| Some((point, self.rows.get(id)?)))
    }

    /// Formats a point's settings: `cc.scheme=hpcc check=true`.
    pub fn describe(&self, point: usize) -> String {
        describe(&self.plan, point)
    }

    /// Returns the row of a point's `repeat`-th seed, if it exists.
    pub fn row(&self, point: usize, repeat: usize) -> Option<&Row> {
        self.rows.get(self.plan.points.get(point)?.runs.get(repeat)?)
    }

    /// Returns the summaries of a point's finished runs with their seeds, in the order of the seeds.
    pub fn summaries(&self, point: usize) -> impl Iterator<Item = (u64, &Summary)> {
        let seeds = self.plan.seeds.iter().enumerate();
        seeds.filter_map(move |(repeat, &seed)| Some((seed, self.row(point, repeat)?.summary.as_ref()?)))
    }

    /// Returns true if a point has repeats and all of them behave equally: the seed has no effect there.
    pub fn point_is_fixed(&self, point: usize) -> bool {
        self.seeds_at(point) != Seeds::Matter
    }

    /// Returns the effect of a point's seeds. (A digest covers only the timing of packets: marks that nothing reacts to
    /// are visible only in the metrics.)
    pub fn seeds_at(&self, point: usize) -> Seeds {
        let rows: Vec<&Row> = (0..self.plan.seeds.len())
            .filter_map(|repeat| self.row(point, repeat))
            .collect();
        let runs = rows.iter().map(|row| {
            let digest = row.summary.as_ref().map(|summary| summary.digest.as_str());
            (digest, row.draws_nothing)
        });
        Seeds::of(self.plan.seeds.len(), runs)
    }

    /// Returns true if a point can be compared with others: no run of it failed or left flows unfinished, which would
    /// make its completion times look better than they are.
    pub fn point_is_comparable(&self, point: usize) -> bool {
        let mut rows = (0..self.plan.seeds.len()).filter_map(|repeat| self.row(point, repeat));
        rows.all(|row| {
            let whole = |summary: &Summary| summary.flows.completed == summary.flows.total;
            row.summary.as_ref().is_some_and(whole)
        })
    }

    /// Returns a metric of a point's finished runs, with their seeds; runs that lack it are left out.
    pub fn values(&self, point: usize, metric: impl Fn(&Summary) -> Option<f64>) -> Vec<(u64, f64)> {
        let summaries = self.summaries(point);
        summaries
            .filter_map(|(seed, summary)| Some((seed, metric(summary)?)))
            .collect()
    }
}

/// Formats the settings of a plan's point: `cc.scheme=hpcc check=true`.
pub fn describe(plan: &Plan, point: usize) -> String {
    let values = plan.values(&plan.points[point]);
    let settings = plan.axes.iter().zip(values);
    let settings: Vec<_> = settings
        .map(|(axis, value)| format!("{}={value}", axis.key))
        .collect();
    settings.join(" ")
}

/// Returns the warnings of a sweep's runs that `which` selects, each once with the number of runs that have it, the
/// most frequent first.
pub fn warnings(data: &SweepData, which: impl Fn(&Warning) -> bool) -> Vec<String> {
    const SHOWN: usize = 6;
    let mut found: Vec<(String, usize)> = Vec::new();
    let summaries = data.rows.values().filter_map(|row| row.summary.as_ref());
    let all = summaries.flat_map(|summary| &summary.warnings);
    for warning in all.filter(|warning| which(warning)).map(Warning::to_string) {
        match found.iter_mut().find(|(known, _)| *known == warning) {
            Some((_, count)) => *count += 1,
            None => found.push((warning, 1)),
        }
    }
    // Equally frequent ones are in alphabetical order.
    found.order_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let runs = data.rows.len();
    let about = |(warning, count): &(String, usize)| match *count == runs {
        true => warning.clone(),
        false => format!("{count} of {runs} runs: {warning}"),
    };
    let mut all: Vec<String> = found.iter().take(SHOWN).map(about).collect();
    if found.len() > SHOWN {
        all.push(format!("and {} more in the runs' summaries", found.len() - SHOWN));
    }
    all
}

pub(super) fn plan_file(folder: &Path) -> std::path::PathBuf {
    folder.join("sweep.json")
}

pub(super) fn row_file(folder: &Path, id: &str) -> std::path::PathBuf {
    folder.join("rows").join(format!("{id}.json"))
}

/// Reads the plan in a sweep's folder.
///
/// # Errors
/// It is not a sweep's folder, or the plan is damaged.
pub fn read_plan(folder: &Path) -> Result<Plan, SweepError> {
    let file = plan_file(folder);
    let refused = |what: &dyn std::fmt::Display| {
        SweepError::Refused(format!(
            "{} is not the folder of a sweep: {what}",
            folder.display()
        ))
    };
    if !file.is_file() {
        let near = folder_beside(folder, "sweep.json").filter(|_| !folder.exists());
        let near = near.map_or_else(String::new, |near| format!(": did you mean {}?", near.display()));
        return Err(refused(&format!("there is no sweep.json in it{near}")));
    }
    let plan = sealed_plan::read(&file).map_err(|why| match why {
        Unsealed::Damaged(error) => refused(&format!("sweep.json: {error}")),
        Unsealed::Edited => SweepError::Refused(format!(
            "{} was edited after `paceline sweep` wrote it, so runs may belong to other points (start again with \
             --force, or remove its `digest` line to accept the change)",
            file.display()
        )),
    })?;
    plan.check()
        .map_err(|error| refused(&format!("sweep.json: {error}")))?;
    Ok(plan)
}

/// Checks that a row is of the version of its plan.
pub(super) fn check_version(folder: &Path, plan: &Plan, row: &Row) -> Result<(), SweepError> {
    if plan.version.split(", ").any(|version| version == row.version) {
        return Ok(());
    }
    Err(SweepError::Refused(format!(
        "{} is by version {}, its sweep by {}: results of different versions are not mixed (remove it to repeat the \
         run, or use `paceline merge --mix-versions`)",
        row_file(folder, &row.id).display(),
        row.version,
        plan.version
    )))
}

/// Reads the row of a run, if it exists.
pub(super) fn read_row(folder: &Path, id: &str) -> Result<Option<Row>, SweepError> {
    let file = row_file(folder, id);
    let damaged = |what: &dyn std::fmt::Display| {
        SweepError::Refused(format!(
            "{} is damaged: {what} (remove it to repeat the run)",
            file.display()
        ))
    };
    let text = match paceline_scenario::read_text(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(damaged(&error)),
    };
    let row: Row = unsealed(&text).map_err(|why| match why {
        Unsealed::Damaged(error) => damaged(&error),
        Unsealed::Edited => SweepError::Edited(file.clone()),
    })?;
    if row.id != id {
        return Err(damaged(&format!("it is the row of {}", row.id)));
    }
    Ok(Some(row))
}

/// Parses the text of a row that does not come from a file.
pub(super) fn parse_row(text: &str) -> Result<Row, String> {
    unsealed(text).map_err(|why| match why {
        Unsealed::Damaged(error) => error,
        Unsealed::Edited => "its digest does not fit".to_string(),
    })
}
