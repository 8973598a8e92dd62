//! Runs that those outside take part in: at the instants at which senders ask, the run stops, tells which of them
//! wait, and takes what was decided for each. That then takes its time at the NIC, as any decision does.

use paceline_congestion::{PathInfo, Report, SendLimits};
use paceline_kernel::Span;

use crate::ids::FlowId;
use crate::run::simulation::Simulation;

impl Simulation {
    /// The flows whose senders wait for a decision that is made outside the run, in the order in which they asked.
    pub fn awaited(&self) -> Vec<u32> {
        self.hosts.open_decisions().map(|flow| flow.0).collect()
    }

    /// What was decided for `flow`, as of now: computing it begins. Says whether the flow waits for a decision;
    /// if it does not, nothing happens.
    pub fn decide(&mut self, flow: u32, limits: SendLimits) -> bool {
        self.hosts.take_answer(&mut self.core, FlowId(flow), limits)
    }

    /// Who waits is told, in the order in which they asked, and is decided for where `answer` says what; computing it
    /// began when it was asked for, so that what takes a latency takes effect that much later, whenever up to then the
    /// answer comes ([`crate::Until::Due`]).
    pub fn answer(&mut self, mut answer: impl FnMut(u32) -> Option<SendLimits>) {
        self.hosts.take_answers(&mut self.core, |flow| answer(flow.0));
    }

    /// What the sender of `flow` tells those outside, and what it knows of its path; nothing of a flow that has not
    /// begun, or has ended, or whose scheme decides for itself.
    pub fn report(&self, flow: u32) -> Option<(&Report, &PathInfo)> {
        self.hosts.report(FlowId(flow))
    }

    /// Until somebody asks who did not before, and from then on for `latency`, that instant not included.
    pub(super) fn execute_until_due(&mut self, latency: Span) {
        self.execute_until_asked();
        if latency > Span::ZERO && !self.core.is_over() {
            let due = self.core.now().saturating_add(latency.as_ps());
            self.execute_before(due);
        }
    }

    /// Instant by instant until somebody asks who did not before.
    pub(super) fn execute_until_asked(&mut self) {
        let before = self.hosts.asked_outside();
        while !self.core.is_over() && self.hosts.asked_outside() == before {
            let next = self.core.next_event_at();
            self.execute_until(next.unwrap_or(u64::MAX));
        }
    }
}
