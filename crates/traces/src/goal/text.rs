//! GOAL as text: converted to the binary form rank by rank, while it is read.

use std::collections::BTreeMap;
use std::io::{self, Read};

use super::cursor::Cursor;
use super::labels::{Definition, Labels};
use super::places::{Checkpoint, EVERY};
use super::record::Highest;
use super::section::{Builder, Section};
use super::statement::{Lines, Statement};
use super::store::{Sink, Store};
use crate::trouble::Trouble;

/// Result of reading a text.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) store: Store,
    /// Sections in the order of ranks.
    pub(super) sections: Vec<Section>,
    /// Positions of every [`EVERY`]-th operation, by rank.
    pub(super) checkpoints: Vec<Vec<Checkpoint>>,
    /// Highest cpu and NIC.
    pub(super) highest: Highest,
    /// Flag for each cpu that is used.
    pub(super) cpus: [bool; 256],
}

/// Rank that has been read.
struct Finished {
    section: Section,
    checkpoints: Vec<Checkpoint>,
    line: u64,
}

/// Reads a text that errors call `name`.
pub(super) fn parse(input: impl Read, name: &str) -> Result<Parsed, Trouble> {
    let mut lines = Lines::new(Cursor::new(input, 0, 1), name, 0);
    for mark in [0xef, 0xbb, 0xbf] {
        // A byte order mark is skipped.
        if lines.cursor.peek() == Some(mark) {
            lines.cursor.advance();
        }
    }
    lines.skip(true)?;
    lines.keyword("num_ranks")?;
    lines.ranks = lines.number("the number of ranks", u64::from(u32::MAX) - 1, false)? as u32;
    if lines.ranks == 0 {
        return Err(lines.trouble("num_ranks 0: expected at least one rank"));
    }

    let mut reader = Reader {
        lines,
        builder: Builder::default(),
        labels: Labels::default(),
        sink: Sink::new(),
        highest: Highest::default(),
        cpus: [false; 256],
    };
    let mut finished = BTreeMap::new();
    loop {
        reader.lines.skip(true)?;
        if reader.lines.cursor.peek().is_none() {
            break;
        }
        reader.rank(&mut finished)?;
    }
    reader.finish(finished)
}

struct Reader<'a, R> {
    lines: Lines<'a, R>,
    builder: Builder,
    labels: Labels,
    sink: Sink,
    highest: Highest,
    cpus: [bool; 256],
}

impl<R: Read> Reader<'_, R> {
    /// Reads a block `rank 3 { ... }`.
    fn rank(&mut self, finished: &mut BTreeMap<u32, Finished>) -> Result<(), Trouble> {
        let opened = self.lines.cursor.line();
        self.lines.keyword("rank")?;
        let rank = self
            .lines
            .number("the number of a rank", u64::from(u32::MAX), false)? as u32;
        let ranks = self.lines.ranks;
        if rank >= ranks {
            return Err(self.lines.trouble(format!(
                "rank {rank} with num_ranks {ranks}: ranks go from 0 to {}",
                ranks - 1
            )));
        }
        if let Some(first) = finished.get(&rank) {
            let line = first.line;
            return Err(self
                .lines
                .trouble(format!("rank {rank} twice: it is in line {line} already")));
        }
        self.lines.skip(true)?;
        if self.lines.cursor.peek() != Some(b'{') {
            return Err(self.lines.trouble(format!("expected `{{` after `rank {rank}`")));
        }
        self.lines.cursor.advance();

        let mut checkpoints = Vec::new();
        let mut start = Checkpoint::default();
        loop {
            match self.lines.statement(&mut start) {
                Ok(Statement::Operation(record)) => {
                    // A checkpoint for some operations only keeps memory small; the others are found from there.
                    if self.builder.operations().is_multiple_of(EVERY) {
                        checkpoints.push(start);
                    }
                    self.define(rank, opened)?;
                    self.highest.cpu = self.highest.cpu.max(record.cpu);
                    self.highest.nic = self.highest.nic.max(record.nic);
                    self.cpus[usize::from(record.cpu)] = true;
                    if !self.builder.add(record) {
                        return Err(self
                            .lines
                            .trouble(format!("rank {rank} has 2^32 operations: expected fewer")));
                    }
                }
                Ok(Statement::Edge { by_start }) => self.edge(rank, by_start)?,
                Ok(Statement::Close) => break,
                Err(mut trouble) => {
                    // At the end of the file, the cause is mostly a missing brace far above.
                    if self.lines.cursor.peek().is_none() {
                        trouble.message += &format!("; rank {rank} of line {opened} is not closed");
                    }
                    return Err(trouble);
                }
            }
        }
        // Labels are valid within their rank only: the next one may use the same words.
        self.labels.clear();
        let section = self.builder.finish(&mut self.sink).map_err(|e| unwritten(&e))?;
        let line = opened;
        finished.insert(
            rank,
            Finished {
                section,
                checkpoints,
                line,
            },
        );
        Ok(())
    }

    /// Defines the label of an operation, if it has one.
    fn define(&mut self, rank: u32, opened: u64) -> Result<(), Trouble> {
        if self.lines.label.is_empty() {
            return Ok(());
        }
        let definition = Definition {
            operation: self.builder.operations() as u32,
            line: u32::try_from(self.lines.cursor.line() - opened).unwrap_or(u32::MAX),
        };
        let Some(first) = self.labels.define(&self.lines.label, definition) else {
            return Ok(());
        };
        let label = String::from_utf8_lossy(&self.lines.label).into_owned();
        let line = opened + u64::from(first.line);
        Err(self.lines.trouble(format!(
            "label {label} twice in rank {rank}: it is in line {line} already"
        )))
    }

    fn edge(&mut self, rank: u32, by_start: bool) -> Result<(), Trouble> {
        let waits = self.labels.get(&self.lines.label);
        let source = self.labels.get(&self.lines.other);
        let (Some(waits), Some(source)) = (waits, source) else {
            let missing = if waits.is_none() {
                &self.lines.label
            } else {
                &self.lines.other
            };
            let near = self.labels.nearest(missing);
            let label = String::from_utf8_lossy(missing).into_owned();
            let trouble = self.lines.trouble(format!(
                "label {label} is not defined in rank {rank} before this line: expected the label of an operation above"
            ));
            return Err(match near {
                Some(near) => trouble.help(format!("Did you mean `{near}`?")),
                None => trouble,
            });
        };
        if self.builder.edge(waits.operation, source.operation, by_start) {
            return Ok(());
        }
        Err(self
            .lines
            .trouble(format!("rank {rank} has 2^32 dependencies: expected fewer")))
    }

    fn finish(mut self, finished: BTreeMap<u32, Finished>) -> Result<Parsed, Trouble> {
        let ranks = self.lines.ranks;
        // A failed read looks like the end of the text, so it is reported before missing ranks.
        if let Some(error) = self.lines.cursor.failure() {
            return Err(self.lines.trouble(format!("cannot be read: {error}")));
        }
        if finished.len() < ranks as usize {
            let missing = (0..ranks)
                .filter(|r| !finished.contains_key(r))
                .take(5)
                .map(|r| r.to_string());
            let list = missing.collect::<Vec<_>>().join(", ");
            let count = ranks as usize - finished.len();
            let more = if count > 5 { ", ..." } else { "" };
            return Err(self.lines.trouble(format!(
                "num_ranks {ranks}, but {count} of them are not here: {list}{more}"
            )));
        }
        let mut sections = Vec::new();
        let mut checkpoints = Vec::new();
        for rank in finished.into_values() {
            sections.push(rank.section);
            checkpoints.push(rank.checkpoints);
        }
        Ok(Parsed {
            store: self.sink.finish(ranks).map_err(|e| unwritten(&e))?,
            sections,
            checkpoints,
            highest: self.highest,
            cpus: self.cpus,
        })
    }
}

fn unwritten(error: &io::Error) -> Trouble {
    Trouble::at(
        "temporary file of a GOAL text",
        format!("cannot be written: {error}"),
    )
    .help("set TMPDIR to a folder with room for the text")
}
