//! Positions of operations in their text, found again on demand.

use std::fs::File;
use std::io::{self, Read};

use super::cursor::Cursor;
use super::statement::{Lines, Statement};
use super::store;

/// Distance between operations whose position is stored.
pub(super) const EVERY: usize = 256;

/// Position of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Checkpoint {
    /// Bytes before its line.
    pub(super) offset: u64,
    /// Number of its line, from 1.
    pub(super) line: u64,
}

/// Text that can be read again.
#[derive(Debug)]
pub(super) enum Text {
    Memory(Vec<u8>),
    File(File),
}

/// Positions of all operations of a text.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) text: Text,
    /// Positions of every [`EVERY`]-th operation, by rank.
    pub(super) checkpoints: Vec<Vec<Checkpoint>>,
}

impl Places {
    /// Returns line and label of an operation; the label may be empty. `None` if the text cannot be read again.
    pub(super) fn find(&self, rank: u32, operation: u32) -> Option<(u64, String)> {
        let number = operation as usize;
        let checkpoint = self.checkpoints.get(rank as usize)?.get(number / EVERY)?;
        match &self.text {
            Text::Memory(bytes) => {
                let start = usize::try_from(checkpoint.offset).ok()?;
                find(bytes.get(start..)?, *checkpoint, number % EVERY)
            }
            Text::File(file) => find(
                From {
                    file,
                    at: checkpoint.offset,
                },
                *checkpoint,
                number % EVERY,
            ),
        }
    }
}

/// Returns line and label of the `n`-th operation after a checkpoint.
fn find(text: impl Read, from: Checkpoint, mut n: usize) -> Option<(u64, String)> {
    let mut lines = Lines::new(Cursor::new(text, from.offset, from.line), "", u32::MAX);
    let mut start = Checkpoint::default();
    loop {
        match lines.statement(&mut start).ok()? {
            Statement::Operation(_) if n == 0 => {
                return Some((start.line, String::from_utf8_lossy(&lines.label).into_owned()));
            }
            Statement::Operation(_) => n -= 1,
            Statement::Edge { .. } => {}
            Statement::Close => return None,
        }
    }
}

/// File from a position on, read independently of other readers.
struct From<'a> {
    file: &'a File,
    at: u64,
}

impl Read for From<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = store::read_some_at(self.file, out, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
