//! What every step of resolving may ask, and what it adds to.

use std::ops::Range;

use paceline_fabric::spec::HostChange;
use paceline_kernel::Time;
use toml::Spanned;

use crate::diagnostics::{Place, Problem, Source};
use crate::document::{Places, Texts};
use crate::files::Files;
use crate::ns3::flows::Columns;
use crate::resolve::inputs::Inputs;
use crate::schema::{Fidelity, Profile};
use crate::warning::{Warning, WarningKind};

/// What every step may ask.
pub struct Cx<'a> {
    pub(super) texts: &'a Texts,
    pub(super) files: &'a Files,
    pub(super) places: &'a Places,
    pub(super) fidelity: Fidelity,
    pub(super) seed: u64,
    pub(super) stop: Time,
    /// Whether flows come as a stream where they can.
    pub(super) streams: bool,
    /// Whether hosts can have persistent connections: [`super::keeps_connections`].
    pub(super) hosts_keep_connections: bool,
    /// Whether the input was written for ns-3.
    pub(super) ns3_source: bool,
    pub(super) warnings: Vec<Warning>,
    /// Files that the resolved scenario refers to: name and content.
    pub(super) kept: Vec<(String, Vec<u8>)>,
    pub(super) columns: Option<Columns>,
    /// Files of networks and flows that have been read.
    pub(super) inputs: Inputs,
    /// When the senders of flows stop, in the order of their files, where these say so.
    pub(super) stops: Vec<Time>,
    /// Whether operations of traces are recorded.
    pub(super) operations: bool,
    /// The iteration of jobs by traces whose critical path is kept; nothing for the slowest.
    pub(super) path_of: Option<u32>,
    /// Hosts that are slow for a time.
    pub(super) slow_hosts: Vec<HostChange>,
}

/// What simulators that are not built in ask.
impl Cx<'_> {
    /// The end of the run.
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// The seed of all random streams.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Where a value is written.
    pub fn place<T>(&self, value: &Spanned<T>) -> Place {
        self.texts.of_value(value)
    }

    /// Where this part of the scenario's texts is.
    pub fn place_at(&self, span: Range<usize>) -> Place {
        self.texts.at(span)
    }

    /// The end of the scenario.
    pub fn end(&self) -> Place {
        self.texts.main().end()
    }

    /// The paths of all keys that are written, and where.
    pub fn written(&self) -> &[(String, Range<usize>)] {
        self.places
    }

    /// Reads a file that is named there; `what` is what errors call it.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(&self, path: &Spanned<String>, what: &str) -> Result<Source, Problem> {
        self.files.read(path.get_ref(), what, &self.place(path))
    }
}

impl Cx<'_> {
    /// What the fidelity decides.
    pub(super) fn profile(&self) -> &'static Profile {
        self.fidelity.profile()
    }

    /// Warns of something at `place`, where it has one.
    pub fn warn<'a>(
        &mut self,
        kind: WarningKind,
        place: impl Into<Option<&'a Place>>,
        text: impl Into<String>,
    ) {
        self.warnings.push(Warning::new(kind, text).at(place));
    }

    /// Where a setting is written.
    pub(super) fn place_of(&self, path: &str) -> Option<Range<usize>> {
        let known = self.places.iter().find(|(known, _)| known == path);
        known.map(|(_, span)| span.clone())
    }

    /// Says that `what`, written there, does nothing, and why.
    pub(super) fn idle(&mut self, span: Option<Range<usize>>, what: &str, why: &str) {
        let place = span.map(|span| self.texts.at(span));
        let text = format!("{what} has no effect: {why}");
        self.warn(WarningKind::UnusedSetting, place.as_ref(), text);
    }

    /// Where the block of a scheme or alias has a parameter, if it does.
    pub(super) fn parameter(&self, block: &str, key: &str) -> Option<Place> {
        let span = self.place_of(&format!("cc.{block}.{key}"));
        span.map(|span| self.texts.at(span))
    }

    /// Keeps a copy of a file for the resolved scenario; gives the copy's name.
    pub fn keep(&mut self, stem: &str, extension: &str, source: &Source) -> String {
        let stem = self.keep_all(stem, vec![(extension, source.text().as_bytes().to_vec())]);
        format!("{stem}.{extension}")
    }

    /// The same of files that differ in their extensions; gives what their names have in common: `stem`, or with a
    /// number where others have that.
    pub(super) fn keep_all(&mut self, stem: &str, files: Vec<(&str, Vec<u8>)>) -> String {
        let numbered = |i: u32| match i {
            1 => stem.to_string(),
            i => format!("{stem}-{i}"),
        };
        let name = |stem: &str, extension: &str| format!("{stem}.{extension}");
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
