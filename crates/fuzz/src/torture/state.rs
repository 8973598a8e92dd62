//! Content of folders: results of commands, and files that must not change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

/// Content of the user's files.
pub(crate) const PRECIOUS: &str = "precious\n";

/// Fields of results that depend on the machine.
const OF_MACHINE: [&str; 4] = ["wall_s", "cpu_s", "packet_hops_per_s", "peak_rss_bytes"];

/// Files by their paths within a folder, or a single file with the empty path. The content is `None` if it differs
/// between runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Content(BTreeMap<PathBuf, Option<Vec<u8>>>);

impl Content {
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let mut all = BTreeMap::new();
        let mut open = vec![path.to_path_buf()];
        while let Some(next) = open.pop() {
            if next.is_dir() {
                for entry in fs::read_dir(&next)? {
                    open.push(entry?.path());
                }
                continue;
            }
            let mut bytes = fs::read(&next)?;
            let is_json = next.extension().is_some_and(|ending| ending == "json");
            if let Some(mut value) = is_json
                .then(|| serde_json::from_slice::<Value>(&bytes).ok())
                .flatten()
            {
                remove_machine(&mut value);
                bytes = serde_json::to_vec(&value)?;
            }
            all.insert(next.strip_prefix(path)?.to_path_buf(), Some(bytes));
        }
        Ok(Self(all))
    }

    /// Returns the content that is the same in both.
    pub(crate) fn common(mut self, other: &Self) -> Self {
        for (name, content) in &mut self.0 {
            if other.0.get(name) != Some(content) {
                *content = None;
            }
        }
        self
    }

    /// Describes a difference to another content, if there is one.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let is_lock = |name: &Path| {
            let name = name.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(".lock")
        };
        let lacking = self
            .0
            .keys()
            .find(|name| !is_lock(name) && !other.0.contains_key(*name));
        if let Some(name) = lacking {
            return Some(format!("`{}` is missing", name.display()));
        }
        let more = other
            .0
            .keys()
            .find(|name| !is_lock(name) && !self.0.contains_key(*name));
        if let Some(name) = more {
            return Some(format!("`{}` is there besides", name.display()));
        }
        let differs = |(name, content): &(&PathBuf, &Option<Vec<u8>>)| {
            content.is_some() && !is_lock(name) && other.0.get(*name) != Some(*content)
        };
        let (name, _) = self.0.iter().find(differs)?;
        Some(format!("`{}` has other bytes", name.display()))
    }

    /// Returns true if it is marked as partial.
    pub(crate) fn is_partial(&self) -> bool {
        self.0.iter().any(|(name, content)| {
            let name = name.file_name().unwrap_or_default();
            let text = || String::from_utf8_lossy(content.as_deref().unwrap_or_default()).into_owned();
            name == "summary.json" && text().contains("\"status\":\"partial\"")
        })
    }
}

fn remove_machine(value: &mut Value) {
    match value {
        Value::Object(object) => {
            OF_MACHINE.iter().for_each(|key| drop(object.remove(*key)));
            object.values_mut().for_each(remove_machine);
        }
        Value::Array(list) => list.iter_mut().for_each(remove_machine),
        _ => {}
    }
}

/// Creates files of a user: plain and read-only files, links to files, folders and missing targets, odd names, and
/// names like those of unfinished outputs.
pub(crate) fn canary(folder: &Path) -> Result<()> {
    let own = folder.join("canary");
    fs::create_dir_all(own.join("sub"))?;
    for name in [
        "a",
        "sub/summary.json",
        "new\nline",
        ".out.partial",
        "out.part",
        "read-only",
    ] {
        fs::write(own.join(name), PRECIOUS)?;
    }
    for name in ["out-mine", ".outer.partial-1-0", "out.txt.part"] {
        fs::write(folder.join(name), PRECIOUS)?;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        symlink("a", own.join("link"))?;
        symlink("sub", own.join("link-to-folder"))?;
        symlink("nowhere", own.join("dangling"))?;
        fs::set_permissions(own.join("read-only"), fs::Permissions::from_mode(0o400))?;
    }
    Ok(())
}

/// Copies a folder, including its links as links.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (source, target) = (
            entry.as_ref().map(fs::DirEntry::path),
            entry.as_ref().map(fs::DirEntry::file_name),
        );
        let (Ok(source), Ok(name)) = (source, target) else {
            continue;
        };
        let target = to.join(name);
        let kind = fs::symlink_metadata(&source)?.file_type();
        if kind.is_dir() {
            copy(&source, &target)?;
        } else if kind.is_symlink() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

/// Returns the content of a folder except for commands' outputs, with types, permissions, contents and targets of
/// links.
pub(crate) fn untouchable(folder: &Path, out: &str) -> Result<BTreeMap<PathBuf, String>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            let name = path.strip_prefix(folder)?.to_path_buf();
            if next == folder && is_made(&name.to_string_lossy(), out) {
                continue;
            }
            let about = fs::symlink_metadata(&path)?;
            #[cfg(unix)]
            let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions());
            #[cfg(not(unix))]
            let mode = about.permissions().readonly();
            let what = if about.is_dir() {
                open.push(path);
                String::new()
            } else if about.is_symlink() {
                fs::read_link(&path)?.display().to_string()
            } else {
                format!("{:?}", fs::read(&path)?)
            };
            all.insert(name, format!("{mode:?} {what}"));
        }
    }
    Ok(all)
}

/// Returns true for the name of an output, or of its substitute if that name is taken (`out-2`).
pub(crate) fn is_made(name: &str, out: &str) -> bool {
    let next = name.strip_prefix(out).and_then(|rest| rest.strip_prefix('-'));
    name == out || next.is_some_and(|number| number.parse::<u32>().is_ok()) || is_hidden(name, out)
}

/// Returns true for the name of an unfinished output.
pub(crate) fn is_hidden(name: &str, out: &str) -> bool {
    let rest = name.strip_prefix('.').and_then(|rest| rest.strip_prefix(out));
    rest.is_some_and(|rest| rest.starts_with(".partial-") || rest.starts_with(".old-"))
}

/// Returns the unfinished outputs in a folder.
pub(crate) fn hidden(folder: &Path, out: &str) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if is_hidden(&name, out) {
            names.push(name);
        }
    }
    Ok(names)
}
