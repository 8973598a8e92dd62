//! Reader for files from any source: damage is an error, and so is content that would not fit in memory.

use std::collections::HashSet;
use std::io::{Read, Seek, SeekFrom};
use std::iter::repeat_n;
use std::sync::Arc;

use crate::code;
use crate::error::Error;
use crate::footer::{Chunk, Field, Footer};
use crate::runs::Runs;
use crate::table::{Column, Values};
use crate::thrift::{Bytes, STRUCT};

/// Memory limits for the values of a file, in bytes: an absolute one, and one for small files, a constant plus a
/// multiple of the size. Runs of equal values are one entry in a file, so a few kilobytes can declare millions of
/// rows.
const ROOM: usize = 1 << 31;
const SMALL: usize = 1 << 26;
const UNPACKED: usize = 1 << 9;
/// Memory of a value of any type, in bytes.
const CELL: usize = size_of::<Option<Arc<str>>>();
/// Memory of a new text in addition to its bytes: its reference counts, its slot in the set of known texts (half of
/// the slots are free), and the overhead of an allocation.
const TEXT: usize = 2 * size_of::<usize>() + 2 * (CELL + 1) + 2 * size_of::<usize>();
/// Largest compression ratio of Snappy, as a factor: 64 bytes from three.
const SNAPPY: usize = 22;

/// Reads the columns of a file in their order: texts, integers and floating-point numbers; booleans become 1 and 0.
///
/// # Errors
/// If the file is unreadable or damaged, has a column of another type or an unsupported encoding or compression, or
/// holds more than fits in memory.
pub fn read(mut source: impl Read + Seek) -> Result<Vec<Column>, Error> {
    let size = source.seek(SeekFrom::End(0))?;
    let bytes = usize::try_from(size).unwrap_or(usize::MAX);
    let room = bytes.saturating_mul(UNPACKED).saturating_add(SMALL).min(ROOM);
    read_within(source, size, room)
}

/// Memory left for a file's values, and the texts read so far.
struct Room {
    whole: usize,
    left: usize,
    texts: HashSet<Arc<str>>,
}

impl Room {
    fn take(&mut self, bytes: usize) -> Result<(), Error> {
        let left = self.left.checked_sub(bytes).ok_or_else(|| {
            let most = self.whole >> 20;
            Error::Content(format!(
                "its values take more than {most} MiB of memory, which is the most for a file of its size"
            ))
        })?;
        self.left = left;
        Ok(())
    }

    /// Reads a text from `bytes`. Equal texts share one allocation.
    fn text(&mut self, bytes: &mut Bytes<'_>) -> Result<Arc<str>, Error> {
        let count = u32::from_le_bytes(bytes.array()?);
        let text = std::str::from_utf8(bytes.take(count as usize)?);
        let text = text.map_err(|_| Error::Content("a text is not UTF-8".into()))?;
        if let Some(known) = self.texts.get(text) {
            return Ok(known.clone());
        }
        self.take(TEXT + text.len())?;
        let new: Arc<str> = Arc::from(text);
        self.texts.insert(new.clone());
        Ok(new)
    }
}

fn read_within(mut source: impl Read + Seek, size: u64, room: usize) -> Result<Vec<Column>, Error> {
    let footer = Footer::read(&mut source, size)?;
    let mut room = Room {
        whole: room,
        left: room,
        texts: HashSet::new(),
    };
    check(&footer, size, &mut room)?;
    let mut columns: Vec<Column> = (footer.fields.iter())
        .map(|field| Column::new(field.name.as_str(), empty(field.kind, footer.rows)))
        .collect();
    let mut bytes = Vec::new();
    for group in &footer.groups {
        for ((field, chunk), column) in footer.fields.iter().zip(&group.chunks).zip(&mut columns) {
            bytes.clear();
            source.seek(SeekFrom::Start(chunk.start))?;
            (&mut source).take(chunk.length).read_to_end(&mut bytes)?;
            let pages = Pages {
                bytes: Bytes(&bytes),
                codec: chunk.codec,
                rows: group.rows,
                is_optional: field.is_optional,
            };
            append(pages, field, &mut column.values, &mut room).map_err(|error| match error {
                Error::Content(what) => Error::Content(format!("column `{}`: {what}", field.name)),
                io => io,
            })?;
        }
    }
    Ok(columns)
}

/// Returns an empty column with capacity for `rows`.
fn empty(kind: i64, rows: usize) -> Values {
    match kind {
        code::BYTE_ARRAY => Values::Text(Vec::with_capacity(rows)),
        code::FLOAT | code::DOUBLE => Values::Real(Vec::with_capacity(rows)),
        _ => Values::Int(Vec::with_capacity(rows)),
    }
}

/// Rejects footers that contradict the file's size, and values that do not fit in memory.
fn check(footer: &Footer, size: u64, room: &mut Room) -> Result<(), Error> {
    let (mut rows, mut length) = (0_usize, 0_u64);
    for group in &footer.groups {
        // Counted before columns are allocated, whose capacities the footer determines.
        let cells = group.rows.checked_mul(footer.fields.len());
        let bytes = cells.and_then(|cells| cells.checked_mul(CELL));
        room.take(bytes.unwrap_or(usize::MAX))?;
        rows = rows.saturating_add(group.rows);
        let differs =
            |(chunk, field): (&Chunk, &Field)| chunk.kind != field.kind || chunk.values != group.rows;
        if group.chunks.len() != footer.fields.len() || group.chunks.iter().zip(&footer.fields).any(differs) {
            return Err(Error::damaged("a row group differs from the schema"));
        }
        for chunk in &group.chunks {
            if !matches!(chunk.codec, code::UNCOMPRESSED | code::SNAPPY) {
                let codec = code::name(code::CODECS, chunk.codec);
                return Err(Error::Content(format!(
                    "it is compressed with {codec}: expected SNAPPY, or UNCOMPRESSED"
                )));
            }
            // Columns do not overlap, so all of them together are at most as long as the file.
            length = length.saturating_add(chunk.length);
            if length > size || chunk.start.saturating_add(chunk.length) > size {
                return Err(Error::damaged("it ends early"));
            }
        }
    }
    match rows == footer.rows {
        true => Ok(()),
        false => Err(Error::damaged("its row groups have another number of rows")),
    }
}

/// Appends a column's values in a row group.
fn append(pages: Pages<'_>, field: &Field, values: &mut Values, room: &mut Room) -> Result<(), Error> {
    match (values, field.kind) {
        (Values::Text(all), _) => pages.append(all, Vec::new(), |bytes| room.text(bytes)),
        (Values::Real(all), code::FLOAT) => pages.append(all, Vec::new(), |bytes| {
            Ok(f64::from(f32::from_le_bytes(bytes.array()?)))
        }),
        (Values::Real(all), _) => {
            pages.append(all, Vec::new(), |bytes| Ok(f64::from_le_bytes(bytes.array()?)))
        }
        (Values::Int(all), code::BOOLEAN) => pages.append(all, vec![0, 1], |_| {
            Err(Error::damaged("true and false have no dictionary"))
        }),
        (Values::Int(all), code::INT32) if field.is_unsigned => pages.append(all, Vec::new(), |bytes| {
            Ok(i64::from(u32::from_le_bytes(bytes.array()?)))
        }),
        (Values::Int(all), code::INT32) => pages.append(all, Vec::new(), |bytes| {
            Ok(i64::from(i32::from_le_bytes(bytes.array()?)))
        }),
        (Values::Int(all), _) => {
            let is_unsigned = field.is_unsigned;
            pages.append(all, Vec::new(), |bytes| {
                let number = i64::from_le_bytes(bytes.array()?);
                match is_unsigned && number < 0 {
                    true => Err(Error::Content(format!(
                        "{} is too large: expected at most {}",
                        number as u64,
                        i64::MAX
                    ))),
                    false => Ok(number),
                }
            })
        }
    }
}

/// Header of a page.
#[derive(Default)]
struct Header {
    kind: i64,
    unpacked: usize,
    packed: usize,
    values: usize,
    encoding: i64,
    /// Encoding of a data page's levels, or their lengths in bytes: those for lists, and those for missing values.
    levels: i64,
    level_bytes: [usize; 2],
    is_unpacked: bool,
}

impl Header {
    fn read(bytes: &mut Bytes<'_>) -> Result<Self, Error> {
        let mut header = Self {
            kind: -1,
            encoding: -1,
            levels: code::RLE,
            ..Self::default()
        };
        bytes.fields(STRUCT, |bytes, number, kind| match number {
            1 => bytes.int(kind).map(|it| header.kind = it),
            2 => bytes.count(kind).map(|it| header.unpacked = it),
            3 => bytes.count(kind).map(|it| header.packed = it),
            // A data page, a dictionary page, or a data page of version 2, which share these fields.
            5 | 7 | 8 => {
                let is_v2 = number == 8;
                bytes.fields(kind, |bytes, number, kind| match (number, is_v2) {
                    (1, _) => bytes.count(kind).map(|it| header.values = it),
                    (2, false) | (4, true) => bytes.int(kind).map(|it| header.encoding = it),
                    (3, false) if kind == crate::thrift::I32 => bytes.int(kind).map(|it| header.levels = it),
                    (5, true) => bytes.count(kind).map(|it| header.level_bytes[1] = it),
                    (6, true) => bytes.count(kind).map(|it| header.level_bytes[0] = it),
                    (7, true) => Bytes::flag(kind).map(|it| header.is_unpacked = !it),
                    _ => bytes.skip(kind),
                })
            }
            _ => bytes.skip(kind),
        })?;
        Ok(header)
    }
}

/// Pages of a column in a row group.
struct Pages<'a> {
    bytes: Bytes<'a>,
    codec: i64,
    rows: usize,
    is_optional: bool,
}

/// Source of a page's values.
enum Source<'a> {
    Plain(Bytes<'a>),
    Places(Runs<'a>),
}

impl Pages<'_> {
    /// Appends the values of all rows. `plain` reads a value from a page; `dictionary` holds the values that pages
    /// refer to.
    fn append<T: Clone>(
        mut self,
        out: &mut Vec<Option<T>>,
        mut dictionary: Vec<T>,
        mut plain: impl FnMut(&mut Bytes<'_>) -> Result<T, Error>,
    ) -> Result<(), Error> {
        // Only booleans have values before their first page: false and true.
        let is_boolean = !dictionary.is_empty();
        let mut buffer = Vec::new();
        let mut left = self.rows;
        while left > 0 {
            let header = Header::read(&mut self.bytes)?;
            let mut body = Bytes(self.bytes.take(header.packed)?);
            let mut levels = Bytes(&[]);
            match header.kind {
                code::INDEX_PAGE => continue,
                code::DICTIONARY_PAGE => {
                    if is_boolean || !matches!(header.encoding, code::PLAIN | code::PLAIN_DICTIONARY) {
                        return Err(unknown(header.encoding));
                    }
                    let mut entries = self.unpack(&header, body.0, &mut buffer)?;
                    dictionary.clear();
                    for _ in 0..header.values {
                        dictionary.push(plain(&mut entries)?);
                    }
                    continue;
                }
                code::DATA_PAGE => {
                    body = self.unpack(&header, body.0, &mut buffer)?;
                    if self.is_optional {
                        if header.levels != code::RLE {
                            return Err(unknown(header.levels));
                        }
                        let length = u32::from_le_bytes(body.array()?);
                        levels = Bytes(body.take(length as usize)?);
                    }
                }
                code::DATA_PAGE_V2 => {
                    // Levels are not compressed in version 2.
                    let [of_lists, of_missing] = header.level_bytes;
                    body.take(of_lists)?;
                    levels = Bytes(body.take(of_missing)?);
                    let unpacked = header.unpacked.checked_sub(of_lists.saturating_add(of_missing));
                    let header = Header {
                        unpacked: unpacked
                            .ok_or_else(|| Error::damaged("a page has more levels than bytes"))?,
                        ..header
                    };
                    // If all values are missing, the page has no compressed part.
                    if !body.0.is_empty() {
                        body = self.unpack(&header, body.0, &mut buffer)?;
                    }
                }
                other => return Err(Error::damaged(&format!("there is no page of kind {other}"))),
            }
            let mut source = match header.encoding {
                code::PLAIN if is_boolean => Source::Places(Runs::bits(body.0)),
                code::PLAIN => Source::Plain(body),
                code::RLE if is_boolean => {
                    let length = u32::from_le_bytes(body.array()?);
                    Source::Places(Runs::new(body.take(length as usize)?, 1)?)
                }
                code::PLAIN_DICTIONARY | code::RLE_DICTIONARY if !is_boolean => {
                    // If all values are missing, the width may be absent.
                    let width = body.array().map_or(0, |[width]| width);
                    Source::Places(Runs::new(body.0, width.into())?)
                }
                other => return Err(unknown(other)),
            };
            let mut levels = match self.is_optional {
                true => Runs::new(levels.0, 1)?,
                false => Runs::same(1, header.values),
            };
            left = (left.checked_sub(header.values))
                .ok_or_else(|| Error::damaged("its pages have more rows than it"))?;
            let mut values = header.values;
            while values > 0 {
                let (level, mut count) = levels.next(values)?;
                values -= count;
                match &mut source {
                    _ if level == 0 => out.extend(repeat_n(None, count)),
                    Source::Plain(bytes) => {
                        for _ in 0..count {
                            out.push(Some(plain(bytes)?));
                        }
                    }
                    Source::Places(indices) => {
                        while count > 0 {
                            let (index, times) = indices.next(count)?;
                            let value = dictionary
                                .get(index as usize)
                                .ok_or_else(|| Error::damaged("a value is not in the dictionary"))?;
                            out.extend(repeat_n(Some(value.clone()), times));
                            count -= times;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the uncompressed bytes of a page.
    fn unpack<'b>(
        &self,
        header: &Header,
        packed: &'b [u8],
        buffer: &'b mut Vec<u8>,
    ) -> Result<Bytes<'b>, Error> {
        if self.codec == code::UNCOMPRESSED || header.is_unpacked {
            return Ok(Bytes(packed));
        }
        // A damaged header could otherwise reserve much more memory than the file has.
        if header.unpacked > packed.len().saturating_mul(SNAPPY) {
            return Err(Error::damaged(
                "a page says that it is larger than its bytes can be",
            ));
        }
        buffer.resize(header.unpacked, 0);
        match snap::raw::Decoder::new().decompress(packed, buffer) {
            Ok(length) if length == header.unpacked => Ok(Bytes(buffer)),
            _ => Err(Error::damaged("a page cannot be unpacked")),
        }
    }
}

fn unknown(encoding: i64) -> Error {
    let name = code::name(code::ENCODINGS, encoding);
    Error::Content(format!(
        "its encoding is {name}: expected PLAIN or RLE_DICTIONARY"
    ))
}

#[cfg(test)]
mod tests;
