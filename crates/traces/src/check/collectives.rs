//! Collectives on which their members disagree.

use std::collections::BTreeMap;

use super::{Report, counted};
use crate::program::{Collective, OperationId, Program, Rank, Work};
use crate::walk::At;

/// Number of a rank's collectives in a group, and the sum of their hashes.
type Sum = (u64, u64);

fn hash(collective: &Collective) -> u64 {
    let mut x = collective.bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (collective.kind as u64) << 32
        ^ u64::from(collective.root);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Sums of collectives by group and rank.
#[derive(Debug, Default)]
pub(super) struct CollectiveSums(BTreeMap<(u32, Rank), Sum>);

impl CollectiveSums {
    /// Adds an operation; reports errors of the operation itself.
    pub(super) fn add(&mut self, program: &dyn Program, at: At, work: Work, report: &mut Report) {
        let (rank, number) = at;
        let Work::Collective(index) = work else {
            return;
        };
        let Some(collective) = program.collectives().get(index as usize) else {
            report.error(|| format!("{} is a collective that is not there", program.name(rank, number)));
            return;
        };
        let entry = self.0.entry((collective.group, rank)).or_default();
        // Only at a rank's first collective of the group, since each search is linear.
        let foreign = entry.0 == 0 && !group(program, collective.group).contains(&rank);
        entry.0 += 1;
        // A sum instead of a list keeps memory constant per member; `differ` reads the program again.
        entry.1 = entry.1.wrapping_add(hash(collective));
        if foreign {
            report.error(|| {
                format!(
                    "{}: rank {rank} is no member of its group",
                    program.name(rank, number)
                )
            });
        }
    }
}

/// Reports collectives on which members disagree.
pub(super) fn check(program: &dyn Program, seen: &CollectiveSums, report: &mut Report) {
    for (number, members) in (0u32..).zip(program.groups()) {
        let of = |rank: Rank| seen.0.get(&(number, rank)).copied().unwrap_or_default();
        let Some(first) = members.first().copied() else {
            continue;
        };
        if let Some(other) = members.iter().copied().find(|rank| of(*rank) != of(first)) {
            report.error(|| differ(program, number, first, other));
        }
    }
}

fn group(program: &dyn Program, number: u32) -> &[Rank] {
    program.groups().get(number as usize).map_or(&[], Vec::as_slice)
}

/// Returns the collectives of a rank in a group, in the order of their numbers.
fn of_rank(program: &dyn Program, group: u32, rank: Rank) -> impl Iterator<Item = (OperationId, Collective)> {
    (0..program.operations(rank)).filter_map(move |number| {
        let Work::Collective(index) = program.operation(rank, number).work else {
            return None;
        };
        let collective = *program.collectives().get(index as usize)?;
        (collective.group == group).then_some((number, collective))
    })
}

/// Describes the first collective on which two members disagree.
fn differ(program: &dyn Program, group: u32, one: Rank, other: Rank) -> String {
    let mut both = [of_rank(program, group, one), of_rank(program, group, other)];
    let mut count = 1;
    loop {
        let [a, b] = &mut both;
        let (a, b) = (a.next(), b.next());
        let what = |rank: Rank, found: Option<(OperationId, Collective)>| match found {
            None => format!("rank {rank} takes no part"),
            Some((number, c)) => {
                let root = match c.kind.has_root() {
                    true => format!(" and root {}", c.root),
                    false => String::new(),
                };
                format!(
                    "rank {rank} has {} of {}{root} ({})",
                    c.kind.name(),
                    counted(c.bytes, "byte"),
                    program.name(rank, number)
                )
            }
        };
        let same = matches!((&a, &b), (Some(a), Some(b)) if (a.1.kind, a.1.bytes, a.1.root) == (b.1.kind, b.1.bytes, b.1.root));
        if !same {
            return format!(
                "collective {count} of group {group} ({}): {}, {}",
                members(program, group),
                what(one, a),
                what(other, b)
            );
        }
        count += 1;
    }
}

/// Lists the members of a group for messages.
fn members(program: &dyn Program, number: u32) -> String {
    let all = self::group(program, number);
    let first: Vec<String> = all.iter().take(8).map(Rank::to_string).collect();
    let more = if all.len() > 8 { ", ..." } else { "" };
    format!("ranks {}{more}", first.join(", "))
}
