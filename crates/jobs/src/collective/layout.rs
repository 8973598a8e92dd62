//! Where the ranks of a collective are: in which servers, and on which rails.

use std::collections::BTreeMap;

/// The ranks of a collective by server. Without servers, every rank is one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Layout {
    /// Ranks by server, servers in the order of their first ranks.
    servers: Vec<Vec<u32>>,
    /// The place in `servers`, and the rail, of each rank.
    places: Vec<(u32, u32)>,
}

impl Layout {
    /// Of `ranks` ranks none of which share a server.
    pub fn flat(ranks: u32) -> Self {
        Self::of((0..ranks).map(|rank| (rank, 0)))
    }

    /// By server and rail of each rank.
    pub fn of(ranks: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut known = BTreeMap::new();
        let mut servers: Vec<Vec<u32>> = Vec::new();
        let mut places = Vec::new();
        for (rank, (server, rail)) in (0u32..).zip(ranks) {
            let place = *known.entry(server).or_insert(servers.len());
            if place == servers.len() {
                servers.push(Vec::new());
            }
            servers[place].push(rank);
            places.push((place as u32, rail));
        }
        Self { servers, places }
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.places.len() as u32
    }

    /// How many ranks each server has, if all have as many.
    pub fn per_server(&self) -> Option<u32> {
        let first = self.servers.first()?.len();
        let equal = self.servers.iter().all(|server| server.len() == first);
        equal.then_some(first as u32)
    }

    /// The ranks server by server.
    pub(super) fn by_server(&self) -> Vec<u32> {
        self.servers.concat()
    }

    /// The ring of a channel: through one server after another. With as many ranks in each, a channel enters and leaves each
    /// server by ranks of its own. Every other server is passed the other way round, so that a ring goes from server to server
    /// on one rail.
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

    /// The parent of each rank in one of the two trees of a channel: servers make a binary tree, ranks of a server a chain
    /// from the one that is linked to other servers. Trees use one rank of a server after another for that.
    pub(super) fn tree(&self, channel: u32, second: bool) -> Vec<Option<u32>> {
        use paceline_traces::collective::binary_parent;
        let mut parents = vec![None; self.places.len()];
        let Some(each) = self.per_server() else {
            for (rank, parent) in (0u32..).zip(&mut parents) {
                *parent = binary_parent(self.places.len() as u32, second, rank);
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

    /// The rank of the sender's server that is on the receiver's rail, if the message should go by way of it.
    pub(super) fn relay(&self, from: u32, to: u32) -> Option<u32> {
        let ((server, rail), (other, wanted)) = (self.places[from as usize], self.places[to as usize]);
        if server == other || rail == wanted {
            return None;
        }
        let mut local = self.servers[server as usize].iter().copied();
        local.find(|&rank| self.places[rank as usize].1 == wanted)
    }

    /// The ranks of a rank's server.
    pub(super) fn neighbours(&self, rank: u32) -> &[u32] {
        &self.servers[self.places[rank as usize].0 as usize]
    }
}
