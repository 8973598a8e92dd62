//! `[parity.bolt-ns3]`.

use paceline_congestion::params::{if_so, is};
use paceline_kernel::Bytes;
use paceline_scenario::guest::OrAuto;
use paceline_scenario::tables;
use toml::Spanned;

use super::spec::DiscPorts;

tables! {
    /// Settings of the simulator of Bolt's authors, including deviations from its paper; used with `fidelity =
    /// "bolt-ns3"` only.
    struct Keys only(&[&[is("fidelity", &["bolt-ns3"])]]) {
        /// ports with Bolt's queues: `all`, including hosts, or `between-switches`; others have a single FIFO
        ports: DiscPorts = "all";
        /// marking threshold of schemes without one (Swift); `auto`: a full packet
        threshold: OrAuto<Bytes> = "auto", only(&[&[if_so("Swift")]]);
        /// buffer of a port in packets; checked by congested ports only
        buffer_packets: Spanned<u32> = "1000";
        /// send one SRC per this many; counts SRCs sent, so any value above 1 means one per port and run
        src_factor: Spanned<u32> = "1", only(&[&[if_so("Bolt")]]);
        /// messages between the same hosts share flows (the authors' aggregation)
        share_flows: bool = "false";
        /// give up a flow after this many consecutive retransmission timeouts
        strikes: Spanned<u32> = "5";
        /// a window with room for part of a packet pauses its flow for a packet's share of the round-trip time, then
        /// sends one packet
        window_pause: bool = "true";
        /// Bolt's SM token counts each packet one byte too small
        sm_drift: bool = "true", only(&[&[is("cc.bolt.sm", &["true"])]]);
        /// without SM, ports of hosts leave INC on packets without a token
        inc_kept_by_hosts: bool = "true", only(&[&[is("cc.bolt.sm", &["false"])]]);
        /// SRC carries the time to drain the queue in whole nanoseconds, instead of its bytes
        src_drain_time: bool = "true", only(&[&[if_so("Bolt")]]);
        /// each SRC halves a window of at most one packet, however soon after the last one
        ungated_halving: bool = "true", only(&[&[if_so("Bolt")]]);
        /// Swift's flow scaling adds what it should subtract: the target is 4us too high
        swift_beta_sign: bool = "true", only(&[&[if_so("Swift"), is("cc.swift.flow-scaling", &["true"])]]);
        /// an ACK of a packet that a switch marked for Bolt updates Swift's window twice
        swift_double_update: bool = "true", only(&[&[if_so("Swift")]]);
    }
}
