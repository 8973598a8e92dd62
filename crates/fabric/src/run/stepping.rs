//! Runs that those outside take part in: at the instants at which senders ask, the run stops, tells which of them
//! wait, and takes what was decided for each. That then takes its time at the NIC, as any decision does.

use paceline_congestion::{Observation, PathInfo, SendLimits};
use paceline_kernel::Span;

use crate::host::Question;
use crate::ids::FlowId;
use crate::run::simulation::Simulation;

impl Simulation {
    /// Who waits for a decision that is made outside the run, in the order in which they asked.
    pub fn questions(&self) -> impl Iterator<Item = Question<'_>> {
        self.hosts.open_decisions()
    }

    /// The flows whose senders wait for a decision that is made outside the run, in the order in which they asked.
    pub fn awaited(&self) -> Vec<u32> {
        self.questions().map(|question| question.flow).collect()
    }

    /// What was decided for `flow`, as of now: computing it begins. Says whether the flow waits for a decision;
    /// if it does not, nothing happens.
    pub fn decide(&mut self, flow: u32, limits: SendLimits) -> bool {
        self.hosts.take_answer(&mut self.core, FlowId(flow), limits)
    }

    /// Who waits is told, in the order in which they asked, and is decided for where `answer` says what; computing it
    /// began when it was asked for, so that what takes a latency takes effect that much later, whenever up to then the
    /// answer comes ([`crate::Until::Due`]).
    pub fn answer(&mut self, answer: impl FnMut(Question<'_>) -> Option<SendLimits>) {
        self.hosts.take_answers(&mut self.core, answer);
    }

    /// What the sender of `flow` tells those outside, and what it knows of its path; nothing of a flow that has not
    /// started, or has ended, or whose scheme decides for itself.
    pub fn report(&self, flow: u32) -> Option<(&Observation, &PathInfo)> {
        self.hosts.report(FlowId(flow))
    }

    /// Whether a flow is under way; of a connection, whether any of its messages is.
    pub fn has_work(&self, flow: u32) -> bool {
        self.hosts.has_work(FlowId(flow))
    }

    /// Until somebody asks who did not before, and from then on for `latency`, that instant not included; without a
    /// latency to the end of the instant.
    pub(super) fn execute_until_due(&mut self, latency: Span) {
        let asked_at = self.execute_until_asked(latency);
        if let Some(asked_at) = asked_at.filter(|_| latency > Span::ZERO) {
            self.execute_before(asked_at.saturating_add(latency.as_ps()));
        }
    }

    /// Until somebody asks who did not before, in steps as long as what is asked may wait: so nothing has to be looked
    /// at after each event. Says when the first asked.
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
