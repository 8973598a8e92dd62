//! Parquet files, which may come from anywhere: what is damaged is an error, and so is what would not fit in memory.

use std::any::Any;
use std::collections::HashSet;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::{Column, Values};

/// The most memory that the values of a file may take, in bytes; and that of a small one: so much, and a multiple of its
/// size. Equal values in a row are one entry of such a file, so a few kilobytes can say millions of rows.
const ROOM: usize = 1 << 31;
const SMALL: usize = 1 << 26;
const UNPACKED: usize = 1 << 9;
/// Rows that are taken from the library at a time: it holds more for each than is kept.
const BATCH: usize = 1 << 14;
/// The most that a page may take, unpacked: what writes such files makes pages of a megabyte or so.
const PAGE: u64 = 1 << 28;
/// What a value takes, whatever its kind.
const CELL: usize = size_of::<Option<Arc<str>>>();
/// What a text takes that no row before has, above its bytes: its counts, its place among those that are known (half of
/// these places are free), and what the system keeps of an allocation.
const TEXT: usize = 2 * size_of::<usize>() + 2 * (CELL + 1) + 2 * size_of::<usize>();

/// Reads a Parquet file whose columns are texts and numbers: all of its columns, in their order.
///
/// # Errors
/// The file cannot be read, is damaged, has a column of another kind, or holds more than fits in memory.
pub fn read_parquet(path: &Path) -> Result<Vec<Column>, ParquetError> {
    read_table(paceline_scenario::open_file(path)?)
}

/// The same of what `source` gives, such as the bytes of a file.
///
/// # Errors
/// As [`read_parquet`].
pub fn read_table(source: impl ChunkReader + 'static) -> Result<Vec<Column>, ParquetError> {
    let size = usize::try_from(source.len()).unwrap_or(usize::MAX);
    let room = size.saturating_mul(UNPACKED).saturating_add(SMALL).min(ROOM);
    unbroken(|| read_within(source, (room, PAGE)))
}

/// What the file's metadata have under `key`.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn read_metadata(path: &Path, key: &str) -> Result<Option<String>, ParquetError> {
    unbroken(|| {
        let reader = SerializedFileReader::new(paceline_scenario::open_file(path)?)?;
        let pairs = reader.metadata().file_metadata().key_value_metadata();
        let found = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == key));
        Ok(found.and_then(|pair| pair.value.clone()))
    })
}

/// The library trusts some numbers of a file, and panics where they are wrong.
fn unbroken<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let message = text_of(panic.as_ref());
        Err(ParquetError::General(format!("the file is damaged: {message}")))
    })
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("its numbers contradict each other")
}

/// The memory that is left for a file's values.
struct Room {
    whole: usize,
    left: usize,
}

impl Room {
    fn take(&mut self, bytes: usize) -> Result<(), ParquetError> {
        let left = self.left.checked_sub(bytes).ok_or_else(|| {
            let most = self.whole >> 20;
            ParquetError::General(format!(
                "its values take more than {most} MiB of memory, which is the most for a file of its size"
            ))
        })?;
        self.left = left;
        Ok(())
    }
}

fn read_within(
    source: impl ChunkReader + 'static,
    (room, page): (usize, u64),
) -> Result<Vec<Column>, ParquetError> {
    let size = source.len();
    let reader = SerializedFileReader::new(Bounded { source, page })?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut columns = schema
        .columns()
        .iter()
        .map(|column| Ok(Column::new(column.path().string(), empty(column)?)))
        .collect::<Result<Vec<Column>, ParquetError>>()?;
    let mut room = Room {
        whole: room,
        left: room,
    };
    check(reader.metadata(), size, &mut room)?;
    let mut texts = HashSet::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let rows = group.metadata().num_rows() as usize;
        for (i, column) in columns.iter_mut().enumerate() {
            let reader = group.get_column_reader(i)?;
            read_column(reader, rows, &mut column.values, (&mut texts, &mut room))?;
        }
    }
    Ok(columns)
}

/// A file whose pages are no larger than `page` bytes, unpacked. The library takes the memory that a page's header
/// says, however few bytes follow it; it asks for a reader at the beginning of each header, and at few places else.
struct Bounded<R> {
    source: R,
    page: u64,
}

impl<R: ChunkReader> Length for Bounded<R> {
    fn len(&self) -> u64 {
        self.source.len()
    }
}

impl<R: ChunkReader> ChunkReader for Bounded<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        if let Some(size) = unpacked_size(self.source.get_read(start)?)
            && size > self.page
        {
            let (size, most) = (size >> 20, self.page >> 20);
            return Err(ParquetError::General(format!(
                "a page of it takes {size} MiB of memory, and {most} MiB is the most"
            )));
        }
        self.source.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes, ParquetError> {
        self.source.get_bytes(start, length)
    }
}

/// What a page's header says that the page takes unpacked; `None` if this is no header. It is a struct in Thrift's
/// compact protocol, which begins with three numbers: the page's kind, its size unpacked and as it stands in the file.
fn unpacked_size(mut header: impl Read) -> Option<u64> {
    const KINDS: u64 = 4;
    let mut byte = || {
        let mut one = [0];
        header.read_exact(&mut one).ok().map(|()| one[0])
    };
    let mut fields = [None; 3];
    let mut last = 0;
    while fields.contains(&None) {
        let head = byte()?;
        let mut number = || {
            let mut number = 0;
            for shift in (0..35).step_by(7) {
                let part = byte()?;
                number |= u64::from(part & 0x7f) << shift;
                if part < 0x80 {
                    // Those below zero are odd; the library refuses them.
                    return Some(number >> 1);
                }
            }
            None
        };
        // Which field, by the distance from the last or by its number, and that it is one of 32 bits.
        last = match head >> 4 {
            0 => number()?,
            further => last + u64::from(further),
        };
        let field = fields.get_mut(usize::try_from(last).ok()?.checked_sub(1)?)?;
        if head & 0x0f != 5 || field.is_some() {
            return None;
        }
        *field = Some(number()?);
    }
    match fields {
        [Some(kind), size, _] if kind < KINDS => size,
        _ => None,
    }
}

/// What a column will hold; an error if that is neither texts nor plain numbers.
fn empty(column: &ColumnDescriptor) -> Result<Values, ParquetError> {
    let wrong = |what: &str| {
        let name = column.name();
        Err(ParquetError::General(format!("column `{name}` {what}")))
    };
    if column.max_rep_level() > 0 {
        return wrong("has lists: expected one value a row");
    }
    // A number that means something else, in a unit of its own, is not ours to read.
    let meaning = match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Timestamp { .. }), _) => Some("timestamps"),
        (_, ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS) => Some("timestamps"),
        (Some(LogicalType::Time { .. }), _) => Some("times of day"),
        (_, ConvertedType::TIME_MILLIS | ConvertedType::TIME_MICROS) => Some("times of day"),
        (Some(LogicalType::Date), _) | (_, ConvertedType::DATE) => Some("dates"),
        (Some(LogicalType::Decimal { .. }), _) | (_, ConvertedType::DECIMAL) => Some("decimals"),
        _ => None,
    };
    if let Some(meaning) = meaning {
        return wrong(&format!(
            "has {meaning}: expected texts, whole or real numbers, with the unit in the column's name"
        ));
    }
    match column.physical_type() {
        Physical::BYTE_ARRAY => Ok(Values::Text(Vec::new())),
        Physical::INT64 | Physical::INT32 => Ok(Values::Int(Vec::new())),
        Physical::DOUBLE | Physical::FLOAT => Ok(Values::Real(Vec::new())),
        other => wrong(&format!("is {other}: expected texts, whole or real numbers")),
    }
}

/// Whether what a file of this size says of itself can be, and fits.
fn check(file: &ParquetMetaData, size: u64, room: &mut Room) -> Result<(), ParquetError> {
    for group in file.row_groups() {
        let cells = usize::try_from(group.num_rows())
            .ok()
            .and_then(|rows| rows.checked_mul(group.num_columns()));
        let bytes = cells.and_then(|cells| cells.checked_mul(CELL));
        room.take(bytes.unwrap_or(usize::MAX))?;
        for column in group.columns() {
            let places = [
                column.dictionary_page_offset().unwrap_or(0),
                column.data_page_offset(),
                column.compressed_size(),
            ];
            if places.iter().any(|&place| place < 0) {
                return Err(ParquetError::General("a column begins before the file".into()));
            }
            let (start, length) = column.byte_range();
            if start.checked_add(length).is_none_or(|end| end > size) {
                return Err(ParquetError::EOF("the file ends early".into()));
            }
        }
    }
    Ok(())
}

/// Appends a column's next `rows` rows to `values`. Equal texts share one allocation, whose room is taken from `room`.
fn read_column(
    reader: ColumnReader,
    rows: usize,
    values: &mut Values,
    (texts, room): (&mut HashSet<Arc<str>>, &mut Room),
) -> Result<(), ParquetError> {
    use ColumnReader as R;
    match (reader, values) {
        (R::ByteArrayColumnReader(mut reader), Values::Text(all)) => for_each(&mut reader, rows, |value| {
            let Some(bytes) = value else {
                all.push(None);
                return Ok(());
            };
            let text = bytes.as_utf8()?;
            let known = match texts.get(text) {
                Some(known) => known.clone(),
                None => {
                    room.take(TEXT + text.len())?;
                    let new: Arc<str> = Arc::from(text);
                    texts.insert(new.clone());
                    new
                }
            };
            all.push(Some(known));
            Ok(())
        }),
        (R::Int64ColumnReader(mut reader), Values::Int(all)) => for_each(&mut reader, rows, |value| {
            all.push(value);
            Ok(())
        }),
        (R::Int32ColumnReader(mut reader), Values::Int(all)) => for_each(&mut reader, rows, |value| {
            all.push(value.map(i64::from));
            Ok(())
        }),
        (R::DoubleColumnReader(mut reader), Values::Real(all)) => for_each(&mut reader, rows, |value| {
            all.push(value);
            Ok(())
        }),
        (R::FloatColumnReader(mut reader), Values::Real(all)) => for_each(&mut reader, rows, |value| {
            all.push(value.map(f64::from));
            Ok(())
        }),
        _ => Err(ParquetError::General(
            "a row group differs from the schema".into(),
        )),
    }
}

/// Gives a column's next `rows` rows to `take`, some at a time.
fn for_each<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    mut take: impl FnMut(Option<T::T>) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let (mut values, mut present, mut done) = (Vec::new(), Vec::new(), 0);
    while done < rows {
        values.clear();
        present.clear();
        let most = BATCH.min(rows - done);
        let (read, ..) = reader.read_records(most, Some(&mut present), None, &mut values)?;
        if read == 0 {
            return Err(ParquetError::EOF("the file ends early".into()));
        }
        done += read;
        let mut values = values.drain(..);
        if present.is_empty() {
            // A column that always has a value has no levels.
            values.try_for_each(|value| take(Some(value)))?;
        } else {
            let mut levels = present.iter();
            levels.try_for_each(|&level| take(if level > 0 { values.next() } else { None }))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::files::columns::write_parquet;

    fn written(columns: &[Column]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_parquet(&mut bytes, columns, &[]).unwrap();
        bytes
    }

    fn table() -> Vec<Column> {
        let text = |i: usize| Some(Arc::from(["a", "bc"][i % 2]));
        vec![
            Column::new("n", Values::Int((0..100).map(Some).collect())),
            Column::new("t", Values::Text((0..100).map(text).collect())),
            Column::new("x", Values::Real((0..100).map(|i| Some(f64::from(i))).collect())),
        ]
    }

    #[test]
    fn damage_is_an_error() {
        let bytes = written(&table());
        assert!(read_table(Bytes::from(bytes[..bytes.len() - 3].to_vec())).is_err());
        let tmp = tempfile::tempdir().unwrap();
        assert!(read_parquet(tmp.path()).is_err());
    }

    /// Each byte in turn is another: that is an error, or another table, and never a panic.
    #[test]
    fn no_damaged_byte_is_a_panic() {
        let bytes = written(&table());
        let mut errors = 0;
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                errors += usize::from(read_table(Bytes::from(damaged)).is_err());
            }
        }
        assert!(errors > bytes.len() / 2, "{errors} of {}", bytes.len());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let bytes = Bytes::from(written(&table()));
        let room = 3 * 100 * CELL + 2 * TEXT + "abc".len();
        assert_eq!(read_within(bytes.clone(), (room, PAGE)).unwrap(), table());
        for room in [3 * 100 * CELL - 1, room - 1] {
            let error = read_within(bytes.clone(), (room, PAGE)).unwrap_err().to_string();
            assert!(error.contains("take more than 0 MiB of memory"), "{error}");
        }
    }

    /// Few bytes, in which texts that come again and again stand once: so they do in memory.
    #[test]
    fn texts_that_come_again_take_no_room() {
        let long = |c: &str| -> Arc<str> { Arc::from(c.repeat(1 << 10)) };
        let (a, b) = (long("a"), long("b"));
        let text = |i: usize| Some(if i.is_multiple_of(2) { a.clone() } else { b.clone() });
        let table = [Column::new("t", Values::Text((0..100_000).map(text).collect()))];
        let bytes = written(&table);
        assert!(bytes.len() < 1 << 18, "{}", bytes.len());
        let room = 100_000 * CELL + 2 * (TEXT + (1 << 10));
        assert_eq!(
            read_within(Bytes::from(bytes.clone()), (room, PAGE)).unwrap(),
            table
        );
        assert!(read_within(Bytes::from(bytes), (room - 1, PAGE)).is_err());
    }

    /// A few kilobytes that say six million rows are refused before any is read.
    #[test]
    fn a_small_file_with_many_rows_is_refused() {
        let rows = 6_000_000;
        let bytes = written(&[Column::new("n", Values::Int(vec![Some(7); rows]))]);
        assert!(bytes.len() < 1 << 18, "{}", bytes.len());
        let error = read_table(Bytes::from(bytes)).unwrap_err().to_string();
        assert!(
            error.contains("which is the most for a file of its size"),
            "{error}"
        );
    }

    /// A file of a few kilobytes in which a page says that it takes two gigabytes: the memory is not taken.
    #[test]
    fn a_page_that_says_it_is_large_is_refused() {
        let reals = (0..1000).map(|i| Some(f64::from(i))).collect();
        let bytes = written(&[Column::new("x", Values::Real(reals))]);
        assert!(read_within(Bytes::from(bytes.clone()), (ROOM, 9_000)).is_ok());
        let error = read_within(Bytes::from(bytes.clone()), (ROOM, 1_000))
            .unwrap_err()
            .to_string();
        assert!(error.contains("a page of it takes 0 MiB"), "{error}");
        // The first page: its kind, and its size in as many bytes as before.
        let start = 4;
        assert_eq!(bytes[start], 0x15);
        let size = unpacked_size(&bytes[start..]).unwrap();
        assert!((1_000..9_000).contains(&size), "{size}");
        // The largest number that there is, with fields one after another or by their numbers in another order.
        let large = [0xfe, 0xff, 0xff, 0xff, 0x0f];
        let huge = [&[0x15, 0x00, 0x15][..], &large, &[0x15, 0x02]].concat();
        let named = [&[0x05, 0x04][..], &large, &[0x05, 0x02, 0x06, 0x25, 0x02]].concat();
        assert_eq!(
            (unpacked_size(&huge[..]), unpacked_size(&named[..])),
            (Some((1 << 31) - 1), Some((1 << 31) - 1))
        );
        assert_eq!(
            (unpacked_size(&huge[1..]), unpacked_size(&huge[..9])),
            (None, None)
        );
        let source = Bounded {
            source: Bytes::from(huge),
            page: PAGE,
        };
        let error = source.get_read(0).err().unwrap().to_string();
        assert!(
            error.contains("a page of it takes 2047 MiB of memory, and 256 MiB is the most"),
            "{error}"
        );
    }

    #[test]
    fn a_timestamp_is_not_a_number() {
        use parquet::file::properties::WriterProperties;
        use parquet::file::writer::SerializedFileWriter;
        use parquet::schema::parser::parse_message_type;
        for (kind, meaning) in [
            ("INT64 start_us (TIMESTAMP(MICROS,true))", "timestamps"),
            ("INT64 start_us (TIMESTAMP_MILLIS)", "timestamps"),
            ("INT32 start_us (DATE)", "dates"),
        ] {
            let schema = parse_message_type(&format!("message m {{ REQUIRED {kind}; }}")).unwrap();
            let mut bytes = Vec::new();
            let properties = WriterProperties::builder().build();
            let file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties)).unwrap();
            file.close().unwrap();
            let error = read_table(Bytes::from(bytes)).unwrap_err().to_string();
            assert!(
                error.contains(&format!("column `start_us` has {meaning}: expected")),
                "{error}"
            );
        }
    }
}
