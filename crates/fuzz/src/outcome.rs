//! Outcomes of inputs, and how often each occurred in a run of a target.

use std::collections::BTreeMap;
use std::fmt;

/// Outcome of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Input that was read and used.
    Ok,
    /// Rejection with a message.
    Refused,
    /// Panic of the reader, or a rejection without a message.
    Panic,
    /// Memory use above the limit.
    Memory,
    /// Time above the limit.
    Slow,
    /// Other death of the process.
    Crash,
}

impl Outcome {
    pub(crate) const ALL: [Self; 6] = [
        Self::Ok,
        Self::Refused,
        Self::Panic,
        Self::Memory,
        Self::Slow,
        Self::Crash,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Refused => "refused",
            Self::Panic => "panic",
            Self::Memory => "memory",
            Self::Slow => "slow",
            Self::Crash => "crash",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// Returns true if a reader may have this outcome.
    pub(crate) const fn is_sound(self) -> bool {
        matches!(self, Self::Ok | Self::Refused)
    }
}

/// Outcomes of a target's inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) outcomes: BTreeMap<Outcome, u64>,
    /// Number of inputs that passed their readers and were executed.
    pub(crate) ran: u64,
    /// Reasons for rejections, with their counts.
    pub(crate) refusals: BTreeMap<String, u64>,
    /// Faults by message: count, and first seed.
    pub(crate) faults: BTreeMap<(Outcome, String), (u64, u64)>,
}

impl Counts {
    /// Counts an outcome; a fault also keeps its lowest seed.
    pub(crate) fn add(&mut self, seed: u64, outcome: Outcome, message: &str) {
        *self.outcomes.entry(outcome).or_default() += 1;
        if outcome == Outcome::Refused {
            *self.refusals.entry(message.to_string()).or_default() += 1;
        }
        if !outcome.is_sound() {
            let fault = self
                .faults
                .entry((outcome, message.to_string()))
                .or_insert((0, seed));
            *fault = (fault.0 + 1, fault.1.min(seed));
        }
    }

    /// Adds the counts of other inputs of the same target.
    pub(crate) fn join(&mut self, other: Self) {
        self.ran += other.ran;
        for (message, count) in other.refusals {
            *self.refusals.entry(message).or_default() += count;
        }
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        for (fault, (count, seed)) in other.faults {
            let own = self.faults.entry(fault).or_insert((0, seed));
            *own = (own.0 + count, own.1.min(seed));
        }
    }
}

/// Line of the table: a name, a count for each outcome, and the number of executed inputs.
pub(crate) struct Line<'a>(pub(crate) &'a str, pub(crate) &'a Counts);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<20}", self.0)?;
        for outcome in Outcome::ALL {
            let count = self.1.outcomes.get(&outcome).copied().unwrap_or_default();
            write!(f, "{count:>9}")?;
        }
        write!(f, "{:>9}", self.1.ran)
    }
}
