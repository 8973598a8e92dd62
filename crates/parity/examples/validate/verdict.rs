//! Result of a validation: its page, and its faults.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A page, and everything in a reference that differs or could not be compared.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// Text of the page, in Markdown.
    pub(crate) page: String,
    /// Differences, and files without a comparison. Each is a failure.
    pub(crate) faults: Vec<String>,
    /// Compared files, by their paths in the reference's folder.
    seen: BTreeSet<String>,
}

impl Verdict {
    /// Creates a verdict with the first part of the page.
    pub(crate) fn new(page: impl Into<String>) -> Self {
        Self {
            page: page.into(),
            faults: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Marks a file as compared.
    pub(crate) fn saw(&mut self, file: impl Into<String>) {
        self.seen.insert(file.into());
    }

    /// Adds a fault, which makes the exit status 1.
    pub(crate) fn fault(&mut self, fault: impl Into<String>) {
        self.faults.push(fault.into());
    }

    /// Adds a fault for each file in `root` that was not compared and is not `known` to have nothing to compare, and
    /// for a folder in which nothing was compared.
    pub(crate) fn look_for_unknown(&mut self, root: &Path, known: impl Fn(&str) -> bool) {
        for file in files(root, "") {
            if !self.seen.contains(&file) && !known(&file) {
                self.fault(format!("{file}: nothing here is compared with it"));
            }
        }
        if self.seen.is_empty() {
            self.fault(format!("{}: nothing was compared", root.display()));
        }
    }

    /// Returns the exit status: 0 if there are no faults.
    pub(crate) fn status(&self) -> u8 {
        u8::from(!self.faults.is_empty())
    }

    /// Returns the page, followed by the faults.
    pub(crate) fn text(&self) -> String {
        let faults = self.faults.iter().map(|fault| format!("* {fault}\n"));
        let faults: String = faults.collect();
        match faults.is_empty() {
            true => self.page.clone(),
            false => format!("{}\n**Not the same:**\n\n{faults}", self.page),
        }
    }
}

/// Lists all files below a folder by their relative paths, sorted.
fn files(root: &Path, below: &str) -> Vec<String> {
    let entries = fs::read_dir(root.join(below)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut found = Vec::new();
    for name in names {
        let path = if below.is_empty() {
            name
        } else {
            format!("{below}/{name}")
        };
        match root.join(&path).is_dir() {
            true => found.extend(files(root, &path)),
            false => found.push(path),
        }
    }
    found
}
