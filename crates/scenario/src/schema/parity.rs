//! `[parity]`: what simulators of others are told, each by its own fidelity.

use paceline_congestion::params::{if_so, is};
use paceline_kernel::{Bytes, Time};
use paceline_parity::bolt_ns3::DiscPorts;
use toml::Spanned;

use super::{IbOmnet, OrAuto, UetHtsim, tables};

tables! {
    /// Settings of simulators whose networks Paceline reproduces event by event. The fidelity of that name uses a
    /// table; other fidelities ignore it, so that one scenario serves several.
    struct Parity {
        /// settings of the simulator of Bolt's authors
        bolt_ns3: Spanned<BoltNs3>;
        /// settings of the simulator of TCD's authors
        tcd_ns3: Spanned<TcdNs3>;
        /// settings of the InfiniBand simulator of RRCC's author
        ib_omnet: Spanned<IbOmnet>;
        /// settings of the simulator of Ultra Ethernet's transport
        uet_htsim: Spanned<UetHtsim>;
    }
    /// Settings of the simulator of Bolt's authors, including deviations from its paper; used with `fidelity =
    /// "bolt-ns3"` only.
    struct BoltNs3 only(&[&[is("fidelity", &["bolt-ns3"])]]) {
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
    /// Settings of the simulator of TCD's authors.
    struct TcdNs3 only(&[&[is("fidelity", &["tcd-ns3"])]]) {
        /// pause by the free buffer instead of `network.pfc.static`
        dynamic_pfc: bool = "false";
        /// spread flows over equal-cost paths by hash; otherwise all take the first
        flow_ecmp: bool = "true";
        /// if DCQCN's target is not clamped: a notification still sets it after an increase by time
        clamp_after_timer: bool = "false", only(&[&[is("cc.dcqcn.clamp-target", &["false"])]]);
        /// packets per acknowledgement; 0 acknowledges every packet
        ack_interval: u32 = "256";
        /// also acknowledge at each multiple of this many packets
        ack_chunk: Spanned<u32> = "4000";
        /// hosts without DCQCN, which neither send nor react to notifications
        unmanaged: Vec<Spanned<u32>> = "[]";
        /// hosts with fixed-rate applications: list of { host, factor }; factor 1 is a packet per 0.4 us (19.6 Gbit/s
        /// of data), 4 a quarter of that
        fixed_rate: Vec<Spanned<FixedRate>> = "[]";
        /// when receivers stop
        listen_until: Spanned<Time> => "duration";
        /// flow slots of a receiver; each further flow takes over the slot of an earlier one, with its next
        /// acknowledgements
        flow_slots: Spanned<u32> = "12182";
        /// record all changes of port states, pauses and sender rates
        log: bool = "false";
    }
    /// A host whose applications send at a fixed rate.
    struct FixedRate {
        /// the host
        host: Spanned<u32>;
        /// 1 is a packet per 0.4 us (19.6 Gbit/s of data), 4 a quarter of that
        factor: Spanned<f64>;
    }
}
