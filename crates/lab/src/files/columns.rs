//! Tables of named columns, as Parquet files.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

mod read;

pub use read::{read_metadata, read_parquet, read_table};

/// Rows of a row group: what a reader holds at a time.
pub(super) const GROUP_ROWS: usize = 1 << 17;

/// A column: its name and a value per row.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Values.
    pub values: Values,
}

/// The values of a column, row by row; what is missing is `None`.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Texts; many rows may share one.
    Text(Vec<Option<Arc<str>>>),
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Real numbers.
    Real(Vec<Option<f64>>),
}

impl Column {
    /// A column of this name.
    pub fn new(name: impl Into<String>, values: Values) -> Self {
        Self {
            name: name.into(),
            values,
        }
    }

    fn schema(&self) -> Result<Type, ParquetError> {
        let physical = match self.values {
            Values::Text(_) => Physical::BYTE_ARRAY,
            Values::Int(_) => Physical::INT64,
            Values::Real(_) => Physical::DOUBLE,
        };
        let column = Type::primitive_type_builder(&self.name, physical).with_repetition(Repetition::OPTIONAL);
        match self.values {
            Values::Text(_) => column.with_converted_type(ConvertedType::UTF8).build(),
            _ => column.build(),
        }
    }
}

impl Values {
    /// Rows.
    pub const fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Int(values) => values.len(),
            Self::Real(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Writes columns of equal length as one Parquet file; `metadata` are its keys and values.
///
/// # Errors
/// Those of `out`.
///
/// # Panics
/// If the columns differ in length.
pub fn write_parquet(
    out: &mut (impl Write + Send),
    columns: &[Column],
    metadata: &[(&str, String)],
) -> io::Result<()> {
    let rows = columns.first().map_or(0, |column| column.values.len());
    assert!(
        columns.iter().all(|column| column.values.len() == rows),
        "columns of one table have a value per row each"
    );
    let write = || {
        let mut file = GroupWriter::new(out, columns, metadata)?;
        for first in (0..rows).step_by(GROUP_ROWS) {
            file.group(columns, first..rows.min(first + GROUP_ROWS))?;
        }
        file.close()
    };
    write().map_err(io::Error::other)
}

/// Writes a table that comes in parts, the columns of one part after another, as one Parquet file.
pub(super) struct GroupWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
}

impl<W: Write + Send> GroupWriter<W> {
    /// A file with columns like these.
    pub(super) fn new(out: W, like: &[Column], metadata: &[(&str, String)]) -> Result<Self, ParquetError> {
        let fields: Result<Vec<_>, _> = like.iter().map(|c| c.schema().map(Arc::new)).collect();
        let schema = Type::group_type_builder("table").with_fields(fields?).build()?;
        let pairs = metadata
            .iter()
            .map(|(key, value)| parquet::file::metadata::KeyValue::new(key.to_string(), value.clone()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("paceline {}", crate::identity::version()))
            .set_key_value_metadata(Some(pairs.collect()))
            .build();
        let file = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(Self { file })
    }

    /// Writes these rows of the columns as a row group.
    pub(super) fn group(&mut self, columns: &[Column], rows: Range<usize>) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in columns {
            let mut writer = group
                .next_column()?
                .expect("a writer for each column of the schema");
            match &column.values {
                Values::Text(all) => {
                    let (values, present) = dense(&all[rows.clone()], shared_bytes());
                    writer
                        .typed::<ByteArrayType>()
                        .write_batch(&values, Some(&present), None)?;
                }
                Values::Int(all) => {
                    let (values, present) = dense(&all[rows.clone()], |&value| value);
                    writer
                        .typed::<Int64Type>()
                        .write_batch(&values, Some(&present), None)?;
                }
                Values::Real(all) => {
                    let (values, present) = dense(&all[rows.clone()], |&value| value);
                    writer
                        .typed::<DoubleType>()
                        .write_batch(&values, Some(&present), None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the file.
    pub(super) fn close(self) -> Result<(), ParquetError> {
        self.file.close()?;
        Ok(())
    }
}

/// A text as Parquet takes it; neighbours that share it share its bytes.
fn shared_bytes() -> impl FnMut(&Arc<str>) -> ByteArray {
    let mut last: Option<(Arc<str>, ByteArray)> = None;
    move |text| match &last {
        Some((same, bytes)) if Arc::ptr_eq(same, text) => bytes.clone(),
        _ => {
            let bytes = ByteArray::from(text.as_bytes().to_vec());
            last = Some((text.clone(), bytes.clone()));
            bytes
        }
    }
}

/// The values that are there, and for each row whether it has one.
fn dense<T, U>(rows: &[Option<T>], value: impl FnMut(&T) -> U) -> (Vec<U>, Vec<i16>) {
    let values = rows.iter().flatten().map(value).collect();
    let present = rows.iter().map(|row| i16::from(row.is_some())).collect();
    (values, present)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let rows = GROUP_ROWS + 3;
        let text = |i: usize| (!i.is_multiple_of(5)).then(|| Arc::from(format!("é{}", i % 7)));
        let columns = [
            Column::new("entity", Values::Text((0..rows).map(text).collect())),
            Column::new(
                "time_ps",
                Values::Int((0..rows).map(|i| Some(i64::MAX - i as i64)).collect()),
            ),
            Column::new(
                "value",
                Values::Real((0..rows).map(|i| (i != 1).then_some(i as f64 / 3.0)).collect()),
            ),
        ];
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("a.parquet");
        let mut bytes = Vec::new();
        write_parquet(&mut bytes, &columns, &[("version", "1".to_string())]).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read_parquet(&path).unwrap(), columns);
        // The same table gives the same bytes.
        let mut again = Vec::new();
        write_parquet(&mut again, &columns, &[("version", "1".to_string())]).unwrap();
        assert_eq!(bytes, again);
    }

    #[test]
    fn a_table_without_rows_has_its_columns() {
        let columns = [Column::new("a", Values::Int(Vec::new()))];
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("a.parquet");
        write_parquet(&mut std::fs::File::create(&path).unwrap(), &columns, &[]).unwrap();
        assert_eq!(read_parquet(&path).unwrap(), columns);
    }
}
