//! The simulator's settings, as `[parity.bolt-ns3]` gives them.

use paceline_fabric::spec::RunSpec;
use paceline_kernel::Bytes;
use serde::{Deserialize, Serialize};

/// Settings of a network of that simulator, including its deviations from hardware and from the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BoltNs3Spec {
    /// Ports with Bolt's queues.
    pub ports: DiscPorts,
    /// Threshold of these queues if no scheme sets one (Swift); `None` means a full packet.
    pub threshold: Option<Bytes>,
    /// Capacity of a port's queues, packets. Only congested ports check it.
    pub buffer_packets: u32,
    /// One SRC is sent per this many. Only SRCs that were sent are counted, so any value above 1 means a single SRC
    /// per port and run.
    pub src_factor: u32,
    /// True if messages between the same hosts share flows.
    pub share_flows: bool,
    /// Number of consecutive retransmission timeouts after which a flow is given up.
    pub strikes: u32,
    /// True if a window with room for part of a packet pauses its flow for a packet's share of the round-trip time,
    /// and then sends one packet regardless of the window.
    pub window_pause: bool,
    /// True if Bolt's SM token counts each packet one byte too small.
    pub sm_drift: bool,
    /// True if, without SM, ports of hosts leave INC on packets without a token.
    pub inc_kept_by_hosts: bool,
    /// True if an SRC carries the queue's drain time in whole ns instead of its bytes.
    pub src_drain_time: bool,
    /// True if each SRC halves a window of at most one packet, however soon after the last one.
    pub ungated_halving: bool,
    /// True if Swift's flow scaling adds its offset instead of subtracting it, which raises the target by 4 us.
    pub swift_beta_sign: bool,
    /// True if an acknowledgement with a Bolt mark updates Swift's window twice.
    pub swift_double_update: bool,
}

/// Ports with Bolt's queues; others have a single FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscPorts {
    /// All ports, including those of hosts.
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
    /// Returns the specification of a run, or `None` for another network model.
    pub fn of(run: &RunSpec) -> Option<&Self> {
        run.model.as_ref()?.get()
    }
}

/// Returns true if the simulator has the scheme.
pub fn has_scheme(name: &str) -> bool {
    ["bolt", "swift"].contains(&name)
}
