//! What the simulator of TCD's authors is told alongside what all networks are.

use paceline_fabric::spec::{NodeId, RunSpec};
use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

/// A network of that simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TcdNs3Spec {
    /// Switches pause by what is free of their buffer, not by the thresholds.
    pub dynamic_pfc: bool,
    /// A flow has one way, by a hash; otherwise all have the first.
    pub flow_ecmp: bool,
    /// With DCQCN's target not clamped at every notification: it is at one after an increase by time, too.
    pub clamp_after_timer: bool,
    /// Packets between two acknowledgements; every packet with zero.
    pub ack_interval: u32,
    /// And one whenever so many packets have come in all.
    pub ack_chunk: u32,
    /// Hosts that neither apply nor send notifications.
    pub unmanaged: Vec<NodeId>,
    /// Hosts that push packets at a fixed rate: the factor of the authors' 0.815 us.
    pub fixed_rate: Vec<(NodeId, f64)>,
    /// Accounts that a receiver has for flows: the first packet of a further one overwrites when one of the earlier flows
    /// is due its next acknowledgement, which then never comes.
    pub flow_slots: u32,
    /// When receivers stop to listen.
    pub listen_until: Time,
    /// When the sender of each flow stops; for ever where there is none.
    pub stops: Vec<Time>,
    /// Random streams that the set-up takes.
    pub setup_streams: u64,
    /// Write down every state of ports, pause and rate, which takes room.
    pub log: bool,
}

impl TcdNs3Spec {
    /// That of a run, if it is of this simulator.
    pub fn of(run: &RunSpec) -> Option<&Self> {
        run.model.as_ref()?.get()
    }

    /// When the sender of a flow stops.
    pub fn stop_of(&self, flow: usize) -> Time {
        self.stops.get(flow).copied().unwrap_or(Time::MAX)
    }
}
