//! `[parity.ib-omnet]`: InfiniBand. Some keys have OpenSM's names, too.

use paceline_congestion::params::{if_so, is};
use paceline_kernel::{Bytes, Span};
use paceline_scenario::guest::{Nodes, OrAuto, OrOff};
use paceline_scenario::tables;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// Reactions of hosts to marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ControlKind {
    None,
    Ibcc,
    Rrcc,
}

tables! {
    /// InfiniBand, with `fidelity = "ib-omnet"` only: hosts, and switches with input buffers. A credit is a packet of
    /// the MTU. Links have no delay (`delay = "0s"`).
    struct IbOmnet only(&[&[is("fidelity", &["ib-omnet"])]]) {
        /// number of virtual lanes; packets use the first
        lanes: Spanned<u8> = "2";
        /// packets per turn of each lane, a list
        weights: Spanned<Vec<u16>> = "[1, 20]", only(&[&[if_so("packets in several lanes")]]);
        /// input buffer per lane, in packets
        buffer: Spanned<u32> = "32";
        /// interval of credit updates, at the same instants in all ports
        period: Spanned<Span> = "4.096us";
        /// size of a flow-control packet
        update: Spanned<Bytes> = "8B";
        /// output queue in packets; one slot stays free
        output_queue: Spanned<u32> = "5";
        /// data packets queued in a host
        host_queue: Spanned<u32> = "10";
        /// delay from an input to an arbiter
        input_delay: Spanned<Span> = "50ns";
        /// delay from the arbiter to the wire
        output_delay: Spanned<Span> = "50ns";
        /// interval of arbitrations at a switch output
        switch_arbitration: Spanned<Span> = "71.111ns";
        /// interval of arbitrations at a host
        host_arbitration: Spanned<Span> = "128ns";
        /// time of a host to create a packet, to pass it to its arbiter, and to consume one
        host_packet: Spanned<Span> = "512ns";
        /// interval at which hosts stop consuming packets, or `off`
        stall_every: Spanned<OrOff<Span>> = "10ms";
        /// duration of such a stop
        stall: Spanned<Span> = "1ns";
        /// mark one of this many packets that had to wait, per port: written as a text; `auto`: 3 with ibcc, else 1
        #[serde(alias = "cc_sw_cong_setting_marking_rate")]
        marking_rate: Spanned<OrAuto<u32>> = "auto";
        /// reaction of hosts to marks: `none`, `ibcc` (InfiniBand congestion control with a quadratic table) or `rrcc`
        /// (receivers set rates)
        control: Spanned<ControlKind> = "none";
        /// hosts with congestion control, as senders and receivers: a set of hosts
        controlled: Spanned<Nodes> = "all";
        /// senders that receivers notify: a set of hosts
        notified: Spanned<Nodes> = "all";
        /// record every step at every port, for `paceline reproduce`
        log: Spanned<bool> = "false";
        /// parameters of IBCC
        ibcc: Ibcc;
        /// parameters of RRCC
        rrcc: Rrcc;
    }
    /// IBCC. Each notification raises an index into a table, and a timer lowers it. The gap between packets grows with
    /// the square of the index.
    struct Ibcc only(&[&[is("fidelity", &["ib-omnet"]), is("parity.ib-omnet.control", &["ibcc"])]]) {
        /// maximum index
        #[serde(alias = "ccti_limit", alias = "ccti-limit")]
        limit: Spanned<u16> = "127";
        /// interval at which the index is lowered
        #[serde(alias = "ccti_timer", alias = "ccti-timer", alias = "cc_ca_cong_setting_ccti_timer")]
        timer: Spanned<Span> = "30us";
        /// extra gap between packets at the index `at`
        delay: Spanned<Span> = "3300ns";
        /// see `delay`
        at: Spanned<u16> = "83";
    }
    /// RRCC. A receiver observes the packets of each sender in windows. If nearly all were marked, it sends the sender
    /// their arrival rate.
    struct Rrcc only(&[&[is("fidelity", &["ib-omnet"]), is("parity.ib-omnet.control", &["rrcc"])]]) {
        /// observation window of a receiver
        window: Spanned<Span> = "8.192us";
        /// share of marked packets that means congestion
        threshold: Spanned<f64> = "0.9";
        /// factor by which a sender goes below the received rate
        undershoot: Spanned<f64> = "1.07";
        /// increase of the target, in Gbit/s
        increase: Spanned<f64> = "0.39";
        /// consecutive notices without congestion before the target increases
        after: Spanned<u32> = "3";
    }
}
