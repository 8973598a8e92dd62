//! Single-pass reader of a text, byte by byte, with line numbers.

use std::io::{self, Read};

/// Number of bytes per read.
const BUFFER: usize = 1 << 16;

/// Next byte of a text, with its position.
#[derive(Debug)]
pub(super) struct Cursor<R> {
    input: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Bytes of the text before the buffer.
    before: u64,
    /// Current line, from 1.
    line: u64,
    /// Error that ended the text early.
    failed: Option<io::Error>,
}

impl<R: Read> Cursor<R> {
    /// Creates a cursor for a text, or for its rest from this byte and line on.
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

    /// Returns the number of bytes before the next one.
    pub(super) fn offset(&self) -> u64 {
        self.before + self.start as u64
    }

    pub(super) fn failure(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    /// Returns the next byte; `None` at the end.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        if self.start == self.end && !self.fill() {
            return None;
        }
        Some(self.buffer[self.start])
    }

    /// Skips the byte that [`peek`](Self::peek) returned.
    #[inline]
    pub(super) fn advance(&mut self) {
        if self.start < self.end {
            self.line += u64::from(self.buffer[self.start] == b'\n');
            self.start += 1;
        }
    }

    /// Appends bytes in `wanted` to `out`, until another byte follows or `out` has `most` bytes.
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
        // After an error nothing more is read, so the text ends there.
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
                // An interrupted call has read nothing, and is repeated.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failed = Some(error);
                    return false;
                }
            }
        }
    }
}
