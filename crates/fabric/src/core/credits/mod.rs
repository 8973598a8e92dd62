//! Credit-based flow control of links: the credits of each lane, and the flow-control packets that carry them.
//!
//! Both ends of a link count, lane by lane, in units of [`LaneSpec::unit`]. The sender counts the units that it has
//! sent (FCTBS) and has a limit for them (FCCL). The receiver counts the units that have arrived (ABR) and the free
//! ones in its input buffer. A flow-control packet carries FCCL, which is ABR plus the free units, and FCTBS, from
//! which the receiver sees how much the link has lost. Counters wrap around ([`Binding::numbers`]).
//!
//! Ethernet's credits ([`cbfc`]) carry the same counts in other messages, at other times.
//!
//! A lane whose next packet lacks credit is a paused class of its port, as after a pause frame, so that everything that
//! follows pauses (accounts, records, detectors) works under credits too. The links of ports under credits are
//! [`LinkState::OnCredit`], so that no packet takes the path without checks.

mod arbiter;
mod cbfc;
mod counts;
mod notify;
mod updates;
mod verify;
mod wire;

use paceline_kernel::ids::{Grid, Id, List};
use paceline_kernel::queue::{EventQueue, LaneId};

use crate::core::Core;
use crate::core::credits::arbiter::{Arbiter, Tables};
pub use crate::core::credits::counts::CbfcLane;
use crate::core::credits::updates::Updates;
pub(crate) use crate::core::credits::updates::{COUNTS, FREED};
use crate::core::event::Event;
use crate::core::port::{LinkState, Ports};
use crate::ids::{PacketId, PortId, ProfileId};
use crate::world::World;
use crate::world::classes::STRICT;
use crate::world::links::Profiles;
use paceline_run::spec::{Binding, Cbfc, Forwarding, LaneSpec, Phase, Scope};

/// Kinds of [`Event::Special`] under credits: a port is to announce its credits; a cut-through packet may leave the
/// switch.
pub(crate) const TELL: u8 = 17;
pub(crate) const READY: u8 = 18;

/// Argument of [`TELL`] for what a port announces once in a period.
const PERIOD: u32 = 0;

/// Counters of one lane of a port, as a sender and as a receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lane {
    /// Highest count up to which the lane may send (FCCL), and the count that it has sent (FCTBS).
    limit: u32,
    sent: u32,
    /// Units that the packet held back needs.
    need: u32,
    /// Units that have arrived (ABR), and free units of the input buffer.
    arrived: u32,
    free: u32,
    /// Limit and count that were announced last; `None` to announce them again even if they are unchanged.
    announced: Option<(u32, u32)>,
    /// True while a flow-control packet of the lane is queued.
    telling: bool,
    /// True once the lane has sent a packet.
    used: bool,
}

/// Credits of all links of a network.
#[derive(Clone, Debug)]
pub(crate) struct Credits {
    lanes: Grid<PortId, Lane>,
    arbiters: List<PortId, Arbiter>,
    tables: Tables,
    /// True for ports that have a time scheduled at which they announce credits.
    armed: List<PortId, bool>,
    /// By link profile: time from the start of a packet to the arrival of its headers at a cut-through switch, and the
    /// lane of such arrivals.
    heads: List<ProfileId, (u64, LaneId)>,
    binding: Binding,
    unit: u32,
    numbers: u32,
    /// Bytes that a switch reads before it forwards a packet; `None` if it reads all.
    header: Option<u16>,
    /// Size of a flow-control packet, in bytes.
    update: u16,
    buffers: Vec<u32>,
    /// True for ports whose links may lose packets: what was announced is announced again until it is known.
    loses: List<PortId, bool>,
    /// Updates of Ethernet's credits, by port; empty under other credits.
    updates: List<PortId, Updates>,
    /// Number of times that a lane's next packet lacked credit.
    stalls: u64,
    /// Ports and lanes that were held back, whose recorder asks for the cause at the other end.
    unexplained: Vec<(PortId, u8)>,
}

impl Credits {
    /// Creates the credits of a network that has finished its initial exchange: all buffers are empty, and all senders
    /// know it.
    pub(crate) fn new(
        spec: &LaneSpec,
        ports: &mut Ports,
        profiles: &Profiles,
        classes: usize,
        queue: &mut EventQueue,
    ) -> Self {
        let header = match spec.forwarding {
            Forwarding::CutThrough { header } => Some(header.get() as u16),
            Forwarding::StoreAndForward => None,
        };
        let heads = profiles.iter().map(|profile| {
            let delay = profile.serialise(header.unwrap_or(0)).tx + profile.delay;
            (
                delay,
                if header.is_some() {
                    queue.add_lane(delay)
                } else {
                    LaneId::WHEEL
                },
            )
        });
        let mut credits = Self {
            lanes: Grid::of(ports.len(), classes, Lane::default()),
            arbiters: List::of(ports.len(), Arbiter::default()),
            tables: Tables::of(&spec.arbitration),
            armed: List::of(ports.len(), false),
            heads: heads.collect(),
            binding: spec.binding,
            unit: spec.unit.get() as u32,
            numbers: spec.binding.numbers(),
            header,
            update: spec.update.get() as u16,
            buffers: spec.buffers.clone(),
            loses: ports.iter().map(|port| port.needs_slow_path).collect(),
            updates: match spec.binding {
                Binding::Cbfc(_) => List::of(ports.len(), Updates::default()),
                Binding::Ib { .. } => List::new(),
            },
            stalls: 0,
            unexplained: Vec::new(),
        };
        // Half of the numbers at most, or a limit ahead could not be distinguished from one behind.
        let room = credits.numbers / 2;
        for port in ports.ids() {
            for (class, &buffer) in (STRICT + 1..).zip(&spec.buffers) {
                let lane = &mut credits.lanes[(port, class)];
                (lane.free, lane.limit) = (buffer, buffer.min(room));
                lane.announced = Some((lane.limit, 0));
            }
        }
        ports.iter_mut().for_each(|port| port.link = LinkState::OnCredit);
        credits
    }

    /// Returns the credits that a packet of `wire` bytes takes.
    #[inline]
    fn units(&self, wire: u16) -> u32 {
        self.binding.units(wire, self.unit)
    }

    /// Returns the units that a port's lane may send next, as far as its lanes share a buffer.
    #[inline]
    fn sendable(&self, (port, class): (PortId, u8)) -> u32 {
        if !self.shares_buffer() {
            return self.available(&self.lanes[(port, class)]);
        }
        // One buffer for all, whose size stands at each lane.
        let limit = self.limit(class);
        let used =
            (self.classes()).map(|class| limit.saturating_sub(self.available(&self.lanes[(port, class)])));
        limit.saturating_sub(used.sum())
    }

    /// Returns the units that a lane may have at the other end: its buffer, as far as counters can tell.
    #[inline]
    fn limit(&self, class: u8) -> u32 {
        self.buffers[usize::from(class - STRICT - 1)].min(self.numbers / 2)
    }

    /// Returns true if all lanes of a port send into one buffer.
    #[inline]
    fn shares_buffer(&self) -> bool {
        matches!(self.binding, Binding::Cbfc(cbfc) if cbfc.scope == Scope::Port)
    }

    /// Returns all lanes, a class bit each.
    fn all_lanes(&self) -> u16 {
        self.classes().fold(0, |all, class| all | 1 << class)
    }

    /// Returns the classes that are lanes.
    fn classes(&self) -> std::ops::Range<u8> {
        STRICT + 1..STRICT + 1 + self.buffers.len() as u8
    }

    /// Returns the values to announce: the other end's limit, and the units sent here.
    #[inline]
    fn news(&self, lane: &Lane) -> (u32, u32) {
        let room = lane.free.min(self.numbers / 2);
        ((lane.arrived + room) & (self.numbers - 1), lane.sent)
    }

    /// Returns the units that a lane may still send.
    #[inline]
    fn available(&self, lane: &Lane) -> u32 {
        let left = lane.limit.wrapping_sub(lane.sent) & (self.numbers - 1);
        // A limit behind the count wraps around to more than half of the numbers: nothing may be sent.
        if left > self.numbers / 2 { 0 } else { left }
    }

    /// Returns the next time after `now` at which a port announces its credits.
    fn next_look(&self, port: PortId, now: u64) -> u64 {
        let (Binding::Ib { period, phase }
        | Binding::Cbfc(Cbfc {
            cc_timer: period,
            phase,
            ..
        })) = self.binding;
        let period = period.as_ps();
        let offset = match phase {
            Phase::Aligned => 0,
            // Spread over the period, so that not all ports of a network announce at the same instant.
            Phase::PerPort => (u128::from(period) * port.index() as u128 / self.armed.len() as u128) as u64,
        };
        let passed = (now + period - offset) / period;
        passed * period + offset
    }
}

impl Core {
    /// Returns the credits of all links. Only networks under credits call this.
    #[inline(always)]
    pub(super) fn links(&self) -> &Credits {
        self.credits.as_ref().expect("a network under credits")
    }

    #[inline(always)]
    fn links_mut(&mut self) -> &mut Credits {
        self.credits.as_mut().expect("a network under credits")
    }

    /// Returns the credits that a packet of `wire` bytes takes.
    #[inline]
    pub(crate) fn units(&self, wire: u16) -> u32 {
        self.links().units(wire)
    }

    /// Returns true if a lane may send a packet of `wire` bytes.
    #[inline]
    pub(crate) fn has_credit(&self, port: PortId, class: u8, wire: u16) -> bool {
        let links = self.links();
        links.units(wire) <= links.sendable((port, class))
    }

    /// Pauses a lane whose next packet lacks credit.
    pub(crate) fn await_credit(&mut self, port: PortId, class: u8, wire: u16) {
        let links = self.links_mut();
        links.lanes[(port, class)].need = links.units(wire);
        if !self.pause(port, class) {
            return;
        }
        let peer = self.ports[port].peer;
        let asked = !self.ports[peer].is_host && self.watch.recorder.ports.asks_why(peer);
        let links = self.links_mut();
        links.stalls += 1;
        if asked {
            links.unexplained.push((peer, class));
        }
    }

    /// Returns true if a lane could send the packet that it holds back when only the units in `held` were in the buffers at
    /// the other end.
    pub(crate) fn could_send(&self, port: PortId, class: u8, held: &Grid<PortId, u32>) -> bool {
        let links = self.links();
        let peer = self.ports[port].peer;
        let held = match links.shares_buffer() {
            true => links.classes().map(|class| held[(peer, class)]).sum(),
            false => held[(peer, class)],
        };
        let buffer = links.buffers[usize::from(class - STRICT - 1)];
        let room = buffer.saturating_sub(held).min(links.numbers / 2);
        links.lanes[(port, class)].need <= room
    }

    /// Returns the lane that a port serves next among `ready`, a bit each, of which at least one is set.
    pub(crate) fn arbitrate(&mut self, port: PortId, ready: u16) -> u8 {
        let Credits { arbiters, tables, .. } = self.links_mut();
        arbiters[port].choose(tables, ready)
    }

    /// Charges the packet of the chosen lane. `waits` has the other lanes that could have sent.
    pub(crate) fn arbitrated(&mut self, port: PortId, class: u8, wire: u16, waits: u16) {
        let Credits { arbiters, tables, .. } = self.links_mut();
        arbiters[port].sent(tables, class, wire, waits);
    }

    /// Takes the units of an arrived packet from the input buffer.
    pub(crate) fn take_room(&mut self, port: PortId, class: u8, wire: u16) {
        let links = self.links_mut();
        let (units, mask) = (links.units(wire), links.numbers - 1);
        let lane = &mut links.lanes[(port, class)];
        assert!(lane.free >= units, "a packet came for which there is no room");
        lane.free -= units;
        lane.arrived = (lane.arrived + units) & mask;
    }

    /// Frees the units of a packet that has left the input buffer, and has them announced.
    pub(crate) fn give_room(&mut self, world: &World, port: PortId, class: u8, wire: u16) {
        let links = self.links_mut();
        let units = links.units(wire);
        links.lanes[(port, class)].free += units;
        match links.binding {
            // InfiniBand announces periodically: the next announcement covers all packets until then.
            Binding::Ib { .. } => self.has_news(port),
            Binding::Cbfc(_) => self.owes_update(world, port, 1 << class),
        }
    }

    /// Schedules the port's next announcement, unless there is one already.
    fn has_news(&mut self, port: PortId) {
        let now = self.now;
        let links = self.links_mut();
        if std::mem::replace(&mut links.armed[port], true) {
            return;
        }
        let at = links.next_look(port, now);
        self.announce_at(port, at, PERIOD);
    }

    /// Schedules an announcement of a port's counts: those that `what` stands for.
    fn announce_at(&mut self, port: PortId, at: u64, what: u32) {
        let what = Event::Special {
            kind: TELL,
            a: port.0,
            b: what,
        };
        self.schedule(LaneId::WHEEL, at, what);
    }

    /// Announces a port's counts, whose time has come: those that `what` stands for.
    pub(crate) fn notify_credits(&mut self, world: &World, port: PortId, what: u32) {
        if what != PERIOD {
            return self.send_freed(world, port, what);
        }
        self.links_mut().armed[port] = false;
        if matches!(self.links().binding, Binding::Cbfc(_)) {
            return self.post_counts(port);
        }
        for class in STRICT + 1..self.class_count as u8 {
            self.notify_lane(port, class);
        }
    }

    /// Queues a flow-control packet for a lane, if there is something new to announce.
    fn notify_lane(&mut self, port: PortId, class: u8) {
        // A failed link carries no flow-control packets; both ends announce again when it is back.
        if !self.ports[port].is_up() {
            return;
        }
        let links = self.links_mut();
        let lane = links.lanes[(port, class)];
        // A packet that is queued reads the values when it leaves, so that a second one would say nothing new.
        if lane.telling || lane.announced == Some(links.news(&lane)) {
            return;
        }
        links.lanes[(port, class)].telling = true;
        let size = links.update;
        self.post_control(port, class, 0, size);
    }

    /// Takes in a flow-control packet. Returns the lanes that it brings credit, a bit each.
    pub(crate) fn hear_credits(&mut self, world: &World, port: PortId, id: PacketId) -> u16 {
        let packet = *self.packets.get(id);
        self.packets.remove(id);
        let links = self.links_mut();
        if matches!(links.binding, Binding::Cbfc(_)) {
            self.hear_counts(world, port, &packet);
            return 0;
        }
        let lane = &mut links.lanes[(port, packet.class)];
        lane.limit = packet.note;
        // The difference is what the link has lost: it takes no room here, and without this the sender would lack it
        // forever.
        let lost = packet.tag == 0 && std::mem::replace(&mut lane.arrived, packet.answers) != packet.answers;
        if lost {
            self.has_news(port);
        }
        1 << packet.class
    }

    /// Returns true if a lane that was held back may send its packet now.
    pub(crate) fn may_resume(&self, port: PortId, class: u8) -> bool {
        let links = self.links();
        let is_held = self.ports[port].paused & 1 << class != 0;
        is_held && links.lanes[(port, class)].need <= links.sendable((port, class))
    }

    /// Announces a lane's credits again, after the link has lost the flow-control packet that was bound for `port`.
    pub(crate) fn lost_update(&mut self, port: PortId, class: u8) {
        let from = self.ports[port].peer;
        let links = self.links_mut();
        // Ethernet's counts are repeated by their own timers.
        if matches!(links.binding, Binding::Ib { .. }) {
            links.lanes[(from, class)].announced = None;
            self.has_news(from);
        }
    }

    /// Resets the lanes of a port whose link has failed: nothing may be sent before the other end has announced again.
    pub(crate) fn forget_credits(&mut self, port: PortId) {
        for class in STRICT + 1..self.class_count as u8 {
            let lane = &mut self.links_mut().lanes[(port, class)];
            (lane.limit, lane.sent, lane.arrived) = (0, 0, 0);
            (lane.announced, lane.telling) = (None, false);
        }
        self.forget_updates(port);
    }

    /// Announces the credits of a port whose link is back.
    pub(crate) fn renew_credits(&mut self, world: &World, port: PortId) {
        match self.links().binding {
            Binding::Ib { .. } => self.has_news(port),
            Binding::Cbfc(_) => {
                let all = self.links().all_lanes();
                self.owes_update(world, port, all);
            }
        }
    }
}
