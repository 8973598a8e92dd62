//! Messages of a collective between ranks 0 to n - 1, with their dependencies.

use paceline_run::spec::Awaited;

use super::steps::Step;

/// Dependency of a message: an earlier message of the graph, and the event to wait for.
pub(super) type Wait = (u32, Awaited);

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
    /// End of its dependencies in [`Graph::waits`].
    end: u32,
}

/// Messages of a collective. Each depends only on earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Graph {
    pub(super) parts: Vec<Part>,
    waits: Vec<Wait>,
    /// Events after which each rank has completed.
    pub(super) done: Vec<Vec<Wait>>,
}

/// Function that returns the rank which forwards a message, if one does, by sender and receiver.
pub(super) type Relay<'a> = &'a dyn Fn(u32, u32) -> Option<u32>;

/// Relay for direct messages only.
pub(super) const DIRECT: Relay<'static> = &|_, _| None;

impl Graph {
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            parts: Vec::new(),
            waits: Vec::new(),
            done: vec![Vec::new(); ranks as usize],
        }
    }

    /// Returns the dependencies of a message.
    pub(super) fn waits(&self, part: usize) -> &[Wait] {
        let from = part.checked_sub(1).map_or(0, |before| self.parts[before].end);
        &self.waits[from as usize..self.parts[part].end as usize]
    }

    pub(super) fn push(
        &mut self,
        (from, to): (u32, u32),
        (bytes, channel): (u64, u32),
        enters: bool,
        waits: impl IntoIterator<Item = Wait>,
    ) -> u32 {
        self.waits.extend(waits);
        self.parts.push(Part {
            from,
            to,
            bytes,
            channel,
            enters,
            end: self.waits.len() as u32,
        });
        self.parts.len() as u32 - 1
    }

    /// Adds a message, through a relay if it has one. Returns the message that leaves the sender and the one that
    /// arrives.
    fn send(
        &mut self,
        (from, to): (u32, u32),
        what: (u64, u32),
        enters: bool,
        waits: impl IntoIterator<Item = Wait>,
        relay: Relay<'_>,
    ) -> (u32, u32) {
        match relay(from, to) {
            None => {
                let part = self.push((from, to), what, enters, waits);
                (part, part)
            }
            Some(via) => {
                let first = self.push((from, via), what, enters, waits);
                let rest = self.push((via, to), what, false, [(first, Awaited::Received)]);
                (first, rest)
            }
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
                        let to = step.to[rank as usize];
                        let waits = before.as_ref().map(|before| before[rank as usize]);
                        let what = (step.bytes[rank as usize], channel);
                        let waits = waits.into_iter().flatten();
                        sent.push(graph.send((rank, to), what, before.is_none(), waits, relay));
                    }
                    let mut next = vec![[(0, Awaited::Received), (0, own)]; ranks as usize];
                    for (rank, &(first, last)) in sent.iter().enumerate() {
                        next[step.to[rank] as usize][0].0 = last;
                        next[rank][1].0 = first;
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
                let (to, bytes) = (step.to[rank as usize], step.bytes[rank as usize]);
                let (first, last) = graph.send((rank, to), (bytes, 0), true, [], relay);
                leaves.push(first);
                arrives[to as usize] = last;
            }
            for (done, (arrives, leaves)) in graph.done.iter_mut().zip(arrives.into_iter().zip(leaves)) {
                done.push((arrives, Awaited::Received));
                done.push((leaves, Awaited::Acknowledged));
            }
        }
        graph
    }
}
