//! Damage to files, deterministic by seed.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Numbers that are likely to break readers: limits of types, values that are rounded, and non-numbers.
const NUMBERS: [&str; 24] = [
    "0",
    "-1",
    "-0.0",
    "1",
    "1.5",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "1e18",
    "1e19",
    "1e308",
    "1e309",
    "1e-320",
    "nan",
    "inf",
    "0x10",
];

/// Texts that no undamaged file contains.
const ODD: [&str; 16] = [
    "\0",
    "\u{feff}",
    "\u{1b}[31m",
    "\u{202e}",
    "é",
    "𝟘",
    "\r",
    "\r\n",
    "\t",
    "\"",
    "'",
    "[",
    "{",
    "]",
    "=",
    ",",
];

/// Largest size of an input, in bytes.
const LARGEST: usize = 1 << 20;

/// Content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentKind {
    /// Lines, words and numbers.
    Text,
    /// Bytes with an index at the end.
    Binary,
}

/// Generator of damage to files.
pub(crate) struct Mutator {
    rng: Xoshiro256PlusPlus,
}

impl Mutator {
    /// Creates the generator for a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Returns a number below `n`, which must be at least 1.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.rng.next_u64() % n as u64) as usize
    }

    /// Returns one of the elements.
    pub(crate) fn one<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Damages `bytes` at one position, often at several; `others` are files of the same kind, from which parts are
    /// inserted.
    pub(crate) fn damage(&mut self, kind: ContentKind, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
        let times = *self.one(&[1, 1, 1, 1, 1, 2, 3, 8]);
        for _ in 0..times {
            match kind {
                ContentKind::Text => self.text(bytes, others),
                ContentKind::Binary => self.binary(bytes, others),
            }
            // Inserted parts and repetitions would otherwise multiply the size.
            bytes.truncate(LARGEST);
        }
    }

    fn text(&mut self, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
        match self.below(12) {
            0..=3 => {
                let number = self.one(&NUMBERS).as_bytes().to_vec();
                self.replace_token(bytes, is_number, &number);
            }
            4 | 5 => {
                let from = self.one(others).clone();
                if let Some(word) = self.token(&from, is_word) {
                    self.replace_token(bytes, is_word, &from[word]);
                }
            }
            6 | 7 => self.lines(bytes),
            8 => {
                let odd = self.one(&ODD).repeat(1 << self.below(12));
                self.insert(bytes, odd.as_bytes());
            }
            9 => self.splice(bytes, others),
            _ => self.bytes(bytes),
        }
    }

    fn binary(&mut self, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
        match self.below(6) {
            0 => self.splice(bytes, others),
            1 | 2 => {
                // Values at which varints, signs and lengths change their form.
                let value = self
                    .one(&[0u64, 1, 127, 128, 255, 1 << 31, u64::MAX >> 1, u64::MAX])
                    .to_le_bytes();
                let width = *self.one(&[1, 2, 4, 8]);
                let at = self.place(bytes);
                for (byte, value) in bytes.iter_mut().skip(at).zip(&value[..width]) {
                    *byte = *value;
                }
            }
            _ => self.bytes(bytes),
        }
    }

    /// Returns a position in a file, half of the time near its end.
    fn place(&mut self, bytes: &[u8]) -> usize {
        let tail = bytes.len().min(2048);
        match self.below(2) {
            0 => self.below(bytes.len().max(1)),
            _ => bytes.len() - tail + self.below(tail.max(1)),
        }
    }

    fn bytes(&mut self, bytes: &mut Vec<u8>) {
        let at = self.place(bytes).min(bytes.len());
        match self.below(5) {
            0 | 1 => {
                let bit = 1 << self.below(8);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bit;
                }
            }
            2 => {
                let value = self.rng.next_u64() as u8;
                bytes.insert(at, value);
            }
            3 => {
                let end = (at + 1 + self.below(64)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => bytes.truncate(at),
        }
    }

    fn insert(&mut self, bytes: &mut Vec<u8>, what: &[u8]) {
        let at = self.below(bytes.len() + 1);
        bytes.splice(at..at, what.iter().copied());
    }

    /// Inserts a part of another file.
    fn splice(&mut self, bytes: &mut Vec<u8>, others: &[Vec<u8>]) {
        let from = self.one(others).clone();
        let first = self.below(from.len() + 1);
        let end = first + self.below(from.len() - first + 1);
        self.insert(bytes, &from[first..end]);
    }

    /// Removes a line, repeats it, or swaps it with another.
    fn lines(&mut self, bytes: &mut Vec<u8>) {
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
        if lines.is_empty() {
            return;
        }
        let (one, other) = (self.below(lines.len()), self.below(lines.len()));
        match self.below(3) {
            0 => drop(lines.remove(one)),
            1 => lines.insert(other, lines[one]),
            _ => lines.swap(one, other),
        }
        *bytes = lines.concat();
    }

    /// Returns a sequence of bytes for which `is` holds.
    fn token(&mut self, bytes: &[u8], is: fn(u8) -> bool) -> Option<std::ops::Range<usize>> {
        if bytes.is_empty() {
            return None;
        }
        let from = self.below(bytes.len());
        let start = (from..bytes.len()).chain(0..from).find(|&at| is(bytes[at]))?;
        let first = (0..start).rev().find(|&at| !is(bytes[at])).map_or(0, |at| at + 1);
        let end = (start..bytes.len())
            .find(|&at| !is(bytes[at]))
            .unwrap_or(bytes.len());
        Some(first..end)
    }

    fn replace_token(&mut self, bytes: &mut Vec<u8>, is: fn(u8) -> bool, new: &[u8]) {
        if let Some(token) = self.token(bytes, is) {
            bytes.splice(token, new.iter().copied());
        }
    }
}

fn is_number(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'.'
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_does_the_same_damage() {
        let sound = b"hosts = 3\nrate = \"100Gbps\"\n".to_vec();
        let damaged = |seed, kind| {
            let mut bytes = sound.clone();
            Mutator::new(seed).damage(kind, &mut bytes, std::slice::from_ref(&sound));
            bytes
        };
        for kind in [ContentKind::Text, ContentKind::Binary] {
            let all: std::collections::BTreeSet<_> = (0..400).map(|seed| damaged(seed, kind)).collect();
            assert!(all.len() > 200, "{kind:?}: {} different", all.len());
            assert!((0..400).all(|seed| damaged(seed, kind) == damaged(seed, kind)));
        }
    }

    #[test]
    fn nothing_is_damaged_too() {
        for seed in 0..2_000 {
            for kind in [ContentKind::Text, ContentKind::Binary] {
                Mutator::new(seed).damage(kind, &mut Vec::new(), &[Vec::new()]);
            }
        }
    }
}
