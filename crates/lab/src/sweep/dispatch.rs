//! Dispatch of a sweep's runs to workers: cuts blocks, and owns the folder meanwhile.

use std::collections::VecDeque;
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use paceline_kernel::sorted::{SortedMap, SortedSet};

use super::block::{BlockPoint, BlockRan, Errand};
use super::data::parse_row;
use super::run::{Job, WriteRun};
use super::store::Store;
use super::{Keep, Plan, Row, Shard, Status, Study, SweepError};
use crate::files::Folder;

/// Sweep whose runs are made by workers.
///
/// Workers write into the folder if they see it; otherwise their files come back as bytes ([`Dispatch::accept`]).
#[derive(Debug)]
pub struct Dispatch {
    study: Study,
    plan: Plan,
    folder: PathBuf,
    keep: Keep,
    write: WriteRun,
    store: Store,
    /// Index of the point and of the seed of each run of this call, by id.
    places: SortedMap<String, (usize, usize)>,
    /// Runs not yet in a block: points, each with indices of seeds in order.
    queue: VecDeque<(usize, Vec<usize>)>,
    /// Further seeds of points whose first seed is in a block: it shows whether they need to run.
    waiting: SortedMap<usize, Vec<usize>>,
    /// Runs with results from before this call.
    there: usize,
    /// Estimated and measured seconds of the blocks that have ended, which correct the estimates.
    ended_s: (f64, f64),
}

impl Dispatch {
    /// Opens the folder of a sweep, which stays locked as long as this value exists.
    ///
    /// # Errors
    /// The folder does not fit or cannot be written.
    pub fn open(
        study: Study,
        plan: Plan,
        folder: PathBuf,
        (shard, keep, force): (Shard, Keep, bool),
        write: WriteRun,
    ) -> Result<Self, SweepError> {
        let store = Store::open(&folder, &plan, shard, force)?;
        let mut places = SortedMap::new();
        let mut queue: VecDeque<(usize, Vec<usize>)> = VecDeque::new();
        let mut there = 0;
        let all = plan.runs();
        for &(id, point, repeat) in shard.of(&all) {
            if store.has(id, keep) {
                there += 1;
                continue;
            }
            places.insert(id.to_string(), (point, repeat));
            match queue.back_mut() {
                Some((last, repeats)) if *last == point => repeats.push(repeat),
                _ => queue.push_back((point, vec![repeat])),
            }
        }
        drop(all);
        Ok(Self {
            study,
            plan,
            folder,
            keep,
            write,
            store,
            places,
            queue,
            waiting: SortedMap::new(),
            there,
            ended_s: (0.0, 0.0),
        })
    }

    /// Returns the folder of the sweep.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the plan of the sweep.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the number of runs that this call has to make, and of those from before.
    pub fn counts(&self) -> (usize, usize) {
        (self.places.len(), self.there)
    }

    /// Returns the text that every block needs.
    pub fn errand(&self) -> Errand {
        Errand::of(&self.plan, self.keep)
    }

    /// Returns the estimated seconds of all runs that are in no block yet.
    pub fn seconds_left(&self) -> f64 {
        let queued = self.queue.iter().map(|(point, repeats)| (*point, repeats.len()));
        let waiting = self
            .waiting
            .iter()
            .map(|(point, repeats)| (*point, repeats.len()));
        let all = queued.chain(waiting);
        all.map(|(point, runs)| self.seconds(point) * runs as f64).sum()
    }

    /// Returns the estimated seconds of a run, corrected by the blocks that have ended.
    fn seconds(&self, point: usize) -> f64 {
        /// Estimated seconds of blocks below which their times say little.
        const ENOUGH_S: f64 = 0.05;
        let (estimated, measured) = self.ended_s;
        let factor = if estimated < ENOUGH_S {
            1.0
        } else {
            measured / estimated
        };
        factor * self.estimate(point)
    }

    /// Returns the plan's estimate of a run, in seconds.
    fn estimate(&self, point: usize) -> f64 {
        self.plan.seconds.get(point).copied().unwrap_or(0.1)
    }

    /// Takes runs of about `seconds` as a block; `None` if no run can start now.
    ///
    /// Seeds of a point stay together if they fit in a block. Otherwise the first one goes ahead.
    pub fn take(&mut self, seconds: f64) -> Option<Vec<BlockPoint>> {
        /// Largest number of runs in a block, so that its text stays small.
        const RUNS_MAX: usize = 10_000;
        let (mut block, mut runs, mut total) = (Vec::new(), 0, 0.0);
        while let Some((point, repeats)) = self.queue.front() {
            let (point, each) = (*point, self.seconds(*point));
            let fits = ((seconds - total) / each).max(0.0) as usize;
            if runs > 0 && (fits == 0 || runs + repeats.len() > RUNS_MAX) {
                break;
            }
            if repeats.len() > 1 && repeats.len() > fits && runs > 0 {
                // The next block has room for more of them.
                break;
            }
            let (_, mut repeats) = self.queue.pop_front().expect("it was just there");
            let fits = fits.clamp(1, RUNS_MAX);
            if repeats.len() > fits {
                let first_is_made = repeats[0] == 0;
                let rest = repeats.split_off(if first_is_made { 1 } else { fits });
                match first_is_made {
                    true => {
                        self.waiting.insert(point, rest);
                    }
                    false => self.queue.push_front((point, rest)),
                }
            }
            runs += repeats.len();
            total += each * repeats.len() as f64;
            block.push(self.block_point(point, &repeats));
            if total >= seconds {
                break;
            }
        }
        (!block.is_empty()).then_some(block)
    }

    fn block_point(&self, point: usize, repeats: &[usize]) -> BlockPoint {
        let point = &self.plan.points[point];
        BlockPoint {
            values: point.values.clone(),
            first: point.runs[0].clone(),
            runs: repeats
                .iter()
                .map(|&repeat| (repeat, point.runs[repeat].clone()))
                .collect(),
        }
    }

    /// Writes a run that a worker without access to the folder has made: the text of its row, and the files of its
    /// folder by name.
    ///
    /// # Errors
    /// They are not those of a run of this sweep, or cannot be written.
    pub fn accept(&self, row: &str, files: &[(String, Vec<u8>)]) -> Result<(), SweepError> {
        let refused = |why: &str| SweepError::Refused(format!("a worker sent {why}"));
        let row: Row = parse_row(row).map_err(|why| refused(&format!("a damaged row: {why}")))?;
        if !self.places.contains_key(&row.id) {
            return Err(refused("the row of a run that is not of this sweep"));
        }
        if row.version != self.plan.version {
            return Err(refused(&format!(
                "a row by version {}; this sweep is by {}",
                row.version, self.plan.version
            )));
        }
        // A task that ran twice sends the same again.
        if self.store.has(&row.id, self.keep) {
            return Ok(());
        }
        // The folder first: a row promises that it is complete.
        if row.status == Status::Completed {
            let folder = Folder::create(&self.store.run_folder(&row.id), true)?.lasting_later();
            for (name, content) in files {
                let path = Path::new(name);
                // A name such as `../x` would lead out of the run's folder.
                if !path.components().all(|part| matches!(part, Component::Normal(_))) {
                    return Err(refused(&format!("a file with the name `{name}`")));
                }
                folder.write(path, |out| out.write_all(content))?;
            }
            folder.commit()?;
        }
        Ok(self.store.write(&row)?)
    }

    /// Takes in the result of a block. Frees further seeds of its points, or makes them here if the first one shows that
    /// they are equal. Returns the number of runs that this has made.
    ///
    /// # Errors
    /// A worker could not read a scenario that can be read here, or a run cannot be written.
    pub fn ended(&mut self, block: &[BlockPoint], ran: &BlockRan, wall_s: f64) -> Result<usize, SweepError> {
        let all: SortedSet<&String> = ran.ended.iter().collect();
        let made = |id: &String| all.contains(&id);
        for point in block {
            let mine = point.runs.iter().filter(|(_, id)| made(id)).count();
            let known = point.runs.first().and_then(|(_, id)| self.places.get(id));
            if let Some(&(point, _)) = known {
                self.ended_s.0 += self.estimate(point) * mine as f64;
            }
        }
        self.ended_s.1 += wall_s;
        for (id, why) in &ran.unreadable {
            self.fail(id, why)?;
        }
        let mut here = ran.unreadable.len();
        for point in block.iter().filter(|point| made(&point.first)) {
            let Some(&(place, _)) = self.places.get(&point.first) else {
                continue;
            };
            let Some(repeats) = self.waiting.remove(&place) else {
                continue;
            };
            let job = self.job();
            let mut left = Vec::new();
            for repeat in repeats {
                let id = &self.plan.points[place].runs[repeat];
                match job.same_as_first(&self.store, id, (place, repeat))? {
                    Some(row) => {
                        self.store.write(&row)?;
                        here += 1;
                    }
                    None => left.push(repeat),
                }
            }
            if !left.is_empty() {
                self.queue.push_back((place, left));
            }
        }
        Ok(here)
    }

    /// Writes the row of a run whose scenario cannot be read, if it cannot be read here either.
    fn fail(&self, id: &str, why: &str) -> Result<(), SweepError> {
        let Some(&(point, repeat)) = self.places.get(id) else {
            return Ok(());
        };
        let seed = self.plan.seeds[repeat];
        let Err(error) = self.study.load(&self.plan.points[point].values, Some(seed)) else {
            return Err(SweepError::Refused(format!(
                "a worker cannot read the scenario: {why}"
            )));
        };
        let row = Row {
            id: id.to_string(),
            version: self.plan.version.clone(),
            seed,
            status: Status::Failed,
            message: Some(error.to_string()),
            keep: self.keep,
            summary: None,
            draws_nothing: false,
        };
        Ok(self.store.write(&row)?)
    }

    /// Returns the runs of this call that have no row, in the order of the plan: index of the point, and seed.
    pub fn missing(&self) -> Vec<(usize, u64)> {
        let none = |(id, _): &(&String, &(usize, usize))| self.store.row(id).is_none();
        let mut missing: Vec<(usize, usize)> =
            self.places.iter().filter(none).map(|(_, place)| *place).collect();
        missing.sort_unstable();
        missing
            .into_iter()
            .map(|(point, repeat)| (point, self.plan.seeds[repeat]))
            .collect()
    }

    /// Flushes the files to disk, and releases the folder.
    pub fn close(self) -> (Plan, PathBuf) {
        self.store.sync();
        (self.plan, self.folder)
    }

    fn job(&self) -> Job<'_> {
        Job {
            study: &self.study,
            plan: &self.plan,
            folder: &self.folder,
            shard: Shard::WHOLE,
            keep: self.keep,
            write: self.write,
            jobs: 1,
            force: false,
        }
    }
}
