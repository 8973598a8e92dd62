//! Hybrid encoding of small numbers: runs of one value, or groups of eight packed to bits. Parquet uses it for levels
//! and for indices into dictionaries.

use crate::error::Error;
use crate::thrift::{Bytes, push_varint};

/// Returns the bits needed for the largest of `count` numbers that start at zero.
pub(crate) const fn width_of(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

/// Appends the numbers, each of `width` bits.
pub(crate) fn encode(numbers: &[u32], width: u32, out: &mut Vec<u8>) {
    let is_run = |at: usize| numbers[at..].iter().take(8).all(|number| *number == numbers[at]);
    let mut at = 0;
    while at < numbers.len() {
        let first = at;
        if is_run(at) {
            let value = numbers[at];
            at += numbers[at..]
                .iter()
                .take_while(|number| **number == value)
                .count();
            push_varint(out, (at - first) as u64 * 2);
            out.extend(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
            continue;
        }
        // Packed numbers form groups of eight, so a run can only begin after a whole group.
        while at < numbers.len() && !is_run(at) {
            at = numbers.len().min(at + 8);
        }
        let groups = (at - first).div_ceil(8);
        push_varint(out, groups as u64 * 2 + 1);
        let (mut bits, mut count) = (0u64, 0);
        let end = out.len() + groups * width as usize;
        for number in &numbers[first..at] {
            bits |= u64::from(*number) << count;
            count += width;
            while count >= 8 {
                out.push(bits as u8);
                bits >>= 8;
                count -= 8;
            }
        }
        out.push(bits as u8);
        // The last group is filled up with zeros.
        out.resize(end, 0);
    }
}

/// Decoder of such numbers.
pub(crate) struct Runs<'a> {
    bytes: Bytes<'a>,
    width: u32,
    run: Run<'a>,
    /// Numbers left in the current run.
    left: usize,
}

enum Run<'a> {
    Same(u32),
    /// Packed bytes, and the index of the next bit.
    Packed(&'a [u8], usize),
}

impl<'a> Runs<'a> {
    /// Creates a decoder for numbers of `width` bits.
    pub(crate) fn new(bytes: &'a [u8], width: u32) -> Result<Self, Error> {
        if width > 32 {
            return Err(Error::damaged("a number has more than 32 bits"));
        }
        Ok(Self {
            bytes: Bytes(bytes),
            width,
            run: Run::Same(0),
            left: 0,
        })
    }

    /// Creates a decoder that returns one number `count` times.
    pub(crate) const fn same(number: u32, count: usize) -> Self {
        Self {
            bytes: Bytes(&[]),
            width: 0,
            run: Run::Same(number),
            left: count,
        }
    }

    /// Creates a decoder for packed numbers of one bit.
    pub(crate) const fn bits(bytes: &'a [u8]) -> Self {
        Self {
            bytes: Bytes(&[]),
            width: 1,
            run: Run::Packed(bytes, 0),
            left: bytes.len() * 8,
        }
    }

    /// Returns the next number, and the length of its run, at most `most`.
    #[inline]
    pub(crate) fn next(&mut self, most: usize) -> Result<(u32, usize), Error> {
        while self.left == 0 {
            self.begin()?;
        }
        let (number, count) = match &mut self.run {
            Run::Same(number) => (*number, self.left.min(most)),
            Run::Packed(bytes, bit) => {
                // Eight bytes suffice for a number of at most 32 bits, whose first byte has up to seven other bits.
                let from = &bytes[*bit / 8..];
                let word = match from.first_chunk() {
                    Some(word) => *word,
                    None => {
                        let mut word = [0; 8];
                        word[..from.len()].copy_from_slice(from);
                        word
                    }
                };
                let number = u64::from_le_bytes(word) >> (*bit % 8) & ((1 << self.width) - 1);
                *bit += self.width as usize;
                (number as u32, 1)
            }
        };
        self.left -= count;
        Ok((number, count))
    }

    fn begin(&mut self) -> Result<(), Error> {
        let head = self.bytes.varint()?;
        let count = usize::try_from(head >> 1).unwrap_or(usize::MAX);
        if head & 1 == 0 {
            let mut number = [0; 4];
            let length = self.width.div_ceil(8) as usize;
            number[..length].copy_from_slice(self.bytes.take(length)?);
            let number = u32::from_le_bytes(number);
            if u64::from(number) >> self.width > 0 {
                return Err(Error::damaged("a number has more bits than its width"));
            }
            self.run = Run::Same(number);
            self.left = count;
            return Ok(());
        }
        if self.width == 0 {
            self.run = Run::Same(0);
            self.left = count.saturating_mul(8);
            return Ok(());
        }
        // The last group may be incomplete.
        let width = self.width as usize;
        let length = count.saturating_mul(width).min(self.bytes.0.len());
        let packed = self.bytes.take(length)?;
        self.run = Run::Packed(packed, 0);
        self.left = length * 8 / width;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn widths_hold_what_they_are_of() {
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 256, 257].map(width_of),
            [0, 0, 1, 2, 2, 3, 8, 9]
        );
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            width in 0u32..33,
            parts in prop::collection::vec((any::<u32>(), 1usize..40, any::<bool>()), 0..40),
        ) {
            let mask = ((1u64 << width) - 1) as u32;
            let numbers: Vec<u32> = parts
                .iter()
                .flat_map(|&(number, count, same)| {
                    (0..count as u32).map(move |i| (if same { number } else { number.wrapping_mul(i * 2 + 1) }) & mask)
                })
                .collect();
            let mut bytes = Vec::new();
            encode(&numbers, width, &mut bytes);
            let mut runs = Runs::new(&bytes, width).unwrap();
            let mut read = Vec::new();
            while read.len() < numbers.len() {
                let (number, count) = runs.next(numbers.len() - read.len()).unwrap();
                read.extend(std::iter::repeat_n(number, count));
            }
            prop_assert_eq!(read, numbers);
        }
    }
}
