//! A text that is read once, byte by byte, with the line it is at.

use std::io::{self, Read};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 16;

/// The next byte of a text, and where it stands.
#[derive(Debug)]
pub(super) struct Cursor<R> {
    input: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes of the text before the buffer.
    before: u64,
    /// From 1.
    line: u64,
    /// What kept the text from being read on; it then seems to end here.
    failed: Option<io::Error>,
}

impl<R: Read> Cursor<R> {
    /// Of a text, or of its rest that begins with this byte and line.
    pub(super) fn new(input: R, offset: u64, line: u64) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER].into(),
            start: 0,
            end: 0,
            before: offset,
            line,
            failed: None,
        }
    }

    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Bytes before the next one.
    pub(super) fn offset(&self) -> u64 {
        self.before + self.start as u64
    }

    pub(super) fn failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// The next byte; nothing at the end.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        if self.start == self.end && !self.fill() {
            return None;
        }
        Some(self.buffer[self.start])
    }

    /// Goes past the byte that [`peek`](Self::peek) showed.
    #[inline]
    pub(super) fn advance(&mut self) {
        if self.start < self.end {
            self.line += u64::from(self.buffer[self.start] == b'\n');
            self.start += 1;
        }
    }

    /// Goes past the bytes up to the first that `wanted` does not have, and adds them to `out` until it has `most`.
    pub(super) fn take_while(&mut self, wanted: &[bool; 256], most: usize, out: &mut Vec<u8>) {
        while out.len() < most && (self.start < self.end || self.fill()) {
            let rest = &self.buffer[self.start..self.end];
            let rest = &rest[..rest.len().min(most - out.len())];
            let length = rest
                .iter()
                .position(|b| !wanted[usize::from(*b)])
                .unwrap_or(rest.len());
            out.extend_from_slice(&rest[..length]);
            self.start += length;
            if length < rest.len() {
                return;
            }
        }
    }

    fn fill(&mut self) -> bool {
        if self.failed.is_some() {
            return false;
        }
        self.before += self.end as u64;
        self.start = 0;
        self.end = 0;
        loop {
            match self.input.read(&mut self.buffer) {
                Ok(n) => {
                    self.end = n;
                    return n > 0;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = Some(error);
                    return false;
                }
            }
        }
    }
}
