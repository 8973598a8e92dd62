//! Trace files of a rank: messages prefixed with their lengths, optionally compressed with gzip as a whole.

use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::json;
use super::node::{Metadata, Node, metadata, node};
use crate::trouble::Trouble;
use crate::wire::{Cursor, Fault};

/// Default limit of a decompressed file: 1 GiB.
pub const GZIP_LIMIT: u64 = 1 << 30;
/// Largest compression ratio of a file: real traces compress to a twentieth, and zeros to a thousandth.
const GZIP_FACTOR: u64 = 100;
/// Decompressed size that is accepted at any ratio.
const GZIP_SMALL: u64 = 16 << 20;

/// Returns the bytes of a file, decompressed if they start with 1f 8b.
///
/// # Errors
/// If the file cannot be read, is truncated, or exceeds the limit when decompressed.
pub fn load(path: &Path, gzip_limit: u64) -> Result<Vec<u8>, Trouble> {
    let name = path.display();
    let unread = |e: std::io::Error| Trouble::at(&name, format!("cannot be read: {e}"));
    let mut bytes = Vec::new();
    crate::regular::open_file(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(unread)?;
    unpack(&name.to_string(), bytes, gzip_limit)
}

/// Decompresses bytes if they start with 1f 8b.
///
/// # Errors
/// If they are damaged or exceed the limit when decompressed.
pub fn unpack(name: &str, bytes: Vec<u8>, gzip_limit: u64) -> Result<Vec<u8>, Trouble> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let packed = bytes.len() as u64;
    // A small damaged file may unpack to gigabytes, so the limit depends on the packed size too.
    let most = gzip_limit.min(packed.saturating_mul(GZIP_FACTOR).max(GZIP_SMALL));
    let mut plain = Vec::new();
    // One byte more than allowed tells a file at the limit from one above it.
    MultiGzDecoder::new(&bytes[..])
        .take(most.saturating_add(1))
        .read_to_end(&mut plain)
        .map_err(|e| {
            let at = plain.len();
            Trouble::at(
                name,
                format!("gzip is damaged or cut off after {at} unpacked bytes: {e}"),
            )
        })?;
    if plain.len() as u64 > most {
        return Err(Trouble::at(
            name,
            format!("{packed} bytes of gzip unpack to more than {most}, the most for a file of this size"),
        )
        .help("Unpack it with gunzip if it is what it should be"));
    }
    Ok(plain)
}

/// Reads a trace: its metadata, and each node in the order of the file.
///
/// # Errors
/// If the file is damaged, with the position in the (decompressed) file.
pub fn decode<'a, E: From<Trouble>>(
    file: &str,
    bytes: &'a [u8],
    mut each: impl FnMut(Node<'a>) -> Result<(), E>,
) -> Result<Metadata<'a>, E> {
    let trouble = |fault: Fault| Trouble::at(format!("{file}: byte {}", fault.at), fault.message);
    let mut cursor = Cursor::new(bytes);
    if cursor.is_empty() {
        return Err(Trouble::at(file, "is empty, expected a Chakra trace").into());
    }
    // Files of another format fail here first, hence the hint in the error.
    let first = cursor.part().map_err(trouble)?;
    let found = metadata(first).map_err(|fault| {
        let at = first.at();
        let trouble = trouble(fault);
        Trouble::at(
            trouble.location,
            format!("{} (in the metadata, which begins at byte {at})", trouble.message),
        )
        .help("A Chakra trace begins with its metadata")
    })?;
    let mut number = 0_u64;
    while !cursor.is_empty() {
        let part = cursor.part().map_err(trouble)?;
        let read = node(part).map_err(|fault| {
            let trouble = trouble(fault);
            Trouble::at(
                trouble.location,
                format!("{} (in node number {number} of the file)", trouble.message),
            )
        })?;
        number += 1;
        each(read)?;
    }
    Ok(found)
}

/// Reads each node of a trace, in protobuf or JSON.
///
/// # Errors
/// If the file is damaged, with the position in the (decompressed) file.
pub(super) fn each_node(
    file: &str,
    bytes: &[u8],
    each: &mut dyn FnMut(&Node<'_>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    if json::is_json(bytes) {
        return json::decode(file, bytes, each);
    }
    decode::<Trouble>(file, bytes, |node| each(&node)).map(|_| ())
}

/// Extensions of trace files; the first one that exists counts.
pub const EXTENSIONS: [&str; 6] = ["et", "et.gz", "json", "json.gz", "et.json", "et.json.gz"];

/// Returns the files of a prefix, by rank: `PREFIX.0.et`, `PREFIX.1.et`, ..., or with another of [`EXTENSIONS`].
///
/// # Errors
/// If there is none, or one in the sequence is missing.
pub fn files(prefix: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let shown = prefix.display();
    // A bare name has an empty parent, which cannot be read as a folder.
    let folder = match prefix.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let stem = prefix
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let entries = std::fs::read_dir(folder)
        .map_err(|e| Trouble::at(&shown, format!("its folder cannot be read: {e}")))?;
    let mut found: Vec<(u32, usize, PathBuf)> = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(&stem).and_then(|r| r.strip_prefix('.')) else {
            continue;
        };
        let Some((number, extension)) = rest.split_once('.') else {
            continue;
        };
        let index = EXTENSIONS.iter().position(|known| *known == extension);
        let number = Some(number).filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
        if let (Some(index), Some(number)) = (index, number.and_then(|n| n.parse().ok())) {
            found.push((number, index, prefix.with_file_name(&name)));
        }
    }
    // By rank, then by extension: the first of equal ranks is the preferred one, and stays.
    found.sort();
    if found.is_empty() {
        return Err(Trouble::at(
            shown,
            format!("there is no {stem}.0.et (or .json), {stem}.1.et, ... here"),
        )
        .help("Name the files' common beginning, without the rank and .et"));
    }
    found.dedup_by_key(|(number, ..)| *number);
    for (rank, (number, ..)) in found.iter().enumerate() {
        if *number as usize != rank {
            return Err(Trouble::at(
                shown,
                format!("{stem}.{rank}.et is missing, though there is {stem}.{number}.et"),
            ));
        }
    }
    Ok(found.into_iter().map(|(_, _, path)| path).collect())
}
