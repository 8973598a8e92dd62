//! Samples of senders for the flow series.

use super::{FlowRecorder, Watched};
use crate::host::Qp;
use crate::ids::QpId;
use paceline_kernel::ids::List;
use paceline_run::outcome::{Binned, Room};

impl FlowRecorder {
    /// Notes that a flow starts in queue pair `slot`.
    pub(crate) fn started(&mut self, slot: QpId, qp: &Qp, now: u64) {
        if let Some(watched) = self.watched.get_mut(qp.flow()) {
            watched.slot = slot;
            watched.sample(now, self.period, qp, &mut self.room, self.reserved);
            self.live.push(qp.flow());
        }
    }

    /// Takes the sample that is due before the event at `at`, if one is.
    pub(crate) fn sample_until(&mut self, at: u64, qps: &List<QpId, Qp>) {
        if self.due <= at {
            self.sample(at, qps);
        }
    }

    /// Takes the sample that is due before the event at `at`. If several are due, all see the same state, so one
    /// suffices.
    pub(super) fn sample(&mut self, at: u64, qps: &List<QpId, Qp>) {
        let Self { watched, live, .. } = self;
        live.retain(|&flow| {
            let watched = &mut watched[flow];
            let qp = &qps[watched.slot];
            // The queue pair may have another flow by now.
            let ended = qp.is_done() || qp.flow() != flow;
            if ended {
                self.left -= 1;
                watched.finish(self.due / self.period);
            } else {
                watched.sample(self.due, self.period, qp, &mut self.room, self.reserved);
            }
            !ended
        });
        if self.room.is_exceeded() {
            self.thin();
        }
        self.due = if self.left == 0 {
            u64::MAX
        } else {
            (at / self.period + 1).saturating_mul(self.period)
        };
    }
}

impl Watched {
    /// Samples the sender at `now`.
    fn sample(&mut self, now: u64, period: u64, qp: &Qp, room: &mut Room, reserved: usize) {
        let number = now / period;
        let mut take = |series: &mut Option<Binned>, value: u64| {
            let series = series.get_or_insert_with(|| {
                let mut series = Binned::new(0, period, number, now);
                series.reserve(reserved);
                series
            });
            room.sample(series, number, value);
        };
        take(&mut self.rate, qp.rate().as_bps());
        if qp.window() != u64::MAX {
            take(&mut self.window, qp.window());
        }
        if self.last_rtt > 0 {
            take(&mut self.rtt, self.last_rtt);
        }
    }
}
