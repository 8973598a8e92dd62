//! Execution of a sweep, or of a part of it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use paceline_fabric::Progress;
use paceline_fabric::spec::{Accounted, RecordSpec};
use paceline_scenario::Resolved;

use super::id::run_ids;
use super::store::Store;
use super::{Keep, Plan, Row, Shard, Status, Study, SweepError};
use crate::files::{Folder, OutputError, write_summary_into, write_summary_like};
use crate::repeats::same_but_for_seed;
use crate::results::RunStatus;
use crate::run::{Control, Cut, Finished, Resources, execute_on, side_by_side, threads_each};

/// Function that writes all files of a run into a subfolder of one that is being made.
pub type WriteRun = fn(&Folder, &Path, &Resolved, &Finished) -> Result<(), OutputError>;

/// Sweep to be run.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Definition of the sweep.
    pub study: &'a Study,
    /// Plan made from the study.
    pub plan: &'a Plan,
    /// Folder of the results.
    pub folder: &'a Path,
    /// Part of the sweep that this process runs.
    pub shard: Shard,
    /// Extent of the files that are written per run.
    pub keep: Keep,
    /// Function that writes all files of a run, for [`Keep::All`].
    pub write: WriteRun,
    /// Number of parallel runs.
    pub jobs: usize,
    /// True if the results of an earlier sweep in the folder are discarded.
    pub force: bool,
}

/// Observer of a sweep. Runs are numbered from 0.
pub trait Watch: Sync {
    /// Called at the start: `runs` are to be made in addition to those that are `there`.
    fn begin(&self, runs: usize, there: usize, plan_changed: bool);
    /// Called with the progress of a run.
    fn progress(&self, run: usize, input: &Resolved, now: &Progress) -> Control;
    /// Called for runs that may have `asked` threads, with the number of parts of one of them, or the reason why it is
    /// not cut.
    fn cut(&self, asked: usize, cut: Cut);
    /// Called if runs get only `each` threads, fewer than requested, since several run in parallel.
    fn share(&self, beside: usize, each: usize);
    /// Called when a run has ended with this row.
    fn end(&self, run: usize, row: &Row);
    /// Returns true if the sweep is to stop.
    fn stopped(&self) -> bool;
}

/// Result of running a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Runs with results from before.
    pub there: usize,
    /// Runs that this call completed.
    pub completed: usize,
    /// Runs that failed in this call.
    pub failed: usize,
    /// Runs that were not made, since the observer stopped the sweep.
    pub left: usize,
}

impl Job<'_> {
    /// Makes the missing runs. Each run is written as soon as it ends, so no finished run is lost if this process is
    /// stopped or killed.
    ///
    /// # Errors
    /// The folder does not fit or cannot be written, or the scenario has changed meanwhile.
    pub fn run(&self, watch: &dyn Watch) -> Result<Ran, SweepError> {
        let store = Store::open(self.folder, self.plan, self.shard, self.force)?;
        let all = self.plan.runs();
        let mine = self.shard.of(&all);
        let left: Vec<_> = mine.iter().filter(|(id, ..)| !store.has(id, self.keep)).collect();
        let mut ran = Ran {
            there: mine.len() - left.len(),
            ..Ran::default()
        };
        watch.begin(left.len(), ran.there, store.plan_changed);
        // After an error of the sweep itself, such as a full disk, runs that have not started are skipped.
        let broken = AtomicBool::new(false);
        let make = |number: usize, beside: usize| {
            if broken.load(Ordering::Relaxed) || watch.stopped() {
                return Ok(None);
            }
            let &(id, point, repeat) = *left[number];
            let ended = self.one(&store, id, (point, repeat), (beside, watch), &mut |input, now| {
                watch.progress(number, input, now)
            });
            match &ended {
                Ok(Some(row)) => watch.end(number, row),
                Ok(None) => {}
                Err(_) => broken.store(true, Ordering::Relaxed),
            }
            ended.map(|row| row.map(|row| row.status))
        };
        // The first seed shows whether the others can be different.
        let (first, others): (Vec<usize>, Vec<usize>) = (0..left.len()).partition(|&i| left[i].2 == 0);
        let in_turn = |numbers: &[usize]| {
            let runs = numbers.len();
            side_by_side(runs, self.jobs, &|i| make(numbers[i], runs))
        };
        let ended = [in_turn(&first), in_turn(&others)].into_iter().flatten();
        for status in ended {
            match status? {
                Some(Status::Completed) => ran.completed += 1,
                Some(Status::Failed) => ran.failed += 1,
                None => ran.left += 1,
            }
        }
        store.sync();
        Ok(ran)
    }

    /// Returns the row of a further seed and writes its folder, if the first seed's run shows that the seed has no
    /// effect. With [`Keep::All`] the files are more than a summary, so the run is made.
    pub(super) fn same_as_first(
        &self,
        store: &Store,
        id: &str,
        (point, repeat): (usize, usize),
    ) -> Result<Option<Row>, SweepError> {
        let (seed, point) = (self.plan.seeds[repeat], &self.plan.points[point]);
        let first = &point.runs[0];
        if repeat == 0 || self.keep == Keep::All || !store.has(first, self.keep) {
            return Ok(None);
        }
        let Some(row) = store.row(first).filter(|row| row.draws_nothing) else {
            return Ok(None);
        };
        // A seed may also act before the run, for example on drawn flows, so the resolved inputs are compared.
        let load = |seed| self.study.load(&point.values, Some(seed)).ok();
        let (Some(a), Some(b)) = (load(self.plan.seeds[0]), load(seed)) else {
            return Ok(None);
        };
        if !same_but_for_seed(&a.run, &b.run) || run_ids(&b, &[seed], &self.plan.version) != [id] {
            return Ok(None);
        }
        let row = Row {
            keep: self.keep,
            ..row.with_seed(id, seed)
        };
        if let (Some(summary), Keep::Summary) = (&row.summary, self.keep) {
            let folder = Folder::create(&store.run_folder(id), true)?.lasting_later();
            write_summary_like(&folder, &b, summary, &store.run_folder(first))?;
            folder.commit()?;
        }
        Ok(Some(row))
    }

    /// Makes one run, with `beside` runs in parallel, unless the result of the first seed applies, and writes its
    /// results; returns `None` if it was stopped.
    pub(crate) fn one(
        &self,
        store: &Store,
        id: &str,
        (point, repeat): (usize, usize),
        (beside, watch): (usize, &dyn Watch),
        progress: &mut dyn FnMut(&Resolved, &Progress) -> Control,
    ) -> Result<Option<Row>, SweepError> {
        if let Some(row) = self.same_as_first(store, id, (point, repeat))? {
            store.write(&row)?;
            return Ok(Some(row));
        }
        let seed = self.plan.seeds[repeat];
        // A panic becomes a failed row, so that one bad point does not end the sweep.
        let attempt = catch_unwind(AssertUnwindSafe(|| {
            let values = &self.plan.points[point].values;
            self.attempt(store, id, (values, seed), (beside, watch), progress)
        }));
        let mut row = Row {
            id: id.to_string(),
            version: self.plan.version.clone(),
            seed,
            status: Status::Failed,
            message: None,
            keep: self.keep,
            summary: None,
            draws_nothing: false,
        };
        match attempt {
            Ok(Ok(finished)) if finished.summary.status == RunStatus::Partial => return Ok(None),
            Ok(Ok(finished)) => {
                row.status = Status::Completed;
                row.draws_nothing = !finished.outcome.hangs_on_seed;
                row.summary = Some(finished.summary);
            }
            Ok(Err(Stopped::Failed(message))) => row.message = Some(message),
            Ok(Err(Stopped::Sweep(error))) => return Err(error),
            Err(panic) => row.message = Some(fault(panic.as_ref())),
        }
        store.write(&row)?;
        Ok(Some(row))
    }

    fn attempt(
        &self,
        store: &Store,
        id: &str,
        (values, seed): (&[usize], u64),
        (beside, watch): (usize, &dyn Watch),
        progress: &mut dyn FnMut(&Resolved, &Progress) -> Control,
    ) -> Result<Finished, Stopped> {
        let input = self.study.load(values, Some(seed));
        let mut input = input.map_err(|error| Stopped::Failed(error.to_string()))?;
        // The plan was made from the files as they were then. If they have changed, the result would be stored under
        // the id of another scenario.
        if run_ids(&input, &[seed], &self.plan.version) != [id] {
            let message = format!(
                "the scenario `{}`, or a file that it names, has changed since the sweep started; finished runs are \
                 kept; start a new sweep for the changed scenario",
                self.plan.scenario
            );
            return Err(Stopped::Sweep(SweepError::Refused(message)));
        }
        self.plan.input_warnings.settle(&mut input);
        if self.keep != Keep::All {
            record_less(&mut input.run_mut().record);
        }
        // Cores are shared with the runs in parallel, which use them better than the parts of one run.
        let count = threads_each(input.threads, beside, self.jobs);
        if count < input.threads {
            watch.share(self.jobs.min(beside), count);
        }
        let resources = Resources {
            threads: count,
            on_cut: &|cut| watch.cut(count, cut),
            ranks: None,
            scratch: Some(store.folder()),
        };
        let finished = execute_on(&input, resources, &mut |now| progress(&input, now));
        let finished = finished.map_err(|error| Stopped::Failed(error.to_string()))?;
        // The folder is written before the row, because the row marks the run as finished.
        if finished.summary.status == RunStatus::Completed {
            self.write(store, id, &input, &finished).map_err(Stopped::Sweep)?;
        }
        Ok(finished)
    }

    fn write(
        &self,
        store: &Store,
        id: &str,
        input: &Resolved,
        finished: &Finished,
    ) -> Result<(), SweepError> {
        if self.keep == Keep::Row {
            return Ok(());
        }
        let folder = Folder::create(&store.run_folder(id), true)?.lasting_later();
        match self.keep {
            Keep::Row | Keep::Summary => write_summary_into(&folder, Path::new(""), input, finished)?,
            Keep::All => (self.write)(&folder, Path::new(""), input, finished)?,
        }
        Ok(folder.commit()?)
    }
}

/// Turns off recordings that only files that are not written would contain; this changes no result. (The summary needs
/// the ports' activity for utilisation and the flows' goodput for fairness.)
fn record_less(record: &mut RecordSpec) {
    record.flow_every = None;
    record.accounts = Accounted::None;
    record.rtt_samples = false;
    record.trace_nodes.clear();
    record.trace_ports.clear();
}

/// Reason why a run has no summary.
enum Stopped {
    /// Failure of this run, which becomes its row.
    Failed(String),
    /// Failure outside the run, which ends the sweep.
    Sweep(SweepError),
}

/// Formats a fault of the program.
fn fault(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "internal error: {} (this is a fault of the program: please report it with the run's scenario)",
        text.unwrap_or("no message")
    )
}
