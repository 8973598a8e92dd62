//! Paths of flows that name the NICs of their hosts.

use paceline_run::spec::{NodeId, NodeKind};

use super::{FlowKey, Routing};
use crate::ids::PortId;

impl Routing {
    /// Returns the port of a host's link by its number; `None` if there is no such link, or it is down.
    fn nic(&self, host: NodeId, number: u8) -> Option<PortId> {
        let ports = self.ports_of(host);
        // Ports are numbered by link, but listed by neighbour.
        let before = |port: PortId| ports.iter().filter(|&&other| other < port).count();
        let found = ports.iter().find(|&&port| before(port) == usize::from(number));
        found.copied().filter(|&port| self.ends[port].up)
    }

    /// Returns the egress port of packets that name their NICs, and the number of next hops that it was chosen from.
    /// `None` if any link will do: none is named, the named link is down, or it has no path.
    pub(super) fn hop_by_nic(&self, node: NodeId, dst: NodeId, key: FlowKey) -> Option<(PortId, u32)> {
        let nics = key.nics();
        // Paths to a port of the last switch are asked for by that switch, which has no NICs.
        if nics.are_any() || self.kinds[dst] == NodeKind::Switch || self.fixed.contains_key(&(node, dst)) {
            return None;
        }
        let entry = nics.dst().and_then(|number| self.nic(dst, number));
        // Static next hops lead to a host by any of its links.
        let last = entry.filter(|_| !self.is_fixed(dst)).map(|entry| entry.other());
        if self.kinds[node] == NodeKind::Host
            && let Some(first) = nics.src().and_then(|number| self.nic(node, number))
            && self.leads_on(first, dst, last, key)
        {
            return Some((first, 1));
        }
        self.hop_to(node, last?, key)
    }

    /// Returns the egress port from `node` towards this port of a last switch.
    fn hop_to(&self, node: NodeId, last: PortId, key: FlowKey) -> Option<(PortId, u32)> {
        let to = self.ends[last].node;
        match self.kinds[to] {
            _ if node == to => Some((last, 1)),
            // A host at the other end of the link does not forward.
            NodeKind::Host => None,
            NodeKind::Switch => self.hop_by_hash(node, to, key),
        }
    }

    /// Returns true if packets that leave their host by `first` have a path to `dst`, through port `last` if it is given.
    fn leads_on(&self, first: PortId, dst: NodeId, last: Option<PortId>, key: FlowKey) -> bool {
        let next = self.peer(first);
        if next == dst {
            return last.is_none_or(|last| last == first);
        }
        self.kinds[next] == NodeKind::Switch
            && last
                .and_then(|last| self.hop_to(next, last, key))
                .or_else(|| self.hop_by_hash(next, dst, key))
                .is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::{add_flow, scheme_with, star};
    use crate::core::paths::Paths;
    use crate::ids::{FlowId, LinkId};
    use crate::run::simulation::Simulation;
    use paceline_congestion::registry::WindowMode;
    use paceline_kernel::ids::Id;
    use paceline_run::spec::{LinkSpec, Nics, RunSpec};
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Returns a network of hosts with several links each: `hosts` lists the switches of each one's links, `between` the
    /// links between switches in addition to a row of all of them.
    fn network(switches: u32, hosts: &[Vec<u32>], between: &[(u32, u32)]) -> RunSpec {
        let mut spec = star(2, scheme_with("none", WindowMode::Off, &[]));
        let link = spec.links[0].clone();
        spec.nodes = vec![NodeKind::Switch; switches as usize];
        spec.nodes.resize(switches as usize + hosts.len(), NodeKind::Host);
        spec.links.clear();
        let mut join = |a: u32, b: u32| {
            spec.links.push(LinkSpec {
                a: NodeId(a),
                b: NodeId(b),
                ..link.clone()
            });
        };
        (1..switches).for_each(|switch| join(switch - 1, switch));
        for (host, links) in hosts.iter().enumerate() {
            for &switch in links {
                join(switch % switches, switches + host as u32);
            }
        }
        let pairs = between.iter().filter(|(a, b)| a % switches != b % switches);
        pairs.for_each(|&(a, b)| join(a % switches, b % switches));
        spec
    }

    /// Returns the links of a host, by number.
    fn links_of(spec: &RunSpec, host: NodeId) -> Vec<u32> {
        let links = (0..).zip(&spec.links);
        links
            .filter(|(_, link)| link.a == host || link.b == host)
            .map(|(number, _)| number)
            .collect()
    }

    fn links(ports: &[PortId]) -> Vec<u32> {
        ports.iter().map(|port| port.index() as u32 / 2).collect()
    }

    fn paths(simulation: &Simulation) -> Option<Paths> {
        simulation.world.find_paths(&simulation.core, FlowId(0))
    }

    #[test]
    fn a_flow_takes_the_links_that_it_names() {
        // Two hosts, each with two links to one switch and one to another.
        let mut spec = network(2, &[vec![0, 0, 1], vec![1, 0, 1]], &[]);
        let (a, b) = (NodeId(2), NodeId(3));
        let (of_a, of_b) = (links_of(&spec, a), links_of(&spec, b));
        add_flow(&mut spec, a.0, b.0, 1000, 0);
        for (from, to) in [(0, 0), (1, 1), (2, 1), (0, 2), (2, 2)] {
            spec.flows[0].nics = Nics::of(Some(from), Some(to));
            let simulation = Simulation::new(spec.clone()).unwrap();
            let Paths { forward, back } = paths(&simulation).unwrap();
            let (first, last) = (of_a[usize::from(from)], of_b[usize::from(to)]);
            let (forward, back) = (links(&forward), links(&back));
            assert_eq!((forward[0], forward[forward.len() - 1]), (first, last));
            assert_eq!((back[0], back[back.len() - 1]), (last, first));
        }
        // Without a number at the source, the shortest path to the named link counts.
        spec.flows[0].nics = Nics::of(None, Some(1));
        let simulation = Simulation::new(spec.clone()).unwrap();
        let forward = links(&paths(&simulation).unwrap().forward);
        assert!(of_a[..2].contains(&forward[0]) && forward[1..] == [of_b[1]]);
    }

    proptest! {
        /// Paths begin and end at the named links while these are up and have a path. Otherwise they take other links, as
        /// long as there are any. They are connected, and pass no host.
        #[test]
        fn paths_honour_nics(
            switches in 1..5u32,
            hosts in prop::collection::vec(prop::collection::vec(0..5u32, 1..4), 2..5),
            between in prop::collection::vec((0..5u32, 0..5u32), 0..6),
            nics in (prop::option::of(0..3u8), prop::option::of(0..3u8)),
            ends in (any::<usize>(), 1..4usize),
            down in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            let mut spec = network(switches, &hosts, &between);
            let from = ends.0 % hosts.len();
            let to = (from + 1 + ends.1 % (hosts.len() - 1)) % hosts.len();
            let (src, dst) = (NodeId(switches + from as u32), NodeId(switches + to as u32));
            let (of_src, of_dst) = (links_of(&spec, src), links_of(&spec, dst));
            let within = |number: Option<u8>, links: &[u32]| number.map(|n| n % links.len() as u8);
            let (first, last) = (within(nics.0, &of_src), within(nics.1, &of_dst));
            add_flow(&mut spec, src.0, dst.0, 1000, 0);
            spec.flows[0].nics = Nics::of(first, last);
            let mut simulation = Simulation::new(spec.clone()).unwrap();
            let mut plain = simulation.clone();
            let failed: Vec<u32> = down.iter().map(|index| index.index(spec.links.len()) as u32).collect();
            for one in [&mut simulation, &mut plain] {
                let world = Arc::make_mut(&mut one.world);
                failed.iter().for_each(|&link| world.routing.set_link(LinkId(link), false));
                world.routing.forget();
            }
            let mut without = spec.flows[0];
            without.nics = Nics::ANY;
            let any = plain.world.find_paths_of(&without);
            let found = paths(&simulation);
            prop_assert_eq!(found.is_some(), any.is_some(), "a named link costs no path, and makes none");
            let Some(Paths { forward, back }) = found else { return Ok(()) };
            for (ports, start, end, begin, finish, mine, theirs) in [
                (&forward, src, dst, first, last, &of_src, &of_dst),
                (&back, dst, src, last, first, &of_dst, &of_src),
            ] {
                let ends = &simulation.core.ports;
                prop_assert_eq!(ends[ports[0]].node, start);
                for pair in ports.windows(2) {
                    let node = ends[ends[pair[0]].peer].node;
                    prop_assert_eq!(node, ends[pair[1]].node);
                    prop_assert!(spec.nodes[node.0 as usize] == NodeKind::Switch);
                }
                prop_assert_eq!(ends[ends[ports[ports.len() - 1]].peer].node, end);
                let path = links(ports);
                prop_assert!(path.iter().all(|link| !failed.contains(link)));
                // All switches are one row, so a link that is up has a path unless the row is cut.
                let whole = failed.iter().all(|&link| link >= switches - 1);
                for (number, list, taken) in [(begin, mine, path[0]), (finish, theirs, path[path.len() - 1])] {
                    if let Some(number) = number {
                        let link = list[usize::from(number)];
                        prop_assert!(!whole || failed.contains(&link) || taken == link, "{path:?} avoids {link}");
                    }
                }
            }
        }
    }
}
