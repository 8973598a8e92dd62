//! A sender's time while its flow runs: what it waited for, up to when.

use paceline_kernel::Span;
use paceline_kernel::ids::Id;

use crate::ids::{AccountId, FlowId};
use paceline_run::outcome::account::SenderTime;

/// The account of a sender.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// `FlowId::NONE` before the flow starts.
    pub(super) flow: FlowId,
    /// Of a message, the account of its connection, whose time when it was posted is `time`; `AccountId::NONE` of a queue
    /// pair.
    pub(super) within: AccountId,
    /// Bytes of the packets whose way is known ([`super::paths`]); 0 before.
    pub(super) known_wire: u16,
    /// Whether the flow has completed: its account is closed.
    pub(super) is_complete: bool,
    /// Whether its latest transmission sent old bytes.
    again: bool,
    /// Up to here its time is accounted for: ahead of the clock while it puts a packet on the wire.
    pub(super) until: u64,
    /// Of `time.window`, what there was since the last progress.
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

    /// Of a message that is posted now to the connection of account `within`, whose sender this is.
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

    /// Whether its flow goes on.
    pub(super) fn is_open(&self) -> bool {
        self.has_started() && !self.is_complete
    }

    /// The time up to now, which from here on is accounted for.
    #[inline]
    pub(super) fn pass(&mut self, now: u64) -> Span {
        Span::from_ps(now - std::mem::replace(&mut self.until, now))
    }

    /// Pacing held the sender back up to `end`.
    #[inline]
    pub(super) fn settle_pacing(&mut self, end: u64) {
        if end > self.until {
            let waited = self.pass(end);
            self.time.pacing += waited;
        }
    }

    /// A packet is on the wire until `sent`, with bytes that have been sent before or not.
    #[inline]
    pub(super) fn send(&mut self, sent: u64, again: bool) {
        self.again = again;
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

    /// Its time until now, to which it is accounted for: a transmission that lasts (the path begins at another port
    /// now, or the run is over) counts up to here.
    #[inline]
    pub(super) fn time_until(&mut self, now: u64) -> &SenderTime {
        if self.until > now {
            self.cut(now);
        }
        &self.time
    }

    /// The same without a change: what is on the wire goes on.
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

    /// What it waited since the last progress was waiting for a timeout.
    pub(super) fn time_out(&mut self) {
        let stalled = std::mem::take(&mut self.stalled);
        self.time.window = self.time.window - stalled;
        self.time.recovery += stalled;
    }
}
