//! Protobuf wire format: varints, fields, and their positions in the file; and messages to write.

use std::io::{self, Write};

/// Error with its position in the (decompressed) file, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Byte at which the error is.
    pub at: u64,
    /// Description of the error.
    pub message: String,
}

/// Value of a field.
#[derive(Clone, Copy, Debug)]
pub enum Raw<'a> {
    /// Number of up to ten bytes.
    Varint(u64),
    /// Fixed value of eight bytes.
    Fixed64(u64),
    /// Fixed value of four bytes.
    Fixed32(u32),
    /// Text, message or packed numbers.
    Bytes(Cursor<'a>),
}

impl Raw<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Varint(_) => "a number",
            Self::Fixed64(_) => "a number of 8 bytes",
            Self::Fixed32(_) => "a number of 4 bytes",
            Self::Bytes(_) => "text or a message",
        }
    }
}

/// Field of a message.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Number in the schema.
    pub number: u32,
    /// Value in its wire type.
    pub value: Raw<'a>,
    /// Position of its start in the file.
    pub at: u64,
}

impl<'a> Field<'a> {
    fn expected(&self, what: &str) -> Fault {
        Fault {
            at: self.at,
            message: format!("field {} is {}, expected {what}", self.number, self.value.kind()),
        }
    }

    /// Returns the value as a number.
    ///
    /// # Errors
    /// If it is something else.
    pub fn number(&self) -> Result<u64, Fault> {
        match self.value {
            Raw::Varint(value) => Ok(value),
            _ => Err(self.expected("a number")),
        }
    }

    /// Returns the value as a message.
    ///
    /// # Errors
    /// If it is something else.
    pub fn message(&self) -> Result<Cursor<'a>, Fault> {
        match self.value {
            Raw::Bytes(cursor) => Ok(cursor),
            _ => Err(self.expected("text or a message")),
        }
    }

    /// Returns the value as text.
    ///
    /// # Errors
    /// If it is something else.
    pub fn text(&self) -> Result<&'a str, Fault> {
        std::str::from_utf8(self.message()?.bytes).map_err(|_| Fault {
            at: self.at,
            message: format!("field {} is not text in UTF-8", self.number),
        })
    }

    /// Appends the numbers of a repeated field, packed or not.
    ///
    /// # Errors
    /// If it has another type.
    pub fn numbers(&self, out: &mut Vec<u64>) -> Result<(), Fault> {
        match self.value {
            Raw::Varint(value) => out.push(value),
            Raw::Bytes(mut packed) => {
                while !packed.is_empty() {
                    out.push(packed.varint()?);
                }
            }
            _ => return Err(self.expected("numbers")),
        }
        Ok(())
    }
}

/// Bytes of a message, with their position in the file.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor for a whole file.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns true if no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the position of the remaining bytes in the file.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Returns the remaining bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    fn fault<T>(&self, message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault {
            at: self.at,
            message: message.into(),
        })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        match self.bytes.split_at_checked(count) {
            Some((taken, rest)) => {
                self.bytes = rest;
                self.at += count as u64;
                Ok(taken)
            }
            None => self.fault(format!(
                "{count} bytes were announced, but only {} are left",
                self.bytes.len()
            )),
        }
    }

    /// Reads a number.
    ///
    /// # Errors
    /// If it is truncated or too long.
    pub fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0_u64;
        for (index, &byte) in self.bytes.iter().take(10).enumerate() {
            let bits = u64::from(byte & 127);
            // Nine bytes hold 63 bits, which leaves one for the tenth.
            if index == 9 && bits > 1 {
                break;
            }
            value |= bits << (7 * index);
            if byte < 128 {
                self.bytes = &self.bytes[index + 1..];
                self.at += index as u64 + 1;
                return Ok(value);
            }
        }
        if self.bytes.len() < 10 {
            self.fault("ends within a number")
        } else {
            self.fault("a number of more than 64 bits")
        }
    }

    /// Reads a part prefixed with its length.
    ///
    /// # Errors
    /// If it is truncated.
    pub fn part(&mut self) -> Result<Self, Fault> {
        let start = *self;
        let length = self.varint()?;
        let length = u32::try_from(length)
            .or_else(|_| start.fault(format!("a length of {length} bytes, expected at most 2^32 - 1")))?;
        let at = self.at;
        Ok(Self {
            bytes: self.take(length as usize)?,
            at,
        })
    }

    /// Reads eight bytes.
    ///
    /// # Errors
    /// If they are truncated.
    pub fn fixed64(&mut self) -> Result<u64, Fault> {
        let bytes = self.take(8)?;
        Ok(bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
    }

    /// Reads four bytes.
    ///
    /// # Errors
    /// If they are truncated.
    pub fn fixed32(&mut self) -> Result<u32, Fault> {
        let bytes = self.take(4)?;
        Ok(bytes.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b)))
    }

    /// Reads a field; returns `None` at the end.
    ///
    /// # Errors
    /// If it is damaged.
    pub fn field(&mut self) -> Result<Option<Field<'a>>, Fault> {
        if self.is_empty() {
            return Ok(None);
        }
        // Errors point to the start of the field, not to the byte after its key.
        let start = *self;
        let key = self.varint()?;
        let number = match u32::try_from(key >> 3) {
            Ok(number) if number > 0 && number < 1 << 29 => number,
            _ => return start.fault(format!("field number {}, expected 1 to 2^29 - 1", key >> 3)),
        };
        // Types 3 and 4 are the groups of older protobuf, which no schema here uses.
        let value = match key & 7 {
            0 => Raw::Varint(self.varint()?),
            1 => Raw::Fixed64(self.fixed64()?),
            2 => Raw::Bytes(self.part()?),
            5 => Raw::Fixed32(self.fixed32()?),
            kind => {
                return start.fault(format!(
                    "field {number} is of wire type {kind}, expected 0, 1, 2 or 5"
                ));
            }
        };
        Ok(Some(Field {
            number,
            value,
            at: start.at,
        }))
    }
}

/// Message that is written: its fields, one after another.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl Message {
    /// Creates a message without fields.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    fn raw(&mut self, mut number: u64) {
        while number >= 128 {
            self.0.push(number as u8 | 128);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    /// Adds a number of variable length.
    #[must_use]
    pub fn number(mut self, field: u32, value: u64) -> Self {
        self.raw(u64::from(field) << 3);
        self.raw(value);
        self
    }

    /// Adds a number of eight bytes, such as the bits of an `f64`.
    #[must_use]
    pub fn fixed(mut self, field: u32, value: u64) -> Self {
        self.raw(u64::from(field) << 3 | 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds a text in UTF-8.
    #[must_use]
    pub fn text(self, field: u32, text: &str) -> Self {
        self.part(field, text.as_bytes())
    }

    /// Adds a message as a field of this one.
    #[must_use]
    pub fn message(self, field: u32, message: &Self) -> Self {
        self.part(field, &message.0)
    }

    fn part(mut self, field: u32, bytes: &[u8]) -> Self {
        self.raw(u64::from(field) << 3 | 2);
        self.raw(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    /// Writes the message behind its length, as in files of several.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write_delimited(&self, out: &mut impl Write) -> io::Result<()> {
        let mut length = Self::new();
        length.raw(self.0.len() as u64);
        out.write_all(&length.0)?;
        out.write_all(&self.0)
    }

    /// Returns the bytes of the fields.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_cut_off_or_too_long_are_faults() {
        assert_eq!(Cursor::new(&[0xac, 2]).varint(), Ok(300));
        assert!(Cursor::new(&[0xac]).varint().is_err());
        assert!(Cursor::new(&[]).varint().is_err());
        assert!(Cursor::new(&[0xff; 11]).varint().is_err());
        let most = [&[0xff_u8; 9][..], &[1]].concat();
        assert_eq!(Cursor::new(&most).varint(), Ok(u64::MAX));
        let more = [&[0xff_u8; 9][..], &[2]].concat();
        assert!(Cursor::new(&more).varint().is_err());
    }

    #[test]
    fn lengths_beyond_the_end_are_faults_with_their_place() {
        let fault = Cursor::new(&[0x12, 5, 1, 2]).field().unwrap_err();
        assert_eq!(fault.at, 2);
        assert!(
            fault
                .message
                .contains("5 bytes were announced, but only 2 are left")
        );
        let huge = [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert!(Cursor::new(&huge).field().unwrap_err().message.contains("length"));
        assert!(
            Cursor::new(&[0x13])
                .field()
                .unwrap_err()
                .message
                .contains("wire type 3")
        );
        assert!(
            Cursor::new(&[0x02, 0])
                .field()
                .unwrap_err()
                .message
                .contains("field number 0")
        );
    }
}
