//! `[topology]` and its blocks.

use paceline_congestion::params::is_not;
use paceline_kernel::{BitRate, Span};
use toml::Spanned;

use super::{OrOff, Ratio, tables};

tables! {
    /// `[topology]`: one of these, but for `parallel`.
    struct Topology {
        parallel: bool;
        file: Spanned<String>;
        star: Star;
        dumbbell: Dumbbell;
        parking_lot: ParkingLot;
        leaf_spine: LeafSpine;
        rail: Rail;
        fat_tree: FatTree;
        hpcc_fat: HpccFat;
        graph: Graph;
        infragraph: InfraGraph;
    }
    /// One switch (node 0) with hosts (nodes 1 to `hosts`).
    struct Star {
        /// number of hosts
        hosts: Spanned<u32> = "16";
        /// rate of every link
        rate: Spanned<BitRate> = "100Gbps";
        /// propagation delay of every link
        delay: Spanned<Span> = "1us";
    }
    /// Two switches with hosts, and one link between them. Nodes: the hosts on the left from 0, those on the right,
    /// the two switches.
    struct Dumbbell {
        /// hosts on the left
        left: Spanned<u32> = "2";
        /// hosts on the right
        right: Spanned<u32> = "2";
        /// rate of the hosts' links
        rate: Spanned<BitRate> = "100Gbps";
        /// propagation delay of the hosts' links
        delay: Spanned<Span> = "1us";
        /// rate of the link between the switches
        bottleneck_rate: Spanned<BitRate> => "as rate";
        /// propagation delay of the link between the switches
        bottleneck_delay: Spanned<Span> => "as delay";
    }
    /// Switches in a row with two hosts each. Nodes: hosts 2i and 2i + 1 at the i-th switch, then the switches.
    struct ParkingLot {
        /// links between switches
        hops: Spanned<u32> = "3";
        /// rate of every link
        rate: Spanned<BitRate> = "100Gbps";
        /// propagation delay of every link
        delay: Spanned<Span> = "1us";
    }
    /// Leaves with hosts, each leaf linked to every spine. Nodes: hosts, leaves, spines
    /// (`host 3`, `leaf 1`, `spine 0`).
    struct LeafSpine {
        /// number of leaves
        leaves: Spanned<u32> = "4";
        /// number of spines
        spines: Spanned<u32> = "2";
        /// hosts at each leaf
        hosts_per_leaf: Spanned<u32> = "8";
        /// rate of a leaf's hosts over that of its spines, `4` or "3:2": instead of spines, or where these are given,
        /// of spine-rate
        oversubscription: Spanned<Ratio>;
        /// rate of the hosts' links
        rate: Spanned<BitRate> = "100Gbps";
        /// propagation delay of the hosts' links
        delay: Spanned<Span> = "1us";
        /// rate of the links between leaves and spines
        spine_rate: Spanned<BitRate> => "as rate";
        /// propagation delay of the links between leaves and spines
        spine_delay: Spanned<Span> => "as delay";
    }
    /// A rail-optimised network: every server has several GPUs with a NIC each, all of which are hosts here; the i-th
    /// of every server is at the i-th rail switch, every rail switch at every spine. GPUs of one server may have links
    /// inside it, which what goes between them takes; hosts do not forward. Nodes: hosts, server by server, rail
    /// switches, pod by pod, spines, switches inside servers (`host 3`, `rail 1` or `pod 0 rail 1`, `spine 0`, `server 2`).
    struct Rail {
        /// number of servers
        servers: Spanned<u32> = "4";
        /// GPUs of a server, each with a NIC: the number of rails
        gpus: Spanned<u32> = "8";
        /// servers that share rail switches; another pod has rail switches of its own
        servers_per_pod: Spanned<u32> => "all servers";
        /// number of spines; 0 for none: then a rail meets no other
        spines: Spanned<u32> => "as oversubscription says";
        /// rate of a rail switch's hosts over that of its spines, `4` or "3:2": instead of spines, or where these are
        /// given, of spine-rate
        oversubscription: Spanned<Ratio> = "1";
        /// rate of the hosts' links
        rate: Spanned<BitRate> = "400Gbps";
        /// propagation delay of the hosts' links
        delay: Spanned<Span> = "1us";
        /// rate of the links between rail switches and spines
        spine_rate: Spanned<BitRate> => "as rate";
        /// propagation delay of the links between rail switches and spines
        spine_delay: Spanned<Span> => "as delay";
        /// rate of each GPU's link to a switch inside its server (NVLink), which is modelled as a switch like others;
        /// `off` for none
        server_rate: Spanned<OrOff<BitRate>> = "off";
        /// propagation delay of the links inside servers
        server_delay: Spanned<Span> = "200ns", only(&[&[is_not(".server-rate", &["off"])]]);
    }
    /// The fat tree of k-port switches with k³/4 hosts (Al-Fares et al., SIGCOMM 2008). Nodes: hosts, edge,
    /// aggregation, core switches (`host 3`, `edge 0`, `aggregation 2`, `core 1`).
    struct FatTree {
        /// ports of a switch, even
        k: Spanned<u32> = "4";
        /// hosts at each edge switch, as a multiple of k/2: `4` or "4:1"
        oversubscription: Spanned<Ratio> = "1";
        /// rate of the hosts' links
        rate: Spanned<BitRate> = "100Gbps";
        /// propagation delay of every link
        delay: Spanned<Span> = "1us";
        /// rate of the links between edge and aggregation switches
        aggregation_rate: Spanned<BitRate> => "as rate";
        /// rate of the links between aggregation and core switches
        core_rate: Spanned<BitRate> => "as aggregation-rate";
    }
    /// The network of HPCC's evaluation: 320 hosts (nodes 0 to 319), 20 top-of-rack (320 to 339), 20 aggregation (340
    /// to 359) and 16 core switches (360 to 375).
    struct HpccFat {
        /// rate of the hosts' links
        rate: Spanned<BitRate> = "100Gbps";
        /// rate of the other links
        fabric_rate: Spanned<BitRate> = "400Gbps";
        /// propagation delay of every link
        delay: Spanned<Span> = "1us";
    }
    /// Nodes and links one by one.
    struct Graph {
        /// number of nodes; all that are not switches are hosts
        nodes: Spanned<u32>;
        /// list of the nodes that are switches
        switches: Vec<Spanned<u32>> = "[]";
        /// list of links: { a, b, rate, delay, error-rate }
        links: Vec<Spanned<Link>> = "[]";
    }
    /// A network of InfraGraph, YAML or JSON. An instance whose device has a NIC or an accelerator is a host, any other is
    /// a switch, and transceivers are parts of links. Nodes: hosts from 0, then switches, in the order of instances.
    struct InfraGraph {
        /// path of the file
        file: Spanned<String>;
        /// rate of links without a bandwidth in bits or bytes
        rate: BitRate => "such links are an error";
        /// propagation delay of links without a latency
        delay: Span => "such links are an error";
    }
    /// A link of `topology.graph`.
    struct Link {
        /// one end, a node
        a: Spanned<u32>;
        /// the other end
        b: Spanned<u32>;
        /// rate
        rate: Spanned<BitRate>;
        /// propagation delay
        delay: Spanned<Span>;
        /// packet loss probability
        error_rate: Spanned<f64> => "network.error-rate";
    }
}
