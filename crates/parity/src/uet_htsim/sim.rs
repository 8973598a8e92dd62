//! The state of a run, and its event loop.

use paceline_congestion::rccc::pacer::Pacer;

use super::balance::Balancer;
use super::conn::{Conn, Sink};
use super::counters::{Counters, Line};
use super::derived::Derived;
use super::host_queue::HostQueue;
use super::network::{HOST, Network, Serving};
use super::oversubscribed::Oversubscribed;
use super::packet::Packets;
use super::parts::{Arrival, Nic, Trigger};
use super::random::Random;
use super::schedule::Schedule;
use super::spec::UetSpec;

/// Events: what happens, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A switch queue has sent a packet.
    Queue(u32),
    /// A host's queue has sent a packet.
    HostQueue(u32),
    /// A packet leaves a link.
    Pipe(u32),
    /// A packet leaves the latency stage of a switch.
    Switch(u32),
    /// A NIC is free again.
    Nic(u32),
    /// A flow starts, or one of its timers expires.
    Source(u32),
    /// The pacer of a host grants credit.
    Pacer(u32),
    /// The pacer of a host is adapted to congestion in the network.
    Adapt(u32),
    /// Messages of a connection become eligible.
    Message(u32),
}

/// Bits of a word that say where.
const INDEX: u32 = 27;

impl Event {
    #[inline(always)]
    fn word(self) -> u32 {
        let (kind, index) = match self {
            Self::Queue(at) => (0, at),
            Self::HostQueue(at) => (1, at),
            Self::Pipe(at) => (2, at),
            Self::Switch(at) => (3, at),
            Self::Nic(at) => (4, at),
            Self::Source(at) => (5, at),
            Self::Pacer(at) => (6, at),
            Self::Adapt(at) => (7, at),
            Self::Message(at) => (8, at),
        };
        kind << INDEX | index
    }
}

/// A run.
#[derive(Clone)]
pub struct Sim {
    pub(super) spec: UetSpec,
    pub(super) set: Derived,
    pub(super) schedule: Schedule,
    pub(super) random: Random,
    pub(super) packets: Packets,
    /// ACK objects that are free, last freed on top: whether each has ever answered a request to send.
    pub(super) free_acks: Vec<bool>,
    pub(super) net: Network,
    pub(super) host_queues: Vec<HostQueue>,
    pub(super) nics: Vec<Nic>,
    pub(super) pacers: Vec<Pacer>,
    pub(super) adaptions: Vec<Oversubscribed>,
    /// Time of a quantum: as the link allows, and of each pacer, ps.
    pub(super) quantum_time: u64,
    pub(super) quantum_times: Vec<u64>,
    pub(super) conns: Vec<Conn>,
    pub(super) sinks: Vec<Sink>,
    pub(super) balancers: Vec<Balancer>,
    /// The last flow's largest window, which credit and pull targets of all follow.
    pub(super) window: i64,
    pub(super) triggers: Vec<Trigger>,
    /// Flows that a trigger starts; the last one first.
    pub(super) pending: Vec<u32>,
    pub(super) arrivals: Vec<Arrival>,
    pub(super) counters: Counters,
    pub(super) lines: Vec<Line>,
    /// Why the simulator would have stopped.
    pub(super) abort: Option<String>,
}

impl Sim {
    /// The present time, ps.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.schedule.now()
    }

    /// Schedules an event so much later.
    #[inline(always)]
    pub(super) fn after(&mut self, delay: u64, event: Event) {
        self.schedule.insert(self.schedule.now() + delay, event.word())
    }

    /// Schedules an event.
    #[inline(always)]
    pub(super) fn at(&mut self, at: u64, event: Event) {
        self.schedule.insert(at, event.word());
    }

    /// Schedules an event of a sender that may be cancelled.
    pub(super) fn timer(&mut self, at: u64, flow: u32) -> u32 {
        self.schedule.insert_timer(at, Event::Source(flow).word())
    }

    /// Runs until nothing is left to happen, or so many events have happened. Returns whether anything is left.
    pub(super) fn step(&mut self, mut events: u64) -> bool {
        while events > 0 && self.abort.is_none() {
            events -= 1;
            if let Some(flow) = self.pending.pop() {
                self.activate(flow);
                continue;
            }
            let Some(word) = self.schedule.pop() else {
                if !self.schedule.advance() {
                    return false;
                }
                self.warm();
                events += 1;
                continue;
            };
            self.counters.events += 1;
            let at = word & ((1 << INDEX) - 1);
            match word >> INDEX {
                0 => self.queue_sent(at),
                1 => self.host_queue_sent(at),
                2 => self.pipe(at),
                3 => self.switch_stage(at),
                4 => self.nic_free(at),
                5 => self.source_event(at),
                6 => self.pace(at),
                7 => self.adapt(at),
                _ => self.messages_come(at),
            }
        }
        self.abort.is_none()
    }

    /// Touches what the events of a bucket will need: so many loads at once take little longer than one. Each pass needs what
    /// the one before has found.
    fn warm(&self) {
        let net = &self.net;
        let mut sum = 0;
        for (kind, at) in self.bucket() {
            sum ^= match kind {
                0 | 2 => net.ports[at].to,
                1 => net.ports[at].to ^ self.host_queues[at].sending(),
                4 => self.nics[at].turn,
                5 => self.conns[at].next_seq,
                _ => 0,
            };
        }
        std::hint::black_box(sum);
        let next = |id: u32| self.packets.get(id).map_or(0, |packet| packet.next);
        for (kind, at) in self.bucket() {
            let port = match kind {
                0 | 2 => &net.ports[at],
                4 => {
                    let turn = self.nics[at].waiting.front();
                    sum ^= turn.map_or(0, |flow| self.touch_sender(*flow as usize));
                    continue;
                }
                _ => continue,
            };
            sum ^= match (kind, port.serving) {
                (2, _) => next(port.pipe.head),
                (_, Serving::High) => next(port.high.head),
                _ => next(port.low.head),
            };
        }
        std::hint::black_box(sum);
        for (kind, at) in self.bucket() {
            if kind == 2
                && let Some(packet) = self.packets.get(net.ports[at].pipe.head)
            {
                let to = net.ports[at].to;
                sum ^= if to & HOST == 0 {
                    let row = net.switches[to as usize].row + self.packets.dst(packet);
                    net.table.get(row as usize).map_or(0, |list| u32::from(*list))
                } else {
                    let conn = packet.conn as usize;
                    match packet.goes_forward() {
                        true => self.sinks[conn].expected ^ u32::from(self.sinks[conn].pull_ev),
                        false => self.touch_sender(conn),
                    }
                };
            }
        }
        std::hint::black_box(sum);
        for (kind, at) in self.bucket() {
            let port = match kind {
                2 => &net.ports[at],
                _ => continue,
            };
            if port.to & HOST == 0
                && let Some(packet) = self.packets.get(port.pipe.head)
                && let Some(egress) = self.likely(port.to, packet)
            {
                sum ^= net.ports[egress as usize].to;
            }
        }
        std::hint::black_box(sum);
    }

    /// Touches what a sender needs to send.
    #[inline]
    fn touch_sender(&self, flow: usize) -> u32 {
        let c = &self.conns[flow];
        let balancer = matches!(self.balancers[flow], Balancer::RepsLegacy(_));
        c.next_seq ^ c.nscc.window as u32 ^ c.timer.node ^ c.records.base() ^ u32::from(balancer)
    }

    /// Kinds and places of the events of the present bucket.
    #[inline]
    fn bucket(&self) -> impl Iterator<Item = (u32, usize)> {
        let words = self.schedule.bucket();
        words.map(|word| (word >> INDEX, (word & ((1 << INDEX) - 1)) as usize))
    }

    /// Why a run stops that the simulator would not have finished.
    pub(super) fn stop(&mut self, why: impl Into<String>) {
        if self.abort.is_none() {
            self.abort = Some(why.into());
        }
    }
}
