//! Random numbers: one stream per (seed, purpose, entity), never a shared generator.
//!
//! So a change of the scheme or another recorder does not change the traffic, and two runs that differ in one
//! mechanism have the same arrivals (common random numbers).

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Purpose of a stream. Streams of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Choice of sources, destinations and sizes of flows.
    Workload = 1,
    /// Arrival times of flows.
    Arrival = 2,
    /// Random marking of packets with ECN.
    Mark = 3,
    /// Random packet loss on links.
    LinkError = 4,
    /// Randomised rounding of HPCC-PINT's digests.
    Pint = 5,
    /// Random decisions of a flow's congestion control.
    Congestion = 6,
    /// Random order of simultaneous events.
    Ties = 7,
    /// Seeds of hash functions that spread flows over paths.
    Ecmp = 8,
    /// Jitter of a receiving host.
    Endpoint = 9,
    /// Choice of a switch among equal next hops.
    Spread = 16,
    /// Random decisions of switches for a scheme.
    Switch = 17,
    /// Time that a port takes to apply a pause.
    PauseResponse = 18,
    /// Errors of links that strike stretches of time.
    Noise = 19,
    /// Resampling of results for confidence intervals; never used in a run.
    Resampling = 64,
    /// Training of a learned scheme: data, initial weights, order of samples.
    Training = 65,
}

/// Random stream. Two are equal if they will return the same numbers; a deserialised stream equals the
/// original.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rng(Source);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Source {
    Stream(Xoshiro256PlusPlus),
    CLibrary(Box<CRand>),
}

impl Rng {
    /// Returns the stream of `entity` for `purpose` in a run with `seed`.
    pub fn stream(seed: u64, purpose: Purpose, entity: u64) -> Self {
        let mixed = mix(mix(mix(seed) ^ purpose as u64) ^ entity);
        Self(Source::Stream(Xoshiro256PlusPlus::seed_from_u64(mixed)))
    }

    /// Returns the C library's `rand` (glibc's additive feedback generator) after `srand(1)`, the state of a
    /// program without a seed. Used by the fidelity modes.
    pub fn c_library() -> Self {
        Self(Source::CLibrary(Box::new(CRand::new(1))))
    }

    /// Returns the next result of [`Self::next_u64`] without advancing.
    pub fn peek(&self) -> u64 {
        self.clone().next_u64()
    }

    /// Returns 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        match &mut self.0 {
            Source::Stream(generator) => generator.next_u64(),
            Source::CLibrary(rand) => (0..3).fold(0, |bits, _| bits << 31 | u64::from(rand.next())),
        }
    }

    /// Returns an integer from 0 to 2^31 - 1 like C's `rand()`.
    pub fn next_u31(&mut self) -> u32 {
        match &mut self.0 {
            Source::Stream(generator) => (generator.next_u64() >> 33) as u32,
            Source::CLibrary(rand) => rand.next(),
        }
    }

    /// Returns a real number in [0, 1).
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns a uniform integer below `n`.
    ///
    /// # Panics
    /// `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no number is below zero");
        if let Source::CLibrary(rand) = &mut self.0 {
            // C programs do this, including the bias.
            return u64::from(rand.next()) % n;
        }
        // Lemire's method, which has no bias.
        loop {
            let product = self.next_u64() as u128 * n as u128;
            if product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// Returns a sample of the exponential distribution with mean 1.
    pub fn next_exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.next_f64())
    }

    /// Permutes `items` uniformly at random (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// Mixes the bits of `x` (the finaliser of SplitMix64).
pub const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// glibc's `rand`: `r[i] = r[i-3] + r[i-31]`, without the lowest bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CRand {
    state: [u32; 31],
    at: usize,
}

impl CRand {
    fn new(seed: u32) -> Self {
        let mut state = [seed; 31];
        for i in 1..31 {
            // 16807 times the previous number modulo 2^31 - 1, in signed arithmetic.
            let next = 16807 * i64::from(state[i - 1] as i32) % 2_147_483_647;
            state[i] = (if next < 0 { next + 2_147_483_647 } else { next }) as u32;
        }
        // The sum starts at index 3, and the first 310 numbers are discarded.
        let mut rand = Self { state, at: 3 };
        for _ in 0..310 {
            rand.next();
        }
        rand
    }

    fn next(&mut self) -> u32 {
        // Index `at` holds r[i-31]; r[i-3] is 28 positions later.
        let value = self.state[self.at].wrapping_add(self.state[(self.at + 28) % 31]);
        self.state[self.at] = value;
        self.at = (self.at + 1) % 31;
        value >> 1
    }
}

/// ns-3's uniform random numbers in programs that make a new variable for every draw: the first number of
/// each of consecutive streams of MRG32k3a (L'Ecuyer 1999; streams 2^127 apart, run 1 of a seed).
#[derive(Clone, Debug)]
pub struct Ns3Streams {
    /// Initial state of the next stream.
    state: Mrg32k3a,
    jump: [[[u64; 3]; 3]; 2],
}

/// MRG32k3a: the last three numbers of its two components, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mrg32k3a([[u64; 3]; 2]);

const MODULI: [u64; 2] = [4_294_967_087, 4_294_944_443];
/// Matrices of one step: `x' = a * x[n-2] - b * x[n-3]` and `y' = c * y[n-1] - d * y[n-3]`.
const STEP: [[[u64; 3]; 3]; 2] = [
    [[0, 1, 0], [0, 0, 1], [MODULI[0] - 810_728, 1_403_580, 0]],
    [[0, 1, 0], [0, 0, 1], [MODULI[1] - 1_370_589, 0, 527_612]],
];

fn multiply(a: &[[u64; 3]; 3], b: &[[u64; 3]; 3], modulus: u64) -> [[u64; 3]; 3] {
    let cell = |i: usize, j: usize| (0..3).fold(0, |sum, k| (sum + a[i][k] * b[k][j] % modulus) % modulus);
    std::array::from_fn(|i| std::array::from_fn(|j| cell(i, j)))
}

/// Returns the step matrices to the power 2^`exponent`.
fn power_of_two(exponent: u32) -> [[[u64; 3]; 3]; 2] {
    std::array::from_fn(|c| (0..exponent).fold(STEP[c], |m, _| multiply(&m, &m, MODULI[c])))
}

impl Mrg32k3a {
    /// Returns stream `stream` of run 1 of seed 1 in ns-3's numbering.
    pub fn ns3_stream(stream: u64) -> Self {
        Self::ns3_stream_of(1, stream)
    }

    /// Returns stream `stream` of run 1 of another seed, which must be above zero and below 4294944443.
    pub fn ns3_stream_of(seed: u32, stream: u64) -> Self {
        let mut state = Self([[u64::from(seed); 3]; 2]);
        for bit in 0..64 {
            if stream >> bit & 1 == 1 {
                state.jump(&power_of_two(127 + bit));
            }
        }
        // Runs of a seed are 2^76 numbers apart, and ns-3 starts with run 1.
        state.jump(&power_of_two(76));
        state
    }

    fn jump(&mut self, by: &[[[u64; 3]; 3]; 2]) {
        for c in 0..2 {
            let old = self.0[c];
            self.0[c] = std::array::from_fn(|i| {
                (0..3).fold(0, |sum, k| (sum + by[c][i][k] * old[k] % MODULI[c]) % MODULI[c])
            });
        }
    }

    /// Returns the next number, in (0, 1).
    pub fn next_f64(&mut self) -> f64 {
        self.jump(&STEP);
        let (x, y) = (self.0[0][2], self.0[1][2]);
        let difference = if x > y { x - y } else { x + MODULI[0] - y };
        difference as f64 * 2.328_306_549_295_728e-10
    }
}

impl Ns3Streams {
    /// Returns the streams from `first` on, of seed 1.
    pub fn new(first: u64) -> Self {
        Self::of_seed(1, first)
    }

    /// Returns the streams from `first` on, of another seed: see [`Mrg32k3a::ns3_stream_of`].
    pub fn of_seed(seed: u32, first: u64) -> Self {
        Self {
            state: Mrg32k3a::ns3_stream_of(seed, first),
            jump: power_of_two(127),
        }
    }

    /// Returns the first number of the next stream.
    pub fn next_f64(&mut self) -> f64 {
        let mut stream = self.state;
        self.skip();
        stream.next_f64()
    }

    /// Skips a stream that another variable uses.
    pub fn skip(&mut self) {
        self.state.jump(&self.jump);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_purpose_and_entity_and_repeat() {
        let first = |seed, purpose, entity| Rng::stream(seed, purpose, entity).next_u64();
        let base = first(1, Purpose::Mark, 0);
        assert_eq!(base, first(1, Purpose::Mark, 0));
        for other in [
            first(2, Purpose::Mark, 0),
            first(1, Purpose::Pint, 0),
            first(1, Purpose::Mark, 1),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn uniform_and_exponential_have_their_means() {
        let mut rng = Rng::stream(7, Purpose::Workload, 0);
        let n = 100_000;
        let uniform: f64 = (0..n).map(|_| rng.next_f64()).sum::<f64>() / n as f64;
        let exponential: f64 = (0..n).map(|_| rng.next_exponential()).sum::<f64>() / n as f64;
        assert!((uniform - 0.5).abs() < 0.01, "{uniform}");
        assert!((exponential - 1.0).abs() < 0.02, "{exponential}");
    }

    /// First numbers of a C program that prints `rand()` without a seed, on Linux.
    #[test]
    fn c_rand_is_glibcs() {
        let mut rand = Rng::c_library();
        let first: Vec<u32> = (0..5).map(|_| rand.next_u31()).collect();
        assert_eq!(
            first,
            [
                1_804_289_383,
                846_930_886,
                1_681_692_777,
                1_714_636_915,
                1_957_747_793
            ]
        );
    }

    #[test]
    fn streams_of_ns3_follow_each_other() {
        let mut streams = Ns3Streams::new(5);
        for stream in 5..8 {
            assert_eq!(streams.next_f64(), Mrg32k3a::ns3_stream(stream).next_f64());
        }
    }

    /// Seed 6, streams 386 and 388, times 40000: the ports of the first two flows of a program whose set-up
    /// takes 386 streams, with another draw in between (`validation/tcd-ns3`).
    #[test]
    fn streams_of_another_seed() {
        let port = |stream| (Mrg32k3a::ns3_stream_of(6, stream).next_f64() * 40_000.0) as u32;
        assert_eq!([386, 388].map(port), [19_959, 22_567]);
        let mut streams = Ns3Streams::of_seed(6, 386);
        assert_eq!((streams.next_f64() * 40_000.0) as u32, 19_959);
    }

    /// The first numbers with all six seeds 12345 are published with the generator's code.
    #[test]
    fn mrg32k3a_is_lecuyers() {
        let mut generator = Mrg32k3a([[12345; 3]; 2]);
        assert!((generator.next_f64() - 0.127_011_122_046_577_1).abs() < 1e-12);
        assert!((generator.next_f64() - 0.318_527_565_396_794_3).abs() < 1e-12);
    }
}
