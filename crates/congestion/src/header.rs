//! Headers of source files: of the page of a scheme nothing else is kept.

/// The comment at the top of a source file.
macro_rules! header {
    ($file:literal) => {{
        const FILE: &str = include_str!($file);
        const HEADER: [u8; $crate::header::length(FILE)] = $crate::header::first(FILE);
        match std::str::from_utf8(&HEADER) {
            Ok(header) => header,
            Err(_) => panic!("whole lines"),
        }
    }};
}

/// Bytes of the lines at the top of `file` that begin with `//!`.
pub(crate) const fn length(file: &str) -> usize {
    let file = file.as_bytes();
    let mut end = 0;
    while end + 2 < file.len() && file[end] == b'/' && file[end + 1] == b'/' && file[end + 2] == b'!' {
        while end < file.len() && file[end] != b'\n' {
            end += 1;
        }
        end += 1;
    }
    end
}

/// The first bytes of `file`.
pub(crate) const fn first<const LENGTH: usize>(file: &str) -> [u8; LENGTH] {
    let file = file.as_bytes();
    let mut bytes = [b'\n'; LENGTH];
    let mut at = 0;
    while at < LENGTH && at < file.len() {
        bytes[at] = file[at];
        at += 1;
    }
    bytes
}

#[cfg(test)]
mod tests;
