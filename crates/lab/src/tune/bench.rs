//! Runs of candidates, each made once and kept as a row.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use paceline_kernel::sorted::SortedSet;
use paceline_scenario::{Overrides, Resolved};

use super::space::Parameter;
use crate::InputWarnings;
use crate::files::{Folder, OutputError};
use crate::run::{Finished, side_by_side};
use crate::sweep::{Job, Keep, Plan, Point, Row, Shard, Status, Store, Study, SweepError, metrics, run_ids};

/// Observer of a search.
pub trait Watch: crate::sweep::Watch {
    /// Called at the start, with the largest number of runs; `resumes` if the folder has some already.
    fn start(&self, runs: usize, resumes: bool);
    /// Called after each generation, with the trials so far and the best ratio to the scenario as written.
    fn trials(&self, made: usize, of: usize, best: Option<f64>);
}

/// Results of a candidate, one per seed; or the reason why it has none.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Measured {
    /// Scenario refused before any run, such as a Kmin above Kmax.
    Refused(String),
    /// Run that failed, or lacks a measure.
    Failed(String),
    /// Results of every seed, in the order of the seeds.
    Done(Vec<Ran>),
}

/// Measures of a run that a search looks at.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ran {
    /// Values of [`Bench::measures`], in their order.
    pub(super) values: Vec<f64>,
    /// Number of completed flows.
    pub(super) completed: u64,
    /// Digest of the packets' times.
    digest: String,
}

/// Returns true if the seed changes no packet in these runs of a candidate, so that all are one run.
pub(super) fn is_fixed(runs: &[Ran]) -> bool {
    runs.windows(2).all(|pair| pair[0].digest == pair[1].digest)
}

/// Place where candidates run.
pub(super) struct Bench<'a> {
    pub(super) input: &'a str,
    pub(super) overrides: &'a Overrides,
    pub(super) parameters: &'a [Parameter],
    /// Measures that are kept of each run.
    pub(super) measures: Vec<String>,
    pub(super) folder: &'a Path,
    pub(super) store: Store,
    pub(super) jobs: usize,
    pub(super) watch: &'a dyn Watch,
    /// Number of the next run, for the observer.
    pub(super) next: AtomicUsize,
}

/// Returns the study of a candidate: the scenario with these values, one per parameter; none for it as written.
pub(super) fn study(
    input: &str,
    overrides: &Overrides,
    parameters: &[Parameter],
    values: &[String],
) -> Study {
    let mut overrides = overrides.clone();
    // An empty text keeps the scenario's own value.
    let settings = parameters
        .iter()
        .zip(values)
        .filter(|(_, value)| !value.is_empty());
    let settings = settings.flat_map(|(parameter, value)| parameter.settings(value));
    overrides.set.extend(settings);
    Study {
        input: input.to_string(),
        overrides,
        repeats: None,
        arguments: Vec::new(),
    }
}

impl Bench<'_> {
    /// Runs candidates with each of the seeds, except for runs with a row; `None` if the observer stopped it.
    pub(super) fn measure(
        &self,
        candidates: &[Vec<String>],
        seeds: &[u64],
    ) -> Result<Option<Vec<Measured>>, SweepError> {
        let prepared = side_by_side(candidates.len(), self.jobs, &|i| {
            self.prepare(&candidates[i], seeds)
        });
        // Equal candidates share their runs, which must not be made twice at the same time.
        let mut known = SortedSet::new();
        let mut missing = Vec::new();
        for (index, one) in prepared.iter().enumerate() {
            let Ok((_, plan)) = one else { continue };
            let ids = plan.points[0].runs.iter().enumerate();
            for (repeat, id) in ids.filter(|(_, id)| known.insert(id.as_str())) {
                match self.store.row(id).filter(|_| self.store.has(id, Keep::Row)) {
                    Some(row) => self
                        .watch
                        .end(self.next.fetch_add(1, Ordering::Relaxed), &without_summary(row)),
                    None => missing.push((index, repeat)),
                }
            }
        }
        // The first seed shows whether the others can be different.
        let (first, others): (Vec<_>, Vec<_>) = missing.into_iter().partition(|(_, repeat)| *repeat == 0);
        for some in [first, others] {
            let made = side_by_side(some.len(), self.jobs, &|i| {
                let (index, repeat) = some[i];
                let (study, plan) = prepared[index].as_ref().expect("it has runs");
                self.make(study, plan, repeat, some.len())
            });
            for row in made {
                if row?.is_none() {
                    return Ok(None);
                }
            }
        }
        let results = prepared.iter().map(|one| match one {
            Ok((_, plan)) => self.results(plan),
            Err(why) => Measured::Refused(why.clone()),
        });
        Ok(Some(results.collect()))
    }

    /// Resolves a candidate, and plans its runs.
    fn prepare(&self, values: &[String], seeds: &[u64]) -> Result<(Study, Plan), String> {
        let study = study(self.input, self.overrides, self.parameters, values);
        let input = study.load(&[], None).map_err(|error| error.first().to_string())?;
        let version = crate::identity::version();
        let plan = Plan {
            version: version.to_string(),
            scenario: input.name.clone(),
            description: String::new(),
            arguments: Vec::new(),
            axes: Vec::new(),
            seeds: seeds.to_vec(),
            points: vec![Point {
                values: Vec::new(),
                scheme: input.scheme.clone(),
                runs: run_ids(&input, seeds, version),
            }],
            input_warnings: InputWarnings::of([&input]),
            seconds: Vec::new(),
            memory: 0,
            stored: Default::default(),
        };
        Ok((study, plan))
    }

    fn make(
        &self,
        study: &Study,
        plan: &Plan,
        repeat: usize,
        beside: usize,
    ) -> Result<Option<Row>, SweepError> {
        if self.watch.stopped() {
            return Ok(None);
        }
        let job = Job {
            study,
            plan,
            folder: self.folder,
            shard: Shard::WHOLE,
            keep: Keep::Row,
            write: no_files,
            jobs: self.jobs,
            force: false,
        };
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = &plan.points[0].runs[repeat];
        let row = job.one(
            &self.store,
            id,
            (0, repeat),
            (beside, self.watch),
            &mut |input, now| self.watch.progress(number, input, now),
        )?;
        if let Some(row) = &row {
            self.watch.end(number, row);
        }
        Ok(row)
    }

    /// Reads the results of a candidate from its rows.
    fn results(&self, plan: &Plan) -> Measured {
        let mut all = Vec::new();
        for id in &plan.points[0].runs {
            let row = self.store.row(id);
            let Some(row) = row else {
                return Measured::Failed("its row was removed meanwhile".to_string());
            };
            match self.ran(&row) {
                Ok(ran) => all.push(ran),
                Err(why) => return Measured::Failed(why),
            }
        }
        Measured::Done(all)
    }

    fn ran(&self, row: &Row) -> Result<Ran, String> {
        let Some(summary) = row.summary.as_ref().filter(|_| row.status == Status::Completed) else {
            return Err(row.message.clone().unwrap_or_default());
        };
        let all = metrics(summary);
        let value = |measure: &String| {
            let found = all
                .iter()
                .find(|(name, _)| name == measure)
                .map(|(_, value)| *value);
            found.ok_or_else(|| format!("with seed {} it has no `{measure}`", row.seed))
        };
        Ok(Ran {
            values: self.measures.iter().map(value).collect::<Result<_, _>>()?,
            completed: summary.flows.completed,
            digest: summary.digest.clone(),
        })
    }
}

/// Returns a row from before, whose packets do not count for this call's speed.
fn without_summary(row: Row) -> Row {
    Row { summary: None, ..row }
}

/// Writes nothing, since only rows are kept.
fn no_files(_: &Folder, _: &Path, _: &Resolved, _: &Finished) -> Result<(), OutputError> {
    Ok(())
}
