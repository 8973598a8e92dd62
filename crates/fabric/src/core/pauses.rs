//! State of pauses: which classes are paused, since when, and until when for timed pauses.

use crate::core::Core;
use crate::core::event::Event;
use crate::core::print::StateHash;
use crate::core::random::PortStreams;
use crate::ids::{PacketId, PortId};
use paceline_kernel::Span;
use paceline_kernel::ids::{Id, SparseGrid};
use paceline_kernel::queue::LaneId;
use paceline_kernel::rng::Purpose;
use paceline_run::spec::{FlowControl, PfcResponse, RunSpec};

/// Times of pauses by port and class, in ps.
#[derive(Clone, Debug)]
pub(super) struct Pauses {
    /// Start of the current or last pause.
    pub(super) since: SparseGrid<PortId>,
    /// End of a timed pause, and the renewal time of the one that this port has requested.
    pub(super) until: SparseGrid<PortId>,
    pub(super) renew_at: SparseGrid<PortId>,
    /// With a reaction time: the time at which the last frame that has arrived takes effect.
    pub(super) applied_at: SparseGrid<PortId>,
    /// A stream for each port, for the jitter of reaction times; none without jitter.
    responses: PortStreams,
}

impl Pauses {
    pub(super) fn new(spec: &RunSpec, ports: usize, classes: usize) -> Self {
        let never = || SparseGrid::new(ports, classes);
        let jitters = match spec.switch.flow_control {
            FlowControl::Pfc(pfc) => pfc.response.jitter > Span::ZERO,
            FlowControl::None | FlowControl::Credits => false,
        };
        Self {
            since: never(),
            until: never(),
            renew_at: never(),
            applied_at: never(),
            responses: PortStreams::new(spec.seed, Purpose::PauseResponse, if jitters { ports } else { 0 }),
        }
    }

    /// Returns true if a reaction time has been drawn from a stream of the seed.
    pub(super) fn have_drawn(&self) -> bool {
        self.responses.have_drawn()
    }

    /// Notes the states of the streams. Returns true if no frame waits for its reaction time.
    pub(super) fn note(&self, now: u64, print: &mut StateHash) -> bool {
        self.responses.note(print);
        self.applied_at.numbered().all(|(_, &at)| at <= now)
    }
}

impl Core {
    /// Returns the time at which a frame that arrives now takes effect; `None` for at once.
    pub(crate) fn applied_at(&mut self, response: PfcResponse, port: PortId, class: u8) -> Option<u64> {
        if response == PfcResponse::NONE {
            return None;
        }
        let jitter = match response.jitter {
            Span::ZERO => 0,
            jitter => self.pauses.responses.get(port).below(jitter.as_ps() + 1),
        };
        let last = &mut self.pauses.applied_at[(port, class)];
        // A resume must not overtake the pause before it, or the class would stay paused.
        *last = (self.now + response.least.as_ps() + jitter).max(*last + 1);
        Some(*last)
    }

    /// Returns true if a frame whose reaction time is over has to be ignored, because its link has failed since it was
    /// created.
    pub(crate) fn is_forgotten(&self, port: PortId, id: PacketId) -> bool {
        let down_at = self.link_down_at[port.link()];
        !self.ports[port].is_up() || (down_at != u64::MAX && self.packets.get(id).sent_at < down_at)
    }

    /// Pauses a class at the request of the other end. Returns true if it was not paused before.
    pub fn pause(&mut self, port: PortId, class: u8) -> bool {
        let p = &mut self.ports[port];
        // A pause that is repeated must not restart the clock of the first: its time would be lost.
        let begins = p.paused & 1 << class == 0;
        if begins {
            p.paused |= 1 << class;
            self.pauses.since[(port, class)] = self.now;
            self.counters.pauses += 1;
            self.watch.recorder.ports.paused(port, true, self.now);
        }
        begins
    }

    /// Returns the egress port of the node that holds most bytes of what came in by `ingress`.
    pub(crate) fn where_most_stands(&self, ingress: PortId, class: u8) -> Option<PortId> {
        let node = self.ports[ingress].node;
        let here = self.ports.numbered().filter(|(_, port)| port.node == node);
        let bytes = |port: PortId| {
            let (mut sum, mut next) = (0, self.queues[(port, class)].head);
            while next != PacketId::NONE {
                let packet = self.packets.get(next);
                if packet.ingress == ingress {
                    sum += u64::from(packet.wire);
                }
                next = packet.next;
            }
            sum
        };
        let all = here.map(|(port, _)| (port, bytes(port)));
        let some = all.filter(|&(_, bytes)| bytes > 0);
        // Among equals the lowest port, so that the result does not depend on the order of ports.
        let most = some.max_by_key(|&(port, bytes)| (bytes, std::cmp::Reverse(port)));
        most.map(|(port, _)| port)
    }

    /// Records the cause of a pause that a port requests: the egress port that holds most of its bytes.
    #[cold]
    pub(crate) fn notify_why(&mut self, ingress: PortId, class: u8) {
        if let Some(egress) = self.where_most_stands(ingress, class) {
            let recorder = &mut self.watch.recorder;
            recorder.ports.stands_behind(ingress, recorder.interface(egress));
        }
    }

    /// Limits the pause of a class to `until`.
    pub fn pause_until(&mut self, port: PortId, class: u8, until: u64) {
        self.pauses.until[(port, class)] = until;
        self.schedule(LaneId::WHEEL, until, Event::PauseEnd { port, class });
    }

    /// Ends the pause of a class.
    pub fn resume(&mut self, port: PortId, class: u8) {
        let p = &mut self.ports[port];
        p.paused &= !(1 << class);
        // Another class may still be paused, and the recorder follows the port as a whole.
        let still = p.paused != 0;
        self.watch.recorder.ports.paused(port, still, self.now);
        self.count_pause(port, class);
    }

    /// Adds a pause that ends now to the counters.
    pub(crate) fn count_pause(&mut self, port: PortId, class: u8) {
        let slot = (port, class);
        let span = self.now - self.pauses.since[slot];
        self.counters.paused_ps += span;
        self.watch.accounts.pause_ended(slot, span);
    }

    /// Adds the pauses that still last at the end of the run to the counters.
    pub(crate) fn count_lasting_pauses(&mut self) {
        for ((port, class), &since) in self.pauses.since.numbered() {
            if self.ports[port].paused & 1 << class != 0 {
                self.counters.paused_ps += self.now - since;
            }
        }
    }

    /// Returns true if a timed pause is over. A later frame may have moved its end.
    pub fn is_pause_over(&self, port: PortId, class: u8) -> bool {
        self.now >= self.pauses.until[(port, class)]
    }

    /// Returns true if the pause that a port has requested is to be renewed now. After a resume and another pause, only
    /// the later pause's renewal counts.
    pub(crate) fn must_renew(&self, port: PortId, class: u8) -> bool {
        self.ports[port].asked & 1 << class != 0 && self.pauses.renew_at[(port, class)] == self.now
    }

    /// Returns the start of a class's current pause, in ps.
    pub fn paused_since(&self, port: PortId, class: u8) -> u64 {
        self.pauses.since[(port, class)]
    }

    /// Returns true if a class has been paused for at least `least` ps at `now`.
    pub(crate) fn has_pause_of(&self, now: u64, least: u64) -> bool {
        self.pauses.since.numbered().any(|((port, class), since)| {
            let is_paused = self.ports[port].paused & 1 << class != 0;
            is_paused && now - since >= least
        })
    }
}
