//! Parsed trace, and helpers that its readers share.

use std::path::Path;
use std::sync::Arc;

use paceline_traces::chakra::System;
use paceline_traces::model::Plan;
use paceline_traces::program::Program;
use paceline_traces::trouble::Trouble;

use crate::diagnostics::{Location, Problem};

/// Parsed trace with its format.
pub(in crate::resolve::workload) struct Trace {
    pub(super) program: Arc<dyn Program>,
    pub(super) names: Names,
    pub(super) format: Format,
    pub(super) network: Network,
    pub(super) location: Location,
    /// ASTRA-sim's system file, if the job names one.
    pub(super) system: Option<System>,
    /// Training of a model, if the job is one.
    pub(super) plan: Option<Arc<Plan>>,
}

/// Model that carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    Packets,
    LogGops,
    Chunks,
}

impl Network {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::LogGops => "loggops",
            Self::Chunks => "chunks",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Goal,
    Chakra,
    SimAi,
    Model,
}

impl Format {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Chakra => "chakra",
            Self::SimAi => "simai",
            Self::Model => "model",
        }
    }
}

impl Trace {
    pub(in crate::resolve::workload) fn ranks(&self) -> u32 {
        self.program.ranks()
    }

    /// Renames operations after the files in the run's folder, so that results do not depend on where the files were
    /// opened.
    pub(super) fn rename(&mut self) {
        let names = &self.names;
        if names.opened.is_empty() {
            return;
        }
        let program = Arc::get_mut(&mut self.program).expect("nobody carries it out yet");
        program.rename(&|file| match file.strip_prefix(names.opened.as_str()) {
            Some(rest) => format!("{}{rest}", names.shown()),
            None => file.to_string(),
        });
    }
}

/// File names of a trace.
pub(super) struct Names {
    /// Path as opened: the whole path, or the common prefix of the ranks' files. Empty if there are no files.
    pub(super) opened: String,
    /// Path in the resolved scenario.
    pub(super) kept: String,
    /// True if each rank has its own file.
    pub(super) by_rank: bool,
}

impl Names {
    /// Returns the name of the files in results.
    fn shown(&self) -> String {
        let name = Path::new(&self.kept).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Replaces opened paths in a message by the names in results.
    pub(super) fn in_text(&self, text: &str) -> String {
        if self.opened.is_empty() {
            return text.to_string();
        }
        let (mut said, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once(self.opened.as_str()) {
            said.push_str(before);
            // The path may be a part of another one, so only whole words are replaced.
            let is_word = said.is_empty() || said.ends_with([' ', '(', '`']);
            let is_file = !self.by_rank
                || after
                    .strip_prefix('.')
                    .is_some_and(|rank| rank.starts_with(|c: char| c.is_ascii_digit()));
            match is_word && is_file {
                true => said.push_str(&self.shown()),
                false => said.push_str(&self.opened),
            }
            rest = after;
        }
        said + rest
    }
}

pub(super) fn problem(trouble: Trouble, location: &Location) -> Problem {
    let problem = Problem::new(trouble.to_string()).see(location, "the trace is named here");
    match trouble.help {
        Some(help) => problem.help(help),
        None => problem,
    }
}
