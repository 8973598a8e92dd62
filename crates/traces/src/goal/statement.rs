//! Lines of a text: `a: send 8b to 1`, `b requires a`.

use std::io::Read;

use super::cursor::Cursor;
use super::places::Checkpoint;
use super::record::{ANY, CALC, RECEIVE, Record, SEND};
use crate::trouble::{Trouble, unknown};

/// Upper limit of a word's length, beyond any valid word.
const LONGEST: usize = 1 << 16;

/// Line of a rank. The label of an operation, and those of an edge, are in [`Lines`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// Operation with the label [`Lines::label`].
    Operation(Record),
    /// Dependency of [`Lines::label`] on [`Lines::other`].
    Edge {
        /// True if it waits for the start instead of the end.
        by_start: bool,
    },
    /// End of the rank.
    Close,
}

/// Reader of a text's lines.
#[derive(Debug)]
pub(super) struct Lines<'a, R> {
    pub(super) cursor: Cursor<R>,
    /// Name of the file in messages.
    name: &'a str,
    /// Number of ranks, for checking peers.
    pub(super) ranks: u32,
    /// Label of the statement; empty if it has none.
    pub(super) label: Vec<u8>,
    /// Label of the operation that an edge waits for.
    pub(super) other: Vec<u8>,
    word: Vec<u8>,
}

impl<'a, R: Read> Lines<'a, R> {
    pub(super) fn new(cursor: Cursor<R>, name: &'a str, ranks: u32) -> Self {
        Self {
            cursor,
            name,
            ranks,
            label: Vec::new(),
            other: Vec::new(),
            word: Vec::new(),
        }
    }

    /// Returns an error at the current line.
    pub(super) fn trouble(&mut self, message: impl Into<String>) -> Trouble {
        if let Some(error) = self.cursor.failure() {
            return Trouble::at(self.name, format!("cannot be read: {error}"));
        }
        Trouble::at(format_args!("{}:{}", self.name, self.cursor.line()), message)
    }

    fn expected(&mut self, what: &str) -> Trouble {
        let found = self.found();
        self.trouble(format!("expected {what}, found {found}"))
    }

    /// Describes the next token for messages.
    fn found(&mut self) -> String {
        match self.cursor.peek() {
            None => "the end of the file".into(),
            Some(b'\n') => "the end of the line".into(),
            Some(byte) if is_word(byte) => match self.word() {
                Ok(()) => format!("`{}`", self.text()),
                Err(_) => "a word without end".into(),
            },
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", byte as char),
            Some(byte) => format!("the byte {byte:#04x}"),
        }
    }

    /// Returns the word that was read last, shortened for messages.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.word[..self.word.len().min(80)]).into_owned()
    }

    /// Skips blanks, comments and, if `lines`, line ends.
    pub(super) fn skip(&mut self, lines: bool) -> Result<(), Trouble> {
        while let Some(byte) = self.cursor.peek() {
            match byte {
                b' ' | b'\t' | b'\r' => self.cursor.advance(),
                b'\n' if lines => self.cursor.advance(),
                b'/' => self.comment()?,
                _ => break,
            }
        }
        Ok(())
    }

    #[cold]
    fn comment(&mut self) -> Result<(), Trouble> {
        let opened = self.cursor.line();
        self.cursor.advance();
        match self.cursor.peek() {
            Some(b'/') => {
                while self.cursor.peek().is_some_and(|b| b != b'\n') {
                    self.cursor.advance();
                }
                Ok(())
            }
            Some(b'*') => {
                self.cursor.advance();
                let mut star = false;
                while let Some(byte) = self.cursor.peek() {
                    self.cursor.advance();
                    if star && byte == b'/' {
                        return Ok(());
                    }
                    star = byte == b'*';
                }
                Err(self.trouble(format!(
                    "the comment of line {opened} is not closed: expected `*/`"
                )))
            }
            _ => Err(self.trouble("a comment begins with `//` or `/*`")),
        }
    }

    /// Reads a word, a number or any other characters without blanks.
    fn word(&mut self) -> Result<(), Trouble> {
        self.word.clear();
        self.cursor.take_while(&WORD, LONGEST, &mut self.word);
        if self.word.len() == LONGEST {
            return Err(self.trouble(format!("a word of {LONGEST} characters: `{}...`", self.text())));
        }
        Ok(())
    }

    /// Reads the word `wanted`, or fails.
    pub(super) fn keyword(&mut self, wanted: &str) -> Result<(), Trouble> {
        self.skip(false)?;
        let quoted = || format!("`{wanted}`");
        if !self.cursor.peek().is_some_and(is_word) {
            return Err(self.expected(&quoted()));
        }
        self.word()?;
        if self.word != wanted.as_bytes() {
            let text = self.text();
            return Err(self.trouble(format!("expected {}, found `{text}`", quoted())));
        }
        Ok(())
    }

    /// Reads a number of at most `most`, or `-1` as [`ANY`] if `any` is set.
    pub(super) fn number(&mut self, what: &str, most: u64, any: bool) -> Result<u64, Trouble> {
        self.skip(false)?;
        if !self.cursor.peek().is_some_and(is_word) {
            return Err(self.expected(what));
        }
        self.word()?;
        self.value(self.word.len(), what, most, any)
    }

    /// Parses the first `length` bytes of the word.
    fn value(&mut self, length: usize, what: &str, most: u64, any: bool) -> Result<u64, Trouble> {
        let digits = &self.word[..length];
        if any && digits == b"-1" {
            return Ok(u64::from(ANY));
        }
        let mut value = Some(0u64);
        for digit in digits {
            if !digit.is_ascii_digit() {
                value = None;
                break;
            }
            value = value.and_then(|v| v.checked_mul(10)?.checked_add(u64::from(digit - b'0')));
        }
        match value {
            Some(value) if length > 0 && value <= most => Ok(value),
            _ => {
                let whole = length > 0 && self.word[..length].iter().all(u8::is_ascii_digit);
                let text = self.text();
                let wild = if any { ", or -1 for any" } else { "" };
                Err(self.trouble(if whole {
                    format!("{what} {text} is too large: at most {most}{wild}")
                } else {
                    format!("expected {what}: a whole number from 0 to {most}{wild}, found `{text}`")
                }))
            }
        }
    }

    /// Checks that the word is a valid label.
    fn check_label(&mut self) -> Result<(), Trouble> {
        let good = |w: &[u8]| {
            w.first().is_some_and(u8::is_ascii_alphabetic)
                && w.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
        };
        if good(&self.word) {
            return Ok(());
        }
        let text = self.text();
        Err(self.trouble(format!(
            "`{text}` is no label: expected a letter, then letters, digits and `_`"
        )))
    }

    /// Reads the next statement of a rank, and sets `start` to its position.
    pub(super) fn statement(&mut self, start: &mut Checkpoint) -> Result<Statement, Trouble> {
        self.skip(true)?;
        *start = Checkpoint {
            offset: self.cursor.offset(),
            line: self.cursor.line(),
        };
        match self.cursor.peek() {
            Some(b'}') => {
                self.cursor.advance();
                return Ok(Statement::Close);
            }
            Some(byte) if is_word(byte) => self.word()?,
            _ => return Err(self.expected("an operation, `LABEL requires LABEL` or `}`")),
        }
        self.label.clear();
        self.skip(false)?;
        let statement = match self.cursor.peek() {
            Some(b':') => {
                self.check_label()?;
                self.cursor.advance();
                // Swapped, not copied: both buffers serve every line.
                std::mem::swap(&mut self.label, &mut self.word);
                self.skip(false)?;
                if !self.cursor.peek().is_some_and(is_word) {
                    return Err(self.expected("`send`, `recv` or `calc`"));
                }
                self.word()?;
                self.operation()?
            }
            // `send 8b` goes on with a digit, `a requires b` with a letter.
            Some(byte) if byte.is_ascii_alphabetic() => self.edge()?,
            _ => self.operation()?,
        };
        self.skip(false)?;
        match self.cursor.peek() {
            None | Some(b'\n' | b'}') => Ok(statement),
            _ => Err(self.expected("the end of the line")),
        }
    }

    /// Reads the rest of `a requires b` after its first word.
    fn edge(&mut self) -> Result<Statement, Trouble> {
        self.check_label()?;
        std::mem::swap(&mut self.label, &mut self.word);
        self.word()?;
        let by_start = match &self.word[..] {
            b"requires" => false,
            b"irequires" => true,
            _ => {
                let text = self.text();
                std::mem::swap(&mut self.label, &mut self.word);
                let first = self.text();
                // After the name of an operation, its number is missing rather than `requires`.
                let known = ["send", "recv", "calc"].contains(&first.as_str());
                return Err(self.trouble(if known {
                    format!("expected a number after `{first}`, found `{text}`")
                } else {
                    format!("expected `requires` or `irequires` after `{first}`, found `{text}`")
                }));
            }
        };
        self.skip(false)?;
        if !self.cursor.peek().is_some_and(is_word) {
            return Err(self.expected("the label that is waited for"));
        }
        self.word()?;
        self.check_label()?;
        std::mem::swap(&mut self.other, &mut self.word);
        Ok(Statement::Edge { by_start })
    }

    /// Reads the rest of an operation after its first word.
    fn operation(&mut self) -> Result<Statement, Trouble> {
        let mut record = Record::default();
        match &self.word[..] {
            b"send" => {
                record.kind = SEND;
                record.size = self.bytes()?;
                self.keyword("to")?;
                record.peer = self.peer("the receiver", false)?;
            }
            b"recv" => {
                record.kind = RECEIVE;
                record.size = self.bytes()?;
                self.keyword("from")?;
                record.peer = self.peer("the sender", true)?;
            }
            b"calc" => {
                record.kind = CALC;
                record.size = self.number("a time in ns", u64::MAX, false)?;
            }
            _ => return Err(self.no_operation()),
        }
        self.options(&mut record)?;
        Ok(Statement::Operation(record))
    }

    fn no_operation(&mut self) -> Trouble {
        let location = format!("{}:{}", self.name, self.cursor.line());
        unknown(location, "operation", &self.text(), &["send", "recv", "calc"])
    }

    /// Reads a size such as `8b` or `8 b`.
    fn bytes(&mut self) -> Result<u64, Trouble> {
        self.skip(false)?;
        if !self.cursor.peek().is_some_and(is_word) {
            return Err(self.expected("a size as `8b`"));
        }
        self.word()?;
        if let Some(length) = self.word.strip_suffix(b"b").map(<[u8]>::len) {
            return self.value(length, "a size in bytes", u64::MAX, false);
        }
        let value = self.value(self.word.len(), "a size in bytes", u64::MAX, false)?;
        self.keyword("b")?;
        Ok(value)
    }

    fn peer(&mut self, what: &str, any: bool) -> Result<u32, Trouble> {
        let value = self.number(what, u64::from(u32::MAX), any)? as u32;
        if self.word == b"-1" || value < self.ranks {
            return Ok(value);
        }
        let ranks = self.ranks;
        Err(self.trouble(format!(
            "{what} {value} is not there: ranks go from 0 to {}",
            ranks.saturating_sub(1)
        )))
    }

    /// Reads options such as `tag 3 cpu 1 nic 2`: each is optional, but their order is fixed.
    fn options(&mut self, record: &mut Record) -> Result<(), Trouble> {
        let names: &[&str] = if record.kind == CALC {
            &["cpu"]
        } else {
            &["tag", "cpu", "nic"]
        };
        let mut next = 0;
        loop {
            self.skip(false)?;
            if !self.cursor.peek().is_some_and(is_word) {
                return Ok(());
            }
            self.word()?;
            let index = names.iter().position(|n| n.as_bytes() == self.word);
            match index {
                Some(index) if index >= next => next = index + 1,
                _ => {
                    let text = self.text();
                    let allowed = names[next..].iter().map(|n| format!("`{n}`")).collect::<Vec<_>>();
                    let or = if allowed.is_empty() { "" } else { " or " };
                    let order = if index.is_some() {
                        " (each once, in the order tag, cpu, nic)"
                    } else {
                        ""
                    };
                    return Err(self.trouble(format!(
                        "expected {}{or}the end of the line, found `{text}`{order}",
                        allowed.join(", ")
                    )));
                }
            }
            match names[index.unwrap_or(0)] {
                "tag" => record.tag = self.tag(record.kind)?,
                "cpu" => record.cpu = self.number("cpu", u64::from(u8::MAX), false)? as u8,
                _ => record.nic = self.number("nic", u64::from(u8::MAX), false)? as u8,
            }
        }
    }

    fn tag(&mut self, kind: u8) -> Result<u32, Trouble> {
        let most = u64::from(u32::MAX) - 1;
        let tag = self.number("tag", most, true)? as u32;
        if kind == SEND && tag == ANY {
            return Err(self
                .trouble("a send with tag -1: its message would match any receive")
                .help("give the send the tag of its receive; only a receive may take any tag"));
        }
        Ok(tag)
    }
}

fn is_word(byte: u8) -> bool {
    WORD[usize::from(byte)]
}

/// Characters of words: letters, digits, and those that might be mistaken for parts of a number or a label.
static WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        word[byte as usize] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.');
        byte += 1;
    }
    word
};
