//! State shared by all steps of resolving.

use std::ops::Range;

use paceline_fabric::spec::{HostChange, NodeId};
use paceline_kernel::Time;
use paceline_kernel::sorted::SortedSet;
use toml::Spanned;

use crate::diagnostics::{Location, Problem, Source};
use crate::document::{Places, Texts};
use crate::files::Files;
use crate::names::NodeNames;
use crate::ns3::flows::Columns;
use crate::resolve::inputs::Inputs;
use crate::schema::{Fidelity, Profile};
use crate::warning::{Warning, WarningKind};

/// Inputs of every step, and the results that steps add to.
pub struct Cx<'a> {
    pub(super) texts: &'a Texts,
    pub(super) files: &'a Files,
    pub(super) locations: &'a Places,
    pub(super) fidelity: Fidelity,
    pub(super) seed: u64,
    pub(super) stop: Time,
    /// True if flows are streamed where possible.
    pub(super) streams: bool,
    /// True if hosts can have persistent connections: [`super::keeps_connections`].
    pub(super) hosts_keep_connections: bool,
    /// True if the input was written for ns-3.
    pub(super) ns3_source: bool,
    pub(super) warnings: Vec<Warning>,
    /// Files that the resolved scenario refers to: name and content.
    pub(super) kept: Vec<(String, Vec<u8>)>,
    pub(super) columns: Option<Columns>,
    /// Files of networks and flows that were read in advance.
    pub(super) inputs: Inputs,
    /// Stop times of the flows' senders in file order; empty unless the files have such times.
    pub(super) stops: Vec<Time>,
    /// True if operations of traces are recorded.
    pub(super) operations: bool,
    /// Iteration of trace-driven jobs whose critical path is kept; `None` for the slowest.
    pub(super) path_of: Option<u32>,
    /// Hosts that are slow for a time.
    pub(super) slow_hosts: Vec<HostChange>,
    /// Hosts of traces that name their NICs.
    pub(super) hosts_by_nic: SortedSet<NodeId>,
    /// Names of nodes; none until the network is resolved.
    pub(super) names: NodeNames,
}

/// Interface for simulators that are not built in.
impl Cx<'_> {
    /// Returns the end of the run.
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// Returns the seed of all random streams.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the position of a value.
    pub fn place<T>(&self, value: &Spanned<T>) -> Location {
        self.texts.of_value(value)
    }

    /// Returns the position of a span of the scenario's texts.
    pub fn place_at(&self, span: Range<usize>) -> Location {
        self.texts.at(span)
    }

    /// Returns the end of the scenario's text.
    pub fn end(&self) -> Location {
        self.texts.main().end()
    }

    /// Returns the paths of all keys that the input sets, with their positions.
    pub fn written(&self) -> &[(String, Range<usize>)] {
        self.locations
    }

    /// Reads a file that the scenario names; errors call it `what`.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, path: &Spanned<String>, what: &str) -> Result<Source, Problem> {
        self.files.read(path.get_ref(), what, &self.place(path))
    }
}

impl Cx<'_> {
    /// Returns the settings that the fidelity determines.
    pub(super) fn profile(&self) -> &'static Profile {
        self.fidelity.profile()
    }

    /// Adds a warning, with a position if there is one.
    pub fn warn<'a>(
        &mut self,
        kind: WarningKind,
        location: impl Into<Option<&'a Location>>,
        text: impl Into<String>,
    ) {
        self.warnings.push(Warning::new(kind, text).at(location));
    }

    /// Returns the position of a setting, if the input sets it.
    pub(super) fn place_of(&self, path: &str) -> Option<Range<usize>> {
        let known = self.locations.iter().find(|(known, _)| known == path);
        known.map(|(_, span)| span.clone())
    }

    /// Warns that the setting `what` has no effect, and why.
    pub(super) fn idle(&mut self, span: Option<Range<usize>>, what: &str, why: &str) {
        let location = span.map(|span| self.texts.at(span));
        let text = format!("{what} has no effect: {why}");
        self.warn(WarningKind::UnusedSetting, location.as_ref(), text);
    }

    /// Returns the position of a parameter in the block of a scheme or alias, if it is set there.
    pub(super) fn parameter(&self, block: &str, key: &str) -> Option<Location> {
        let span = self.place_of(&format!("cc.{block}.{key}"));
        span.map(|span| self.texts.at(span))
    }

    /// Stores a copy of a file for the resolved scenario; returns the copy's name.
    pub fn keep(&mut self, stem: &str, extension: &str, source: &Source) -> String {
        let stem = self.keep_all(stem, vec![(extension, source.text().as_bytes().to_vec())]);
        format!("{stem}.{extension}")
    }

    /// Stores copies of files that differ in their extensions; returns their common stem: `stem`, with a number if
    /// other files have that name.
    pub(super) fn keep_all(&mut self, stem: &str, files: Vec<(&str, Vec<u8>)>) -> String {
        let numbered = |i: u32| match i {
            1 => stem.to_string(),
            i => format!("{stem}-{i}"),
        };
        let name = |stem: &str, extension: &str| format!("{stem}.{extension}");
        // Equal contents may share a name: a file that is named twice is kept once.
        let is_free = |stem: &String| {
            files.iter().all(|(extension, content)| {
                let name = name(stem, extension);
                let known = self.kept.iter().find(|(known, _)| *known == name);
                known.is_none_or(|(_, other)| other == content)
            })
        };
        let stem = (1..).map(numbered).find(is_free).unwrap_or_default();
        for (extension, content) in files {
            let name = name(&stem, extension);
            if self.kept.iter().all(|(known, _)| *known != name) {
                self.kept.push((name, content));
            }
        }
        stem
    }
}
