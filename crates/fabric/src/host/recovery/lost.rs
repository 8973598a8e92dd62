//! Packets that are to be sent again.

use std::ops::{Deref, DerefMut};

use super::bits::Bits;

/// A bit for each packet that is to be sent again, and where to begin to look.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Lost {
    bits: Bits,
    /// No lost packet is before this one.
    from: u32,
}

impl Lost {
    /// None, the room kept.
    pub(super) fn reset(&mut self) {
        self.bits.reset();
        self.from = 0;
    }

    /// The packet is to be sent again; says whether that is new.
    pub(super) fn add(&mut self, packet: u32) -> bool {
        self.from = match self.bits.count() {
            0 => packet,
            _ => self.from.min(packet),
        };
        self.bits.set(packet)
    }

    /// Takes out the first of a window from `una` up to `next`.
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
