//! A port's wire: its output queue, and flow-control packets, which have priority.
//!
//! Once per period, all ports scan their lanes for credits to announce, at the same instant. A port with an idle wire
//! does so a nanosecond later, other ports after their packet. Only ports with news ([`InfiniBand::telling`]) are
//! visited; the scan of the others would find nothing. But if news arrives within that nanosecond, the port's own
//! scan is still to come and announces it ([`InfiniBand::catch_up`]).

use paceline_fabric::model::{Net, PacketId, PortId};
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_kernel::ids::Id;
use paceline_kernel::queue::LaneId;

use crate::ib_omnet::InfiniBand;
use crate::ib_omnet::credits::Announcement;
use crate::ib_omnet::hca::CONGESTED;
use crate::ib_omnet::outcome::CreditStep;
use crate::ib_omnet::parts::Scan;
use crate::ib_omnet::step::Step;

/// Delay from the scan to the check of a port with an idle wire, ps.
const PAUSE: u64 = 1000;
/// Indices of a port's wire times, for data packets and for flow-control packets.
const DATA: usize = 0;
const UPDATE: usize = 1;

impl InfiniBand {
    /// Performs the first scan, at time 0. Returns the base of the tie order of sources that start then.
    pub(super) fn first_scan(&mut self, net: &mut Net<'_>) -> u64 {
        self.telling = self.ports.ids().collect();
        self.ports.iter_mut().for_each(|port| port.listed = true);
        self.scan(net);
        self.scan.tie
    }

    /// Lets all ports check for credits to announce.
    pub(super) fn scan(&mut self, net: &mut Net<'_>) {
        // Ties are reserved for all ports, also for those not visited: a port that catches up keeps its position
        // among the events.
        let indices = 2 * self.ports.len() as u64;
        self.scan = Scan {
            count: self.scan.count + 1,
            at: net.cx.core.now(),
            tie: net.cx.core.reserve_ties(indices),
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

    /// Schedules the check of a port with an idle wire.
    fn look_soon(&mut self, net: &mut Net<'_>, port: PortId) {
        let p = &mut self.ports[port];
        (p.sending, p.scanned, p.telling) = (true, self.scan.count, 0);
        let (at, tie) = self.place_of_look(port);
        net.cx
            .core
            .schedule_tied(at, tie, Step::WireFree { port }.event());
    }

    /// Returns the time of an idle port's check, and its position among the events of that instant.
    fn place_of_look(&self, port: PortId) -> (u64, u64) {
        let order = u64::from(self.ports[port].order);
        (self.scan.at + PAUSE, self.scan.tie + 2 * order + 1)
    }

    /// Schedules the check of an idle port to which something arrives before its check in this period was due.
    #[inline(always)]
    fn catch_up(&mut self, net: &mut Net<'_>, port: PortId) {
        if self.ports[port].scanned != self.scan.count {
            self.catch_up_now(net, port);
        }
    }

    fn catch_up_now(&mut self, net: &mut Net<'_>, port: PortId) {
        let (now, tie) = net.cx.core.instant();
        let tie = if self.behind { u64::MAX } else { tie };
        if (now, tie) < self.place_of_look(port) {
            return self.look_soon(net, port);
        }
        let lanes = self.spec.lanes;
        let p = &mut self.ports[port];
        (p.scanned, p.telling) = (self.scan.count, lanes);
    }

    /// Lists a port whose credits may have changed.
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

    /// Takes a packet from the arbiter: sends it, or queues it if the wire is in use.
    #[inline(always)]
    pub(super) fn come_to_wire(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        if !self.ports[port].sending {
            self.catch_up(net, port);
        }
        let p = &mut self.ports[port];
        if !p.sending {
            return self.send(net, port, id);
        }
        net.cx.core.packets.get_mut(id).next = PacketId::NONE;
        if p.waiting == 0 {
            p.head = id;
        } else {
            net.cx.core.packets.get_mut(p.tail).next = id;
        }
        p.tail = id;
        p.waiting += 1;
    }

    /// Puts a packet on the wire, and delivers its first bit at this instant.
    #[inline(always)]
    fn send(&mut self, net: &mut Net<'_>, port: PortId, id: PacketId) {
        if self.accounts.is_on() {
            self.account(net, port, id);
        }
        let packet = net.cx.core.packets.get(id);
        let (kind, wire, lane) = (packet.kind, packet.wire, packet.class);
        let (from, tag) = (packet.note, packet.tag);
        net.cx.core.count_packet(kind, wire);
        let p = &mut net.cx.core.ports[port];
        p.tx_bytes += u64::from(wire);
        p.queued -= u32::from(wire);
        let p = &mut self.ports[port];
        let (time, events) = p.wire[DATA];
        net.cx.core.ports[port].free_at = net.cx.core.now() + time;
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
        // The number of packets sent is part of an announcement, so the next scan has to visit the port.
        let p = &mut self.ports[port];
        if !p.listed {
            p.listed = true;
            self.telling.push(port);
        }
    }

    /// Handles a free wire: announces credits, or sends the next packet.
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
        // Flow-control packets have priority over data; otherwise a busy port would starve the other end of credits.
        if notifies && self.notify(net, port) {
            return;
        }
        let p = &mut self.ports[port];
        if p.waiting > 0 {
            let id = p.head;
            p.head = net.cx.core.packets.get(id).next;
            p.waiting -= 1;
            p.waited = true;
            self.send(net, port, id);
        }
    }

    /// Sends an update for the next lane with news. Returns false if no lane has any.
    fn notify(&mut self, net: &mut Net<'_>, port: PortId) -> bool {
        while self.ports[port].telling < self.spec.lanes {
            let lane = self.ports[port].telling;
            self.ports[port].telling += 1;
            let state = &mut self.lanes[(port, lane)];
            if state.is_announced() {
                continue;
            }
            let news @ Announcement { limit, sent } = state.news();
            state.announced = Some(news);
            let wire = self.spec.update.get() as u16;
            net.cx.core.count_packet(PacketKind::Resume, wire);
            net.cx.core.ports[port].tx_bytes += u64::from(wire);
            if self.record.is_on() {
                self.write(net, port, CreditStep::Update { lane, limit, sent });
                self.trace_update(net, port, TraceKind::Dequeue, lane, news);
            }
            let p = &mut self.ports[port];
            let (peer, (time, events)) = (p.peer, p.wire[UPDATE]);
            net.cx.core.ports[port].free_at = net.cx.core.now() + time;
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

    /// Applies a new credit limit at the arbiter.
    #[inline(always)]
    pub(super) fn limit(&mut self, net: &mut Net<'_>, port: PortId, lane: u8, limit: u32) {
        let state = &mut self.lanes[(port, lane)];
        state.limit = limit;
        let credits = state.credits();
        if credits > 0 && state.stalled_since.is_some() {
            self.stall_ends(port, lane, net.cx.core.now());
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
