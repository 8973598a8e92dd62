//! Input of the simulator of TCD's authors, in addition to that of all networks.

use paceline_fabric::spec::{NodeId, RunSpec};
use paceline_kernel::Time;
use serde::{Deserialize, Serialize};

/// Settings of a network of that simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TcdNs3Spec {
    /// True if switches pause by free buffer instead of static thresholds.
    pub dynamic_pfc: bool,
    /// True if a hash selects each flow's path; otherwise all flows take the first.
    pub flow_ecmp: bool,
    /// Without clamping of DCQCN's target: true if a notification still sets it after an increase by time.
    pub clamp_after_timer: bool,
    /// Packets per acknowledgement; 0 acknowledges every packet.
    pub ack_interval: u32,
    /// An acknowledgement is also due at each multiple of this many packets.
    pub ack_chunk: u32,
    /// Hosts that neither send notifications nor react to them.
    pub unmanaged: Vec<NodeId>,
    /// Hosts that push packets at a fixed rate, with the factor of the authors' interval of 0.815 us.
    pub fixed_rate: Vec<(NodeId, f64)>,
    /// Number of a receiver's flow slots. The first packet of a further flow overwrites the acknowledgement state of
    /// an earlier one, whose next acknowledgement is then never sent.
    pub flow_slots: u32,
    /// Time at which receiving applications stop.
    pub listen_until: Time,
    /// Stop time of each flow's sender; flows beyond the end of the list never stop.
    pub stops: Vec<Time>,
    /// Random streams used by the set-up.
    pub setup_streams: u64,
    /// True to log every change of port states, pauses and rates, which takes much memory.
    pub log: bool,
}

impl TcdNs3Spec {
    /// Returns the specification of a run, or `None` for another network model.
    pub fn of(run: &RunSpec) -> Option<&Self> {
        run.model.as_ref()?.get()
    }

    /// Returns the stop time of a flow's sender.
    pub fn stop_of(&self, flow: usize) -> Time {
        self.stops.get(flow).copied().unwrap_or(Time::MAX)
    }
}
