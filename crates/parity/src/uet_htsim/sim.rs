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

/// Events, each with the index of the object concerned.
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
    /// A NIC has finished a transmission.
    Nic(u32),
    /// A flow starts, its timer expires, or its probe is due.
    Source(u32),
    /// The pacer of a host grants credit.
    Pacer(u32),
    /// A host's pacer adapts to congestion in the network.
    Adapt(u32),
    /// Messages of a connection become eligible.
    Message(u32),
}

/// Number of low bits of a word that hold the index.
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

/// State of a run.
#[derive(Clone)]
pub struct Sim {
    pub(super) spec: UetSpec,
    pub(super) set: Derived,
    pub(super) schedule: Schedule,
    pub(super) random: Random,
    pub(super) packets: Packets,
    /// Free ACK objects, last freed on top. Each is true if it ever answered a request to send.
    pub(super) free_acks: Vec<bool>,
    pub(super) net: Network,
    pub(super) host_queues: Vec<HostQueue>,
    pub(super) nics: Vec<Nic>,
    pub(super) pacers: Vec<Pacer>,
    pub(super) adaptions: Vec<Oversubscribed>,
    /// Time of a quantum at link rate, and at each pacer's present rate, ps.
    pub(super) quantum_time: u64,
    pub(super) quantum_times: Vec<u64>,
    pub(super) conns: Vec<Conn>,
    pub(super) sinks: Vec<Sink>,
    pub(super) balancers: Vec<Balancer>,
    /// The last flow's largest window. As in the simulator, it limits the credit and pull targets of all flows.
    pub(super) window: i64,
    pub(super) triggers: Vec<Trigger>,
    /// Flows started by triggers, to be activated from the end of the list.
    pub(super) pending: Vec<u32>,
    pub(super) arrivals: Vec<Arrival>,
    pub(super) counters: Counters,
    pub(super) lines: Vec<Line>,
    /// Reason for which the simulator would have aborted.
    pub(super) abort: Option<String>,
}

impl Sim {
    /// Returns the present time, ps.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.schedule.now()
    }

    /// Schedules an event `delay` ps from now.
    #[inline(always)]
    pub(super) fn after(&mut self, delay: u64, event: Event) {
        self.schedule.insert(self.schedule.now() + delay, event.word())
    }

    /// Schedules an event at an absolute time, ps.
    #[inline(always)]
    pub(super) fn at(&mut self, at: u64, event: Event) {
        self.schedule.insert(at, event.word());
    }

    /// Schedules a sender's event that may be cancelled.
    pub(super) fn timer(&mut self, at: u64, flow: u32) -> u32 {
        self.schedule.insert_timer(at, Event::Source(flow).word())
    }

    /// Runs until no events are left, or up to `events` of them. Returns true if there may be more.
    pub(super) fn step(&mut self, mut events: u64) -> bool {
        while events > 0 && self.abort.is_none() {
            events -= 1;
            // Triggered flows start before the next event, even one of the same time.
            if let Some(flow) = self.pending.pop() {
                self.activate(flow);
                continue;
            }
            let Some(word) = self.schedule.pop() else {
                if !self.schedule.advance() {
                    return false;
                }
                self.warm();
                // Loading a bucket is no event.
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

    /// Prefetches the data of the bucket's events: many loads at once take little longer than one. Each pass uses the
    /// results of the previous one.
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
        // Each pass follows what the one before has loaded: a single pass would wait for one load after another.
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

    /// Loads the fields that a sender reads when it sends.
    #[inline]
    fn touch_sender(&self, flow: usize) -> u32 {
        let c = &self.conns[flow];
        let balancer = matches!(self.balancers[flow], Balancer::RepsLegacy(_));
        c.next_seq ^ c.nscc.window as u32 ^ c.timer.node ^ c.records.base() ^ u32::from(balancer)
    }

    /// Returns kinds and indices of the present bucket's events.
    #[inline]
    fn bucket(&self) -> impl Iterator<Item = (u32, usize)> {
        let words = self.schedule.bucket();
        words.map(|word| (word >> INDEX, (word & ((1 << INDEX) - 1)) as usize))
    }

    /// Stops the run with the reason for which the simulator would have aborted. The first reason is kept.
    pub(super) fn stop(&mut self, why: impl Into<String>) {
        if self.abort.is_none() {
            self.abort = Some(why.into());
        }
    }
}
