//! Where an operation stands in its text: found again when it is asked for.

use std::fs::File;
use std::io::{self, Read};

use super::cursor::Cursor;
use super::statement::{Lines, Statement};
use super::store;

/// One operation in so many is remembered with its place.
pub(super) const EVERY: usize = 256;

/// Where an operation stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checkpoint {
    /// Bytes before its line.
    pub(super) offset: u64,
    /// From 1.
    pub(super) line: u64,
}

/// A text that can be read again.
#[derive(Debug)]
pub(super) enum Text {
    Memory(Vec<u8>),
    File(File),
}

/// Places of all operations of a text.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) text: Text,
    /// By rank, of every [`EVERY`]-th operation.
    pub(super) checkpoints: Vec<Vec<Checkpoint>>,
}

impl Places {
    /// Line and label of an operation; an empty label where it has none. Nothing if the text cannot be read again.
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

/// The n-th operation of a text that begins at a checkpoint.
fn find(text: impl Read, from: Checkpoint, mut n: usize) -> Option<(u64, String)> {
    let mut lines = Lines::new(Cursor::new(text, from.offset, from.line), "", u32::MAX);
    let mut begun = (0, 0);
    loop {
        match lines.statement(&mut begun).ok()? {
            Statement::Operation(_) if n == 0 => {
                return Some((begun.1, String::from_utf8_lossy(&lines.label).into_owned()));
            }
            Statement::Operation(_) => n -= 1,
            Statement::Edge { .. } => {}
            Statement::Close => return None,
        }
    }
}

/// A file from some position on, whatever else reads it.
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
