//! A flow, looked at closely: what made its sender slow down and from which port that came, who stood in
//! its way there, who was behind the pauses that held it back.
//!
//! The account of a flow's time ([`crate::watch::account`]) says that its sender waited for pacing; this says why
//! pacing was slow. It is asked for flow by flow ([`crate::spec::RecordSpec::closeups`]) and costs only runs that
//! ask: a run that has ended is run again for it, which gives the same run.
//!
//! Everything is taken from events as they happen. A sender's limits are looked at before each thing that may
//! change them, so what has changed since the last look was the last such thing's doing. Whom a packet waits
//! for is who is on the wire meanwhile: the sum over these is the time that it queued, to the picosecond.

use crate::core::Core;
use crate::core::port::STRICT;
use crate::host::sender::Qp;
use crate::ids::{FlowId, PacketId, PortId, QpId};
use crate::outcome::{PacketKind, PortRef, TraceKind};
use cuts::limits_of;
use paceline_congestion::HopSample;
use paceline_kernel::ids::{Id, List};
use paceline_kernel::{BitRate, Bytes, Span, Time};
use std::collections::BTreeMap;
use watch::{Held, Origin, Watched};

mod cuts;
mod parts;
mod watch;

pub use parts::{CloseUp, Cut, CutTotals, Limits, Marks, Neighbour, Pauses, Shared, Told};

/// What a packet of a looked-at flow met.
#[derive(Clone, Copy, Debug)]
struct Seen {
    flow: FlowId,
    /// The port that marked it, or that a message is about.
    told_by: PortId,
    /// The port in whose queue it is.
    inside: PortId,
    /// Where it has waited longest, and for how long.
    longest: (PortId, u64),
    /// When it came to the queue that it is in.
    since: u64,
    /// HPCC-PINT's digest as it was, and the port that wrote it.
    digest: (u16, PortId),
}

impl Seen {
    const NOTHING: Self = Self {
        flow: FlowId::NONE,
        told_by: PortId::NONE,
        inside: PortId::NONE,
        longest: (PortId::NONE, 0),
        since: 0,
        digest: (0, PortId::NONE),
    };
}

/// The last thing that may have changed a sender's limits.
#[derive(Clone, Copy, Debug)]
struct Trigger {
    at: u64,
    told: Told,
    port: PortId,
    rtt: Option<u64>,
}

/// A looked-at flow while it runs.
#[derive(Clone, Debug)]
struct Look {
    flow: FlowId,
    /// Its queue pair; `QpId::NONE` before it starts.
    slot: QpId,
    began: Limits,
    limits: Limits,
    line: BitRate,
    trigger: Trigger,
    /// Marks that the sender has been told of since the last cut, by port.
    pending: Vec<(PortId, u64)>,
    pending_told: Told,
    causes: BTreeMap<(Told, PortId), CutTotals>,
    cuts: Vec<Cut>,
    marks: Vec<(PortId, Marks)>,
    /// What the packet that came last to the receiver with a mark had met.
    last_marked: PortId,
    /// Telemetry of the last acknowledgement, and the egress ports on the way of data.
    samples: Vec<HopSample>,
    way: Vec<PortId>,
    watched: Vec<Watched>,
    held: Vec<Held>,
    /// How long its sender waited for its NIC, by the flow that was on the wire.
    nic: BTreeMap<FlowId, Span>,
    /// Where the packet whose answer came last had waited longest.
    waited_at: PortId,
}

/// The close-ups of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct CloseUps {
    looks: Vec<Look>,
    seen: List<PacketId, Seen>,
    /// The flow whose packet each port sent last.
    on_wire: List<PortId, FlowId>,
    /// Where the last pause of a (port, class) came from.
    origins: BTreeMap<(PortId, u8), Origin>,
}

impl CloseUps {
    pub(crate) fn new(asked: &[u32], flows: usize) -> Self {
        let flows = asked
            .iter()
            .map(|&flow| FlowId(flow))
            .filter(|flow| flow.index() < flows);
        let mut looks: Vec<FlowId> = flows.collect();
        looks.sort_unstable();
        looks.dedup();
        let nothing = Limits {
            rate: BitRate::from_bps(0),
            window: Bytes::ZERO,
        };
        let look = |flow| Look {
            flow,
            slot: QpId::NONE,
            began: nothing,
            limits: nothing,
            line: BitRate::from_bps(0),
            trigger: ITSELF,
            pending: Vec::new(),
            pending_told: Told::Mark,
            causes: BTreeMap::new(),
            cuts: Vec::new(),
            marks: Vec::new(),
            last_marked: PortId::NONE,
            samples: Vec::new(),
            way: Vec::new(),
            watched: Vec::new(),
            held: Vec::new(),
            nic: BTreeMap::new(),
            waited_at: PortId::NONE,
        };
        Self {
            looks: looks.into_iter().map(look).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn on(&self) -> bool {
        !self.looks.is_empty()
    }

    /// Queue pairs of looked-at flows other than `flow`.
    pub(crate) fn others(&self, flow: FlowId) -> impl Iterator<Item = QpId> {
        let others = self.looks.iter().filter(move |look| look.flow != flow);
        others.map(|look| look.slot).filter(|&slot| slot != QpId::NONE)
    }

    fn find(&self, flow: FlowId) -> Option<usize> {
        self.looks.binary_search_by_key(&flow, |look| look.flow).ok()
    }

    fn seen(&mut self, packet: PacketId) -> &mut Seen {
        self.seen.reach(packet, || Seen::NOTHING);
        &mut self.seen[packet]
    }
}

const ITSELF: Trigger = Trigger {
    at: 0,
    told: Told::Itself,
    port: PortId::NONE,
    rtt: None,
};

impl Look {
    /// A cut; the deepest are kept.
    fn cut(&mut self, cut: Cut, port: PortId) {
        let totals = self.causes.entry((cut.told, port)).or_insert(CutTotals {
            told: cut.told,
            port: cut.port,
            count: 0,
            first: cut.at,
            last: cut.at,
            lowest: cut.after.rate,
        });
        totals.count += 1;
        totals.last = cut.at;
        totals.lowest = totals.lowest.min(cut.after.rate);
        if self.cuts.len() == CloseUp::CUTS_MAX {
            let flattest = (0..self.cuts.len())
                .min_by(|&a, &b| self.cuts[a].factor().total_cmp(&self.cuts[b].factor()))
                .filter(|&i| self.cuts[i].factor() < cut.factor());
            match flattest {
                Some(i) => self.cuts.remove(i),
                None => return,
            };
        }
        self.cuts.push(cut);
    }

    /// The port with the most marks that the sender was told of since the last cut.
    fn most_marks(&self) -> Option<PortId> {
        let most = self
            .pending
            .iter()
            .max_by_key(|&&(port, count)| (count, std::cmp::Reverse(port)));
        most.map(|&(port, _)| port)
    }
}

impl Core {
    /// A port as results name it.
    pub(super) fn port_ref(&self, port: PortId) -> Option<PortRef> {
        let p = self.ports.get(port)?;
        Some(PortRef {
            node: p.node,
            interface: self.watch.recorder.interface(port),
            peer: self.ports[p.peer].node,
        })
    }

    /// A looked-at flow starts.
    pub(crate) fn look_begins(&mut self, slot: QpId, qp: &Qp) {
        let Some(place) = self.watch.closeups.find(qp.flow) else {
            return;
        };
        let (limits, line) = (limits_of(qp), qp.path.line_rate);
        let (port, class, now) = (qp.port, qp.class, self.now);
        let look = &mut self.watch.closeups.looks[place];
        (look.slot, look.began, look.limits, look.line) = (slot, limits, limits, line);
        look.watched.push(Watched::new(port, class, now));
    }

    /// A switch tells a sender in packet `id` about its port `egress`.
    #[cold]
    pub(crate) fn look_at_notice(&mut self, id: PacketId, egress: PortId) {
        let flow = self.packets.get(id).flow;
        *self.watch.closeups.seen(id) = Seen {
            flow,
            told_by: egress,
            ..Seen::NOTHING
        };
    }

    /// A switch writes a note about its port `egress` into data packet `id`.
    #[cold]
    pub(crate) fn look_at_note(&mut self, id: PacketId, egress: PortId) {
        self.watch.closeups.seen(id).told_by = egress;
    }

    /// Something happened to a packet at a port.
    #[cold]
    pub(crate) fn look(&mut self, port: PortId, event: TraceKind, id: PacketId, queue_bytes: u32) {
        let packet = *self.packets.get(id);
        let is_host = self.ports[port].is_host;
        match event {
            TraceKind::Dequeue => self.look_at_wire(port, id),
            TraceKind::Drop => self.look_at_loss(port, id),
            TraceKind::Receive | TraceKind::Enqueue => {}
        }
        let Some(place) = self.watch.closeups.find(packet.flow) else {
            return;
        };
        match (packet.kind, event) {
            (PacketKind::Data, TraceKind::Dequeue) if is_host => {
                *self.watch.closeups.seen(id) = Seen {
                    flow: packet.flow,
                    ..Seen::NOTHING
                };
            }
            (PacketKind::Data, TraceKind::Enqueue) if !is_host => self.look_at_arrival(place, port, id),
            (PacketKind::Data, TraceKind::Dequeue) => self.look_at_mark(place, port, id, queue_bytes),
            (PacketKind::Data, TraceKind::Receive) if is_host && packet.mark.is_set() => {
                self.watch.closeups.looks[place].last_marked = self.watch.closeups.seen(id).told_by;
            }
            // A packet of its own that the receiver sends about marks.
            (PacketKind::Cnp, TraceKind::Enqueue) if is_host => {
                let told_by = self.watch.closeups.looks[place].last_marked;
                self.look_at_notice(id, told_by);
            }
            _ => {}
        }
    }

    /// A data packet joins a queue.
    fn look_at_arrival(&mut self, place: usize, port: PortId, id: PacketId) {
        let (now, class) = (self.now, self.packets.get(id).class);
        let seen = self.watch.closeups.seen(id);
        (seen.inside, seen.since) = (port, now);
        let look = &mut self.watch.closeups.looks[place];
        if !look.watched.iter().any(|watched| watched.port == port) {
            look.watched.push(Watched::new(port, class, now));
        }
        self.look_at_wait(port);
        for watched in &mut self.watch.closeups.looks[place].watched {
            if watched.port == port {
                watched.waiting += 1;
            }
        }
    }

    /// A data packet leaves a switch: perhaps with a mark that it came without.
    fn look_at_mark(&mut self, place: usize, port: PortId, id: PacketId, queue_bytes: u32) {
        let packet = *self.packets.get(id);
        let seen = self.watch.closeups.seen(id);
        let newly = packet.mark.is_set() && seen.told_by == PortId::NONE;
        if newly {
            seen.told_by = port;
        }
        if packet.pint > seen.digest.0 {
            seen.digest = (packet.pint, port);
        }
        let look = &mut self.watch.closeups.looks[place];
        let hop = usize::from(packet.hops.max(1)) - 1;
        if packet.hops > 0 {
            look.way.resize(look.way.len().max(hop + 1), PortId::NONE);
            look.way[hop] = port;
        }
        if !newly {
            return;
        }
        let (at, queue) = (Time::from_ps(self.now), Bytes::new(u64::from(queue_bytes)));
        match self.watch.closeups.looks[place]
            .marks
            .iter_mut()
            .find(|(known, _)| *known == port)
        {
            Some((_, marks)) => {
                marks.count += 1;
                marks.last = at;
                marks.queue_max = marks.queue_max.max(queue);
            }
            None => {
                if let Some(name) = self.port_ref(port) {
                    let marks = Marks {
                        port: name,
                        count: 1,
                        first: at,
                        last: at,
                        queue_max: queue,
                    };
                    self.watch.closeups.looks[place].marks.push((port, marks));
                }
            }
        }
    }

    /// What has been seen.
    pub(crate) fn close_looks(&mut self) -> Vec<CloseUp> {
        let looks = std::mem::take(&mut self.watch.closeups.looks);
        looks
            .into_iter()
            .filter(|look| look.slot != QpId::NONE)
            .map(|look| self.close_look(look))
            .collect()
    }

    fn close_look(&self, look: Look) -> CloseUp {
        let mut causes: Vec<CutTotals> = look.causes.into_values().collect();
        causes.sort_by_key(|totals| std::cmp::Reverse(totals.count));
        let now = self.now;
        CloseUp {
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
                    let port = self.port_ref(watched.port)?;
                    watched.close(port)
                })
                .collect(),
        }
    }

    /// Whether a class that flows use is paused at a port.
    fn is_held(&self, port: PortId, class: u8) -> bool {
        class > STRICT && self.ports[port].paused & 1 << class != 0
    }
}
