//! Steps of jobs, converted to the actions of their ranks.

use paceline_fabric::spec::NodeId;
use paceline_kernel::{Bytes, Span};
use toml::Spanned;

use crate::diagnostics::{Problem, suggestion};
use crate::resolve::fill::{fill, fill_value, filled, only_block};
use crate::schema;
use crate::warning::WarningKind;
use paceline_jobs::collective::{Algorithm, Chain, Pipeline, Schedule, Stage};

use super::collectives::{Chosen, Operation};
use super::maker::Maker;

/// Step of a job.
pub(super) struct JobStep {
    pub(super) label: String,
    /// Computation of each rank at the start of the step.
    pub(super) compute: Span,
    /// Index of the overlapped step that it waits for.
    wait: Option<usize>,
    overlap: bool,
    pub(super) work: Option<Work>,
}

/// Communication of the ranks in a step.
pub(super) struct Work {
    /// Number of participating ranks, per group.
    pub(super) ranks: u32,
    /// Bytes on which its bandwidth is based, and the bytes that a host's link carries for each of them.
    pub(super) counted: (Bytes, f64),
    kind: WorkKind,
}

enum WorkKind {
    Collective(Stage),
    Send {
        groups: Vec<Vec<u32>>,
        size: Bytes,
        distance: i32,
        ring: bool,
    },
    Pipeline(Pipeline),
}

impl JobStep {
    /// Returns the number of messages in a job of `ranks` ranks.
    pub(super) fn messages(&self, ranks: u32) -> f64 {
        self.work.as_ref().map_or(0.0, |work| match &work.kind {
            WorkKind::Collective(stage) => stage.messages() as f64,
            WorkKind::Send { .. } => f64::from(ranks),
            WorkKind::Pipeline(pipeline) => pipeline.messages(ranks),
        })
    }

    /// Returns a rank's total computation in the step.
    pub(super) fn computes(&self) -> Span {
        let inside = match &self.work {
            Some(Work {
                kind: WorkKind::Pipeline(pipeline),
                ..
            }) => pipeline.compute(),
            _ => Span::ZERO,
        };
        self.compute.saturating_add(inside)
    }

    /// Adds the step with index `index` to the chain of the ranks' actions.
    pub(super) fn add(&self, chain: &mut Chain<'_>, index: usize, ranks: u32) {
        if let Some(step) = self.wait {
            chain.wait(step);
        }
        chain.compute(self.compute);
        match self.work.as_ref().map(|work| &work.kind) {
            None => {}
            Some(WorkKind::Collective(stage)) => chain.collective(stage, self.overlap.then_some(index)),
            Some(WorkKind::Send {
                groups,
                size,
                distance,
                ring,
            }) => chain.shift(groups, *size, *distance, *ring),
            Some(WorkKind::Pipeline(pipeline)) => pipeline.add(chain, ranks),
        }
    }
}

impl Maker<'_, '_> {
    /// Creates the step that follows `before`.
    pub(super) fn step(
        &mut self,
        written: &mut schema::JobStep,
        hosts: &[NodeId],
        before: &[JobStep],
    ) -> Result<JobStep, Problem> {
        let present = [
            ("all-to-all", written.all_to_all.is_some()),
            ("all-reduce", written.all_reduce.is_some()),
            ("reduce-scatter", written.reduce_scatter.is_some()),
            ("all-gather", written.all_gather.is_some()),
            ("send", written.send.is_some()),
            ("pipeline", written.pipeline.is_some()),
        ];
        let computes = written.compute.is_some_and(|compute| compute > Span::ZERO);
        let is_bare = present.iter().all(|(_, is)| !is) && (computes || written.wait.is_some());
        let name = match is_bare {
            true => "compute",
            false => only_block(&present, "a job's step").map_err(|problem| {
                let blocks = present.map(|(name, _)| name).join(", ");
                problem
                    .at(&self.location)
                    .help(format!("the blocks are {blocks}"))
            })?,
        };
        let work = match name {
            "compute" => None,
            "send" => Some(self.send(written, hosts.len() as u32)?),
            "pipeline" => Some(self.pipeline(written, hosts.len() as u32)?),
            _ => Some(self.collective_step(name, written, hosts)?),
        };
        let overlap = self.overlap(written, work.as_ref())?;
        Ok(JobStep {
            label: fill_value(&mut written.label, name.to_string()),
            compute: fill(&mut written.compute, Span::ZERO),
            wait: self.waited_for(written, before)?,
            overlap,
            work,
        })
    }

    fn overlap(&self, written: &schema::JobStep, work: Option<&Work>) -> Result<bool, Problem> {
        let Some(overlap) = written.overlap.as_ref().filter(|overlap| *overlap.get_ref()) else {
            return Ok(false);
        };
        if let Some(Work {
            kind: WorkKind::Collective(_),
            ..
        }) = work
        {
            return Ok(true);
        }
        Err(Problem::new("`overlap` is for steps with a collective")
            .at(&self.cx.texts.of_value(overlap))
            .label("this step has none"))
    }

    /// Returns the index of the step that this one waits for.
    fn waited_for(
        &mut self,
        written: &schema::JobStep,
        before: &[JobStep],
    ) -> Result<Option<usize>, Problem> {
        let Some(wait) = &written.wait else {
            return Ok(None);
        };
        let label = wait.get_ref();
        let location = self.cx.texts.of_value(wait);
        let found = before.iter().position(|step| step.label == *label);
        let Some(found) = found else {
            let labels = before
                .iter()
                .filter(|step| step.overlap)
                .map(|step| &step.label[..]);
            let labels: Vec<&str> = labels.collect();
            let problem = Problem::new(format!("`wait` for the unknown step `{label}`")).at(&location);
            return Err(match labels.is_empty() {
                true => problem.label("expected an earlier step with `overlap = true`"),
                false => problem
                    .label("no earlier step has this label")
                    .help(suggestion(label, labels)),
            });
        };
        if !before[found].overlap {
            let text = format!("`wait` has no effect: step `{label}` does not overlap");
            self.cx.warn(WarningKind::UnusedSetting, &location, text);
            return Ok(None);
        }
        Ok(Some(found))
    }

    fn collective_step(
        &mut self,
        name: &str,
        written: &mut schema::JobStep,
        hosts: &[NodeId],
    ) -> Result<Work, Problem> {
        let groups = self.groups(written, hosts.len() as u32)?;
        let count = groups[0].len() as u32;
        let mut block = match name {
            "all-to-all" => Operation::AllToAll(written.all_to_all.get_or_insert_default()),
            "all-reduce" => Operation::AllReduce(written.all_reduce.get_or_insert_default()),
            "reduce-scatter" => Operation::Ring(
                written.reduce_scatter.get_or_insert_default(),
                Algorithm::ReduceScatter,
            ),
            _ => Operation::Ring(written.all_gather.get_or_insert_default(), Algorithm::AllGather),
        };
        let common = block.common();
        // The job sets these for all of its steps; a value of one step would have no effect.
        let strange = [
            ("hosts", common.hosts.is_some(), "the job's `hosts`"),
            (
                "iterations",
                common.iterations.is_some(),
                "the job's `iterations`",
            ),
            ("start", common.start.is_some(), "the job's `start`"),
            (
                "connections",
                common.connections.is_some(),
                "the job's `connections`",
            ),
            (
                "compute",
                common.compute.is_some(),
                "the step's `compute`, beside this block",
            ),
        ];
        if let Some((key, _, instead)) = strange.iter().find(|(_, present, _)| *present) {
            let message = format!("`{key}` in a collective of a job");
            return Err(Problem::new(message)
                .at(&self.location)
                .help(format!("that is {instead}")));
        }
        let layouts = self.layouts(hosts, &groups);
        let Chosen {
            algorithm,
            size,
            options,
        } = self.operation(&mut block, &layouts)?;
        // Checked before the stage is built, whose messages might exhaust memory.
        self.affordable(algorithm.messages_with(count, size, &options) * groups.len() as f64)?;
        Ok(Work {
            ranks: count,
            counted: (algorithm.counted_bytes(count, size), algorithm.bus_factor(count)),
            kind: WorkKind::Collective(Stage::with(algorithm, groups, size, &options, &layouts)),
        })
    }

    fn send(&self, written: &mut schema::JobStep, ranks: u32) -> Result<Work, Problem> {
        let groups = self.groups(written, ranks)?;
        let count = groups[0].len() as u32;
        let block = written.send.get_or_insert_default();
        let distance = filled!(block.distance: SendStep);
        if *distance.get_ref() == 0 || distance.get_ref().unsigned_abs() >= count {
            let message = format!("a distance of {} among {count} ranks", distance.get_ref());
            return Err(Problem::new(message)
                .at(&self.cx.texts.of_value(&distance))
                .label(format!("expected 1 to {}, or -1 to -{}", count - 1, count - 1)));
        }
        let size = self.size(&filled!(block.size: SendStep))?;
        Ok(Work {
            ranks: count,
            counted: (size, 1.0),
            kind: WorkKind::Send {
                groups,
                size,
                distance: *distance.get_ref(),
                ring: filled!(block.ring: SendStep),
            },
        })
    }

    fn pipeline(&self, written: &mut schema::JobStep, ranks: u32) -> Result<Work, Problem> {
        let split = (written.within.as_ref(), written.across.as_ref());
        if let Some(split) = split.0.or(split.1) {
            return Err(Problem::new(
                "a pipeline has all ranks of its job: `within` and `across` are for other steps",
            )
            .at(&self.cx.texts.of_value(split)));
        }
        let block = written.pipeline.get_or_insert_default();
        let stages = filled!(block.stages: PipelineStep);
        let of = *stages.get_ref();
        if of < 2 || !ranks.is_multiple_of(of) {
            return Err(Problem::new(format!("{of} stages of {ranks} ranks"))
                .at(&self.cx.texts.of_value(&stages))
                .label("expected at least two, with as many ranks each"));
        }
        let microbatches = filled!(block.microbatches: PipelineStep).into_inner();
        let microbatches = self.count(&mut block.microbatches, microbatches, "microbatches")?;
        let forward = filled!(block.forward: PipelineStep);
        // A backward pass computes gradients of inputs and of weights, each like a forward pass.
        let twice = Span::from_ps(forward.as_ps().saturating_mul(2));
        let backward = fill(&mut block.backward, twice);
        let size = self.size(&filled!(block.size: PipelineStep))?;
        let schedule = filled!(block.schedule: PipelineStep);
        let schedule = match &schedule.get_ref()[..] {
            "1f1b" => Schedule::OneForwardOneBackward,
            "gpipe" => Schedule::AllForward,
            other => {
                return Err(Problem::new(format!("unknown schedule `{other}`"))
                    .at(&self.cx.texts.of_value(&schedule))
                    .label("no such schedule")
                    .help(suggestion(other, ["1f1b", "gpipe"])));
            }
        };
        Ok(Work {
            ranks: of,
            counted: (
                Bytes::new(size.get().saturating_mul(u64::from(microbatches))),
                1.0,
            ),
            kind: WorkKind::Pipeline(Pipeline {
                stages: of,
                microbatches,
                forward,
                backward,
                size,
                schedule,
            }),
        })
    }

    /// Returns the groups of ranks in a step: one group of all, or blocks of consecutive ranks. Each block is one
    /// group, or is divided into groups of ranks with the same index in smaller blocks.
    fn groups(&self, written: &schema::JobStep, ranks: u32) -> Result<Vec<Vec<u32>>, Problem> {
        let wrong = |slot: &Spanned<u32>, message: String| {
            Problem::new(message)
                .at(&self.cx.texts.of_value(slot))
                .label("expected equal groups, and at least two ranks to talk to each other")
        };
        let of = written.within.as_ref().map_or(ranks, |within| *within.get_ref());
        if let Some(within) = &written.within
            && (of < 2 || !ranks.is_multiple_of(of))
        {
            return Err(wrong(within, format!("{ranks} ranks, within groups of {of}")));
        }
        let blocks = (0..ranks / of).map(|block| block * of..(block + 1) * of);
        let Some(across) = &written.across else {
            return Ok(blocks.map(Iterator::collect).collect());
        };
        let apart = *across.get_ref();
        if apart == 0 || !of.is_multiple_of(apart) || of / apart < 2 {
            return Err(wrong(across, format!("{of} ranks, across groups of {apart}")));
        }
        let indices = blocks.flat_map(|block| (0..apart).map(move |index| (block.start + index, block.end)));
        Ok(indices
            .map(|(first, end)| (first..end).step_by(apart as usize).collect())
            .collect())
    }
}
