//! Digests in files of finished work, by which edited files are detected.

use std::io::{self, Write as _};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::limited::Out;

/// Key of the digest.
const KEY: &str = "digest";
/// Keys that the digest leaves out, so that the same work has the same digest on every machine.
const MACHINE: [&str; 4] = ["wall_s", "cpu_s", "packet_hops_per_s", "peak_rss_bytes"];

/// Reason for rejecting the content of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Unsealed {
    /// The content does not match its digest.
    Edited,
    /// The content cannot be parsed; the text is the parser's.
    Damaged(String),
}

/// Writes `value`, a structure, as JSON with its digest.
///
/// # Errors
/// It cannot be written.
pub fn sealed(value: &impl Serialize) -> impl FnOnce(&mut Out) -> io::Result<()> {
    move |out| {
        let value = serde_json::to_value(value)?;
        let digest = Value::String(digest_of(&value));
        let fields = value.as_object().cloned().unwrap_or_default();
        let first = std::iter::once((KEY.to_string(), digest));
        let all: serde_json::Map<String, Value> = first.chain(fields).collect();
        serde_json::to_writer_pretty(&mut *out, &all)?;
        writeln!(out)
    }
}

/// Reads a value written by [`sealed`]. A file without a digest is accepted: an earlier version or a user wrote it.
///
/// # Errors
/// It was edited, or is damaged.
pub fn unsealed<T: DeserializeOwned>(text: &str) -> Result<T, Unsealed> {
    let damaged = |error: serde_json::Error| Unsealed::Damaged(error.to_string());
    let mut value: Value = serde_json::from_str(text).map_err(damaged)?;
    let digest = value.as_object_mut().and_then(|fields| fields.shift_remove(KEY));
    if digest.is_some_and(|digest| digest != digest_of(&value)) {
        return Err(Unsealed::Edited);
    }
    // Parsed again from the text, since these errors have positions.
    serde_json::from_str(text).map_err(damaged)
}

/// Computes the digest of a value: enough hexadecimal digits that an accidental edit does not preserve it.
fn digest_of(value: &Value) -> String {
    let mut value = value.clone();
    remove_machine(&mut value);
    let hash = Sha256::digest(value.to_string().as_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn remove_machine(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !MACHINE.contains(&key.as_str()));
            fields.values_mut().for_each(remove_machine);
        }
        Value::Array(list) => list.iter_mut().for_each(remove_machine),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Row {
        name: String,
        value: f64,
        more: Option<u64>,
    }

    #[test]
    fn an_edit_is_seen() {
        let row = Row {
            name: "a".into(),
            value: 0.1 + 0.2,
            more: Some(u64::MAX),
        };
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("row.json");
        crate::files::write_file(&path, sealed(&row)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(unsealed::<Row>(&text), Ok(row));
        // White space does not matter.
        assert!(unsealed::<Row>(&text.replace('\n', "")).is_ok());
        let edited = text.replace("0.30000000000000004", "0.3");
        assert_ne!(edited, text);
        assert_eq!(unsealed::<Row>(&edited), Err(Unsealed::Edited));
        let lines = text.lines().filter(|line| !line.contains(KEY));
        assert!(unsealed::<Row>(&lines.collect::<String>()).is_ok());
        assert!(matches!(unsealed::<Row>("{"), Err(Unsealed::Damaged(_))));
    }
}
