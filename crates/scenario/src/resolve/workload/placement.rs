//! Choice of hosts for a job that only gives their number.

use paceline_fabric::spec::NodeId;
use paceline_kernel::rng::Rng;

use crate::groups::{self, Sets};
use crate::schema::Placement;
use crate::topology::Topology;

/// Units that are placed as a whole, and the regions they belong to: servers in pods, or hosts at leaves if there are
/// no servers.
struct Map {
    units: Sets,
    regions: Sets,
    /// Rails of the network, if it has any.
    rails: Option<Sets>,
}

impl Map {
    fn of(topology: &Topology) -> Self {
        let kind = |kind| groups::sets(topology, kind);
        let (units, regions) = match kind("server") {
            Some(servers) => (servers, kind("pod").unwrap_or_default()),
            None => (
                topology.hosts().map(|host| vec![host]).collect(),
                kind("leaf").unwrap_or_default(),
            ),
        };
        Self {
            units,
            regions,
            rails: kind("rail"),
        }
    }

    /// Returns the free hosts of each unit, grouped by region; the last group holds units outside of any region.
    fn regions(&self, free: &[NodeId]) -> Vec<Sets> {
        let of = |unit: &[NodeId]| self.regions.iter().position(|region| region.contains(&unit[0]));
        let mut regions = vec![Vec::new(); self.regions.len() + 1];
        for unit in &self.units {
            let left: Vec<_> = unit.iter().copied().filter(|host| free.contains(host)).collect();
            if !left.is_empty() {
                regions[of(unit).unwrap_or(self.regions.len())].push(left);
            }
        }
        regions
    }
}

/// Returns `count` of the `free` hosts by rank; `None` if the placement needs rails and there are none. The caller
/// checks that enough hosts are free.
pub(super) fn place(
    topology: &Topology,
    free: &[NodeId],
    count: usize,
    placement: Placement,
    draws: &mut Rng,
) -> Option<Vec<NodeId>> {
    let map = Map::of(topology);
    let regions = map.regions(free);
    let mut order: Vec<NodeId> = match placement {
        Placement::Packed => regions.concat().concat(),
        Placement::Spread => {
            // Regions take turns, with one unit each.
            let most = regions.iter().map(Vec::len).max().unwrap_or(0);
            let turn = |i: usize| regions.iter().filter_map(move |region| region.get(i));
            (0..most).flat_map(turn).flatten().copied().collect()
        }
        Placement::Random => {
            let mut units = regions.concat();
            // Hosts of a unit stay together: only the order of units is random.
            draws.shuffle(&mut units);
            units.concat()
        }
        Placement::Rail => {
            let along = map.rails?.concat();
            along.into_iter().filter(|host| free.contains(host)).collect()
        }
    };
    order.truncate(count);
    Some(order)
}

#[cfg(test)]
mod tests {
    use paceline_kernel::rng::Purpose;
    use paceline_kernel::{BitRate, Span};

    use super::*;
    use crate::topology::{Rails, leaf_spine, rail};

    const LINK: (BitRate, Span) = (BitRate::from_gbps(100), Span::from_us(1));

    fn ranks(net: &Topology, taken: &[u32], count: usize, placement: Placement) -> Vec<u32> {
        let free: Vec<_> = net.hosts().filter(|host| !taken.contains(&host.0)).collect();
        let mut draws = Rng::stream(1, Purpose::Workload, 0);
        let placed = place(net, &free, count, placement, &mut draws).unwrap();
        placed.into_iter().map(|host| host.0).collect()
    }

    #[test]
    fn hosts_at_leaves() {
        let net = leaf_spine(3, 1, 4, LINK, LINK);
        let taken = [1, 4, 5, 6, 7];
        assert_eq!(ranks(&net, &taken, 5, Placement::Packed), [0, 2, 3, 8, 9]);
        assert_eq!(ranks(&net, &taken, 5, Placement::Spread), [0, 8, 2, 9, 3]);
        let mut random = ranks(&net, &taken, 7, Placement::Random);
        assert_ne!(random, ranks(&net, &taken, 7, Placement::Packed));
        random.sort_unstable();
        assert_eq!(random, [0, 2, 3, 8, 9, 10, 11]);
        let mut draws = Rng::stream(1, Purpose::Workload, 0);
        assert_eq!(place(&net, &[NodeId(0)], 1, Placement::Rail, &mut draws), None);
    }

    /// Servers stay together except under rail placement: four servers of two GPUs in two pods.
    #[test]
    fn servers_in_pods() {
        let net = rail(&Rails {
            servers: 4,
            gpus: 2,
            servers_per_pod: 2,
            spines: 1,
            host: LINK,
            spine: LINK,
            server: None,
        });
        assert_eq!(ranks(&net, &[], 5, Placement::Packed), [0, 1, 2, 3, 4]);
        assert_eq!(ranks(&net, &[], 6, Placement::Spread), [0, 1, 4, 5, 2, 3]);
        assert_eq!(ranks(&net, &[2], 6, Placement::Rail), [0, 4, 6, 1, 3, 5]);
        let random = ranks(&net, &[], 8, Placement::Random);
        assert!(
            random
                .chunks(2)
                .all(|pair| pair[0] % 2 == 0 && pair[1] == pair[0] + 1),
            "{random:?}"
        );
    }
}
