//! Forwarding tables: the output of each switch for each host.

use paceline_fabric::model::{PortId, Ports, Routing};
use paceline_fabric::spec::{NodeId, NodeKind};
use paceline_kernel::ids::{Id, List};

/// The table of each switch.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
    /// Places of outputs, a row of all hosts for each switch.
    table: Vec<u8>,
    hosts: usize,
    /// Where the ports of each switch begin in the list of all by node.
    first: Vec<u32>,
}

/// No way.
const NOWHERE: u8 = u8::MAX;

impl Routes {
    /// The output of a switch for a host.
    #[inline(always)]
    pub(super) fn next(&self, switch: u32, host: u32) -> u8 {
        self.table[switch as usize * self.hosts + host as usize]
    }

    /// How many switches there are on the way from a switch's input to a host, if there is a way; `peer` says which switch
    /// or host is at the other end of a switch's port.
    pub(super) fn length(&self, from: u32, host: u32, peer: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let mut switch = from;
        for passed in 1..=self.first.len() as u32 {
            let place = self.next(switch, host);
            if place == NOWHERE {
                return None;
            }
            match peer(self.first(switch) + u32::from(place)) {
                Some(next) => switch = next,
                None => return Some(passed),
            }
        }
        None
    }

    /// Where the ports of a switch begin.
    #[inline(always)]
    pub(super) fn first(&self, switch: u32) -> u32 {
        self.first[switch as usize]
    }

    /// Of a network whose hosts have these nodes and whose ports stand by node in `places`, from `first` on. Among
    /// several ways that are equally short, a destination's number modulo how many there are chooses.
    pub(super) fn of(
        routing: &Routing,
        ports: &Ports,
        kinds: &[NodeKind],
        hosts: &[NodeId],
        (places, first): (&[PortId], &List<NodeId, u32>),
    ) -> Self {
        let mut routes = Self {
            table: Vec::new(),
            hosts: hosts.len(),
            first: Vec::new(),
        };
        let switches = (0..).zip(kinds).filter(|(_, kind)| **kind == NodeKind::Switch);
        for node in switches.map(|(node, _)| NodeId(node)) {
            let own = &places[first[node] as usize..first[node.plus(1)] as usize];
            routes.first.push(first[node]);
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
                    .map(|(place, _)| place)
                    .collect();
                usable.sort_unstable();
                let chosen = usable.get(number % usable.len().max(1));
                routes.table.push(chosen.copied().unwrap_or(NOWHERE));
            }
        }
        routes
    }
}
