//! Running a sweep, or a part of it.

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

/// How everything of a run is written into a folder of one that is being made.
pub type WriteRun = fn(&Folder, &Path, &Resolved, &Finished) -> Result<(), OutputError>;

/// A sweep to be run.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// What it is made of.
    pub study: &'a Study,
    /// Its plan.
    pub plan: &'a Plan,
    /// Where its results go.
    pub folder: &'a Path,
    /// Which part of it.
    pub shard: Shard,
    /// How much of each run is written.
    pub keep: Keep,
    /// How everything of a run is written, where it is.
    pub write: WriteRun,
    /// Runs side by side.
    pub jobs: usize,
    /// Whether to begin again where an earlier sweep left something.
    pub force: bool,
}

/// Whoever watches a sweep. Runs have numbers from 0.
pub trait Watch: Sync {
    /// `runs` are to be made, besides those that are `there`.
    fn begin(&self, runs: usize, there: usize, plan_changed: bool);
    /// How far a run is.
    fn progress(&self, run: usize, input: &Resolved, now: &Progress) -> Control;
    /// Runs that may have `asked` threads: in how many parts one of them goes, or why in one.
    fn cut(&self, asked: usize, cut: Cut);
    /// Runs have `each` threads, which is less than they may have, since so many go side by side.
    fn share(&self, beside: usize, each: usize);
    /// A run has ended with this row.
    fn end(&self, run: usize, row: &Row);
    /// Whether to stop.
    fn stopped(&self) -> bool;
}

/// What came of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Runs that were there.
    pub there: usize,
    /// Runs that succeeded now.
    pub completed: usize,
    /// Runs that failed.
    pub failed: usize,
    /// Runs that were not made, since the watcher stopped the sweep.
    pub left: usize,
}

impl Job<'_> {
    /// Runs what is not there yet. Each run that ends is written at once, so nothing that is
    /// finished is lost if this is stopped or killed.
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

    /// The row of another seed than the first, where that of the first shows that it is the same; its folder is
    /// written. Of a run of which everything is kept that would be more than a summary: it is made.
    fn same_as_first(
        &self,
        store: &Store,
        id: &str,
        (point, repeat): (usize, usize),
    ) -> Result<Option<Row>, SweepError> {
        let (seed, point) = (self.plan.seeds[repeat], &self.plan.points[point]);
        let first = &point.runs[0];
        if repeat == 0 || self.keep != Keep::Summary || !store.has(first, Keep::Summary) {
            return Ok(None);
        }
        let Some(row) = store.row(first).filter(|row| row.draws_nothing) else {
            return Ok(None);
        };
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
        if let Some(summary) = &row.summary {
            let folder = Folder::create(&store.run_folder(id), true)?.lasting_later();
            write_summary_like(&folder, &b, summary, &store.run_folder(first))?;
            folder.commit()?;
        }
        Ok(Some(row))
    }

    /// Makes one run of as many as are `beside` it, unless it is that of the first seed, and writes what came of it;
    /// `None` if it was stopped.
    fn one(
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
        if run_ids(&input, &[seed], &self.plan.version) != [id] {
            let message = format!(
                "the scenario `{}`, or a file that it names, has changed since the sweep started; finished runs are \
                 kept; start a new sweep for the changed scenario",
                self.plan.scenario
            );
            return Err(Stopped::Sweep(SweepError::Refused(message)));
        }
        self.plan.input_warnings.settle(&mut input);
        if self.keep == Keep::Summary {
            record_less(&mut input.run_mut().record);
        }
        let count = threads_each(input.threads, beside, self.jobs);
        if count < input.threads {
            watch.share(self.jobs.min(beside), count);
        }
        let resources = Resources {
            threads: count,
            on_cut: &|cut| watch.cut(count, cut),
            scratch: Some(store.folder()),
        };
        let finished = execute_on(&input, resources, &mut |now| progress(&input, now));
        let finished = finished.map_err(|error| Stopped::Failed(error.to_string()))?;
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
        let folder = Folder::create(&store.run_folder(id), true)?.lasting_later();
        match self.keep {
            Keep::Summary => write_summary_into(&folder, Path::new(""), input, finished)?,
            Keep::All => (self.write)(&folder, Path::new(""), input, finished)?,
        }
        Ok(folder.commit()?)
    }
}

/// What only files that are not written would hold need not be recorded; it moves no result. (The
/// summary's utilisation is made of what ports did, its fairness of the flows' goodput.)
fn record_less(record: &mut RecordSpec) {
    record.flow_every = None;
    record.accounts = Accounted::None;
    record.rtt_samples = false;
    record.trace_nodes.clear();
    record.trace_ports.clear();
}

/// Why a run has no summary.
enum Stopped {
    /// Its own fault: a row.
    Failed(String),
    /// Not its fault: the end of the sweep.
    Sweep(SweepError),
}

/// A fault of the program, in words.
fn fault(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "internal error: {} (this is a fault of the program: please report it with the run's scenario)",
        text.unwrap_or("no message")
    )
}
