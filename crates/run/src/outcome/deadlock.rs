//! Pauses that can never end.

use paceline_kernel::Time;

use crate::outcome::PortRef;
use crate::spec::NodeId;

/// Pauses that will never end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Time at which they were found to be endless.
    pub found: Time,
    /// True if the run ended because nothing else could move either.
    pub ended: bool,
    /// Endless pauses, in the order of their ports.
    pub pauses: Vec<EndlessPause>,
    /// Cycles of pauses that wait for each other, as indices of `pauses`; each waits for the next.
    pub cycles: Vec<Vec<usize>>,
    /// Flows with packets waiting at these ports.
    pub flows: Vec<u32>,
}

/// Endless pause of a (port, class).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndlessPause {
    /// Port that may not send; the node at its other end paused it.
    pub port: PortRef,
    /// True if the port belongs to a switch.
    pub is_switch: bool,
    /// True if the node at the other end is a switch.
    pub by_switch: bool,
    /// Priority class that is paused.
    pub class: u8,
    /// Start of the pause.
    pub since: Time,
    /// Ports for which the pausing switch waits, as indices of [`Deadlock::pauses`]: those that hold packets
    /// from this link. Empty if a host paused, or a switch that waits for nothing.
    pub waits_for: Vec<usize>,
}

impl Deadlock {
    /// Returns the start of the last pause of a cycle; nothing has moved in it since then.
    pub fn since(&self, cycle: &[usize]) -> Time {
        let begins = cycle.iter().map(|&i| self.pauses[i].since);
        begins.max().unwrap_or(self.found)
    }

    /// Returns the hosts that pause for ever.
    pub fn storms(&self) -> Vec<NodeId> {
        self.roots(false)
    }

    /// Returns the switches that wait for nothing themselves, yet never let others send.
    pub fn idle_switches(&self) -> Vec<NodeId> {
        self.roots(true)
    }

    /// Returns the nodes that pause others for ever without being paused.
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
