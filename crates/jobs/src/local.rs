//! Prices of messages between ranks of one server.
//!
//! Each rank has a port that sends and one that receives. A message of m bytes takes m/B of both, at rate B, and its
//! first byte arrives after the latency. Messages leave in the order in which they are handed over, and arrive in the
//! order in which they leave. The receiving port takes what arrives while it is busy later; nothing holds up the sender.

use std::collections::VecDeque;
use std::sync::Arc;

use paceline_kernel::{BitRate, Bytes, Span, Time};
use paceline_run::spec::Asks;
use paceline_traces::network::{Message, MessageId};
use paceline_traces::program::Rank;

/// Links inside servers, with a price instead of packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalLinks {
    /// Number of each rank's server.
    pub servers: Arc<[u32]>,
    /// Rate of the link of a rank, in each direction.
    pub rate: BitRate,
    /// Time from the departure of a byte to its arrival.
    pub latency: Span,
}

/// Messages inside servers that had a price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalMessages {
    /// Number of messages, of all ranks.
    pub messages: u64,
    /// Sum of their payloads.
    pub bytes: u64,
}

/// Message that waits for its sender's port, or occupies it.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    id: MessageId,
    to: Rank,
    bytes: u64,
}

/// Progress of a priced message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Its last byte has left.
    Left(MessageId),
    /// Its last byte has arrived.
    Arrived(MessageId),
}

/// Ports of all ranks, with the messages under way.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    links: LocalLinks,
    /// Messages of each rank that have not left; the first of them is leaving.
    sending: Vec<VecDeque<Waiting>>,
    /// Times until which the ranks' receiving ports are occupied.
    receiving: Vec<Time>,
    sent: LocalMessages,
}

/// Mark of tokens that are this module's and not the executor's, whose upper halves are ranks.
const OWN: u64 = 1 << 63;
/// Mark of the tokens of arrivals. At one time, messages leave before others arrive.
const ARRIVAL: u64 = 1 << 62;

/// Returns the token of an event of a message, which is ordered by rank among those of its time.
const fn token(kind: u64, rank: Rank, id: MessageId) -> u64 {
    OWN | kind | (rank as u64) << 32 | id.0 as u64
}

impl LocalLinks {
    /// Returns true if both ranks are in one server.
    pub fn connect(&self, from: Rank, to: Rank) -> bool {
        self.servers[from as usize] == self.servers[to as usize]
    }
}

impl Local {
    /// Creates ports that carry nothing yet.
    pub(crate) fn new(links: LocalLinks) -> Self {
        let ranks = links.servers.len();
        Self {
            links,
            sending: vec![VecDeque::new(); ranks],
            receiving: vec![Time::ZERO; ranks],
            sent: LocalMessages::default(),
        }
    }

    /// Returns true if it carries a message.
    pub(crate) fn carries(&self, message: &Message) -> bool {
        self.links.connect(message.from, message.to)
    }

    /// Returns true if an event is one of this module's.
    pub(crate) const fn is_own(token: u64) -> bool {
        token & OWN != 0
    }

    /// Returns the messages that were handed over so far.
    pub(crate) const fn sent(&self) -> LocalMessages {
        self.sent
    }

    /// Takes over a message.
    pub(crate) fn send(&mut self, message: &Message, asks: &mut dyn Asks) {
        self.sent.messages += 1;
        self.sent.bytes += message.bytes;
        let port = &mut self.sending[message.from as usize];
        port.push_back(Waiting {
            id: message.id,
            to: message.to,
            bytes: message.bytes,
        });
        if port.len() == 1 {
            self.start(message.from, asks);
        }
    }

    /// Starts the first message of a rank's port. Its time on the receiving port is settled now: with one latency for
    /// all, messages arrive in the order in which they start.
    fn start(&mut self, from: Rank, asks: &mut dyn Asks) {
        let Some(&Waiting { id, to, bytes }) = self.sending[from as usize].front() else {
            return;
        };
        let takes = self.links.rate.time_to_send(Bytes::new(bytes));
        let now = asks.now();
        let busy = &mut self.receiving[to as usize];
        *busy = now
            .saturating_add(self.links.latency)
            .max(*busy)
            .saturating_add(takes);
        asks.wake(now.saturating_add(takes), token(0, from, id));
        asks.wake(*busy, token(ARRIVAL, to, id));
    }

    /// Handles an event of this module; starts the next message of a port that one has left.
    pub(crate) fn woken(&mut self, token: u64, asks: &mut dyn Asks) -> Progress {
        let id = MessageId(token as u32);
        if token & ARRIVAL != 0 {
            return Progress::Arrived(id);
        }
        let from = ((token & !(OWN | ARRIVAL)) >> 32) as Rank;
        self.sending[from as usize].pop_front();
        self.start(from, asks);
        Progress::Left(id)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use paceline_run::spec::FlowSpec;

    /// Calendar of events, in the order in which the engine calls programs.
    #[derive(Default)]
    struct Calendar {
        now: Time,
        number: u64,
        events: BTreeMap<(Time, u64, u64), u64>,
    }

    impl Asks for Calendar {
        fn now(&self) -> Time {
            self.now
        }
        fn wake(&mut self, at: Time, token: u64) {
            self.number += 1;
            self.events.insert((at, token >> 32, self.number), token);
        }
        fn send(&mut self, _: u32, _: FlowSpec) {
            panic!("no message becomes a flow");
        }
    }

    /// 1 GB/s, so that a byte takes 1 ns, and a latency of 100 ns.
    fn ports(ranks: usize) -> Local {
        Local::new(LocalLinks {
            servers: vec![0; ranks].into(),
            rate: BitRate::from_gbps(8),
            latency: Span::from_ns(100),
        })
    }

    fn message(id: u32, from: Rank, to: Rank, bytes: u64) -> Message {
        Message {
            id: MessageId(id),
            from,
            to,
            from_nic: 0,
            to_nic: 0,
            channel: 0,
            bytes,
            label: 0,
        }
    }

    /// Returns the ends of all messages in ns; `then` may send others when one arrives.
    fn run(
        local: &mut Local,
        first: &[Message],
        mut then: impl FnMut(MessageId) -> Option<Message>,
    ) -> BTreeMap<u32, u64> {
        let mut calendar = Calendar::default();
        for message in first {
            local.send(message, &mut calendar);
        }
        let mut ends = BTreeMap::new();
        let mut has_left = BTreeMap::new();
        while let Some(((at, ..), token)) = calendar.events.pop_first() {
            calendar.now = at;
            match local.woken(token, &mut calendar) {
                Progress::Left(id) => assert!(has_left.insert(id.0, ()).is_none()),
                Progress::Arrived(id) => {
                    assert!(has_left.contains_key(&id.0), "it arrives after it has left");
                    assert!(ends.insert(id.0, at.as_ps() / 1000).is_none());
                    if let Some(message) = then(id) {
                        local.send(&message, &mut calendar);
                    }
                }
            }
        }
        ends
    }

    #[test]
    fn a_message_takes_its_latency_and_its_time_on_the_link() {
        let ends = run(&mut ports(2), &[message(0, 0, 1, 5000)], |_| None);
        assert_eq!(ends[&0], 5100);
    }

    #[test]
    fn messages_over_one_link_follow_each_other() {
        let all: Vec<Message> = (0..10).map(|id| message(id, 0, 1, 1000)).collect();
        let mut local = ports(2);
        let ends = run(&mut local, &all, |_| None);
        assert!((0..10).all(|id| ends[&id] == 100 + 1000 * (u64::from(id) + 1)));
        assert_eq!(
            local.sent(),
            LocalMessages {
                messages: 10,
                bytes: 10_000
            }
        );
    }

    #[test]
    fn a_receiver_takes_one_message_at_a_time() {
        let all: Vec<Message> = (0..3).map(|id| message(id, id, 3, 1000)).collect();
        let ends = run(&mut ports(4), &all, |_| None);
        assert_eq!(ends.into_values().collect::<Vec<_>>(), [1100, 2100, 3100]);
    }

    /// An all-gather in a ring of n takes n - 1 steps, of the latency and a part each.
    #[test]
    fn a_ring_takes_a_latency_and_a_part_for_each_step() {
        let part = 4000;
        let first: Vec<Message> = (0..8)
            .map(|rank| message(rank, rank, (rank + 1) % 8, part))
            .collect();
        // The n-th message of rank r has the number 8 n + r.
        let next = |id: MessageId| {
            let (step, rank) = (id.0 / 8, (id.0 + 1) % 8);
            (step < 6).then(|| message(8 * (step + 1) + rank, rank, (rank + 1) % 8, part))
        };
        let ends = run(&mut ports(8), &first, next);
        assert_eq!(ends.len(), 56);
        assert_eq!(ends.values().max(), Some(&(7 * (100 + part))));
    }

    proptest! {
        /// Each port carries its bytes one after another: no message is earlier than alone, and all are over when the
        /// busiest ports could be.
        #[test]
        fn ports_are_never_overcommitted(sizes in prop::collection::vec((0..4_u32, 1..4_u32, 1..9000_u64), 1..40)) {
            let all: Vec<Message> = (0..)
                .zip(&sizes)
                .map(|(id, &(from, hop, bytes))| message(id, from, (from + hop) % 4, bytes))
                .collect();
            let ends = run(&mut ports(4), &all, |_| None);
            prop_assert_eq!(ends.len(), all.len());
            let mut total = 0;
            for one in &all {
                prop_assert!(ends[&one.id.0] >= 100 + one.bytes);
                total += one.bytes;
            }
            prop_assert!(ends.values().all(|&end| end <= 100 + total));
            for to in 0..4 {
                let mut got: Vec<(u64, u64)> = all
                    .iter()
                    .filter(|one| one.to == to)
                    .map(|one| (ends[&one.id.0], one.bytes))
                    .collect();
                got.sort_unstable();
                prop_assert!(got.windows(2).all(|two| two[1].0 - two[0].0 >= two[1].1));
            }
        }
    }
}
