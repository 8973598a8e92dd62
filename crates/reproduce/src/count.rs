//! Counts of values that meet their criteria, by kind of evidence.

use super::criterion::Evidence;
use super::panel::Record;

/// Count of values of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Values and orderings that meet their criterion.
    pub ok: usize,
    /// All values and orderings that are judged.
    pub judged: usize,
}

impl Count {
    /// Counts verdicts; `None` is not judged.
    pub fn of(verdicts: impl IntoIterator<Item = Option<bool>>) -> Self {
        let mut count = Self::default();
        for verdict in verdicts.into_iter().flatten() {
            count.add(verdict);
        }
        count
    }

    fn add(&mut self, ok: bool) {
        self.judged += 1;
        self.ok += usize::from(ok);
    }

    /// Returns true if there are judged values and all meet their criteria.
    pub const fn is_good(self) -> bool {
        self.judged > 0 && self.ok == self.judged
    }

    /// Returns the count as text: `all 12`, `9 of 12`.
    pub fn text(self) -> String {
        match self {
            Self { judged: 0, .. } => "none judged".to_string(),
            Self { ok, judged } if ok == judged => format!("all {judged}"),
            Self { ok, judged } => format!("{ok} of {judged}"),
        }
    }
}

/// Counts by kind of evidence: only values that a paper printed count as published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Values to be close to a paper's.
    pub published: Count,
    /// Values to be close to those of the authors' simulator.
    pub simulator: Count,
    /// Orderings, bounds and directions.
    pub property: Count,
    /// Printed values that are not judged.
    pub shown: usize,
}

impl Counts {
    /// Counts `records`, leaving out those without a value of ours.
    pub fn of(records: &[Record]) -> Self {
        let mut counts = Self::default();
        for record in records {
            match (record.kind, record.ok) {
                (Evidence::Shown, _) if !record.ours.is_null() => counts.shown += 1,
                (kind, Some(ok)) => counts.add(kind, ok),
                _ => {}
            }
        }
        counts
    }

    fn add(&mut self, kind: Evidence, ok: bool) {
        match kind {
            Evidence::Published => self.published.add(ok),
            Evidence::AuthorsSimulator => self.simulator.add(ok),
            Evidence::Property => self.property.add(ok),
            Evidence::Shown => {}
        }
    }

    /// Returns the count of all judged values, regardless of the evidence.
    pub const fn judged(self) -> Count {
        Count {
            ok: self.published.ok + self.simulator.ok + self.property.ok,
            judged: self.published.judged + self.simulator.judged + self.property.judged,
        }
    }

    /// Describes the kinds that occur: `as published: 9 of 12; properties: all 3; shown: 20`.
    pub fn text(self) -> String {
        let parts: Vec<String> = Evidence::ALL
            .iter()
            .filter_map(|&kind| {
                let text = self.text_of(kind)?;
                Some(format!("{}: {text}", kind.title()))
            })
            .collect();
        match parts.is_empty() {
            true => "nothing run".to_string(),
            false => parts.join("; "),
        }
    }

    /// Returns the count of a kind that is judged.
    pub const fn count_of(self, kind: Evidence) -> Option<Count> {
        match kind {
            Evidence::Published => Some(self.published),
            Evidence::AuthorsSimulator => Some(self.simulator),
            Evidence::Property => Some(self.property),
            Evidence::Shown => None,
        }
    }

    /// Returns the count of a kind as text; `None` if there are no such values.
    pub fn text_of(self, kind: Evidence) -> Option<String> {
        match self.count_of(kind) {
            Some(count) => (count.judged > 0).then(|| count.text()),
            None => (self.shown > 0).then(|| self.shown.to_string()),
        }
    }
}
