//! Tables of named columns, as Parquet files.
//!
//! [`write()`] writes texts, whole and real numbers, all of them optional: data pages of version 1, in a dictionary where
//! that is smaller, packed with Snappy. [`read()`] reads what others write as well: pages of both versions, plain or in a
//! dictionary, packed with Snappy or not. What it cannot read it names.

mod footer;
mod read;
mod runs;
mod thrift;
mod write;

use std::sync::Arc;

pub use footer::read_metadata;
pub use read::read;
pub use write::{GROUP_ROWS, GroupWriter, write};

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

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system says why.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is damaged, or has what cannot be read.
    #[error("{0}")]
    Content(String),
}

impl Error {
    fn damaged(what: &str) -> Self {
        Self::Content(format!("the file is damaged: {what}"))
    }
}

/// The bytes at either end of a file.
const MAGIC: [u8; 4] = *b"PAR1";

/// Numbers that the format gives to what it names.
mod code {
    pub(crate) const BOOLEAN: i64 = 0;
    pub(crate) const INT32: i64 = 1;
    pub(crate) const INT64: i64 = 2;
    pub(crate) const FLOAT: i64 = 4;
    pub(crate) const DOUBLE: i64 = 5;
    pub(crate) const BYTE_ARRAY: i64 = 6;
    pub(crate) const KINDS: &str = "BOOLEAN INT32 INT64 INT96 FLOAT DOUBLE BYTE_ARRAY FIXED_LEN_BYTE_ARRAY";

    pub(crate) const UNCOMPRESSED: i64 = 0;
    pub(crate) const SNAPPY: i64 = 1;
    pub(crate) const CODECS: &str = "UNCOMPRESSED SNAPPY GZIP LZO BROTLI LZ4 ZSTD LZ4_RAW";

    pub(crate) const PLAIN: i64 = 0;
    pub(crate) const PLAIN_DICTIONARY: i64 = 2;
    pub(crate) const RLE: i64 = 3;
    pub(crate) const RLE_DICTIONARY: i64 = 8;
    pub(crate) const ENCODINGS: &str = "PLAIN 1 PLAIN_DICTIONARY RLE BIT_PACKED DELTA_BINARY_PACKED \
        DELTA_LENGTH_BYTE_ARRAY DELTA_BYTE_ARRAY RLE_DICTIONARY BYTE_STREAM_SPLIT";

    pub(crate) const DATA_PAGE: i64 = 0;
    pub(crate) const INDEX_PAGE: i64 = 1;
    pub(crate) const DICTIONARY_PAGE: i64 = 2;
    pub(crate) const DATA_PAGE_V2: i64 = 3;

    pub(crate) const REQUIRED: i64 = 0;
    pub(crate) const OPTIONAL: i64 = 1;
    pub(crate) const UTF8: i64 = 0;

    /// The name of a number, or the number.
    pub(crate) fn name(names: &str, number: i64) -> String {
        let known = usize::try_from(number)
            .ok()
            .and_then(|number| names.split(' ').nth(number));
        known.map_or_else(|| number.to_string(), str::to_owned)
    }
}
