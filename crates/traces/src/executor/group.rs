//! Groups of ranks with their collectives in progress.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::collective::CollectiveRules;
use crate::program::Rank;

/// Marker of a collective that has not been created.
const NONE: u32 = u32::MAX;
/// Marker of a collective that has completed.
const OVER: u32 = u32::MAX - 1;

/// Group of ranks with its collectives in progress.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) members: Arc<[Rank]>,
    /// Members sorted by rank.
    index: Arc<[(Rank, u32)]>,
    pub(super) rings: u32,
    /// Number of each member's next collective.
    pub(super) next: Vec<u64>,
    /// Number of the first collective in `live`.
    base: u64,
    live: VecDeque<u32>,
}

impl Group {
    pub(super) fn new(members: &[Rank], rules: &CollectiveRules) -> Self {
        let mut index: Vec<(Rank, u32)> = members.iter().copied().zip(0..).collect();
        index.sort_unstable();
        Self {
            rings: rules.channels(members),
            next: vec![0; members.len()],
            members: members.into(),
            index: index.into(),
            base: 0,
            live: VecDeque::new(),
        }
    }

    pub(super) fn member(&self, rank: Rank) -> Option<u32> {
        let index = self.index.binary_search_by_key(&rank, |&(r, _)| r).ok()?;
        Some(self.index[index].1)
    }

    pub(super) fn place(&mut self, number: u64) -> Option<&mut u32> {
        let at = usize::try_from(number.checked_sub(self.base)?).ok()?;
        while self.live.len() <= at {
            self.live.push_back(NONE);
        }
        self.live.get_mut(at)
    }

    pub(super) fn over(&mut self, number: u64) {
        if let Some(index) = self.place(number) {
            *index = OVER;
        }
        while self.live.front() == Some(&OVER) {
            self.live.pop_front();
            self.base += 1;
        }
    }
}
