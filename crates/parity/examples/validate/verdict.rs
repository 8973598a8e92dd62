//! What a validation came to: its page, and what is wrong.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A page, and what of a reference is not the same here, or could not be compared.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// The page, in Markdown.
    pub(crate) page: String,
    /// What differs or is not known: each is a failure.
    pub(crate) faults: Vec<String>,
    /// Files that were compared, by their paths in the reference's folder.
    seen: BTreeSet<String>,
}

impl Verdict {
    /// Nothing but the head of the page yet.
    pub(crate) fn new(page: impl Into<String>) -> Self {
        Self {
            page: page.into(),
            faults: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Takes down that a file was compared.
    pub(crate) fn saw(&mut self, file: impl Into<String>) {
        self.seen.insert(file.into());
    }

    /// Takes down what is wrong.
    pub(crate) fn fault(&mut self, fault: impl Into<String>) {
        self.faults.push(fault.into());
    }

    /// Looks for what nothing was compared with: each file of `root` that is neither taken down as seen nor `known` to
    /// say nothing more is a fault, and so is a folder in which nothing was compared.
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

    /// The exit status: 0 if everything is the same.
    pub(crate) fn status(&self) -> u8 {
        u8::from(!self.faults.is_empty())
    }

    /// The page, and what is wrong below it.
    pub(crate) fn text(&self) -> String {
        let faults = self.faults.iter().map(|fault| format!("* {fault}\n"));
        let faults: String = faults.collect();
        match faults.is_empty() {
            true => self.page.clone(),
            false => format!("{}\n**Not the same:**\n\n{faults}", self.page),
        }
    }
}

/// All files below a folder, by their paths in it, in order.
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
