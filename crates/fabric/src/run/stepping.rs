//! Runs that those outside take part in: at the instants at which senders ask, the run stops, tells which of them
//! wait, and takes what was decided for each. That then takes its time at the NIC, as any decision does.

use paceline_congestion::SendLimits;

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

    /// Instant by instant until somebody asks who did not before.
    pub(super) fn execute_until_asked(&mut self) {
        let before = self.hosts.asked_outside();
        while !self.core.is_over() && self.hosts.asked_outside() == before {
            let next = self.core.next_event_at();
            self.execute_until(next.unwrap_or(u64::MAX));
        }
    }
}
