//! Agreement of message sizes. A receive only takes messages of its own size: with another size than its send's it
//! would wait forever.

use std::collections::BTreeMap;

use super::brief::NodeWork;
use super::rank::{Interned, RankTrace};
use crate::program::Rank;
use crate::trouble::Caution;

/// End of a message: rank, index of the node, bytes.
type End = (Rank, u32, u64);

/// Sends and receives of the same source, destination and tag.
#[derive(Default)]
struct Pairs {
    sends: Vec<End>,
    receives: Vec<End>,
}

/// Sets the size of each receive to that of its send. [`crate::check`] reports ends without a counterpart.
pub(super) fn equalize(traces: &mut [RankTrace], names: &Interned, cautions: &mut Vec<Caution>) {
    // Sorted, so that the caution names the same pair in every run.
    let mut pairs: BTreeMap<(Rank, Rank, u32), Pairs> = BTreeMap::new();
    for (rank, trace) in (0..).zip(traces.iter()) {
        for (index, node) in (0..).zip(&trace.nodes) {
            match node.what {
                NodeWork::Send { to, bytes, tag } => {
                    let ends = pairs.entry((rank, to, tag)).or_default();
                    ends.sends.push((rank, index, bytes));
                }
                NodeWork::Receive { from, bytes, tag } => {
                    let ends = pairs.entry((from, rank, tag)).or_default();
                    ends.receives.push((rank, index, bytes));
                }
                _ => {}
            }
        }
    }
    let mut unequal = 0_u64;
    let mut first = None;
    for Pairs {
        mut sends,
        mut receives,
    } in pairs.into_values()
    {
        // Messages of equal size match anyway; the others do in the order of their nodes.
        remove_equal(&mut sends, &mut receives);
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
            // The send keeps its size, since its bytes are those that cross the network.
            if let NodeWork::Receive { bytes, .. } =
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
}

/// Removes pairs of equal size; the rest keeps its order.
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
