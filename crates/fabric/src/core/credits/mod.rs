//! Credits of links: what each lane of a port may still send, and what it tells the other end.
//!
//! Both ends of a link count, lane by lane, in units of [`LaneSpec::unit`]. The sender counts what it has sent (FCTBS)
//! and knows up to which number it may (FCCL); the receiver counts what has come (ABR) and what its input buffer has
//! free. A flow-control packet tells the other end both: FCCL, which is ABR and what is free, and FCTBS, from which
//! that end learns what the link has lost. Numbers are those of a counter that begins again ([`Binding::numbers`]).
//!
//! A lane whose next packet lacks credit is a paused class of its port, as a pause frame makes one elsewhere: whoever
//! follows pauses (accounts, records, detectors) follows this. The links of ports under credits are
//! [`LinkState::OnCredit`], so that nothing passes them unasked.

mod arbiter;
mod notify;
mod verify;
mod wire;

use paceline_kernel::ids::{Grid, Id, List};
use paceline_kernel::queue::{EventQueue, LaneId};

use crate::core::Core;
use crate::core::credits::arbiter::{Arbiter, Tables};
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::core::port::{LinkState, Ports};
use crate::ids::{PacketId, PortId, ProfileId};
use crate::world::classes::STRICT;
use crate::world::links::Profiles;
use paceline_run::spec::{Binding, Forwarding, LaneSpec, Phase};

/// The kinds of [`Event::Special`] here: a port is to tell its credits; a packet may leave the switch that it has started
/// to enter.
pub(crate) const TELL: u8 = 17;
pub(crate) const READY: u8 = 18;

/// A lane of a port: its sender's counters and its receiver's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lane {
    /// Up to where it may send, and how much it has sent.
    limit: u32,
    sent: u32,
    /// What the packet that is held back needs.
    need: u32,
    /// What has come in, and what of the input buffer is free.
    arrived: u32,
    free: u32,
    /// What was told last.
    announced: Option<(u32, u32)>,
    /// Whether that is under way to the wire.
    telling: bool,
    /// Whether it has ever sent anything.
    used: bool,
}

/// The credits of all links.
#[derive(Clone, Debug)]
pub(crate) struct Credits {
    lanes: Grid<PortId, Lane>,
    arbiters: List<PortId, Arbiter>,
    tables: Tables,
    /// Whether a port is to look what it has to tell, by port.
    armed: List<PortId, bool>,
    /// From the beginning of a packet to its arrival at a switch that reads its headers only, by the link.
    heads: List<ProfileId, (u64, LaneId)>,
    binding: Binding,
    unit: u32,
    numbers: u32,
    /// The bytes that a switch reads before it sends on; `None`: all.
    header: Option<u16>,
    /// A flow-control packet, in bytes.
    update: u16,
    buffers: Vec<u32>,
    /// Whether links may lose packets, by port: then what was sent is told, too, where credits are told by events.
    loses: List<PortId, bool>,
    /// How often a lane's next packet lacked credit.
    stalls: u64,
    /// Ports and lanes of which somebody wants to know behind what their packets stand at the other end.
    unexplained: Vec<(PortId, u8)>,
}

impl Credits {
    /// Of a network that has started to talk: all buffers are empty, and all senders know.
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
            stalls: 0,
            unexplained: Vec::new(),
        };
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

    /// Credits that a packet of so many bytes takes.
    #[inline]
    fn units(&self, wire: u16) -> u32 {
        u32::from(wire).div_ceil(self.unit)
    }

    /// What a lane has to tell: up to where the other end may send, and what was sent here.
    #[inline]
    fn news(&self, lane: &Lane) -> (u32, u32) {
        let room = lane.free.min(self.numbers / 2);
        ((lane.arrived + room) & (self.numbers - 1), lane.sent)
    }

    /// What a lane may still send.
    #[inline]
    fn available(&self, lane: &Lane) -> u32 {
        let left = lane.limit.wrapping_sub(lane.sent) & (self.numbers - 1);
        if left > self.numbers / 2 { 0 } else { left }
    }

    /// When a port looks next what it has to tell, from `now` on.
    fn next_look(&self, port: PortId, now: u64) -> u64 {
        let (period, offset) = match self.binding {
            Binding::Cbfc { period, .. } => return now + period.as_ps(),
            Binding::Ib { period, phase } => match phase {
                Phase::Aligned => (period.as_ps(), 0),
                Phase::PerPort => {
                    let share = u128::from(period.as_ps()) * port.index() as u128 / self.armed.len() as u128;
                    (period.as_ps(), share as u64)
                }
            },
        };
        let passed = (now + period - offset) / period;
        passed * period + offset
    }
}

impl Core {
    /// Credits of all links; there are some, or nobody asks.
    #[inline(always)]
    pub(super) fn links(&self) -> &Credits {
        self.credits.as_ref().expect("a network under credits")
    }

    #[inline(always)]
    fn links_mut(&mut self) -> &mut Credits {
        self.credits.as_mut().expect("a network under credits")
    }

    /// Credits that a packet of so many bytes takes.
    #[inline]
    pub(crate) fn units(&self, wire: u16) -> u32 {
        self.links().units(wire)
    }

    /// Whether a lane may send a packet of so many bytes.
    #[inline]
    pub(crate) fn has_credit(&self, port: PortId, class: u8, wire: u16) -> bool {
        let links = self.links();
        links.units(wire) <= links.available(&links.lanes[(port, class)])
    }

    /// The next packet of a lane lacks credit.
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

    /// Whether a lane could send what it holds back if all but `held` had left its buffer at the other end.
    pub(crate) fn could_send(&self, port: PortId, class: u8, held: u32) -> bool {
        let links = self.links();
        let buffer = links.buffers[usize::from(class - STRICT - 1)];
        let room = buffer.saturating_sub(held).min(links.numbers / 2);
        links.lanes[(port, class)].need <= room
    }

    /// The lane that a port serves next among those that may send, a bit each; one at least.
    pub(crate) fn arbitrate(&mut self, port: PortId, ready: u16) -> u8 {
        let Credits { arbiters, tables, .. } = self.links_mut();
        arbiters[port].choose(tables, ready)
    }

    /// A packet of the lane chosen goes; `waits` says which other lanes could send.
    pub(crate) fn arbitrated(&mut self, port: PortId, class: u8, wire: u16, waits: u16) {
        let Credits { arbiters, tables, .. } = self.links_mut();
        arbiters[port].sent(tables, class, wire, waits);
    }

    /// A packet has come in by a port: it takes room there.
    pub(crate) fn take_room(&mut self, port: PortId, class: u8, wire: u16) {
        let links = self.links_mut();
        let (units, mask) = (links.units(wire), links.numbers - 1);
        let lane = &mut links.lanes[(port, class)];
        assert!(lane.free >= units, "a packet came for which there is no room");
        lane.free -= units;
        lane.arrived = (lane.arrived + units) & mask;
    }

    /// It has left: its room is free.
    pub(crate) fn give_room(&mut self, port: PortId, class: u8, wire: u16) {
        let links = self.links_mut();
        let units = links.units(wire);
        links.lanes[(port, class)].free += units;
        match links.binding {
            Binding::Ib { .. } => self.has_news(port),
            Binding::Cbfc { delay, .. } if delay.as_ps() == 0 => self.notify_lane(port, class),
            Binding::Cbfc { delay, .. } => {
                let at = self.now + delay.as_ps();
                let what = Event::Special {
                    kind: TELL,
                    a: port.0,
                    b: u32::from(class),
                };
                self.schedule(LaneId::WHEEL, at, what);
            }
        }
    }

    /// A port has something to tell: it looks when it is time.
    fn has_news(&mut self, port: PortId) {
        let now = self.now;
        let links = self.links_mut();
        if std::mem::replace(&mut links.armed[port], true) {
            return;
        }
        let at = links.next_look(port, now);
        let what = Event::Special {
            kind: TELL,
            a: port.0,
            b: 0,
        };
        self.schedule(LaneId::WHEEL, at, what);
    }

    /// It is time to tell of a lane, or of all (0).
    pub(crate) fn notify_credits(&mut self, port: PortId, class: u32) {
        if class != 0 {
            return self.notify_lane(port, class as u8);
        }
        self.links_mut().armed[port] = false;
        for class in STRICT + 1..self.class_count as u8 {
            self.notify_lane(port, class);
        }
    }

    /// A lane tells what is new of it.
    fn notify_lane(&mut self, port: PortId, class: u8) {
        if !self.ports[port].is_up() {
            return;
        }
        let links = self.links_mut();
        let lane = links.lanes[(port, class)];
        if lane.telling || lane.announced == Some(links.news(&lane)) {
            return;
        }
        links.lanes[(port, class)].telling = true;
        self.post_update(port, class);
    }

    /// A flow-control packet has come. Says whether the lane's next packet may go that could not before.
    pub(crate) fn hear_credits(&mut self, port: PortId, id: PacketId) -> bool {
        let Packet {
            class, note, answers, ..
        } = *self.packets.get(id);
        self.packets.remove(id);
        let links = self.links_mut();
        let lane = &mut links.lanes[(port, class)];
        lane.limit = note;
        // What is missing the link has lost: it holds no room here.
        let lost = std::mem::replace(&mut lane.arrived, answers) != answers;
        let lane = *lane;
        let enough = lane.need <= links.available(&lane);
        if lost {
            self.has_news(port);
        }
        enough && self.ports[port].paused & 1 << class != 0
    }

    /// The link has lost a flow-control packet that was to come to `port`: the other end tells again.
    pub(crate) fn lost_update(&mut self, port: PortId, class: u8) {
        let from = self.ports[port].peer;
        self.links_mut().lanes[(from, class)].announced = None;
        self.has_news(from);
    }

    /// The link of a port has failed: nothing may be sent before the other end has told again.
    pub(crate) fn forget_credits(&mut self, port: PortId) {
        for class in STRICT + 1..self.class_count as u8 {
            let lane = &mut self.links_mut().lanes[(port, class)];
            (lane.limit, lane.sent, lane.arrived) = (0, 0, 0);
            (lane.announced, lane.telling) = (None, false);
        }
    }

    /// It is back: both ends tell each other.
    pub(crate) fn renew_credits(&mut self, port: PortId) {
        self.has_news(port);
    }
}
