//! Labels of flows in results.

use paceline_kernel::sorted::{SortedMap, SortedSet};

use crate::diagnostics::Problem;

/// Labels of a run's flows, by number.
#[derive(Default)]
pub(super) struct Labels {
    pub(super) names: Vec<String>,
    known: SortedMap<String, u16>,
    /// True while the labels that are asked for are those of flows with one path, and those that were.
    pub(super) keeps_to_path: bool,
    pub(super) one_path: SortedSet<u16>,
}

/// Upper limit of labels, because flows store 16-bit numbers.
const MOST_LABELS: usize = 1 << 16;

impl Labels {
    /// Returns the number of a label. Labels beyond [`MOST_LABELS`], which [`Labels::check`] rejects, get arbitrary
    /// numbers.
    pub(super) fn index(&mut self, name: &str) -> u16 {
        let known = self.known.get(name).copied();
        let index = known.unwrap_or_else(|| {
            let index = self.names.len() as u16;
            self.names.push(name.to_string());
            self.known.insert(name.to_string(), index);
            index
        });
        if self.keeps_to_path {
            self.one_path.insert(index);
        }
        index
    }

    /// Checks that every label has a distinct number.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let count = self.names.len();
        if count <= MOST_LABELS {
            return Ok(());
        }
        let problem = Problem::new(format!("{count} labels: expected at most {MOST_LABELS}"));
        Err(problem.help("results are grouped by label: give flows of one kind the same"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels have distinct numbers up to the limit.
    #[test]
    fn labels_that_flows_cannot_name_are_refused() {
        let mut labels = Labels::default();
        for number in 0..MOST_LABELS {
            assert_eq!(usize::from(labels.index(&format!("l{number}"))), number);
        }
        assert_eq!(labels.index("l7"), 7);
        assert!(labels.check().is_ok());
        labels.index("one more");
        let problem = labels.check().unwrap_err().to_string();
        assert!(
            problem.contains("65537 labels: expected at most 65536"),
            "{problem}"
        );
    }
}
