//! What is checked before anything runs: messages with one end only, collectives that members take part in unequally.

use std::collections::BTreeMap;

use super::brief::What;
use super::rank::{Interned, RankTrace};
use crate::program::{Collective, CollectiveKind, Rank};
use crate::trouble::{Caution, Trouble};

/// A send or receive: rank, place of the node, bytes.
type End = (Rank, u32, u64);

/// Sends and receives of the same source, destination and tag.
#[derive(Default)]
struct Pairs {
    sends: Vec<End>,
    receives: Vec<End>,
}

/// Each send needs a receive, and the other way round. Where sizes of a pair differ the sender's counts.
pub(super) fn messages(
    traces: &mut [RankTrace],
    names: &Interned,
    cautions: &mut Vec<Caution>,
) -> Result<(), Trouble> {
    let mut pairs: BTreeMap<(Rank, Rank, u32), Pairs> = BTreeMap::new();
    for (rank, trace) in (0..).zip(traces.iter()) {
        for (place, node) in (0..).zip(&trace.nodes) {
            match node.what {
                What::Send { to, bytes, tag } => {
                    let ends = pairs.entry((rank, to, tag)).or_default();
                    ends.sends.push((rank, place, bytes));
                }
                What::Receive { from, bytes, tag } => {
                    let ends = pairs.entry((from, rank, tag)).or_default();
                    ends.receives.push((rank, place, bytes));
                }
                _ => {}
            }
        }
    }
    let mut unequal = 0_u64;
    let mut first = None;
    for ((from, to, tag), pair) in pairs {
        let Pairs {
            mut sends,
            mut receives,
        } = pair;
        let counts = (sends.len(), receives.len());
        remove_equal(&mut sends, &mut receives);
        if counts.0 > counts.1 {
            let (rank, place, bytes) = sends[sends.len() - 1];
            return Err(Trouble::at(
                traces[rank as usize].place(names, place),
                format!(
                    "rank {rank} sends {bytes} B with tag {tag} that rank {to} never receives: it has {} such sends, rank {to} has {} receives",
                    counts.0, counts.1
                ),
            ));
        }
        if counts.1 > counts.0 {
            let (rank, place, bytes) = receives[receives.len() - 1];
            return Err(Trouble::at(
                traces[rank as usize].place(names, place),
                format!(
                    "rank {rank} receives {bytes} B with tag {tag} that rank {from} never sends: it has {} such receives, rank {from} has {} sends",
                    counts.1, counts.0
                ),
            ));
        }
        for (send, receive) in sends.into_iter().zip(receives) {
            unequal += 1;
            if first.is_none() {
                let send_place = traces[send.0 as usize].place(names, send.1);
                let receive_place = traces[receive.0 as usize].place(names, receive.1);
                first = Some(format!(
                    "{send_place} sends {} B, {receive_place} receives {} B",
                    send.2, receive.2
                ));
            }
            if let What::Receive { bytes, .. } =
                &mut traces[receive.0 as usize].nodes[receive.1 as usize].what
            {
                *bytes = send.2;
            }
        }
    }
    if let Some(first) = first {
        cautions.push(Caution {
            text: format!(
                "{unequal} receives differ in size from their sends, whose sizes count; the first: {first}."
            ),
        });
    }
    Ok(())
}

/// Takes out pairs of equal size; the rest keeps its order.
fn remove_equal(sends: &mut Vec<End>, receives: &mut Vec<End>) {
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for receive in receives.iter() {
        *sizes.entry(receive.2).or_default() += 1;
    }
    let mut taken: BTreeMap<u64, u64> = BTreeMap::new();
    sends.retain(|send| match sizes.get_mut(&send.2) {
        Some(left) if *left > 0 => {
            *left -= 1;
            *taken.entry(send.2).or_default() += 1;
            false
        }
        _ => true,
    });
    receives.retain(|receive| match taken.get_mut(&receive.2) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    });
}

/// All members of a group have the same collectives. Which meets which is decided by the order in which they start, so that
/// only their counts are compared.
pub(super) fn collectives(
    traces: &[RankTrace],
    names: &Interned,
    collectives: &[Vec<(u32, Collective)>],
    groups: &[Vec<Rank>],
) -> Result<(), Trouble> {
    for (group, members) in (0..).zip(groups) {
        let of = |rank: Rank| -> Vec<(u32, Collective)> {
            let all = collectives.get(rank as usize).into_iter().flatten();
            all.filter(|(_, c)| c.group == group).copied().collect()
        };
        let sorted = |list: &[(u32, Collective)]| {
            let mut keys: Vec<(CollectiveKind, u64, Rank)> =
                list.iter().map(|(_, c)| (c.kind, c.bytes, c.root)).collect();
            keys.sort_unstable();
            keys
        };
        let Some(&first) = members.first() else {
            continue;
        };
        let expected = of(first);
        let expected_keys = sorted(&expected);
        for &rank in &members[1..] {
            let mine = of(rank);
            if sorted(&mine) == expected_keys {
                continue;
            }
            let longest = expected.len().max(mine.len());
            let key = |c: Option<&(u32, Collective)>| c.map(|(_, c)| (c.kind, c.bytes, c.root));
            let number = (0..longest)
                .find(|&n| key(expected.get(n)) != key(mine.get(n)))
                .unwrap_or(0);
            let describe = |rank: Rank, c: Option<&(u32, Collective)>| match c {
                Some((place, c)) => format!(
                    "rank {rank} has {:?} of {} B ({})",
                    c.kind,
                    c.bytes,
                    traces[rank as usize].place(names, *place)
                ),
                None => format!("rank {rank} takes no part"),
            };
            let at = match (mine.get(number), expected.get(number)) {
                (Some((place, _)), _) => traces[rank as usize].place(names, *place),
                (None, Some((place, _))) => traces[first as usize].place(names, *place),
                (None, None) => traces[rank as usize].file.clone(),
            };
            return Err(Trouble::at(
                at,
                format!(
                    "members of a group differ in their collective number {number} of it: {}, {}",
                    describe(first, expected.get(number)),
                    describe(rank, mine.get(number))
                ),
            )
            .help(format!("The group has the ranks {}", some(members))));
        }
    }
    Ok(())
}

fn some(members: &[Rank]) -> String {
    let first: Vec<String> = members.iter().take(16).map(ToString::to_string).collect();
    let more = if members.len() > 16 { ", ..." } else { "" };
    format!("{}{more}", first.join(", "))
}
