//! Events of the core and of senders, as accounts follow them.

use super::hop_log::{INSIDE, PAUSED, RETRIED, for_each_wait, key_of, port_of};
use super::paths::Reached;
use super::sender::Sender;
use super::{Accounts, Step};
use crate::core::Core;
use crate::core::event::Event;
use crate::core::packet::Packet;
use crate::core::port::{Port, Ports};
use crate::host::{Blocked, Qp};
use crate::ids::{AccountId, FlowId, PacketId, PortId};
use crate::watch::record::Recorder;
use crate::world::World;
use crate::world::classes::STRICT;
use paceline_kernel::Span;
use paceline_kernel::ids::Id;
use paceline_run::outcome::account::{FlowAccount, HopTime, SenderTime};
use paceline_run::outcome::{PacketKind, PortRef};

impl Sender {
    /// Accounts for the time until now. The whole time since the last call has one reason, except for pacing, which
    /// ends at a known time. Returns the time for which the sender has waited for its NIC, in ps.
    #[inline]
    fn settle(&mut self, qp: &Qp, port: &Port, now: u64) -> u64 {
        if now <= self.until {
            return 0;
        }
        let held = if port.is_up() {
            qp.held()
        } else {
            Blocked::Unreachable
        };
        if held == Blocked::No {
            return self.settle_open(qp, port, now);
        }
        let waited = self.pass(now);
        match held {
            Blocked::Unreachable => self.time.unreachable += waited,
            // The sender waits for ACKs of data that may be lost: nothing else is left to do.
            Blocked::AllSent => self.time.recovery += waited,
            Blocked::Window => {
                self.time.window += waited;
                self.stalled += waited;
            }
            Blocked::Rate | Blocked::No if qp.awaits_grant() => self.time.grants += waited,
            Blocked::Rate | Blocked::No => self.time.pacing += waited,
        }
        0
    }

    /// Accounts for time in which the window was open: pacing, or others held the sender back.
    #[inline]
    fn settle_open(&mut self, qp: &Qp, port: &Port, now: u64) -> u64 {
        if port.paused & 1 << qp.class() == 0 && !qp.stands() {
            return self.settle_unblocked(qp, now);
        }
        if qp.awaits_grant() {
            let waited = self.pass(now);
            self.time.grants += waited;
            return 0;
        }
        // Pacing counts before the pause: only beyond it did the pause hold anything back.
        let paced = if qp.stands() { now } else { qp.next_avail() };
        self.settle_pacing(paced.min(now));
        let waited = self.pass(now);
        self.time.paused += waited;
        0
    }

    /// Accounts for time in which only pacing and the NIC held the sender back.
    #[inline]
    fn settle_unblocked(&mut self, qp: &Qp, now: u64) -> u64 {
        self.settle_pacing(qp.next_avail().min(now));
        if now <= self.until {
            return 0;
        }
        let waited = self.pass(now);
        self.time.nic += waited;
        waited.as_ps()
    }
}

impl Accounts {
    /// Closes the account of a message that an older packet completes: all its time was recovery.
    fn close_overtaken(&mut self, position: AccountId, fct: Span) {
        let sender = &mut self.senders[position];
        let time = SenderTime {
            recovery: fct,
            ..SenderTime::NONE
        };
        sender.is_complete = true;
        let mut account = FlowAccount::new(sender.flow.0, time);
        account.completed = true;
        self.completed.push(account);
    }

    #[inline]
    fn of(&mut self, qp: &Qp) -> Option<&mut Sender> {
        self.senders.get_mut(qp.account())
    }
}

impl Core {
    /// Opens the account of a flow that starts.
    pub(crate) fn open_account(&mut self, world: &World, qp: &Qp, paths: Option<[&[PortId]; 2]>) {
        let now = self.now();
        if let Some(sender) = self.watch.accounts.of(qp) {
            *sender = Sender::new(qp.flow(), now);
            if let Some(paths) = paths {
                self.foresee_way(world, qp, paths);
            }
        }
    }

    /// Opens the account of a message that is posted to its connection.
    pub(crate) fn open_account_of_message(&mut self, qp: &Qp, flow: FlowId) {
        let (now, accounts) = (self.now(), &mut self.watch.accounts);
        let Some(position) = accounts.find(flow) else {
            return;
        };
        let Some(connection) = accounts.of(qp) else {
            return;
        };
        // The connection's wait before is no part of the message's time, and keeps its reason.
        connection.stalled = Span::ZERO;
        let message = connection.of_message(flow, qp.account(), now);
        accounts.senders[position] = message;
        let way = accounts.totals[qp.account()].of_same_way();
        accounts.totals[position] = way;
        self.announce_way(position);
    }

    /// Accounts for a sender's time until now. To be called before anything changes the reason for which it waits.
    pub(crate) fn settle(&mut self, qp: &Qp) {
        if qp.is_done() {
            return;
        }
        if self.watch.flow_probes.on() {
            self.observe_limits(qp);
        }
        let waited = self.settle_account(qp);
        if waited > 0 && self.watch.flow_probes.on() {
            self.observe_nic(qp.flow(), qp.port(), Span::from_ps(waited));
        }
    }

    /// Accounts for the time of an incomplete flow without a flow probe. Returns the time for which it has waited for
    /// its NIC, in ps.
    #[inline(never)]
    pub(crate) fn settle_account(&mut self, qp: &Qp) -> u64 {
        let now = self.now();
        match self.watch.accounts.of(qp) {
            Some(sender) => sender.settle(qp, &self.ports[qp.port()], now),
            None => 0,
        }
    }

    /// Notes that an acknowledgement has brought progress.
    #[inline(never)]
    pub(crate) fn account_progress(&mut self, qp: &Qp) {
        if let Some(sender) = self.watch.accounts.of(qp) {
            sender.stalled = Span::ZERO;
        }
    }

    /// Notes that a timeout has ended a wait.
    pub(crate) fn account_timeout(&mut self, qp: &Qp) {
        if let Some(sender) = self.watch.accounts.of(qp) {
            sender.time_out();
        }
    }

    /// Starts the log of a data packet that is about to leave its sender, whose state is still as before.
    #[inline(never)]
    pub(crate) fn account_send(&mut self, world: &World, qp: &Qp, id: PacketId) {
        let now = self.now();
        if self.watch.flow_probes.on() {
            self.settle(qp);
        }
        let accounts = &mut self.watch.accounts;
        let (port, packet) = (&self.ports[qp.port()], self.packets.get_mut(id));
        let position = match qp.is_connection() {
            true => accounts.find(packet.flow).unwrap_or(qp.account()),
            false => qp.account(),
        };
        let Some(sender) = accounts.senders.get_mut(qp.account()) else {
            return;
        };
        // Packets of the usual size log only where they waited, since their path and times are known.
        let is_quiet = packet.wire == sender.known_wire;
        packet.flags |= match is_quiet {
            true => Packet::ACCOUNTED,
            false => Packet::ACCOUNTED | Packet::TRACED,
        };
        match !qp.is_blocked(0) {
            true => sender.settle_unblocked(qp, now),
            // A retransmission may be all that there was to send, so other reasons than pacing are possible.
            false => sender.settle(qp, port, now),
        };
        let hop_log = accounts.hop_logs.open(id);
        // The slot may hold the log of an earlier packet, which would be lost if it were not added up now.
        if let Some((head, steps)) = hop_log.read() {
            accounts.totals[head.position].add(head, steps);
        }
        hop_log.begin(position, sender.time_until(now));
        (hop_log.head.start, hop_log.head.is_quiet) = (now, is_quiet);
        let profile = &world.profiles[port.profile];
        let again = qp.has_sent(packet.end(world.packet.mtu.get()));
        sender.send(now + profile.serialise(packet.wire).tx, again);
    }

    /// Notes the pauses so far of a packet that joins a queue, once there have been pauses.
    #[cold]
    pub(crate) fn account_queued(&mut self, world: &World, port: PortId, id: PacketId) {
        if self.packets.get(id).is_accounted() {
            let paused = self.paused_so_far(world, port, id);
            self.watch.accounts.hop_logs.head(id).paused_before = paused;
        }
    }

    /// Logs the pause of a packet that is about to leave a port's queue, once there have been pauses.
    #[cold]
    pub(crate) fn account_pause(&mut self, world: &World, port: PortId, id: PacketId) {
        if !self.packets.get(id).is_accounted() {
            return;
        }
        let until_now = self.paused_so_far(world, port, id);
        let hop_logs = &mut self.watch.accounts.hop_logs;
        let paused = until_now - hop_logs.head(id).paused_before;
        if paused > 0 {
            hop_logs.push(id, Step::other(PAUSED, paused));
        }
    }

    /// Returns the time, in ps, for which the class that holds back a packet at a port has been paused until now.
    fn paused_so_far(&self, world: &World, port: PortId, id: PacketId) -> u64 {
        let (p, class) = (&self.ports[port], self.packets.get(id).class);
        let class = if p.is_host {
            world.ack_held_by(class)
        } else {
            class
        };
        let slot = (port, class);
        let lasts = class > STRICT && p.paused & 1 << class != 0;
        self.watch.accounts.paused[slot]
            + if lasts {
                self.now() - self.paused_since(port, class)
            } else {
                0
            }
    }

    /// Logs that a packet has waited for a frame that link-level retry sent again.
    #[cold]
    pub(crate) fn account_retry(&mut self, id: PacketId, waited: u64) {
        if self.packets.get(id).is_accounted() {
            let step = Step::other(RETRIED, waited);
            self.watch.accounts.hop_logs.push(id, step);
        }
    }

    /// Logs that a data packet enters the receiver's host and will be there for `inside`.
    #[cold]
    pub(crate) fn account_host(&mut self, id: PacketId, inside: Span) {
        if self.packets.get(id).is_accounted() {
            let step = Step::other(INSIDE, inside.as_ps());
            self.watch.accounts.hop_logs.push(id, step);
        }
    }

    /// Closes the account of a flow that acknowledgement `id` completes.
    #[cold]
    pub(crate) fn close_account(&mut self, world: &World, flow: FlowId, fct: Span, id: PacketId) {
        let Some(position) = self.watch.accounts.find(flow) else {
            return;
        };
        self.notify(id, Reached::Sender);
        let accounts = &mut self.watch.accounts;
        let Some((head, steps)) = accounts.hop_logs.of(id) else {
            return;
        };
        let sender = &accounts.senders[position];
        let time = match sender.within {
            AccountId::NONE => head.sender,
            // The packet was sent before the message was posted, and the message waited for it to arrive.
            _ if head.start < sender.until => {
                return accounts.close_overtaken(position, fct);
            }
            _ => head.sender.since(&sender.time),
        };
        let mut account = FlowAccount::new(flow.0, time);
        account.completed = true;
        let ready = steps.first().map_or(0, |step| step.left);
        for_each_wait(steps, ready, |key, step, arrives, queueing, paused| {
            if key == INSIDE {
                account.host.time += Span::from_ps(step.left);
                return;
            }
            if key == RETRIED {
                let hops = account.ack.last_mut().or(account.data.last_mut());
                hops.expect("the hop before").retried += Span::from_ps(step.left);
                return;
            }
            let (port, back) = port_of(key);
            let delay = world.profile_at(port, step.left).delay;
            let hop = HopTime {
                port: name_of(&self.ports, &self.watch.recorder, port),
                serialisation: Span::from_ps((arrives - step.left).saturating_sub(delay)),
                propagation: Span::from_ps(delay.min(arrives - step.left)),
                queueing: Span::from_ps(queueing),
                paused: Span::from_ps(paused),
                retried: Span::ZERO,
            };
            match back {
                false => account.data.push(hop),
                true => account.ack.push(hop),
            }
        });
        if world.spec.check {
            assert_eq!(
                account.total(),
                fct,
                "flow {flow}: its parts against its completion time"
            );
        }
        accounts.senders[position].is_complete = true;
        accounts.completed.push(account);
    }
}

impl Core {
    /// Stores the paths of a flow that starts, if they are known beforehand.
    fn foresee_way(&mut self, world: &World, qp: &Qp, [forward, back]: [&[PortId]; 2]) {
        let accounts = &mut self.watch.accounts;
        if !accounts.fixed_ways || self.watch.recorder.tracing {
            return;
        }
        let wire = world.packet.mtu.get() as u16 + qp.data_header();
        accounts.senders[qp.account()].known_wire = wire;
        let paths = [
            (forward, wire, true),
            (back, world.packet.ack_wire(qp.needs()), false),
        ];
        for (ports, wire, is_data) in paths {
            for &port in ports {
                let profile = &world.profiles[self.ports[port].profile];
                let flight = profile.serialise(wire).tx + profile.delay;
                accounts.totals[qp.account()].add_hop(key_of(port, is_data), flight);
            }
        }
        self.announce_way(qp.account());
    }

    /// Completes the log of a packet that has come this far, because its path is no longer known from here on.
    #[cold]
    fn notify(&mut self, id: PacketId, upto: Reached) {
        let packet = self.packets.get_mut(id);
        if packet.is_accounted() && !packet.is_traced() {
            packet.flags |= Packet::TRACED;
            self.watch.accounts.notify(id, upto);
        }
    }

    /// Completes the log of a packet that came in by `ingress`.
    #[cold]
    pub(crate) fn notify_before(&mut self, ingress: PortId, id: PacketId) {
        self.notify(id, self.came_by(ingress, id));
    }

    /// Completes the log of a data packet that has arrived at its receiver.
    #[inline]
    pub(crate) fn notify_at_receiver(&mut self, id: PacketId) {
        self.notify(id, Reached::Receiver);
    }

    /// Ends a data packet at its receiver, without an answer.
    #[inline(never)]
    pub(crate) fn end_at_receiver(&mut self, id: PacketId) {
        self.notify_at_receiver(id);
        self.packets.remove(id);
    }

    /// Returns how far a packet at the end of a link has come.
    fn came_by(&self, ingress: PortId, id: PacketId) -> Reached {
        let is_data = self.packets.get(id).kind == PacketKind::Data;
        match self.ports.get(ingress) {
            Some(port) => Reached::Left(key_of(port.peer, is_data)),
            // The packet started there.
            None => Reached::Left(PAUSED),
        }
    }

    /// Completes the logs of all packets in the network.
    pub(crate) fn notify_all(&mut self) {
        if !self.watch.accounts.on() {
            return;
        }
        let mut under_way = Vec::new();
        self.for_each_pending(|event| {
            if let Event::Arrive { port, packet } = event {
                under_way.push((packet, self.came_by(port, packet)));
            }
        });
        for ((port, _), queue) in self.queues.numbered() {
            let mut id = queue.head;
            while id != PacketId::NONE {
                let packet = self.packets.get(id);
                let upto = match self.ports[port].is_host {
                    true => Reached::Receiver,
                    false => self.came_by(packet.ingress, id),
                };
                under_way.push((id, upto));
                id = packet.next;
            }
        }
        for (id, upto) in under_way {
            self.notify(id, upto);
        }
    }
}

/// Returns a port as results name it.
fn name_of(ports: &Ports, recorder: &Recorder, port: PortId) -> PortRef {
    let p = &ports[port];
    PortRef {
        node: p.node,
        interface: recorder.interface(port),
        peer: ports[p.peer].node,
    }
}
