//! All-reduce by trees: up to the root, and down again.

use super::graph::{Graph, Part, Wait};

/// Tree of a channel, with its chunks.
pub(super) struct Tree {
    /// Parent of each rank; `None` for the root.
    pub(super) parents: Vec<Option<u32>>,
    pub(super) channel: u32,
    pub(super) chunks: Vec<u64>,
}

/// Returns the ranks from the root downwards.
fn downwards(parents: &[Option<u32>]) -> Vec<u32> {
    let depth = |rank: u32| {
        let up = |&rank: &u32| parents[rank as usize];
        std::iter::successors(Some(rank), up).count()
    };
    let mut ranks: Vec<u32> = (0..parents.len() as u32).collect();
    ranks.sort_by_key(|&rank| depth(rank));
    ranks
}

/// Returns the messages of trees. A rank sends a chunk up when its children's have arrived, and down when it has
/// received the sum, or is the root. A rank has at most `slots` chunks of a tree in progress.
pub(super) fn graph(ranks: u32, trees: &[Tree], slots: usize) -> Graph {
    let mut graph = Graph::new(ranks);
    for tree in trees {
        let order = downwards(&tree.parents);
        let mut children = vec![Vec::new(); ranks as usize];
        for &rank in &order {
            if let Some(parent) = tree.parents[rank as usize] {
                children[parent as usize].push(rank);
            }
        }
        let mut ends: Vec<Vec<Wait>> = Vec::with_capacity(tree.chunks.len());
        for &bytes in &tree.chunks {
            // A chunk takes over the slot of an earlier one, and waits until that has ended.
            let free = ends.len().checked_sub(slots).map(|chunk| ends[chunk].clone());
            let free = |rank: u32| free.as_ref().map(|free| free[rank as usize]);
            let part = |from: u32, to: u32, enters: bool| Part {
                from,
                to,
                bytes,
                channel: tree.channel,
                enters,
            };
            let mut up = vec![0; ranks as usize];
            // From the leaves upwards, since messages wait for those of the children.
            for &rank in order.iter().rev() {
                let Some(parent) = tree.parents[rank as usize] else {
                    continue;
                };
                let below = children[rank as usize].iter();
                let below = below.map(|&child| Wait::received(up[child as usize]));
                let waits: Vec<Wait> = below.chain(free(rank)).collect();
                up[rank as usize] = graph.push(part(rank, parent, free(rank).is_none()), waits);
            }
            let mut end = vec![Wait::received(0); ranks as usize];
            for &rank in &order {
                let is_root = tree.parents[rank as usize].is_none();
                let mut waits = vec![end[rank as usize]];
                if is_root {
                    let below = children[rank as usize].iter();
                    waits = below.map(|&child| Wait::received(up[child as usize])).collect();
                    waits.extend(free(rank));
                }
                for &child in &children[rank as usize] {
                    let enters = is_root && free(rank).is_none();
                    let down = graph.push(part(rank, child, enters), waits.iter().copied());
                    end[child as usize] = Wait::received(down);
                    // The root has the sum already, so it need not receive anything.
                    if is_root {
                        end[rank as usize] = Wait::started(down);
                    }
                }
            }
            ends.push(end);
        }
        // Later chunks wait for all earlier ones but these.
        for end in ends.iter().skip(tree.chunks.len().saturating_sub(slots)) {
            for (done, &end) in graph.done.iter_mut().zip(end) {
                done.push(end);
            }
        }
    }
    graph
}
