//! Timers of a flow, and the events that they need from the host's event queue.

use std::fmt;

use paceline_kernel::Time;

/// Index of a timer among those of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerSlot(pub u8);

/// Event that the host schedules for a timer and returns through [`TimerBank::expire`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerEvent {
    /// Timer of the event.
    pub slot: TimerSlot,
    /// Time of the event.
    pub at: Time,
    /// Number of the setting that asked for it: orders simultaneous events of a flow.
    pub generation: u8,
}

/// Result of a timer's event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// The timer expires; it is no longer armed.
    Now,
    /// The timer was meanwhile set to a later time: schedule this event instead.
    Later(TimerEvent),
    /// No timer waits for it.
    Stale,
}

/// Timers of one flow. The host reads [`TimerBank::take_request`] after every callback.
///
/// A timer that is only ever postponed has a single event: if that occurs before the deadline, it is
/// scheduled again. A timer that is set to an earlier time gets a second event, and the old one becomes
/// stale.
#[derive(Clone)]
pub struct TimerBank {
    deadlines: [Time; Self::SLOTS],
    /// Time of the event that serves each timer; [`Time::MAX`] for none.
    pending: [Time; Self::SLOTS],
    generations: [u8; Self::SLOTS],
    armed: u8,
    requests: [u8; Self::SLOTS],
    request_count: u8,
    event_per_setting: bool,
    asked: Requests,
    repaced: bool,
}

/// Requests of a scheme other than timers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests(u8);

impl Requests {
    const DECISION: Self = Self(1);
    const SHARE: Self = Self(1 << 1);
    const COUNT: Self = Self(1 << 2);

    /// Returns true if there is any request.
    pub const fn anything(self) -> bool {
        self.0 != 0
    }

    /// Returns true if it asked for a decision: see [`crate::Ctx::decide`].
    pub const fn decision(self) -> bool {
        self.0 & Self::DECISION.0 != 0
    }

    /// Returns true if it announced a change of shared state: see [`crate::Ctx::share`].
    pub const fn share(self) -> bool {
        self.0 & Self::SHARE.0 != 0
    }

    /// Returns true if it asked to count a trigger: see [`crate::Ctx::count_trigger`].
    pub const fn count(self) -> bool {
        self.0 & Self::COUNT.0 != 0
    }
}

impl fmt::Debug for TimerBank {
    /// Omits the stale deadlines of timers that do not run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timers = (0..Self::SLOTS).map(|slot| {
            let runs = self.armed >> slot & 1 == 1;
            let deadline = runs.then_some(self.deadlines[slot]);
            (deadline, self.pending[slot], self.generations[slot])
        });
        f.debug_list().entries(timers).finish()?;
        let asked = &self.requests[..usize::from(self.request_count)];
        write!(
            f,
            "{asked:?}{:?}{}{}",
            self.asked, self.event_per_setting, self.repaced
        )
    }
}

impl Default for TimerBank {
    fn default() -> Self {
        Self {
            deadlines: [Time::ZERO; Self::SLOTS],
            pending: [Time::MAX; Self::SLOTS],
            generations: [0; Self::SLOTS],
            armed: 0,
            requests: [0; Self::SLOTS],
            request_count: 0,
            event_per_setting: false,
            asked: Requests::default(),
            repaced: false,
        }
    }
}

impl TimerBank {
    /// Number of timers per flow.
    pub const SLOTS: usize = 4;

    /// Creates a bank in which every setting has its own event and only the last setting's event expires the
    /// timer. If simultaneous events run in scheduling order, timers then expire in the order of their
    /// settings.
    pub fn with_event_per_setting() -> Self {
        Self {
            event_per_setting: true,
            ..Self::default()
        }
    }

    /// Sets the timer to `at`, which replaces an earlier setting.
    pub fn arm(&mut self, slot: TimerSlot, at: Time) {
        let i = slot.0 as usize;
        self.generations[i] = self.generations[i].wrapping_add(1);
        self.deadlines[i] = at;
        self.armed |= 1 << i;
        let count = self.request_count as usize;
        match self.requests[..count].iter().position(|&r| r == slot.0) {
            // Armed twice in one callback: the later position in the order counts.
            Some(k) => self.requests[k..count].rotate_left(1),
            None => {
                self.requests[count] = slot.0;
                self.request_count += 1;
            }
        }
    }

    /// Stops the timer; its pending event becomes stale.
    pub fn cancel(&mut self, slot: TimerSlot) {
        self.armed &= !(1 << slot.0);
    }

    /// Returns the next event needed by timers armed since the last call, in the order of arming.
    pub fn take_request(&mut self) -> Option<TimerEvent> {
        while self.request_count > 0 {
            let i = self.requests[0] as usize;
            self.requests.rotate_left(1);
            self.request_count -= 1;
            // An event that is already scheduled at or before the deadline serves the timer as well.
            let unattended = self.event_per_setting || self.deadlines[i] < self.pending[i];
            if self.is_armed(i) && unattended {
                return Some(self.event(i));
            }
        }
        None
    }

    /// Handles a timer's event at `event.at`.
    pub fn expire(&mut self, event: TimerEvent) -> Expiry {
        let i = event.slot.0 as usize;
        let awaited = if self.event_per_setting {
            self.generations[i] == event.generation && self.deadlines[i] == event.at
        } else {
            self.pending[i] == event.at
        };
        if !awaited {
            return Expiry::Stale;
        }
        self.pending[i] = Time::MAX;
        // The timer was cancelled after its event had been scheduled.
        if !self.is_armed(i) {
            return Expiry::Stale;
        }
        // The timer was postponed: one event follows the deadline instead of one event per setting.
        if event.at < self.deadlines[i] {
            return Expiry::Later(self.event(i));
        }
        self.armed &= !(1 << i);
        Expiry::Now
    }

    fn is_armed(&self, i: usize) -> bool {
        self.armed & 1 << i != 0
    }

    /// Returns an event at a timer's deadline, which serves the timer from now on.
    fn event(&mut self, i: usize) -> TimerEvent {
        self.pending[i] = self.deadlines[i];
        TimerEvent {
            slot: TimerSlot(i as u8),
            at: self.deadlines[i],
            generation: self.generations[i],
        }
    }

    /// Returns true if an armed timer or another request has not been taken yet.
    pub const fn has_requests(&self) -> bool {
        self.request_count > 0 || self.asked.anything()
    }

    /// Asks for a decision: see [`crate::Ctx::decide`].
    pub fn ask_decision(&mut self) {
        self.asked.0 |= Requests::DECISION.0;
    }

    /// Announces a change of shared state: see [`crate::Ctx::share`].
    pub fn ask_share(&mut self) {
        self.asked.0 |= Requests::SHARE.0;
    }

    /// Asks to count a trigger: see [`crate::Ctx::count_trigger`].
    pub fn ask_count(&mut self) {
        self.asked.0 |= Requests::COUNT.0;
    }

    /// Reports a recomputed rate: see [`crate::Ctx::recompute_pacing`].
    pub fn ask_repace(&mut self) {
        self.repaced = true;
    }

    /// Returns true if the rate was recomputed since the last call.
    pub const fn take_repace(&mut self) -> bool {
        std::mem::replace(&mut self.repaced, false)
    }

    /// Returns the requests, other than timers, since the last call.
    pub const fn take_asked(&mut self) -> Requests {
        std::mem::replace(&mut self.asked, Requests(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: TimerSlot = TimerSlot(2);

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    /// Sets the timer to `ns` and returns the events that this needs.
    fn arm(bank: &mut TimerBank, ns: u64) -> Vec<TimerEvent> {
        bank.arm(SLOT, at(ns));
        std::iter::from_fn(|| bank.take_request()).collect()
    }

    fn banks() -> [TimerBank; 2] {
        [TimerBank::default(), TimerBank::with_event_per_setting()]
    }

    /// After 256 settings the generation equals that of the first event again.
    #[test]
    fn a_stale_event_never_expires_a_timer_early() {
        for mut bank in banks() {
            let first = arm(&mut bank, 100)[0];
            for setting in 1..=256 {
                arm(&mut bank, 1000 + setting);
            }
            assert_ne!(bank.expire(first), Expiry::Now);
        }
    }

    /// The pattern of a scheme that sets a timeout at every acknowledgement.
    #[test]
    fn a_timer_that_is_put_off_has_one_event() {
        let mut bank = TimerBank::default();
        let first = arm(&mut bank, 100)[0];
        for setting in 1..=1000 {
            assert_eq!(arm(&mut bank, 100 + setting), []);
        }
        let Expiry::Later(second) = bank.expire(first) else {
            panic!("the deadline is later");
        };
        assert_eq!((second.slot, second.at), (SLOT, at(1100)));
        assert_eq!(bank.expire(second), Expiry::Now);
        assert_eq!(bank.expire(second), Expiry::Stale);
    }

    #[test]
    fn an_earlier_deadline_counts() {
        for mut bank in banks() {
            let late = arm(&mut bank, 100)[0];
            let early = arm(&mut bank, 50)[0];
            assert_eq!(early.at, at(50));
            assert_eq!(bank.expire(early), Expiry::Now);
            assert_eq!(bank.expire(late), Expiry::Stale);
        }
    }

    #[test]
    fn what_is_cancelled_does_not_expire() {
        for mut bank in banks() {
            let event = arm(&mut bank, 100)[0];
            bank.cancel(SLOT);
            assert_eq!(bank.expire(event), Expiry::Stale);
            bank.arm(SLOT, at(300));
            bank.cancel(SLOT);
            assert_eq!(bank.take_request(), None);
        }
    }

    /// Set again after it was cancelled, a timer is served by its earlier event.
    #[test]
    fn a_cancelled_timer_that_is_set_again() {
        let mut bank = TimerBank::default();
        let event = arm(&mut bank, 100)[0];
        bank.cancel(SLOT);
        assert_eq!(arm(&mut bank, 100), []);
        assert_eq!(bank.expire(event), Expiry::Now);
    }
}
