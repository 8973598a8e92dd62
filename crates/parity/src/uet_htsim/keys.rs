//! `[parity.uet-htsim]`: Ultra Ethernet's transport. Keys have the units of the simulator's command line.

use paceline_congestion::params::{is, is_not};
use paceline_scenario::tables;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// Settings of `oversubscribed-cc`: adaptation of receivers' pacers to congestion inside an oversubscribed network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OversubscribedCc {
    Auto,
    On,
    Off,
}

tables! {
    /// Ultra Ethernet's transport as `htsim_uec` simulates it, with `fidelity = "uet-htsim"` only. The scenario has no
    /// `[topology]`, `[[workload]]`, `[network]` or `[cc]`: the simulator reads its own files. Rates are in Mbit/s, times in
    /// microseconds, as on its command line. `seed` and `duration` of the scenario are its `-seed` (13) and `-end` (1ms).
    struct UetHtsim only(&[&[is("fidelity", &["uet-htsim"])]]) {
        /// command line of `htsim_uec`, such as `-tm one.cm -sender_cc_only`; keys below overrule it
        arguments: Spanned<String>;
        /// connection matrix (.cm): `-tm`
        connections: Spanned<String>;
        /// topology (.topo), instead of a fat tree of the right size: `-topo`
        topology: Spanned<String>;
        /// tiers of switches without a topology file, 2 or 3: `-tiers`
        tiers: Spanned<u32> = "3";
        /// rate of NICs, and in all formulas, Mbit/s, 1000 to 8000000: `-linkspeed`
        linkspeed: Spanned<u64> = "100000";
        /// data packet with its header of 64 bytes, 128 to 65000: `-mtu`
        mtu: Spanned<u32> = "4150";
        /// latency of links without a topology file, us, 0 to 4000: `-hop_latency`
        hop_latency: Spanned<f64> = "1.0";
        /// latency of switches without a topology file, us, 0 to 1000000: `-switch_latency`
        switch_latency: Spanned<f64> = "0.0";
        /// whether senders have a congestion control; written, it is also one that was chosen (see `oversubscribed-cc`)
        sender_cc: Spanned<bool> => "true";
        /// whether receivers grant credit (RCCC)
        receiver_cc: Spanned<bool> = "false";
        /// congestion control of senders, `nscc`, `dctcp` or `constant`: `-sender_cc_algo`
        sender_cc_algo: Spanned<String> = "nscc";
        /// chooses entropy values, `bitmap`, `reps`, `reps_legacy`, `oblivious` or `mixed`: `-load_balancing_algo`
        load_balancing: Spanned<String> = "mixed";
        /// number of entropy values, a power of two up to 8192: `-paths`
        paths: Spanned<u32> => "64; 1 where switches choose ports for each packet (`ecmp_rr`, `ecmp_ar`)";
        /// how switches choose ports, `ecmp_host`, `ecmp_rr`, `ecmp_ar` or `ecmp_host_ar`: `-strat`
        strategy: Spanned<String> = "ecmp_host";
        /// initial window in packets, up to 1000000; 0: one and a half bandwidth-delay products: `-cwnd`
        cwnd: Spanned<u32> = "0";
        /// queue of a switch port in packets, 1 to 1000000: `-q`
        queue: Spanned<u32> => "queue-bdp-factor";
        /// queue of a switch port in bandwidth-delay products, 1 to 1000: `-queue_size_bdp_factor`
        queue_bdp_factor: Spanned<u32> => "1 with trimming, else 5";
        /// marking thresholds in packets, a list of two; the upper one fits the queue: `-ecn`
        ecn: Spanned<Vec<u64>> => "0.2 and 0.8 bandwidth-delay products";
        /// whether full queues trim packets; otherwise they drop them: `-disable_trim`
        trim: Spanned<bool> = "true";
        /// bytes of a trimmed packet, 64 to the whole packet: `-trimsize`
        trim_size: Spanned<u32> = "64", only(&[&[is(".trim", &["true"])]]);
        /// bytes after which a receiver acknowledges: `-sack_threshold`
        sack_threshold: Spanned<u32> = "16384";
        /// target delay of NSCC, us, 0.001 to 1000000: `-target_q_delay`
        target_delay: Spanned<f64> => "0.75 round trips; without trimming one", only(&[&[is_not(".sender-cc", &["false"])]]);
        /// QuickAdapt acts if less than the largest window shifted by so many bits was acknowledged, 0 to 62: `-qa_gate`
        qa_gate: Spanned<u32> = "3", only(&[&[is_not(".sender-cc", &["false"])]]);
        /// whether a flow's base round-trip time starts with that of its own path: `-enable_accurate_base_rtt`
        accurate_base_rtt: Spanned<bool> = "false";
        /// whether NACKs may lower the base round-trip time: `-disable_base_rtt_update_on_nack`
        base_rtt_on_nack: Spanned<bool> = "true";
        /// whether senders find losses by gaps and probes (SLEEK): `-sleek`
        sleek: Spanned<bool> = "false", only(&[&[is_not(".sender-cc", &["false"])]]);
        /// number of links at a quarter of their rate: `-failed`
        failed: Spanned<u32> = "0";
        /// whether pacers follow congestion inside the network, `on`, `off`, or `auto`: if the topology is oversubscribed and
        /// no key chose the senders' control
        oversubscribed_cc: Spanned<OversubscribedCc> = "auto";
        /// additive increase of such pacers, 0 to 1: `-Ai`
        additive_increase: Spanned<f64> = "0.01", only(&[&[is_not(".oversubscribed-cc", &["off"])]]);
        /// multiplicative decrease of such pacers, 0 to 1: `-Md`
        multiplicative_decrease: Spanned<f64> = "0.5", only(&[&[is_not(".oversubscribed-cc", &["off"])]]);
        /// weight of a new share of marks at such pacers, 0 to 1: `-alpha`
        alpha: Spanned<f64> = "0.5", only(&[&[is_not(".oversubscribed-cc", &["off"])]]);
        /// whether a connection may have several messages: `-conn_reuse`
        messages: Spanned<bool> = "false";
    }
}
