//! A port's wire: the packets in front of it, and flow-control packets, which go before them.
//!
//! Once in a period all ports scan their lanes for credits to tell of, all at the same instant. A port whose wire is
//! free does so a nanosecond later, others when their packet has left. Ports with nothing to tell would find nothing,
//! so only those are looked at that have ([`InfiniBand::telling`]); but what comes to one of the others within that
//! nanosecond finds it about to look, and then it does ([`InfiniBand::catch_up`]).

use paceline_fabric::model::{Net, PacketId, PortId};
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;

use crate::ib_omnet::InfiniBand;
use crate::ib_omnet::hca::CONGESTED;
use crate::ib_omnet::outcome::CreditStep;
use crate::ib_omnet::parts::Scan;
use crate::ib_omnet::step::Step;

/// A port whose wire is free looks so long after the scan, in ps.
const PAUSE: u64 = 1000;
/// Places of a port's wire times: of a data packet, and of a flow-control packet.
const DATA: usize = 0;
const UPDATE: usize = 1;

impl InfiniBand {
    /// The first scan is at the beginning; `starts` are the sources that begin then, by their port's order.
    pub(super) fn first_scan(&mut self, net: &mut Net<'_>) -> u64 {
        self.telling = self.ports.ids().collect();
        self.ports.iter_mut().for_each(|port| port.listed = true);
        self.scan(net);
        self.scan.tie
    }

    /// All ports look whether they have credits to tell of.
    pub(super) fn scan(&mut self, net: &mut Net<'_>) {
        let places = 2 * self.ports.len() as u64;
        self.scan = Scan {
            count: self.scan.count + 1,
            at: net.core.now(),
            tie: net.core.reserve_ties(places),
        };
        let mut telling = std::mem::take(&mut self.telling);
        telling.retain(|&port| {
            let has_news = self.lanes.row(port).iter().any(|lane| !lane.is_announced());
            self.ports[port].listed = has_news;
            if has_news && !self.ports[port].sending {
                self.look_soon(net, port);
            }
            has_news
        });
        self.telling = telling;
        if self.open > 0 {
            let period = self.spec.period.as_ps();
            self.after(net, LaneId::WHEEL, period, Step::Scan);
        }
    }

    /// A port with a free wire is to look at its lanes.
    fn look_soon(&mut self, net: &mut Net<'_>, port: PortId) {
        let p = &mut self.ports[port];
        (p.sending, p.scanned, p.telling) = (true, self.scan.count, 0);
        let (at, tie) = self.place_of_look(port);
        net.core.schedule_tied(at, tie, Step::WireFree { port }.event());
    }

    /// When a port with a free wire looks, and its place among the events of that instant.
    fn place_of_look(&self, port: PortId) -> (u64, u64) {
        let order = u64::from(self.ports[port].order);
        (self.scan.at + PAUSE, self.scan.tie + 2 * order + 1)
    }

    /// Something comes to a port whose wire is free: if it has yet to look since the latest scan, it will.
    #[inline(always)]
    fn catch_up(&mut self, net: &mut Net<'_>, port: PortId) {
        if self.ports[port].scanned != self.scan.count {
            self.catch_up_now(net, port);
        }
    }

    fn catch_up_now(&mut self, net: &mut Net<'_>, port: PortId) {
        let (now, tie) = net.core.instant();
        let tie = if self.behind { u64::MAX } else { tie };
        if (now, tie) < self.place_of_look(port) {
            return self.look_soon(net, port);
        }
        let lanes = self.spec.lanes;
        let p = &mut self.ports[port];
        (p.scanned, p.telling) = (self.scan.count, lanes);
    }

    /// There may be something new to tell of a port's credits.
    #[inline(always)]
    pub(super) fn has_news(&mut self, net: &mut Net<'_>, port: PortId) {
        if !self.ports[port].sending {
            self.catch_up(net, port);
        }
        let p = &mut self.ports[port];
        if !p.listed {
            p.listed = true;
            self.telling.push(port);
        }
    }

    /// A packet comes from the arbiter.
    #[inline(always)]
    pub(super) fn come_to_wire(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        if !self.ports[port].sending {
            self.catch_up(net, port);
        }
        let p = &mut self.ports[port];
        if !p.sending {
            return self.send(net, port, id);
        }
        net.core.packets.get_mut(id).next = PacketId::NONE;
        if p.waiting == 0 {
            p.head = id;
        } else {
            net.core.packets.get_mut(p.tail).next = id;
        }
        p.tail = id;
        p.waiting += 1;
    }

    /// A packet goes on the wire.
    #[inline(always)]
    fn send(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        if self.accounts.is_on() {
            self.account(net, port, id);
        }
        let packet = net.core.packets.get(id);
        let (kind, wire, lane) = (packet.kind, packet.wire, packet.class);
        let (from, tag) = (packet.note, packet.tag);
        net.core.count_packet(kind, wire);
        let p = &mut net.core.ports[port];
        p.tx_bytes += u64::from(wire);
        p.queued -= u32::from(wire);
        let p = &mut self.ports[port];
        let (time, events) = p.wire[DATA];
        net.core.ports[port].free_at = net.core.now() + time;
        p.sending = true;
        p.packets += 1;
        let peer = p.peer;
        self.lanes[(port, lane)].sent += 1;
        if self.record.is_on() {
            let notification = (kind != PacketKind::Data).then_some(tag == CONGESTED);
            let from = self.hosts[paceline_fabric::model::NicId(from)].node;
            self.write(net, port, CreditStep::Sent { from, notification });
            self.trace(net, port, TraceKind::Dequeue, id);
        }
        self.hand_on(Step::Arrive {
            port: peer,
            packet: id,
        });
        self.after(net, events, time, Step::WireFree { port });
        let p = &mut self.ports[port];
        if !p.listed {
            p.listed = true;
            self.telling.push(port);
        }
    }

    /// A packet has left the wire, or a port with a free wire looks at its lanes.
    #[inline(always)]
    pub(super) fn wire_free(&mut self, net: &mut Net<'_>, port: PortId) {
        let scans = self.scan.count;
        let lanes = self.spec.lanes;
        let p = &mut self.ports[port];
        p.sending = false;
        if p.scanned != scans {
            (p.scanned, p.telling) = (scans, 0);
        }
        let waited = std::mem::replace(&mut p.waited, false);
        let notifies = p.telling < lanes;
        if waited {
            self.hand_on(Step::Freed { port });
        }
        if notifies && self.notify(net, port) {
            return;
        }
        let p = &mut self.ports[port];
        if p.waiting > 0 {
            let id = p.head;
            p.head = net.core.packets.get(id).next;
            p.waiting -= 1;
            p.waited = true;
            self.send(net, port, id);
        }
    }

    /// Tells the credits of the next lane of which there is something new.
    fn notify(&mut self, net: &mut Net<'_>, port: PortId) -> bool {
        while self.ports[port].telling < self.spec.lanes {
            let lane = self.ports[port].telling;
            self.ports[port].telling += 1;
            let state = &mut self.lanes[(port, lane)];
            if state.is_announced() {
                continue;
            }
            let news @ (limit, sent) = state.news();
            state.announced = Some(news);
            let wire = self.spec.update.get() as u16;
            net.core.count_packet(PacketKind::Resume, wire);
            net.core.ports[port].tx_bytes += u64::from(wire);
            if self.record.is_on() {
                self.write(net, port, CreditStep::Update { lane, limit, sent });
                self.trace_update(net, port, TraceKind::Dequeue, (lane, limit, sent));
            }
            let p = &mut self.ports[port];
            let (peer, (time, events)) = (p.peer, p.wire[UPDATE]);
            net.core.ports[port].free_at = net.core.now() + time;
            p.sending = true;
            p.updates += 1;
            self.hand_on(Step::Update {
                port: peer,
                lane,
                limit,
            });
            self.after(net, events, time, Step::WireFree { port });
            return true;
        }
        false
    }

    /// An arbiter learns up to which packet it may send.
    #[inline(always)]
    pub(super) fn limit(&mut self, net: &mut Net<'_>, port: PortId, lane: u8, limit: u32) {
        let state = &mut self.lanes[(port, lane)];
        state.limit = limit;
        let credits = state.credits();
        if credits > 0 && state.stalled_since.is_some() {
            self.stall_ends(port, lane, net.core.now());
        }
        if self.record.is_on() {
            self.learned(net, port, lane, limit, credits);
        }
        self.arbitrate(net, port);
        if self.record.tells_waits() {
            self.note_wait(net, port);
        }
    }
}
