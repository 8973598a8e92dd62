//! Rate, window and round-trip time of the first flows over time.
//!
//! Samples are no events: see [`super::ports`].

mod senders;

use crate::ids::{FlowId, QpId};
use paceline_kernel::ids::{Id, List};
use paceline_run::outcome::{Binned, FlowSeries, Room};
use paceline_run::spec::RunSpec;

/// Bins of all flows' series together, at most: 10 MB.
const BINS_MAX: usize = 1 << 18;

/// What is recorded of flows; empty when nobody asked.
#[derive(Clone, Debug)]
pub(crate) struct FlowRecorder {
    /// When the next sample is due; `u64::MAX` for never.
    due: u64,
    period: u64,
    room: Room,
    /// Bins that a series has memory for from the beginning.
    reserved: usize,
    watched: List<FlowId, Watched>,
    /// Those that have started and not ended.
    live: Vec<FlowId>,
    /// How many have not ended.
    left: usize,
}

/// A flow that is watched.
#[derive(Clone, Debug)]
struct Watched {
    /// Its queue pair, once it has one.
    slot: QpId,
    /// The last round-trip time, in ps; 0 before the first.
    last_rtt: u64,
    rate: Option<Binned>,
    window: Option<Binned>,
    rtt: Option<Binned>,
}

impl FlowRecorder {
    pub(in crate::watch) fn new(spec: &RunSpec) -> Self {
        let period = spec.record.flow_every.map_or(0, |every| every.as_ps().max(1));
        let count = if period == 0 {
            0
        } else {
            spec.flow_count().min(spec.record.flows_max as usize)
        };
        let watched = |_| Watched {
            slot: QpId::NONE,
            last_rtt: 0,
            rate: None,
            window: None,
            rtt: None,
        };
        Self {
            due: match spec.first_start() {
                Some(first) if count > 0 => (first.as_ps() / period + 1).saturating_mul(period),
                _ => u64::MAX,
            },
            period,
            room: Room::new(BINS_MAX, 3 * count),
            reserved: (BINS_MAX / (3 * count.max(1))).clamp(16, Binned::BINS_MAX),
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

    /// An acknowledgement of a flow came back.
    pub(super) fn heard(&mut self, flow: FlowId, rtt: u64) {
        if let Some(watched) = self.watched.get_mut(flow) {
            watched.last_rtt = rtt;
        }
    }

    /// There are too many bins: the longest series get wider ones.
    #[cold]
    fn thin(&mut self) {
        let all = self.watched.iter_mut().flat_map(Watched::series);
        self.room.thin(all.collect());
    }

    /// Adds what has been recorded in another part of the network, where other flows began.
    pub(super) fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.watched.iter_mut().zip(other.watched) {
            if theirs.rate.is_some() {
                *mine = theirs;
            }
        }
        self.live.extend(other.live);
        let all = self.watched.iter_mut().flat_map(Watched::series);
        self.room.merge(&other.room, all.collect());
    }

    /// What has been recorded until `now`.
    pub(crate) fn finish(mut self, now: u64) -> Vec<FlowSeries> {
        for &flow in &self.live {
            self.watched[flow].finish(now / self.period + 1);
        }
        if self.room.is_exceeded() {
            self.thin();
        }
        let nothing = |series: Option<Binned>| series.unwrap_or_else(|| Binned::new(0, self.period, 0, 0));
        let started = (0..)
            .zip(self.watched)
            .filter(|(_, watched)| watched.rate.is_some());
        let series = started.map(|(flow, watched)| FlowSeries {
            flow,
            rate: nothing(watched.rate),
            window: nothing(watched.window),
            rtt: nothing(watched.rtt),
        });
        series.collect()
    }
}

impl Watched {
    /// Sample `end` is not taken, and none after.
    fn finish(&mut self, end: u64) {
        self.series().for_each(|series| series.finish(end));
    }

    fn series(&mut self) -> impl Iterator<Item = &mut Binned> {
        [&mut self.rate, &mut self.window, &mut self.rtt]
            .into_iter()
            .flatten()
    }
}
