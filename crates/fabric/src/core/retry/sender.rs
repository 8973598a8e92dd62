//! The sending half of link-level retry: the replay buffer, its timers, and what may be sent.

use std::collections::VecDeque;

use paceline_run::spec::LinkRetry;

/// Returns the number nearest to `near` whose low bits are `low`.
pub(super) fn whole(near: u64, low: u32) -> u64 {
    const NUMBERS: u64 = LinkRetry::NUMBERS as u64;
    let ahead = (u64::from(low).wrapping_sub(near)) % NUMBERS;
    // What lies more than half of the numbers ahead lies behind.
    match ahead < NUMBERS / 2 {
        true => near + ahead,
        false => (near + ahead).saturating_sub(NUMBERS),
    }
}

/// State of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// Asks the other end to begin with the number of its next frame.
    Init,
    /// Numbers, stores and sends frames.
    Advance,
    /// Sends all outstanding frames again; the next is this one.
    Replay(u64),
    /// Has given up its frames, for good.
    Flushed,
}

/// A frame in the replay buffer.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    wire: u16,
    /// Start of its first transmission, in ps.
    sent_at: u64,
}

/// Action that the end of a timer asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    Nothing,
    Replay,
    GivesUp,
    AsksAgain,
}

/// Sender of one port.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) state: Sending,
    /// Number of the oldest outstanding frame, and of the next new one.
    base: u64,
    next: u64,
    outstanding: VecDeque<Outstanding>,
    bytes: u64,
    /// Replays since the last progress.
    replays: u8,
    /// End of the replay timer or of the wait for an answer to `Init`, in ps; `u64::MAX` while none runs.
    timer: u64,
}

impl Sender {
    pub(super) const fn new() -> Self {
        Self {
            state: Sending::Advance,
            base: 0,
            next: 0,
            outstanding: VecDeque::new(),
            bytes: 0,
            replays: 0,
            timer: u64::MAX,
        }
    }

    pub(super) fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Returns the number of the next new frame.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Returns true if a frame of up to `longest` bytes may be numbered and sent.
    pub(super) fn has_room(&self, limits: &LinkRetry, longest: u16) -> bool {
        self.state == Sending::Advance
            && self.outstanding.len() < limits.frames as usize
            && self.bytes + u64::from(longest) <= limits.bytes.get()
    }

    /// Stores a new frame whose transmission starts now.
    pub(super) fn store(&mut self, limits: &LinkRetry, now: u64, wire: u16) {
        if self.outstanding.is_empty() {
            self.timer = now.saturating_add(limits.timer.as_ps());
        }
        self.next += 1;
        self.bytes += u64::from(wire);
        self.outstanding.push_back(Outstanding { wire, sent_at: now });
    }

    /// Takes in the number of the last frame that has arrived. Returns `None` if no frame with it can have been sent,
    /// and otherwise true if it brings progress.
    pub(super) fn acknowledge(&mut self, limits: &LinkRetry, now: u64, last: u32) -> Option<bool> {
        // The number before the first is that of no frame.
        let after = whole(self.base, last.wrapping_add(1) % LinkRetry::NUMBERS);
        if after > self.next {
            return None;
        }
        if after <= self.base {
            return Some(false);
        }
        for frame in self.outstanding.drain(..(after - self.base) as usize) {
            self.bytes -= u64::from(frame.wire);
        }
        self.base = after;
        self.replays = 0;
        match &mut self.state {
            Sending::Replay(at) => *at = after.max(*at),
            _ => self.start_timer(limits, now),
        }
        Some(true)
    }

    fn start_timer(&mut self, limits: &LinkRetry, now: u64) {
        self.timer = match self.outstanding.is_empty() {
            true => u64::MAX,
            false => now.saturating_add(limits.timer.as_ps()),
        };
    }

    /// Begins to send all outstanding frames again.
    pub(super) fn replay(&mut self) {
        self.state = Sending::Replay(self.base);
        self.timer = u64::MAX;
    }

    /// Returns number and size of the next frame to send again; ends the replay if there is none.
    pub(super) fn next_again(&mut self, limits: &LinkRetry, now: u64) -> Option<(u64, u16)> {
        let Sending::Replay(at) = self.state else {
            return None;
        };
        let Some(frame) = self.outstanding.get((at - self.base) as usize) else {
            self.state = Sending::Advance;
            self.start_timer(limits, now);
            return None;
        };
        self.state = Sending::Replay(at + 1);
        Some((at, frame.wire))
    }

    /// Returns the next time at which something expires, in ps; `u64::MAX` for never.
    pub(super) fn deadline(&self, limits: &LinkRetry) -> u64 {
        let oldest = self.outstanding.front();
        let aged = oldest.map_or(u64::MAX, |frame| {
            frame.sent_at.saturating_add(limits.data_age.as_ps())
        });
        self.timer.min(aged)
    }

    /// Handles the end of a timer.
    pub(super) fn expire(&mut self, limits: &LinkRetry, now: u64) -> Expired {
        if self.state == Sending::Init {
            return match self.timer <= now {
                true => Expired::AsksAgain,
                false => Expired::Nothing,
            };
        }
        let is_aged = self.deadline(limits) < self.timer && self.deadline(limits) <= now;
        let limited = limits.count != LinkRetry::NO_LIMIT && self.replays >= limits.count;
        match self.timer <= now {
            _ if is_aged => Expired::GivesUp,
            true if limited => Expired::GivesUp,
            true => {
                self.replays = self.replays.saturating_add(1);
                Expired::Replay
            }
            false => Expired::Nothing,
        }
    }

    /// Gives up all outstanding frames. Returns their number.
    pub(super) fn give_up(&mut self, limits: &LinkRetry) -> u64 {
        let lost = self.outstanding.len() as u64;
        self.outstanding.clear();
        (self.base, self.bytes, self.replays) = (self.next, 0, 0);
        self.timer = u64::MAX;
        self.state = match limits.reinit {
            true => Sending::Init,
            false => Sending::Flushed,
        };
        lost
    }

    /// Starts the wait for an answer to `Init`.
    pub(super) fn asks(&mut self, limits: &LinkRetry, now: u64) {
        self.timer = now.saturating_add(limits.timer.as_ps());
    }

    /// Takes in an answer to `Init`. Returns true if frames may be sent now.
    pub(super) fn answered(&mut self, number: u32) -> bool {
        let fits = self.state == Sending::Init && whole(self.next, number) == self.next;
        if fits {
            self.state = Sending::Advance;
            self.timer = u64::MAX;
        }
        fits
    }

    /// Checks the limits and sums.
    pub(super) fn verify(&self, limits: &LinkRetry) {
        assert!(
            self.outstanding.len() <= limits.frames as usize,
            "frames in the replay buffer"
        );
        assert!(self.bytes <= limits.bytes.get(), "bytes in the replay buffer");
        assert_eq!(
            self.base + self.outstanding.len() as u64,
            self.next,
            "numbers of frames"
        );
        let bytes: u64 = self.outstanding.iter().map(|frame| u64::from(frame.wire)).sum();
        assert_eq!(bytes, self.bytes, "sum of the replay buffer");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Numbers of 20 bits mean the nearest whole number.
        #[test]
        fn numbers_wrap(near in 0u64..1 << 40, off in -(1i64 << 19) + 1..1 << 19) {
            let number = near as i64 + off;
            prop_assume!(number >= 0);
            let low = (number as u64 % u64::from(LinkRetry::NUMBERS)) as u32;
            prop_assert_eq!(whole(near, low), number as u64);
        }
    }
}
