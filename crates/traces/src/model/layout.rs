//! Groups of ranks, in Megatron's order: tensor parallelism is fastest, then context, experts, data; the pipeline is
//! slowest. Rank = t + tp (c + cp (e + ep (x + dp/ep p))).

use super::plan::Parallel;
use crate::program::Rank;

/// Purpose of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupKind {
    /// Ranks that share a layer.
    Tensor,
    /// Ranks with the same weights: data and context parallelism.
    Data,
    /// Ranks that share a layer's experts.
    Expert,
    /// Ranks with the same experts.
    ExpertData,
    /// Ranks that share a layer's experts, with all of their tensor-parallel ranks.
    TensorExpert,
    /// First and last stage, which share the weights of the embedding.
    Embedding,
}

impl GroupKind {
    /// All kinds, in the order of a program's groups.
    pub const ALL: [Self; 6] = [
        Self::Tensor,
        Self::Data,
        Self::Expert,
        Self::ExpertData,
        Self::TensorExpert,
        Self::Embedding,
    ];

    /// Returns the name as in texts for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Data => "data",
            Self::Expert => "expert",
            Self::ExpertData => "expert data",
            Self::TensorExpert => "tensor and expert",
            Self::Embedding => "first and last stage",
        }
    }

    /// Returns the coordinates that differ between members: tensor, context, expert, data, pipeline.
    const fn varies(self) -> [bool; 5] {
        match self {
            Self::Tensor => [true, false, false, false, false],
            Self::Data => [false, true, true, true, false],
            Self::Expert => [false, false, true, false, false],
            Self::ExpertData => [false, true, false, true, false],
            Self::TensorExpert => [true, false, true, false, false],
            Self::Embedding => [false, false, false, false, true],
        }
    }
}

/// Positions of the ranks of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Numbers of tensor, context, expert, data and pipeline coordinates.
    sizes: [u32; 5],
}

impl Layout {
    /// Creates the layout of degrees whose data parallelism is a multiple of the expert parallelism.
    pub fn new(parallel: &Parallel) -> Self {
        Self {
            sizes: [
                parallel.tensor,
                parallel.context,
                parallel.expert,
                parallel.data / parallel.expert,
                parallel.pipeline,
            ],
        }
    }

    fn coordinates(&self, rank: Rank) -> [u32; 5] {
        let mut rest = rank;
        self.sizes.map(|size| {
            let at = rest % size;
            rest /= size;
            at
        })
    }

    fn rank(&self, coordinates: [u32; 5]) -> Rank {
        let pairs = coordinates.into_iter().zip(self.sizes);
        pairs.rev().fold(0, |rank, (at, size)| rank * size + at)
    }

    /// Returns the number of ranks of a stage.
    pub fn per_stage(&self) -> u32 {
        self.sizes[..4].iter().product()
    }

    /// Returns the stage of a rank.
    pub fn stage(&self, rank: Rank) -> u32 {
        rank / self.per_stage()
    }

    /// Returns the position of a rank among those that share a layer's experts.
    pub fn expert(&self, rank: Rank) -> u32 {
        self.coordinates(rank)[2]
    }

    /// Returns the number of ranks in a group of a kind.
    pub fn size(&self, kind: GroupKind) -> u32 {
        if kind == GroupKind::Embedding {
            return self.sizes[4].min(2);
        }
        let pairs = self.sizes.into_iter().zip(kind.varies());
        pairs
            .filter(|(_, varies)| *varies)
            .map(|(size, _)| size)
            .product()
    }

    /// Returns the number of groups of a kind.
    pub fn count(&self, kind: GroupKind) -> u32 {
        let pairs = self.sizes.into_iter().zip(kind.varies());
        pairs
            .filter(|(_, varies)| !varies)
            .map(|(size, _)| size)
            .product()
    }

    /// Returns the number of a rank's group of a kind.
    pub fn of(&self, kind: GroupKind, rank: Rank) -> u32 {
        let fixed = self
            .coordinates(rank)
            .into_iter()
            .zip(self.sizes)
            .zip(kind.varies());
        let fixed = fixed.filter(|(_, varies)| !varies);
        fixed.rev().fold(0, |number, ((at, size), _)| number * size + at)
    }

    /// Returns the ranks of a group in ascending order.
    pub fn members(&self, kind: GroupKind, number: u32) -> Vec<Rank> {
        let varies = kind.varies();
        let mut rest = number;
        let mut fixed = [0; 5];
        for axis in 0..5 {
            if !varies[axis] {
                fixed[axis] = rest % self.sizes[axis];
                rest /= self.sizes[axis];
            }
        }
        let all: u32 = (0..5)
            .filter(|&axis| varies[axis])
            .map(|axis| self.sizes[axis])
            .product();
        let member = |index: u32| {
            let (mut at, mut rest) = (fixed, index);
            for axis in 0..5 {
                if varies[axis] {
                    at[axis] = rest % self.sizes[axis];
                    rest /= self.sizes[axis];
                }
            }
            self.rank(at)
        };
        match kind {
            GroupKind::Embedding if all > 2 => vec![member(0), member(all - 1)],
            _ => (0..all).map(member).collect(),
        }
    }

    /// Returns the rank that holds the next part of the sequence, in a ring.
    pub fn next_in_ring(&self, rank: Rank) -> Rank {
        self.in_ring(rank, 1)
    }

    /// Returns the rank that holds the previous part of the sequence, in a ring.
    pub fn previous_in_ring(&self, rank: Rank) -> Rank {
        self.in_ring(rank, self.sizes[1] - 1)
    }

    fn in_ring(&self, rank: Rank, distance: u32) -> Rank {
        let mut at = self.coordinates(rank);
        at[1] = (at[1] + distance) % self.sizes[1];
        self.rank(at)
    }
}
