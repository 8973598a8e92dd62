//! Recording of steps and of message starts.

use paceline_fabric::model::FlowId;
use paceline_kernel::Time;
use paceline_kernel::ids::Id;

use crate::ib_omnet::outcome::CreditEvent;

/// Recorded steps, and the times at which first packets reached their arbiters.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    windows: Vec<(Time, Time)>,
    /// True if steps or packets are recorded at all.
    on: bool,
    /// True if waits for credits are recorded.
    waits: bool,
    steps: Vec<CreditEvent>,
    injected: Vec<Option<Time>>,
}

impl Record {
    pub(super) fn new(windows: Vec<(Time, Time)>, traces: bool, waits: bool, flows: usize) -> Self {
        Self {
            on: traces || !windows.is_empty(),
            windows,
            waits,
            steps: Vec::new(),
            injected: vec![None; flows],
        }
    }

    /// Returns true if steps or packets are recorded at all.
    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Returns true if waits for credits are recorded.
    #[inline(always)]
    pub(super) fn tells_waits(&self) -> bool {
        self.waits
    }

    /// Records the arrival of a flow's first packet at its arbiter.
    pub(super) fn injected(&mut self, flow: FlowId, at: Time) {
        self.injected[flow.index()] = Some(at);
    }

    /// Records a step, if it is within a window.
    pub(super) fn write(&mut self, step: CreditEvent) {
        let is_within = |(from, to): &(Time, Time)| (*from..=*to).contains(&step.at);
        if self.windows.iter().any(is_within) {
            self.steps.push(step);
        }
    }

    /// Moves the records out at the end of the run.
    pub(super) fn take(&mut self) -> (Vec<Option<Time>>, Vec<CreditEvent>) {
        (
            std::mem::take(&mut self.injected),
            std::mem::take(&mut self.steps),
        )
    }
}
