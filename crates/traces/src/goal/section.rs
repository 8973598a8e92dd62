//! Conversion of one rank from text to binary.

use std::io;

use super::record::{RECORD, Record};
use super::store::Sink;

/// Position of a rank in the store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    /// First byte of its head.
    pub(super) at: u64,
    /// Number of the rank's operations.
    pub(super) operations: u32,
    /// Number of operations without dependencies.
    pub(super) roots: u32,
    /// Number of words in the appendix.
    pub(super) words: u32,
}

impl Section {
    /// Returns the position of its first operation.
    pub(super) fn records(self) -> u64 {
        self.at + 8 + 4 * u64::from(self.roots)
    }

    /// Returns the position of its appendix.
    pub(super) fn appendix(self) -> u64 {
        self.records() + RECORD as u64 * u64::from(self.operations)
    }

    /// Returns the position behind it.
    pub(super) fn end(self) -> u64 {
        self.appendix() + 4 * u64::from(self.words)
    }
}

/// Dependency of one operation on another.
#[derive(Clone, Copy, Debug)]
struct Edge {
    waits: u32,
    /// Twice the number of the operation that is waited for, plus one if it is for its start.
    source: u64,
}

/// Operations and edges of a rank. Reused for the next one.
#[derive(Debug, Default)]
pub(super) struct Builder {
    records: Vec<Record>,
    edges: Vec<Edge>,
    /// Next free word of each list in the appendix.
    next: Vec<u32>,
    appendix: Vec<u32>,
    bytes: Vec<u8>,
}

impl Builder {
    pub(super) fn operations(&self) -> usize {
        self.records.len()
    }

    /// Adds an operation; returns false if a rank cannot have more.
    pub(super) fn add(&mut self, record: Record) -> bool {
        self.records.push(record);
        self.records.len() < u32::MAX as usize
    }

    /// Makes `waits` depend on the end of `source`, or on its start; returns false if a rank cannot have more edges.
    pub(super) fn edge(&mut self, waits: u32, source: u32, by_start: bool) -> bool {
        let Some(record) = self.records.get_mut(waits as usize) else {
            return true;
        };
        record.waits_for = record.waits_for.saturating_add(1);
        self.edges.push(Edge {
            waits,
            source: u64::from(source) * 2 + u64::from(by_start),
        });
        self.edges.len() < u32::MAX as usize
    }

    /// Writes the rank, and clears the builder.
    ///
    /// The appendix holds the lists in the order of operations, those of an end before those of a start, and each
    /// list in the order of the lines: a counting sort.
    pub(super) fn finish(&mut self, sink: &mut Sink) -> io::Result<Section> {
        self.next.clear();
        self.next.resize(self.records.len() * 2, 0);
        for edge in &self.edges {
            self.next[place(edge.source)] += 1;
        }
        // Here `next` changes from the size of each list to the position of its next entry.
        let mut word = 0;
        for (record, counts) in self.records.iter_mut().zip(self.next.chunks_exact_mut(2)) {
            for (list, count) in [&mut record.after_end, &mut record.after_start]
                .into_iter()
                .zip(counts)
            {
                list.count = *count;
                list.first = word;
                *count = word;
                word += list.count;
            }
        }
        self.appendix.clear();
        self.appendix.resize(self.edges.len(), 0);
        for edge in &self.edges {
            let next = &mut self.next[place(edge.source)];
            self.appendix[*next as usize] = edge.waits;
            *next += 1;
        }

        let at = sink.length();
        let roots = self.records.iter().filter(|r| r.waits_for == 0).count();
        let section = Section {
            at,
            operations: self.records.len() as u32,
            roots: roots as u32,
            words: word,
        };
        self.bytes.clear();
        self.bytes.extend_from_slice(&section.operations.to_le_bytes());
        self.bytes.extend_from_slice(&section.roots.to_le_bytes());
        for (number, record) in (0u32..).zip(&self.records) {
            if record.waits_for == 0 {
                self.bytes.extend_from_slice(&number.to_le_bytes());
            }
            spill(&mut self.bytes, sink)?;
        }
        for record in &self.records {
            self.bytes.extend_from_slice(&record.encode());
            spill(&mut self.bytes, sink)?;
        }
        for word in &self.appendix {
            self.bytes.extend_from_slice(&word.to_le_bytes());
            spill(&mut self.bytes, sink)?;
        }
        sink.write(&self.bytes)?;
        self.records.clear();
        self.edges.clear();
        Ok(section)
    }
}

fn place(source: u64) -> usize {
    usize::try_from(source).unwrap_or(usize::MAX)
}

fn spill(bytes: &mut Vec<u8>, sink: &mut Sink) -> io::Result<()> {
    if bytes.len() >= 1 << 16 {
        sink.write(bytes)?;
        bytes.clear();
    }
    Ok(())
}
