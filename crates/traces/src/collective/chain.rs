//! Broadcast and reduce as a pipeline: members in a chain pass on one piece after another.

use super::plan::{Stage, Step};

/// Bytes of a piece: a step of NCCL's ring, whose buffers of 4 MiB have 8 steps (`NCCL_BUFFSIZE`, `NCCL_STEPS`).
const PIECE: u64 = 512 << 10;

/// Largest number of outstanding pieces to the next member: as many as NCCL's buffers hold.
pub(super) const WINDOW: u32 = 8;

/// Largest number of pieces; beyond it, pieces are larger.
const MOST_PIECES: u64 = 4096;

/// Returns the number of pieces for a message of `bytes`.
pub(crate) fn pieces(bytes: u64) -> u64 {
    bytes.div_ceil(PIECE).min(MOST_PIECES)
}

/// Chain of members, and the data that they pass on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chain {
    members: u32,
    root: u32,
    bytes: u64,
    piece: u64,
    /// True to pass data from the last member to the root, adding up along the chain.
    reduces: bool,
}

impl Chain {
    pub(super) fn new(members: u32, root: u32, bytes: u64, reduces: bool) -> Self {
        Self {
            members,
            root,
            bytes,
            piece: PIECE.max(bytes.div_ceil(MOST_PIECES)),
            reduces,
        }
    }

    /// Returns the number of pieces, which are stages of each member.
    pub(super) fn pieces(&self) -> u64 {
        self.bytes.div_ceil(self.piece).max(1)
    }

    fn size(&self, stage: u32) -> u64 {
        let before = u64::from(stage).saturating_mul(self.piece);
        self.bytes.saturating_sub(before).clamp(1, self.piece)
    }

    /// Returns a member's index in the chain: a broadcast starts at the root, and a reduce ends there.
    fn place(&self, member: u32) -> u32 {
        let after_root = (member + self.members - self.root) % self.members;
        match self.reduces {
            false => after_root,
            true => (after_root + self.members - 1) % self.members,
        }
    }

    pub(super) fn stage(&self, member: u32, stage: u32) -> Stage {
        let index = self.place(member);
        Stage {
            needs: u32::from(index > 0),
            reduces: (self.reduces && index > 0).then(|| self.size(stage)),
            sends: u32::from(index + 1 < self.members),
        }
    }

    pub(super) fn step(&self, member: u32, stage: u32) -> Step {
        Step {
            to: (member + 1) % self.members,
            channel: 0,
            stage,
            bytes: self.size(stage),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_but_the_end_passes_all_bytes_on() {
        for (members, root, bytes) in [(4, 2, 1), (5, 0, PIECE), (3, 1, 3 * PIECE + 7), (2, 1, 1 << 50)] {
            for reduces in [false, true] {
                let chain = Chain::new(members, root, bytes, reduces);
                let pieces = chain.pieces() as u32;
                assert!(u64::from(pieces) <= MOST_PIECES);
                let end = if reduces {
                    root
                } else {
                    (root + members - 1) % members
                };
                for member in 0..members {
                    let stages =
                        (0..pieces).map(|stage| (chain.stage(member, stage), chain.step(member, stage)));
                    let sent: u64 = stages
                        .map(|(stage, step)| u64::from(stage.sends) * step.bytes)
                        .sum();
                    assert_eq!(sent, if member == end { 0 } else { bytes });
                    assert_eq!(chain.stage(member, 0).needs == 0, chain.place(member) == 0);
                }
            }
        }
    }
}
