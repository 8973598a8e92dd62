//! Messages of a collective between ranks 0 to n - 1, with their dependencies.

use paceline_run::spec::Awaited;

use super::steps::Step;

/// Dependency of a message on an event of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wait {
    /// Index of the earlier message.
    pub(super) after: u32,
    pub(super) awaited: Awaited,
}

impl Wait {
    /// Returns the dependency on the data of a message.
    pub(super) const fn received(after: u32) -> Self {
        Self {
            after,
            awaited: Awaited::Received,
        }
    }

    /// Returns the dependency on the acknowledgement of a message.
    pub(super) const fn acknowledged(after: u32) -> Self {
        Self {
            after,
            awaited: Awaited::Acknowledged,
        }
    }

    /// Returns the dependency on the start of a message.
    pub(super) const fn started(after: u32) -> Self {
        Self {
            after,
            awaited: Awaited::Started,
        }
    }

    /// Returns the dependency in a list of messages that has `first` others before the graph's.
    pub(super) const fn behind(self, first: u32) -> Self {
        Self {
            after: first + self.after,
            ..self
        }
    }
}

/// Message of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) bytes: u64,
    /// Messages of one channel between two ranks share a connection.
    pub(super) channel: u32,
    /// True if it waits for its sender to start the collective. A message that only forwards data does not.
    pub(super) enters: bool,
}

/// Messages of a collective. Each depends only on earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Graph {
    pub(super) parts: Vec<Part>,
    /// End of each message's dependencies in `waits`.
    ends: Vec<u32>,
    waits: Vec<Wait>,
    /// Events after which each rank has completed.
    pub(super) done: Vec<Vec<Wait>>,
}

/// Function that returns the rank which forwards a message, if one does, by sender and receiver.
pub(super) type Relay<'a> = &'a dyn Fn(u32, u32) -> Option<u32>;

/// Relay for direct messages only.
pub(super) const DIRECT: Relay<'static> = &|_, _| None;

/// A sent message, which is two behind a relay.
#[derive(Clone, Copy)]
struct Sent {
    /// Index of the message that leaves the sender.
    leaves: u32,
    /// Index of the message that arrives at the receiver.
    arrives: u32,
}

impl Graph {
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            parts: Vec::new(),
            ends: Vec::new(),
            waits: Vec::new(),
            done: vec![Vec::new(); ranks as usize],
        }
    }

    /// Returns the dependencies of a message.
    pub(super) fn waits(&self, part: usize) -> &[Wait] {
        let from = part.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.waits[from as usize..self.ends[part] as usize]
    }

    /// Adds a message after those that it waits for. Returns its index.
    pub(super) fn push(&mut self, part: Part, waits: impl IntoIterator<Item = Wait>) -> u32 {
        self.waits.extend(waits);
        self.ends.push(self.waits.len() as u32);
        self.parts.push(part);
        self.parts.len() as u32 - 1
    }

    /// Adds a message, through a relay if it has one.
    fn send(&mut self, part: Part, waits: impl IntoIterator<Item = Wait>, relay: Relay<'_>) -> Sent {
        let Some(via) = relay(part.from, part.to) else {
            let index = self.push(part, waits);
            return Sent {
                leaves: index,
                arrives: index,
            };
        };
        let leaves = self.push(Part { to: via, ..part }, waits);
        let rest = Part {
            from: via,
            enters: false,
            ..part
        };
        Sent {
            leaves,
            arrives: self.push(rest, [Wait::received(leaves)]),
        }
    }

    /// Returns the messages of chunks that pass through steps, in several channels. A rank's step waits for the data
    /// of the previous step, and does not overtake the rank's own messages. A rank has at most `slots` chunks of a
    /// channel in progress.
    pub(super) fn step_by_step(
        ranks: u32,
        channels: &[Vec<Vec<Step>>],
        slots: usize,
        own: Awaited,
        relay: Relay<'_>,
    ) -> Self {
        let mut graph = Self::new(ranks);
        for (channel, chunks) in (0u32..).zip(channels) {
            // Events that each rank waits for at the end of each chunk.
            let mut ends: Vec<Vec<[Wait; 2]>> = Vec::with_capacity(chunks.len());
            for steps in chunks {
                let mut before = ends.len().checked_sub(slots).map(|chunk| ends[chunk].clone());
                for step in steps {
                    let mut sent = Vec::with_capacity(ranks as usize);
                    for rank in 0..ranks {
                        let waits = before.as_ref().map(|before| before[rank as usize]);
                        let part = Part {
                            from: rank,
                            to: step.to[rank as usize],
                            bytes: step.bytes[rank as usize],
                            channel,
                            enters: before.is_none(),
                        };
                        sent.push(graph.send(part, waits.into_iter().flatten(), relay));
                    }
                    let own = Wait {
                        after: 0,
                        awaited: own,
                    };
                    let mut next = vec![[Wait::received(0), own]; ranks as usize];
                    for (rank, sent) in sent.iter().enumerate() {
                        next[step.to[rank] as usize][0].after = sent.arrives;
                        next[rank][1].after = sent.leaves;
                    }
                    before = Some(next);
                }
                ends.extend(before);
            }
            // Earlier chunks ended before these started, so only the last ones matter.
            for end in ends.iter().skip(chunks.len().saturating_sub(slots)) {
                for (done, end) in graph.done.iter_mut().zip(end) {
                    done.extend(end);
                }
            }
        }
        graph
    }

    /// Returns the messages if every rank sends to all others at once, in the order of the steps.
    pub(super) fn at_once(ranks: u32, steps: &[Step], relay: Relay<'_>) -> Self {
        let mut graph = Self::new(ranks);
        for step in steps {
            let mut arrives = vec![0; ranks as usize];
            let mut leaves = Vec::with_capacity(ranks as usize);
            for rank in 0..ranks {
                let part = Part {
                    from: rank,
                    to: step.to[rank as usize],
                    bytes: step.bytes[rank as usize],
                    channel: 0,
                    enters: true,
                };
                let sent = graph.send(part, [], relay);
                leaves.push(sent.leaves);
                arrives[part.to as usize] = sent.arrives;
            }
            for (done, (arrives, leaves)) in graph.done.iter_mut().zip(arrives.into_iter().zip(leaves)) {
                done.push(Wait::received(arrives));
                done.push(Wait::acknowledged(leaves));
            }
        }
        graph
    }
}
