//! Signals: what the switch's half of a scheme tells the sender of a data packet, in a packet of its own.
//!
//! The words are the scheme's: its switch half writes them, its sender reads them, and nothing in between looks at them.
//! The network adds what it knows anyway, so no scheme has to squeeze it into words.

use paceline_kernel::{BitRate, Span};

/// A few bytes whose meaning is the scheme's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words([u8; Self::LEN]);

impl Words {
    /// Bytes that a signal has room for.
    pub const LEN: usize = 12;
    /// All bytes zero.
    pub const EMPTY: Self = Self([0; Self::LEN]);

    /// These bytes.
    #[inline]
    pub const fn new(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[inline]
    pub const fn bytes(self) -> [u8; Self::LEN] {
        self.0
    }

    #[inline]
    fn put<const N: usize>(mut self, at: usize, bytes: [u8; N]) -> Self {
        self.0[at..at + N].copy_from_slice(&bytes);
        self
    }

    #[inline]
    fn get<const N: usize>(self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[at..at + N]);
        bytes
    }

    /// The same with a number in byte `at`.
    ///
    /// # Panics
    /// Like the other methods that name a byte: if the number reaches beyond [`Self::LEN`].
    #[inline]
    pub fn with_u8(self, at: usize, value: u8) -> Self {
        self.put(at, [value])
    }
    /// The same with a number of two bytes from byte `at` on.
    #[inline]
    pub fn with_u16(self, at: usize, value: u16) -> Self {
        self.put(at, value.to_le_bytes())
    }
    /// The same with a number of four bytes from byte `at` on.
    #[inline]
    pub fn with_u32(self, at: usize, value: u32) -> Self {
        self.put(at, value.to_le_bytes())
    }
    /// The same with a number of eight bytes from byte `at` on.
    #[inline]
    pub fn with_u64(self, at: usize, value: u64) -> Self {
        self.put(at, value.to_le_bytes())
    }
    /// The number in byte `at`.
    #[inline]
    pub fn u8(self, at: usize) -> u8 {
        let [value] = self.get(at);
        value
    }
    /// The number of two bytes from byte `at` on.
    #[inline]
    pub fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes(self.get(at))
    }
    /// The number of four bytes from byte `at` on.
    #[inline]
    pub fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes(self.get(at))
    }
    /// The number of eight bytes from byte `at` on.
    #[inline]
    pub fn u64(self, at: usize) -> u64 {
        u64::from_le_bytes(self.get(at))
    }
}

/// What a sender gets of the switch's half of its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// What the half wrote.
    pub words: Words,
    /// The rate of the port that speaks.
    pub port_rate: BitRate,
    /// From the start of the data packet's transmission to now.
    pub after: Span,
}

/// How a signal travels to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// In the headers of the data packet, which turn back where they are (Bolt's SRC).
    Headers,
    /// In a small packet, back the way that the data packet came.
    Packet,
    /// In a small packet that each switch routes by its destination (QCN's CNM).
    Routed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_were_written() {
        let words = Words::EMPTY.with_u32(0, 0xdead_beef).with_u16(4, 7).with_u8(6, 9);
        let words = words.with_u32(8, u32::MAX);
        assert_eq!(words.u32(0), 0xdead_beef);
        assert_eq!((words.u16(4), words.u8(6), words.u8(7)), (7, 9, 0));
        assert_eq!(words.u32(8), u32::MAX);
        assert_eq!(Words::new(words.bytes()), words);
        assert_eq!(Words::EMPTY.with_u64(4, 1 << 63).u64(4), 1 << 63);
    }
}
