//! Regular files, which have an end.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a regular file for reading; devices and pipes may have no end.
///
/// # Errors
/// If it cannot be opened, or is not a regular file.
pub fn open_file(path: &Path) -> io::Result<File> {
    match std::fs::metadata(path)? {
        there if there.is_file() || there.is_dir() => File::open(path),
        _ => Err(io::Error::other("it is a device or a pipe, not a file")),
    }
}
