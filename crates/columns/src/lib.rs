//! Tables of named columns as Parquet files.
//!
//! [`write()`] writes texts, integers and floating-point numbers, all optional: data pages of version 1, with a
//! dictionary if that is smaller, compressed with Snappy. [`read()`] also reads files of other writers: pages of both
//! versions, plain or with a dictionary, with Snappy or uncompressed. Errors name unsupported features.

mod code;
mod error;
mod footer;
mod read;
mod runs;
mod table;
mod thrift;
mod write;

pub use error::Error;
pub use footer::read_metadata;
pub use read::read;
pub use table::{Column, Values};
pub use write::{GROUP_ROWS, GroupWriter, write};
