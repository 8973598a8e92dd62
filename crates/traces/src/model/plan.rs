//! Description of a training job: a model, its parallelism, its training.

use super::limits::{self, Fault};
use super::presets::Model;

/// Number of parts of a model whose computing time can be given: [`Part`](super::times::Part).
pub const PARTS: usize = 4;

/// Degrees of parallelism. The number of ranks is `tensor * context * data * pipeline`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parallel {
    /// Ranks that share each layer.
    pub tensor: u32,
    /// Stages of the pipeline.
    pub pipeline: u32,
    /// Replicas of the model; each has its own part of the batch.
    pub data: u32,
    /// Data-parallel ranks that share the experts of each layer.
    pub expert: u32,
    /// Ranks that share each sequence.
    pub context: u32,
}

impl Parallel {
    /// Degrees of a single rank.
    pub const ONE: Self = Self {
        tensor: 1,
        pipeline: 1,
        data: 1,
        expert: 1,
        context: 1,
    };

    /// Returns the number of ranks, saturating.
    pub fn ranks(&self) -> u32 {
        self.tensor
            .saturating_mul(self.context)
            .saturating_mul(self.data)
            .saturating_mul(self.pipeline)
    }
}

/// Order of the micro-batches of a pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// One forward, one backward in turn; interleaved if a stage has several parts of the model.
    #[default]
    OneForwardOneBackward,
    /// Forward passes of all micro-batches, then all backward passes.
    Gpipe,
    /// As 1F1B, with the gradients of weights computed later, in the bubbles (ZB-H1).
    ZeroBubble,
}

/// Number format of the tokens that are sent to experts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Two bytes per element in all messages of activations.
    #[default]
    Bf16,
    /// One byte per element and four per 128 elements from tokens to experts; two bytes in all other messages.
    Fp8,
}

/// Merging of collectives over layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Granularity {
    /// Collectives of each layer as they are.
    #[default]
    Layer,
    /// Collectives of one kind and group merged over the layers of a pass through a stage.
    Stage,
}

/// Rates of a GPU, and times that replace them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gpu {
    /// Floating-point operations per second.
    pub flops: f64,
    /// Bytes per second of its memory.
    pub memory: f64,
    /// Share of `flops` that a training reaches.
    pub efficiency: f64,
    /// Times in ns of a forward pass of a micro-batch, by [`Part`](super::times::Part); `None` to compute them.
    pub forward_ns: [Option<u64>; PARTS],
}

/// Training of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// Sequences of an optimizer step, over all replicas.
    pub global_batch: u32,
    /// Sequences of a micro-batch.
    pub micro_batch: u32,
    /// Tokens of a sequence.
    pub sequence: u32,
    /// Order of the micro-batches of a pipeline.
    pub schedule: Schedule,
    /// Parts of the model per stage: virtual stages.
    pub interleave: u32,
    /// Layers of each virtual stage; empty if all have the same number.
    pub stages: Vec<u32>,
    /// True to exchange gradients during the last backward pass.
    pub overlap: bool,
    /// Bytes of gradients that are exchanged together while the backward pass goes on.
    pub bucket: u64,
    /// True if each replica holds a part of the optimizer's state: reduce-scatter and all-gather instead of all-reduce.
    pub optimizer_sharding: bool,
    /// True if norms and residuals are split by tokens within a tensor-parallel group.
    pub sequence_parallel: bool,
    /// Format of tokens sent to experts.
    pub precision: Precision,
    /// Merging of collectives over layers.
    pub granularity: Granularity,
    /// Exponent of the Zipf distribution of tokens over experts; 0 if all get as many.
    pub experts_skew: f64,
    /// Seed of the order of experts by popularity.
    pub experts_seed: u64,
    /// True to repeat three faults of AICB's files: see [`super::formulas`].
    pub like_aicb: bool,
    /// Computing times of a GPU.
    pub gpu: Gpu,
}

/// Training job whose sizes divide.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Architecture of the model.
    pub model: Model,
    /// Degrees of its parallelism.
    pub parallel: Parallel,
    /// Batch, schedule and rates.
    pub training: Training,
}

impl Plan {
    /// Creates a plan whose sizes divide.
    ///
    /// # Errors
    /// The first key that does not fit, with the reason.
    pub fn new(model: Model, parallel: Parallel, training: Training) -> Result<Self, Fault> {
        let plan = Self {
            model,
            parallel,
            training,
        };
        limits::check(&plan)?;
        Ok(plan)
    }

    /// Returns the number of virtual stages.
    pub fn virtual_stages(&self) -> u32 {
        self.parallel.pipeline * self.training.interleave
    }

    /// Returns the numbers of the layers of a virtual stage.
    pub fn layers_of(&self, virtual_stage: u32) -> std::ops::Range<u32> {
        let stages = &self.training.stages;
        if stages.is_empty() {
            let each = self.model.layers / self.virtual_stages();
            return virtual_stage * each..(virtual_stage + 1) * each;
        }
        let first = stages[..virtual_stage as usize].iter().sum();
        first..first + stages[virtual_stage as usize]
    }

    /// Returns the virtual stages of a stage, in the order of the model.
    pub fn parts_of(&self, stage: u32) -> impl Iterator<Item = u32> {
        (0..self.training.interleave).map(move |part| part * self.parallel.pipeline + stage)
    }
}
