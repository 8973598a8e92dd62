//! Messages of a program inside servers and between them, counted before it runs.

use paceline_kernel::sorted::SortedMap;

use crate::collective::{Algorithm, CollectiveRules, Plan};
use crate::program::{Collective, CollectiveKind, Program, Rank, Work};

/// Number of messages, and the sum of their payloads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of messages, at least one byte each.
    pub messages: u64,
    /// Sum of their payloads in bytes.
    pub bytes: u64,
}

/// Messages of an iteration inside servers and between them. Requests of sends that wait for their receive are not
/// counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// Messages between ranks of one server.
    pub inside: Count,
    /// Messages between ranks of different servers.
    pub between: Count,
}

impl Count {
    fn add(&mut self, messages: u64, bytes: u64) {
        self.messages = self.messages.saturating_add(messages);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

impl Inside {
    /// Adds the same messages again, this many times.
    fn add(&mut self, other: &Self, times: u64) {
        for (sum, one) in [
            (&mut self.inside, other.inside),
            (&mut self.between, other.between),
        ] {
            sum.add(
                one.messages.saturating_mul(times),
                one.bytes.saturating_mul(times),
            );
        }
    }

    fn message(&mut self, is_inside: bool, bytes: u64) {
        let sum = if is_inside {
            &mut self.inside
        } else {
            &mut self.between
        };
        sum.add(1, bytes);
    }
}

/// Counts the messages of an iteration; `server` returns the number of a rank's server.
pub fn count(program: &dyn Program, rules: &CollectiveRules, server: &dyn Fn(Rank) -> u32) -> Inside {
    let mut all = Inside::default();
    // All members take part in a collective, so the first stands for them.
    let mut collectives: SortedMap<u32, u64> = SortedMap::new();
    for rank in 0..program.ranks() {
        for number in 0..program.operations(rank) {
            match program.operation(rank, number).work {
                Work::Send { to, bytes, .. } => all.message(server(rank) == server(to), bytes),
                Work::Collective(index) if is_first(program, rank, index) => {
                    *collectives.entry(index).or_default() += 1;
                }
                _ => {}
            }
        }
    }
    // Traces list each collective by itself, and most are the same again.
    let mut known: SortedMap<(u32, CollectiveKind, u64, Rank, Option<u32>), Inside> = SortedMap::new();
    for (index, times) in collectives {
        let of = program.collectives()[index as usize];
        let uneven = program.uneven(index).map(|_| index);
        let key = (of.group, of.kind, of.bytes, of.root, uneven);
        let messages = known
            .entry(key)
            .or_insert_with(|| collective(program, (index, &of), rules, server));
        all.add(messages, times);
    }
    all
}

fn is_first(program: &dyn Program, rank: Rank, index: u32) -> bool {
    let collective = program.collectives().get(index as usize);
    let group = collective.and_then(|one| program.groups().get(one.group as usize));
    group.is_some_and(|members| members.first() == Some(&rank))
}

/// Counts the messages of a collective.
fn collective(
    program: &dyn Program,
    (index, of): (u32, &Collective),
    rules: &CollectiveRules,
    server: &dyn Fn(Rank) -> u32,
) -> Inside {
    let mut all = Inside::default();
    let members = &program.groups()[of.group as usize];
    let is_empty = of.bytes == 0 && of.kind != CollectiveKind::Barrier;
    if members.len() < 2 || is_empty {
        return all;
    }
    let root = members.iter().position(|&rank| rank == of.root).unwrap_or(0);
    let size = members.len() as u32;
    let plan = Plan::new(rules, of, size, rules.channels(members), root as u32);
    let plan = plan.with_shares(program.uneven(index));
    let at = |member: u32| server(members[member as usize]);
    let mut chunk = Inside::default();
    if let Algorithm::Custom(inner) = rules.algorithm(of.kind) {
        chunk = count(&**inner, rules, &at);
    } else {
        for member in 0..size {
            for channel in 0..plan.channels {
                for stage in 0..plan.stages(member, channel) as u32 {
                    for k in 0..plan.stage(member, channel, stage).sends {
                        let step = plan.step(member, channel, stage, k);
                        chunk.message(at(member) == at(step.to), step.bytes);
                    }
                }
            }
        }
    }
    all.add(&chunk, plan.chunks);
    all
}
