//! Accounts of flows' time: an exact decomposition of the completion time.
//!
//! The acknowledgement that completes a flow answers one data packet. From the flow's start to the start of that
//! packet's transmission, the time is the sender's ([`SenderTime`]). After that it is the packet's, hop by hop, and
//! then its acknowledgement's ([`HopTime`]). These are consecutive, so they sum to the completion time to the
//! picosecond.
//!
//! If a sender waits for several reasons at the same time, one counts: limits of the flow's scheme (the window, then
//! pacing) before influences of others (a pause, then a busy NIC). So "paused" is the time for which a pause held back
//! data that the scheme would have sent.
//!
//! [`SenderTime`]: paceline_run::outcome::account::SenderTime
//! [`HopTime`]: paceline_run::outcome::account::HopTime

use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

use crate::ids::{AccountId, FlowId, PacketId, PortId};
use hop_log::{HopLogs, key_of};
use paceline_kernel::ids::{Id, List, SparseGrid};
use paceline_run::outcome::account::{FlowAccount, HostTime, SenderTime};
use paceline_run::outcome::{PacketKind, PortRef};
use paceline_run::spec::{Accounted, RunSpec};
use sender::Sender;
use totals::Totals;

mod hooks;
mod hop_log;
mod paths;
mod sender;
mod totals;

pub(crate) use hop_log::{Head, Step};
pub(crate) use paths::Way;

/// Accounts of a run. What is serialised is what the results of a part need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Accounts {
    /// Index of each flow's account; empty without accounts.
    #[serde(skip)]
    position: List<FlowId, AccountId>,
    /// Senders of flows, and behind them those of connections, which are not shown: their time is that of their
    /// messages.
    senders: List<AccountId, Sender>,
    totals: List<AccountId, Totals>,
    /// Number of the flows' accounts.
    #[serde(skip)]
    of_flows: usize,
    /// Accounts of connections, by number; `AccountId::NONE` if none of their messages has an account.
    #[serde(skip)]
    of_connections: Vec<AccountId>,
    /// Accounts of completed flows, except for the totals of all their packets.
    completed: Vec<FlowAccount>,
    #[serde(skip)]
    hop_logs: HopLogs,
    /// Total time for which each (port, class) was paused, without pauses that still last; empty without accounts.
    #[serde(skip)]
    paused: SparseGrid<PortId>,
    /// True once there has been a pause.
    #[serde(skip)]
    pauses: bool,
    /// True if the paths of flows are known beforehand: see [`paths`].
    #[serde(skip)]
    fixed_ways: bool,
    /// Paths that other parts do not know yet, each with the part that needs it.
    #[serde(skip)]
    ways_out: Vec<(u8, Way)>,
}

impl Accounts {
    pub(super) fn new(spec: &RunSpec, (ports, classes): (usize, usize), packets: usize) -> Self {
        let (asked, flow_probes, flows) =
            (&spec.record.accounts, &spec.record.flow_probes, spec.flow_count());
        let named: &[u32] = match asked {
            Accounted::Flows(list) => list,
            Accounted::None | Accounted::All => &[],
        };
        // As long as the highest account: a run of many flows may have few.
        let named = named.iter().chain(flow_probes).map(|&flow| flow as usize + 1);
        let positions = match asked {
            Accounted::All => flows,
            _ => named.max().unwrap_or(0).min(spec.flow_ids()),
        };
        let mut position: List<FlowId, AccountId> = List::of(positions, AccountId::NONE);
        let mut count = 0;
        let mut add = |flow: u32| {
            if let Some(position) = position.get_mut(FlowId(flow))
                && *position == AccountId::NONE
            {
                *position = AccountId::new(count);
                count += 1;
            }
        };
        match asked {
            Accounted::None => {}
            Accounted::All => (0..flows as u32).for_each(&mut add),
            Accounted::Flows(list) => list.iter().copied().for_each(&mut add),
        }
        flow_probes.iter().copied().for_each(&mut add);
        let on = count > 0;
        let of_flows = count;
        let of_connections = connections_of(spec, &position, &mut count);
        Self {
            of_flows,
            of_connections,
            position: if on { position } else { List::new() },
            senders: List::of(count, Sender::NOT_STARTED),
            totals: List::of(count, Totals::default()),
            completed: Vec::new(),
            hop_logs: HopLogs::new(if on { packets } else { 0 }),
            paused: SparseGrid::new(if on { ports } else { 0 }, classes),
            pauses: false,
            fixed_ways: paths::are_fixed(spec),
            ways_out: Vec::new(),
        }
    }

    pub(crate) fn on(&self) -> bool {
        !self.position.is_empty()
    }

    /// Returns true if packets have to note when they join a queue: there have been pauses.
    #[inline]
    pub(crate) fn awaits_pauses(&self) -> bool {
        self.pauses
    }

    /// Returns the account of a queue pair that starts with a flow; for a connection, the connection's own.
    pub(crate) fn of_sender(&self, flow: FlowId, connection: Option<NonZeroU32>) -> AccountId {
        let Some(number) = connection else {
            return self.find(flow).unwrap_or(AccountId::NONE);
        };
        let position = self.of_connections.get(number.get() as usize - 1);
        position.copied().unwrap_or(AccountId::NONE)
    }

    fn find(&self, flow: FlowId) -> Option<AccountId> {
        let position = *self.position.get(flow)?;
        (position != AccountId::NONE).then_some(position)
    }

    /// Notes that a pause starts.
    pub(crate) fn pause_begins(&mut self) {
        self.pauses = self.on();
    }

    /// Notes that a pause of `slot` (port and class) has ended after `span` ps.
    pub(crate) fn pause_ended(&mut self, slot: (PortId, u8), span: u64) {
        if let Some(sum) = self.paused.get_mut(slot) {
            *sum += span;
        }
    }

    /// Logs a hop: a packet goes on the wire of a port at `left`, and will be at the other end at `arrives`.
    #[inline(never)]
    pub(crate) fn step(&mut self, packet: PacketId, port: PortId, kind: PacketKind, left: u64, arrives: u64) {
        let key = key_of(port, kind == PacketKind::Data);
        self.hop_logs.get_mut(packet).leave(key, left, arrives);
    }

    /// Adds the log of the packet that had this slot to its flow's totals, unless that was done.
    #[inline]
    fn add_up(&mut self, packet: PacketId) {
        if let Some((head, steps)) = self.hop_logs.of(packet) {
            self.totals[head.position].add(head, steps);
            self.hop_logs.forget(packet);
        }
    }

    /// Adds up the logs of all packets.
    pub(crate) fn add_up_all(&mut self) {
        self.hop_logs.packets().for_each(|packet| self.add_up(packet));
    }

    /// Removes the log of a packet that goes to another part of the network. Its steps, as many as its head states, are
    /// appended to `steps`.
    pub(crate) fn take(&mut self, packet: PacketId, steps: &mut Vec<Step>) -> Option<Head> {
        let (&head, found) = self.hop_logs.of(packet)?;
        steps.extend_from_slice(found);
        self.hop_logs.forget(packet);
        Some(head)
    }

    /// Stores the log of a packet that came from another part of the network and is in slot `packet` here.
    pub(crate) fn put(&mut self, packet: PacketId, head: &Head, steps: &[Step]) {
        self.add_up(packet);
        let hop_log = self.hop_logs.open(packet);
        hop_log.begin(head.position, &head.sender);
        (hop_log.head.start, hop_log.head.is_quiet) = (head.start, head.is_quiet);
        for &step in steps {
            self.hop_logs.push(packet, step);
        }
    }

    /// Returns the time of an account until now; for a message, that of its connection since it was posted.
    fn time_until(&mut self, position: AccountId, now: u64) -> SenderTime {
        let Sender {
            within, time: before, ..
        } = self.senders[position];
        match self.senders.get(within) {
            Some(connection) => connection.time_at(now).since(&before),
            None => *self.senders[position].time_until(now),
        }
    }

    /// Merges the accounts of another part of the same run. Each flow's sender is in one of them, and its packets were
    /// added up where they ended.
    pub(crate) fn merge(&mut self, mut other: Self) {
        self.add_up_all();
        other.add_up_all();
        for (mine, theirs) in self.senders.iter_mut().zip(other.senders) {
            // The flow's sender is in one part, and the other's entry is empty.
            if !mine.has_started() {
                *mine = theirs;
            }
        }
        self.completed.append(&mut other.completed);
        for (mine, theirs) in self.totals.iter_mut().zip(other.totals) {
            mine.merge(theirs);
        }
    }

    /// Returns all accounts at the end of the run, in the order of the flows.
    pub(crate) fn close(mut self, now: u64, name: &dyn Fn(PortId) -> PortRef) -> Vec<FlowAccount> {
        self.add_up_all();
        let mut accounts = std::mem::take(&mut self.completed);
        for position in self.senders.ids().take(self.of_flows) {
            if self.senders[position].is_open() {
                let (flow, time) = (self.senders[position].flow, self.time_until(position, now));
                accounts.push(FlowAccount::new(flow.0, time));
            }
        }
        for account in &mut accounts {
            if let Some(position) = self.find(FlowId(account.flow)) {
                let totals = &mut self.totals[position];
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

/// Returns the accounts of connections that carry a flow with an account.
fn connections_of(spec: &RunSpec, position: &List<FlowId, AccountId>, count: &mut usize) -> Vec<AccountId> {
    let mut accounts = Vec::new();
    for (&position, flow) in position.iter().zip(&spec.flows) {
        let Some(number) = flow.connection.filter(|_| position != AccountId::NONE) else {
            continue;
        };
        let index = number.get() as usize - 1;
        accounts.resize(accounts.len().max(index + 1), AccountId::NONE);
        if accounts[index] == AccountId::NONE {
            accounts[index] = AccountId::new(*count);
            *count += 1;
        }
    }
    accounts
}

#[cfg(test)]
mod tests;
