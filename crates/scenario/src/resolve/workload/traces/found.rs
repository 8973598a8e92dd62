//! A trace that has been read, and what its readers have in common.

use std::sync::Arc;

use paceline_traces::chakra::System;
use paceline_traces::program::Program;
use paceline_traces::trouble::Trouble;
use toml::Spanned;

use crate::diagnostics::{Place, Problem, suggestion};
use crate::resolve::Cx;

/// A trace that has been read.
pub(in crate::resolve::workload) struct Trace {
    pub(super) program: Arc<dyn Program>,
    pub(super) format: Format,
    pub(super) network: Network,
    pub(super) place: Place,
    /// ASTRA-sim's system file, if the job names one.
    pub(super) system: Option<System>,
}

/// What carries messages.
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
}

impl Format {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Goal => "goal",
            Self::Chakra => "chakra",
            Self::SimAi => "simai",
        }
    }
}

impl Trace {
    pub(in crate::resolve::workload) fn ranks(&self) -> u32 {
        self.program.ranks()
    }
}

pub(super) fn problem(trouble: Trouble, place: &Place) -> Problem {
    let problem = Problem::new(trouble.to_string()).see(place, "the trace is named here");
    match trouble.help {
        Some(help) => problem.help(help),
        None => problem,
    }
}

/// A value of a few.
pub(super) fn choice<T: Clone>(
    cx: &Cx<'_>,
    written: Spanned<String>,
    known: &[(&str, T)],
) -> Result<T, Problem> {
    let found = known.iter().find(|(name, _)| name == written.get_ref());
    found.map(|(_, value)| value.clone()).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|&(name, _)| name).collect();
        Problem::new(format!("unknown value `{}`", written.get_ref()))
            .at(&cx.texts.of_value(&written))
            .help(suggestion(written.get_ref(), names.iter().copied()))
    })
}
