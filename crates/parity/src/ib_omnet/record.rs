//! What is written down: totals always, single steps while they are traced.

use paceline_fabric::model::FlowId;
use paceline_kernel::Time;
use paceline_kernel::ids::Id;

use crate::ib_omnet::outcome::CreditEvent;

/// Steps, and when messages were started with.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    windows: Vec<(Time, Time)>,
    /// Whether steps or packets are written down at all.
    on: bool,
    /// Whether it is to be told when ports wait for credits.
    waits: bool,
    steps: Vec<CreditEvent>,
    injected: Vec<Option<Time>>,
}

impl Record {
    pub(super) fn new(windows: Vec<(Time, Time)>, (traces, waits): (bool, bool), flows: usize) -> Self {
        Self {
            on: traces || !windows.is_empty(),
            windows,
            waits,
            steps: Vec::new(),
            injected: vec![None; flows],
        }
    }

    /// Whether steps or packets are written down at all.
    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// Whether it is to be told when ports wait for credits.
    #[inline(always)]
    pub(super) fn tells_waits(&self) -> bool {
        self.waits
    }

    /// The first packet of a flow comes to its arbiter.
    pub(super) fn injected(&mut self, flow: FlowId, at: Time) {
        self.injected[flow.index()] = Some(at);
    }

    /// A step happens.
    pub(super) fn write(&mut self, step: CreditEvent) {
        let is_within = |(from, to): &(Time, Time)| (*from..=*to).contains(&step.at);
        if self.windows.iter().any(is_within) {
            self.steps.push(step);
        }
    }

    /// The run is over.
    pub(super) fn take(&mut self) -> (Vec<Option<Time>>, Vec<CreditEvent>) {
        (
            std::mem::take(&mut self.injected),
            std::mem::take(&mut self.steps),
        )
    }
}
