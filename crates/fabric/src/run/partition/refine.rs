//! Improves the balance of a cut by moving groups of nodes to other parts.

use std::collections::BTreeMap;

/// Groups of nodes that stay together, and the traffic between them.
#[derive(Debug)]
pub(super) struct Graph {
    /// Work of each group.
    pub(super) work: Vec<u64>,
    /// Neighbours of each group: packets between them, and the shortest delay of a link.
    pub(super) edges: Vec<BTreeMap<usize, Edge>>,
    /// True for groups that have hosts.
    pub(super) hosts: Vec<bool>,
}

/// Links and traffic between two groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) packets: u64,
    pub(super) delay: u64,
    /// Links, counted from both ends.
    pub(super) links: u32,
}

impl Graph {
    pub(super) fn new(groups: usize) -> Self {
        Self {
            work: vec![0; groups],
            edges: vec![BTreeMap::new(); groups],
            hosts: vec![false; groups],
        }
    }

    /// Adds a link between two groups.
    pub(super) fn link(&mut self, a: usize, b: usize, delay: u64) {
        for (one, other) in [(a, b), (b, a)] {
            let edge = self.edges[one].entry(other).or_insert(Edge {
                packets: 0,
                delay,
                links: 0,
            });
            edge.delay = edge.delay.min(delay);
            edge.links += 1;
        }
    }

    /// Adds packets between two groups, which must have a link.
    pub(super) fn pass(&mut self, a: usize, b: usize, packets: u64) {
        for (one, other) in [(a, b), (b, a)] {
            if let Some(edge) = self.edges[one].get_mut(&other) {
                edge.packets += packets;
            }
        }
    }

    /// Returns the packets between a group and its neighbours in each part.
    fn packets_by_part(&self, group: usize, part: &[usize], parts: usize) -> Vec<u64> {
        let mut packets = vec![0; parts];
        for (&other, edge) in &self.edges[group] {
            packets[part[other]] += edge.packets;
        }
        packets
    }
}

/// Groups with their parts.
#[derive(Debug)]
pub(super) struct Cut<'a> {
    graph: &'a Graph,
    pub(super) part: Vec<usize>,
    /// Shortest delay of a link that may be cut, in ps.
    lookahead: u64,
    /// Work of each part: twice the packets that its nodes handle, and the packets that cross, which cost each of the
    /// two parts about half as much.
    load: Vec<u64>,
    /// Number of groups with hosts in each part: at least one.
    hosts: Vec<usize>,
}

/// A move of a group to another part.
#[derive(Clone, Copy, Debug)]
struct Move {
    group: usize,
    to: usize,
    /// Work of the two parts after the move.
    load: (u64, u64),
    /// Packets that no longer cross, less those that cross after the move only.
    saved: i64,
}

impl<'a> Cut<'a> {
    pub(super) fn new(graph: &'a Graph, part: Vec<usize>, parts: usize) -> Self {
        let mut cut = Self {
            graph,
            part,
            lookahead: u64::MAX,
            load: vec![0; parts],
            hosts: vec![0; parts],
        };
        for (group, &part) in cut.part.iter().enumerate() {
            let others = graph.edges[group].iter();
            let crossing = others.filter(|&(&other, _)| cut.part[other] != part);
            cut.load[part] += 2 * graph.work[group];
            cut.hosts[part] += usize::from(graph.hosts[group]);
            for (_, edge) in crossing {
                cut.load[part] += edge.packets;
                cut.lookahead = cut.lookahead.min(edge.delay);
            }
        }
        cut
    }

    /// Moves groups while that improves the balance, or saves crossings at the same balance.
    pub(super) fn refine(&mut self) {
        self.even_out();
        self.spare_crossings();
        self.even_out();
    }

    /// Moves groups out of the part with the most work, each time the one that leaves the two parts most even.
    fn even_out(&mut self) {
        for _ in 0..8 * self.part.len() {
            let Some(from) =
                (0..self.load.len()).max_by_key(|&part| (self.load[part], std::cmp::Reverse(part)))
            else {
                return;
            };
            let groups = (0..self.part.len()).filter(|&group| self.part[group] == from);
            let moves = groups.flat_map(|group| self.moves(group));
            let worse = |made: &Move| made.load.0.max(made.load.1);
            // The larger of the two loads has to fall below the present one, or the moves would not end.
            let better = moves.filter(|made| worse(made) < self.load[from]);
            let Some(best) = better.min_by_key(|made| (worse(made), made.group, made.to)) else {
                return;
            };
            self.make(best);
        }
    }

    /// Moves groups to where they have more traffic, unless that gives a part more work than the busiest one has.
    fn spare_crossings(&mut self) {
        // Fewer crossings must not cost balance: no part may get more than the busiest one has.
        let most = self.load.iter().copied().max().unwrap_or(0);
        loop {
            let mut moved = false;
            for group in 0..self.part.len() {
                let moves = self.moves(group).into_iter();
                let fit = moves.filter(|made| made.saved > 0 && made.load.0.max(made.load.1) <= most);
                if let Some(best) = fit.max_by_key(|made| (made.saved, std::cmp::Reverse(made.to))) {
                    self.make(best);
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Returns the moves that a group may make: no shorter link is cut, and its part keeps hosts.
    fn moves(&self, group: usize) -> Vec<Move> {
        let (from, parts) = (self.part[group], self.load.len());
        // Without hosts no flow would start in the part.
        if self.graph.hosts[group] && self.hosts[from] == 1 {
            return Vec::new();
        }
        let packets = self.graph.packets_by_part(group, &self.part, parts);
        let crossing: u64 = packets.iter().sum::<u64>() - packets[from];
        let work = 2 * self.graph.work[group];
        let others = (0..parts).filter(|&to| to != from && self.may_go(group, to));
        let made = others.map(|to| {
            let (near, far) = (packets[from], packets[to]);
            Move {
                group,
                to,
                load: (
                    self.load[from] - work - crossing + near,
                    self.load[to] + work + near + crossing - 2 * far,
                ),
                saved: far as i64 - near as i64,
            }
        });
        made.collect()
    }

    fn may_go(&self, group: usize, part: usize) -> bool {
        let edges = self.graph.edges[group].iter();
        let mut cut = edges.filter(|&(&other, _)| self.part[other] != part);
        cut.all(|(_, edge)| edge.delay >= self.lookahead)
    }

    fn make(&mut self, made: Move) {
        let from = std::mem::replace(&mut self.part[made.group], made.to);
        (self.load[from], self.load[made.to]) = made.load;
        let hosts = usize::from(self.graph.hosts[made.group]);
        self.hosts[from] -= hosts;
        self.hosts[made.to] += hosts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns groups in a ring, all with hosts, that pass a packet to each neighbour.
    fn ring(work: &[u64], delays: &[u64]) -> Graph {
        let mut graph = Graph::new(work.len());
        graph.work = work.to_vec();
        graph.hosts = vec![true; work.len()];
        for (group, &delay) in delays.iter().enumerate() {
            let next = (group + 1) % work.len();
            graph.link(group, next, delay);
            graph.pass(group, next, 1);
        }
        graph
    }

    /// Refines a cut, and compares the loads kept move by move with a new count.
    fn refined(graph: &Graph, part: &[usize], parts: usize) -> Vec<usize> {
        let mut cut = Cut::new(graph, part.to_vec(), parts);
        let before = cut.load.iter().max().copied();
        cut.refine();
        let again = Cut::new(graph, cut.part.clone(), parts);
        assert_eq!((&again.load, &again.hosts), (&cut.load, &cut.hosts));
        assert!(again.load.iter().max().copied() <= before);
        assert!(again.lookahead >= cut.lookahead);
        cut.part
    }

    #[test]
    fn parts_become_even() {
        let graph = ring(&[40, 30, 20, 10, 30, 10], &[1000; 6]);
        let part = refined(&graph, &[0, 0, 0, 0, 1, 1], 2);
        let work = |of: usize| -> u64 {
            (0..6)
                .filter(|&group| part[group] == of)
                .map(|group| graph.work[group])
                .sum()
        };
        assert_eq!([work(0), work(1)], [70, 70], "{part:?}");
    }

    #[test]
    fn short_links_stay_whole() {
        // Any group that could leave would cut a link of 10 ps.
        let graph = ring(&[40, 30, 20, 10], &[10, 10, 1000, 1000]);
        assert_eq!(refined(&graph, &[0, 0, 0, 1], 2), [0, 0, 0, 1]);
    }

    #[test]
    fn crossings_are_spared_where_it_stays_even() {
        // The busiest part has one group; the smallest group belongs to the second part.
        let mut graph = ring(&[40, 40, 1, 100], &[1000; 4]);
        graph.pass(1, 2, 5);
        let part = refined(&graph, &[0, 1, 0, 2], 3);
        assert_eq!(part[1], part[2], "{part:?}");
    }

    #[test]
    fn a_part_keeps_hosts() {
        let graph = ring(&[100, 1, 1], &[1000; 3]);
        assert_eq!(refined(&graph, &[0, 1, 1], 2), [0, 1, 1]);
    }
}
