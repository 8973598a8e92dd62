//! Rate, window and round-trip time of the first flows over time.
//!
//! Samples are no events: see [`super::ports`].

use paceline_kernel::{BitRate, Bytes, Span, Time};

use crate::outcome::{FlowPoint, FlowSeries};
use crate::qp::Qp;
use crate::sim::Simulation;
use crate::spec::RunSpec;

/// Points of all flows together, at most: 8 MB.
const POINTS_MAX: usize = 1 << 18;

/// What is recorded of flows; empty when nobody asked.
#[derive(Debug)]
pub(crate) struct FlowRecorder {
    /// When the next sample is due; `u64::MAX` for never.
    due: u64,
    period: u64,
    points_max: usize,
    watched: Vec<Watched>,
    /// Those that have started and not ended.
    live: Vec<u32>,
    /// How many have not ended.
    left: usize,
}

/// A flow that is watched.
#[derive(Debug)]
struct Watched {
    /// Its queue pair, once it has one.
    slot: u32,
    rtt: Span,
    /// Least time between two points.
    gap: u64,
    last: FlowPoint,
    points: Vec<FlowPoint>,
}

impl FlowRecorder {
    pub(crate) fn new(spec: &RunSpec) -> Self {
        let period = spec.record.flow_every.map_or(0, |every| every.as_ps().max(1));
        let count = if period == 0 {
            0
        } else {
            spec.flows.len().min(spec.record.flows_max as usize)
        };
        let nothing = FlowPoint {
            at: Time::ZERO,
            rate: BitRate::from_bps(0),
            window: Bytes::ZERO,
            rtt: Span::ZERO,
        };
        let watched = |_| Watched {
            slot: u32::MAX,
            rtt: Span::ZERO,
            gap: period,
            last: nothing,
            points: Vec::new(),
        };
        Self {
            due: match spec.flows.first() {
                Some(first) if count > 0 => (first.start.as_ps() / period + 1).saturating_mul(period),
                _ => u64::MAX,
            },
            period,
            points_max: (POINTS_MAX / count.max(1)).clamp(16, FlowSeries::POINTS_MAX),
            watched: (0..count).map(watched).collect(),
            live: Vec::with_capacity(count),
            left: count,
        }
    }

    /// Whether there are flows to watch.
    pub(super) fn is_on(&self) -> bool {
        !self.watched.is_empty()
    }

    pub(super) fn due(&self) -> u64 {
        self.due
    }

    /// A flow begins, in queue pair `slot`.
    pub(crate) fn started(&mut self, slot: u32, qp: &Qp, now: u64) {
        if let Some(watched) = self.watched.get_mut(qp.flow as usize) {
            watched.slot = slot;
            watched.points.reserve_exact(self.points_max);
            watched.note(now, qp, self.points_max);
            self.live.push(qp.flow);
        }
    }

    /// An acknowledgement of a flow came back.
    fn heard(&mut self, flow: u32, rtt: u64) {
        if let Some(watched) = self.watched.get_mut(flow as usize) {
            watched.rtt = Span::from_ps(rtt);
        }
    }

    /// Takes the sample that is due before the event at `at`: all that are due see the same.
    pub(super) fn sample(&mut self, at: u64, qps: &[Qp]) {
        let Self { watched, live, .. } = self;
        live.retain(|&flow| {
            let watched = &mut watched[flow as usize];
            let qp = &qps[watched.slot as usize];
            let ended = qp.done || qp.flow != flow;
            if !ended && watched.last.at.as_ps() + watched.gap <= self.due {
                watched.note(self.due, qp, self.points_max);
            }
            self.left -= usize::from(ended);
            !ended
        });
        self.due = if self.left == 0 {
            u64::MAX
        } else {
            (at / self.period + 1).saturating_mul(self.period)
        };
    }

    /// What has been recorded.
    pub(crate) fn finish(self) -> Vec<FlowSeries> {
        let started = (0..)
            .zip(self.watched)
            .filter(|(_, watched)| !watched.points.is_empty());
        let series = started.map(|(flow, watched)| FlowSeries {
            flow,
            points: watched.points,
        });
        series.collect()
    }
}

impl Watched {
    fn note(&mut self, now: u64, qp: &Qp, points_max: usize) {
        let point = FlowPoint {
            at: Time::from_ps(now),
            rate: qp.rate,
            window: Bytes::new(qp.window),
            rtt: self.rtt,
        };
        if point.repeats(&self.last) {
            return;
        }
        self.last = point;
        if self.points.len() == points_max {
            self.thin();
        }
        self.points.push(point);
    }

    /// One more point is too many: every second one goes, and from now on they come half as often.
    fn thin(&mut self) {
        self.gap = self.gap.saturating_mul(2);
        let mut index = 0;
        self.points.retain(|_| {
            index += 1;
            index % 2 == 1
        });
    }
}

impl Simulation {
    /// What the recorders that follow flows want of an acknowledgement.
    pub(crate) fn record_flow(&mut self, slot: u32, rtt: u64, newly_acked: u64) {
        let flow = self.qps[slot as usize].flow;
        self.recorder.flows.heard(flow, rtt);
        if newly_acked > 0 && self.spec.record.rate_every.is_some() {
            self.recorder.record_rate(flow, self.now, newly_acked);
        }
    }
}
