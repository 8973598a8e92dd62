//! Results of the switches in one part of a run ([`crate::run::results`]).

use serde::{Deserialize, Serialize};

use crate::switch::Switches;
use crate::switch::ties::TieCounts;
use crate::switch::watchdog::Storm;

/// Results of the switches of a part.
#[derive(Serialize, Deserialize)]
pub(crate) struct SwitchResults {
    ties: Option<TieCounts>,
    storms: Vec<Storm>,
}

impl Switches {
    /// Returns the results of a part.
    pub(crate) fn results(self) -> SwitchResults {
        SwitchResults {
            ties: self.ties.map(|ties| ties.close()),
            storms: self.watchdog.map_or_else(Vec::new, |watchdog| watchdog.storms),
        }
    }

    /// Adds the results of another part.
    pub(crate) fn take_in(&mut self, mut other: SwitchResults) {
        if let (Some(mine), Some(theirs)) = (&mut self.ties, other.ties) {
            mine.add(theirs);
        }
        if let Some(mine) = &mut self.watchdog {
            mine.storms.append(&mut other.storms);
        }
    }
}
