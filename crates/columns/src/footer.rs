//! Footer of a file: its columns, the positions of their pages, keys and values.

use std::io::{Read, Seek, SeekFrom};

use crate::code::{self, MAGIC};
use crate::error::Error;
use crate::thrift::{Bytes, STRUCT};

/// Footer of a file.
#[derive(Default)]
pub(crate) struct Footer {
    pub(crate) fields: Vec<Field>,
    pub(crate) groups: Vec<Group>,
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) rows: usize,
}

/// Column of the schema.
pub(crate) struct Field {
    pub(crate) name: String,
    /// Physical type, as a number of the format.
    pub(crate) kind: i64,
    pub(crate) is_optional: bool,
    pub(crate) is_unsigned: bool,
}

/// Row group: consecutive rows, stored column by column.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) rows: usize,
    pub(crate) chunks: Vec<Chunk>,
}

/// Values of a column in a row group.
pub(crate) struct Chunk {
    pub(crate) kind: i64,
    pub(crate) codec: i64,
    pub(crate) values: usize,
    pub(crate) start: u64,
    pub(crate) length: u64,
}

/// Reads the keys and values of a file, in their order.
///
/// # Errors
/// If the file is unreadable or damaged.
pub fn read_metadata(mut source: impl Read + Seek) -> Result<Vec<(String, String)>, Error> {
    let size = source.seek(SeekFrom::End(0))?;
    Ok(Footer::read(&mut source, size)?.metadata)
}

impl Footer {
    /// Reads the end of a file of `size` bytes.
    pub(crate) fn read(source: &mut (impl Read + Seek), size: u64) -> Result<Self, Error> {
        let damaged = |what| Err(Error::damaged(what));
        let Some(end) = size.checked_sub(8).filter(|end| *end >= 4) else {
            return damaged("it is too short for Parquet");
        };
        let mut tail = [0; 8];
        source.seek(SeekFrom::Start(end))?;
        source.read_exact(&mut tail)?;
        let [a, b, c, d, magic @ ..] = tail;
        if magic == *b"PARE" {
            return Err(Error::Content("the file is encrypted".into()));
        }
        if magic != MAGIC {
            return damaged("it does not end as Parquet does");
        }
        let length = u64::from(u32::from_le_bytes([a, b, c, d]));
        let Some(start) = end.checked_sub(length).filter(|start| *start >= 4) else {
            return damaged("its footer is longer than the file");
        };
        source.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        source.take(length).read_to_end(&mut bytes)?;
        Self::parse(&mut Bytes(&bytes))
    }

    fn parse(bytes: &mut Bytes<'_>) -> Result<Self, Error> {
        let mut footer = Self::default();
        let mut root = None;
        bytes.fields(STRUCT, |bytes, number, kind| match number {
            2 => bytes.list(kind, |bytes, kind| {
                match root {
                    None => root = Some(root_columns(bytes, kind)?),
                    Some(_) => footer.fields.push(Field::read(bytes, kind)?),
                }
                Ok(())
            }),
            3 => bytes.count(kind).map(|rows| footer.rows = rows),
            4 => bytes.list(kind, |bytes, kind| {
                footer.groups.push(Group::read(bytes, kind)?);
                Ok(())
            }),
            5 => bytes.list(kind, |bytes, kind| {
                footer.metadata.extend(pair(bytes, kind)?);
                Ok(())
            }),
            _ => bytes.skip(kind),
        })?;
        if root != Some(footer.fields.len()) {
            return Err(Error::damaged("its schema has another number of columns"));
        }
        Ok(footer)
    }
}

/// Reads the number of columns in the schema's root.
fn root_columns(bytes: &mut Bytes<'_>, kind: u8) -> Result<usize, Error> {
    let mut columns = 0;
    bytes.fields(kind, |bytes, number, kind| match number {
        5 => bytes.count(kind).map(|count| columns = count),
        _ => bytes.skip(kind),
    })?;
    Ok(columns)
}

/// Reads a key with its value, if it has one.
fn pair(bytes: &mut Bytes<'_>, kind: u8) -> Result<Option<(String, String)>, Error> {
    let (mut key, mut value) = (None, None);
    bytes.fields(kind, |bytes, number, kind| match number {
        1 => bytes.text(kind).map(|text| key = Some(text)),
        2 => bytes.text(kind).map(|text| value = Some(text)),
        _ => bytes.skip(kind),
    })?;
    Ok(key.zip(value))
}

/// Returns the error about a missing field.
fn missing() -> Error {
    Error::damaged("its footer lacks a field")
}

impl Field {
    fn read(bytes: &mut Bytes<'_>, kind: u8) -> Result<Self, Error> {
        let (mut physical, mut repetition, mut name) = (None, code::REQUIRED, None);
        let (mut children, mut converted, mut logical, mut is_unsigned) = (0, None, None, false);
        bytes.fields(kind, |bytes, number, kind| match number {
            1 => bytes.int(kind).map(|it| physical = Some(it)),
            3 => bytes.int(kind).map(|it| repetition = it),
            4 => bytes.text(kind).map(|it| name = Some(it)),
            5 => bytes.count(kind).map(|it| children = it),
            6 => bytes.int(kind).map(|it| converted = Some(it)),
            // A union: the number of the field that is present determines the meaning of the values.
            10 => bytes.fields(kind, |bytes, number, kind| {
                logical = Some(number);
                match number {
                    10 => bytes.fields(kind, |bytes, number, kind| match number {
                        2 => Bytes::flag(kind).map(|is_signed| is_unsigned = !is_signed),
                        _ => bytes.skip(kind),
                    }),
                    _ => bytes.skip(kind),
                }
            }),
            _ => bytes.skip(kind),
        })?;
        let name = name.ok_or_else(missing)?;
        let wrong = |what: &str| Err(Error::Content(format!("column `{name}` {what}")));
        if children > 0 || !matches!(repetition, code::REQUIRED | code::OPTIONAL) {
            return wrong("is nested, such as a list: expected one value a row");
        }
        // Numbers with another meaning and unit, such as timestamps, are not supported.
        let meaning = match (logical, converted) {
            (Some(8), _) | (_, Some(9 | 10)) => Some("timestamps"),
            (Some(7), _) | (_, Some(7 | 8)) => Some("times of day"),
            (Some(6), _) | (_, Some(6)) => Some("dates"),
            (Some(5), _) | (_, Some(5)) => Some("decimals"),
            _ => None,
        };
        if let Some(meaning) = meaning {
            return wrong(&format!(
                "has {meaning}: expected texts, whole or real numbers, with the unit in the column's name"
            ));
        }
        let kind = physical.ok_or_else(missing)?;
        match kind {
            code::BOOLEAN | code::INT32 | code::INT64 | code::FLOAT | code::DOUBLE | code::BYTE_ARRAY => {}
            other => {
                let other = code::name(code::KINDS, other);
                return wrong(&format!("is {other}: expected texts, whole or real numbers"));
            }
        }
        Ok(Self {
            name,
            kind,
            is_optional: repetition == code::OPTIONAL,
            is_unsigned: is_unsigned || matches!(converted, Some(11..=14)),
        })
    }
}

impl Group {
    fn read(bytes: &mut Bytes<'_>, kind: u8) -> Result<Self, Error> {
        let (mut chunks, mut rows) = (Vec::new(), None);
        bytes.fields(kind, |bytes, number, kind| match number {
            1 => bytes.list(kind, |bytes, kind| {
                chunks.push(Chunk::read(bytes, kind)?);
                Ok(())
            }),
            3 => bytes.count(kind).map(|it| rows = Some(it)),
            _ => bytes.skip(kind),
        })?;
        let rows = rows.ok_or_else(missing)?;
        Ok(Self { rows, chunks })
    }
}

impl Chunk {
    fn read(bytes: &mut Bytes<'_>, kind: u8) -> Result<Self, Error> {
        let mut chunk = None;
        bytes.fields(kind, |bytes, number, kind| match number {
            1 => Err(Error::Content("a column is in another file".into())),
            3 => Self::described(bytes, kind).map(|it| chunk = Some(it)),
            _ => bytes.skip(kind),
        })?;
        chunk.ok_or_else(missing)
    }

    fn described(bytes: &mut Bytes<'_>, kind: u8) -> Result<Self, Error> {
        let (mut physical, mut codec, mut values) = (None, None, None);
        let (mut length, mut data, mut dictionary) = (None, None, None);
        bytes.fields(kind, |bytes, number, kind| match number {
            1 => bytes.int(kind).map(|it| physical = Some(it)),
            4 => bytes.int(kind).map(|it| codec = Some(it)),
            5 => bytes.count(kind).map(|it| values = Some(it)),
            7 => bytes.count(kind).map(|it| length = Some(it)),
            9 => bytes.count(kind).map(|it| data = Some(it)),
            11 => bytes.count(kind).map(|it| dictionary = Some(it)),
            _ => bytes.skip(kind),
        })?;
        let start = data.ok_or_else(missing)?;
        // Some writers use zero for the absence of a dictionary.
        let dictionary = dictionary.filter(|dictionary| (1..start).contains(dictionary));
        Ok(Self {
            kind: physical.ok_or_else(missing)?,
            codec: codec.ok_or_else(missing)?,
            values: values.ok_or_else(missing)?,
            start: dictionary.unwrap_or(start) as u64,
            length: length.ok_or_else(missing)? as u64,
        })
    }
}
