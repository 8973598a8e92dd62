//! Recorders of a run: `[record]`.

use paceline_congestion::params::{if_so, is_not};
use paceline_fabric::spec::Blame;
use paceline_kernel::{Span, Time};
use toml::Spanned;

use super::facts::{CREDITS, PFC, QUEUE_PAIRS};
use super::{Accounts, AutoTime, Ends, Nodes, OrOff, tables};

tables! {
    /// Data to record. Disabled records cost nothing.
    struct Record {
        /// sampling period of switch queues
        queue: Spanned<OrOff<Span>> = "off";
        /// first sample
        queue_from: Spanned<Time> = "0s", only(&[&[is_not(".queue", &["off"])]]);
        /// last sample
        queue_to: Spanned<Time> => "the duration", only(&[&[is_not(".queue", &["off"])]]);
        /// interval of queue histograms, as in ns-3
        queue_dump: Spanned<OrOff<Span>> = "off", only(&[&[is_not(".queue", &["off"])]]);
        /// utilisation, maximum queue, paused share and marks per port, and maximum occupancy per switch, in bins of
        /// this initial width; the width doubles whenever 512 bins are full: `auto` (1us) or `off` (ns3-hpcc, and where all
        /// flows are of traces, one of them run 10 times or more)
        ports: Spanned<AutoTime> = "auto";
        /// sampling period of the detector state of each port: `auto` (1us, with `[network.detection]`) or `off`
        states: Spanned<AutoTime> = "auto", only(&[&[if_so("a detector")]]);
        /// sampling period of credits per lane and port: `auto` (1us up to 64 ports,
        /// otherwise off) or `off`
        credits: Spanned<AutoTime> = "auto", only(&[&[CREDITS]]);
        /// sampling period of rate, window and last RTT of the first flows; only changes are recorded
        flows: Spanned<OrOff<Span>> = "off", only(&[&[QUEUE_PAIRS]]);
        /// number of these flows
        flows_max: u32 = "64", only(&[&[is_not(".flows", &["off"])]]);
        /// list all PFC frames: pfc.txt, whose size grows with their number
        pfc: bool = "true", only(&[&[PFC]]);
        /// goodput per flow, in bins of this width
        rates: Spanned<OrOff<Span>> = "off";
        /// keep all RTT samples
        rtt_samples: bool = "false", only(&[&[QUEUE_PAIRS]]);
        /// one-way latency of data packets, from the start of transmission to complete reception: `latency_us` and
        /// `goodput_share` in summary.json (not with bolt-ns3, tcd-ns3, ib-omnet)
        latency: Spanned<bool> = "false";
        /// what the run has come to at half of its duration, for measures of the second half (`paceline explain halves`)
        halves: bool = "false", only(&[&[is_not(".latency", &["false"])]]);
        /// sets of measures to compute when the run ends: `measures` in summary.json (`paceline list measures`)
        measures: Vec<String> = "[]";
        /// flows with a breakdown of their completion time: `off`, `all`, a list of flow ids, or `auto`: all of up to
        /// 1000 flows; otherwise a sample of 1000 and the slowest 20, for which `run` and `compare` repeat short runs
        /// (ns3-hpcc: `off`)
        accounts: Spanned<Accounts> = "auto";
        /// who makes whom wait: the time that packets wait in queues, charged to the packets that are transmitted
        /// meanwhile, or that a pause comes from. `labels` (of flows, so of jobs) or `hosts` (that flows come from):
        /// blame.csv. Needs `fidelity = "exact"`, `"ns3-hpcc"` or `"simai"`, queues at outputs, and one thread
        blame: Spanned<Blame> = "off";
        /// each lost packet, with its time, port and cause: drops.csv. Needs `fidelity = "exact"`, `"ns3-hpcc"` or `"simai"`,
        /// and one thread
        drops: Spanned<bool> = "false";
        /// jobs by a trace: list each operation with its start, its end and why it started then: operations.csv
        operations: bool = "false", only(&[&[if_so("a job by a trace")]]);
        /// also write traced packets to trace.pcapng; without `trace`, those of all nodes
        pcap: bool = "false";
        /// nodes to trace, as a set of hosts that may have switches (`leaf 0-3, spine 1`); `all` for all: trace.parquet (ns3-hpcc:
        /// trace.tr)
        trace: Spanned<Nodes> = "[]";
        /// ports to trace, in both directions, by the numbers or names of their nodes: [[node, neighbour], ["leaf 1", "spine 3"],
        /// "leaf 1 -> spine 3", ..]
        trace_ports: Vec<Spanned<Ends>> = "[]";
        /// start of traces
        trace_from: Spanned<Time> = "0s", only(&[&[is_not(".trace", &["[]"])], &[is_not(".trace-ports", &["[]"])]]);
        /// end of traces
        trace_to: Spanned<Time> => "the duration", only(&[&[is_not(".trace", &["[]"])], &[is_not(".trace-ports", &["[]"])]]);
    }
}
