//! What is counted in networks of the simulator of TCD's authors ([`paceline_fabric::spec::TcdNs3Spec`]), as its reference runs
//! count it.

use paceline_congestion::detect::PortState;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::ModelOutcome;
use paceline_fabric::spec::NodeId;
use paceline_kernel::{Span, Time};

/// What the authors take for the completion time of a flow alone, in seconds: what the application hears at 40 Gbit/s,
/// and the way, by the numbers of its hosts: 25 in each pod, 5 in each rack.
pub fn alone(src: u32, dst: u32, heard: u64) -> f64 {
    let way = match (src / 25 == dst / 25, src % 25 / 5 == dst % 25 / 5) {
        (true, true) => 0.000_008,
        (true, false) => 0.000_016,
        _ => 0.000_024,
    };
    heard as f64 / 5e9 + way
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TcdNs3Record {
    /// By flow.
    pub flows: Vec<FlowMarks>,
    /// Of every port, those of hosts too.
    pub ports: Vec<PortMarks>,
    /// Changes of ports, if they are logged (`paceline_fabric::spec::TcdNs3Spec::log`), in order.
    pub changes: Vec<PortChange>,
    /// Changes of rates, likewise.
    pub rates: Vec<RateChange>,
}

impl TcdNs3Record {
    /// That of a run, if it is of this simulator.
    pub fn of(outcome: &Outcome) -> Option<&Self> {
        outcome.model.as_ref().and_then(ModelOutcome::get)
    }
}

/// Packets, and how many of them were marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// All.
    pub packets: u32,
    /// Congestion experienced.
    pub congested: u32,
    /// Undetermined.
    pub undetermined: u32,
}

/// What came of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowMarks {
    /// Data packets that arrived.
    pub received: Marks,
    /// Notifications that reached its sender; `packets` are all of them.
    pub notified: Marks,
    /// Arrival of its first and of its last packet.
    pub arrivals: Option<(Time, Time)>,
    /// Switches on its way.
    pub way: Vec<u32>,
    /// What arrived in 100 us that began so many times 100 us after the start of the run; where it is logged.
    pub bins: Vec<(u32, Marks)>,
}

/// A port: its node, and that at the other end of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortEnds {
    /// Its own.
    pub node: NodeId,
    /// The other.
    pub peer: NodeId,
}

/// What happened at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortMarks {
    /// Which.
    pub port: PortEnds,
    /// Data packets that left, and those that were marked here.
    pub sent: Marks,
    /// Data packets that had been marked congested before they came here.
    pub again: u32,
    /// The most bytes of data that a packet of data left behind.
    pub queue_max: u32,
    /// Pause frames and resume frames that arrived.
    pub frames: [u32; 2],
    /// Pauses, and how long they were together.
    pub pauses: u32,
    /// See `pauses`.
    pub paused: Span,
}

/// Something about a port's class changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortChange {
    /// When.
    pub at: Time,
    /// Which port.
    pub port: PortEnds,
    /// The class.
    pub class: u8,
    /// Bytes in its queue.
    pub queue: u32,
    /// What.
    pub what: Change,
}

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A pause begins.
    Pause,
    /// It ends, by a frame or because its time is over.
    Resume {
        /// By its time.
        expired: bool,
    },
    /// Its state, from one to the other.
    State(PortState, PortState),
}

/// A reaction point has changed a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateChange {
    /// When.
    pub at: Time,
    /// Which flow.
    pub flow: u32,
    /// Rate and target in bit/s.
    pub rate: u64,
    /// See `rate`.
    pub target: u64,
    /// The estimate of congestion.
    pub alpha: f64,
}
