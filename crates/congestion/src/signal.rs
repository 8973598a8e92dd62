//! Signals: packets in which a scheme's switch half reports to the sender of a data packet.
//!
//! The scheme defines the contents: its switch half writes them, its sender reads them, and nothing in
//! between interprets them. The network adds the port's rate and the elapsed time, so no scheme has to encode
//! these.

use paceline_kernel::{BitRate, Span};

/// A few bytes whose meaning the scheme defines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Words([u8; Self::LEN]);

impl Words {
    /// Bytes in a signal.
    pub const LEN: usize = 12;
    /// Contents of zero bytes.
    pub const EMPTY: Self = Self([0; Self::LEN]);

    /// Creates contents from bytes.
    #[inline]
    pub const fn new(bytes: [u8; Self::LEN]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes in order.
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

    /// Returns a copy with a number in byte `at`.
    ///
    /// # Panics
    /// If the number extends beyond [`Self::LEN`], as in the other methods that take an offset.
    #[inline]
    pub fn with_u8(self, at: usize, value: u8) -> Self {
        self.put(at, [value])
    }
    /// Returns a copy with a two-byte number at byte `at`.
    #[inline]
    pub fn with_u16(self, at: usize, value: u16) -> Self {
        self.put(at, value.to_le_bytes())
    }
    /// Returns a copy with a four-byte number at byte `at`.
    #[inline]
    pub fn with_u32(self, at: usize, value: u32) -> Self {
        self.put(at, value.to_le_bytes())
    }
    /// Returns a copy with an eight-byte number at byte `at`.
    #[inline]
    pub fn with_u64(self, at: usize, value: u64) -> Self {
        self.put(at, value.to_le_bytes())
    }
    /// Returns the number in byte `at`.
    #[inline]
    pub fn u8(self, at: usize) -> u8 {
        let [value] = self.get(at);
        value
    }
    /// Returns the two-byte number at byte `at`.
    #[inline]
    pub fn u16(self, at: usize) -> u16 {
        u16::from_le_bytes(self.get(at))
    }
    /// Returns the four-byte number at byte `at`.
    #[inline]
    pub fn u32(self, at: usize) -> u32 {
        u32::from_le_bytes(self.get(at))
    }
    /// Returns the eight-byte number at byte `at`.
    #[inline]
    pub fn u64(self, at: usize) -> u64 {
        u64::from_le_bytes(self.get(at))
    }
}

/// Signal as its sender receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Contents that the switch half wrote.
    pub words: Words,
    /// Rate of the port that sent the signal.
    pub port_rate: BitRate,
    /// Time from the start of the data packet's transmission to now.
    pub after: Span,
}

/// Transport of a signal to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// In the headers of the data packet, which turn back at the switch (Bolt's SRC).
    Headers,
    /// In a small packet, along the reverse path of the data packet.
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
