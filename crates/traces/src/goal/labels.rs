//! Labels of one rank, looked up by text without an allocation for each.

use std::hash::{BuildHasher, RandomState};

/// Definition of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Definition {
    /// Number of the operation.
    pub(super) operation: u32,
    /// Lines behind the first line of the rank.
    pub(super) line: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    length: u32,
    hash: u32,
    definition: Definition,
}

/// Open-addressing hash table of labels, whose texts are contiguous in memory. It is reused for the next rank.
#[derive(Debug)]
pub(super) struct Labels {
    text: Vec<u8>,
    entries: Vec<Entry>,
    /// Indices of entries plus one; 0 for free slots. The length is a power of two.
    table: Vec<u32>,
    /// Random seed, without which a text could choose labels that all collide.
    seed: u64,
}

impl Default for Labels {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            entries: Vec::new(),
            table: Vec::new(),
            seed: RandomState::new().hash_one(0),
        }
    }
}

impl Labels {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
        self.table.fill(0);
    }

    pub(super) fn get(&self, label: &[u8]) -> Option<Definition> {
        let slot = self.slot(label, self.hash(label))?;
        let entry = self.table[slot].checked_sub(1)?;
        Some(self.entries[entry as usize].definition)
    }

    /// Defines a label, or returns its earlier definition.
    pub(super) fn define(&mut self, label: &[u8], definition: Definition) -> Option<Definition> {
        // At least half of the table stays empty, so that searches stay short.
        if self.entries.len() * 2 >= self.table.len() {
            self.grow();
        }
        let hash = self.hash(label);
        let slot = self.slot(label, hash)?;
        // A slot holds the number of its entry plus one, since 0 marks a free slot.
        if let Some(entry) = self.table[slot].checked_sub(1) {
            return Some(self.entries[entry as usize].definition);
        }
        self.entries.push(Entry {
            start: self.text.len() as u64,
            length: label.len() as u32,
            hash,
            definition,
        });
        self.text.extend_from_slice(label);
        self.table[slot] = self.entries.len() as u32;
        None
    }

    /// Returns the label of this rank most similar to an unknown one, if any is similar.
    pub(super) fn nearest(&self, label: &[u8]) -> Option<String> {
        const LOOKED_AT: usize = 20_000;
        let wanted = String::from_utf8_lossy(label);
        let near = self.entries.iter().rev().take(LOOKED_AT).map(|entry| {
            let text = String::from_utf8_lossy(self.text_of(entry)).into_owned();
            (strsim::osa_distance(&wanted, &text), text)
        });
        near.min_by_key(|n| n.0).filter(|n| n.0 <= 2).map(|n| n.1)
    }

    fn hash(&self, label: &[u8]) -> u32 {
        let mut hash = self.seed ^ label.len() as u64;
        for chunk in label.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let product = u128::from(hash ^ u64::from_le_bytes(word)) * u128::from(self.seed | 1);
            hash = (product >> 64) as u64 ^ product as u64;
        }
        (hash >> 32) as u32
    }

    fn text_of(&self, entry: &Entry) -> &[u8] {
        let start = usize::try_from(entry.start).unwrap_or(usize::MAX);
        self.text
            .get(start..)
            .and_then(|t| t.get(..entry.length as usize))
            .unwrap_or_default()
    }

    /// Returns the slot of a label, or the free one for it.
    fn slot(&self, label: &[u8], hash: u32) -> Option<usize> {
        let mask = self.table.len().checked_sub(1)?;
        let mut slot = hash as usize & mask;
        while let Some(entry) = self.table[slot].checked_sub(1) {
            let entry = &self.entries[entry as usize];
            if entry.hash == hash && self.text_of(entry) == label {
                break;
            }
            slot = (slot + 1) & mask;
        }
        Some(slot)
    }

    fn grow(&mut self) {
        let length = (self.table.len() * 2).max(64);
        self.table.clear();
        self.table.resize(length, 0);
        for (number, entry) in (1u32..).zip(&self.entries) {
            let mut slot = entry.hash as usize & (length - 1);
            while self.table[slot] != 0 {
                slot = (slot + 1) & (length - 1);
            }
            self.table[slot] = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_found_and_told_apart() {
        let mut labels = Labels::default();
        let at = |n: u32| Definition {
            operation: n,
            line: n,
        };
        assert_eq!(labels.get(b"l1"), None);
        for n in 0..5000u32 {
            assert_eq!(labels.define(format!("l{n}").as_bytes(), at(n)), None);
        }
        for n in 0..5000u32 {
            assert_eq!(labels.get(format!("l{n}").as_bytes()), Some(at(n)));
        }
        assert_eq!(labels.define(b"l17", at(9)), Some(at(17)));
        assert_eq!(labels.get(b"m1"), None);
        assert_eq!(labels.nearest(b"l49999"), Some("l4999".into()));
        labels.clear();
        assert_eq!(labels.get(b"l17"), None);
    }
}
