//! What the simulator is told.

use paceline_fabric::spec::RunSpec;
use paceline_kernel::Bytes;
use serde::{Deserialize, Serialize};

/// A network of that simulator, with what it does and neither nature nor the papers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BoltNs3Spec {
    /// Which ports have Bolt's queues.
    pub ports: DiscPorts,
    /// The threshold of these queues where no scheme sets one (Swift); `None`: a full packet.
    pub threshold: Option<Bytes>,
    /// Packets that a port's queues hold; only congested ports look.
    pub buffer_packets: u32,
    /// One SRC for so many that are due; but only those are counted that are sent, so any number above
    /// one means a single SRC per port and run.
    pub src_factor: u32,
    /// Whether messages of the same hosts share flows.
    pub share_flows: bool,
    /// Expiries of the retransmission timer in a row after which a flow is given up.
    pub strikes: u32,
    /// A window with room for part of a packet makes its flow pause for a packet's share
    /// of the round-trip time, and then sends one whatever the window says.
    pub window_pause: bool,
    /// Bolt's SM token takes each packet for one byte smaller than it is.
    pub sm_drift: bool,
    /// Without SM, a host's port leaves the flag INC on a packet for which it has no token.
    pub inc_kept_by_hosts: bool,
    /// SRC carries the time in whole nanoseconds that the queue takes, not its bytes.
    pub src_drain_time: bool,
    /// Each SRC halves a window of at most one packet, however soon after the last.
    pub ungated_halving: bool,
    /// Swift's flow scaling adds what it should subtract, 4 us in all.
    pub swift_beta_sign: bool,
    /// Swift counts an acknowledgement twice that switches marked for Bolt.
    pub swift_double_update: bool,
}

/// Ports with Bolt's queues; the others have one FIFO each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscPorts {
    /// All, those of hosts too.
    All,
    /// Ports of switches that lead to other switches.
    BetweenSwitches,
}

impl Default for BoltNs3Spec {
    fn default() -> Self {
        Self {
            ports: DiscPorts::All,
            threshold: None,
            buffer_packets: 1000,
            src_factor: 1,
            share_flows: false,
            strikes: 5,
            window_pause: true,
            sm_drift: true,
            inc_kept_by_hosts: true,
            src_drain_time: true,
            ungated_halving: true,
            swift_beta_sign: true,
            swift_double_update: true,
        }
    }
}

impl BoltNs3Spec {
    /// That of a run, if it is of this simulator.
    pub fn of(run: &RunSpec) -> Option<&Self> {
        run.model.as_ref()?.get()
    }
}

/// Whether the simulator has a scheme.
pub fn has_scheme(name: &str) -> bool {
    ["bolt", "swift"].contains(&name)
}
