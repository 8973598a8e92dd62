//! Random numbers: one stream per (seed, purpose, entity), never a shared generator.
//!
//! So changing the scheme or adding a recorder does not move the traffic, and two runs that differ
//! in one mechanism see the same arrivals (common random numbers).

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// What a stream is for: streams of different purposes are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Choosing sources, destinations and sizes of flows.
    Workload = 1,
    /// Arrival times of flows.
    Arrival = 2,
    /// Marking packets.
    Mark = 3,
    /// Losing packets on links.
    LinkError = 4,
    /// Randomised rounding of HPCC-PINT's digests.
    Pint = 5,
    /// A flow's own congestion control.
    Congestion = 6,
    /// Shuffling events of the same instant.
    Ties = 7,
    /// Seeds of hash functions that spread flows over paths.
    Ecmp = 8,
    /// Jitter of a host that receives.
    Endpoint = 9,
    /// A switch's choices among equal next hops.
    Spread = 16,
    /// What switches draw for schemes.
    Switch = 17,
    /// How long a port takes to apply a pause.
    PauseResponse = 18,
    /// Resampling results for confidence intervals; never part of a run.
    Resampling = 64,
    /// Training a learned scheme: drawing data, initial weights, orders.
    Training = 65,
}

/// One random stream. Two are equal if they will give the same numbers; one that is read back is equal to what was
/// written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rng(Source);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Source {
    Stream(Xoshiro256PlusPlus),
    CLibrary(Box<CRand>),
}

impl Rng {
    /// The stream of `entity` for `purpose` in a run with `seed`.
    pub fn stream(seed: u64, purpose: Purpose, entity: u64) -> Self {
        let mixed = mix(mix(mix(seed) ^ purpose as u64) ^ entity);
        Self(Source::Stream(Xoshiro256PlusPlus::seed_from_u64(mixed)))
    }

    /// The C library's `rand` (glibc's additive feedback generator) after `srand(1)`, the state of a
    /// program that never seeds it: for the fidelity modes.
    pub fn c_library() -> Self {
        Self(Source::CLibrary(Box::new(CRand::new(1))))
    }

    /// What [`Self::next_u64`] would give.
    pub fn peek(&self) -> u64 {
        self.clone().next_u64()
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        match &mut self.0 {
            Source::Stream(generator) => generator.next_u64(),
            Source::CLibrary(rand) => (0..3).fold(0, |bits, _| bits << 31 | u64::from(rand.next())),
        }
    }

    /// A whole number from 0 to 2^31 - 1, as C's `rand()` returns.
    pub fn next_u31(&mut self) -> u32 {
        match &mut self.0 {
            Source::Stream(generator) => (generator.next_u64() >> 33) as u32,
            Source::CLibrary(rand) => rand.next(),
        }
    }

    /// A real number in [0, 1).
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A whole number below `n`, each equally likely.
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no number is below zero");
        if let Source::CLibrary(rand) = &mut self.0 {
            // As C programs do it, bias and all.
            return u64::from(rand.next()) % n;
        }
        // Lemire's method, without bias.
        loop {
            let product = self.next_u64() as u128 * n as u128;
            if product as u64 >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// A sample of the exponential distribution with mean 1.
    pub fn next_exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.next_f64())
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// Spreads the bits of `x` over 64 bits (the finaliser of SplitMix64).
pub const fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// glibc's `rand`: `r[i] = r[i-3] + r[i-31]`, the lowest bit thrown away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CRand {
    state: [u32; 31],
    at: usize,
}

impl CRand {
    fn new(seed: u32) -> Self {
        let mut state = [seed; 31];
        for i in 1..31 {
            // 16807 times the last one modulo 2^31 - 1, in signed arithmetic.
            let next = 16807 * i64::from(state[i - 1] as i32) % 2_147_483_647;
            state[i] = (if next < 0 { next + 2_147_483_647 } else { next }) as u32;
        }
        // The sum starts at the fourth place; the first 310 numbers are thrown away.
        let mut rand = Self { state, at: 3 };
        for _ in 0..310 {
            rand.next();
        }
        rand
    }

    fn next(&mut self) -> u32 {
        // Place `at` holds r[i-31]; r[i-3] stands 28 places on.
        let value = self.state[self.at].wrapping_add(self.state[(self.at + 28) % 31]);
        self.state[self.at] = value;
        self.at = (self.at + 1) % 31;
        value >> 1
    }
}

/// ns-3's uniform random numbers where a program makes a new variable for every draw: the first
/// number of one stream of MRG32k3a after another (L'Ecuyer 1999; streams 2^127 apart, run 1 of a seed).
#[derive(Clone, Debug)]
pub struct Ns3Streams {
    /// Start of the next stream.
    state: Mrg32k3a,
    jump: [[[u64; 3]; 3]; 2],
}

/// MRG32k3a, the two components' last three numbers, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mrg32k3a([[u64; 3]; 2]);

const MODULI: [u64; 2] = [4_294_967_087, 4_294_944_443];
/// One step of each component: `x' = a * x[n-2] - b * x[n-3]` and `y' = c * y[n-1] - d * y[n-3]`.
const STEP: [[[u64; 3]; 3]; 2] = [
    [[0, 1, 0], [0, 0, 1], [MODULI[0] - 810_728, 1_403_580, 0]],
    [[0, 1, 0], [0, 0, 1], [MODULI[1] - 1_370_589, 0, 527_612]],
];

fn multiply(a: &[[u64; 3]; 3], b: &[[u64; 3]; 3], modulus: u64) -> [[u64; 3]; 3] {
    let cell = |i: usize, j: usize| (0..3).fold(0, |sum, k| (sum + a[i][k] * b[k][j] % modulus) % modulus);
    std::array::from_fn(|i| std::array::from_fn(|j| cell(i, j)))
}

/// The step matrices to the power 2^`exponent`.
fn power_of_two(exponent: u32) -> [[[u64; 3]; 3]; 2] {
    std::array::from_fn(|c| (0..exponent).fold(STEP[c], |m, _| multiply(&m, &m, MODULI[c])))
}

impl Mrg32k3a {
    /// Stream `stream` of run 1 of seed 1, as ns-3 numbers them.
    pub fn ns3_stream(stream: u64) -> Self {
        Self::ns3_stream_of(1, stream)
    }

    /// The same of another seed: above zero, and below 4294944443.
    pub fn ns3_stream_of(seed: u32, stream: u64) -> Self {
        let mut state = Self([[u64::from(seed); 3]; 2]);
        for bit in 0..64 {
            if stream >> bit & 1 == 1 {
                state.jump(&power_of_two(127 + bit));
            }
        }
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

    /// The next number, in (0, 1).
    pub fn next_f64(&mut self) -> f64 {
        self.jump(&STEP);
        let (x, y) = (self.0[0][2], self.0[1][2]);
        let difference = if x > y { x - y } else { x + MODULI[0] - y };
        difference as f64 * 2.328_306_549_295_728e-10
    }
}

impl Ns3Streams {
    /// Streams from `first` on, of seed 1.
    pub fn new(first: u64) -> Self {
        Self::of_seed(1, first)
    }

    /// The same of another seed: see [`Mrg32k3a::ns3_stream_of`].
    pub fn of_seed(seed: u32, first: u64) -> Self {
        Self {
            state: Mrg32k3a::ns3_stream_of(seed, first),
            jump: power_of_two(127),
        }
    }

    /// The first number of the next stream.
    pub fn next_f64(&mut self) -> f64 {
        let mut stream = self.state;
        self.skip();
        stream.next_f64()
    }

    /// Passes over a stream that something else uses.
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

    /// The first numbers of a C program that prints `rand()` without seeding, on Linux.
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

    /// Of seed 6, streams 386 and 388 times 40000: the ports of the first two flows of a program whose set-up takes 386
    /// streams, and one between two ports (`validation/tcd-ns3`).
    #[test]
    fn streams_of_another_seed() {
        let port = |stream| (Mrg32k3a::ns3_stream_of(6, stream).next_f64() * 40_000.0) as u32;
        assert_eq!([386, 388].map(port), [19_959, 22_567]);
        let mut streams = Ns3Streams::of_seed(6, 386);
        assert_eq!((streams.next_f64() * 40_000.0) as u32, 19_959);
    }

    /// With all six seeds 12345 the generator's first numbers are published with its code.
    #[test]
    fn mrg32k3a_is_lecuyers() {
        let mut generator = Mrg32k3a([[12345; 3]; 2]);
        assert!((generator.next_f64() - 0.127_011_122_046_577_1).abs() < 1e-12);
        assert!((generator.next_f64() - 0.318_527_565_396_794_3).abs() < 1e-12);
    }
}
