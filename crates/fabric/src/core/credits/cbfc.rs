//! Credits of Ethernet: CF_Updates say what a receiver has freed, CC_Updates what a sender has sent.
//!
//! A CF_Update is a control ordered set of two lanes, put on the line even within a frame, at least [`Cbfc::cf_min`] after
//! the one before. It is sent when there is news. Where links lose nothing, repeating it would change nothing; where they
//! lose, it is repeated every [`Cbfc::cf_max`] until the other end knows. A CC_Update is a frame about all lanes. It leaves
//! at the next multiple of [`Cbfc::cc_timer`] after the port has sent something.

use paceline_kernel::Bytes;
use paceline_kernel::queue::LaneId;

use crate::core::Core;
use crate::core::credits::counts::CbfcLane;
use crate::core::credits::updates::{COUNTS, NEWS, REPEAT, pack, unpack};
use crate::core::credits::{Credits, FREED};
use crate::core::event::Event;
use crate::core::noise::Carried;
use crate::core::packet::Packet;
use crate::ids::{PacketId, PortId};
use crate::world::World;
use crate::world::classes::STRICT;
use paceline_run::outcome::{PacketKind, TraceKind};
use paceline_run::spec::Cbfc;

impl Credits {
    /// Returns the units that a lane has freed (R_CF).
    fn freed(&self, port: PortId, class: u8) -> u32 {
        let told = self.news(&self.lanes[(port, class)]).0;
        told.wrapping_sub(self.limit(class)) & (self.numbers - 1)
    }

    /// Returns true if a lane's other end does not know what it has freed.
    fn is_unknown(&self, port: PortId, peer: PortId, class: u8) -> bool {
        let limit = self.news(&self.lanes[(port, class)]).0;
        self.lanes[(peer, class)].limit != limit
    }
}

impl Core {
    /// Notes that lanes, a class bit each, have news for the other end.
    pub(super) fn owes_update(&mut self, world: &World, port: PortId, classes: u16) {
        let links = self.links_mut();
        let Some(&Cbfc { cf_min, .. }) = links.binding.cbfc() else {
            return;
        };
        let updates = &mut links.updates[port];
        updates.owed |= classes;
        if updates.owed != 0 && !std::mem::replace(&mut updates.is_due, true) {
            self.tell(world, port, cf_min, NEWS);
        }
    }

    /// Schedules an announcement `after` the last CF_Update, or now if that has passed.
    fn tell(&mut self, world: &World, port: PortId, after: Bytes, what: u32) {
        let distance = self.time_of(world, port, after.get());
        let sent = self.links().updates[port].sent_at;
        let at = sent.map_or(self.now, |sent| self.now.max(sent + distance));
        self.announce_at(port, at, what);
    }

    /// Sends a CF_Update: one that is due, or one that may have to be repeated.
    pub(super) fn send_freed(&mut self, world: &World, port: PortId, what: u32) {
        let Some(&cbfc) = self.links().binding.cbfc() else {
            return;
        };
        let (now, peer) = (self.now, self.ports[port].peer);
        let is_up = self.ports[port].is_up();
        let distance = self.time_of(world, port, cbfc.cf_max.get());
        let links = self.links_mut();
        if what == REPEAT {
            links.updates[port].repeats = false;
            // Another one was sent in the meantime.
            if links.updates[port]
                .sent_at
                .is_some_and(|sent| sent + distance > now)
            {
                return self.repeat_later(world, port, cbfc.cf_max);
            }
            let unknown = links
                .classes()
                .filter(|&class| links.is_unknown(port, peer, class));
            links.updates[port].owed |= unknown.fold(0, |all, class| all | 1 << class);
        } else {
            links.updates[port].is_due = false;
        }
        if !is_up {
            links.updates[port].owed = 0;
            return;
        }
        let Some(first) = links.updates[port].take() else {
            return;
        };
        let second = links.updates[port].take();
        let freed = |class| links.freed(port, class);
        let packet = Packet {
            kind: PacketKind::Credit,
            class: first,
            note: freed(first),
            tag: second.unwrap_or(0),
            answers: second.map_or(0, freed),
            sent_at: now,
            wire: Cbfc::CF_UPDATE,
            epoch: world.epoch,
            ..Packet::EMPTY
        };
        for class in [Some(first), second].into_iter().flatten() {
            links.updates[port].of(class)[0] += 1;
        }
        links.updates[port].sent_at = Some(now);
        self.trace_freed(world, port, TraceKind::Dequeue, &packet);
        let at = self.insert_ordered_set(world, port, PacketKind::Credit, Cbfc::CF_UPDATE);
        let b = self.packets.insert(packet).0;
        let what = Event::Special {
            kind: FREED,
            a: peer.0,
            b,
        };
        self.schedule(LaneId::WHEEL, at, what);
        self.owes_update(world, port, 0);
        if self.links().loses[port] {
            self.repeat_later(world, port, cbfc.cf_max);
        }
    }

    fn repeat_later(&mut self, world: &World, port: PortId, distance: Bytes) {
        if !std::mem::replace(&mut self.links_mut().updates[port].repeats, true) {
            self.tell(world, port, distance, REPEAT);
        }
    }

    /// Takes in a CF_Update, unless the link has lost it. Returns the lanes that it brings credit, a bit each.
    pub(crate) fn hear_freed(&mut self, world: &World, port: PortId, id: PacketId) -> u16 {
        let packet = *self.packets.get(id);
        let is_lost = self.is_cut_off(world, port, Cbfc::CF_UPDATE)
            || self.is_corrupted(world, port, id)
            || self.is_control_lost(world, port, Carried::Credit);
        self.packets.remove(id);
        let what = if is_lost {
            TraceKind::Drop
        } else {
            TraceKind::Receive
        };
        self.trace_freed(world, port, what, &packet);
        if is_lost {
            self.counters.link_drops += 1;
            return 0;
        }
        let links = self.links_mut();
        let mask = links.numbers - 1;
        let carried = [(packet.class, packet.note), (packet.tag, packet.answers)];
        for (class, freed) in carried.into_iter().filter(|(class, _)| *class > STRICT) {
            links.lanes[(port, class)].limit = freed.wrapping_add(links.limit(class)) & mask;
            links.updates[port].of(class)[1] += 1;
        }
        // Where lanes share a buffer, any of them may go on.
        links.all_lanes()
    }

    fn trace_freed(&mut self, world: &World, port: PortId, what: TraceKind, packet: &Packet) {
        if !self.watch.recorder.tracing {
            return;
        }
        for (class, note) in [(packet.class, packet.note), (packet.tag, packet.answers)] {
            if class > STRICT {
                let of_lane = Packet {
                    class,
                    note,
                    answers: 0,
                    ..*packet
                };
                let id = self.packets.insert(of_lane);
                self.trace(world, port, what, id, 0);
                self.packets.remove(id);
            }
        }
    }

    /// Queues a CC_Update, whose counts are written when it leaves.
    pub(super) fn post_counts(&mut self, port: PortId) {
        if !self.ports[port].is_up() {
            return;
        }
        // What the link sends again has been counted, and has not arrived.
        if self.has_outstanding(port) {
            return self.has_news(port);
        }
        self.post_control(port, STRICT + 1, COUNTS, Cbfc::CC_UPDATE);
    }

    /// Writes the counts of all lanes into the CC_Update that leaves next.
    pub(super) fn write_counts(&mut self, port: PortId, id: PacketId) {
        // As above: frames may have left since the update was queued.
        let is_void = self.has_outstanding(port);
        let peer = self.ports[port].peer;
        let links = self.links_mut();
        let first = links.lanes[(port, STRICT + 1)].sent;
        let words = pack(links.classes().map(|class| links.lanes[(port, class)].sent));
        let unknown = (links.classes())
            .any(|class| links.lanes[(port, class)].sent != links.lanes[(peer, class)].arrived);
        let again = is_void || unknown && links.loses[port];
        links.updates[port].counts[0] += 1;
        let packet = self.packets.get_mut(id);
        (packet.path, packet.seq, packet.answers) = words;
        // Traces show the count of the first lane.
        packet.note = first;
        packet.payload = u16::from(!is_void);
        if again {
            self.has_news(port);
        }
    }

    /// Takes in a CC_Update: what was sent and has not arrived was lost, and is free.
    pub(super) fn hear_counts(&mut self, world: &World, port: PortId, packet: &Packet) {
        let links = self.links_mut();
        let updates = &mut links.updates[port];
        updates.counts[1] += 1;
        if packet.payload == 0 {
            return;
        }
        let mut news = 0;
        let mask = links.numbers - 1;
        for (class, sent) in links
            .classes()
            .zip(unpack((packet.path, packet.seq, packet.answers)))
        {
            let lane = &mut links.lanes[(port, class)];
            let lost = sent.wrapping_sub(lane.arrived) & mask;
            if lost > 0 {
                lane.arrived = sent;
                links.updates[port].of(class)[2] += u64::from(lost);
                news |= 1 << class;
            }
        }
        self.owes_update(world, port, news);
    }

    /// Forgets the updates of a port whose link has failed.
    pub(super) fn forget_updates(&mut self, port: PortId) {
        if self.links().binding.cbfc().is_some() {
            // Those that are scheduled find nothing to say.
            self.links_mut().updates[port].owed = 0;
        }
    }

    /// Returns the counters of all lanes that have sent or received.
    pub(crate) fn cbfc_counts(&self) -> Vec<CbfcLane> {
        let Some(links) = self.credits.as_deref() else {
            return Vec::new();
        };
        let mask = links.numbers - 1;
        let mut rows = Vec::new();
        for (port, updates) in links.updates.numbered() {
            for (lane, class) in links.classes().enumerate() {
                let of = &links.lanes[(port, class)];
                let limit = links.limit(class);
                let [tx_cf_updates, rx_cf_updates, restored] = updates.of_lane[lane];
                let row = CbfcLane {
                    port: self.port_ref(port),
                    lane: lane as u32,
                    s_cc: of.sent,
                    s_cf: of.limit.wrapping_sub(limit) & mask,
                    r_cc: of.arrived,
                    r_cf: links.freed(port, class),
                    tx_cf_updates,
                    rx_cf_updates,
                    tx_cc_updates: updates.counts[0],
                    rx_cc_updates: updates.counts[1],
                    restored,
                };
                rows.push(row);
            }
        }
        rows
    }
}
