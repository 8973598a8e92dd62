//! Search for the best values of any parameters of a scenario.
//!
//! 1. The scenario as written and each candidate run with the same seeds. A candidate's score is the mean over the
//!    seeds of the logarithm of the objective's ratio to the scenario as written, so each seed has the same weight.
//! 2. CMA-ES ([`crate::cma`]) searches the ranges, mapped to 0 to 1 each. Only the order of candidates matters to it.
//!    Candidates within all limits come first, then those over a limit by their excess, then refused ones and failed
//!    ones (Deb, *An efficient constraint handling method for genetic algorithms*, 2000).
//! 3. The best candidate, the scenario as written and profiles along each parameter run with seeds that the search
//!    never had. These show if the gain is real ([`Verdict`]), and which parameters do not matter.
//!
//! Runs are kept as rows by their ids, as in a [sweep](crate::sweep). The search is a pure function of their results, so
//! that the same command resumes an interrupted search and ends with the same bytes, on any number of threads.

mod bench;
mod files;
mod found;
mod objective;
mod plan;
mod search;
mod space;
mod verdict;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

pub use bench::Watch;
pub use files::write;
pub use found::{Counts, Found, HeldOut, ParameterResult, ProfilePoint, Standing, Trial, Verdict};
pub use objective::{Bound, Limit, Objective};
pub use plan::{Options, Plan};
pub use space::{Domain, Parameter, Range, Unit};
pub use verdict::change;

use crate::files::{OutputError, check_destination, clear_leftovers, sealed, unsealed, write_file};
use crate::sweep::{Store, SweepError};
use bench::Bench;
use plan::refused;

/// Search to be run.
pub struct Job<'a> {
    /// Definition of the search.
    pub options: &'a Options,
    /// Plan made from the options.
    pub plan: &'a Plan,
    /// Folder of the results.
    pub folder: &'a Path,
    /// Number of parallel runs.
    pub jobs: usize,
    /// True if an earlier search in the folder is discarded.
    pub force: bool,
}

impl Job<'_> {
    /// Makes the missing runs and returns the result; `None` if the observer stopped it.
    ///
    /// # Errors
    /// The folder does not fit or cannot be written, or the scenario cannot run as written.
    pub fn run(&self, watch: &dyn Watch) -> Result<Option<Found>, SweepError> {
        let plan = self.plan;
        let (store, _lock, resumes) = self.open()?;
        watch.start(plan.most_runs(), resumes);
        let mut measures = vec![plan.objective.measure.clone(), plan.against.measure.clone()];
        measures.extend(plan.limits.iter().map(|limit| limit.measure.clone()));
        let bench = Bench {
            input: &self.options.input,
            overrides: &self.options.overrides,
            parameters: &plan.parameters,
            measures,
            folder: self.folder,
            store,
            jobs: self.jobs,
            watch,
            next: AtomicUsize::new(0),
        };
        let found = match search::search(plan, &bench)? {
            Some(searched) => verdict::judge(plan, &bench, searched)?,
            None => None,
        };
        bench.store.sync();
        Ok(found)
    }

    fn open(&self) -> Result<(Store, Option<File>, bool), SweepError> {
        let file = plan_file(self.folder);
        let there = file.is_file();
        if !there {
            check_destination(self.folder, false)?;
        } else if !self.force && !goes_on(self.folder, self.plan) {
            return Err(refused(format!(
                "{} holds another search, or one by other code: choose another folder with --out, or start again there \
                 with --force",
                self.folder.display()
            )));
        }
        let store = Store::of_rows(self.folder)?;
        let lock = lock(self.folder)?;
        if self.force && there {
            for entry in crate::sweep::read_dir(&self.folder.join("rows"))? {
                // A file that cannot be removed is read again, and has the same results.
                let _ = std::fs::remove_file(entry.path());
            }
        }
        for name in files::NAMES {
            clear_leftovers(&self.folder.join(name));
        }
        write_file(&file, sealed(self.plan))?;
        Ok((store, lock, there && !self.force))
    }
}

fn plan_file(folder: &Path) -> PathBuf {
    folder.join("tune.json")
}

/// Returns true if `plan` resumes the search in a folder, or may start there.
pub fn goes_on(folder: &Path, plan: &Plan) -> bool {
    let text = match paceline_scenario::read_text(plan_file(folder)) {
        Ok(text) => text,
        Err(_) => return check_destination(folder, false).is_ok(),
    };
    unsealed::<Plan>(&text).is_ok_and(|old| old.is_like(plan))
}

/// Locks the folder against other processes, where the file system can.
fn lock(folder: &Path) -> Result<Option<File>, SweepError> {
    let path = folder.join(".lock");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    let file = file.map_err(|source| OutputError::Io {
        action: "create",
        path,
        source,
    })?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(refused(format!(
            "another `paceline tune` is running in {}",
            folder.display()
        ))),
        Err(TryLockError::Error(_)) => Ok(None),
        Ok(()) => Ok(Some(file)),
    }
}

#[cfg(test)]
mod tests;
