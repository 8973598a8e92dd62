//! Stages of a collective.

use std::sync::Arc;

use super::chain::{self, Chain};
use super::rings::{self, Phase, Relays, nested, ring_next};
use super::{Algorithm, CollectiveRules, tree};
use crate::program::{Collective, CollectiveKind};
use crate::shares::{Shares, apportion};

/// Stage of a member: messages that it needs, and messages that it sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stage {
    /// Number of messages that have to arrive.
    pub(crate) needs: u32,
    /// Size of each of these if they are reduced; `None` if they are only stored.
    pub(crate) reduces: Option<u64>,
    /// Number of messages to send.
    pub(crate) sends: u32,
}

/// Message of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Receiving member of the group.
    pub(crate) to: u32,
    /// Receiver's channel and stage that need the message.
    pub(crate) channel: u32,
    pub(crate) stage: u32,
    /// Size in bytes, at least one.
    pub(crate) bytes: u64,
}

#[derive(Clone, Debug)]
enum Shape {
    /// Rings, one phase after another; in a single ring, channels are rotated by their number.
    Rings {
        phases: Vec<Phase>,
        per_server: u32,
        relays: Option<Relays>,
    },
    /// Rounds in which every member sends to every other.
    Direct { bytes: u64, rounds: u32, reduces: bool },
    /// Messages to the member 2^k further on, for each k.
    Dissemination { rounds: u32 },
    /// Messages up a tree.
    Up {
        bytes: u64,
        whole_parts: bool,
        reduces: bool,
    },
    /// Messages down a tree.
    Down { bytes: u64, whole_parts: bool },
    /// Messages from the root to all members, or from all to the root.
    Star { bytes: u64, is_up: bool },
    /// Pieces passed from member to member.
    Chain(Chain),
    /// Messages up and down a tree; each channel has its own bytes.
    UpDown { bytes: u64, double: bool },
}

/// Schedule of a collective, shared by all members of a group.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    shape: Shape,
    members: u32,
    root: u32,
    /// Order of direct sends: [`CollectiveRules::ascending`].
    ascending: bool,
    /// Size of a chunk.
    chunk: u64,
    /// Sizes of direct messages by member, instead of equal ones; true if they are those of senders.
    parts: Option<(Arc<[u64]>, bool)>,
    /// Number of chunks, executed independently.
    pub(crate) chunks: u64,
    /// Number of channels of each chunk.
    pub(crate) channels: u32,
}

/// Returns the size of a chunk, `floor(S/C)`, and the number of chunks. If that size is below `least`, there are C
/// chunks of `least` bytes.
fn split(bytes: u64, splits: u64, least: u64) -> (u64, u64) {
    let size = bytes / splits.max(1);
    if size >= least {
        (size, bytes.div_ceil(size))
    } else {
        (least, splits.max(1))
    }
}

impl Plan {
    /// Creates the schedule of a group of `members` with `rings` rings; `root` is a member.
    pub(crate) fn new(
        rules: &CollectiveRules,
        collective: &Collective,
        members: u32,
        rings: u32,
        root: u32,
    ) -> Self {
        use CollectiveKind as Kind;
        let n = u64::from(members.max(1));
        let kind = collective.kind;
        let parted = !matches!(
            kind,
            Kind::AllGather | Kind::Gather | Kind::Broadcast | Kind::Reduce
        );
        // Each part of a cut chunk needs a byte of its own; data that stays whole needs only one.
        let (chunk, chunks) = match kind {
            Kind::Barrier => (1, 1),
            _ if parted => split(collective.bytes, rules.splits, n),
            _ => split(collective.bytes, rules.splits.min(collective.bytes), 1),
        };
        let rings = u64::from(rings.max(1));
        // A message has at least one byte.
        let part = (chunk / n / rings).max(1);
        // ASTRA-sim takes the size of an all-gather for a member's part, SimAI for the whole.
        let gathered = if rules.gather_size_is_part {
            (chunk / rings).max(1)
        } else {
            part
        };
        let one = |steps: u64, bytes: u64, reduces: bool| Phase {
            size: members,
            stride: 1,
            steps,
            bytes,
            reduces,
        };
        let servers = members / rings as u32;
        let is_relayed = matches!(kind, Kind::AllReduce | Kind::ReduceScatter);
        // A server with one member has the same first and last one.
        let relays = (rules.relays && is_relayed && rings > 1 && servers > 1).then_some(Relays {
            per_server: rings as u32,
            servers,
        });
        let ring = |phases: Vec<Phase>| Shape::Rings {
            phases,
            per_server: rings as u32,
            relays,
        };
        let whole_part = (chunk / n).max(1);
        let whole_gathered = if rules.gather_size_is_part {
            chunk
        } else {
            whole_part
        };
        let algorithm = rules.algorithm(kind);
        let shape = match (kind, algorithm) {
            (Kind::AllReduce, Algorithm::Direct) => Shape::Direct {
                bytes: whole_part,
                rounds: 2,
                reduces: true,
            },
            (Kind::ReduceScatter, Algorithm::Direct) => Shape::Direct {
                bytes: whole_part,
                rounds: 1,
                reduces: true,
            },
            (Kind::AllGather, Algorithm::Direct) => Shape::Direct {
                bytes: whole_gathered,
                rounds: 1,
                reduces: false,
            },
            (Kind::AllToAll, Algorithm::Direct) => Shape::Direct {
                bytes: whole_part,
                rounds: 1,
                reduces: false,
            },
            (Kind::AllReduce, Algorithm::Binomial) => Shape::UpDown {
                bytes: chunk,
                double: false,
            },
            // Each of the two trees carries half of the chunk.
            (Kind::AllReduce, Algorithm::DoubleBinary) => Shape::UpDown {
                bytes: chunk.div_ceil(2),
                double: true,
            },
            (Kind::Broadcast | Kind::Reduce, Algorithm::Direct) => Shape::Star {
                bytes: chunk,
                is_up: kind == Kind::Reduce,
            },
            (Kind::Broadcast | Kind::Reduce, Algorithm::Ring) => {
                Shape::Chain(Chain::new(members, root, chunk, kind == Kind::Reduce))
            }
            (_, Algorithm::Hierarchical(sizes)) => ring(nested(kind, sizes, chunk, whole_gathered)),
            (Kind::AllReduce, _) => ring(vec![one(n - 1, part, true), one(n - 1, part, false)]),
            (Kind::ReduceScatter, _) => ring(vec![one(n - 1, part, true)]),
            (Kind::AllGather, _) => ring(vec![one(n - 1, gathered, false)]),
            // Relayed: data for the member k positions further on takes k steps, for k from 1 to n - 1.
            (Kind::AllToAll, _) => ring(vec![one(n * (n - 1) / 2, part, false)]),
            (Kind::Reduce, _) => Shape::Up {
                bytes: chunk,
                whole_parts: false,
                reduces: true,
            },
            // Unlike a sum, gathered data grows with the subtree.
            (Kind::Gather, _) => Shape::Up {
                bytes: whole_gathered,
                whole_parts: true,
                reduces: false,
            },
            (Kind::Scatter, _) => Shape::Down {
                bytes: whole_part,
                whole_parts: true,
            },
            (Kind::Broadcast, _) => Shape::Down {
                bytes: chunk,
                whole_parts: false,
            },
            // The number of members that are known to have arrived doubles per round.
            (Kind::Barrier, _) => Shape::Dissemination {
                rounds: 32 - (members.max(1) - 1).leading_zeros(),
            },
        };
        let channels = match shape {
            Shape::Rings {
                per_server, relays, ..
            } => per_server * (1 + u32::from(relays.is_some())),
            Shape::UpDown { double: true, .. } => 2,
            _ => 1,
        };
        Self {
            shape,
            members,
            root,
            ascending: rules.ascending,
            chunk,
            parts: None,
            chunks,
            channels,
        }
    }

    /// Replaces the equal sizes of a direct all-to-all by uneven ones. What a member keeps is its own part.
    pub(crate) fn with_shares(mut self, shares: Option<Shares>) -> Self {
        let is_direct = matches!(self.shape, Shape::Direct { .. });
        if let Some(shares) =
            shares.filter(|shares| is_direct && shares.weights.len() == self.members as usize)
        {
            let parts = apportion(self.chunk, &shares.weights);
            self.parts = Some((parts.into(), shares.by_sender));
        }
        self
    }

    /// Returns the size of a direct message.
    fn direct(&self, bytes: u64, from: u32, to: u32) -> u64 {
        match &self.parts {
            None => bytes,
            Some((parts, by_sender)) => parts[if *by_sender { from } else { to } as usize].max(1),
        }
    }

    /// Returns the number of pipeline messages that may be outstanding to the next member, each leaving after the
    /// previous one: messages leaving together would share their link, and all arrive late. `None` for other
    /// algorithms.
    pub(crate) fn window(&self) -> Option<u32> {
        matches!(self.shape, Shape::Chain(_)).then_some(chain::WINDOW)
    }

    /// Returns the ring of a channel in which a member sends messages of others, too; `None` if there are no such
    /// rings.
    pub(crate) fn relayed_ring(&self, channel: u32) -> Option<u32> {
        match &self.shape {
            Shape::Rings {
                relays: Some(relays), ..
            } => Some(channel % relays.per_server),
            _ => None,
        }
    }

    /// Returns the number of a member's stages.
    pub(crate) fn stages(&self, member: u32, channel: u32) -> u64 {
        match &self.shape {
            // The last stage only waits for the last step's message, and a relay has none.
            Shape::Rings { phases, relays, .. } => {
                let steps = phases.iter().map(|p| p.steps).sum::<u64>();
                match relays.and_then(|relays| Some((relays, relays.ring(channel)?))) {
                    None => steps + 1,
                    Some((relays, ring)) if relays.is_first(ring, member) => steps,
                    Some(_) => 1,
                }
            }
            Shape::Direct { rounds, .. } | Shape::Dissemination { rounds } => u64::from(*rounds) + 1,
            Shape::Up { .. } | Shape::Down { .. } | Shape::Star { .. } => 1,
            Shape::Chain(chain) => chain.pieces(),
            Shape::UpDown { double, .. } => {
                if tree::parent(*double, self.members, channel, member).is_some() {
                    2
                } else {
                    1
                }
            }
        }
    }

    /// Returns a stage of a member.
    pub(crate) fn stage(&self, member: u32, channel: u32, stage: u32) -> Stage {
        let n = self.members;
        match &self.shape {
            Shape::Rings {
                relays: Some(relays), ..
            } if relays.ring(channel).is_some() => {
                let ring = relays.ring(channel);
                let takes_part = ring.is_some_and(|ring| relays.is_first(ring, member));
                Stage {
                    needs: u32::from(takes_part),
                    reduces: None,
                    sends: u32::from(takes_part),
                }
            }
            Shape::Rings { phases, .. } => {
                // A stage combines what the previous step has sent to it.
                let before = stage
                    .checked_sub(1)
                    .and_then(|s| rings::phase(phases, u64::from(s)));
                Stage {
                    needs: u32::from(stage > 0),
                    reduces: before.filter(|p| p.reduces).map(|p| p.bytes),
                    sends: u32::from(rings::phase(phases, u64::from(stage)).is_some()),
                }
            }
            Shape::Direct {
                bytes,
                rounds,
                reduces,
            } => Stage {
                needs: if stage > 0 { n - 1 } else { 0 },
                // The second round of an all-reduce distributes finished sums.
                reduces: (*reduces && stage == 1).then_some(*bytes),
                sends: if stage < *rounds { n - 1 } else { 0 },
            },
            Shape::Dissemination { rounds } => Stage {
                needs: u32::from(stage > 0),
                reduces: None,
                sends: u32::from(stage < *rounds),
            },
            Shape::Up { bytes, reduces, .. } => Stage {
                needs: tree::binomial_children(n, self.virtual_of(member)),
                reduces: reduces.then_some(*bytes),
                sends: u32::from(member != self.root),
            },
            Shape::Down { .. } => Stage {
                needs: u32::from(member != self.root),
                reduces: None,
                sends: tree::binomial_children(n, self.virtual_of(member)),
            },
            Shape::Star { bytes, is_up } => {
                let is_root = member == self.root;
                let (from_others, to_others) = if is_root { (n - 1, n - 1) } else { (1, 1) };
                Stage {
                    needs: if *is_up == is_root { from_others } else { 0 },
                    reduces: (*is_up && is_root).then_some(*bytes),
                    sends: if *is_up == is_root { 0 } else { to_others },
                }
            }
            Shape::Chain(chain) => chain.stage(member, stage),
            Shape::UpDown { bytes, double } => {
                let children = tree::children(*double, n, channel, member).count() as u32;
                let root = tree::parent(*double, n, channel, member).is_none();
                // Stage 0 adds up the children's data; at the root, the result then goes down in the same stage.
                if stage == 0 {
                    Stage {
                        needs: children,
                        reduces: Some(*bytes),
                        sends: if root { children } else { 1 },
                    }
                } else {
                    Stage {
                        needs: 1,
                        reduces: None,
                        sends: children,
                    }
                }
            }
        }
    }

    /// Returns a member's number relative to the root, which is 0.
    fn virtual_of(&self, member: u32) -> u32 {
        (member + self.members - self.root) % self.members
    }

    fn member_of(&self, number: u32) -> u32 {
        (number + self.root) % self.members
    }

    /// Returns message `k` of a stage.
    pub(crate) fn step(&self, member: u32, channel: u32, stage: u32, k: u32) -> Step {
        let n = self.members;
        match &self.shape {
            Shape::Rings {
                phases,
                per_server,
                relays,
            } => {
                let phase = rings::phase(phases, u64::from(stage));
                let bytes = phase.map_or(1, |p| p.bytes);
                let next = phase.map_or(member, |p| {
                    ring_next(p, *per_server, channel % per_server, member)
                });
                let (to, channel, stage) = match relays {
                    Some(relays) => match relays.ring(channel) {
                        Some(ring) => (relays.next(ring, member), ring, stage + 1),
                        None if relays.is_last(channel, member) => {
                            (relays.first(channel, member), channel + per_server, stage)
                        }
                        None => (next, channel, stage + 1),
                    },
                    None => (next, channel, stage + 1),
                };
                Step {
                    to,
                    channel,
                    stage,
                    bytes,
                }
            }
            Shape::Direct { bytes, .. } => {
                // By default, members begin with different receivers; in ascending order, all begin with member 0.
                let to = match self.ascending {
                    true => k + u32::from(k >= member),
                    false => ((u64::from(member) + 1 + u64::from(k)) % u64::from(n)) as u32,
                };
                Step {
                    to,
                    channel,
                    stage: stage + 1,
                    bytes: self.direct(*bytes, member, to),
                }
            }
            Shape::Dissemination { .. } => Step {
                to: ((u64::from(member) + (1_u64 << stage)) % u64::from(n)) as u32,
                channel,
                stage: stage + 1,
                bytes: 1,
            },
            Shape::Up {
                bytes, whole_parts, ..
            } => {
                let number = self.virtual_of(member);
                let parts = if *whole_parts {
                    tree::binomial_size(n, number)
                } else {
                    1
                };
                // The parent in a binomial tree has the number without its lowest bit.
                Step {
                    to: self.member_of(number & number.wrapping_sub(1)),
                    channel,
                    stage: 0,
                    bytes: bytes.saturating_mul(u64::from(parts)),
                }
            }
            Shape::Down { bytes, whole_parts } => {
                // The largest subtree comes first, since it has most steps left.
                let number = self.virtual_of(member);
                let last = tree::binomial_children(n, number) - 1;
                let child = number + (1 << (last - k));
                let parts = if *whole_parts {
                    tree::binomial_size(n, child)
                } else {
                    1
                };
                Step {
                    to: self.member_of(child),
                    channel,
                    stage: 0,
                    bytes: bytes.saturating_mul(u64::from(parts)),
                }
            }
            Shape::Star { bytes, is_up } => Step {
                to: match is_up {
                    true => self.root,
                    false => self.member_of(k + 1),
                },
                channel,
                stage: 0,
                bytes: *bytes,
            },
            Shape::Chain(chain) => chain.step(member, stage),
            Shape::UpDown { bytes, double } => {
                let parent = tree::parent(*double, n, channel, member);
                let (to, stage) = match parent {
                    Some(parent) if stage == 0 => (parent, 0),
                    _ => (
                        tree::children(*double, n, channel, member)
                            .nth(k as usize)
                            .unwrap_or(member),
                        1,
                    ),
                };
                Step {
                    to,
                    channel,
                    stage,
                    bytes: *bytes,
                }
            }
        }
    }
}
