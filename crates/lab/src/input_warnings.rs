//! Warnings about the inputs of the runs of one command.

use paceline_scenario::{Resolved, Warning};

/// Warnings about inputs, each once, in the order of the inputs, and whose configurations they were taken for.
///
/// A setting that does nothing in one run may be there for another: such a warning holds only if every input has it
/// ([`paceline_scenario::WarningKind::is_of_all_runs`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InputWarnings {
    found: Vec<Warning>,
    /// Those of them that every input has; `None` before the first input.
    shared: Option<Vec<Warning>>,
    /// [`Resolved::read_as`].
    read_as: Vec<String>,
}

impl InputWarnings {
    /// Those of all `inputs`.
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

    /// Adds those of further inputs.
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

    fn holds(&self, warning: &Warning) -> bool {
        let shared = |shared: &Vec<Warning>| shared.contains(warning);
        !warning.id.is_of_all_runs() || self.shared.as_ref().is_none_or(shared)
    }

    /// Leaves an input the warnings that hold alongside the other runs, so that its results have those alone.
    pub fn settle(&self, input: &mut Resolved) {
        input.warnings.retain(|warning| self.holds(warning));
    }

    /// Whose configurations the inputs were taken for, a sentence each.
    pub fn read_as(&self) -> &[String] {
        &self.read_as
    }

    /// Those that hold.
    pub fn iter(&self) -> impl Iterator<Item = &Warning> {
        self.found.iter().filter(|warning| self.holds(warning))
    }
}

/// The same runs, each with the warnings that hold for all of them together.
pub(crate) fn settled(mut inputs: Vec<Vec<Resolved>>) -> Vec<Vec<Resolved>> {
    let all = InputWarnings::of(inputs.iter().flatten());
    for input in inputs.iter_mut().flatten() {
        all.settle(input);
    }
    inputs
}
