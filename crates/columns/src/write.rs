//! Writer of tables: equal tables result in equal bytes.

use std::collections::HashMap;
use std::hash::Hash;
use std::io::{self, Write};
use std::ops::Range;

use crate::code::{self, MAGIC};
use crate::runs::{encode, width_of};
use crate::table::{Column, Values};
use crate::thrift::{self, BINARY, I32, STRUCT, Struct};

/// Number of rows in a row group, which a reader holds at a time.
pub const GROUP_ROWS: usize = 1 << 17;

/// Size in bytes after which a page of texts ends, and largest size of a dictionary.
const PAGE: usize = 1 << 20;

/// Writes columns of equal length as one file; `metadata` are its keys and values, `by` is the name of the writer.
///
/// # Errors
/// If `out` fails.
///
/// # Panics
/// If the columns differ in length.
pub fn write(out: impl Write, by: &str, columns: &[Column], metadata: &[(&str, String)]) -> io::Result<()> {
    let rows = columns.first().map_or(0, |column| column.values.len());
    assert!(
        columns.iter().all(|column| column.values.len() == rows),
        "columns of one table have a value per row each"
    );
    let mut file = GroupWriter::new(out, by, columns, metadata)?;
    for first in (0..rows).step_by(GROUP_ROWS) {
        file.group(columns, first..rows.min(first + GROUP_ROWS))?;
    }
    file.close()
}

/// Writer for a table that arrives in parts, each with all columns, as one file.
pub struct GroupWriter<W: Write> {
    out: W,
    /// Number of bytes written.
    at: usize,
    rows: usize,
    kinds: Vec<i64>,
    /// Columns, row groups and metadata in the footer's encoding.
    schema: Vec<Vec<u8>>,
    groups: Vec<Vec<u8>>,
    metadata: Vec<Vec<u8>>,
    by: String,
    snappy: snap::raw::Encoder,
    packed: Vec<u8>,
}

impl<W: Write> GroupWriter<W> {
    /// Starts a file with columns like these.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn new(mut out: W, by: &str, like: &[Column], metadata: &[(&str, String)]) -> io::Result<Self> {
        out.write_all(&MAGIC)?;
        let root = Struct::default().text(4, "table").i32(5, like.len() as i64).end();
        let fields = like.iter().map(|column| {
            let field = Struct::default()
                .i32(1, kind_of(&column.values))
                .i32(3, code::OPTIONAL);
            let field = field.text(4, &column.name);
            match column.values {
                Values::Text(_) => field.i32(6, code::UTF8).end(),
                _ => field.end(),
            }
        });
        let pairs = metadata
            .iter()
            .map(|(key, value)| Struct::default().text(1, key).text(2, value).end());
        Ok(Self {
            out,
            at: MAGIC.len(),
            rows: 0,
            kinds: like.iter().map(|column| kind_of(&column.values)).collect(),
            schema: std::iter::once(root).chain(fields).collect(),
            groups: Vec::new(),
            metadata: pairs.collect(),
            by: by.to_owned(),
            snappy: snap::raw::Encoder::new(),
            packed: Vec::new(),
        })
    }

    /// Writes these rows of the columns as a row group: at most [`GROUP_ROWS`].
    ///
    /// # Errors
    /// If `out` fails, or a text is longer than a page can be.
    pub fn group(&mut self, columns: &[Column], rows: Range<usize>) -> io::Result<()> {
        let kinds = columns.iter().map(|column| kind_of(&column.values));
        assert!(
            kinds.eq(self.kinds.iter().copied()),
            "a part has the columns of its table"
        );
        let count = rows.len();
        let mut chunks = Vec::new();
        let mut unpacked = 0;
        for column in columns {
            let chunk = self.chunk(column, rows.clone())?;
            unpacked += chunk.unpacked;
            chunks.push(chunk.described(column, count));
        }
        let group = Struct::default().list(1, STRUCT, chunks.into_iter());
        self.groups
            .push(group.i64(2, unpacked as i64).i64(3, count as i64).end());
        self.rows += count;
        Ok(())
    }

    /// Writes the footer, which ends the file.
    ///
    /// # Errors
    /// If `out` fails.
    pub fn close(mut self) -> io::Result<()> {
        let footer = Struct::default()
            .i32(1, 1)
            .list(2, STRUCT, self.schema.into_iter())
            .i64(3, self.rows as i64)
            .list(4, STRUCT, self.groups.into_iter())
            .list(5, STRUCT, self.metadata.into_iter())
            .text(6, &self.by)
            .end();
        // Readers find the footer by its length, which precedes the final magic number.
        let length = u32::try_from(footer.len()).map_err(|_| too_large("the footer"))?;
        self.out.write_all(&footer)?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&MAGIC)?;
        self.out.flush()
    }

    /// Writes some rows of a column.
    fn chunk(&mut self, column: &Column, rows: Range<usize>) -> io::Result<Chunk> {
        let mut chunk = Chunk {
            start: self.at,
            data: self.at,
            unpacked: 0,
            packed: 0,
        };
        match &column.values {
            Values::Text(all) => {
                let texts = all[rows].iter().map(Option::as_deref);
                self.values(
                    &mut chunk,
                    texts,
                    |text| 4 + text.len(),
                    |bytes, text| {
                        // A text too long for this count makes the page too long, which is rejected below.
                        bytes.extend((text.len() as u32).to_le_bytes());
                        bytes.extend(text.as_bytes());
                    },
                )?;
            }
            Values::Int(all) => {
                let numbers = all[rows].iter().map(|value| value.map(i64::to_le_bytes));
                self.values(&mut chunk, numbers, |_| 8, |bytes, number| bytes.extend(number))?;
            }
            Values::Real(all) => {
                let numbers = all[rows].iter().map(|value| value.map(f64::to_le_bytes));
                self.values(&mut chunk, numbers, |_| 8, |bytes, number| bytes.extend(number))?;
            }
        }
        chunk.packed = self.at - chunk.start;
        Ok(chunk)
    }

    /// Writes values, with a dictionary if that is smaller. `size` returns the bytes of a value, and `push` appends
    /// them.
    fn values<V: Copy + Eq + Hash>(
        &mut self,
        chunk: &mut Chunk,
        rows: impl Iterator<Item = Option<V>> + Clone,
        size: impl Fn(&V) -> usize,
        push: impl Fn(&mut Vec<u8>, V),
    ) -> io::Result<()> {
        let levels: Vec<u32> = rows.clone().map(|row| row.is_some().into()).collect();
        let mut page = Vec::new();
        if let Some((known, positions)) = dictionary(rows.clone().flatten()) {
            known.iter().for_each(|value| push(&mut page, *value));
            let width = width_of(known.len());
            let mut indices = vec![width as u8];
            encode(&positions, width, &mut indices);
            let plain: usize = rows.clone().flatten().map(|value| size(&value)).sum();
            // The dictionary has to fit in one page, and to save more bytes than it takes.
            if page.len() <= PAGE && page.len() + indices.len() < plain {
                let says = Struct::default().i32(1, known.len() as i64).i32(2, code::PLAIN);
                self.page(
                    chunk,
                    code::DICTIONARY_PAGE,
                    |header| header.inner(7, says),
                    &page,
                )?;
                chunk.data = self.at;
                return self.data(chunk, code::RLE_DICTIONARY, &levels, &indices);
            }
            page.clear();
        }
        let mut first = 0;
        for (row, value) in rows.enumerate() {
            if let Some(value) = value {
                push(&mut page, value);
            }
            if page.len() >= PAGE || row + 1 == levels.len() {
                self.data(chunk, code::PLAIN, &levels[first..=row], &page)?;
                page.clear();
                first = row + 1;
            }
        }
        Ok(())
    }

    /// Writes a page of values; `levels` marks the rows that have one.
    fn data(&mut self, chunk: &mut Chunk, encoding: i64, levels: &[u32], values: &[u8]) -> io::Result<()> {
        // The length of the levels precedes them, but is known only afterwards.
        let mut body = vec![0; 4];
        encode(levels, 1, &mut body);
        let length = body.len() as u32 - 4;
        body[..4].copy_from_slice(&length.to_le_bytes());
        body.extend(values);
        let says = Struct::default().i32(1, levels.len() as i64).i32(2, encoding);
        // Nothing is repeated, but the encoding of repetition levels is a required field.
        let says = says.i32(3, code::RLE).i32(4, code::RLE);
        self.page(chunk, code::DATA_PAGE, |header| header.inner(5, says), &body)
    }

    fn page(
        &mut self,
        chunk: &mut Chunk,
        kind: i64,
        describe: impl FnOnce(Struct) -> Struct,
        body: &[u8],
    ) -> io::Result<()> {
        let unpacked = i32::try_from(body.len()).map_err(|_| too_large("a page of texts"))?;
        self.packed.resize(snap::raw::max_compress_len(body.len()), 0);
        let packed = self
            .snappy
            .compress(body, &mut self.packed)
            .map_err(io::Error::other)?;
        let header = Struct::default()
            .i32(1, kind)
            .i32(2, unpacked.into())
            .i32(3, packed as i64);
        let header = describe(header).end();
        self.out.write_all(&header)?;
        self.out.write_all(&self.packed[..packed])?;
        self.at += header.len() + packed;
        chunk.unpacked += header.len() + body.len();
        Ok(())
    }
}

/// Position and sizes of a column's values in a row group.
struct Chunk {
    start: usize,
    /// Position of the first page of values, behind the dictionary if there is one.
    data: usize,
    unpacked: usize,
    packed: usize,
}

impl Chunk {
    fn described(&self, column: &Column, rows: usize) -> Vec<u8> {
        let has_dictionary = self.data > self.start;
        let encodings = match has_dictionary {
            true => [code::PLAIN, code::RLE, code::RLE_DICTIONARY].as_slice(),
            false => &[code::PLAIN, code::RLE],
        };
        let mut path = Vec::new();
        thrift::push_text(&mut path, &column.name);
        let says = Struct::default()
            .i32(1, kind_of(&column.values))
            .list(2, I32, encodings.iter().map(|code| vec![*code as u8 * 2]))
            .list(3, BINARY, std::iter::once(path))
            .i32(4, code::SNAPPY)
            .i64(5, rows as i64)
            .i64(6, self.unpacked as i64)
            .i64(7, self.packed as i64)
            .i64(9, self.data as i64);
        let says = match has_dictionary {
            true => says.i64(11, self.start as i64),
            false => says,
        };
        Struct::default().i64(2, self.start as i64).inner(3, says).end()
    }
}

const fn kind_of(values: &Values) -> i64 {
    match values {
        Values::Text(_) => code::BYTE_ARRAY,
        Values::Int(_) => code::INT64,
        Values::Real(_) => code::DOUBLE,
    }
}

fn too_large(what: &str) -> io::Error {
    io::Error::other(format!("{what} takes more bytes than Parquet can say"))
}

/// Returns the distinct values in the order of their first occurrence, and the index of each value among them; `None`
/// if more than half differ.
fn dictionary<V: Copy + Eq + Hash>(all: impl Iterator<Item = V> + Clone) -> Option<(Vec<V>, Vec<u32>)> {
    let count = all.clone().count();
    let (mut known, mut indices) = (Vec::new(), Vec::with_capacity(count));
    let mut found = HashMap::new();
    let mut last = None;
    for value in all {
        let index = match last {
            Some((same, index)) if same == value => index,
            _ => *found.entry(value).or_insert_with(|| {
                known.push(value);
                known.len() as u32 - 1
            }),
        };
        if known.len() * 2 > count {
            return None;
        }
        last = Some((value, index));
        indices.push(index);
    }
    Some((known, indices))
}
