//! Waits of probed flows' packets, and the pauses that hold them back.

use super::Pauses;
use super::watched::{Origin, OriginPauses};
use crate::core::Core;
use crate::ids::{FlowId, PacketId, PortId};
use paceline_kernel::ids::Id;
use paceline_kernel::{Span, Time};
use std::collections::BTreeMap;

/// Largest number of nodes through which a pause is followed.
const DEPTH: usize = 16;

impl Core {
    /// Accounts the waits at a port up to now, before their cause changes.
    pub(super) fn observe_wait(&mut self, port: PortId) {
        let now = self.now();
        let flow = self.watch.flow_probes.on_wire(port);
        let free_at = self.ports[port].free_at;
        for index in 0..self.watch.flow_probes.looks.len() {
            for i in 0..self.watch.flow_probes.looks[index].watched.len() {
                let watched = &self.watch.flow_probes.looks[index].watched[i];
                if watched.port == port {
                    let held = self.is_held(port, watched.class);
                    self.watch.flow_probes.looks[index].watched[i].advance(now, flow, free_at, held);
                }
            }
        }
    }

    /// Notes a packet on the wire.
    pub(super) fn observe_wire(&mut self, port: PortId, id: PacketId) {
        let (flow, wire) = (self.packets.get(id).flow, u64::from(self.packets.get(id).wire));
        // At a host senders wait, not packets.
        if !self.ports[port].is_host {
            self.observe_wait(port);
            self.leave_queue(port, id);
        }
        let ports = self.ports.len();
        self.watch
            .flow_probes
            .on_wire
            .reach(PortId::new(ports - 1), || FlowId::NONE);
        self.watch.flow_probes.on_wire[port] = flow;
        let now = self.now();
        for watched in self
            .watch
            .flow_probes
            .looks
            .iter_mut()
            .flat_map(|look| &mut look.watched)
        {
            if watched.port == port && watched.waiting > 0 {
                watched.flows.entry(flow).or_default().0 += wire;
                watched.last = now;
            }
        }
    }

    /// Notes that a packet of a probed flow leaves the queue that it is in, if it is in one.
    pub(super) fn leave_queue(&mut self, port: PortId, id: PacketId) {
        let now = self.now();
        let flow = self.packets.get(id).flow;
        let Some(index) = self.watch.flow_probes.find(flow) else {
            return;
        };
        let seen = self.watch.flow_probes.seen(id);
        if seen.flow != flow || seen.inside != port {
            return;
        }
        seen.inside = PortId::NONE;
        if now - seen.since > seen.longest.1 {
            seen.longest = (port, now - seen.since);
        }
        for watched in &mut self.watch.flow_probes.looks[index].watched {
            if watched.port == port {
                watched.waiting -= 1;
                watched.last = now;
            }
        }
    }

    /// Notes that a packet is lost, perhaps from a queue.
    pub(super) fn observe_loss(&mut self, port: PortId, id: PacketId) {
        self.observe_wait(port);
        self.leave_queue(port, id);
    }

    /// Notes that a sender has waited for its NIC.
    pub(in crate::watch) fn observe_nic(&mut self, flow: FlowId, port: PortId, span: Span) {
        let other = self.watch.flow_probes.on_wire(port);
        for index in self.watch.flow_probes.of(flow).filter(|_| span > Span::ZERO) {
            let waited = self.watch.flow_probes.looks[index].nic.entry(other).or_default();
            *waited += span;
        }
    }

    /// Stores the origin of a pause that is sent out of `ingress`, if it will pause a port on a probed flow's path.
    #[cold]
    pub(crate) fn observe_pause_sent(&mut self, ingress: PortId, class: u8) {
        let paused = self.ports[ingress].peer;
        let on_the_way = |look: &super::Look| look.watched.iter().any(|watched| watched.port == paused);
        if !self.watch.flow_probes.looks.iter().any(on_the_way) {
            return;
        }
        let origin = self.origin(ingress, class);
        self.watch.flow_probes.origins.insert((paused, class), origin);
    }

    /// Follows the bytes that came in by `ingress` to the egress port that holds most of them, and on from there as
    /// long as that port is paused too.
    pub(in crate::watch) fn origin(&self, mut ingress: PortId, class: u8) -> Origin {
        let mut origin = Origin::default();
        // A paused switch passes the pause on, so the root is the first port that is not paused itself.
        while origin.way.len() < DEPTH && !self.ports[ingress].is_host {
            let Some(egress) = self.where_most_stands(ingress, class) else {
                break;
            };
            // A cycle of pauses has no root.
            if origin.way.contains(&egress) {
                break;
            }
            origin.way.push(egress);
            if !self.is_held(egress, class) {
                break;
            }
            ingress = self.ports[egress].peer;
        }
        if let Some(&root) = origin.way.last() {
            origin.flows = self.queued_at(root, class);
        }
        origin
    }

    /// Returns the bytes of each flow in a port's queue of a class.
    fn queued_at(&self, port: PortId, class: u8) -> BTreeMap<FlowId, u64> {
        let mut flows = BTreeMap::new();
        let mut next = self.queues[(port, class)].head;
        while next != PacketId::NONE {
            let packet = self.packets.get(next);
            *flows.entry(packet.flow).or_default() += u64::from(packet.wire);
            next = packet.next;
        }
        flows
    }

    /// Notes that a port's class is about to be paused or resumed.
    #[cold]
    pub(crate) fn observe_pause(&mut self, port: PortId, class: u8, pause: bool) {
        self.observe_wait(port);
        let now = self.now();
        let already = self.is_held(port, class);
        let origin = self
            .watch
            .flow_probes
            .origins
            .get(&(port, class))
            .cloned()
            .unwrap_or_default();
        for look in &mut self.watch.flow_probes.looks {
            if !look
                .watched
                .iter()
                .any(|watched| (watched.port, watched.class) == (port, class))
            {
                continue;
            }
            let lasting = look
                .held
                .iter_mut()
                .find(|held| held.port == port && held.since.is_some());
            match (pause, lasting) {
                // A renewed pause is not a new one.
                (true, None) if !already => {
                    let known = look
                        .held
                        .iter()
                        .position(|held| held.port == port && held.way == origin.way);
                    let index = known.unwrap_or_else(|| {
                        look.held.push(OriginPauses {
                            port,
                            way: origin.way.clone(),
                            count: 0,
                            time: 0,
                            first: now,
                            last: now,
                            since: None,
                            flows: BTreeMap::new(),
                        });
                        look.held.len() - 1
                    });
                    let held = &mut look.held[index];
                    held.count += 1;
                    held.since = Some(now);
                    for (&flow, &bytes) in &origin.flows {
                        *held.flows.entry(flow).or_default() += bytes;
                    }
                }
                (false, Some(held)) => held.end(now),
                _ => {}
            }
        }
    }

    /// Returns the pauses of a port from one root, at the end of the run or of the flow.
    pub(super) fn close_held(&self, mut held: OriginPauses, now: u64) -> Option<Pauses> {
        held.end(now);
        let flows = held.flows.into_iter().map(|(flow, bytes)| (flow.0, bytes));
        let mut flows: Vec<(u32, u64)> = flows.collect();
        flows.sort_by_key(|&(flow, bytes)| (std::cmp::Reverse(bytes), flow));
        Some(Pauses {
            port: self.known_port(held.port)?,
            way: held
                .way
                .iter()
                .filter_map(|&port| self.known_port(port))
                .collect(),
            count: held.count,
            time: Span::from_ps(held.time),
            first: Time::from_ps(held.first),
            last: Time::from_ps(held.last),
            flows,
        })
    }
}
