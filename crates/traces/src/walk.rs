//! Execution of a program with unlimited resources in network and ranks: determines which operations can complete,
//! and the earliest time for each.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::explain::Costs;
use crate::frontier::{Freed, Frontier, NumberMap};
use crate::program::{CollectiveKind, OperationId, Program, Rank, Work};
use crate::waiting::{ANY, Key, Waiting};

/// Operation of a rank.
pub(crate) type At = (Rank, OperationId);

/// Number of operations above which the last dependencies are not stored.
const REMEMBERED: u64 = 8 << 20;

/// Event at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Start of an operation, with its last dependency.
    Start(At, Option<At>),
    /// End of an operation.
    Done(At),
    /// Arrival of a send's message at a rank.
    Arrival {
        to: Rank,
        send: At,
        tag: u32,
        bytes: u64,
    },
}

/// Posted receive or arrived message.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    at: At,
    time: u64,
    /// Size of the message.
    bytes: u64,
}

/// Progress of the n-th collective of a group.
#[derive(Debug, Default)]
struct Meeting {
    members: Vec<At>,
    latest: u64,
}

/// Bit for each operation of each rank.
#[derive(Debug)]
pub(crate) struct Bits(Vec<Vec<u64>>);

impl Bits {
    fn new(program: &dyn Program) -> Self {
        Self(
            (0..program.ranks())
                .map(|rank| vec![0; program.operations(rank).div_ceil(64) as usize])
                .collect(),
        )
    }

    /// Sets a bit; returns false if it was set.
    fn set(&mut self, at: At) -> bool {
        let word = &mut self.0[at.0 as usize][at.1 as usize / 64];
        let bit = 1 << (at.1 % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    pub(crate) fn has(&self, at: At) -> bool {
        self.0[at.0 as usize][at.1 as usize / 64] >> (at.1 % 64) & 1 == 1
    }
}

/// Result of the execution.
#[derive(Debug)]
pub(crate) struct Walked {
    pub(crate) started: Bits,
    pub(crate) done: Bits,
    /// Number of operations that could not complete.
    pub(crate) remaining: u64,
    /// End of the last operation, in ns.
    pub(crate) end: u64,
    /// Operation that ended last.
    pub(crate) last: Option<At>,
    /// For each rank and operation, the predecessor that determined its end; the operation itself if there was none.
    /// Empty if there are too many operations.
    pub(crate) before: Vec<Vec<At>>,
}

/// Arrived messages and posted receives.
#[derive(Debug, Default)]
struct EndlessMatches {
    messages: NumberMap<Key, ()>,
    receives: NumberMap<Key, ()>,
    /// Receives of the program that expect more than the eager limit. In LogGOPS, one that takes a smaller message
    /// ends its send a second time, which counts as the end of another dependency.
    large: NumberMap<Key, ()>,
}

impl EndlessMatches {
    fn new(program: &dyn Program, eager: u64) -> Self {
        let mut seen = Self::default();
        for rank in 0..program.ranks() {
            for number in 0..program.operations(rank) {
                if let Work::Receive { from, bytes, tag } = program.operation(rank, number).work
                    && bytes > eager
                {
                    let key = Key::new(rank, from.unwrap_or(ANY), tag.unwrap_or(ANY));
                    seen.large.insert(key, ());
                }
            }
        }
        seen
    }

    /// Returns true if the send of a message may end twice.
    fn may_end_twice(&self, key: Key) -> bool {
        !self.large.is_empty() && fitting(key).iter().any(|other| self.large.contains_key(other))
    }
}

/// Returns the keys of receives that match a message.
fn fitting(key: Key) -> [Key; 4] {
    let with = |source, tag| Key { source, tag, ..key };
    [key, with(ANY, key.tag), with(key.source, ANY), with(ANY, ANY)]
}

/// Executes a program as far as possible.
pub(crate) fn walk(program: &dyn Program, costs: &Costs) -> Walked {
    carry_out(program, costs, None)
}

/// Executes a program as far as possible if a message satisfies all matching receives, and a receive all sends:
/// operations that do not complete then cannot complete in any order of events.
pub(crate) fn walk_freely(program: &dyn Program, costs: &Costs) -> Walked {
    carry_out(program, costs, Some(EndlessMatches::new(program, costs.eager)))
}

fn carry_out(program: &dyn Program, costs: &Costs, seen: Option<EndlessMatches>) -> Walked {
    let total: u64 = (0..program.ranks())
        .map(|rank| u64::from(program.operations(rank)))
        .sum();
    // Each operation is its own predecessor until another one frees it.
    let before = if total <= REMEMBERED {
        (0..program.ranks())
            .map(|rank| {
                (0..program.operations(rank))
                    .map(|number| (rank, number))
                    .collect()
            })
            .collect()
    } else {
        Vec::new()
    };
    let mut walk = Walk {
        program,
        costs,
        queue: BinaryHeap::new(),
        number: 0,
        frontier: Frontier::default(),
        freed: Vec::new(),
        posted: Waiting::default(),
        arrived: Waiting::default(),
        seen,
        meetings: NumberMap::default(),
        met: NumberMap::default(),
        result: Walked {
            started: Bits::new(program),
            done: Bits::new(program),
            remaining: total,
            end: 0,
            last: None,
            before,
        },
    };
    let mut roots = Vec::new();
    for rank in 0..program.ranks() {
        roots.clear();
        program.roots(rank, &mut roots);
        for number in roots.iter().copied() {
            walk.push(0, Event::Start((rank, number), None));
        }
    }
    while let Some(Reverse((time, _, event))) = walk.queue.pop() {
        walk.happen(time, event);
    }
    walk.result
}

struct Walk<'a> {
    program: &'a dyn Program,
    costs: &'a Costs,
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    number: u64,
    frontier: Frontier,
    freed: Vec<Freed>,
    posted: Waiting<Side>,
    arrived: Waiting<Side>,
    /// Messages and receives, in an execution that never uses them up.
    seen: Option<EndlessMatches>,
    /// Progress of collectives by group and number.
    meetings: NumberMap<(u32, u32), Meeting>,
    /// Number of collectives that each rank has started, by group.
    met: NumberMap<(u32, Rank), u32>,
    result: Walked,
}

impl Walk<'_> {
    fn push(&mut self, time: u64, event: Event) {
        self.queue.push(Reverse((time, self.number, event)));
        self.number += 1;
    }

    fn happen(&mut self, time: u64, event: Event) {
        match event {
            Event::Start(at, before) => self.start(time, at, before),
            Event::Done(at) => {
                // If a message satisfies all matching receives, operations may end more than once.
                if !self.result.done.set(at) {
                    return;
                }
                self.result.remaining -= 1;
                if self.result.last.is_none() || time > self.result.end {
                    self.result.end = time;
                    self.result.last = Some(at);
                }
                let mut freed = std::mem::take(&mut self.freed);
                self.frontier.done(self.program, at, time, &mut freed);
                if let Some(seen) = &self.seen
                    && let Work::Send { to, bytes, tag } = self.program.operation(at.0, at.1).work
                    && bytes <= self.costs.eager
                    && seen.may_end_twice(Key::new(to, at.0, tag))
                {
                    self.frontier.done_again(self.program, at, time, &mut freed);
                }
                self.enter(at.0, freed, None);
            }
            Event::Arrival { to, send, tag, bytes } => self.arrive(time, to, send, tag, bytes),
        }
    }

    /// Starts free operations at once. One freed by another's start inherits that start's last dependency.
    fn enter(
        &mut self,
        rank: Rank,
        mut freed: Vec<Freed>,
        start_waited_for: Option<(OperationId, Option<At>)>,
    ) {
        for one in freed.drain(..) {
            let mut before = one.last.map(|number| (rank, number));
            if let Some((_, its_before)) = start_waited_for.filter(|s| one.last == Some(s.0)) {
                before = its_before;
            }
            self.push(one.ready, Event::Start((rank, one.number), before));
        }
        self.freed = freed;
    }

    fn start(&mut self, time: u64, at: At, before: Option<At>) {
        if !self.result.started.set(at) {
            return;
        }
        self.remember(at, before);
        let (rank, number) = at;
        let mut freed = std::mem::take(&mut self.freed);
        self.frontier.started(self.program, at, time, &mut freed);
        self.enter(rank, freed, Some((number, before)));
        match self.program.operation(rank, number).work {
            Work::Nothing => self.push(time, Event::Done(at)),
            Work::Compute { ns } => self.push(time.saturating_add(ns), Event::Done(at)),
            Work::Send { to, bytes, tag } => {
                let left = time.saturating_add(self.costs.overhead);
                let network = if to == rank { 0 } else { self.costs.message(bytes) };
                if bytes <= self.costs.eager {
                    self.push(left, Event::Done(at));
                }
                self.push(
                    left.saturating_add(network),
                    Event::Arrival {
                        to,
                        send: at,
                        tag,
                        bytes,
                    },
                );
            }
            Work::Receive { from, tag, .. } => {
                let key = Key::new(rank, from.unwrap_or(ANY), tag.unwrap_or(ANY));
                let receive = Side { at, time, bytes: 0 };
                if self.seen.is_some() {
                    return self.post_freely(key, receive);
                }
                match self.arrived.take_for_receive(key) {
                    Some(message) => self.matched(message, receive),
                    None => self.posted.push(key, receive),
                }
            }
            Work::Collective(index) => self.meet(time, at, index),
        }
    }

    fn arrive(&mut self, time: u64, to: Rank, send: At, tag: u32, bytes: u64) {
        let key = Key::new(to, send.0, tag);
        let message = Side {
            at: send,
            time,
            bytes,
        };
        if self.seen.is_some() {
            return self.arrive_freely(key, message);
        }
        match self.posted.take_for_message(key) {
            Some(receive) => self.matched(message, receive),
            None => self.arrived.push(key, message),
        }
    }

    /// Posts a receive that satisfies all matching sends.
    fn post_freely(&mut self, key: Key, receive: Side) {
        let Some(seen) = &mut self.seen else { return };
        match seen.messages.contains_key(&key) {
            true => self.push(receive.time, Event::Done(receive.at)),
            false => self.posted.push(key, receive),
        }
        let Some(seen) = &mut self.seen else { return };
        if seen.receives.insert(key, ()).is_none() {
            while let Some(message) = self.arrived.take_for_receive(key) {
                self.push(receive.time, Event::Done(message.at));
            }
        }
    }

    /// Delivers a message that satisfies all matching receives.
    fn arrive_freely(&mut self, key: Key, message: Side) {
        let Some(seen) = &mut self.seen else { return };
        if seen.messages.insert(key, ()).is_none() {
            for other in fitting(key) {
                seen.messages.insert(other, ());
            }
            while let Some(receive) = self.posted.take_for_message(key) {
                self.push(message.time, Event::Done(receive.at));
            }
        }
        if message.bytes > self.costs.eager {
            let Some(seen) = &self.seen else { return };
            match fitting(key).iter().any(|other| seen.receives.contains_key(other)) {
                true => self.push(message.time, Event::Done(message.at)),
                false => self.arrived.push(key, message),
            }
        }
    }

    fn matched(&mut self, message: Side, receive: Side) {
        // The later one of the two is the last dependency of the other.
        if message.time > receive.time {
            self.remember(receive.at, Some(message.at));
        }
        let end = message.time.max(receive.time).saturating_add(self.costs.overhead);
        self.push(end, Event::Done(receive.at));
        if message.bytes > self.costs.eager {
            if receive.time > message.time {
                self.remember(message.at, Some(receive.at));
            }
            self.push(end, Event::Done(message.at));
        }
    }

    /// Lets a rank enter its next collective of a group; the last member releases all.
    fn meet(&mut self, time: u64, at: At, index: u32) {
        let Some(collective) = self.program.collectives().get(index as usize).copied() else {
            return;
        };
        let members = self
            .program
            .groups()
            .get(collective.group as usize)
            .map_or(0, Vec::len);
        // Members execute the collectives of a group in the same order, so the n-th of each is the same one.
        let number = self.met.entry((collective.group, at.0)).or_default();
        let key = (collective.group, *number);
        *number += 1;
        let meeting = self.meetings.entry(key).or_default();
        meeting.members.push(at);
        meeting.latest = meeting.latest.max(time);
        if meeting.members.len() < members {
            return;
        }
        let Some(meeting) = self.meetings.remove(&key) else {
            return;
        };
        let end = meeting.latest.saturating_add(self.costs.collective(
            collective.kind,
            collective.bytes,
            members as u64,
        ));
        for member in meeting.members {
            // The others complete because the last member has come.
            if member != at {
                self.remember(member, Some(at));
            }
            self.push(end, Event::Done(member));
        }
    }

    fn remember(&mut self, at: At, before: Option<At>) {
        if let Some(before) = before
            && let Some(rank) = self.result.before.get_mut(at.0 as usize)
        {
            rank[at.1 as usize] = before;
        }
    }
}

impl Costs {
    /// Returns the duration of a collective of n members without contention: by ring, or by trees if one rank is the
    /// root. A broadcast or reduce passes pieces on as they arrive.
    pub(crate) fn collective(&self, kind: CollectiveKind, bytes: u64, n: u64) -> u64 {
        if n < 2 || bytes == 0 && kind != CollectiveKind::Barrier {
            return 0;
        }
        let step = |bytes: u64| self.message(bytes).saturating_add(2 * self.overhead);
        let levels = u64::from(n.next_power_of_two().ilog2());
        match kind {
            CollectiveKind::AllReduce => (2 * (n - 1)).saturating_mul(step(bytes / n)),
            CollectiveKind::AllGather | CollectiveKind::ReduceScatter => {
                (n - 1).saturating_mul(step(bytes / n))
            }
            CollectiveKind::AllToAll => step((bytes / n).saturating_mul(n - 1)),
            CollectiveKind::Gather | CollectiveKind::Scatter => step(bytes.saturating_mul(n - 1)),
            CollectiveKind::Reduce | CollectiveKind::Broadcast => step(bytes),
            CollectiveKind::Barrier => levels.saturating_mul(step(1)),
        }
    }
}
