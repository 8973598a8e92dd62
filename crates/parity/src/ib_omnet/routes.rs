//! Forwarding tables: each switch's output for each host.

use paceline_fabric::model::{PortId, Ports, Routing};
use paceline_fabric::spec::{NodeId, NodeKind};

use crate::ib_omnet::build::PortsByNode;

/// Forwarding tables of all switches.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    /// Indices of output ports among the switch's ports, with one row of hosts per switch.
    table: Vec<u8>,
    hosts: usize,
    /// Index of each switch's first port in the list by node.
    first: Vec<u32>,
}

/// Table entry of an unreachable host.
const NOWHERE: u8 = u8::MAX;

impl Routes {
    /// Returns the output of a switch for a host.
    #[inline(always)]
    pub(super) fn next(&self, switch: u32, host: u32) -> u8 {
        self.table[switch as usize * self.hosts + host as usize]
    }

    /// Counts the switches on the path from a switch to a host; `None` without a path. `peer` returns the switch at
    /// the other end of a port, or `None` for a host.
    pub(super) fn length(&self, from: u32, host: u32, peer: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let mut switch = from;
        // No path passes more switches than there are, so the search ends even if the tables have a loop.
        for passed in 1..=self.first.len() as u32 {
            let index = self.next(switch, host);
            if index == NOWHERE {
                return None;
            }
            match peer(self.first(switch) + u32::from(index)) {
                Some(next) => switch = next,
                None => return Some(passed),
            }
        }
        None
    }

    /// Returns the index of a switch's first port.
    #[inline(always)]
    pub(super) fn first(&self, switch: u32) -> u32 {
        self.first[switch as usize]
    }

    /// Builds the tables. Among equal-cost outputs, the destination's index modulo their number selects one.
    pub(super) fn of(
        routing: &Routing,
        ports: &Ports,
        kinds: &[NodeKind],
        hosts: &[NodeId],
        by_node: &PortsByNode,
    ) -> Self {
        let mut routes = Self {
            table: Vec::new(),
            hosts: hosts.len(),
            first: Vec::new(),
        };
        let switches = (0..).zip(kinds).filter(|(_, kind)| **kind == NodeKind::Switch);
        for node in switches.map(|(node, _)| NodeId(node)) {
            let own = by_node.of(node);
            routes.first.push(by_node.first(node));
            for (number, &host) in hosts.iter().enumerate() {
                let given = routing.given(node, host);
                let usable: Vec<PortId> = match given {
                    Some(via) => own
                        .iter()
                        .copied()
                        .filter(|&port| ports[ports[port].peer].node == via)
                        .collect(),
                    None => routing.ways(node, host),
                };
                let mut usable: Vec<u8> = (0..)
                    .zip(own)
                    .filter(|(_, port)| usable.contains(port))
                    .map(|(index, _)| index)
                    .collect();
                usable.sort_unstable();
                let chosen = usable.get(number % usable.len().max(1));
                routes.table.push(chosen.copied().unwrap_or(NOWHERE));
            }
        }
        routes
    }
}
