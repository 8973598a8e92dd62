//! Bounded lines of text tables, which may be of any origin.

use std::io::{self, Read};

/// Maximum length of a line, in bytes.
const LONGEST: usize = 1 << 20;

/// Reader that passes `source` on and fails if a line is longer than [`LONGEST`].
pub(super) struct Lines<R> {
    source: R,
    /// Bytes since the last end of a line.
    since: usize,
}

impl<R> Lines<R> {
    pub(super) const fn of(source: R) -> Self {
        Self { source, since: 0 }
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.since = match buffer[..count].iter().rposition(|&byte| byte == b'\n') {
            Some(last) => count - last - 1,
            None => self.since + count,
        };
        match self.since > LONGEST {
            true => Err(io::Error::other(
                "a line of it is longer than 1 MiB: it is no table",
            )),
            false => Ok(count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_is_refused() {
        let table = b"a,b\n".repeat(1 << 20);
        let mut lines = Lines::of(&table[..]);
        assert_eq!(lines.read_to_end(&mut Vec::new()).unwrap(), table.len());
        let mut zeros = Lines::of(io::repeat(0));
        let error = zeros.read_to_end(&mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("longer than 1 MiB"), "{error}");
    }
}
