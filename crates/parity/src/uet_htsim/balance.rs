//! Which entropy value a packet carries: the load balancers of the transport, as pure state machines of one flow.
//!
//! A switch chooses among equal ports by a hash that includes the packet's entropy value (EV), so a sender chooses paths by
//! choosing EVs, and learns from feedback which of them are congested. *Oblivious* goes round; *bitmap* goes round and skips
//! values with penalties; *REPS* reuses values that came back unmarked; *mixed* reuses such, or else goes round like bitmap.
//! The behaviour, order of draws included, is that of uet-htsim at 40ccb05.

use std::collections::VecDeque;

/// A source of 31 random bits.
pub(super) type Draw<'a> = &'a mut dyn FnMut() -> u32;

/// What came of a packet of some EV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Feedback {
    /// It arrived unmarked.
    Good,
    /// It arrived marked.
    Marked,
    /// It was trimmed.
    Nack,
    /// Nothing was heard of it.
    Timeout,
}

/// Which load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// All in turn, but for those with penalties.
    Bitmap,
    /// A ring of eight that came back unmarked.
    Reps,
    /// A list of all that came back unmarked.
    RepsLegacy,
    /// All in turn.
    Oblivious,
    /// Those that came back unmarked, else as `Bitmap`.
    Mixed,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// A load balancer's state for one flow.
#[derive(Clone, Debug)]
pub(super) enum Balancer {
    Oblivious(Round),
    Bitmap(Bitmap),
    RepsLegacy(Legacy),
    Mixed(Bitmap, VecDeque<u16>),
    Reps(Reps),
}

impl Balancer {
    /// A new flow's, with this number of EVs, a power of two.
    pub(super) fn new(algorithm: Algorithm, paths: u32, draw: Draw<'_>) -> Self {
        match algorithm {
            Algorithm::Oblivious => Self::Oblivious(Round::new(paths, draw)),
            Algorithm::Bitmap => Self::Bitmap(Bitmap::new(paths, draw)),
            Algorithm::Mixed => Self::Mixed(Bitmap::new(paths, draw), VecDeque::new()),
            Algorithm::RepsLegacy => Self::RepsLegacy(Legacy {
                paths,
                step: 0,
                good: VecDeque::new(),
            }),
            Algorithm::Reps => Self::Reps(Reps {
                paths,
                ..Reps::default()
            }),
        }
    }

    /// The EV of the next packet, given its sequence number and the window in packets.
    #[inline]
    pub(super) fn next(&mut self, seq: u32, window: i64, draw: Draw<'_>) -> u16 {
        match self {
            Self::Oblivious(round) => {
                let ev = round.value();
                round.step(draw);
                round.whole(ev)
            }
            Self::Bitmap(bitmap) => bitmap.next(draw),
            Self::Mixed(bitmap, good) => match good.pop_front() {
                Some(ev) => ev,
                None => bitmap.next(draw),
            },
            Self::RepsLegacy(legacy) => legacy.next(seq, window, draw),
            Self::Reps(reps) => reps.next(draw),
        }
    }

    /// What came of a packet. `trims` says whether the network trims: without trimming, REPS has no answer to a time-out.
    #[inline]
    pub(super) fn learn(&mut self, ev: u16, feedback: Feedback, now: u64, trims: bool) -> Result<(), Gone> {
        match self {
            Self::Oblivious(_) => {}
            Self::Bitmap(bitmap) => bitmap.learn(ev, feedback),
            Self::Mixed(bitmap, good) => {
                if feedback == Feedback::Good {
                    good.push_back(ev);
                }
                bitmap.learn(ev, feedback);
            }
            Self::RepsLegacy(legacy) => {
                if feedback == Feedback::Good {
                    legacy.good.push_back(ev);
                }
            }
            Self::Reps(reps) => return reps.learn(ev, feedback, now, trims),
        }
        Ok(())
    }
}

/// All EVs in turn, in an order that a random word changes each time round.
#[derive(Clone, Debug)]
pub(super) struct Round {
    mask: u16,
    high: u16,
    flip: u16,
    step: u32,
}

impl Round {
    fn new(paths: u32, draw: Draw<'_>) -> Self {
        let high = (draw() % 65_535) as u16;
        Self {
            mask: (paths - 1) as u16,
            high,
            flip: (draw() % paths) as u16,
            step: 0,
        }
    }

    fn value(&self) -> u16 {
        (self.step as u16 ^ self.flip) & self.mask
    }

    fn step(&mut self, draw: Draw<'_>) {
        self.step += 1;
        if self.step == u32::from(self.mask) + 1 {
            self.step = 0;
            self.flip = draw() as u16 & self.mask;
        }
    }

    /// With the flow's own high bits.
    fn whole(&self, ev: u16) -> u16 {
        ev | (self.high & !self.mask)
    }
}

/// The largest penalty of an EV.
const WORST: u8 = 15;

/// All EVs in turn, without those that have a penalty.
#[derive(Clone, Debug)]
pub(super) struct Bitmap {
    round: Round,
    penalty: Box<[u8]>,
}

impl Bitmap {
    fn new(paths: u32, draw: Draw<'_>) -> Self {
        Self {
            round: Round::new(paths, draw),
            penalty: vec![0; paths as usize].into(),
        }
    }

    /// A value that has no penalty when it is reached. Only the first one that is skipped gets a point back.
    fn next(&mut self, draw: Draw<'_>) -> u16 {
        let mut ev = self.round.value();
        let mut skipped = 0;
        while self.penalty[usize::from(ev)] > 0 {
            if skipped == 0 {
                self.penalty[usize::from(ev)] -= 1;
            }
            skipped += 1;
            if skipped > self.penalty.len() {
                break;
            }
            self.round.step(draw);
            ev = self.round.value();
        }
        self.round.step(draw);
        self.round.whole(ev)
    }

    fn learn(&mut self, ev: u16, feedback: Feedback) {
        let points = match feedback {
            Feedback::Good => return,
            Feedback::Marked => 1,
            Feedback::Nack => 4,
            Feedback::Timeout => WORST,
        };
        let penalty = &mut self.penalty[usize::from(ev & self.round.mask)];
        *penalty = (*penalty + points).min(WORST);
    }
}

/// REPS with an unbounded list: the first window explores, then EVs that came back unmarked are used again.
#[derive(Clone, Debug)]
pub(super) struct Legacy {
    paths: u32,
    step: u32,
    good: VecDeque<u16>,
}

impl Legacy {
    fn next(&mut self, seq: u32, window: i64, draw: Draw<'_>) -> u16 {
        if i64::from(seq) < window.min(i64::from(self.paths)) {
            self.step += 1;
            if self.step == self.paths {
                self.step = 0;
            }
            return self.step as u16;
        }
        match self.good.pop_front() {
            Some(ev) => ev,
            None => (draw() % self.paths) as u16,
        }
    }
}

/// Slots of the ring.
const SLOTS: usize = 8;
/// How long a frozen ring stays so, ps.
const FROZEN: u64 = 10_000_000_000;
/// Packets that explore after that.
const EXPLORE: u32 = 16;

/// REPS: a ring of eight EVs that came back unmarked. After a time-out it freezes: the ring is all that is used.
#[derive(Clone, Debug, Default)]
pub(super) struct Reps {
    paths: u32,
    slots: [(u16, bool); SLOTS],
    head: usize,
    count: usize,
    /// EVs that were not used yet.
    fresh: i32,
    frozen: bool,
    frozen_head: usize,
    frozen_until: u64,
    explore: u32,
}

impl Reps {
    fn next(&mut self, draw: Draw<'_>) -> u16 {
        let mut random = || (draw() % self.paths) as u16;
        if self.explore > 0 {
            self.explore -= 1;
            return random();
        }
        if self.frozen {
            if self.count == 0 {
                return random();
            }
            let (ev, fresh) = &mut self.slots[self.frozen_head];
            if std::mem::take(fresh) {
                self.fresh -= 1;
            }
            self.frozen_head = (self.frozen_head + 1) % self.count;
            return *ev;
        }
        if self.count == 0 || self.fresh == 0 {
            return random();
        }
        let at = (self.head as i32 - self.fresh).rem_euclid(SLOTS as i32);
        let (ev, fresh) = &mut self.slots[at as usize];
        *fresh = false;
        self.fresh -= 1;
        *ev
    }

    fn learn(&mut self, ev: u16, feedback: Feedback, now: u64, trims: bool) -> Result<(), Gone> {
        if feedback == Feedback::Timeout && !self.frozen && self.explore == 0 {
            if !trims {
                return Err(Gone);
            }
            self.frozen = true;
            self.frozen_until = now + FROZEN;
        }
        if self.frozen && now > self.frozen_until {
            *self = Self {
                paths: self.paths,
                explore: EXPLORE,
                ..Self::default()
            };
        }
        if feedback == Feedback::Good {
            let slot = &mut self.slots[self.head];
            if !slot.1 {
                self.fresh += 1;
            }
            *slot = (ev, true);
            self.head = (self.head + 1) % SLOTS;
            self.fresh = self.fresh.min(SLOTS as i32);
            self.count = (self.count + 1).min(SLOTS);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evs(balancer: &mut Balancer, count: usize) -> Vec<u16> {
        let mut word = 0;
        let mut draw = || {
            word += 1;
            word
        };
        (0..count).map(|_| balancer.next(1000, 8, &mut draw)).collect()
    }

    fn new(algorithm: Algorithm, paths: u32) -> Balancer {
        Balancer::new(algorithm, paths, &mut || 0)
    }

    #[test]
    fn oblivious_goes_round() {
        let mut round = evs(&mut new(Algorithm::Oblivious, 4), 8);
        assert_eq!(round[..4], [0, 1, 2, 3]);
        round[4..].sort_unstable();
        assert_eq!(round[4..], [0, 1, 2, 3]);
    }

    #[test]
    fn bitmap_skips_penalties() {
        let mut bitmap = new(Algorithm::Bitmap, 4);
        bitmap.learn(1, Feedback::Nack, 0, true).unwrap();
        assert_eq!(evs(&mut bitmap, 3), [0, 2, 3]);
    }

    #[test]
    fn mixed_prefers_values_that_came_back() {
        let mut mixed = new(Algorithm::Mixed, 4);
        mixed.learn(777, Feedback::Good, 0, true).unwrap();
        mixed.learn(778, Feedback::Marked, 0, true).unwrap();
        assert_eq!(evs(&mut mixed, 2), [777, 0]);
    }

    #[test]
    fn reps_uses_each_value_once_and_freezes_after_a_timeout() {
        let mut reps = new(Algorithm::Reps, 64);
        for ev in [40, 41] {
            reps.learn(ev, Feedback::Good, 0, true).unwrap();
        }
        assert_eq!(evs(&mut reps, 3), [40, 41, 1]);
        reps.learn(0, Feedback::Timeout, 5, true).unwrap();
        assert_eq!(evs(&mut reps, 4), [40, 41, 40, 41]);
        reps.learn(9, Feedback::Marked, FROZEN + 6, true).unwrap();
        assert_eq!(evs(&mut reps, 3), [1, 2, 3]);
        assert_eq!(
            new(Algorithm::Reps, 64).learn(0, Feedback::Timeout, 0, false),
            Err(Gone)
        );
    }
}
