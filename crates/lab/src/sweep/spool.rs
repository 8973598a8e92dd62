//! Rows of a large sweep in a temporary file: their numbers alone, so that tables are made without all rows in memory.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use paceline_kernel::sorted::SortedMap;

use super::{Row, Status, metrics};

/// Facts about a run that tables need of its row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Line {
    /// `None` if the run is missing.
    pub(super) status: Option<Status>,
    /// Error of a failed run.
    pub(super) message: Option<String>,
    /// Digest of the packets' timing; empty without a summary.
    pub(super) digest: String,
    /// True if the run drew no random numbers.
    pub(super) draws_nothing: bool,
    /// Metrics in the order of the summary: index in [`Spool::names`], and value.
    pub(super) metrics: Vec<(u32, f64)>,
}

/// Temporary file of lines, one after another.
#[derive(Debug)]
pub(super) struct Spool {
    out: BufWriter<File>,
    /// Start of each line.
    starts: Vec<u64>,
    at: u64,
    /// Names of metrics in the order in which they appear.
    pub(super) names: Vec<String>,
    numbers: SortedMap<String, u32>,
}

impl Spool {
    /// Creates a temporary file in `folder`, which vanishes with this value.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            out: BufWriter::with_capacity(1 << 16, tempfile::tempfile_in(folder)?),
            starts: Vec::new(),
            at: 0,
            names: Vec::new(),
            numbers: SortedMap::new(),
        })
    }

    /// Returns the number of lines.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Adds the line of a row; `None` stands for a missing one.
    pub(super) fn push(&mut self, row: Option<&Row>) -> io::Result<()> {
        let mut bytes = Vec::new();
        let status = match row.map(|row| row.status) {
            None => 0_u8,
            Some(Status::Completed) => 1,
            Some(Status::Failed) => 2,
        };
        let draws_nothing = row.is_some_and(|row| row.draws_nothing);
        bytes.extend([status, u8::from(draws_nothing)]);
        let mut text = |text: Option<&str>| {
            // The largest length stands for a missing text.
            let length = text.map_or(u32::MAX, |text| text.len() as u32);
            bytes.extend(length.to_le_bytes());
            bytes.extend(text.unwrap_or_default().as_bytes());
        };
        let summary = row.and_then(|row| row.summary.as_ref());
        text(row.and_then(|row| row.message.as_deref()));
        text(Some(summary.map_or("", |summary| &summary.digest)));
        let found = summary.map(metrics).unwrap_or_default();
        bytes.extend((found.len() as u32).to_le_bytes());
        for (name, value) in found {
            let number = match self.numbers.get(&name) {
                Some(number) => *number,
                None => {
                    let number = self.names.len() as u32;
                    self.numbers.insert(name.clone(), number);
                    self.names.push(name);
                    number
                }
            };
            bytes.extend(number.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
        self.starts.push(self.at);
        self.at += bytes.len() as u64;
        self.out.write_all(&bytes)
    }

    /// Reads lines from the one with this index on.
    pub(super) fn from(&mut self, first: usize) -> io::Result<Lines> {
        self.out.flush()?;
        let mut file = self.out.get_ref().try_clone()?;
        let start = self.starts.get(first).copied().unwrap_or(self.at);
        file.seek(SeekFrom::Start(start))?;
        Ok(Lines(BufReader::with_capacity(1 << 16, file)))
    }

    /// Reads one line; `None` at the end.
    pub(super) fn line(&mut self, number: usize) -> io::Result<Line> {
        self.out.flush()?;
        let start = self.starts.get(number).copied().unwrap_or(self.at);
        let end = self.starts.get(number + 1).copied().unwrap_or(self.at);
        let mut bytes = vec![0; (end - start) as usize];
        let file = self.out.get_mut();
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;
        file.seek(SeekFrom::End(0))?;
        read_line(&mut &bytes[..])
    }
}

/// Reader of consecutive lines. Only one may be in use at a time, since they share the file's position.
#[derive(Debug)]
pub(super) struct Lines(BufReader<File>);

impl Lines {
    /// Reads the next line.
    pub(super) fn next(&mut self) -> io::Result<Line> {
        read_line(&mut self.0)
    }
}

fn read_line(from: &mut impl Read) -> io::Result<Line> {
    let [status, draws_nothing] = array(from)?;
    let mut text = || -> io::Result<Option<String>> {
        let length = u32::from_le_bytes(array(from)?);
        if length == u32::MAX {
            return Ok(None);
        }
        let mut bytes = vec![0; length as usize];
        from.read_exact(&mut bytes)?;
        String::from_utf8(bytes).map(Some).map_err(io::Error::other)
    };
    let (message, digest) = (text()?, text()?.unwrap_or_default());
    let count = u32::from_le_bytes(array(from)?);
    let metrics: io::Result<Vec<(u32, f64)>> = (0..count)
        .map(|_| Ok((u32::from_le_bytes(array(from)?), f64::from_le_bytes(array(from)?))))
        .collect();
    Ok(Line {
        status: match status {
            1 => Some(Status::Completed),
            2 => Some(Status::Failed),
            _ => None,
        },
        message,
        digest,
        draws_nothing: draws_nothing != 0,
        metrics: metrics?,
    })
}

fn array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}
