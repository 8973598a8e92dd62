//! Size of a program's communication, as far as it is known before execution.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::collective::pieces;
use crate::program::{CollectiveKind, Operation, Program, Rank, Work};
use crate::walk::At;

/// Size of a program's communication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Kinds of its collectives.
    pub kinds: BTreeSet<CollectiveKind>,
    /// Estimated number of messages: about two per pair of members of a collective, or the pieces of a pipeline per
    /// member.
    pub messages: u64,
    /// Highest NIC of each rank that sends or receives by another than the first, and the operation that names it.
    pub nics: BTreeMap<Rank, (u8, At)>,
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
            Work::Send { to, bytes, .. } => {
                // A message arrives at the NIC of the number that it left by.
                self.note_nic(at.0, operation.nic, at);
                self.note_nic(to, operation.nic, at);
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
            Work::Receive { .. } => {
                self.note_nic(at.0, operation.nic, at);
                return;
            }
            Work::Nothing | Work::Compute { .. } => return,
        };
        self.messages = self.messages.saturating_add(messages);
        self.largest = self.largest.max(bytes);
    }

    fn note_nic(&mut self, rank: Rank, nic: u8, at: At) {
        if nic > 0 {
            let highest = self.nics.entry(rank).or_insert((nic, at));
            *highest = if nic > highest.0 { (nic, at) } else { *highest };
        }
    }
}
