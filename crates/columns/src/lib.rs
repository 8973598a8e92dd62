//! Tables of named columns, as Parquet files.
//!
//! [`write()`] writes texts, whole and real numbers, all of them optional: data pages of version 1, in a dictionary where
//! that is smaller, packed with Snappy. [`read()`] reads what others write as well: pages of both versions, plain or in a
//! dictionary, packed with Snappy or not. What it cannot read it names.

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
