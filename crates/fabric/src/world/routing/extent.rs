//! Size of the network: round-trip times and bandwidth-delay products over the first shortest paths.

use std::collections::BTreeMap;

use paceline_kernel::ids::{Id, List};
use paceline_kernel::{Bytes, Span};
use paceline_run::spec::{NodeId, NodeKind};

use super::Routing;
use crate::ids::{PortId, ProfileId};
use crate::world::links::{LinkProfile, Profiles};

impl Routing {
    /// Returns the round-trip time and the slowest rate (bit/s) of a path.
    pub(crate) fn path_rtt(&self, path: &[PortId], profiles: &Profiles, mtu: Bytes) -> (Span, u64) {
        let (mut rtt, mut bps) = (Span::ZERO, u64::MAX);
        for &port in path {
            let profile = &profiles[self.ends[port].profile];
            rtt += link_rtt(profile, mtu);
            bps = bps.min(profile.rate.as_bps());
        }
        (rtt, bps)
    }

    /// Returns the size of the network. Round-trip times are those that the reference defines: twice the propagation
    /// plus one payload's serialisation per link, along the first shortest path found.
    ///
    /// Hosts behind the same switch over equal links are alike, so one of them stands for all. In very large networks
    /// the search starts at some of those only (evenly spread, each to all hosts), which is still exact in networks
    /// whose switches of a tier are alike.
    pub(crate) fn extent(&self, profiles: &Profiles, mtu: Bytes) -> ScenarioSize {
        let mut alike: BTreeMap<(NodeId, ProfileId), NodeId> = BTreeMap::new();
        for host in self.kinds.ids() {
            if self.kinds[host] == NodeKind::Host {
                let key = match self.ports_of(host) {
                    // A host without links reaches nothing.
                    [] => continue,
                    [only] => (self.peer(*only), self.ends[*only].profile),
                    _ => (host, ProfileId::NONE),
                };
                alike.entry(key).or_insert(host);
            }
        }
        let roots: Vec<NodeId> = alike.into_values().collect();
        // As many searches as the budget allows, spread evenly over the hosts.
        let affordable = (SEARCH_BUDGET / self.ends.len().max(1)).max(1);
        let step = roots.len().div_ceil(affordable).max(1);
        let mut extent = ScenarioSize::default();
        for &root in roots.iter().step_by(step) {
            self.extend_from(profiles, mtu, root, &mut extent);
        }
        extent
    }

    /// Takes the pairs with host `root` at one end into account.
    fn extend_from(&self, profiles: &Profiles, mtu: Bytes, root: NodeId, extent: &mut ScenarioSize) {
        for (node, reached) in self.reach_from(profiles, mtu, root).numbered() {
            if let Some((rtt, bps, links)) = *reached
                && node != root
                && self.kinds[node] == NodeKind::Host
            {
                extent.rtt = extent.rtt.max(rtt);
                extent.bdp = extent.bdp.max(bdp(rtt, bps));
                extent.switches = extent.switches.max(links - 1);
            }
        }
    }

    /// Returns, for every node, the round-trip time, slowest rate (bit/s) and number of links of the first shortest
    /// path to `root` in a breadth-first search by descending numbers.
    pub(crate) fn reach_from(
        &self,
        profiles: &Profiles,
        mtu: Bytes,
        root: NodeId,
    ) -> List<NodeId, Option<Reached>> {
        let mut reached = List::of(self.kinds.len(), None);
        reached[root] = Some((Span::ZERO, u64::MAX, 0));
        let mut order = vec![root];
        let mut next = 0;
        while let Some(&node) = order.get(next) {
            next += 1;
            let (rtt, bps, links) = reached[node].expect("a node in the order was reached");
            // Hosts do not forward, so no path leads through one.
            if node != root && self.kinds[node] == NodeKind::Host {
                continue;
            }
            let list = self.ports_of(node);
            for (i, &port) in list.iter().enumerate() {
                let peer = self.peer(port);
                let another = list
                    .get(i + 1)
                    .is_some_and(|&next| self.peer(next) == peer && self.ends[next].up);
                if self.last_parallel_only && another {
                    continue;
                }
                if self.ends[port].up && reached[peer].is_none() {
                    let profile = &profiles[self.ends[port].profile];
                    let bps = bps.min(profile.rate.as_bps());
                    reached[peer] = Some((rtt + link_rtt(profile, mtu), bps, links + 1));
                    order.push(peer);
                }
            }
        }
        reached
    }
}

/// Round-trip time, slowest rate (bit/s) and number of links of a path.
type Reached = (Span, u64, usize);

/// Paths that the reference stores for pairs of hosts ([`paceline_run::spec::Quirks::first_path_found`]), by
/// destination and node; empty without the quirk.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstPaths {
    /// Paths before the run.
    pub(crate) before: BTreeMap<NodeId, List<NodeId, Option<Reached>>>,
    /// Paths after the last failure.
    pub(crate) now: BTreeMap<NodeId, List<NodeId, Option<Reached>>>,
}

impl FirstPaths {
    /// Returns the round-trip time and slowest rate from one host to another.
    pub(crate) fn round_trip(&self, (src, dst): (NodeId, NodeId)) -> Option<(Span, u64)> {
        let (rtt, bps, _) = self.before.get(&dst)?[src]?;
        Some((rtt, bps))
    }

    /// Returns the slowest rate in the present network, if a link has failed.
    pub(crate) fn rate_now(&self, (src, dst): (NodeId, NodeId)) -> Option<u64> {
        Some(self.now.get(&dst)?[src]?.1)
    }
}

/// Size of a network, over all pairs of hosts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScenarioSize {
    /// Largest round-trip time of an empty network.
    pub(crate) rtt: Span,
    /// Largest bandwidth-delay product, in bytes.
    pub(crate) bdp: u64,
    /// Number of switches on the longest path.
    pub(crate) switches: usize,
}

/// Largest number of ports visited in the search for the largest round-trip time.
const SEARCH_BUDGET: usize = 50_000_000;

/// Returns a link's share of a round-trip time: the propagation in both directions, and one payload's serialisation.
fn link_rtt(profile: &LinkProfile, mtu: Bytes) -> Span {
    let payload = profile.rate.time_to_send(mtu);
    Span::from_ps(2 * profile.delay)
        + if profile.truncate_to_ns {
            payload.floor_ns()
        } else {
            payload
        }
}

/// Returns the bandwidth-delay product in bytes, rounded down.
pub(crate) fn bdp(rtt: Span, bps: u64) -> u64 {
    (u128::from(rtt.as_ps()) * u128::from(bps) / 8_000_000_000_000) as u64
}
