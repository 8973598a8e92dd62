//! Packets to be retransmitted.

use std::ops::{Deref, DerefMut};

use super::bits::Bits;

/// A bit for each packet to be retransmitted, and the start of the search for the first.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Lost {
    bits: Bits,
    /// Lower bound of the lost packets.
    from: u32,
}

impl Lost {
    /// Clears all bits, and keeps the memory.
    pub(super) fn reset(&mut self) {
        self.bits.reset();
        self.from = 0;
    }

    /// Adds a packet. Returns true if it was not there.
    pub(super) fn add(&mut self, packet: u32) -> bool {
        self.from = match self.bits.count() {
            0 => packet,
            _ => self.from.min(packet),
        };
        self.bits.set(packet)
    }

    /// Removes the first packet of a window from `una` up to `next`.
    pub(super) fn take(&mut self, una: u32, next: u32) -> Option<u32> {
        if self.bits.count() == 0 {
            return None;
        }
        let packet = self.bits.first_set(self.from.max(una), next)?;
        self.bits.clear(packet);
        self.from = packet + 1;
        Some(packet)
    }
}

impl Deref for Lost {
    type Target = Bits;
    fn deref(&self) -> &Bits {
        &self.bits
    }
}

impl DerefMut for Lost {
    fn deref_mut(&mut self) -> &mut Bits {
        &mut self.bits
    }
}
