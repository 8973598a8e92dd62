//! The single stream of random numbers: MT19937, as C++'s `std::mt19937`.

use paceline_congestion::entropy::Draw;

/// Number of state words (n of MT19937).
const WORDS: usize = 624;
/// Offset of the word mixed into each state word (m of MT19937).
const MIDDLE: usize = 397;

/// The generator of Matsumoto and Nishimura (1998), 32 bits.
#[derive(Clone)]
pub(super) struct Random {
    state: [u32; WORDS],
    next: usize,
    drawn: u64,
}

impl Draw for Random {
    #[inline]
    fn draw(&mut self) -> u32 {
        Self::draw(self)
    }
}

impl Random {
    /// Creates a generator from a one-word seed, as `init_genrand` does.
    pub(super) fn new(seed: u32) -> Self {
        let mut state = [seed; WORDS];
        for i in 1..WORDS {
            let last = state[i - 1];
            state[i] = 1_812_433_253_u32
                .wrapping_mul(last ^ (last >> 30))
                .wrapping_add(i as u32);
        }
        Self {
            state,
            next: WORDS,
            drawn: 0,
        }
    }

    fn refill(&mut self) {
        for i in 0..WORDS {
            let word = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % WORDS] & 0x7FFF_FFFF);
            let odd = if word & 1 == 1 { 0x9908_B0DF } else { 0 };
            self.state[i] = self.state[(i + MIDDLE) % WORDS] ^ (word >> 1) ^ odd;
        }
        self.next = 0;
    }

    /// Draws 31 bits. All random decisions draw here, so the order of draws is part of the behaviour.
    #[inline]
    pub(super) fn draw(&mut self) -> u32 {
        if self.next == WORDS {
            self.refill();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        self.drawn += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9D2C_5680;
        word ^= (word << 15) & 0xEFC6_0000;
        word ^= word >> 18;
        word & 0x7FFF_FFFF
    }

    /// Draws a number between 0 and 1, both included.
    #[inline]
    pub(super) fn unit(&mut self) -> f64 {
        f64::from(self.draw()) / 2_147_483_647.0
    }

    /// Returns the number of draws so far.
    pub(super) fn drawn(&self) -> u64 {
        self.drawn
    }
}

/// Bob Jenkins' mix of 1997, which selects among equal-cost ports.
#[inline]
pub(super) fn hash(flow: u32, path: u32, salt: u32) -> u32 {
    let mut a = 0x9E37_79B9_u32.wrapping_add(flow);
    let mut b = 0x9E37_79B9_u32.wrapping_add(salt);
    let mut c = path;
    macro_rules! mix {
        ($x:ident, $y:ident, $z:ident, $shift:tt, $bits:literal) => {
            $x = $x.wrapping_sub($y).wrapping_sub($z) ^ ($z $shift $bits);
        };
    }
    mix!(a, b, c, >>, 13);
    mix!(b, c, a, <<, 8);
    mix!(c, a, b, >>, 13);
    mix!(a, b, c, >>, 12);
    mix!(b, c, a, <<, 16);
    mix!(c, a, b, >>, 5);
    mix!(a, b, c, >>, 3);
    mix!(b, c, a, <<, 10);
    mix!(c, a, b, >>, 15);
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_of_the_default_seed() {
        let mut random = Random::new(13);
        let first: Vec<u32> = (0..3).map(|_| random.draw()).collect();
        assert_eq!(first, [1_192_722_770, 461_027_504, 1_020_231_754]);
        assert_eq!(random.drawn(), 3);
    }

    #[test]
    fn the_hash_of_known_words() {
        assert_eq!(hash(1, 2, 3), 1_890_041_921);
        assert_eq!(hash(1_000_000_001, 1234, 1_192_722_770), 2_575_783_277);
    }
}
