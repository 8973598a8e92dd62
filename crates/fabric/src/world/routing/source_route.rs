//! Paths that packets carry: for each switch, the index of the egress port among the switch's ports.
//!
//! A path is one word, with a group of bits for each switch, the next switch's lowest. A switch removes its group and
//! writes the index of the packet's ingress port at the top. So the word that has the path ahead also has the path
//! back, and a switch that turns a packet back knows where to send it. If the longest path of a network does not fit,
//! its packets are routed at every switch.

use paceline_kernel::ids::Id;

use super::Routing;
use crate::ids::PortId;

impl Routing {
    /// Writes each port's index at its node into the port.
    pub(super) fn number_places(&mut self) {
        let mut most = 1;
        for node in self.kinds.ids() {
            let ways = self.first[node];
            let list = &self.adjacency[self.first[node] as usize..self.first[node.plus(1)] as usize];
            if self.kinds[node] == paceline_run::spec::NodeKind::Switch {
                most = most.max(list.len().saturating_sub(1));
            }
            for (index, &port) in list.iter().enumerate() {
                let end = &mut self.ends[port];
                // A host has no packets that turn back at it, so indices beyond the bits do not matter.
                (end.ways, end.index) = (ways, index as u16);
            }
        }
        self.bits = most.ilog2() + 1;
    }

    /// Returns a path, the host's port first, in the form that packets carry; `None` if it does not fit.
    pub(crate) fn write_way(&self, path: &[PortId]) -> Option<u64> {
        let (switches, bits) = (&path[1..], self.bits as usize);
        if switches.len() * bits > u64::BITS as usize || self.bits > u16::BITS {
            return None;
        }
        let index = |&port: &PortId| u64::from(self.ends[port].index);
        let groups = (0..).step_by(bits).zip(switches.iter().map(index));
        Some(groups.fold(0, |way, (shift, index)| way | index << shift))
    }

    /// Removes the next switch's group from a path, and writes the index of the packet's ingress port at its top.
    /// Returns the index of the egress port.
    #[inline(always)]
    pub(crate) fn follow(&self, entry: u16, way: &mut u64) -> usize {
        let index = *way & ((1 << self.bits) - 1);
        *way = *way >> self.bits | u64::from(entry) << (u64::BITS - self.bits);
        index as usize
    }

    /// Returns the port at an index of a node whose first port has index `ways`.
    #[inline(always)]
    pub fn port_at(&self, ways: u32, index: usize) -> PortId {
        self.adjacency[ways as usize + index]
    }

    /// Returns the path back for a packet that leaves a switch by its ingress port; `way` is the path of the arrived
    /// packet from there on.
    pub fn turn_back(&self, way: u64) -> u64 {
        // The topmost group is the ingress port, by which the packet leaves.
        let (mut rest, mut back, mut shift) = (way << self.bits, 0, 0);
        while rest != 0 && shift < u64::BITS {
            back |= rest >> (u64::BITS - self.bits) << shift;
            rest <<= self.bits;
            shift += self.bits;
        }
        back
    }
}

#[cfg(test)]
mod tests {
    use super::Routing;
    use paceline_congestion::registry::WindowMode;

    use crate::common::{add_flow, scheme_with, star};
    use crate::core::port::Port;
    use crate::ids::{FlowId, PortId};
    use crate::run::simulation::Simulation;
    use paceline_run::spec::{LinkSpec, NodeId, NodeKind};

    /// Returns a row of `n` switches behind host 1, with host 2 at its end, and a host at each switch for more ports.
    fn row(n: u32) -> Simulation {
        let mut spec = star(2, scheme_with("none", WindowMode::Off, &[]));
        let link = spec.links[0].clone();
        spec.nodes = vec![NodeKind::Host; 3 + n as usize];
        let switches: Vec<u32> = (0..n).map(|i| if i == 0 { 0 } else { 2 + i }).collect();
        spec.links.clear();
        let mut join = |a: u32, b: u32| {
            spec.links.push(LinkSpec {
                a: NodeId(a),
                b: NodeId(b),
                ..link.clone()
            })
        };
        join(1, switches[0]);
        for pair in switches.windows(2) {
            join(pair[0], pair[1]);
        }
        join(2, switches[switches.len() - 1]);
        for &switch in &switches {
            spec.nodes[switch as usize] = NodeKind::Switch;
        }
        add_flow(&mut spec, 1, 2, 1000, 0);
        Simulation::new(spec).unwrap()
    }

    /// Returns the port by which a packet that came in by `entry` leaves.
    fn follow(routing: &Routing, entry: &Port, way: &mut u64) -> PortId {
        let index = routing.follow(entry.index, way);
        routing.port_at(entry.ways, index)
    }

    /// A packet that follows its path passes the ports of the path, and comes back through their other ends wherever it
    /// is turned back.
    #[test]
    fn there_and_back() {
        for switches in [1, 2, 7, 32] {
            let simulation = row(switches);
            let (ports, routing) = (&simulation.core.ports, &simulation.world.routing);
            let path = simulation
                .world
                .find_paths(&simulation.core, FlowId(0))
                .unwrap()
                .forward;
            let mut way = routing.write_way(&path).expect("two bits or less for each");
            for (i, pair) in path.windows(2).enumerate() {
                let entry = ports[pair[0]].peer;
                assert_eq!(follow(routing, &ports[entry], &mut way), pair[1]);
                let mut back = routing.turn_back(way);
                for hop in (0..i).rev() {
                    let came_from = ports[path[hop + 1]].peer;
                    let entry = &ports[ports[came_from].peer];
                    let out = follow(routing, entry, &mut back);
                    assert_eq!(out, ports[path[hop]].peer, "{switches} switches");
                }
            }
        }
    }

    #[test]
    fn a_switch_without_links_takes_no_part() {
        let mut simulation = row(7);
        let mut spec = (*simulation.world.spec).clone();
        spec.nodes.push(NodeKind::Switch);
        simulation = Simulation::new(spec).unwrap();
        assert_eq!(simulation.world.routing.bits, 1);
        while !simulation.advance(1 << 20).done {}
        assert_eq!(simulation.finish().completions, [0]);
    }

    #[test]
    fn what_does_not_fit_is_not_written() {
        let simulation = row(40);
        let path = simulation
            .world
            .find_paths(&simulation.core, FlowId(0))
            .unwrap()
            .forward;
        assert_eq!(simulation.world.routing.bits, 1);
        let routing = &simulation.world.routing;
        assert!(routing.write_way(&path).is_some());
        let longer = row(65);
        let path = longer.world.find_paths(&longer.core, FlowId(0)).unwrap().forward;
        assert_eq!(longer.world.routing.write_way(&path), None);
    }
}
