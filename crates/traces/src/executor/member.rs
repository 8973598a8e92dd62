//! Members of collectives under way.

use paceline_kernel::Time;

use super::job::Job;
use super::trail::{Since, Trail};

/// A chunk in a channel of a member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sequence {
    pub(super) chunk: u64,
    pub(super) channel: u32,
    pub(super) stage: u32,
    /// How many messages this stage still waits for; nothing while its delay runs.
    pub(super) missing: Option<u32>,
}

/// A message for a stage that has not started.
#[derive(Clone, Copy, Debug)]
pub(super) struct Early {
    pub(super) chunk: u64,
    pub(super) channel: u32,
    pub(super) stage: u32,
    pub(super) came: Time,
    /// Its arrival, as what the stage may follow from.
    pub(super) since: Option<Since>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    pub(super) job: Option<Job>,
    pub(super) done: bool,
    /// What is under way.
    pub(super) sequences: Vec<Sequence>,
    /// Messages for stages that have not started.
    pub(super) early: Vec<Early>,
    pub(super) next_chunk: u64,
    pub(super) finished: u64,
    pub(super) unsent: u32,
    /// See [`crate::collective::Processing::Fixed`].
    pub(super) toggle: bool,
}

impl Member {
    pub(super) fn sequence(&mut self, (chunk, channel): (u64, u32)) -> Option<usize> {
        self.sequences
            .iter()
            .position(|s| s.chunk == chunk && s.channel == channel)
    }

    /// Takes messages that came early for a stage, as many as it misses; gives when the last of them came.
    pub(super) fn take_early(
        &mut self,
        key: (u64, u32, u32),
        missing: &mut u32,
        trail: &mut Option<Box<Trail>>,
    ) -> Option<(Time, Option<Since>)> {
        let mut last: Option<(Time, Option<Since>)> = None;
        self.early.retain(|early| {
            let mine = *missing > 0 && (early.chunk, early.channel, early.stage) == key;
            *missing -= u32::from(mine);
            if mine {
                let is_last = last.is_none_or(|(came, _)| came <= early.came);
                let other = match is_last {
                    true => last.replace((early.came, early.since)).and_then(|of| of.1),
                    false => early.since,
                };
                forget(trail, other);
            }
            !mine
        });
        last
    }
}

/// Nothing follows from it.
pub(super) fn forget(trail: &mut Option<Box<Trail>>, since: Option<Since>) {
    if let (Some(trail), Some(since)) = (trail, since) {
        trail.forget(since);
    }
}
