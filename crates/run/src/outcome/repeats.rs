//! Phases that came again.

/// Phases of a run, from one state of its network to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// Why none could be taken, where that is so of the whole run.
    pub why_not: Option<&'static str>,
    /// Why states with packets under way were not compared, where only states at rest were.
    pub only_at_rest: Option<&'static str>,
    /// Phases that were simulated.
    pub simulated: u64,
    /// Of these, those that were new and are kept.
    pub kept: u64,
    /// Of these, those that were known, and came out the same.
    pub checked: u64,
    /// Phases that were taken from memory.
    pub taken: u64,
    /// Phases that began as a known one and went on otherwise: these were simulated.
    pub left: u64,
    /// Events in phases that were taken.
    pub events_taken: u64,
    /// Parts of a state, and how many different ones there were of each.
    pub parts: Vec<(&'static str, u64)>,
    /// States that the network was in, and how many phases were simulated and taken from there.
    pub states: Vec<StateRepeats>,
}

impl Repeats {
    /// The part in which states differ most.
    pub fn differs(&self) -> Option<&'static str> {
        let most = self.parts.iter().max_by_key(|(_, different)| *different)?;
        Some(most.0)
    }
}

/// A state of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateRepeats {
    /// Its fingerprint.
    pub print: u128,
    /// Phases that began there and were simulated.
    pub simulated: u64,
    /// And those that were taken from memory.
    pub taken: u64,
}
