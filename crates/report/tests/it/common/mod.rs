//! Helpers for tests of folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns every file under `folder` by its path; summaries without values that depend on the machine.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let mut bytes = fs::read(&path).unwrap();
            if path.extension().is_some_and(|extension| extension == "json") {
                let text = String::from_utf8(bytes).unwrap();
                let machine = ["wall_s", "cpu_s", "packet_hops_per_s", "peak_rss_bytes"];
                let kept = text
                    .lines()
                    .filter(|line| !machine.iter().any(|key| line.contains(&format!("\"{key}\""))));
                bytes = kept.collect::<Vec<_>>().join("\n").into_bytes();
            }
            found.insert(path.strip_prefix(folder).unwrap().to_path_buf(), bytes);
        }
    }
    found
}
