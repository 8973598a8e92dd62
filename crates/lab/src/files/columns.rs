//! Tables of named columns, as the Parquet files of this version.

use std::io::{self, Write};
use std::path::Path;

pub(super) use paceline_columns::GROUP_ROWS;
pub(crate) use paceline_columns::GroupWriter;
pub use paceline_columns::{Column, Error, Values};

/// Returns the writer's name and version for the metadata of files.
fn by() -> String {
    format!("paceline {}", crate::identity::version())
}

/// Writes columns of equal length as one Parquet file; `metadata` are its keys and values.
///
/// # Errors
/// Those of `out`.
///
/// # Panics
/// If the columns differ in length.
pub fn write_parquet(
    out: &mut impl Write,
    columns: &[Column],
    metadata: &[(&str, String)],
) -> io::Result<()> {
    paceline_columns::write(out, &by(), columns, metadata)
}

/// Starts a file of a table that is written in groups of rows, with columns like `like`.
pub(crate) fn groups<W: Write>(
    out: W,
    like: &[Column],
    metadata: &[(&str, String)],
) -> io::Result<GroupWriter<W>> {
    GroupWriter::new(out, &by(), like, metadata)
}

/// Reads all columns of a Parquet file, in their order.
///
/// # Errors
/// The file cannot be read, is damaged, has a column of another kind, or holds more than fits in memory.
pub fn read_parquet(path: &Path) -> Result<Vec<Column>, Error> {
    paceline_columns::read(paceline_scenario::open_file(path)?)
}

/// Returns the value of `key` in the file's metadata.
///
/// # Errors
/// The file cannot be read, or is damaged.
pub fn read_metadata(path: &Path, key: &str) -> Result<Option<String>, Error> {
    let mut pairs = paceline_columns::read_metadata(paceline_scenario::open_file(path)?)?.into_iter();
    Ok(pairs.find(|(name, _)| name == key).map(|(_, value)| value))
}
