//! State of the search for deadlocks ([`crate::run::deadlock`]).

use paceline_run::outcome::Deadlock;
use paceline_run::spec::RunSpec;

/// Shortest pause, in ps, that is examined before the end of the run: 1 ms.
pub(crate) const LONG: u64 = 1_000_000_000;

/// State of the search for deadlocks.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) found: Option<Deadlock>,
    /// Time of the next search, and the interval between two, in ps.
    pub(crate) due: u64,
    every: u64,
    /// Lead of the run over the network's clock, in ps.
    ahead: u64,
    /// Data packets received at the last search.
    pub(crate) received: u64,
}

impl Watch {
    /// Creates the state. The interval is the longest retransmission timeout, or a wait for that could look like a
    /// deadlock.
    pub(super) fn of(spec: &RunSpec) -> Self {
        let patience = spec.nic.recovery.longest_timeout(&spec.nic);
        let every = patience.unwrap_or(0).max(LONG);
        Self {
            found: None,
            due: every,
            every,
            ahead: 0,
            received: 0,
        }
    }

    pub(crate) const fn due(&self) -> u64 {
        self.due
    }

    /// Schedules the next search, after `at`.
    pub(crate) const fn next_after(&mut self, at: u64) {
        let in_run = at + self.ahead;
        self.due = (in_run / self.every + 1).saturating_mul(self.every) - self.ahead;
    }

    /// Notes that the run's lead over the clock has changed, and that data has arrived meanwhile.
    pub(crate) const fn move_on(&mut self, at: u64, ahead: u64) {
        self.ahead = ahead;
        self.received = u64::MAX;
        self.next_after(at);
    }
}
