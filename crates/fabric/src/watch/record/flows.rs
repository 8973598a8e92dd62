//! Rate, window and round-trip time of the first flows over time.
//!
//! Samples are no events: see [`super::ports`].

mod senders;

use crate::ids::{FlowId, QpId};
use paceline_kernel::ids::{Id, List};
use paceline_run::outcome::{Binned, FlowSeries, Room};
use paceline_run::spec::RunSpec;
use serde::{Deserialize, Serialize};

/// Upper limit of the bins of all flows' series together: 10 MB.
const BINS_MAX: usize = 1 << 18;

/// Recorder of flows; empty if it is not requested.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FlowRecorder {
    /// Time of the next sample, in ps; `u64::MAX` for none.
    due: u64,
    period: u64,
    room: Room,
    /// Number of bins that a series has memory for from the start.
    reserved: usize,
    watched: List<FlowId, Watched>,
    /// Watched flows that have started and not ended.
    live: Vec<FlowId>,
    /// Number of watched flows that have not ended.
    left: usize,
}

/// A flow that is recorded.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Watched {
    /// Queue pair of the flow; `QpId::NONE` before it starts.
    slot: QpId,
    /// Last round-trip time, in ps; 0 before the first.
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

    /// Returns true if flows are recorded.
    pub(super) fn is_on(&self) -> bool {
        !self.watched.is_empty()
    }

    pub(super) fn due(&self) -> u64 {
        self.due
    }

    /// Notes the round-trip time of an acknowledgement.
    pub(super) fn heard(&mut self, flow: FlowId, rtt: u64) {
        if let Some(watched) = self.watched.get_mut(flow) {
            watched.last_rtt = rtt;
        }
    }

    /// Makes the bins of the longest series wider, because there are too many.
    #[cold]
    fn thin(&mut self) {
        let all = self.watched.iter_mut().flat_map(Watched::series);
        self.room.thin(all.collect());
    }

    /// Adds the records of another part of the network, where other flows start.
    pub(super) fn merge(&mut self, other: Self) {
        for (mine, theirs) in self.watched.iter_mut().zip(other.watched) {
            // A flow starts in one part only.
            if theirs.rate.is_some() {
                *mine = theirs;
            }
        }
        self.live.extend(other.live);
        let all = self.watched.iter_mut().flat_map(Watched::series);
        self.room.merge(&other.room, all.collect());
    }

    /// Ends the recorder at `now`, and returns the series.
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
    /// Ends all series before sample `end`.
    fn finish(&mut self, end: u64) {
        self.series().for_each(|series| series.finish(end));
    }

    fn series(&mut self) -> impl Iterator<Item = &mut Binned> {
        [&mut self.rate, &mut self.window, &mut self.rtt]
            .into_iter()
            .flatten()
    }
}
