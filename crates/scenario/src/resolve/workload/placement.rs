//! Hosts of jobs and pools: those that they name, or a choice of as many as they ask for.

use paceline_fabric::spec::NodeId;
use paceline_kernel::rng::{Purpose, Rng};
use toml::Spanned;

use crate::diagnostics::{Location, Problem};
use crate::groups::{self, Sets};
use crate::resolve::Cx;
use crate::resolve::fill::fill_declared;
use crate::resolve::hosts::{self, Holds};
use crate::schema::{Job, Nodes, Placement};
use crate::topology::{Net, Topology};
use crate::traffic::{SHARED, Seeds};

/// Hosts that a job or a pool asks for.
pub(super) struct Wanted<'a> {
    /// Kind of the asker, for errors.
    pub(super) what: &'static str,
    pub(super) label: String,
    pub(super) location: Location,
    /// True if hosts of others may be taken.
    pub(super) share: bool,
    /// Seeds of a random placement. Each asker draws from its own stream, so a change of one does not move the others.
    pub(super) seeds: Seeds,
    pub(super) hosts: &'a Option<Spanned<Nodes>>,
    pub(super) ranks: &'a Option<Spanned<u32>>,
    pub(super) placement: &'a mut Option<Spanned<Placement>>,
    pub(super) among: &'a mut Option<Spanned<Nodes>>,
}

/// Returns the random seeds of a job or a pool; they are numbered after the workloads.
pub(super) const fn seeds(seed: u64, index: usize) -> Seeds {
    Seeds {
        seed,
        workload: index as u64,
    }
}

/// Returns the hosts of every asker by rank: first for those that name them, then for those that give a number.
pub(super) fn places(
    cx: &Cx<'_>,
    net: &Net,
    mut wanted: Vec<Wanted<'_>>,
) -> Result<Vec<Vec<NodeId>>, Problem> {
    let mut taken = Taken {
        owners: vec![None; net.topology.nodes.len()],
        askers: (wanted.iter())
            .map(|one| (one.what, one.label.clone(), one.location.clone()))
            .collect(),
    };
    let mut found = vec![Vec::new(); wanted.len()];
    // Named hosts are claimed first, so that no placement takes hosts that a later asker names.
    for (i, one) in wanted.iter().enumerate() {
        let named = match (one.hosts, one.ranks) {
            (Some(named), None) => named,
            (None, Some(_)) => continue,
            _ => {
                let message = format!("a {} has either `hosts`, or `ranks` and a `placement`", one.what);
                return Err(Problem::new(message).at(&one.location));
            }
        };
        let at = cx.texts.of_value(named);
        if one.placement.is_some() || one.among.is_some() {
            let message = format!(
                "`placement` and `among` are for {}s that say how many `ranks` they have",
                one.what
            );
            return Err(Problem::new(message).at(&at));
        }
        found[i] = hosts::set(cx, net, named, Holds::Hosts)?;
        taken.claim(i, &found[i], &at, one.share)?;
    }
    for (i, one) in wanted.iter_mut().enumerate() {
        let Some(ranks) = one.ranks.as_ref().filter(|_| one.hosts.is_none()) else {
            continue;
        };
        let mut draws = one.seeds.stream(Purpose::Workload, SHARED);
        let declared = Job::declared();
        let among = fill_declared(one.among, &declared.among);
        let mut free = hosts::set(cx, net, &among, Holds::Hosts)?;
        let all = free.len();
        free.retain(|host| one.share || taken.owners[host.0 as usize].is_none());
        let count = *ranks.get_ref() as usize;
        if count > free.len() {
            let among = match all == free.len() {
                true => "hosts".to_string(),
                false => format!("hosts that no other {} has", one.what),
            };
            return Err(
                Problem::new(format!("{count} ranks: there are {} {among}", free.len()))
                    .at(&cx.texts.of_value(ranks))
                    .label(format!("expected at most {}", free.len())),
            );
        }
        let placement = fill_declared(one.placement, &declared.placement);
        let placed = place(&net.topology, &free, count, *placement.get_ref(), &mut draws);
        found[i] = placed.ok_or_else(|| {
            Problem::new("this network has no rails to place ranks along")
                .at(&cx.texts.of_value(&placement))
                .label("for `topology.rail`")
        })?;
        // These hosts are free or may be shared, so claiming them cannot fail.
        taken.claim(i, &found[i], &one.location, true)?;
    }
    Ok(found)
}

/// Assignment of hosts to askers.
struct Taken {
    owners: Vec<Option<usize>>,
    /// Kind, label and place of each asker.
    askers: Vec<(&'static str, String, Location)>,
}

impl Taken {
    fn claim(&mut self, asker: usize, hosts: &[NodeId], at: &Location, share: bool) -> Result<(), Problem> {
        for host in hosts {
            let owner = self.owners[host.0 as usize].get_or_insert(asker);
            if *owner == asker || share {
                continue;
            }
            let shared = hosts
                .iter()
                .filter(|host| self.owners[host.0 as usize].is_some_and(|of| of != asker));
            let (what, label, location) = &self.askers[self.owners[host.0 as usize].expect("it has one")];
            let message = format!(
                "host {} is in the {what} `{label}` too, one of {} such hosts",
                host.0,
                shared.count()
            );
            return Err(Problem::new(message)
                .at(at)
                .see(location, format!("the other {what} is here"))
                .help(format!(
                    "`share-hosts = true` in this {} if that is meant",
                    self.askers[asker].0
                )));
        }
        Ok(())
    }
}

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
