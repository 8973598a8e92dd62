//! Routes: shortest paths, with the ECMP hash of that program's global routing, which is the same at every switch.

use paceline_fabric::model::{PortId, Ports};
use paceline_fabric::spec::{FlowSpec, NodeId, NodeKind, RunSpec};
use paceline_kernel::ids::{Id, List};

use crate::tcd_ns3::spec::TcdNs3Spec;

/// IP protocol numbers of data, acknowledgements, NACKs and notifications.
const UDP: u32 = 17;
const ACK: u32 = 0xfc;
const NACK: u32 = 0xfd;
const CNP: u32 = 0xff;

const FAR: u16 = u16::MAX;

/// Ports of a network by node, and distances to hosts.
#[derive(Clone)]
pub(super) struct Ways {
    /// Output ports of each node in the order of links, with the node at the other end.
    out: List<NodeId, Vec<(PortId, NodeId)>>,
    hosts: List<NodeId, bool>,
    address: List<NodeId, u32>,
    /// Distance in links to each host, by node; computed on first use.
    distances: List<NodeId, Vec<u16>>,
    by_flow: bool,
}

/// Paths of a flow's packets: output ports, starting with the host's.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowWays {
    pub(super) data: Box<[PortId]>,
    pub(super) ack: Box<[PortId]>,
    pub(super) nack: Box<[PortId]>,
    pub(super) cnp: Box<[PortId]>,
}

/// Returns the initial part of the hash.
const fn pair(src: u32, dst: u32, protocol: u32) -> u32 {
    src.wrapping_mul(59) ^ dst ^ protocol
}

impl Ways {
    pub(super) fn of(spec: &RunSpec, own: &TcdNs3Spec, ports: &Ports) -> Self {
        let mut ways = Self {
            out: List::of(spec.nodes.len(), Vec::new()),
            hosts: spec.nodes.iter().map(|kind| *kind == NodeKind::Host).collect(),
            address: List::of(spec.nodes.len(), 0),
            distances: List::of(spec.nodes.len(), Vec::new()),
            by_flow: own.flow_ecmp,
        };
        for (id, port) in ports.numbered() {
            ways.out[port.node].push((id, ports[port.peer].node));
            // Link i is subnet 10.(i / 254 + 1).(i % 254 + 1).0, with ends .1 and .2. A node's address is that of its
            // first link.
            if ways.address[port.node] == 0 {
                let (link, end) = (id.link().0, id.0 & 1);
                ways.address[port.node] =
                    10 << 24 | (link / 254 + 1) << 16 | (link % 254 + 1) << 8 | (end + 1);
            }
        }
        ways
    }

    /// Returns the paths of a flow; `None` if there are none.
    pub(super) fn of_flow(&mut self, flow: &FlowSpec) -> Option<FlowWays> {
        let (src, dst) = (self.address[flow.src], self.address[flow.dst]);
        let ports = u32::from(flow.sport) << 16 ^ u32::from(flow.dport) ^ u32::from(flow.class);
        Some(FlowWays {
            data: self.way(flow.src, flow.dst, pair(src, dst, UDP) ^ ports)?,
            ack: self.way(flow.dst, flow.src, pair(dst, src, ACK))?,
            nack: self.way(flow.dst, flow.src, pair(dst, src, NACK))?,
            cnp: self.way(flow.dst, flow.src, pair(dst, src, CNP))?,
        })
    }

    fn way(&mut self, from: NodeId, to: NodeId, hash: u32) -> Option<Box<[PortId]>> {
        self.measure(to);
        let far = &self.distances[to];
        let (mut at, mut way) = (from, Vec::new());
        while at != to {
            let left = far[at.index()];
            if left == FAR {
                return None;
            }
            let nearer = |&&(_, next): &&(PortId, NodeId)| far[next.index()] == left - 1;
            let choices: Vec<_> = self.out[at].iter().filter(nearer).collect();
            let index = if self.by_flow {
                hash as usize % choices.len()
            } else {
                0
            };
            let &(port, next) = choices[index];
            way.push(port);
            at = next;
        }
        Some(way.into())
    }

    /// Computes the distances to a host by breadth-first search. Other hosts do not forward.
    fn measure(&mut self, to: NodeId) {
        if !self.distances[to].is_empty() {
            return;
        }
        let mut far = vec![FAR; self.out.len()];
        far[to.index()] = 0;
        let mut reached = std::collections::VecDeque::from([to]);
        while let Some(node) = reached.pop_front() {
            if self.hosts[node] && node != to {
                continue;
            }
            for &(_, next) in &self.out[node] {
                if far[next.index()] == FAR {
                    far[next.index()] = far[node.index()] + 1;
                    reached.push_back(next);
                }
            }
        }
        self.distances[to] = far;
    }
}
