//! Links grouped by the tiers that they join.

use crate::groups::{SERVER, named_tiers};
use crate::names::NodeNames;
use crate::topology::{Topology, ends};
use paceline_fabric::spec::NodeId;
use paceline_kernel::BitRate;
use paceline_kernel::order::Sort as _;
use paceline_kernel::sorted::SortedMap;

/// Name of the tier of links to hosts.
const HOST: &str = "host";

/// Names of links by the tiers that they join: `host` if one end is a host, `server` inside servers, otherwise the
/// tiers of both switches, the lower one first, such as `leaf-spine`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkTiers {
    names: Vec<String>,
    of: Vec<u16>,
    nodes: Vec<(NodeId, NodeId)>,
}

impl LinkTiers {
    /// Names the links of a network, in their order.
    pub fn of(topology: &Topology) -> Self {
        Self::with_tiers(topology, &named_tiers(topology))
    }

    /// Names the links of a network whose tiers are known.
    pub(crate) fn with_tiers(topology: &Topology, known: &[(String, Vec<NodeId>)]) -> Self {
        let mut tier_of: SortedMap<NodeId, (usize, String)> = SortedMap::new();
        for (index, (name, switches)) in known.iter().enumerate() {
            for switch in switches {
                tier_of.insert(*switch, (index, name.clone()));
            }
        }
        let mut tiers = Self::default();
        for link in &topology.links {
            let mut at = [link.a, link.b].map(|node| tier_of.get(&node));
            // Sorted by tier, so that both directions of a link have one name.
            at.order_by_key(|tier| tier.map(|(index, _)| *index));
            let is_inner = |tier: &&(usize, String)| tier.1 == SERVER;
            let name = match at {
                [None, other] if other.as_ref().is_some_and(is_inner) => SERVER.to_string(),
                [Some(below), Some(above)] => format!("{}-{}", below.1, above.1),
                _ => HOST.to_string(),
            };
            let known = tiers.names.iter().position(|known| *known == name);
            let index = known.unwrap_or_else(|| {
                tiers.names.push(name);
                tiers.names.len() - 1
            });
            tiers.of.push(index as u16);
            tiers.nodes.push(ends(link.a, link.b));
        }
        tiers
    }

    /// Returns the names, in the order of their first links.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the tier of a link; empty if there is no such link.
    pub fn name(&self, link: usize) -> &str {
        let index = self.of.get(link).map(|&index| usize::from(index));
        index.map_or("", |index| self.names[index].as_str())
    }

    /// Returns the links with a tier's name, or between two nodes, by numbers or names: `3-17`, `leaf 1-spine 3`.
    pub fn links(&self, meant: &str, nodes: &NodeNames) -> Vec<usize> {
        let all = 0..self.of.len();
        if self.names.iter().any(|name| name == meant) {
            return all.filter(|&link| self.name(link) == meant).collect();
        }
        // A name such as `tier-4 0` has a dash of its own, so each dash may be the one between the nodes.
        let dashes = meant.match_indices('-').map(|(at, _)| meant.split_at(at));
        let ends = dashes.filter_map(|(a, b)| Some(ends(nodes.node(a)?, nodes.node(&b[1..])?)));
        let ends: Vec<_> = ends.collect();
        all.filter(|&link| ends.contains(&self.nodes[link])).collect()
    }
}

/// Multiplies the rates of links by the factors of their tiers or nodes.
///
/// # Errors
/// The first name that no link has, and all tiers.
pub fn multiply_rates<'a>(
    topology: &mut Topology,
    factors: impl IntoIterator<Item = (&'a str, f64)>,
) -> Result<(), (&'a str, LinkTiers)> {
    let known = named_tiers(topology);
    let tiers = LinkTiers::with_tiers(topology, &known);
    let nodes = NodeNames::with_tiers(topology, &known);
    // A link may have several factors, by its tier and by its nodes.
    let mut of_links = vec![1.0; topology.links.len()];
    for (name, factor) in factors {
        let links = tiers.links(name, &nodes);
        if links.is_empty() {
            return Err((name, tiers));
        }
        for link in links {
            of_links[link] *= factor;
        }
    }
    for (link, factor) in topology.links.iter_mut().zip(of_links) {
        let rate = (link.rate.as_bps() as f64 * factor).round();
        // At a rate of 0, a packet would never end.
        link.rate = BitRate::from_bps((rate as u64).max(1));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use paceline_kernel::Span;

    use super::*;
    use crate::topology::{FatTreeRates, fat_tree, star};

    #[test]
    fn links_have_the_tiers_of_their_ends() {
        let rate = BitRate::from_gbps(100);
        let net = star(3, rate, Span::from_us(1));
        let (one, nodes) = (LinkTiers::of(&net), NodeNames::of(&net));
        assert_eq!(one.names(), ["host"]);
        assert_eq!(one.links("host", &nodes), [0, 1, 2]);
        assert_eq!(one.links("2-0", &nodes), [1]);
        assert_eq!(one.links("leaf 0 - host 2", &nodes), [1]);
        assert!(one.links("1-2", &nodes).is_empty() && one.links("spine", &nodes).is_empty());
        let rates = FatTreeRates {
            host: rate,
            aggregation: rate,
            core: rate,
        };
        let mut tree = LinkTiers::of(&fat_tree(4, 1, rates, Span::from_us(1)));
        tree.names.order();
        assert_eq!(tree.names(), ["aggregation-core", "edge-aggregation", "host"]);
    }

    #[test]
    fn what_is_inside_a_server_is_a_tier_of_its_own() {
        let rate = BitRate::from_gbps(100);
        let mut net = Topology::new(2, 2);
        for (host, switch) in [(0, 2), (1, 2), (0, 3), (1, 3)] {
            net.link(host, switch, rate, Span::from_us(1));
        }
        net.inner = vec![NodeId(3)];
        let (tiers, nodes) = (LinkTiers::of(&net), NodeNames::of(&net));
        assert_eq!(
            (tiers.links("host", &nodes), tiers.links("server", &nodes)),
            (vec![0, 1], vec![2, 3])
        );
    }
}
