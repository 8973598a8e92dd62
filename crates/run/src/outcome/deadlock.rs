//! Pauses that can never end.

use paceline_kernel::Time;

use crate::outcome::PortRef;
use crate::spec::NodeId;

/// Pauses that will never end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// When they were found to be endless.
    pub found: Time,
    /// Whether the run ended because nothing else could move either.
    pub ended: bool,
    /// The pauses, in the order of their ports.
    pub pauses: Vec<EndlessPause>,
    /// Circles of pauses that wait for each other, as indices of `pauses`, each waiting for the next.
    pub cycles: Vec<Vec<usize>>,
    /// Flows of which packets wait behind these ports.
    pub flows: Vec<u32>,
}

/// A (port, class) that will never be resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndlessPause {
    /// The port that may not send; the node at its other end paused it.
    pub port: PortRef,
    /// Whether it is a switch's.
    pub is_switch: bool,
    /// Whether the node at its other end is a switch.
    pub by_switch: bool,
    /// The class.
    pub class: u8,
    /// When it was paused.
    pub since: Time,
    /// What the pausing switch waits for: ports of its own that hold what came in through this
    /// link, as indices of [`Deadlock::pauses`]. None if a host paused, or a switch that waits for nothing.
    pub waits_for: Vec<usize>,
}

impl Deadlock {
    /// When the last pause of a cycle began: since then nothing has moved in it.
    pub fn since(&self, cycle: &[usize]) -> Time {
        let begins = cycle.iter().map(|&i| self.pauses[i].since);
        begins.max().unwrap_or(self.found)
    }

    /// Hosts that pause for ever.
    pub fn storms(&self) -> Vec<NodeId> {
        self.roots(false)
    }

    /// Switches that wait for nothing themselves, and never let others send.
    pub fn idle_switches(&self) -> Vec<NodeId> {
        self.roots(true)
    }

    /// Who holds others for ever and is held by nobody.
    fn roots(&self, switches: bool) -> Vec<NodeId> {
        let ends = |pause: &&EndlessPause| pause.waits_for.is_empty() && pause.by_switch == switches;
        let mut roots: Vec<NodeId> = self
            .pauses
            .iter()
            .filter(ends)
            .map(|pause| pause.port.peer)
            .collect();
        roots.dedup();
        roots
    }
}
