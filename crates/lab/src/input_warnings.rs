//! Warnings about the inputs of the runs of one command.

use paceline_scenario::{Resolved, Warning};

/// Warnings about inputs, each once, in the order of the inputs, and notes on the simulators whose configuration files
/// were recognised.
///
/// A setting that has no effect in one run may have one in another: such a warning holds only if every input has it
/// ([`paceline_scenario::WarningKind::is_of_all_runs`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputWarnings {
    found: Vec<Warning>,
    /// Warnings that every input has; `None` before the first input.
    shared: Option<Vec<Warning>>,
    /// Sentences of [`Resolved::read_as`], each once.
    read_as: Vec<String>,
}

impl InputWarnings {
    /// Collects the warnings of all `inputs`.
    pub fn of<'a>(inputs: impl IntoIterator<Item = &'a Resolved>) -> Self {
        let mut all = Self::default();
        for input in inputs {
            all.add(&Self {
                found: input.warnings.clone(),
                shared: Some(input.warnings.clone()),
                read_as: input.read_as().into_iter().collect(),
            });
        }
        all
    }

    /// Adds the warnings of further inputs.
    pub fn add(&mut self, others: &Self) {
        for warning in &others.found {
            if !self.found.contains(warning) {
                self.found.push(warning.clone());
            }
        }
        for line in &others.read_as {
            if !self.read_as.contains(line) {
                self.read_as.push(line.clone());
            }
        }
        match (&mut self.shared, &others.shared) {
            (Some(mine), Some(theirs)) => mine.retain(|warning| theirs.contains(warning)),
            (None, Some(theirs)) => self.shared = Some(theirs.clone()),
            (_, None) => {}
        }
    }

    /// Returns the warnings that every input has, without positions; `None` before the first input.
    pub(crate) fn shared(&self) -> Option<&[Warning]> {
        self.shared.as_deref()
    }

    /// Creates a collection that keeps of an input what one with these [`InputWarnings::shared`] warnings keeps.
    pub(crate) fn of_shared(shared: Option<Vec<Warning>>) -> Self {
        Self {
            shared,
            ..Self::default()
        }
    }

    fn holds(&self, warning: &Warning) -> bool {
        // Positions are not compared: those of another process have none.
        let same =
            |one: &Warning| (one.id, &one.about, &one.text) == (warning.id, &warning.about, &warning.text);
        let shared = |shared: &Vec<Warning>| shared.iter().any(same);
        !warning.id.is_of_all_runs() || self.shared.as_ref().is_none_or(shared)
    }

    /// Keeps only the warnings of an input that hold given the other runs, so that its results list those alone.
    pub fn settle(&self, input: &mut Resolved) {
        input.warnings.retain(|warning| self.holds(warning));
    }

    /// Returns a sentence for each foreign configuration format that inputs were read as.
    pub fn read_as(&self) -> &[String] {
        &self.read_as
    }

    /// Returns the warnings that hold for all inputs together.
    pub fn iter(&self) -> impl Iterator<Item = &Warning> {
        self.found.iter().filter(|warning| self.holds(warning))
    }
}

/// Returns the runs, each with only the warnings that hold for all of them together.
pub(crate) fn settled(mut inputs: Vec<Vec<Resolved>>) -> Vec<Vec<Resolved>> {
    let all = InputWarnings::of(inputs.iter().flatten());
    for input in inputs.iter_mut().flatten() {
        all.settle(input);
    }
    inputs
}
