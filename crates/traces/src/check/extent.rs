//! Size of a program's communication, as far as it is known before execution.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::collective::pieces;
use crate::program::{CollectiveKind, Operation, Program, Work};
use crate::walk::At;

/// Size of a program's communication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Kinds of its collectives.
    pub kinds: BTreeSet<CollectiveKind>,
    /// Estimated number of messages: about two per pair of members of a collective, or the pieces of a pipeline per
    /// member.
    pub messages: u64,
    /// Messages of NICs other than the first of their rank.
    pub other_nics: u64,
    /// Size of the largest message or collective, in bytes.
    pub largest: u64,
    /// Hash of all operations, which tells programs apart.
    pub digest: u64,
}

impl Extent {
    pub(super) fn add(&mut self, program: &dyn Program, at: At, operation: Operation) {
        // Each hash includes the one before, so the same operations in another order differ.
        let mut hasher = DefaultHasher::new();
        (self.digest, at, operation).hash(&mut hasher);
        self.digest = hasher.finish();
        let (messages, bytes) = match operation.work {
            Work::Send { bytes, .. } => {
                self.other_nics += u64::from(operation.nic > 0);
                (1, bytes)
            }
            Work::Collective(index) => {
                let Some(collective) = program.collectives().get(index as usize) else {
                    return;
                };
                let members = program
                    .groups()
                    .get(collective.group as usize)
                    .map_or(0, Vec::len);
                self.kinds.insert(collective.kind);
                let pieces = match collective.kind {
                    CollectiveKind::Broadcast | CollectiveKind::Reduce => pieces(collective.bytes),
                    _ => 0,
                };
                (pieces.max(2 * members as u64), collective.bytes)
            }
            Work::Nothing | Work::Compute { .. } | Work::Receive { .. } => return,
        };
        self.messages = self.messages.saturating_add(messages);
        self.largest = self.largest.max(bytes);
    }
}
