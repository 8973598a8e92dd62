//! Flow probes: why a flow's sender slowed down and which port caused that, which flows were ahead of its packets
//! there, and the origin of the pauses that held it back.
//!
//! The account of a flow's time ([`crate::watch::account`]) shows that its sender waited for pacing; a probe shows why
//! pacing was slow. It is requested flow by flow ([`paceline_run::spec::RecordSpec::flow_probes`]) and costs only runs
//! that request it: a finished run is repeated for it, which gives the same run.
//!
//! Everything is taken from events as they happen. A sender's limits are read before each event that may change them,
//! so a change since the last reading was caused by the last such event. A packet waits for the flow that is on the
//! wire: the sum over these flows is the time for which it queued, to the picosecond.

use crate::ids::{FlowId, PacketId, PortId, QpId};
use paceline_congestion::HopSample;
use paceline_kernel::ids::{Id, List};
use paceline_kernel::{BitRate, Bytes, Span};
use std::collections::BTreeMap;
use watched::{Origin, OriginPauses, Watched};

mod cuts;
mod hooks;
mod waits;
mod watched;

use paceline_run::outcome::flow_probe::{
    Cause, Cut, CutTotals, FlowProbe, Limits, Marks, Neighbour, Pauses, Shared,
};

/// Observations of a packet of a probed flow.
#[derive(Clone, Copy, Debug)]
struct PacketNotes {
    flow: FlowId,
    /// Port that marked the packet, or that a notification is about.
    told_by: PortId,
    /// Port in whose queue the packet is.
    inside: PortId,
    /// Port at which the packet waited longest, and the time in ps.
    longest: (PortId, u64),
    /// Time at which the packet joined its present queue, in ps.
    since: u64,
    /// HPCC-PINT's last digest, and the port that wrote it.
    digest: (u16, PortId),
}

impl PacketNotes {
    const NOTHING: Self = Self {
        flow: FlowId::NONE,
        told_by: PortId::NONE,
        inside: PortId::NONE,
        longest: (PortId::NONE, 0),
        since: 0,
        digest: (0, PortId::NONE),
    };
}

/// The last event that may have changed a sender's limits.
#[derive(Clone, Copy, Debug)]
struct Trigger {
    at: u64,
    cause: Cause,
    port: PortId,
    rtt: Option<u64>,
}

/// A probed flow while it runs.
#[derive(Clone, Debug)]
struct Look {
    flow: FlowId,
    /// Flow that names the queue pair.
    sent_as: FlowId,
    /// True if the flow has completed.
    is_over: bool,
    /// Queue pair; `QpId::NONE` before the flow starts.
    slot: QpId,
    began: Limits,
    limits: Limits,
    line: BitRate,
    trigger: Trigger,
    /// Marks that the sender has been notified of since the last cut, by port.
    pending: Vec<(PortId, u64)>,
    pending_told: Cause,
    causes: BTreeMap<(Cause, PortId), CutTotals>,
    cuts: Vec<Cut>,
    marks: Vec<(PortId, Marks)>,
    /// Port that marked the last marked packet at the receiver.
    last_marked: PortId,
    /// Telemetry of the last acknowledgement, and the egress ports on the data's path.
    samples: Vec<HopSample>,
    way: Vec<PortId>,
    watched: Vec<Watched>,
    held: Vec<OriginPauses>,
    /// Time for which the sender waited for its NIC, by the flow that was on the wire.
    nic: BTreeMap<FlowId, Span>,
    /// Port at which the packet waited longest that was acknowledged last.
    waited_at: PortId,
}

/// Flow probes of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowProbes {
    looks: Vec<Look>,
    seen: List<PacketId, PacketNotes>,
    /// Flow whose packet each port sent last.
    on_wire: List<PortId, FlowId>,
    /// Origin of the last pause of a (port, class).
    origins: BTreeMap<(PortId, u8), Origin>,
}

impl FlowProbes {
    pub(super) fn new(asked: &[u32], flows: usize) -> Self {
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
            sent_as: flow,
            is_over: false,
            slot: QpId::NONE,
            began: nothing,
            limits: nothing,
            line: BitRate::from_bps(0),
            trigger: ITSELF,
            pending: Vec::new(),
            pending_told: Cause::Mark,
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

    /// Returns the queue pairs of probed flows other than `flow`.
    pub(crate) fn others(&self, flow: FlowId) -> impl Iterator<Item = QpId> {
        let others = self.looks.iter().filter(move |look| look.flow != flow);
        others.map(|look| look.slot).filter(|&slot| slot != QpId::NONE)
    }

    fn find(&self, flow: FlowId) -> Option<usize> {
        self.looks.binary_search_by_key(&flow, |look| look.flow).ok()
    }

    /// Returns the probes of the flows that a queue pair has under way: for a connection there may be several.
    fn of(&self, flow: FlowId) -> impl Iterator<Item = usize> + use<> {
        let looks = self.looks.iter().enumerate();
        let under_way = looks.filter(move |(_, look)| look.sent_as == flow && !look.is_over);
        let indices: Vec<usize> = under_way.map(|(index, _)| index).collect();
        indices.into_iter()
    }

    /// Returns the flow whose packet a port sent last; `FlowId::NONE` before the first.
    fn on_wire(&self, port: PortId) -> FlowId {
        self.on_wire.get(port).copied().unwrap_or(FlowId::NONE)
    }

    fn seen(&mut self, packet: PacketId) -> &mut PacketNotes {
        self.seen.reach(packet, || PacketNotes::NOTHING);
        &mut self.seen[packet]
    }
}

const ITSELF: Trigger = Trigger {
    at: 0,
    cause: Cause::Itself,
    port: PortId::NONE,
    rtt: None,
};

impl Look {
    /// Adds a cut; only the deepest are kept.
    fn cut(&mut self, cut: Cut, port: PortId) {
        let totals = self.causes.entry((cut.cause, port)).or_insert(CutTotals {
            cause: cut.cause,
            port: cut.port,
            count: 0,
            first: cut.at,
            last: cut.at,
            lowest: cut.after.rate,
        });
        totals.count += 1;
        totals.last = cut.at;
        totals.lowest = totals.lowest.min(cut.after.rate);
        // The list is bounded: the flattest cut makes room for a deeper one.
        if self.cuts.len() == FlowProbe::CUTS_MAX {
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

    /// Returns the port with the most marks reported to the sender since the last cut.
    fn most_marks(&self) -> Option<PortId> {
        let most = self
            .pending
            .iter()
            .max_by_key(|&&(port, count)| (count, std::cmp::Reverse(port)));
        most.map(|&(port, _)| port)
    }
}
