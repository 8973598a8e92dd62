//! A host's NIC. With DCQCN, responses have priority over per-flow queues, which are served round-robin at their
//! rates by credits. Without DCQCN, queues by priority are served round-robin.

use std::collections::VecDeque;

use paceline_congestion::Mark;
use paceline_fabric::model::{Event, FlowId, LINK_CONTROL, Net, Packet, PacketId, PortId};
use paceline_fabric::outcome::PacketKind;
use paceline_kernel::queue::LaneId;
use paceline_kernel::{BitRate, Span, ns3};

use crate::tcd_ns3::reaction_point::{ReactionPoint, Settings};
use crate::tcd_ns3::{ALPHA, INCREASE, TcdNs3, wake_of};

/// State of a NIC. Responses are acknowledgements, NACKs and notifications.
#[derive(Clone)]
pub(super) struct Nic {
    line: BitRate,
    /// DCQCN's parameters; `None` without DCQCN.
    pub(super) settings: Option<Settings>,
    /// Factor of the push interval for applications with a fixed rate.
    pub(super) fixed: Option<f64>,
    /// Flows in the order of their first packets, numbered from 1. Number 0 stands for responses.
    flows: Vec<FlowId>,
    /// Credits of responses, and the time of the next response, ps.
    answers: (f64, u64),
    /// Without DCQCN: the flow of each queued packet, by class.
    fifos: Vec<VecDeque<FlowId>>,
    /// Bytes queued in `fifos`, by class.
    bytes: Vec<u32>,
    /// Number of queued packets of flows.
    waiting: u32,
    /// Flow number or priority that was served last.
    served: usize,
    /// True if a wake-up is scheduled.
    wakes: bool,
    /// Flows received here, in the order of their first packets.
    pub(super) received: Vec<FlowId>,
}

/// Number of priorities. The last one is for responses.
const PRIORITIES: usize = 8;

impl Nic {
    pub(super) fn new(line: BitRate, settings: Option<Settings>, fixed: Option<f64>, classes: usize) -> Self {
        Self {
            line,
            settings,
            fixed,
            flows: Vec::new(),
            answers: (0.0, 0),
            fifos: vec![VecDeque::new(); classes],
            bytes: vec![0; classes],
            waiting: 0,
            served: 0,
            wakes: false,
            received: Vec::new(),
        }
    }
}

/// Source of the next packet.
#[derive(Clone, Copy)]
enum Turn {
    Answer,
    Flow(FlowId),
}

impl TcdNs3 {
    /// Returns a flow's backlog in the NIC as the application sees it, bytes.
    pub(super) fn backlog(&self, net: &Net<'_>, port: PortId, id: FlowId) -> u32 {
        let (nic, flow) = (&self.nics[net.cx.core.ports[port].nic()], &self.flows[id]);
        match nic.settings {
            Some(_) => flow.backlog() * wire(net, flow.payload),
            None => nic.bytes[usize::from(flow.class)],
        }
    }

    /// Queues a packet that the flow's application has pushed.
    pub(super) fn nic_enqueue(&mut self, net: &mut Net<'_>, port: PortId, id: FlowId) {
        let nic = &mut self.nics[net.cx.core.ports[port].nic()];
        let flow = &mut self.flows[id];
        if flow.index.is_none() {
            nic.flows.push(id);
            flow.index = Some(nic.flows.len());
        }
        nic.waiting += 1;
        if nic.settings.is_none() {
            nic.fifos[usize::from(flow.class)].push_back(id);
            nic.bytes[usize::from(flow.class)] += wire(net, flow.payload);
        }
        self.nic_send(net, port);
    }

    /// Sends a response. Its IP identification consumes a random stream.
    pub(super) fn answer(&mut self, net: &mut Net<'_>, port: PortId, packet: Packet) {
        self.streams.skip();
        let id = net.cx.core.packets.insert(packet);
        net.cx.core.push(net.cx.world, port, LINK_CONTROL, id);
        self.nic_send(net, port);
    }

    /// Handles a scheduled wake-up.
    pub(super) fn wake(&mut self, net: &mut Net<'_>, port: PortId) {
        self.nics[net.cx.core.ports[port].nic()].wakes = false;
        self.nic_send(net, port);
    }

    /// Sends the next packet, if one may be sent.
    pub(super) fn nic_send(&mut self, net: &mut Net<'_>, port: PortId) {
        let nic = &self.nics[net.cx.core.ports[port].nic()];
        if nic.waiting == 0 && net.cx.core.ports[port].ready == 0 {
            return;
        }
        if net.cx.core.is_busy(port) {
            return net.cx.core.await_transmission(port);
        }
        let turn = match nic.settings {
            Some(_) => self.next_by_flow(net, port),
            None => self.next_by_priority(net, port),
        };
        match turn {
            Some(turn) => self.nic_transmit(net, port, turn),
            None => self.look_later(net, port),
        }
    }

    fn next_by_flow(&mut self, net: &Net<'_>, port: PortId) -> Option<Turn> {
        let p = &net.cx.core.ports[port];
        if p.ready != 0 {
            return Some(Turn::Answer);
        }
        let now = net.cx.core.now();
        let nic = &mut self.nics[p.nic()];
        // Number 0 is that of the answers, which have left before and take no turn here.
        let count = nic.flows.len() + 1;
        let (served, flows) = (nic.served, &self.flows);
        let may_send = |&number: &usize| {
            number > 0 && {
                let flow = &flows[nic.flows[number - 1]];
                flow.backlog() > 0 && flow.next_at <= now && p.paused & 1 << flow.class == 0
            }
        };
        let number = (1..=count).map(|step| (served + step) % count).find(may_send)?;
        nic.served = number;
        Some(Turn::Flow(nic.flows[number - 1]))
    }

    fn next_by_priority(&mut self, net: &Net<'_>, port: PortId) -> Option<Turn> {
        let p = &net.cx.core.ports[port];
        let nic = &mut self.nics[p.nic()];
        for step in 1..=PRIORITIES {
            let priority = (nic.served + step) % PRIORITIES;
            if priority == PRIORITIES - 1 {
                if p.ready != 0 {
                    nic.served = priority;
                    return Some(Turn::Answer);
                }
                continue;
            }
            let class = net.cx.world.classes.dense(priority as u8);
            if p.paused & 1 << class != 0 {
                continue;
            }
            if let Some(&flow) = nic.fifos[usize::from(class)].front() {
                nic.served = priority;
                return Some(Turn::Flow(flow));
            }
        }
        None
    }

    fn nic_transmit(&mut self, net: &mut Net<'_>, port: PortId, turn: Turn) {
        let id = match turn {
            Turn::Answer => net.take_from(port, LINK_CONTROL),
            Turn::Flow(flow) => self.take_data(net, port, flow),
        };
        let size = u32::from(net.cx.core.packets.get(id).wire);
        // Only DCQCN limits rates.
        if self.nics[net.cx.core.ports[port].nic()].settings.is_some() {
            self.pay(net, port, turn, size);
        }
        let waiting = self.nics[net.cx.core.ports[port].nic()].waiting;
        let more = waiting > 0 || net.cx.core.ports[port].ready != 0;
        net.cx.core.start_transmission(net.cx.world, port, id, more);
    }

    /// Creates the next packet of a flow.
    fn take_data(&mut self, net: &mut Net<'_>, port: PortId, id: FlowId) -> PacketId {
        let flow = &mut self.flows[id];
        let nic = &mut self.nics[net.cx.core.ports[port].nic()];
        let wire = wire(net, flow.payload);
        nic.waiting -= 1;
        if nic.settings.is_none() {
            nic.fifos[usize::from(flow.class)].pop_front();
            nic.bytes[usize::from(flow.class)] -= wire;
        }
        let number = flow.next;
        flow.next += 1;
        if number < flow.sent {
            net.cx.core.counters.retransmitted_bytes += u64::from(flow.payload);
        }
        flow.sent = flow.sent.max(flow.next);
        net.cx.core.packets.insert(Packet {
            flow: id,
            seq: u64::from(number),
            sent_at: net.cx.core.now(),
            wire: wire as u16,
            payload: flow.payload as u16,
            class: flow.class,
            epoch: net.cx.world.epoch,
            kind: PacketKind::Data,
            ..Packet::EMPTY
        })
    }

    /// Charges a transmission: the sender waits until its rate allows the next packet, and flows that are already
    /// allowed to send gain credits in proportion to that wait.
    fn pay(&mut self, net: &Net<'_>, port: PortId, turn: Turn, size: u32) {
        let (now, nic_id) = (net.cx.core.now(), net.cx.core.ports[port].nic());
        let nic = &mut self.nics[nic_id];
        let Some(settings) = nic.settings else { return };
        let line = nic.line.as_bps();
        let (rate, credits) = match turn {
            Turn::Answer => (line, nic.answers.0),
            Turn::Flow(id) => {
                let flow = &mut self.flows[id];
                (flow.sender(&settings).rate(), flow.credits)
            }
        };
        let due = (line as f64 / rate as f64 * (f64::from(size) - credits)).max(0.0);
        let next_at = now + ns3::time_to_send(nic.line, due as u32).as_ps();
        match turn {
            Turn::Answer => nic.answers.1 = next_at,
            Turn::Flow(id) => self.flows[id].next_at = next_at,
        }
        if nic.answers.1 <= now {
            nic.answers.0 += due;
        }
        for &id in &nic.flows {
            let flow = &mut self.flows[id];
            if flow.next_at <= now {
                let rate = flow.sender.as_ref().map_or(0, ReactionPoint::rate);
                flow.credits += rate as f64 / line as f64 * due;
            }
        }
        match turn {
            Turn::Answer => self.nics[nic_id].answers.0 = 0.0,
            Turn::Flow(id) => {
                let flow = &mut self.flows[id];
                flow.credits = 0.0;
                if flow.sender(&settings).on_sent(&settings, size) {
                    self.log_rate(net, id);
                }
            }
        }
    }

    /// Schedules a wake-up of a NIC with DCQCN for the first flow with packets whose rate allows it. If that time has
    /// passed, something else blocks the flow.
    fn look_later(&mut self, net: &mut Net<'_>, port: PortId) {
        let nic = &mut self.nics[net.cx.core.ports[port].nic()];
        if nic.settings.is_none() || nic.wakes {
            return;
        }
        let waiting = nic.flows.iter().map(|&id| &self.flows[id]);
        let next = waiting.filter(|flow| flow.backlog() > 0).map(|flow| flow.next_at);
        if let Some(at) = next.min()
            && at > net.cx.core.now()
        {
            nic.wakes = true;
            net.cx.core.schedule(LaneId::WHEEL, at, wake_of(port));
        }
    }

    /// Applies a notification to a flow's sender.
    pub(super) fn hear(&mut self, net: &mut Net<'_>, port: PortId, id: FlowId, mark: Mark) {
        net.cx.core.counters.notifications += 1;
        self.log.notified(id, mark);
        let Some(settings) = self.nics[net.cx.core.ports[port].nic()].settings else {
            return;
        };
        let sender = self.flows[id].sender(&settings);
        let Some(wait) = sender.on_notification(&settings, mark) else {
            return;
        };
        self.set(net, id, ALPHA, settings.alpha_interval());
        self.set(net, id, INCREASE, wait);
        self.log_rate(net, id);
    }

    /// Sets a timer of a flow's reaction point. Earlier settings become invalid.
    fn set(&mut self, net: &mut Net<'_>, flow: FlowId, slot: u8, wait: Span) {
        let setting = &mut self.flows[flow].settings[usize::from(slot == INCREASE)];
        *setting = setting.wrapping_add(1);
        let event = Event::Timer {
            flow,
            slot,
            generation: *setting,
        };
        net.cx
            .core
            .schedule(LaneId::WHEEL, net.cx.core.now() + wait.as_ps(), event);
    }

    /// Returns the settings of a flow's sender if the expired timer's generation is still valid.
    fn settings_of(&self, net: &Net<'_>, id: FlowId, slot: u8, generation: u8) -> Option<Settings> {
        let flow = &self.flows[id];
        let counts = flow.settings[usize::from(slot == INCREASE)] == generation;
        let nic = &self.nics[net.cx.core.ports[flow.ways.data[0]].nic()];
        nic.settings.filter(|_| counts)
    }

    pub(super) fn step_alpha(&mut self, net: &mut Net<'_>, id: FlowId, generation: u8) {
        if let Some(settings) = self.settings_of(net, id, ALPHA, generation) {
            self.flows[id].sender(&settings).on_alpha(&settings);
            self.set(net, id, ALPHA, settings.alpha_interval());
        }
    }

    pub(super) fn increase(&mut self, net: &mut Net<'_>, id: FlowId, generation: u8) {
        if let Some(settings) = self.settings_of(net, id, INCREASE, generation) {
            let wait = self.flows[id].sender(&settings).on_timer(&settings);
            self.set(net, id, INCREASE, wait);
            self.log_rate(net, id);
        }
    }

    fn log_rate(&mut self, net: &Net<'_>, id: FlowId) {
        if let Some(sender) = &self.flows[id].sender {
            self.log.rate(net.cx.core.now(), id, sender);
        }
    }

    /// Handles an acknowledgement up to `acked`. After a NACK (`again`), the packets behind it are sent again.
    pub(super) fn take_answer(&mut self, net: &Net<'_>, port: PortId, id: FlowId, acked: u32, again: bool) {
        /// Packets kept for retransmission; older ones count as acknowledged.
        const KEPT: u32 = 8000;
        let flow = &mut self.flows[id];
        flow.acked = flow.acked.max(acked).max(flow.pushed.saturating_sub(KEPT));
        let nic = &mut self.nics[net.cx.core.ports[port].nic()];
        // Without DCQCN, the simulator queues retransmissions at another priority, so that losses are never repaired.
        if again && nic.settings.is_some() {
            nic.waiting += flow.next.saturating_sub(flow.acked);
            flow.next = flow.next.min(flow.acked);
        }
    }
}

/// Returns the size of a data packet on the wire, bytes.
fn wire(net: &Net<'_>, payload: u32) -> u32 {
    payload + net.cx.world.packet.data_header.get() as u32
}
