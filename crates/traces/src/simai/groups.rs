//! Groups of ranks, which SimAI derives from three numbers.

use crate::program::Rank;
use crate::trouble::Trouble;

use super::header::Header;

/// Purpose of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupKind {
    /// Tensor parallelism: consecutive ranks.
    Tp,
    /// Data parallelism: ranks with the same index in all tensor-parallel groups.
    Dp,
    /// Expert parallelism: ranks with the same index in neighbouring tensor-parallel groups.
    Ep,
    /// Data parallelism of experts: ranks with the same index in every ep-th tensor-parallel group.
    DpEp,
}

/// Groups of a job. Pipelines are ignored, as in SimAI's packet simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Groups {
    ranks: u32,
    tp: u32,
    ep: u32,
}

impl Groups {
    /// All kinds, in the order in which SimAI creates them.
    pub const KINDS: [GroupKind; 4] = [GroupKind::Tp, GroupKind::Dp, GroupKind::Ep, GroupKind::DpEp];

    /// Creates the groups of `ranks` ranks from a header; `location` is the position of its line.
    ///
    /// # Errors
    /// If the numbers do not divide evenly.
    pub fn new(header: &Header, ranks: u32, location: &str) -> Result<Self, Trouble> {
        let (tp, ep) = (header.tp, header.ep);
        if ranks == 0 || !ranks.is_multiple_of(tp) {
            let message = format!(
                "{ranks} ranks are not a multiple of model_parallel_NPU_group {tp}, with ep {ep}: DP would be {:.2}",
                f64::from(ranks) / f64::from(tp)
            );
            return Err(Trouble::at(location, message));
        }
        let dp = ranks / tp;
        if !dp.is_multiple_of(ep) {
            let message = format!(
                "DP {dp} ({ranks} ranks by model_parallel_NPU_group {tp}) is not a multiple of ep {ep}: DP_EP would be {:.2}",
                f64::from(dp) / f64::from(ep)
            );
            return Err(Trouble::at(location, message));
        }
        Ok(Self { ranks, tp, ep })
    }

    /// Returns the number of ranks in a group of a kind.
    pub fn size(&self, kind: GroupKind) -> u32 {
        let dp = self.ranks / self.tp;
        match kind {
            GroupKind::Tp => self.tp,
            GroupKind::Dp => dp,
            GroupKind::Ep => self.ep,
            GroupKind::DpEp => dp / self.ep,
        }
    }

    /// Returns the number of groups of a kind.
    pub fn count(&self, kind: GroupKind) -> u32 {
        self.ranks / self.size(kind)
    }

    /// Returns the number of a rank's group of a kind.
    pub fn of(&self, kind: GroupKind, rank: Rank) -> u32 {
        let (block, index) = (rank / self.tp, rank % self.tp);
        match kind {
            GroupKind::Tp => block,
            GroupKind::Dp => index,
            GroupKind::Ep => block / self.ep * self.tp + index,
            GroupKind::DpEp => block % self.ep * self.tp + index,
        }
    }

    /// Returns the ranks of a group in ascending order.
    pub fn members(&self, kind: GroupKind, number: u32) -> Vec<Rank> {
        let (block, index) = (number / self.tp, number % self.tp);
        let (first, step) = match kind {
            GroupKind::Tp => (number * self.tp, 1),
            GroupKind::Dp => (number, self.tp),
            GroupKind::Ep => (block * self.ep * self.tp + index, self.tp),
            GroupKind::DpEp => (block * self.tp + index, self.ep * self.tp),
        };
        (0..self.size(kind)).map(|i| first + i * step).collect()
    }
}
