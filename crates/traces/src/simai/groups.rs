//! Groups of ranks, as SimAI makes them of three numbers.

use crate::program::Rank;
use crate::trouble::Trouble;

use super::header::Header;

/// What a group is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupKind {
    /// Tensor parallelism: neighbours.
    Tp,
    /// Data parallelism: ranks of the same place in all tensor-parallel groups.
    Dp,
    /// Expert parallelism: ranks of the same place in neighbouring tensor-parallel groups.
    Ep,
    /// Data parallelism of experts: ranks of the same place in each ep-th tensor-parallel group.
    DpEp,
}

/// The groups of a job. Pipelines are not taken into account, as in SimAI's packet simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    ranks: u32,
    tp: u32,
    ep: u32,
}

impl Groups {
    /// All kinds, in the order in which SimAI makes them.
    pub const KINDS: [GroupKind; 4] = [GroupKind::Tp, GroupKind::Dp, GroupKind::Ep, GroupKind::DpEp];

    /// Of so many ranks, as a header says; `place` is that of its line.
    ///
    /// # Errors
    /// Where the numbers do not divide, with the numbers.
    pub fn new(header: &Header, ranks: u32, place: &str) -> Result<Self, Trouble> {
        let (tp, ep) = (header.tp, header.ep);
        if ranks == 0 || !ranks.is_multiple_of(tp) {
            let message = format!(
                "{ranks} ranks are not a multiple of model_parallel_NPU_group {tp}, with ep {ep}: DP would be {:.2}",
                f64::from(ranks) / f64::from(tp)
            );
            return Err(Trouble::at(place, message));
        }
        let dp = ranks / tp;
        if !dp.is_multiple_of(ep) {
            let message = format!(
                "DP {dp} ({ranks} ranks by model_parallel_NPU_group {tp}) is not a multiple of ep {ep}: DP_EP would be {:.2}",
                f64::from(dp) / f64::from(ep)
            );
            return Err(Trouble::at(place, message));
        }
        Ok(Self { ranks, tp, ep })
    }

    /// Ranks of a group of a kind.
    pub fn size(&self, kind: GroupKind) -> u32 {
        let dp = self.ranks / self.tp;
        match kind {
            GroupKind::Tp => self.tp,
            GroupKind::Dp => dp,
            GroupKind::Ep => self.ep,
            GroupKind::DpEp => dp / self.ep,
        }
    }

    /// How many groups of a kind there are.
    pub fn count(&self, kind: GroupKind) -> u32 {
        self.ranks / self.size(kind)
    }

    /// The number of a rank's group of a kind.
    pub fn of(&self, kind: GroupKind, rank: Rank) -> u32 {
        let (block, place) = (rank / self.tp, rank % self.tp);
        match kind {
            GroupKind::Tp => block,
            GroupKind::Dp => place,
            GroupKind::Ep => block / self.ep * self.tp + place,
            GroupKind::DpEp => block % self.ep * self.tp + place,
        }
    }

    /// The ranks of a group, ascending.
    pub fn members(&self, kind: GroupKind, number: u32) -> Vec<Rank> {
        let (block, place) = (number / self.tp, number % self.tp);
        let (first, step) = match kind {
            GroupKind::Tp => (number * self.tp, 1),
            GroupKind::Dp => (number, self.tp),
            GroupKind::Ep => (block * self.ep * self.tp + place, self.tp),
            GroupKind::DpEp => (block * self.tp + place, self.ep * self.tp),
        };
        (0..self.size(kind)).map(|i| first + i * step).collect()
    }
}
