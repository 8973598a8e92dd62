//! Counts, and logs of changes if enabled.

use paceline_congestion::Mark;
use paceline_fabric::model::{Core, FlowId, PortId, Ports};
use paceline_fabric::spec::{NodeId, RunSpec};
use paceline_kernel::ids::List;
use paceline_kernel::{Span, Time};

use crate::tcd_ns3::outcome::{
    Change, FlowMarks, Marks, PortChange, PortEnds, PortMarks, RateChange, TcdNs3Record,
};
use crate::tcd_ns3::reaction_point::ReactionPoint;

/// Width of the bins of arrivals, ps.
const BIN: u64 = 100_000_000;

/// Counts and logs of a run.
#[derive(Clone)]
pub(super) struct Log {
    /// True if changes are logged.
    changes: bool,
    flows: List<FlowId, FlowMarks>,
    ports: List<PortId, PortMarks>,
    /// Start of each port's present pause, ps.
    since: List<PortId, Option<u64>>,
    changed: Vec<(PortId, PortChange)>,
    rates: Vec<RateChange>,
}

impl Marks {
    fn count(&mut self, mark: Mark) {
        self.packets += 1;
        self.congested += u32::from(mark == Mark::Congested);
        self.undetermined += u32::from(mark == Mark::Undetermined);
    }
}

/// Placeholder until the end of the run, when ports get their names.
const UNNAMED: PortEnds = PortEnds {
    node: NodeId(0),
    peer: NodeId(0),
};

impl Log {
    pub(super) fn new(changes: bool, spec: &RunSpec, ports: &Ports) -> Self {
        let port = PortMarks {
            port: UNNAMED,
            sent: Marks::default(),
            again: 0,
            queue_max: 0,
            frames: [0; 2],
            pauses: 0,
            paused: Span::ZERO,
        };
        Self {
            changes,
            flows: List::of(spec.flows.len(), FlowMarks::default()),
            ports: List::of(ports.len(), port),
            since: List::of(ports.len(), None),
            changed: Vec::new(),
            rates: Vec::new(),
        }
    }

    /// Records a flow's path.
    pub(super) fn way(&mut self, core: &Core, flow: FlowId, way: &[PortId]) {
        self.flows[flow].way = way[1..].iter().map(|&port| core.ports[port].node.0).collect();
    }

    /// Counts a data packet that arrived at its receiver.
    pub(super) fn arrived(&mut self, flow: FlowId, now: u64, mark: Mark) {
        let known = &mut self.flows[flow];
        known.received.count(mark);
        let at = Time::from_ps(now);
        let first = known.arrivals.map_or(at, |(first, _)| first);
        known.arrivals = Some((first, at));
        if self.changes {
            let bin = (now / BIN) as u32;
            if known.bins.last().is_none_or(|&(last, _)| last != bin) {
                known.bins.push((bin, Marks::default()));
            }
            if let Some((_, marks)) = known.bins.last_mut() {
                marks.count(mark);
            }
        }
    }

    /// Counts a notification at a flow's sender.
    pub(super) fn notified(&mut self, flow: FlowId, mark: Mark) {
        self.flows[flow].notified.count(mark);
    }

    /// Counts a data packet that left its queue with `left` bytes remaining. Its mark counts only if it is stronger
    /// than the previous one.
    pub(super) fn departed(&mut self, port: PortId, left: u32, before: Mark, mark: Mark) {
        let known = &mut self.ports[port];
        known.queue_max = known.queue_max.max(left);
        known.again += u32::from(before == Mark::Congested);
        known.sent.count(if mark > before { mark } else { Mark::None });
    }

    /// Counts a PFC frame that arrived at a port.
    pub(super) fn frame(&mut self, port: PortId, pause: bool) {
        self.ports[port].frames[usize::from(!pause)] += 1;
    }

    /// Records the start of a pause.
    pub(super) fn paused(&mut self, port: PortId, now: u64) {
        self.ports[port].pauses += 1;
        self.since[port] = Some(now);
    }

    /// Records the end of a pause that lasted `after` ps.
    pub(super) fn resumed(&mut self, port: PortId, after: u64) {
        let known = &mut self.ports[port];
        known.paused = Span::from_ps(known.paused.as_ps() + after);
        self.since[port] = None;
    }

    /// Logs a change of a port's class, with its queue in bytes.
    pub(super) fn changed(&mut self, now: u64, port: PortId, class: u8, queue: u32, what: Change) {
        if self.changes {
            let change = PortChange {
                at: Time::from_ps(now),
                port: UNNAMED,
                class,
                queue,
                what,
            };
            self.changed.push((port, change));
        }
    }

    /// Logs a rate change.
    pub(super) fn rate(&mut self, now: u64, flow: FlowId, sender: &ReactionPoint) {
        if self.changes {
            self.rates.push(RateChange {
                at: Time::from_ps(now),
                flow: flow.0,
                rate: sender.rate(),
                target: sender.target(),
                alpha: sender.alpha(),
            });
        }
    }

    /// Closes the log at the end of the run. Pauses that still last count until now.
    pub(super) fn close(&mut self, core: &Core) -> TcdNs3Record {
        let ends = |id: PortId| PortEnds {
            node: core.ports[id].node,
            peer: core.peer_node(id),
        };
        let mut ports = std::mem::take(&mut self.ports);
        for (id, port) in ports.numbered_mut() {
            port.port = ends(id);
            let lasting = self.since[id].map_or(0, |since| core.now() - since);
            port.paused = Span::from_ps(port.paused.as_ps() + lasting);
        }
        let changed = std::mem::take(&mut self.changed).into_iter();
        let named = |(port, change): (PortId, PortChange)| PortChange {
            port: ends(port),
            ..change
        };
        TcdNs3Record {
            flows: std::mem::take(&mut self.flows).into(),
            ports: ports.into(),
            changes: changed.map(named).collect(),
            rates: std::mem::take(&mut self.rates),
        }
    }
}
