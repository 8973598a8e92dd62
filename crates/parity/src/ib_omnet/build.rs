//! Construction of a network under credits from its description.

use std::collections::VecDeque;

use paceline_fabric::model::{FlowId, Net, NicId, PacketId, PortId, Ports, ProfileId, Profiles, Site};
use paceline_fabric::outcome::credits::Stalls;
use paceline_fabric::spec::{NodeId, NodeKind, RunSpec};
use paceline_kernel::Bytes;
use paceline_kernel::ids::{Grid, Id, List};
use paceline_kernel::queue::{EventQueue, LaneId};

use crate::ib_omnet::InfiniBand;
use crate::ib_omnet::account::Accounts;
use crate::ib_omnet::credits::Lane;
use crate::ib_omnet::host::{Host, Source as Sender};
use crate::ib_omnet::parts::{Lanes, Port, Scan, Slot};
use crate::ib_omnet::record::Record;
use crate::ib_omnet::routes::Routes;
use crate::ib_omnet::spec::{Control, CreditSpec, Source};
use crate::ib_omnet::step::Step;

impl InfiniBand {
    pub(super) fn new(site: Site<'_>, credits: &CreditSpec) -> Self {
        let Site {
            run: spec,
            ports,
            profiles,
            routing,
            queue,
            ..
        } = site;
        let by_node = PortsByNode::new(spec, ports);
        let hosts: Vec<NodeId> = (0..)
            .map(NodeId)
            .zip(&spec.nodes)
            .filter_map(|(node, kind)| (*kind == NodeKind::Host).then_some(node))
            .collect();
        let mut host_of: List<NodeId, NicId> = List::of(spec.nodes.len(), NicId::NONE);
        (0..)
            .zip(&hosts)
            .for_each(|(number, &node)| host_of[node] = NicId(number));
        let (events, wires) = lanes_of(spec.packet.mtu, credits, profiles, queue);
        let routes = Routes::of(routing, ports, &spec.nodes, &hosts, &by_node);
        let traces = !(spec.record.trace_nodes.is_empty() && spec.record.trace_ports.is_empty());
        let accounts = Accounts::new(spec, ports.len(), credits.lanes);
        let mut network = Self {
            ports: List::new(),
            lanes: Grid::of(ports.len(), usize::from(credits.lanes), Lane::default()),
            slots: Vec::new(),
            used: Grid::of(ports.len(), usize::from(credits.lanes), 0),
            stalled: vec![0; spec.nodes.len() - hosts.len()],
            routes,
            hosts: List::new(),
            sources: Vec::new(),
            open: spec.flows.len() as u64,
            stalling: false,
            scan: Scan::default(),
            telling: Vec::new(),
            events,
            now: VecDeque::new(),
            behind: false,
            record: Record::new(
                credits.trace.clone(),
                traces,
                spec.record.port_bin.is_some() || accounts.is_on(),
                spec.flows.len(),
            ),
            stalls: Stalls::default(),
            accounts,
            ports_by_node: by_node.ports,
            spec: credits.clone(),
        };
        network.add_ports(ports, &by_node.first, &host_of, &wires);
        network.add_hosts(ports, profiles, &hosts, &by_node.first);
        // Sources come last: their paths need the ports and the hosts.
        network.add_sources(spec, &host_of);
        network
    }

    fn add_ports(
        &mut self,
        ports: &Ports,
        first: &List<NodeId, u32>,
        host_of: &List<NodeId, NicId>,
        wires: &List<ProfileId, Wire>,
    ) {
        let mut order: List<PortId, u32> = List::of(ports.len(), 0);
        (0..)
            .zip(&self.ports_by_node)
            .for_each(|(index, &port)| order[port] = index);
        for (id, port) in ports.numbered() {
            // A host's port sends only what its host creates; a switch's port serves every port of its switch.
            let inputs = match port.is_host {
                true => 1,
                false => (first[port.node.plus(1)] - first[port.node]) as usize,
            };
            let slots = self.slots.len() as u32;
            let more = inputs * usize::from(self.spec.lanes);
            self.slots.resize(self.slots.len() + more, Slot::EMPTY);
            self.ports.push(Port {
                peer: port.peer,
                is_host: port.is_host,
                owner: match port.is_host {
                    true => host_of[port.node].0,
                    false => port.owner,
                },
                index: (order[id] - first[port.node]) as u8,
                slots,
                first: first[port.node],
                order: order[id],
                arbitrating: false,
                last_lane: 0,
                table: 0,
                slot: 0,
                input_sent: 0,
                output_sent: 0,
                giving: false,
                head: PacketId::NONE,
                tail: PacketId::NONE,
                waiting: 0,
                sending: false,
                waited: false,
                telling: 0,
                scanned: 0,
                listed: false,
                wire: wires[port.profile],
                packets: 0,
                marked: 0,
                updates: 0,
            });
            for lane in 0..self.spec.lanes {
                self.lanes[(id, lane)].free = self.spec.buffer;
            }
        }
    }

    fn add_hosts(&mut self, ports: &Ports, profiles: &Profiles, hosts: &[NodeId], first: &List<NodeId, u32>) {
        for &node in hosts {
            let port = self.ports_by_node[first[node] as usize];
            let line = profiles[ports[port].profile].rate.as_gbps_f64();
            let control = match self.spec.controlled.contains(&node) {
                true => self.spec.control,
                false => Control::None,
            };
            let packet_ns = self.spec.host_packet.as_ns_f64();
            self.hosts.push(Host::new(port, node, control, packet_ns, line));
        }
    }

    fn add_sources(&mut self, spec: &RunSpec, host_of: &List<NodeId, NicId>) {
        for (number, source) in (0..).zip(&self.spec.sources) {
            let flow = &spec.flows[source.first as usize];
            let (from, to) = (host_of[flow.src], host_of[flow.dst]);
            self.hosts[from].source = number;
            let notified = &self.spec.notified;
            let is_notified = notified.as_ref().is_none_or(|list| list.contains(&flow.src));
            let switches = self.switches_between(from, to);
            self.sources.push(Sender::new(from, to, switches, is_notified));
        }
    }

    /// Returns the number of switches on the path between two hosts; `None` without a path.
    fn switches_between(&self, from: NicId, to: NicId) -> Option<u32> {
        let peer_of = |port: PortId| &self.ports[self.ports[port].peer];
        let first = peer_of(self.hosts[from].port);
        if first.is_host {
            return Some(0);
        }
        self.routes.length(first.owner, to.0, |index| {
            let peer = peer_of(self.ports_by_node[index as usize]);
            (!peer.is_host).then_some(peer.owner)
        })
    }

    /// Gives up all messages of a source whose destination is unreachable.
    fn give_up(&mut self, net: &mut Net<'_>, source: u32) {
        let Source { first, count, .. } = self.spec.sources[source as usize];
        self.open -= u64::from(count);
        for flow in first..first + count {
            net.traffic.give_up(&mut net.cx, FlowId(flow));
        }
    }

    /// Schedules the initial events.
    pub(super) fn arrange(&mut self, net: &mut Net<'_>) {
        if let Some(stall) = self.spec.stall {
            self.after(
                net,
                LaneId::WHEEL,
                stall.lasts.as_ps(),
                Step::Stall { ends: false },
            );
        }
        let all = 0..self.sources.len() as u32;
        let (sources, lost): (Vec<u32>, Vec<u32>) =
            all.partition(|&source| self.sources[source as usize].switches.is_some());
        lost.into_iter().for_each(|source| self.give_up(net, source));
        for &source in &sources {
            let start = self.spec.sources[source as usize].start.as_ps();
            if start > 0 {
                self.after(net, LaneId::WHEEL, start, Step::Start { source });
            }
        }
        // Events tie at time 0: each host's source comes before its port's scan.
        let tie = self.first_scan(net);
        for source in sources {
            let described = self.spec.sources[source as usize];
            let (gap, until) = (described.gap.as_ps(), described.until);
            if described.start.as_ps() == 0 && until.is_some_and(|until| gap >= until.as_ps()) {
                self.made(net, source);
            } else if described.start.as_ps() == 0 {
                let port = self.hosts[self.sources[source as usize].host].port;
                let tie = tie + 2 * u64::from(self.ports[port].order);
                let event = Step::Message { source }.event();
                net.cx.core.schedule_tied(gap, tie, event);
            }
        }
    }

    /// Returns the slots of an output, by input and lane.
    pub(super) fn slots_of(&self, port: PortId) -> impl Iterator<Item = &Slot> {
        let p = &self.ports[port];
        let ports = self.ports.iter().filter(|other| other.first == p.first).count();
        let count = ports * usize::from(self.spec.lanes);
        self.slots[p.slots as usize..][..count].iter()
    }
}

/// Transmission times of a data packet and of a flow-control packet on a link, ps, each with its event lane.
type Wire = [(u64, LaneId); 2];

/// Creates event lanes for all constant delays, and computes the transmission times of each link profile.
fn lanes_of(
    mtu: Bytes,
    credits: &CreditSpec,
    profiles: &Profiles,
    queue: &mut EventQueue,
) -> (Lanes, List<ProfileId, Wire>) {
    let mut known: Vec<(u64, LaneId)> = Vec::new();
    let mut lane = |delay: u64| {
        // An event lane holds events of one delay, so equal delays share it.
        if let Some(&(_, lane)) = known.iter().find(|(other, _)| *other == delay) {
            return lane;
        }
        let lane = queue.add_lane(delay);
        known.push((delay, lane));
        lane
    };
    let events = Lanes {
        input: lane(credits.input_delay.as_ps()),
        output: lane(credits.output_delay.as_ps()),
        switch_arbitration: lane(credits.switch_arbitration.as_ps()),
        host_arbitration: lane(credits.host_arbitration.as_ps()),
        host_packet: lane(credits.host_packet.as_ps()),
    };
    let wires = profiles
        .iter()
        .map(|profile| {
            [mtu, credits.update].map(|size| {
                let time = profile.rate.time_to_send(size).as_ps();
                (time, lane(time))
            })
        })
        .collect();
    (events, wires)
}

/// Ports by node, in the order of links.
pub(super) struct PortsByNode {
    ports: Vec<PortId>,
    /// Index of each node's first port, and the number of ports.
    first: List<NodeId, u32>,
}

impl PortsByNode {
    fn new(spec: &RunSpec, ports: &Ports) -> Self {
        let mut by_node: List<NodeId, Vec<PortId>> = List::of(spec.nodes.len(), Vec::new());
        for (id, port) in ports.numbered() {
            by_node[port.node].push(id);
        }
        let mut first = List::from(vec![0]);
        let mut all = Vec::with_capacity(ports.len());
        for list in &by_node {
            all.extend_from_slice(list);
            first.push(all.len() as u32);
        }
        Self { ports: all, first }
    }

    /// Returns the index of a node's first port.
    pub(super) fn first(&self, node: NodeId) -> u32 {
        self.first[node]
    }

    /// Returns the ports of a node.
    pub(super) fn of(&self, node: NodeId) -> &[PortId] {
        &self.ports[self.first[node] as usize..self.first[node.plus(1)] as usize]
    }
}
