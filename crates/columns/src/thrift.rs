//! Thrift's compact protocol, as far as Parquet's footers and page headers use it.

use crate::error::Error;

const YES: u8 = 1;
const NO: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
pub(crate) const I32: u8 = 5;
pub(crate) const I64: u8 = 6;
pub(crate) const BINARY: u8 = 8;
pub(crate) const LIST: u8 = 9;
pub(crate) const STRUCT: u8 = 12;

/// Largest nesting of skipped structs and lists: more than any valid file has.
const DEPTH: u8 = 16;

/// Bytes that are read from the front. Reading always ends, since each value takes at least a byte.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| Error::damaged("it ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads an array of bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        Ok(self.take(N)?.try_into().expect("as many as were taken"))
    }

    /// Reads a number with seven bits per byte, the lowest first.
    pub(crate) fn varint(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Error::damaged("a number has too many bytes"))
    }

    /// Reads a length and as many bytes.
    fn counted(&mut self) -> Result<&'a [u8], Error> {
        let count = self.varint()?;
        self.take(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// Reads an integer of 16, 32 or 64 bits, which is zigzag-encoded.
    pub(crate) fn int(&mut self, kind: u8) -> Result<i64, Error> {
        expect(matches!(kind, I16..=I64))?;
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// Reads a non-negative integer.
    pub(crate) fn count(&mut self, kind: u8) -> Result<usize, Error> {
        let number = self.int(kind)?;
        usize::try_from(number).map_err(|_| Error::damaged("a size is below zero"))
    }

    /// Reads a text, which has to be UTF-8.
    pub(crate) fn text(&mut self, kind: u8) -> Result<String, Error> {
        expect(kind == BINARY)?;
        let text = std::str::from_utf8(self.counted()?);
        text.map(str::to_owned)
            .map_err(|_| Error::damaged("a name is not UTF-8"))
    }

    /// Returns the value of a boolean field, which its type encodes.
    pub(crate) fn flag(kind: u8) -> Result<bool, Error> {
        expect(matches!(kind, YES | NO))?;
        Ok(kind == YES)
    }

    /// Reads a struct: `each` reads or skips the value of a field, given its number and type.
    pub(crate) fn fields(
        &mut self,
        kind: u8,
        mut each: impl FnMut(&mut Self, i64, u8) -> Result<(), Error>,
    ) -> Result<(), Error> {
        expect(kind == STRUCT)?;
        let mut number = 0;
        loop {
            let [head] = self.array()?;
            if head == 0 {
                return Ok(());
            }
            number = match i64::from(head >> 4) {
                0 => self.int(I16)?,
                further => number.saturating_add(further),
            };
            each(self, number, head & 0xf)?;
        }
    }

    /// Reads a list: `each` reads an element, given its type.
    pub(crate) fn list(
        &mut self,
        kind: u8,
        mut each: impl FnMut(&mut Self, u8) -> Result<(), Error>,
    ) -> Result<(), Error> {
        expect(kind == LIST)?;
        let [head] = self.array()?;
        let count = match u64::from(head >> 4) {
            15 => self.varint()?,
            count => count,
        };
        (0..count).try_for_each(|_| each(self, head & 0xf))
    }

    /// Skips a value of any type, such as that of an unknown field.
    pub(crate) fn skip(&mut self, kind: u8) -> Result<(), Error> {
        self.skip_within(kind, DEPTH)
    }

    fn skip_within(&mut self, kind: u8, depth: u8) -> Result<(), Error> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| Error::damaged("its structs are too deep"))?;
        match kind {
            YES | NO => Ok(()),
            BYTE => self.take(1).map(drop),
            I16 | I32 | I64 => self.varint().map(drop),
            BINARY => self.counted().map(drop),
            LIST => self.list(kind, |bytes, kind| match kind {
                // Booleans outside of fields take a byte each.
                YES | NO => bytes.take(1).map(drop),
                kind => bytes.skip_within(kind, depth),
            }),
            STRUCT => self.fields(kind, |bytes, _, kind| bytes.skip_within(kind, depth)),
            _ => expect(false),
        }
    }
}

fn expect(is_sound: bool) -> Result<(), Error> {
    match is_sound {
        true => Ok(()),
        false => Err(Error::damaged("a field is of another kind")),
    }
}

/// Appends a number with seven bits per byte.
pub(crate) fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Struct under construction; fields are added in the order of their numbers.
#[derive(Default)]
pub(crate) struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn field(mut self, number: u8, kind: u8) -> Self {
        debug_assert!((1..16).contains(&(number - self.last)), "fields have an order");
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
        self
    }

    fn whole(mut self, number: u8, kind: u8, value: i64) -> Self {
        self = self.field(number, kind);
        push_varint(&mut self.bytes, (value << 1 ^ value >> 63) as u64);
        self
    }

    /// Adds a number of 32 bits.
    pub(crate) fn i32(self, number: u8, value: i64) -> Self {
        self.whole(number, I32, value)
    }

    /// Adds a number of 64 bits.
    pub(crate) fn i64(self, number: u8, value: i64) -> Self {
        self.whole(number, I64, value)
    }

    /// Adds a text field.
    pub(crate) fn text(mut self, number: u8, text: &str) -> Self {
        self = self.field(number, BINARY);
        push_text(&mut self.bytes, text);
        self
    }

    /// Adds a struct field.
    pub(crate) fn inner(mut self, number: u8, inner: Self) -> Self {
        self = self.field(number, STRUCT);
        self.bytes.extend(inner.end());
        self
    }

    /// Adds a list: the type of its elements, and their bytes, for example from [`Struct::end`].
    pub(crate) fn list(
        mut self,
        number: u8,
        kind: u8,
        elements: impl ExactSizeIterator<Item = Vec<u8>>,
    ) -> Self {
        self = self.field(number, LIST);
        match elements.len() {
            count @ 0..15 => self.bytes.push((count as u8) << 4 | kind),
            count => {
                self.bytes.push(0xf0 | kind);
                push_varint(&mut self.bytes, count as u64);
            }
        }
        self.bytes.extend(elements.flatten());
        self
    }

    /// Ends the struct and returns its bytes.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// Appends a text as an element of a list.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    push_varint(out, text.len() as u64);
    out.extend(text.as_bytes());
}
