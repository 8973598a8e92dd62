//! Repeated phases of a run.

/// Phases of a run, from one state of its network to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repeats {
    /// Reason for which no phase could be reused in the whole run.
    pub why_not: Option<&'static str>,
    /// Reason for which only idle states were compared, not those with packets in flight.
    pub only_at_rest: Option<&'static str>,
    /// Phases that were simulated.
    pub simulated: u64,
    /// Simulated phases that were new and are stored.
    pub kept: u64,
    /// Simulated phases that were already known, with the same result.
    pub checked: u64,
    /// Phases that were reused.
    pub taken: u64,
    /// Phases that started like a known one and then differed: these were simulated.
    pub left: u64,
    /// Events in reused phases.
    pub events_taken: u64,
    /// Parts of a state, and the number of different values of each.
    pub parts: Vec<(&'static str, u64)>,
    /// States of the network, and the number of phases simulated and reused from there.
    pub states: Vec<StateRepeats>,
}

impl Repeats {
    /// Returns the part in which states differ most.
    pub fn differs(&self) -> Option<&'static str> {
        let most = self.parts.iter().max_by_key(|(_, different)| *different)?;
        Some(most.0)
    }
}

/// State of the network from which phases started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateRepeats {
    /// Fingerprint of the state.
    pub print: u128,
    /// Phases from there that were simulated.
    pub simulated: u64,
    /// Phases from there that were reused.
    pub taken: u64,
}
