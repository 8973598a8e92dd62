//! Where a flow's time went: an exact decomposition of its completion time.
//!
//! The acknowledgement that completes a flow answers one data packet. From the flow's start to the
//! start of that packet's transmission it was the sender's turn ([`SenderTime`]); from there on the
//! packet's, hop by hop, and then its acknowledgement's ([`HopTime`]). These are consecutive, so
//! they sum to the completion time to the picosecond.
//!
//! Of several reasons for which a sender waits at the same time one counts: what its own scheme
//! allows (the window, then pacing) before what others do to it (a pause, then a busy NIC). So "paused"
//! is the time for which a pause held back what the scheme would have sent.

use crate::core::Core;
use crate::core::packet::{NONE, Packet};
use crate::core::port::{Port, STRICT};
use crate::host::sender::Qp;
use crate::outcome::{PacketKind, PortRef, TraceKind};
use crate::spec::{Accounted, NodeId};
use crate::watch::Watch;
use crate::watch::record::Recorder;
use crate::world::World;
use paceline_kernel::Span;

mod parts;

pub use parts::{FlowAccount, HopTime, HopTotals, HostTime, SenderTime};

/// A packet's way so far.
#[derive(Clone, Debug, Default)]
struct PacketLog {
    /// The sender's time when its transmission began.
    sender: SenderTime,
    /// Ports it left.
    way: Vec<Step>,
    /// Time in the receiver's host.
    host: Span,
    /// When it came to the queue that it is in, and how long its class had been paused there by then.
    queued_at: u64,
    paused_before: u64,
}

/// A port that a packet left, after what time there.
#[derive(Clone, Copy, Debug)]
struct Step {
    port: u32,
    /// Whether it left as an acknowledgement.
    back: bool,
    wire: u16,
    queueing: Span,
    paused: Span,
}

/// A flow's account while it runs.
#[derive(Clone, Debug)]
struct Open {
    /// Up to here the sender's time is accounted for.
    until: u64,
    /// End of the flow's latest transmission, and whether it sent old bytes.
    sending_until: u64,
    again: bool,
    /// Of `sender.window`, what there was since the last progress.
    stalled: Span,
    account: FlowAccount,
    /// Ports of `account.hops`.
    ports: Vec<(u32, bool)>,
}

/// The accounts of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accounts {
    /// Place in `open` of each flow's account; empty when there are none.
    place: Vec<u32>,
    open: Vec<Option<Open>>,
    logs: Vec<PacketLog>,
    /// For how long each (port, class) was paused, pauses that last apart; empty without accounts.
    paused: Vec<u64>,
}

impl Accounts {
    pub(crate) fn new(asked: &Accounted, closeups: &[u32], flows: usize, queues: usize) -> Self {
        let mut place = Vec::new();
        let mut count = 0;
        let mut add = |place: &mut Vec<u32>, flow: usize| {
            if place[flow] == NONE {
                place[flow] = count;
                count += 1;
            }
        };
        match asked {
            Accounted::None if closeups.is_empty() => {}
            Accounted::None => place = vec![NONE; flows],
            Accounted::All => {
                place = vec![NONE; flows];
                (0..flows).for_each(|flow| add(&mut place, flow));
            }
            Accounted::Flows(list) => {
                place = vec![NONE; flows];
                for &flow in list.iter().filter(|&&flow| (flow as usize) < flows) {
                    add(&mut place, flow as usize);
                }
            }
        }
        for &flow in closeups.iter().filter(|&&flow| (flow as usize) < flows) {
            add(&mut place, flow as usize);
        }
        let on = count > 0;
        Self {
            place: if on { place } else { Vec::new() },
            open: vec![None; count as usize],
            logs: Vec::new(),
            paused: vec![0; if on { queues } else { 0 }],
        }
    }

    pub(crate) fn on(&self) -> bool {
        !self.place.is_empty()
    }

    fn find(&self, flow: u32) -> Option<usize> {
        let place = *self.place.get(flow as usize)?;
        (place != NONE).then_some(place as usize)
    }

    fn of(&mut self, flow: u32) -> Option<&mut Open> {
        let place = self.find(flow)?;
        self.open[place].as_mut()
    }

    fn log(&mut self, packet: u32) -> &mut PacketLog {
        let slot = packet as usize;
        if self.logs.len() <= slot {
            self.logs.resize(slot + 1, PacketLog::default());
        }
        &mut self.logs[slot]
    }

    /// A pause of `slot` (port and class) has ended after `span` ps.
    pub(crate) fn pause_ended(&mut self, slot: usize, span: u64) {
        if let Some(sum) = self.paused.get_mut(slot) {
            *sum += span;
        }
    }

    /// All accounts, in the order of the flows.
    pub(crate) fn close(self) -> Vec<FlowAccount> {
        let mut accounts: Vec<_> = self.open.into_iter().flatten().map(|open| open.account).collect();
        accounts.sort_by_key(|account| account.flow);
        accounts
    }
}

impl Open {
    /// Adds a step to what all packets of the flow met.
    fn add(&mut self, step: &Step, name: impl FnOnce() -> PortRef) {
        let key = (step.port, step.back);
        let place = match self.ports.iter().position(|&known| known == key) {
            Some(place) => place,
            None => self.begin(key, name()),
        };
        let totals = &mut self.account.hops[place];
        totals.packets += 1;
        totals.queueing += step.queueing;
        totals.queueing_max = totals.queueing_max.max(step.queueing);
        totals.paused += step.paused;
        totals.paused_max = totals.paused_max.max(step.paused);
    }

    /// The flow's packets are at a port for the first time.
    #[cold]
    fn begin(&mut self, key: (u32, bool), port: PortRef) -> usize {
        self.ports.push(key);
        self.account.hops.push(HopTotals {
            port,
            back: key.1,
            packets: 0,
            queueing: Span::ZERO,
            queueing_max: Span::ZERO,
            paused: Span::ZERO,
            paused_max: Span::ZERO,
        });
        self.ports.len() - 1
    }
}

impl Core {
    /// A flow starts: so does its account.
    pub(crate) fn open_account(&mut self, flow: u32) {
        let Some(place) = self.watch.accounts.find(flow) else {
            return;
        };
        self.watch.accounts.open[place] = Some(Open {
            until: self.now,
            sending_until: 0,
            again: false,
            stalled: Span::ZERO,
            account: FlowAccount {
                flow,
                completed: false,
                sender: SenderTime::default(),
                data: Vec::new(),
                host: HostTime::default(),
                ack: Vec::new(),
                hops: Vec::new(),
            },
            ports: Vec::new(),
        });
    }

    /// Accounts for a sender's time until now. To be called before anything changes that says why
    /// it waits: so the whole time since the last call has one reason, but for pacing, which ends
    /// at a time that is known.
    pub(crate) fn settle(&mut self, qp: &Qp) {
        let now = self.now;
        if qp.done {
            return;
        }
        if self.watch.closeups.on() {
            self.look_at_limits(qp);
        }
        let Some(open) = self.watch.accounts.of(qp.flow) else {
            return;
        };
        let (mut from, sender) = (open.until, &mut open.account.sender);
        open.until = now;
        let mut take = |until: u64| {
            let span = Span::from_ps(until.min(now).saturating_sub(from));
            from = from.max(until.min(now));
            span
        };
        let sent = take(open.sending_until);
        *(if open.again {
            &mut sender.resending
        } else {
            &mut sender.sending
        }) += sent;
        let port = &self.ports[qp.port as usize];
        if !qp.reachable || !port.up {
            sender.unreachable += take(now);
        } else if !qp.repairs && qp.snd_nxt >= qp.size {
            sender.recovery += take(now);
        } else if !qp.repairs && (qp.snd_nxt >= qp.limit || qp.in_flight() >= qp.window) {
            let waited = take(now);
            sender.window += waited;
            open.stalled += waited;
        } else {
            sender.pacing += take(if qp.stands() { now } else { qp.next_avail });
            let held = port.paused & 1 << qp.class != 0;
            let waited = take(now);
            *(if held { &mut sender.paused } else { &mut sender.nic }) += waited;
            if !held && self.watch.closeups.on() {
                let (flow, port) = (qp.flow, qp.port);
                self.look_at_nic(flow, port, waited);
            }
        }
    }

    /// There was progress, or a timeout: what was waited since for the window was, with a timeout,
    /// waiting for it.
    pub(crate) fn account_progress(&mut self, flow: u32, timeout: bool) {
        if let Some(open) = self.watch.accounts.of(flow) {
            let stalled = std::mem::take(&mut open.stalled);
            if timeout {
                open.account.sender.window = open.account.sender.window - stalled;
                open.account.sender.recovery += stalled;
            }
        }
    }

    /// A data packet is about to leave its sender, whose state is still as before.
    #[cold]
    pub(crate) fn account_send(&mut self, world: &World, qp: &Qp, id: u32) {
        self.settle(qp);
        let (now, packet) = (self.now, *self.packets.get(id));
        let port = qp.port;
        let again = packet.seq + u64::from(packet.payload) <= qp.max_sent;
        let profile = &world.profiles[usize::from(self.ports[port as usize].profile)];
        let Some(open) = self.watch.accounts.of(packet.flow) else {
            return;
        };
        open.sending_until = now + profile.serialise(packet.wire).tx;
        open.again = again;
        let sender = open.account.sender;
        let log = self.watch.accounts.log(id);
        log.sender = sender;
        log.host = Span::ZERO;
        log.way.clear();
        self.packets.get_mut(id).flags |= Packet::ACCOUNTED;
        self.account_step(port, id, Span::ZERO, Span::ZERO);
    }

    /// A data packet enters the receiver's host and will be there for `inside`.
    #[cold]
    pub(crate) fn account_host(&mut self, id: u32, inside: Span) {
        let packet = *self.packets.get(id);
        if !packet.is_accounted() {
            return;
        }
        self.watch.accounts.log(id).host = inside;
        if let Some(open) = self.watch.accounts.of(packet.flow) {
            let host = &mut open.account.host;
            host.packets += 1;
            host.total += inside;
            host.max = host.max.max(inside);
        }
    }

    /// What became of a step, as results tell it.
    fn hop(&self, world: &World, step: &Step) -> HopTime {
        let profile = &world.profiles[usize::from(self.ports[step.port as usize].profile)];
        HopTime {
            port: name_of(&self.ports, &self.watch.recorder, step.port),
            serialisation: Span::from_ps(profile.serialise(step.wire).tx),
            propagation: Span::from_ps(profile.delay),
            queueing: step.queueing,
            paused: step.paused,
        }
    }

    /// A packet of an accounted flow leaves a port.
    fn account_step(&mut self, port: u32, id: u32, queueing: Span, paused: Span) {
        let packet = self.packets.get(id);
        let flow = packet.flow;
        let step = Step {
            port,
            back: packet.kind != PacketKind::Data,
            wire: packet.wire,
            queueing,
            paused,
        };
        let Watch {
            accounts, recorder, ..
        } = &mut self.watch;
        accounts.log(id).way.push(step);
        if let Some(open) = accounts.of(flow) {
            open.add(&step, || name_of(&self.ports, recorder, port));
        }
    }

    /// A packet joins a queue, or leaves it.
    pub(crate) fn account(&mut self, world: &World, port: u32, event: TraceKind, id: u32) {
        let packet = self.packets.get(id);
        let (kind, class) = (packet.kind, packet.class);
        if !packet.is_accounted() || kind == PacketKind::Data && self.ports[port as usize].is_host {
            return;
        }
        match event {
            TraceKind::Enqueue => {
                let (queued_at, paused_before) = (self.now, self.paused_so_far(world, port, class));
                let log = self.watch.accounts.log(id);
                (log.queued_at, log.paused_before) = (queued_at, paused_before);
            }
            TraceKind::Dequeue => {
                let paused_now = self.paused_so_far(world, port, class);
                let log = self.watch.accounts.log(id);
                let paused = Span::from_ps(paused_now - log.paused_before);
                let queueing = Span::from_ps(self.now - log.queued_at) - paused;
                self.account_step(port, id, queueing, paused);
            }
            TraceKind::Receive | TraceKind::Drop => {}
        }
    }

    /// A packet has passed a port without waiting.
    pub(crate) fn account_pass(&mut self, port: u32, id: u32) {
        if self.packets.get(id).is_accounted() {
            self.account_step(port, id, Span::ZERO, Span::ZERO);
        }
    }

    /// For how long the class that holds back `class` at a port has been paused up to now.
    fn paused_so_far(&self, world: &World, port: u32, class: u8) -> u64 {
        let p = &self.ports[port as usize];
        let class = if p.is_host {
            world.ack_held_by(class)
        } else {
            class
        };
        let slot = port as usize * self.class_count + usize::from(class);
        let lasts = class > STRICT && p.paused & 1 << class != 0;
        self.watch.accounts.paused[slot]
            + if lasts {
                self.now - self.paused_since[slot]
            } else {
                0
            }
    }

    /// The flow completed with acknowledgement `id`.
    #[cold]
    pub(crate) fn close_account(&mut self, world: &World, flow: u32, fct: Span, id: u32) {
        let Some(place) = self.watch.accounts.find(flow) else {
            return;
        };
        let log = std::mem::take(self.watch.accounts.log(id));
        let hops: Vec<(bool, HopTime)> = (log.way.iter())
            .map(|step| (step.back, self.hop(world, step)))
            .collect();
        let Some(open) = &mut self.watch.accounts.open[place] else {
            return;
        };
        let account = &mut open.account;
        account.completed = true;
        account.sender = log.sender;
        account.host.time = log.host;
        for (back, hop) in hops {
            (if back { &mut account.ack } else { &mut account.data }).push(hop);
        }
        if world.spec.check {
            assert_eq!(
                account.total(),
                fct,
                "flow {flow}: its parts against its completion time"
            );
        }
    }
}

/// A port as results name it.
fn name_of(ports: &[Port], recorder: &Recorder, port: u32) -> PortRef {
    let p = &ports[port as usize];
    PortRef {
        node: NodeId(p.node),
        interface: recorder.interface(port),
        peer: NodeId(ports[p.peer as usize].node),
    }
}
