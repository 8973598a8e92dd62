//! Blame: at each port, the time for which packets of each party (a label or a host) wait for those of others.
//!
//! The definition is that of [`paceline_run::outcome::blame`]. A packet's wait is accounted as it passes, not when it
//! ends. Packets of a party that wait at a port are a *group*. Between two events at the port (a packet joins or
//! leaves, a pause starts or ends), one cause holds back the whole group: a pause, or the packet on the wire. So an
//! interval is charged once per group, its length times the packets that wait, and packets store nothing but their
//! position. Sums of products of integers need no rounding. A pause's time is divided among several causes when the
//! pause is closed, by cumulative shares, which add up to the whole.
//!
//! Two kinds of packets in a group wait for the same transmission for other reasons: those that arrived after it had
//! started ([`Why::InProgress`]), and those of the flow that is transmitted ([`Why::Own`]). Groups count the first
//! (`fresh`), and a list per flow counts the second.
//!
//! Nothing is allocated per packet once each party has met each other at a port, except for the origins of pauses.

use crate::ids::{FlowId, PacketId, PortId};
use crate::world::classes::STRICT;
use paceline_kernel::ids::{Id, List};
use paceline_run::outcome::PortRef;
use paceline_run::outcome::blame::{Waited, Waiting, Why};
use paceline_run::spec::Blame;
use std::collections::BTreeMap;

mod hooks;

/// A label or a host; `None` if unknown.
type Party = Option<u32>;

/// Parties that a pause comes from, with their bytes.
type Origins = Vec<(Party, u64)>;

/// Times that a port charges to one cause, in ps: [`Why::Own`], [`Why::InProgress`], [`Why::Queue`], [`Why::Paused`].
type Charges = [u64; 4];

/// Packets of one party that wait at a port and that the same pause would hold back.
#[derive(Clone, Debug)]
struct Group {
    victim: u32,
    packets: Waiting,
    /// Class whose pauses hold the packets back.
    held_by: u8,
    waiting: u64,
    /// Packets that arrived after the start of the port's last transmission, if that is transmission `number`.
    fresh: u64,
    number: u64,
    /// Times by index of the cause in [`AtPort::causes`].
    charges: Vec<Charges>,
    /// Time of pauses, in ps, not yet divided among causes.
    paused: u64,
    idle: u64,
}

/// Accounts of a port.
#[derive(Clone, Debug, Default)]
struct AtPort {
    /// Time up to which everything is charged, in ps.
    until: u64,
    /// Number of packets that wait.
    waiting: u64,
    /// Number of transmissions so far.
    number: u64,
    /// Flow of the last transmission, and the index of its party.
    flow: Option<FlowId>,
    cause: usize,
    /// Parties that packets have waited for at the port.
    causes: Vec<Party>,
    groups: Vec<Group>,
}

/// Packets of a flow in a queue.
#[derive(Clone, Copy, Debug)]
struct Own {
    port: PortId,
    group: u32,
    waiting: u64,
    fresh: u64,
    number: u64,
}

/// Queue in which a packet waits.
#[derive(Clone, Copy, Debug)]
struct QueuedPacket {
    /// `PortId::NONE` if the packet does not wait.
    port: PortId,
    group: u32,
    flow: FlowId,
    /// Number of the port's last transmission when the packet joined.
    number: u64,
}

impl QueuedPacket {
    const NOWHERE: Self = Self {
        port: PortId::NONE,
        group: 0,
        flow: FlowId::NONE,
        number: 0,
    };
}

/// Accounts of all ports: who makes whom wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blames {
    of: Blame,
    ports: List<PortId, AtPort>,
    indices: List<PacketId, QueuedPacket>,
    /// Queues in which packets of each flow wait.
    flows: List<FlowId, Vec<Own>>,
    /// Origins of the last pause that was requested, by the (port, class) that it holds back.
    asked: BTreeMap<(PortId, u8), Origins>,
    /// Origins of the pause in force, or of the last one.
    lasting: BTreeMap<(PortId, u8), Origins>,
}

/// State of a port: its number, the end of its transmission, its paused classes.
#[derive(Clone, Copy)]
struct Now {
    port: PortId,
    at: u64,
    free_at: u64,
    paused: u16,
}

impl Blames {
    pub(super) fn new(of: Blame, ports: usize) -> Self {
        Self {
            of,
            ports: (0..ports).map(|_| AtPort::default()).collect(),
            ..Self::default()
        }
    }

    /// Charges the time since the last change at a port, before the next.
    fn advance(&mut self, now: Now) {
        let at = &mut self.ports[now.port];
        let from = std::mem::replace(&mut at.until, now.at);
        if at.waiting == 0 || from == now.at {
            return;
        }
        let sent_until = match at.number {
            0 => from,
            _ => now.free_at.clamp(from, now.at),
        };
        let (all, busy) = (now.at - from, sent_until - from);
        // All packets of a group wait for the same thing, so one product charges them all.
        for group in at.groups.iter_mut().filter(|group| group.waiting > 0) {
            group.pass(at.number, at.cause, (all, busy), now.paused);
        }
        // Charged as for other flows above: for packets of the flow on the wire, the charge is moved.
        let own = at.flow.and_then(|flow| self.flows.get(flow));
        for own in own.into_iter().flatten().filter(|own| own.port == now.port) {
            let group = &mut at.groups[own.group as usize];
            if busy > 0 && !group.is_held(now.paused) {
                group.take_over(own, at.number, at.cause, busy);
            }
        }
    }

    /// Adds a packet of a flow to a queue.
    fn join(&mut self, now: Now, id: PacketId, flow: FlowId, (victim, packets, held_by): (u32, Waiting, u8)) {
        self.advance(now);
        let at = &mut self.ports[now.port];
        let (number, group) = (at.number, at.group(victim, packets, held_by));
        at.waiting += 1;
        at.groups[group].join(number);
        self.flows.reach(flow, Vec::new);
        let list = &mut self.flows[flow];
        let group = group as u32;
        let known = list
            .iter_mut()
            .find(|own| (own.port, own.group) == (now.port, group));
        match known {
            Some(own) => own.join(number),
            None => list.push(Own {
                port: now.port,
                group,
                waiting: 1,
                fresh: 1,
                number,
            }),
        }
        self.indices.reach(id, || QueuedPacket::NOWHERE);
        self.indices[id] = QueuedPacket {
            port: now.port,
            group,
            flow,
            number,
        };
    }

    /// Removes a packet from the queue of a port, if it is in it.
    fn leave(&mut self, now: Now, id: PacketId) {
        self.advance(now);
        let Some(index) = self.indices.get_mut(id).filter(|index| index.port == now.port) else {
            return;
        };
        let index = std::mem::replace(index, QueuedPacket::NOWHERE);
        let at = &mut self.ports[now.port];
        at.waiting -= 1;
        // Fresh packets are those that arrived during the transmission in progress.
        let is_fresh = index.number == at.number;
        at.groups[index.group as usize].leave(is_fresh);
        let list = &mut self.flows[index.flow];
        let known = list
            .iter()
            .position(|own| (own.port, own.group) == (index.port, index.group));
        if let Some(known) = known {
            list[known].waiting -= 1;
            list[known].fresh -= u64::from(is_fresh);
            // Removed, so that a flow's list is no longer than the queues that it is in.
            if list[known].waiting == 0 {
                list.swap_remove(known);
            }
        }
    }

    /// Notes a packet on the wire of a port: its flow, or link control.
    fn transmit(&mut self, port: PortId, flow: Option<FlowId>, party: Party) {
        let at = &mut self.ports[port];
        at.number += 1;
        at.flow = flow;
        at.cause = at.index(party);
    }

    /// Notes that a port asks its peer, `held`, to pause a class.
    fn ask(&mut self, held: (PortId, u8), origins: Origins) {
        self.asked.insert(held, origins);
    }

    /// Notes that a pause takes effect at a port. The time of earlier pauses is divided among their causes first, since
    /// they may have been others.
    fn pause(&mut self, held: (PortId, u8)) {
        self.divide(held);
        let origins = self.asked.get(&held).cloned().unwrap_or_default();
        self.lasting.insert(held, origins);
    }

    /// Divides the time of pauses among the parties that they came from.
    fn divide(&mut self, held: (PortId, u8)) {
        let none = Vec::new();
        let origins = self.lasting.get(&held).unwrap_or(&none);
        let at = &mut self.ports[held.0];
        for index in 0..at.groups.len() {
            if at.groups[index].held_by != held.1 || at.groups[index].paused == 0 {
                continue;
            }
            let time = std::mem::take(&mut at.groups[index].paused);
            for (party, share) in shares(time, origins) {
                let cause = at.index(party);
                at.groups[index].charge(cause)[Why::Paused as usize] += share;
            }
        }
    }

    /// Returns all waits, in the order of ports, victims, packets, causes and reasons.
    fn rows(&mut self, name: &dyn Fn(PortId) -> PortRef, labels: &[String]) -> Vec<Waited> {
        let held: Vec<(PortId, u8)> = self
            .ports
            .numbered()
            .flat_map(|(port, at)| at.groups.iter().map(move |group| (port, group.held_by)))
            .collect();
        // Pauses in force have not been divided yet.
        held.into_iter().for_each(|held| self.divide(held));
        let mut sums: BTreeMap<(PortId, u32, Waiting, Party, Why), u64> = BTreeMap::new();
        for (port, at) in self.ports.numbered() {
            for group in &at.groups {
                let mut add = |cause, why, time| {
                    if time > 0 {
                        *sums
                            .entry((port, group.victim, group.packets, cause, why))
                            .or_default() += time;
                    }
                };
                for (&cause, charges) in at.causes.iter().zip(&group.charges) {
                    for (why, &time) in Why::ALL.into_iter().zip(charges) {
                        add(cause, why, time);
                    }
                }
                add(None, Why::Idle, group.idle);
            }
        }
        let party = |party: u32| match self.of {
            Blame::Hosts => format!("host {party}"),
            Blame::Off | Blame::Labels => labels.get(party as usize).cloned().unwrap_or_default(),
        };
        let waited = |((port, victim, packets, cause, why), waited_ps): ((_, _, _, Party, _), _)| Waited {
            victim: party(victim),
            packets,
            cause: cause.map(party).unwrap_or_default(),
            port: name(port),
            why,
            waited_ps,
        };
        sums.into_iter().map(waited).collect()
    }
}

impl AtPort {
    /// Returns the index of a cause.
    fn index(&mut self, party: Party) -> usize {
        match self.causes.iter().position(|&known| known == party) {
            Some(index) => index,
            None => {
                self.causes.push(party);
                self.causes.len() - 1
            }
        }
    }

    /// Returns the index of a group.
    fn group(&mut self, victim: u32, packets: Waiting, held_by: u8) -> usize {
        let is_it = |of: &Group| (of.victim, of.packets, of.held_by) == (victim, packets, held_by);
        if let Some(index) = self.groups.iter().position(is_it) {
            return index;
        }
        self.groups.push(Group {
            victim,
            packets,
            held_by,
            waiting: 0,
            fresh: 0,
            number: 0,
            charges: Vec::new(),
            paused: 0,
            idle: 0,
        });
        self.groups.len() - 1
    }
}

impl Group {
    fn is_held(&self, paused: u16) -> bool {
        self.held_by > STRICT && paused & 1 << self.held_by != 0
    }

    fn charge(&mut self, cause: usize) -> &mut Charges {
        if self.charges.len() <= cause {
            self.charges.resize(cause + 1, [0; 4]);
        }
        &mut self.charges[cause]
    }

    /// Charges an interval, in whose first part the port transmitted. All transmissions count as another flow's here.
    fn pass(&mut self, number: u64, cause: usize, (all, busy): (u64, u64), paused: u16) {
        if self.is_held(paused) {
            self.paused += self.waiting * all;
            return;
        }
        self.idle += self.waiting * (all - busy);
        if busy > 0 {
            let fresh = if self.number == number { self.fresh } else { 0 };
            let waiting = self.waiting;
            let charges = self.charge(cause);
            charges[Why::InProgress as usize] += fresh * busy;
            charges[Why::Queue as usize] += (waiting - fresh) * busy;
        }
    }

    /// Moves the charges of the packets whose own flow was transmitted in the interval.
    fn take_over(&mut self, own: &Own, number: u64, cause: usize, busy: u64) {
        let fresh = if own.number == number { own.fresh } else { 0 };
        let charges = self.charge(cause);
        charges[Why::InProgress as usize] -= fresh * busy;
        charges[Why::Queue as usize] -= (own.waiting - fresh) * busy;
        charges[Why::Own as usize] += own.waiting * busy;
    }

    fn join(&mut self, number: u64) {
        count_fresh(&mut self.fresh, &mut self.number, number);
        self.waiting += 1;
    }

    fn leave(&mut self, is_fresh: bool) {
        self.waiting -= 1;
        self.fresh -= u64::from(is_fresh);
    }
}

impl Own {
    fn join(&mut self, number: u64) {
        count_fresh(&mut self.fresh, &mut self.number, number);
        self.waiting += 1;
    }
}

/// Counts a packet that has arrived since transmission `number` started.
fn count_fresh(fresh: &mut u64, known: &mut u64, number: u64) {
    if *known != number {
        (*fresh, *known) = (0, number);
    }
    *fresh += 1;
}

/// Divides `time` in proportion to bytes, into shares that add up to it. Without bytes, all of it belongs to nobody.
fn shares(time: u64, origins: &[(Party, u64)]) -> Vec<(Party, u64)> {
    let all: u128 = origins.iter().map(|&(_, bytes)| u128::from(bytes)).sum();
    if all == 0 {
        return vec![(None, time)];
    }
    let (mut bytes_so_far, mut time_so_far) = (0u128, 0u64);
    let share = |&(party, bytes): &(Party, u64)| {
        bytes_so_far += u128::from(bytes);
        // Cumulative, so that rounding loses nothing in the sum.
        let upto = (u128::from(time) * bytes_so_far / all) as u64;
        let share = upto - std::mem::replace(&mut time_so_far, upto);
        (party, share)
    };
    origins.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let origins = [(Some(0), 1), (Some(3), 1), (None, 1)];
        assert_eq!(shares(10, &origins), [(Some(0), 3), (Some(3), 3), (None, 4)]);
        assert_eq!(shares(10, &[]), [(None, 10)]);
        for time in [0, 1, 7, u64::MAX / 3] {
            let origins = [(Some(1), 1048), (Some(2), 17), (Some(5), 999_999)];
            let sum: u64 = shares(time, &origins).iter().map(|&(_, share)| share).sum();
            assert_eq!(sum, time);
        }
    }
}
