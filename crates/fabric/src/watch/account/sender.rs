//! A sender's time while its flow runs: what it waited for, and until when.

use paceline_kernel::Span;
use paceline_kernel::ids::Id;
use serde::{Deserialize, Serialize};

use crate::ids::{AccountId, FlowId};
use paceline_run::outcome::account::SenderTime;

/// Account of a sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sender {
    /// Flow; `FlowId::NONE` before it starts.
    pub(super) flow: FlowId,
    /// For a message, the account of its connection, whose time at the posting is in `time`; `AccountId::NONE` for a
    /// queue pair.
    pub(super) within: AccountId,
    /// Size of the packets whose path is known ([`super::paths`]), in bytes; 0 if none is.
    pub(super) known_wire: u16,
    /// True if the flow has completed, so that its account is closed.
    pub(super) is_complete: bool,
    /// True if the latest transmission was a retransmission.
    again: bool,
    /// End of the time that is accounted for, in ps: ahead of the clock during a transmission.
    pub(super) until: u64,
    /// The part of `time.window` since the last progress.
    pub(super) stalled: Span,
    pub(super) time: SenderTime,
}

impl Sender {
    pub(super) const NOT_STARTED: Self = Self::new(FlowId::NONE, 0);

    pub(super) const fn new(flow: FlowId, now: u64) -> Self {
        Self {
            flow,
            within: AccountId::NONE,
            known_wire: 0,
            is_complete: false,
            again: false,
            until: now,
            stalled: Span::ZERO,
            time: SenderTime::NONE,
        }
    }

    /// Returns the account of a message that is posted now to the connection of account `within`, whose sender this is.
    pub(super) fn of_message(&self, flow: FlowId, within: AccountId, now: u64) -> Self {
        Self {
            within,
            known_wire: self.known_wire,
            time: self.time_at(now),
            ..Self::new(flow, now)
        }
    }

    pub(super) fn has_started(&self) -> bool {
        self.flow != FlowId::NONE
    }

    /// Returns true if the flow has started and is not complete.
    pub(super) fn is_open(&self) -> bool {
        self.has_started() && !self.is_complete
    }

    /// Returns the time since `until`, which is moved to `now`.
    #[inline]
    pub(super) fn pass(&mut self, now: u64) -> Span {
        Span::from_ps(now - std::mem::replace(&mut self.until, now))
    }

    /// Accounts for pacing up to `end`.
    #[inline]
    pub(super) fn settle_pacing(&mut self, end: u64) {
        if end > self.until {
            let waited = self.pass(end);
            self.time.pacing += waited;
        }
    }

    /// Accounts for a transmission that lasts until `sent`. `again` if its bytes were sent before.
    #[inline]
    pub(super) fn send(&mut self, sent: u64, again: bool) {
        self.again = again;
        // Counted in advance; if the transmission is cut off, `cut` takes the rest back.
        let now = std::mem::replace(&mut self.until, sent);
        *self.sending() += Span::from_ps(sent - now);
    }

    #[inline]
    fn sending(&mut self) -> &mut Span {
        match self.again {
            true => &mut self.time.resending,
            false => &mut self.time.sending,
        }
    }

    /// Returns the time until now, and cuts a transmission in progress off here (the path starts at another port now,
    /// or the run is over).
    #[inline]
    pub(super) fn time_until(&mut self, now: u64) -> &SenderTime {
        if self.until > now {
            self.cut(now);
        }
        &self.time
    }

    /// Returns the time until now, and leaves a transmission in progress as it is.
    pub(super) fn time_at(&self, now: u64) -> SenderTime {
        let mut sender = self.clone();
        *sender.time_until(now)
    }

    #[cold]
    fn cut(&mut self, now: u64) {
        let beyond = Span::from_ps(self.until - now);
        let sending = self.sending();
        *sending = *sending - beyond;
        self.until = now;
    }

    /// Accounts the wait since the last progress as recovery, since a timeout has ended it.
    pub(super) fn time_out(&mut self) {
        let stalled = std::mem::take(&mut self.stalled);
        self.time.window = self.time.window - stalled;
        self.time.recovery += stalled;
    }
}
