//! What is odd about inputs, said before they are run.

use paceline_scenario::Resolved;

/// What is odd about the inputs of one command, each thing once.
#[derive(Clone, Debug, Default)]
pub struct Oddities {
    warnings: Vec<String>,
    /// Blocks of schemes under which none of them runs; `None` before the first input.
    unused: Option<Vec<String>>,
}

impl Oddities {
    /// Of all `inputs`.
    pub fn of<'a>(inputs: impl IntoIterator<Item = &'a Resolved>) -> Self {
        let mut all = Self::default();
        for input in inputs {
            all.add(&Self {
                warnings: input.warnings.clone(),
                unused: Some(input.unused.clone()),
            });
        }
        all
    }

    /// Those of further inputs.
    pub fn add(&mut self, others: &Self) {
        for warning in &others.warnings {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
        // A scheme's block is of use if any of the runs is under that scheme.
        match (&mut self.unused, &others.unused) {
            (Some(mine), Some(theirs)) => mine.retain(|text| theirs.contains(text)),
            (None, Some(theirs)) => self.unused = Some(theirs.clone()),
            (_, None) => {}
        }
    }

    /// A line for each.
    pub fn into_lines(self) -> Vec<String> {
        let unused = self.unused.into_iter().flatten();
        self.warnings.into_iter().chain(unused).collect()
    }
}
