//! Members of collectives in progress.

use super::job::Job;

/// Chunk in a channel of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    pub(super) chunk: u64,
    pub(super) channel: u32,
    pub(super) stage: u32,
    /// Number of messages that the stage waits for; `None` while its delay runs, or while it is held.
    pub(super) missing: Option<u32>,
    /// Messages of earlier stages that have not left.
    pub(super) unsent: u32,
    /// Messages of earlier stages that have not been received.
    pub(super) under_way: u32,
    /// True while the stage may not begin because of these: see [`crate::collective::Plan::window`].
    pub(super) is_held: bool,
}

impl Sequence {
    /// Returns true if a stage may begin: earlier messages have left, and fewer than the window are outstanding.
    pub(super) fn may_go_on(&self, window: Option<u32>) -> bool {
        window.is_none_or(|most| self.unsent == 0 && self.under_way < most)
    }
}

/// Chunk and channel that a sequence executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SequenceKey {
    pub(super) chunk: u64,
    pub(super) channel: u32,
}

impl SequenceKey {
    /// Returns the key of a stage of the sequence.
    pub(super) fn stage(self, stage: u32) -> StageKey {
        StageKey {
            chunk: self.chunk,
            channel: self.channel,
            stage,
        }
    }
}

/// Stage of a sequence, to which a message belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StageKey {
    pub(super) chunk: u64,
    pub(super) channel: u32,
    pub(super) stage: u32,
}

impl StageKey {
    /// Returns the key of the sequence that the stage belongs to.
    pub(super) fn sequence(self) -> SequenceKey {
        SequenceKey {
            chunk: self.chunk,
            channel: self.channel,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    pub(super) job: Option<Job>,
    pub(super) done: bool,
    /// Chunks in progress, in any order.
    pub(super) sequences: Vec<Sequence>,
    /// Messages for stages that have not started.
    pub(super) early: Vec<StageKey>,
    pub(super) next_chunk: u64,
    pub(super) finished: u64,
    pub(super) unsent: u32,
    /// Toggle that alternates the delay: see [`crate::collective::Processing::Fixed`].
    pub(super) toggle: bool,
    /// Number of sends in each ring, if the member relays messages of others.
    sends: Vec<u32>,
}

impl Member {
    /// Counts a send in a ring, and returns the number of those before it.
    pub(super) fn count_send(&mut self, ring: u32) -> u32 {
        let ring = ring as usize;
        self.sends.resize(self.sends.len().max(ring + 1), 0);
        self.sends[ring] += 1;
        self.sends[ring] - 1
    }

    pub(super) fn sequence(&mut self, key: SequenceKey) -> Option<usize> {
        self.sequences
            .iter()
            .position(|s| s.chunk == key.chunk && s.channel == key.channel)
    }

    /// Removes messages that arrived early for a stage, as many as it misses.
    pub(super) fn take_early(&mut self, key: StageKey, missing: &mut u32) {
        self.early.retain(|early| {
            let mine = *missing > 0 && *early == key;
            *missing -= u32::from(mine);
            !mine
        });
    }
}
