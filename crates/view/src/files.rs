//! Files of the folder: which there are, and how one of them is opened without leaving the folder.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use paceline_kernel::order::Sort as _;
use serde::Serialize;

use crate::http::{Body, Response};
use crate::range::{Part, part};

/// Tables that a page lists; a sweep may have many times as many runs.
const TABLES_MAX: usize = 1_000;
/// Folders that are looked through for tables.
const FOLDERS_MAX: usize = 400;

/// Table of the list: a file, or what is computed from the finished runs of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Table {
    /// Path from the folder, with slashes.
    pub(crate) path: String,
    /// Address of the content, without the first slash.
    pub(crate) url: String,
    /// Size in bytes; 0 if there is no file yet.
    pub(crate) size: u64,
    /// Time of the last change, in ms of Unix time.
    pub(crate) changed: u64,
    /// True for a table that is computed from the rows so far.
    pub(crate) live: bool,
}

/// Returns the file of a relative path below `root`, which is canonical. `None` for a path that is absolute, hidden, or
/// leaves the folder, also by a symbolic link, and for what is no file.
pub(crate) fn inside(root: &Path, path: &str) -> Option<PathBuf> {
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.to_string_lossy().starts_with('.'),
        _ => false,
    };
    // A backslash separates folders on some systems.
    if path.is_empty() || path.contains('\\') || !Path::new(path).components().all(is_plain) {
        return None;
    }
    let file = root.join(path).canonicalize().ok()?;
    (file.starts_with(root) && file.is_file()).then_some(file)
}

/// Returns the time of a file's last change, in ms of Unix time; 0 if there is no such file.
pub(crate) fn changed(path: &Path) -> u64 {
    let time = fs::metadata(path).and_then(|about| about.modified()).ok();
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_millis() as u64)
}

fn is_table(path: &Path) -> bool {
    let end = path.extension().unwrap_or_default();
    end == "parquet" || end == "csv"
}

/// Returns true if a path names a table. Nothing else is served, except pages.
pub(crate) fn names_table(path: &str) -> bool {
    is_table(Path::new(path))
}

/// Lists the tables below a canonical folder, those of the folder itself first. Also returns true if there are more.
pub(crate) fn tables(root: &Path) -> (Vec<Table>, bool) {
    let mut tables = Vec::new();
    let mut folders = std::collections::VecDeque::from([PathBuf::new()]);
    let mut seen = 0;
    while let Some(folder) = folders.pop_front() {
        seen += 1;
        if seen > FOLDERS_MAX || tables.len() >= TABLES_MAX {
            return (tables, true);
        }
        let mut inner = Vec::new();
        let mut own = Vec::new();
        // A folder may vanish meanwhile; the next listing is without it.
        for entry in fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            let path = folder.join(&name);
            // `rows` of a sweep has a file per run, none of them a table.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && path != Path::new("rows") => inner.push(path),
                Ok(_) if is_table(&path) => own.push(path),
                _ => {}
            }
        }
        own.order_by(|a, b| a.cmp(b));
        inner.order_by(|a, b| a.cmp(b));
        for path in own {
            let path = path.to_string_lossy().replace('\\', "/");
            if let Some(file) = inside(root, &path) {
                tables.push(Table {
                    size: fs::metadata(&file).map_or(0, |about| about.len()),
                    changed: changed(&file),
                    url: format!("file/{}", encoded(&path)),
                    path,
                    live: false,
                });
            }
        }
        folders.extend(inner);
    }
    (tables, false)
}

/// Encodes a path for an address.
pub(crate) fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                text.push(byte.into())
            }
            byte => text += &format!("%{byte:02X}"),
        }
    }
    text
}

/// Returns the response with a file, or with the part of it that was asked for.
pub(crate) fn response(path: &Path, kind: &str, range: Option<&str>) -> Response {
    let opened = || -> io::Result<(File, u64)> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        match about.is_file() {
            true => Ok((file, about.len())),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    };
    match opened() {
        Ok((file, size)) => cut(kind, range, size, |from, to| Body::File {
            file,
            from,
            len: to - from,
        }),
        Err(error) => Response::error(404, &format!("the file cannot be read: {error}")),
    }
}

/// Returns the response with bytes, or with the part of them that was asked for.
pub(crate) fn of_bytes(bytes: &[u8], kind: &str, range: Option<&str>) -> Response {
    cut(kind, range, bytes.len() as u64, |from, to| {
        Body::Bytes(bytes[from as usize..to as usize].to_vec())
    })
}

fn cut(kind: &str, range: Option<&str>, size: u64, body: impl FnOnce(u64, u64) -> Body) -> Response {
    let (status, from, to) = match part(range, size) {
        Part::All => (200, 0, size),
        Part::Bytes(from, to) => (206, from, to),
        Part::Outside => {
            return Response::error(416, "the range begins after the end")
                .with("Content-Range", format!("bytes */{size}"));
        }
    };
    let mut response = Response::new(status, kind, Vec::new()).with("Accept-Ranges", "bytes");
    response.body = body(from, to);
    match status {
        206 => response.with("Content-Range", format!("bytes {from}-{}/{size}", to - 1)),
        _ => response,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leaves_the_folder() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().join("run");
        fs::create_dir_all(root.join("sub")).unwrap();
        let root = root.canonicalize().unwrap();
        fs::write(tmp.path().join("secret.csv"), "x").unwrap();
        for name in ["a.csv", "sub/b.csv", ".c.csv"] {
            fs::write(root.join(name), "x").unwrap();
        }
        assert_eq!(inside(&root, "sub/b.csv"), Some(root.join("sub/b.csv")));
        let absolute = tmp.path().join("secret.csv").display().to_string();
        for path in [
            "",
            ".",
            "..",
            "../secret.csv",
            "sub/../../secret.csv",
            "sub/..",
            "sub",
            ".c.csv",
            "none.csv",
            "..\\secret.csv",
            &absolute,
        ] {
            assert_eq!(inside(&root, path), None, "{path}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(tmp.path(), root.join("up")).unwrap();
            std::os::unix::fs::symlink("../secret.csv", root.join("out.csv")).unwrap();
            std::os::unix::fs::symlink("a.csv", root.join("in.csv")).unwrap();
            assert_eq!(inside(&root, "up/secret.csv"), None);
            assert_eq!(inside(&root, "out.csv"), None);
            assert_eq!(inside(&root, "in.csv"), Some(root.join("a.csv")));
            let names: Vec<String> = tables(&root).0.into_iter().map(|found| found.path).collect();
            assert_eq!(names, ["a.csv", "in.csv", "sub/b.csv"]);
        }
    }

    #[test]
    fn a_folder_of_many_files_is_cut() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        for number in 0..TABLES_MAX / 2 + 1 {
            let run = root.join(format!("runs/{number:04}"));
            fs::create_dir_all(&run).unwrap();
            fs::write(run.join("flows.csv"), "").unwrap();
        }
        let (listed, cut) = tables(&root);
        assert!(cut && listed.len() < FOLDERS_MAX);
        assert_eq!(listed[0].path, "runs/0000/flows.csv");
    }
}
