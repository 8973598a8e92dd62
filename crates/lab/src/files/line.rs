//! Lines of text tables with a row per flow, of which there may be a hundred million.

use std::io::{self, Write};

/// Line that is built cell by cell.
pub(super) struct Line {
    bytes: Vec<u8>,
    /// Separator after each cell.
    between: u8,
}

impl Line {
    /// Creates an empty line.
    pub(super) const fn new(between: u8) -> Self {
        Self {
            bytes: Vec::new(),
            between,
        }
    }

    /// Adds a cell that needs no quotes or already has them.
    pub(super) fn text(&mut self, text: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(text);
        self.bytes.push(self.between);
        self
    }

    /// Adds a whole number.
    pub(super) fn int(&mut self, value: impl Into<u64>) -> &mut Self {
        self.text(itoa::Buffer::new().format(value.into()).as_bytes())
    }

    /// Adds a whole number, or an empty cell.
    pub(super) fn int_if(&mut self, value: Option<u64>) -> &mut Self {
        match value {
            Some(value) => self.int(value),
            None => self.text(b""),
        }
    }

    /// Adds a real number in the format of CSV files, or an empty cell.
    pub(super) fn real_if(&mut self, value: Option<f64>) -> &mut Self {
        match value {
            Some(value) => self.text(ryu::Buffer::new().format(value).as_bytes()),
            None => self.text(b""),
        }
    }

    /// Writes the line and clears it for the next.
    pub(super) fn end(&mut self, out: &mut impl Write) -> io::Result<()> {
        if let Some(last) = self.bytes.last_mut() {
            *last = b'\n';
        }
        out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

/// Formats a text as a cell of CSV, quoted if necessary.
pub(super) fn quoted(text: &str) -> io::Result<Vec<u8>> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    // An empty cell is quoted if it is alone in its line.
    csv.write_record([text, ""])?;
    let mut bytes = csv
        .into_inner()
        .map_err(|error| io::Error::other(error.to_string()))?;
    bytes.truncate(bytes.len() - ",\n".len());
    Ok(bytes)
}
