//! Errors of links: bits and codewords that arrive wrong, and faults by script.

use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

/// Errors of one direction of a link during a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Noise {
    /// Index of the link in [`super::RunSpec::links`].
    pub link: usize,
    /// True for what arrives at the link's end `b`, false for what arrives at `a`.
    pub at_b: bool,
    /// Start: what is sent from then on suffers.
    pub at: Time,
    /// End; `None` if it never ends.
    pub until: Option<Time>,
    /// Kind of these errors.
    pub kind: NoiseKind,
}

/// Kind of errors.
///
/// Random errors hit stretches of the line's time, busy or idle. A frame is bad if a hit stretch overlaps with it, so
/// frames that share a stretch are lost together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum NoiseKind {
    /// Stretches of this many bits, each hit with probability `hit`, independently.
    Hits {
        /// Bits of a stretch: 1 without error correction, the data bits of a group of codewords with it.
        bits: u32,
        /// Probability that a stretch is hit.
        hit: f64,
    },
    /// Stretches whose probability of a hit depends on a hidden state (Gilbert and Elliott).
    Bursts {
        /// Bits of a stretch.
        bits: u32,
        /// Probability of a hit in the good state, and in the bad one.
        hit: [f64; 2],
        /// Probability, per stretch, of a change from good to bad, and from bad to good.
        change: [f64; 2],
    },
    /// All of a kind, or the frames with these numbers, suffer a fault.
    Script(Fault, Option<Numbers>),
}

/// Frames by their numbers among all frames that have arrived at this end since the start of the run, from 0: those
/// from `first` to `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Numbers {
    /// First frame that suffers.
    pub first: u64,
    /// Last frame that suffers.
    pub last: u64,
}

/// Fault of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Frames arrive with a wrong checksum.
    Bad,
    /// Frames do not arrive.
    Gone,
    /// Frames arrive marked as damaged by a device before the link.
    Poisoned,
    /// Acknowledgements of link-level retry do not arrive.
    Acks,
    /// Negative acknowledgements of link-level retry do not arrive.
    Nacks,
    /// Credit updates do not arrive: flow-control packets of InfiniBand, CF_Updates of Ethernet.
    Credits,
    /// CC_Updates do not arrive, which count what was sent on credit.
    Counts,
    /// Nothing arrives: the link is dark.
    Dark,
}

/// Forward error correction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fec {
    /// None: each wrong bit makes its frame bad.
    None,
    /// Reed-Solomon (544, 514) over symbols of 10 bits, which corrects 15 of them (IEEE 802.3, clause 91: "KP4").
    Kp4,
    /// Reed-Solomon (272, 258), which corrects 7 symbols: half of the latency.
    Ll,
}

impl Fec {
    /// Returns the symbols of a codeword, those that can be corrected, and the bytes of data that it carries.
    const fn code(self) -> Option<(u32, u32, u32)> {
        match self {
            Self::None => None,
            Self::Kp4 => Some((544, 15, 640)),
            Self::Ll => Some((272, 7, 320)),
        }
    }

    /// Returns the bits of a stretch of `interleaved` codewords, and the probability that one of them cannot be
    /// corrected, when each bit is wrong with probability `bit`.
    ///
    /// Codewords in a group share the frames in them, so a group is lost as a whole.
    pub fn stretch(self, bit: f64, interleaved: u32) -> (u32, f64) {
        match self.code() {
            None => (1, bit),
            Some((symbols, corrects, bytes)) => {
                let wrong = codeword_error(bit, symbols, corrects);
                let none = libm::log1p(-wrong) * f64::from(interleaved);
                (8 * bytes * interleaved, -libm::expm1(none))
            }
        }
    }
}

/// Returns the probability that a codeword of `symbols` symbols of 10 bits has more wrong symbols than it `corrects`.
fn codeword_error(bit: f64, symbols: u32, corrects: u32) -> f64 {
    if bit <= 0.0 {
        return 0.0;
    }
    let symbol = -libm::expm1(10.0 * libm::log1p(-bit));
    // From the first term of the tail on, each is the one before times a ratio: no difference of large numbers.
    let n = f64::from(symbols);
    let k = f64::from(corrects + 1);
    let choose = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    let mut term = libm::exp(choose + k * libm::log(symbol) + (n - k) * libm::log1p(-symbol));
    let (mut sum, mut k) = (0.0, k);
    while k <= n && term > 0.0 && term > sum * 1e-17 {
        sum += term;
        term *= (n - k) / (k + 1.0) * symbol / (1.0 - symbol);
        k += 1.0;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of codeword error ratios, which was computed elsewhere with long integers.
    #[test]
    fn codewords_fail_as_often_as_the_binomial_distribution_says() {
        let cases = [
            (Fec::Kp4, 1e-4, 1.36e-18),
            (Fec::Kp4, 2.4e-4, 8.15e-13),
            (Fec::Kp4, 4e-4, 1.30e-9),
            (Fec::Kp4, 1e-3, 1.53e-4),
            (Fec::Ll, 1e-4, 5.28e-10),
            (Fec::Ll, 2.4e-4, 4.17e-7),
            (Fec::Ll, 4e-4, 1.70e-5),
            (Fec::Ll, 1e-3, 6.43e-3),
        ];
        for (fec, bit, expected) in cases {
            let (symbols, corrects, _) = fec.code().unwrap();
            let got = codeword_error(bit, symbols, corrects);
            assert!(
                (got / expected - 1.0).abs() < 5e-3,
                "{fec:?} at {bit}: {got}, not {expected}"
            );
        }
    }

    /// A frame is lost if one of the codewords that carry it is: 802.3's frame loss ratio.
    #[test]
    fn a_group_holds_the_codewords_of_a_frame() {
        let (bits, hit) = Fec::Kp4.stretch(2.4e-4, 4);
        let frame = |size: f64| {
            let groups = 1.0 + (size + 8.0) * 8.0 / f64::from(bits);
            1.0 - (1.0 - hit).powf(groups)
        };
        assert!((frame(64.0) / 3.35e-12 - 1.0).abs() < 0.01, "{}", frame(64.0));
        assert!((frame(4178.0) / 8.59e-12 - 1.0).abs() < 0.01, "{}", frame(4178.0));
        assert_eq!(Fec::None.stretch(1e-9, 4), (1, 1e-9));
    }
}
