//! Fingerprints of states, by which repeated states are found.

use std::fmt::{self, Write as _};

use crate::ids::FlowId;
use paceline_kernel::rng::Rng;

/// A fingerprint of everything noted, in that order. Times are relative to the current instant, and flows to the next
/// flow's number, so that the same state later has the same fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateHash {
    hash: u128,
    now: u64,
    next: u32,
    /// Number of words noted so far, as a measure of the cost.
    words: u64,
    /// The part that is being noted, and a hash of each part alone.
    part: usize,
    parts: [u64; Part::ALL.len()],
}

/// Parts of a network's state, to say which of them differs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Ports,
    Streams,
    Nics,
    Senders,
    Receivers,
    Flows,
    Coming,
}

impl Part {
    /// Names of the parts in messages.
    pub(crate) const ALL: [&str; 7] = [
        "ports and queues",
        "random streams",
        "NICs",
        "senders",
        "receivers",
        "flows under way",
        "pending events",
    ];
}

impl StateHash {
    pub(crate) const fn new(now: u64, next: u32) -> Self {
        Self {
            hash: 0x6a09_e667_f3bc_c908_bb67_ae85_84ca_a73b,
            now,
            next,
            words: 0,
            part: 0,
            parts: [0; Part::ALL.len()],
        }
    }

    /// Starts a part of the state.
    pub(crate) const fn begin(&mut self, part: Part) {
        self.part = part as usize;
    }

    /// Returns the hash of each part alone.
    pub(crate) const fn parts(&self) -> [u64; Part::ALL.len()] {
        self.parts
    }

    pub(crate) const fn words(&self) -> u64 {
        self.words
    }

    pub(crate) const fn finish(&self) -> u128 {
        self.hash
    }

    #[inline]
    pub(crate) fn note(&mut self, word: u64) {
        const FACTOR: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;
        // The product spreads a word over the upper bits, and the shift brings these down again.
        let mixed = (self.hash ^ word as u128).wrapping_mul(FACTOR);
        self.hash = mixed ^ mixed >> 67;
        self.words += 1;
        let part = &mut self.parts[self.part];
        *part = (*part ^ word).wrapping_mul(FACTOR as u64).rotate_left(29);
    }

    /// Notes an instant, relative to now.
    #[inline]
    pub(crate) fn note_time(&mut self, at: u64) {
        self.note(at.wrapping_sub(self.now));
    }

    /// Notes a deadline, relative to now; those that have passed are all alike.
    pub(crate) fn note_deadline(&mut self, at: u64) {
        self.note(at.saturating_sub(self.now));
    }

    #[inline]
    pub(crate) fn note_flow(&mut self, flow: FlowId) {
        self.note(u64::from(self.next.wrapping_sub(flow.0)));
    }

    /// Notes the position of a stream of random numbers.
    pub(crate) fn note_stream(&mut self, stream: &Rng) {
        self.note(stream.peek());
    }

    /// Notes the `Debug` text of a value, with times in it relative to now.
    pub(crate) fn note_whole(&mut self, what: &impl fmt::Debug) {
        let mut text = Text {
            print: self,
            time: None,
            bytes: 0,
        };
        write!(text, "{what:-?}").expect("nothing can go wrong");
        text.end_time();
        let bytes = text.bytes;
        self.note(bytes);
    }
}

/// A text that is noted in words of six bytes, except for its times.
struct Text<'a> {
    print: &'a mut StateHash,
    /// Digits of a time so far; `None` outside of times.
    time: Option<u64>,
    bytes: u64,
}

impl Text<'_> {
    fn end_time(&mut self) {
        match self.time.take() {
            None => {}
            // Sentinels for no time, which must not be shifted.
            Some(at @ (0 | u64::MAX)) => self.print.note(at),
            Some(at) => self.print.note_time(at),
        }
    }
}

impl fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // An `@` starts a time in the text: its digits are noted as a number, relative to now.
            if let Some(time) = &mut self.time {
                if byte.is_ascii_digit() {
                    *time = time.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                    continue;
                }
                self.end_time();
            }
            if byte == b'@' {
                self.time = Some(0);
                continue;
            }
            self.bytes = self.bytes << 8 | u64::from(byte);
            if self.bytes >> 48 != 0 {
                self.print.note(std::mem::take(&mut self.bytes));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_kernel::{Span, Time};

    fn print(now: u64, what: impl fmt::Debug) -> u128 {
        let mut print = StateHash::new(now, 0);
        print.note_whole(&what);
        print.finish()
    }

    /// Times are relative to now; spans and everything else are noted as they are.
    #[test]
    fn times_are_told_from_now_on() {
        let at = |ps| (Time::from_ps(ps), Some(7.25), "text");
        assert_eq!(print(1000, at(1500)), print(5000, at(5500)));
        assert_eq!(print(1000, at(900)), print(5000, at(4900)));
        assert_ne!(print(1000, at(1500)), print(1000, at(1501)));
        assert_ne!(print(1000, Span::from_ps(1500)), print(5000, Span::from_ps(5500)));
        assert_eq!(print(1000, Span::from_ps(1500)), print(5000, Span::from_ps(1500)));
        assert_eq!(print(1000, Time::MAX), print(5000, Time::MAX));
        assert_ne!(
            print(1, [Time::from_ps(12), Time::from_ps(3)]),
            print(1, [Time::from_ps(1), Time::from_ps(23)])
        );
    }
}
