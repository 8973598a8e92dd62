//! Isolated flows of now, by switch and port.

use std::collections::BTreeMap;

use paceline_kernel::ids::Id;
use paceline_run::outcome::PacketKind;
use paceline_run::spec::Isolation;

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::isolated::IsolatedFlow;
use crate::core::packet::Packet;
use crate::ids::{FlowId, PortId, SwitchId};
use crate::world::classes::Classes;

/// An isolated flow at an egress port.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Packets that are still in the watched queue, from before the flow was isolated.
    pub(super) older: u32,
    /// Packets in the isolated queue, and those that have waited there.
    pub(super) held: u32,
    pub(super) packets: u64,
    pub(super) since: u64,
    /// Time at which the last packet left the queue, or at which the flow was isolated, in ps.
    pub(super) last: u64,
    /// Earliest time of the next message to the switch before, in ps.
    pub(super) next_message: u64,
    /// True if the switch behind asked for it.
    pub(super) was_told: bool,
}

impl Entry {
    /// Returns the record of a flow that is isolated until then, in ps; `None` if it still is.
    pub(super) fn record(
        &self,
        core: &Core,
        port: PortId,
        flow: FlowId,
        until_ps: Option<u64>,
    ) -> IsolatedFlow {
        IsolatedFlow {
            port: core.port_ref(port),
            flow_id: flow.0,
            at_ps: self.since,
            until_ps,
            asked_by_neighbour: self.was_told,
            packets: self.packets,
        }
    }
}

/// Isolated flows of all switches.
#[derive(Clone, Debug)]
pub(super) struct Isolated {
    pub(super) spec: Isolation,
    /// Classes of watched and of isolated packets.
    pub(super) watched: u8,
    pub(super) isolated: u8,
    /// Flows by port, under the flow that names their queue pair: packets of a connection have one order.
    pub(super) flows: BTreeMap<(PortId, FlowId), Entry>,
    /// Number of entries of each switch, by its number.
    pub(super) counts: Vec<u32>,
    /// Records of flows that were released.
    pub(super) released: Vec<IsolatedFlow>,
}

impl Isolated {
    pub(super) fn new(spec: &Isolation, classes: &Classes, switches: usize) -> Self {
        Self {
            watched: classes.dense(spec.from),
            isolated: classes.dense(spec.to),
            spec: spec.clone(),
            flows: BTreeMap::new(),
            counts: vec![0; switches],
            released: Vec::new(),
        }
    }

    /// Returns the isolated flows at a port.
    pub(super) fn at(&self, port: PortId) -> impl Iterator<Item = (FlowId, &Entry)> {
        let here = (port, FlowId(0))..=(port, FlowId(u32::MAX));
        self.flows.range(here).map(|(&(_, flow), entry)| (flow, entry))
    }

    /// Adds a flow at a port, if its switch has room for one more. Returns true if it is there now.
    pub(super) fn add(&mut self, cx: &Cx<'_>, port: PortId, flow: FlowId, was_told: bool) -> bool {
        let core = &*cx.core;
        if self.flows.contains_key(&(port, flow)) {
            return true;
        }
        let switch = core.ports[port].switch();
        if self.counts[switch.index()] >= self.spec.flows {
            self.release_quiet(core, switch);
        }
        let count = &mut self.counts[switch.index()];
        if *count >= self.spec.flows {
            return false;
        }
        *count += 1;
        let queue = core.packets.linked(core.queues[(port, self.watched)].head);
        let queue = queue.map(|id| core.packets.get(id));
        let is_older =
            |packet: &&Packet| packet.kind == PacketKind::Data && cx.world.sending_flow(packet.flow) == flow;
        let entry = Entry {
            older: queue.filter(is_older).count() as u32,
            held: 0,
            packets: 0,
            since: core.now(),
            last: core.now(),
            next_message: 0,
            was_told,
        };
        self.flows.insert((port, flow), entry);
        true
    }

    pub(super) fn remove(&mut self, core: &Core, port: PortId, flow: FlowId) {
        let Some(entry) = self.flows.remove(&(port, flow)) else {
            return;
        };
        self.counts[core.ports[port].switch().index()] -= 1;
        let record = entry.record(core, port, flow, Some(core.now()));
        self.released.push(record);
    }

    /// Returns true if a flow has been quiet for long enough.
    fn is_quiet(&self, core: &Core, entry: &Entry) -> bool {
        entry.held == 0 && core.now() >= entry.last + self.spec.hold.as_ps()
    }

    /// Releases the quiet flows of a switch whose table is full: those that end send no packet with which that would be
    /// seen.
    fn release_quiet(&mut self, core: &Core, switch: SwitchId) {
        let here = |port: PortId| core.ports[port].switch() == switch;
        let quiet =
            (self.flows.iter()).filter(|((port, _), entry)| here(*port) && self.is_quiet(core, entry));
        let quiet: Vec<(PortId, FlowId)> = quiet.map(|(key, _)| *key).collect();
        for (port, flow) in quiet {
            self.remove(core, port, flow);
        }
    }

    /// Returns true if a packet of the flow that arrives now waits in the isolated queue; releases a flow whose time is
    /// over.
    pub(super) fn isolates(&mut self, cx: &Cx<'_>, egress: PortId, flow: FlowId) -> bool {
        let core = &*cx.core;
        let waiting = u64::from(core.queues[(egress, self.watched)].bytes);
        if let Some(entry) = self.flows.get(&(egress, flow)) {
            if !self.is_quiet(core, entry) || waiting >= self.spec.release.get() {
                return true;
            }
            self.remove(core, egress, flow);
        }
        // A queue that grows because its port is paused is not where the congestion is.
        let is_paused = core.ports[egress].paused & 1 << self.watched != 0;
        !is_paused && waiting > self.spec.detect.get() && self.add(cx, egress, flow, false)
    }
}
