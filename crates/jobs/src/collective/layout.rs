//! Layout of a collective's ranks on servers and rails.

use std::collections::BTreeMap;

/// Ranks of a collective by server. Without servers, every rank counts as one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layout {
    /// Ranks by server, servers in the order of their first ranks.
    servers: Vec<Vec<u32>>,
    /// Position of each rank.
    positions: Vec<Position>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    /// Index of the server in [`Layout::servers`].
    server: u32,
    rail: u32,
}

impl Layout {
    /// Creates a layout of `ranks` ranks on separate servers.
    pub fn flat(ranks: u32) -> Self {
        Self::of((0..ranks).map(|rank| (rank, 0)))
    }

    /// Creates a layout from the server and rail of each rank.
    pub fn of(ranks: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut known = BTreeMap::new();
        let mut servers: Vec<Vec<u32>> = Vec::new();
        let mut positions = Vec::new();
        for (rank, (server, rail)) in (0u32..).zip(ranks) {
            let index = *known.entry(server).or_insert(servers.len());
            if index == servers.len() {
                servers.push(Vec::new());
            }
            servers[index].push(rank);
            positions.push(Position {
                server: index as u32,
                rail,
            });
        }
        Self { servers, positions }
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.positions.len() as u32
    }

    /// Returns the number of ranks per server, if it is the same for all.
    pub fn per_server(&self) -> Option<u32> {
        let first = self.servers.first()?.len();
        let equal = self.servers.iter().all(|server| server.len() == first);
        equal.then_some(first as u32)
    }

    /// Returns the ranks server by server.
    pub(super) fn by_server(&self) -> Vec<u32> {
        self.servers.concat()
    }

    /// Returns the ring of a channel through one server after another. If all servers have the same number of ranks,
    /// each channel enters and leaves a server at other ranks. Every other server is traversed in reverse, so that a
    /// ring goes from server to server on one rail.
    pub(super) fn ring(&self, channel: u32) -> Vec<u32> {
        let Some(each) = self.per_server() else {
            return self.by_server();
        };
        let path = |(number, server): (usize, &Vec<u32>)| {
            let mut path = server.clone();
            path.rotate_left((channel % each) as usize);
            if number % 2 == 1 {
                path.reverse();
            }
            path
        };
        self.servers.iter().enumerate().flat_map(path).collect()
    }

    /// Returns the parent of each rank in one of the two trees of a channel: servers form a binary tree, and ranks of
    /// a server a chain from the one linked to other servers. Successive trees use different ranks of a server for
    /// these links.
    pub(super) fn tree(&self, channel: u32, second: bool) -> Vec<Option<u32>> {
        use paceline_traces::collective::binary_parent;
        let mut parents = vec![None; self.positions.len()];
        let Some(each) = self.per_server() else {
            for (rank, parent) in (0u32..).zip(&mut parents) {
                *parent = binary_parent(self.positions.len() as u32, second, rank);
            }
            return parents;
        };
        let turn = (2 * channel + u32::from(second)) % each;
        let head = |server: u32| self.servers[server as usize][turn as usize];
        for (number, server) in (0u32..).zip(&self.servers) {
            parents[head(number) as usize] =
                binary_parent(self.servers.len() as u32, second, number).map(head);
            let mut chain = server.clone();
            chain.rotate_left(turn as usize);
            for pair in chain.windows(2) {
                parents[pair[1] as usize] = Some(pair[0]);
            }
        }
        parents
    }

    /// Returns the rank in the sender's server that is on the receiver's rail, if it is neither end.
    pub(super) fn relay(&self, from: u32, to: u32) -> Option<u32> {
        let (from, to) = (self.positions[from as usize], self.positions[to as usize]);
        if from.server == to.server || from.rail == to.rail {
            return None;
        }
        let mut local = self.servers[from.server as usize].iter().copied();
        local.find(|&rank| self.positions[rank as usize].rail == to.rail)
    }

    /// Returns the ranks of a rank's server.
    pub(super) fn neighbours(&self, rank: u32) -> &[u32] {
        &self.servers[self.positions[rank as usize].server as usize]
    }
}
