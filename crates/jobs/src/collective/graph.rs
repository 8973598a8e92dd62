//! The messages of a collective among ranks 0 to n - 1, and what each of them waits for.

use paceline_run::spec::Awaited;

use super::steps::Step;

/// Something that a message waits for: an earlier message of the graph, and what of it.
pub(super) type Wait = (u32, Awaited);

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) bytes: u64,
    /// Messages of one channel between two ranks share a connection.
    pub(super) channel: u32,
    /// Whether it waits until its sender starts the collective. A message that only forwards data does not.
    pub(super) enters: bool,
    /// Where its waits end in [`Graph::waits`].
    end: u32,
}

/// The messages of a collective. Each waits for earlier ones only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Graph {
    pub(super) parts: Vec<Part>,
    waits: Vec<Wait>,
    /// What has to happen until each rank is done.
    pub(super) done: Vec<Vec<Wait>>,
}

/// The rank that forwards a message, if one does: by sender and receiver.
pub(super) type Relay<'a> = &'a dyn Fn(u32, u32) -> Option<u32>;

/// Every message goes straight to its receiver.
pub(super) const DIRECT: Relay<'static> = &|_, _| None;

impl Graph {
    pub(super) fn new(ranks: u32) -> Self {
        Self {
            parts: Vec::new(),
            waits: Vec::new(),
            done: vec![Vec::new(); ranks as usize],
        }
    }

    /// What a message waits for.
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

    /// A message by way of a relay, if it has one. Gives the message that leaves the sender and the one that arrives.
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

    /// Chunks that go through steps, in several channels. A rank's step waits for what it receives in the step before, and
    /// does not overtake its own. At a rank, at most `slots` chunks of a channel are under way.
    pub(super) fn step_by_step(
        ranks: u32,
        channels: &[Vec<Vec<Step>>],
        slots: usize,
        own: Awaited,
        relay: Relay<'_>,
    ) -> Self {
        let mut graph = Self::new(ranks);
        for (channel, chunks) in (0u32..).zip(channels) {
            // What each rank waits for at the end of each chunk.
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
            // Earlier chunks were over before these started.
            for end in ends.iter().skip(chunks.len().saturating_sub(slots)) {
                for (done, end) in graph.done.iter_mut().zip(end) {
                    done.extend(end);
                }
            }
        }
        graph
    }

    /// Every rank sends to all others at once, in the order of the steps.
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
