//! Files whose writing can be cut short while a user waits.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Instant;

/// Buffered file that [`super::Folder::write`] fills.
pub type Out = BufWriter<Limited>;

/// Limits on writing after a run was interrupted and its user waits for the results.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// End of the grace period. After it only summary, scenario and flows are written.
    pub until: Instant,
    /// Returns true if the flows are to be left out, too. Polled while they are written.
    pub no_longer: fn() -> bool,
    /// Notifies the user of a file that takes long to write.
    pub tell: fn(&str),
}

/// Time limit for writing a file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    Never,
    /// As long as the user waits.
    WhileWaiting(Waiting),
    /// Until the grace period ends.
    InTime(Waiting),
}

impl Limit {
    /// Returns true if the time is up.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Never => false,
            Self::WhileWaiting(waiting) => (waiting.no_longer)(),
            Self::InTime(waiting) => Instant::now() >= waiting.until || (waiting.no_longer)(),
        }
    }
}

/// File whose writes fail once its limit is over.
#[derive(Debug)]
pub struct Limited {
    pub(super) file: File,
    limit: Limit,
}

impl Limited {
    /// Buffer size in bytes; the limit is checked once per buffer.
    const BUFFER: usize = 1 << 16;

    /// Returns a buffered writer for `file`.
    pub(super) fn buffered(file: File, limit: Limit) -> Out {
        BufWriter::with_capacity(Self::BUFFER, Self { file, limit })
    }
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.limit.is_over() {
            true => Err(io::Error::other("it is left out, since somebody waits")),
            false => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
