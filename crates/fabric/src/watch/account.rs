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
use crate::core::packet::Packet;
use crate::core::port::{Ports, STRICT};
use crate::host::sender::Qp;
use crate::ids::{AccountId, FlowId, PacketId, PortId};
use crate::outcome::{PacketKind, PortRef};
use crate::spec::{Accounted, RunSpec};
use crate::watch::record::Recorder;
use crate::world::World;
use journal::{INSIDE, Journals, PAUSED, for_each_wait, key_of, port_of};
use paceline_kernel::Span;
use paceline_kernel::ids::{Grid, Id, List};
use sender::Sender;
use totals::Totals;

mod journal;
mod parts;
mod sender;
mod totals;
mod ways;

pub(crate) use journal::{Head, Step};
pub use parts::{FlowAccount, HopTime, HopTotals, HostTime, SenderTime};
pub(crate) use ways::Upto;

/// The accounts of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accounts {
    /// Place in the following of each flow's account; empty when there are none.
    place: List<FlowId, AccountId>,
    senders: List<AccountId, Sender>,
    totals: List<AccountId, Totals>,
    /// Of the flows that have completed, but for what all their packets met.
    completed: Vec<FlowAccount>,
    journals: Journals,
    /// For how long each (port, class) was paused, pauses that last apart; empty without accounts.
    paused: Grid<PortId, u64>,
    /// Whether there has been a pause.
    pauses: bool,
    /// Whether ways can be known: see [`ways`].
    fixed_ways: bool,
}

impl Accounts {
    pub(crate) fn new(spec: &RunSpec, (ports, classes): (usize, usize), packets: usize) -> Self {
        let (asked, closeups, flows) = (&spec.record.accounts, &spec.record.closeups, spec.flow_count());
        let named: &[u32] = match asked {
            Accounted::Flows(list) => list,
            Accounted::None | Accounted::All => &[],
        };
        // As far as there are accounts: a run of many flows may have few.
        let named = named.iter().chain(closeups).map(|&flow| flow as usize + 1);
        let places = match asked {
            Accounted::All => flows,
            _ => named.max().unwrap_or(0).min(flows),
        };
        let mut place: List<FlowId, AccountId> = List::of(places, AccountId::NONE);
        let mut count = 0;
        let mut add = |flow: u32| {
            if let Some(place) = place.get_mut(FlowId(flow))
                && *place == AccountId::NONE
            {
                *place = AccountId::new(count);
                count += 1;
            }
        };
        match asked {
            Accounted::None => {}
            Accounted::All => (0..flows as u32).for_each(&mut add),
            Accounted::Flows(list) => list.iter().copied().for_each(&mut add),
        }
        closeups.iter().copied().for_each(&mut add);
        let on = count > 0;
        Self {
            place: if on { place } else { List::new() },
            senders: List::of(count, Sender::NOT_STARTED),
            totals: List::of(count, Totals::default()),
            completed: Vec::new(),
            journals: Journals::new(if on { packets } else { 0 }),
            paused: Grid::of(if on { ports } else { 0 }, classes, 0),
            pauses: false,
            fixed_ways: ways::are_fixed(spec),
        }
    }

    pub(crate) fn on(&self) -> bool {
        !self.place.is_empty()
    }

    /// Whether packets are to say when they come to a queue: there have been pauses.
    #[inline]
    pub(crate) fn awaits_pauses(&self) -> bool {
        self.pauses
    }

    fn find(&self, flow: FlowId) -> Option<AccountId> {
        let place = *self.place.get(flow)?;
        (place != AccountId::NONE).then_some(place)
    }

    /// A flow's account; `AccountId::NONE` without one.
    pub(crate) fn place_of(&self, flow: FlowId) -> AccountId {
        self.find(flow).unwrap_or(AccountId::NONE)
    }

    #[inline]
    fn of(&mut self, qp: &Qp) -> Option<&mut Sender> {
        self.senders.get_mut(qp.account)
    }

    /// A pause begins.
    pub(crate) fn pause_begins(&mut self) {
        self.pauses = self.on();
    }

    /// A pause of `slot` (port and class) has ended after `span` ps.
    pub(crate) fn pause_ended(&mut self, slot: (PortId, u8), span: u64) {
        if let Some(sum) = self.paused.get_mut(slot) {
            *sum += span;
        }
    }

    /// A packet whose way is written down goes on the wire of a port at `left`, and will be at the other end at
    /// `arrives`.
    #[inline(never)]
    pub(crate) fn step(&mut self, packet: PacketId, port: PortId, kind: PacketKind, left: u64, arrives: u64) {
        let key = key_of(port, kind == PacketKind::Data);
        self.journals.get_mut(packet).leave(key, left, arrives);
    }

    /// What the packet that had this slot met is added to its flow's, if it has not been.
    #[inline]
    fn add_up(&mut self, packet: PacketId) {
        if let Some((head, steps)) = self.journals.of(packet) {
            self.totals[head.place].add(head, steps);
            self.journals.forget(packet);
        }
    }

    fn add_up_all(&mut self) {
        self.journals.packets().for_each(|packet| self.add_up(packet));
    }

    /// Takes out the journal of a packet that goes to another part of the network: its steps, as many as its
    /// head says, are appended to `steps`.
    pub(crate) fn take(&mut self, packet: PacketId, steps: &mut Vec<Step>) -> Option<Head> {
        let (&head, found) = self.journals.of(packet)?;
        steps.extend_from_slice(found);
        self.journals.forget(packet);
        Some(head)
    }

    /// Puts in the journal of a packet that came from another part of the network, where it is `packet`.
    pub(crate) fn put(&mut self, packet: PacketId, head: &Head, steps: &[Step]) {
        self.add_up(packet);
        self.journals.open(packet).begin(head.place, &head.sender);
        for &step in steps {
            self.journals.push(packet, step);
        }
    }

    /// Adds the accounts of another part of the same run. Each flow's sender is in one of them; its packets
    /// have been added up wherever they ended.
    pub(crate) fn merge(&mut self, mut other: Self) {
        self.add_up_all();
        other.add_up_all();
        for (mine, theirs) in self.senders.iter_mut().zip(other.senders) {
            if !mine.has_started() {
                *mine = theirs;
            }
        }
        self.completed.append(&mut other.completed);
        for (mine, theirs) in self.totals.iter_mut().zip(other.totals) {
            mine.merge(theirs);
        }
    }

    /// All accounts at the end of the run, in the order of the flows.
    pub(crate) fn close(mut self, now: u64, name: &dyn Fn(PortId) -> PortRef) -> Vec<FlowAccount> {
        self.add_up_all();
        let mut accounts = std::mem::take(&mut self.completed);
        let others = self.senders.iter_mut().filter(|sender| sender.is_open());
        accounts.extend(others.map(|sender| FlowAccount::new(sender.flow.0, *sender.time_until(now))));
        for account in &mut accounts {
            if let Some(place) = self.find(FlowId(account.flow)) {
                let totals = &mut self.totals[place];
                account.hops = totals.hops(name);
                account.host = HostTime {
                    time: account.host.time,
                    ..totals.host
                };
            }
        }
        accounts.sort_by_key(|account| account.flow);
        accounts
    }
}

impl Core {
    /// A flow starts: so does its account.
    pub(crate) fn open_account(&mut self, world: &World, qp: &Qp, paths: Option<[&[PortId]; 2]>) {
        if let Some(sender) = self.watch.accounts.of(qp) {
            *sender = Sender::new(qp.flow, self.now);
            if let Some(paths) = paths {
                self.foresee_way(world, qp, paths);
            }
        }
    }

    /// Accounts for a sender's time until now. To be called before anything changes that says why it waits.
    pub(crate) fn settle(&mut self, qp: &Qp) {
        if qp.done {
            return;
        }
        if self.watch.closeups.on() {
            self.look_at_limits(qp);
        }
        let waited = self.settle_account(qp);
        if waited > 0 && self.watch.closeups.on() {
            self.look_at_nic(qp.flow, qp.port, Span::from_ps(waited));
        }
    }

    /// The same of a flow that is not complete and that nobody looks at closely. Returns for how long it has
    /// waited for its NIC.
    #[inline(never)]
    pub(crate) fn settle_account(&mut self, qp: &Qp) -> u64 {
        match self.watch.accounts.of(qp) {
            Some(sender) => sender.settle(qp, &self.ports[qp.port], self.now),
            None => 0,
        }
    }

    /// There was progress.
    #[inline(never)]
    pub(crate) fn account_progress(&mut self, qp: &Qp) {
        if let Some(sender) = self.watch.accounts.of(qp) {
            sender.stalled = Span::ZERO;
        }
    }

    /// A timeout ended a wait.
    pub(crate) fn account_timeout(&mut self, qp: &Qp) {
        if let Some(sender) = self.watch.accounts.of(qp) {
            sender.time_out();
        }
    }

    /// A data packet is about to leave its sender, whose state is still as before: its journal begins.
    #[inline(never)]
    pub(crate) fn account_send(&mut self, world: &World, qp: &Qp, id: PacketId) {
        if self.watch.closeups.on() {
            self.settle(qp);
        }
        let accounts = &mut self.watch.accounts;
        let Some(sender) = accounts.senders.get_mut(qp.account) else {
            return;
        };
        let (port, packet) = (&self.ports[qp.port], self.packets.get_mut(id));
        let is_quiet = packet.wire == sender.known_wire;
        packet.flags |= match is_quiet {
            true => Packet::ACCOUNTED,
            false => Packet::ACCOUNTED | Packet::TOLD,
        };
        match qp.snd_nxt < qp.bound {
            true => sender.settle_unblocked(qp, self.now),
            // What is sent again may be all that there was to send.
            false => sender.settle(qp, port, self.now),
        };
        let journal = accounts.journals.open(id);
        if let Some((head, steps)) = journal.read() {
            accounts.totals[head.place].add(head, steps);
        }
        journal.begin(qp.account, sender.time_until(self.now));
        (journal.head.start, journal.head.is_quiet) = (self.now, is_quiet);
        let profile = &world.profiles[port.profile];
        let again = packet.seq + u64::from(packet.payload) <= qp.max_sent;
        sender.send(self.now + profile.serialise(packet.wire).tx, again);
    }

    /// There have been pauses, and a packet joins a queue.
    #[cold]
    pub(crate) fn account_queued(&mut self, world: &World, port: PortId, id: PacketId) {
        if self.packets.get(id).is_accounted() {
            let paused = self.paused_so_far(world, port, id);
            self.watch.accounts.journals.head(id).paused_before = paused;
        }
    }

    /// There have been pauses, and a packet is about to leave the queue of a port.
    #[cold]
    pub(crate) fn account_pause(&mut self, world: &World, port: PortId, id: PacketId) {
        if !self.packets.get(id).is_accounted() {
            return;
        }
        let until_now = self.paused_so_far(world, port, id);
        let journals = &mut self.watch.accounts.journals;
        let paused = until_now - journals.head(id).paused_before;
        if paused > 0 {
            journals.push(id, Step::other(PAUSED, paused));
        }
    }

    /// For how long the class that holds back a packet at a port has been paused up to now.
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
                self.now - self.paused_since[slot]
            } else {
                0
            }
    }

    /// A data packet enters the receiver's host and will be there for `inside`.
    #[cold]
    pub(crate) fn account_host(&mut self, id: PacketId, inside: Span) {
        if self.packets.get(id).is_accounted() {
            let step = Step::other(INSIDE, inside.as_ps());
            self.watch.accounts.journals.push(id, step);
        }
    }

    /// The flow completed with acknowledgement `id`.
    #[cold]
    pub(crate) fn close_account(&mut self, world: &World, flow: FlowId, fct: Span, id: PacketId) {
        let Some(place) = self.watch.accounts.find(flow) else {
            return;
        };
        self.tell(id, Upto::Sender);
        let accounts = &mut self.watch.accounts;
        let Some((head, steps)) = accounts.journals.of(id) else {
            return;
        };
        let mut account = FlowAccount::new(flow.0, head.sender);
        account.completed = true;
        let ready = steps.first().map_or(0, |step| step.left);
        for_each_wait(steps, ready, |key, step, arrives, queueing, paused| {
            if key == INSIDE {
                account.host.time += Span::from_ps(step.left);
                return;
            }
            let (port, back) = port_of(key);
            let delay = world.profiles[self.ports[port].profile].delay;
            let hop = HopTime {
                port: name_of(&self.ports, &self.watch.recorder, port),
                serialisation: Span::from_ps(arrives - step.left - delay),
                propagation: Span::from_ps(delay),
                queueing: Span::from_ps(queueing),
                paused: Span::from_ps(paused),
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
        accounts.senders[place].is_complete = true;
        accounts.completed.push(account);
    }
}

/// A port as results name it.
fn name_of(ports: &Ports, recorder: &Recorder, port: PortId) -> PortRef {
    let p = &ports[port];
    PortRef {
        node: p.node,
        interface: recorder.interface(port),
        peer: ports[p.peer].node,
    }
}

#[cfg(test)]
mod tests;
