//! Inputs of htsim: connection matrices (`.cm`) and fat trees (`.topo`).
//!
//! Their first words distinguish them, so a scenario names them like other files of flows and networks.

pub(crate) mod matrix;
pub(crate) mod topology;

use crate::diagnostics::{Location, Source};

/// Words of a line, each with its position.
struct Words<'a> {
    source: &'a Source,
    start: usize,
    text: &'a str,
}

impl<'a> Words<'a> {
    /// Returns the lines that are neither empty nor comments.
    fn of_lines(source: &'a Source) -> impl Iterator<Item = Self> {
        let mut start = 0;
        source.text().split_inclusive('\n').filter_map(move |line| {
            let own = start;
            start += line.len();
            let words = Self {
                source,
                start: own,
                text: line,
            };
            (!matches!(line.trim_start().chars().next(), None | Some('#'))).then_some(words)
        })
    }

    fn iter(&self) -> impl Iterator<Item = (&'a str, Location)> {
        let (start, text, source) = (self.start, self.text, self.source);
        text.split_whitespace().map(move |word| {
            let offset = word.as_ptr() as usize - text.as_ptr() as usize;
            (word, source.at(start + offset..start + offset + word.len()))
        })
    }

    /// Returns the position of the whole line.
    fn place(&self) -> Location {
        let before = self.text.len() - self.text.trim_start().len();
        self.source
            .at(self.start + before..self.start + before + self.text.trim().len())
    }

    fn first(&self) -> String {
        self.text
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_lowercase()
    }
}

/// Returns the first words of the first `most` lines of a text.
fn headings(source: &Source, most: usize) -> Vec<String> {
    Words::of_lines(source)
        .take(most)
        .map(|line| line.first())
        .collect()
}

/// Returns true if a text is a connection matrix: its header counts nodes and connections.
pub(crate) fn is_matrix(source: &Source) -> bool {
    let headings = headings(source, 2);
    headings.iter().any(|word| word == "nodes") && headings.iter().any(|word| word == "connections")
}

/// Returns true if a text is a fat tree: its header counts nodes, and then tiers or the hosts of a pod.
pub(crate) fn is_topology(source: &Source) -> bool {
    let headings = headings(source, 3);
    let has = |wanted: &str| headings.iter().any(|word| word == wanted);
    has("nodes") && (has("tiers") || has("podsize"))
}
