//! Files that end.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a file to be read; devices and pipes may have no end.
///
/// # Errors
/// It cannot be opened, or is no file.
pub fn open_file(path: &Path) -> io::Result<File> {
    match std::fs::metadata(path)? {
        there if there.is_file() || there.is_dir() => File::open(path),
        _ => Err(io::Error::other("it is a device or a pipe, not a file")),
    }
}
