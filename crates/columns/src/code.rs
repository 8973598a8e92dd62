//! Numbers of the Parquet format, with their names.

/// Bytes at either end of a file.
pub(crate) const MAGIC: [u8; 4] = *b"PAR1";

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

/// Returns the name of a number, or the number itself.
pub(crate) fn name(names: &str, number: i64) -> String {
    let known = usize::try_from(number)
        .ok()
        .and_then(|number| names.split(' ').nth(number));
    known.map_or_else(|| number.to_string(), str::to_owned)
}
