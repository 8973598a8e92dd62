//! Runs with decisions from outside: the run stops at the instants at which senders ask, reports the senders that wait,
//! and takes the decisions for each. These then take their time at the NIC, like any decision.

use paceline_congestion::{Observation, PathInfo, SendLimits};
use paceline_kernel::Span;

use crate::host::Question;
use crate::ids::FlowId;
use crate::run::simulation::Simulation;

impl Simulation {
    /// Returns the open questions to those outside the run, in the order in which they were asked.
    pub fn questions(&self) -> impl Iterator<Item = Question<'_>> {
        self.hosts.open_decisions()
    }

    /// Returns the flows whose senders wait for a decision from outside the run, in the order in which they asked.
    pub fn awaited(&self) -> Vec<u32> {
        self.questions().map(|question| question.flow).collect()
    }

    /// Decides for `flow`, as of now: computing the decision starts. Returns false, and does nothing, if the flow does
    /// not wait for a decision.
    pub fn decide(&mut self, flow: u32, limits: SendLimits) -> bool {
        self.hosts.take_answer(&mut self.core, FlowId(flow), limits)
    }

    /// Answers the open questions, in the order in which they were asked, where `answer` returns limits. Computing
    /// started when the question was asked, so a decision takes effect its latency after that, no matter when the
    /// answer comes before that ([`crate::Until::Due`]).
    pub fn answer(&mut self, answer: impl FnMut(Question<'_>) -> Option<SendLimits>) {
        self.hosts.take_answers(&mut self.core, answer);
    }

    /// Returns the observation that the sender of `flow` reports, and its path; `None` for a flow that has not started,
    /// has ended, or decides for itself.
    pub fn report(&self, flow: u32) -> Option<(&Observation, &PathInfo)> {
        self.hosts.report(FlowId(flow))
    }

    /// Returns true if a flow is under way; for a connection, if any of its messages is.
    pub fn has_work(&self, flow: u32) -> bool {
        self.hosts.has_work(FlowId(flow))
    }

    /// Runs until a new question is asked, and from then on for `latency`, excluding the instant at its end; without a
    /// latency to the end of the instant.
    pub(super) fn execute_until_due(&mut self, latency: Span) {
        let asked_at = self.execute_until_asked(latency);
        if let Some(asked_at) = asked_at.filter(|_| latency > Span::ZERO) {
            self.execute_before(asked_at.saturating_add(latency.as_ps()));
        }
    }

    /// Runs until a new question is asked, in steps as long as a question may wait, so that no check is needed after
    /// each event. Returns the time of the first question.
    fn execute_until_asked(&mut self, patience: Span) -> Option<u64> {
        let before = self.hosts.asked_outside();
        while !self.core.is_over() {
            let next = self.core.next_event_at().unwrap_or(u64::MAX);
            match patience {
                Span::ZERO => self.execute_until(next),
                patience => self.execute_before(next.saturating_add(patience.as_ps())),
            }
            let asked_at = self.hosts.asked_after(before);
            if asked_at.is_some() {
                return asked_at;
            }
        }
        None
    }
}
