//! Files that are read as a whole: regular files that fit in memory.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Largest file that is read, in bytes.
const MOST: u64 = 1 << 31;

/// Returns the content of a file.
///
/// # Errors
/// If it cannot be read, is not a regular file, or is larger than 2 GiB.
pub fn read_bytes(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let file = open_file(path)?;
    let mut bytes = Vec::new();
    let length = file.metadata()?.len();
    if length <= MOST {
        file.take(MOST + 1).read_to_end(&mut bytes)?;
    }
    // The file may have grown since its length was read.
    match length.max(bytes.len() as u64) > MOST {
        true => Err(io::Error::other("it is larger than 2 GiB, which is the most")),
        false => Ok(bytes),
    }
}

/// Returns the content of a file as text.
///
/// # Errors
/// As [`read_bytes`], or if it is not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    String::from_utf8(read_bytes(path)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("it is not text: {error}")))
}

/// Opens a regular file for reading; devices and pipes may have no end.
///
/// # Errors
/// If it cannot be opened, or is not a regular file.
pub fn open_file(path: impl AsRef<Path>) -> io::Result<File> {
    paceline_traces::regular::open_file(path.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_a_missing_one_is_told() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("a");
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read_text(&path).unwrap(), "text");
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_bytes(&path).unwrap(), [0xff]);
        assert!(read_text(&path).unwrap_err().to_string().contains("not text"));
        let missing = read_text(tmp.path().join("b")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn what_has_no_end_is_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let (zeros, huge) = (tmp.path().join("zeros"), tmp.path().join("huge"));
        std::os::unix::fs::symlink("/dev/zero", &zeros).unwrap();
        assert!(read_text(&zeros).unwrap_err().to_string().contains("a device"));
        File::create(&huge).unwrap().set_len(1 << 40).unwrap();
        assert!(read_text(&huge).unwrap_err().to_string().contains("2 GiB"));
    }
}
