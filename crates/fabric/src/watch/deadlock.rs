//! What the search for endless pauses ([`crate::run::deadlock`]) has seen so far.

use paceline_run::outcome::Deadlock;
use paceline_run::spec::RunSpec;

/// Pauses that have lasted for less, in ps, are not looked at before the end: 1 ms.
pub(crate) const LONG: u64 = 1_000_000_000;

/// What the search for endless pauses has seen so far.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) found: Option<Deadlock>,
    /// When the next look is due, and the time between two.
    pub(crate) due: u64,
    every: u64,
    /// By how much the run is ahead of the clock, in ps.
    ahead: u64,
    /// Data packets received at the last look.
    pub(crate) received: u64,
}

impl Watch {
    /// Looks are as far from each other as the longest retransmission timeout.
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

    /// The next look is due after `at`.
    pub(crate) const fn next_after(&mut self, at: u64) {
        let in_run = at + self.ahead;
        self.due = (in_run / self.every + 1).saturating_mul(self.every) - self.ahead;
    }

    /// The run is so much ahead of the clock from here on, and much has happened.
    pub(crate) const fn move_on(&mut self, at: u64, ahead: u64) {
        self.ahead = ahead;
        self.received = u64::MAX;
        self.next_after(at);
    }

    /// There was a look before the event at `at`, and nothing to be seen.
    pub(crate) fn nothing_found(&mut self, at: u64) {
        self.found = None;
        self.next_after(at);
    }
}
