//! Events of the core, as flow probes follow them.

use super::cuts::limits_of;
use super::watched::Watched;
use super::{Look, PacketNotes};
use crate::core::Core;
use crate::host::Qp;
use crate::ids::{FlowId, PacketId, PortId, QpId};
use crate::world::classes::STRICT;
use paceline_congestion::Mark;
use paceline_kernel::ids::Id;
use paceline_kernel::{Bytes, Time};
use paceline_run::outcome::flow_probe::{CutTotals, FlowProbe, Marks};
use paceline_run::outcome::{PacketKind, PortRef, TraceKind};

impl Core {
    /// Returns a port as results name it, if there is one.
    pub(super) fn known_port(&self, port: PortId) -> Option<PortRef> {
        self.ports.get(port).map(|_| self.port_ref(port))
    }

    /// Notes that a probed flow starts.
    pub(crate) fn look_begins(&mut self, flow: FlowId, slot: QpId, qp: &Qp) {
        let Some(index) = self.watch.flow_probes.find(flow) else {
            return;
        };
        let (limits, line) = (limits_of(qp), qp.path().line_rate);
        let (port, class, now) = (qp.port(), qp.class(), self.now());
        let look = &mut self.watch.flow_probes.looks[index];
        look.sent_as = qp.flow();
        (look.slot, look.began, look.limits, look.line) = (slot, limits, limits, line);
        look.watched.push(Watched::new(port, class, now));
    }

    /// Notes that a message of a connection is complete.
    pub(crate) fn look_ends(&mut self, flow: FlowId) {
        if let Some(index) = self.watch.flow_probes.find(flow) {
            self.watch.flow_probes.looks[index].is_over = true;
        }
    }

    /// Notes that a switch sends packet `id` to a sender about its port `egress`.
    #[cold]
    pub(crate) fn observe_signal(&mut self, id: PacketId, egress: PortId) {
        let flow = self.packets.get(id).flow;
        *self.watch.flow_probes.seen(id) = PacketNotes {
            flow,
            told_by: egress,
            ..PacketNotes::NOTHING
        };
    }

    /// Notes that a switch writes a note about its port `egress` into data packet `id`.
    #[cold]
    pub(crate) fn observe_note(&mut self, id: PacketId, egress: PortId) {
        self.watch.flow_probes.seen(id).told_by = egress;
    }

    /// Shows an event of a packet at a port.
    #[cold]
    pub(in crate::watch) fn look(&mut self, port: PortId, event: TraceKind, id: PacketId, queue_bytes: u32) {
        let packet = *self.packets.get(id);
        let is_host = self.ports[port].is_host;
        match event {
            TraceKind::Dequeue => self.observe_wire(port, id),
            TraceKind::Drop => self.observe_loss(port, id),
            TraceKind::Receive | TraceKind::Enqueue => {}
        }
        let Some(index) = self.watch.flow_probes.find(packet.flow) else {
            return;
        };
        match (packet.kind, event) {
            (PacketKind::Data, TraceKind::Dequeue) if is_host => {
                *self.watch.flow_probes.seen(id) = PacketNotes {
                    flow: packet.flow,
                    ..PacketNotes::NOTHING
                };
            }
            (PacketKind::Data, TraceKind::Enqueue) if !is_host => self.observe_arrival(index, port, id),
            (PacketKind::Data, TraceKind::Dequeue) => self.observe_mark(index, port, id, queue_bytes),
            (PacketKind::Data, TraceKind::Receive) if is_host && packet.mark.is_set() => {
                self.watch.flow_probes.looks[index].last_marked = self.watch.flow_probes.seen(id).told_by;
            }
            // The receiver sends a packet about marks.
            (PacketKind::Cnp, TraceKind::Enqueue) if is_host => {
                let told_by = self.watch.flow_probes.looks[index].last_marked;
                self.observe_signal(id, told_by);
            }
            _ => {}
        }
    }

    /// Notes that a data packet joins a queue.
    fn observe_arrival(&mut self, index: usize, port: PortId, id: PacketId) {
        let (now, class) = (self.now(), self.packets.get(id).class);
        let seen = self.watch.flow_probes.seen(id);
        (seen.inside, seen.since) = (port, now);
        let look = &mut self.watch.flow_probes.looks[index];
        if !look.watched.iter().any(|watched| watched.port == port) {
            look.watched.push(Watched::new(port, class, now));
        }
        self.observe_wait(port);
        for watched in &mut self.watch.flow_probes.looks[index].watched {
            if watched.port == port {
                watched.waiting += 1;
            }
        }
    }

    /// Notes that a data packet leaves a switch, perhaps with a new mark.
    fn observe_mark(&mut self, index: usize, port: PortId, id: PacketId, queue_bytes: u32) {
        let packet = *self.packets.get(id);
        let seen = self.watch.flow_probes.seen(id);
        // The packet may have got its mark at an earlier port.
        let newly = packet.mark.is_set() && seen.told_by == PortId::NONE;
        if newly {
            seen.told_by = port;
        }
        if packet.pint > seen.digest.0 {
            seen.digest = (packet.pint, port);
        }
        let look = &mut self.watch.flow_probes.looks[index];
        // The number of stamps says which hop of the path this port is.
        let hop = usize::from(packet.hops.max(1)) - 1;
        if packet.hops > 0 {
            look.way.resize(look.way.len().max(hop + 1), PortId::NONE);
            look.way[hop] = port;
        }
        if !newly {
            return;
        }
        let (at, queue) = (Time::from_ps(self.now()), Bytes::new(u64::from(queue_bytes)));
        let undetermined = u64::from(packet.mark == Mark::Undetermined);
        match self.watch.flow_probes.looks[index]
            .marks
            .iter_mut()
            .find(|(known, _)| *known == port)
        {
            Some((_, marks)) => {
                marks.count += 1;
                marks.undetermined += undetermined;
                marks.last = at;
                marks.queue_max = marks.queue_max.max(queue);
            }
            None => {
                if let Some(name) = self.known_port(port) {
                    let marks = Marks {
                        port: name,
                        count: 1,
                        undetermined,
                        first: at,
                        last: at,
                        queue_max: queue,
                    };
                    self.watch.flow_probes.looks[index].marks.push((port, marks));
                }
            }
        }
    }

    /// Ends all probes, and returns their results.
    pub(crate) fn close_looks(&mut self) -> Vec<FlowProbe> {
        let looks = std::mem::take(&mut self.watch.flow_probes.looks);
        looks
            .into_iter()
            .filter(|look| look.slot != QpId::NONE)
            .map(|look| self.close_look(look))
            .collect()
    }

    fn close_look(&self, look: Look) -> FlowProbe {
        let mut causes: Vec<CutTotals> = look.causes.into_values().collect();
        causes.sort_by_key(|totals| std::cmp::Reverse(totals.count));
        let now = self.now();
        FlowProbe {
            flow: look.flow.0,
            began: look.began,
            ended: look.limits,
            line: look.line,
            causes,
            cuts: look.cuts,
            marks: look.marks.into_iter().map(|(_, marks)| marks).collect(),
            pauses: (look.held.into_iter())
                .filter_map(|held| self.close_held(held, now))
                .collect(),
            nic: look.nic.into_iter().map(|(flow, span)| (flow.0, span)).collect(),
            shared: (look.watched.into_iter())
                .filter_map(|watched| {
                    let port = self.known_port(watched.port)?;
                    watched.close(port)
                })
                .collect(),
        }
    }

    /// Returns true if a class that flows use is paused at a port.
    pub(super) fn is_held(&self, port: PortId, class: u8) -> bool {
        class > STRICT && self.ports[port].paused & 1 << class != 0
    }
}
