//! Format of a binary GOAL file: the 39 bytes of an operation, and the words around them.

/// First eight bytes of a binary file, little-endian.
pub(super) const MAGIC: u64 = 4223;
/// First eight bytes of a file that LogGOPSim modified with `--save-mem`, which damages it.
pub(super) const SPOILT: u64 = 2342;
/// Position from which the file counts its offsets.
pub(super) const BASE: u64 = 8;
/// Bytes of the number of ranks, highest cpu and highest NIC.
pub(super) const HEAD: u64 = 6;
/// Bytes of a rank's start and end.
pub(super) const JUMP: u64 = 16;
/// Bytes of an operation.
pub(super) const RECORD: usize = 39;
/// Value of `-1` in the file: any source, any tag.
pub(super) const ANY: u32 = u32::MAX;

/// Types of operations in the file.
pub(super) const SEND: u8 = 1;
pub(super) const RECEIVE: u8 = 2;
pub(super) const CALC: u8 = 3;

/// Highest cpu and NIC of a program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Highest {
    pub(super) cpu: u8,
    pub(super) nic: u8,
}

/// Operation as stored in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// Number of operations it depends on.
    pub(super) waits_for: u32,
    /// Type: [`SEND`], [`RECEIVE`] or [`CALC`].
    pub(super) kind: u8,
    /// Other rank; [`ANY`] for any.
    pub(super) peer: u32,
    /// Size in bytes; duration in ns of a calc.
    pub(super) size: u64,
    /// Tag of the message; [`ANY`] for any.
    pub(super) tag: u32,
    pub(super) cpu: u8,
    pub(super) nic: u8,
    /// Operations that wait for its end.
    pub(super) after_end: List,
    /// Operations that wait for its start.
    pub(super) after_start: List,
}

/// Range of a rank's appendix, in words of four bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct List {
    pub(super) count: u32,
    pub(super) first: u32,
}

impl List {
    /// Returns the word behind the last one.
    pub(super) fn end(self) -> u64 {
        u64::from(self.first) + u64::from(self.count)
    }
}

impl Record {
    pub(super) fn decode(bytes: &[u8; RECORD]) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let list = |at: usize| List {
            count: word(at),
            first: word(at + 4),
        };
        Self {
            waits_for: word(0),
            kind: bytes[4],
            peer: word(5),
            size: u64::from(word(9)) | u64::from(word(13)) << 32,
            tag: word(17),
            cpu: bytes[21],
            nic: bytes[22],
            after_end: list(23),
            after_start: list(31),
        }
    }

    pub(super) fn encode(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &self.waits_for.to_le_bytes());
        put(4, &[self.kind]);
        put(5, &self.peer.to_le_bytes());
        put(9, &self.size.to_le_bytes());
        put(17, &self.tag.to_le_bytes());
        put(21, &[self.cpu, self.nic]);
        put(23, &self.after_end.count.to_le_bytes());
        put(27, &self.after_end.first.to_le_bytes());
        put(31, &self.after_start.count.to_le_bytes());
        put(35, &self.after_start.first.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_record_is_read_as_it_was_written(bytes in proptest::array::uniform32(0u8..), rest in proptest::array::uniform7(0u8..)) {
            let mut whole = [0; RECORD];
            whole[..32].copy_from_slice(&bytes);
            whole[32..].copy_from_slice(&rest);
            proptest::prop_assert_eq!(Record::decode(&whole).encode(), whole);
        }
    }
}
