//! Accounts of message latency: the last packet's time by port, and all packets' time by port.
//!
//! Each lane of a port has a clock that runs while the lane has a packet and no credit. The clock's advance from a
//! packet's arrival to its grant is the packet's wait for credits; the rest of its wait is queueing behind other
//! packets.

use paceline_fabric::model::{FlowId, Net, NicId, PacketId, PortId};
use paceline_fabric::outcome::account::{FlowAccount, HopTime, HopTotals, HostTime, SenderTime};
use paceline_fabric::outcome::{FlowStatus, PacketKind, PortRef};
use paceline_fabric::spec::{Accounted, RunSpec};
use paceline_kernel::Span;
use paceline_kernel::ids::{Grid, Id, List};

use crate::ib_omnet::InfiniBand;

/// Accounts of selected flows; empty if none are recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    /// Index of each flow's account in `open`; `u32::MAX` if it has none.
    indices: Vec<u32>,
    open: Vec<Open>,
    clocks: Grid<PortId, Clock>,
    /// Arrival of each packet at its present port, by packet id.
    journals: Vec<Journal>,
}

/// Clock of the time in which a lane had a packet and no credit, ps.
#[derive(Clone, Copy, Debug)]
struct Clock {
    shown: u64,
    /// Time since which it runs, ps; `u64::MAX` if it is stopped.
    since: u64,
}

impl Clock {
    const STOPPED: Self = Self {
        shown: 0,
        since: u64::MAX,
    };

    fn at(&self, now: u64) -> u64 {
        self.shown + now.saturating_sub(self.since)
    }
}

/// Arrival time of a packet at its port, ps, and the lane's clock at that time. After the grant, `credit` is the wait
/// for credits.
#[derive(Clone, Copy, Debug, Default)]
struct Journal {
    since: u64,
    credit: u64,
}

/// Account of one flow, in ps.
#[derive(Clone, Debug)]
struct Open {
    flow: FlowId,
    port: PortId,
    started: u64,
    /// The host's clock at the start.
    clock: u64,
    sender: SenderTime,
    last: Vec<Hop>,
    all: Vec<Totals>,
}

/// Times of the last packet at one port, ps.
#[derive(Clone, Copy, Debug)]
struct Hop {
    port: PortId,
    fixed: u64,
    queueing: u64,
    credit: u64,
}

/// Totals of all packets at one port. Waits are (sum, maximum), ps.
#[derive(Clone, Copy, Debug)]
struct Totals {
    port: PortId,
    packets: u64,
    queueing: (u64, u64),
    credit: (u64, u64),
}

impl Accounts {
    pub(super) fn new(spec: &RunSpec, ports: usize, lanes: u8) -> Self {
        let flows = spec.flows.len();
        let mut accounts = Self {
            indices: vec![u32::MAX; flows],
            clocks: Grid::of(ports, usize::from(lanes), Clock::STOPPED),
            ..Self::default()
        };
        let mut list: Vec<u32> = match &spec.record.accounts {
            Accounted::None => Vec::new(),
            Accounted::All => (0..flows as u32).collect(),
            Accounted::Flows(list) => list.clone(),
        };
        // Probed flows have accounts, too.
        list.extend(&spec.record.flow_probes);
        list.sort_unstable();
        list.dedup();
        if list.is_empty() {
            return Self::default();
        }
        for flow in list {
            accounts.indices[flow as usize] = accounts.open.len() as u32;
            accounts.open.push(Open {
                flow: FlowId(flow),
                port: PortId::NONE,
                started: u64::MAX,
                clock: 0,
                sender: SenderTime::NONE,
                last: Vec::new(),
                all: Vec::new(),
            });
        }
        accounts
    }

    pub(super) fn is_on(&self) -> bool {
        !self.open.is_empty()
    }

    fn of(&mut self, flow: FlowId) -> Option<&mut Open> {
        let index = *self.indices.get(flow.index())?;
        self.open.get_mut(index as usize)
    }

    /// Starts or stops a lane's clock. `is` is true if the lane has a packet and no credit.
    pub(super) fn waits(&mut self, port: PortId, lane: u8, is: bool, now: u64) {
        let clock = &mut self.clocks[(port, lane)];
        match (is, clock.since == u64::MAX) {
            (true, true) => clock.since = now,
            (false, false) => (clock.shown, clock.since) = (clock.at(now), u64::MAX),
            _ => {}
        }
    }

    /// Records the start of a message at its host.
    pub(super) fn starts(&mut self, flow: FlowId, port: PortId, now: u64) {
        let clock = self.clocks[(port, 0)].at(now);
        if let Some(open) = self.of(flow) {
            (open.port, open.started, open.clock) = (port, now, clock);
        }
    }

    /// Records a packet's arrival at a port's queue.
    pub(super) fn comes(&mut self, id: PacketId, port: PortId, lane: u8, now: u64) {
        let credit = self.clocks[(port, lane)].at(now);
        if self.journals.len() <= id.index() {
            self.journals.resize(id.index() + 1, Journal::default());
        }
        self.journals[id.index()] = Journal { since: now, credit };
    }

    /// Records the arbiter's grant to a packet.
    pub(super) fn is_let_go(&mut self, id: PacketId, port: PortId, lane: u8, now: u64) {
        // There are no journals if no accounts are recorded.
        if let Some(hop_log) = self.journals.get_mut(id.index()) {
            hop_log.credit = self.clocks[(port, lane)].at(now) - hop_log.credit;
        }
    }

    /// Records a packet's transmission.
    // The three parts are clamped in this order, so that their sum is always the time at the port.
    fn goes(&mut self, departure: Departure) {
        let Departure {
            flow,
            is_last,
            id,
            port,
            fixed,
            now,
        } = departure;
        let Some(&Journal { since, credit }) = self.journals.get(id.index()) else {
            return;
        };
        let Some(open) = self.of(flow) else { return };
        let time = now - since;
        // Clipped one after the other, so that the parts add up to the time.
        let fixed = fixed.min(time);
        let credit = credit.min(time - fixed);
        let queueing = time - fixed - credit;
        if is_last {
            open.last.push(Hop {
                port,
                fixed,
                queueing,
                credit,
            });
        }
        let index = open.all.iter().position(|all| all.port == port);
        let index = index.unwrap_or_else(|| {
            open.all.push(Totals {
                port,
                packets: 0,
                queueing: (0, 0),
                credit: (0, 0),
            });
            open.all.len() - 1
        });
        let all = &mut open.all[index];
        all.packets += 1;
        all.queueing = (all.queueing.0 + queueing, all.queueing.1.max(queueing));
        all.credit = (all.credit.0 + credit, all.credit.1.max(credit));
    }

    /// Splits the sender's time so far into sending, waiting for credits, and pacing or the NIC. `packets` is the
    /// number made after the first.
    fn sender(&mut self, flow: FlowId, packets: u64, packet: u64, is_paced: bool, now: u64) {
        let Some(open) = self.of(flow) else { return };
        let (port, clock) = (open.port, open.clock);
        if port == PortId::NONE {
            return;
        }
        let shown = self.clocks[(port, 0)].at(now);
        let Some(open) = self.of(flow) else { return };
        let time = now - open.started;
        let sending = (packets * packet).min(time);
        let credit = (shown - clock).min(time - sending);
        let rest = Span::from_ps(time - sending - credit);
        open.sender = SenderTime {
            sending: Span::from_ps(sending),
            paused: Span::from_ps(credit),
            pacing: if is_paced { rest } else { Span::ZERO },
            nic: if is_paced { Span::ZERO } else { rest },
            ..SenderTime::NONE
        };
    }
}

impl Open {
    fn close(self, completed: bool, ports: &List<PortId, PortRef>) -> FlowAccount {
        let span = Span::from_ps;
        let mut account = FlowAccount::new(self.flow.0, self.sender);
        let hop = |hop: Hop| HopTime {
            port: ports[hop.port],
            serialisation: span(hop.fixed),
            propagation: Span::ZERO,
            queueing: span(hop.queueing),
            paused: span(hop.credit),
            retried: Span::ZERO,
        };
        let totals = |all: Totals| HopTotals {
            port: ports[all.port],
            back: false,
            packets: all.packets,
            queueing: span(all.queueing.0),
            queueing_max: span(all.queueing.1),
            paused: span(all.credit.0),
            paused_max: span(all.credit.1),
            retried: Span::ZERO,
            retried_max: Span::ZERO,
        };
        account.hops = self.all.into_iter().map(totals).collect();
        if completed {
            account.completed = true;
            account.host = HostTime::default();
            account.data = self.last.into_iter().map(hop).collect();
        }
        account
    }
}

/// Transmission of a data packet by a port.
struct Departure {
    flow: FlowId,
    /// True for the last packet of its flow.
    is_last: bool,
    id: PacketId,
    port: PortId,
    /// Part of its time at the port that does not depend on other packets, ps.
    fixed: u64,
    now: u64,
}

impl InfiniBand {
    /// Accounts for a packet that a port transmits.
    #[cold]
    pub(super) fn account(&mut self, net: &Net<'_>, port: PortId, id: PacketId) {
        let packet = net.cx.core.packets.get(id);
        if packet.kind != PacketKind::Data {
            return;
        }
        let fixed = match self.ports[port].is_host {
            true => self.spec.host_packet,
            false => self.spec.input_delay + self.spec.output_delay,
        };
        self.accounts.goes(Departure {
            flow: packet.flow,
            is_last: self.is_last(net, packet.flow, packet.seq),
            id,
            port,
            fixed: fixed.as_ps(),
            now: net.cx.core.now(),
        });
    }

    /// Accounts for a packet that a host has created and queued.
    #[cold]
    pub(super) fn account_made(&mut self, net: &Net<'_>, port: PortId, id: PacketId) {
        let packet = net.cx.core.packets.get(id);
        let now = net.cx.core.now();
        self.accounts.comes(id, port, packet.class, now);
        if packet.kind == PacketKind::Data && self.is_last(net, packet.flow, packet.seq) {
            let is_paced = self.hosts[NicId(packet.note)].controlled;
            let time = self.spec.host_packet.as_ps();
            self.accounts.sender(packet.flow, packet.seq, time, is_paced, now);
        }
    }

    /// Updates a port's clocks after a change in its lanes' packets or credits.
    pub(super) fn notify_clocks(&mut self, now: u64, port: PortId) {
        if !self.accounts.is_on() {
            return;
        }
        for lane in 0..self.spec.lanes {
            let state = &self.lanes[(port, lane)];
            let is = state.filled != 0 && state.credits() == 0;
            self.accounts.waits(port, lane, is, now);
        }
    }

    /// Returns true for the last packet of a flow.
    fn is_last(&self, net: &Net<'_>, flow: FlowId, seq: u64) -> bool {
        let size = net.cx.world.flow(net.cx.core, flow).size;
        seq + 1 == size.get().div_ceil(net.cx.world.packet.mtu.get())
    }

    /// Closes the accounts. Returns `None` if none are recorded.
    pub(super) fn close_accounts(
        &mut self,
        net: &Net<'_>,
        ports: &List<PortId, PortRef>,
    ) -> Option<Vec<FlowAccount>> {
        if !self.accounts.is_on() {
            return None;
        }
        let (now, time) = (net.cx.core.now(), self.spec.host_packet.as_ps());
        let completed = |flow: FlowId| {
            let record = net.traffic.record(flow);
            record.is_some_and(|record| record.status == FlowStatus::Completed)
        };
        let flows: Vec<FlowId> = self.accounts.open.iter().map(|open| open.flow).collect();
        // A message that never ended has no split of its sender's time yet.
        for &flow in flows.iter().filter(|&&flow| !completed(flow)) {
            let source = self.sources.iter().find(|source| source.current == Some(flow));
            let made = source.map_or(0, |source| u64::from(source.made));
            let is_paced = source.is_some_and(|source| self.hosts[source.host].controlled);
            self.accounts.sender(flow, made, time, is_paced, now);
        }
        let all = std::mem::take(&mut self.accounts.open);
        // Messages that never started have nothing to report.
        let begun = all.into_iter().filter(|open| open.port != PortId::NONE);
        let close = |open: Open| {
            let is_done = completed(open.flow);
            open.close(is_done, ports)
        };
        Some(begun.map(close).collect())
    }
}
