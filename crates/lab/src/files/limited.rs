//! Files whose writing may be cut short, by somebody who waits for it.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::Instant;

/// What [`super::Folder::write`] fills: a file, through a buffer.
pub type Out = BufWriter<Limited>;

/// Somebody has interrupted a run, and waits for what it came to.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Until then all files are written, and after it those that tell the run (its summary, scenario and flows).
    pub until: Instant,
    /// Whether the flows are to be left out, too: asked again and again.
    pub no_longer: fn() -> bool,
    /// Says what is being written that takes time.
    pub tell: fn(&str),
}

/// How long a file may be written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    /// To its end.
    Never,
    /// As long as somebody waits.
    WhileWaiting(Waiting),
    /// As long as they wait gladly.
    InTime(Waiting),
}

impl Limit {
    /// Whether it is to be left out.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Never => false,
            Self::WhileWaiting(waiting) => (waiting.no_longer)(),
            Self::InTime(waiting) => Instant::now() >= waiting.until || (waiting.no_longer)(),
        }
    }
}

/// A file that takes nothing more from when it is to be left out.
#[derive(Debug)]
pub struct Limited {
    pub(super) file: File,
    limit: Limit,
}

impl Limited {
    /// Room for what is written at once: so often it is asked whether the file is to be left out.
    const BUFFER: usize = 1 << 16;

    /// A buffer in front of such a file.
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
