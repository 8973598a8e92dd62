//! Counts of the simulator of TCD's authors ([`paceline_fabric::spec::TcdNs3Spec`]), as in its reference runs.

use paceline_congestion::detect::PortState;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::ModelOutcome;
use paceline_fabric::spec::NodeId;
use paceline_kernel::{Span, Time};

/// Returns the authors' completion time of a flow alone, s: received bytes at 40 Gbit/s, plus a path latency derived
/// from the hosts' numbers (25 hosts per pod, 5 per rack).
pub fn alone(src: u32, dst: u32, heard: u64) -> f64 {
    let way = match (src / 25 == dst / 25, src % 25 / 5 == dst % 25 / 5) {
        (true, true) => 0.000_008,
        (true, false) => 0.000_016,
        _ => 0.000_024,
    };
    heard as f64 / 5e9 + way
}

/// Counts and logs of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcdNs3Record {
    /// Counts by flow, in the run's order.
    pub flows: Vec<FlowMarks>,
    /// Counts by port, including those of hosts.
    pub ports: Vec<PortMarks>,
    /// Changes of ports in time order, if logged (`paceline_fabric::spec::TcdNs3Spec::log`).
    pub changes: Vec<PortChange>,
    /// Rate changes in time order, if logged.
    pub rates: Vec<RateChange>,
}

impl TcdNs3Record {
    /// Returns the record of a run, or `None` for another network model.
    pub fn of(outcome: &Outcome) -> Option<&Self> {
        outcome.model.as_ref().and_then(ModelOutcome::get)
    }
}

/// Counts of packets and of their marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Packets with or without a mark.
    pub packets: u32,
    /// Packets marked as congested (CE).
    pub congested: u32,
    /// Packets marked as undetermined (UE).
    pub undetermined: u32,
}

/// Counts of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowMarks {
    /// Data packets that arrived, with their marks.
    pub received: Marks,
    /// Notifications at the sender; `packets` counts all of them.
    pub notified: Marks,
    /// Arrival times of the first and the last packet.
    pub arrivals: Option<(Time, Time)>,
    /// Switches on the path.
    pub way: Vec<u32>,
    /// Arrivals by bin of 100 us, with the bin's index; empty unless logged.
    pub bins: Vec<(u32, Marks)>,
}

/// A port, named by its node and by the node at the other end of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortEnds {
    /// Node of the port.
    pub node: NodeId,
    /// Node at the other end.
    pub peer: NodeId,
}

/// Counts of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortMarks {
    /// The port that the counts belong to.
    pub port: PortEnds,
    /// Data packets sent, and marks set by this port.
    pub sent: Marks,
    /// Data packets that arrived with a congestion mark.
    pub again: u32,
    /// Maximum number of data bytes left behind by a data packet.
    pub queue_max: u32,
    /// Received pause frames and resume frames.
    pub frames: [u32; 2],
    /// Number of pauses that took effect.
    pub pauses: u32,
    /// Total time of pauses.
    pub paused: Span,
}

/// A change of a port's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortChange {
    /// Time of the change.
    pub at: Time,
    /// The port whose class changes.
    pub port: PortEnds,
    /// Priority, as in scenarios.
    pub class: u8,
    /// Bytes in the class's queue.
    pub queue: u32,
    /// The change, with its details.
    pub what: Change,
}

/// Kinds of changes of a port's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Start of a pause.
    Pause,
    /// End of a pause, by a frame or by expiry.
    Resume {
        /// True if the pause expired.
        expired: bool,
    },
    /// Transition from one state to another.
    State(PortState, PortState),
}

/// A rate change at a reaction point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateChange {
    /// Time of the change.
    pub at: Time,
    /// Index of the flow.
    pub flow: u32,
    /// Rate after the change, bit/s.
    pub rate: u64,
    /// Target after the change, bit/s.
    pub target: u64,
    /// Congestion estimate (DCQCN's alpha).
    pub alpha: f64,
}
