//! Errors of links, other than a constant share of lost packets: hits of stretches of the line's time, and scripts.

use paceline_kernel::ids::{Id, List};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_run::spec::{Cbfc, Fault, Noise, NoiseKind, Numbers, RunSpec};

use crate::ids::PortId;

/// Fate of a frame or ordered set on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// Arrives as it was sent.
    Good,
    /// Arrives with a good checksum, marked as damaged before the link.
    Poisoned,
    /// Arrives with a wrong checksum.
    Bad,
    /// Does not arrive at all.
    Gone,
}

/// Kinds of control on a link, as faults tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// Acknowledgement of link-level retry.
    Ack,
    /// Negative acknowledgement of link-level retry.
    Nack,
    /// Other control ordered set of link-level retry.
    Control,
    /// Update of a lane's credits.
    Credit,
    /// Frame that counts what was sent on credit.
    Count,
}

/// Bits of a control ordered set, and of a frame of counts with its preamble.
const CONTROL_BITS: f64 = 64.0;
const COUNT_BITS: f64 = 8.0 * (Cbfc::CC_UPDATE + 8) as f64;

/// Hits of consecutive stretches of a line's time, each independent of the others. Only the next hit is known, so that
/// the time that nobody asks about costs nothing.
#[derive(Clone, Debug)]
struct Hits {
    /// Number of the next stretch that is hit.
    next: u64,
    /// Logarithm of the probability that a stretch is not hit.
    log_miss: f64,
    hit: f64,
}

impl Hits {
    fn new(hit: f64, rng: &mut Rng, from: u64) -> Self {
        let mut hits = Self {
            next: 0,
            log_miss: libm::log1p(-hit),
            hit,
        };
        hits.draw(rng, from);
        hits
    }

    /// Draws the next hit at stretch `from` or later. What came before does not matter: hits have no memory.
    fn draw(&mut self, rng: &mut Rng, from: u64) {
        self.next = from.saturating_add(gap(rng, self.hit, self.log_miss));
    }

    /// Returns true if a stretch from `first` to `last` is hit.
    fn strike(&mut self, rng: &mut Rng, first: u64, last: u64) -> bool {
        if self.next < first {
            self.draw(rng, first);
        }
        self.next <= last
    }
}

/// Returns the number of failures before the first success of probability `p`.
fn gap(rng: &mut Rng, p: f64, log_miss: f64) -> u64 {
    if p <= 0.0 {
        return u64::MAX;
    }
    if p >= 1.0 {
        return 0;
    }
    // A logarithm of zero would be an endless gap, which the cast makes the largest number.
    (libm::log(1.0 - rng.next_f64()) / log_miss) as u64
}

#[derive(Clone, Debug)]
enum State {
    Hits(Hits),
    /// Both states' probabilities of a hit and of leaving the state.
    Bursts {
        hit: [f64; 2],
        change: [f64; 2],
        is_bad: bool,
        /// First stretch of the next state.
        until: u64,
        now: Hits,
    },
    Script(Fault, Option<Numbers>),
}

/// One source of errors at one end of a link.
#[derive(Clone, Debug)]
struct Source {
    /// Start and end, in ps.
    from: u64,
    until: u64,
    /// Bits of a stretch, and its length in ps.
    bits: f64,
    stretch: f64,
    rng: Rng,
    /// Another stream for control ordered sets: one may arrive in the same instant as a frame, in no order.
    control: Rng,
    state: State,
}

impl Source {
    fn new(noise: &Noise, ps_per_bit: f64, [mut rng, control]: [Rng; 2]) -> Self {
        let (bits, state) = match noise.kind {
            NoiseKind::Hits { bits, hit } => (bits, State::Hits(Hits::new(hit, &mut rng, 0))),
            NoiseKind::Bursts { bits, hit, change } => {
                let until = gap(&mut rng, change[0], libm::log1p(-change[0])).saturating_add(1);
                let state = State::Bursts {
                    hit,
                    change,
                    is_bad: false,
                    until,
                    now: Hits::new(hit[0], &mut rng, 0),
                };
                (bits, state)
            }
            NoiseKind::Script(fault, numbers) => (1, State::Script(fault, numbers)),
        };
        Self {
            from: noise.at.as_ps(),
            until: noise.until.map_or(u64::MAX, |until| until.as_ps()),
            bits: f64::from(bits),
            stretch: f64::from(bits) * ps_per_bit,
            rng,
            control,
            state,
        }
    }

    /// Returns what becomes of a frame that was sent from `start` to `end` (in ps) and arrives as the `number`th.
    fn frame(&mut self, start: u64, end: u64, number: u64) -> Fate {
        if end <= self.from || start >= self.until {
            return Fate::Good;
        }
        let of = |at: u64| (at.saturating_sub(self.from) as f64 / self.stretch) as u64;
        // The last picosecond is that before the end.
        let (first, last) = (of(start), of(end.min(self.until) - 1));
        match &mut self.state {
            State::Script(fault, numbers) => {
                if numbers.is_some_and(|named| number < named.first || number > named.last) {
                    return Fate::Good;
                }
                match fault {
                    Fault::Bad => Fate::Bad,
                    Fault::Gone | Fault::Dark => Fate::Gone,
                    Fault::Poisoned => Fate::Poisoned,
                    Fault::Acks | Fault::Nacks | Fault::Credits | Fault::Counts => Fate::Good,
                }
            }
            State::Hits(hits) => bad_if(hits.strike(&mut self.rng, first, last)),
            State::Bursts {
                hit,
                change,
                is_bad,
                until,
                now,
            } => {
                let mut is_hit = false;
                let mut from = first;
                loop {
                    if from < *until {
                        is_hit |= now.strike(&mut self.rng, from, last.min(*until - 1));
                    }
                    if last < *until {
                        return bad_if(is_hit);
                    }
                    from = from.max(*until);
                    *is_bad = !*is_bad;
                    let state = usize::from(*is_bad);
                    let begins = *until;
                    let stays = gap(&mut self.rng, change[state], libm::log1p(-change[state]));
                    *until = begins.saturating_add(stays).saturating_add(1);
                    *now = Hits::new(hit[state], &mut self.rng, begins);
                }
            }
        }
    }

    /// Returns true if control that was sent until `at` is lost.
    fn loses(&mut self, at: u64, what: Carried) -> bool {
        if at < self.from || at >= self.until {
            return false;
        }
        let hit = match &self.state {
            State::Script(fault, numbers) => {
                return match fault {
                    Fault::Acks => what == Carried::Ack,
                    Fault::Nacks => what == Carried::Nack,
                    Fault::Credits => what == Carried::Credit,
                    Fault::Counts => what == Carried::Count,
                    Fault::Dark => numbers.is_none(),
                    Fault::Bad | Fault::Gone | Fault::Poisoned => false,
                };
            }
            State::Hits(hits) => hits,
            State::Bursts { now, .. } => now,
        };
        // Drawn by itself, since it lies within a frame that may not have been looked at yet.
        let bits = if what == Carried::Count {
            COUNT_BITS
        } else {
            CONTROL_BITS
        };
        let stretches = 1.0 + (bits - 1.0) / self.bits;
        let lost = -libm::expm1(hit.log_miss * stretches);
        hit.hit > 0.0 && self.control.next_f64() < lost
    }
}

fn bad_if(is_hit: bool) -> Fate {
    if is_hit { Fate::Bad } else { Fate::Good }
}

/// Errors at all ends of links that have any.
#[derive(Clone, Debug)]
pub(crate) struct Noises {
    /// Index of each port in `ends`, counted from 1; 0 if its link has no such errors.
    number: List<PortId, u32>,
    ends: Vec<End>,
    have_drawn: bool,
}

#[derive(Clone, Debug, Default)]
struct End {
    sources: Vec<Source>,
    /// Frames that have arrived.
    frames: u64,
}

impl Noises {
    /// Creates the errors of a run; `None` if it has none.
    pub(crate) fn of(spec: &RunSpec) -> Option<Box<Self>> {
        if spec.noise.is_empty() {
            return None;
        }
        let mut noises = Self {
            number: List::of(2 * spec.links.len(), 0),
            ends: Vec::new(),
            have_drawn: false,
        };
        for noise in &spec.noise {
            let port = port_of(noise);
            if noises.number[port] == 0 {
                noises.ends.push(End::default());
                noises.number[port] = noises.ends.len() as u32;
            }
            let sources = &mut noises.ends[noises.number[port] as usize - 1].sources;
            let bits_per_ps = spec.links[noise.link].rate.as_bps() as f64 / 1e12;
            // Each source has streams of its own: of its end, and of its place among that end's.
            let entity = ((port.index() as u64) << 16) + 2 * sources.len() as u64;
            let streams = [entity, entity + 1].map(|entity| Rng::stream(spec.seed, Purpose::Noise, entity));
            sources.push(Source::new(noise, 1.0 / bits_per_ps, streams));
            noises.have_drawn |= !matches!(noise.kind, NoiseKind::Script(..));
        }
        Some(Box::new(noises))
    }

    /// Returns true if results depend on the seed.
    pub(crate) fn have_drawn(&self) -> bool {
        self.have_drawn
    }

    fn at(&mut self, port: PortId) -> Option<&mut End> {
        let number = self.number[port] as usize;
        number.checked_sub(1).map(|index| &mut self.ends[index])
    }

    /// Returns what becomes of a frame that arrives at `port` and was sent from `start` to `end`, in ps.
    pub(crate) fn frame(&mut self, port: PortId, start: u64, end: u64) -> Fate {
        let Some(at) = self.at(port) else {
            return Fate::Good;
        };
        let number = at.frames;
        at.frames += 1;
        let fates = at
            .sources
            .iter_mut()
            .map(|source| source.frame(start, end, number));
        // All are asked, so that no draw depends on another source.
        fates.fold(Fate::Good, Ord::max)
    }

    /// Returns true if control that arrives at `port` and was sent until `at` is lost.
    pub(crate) fn loses(&mut self, port: PortId, at: u64, what: Carried) -> bool {
        let Some(end) = self.at(port) else { return false };
        let lost = end.sources.iter_mut().map(|source| source.loses(at, what));
        lost.fold(false, |any, lost| any | lost)
    }
}

/// Returns the port at which these errors strike.
pub(crate) fn port_of(noise: &Noise) -> PortId {
    PortId::new(2 * noise.link + usize::from(noise.at_b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_kernel::Time;

    fn source(kind: NoiseKind, seed: u64) -> Source {
        let noise = Noise {
            link: 0,
            at_b: true,
            at: Time::ZERO,
            until: None,
            kind,
        };
        Source::new(
            &noise,
            1.25,
            [0, 1].map(|entity| Rng::stream(seed, Purpose::Noise, entity)),
        )
    }

    /// Returns the share of frames that are bad, and the share of those that follow a bad one directly.
    fn shares(kind: NoiseKind, frame: u64, frames: u64) -> (f64, f64) {
        let mut source = source(kind, 1);
        let mut is_bad = |n: u64| source.frame(n * frame, (n + 1) * frame, n) == Fate::Bad;
        let all: Vec<bool> = (0..frames).map(&mut is_bad).collect();
        let bad = all.iter().filter(|&&bad| bad).count() as f64;
        let pairs = all.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64;
        (bad / frames as f64, pairs / bad)
    }

    /// Frames that share no stretch are bad independently: with the probability that one of its bits is.
    #[test]
    fn wrong_bits_make_bad_frames() {
        // 84 bytes at 800 Gbit/s.
        let (bad, again) = shares(NoiseKind::Hits { bits: 1, hit: 1e-5 }, 840, 1_000_000);
        let expected = 1.0 - (1.0_f64 - 1e-5).powi(672);
        assert!((bad / expected - 1.0).abs() < 0.05, "{bad}, not {expected}");
        assert!(again < 2.0 * expected, "{again} follow each other");
    }

    /// A group of codewords kills all frames that lie in it.
    #[test]
    fn frames_in_a_group_are_lost_together() {
        let bits = 4 * 640 * 8;
        let (bad, again) = shares(NoiseKind::Hits { bits, hit: 1e-2 }, 840, 1_000_000);
        // A frame overlaps with 1 + 84 / 2560 groups on average; all but the last of some 31 follow a bad one.
        let expected = 1e-2 * (1.0 + 84.0 / 2560.0);
        // Of 328 hits.
        assert!((bad / expected - 1.0).abs() < 0.15, "{bad}, not {expected}");
        assert!(again > 0.95, "only {again} follow each other");
    }

    /// The share of bad stretches is that of the two states together, and hits come in bursts.
    #[test]
    fn bursts_have_the_share_of_their_states() {
        let kind = NoiseKind::Bursts {
            bits: 672,
            hit: [0.0, 0.5],
            change: [0.001, 0.1],
        };
        let (bad, again) = shares(kind, 840, 1_000_000);
        let expected = 0.5 * 0.001 / 0.101;
        assert!((bad / expected - 1.0).abs() < 0.1, "{bad}, not {expected}");
        assert!((again - 0.45).abs() < 0.03, "{again} follow each other");
    }

    /// Idle time costs no draws, and leaves hits as likely.
    #[test]
    fn idle_time_is_skipped() {
        let mut source = source(NoiseKind::Hits { bits: 1, hit: 1e-6 }, 3);
        let bad = (0..100_000u64).filter(|n| {
            let start = n * 1_000_000_000;
            source.frame(start, start + 8_400, *n) == Fate::Bad
        });
        let share = bad.count() as f64 / 100_000.0;
        assert!((share / 6.7e-3 - 1.0).abs() < 0.1, "{share}");
    }

    /// Scripts strike what they name, and nothing else.
    #[test]
    fn scripts_strike_what_they_name() {
        let mut gone = source(
            NoiseKind::Script(Fault::Gone, Some(Numbers { first: 3, last: 4 })),
            1,
        );
        let fates: Vec<bool> = (0..7)
            .map(|n| gone.frame(n * 10, n * 10 + 10, n) == Fate::Gone)
            .collect();
        assert_eq!(fates, [false, false, false, true, true, false, false]);
        let mut acks = source(NoiseKind::Script(Fault::Acks, None), 1);
        assert!(acks.loses(5, Carried::Ack) && !acks.loses(5, Carried::Nack));
        assert_eq!(acks.frame(0, 10, 0), Fate::Good);
    }
}
