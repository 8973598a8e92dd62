//! Compact encoding of values: quantised, with runs of equal values, as base64.

use crate::bytes::{base64, varint};

/// Encoder for the values of many rows. For each row that is not all zero, it writes the distance from the last such
/// row as a varint, then the values as segments. A segment is a varint, twice its length plus one if all its values
/// are equal, followed by its values, or by the single one. Values have one byte or two, the low one first.
#[derive(Clone, Debug)]
pub(super) struct Packer {
    bytes: Vec<u8>,
    two: bool,
    last: usize,
}

impl Packer {
    /// Creates an encoder for values below 256 or, if `two`, below 65536.
    pub(super) const fn new(two: bool) -> Self {
        Self {
            bytes: Vec::new(),
            two,
            last: 0,
        }
    }

    /// Adds a row; rows must be added in ascending order.
    pub(super) fn row(&mut self, row: usize, values: &[u16]) {
        if values.iter().all(|&value| value == 0) {
            return;
        }
        varint(&mut self.bytes, (row - self.last) as u64);
        self.last = row;
        let mut literal = 0;
        let mut at = 0;
        while at < values.len() {
            let equal = values[at..].iter().take_while(|&&v| v == values[at]).count();
            // Shorter runs would cost more than they save.
            if equal > 3 {
                self.stretch(&values[literal..at]);
                varint(&mut self.bytes, (equal << 1 | 1) as u64);
                self.value(values[at]);
                literal = at + equal;
            }
            at += equal;
        }
        self.stretch(&values[literal..]);
    }

    /// Returns the length of the text so far.
    pub(super) const fn len(&self) -> usize {
        self.bytes.len().div_ceil(3) * 4
    }

    /// Returns the encoded text.
    pub(super) fn text(&self) -> String {
        base64(&self.bytes)
    }

    fn stretch(&mut self, values: &[u16]) {
        if !values.is_empty() {
            varint(&mut self.bytes, (values.len() << 1) as u64);
            values.iter().for_each(|&value| self.value(value));
        }
    }

    fn value(&mut self, value: u16) {
        let [low, high] = value.to_le_bytes();
        self.bytes.push(low);
        if self.two {
            self.bytes.push(high);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_row_by_hand() {
        let mut packer = Packer::new(false);
        packer.row(0, &[0, 0]);
        packer.row(130, &[7, 8, 8, 9, 9, 9, 9, 9]);
        // Row 130 = 2 + 1 * 128; three values literally; five equal ones.
        assert_eq!(packer.bytes, [130, 1, 6, 7, 8, 8, 11, 9]);
        assert_eq!(packer.len(), packer.text().len());
    }

    /// Decodes values of one byte or, if `two`, of two, like the page's script.
    pub(in crate::topology) fn unpack(bytes: &[u8], two: bool, columns: usize, rows: usize) -> Vec<Vec<u16>> {
        let mut table = vec![vec![0; columns]; rows];
        let mut bytes = bytes.iter().copied().peekable();
        let varint = |bytes: &mut dyn Iterator<Item = u8>| {
            let (mut number, mut shift) = (0usize, 0);
            loop {
                let byte = bytes.next().unwrap();
                number |= usize::from(byte & 127) << shift;
                shift += 7;
                if byte < 128 {
                    return number;
                }
            }
        };
        let value = |bytes: &mut dyn Iterator<Item = u8>| {
            let low = u16::from(bytes.next().unwrap());
            if two {
                low | u16::from(bytes.next().unwrap()) << 8
            } else {
                low
            }
        };
        let mut row = 0;
        while bytes.peek().is_some() {
            row += varint(&mut bytes);
            let mut at = 0;
            while at < columns {
                let head = varint(&mut bytes);
                let one = (head & 1 == 1).then(|| value(&mut bytes));
                for _ in 0..head >> 1 {
                    table[row][at] = one.unwrap_or_else(|| value(&mut bytes));
                    at += 1;
                }
            }
        }
        table
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(
            two: bool,
            table in (1usize..300).prop_flat_map(|columns| prop::collection::vec(
                prop::collection::vec(prop_oneof![3 => Just(0u16), 1 => Just(255), 1 => any::<u16>()], columns), 1..6)),
        ) {
            let limit = if two { u16::MAX } else { 255 };
            let table: Vec<Vec<u16>> =
                table.iter().map(|row| row.iter().map(|&v| v.min(limit)).collect()).collect();
            let mut packer = Packer::new(two);
            table.iter().enumerate().for_each(|(row, values)| packer.row(row, values));
            prop_assert_eq!(unpack(&packer.bytes, two, table[0].len(), table.len()), table);
        }
    }
}
