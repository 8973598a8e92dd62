//! Blocks: runs of a sweep that a worker makes, in a process or on a machine of its own.
//!
//! A worker gets an [`Errand`], the same for all blocks, and the runs of its block, both as text. It reads no plan: the
//! ids of the runs show that its scenario is that of the plan.

use std::path::Path;

use paceline_scenario::Warning;
use serde::{Deserialize, Serialize};

use super::run::{Job, Watch, WriteRun};
use super::store::Store;
use super::stored::Stored;
use super::{Keep, Plan, Point, Shard, Status, Study, SweepError};
use crate::InputWarnings;

/// Facts about a sweep that every block needs, next to its scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Errand {
    /// Version of the program that made the plan; no other may run it.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// First seed of every point, and the number of its consecutive seeds.
    pub seeds: (u64, usize),
    /// Extent of the files that are written per run.
    pub keep: Keep,
    /// Input warnings that all points of the sweep have; runs do not list others of this kind.
    pub warnings: Option<Vec<Warning>>,
}

/// Runs of one point in a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockPoint {
    /// Index of the value of each axis.
    pub values: Vec<usize>,
    /// Id of the run with the first seed, which may belong to another block.
    pub first: String,
    /// Runs to be made: index of the seed, and id.
    pub runs: Vec<(usize, String)>,
}

/// Rows that a worker has made for a block, and their files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockRan {
    /// Ids of the runs that have a row now, including those that another worker has made meanwhile.
    pub ended: Vec<String>,
    /// Number of these that failed.
    pub failed: usize,
    /// Runs whose scenario this worker cannot read, and the reasons; they have no row.
    pub unreadable: Vec<(String, String)>,
    /// Seconds of simulation, without reading and writing.
    pub wall_s: f64,
    /// Events of all completed runs.
    pub events: u64,
    /// Packet-hops of all completed runs.
    pub packet_hops: u64,
}

impl Errand {
    /// Creates the errand of a plan.
    pub(super) fn of(plan: &Plan, keep: Keep) -> Self {
        Self {
            version: plan.version.clone(),
            scenario: plan.scenario.clone(),
            seeds: (plan.seeds.first().copied().unwrap_or(0), plan.seeds.len()),
            keep,
            warnings: plan.input_warnings.shared().map(<[Warning]>::to_vec),
        }
    }

    /// Makes the runs of a block, one after another, and writes them into `folder`, which another process may own.
    ///
    /// # Errors
    /// The folder cannot be written, the scenario is not the plan's, or this is another version.
    pub fn make(
        &self,
        study: &Study,
        points: &[BlockPoint],
        folder: &Path,
        write: WriteRun,
        watch: &dyn Watch,
    ) -> Result<BlockRan, SweepError> {
        let mine = crate::identity::version();
        if self.version != mine {
            return Err(SweepError::Refused(format!(
                "this worker has version {mine}, the sweep is by version {}: install the same on all machines",
                self.version
            )));
        }
        let (first, count) = self.seeds;
        let plan = Plan {
            version: self.version.clone(),
            scenario: self.scenario.clone(),
            description: String::new(),
            arguments: Vec::new(),
            axes: Vec::new(),
            seeds: (0..count as u64).map(|repeat| first + repeat).collect(),
            points: points.iter().map(BlockPoint::as_point).collect(),
            input_warnings: InputWarnings::of_shared(self.warnings.clone()),
            seconds: Vec::new(),
            memory: 0,
            stored: Stored::default(),
        };
        let job = Job {
            study,
            plan: &plan,
            folder,
            shard: Shard::WHOLE,
            keep: self.keep,
            write,
            jobs: 1,
            force: false,
        };
        let store = Store::of_worker(folder)?;
        let runs = points.iter().enumerate();
        let runs =
            runs.flat_map(|(point, one)| one.runs.iter().map(move |(repeat, id)| (point, *repeat, id)));
        let mut ran = BlockRan::default();
        for (number, (point, repeat, id)) in runs.enumerate() {
            if watch.stopped() {
                break;
            }
            // An executor may start a task twice, and another worker may have been faster.
            if store.has(id, self.keep) {
                ran.ended.push(id.clone());
                continue;
            }
            let mut progress = |input: &_, now: &_| watch.progress(number, input, now);
            let row = match job.one(&store, id, (point, repeat), (1, watch), &mut progress) {
                Ok(Some(row)) => row,
                Ok(None) => break,
                // Both may write at once.
                Err(_) if store.has(id, self.keep) => {
                    ran.ended.push(id.clone());
                    continue;
                }
                Err(error) => return Err(error),
            };
            // A scenario that cannot be read here may be readable for the owner, who has planned it.
            if row.status == Status::Failed
                && let Err(error) = study.load(&plan.points[point].values, Some(row.seed))
            {
                store.remove_row(id)?;
                ran.unreadable.push((id.clone(), error.to_string()));
                continue;
            }
            watch.end(number, &row);
            ran.ended.push(id.clone());
            ran.failed += usize::from(row.status == Status::Failed);
            if let Some(summary) = &row.summary {
                ran.wall_s += summary.wall_s;
                ran.events += summary.events;
                ran.packet_hops += summary.packet_hops;
            }
        }
        store.sync();
        Ok(ran)
    }
}

impl BlockPoint {
    /// Returns the point with the id of its first seed alone: the others are in the block.
    fn as_point(&self) -> Point {
        Point {
            values: self.values.clone(),
            scheme: String::new(),
            runs: vec![self.first.clone()],
        }
    }
}
