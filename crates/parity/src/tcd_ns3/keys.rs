//! `[parity.tcd-ns3]`.

use paceline_congestion::params::is;
use paceline_kernel::Time;
use paceline_scenario::tables;
use toml::Spanned;

tables! {
    /// Settings of the simulator of TCD's authors.
    struct Keys only(&[&[is("fidelity", &["tcd-ns3"])]]) {
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
