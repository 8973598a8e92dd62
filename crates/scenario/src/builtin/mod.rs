//! What is built in: topologies, workloads, scenarios. The tables behind `list` and `explain`.

mod extents;
mod sections;
mod workloads;

use crate::traffic::DISTRIBUTIONS;

pub use extents::{GROUPS, Group, ScenarioSize};
pub use sections::sections;
pub use workloads::workloads;

/// A parameter of something built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The key in a scenario.
    pub name: &'static str,
    /// The unit in which it is written; empty for a plain number or a name.
    pub unit: &'static str,
    /// The default; empty if it must be given.
    pub default: &'static str,
    /// What it is.
    pub help: &'static str,
}

/// Something built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name of its block in a scenario.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
}

/// A scenario that ships.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// The whole file.
    pub text: &'static str,
    /// Files that it names: path as it stands there, and text.
    pub files: &'static [(&'static str, &'static str)],
}

impl Shipped {
    /// What it shows and where it is from: the comment at the file's head.
    pub fn about(&self) -> String {
        let lines = self.text.lines().map_while(|line| line.strip_prefix('#'));
        lines.map(str::trim).collect::<Vec<_>>().join(" ")
    }
    /// Its description in one line.
    pub fn description(&self) -> &'static str {
        let line = self
            .text
            .lines()
            .find_map(|line| line.strip_prefix("description = "));
        line.unwrap_or_default().trim_matches('"')
    }
}

const RATE: &str = "bps, Kbps, Mbps, Gbps";
const TIME: &str = "s, ms, us, ns, ps";
const SIZE: &str = "B, KB, MB, GB, KiB, MiB, GiB";

macro_rules! entries {
    ($($name:literal: $summary:literal { $($key:literal, $unit:expr, $default:literal, $help:literal;)* })*) => {
        &[$(Entry {
            name: $name,
            summary: $summary,
            parameters: &[$(Parameter { name: $key, unit: $unit, default: $default, help: $help },)*],
        },)*]
    };
}

pub(crate) use entries;

/// The topologies, blocks of `[topology]`.
pub fn topologies() -> &'static [Entry] {
    entries! {
        "star": "One switch (node 0) with hosts (nodes 1 to `hosts`)." {
            "hosts", "", "16", "number of hosts";
            "rate", RATE, "100Gbps", "rate of every link";
            "delay", TIME, "1us", "propagation delay of every link";
        }
        "dumbbell": "Two switches with hosts, and one link between them. Nodes: the hosts on the left from 0, those on the right, the two switches." {
            "left", "", "2", "hosts on the left";
            "right", "", "2", "hosts on the right";
            "rate", RATE, "100Gbps", "rate of the hosts' links";
            "delay", TIME, "1us", "propagation delay of the hosts' links";
            "bottleneck-rate", RATE, "as rate", "rate of the link between the switches";
            "bottleneck-delay", TIME, "as delay", "propagation delay of the link between the switches";
        }
        "parking-lot": "Switches in a row with two hosts each. Nodes: hosts 2i and 2i + 1 at the i-th switch, then the switches." {
            "hops", "", "3", "links between switches";
            "rate", RATE, "100Gbps", "rate of every link";
            "delay", TIME, "1us", "propagation delay of every link";
        }
        "leaf-spine": "Leaves with hosts, each leaf linked to every spine. Nodes: hosts, leaves, spines." {
            "leaves", "", "4", "number of leaves";
            "spines", "", "2", "number of spines";
            "hosts-per-leaf", "", "8", "hosts at each leaf";
            "oversubscription", "", "", "rate of a leaf's hosts over that of its spines, `4` or \"3:2\": instead of spines, or where these are given, of spine-rate";
            "rate", RATE, "100Gbps", "rate of the hosts' links";
            "delay", TIME, "1us", "propagation delay of the hosts' links";
            "spine-rate", RATE, "as rate", "rate of the links between leaves and spines";
            "spine-delay", TIME, "as delay", "propagation delay of the links between leaves and spines";
        }
        "rail": "A rail-optimised network: every server has several GPUs with a NIC each, all of which are hosts here; the i-th of every server is at the i-th rail switch, every rail switch at every spine. GPUs of one server may have links inside it, which what goes between them takes; hosts do not forward. Nodes: hosts, server by server, rail switches, pod by pod, spines, switches inside servers." {
            "servers", "", "4", "number of servers";
            "gpus", "", "8", "GPUs of a server, each with a NIC: the number of rails";
            "servers-per-pod", "", "all servers", "servers that share rail switches; another pod has rail switches of its own";
            "spines", "", "as oversubscription says", "number of spines; 0 for none: then a rail meets no other";
            "oversubscription", "", "1", "rate of a rail switch's hosts over that of its spines, `4` or \"3:2\": instead of spines, or where these are given, of spine-rate";
            "rate", RATE, "400Gbps", "rate of the hosts' links";
            "delay", TIME, "1us", "propagation delay of the hosts' links";
            "spine-rate", RATE, "as rate", "rate of the links between rail switches and spines";
            "spine-delay", TIME, "as delay", "propagation delay of the links between rail switches and spines";
            "server-rate", RATE, "off", "rate of each GPU's link to a switch inside its server (NVLink), which is modelled as a switch like others; `off` for none";
            "server-delay", TIME, "200ns", "propagation delay of the links inside servers";
        }
        "fat-tree": "The fat tree of k-port switches with k³/4 hosts (Al-Fares et al., SIGCOMM 2008). Nodes: hosts, edge, aggregation, core switches." {
            "k", "", "4", "ports of a switch, even";
            "oversubscription", "", "1", "hosts at each edge switch, as a multiple of k/2: `4` or \"4:1\"";
            "rate", RATE, "100Gbps", "rate of the hosts' links";
            "aggregation-rate", RATE, "as rate", "rate of the links between edge and aggregation switches";
            "core-rate", RATE, "as aggregation-rate", "rate of the links between aggregation and core switches";
            "delay", TIME, "1us", "propagation delay of every link";
        }
        "hpcc-fat": "The network of HPCC's evaluation: 320 hosts (nodes 0 to 319), 20 top-of-rack (320 to 339), 20 aggregation (340 to 359) and 16 core switches (360 to 375)." {
            "rate", RATE, "100Gbps", "rate of the hosts' links";
            "fabric-rate", RATE, "400Gbps", "rate of the other links";
            "delay", TIME, "1us", "propagation delay of every link";
        }
        "graph": "Nodes and links one by one." {
            "nodes", "", "", "number of nodes; all that are not switches are hosts";
            "switches", "", "[]", "list of the nodes that are switches";
            "links", "", "[]", "list of links: { a, b, rate, delay, error-rate }";
        }
        "file": "A topology file of HPCC's ns-3 simulator or one of its relatives, or a fat tree of htsim (.topo): `topology.file = \"topology.txt\"`." {}
    }
}

/// Distributions of flow sizes: name and source.
pub fn distributions() -> impl Iterator<Item = (&'static str, &'static str)> {
    DISTRIBUTIONS.iter().map(|&(name, _, source)| (name, source))
}

macro_rules! shipped {
    ($($name:literal $(in $path:literal $(with $file:literal)? $(beside $messages:literal)?)?),* $(,)?) => {
        &[$(shipped!(@one $name $($path $($file)? $(beside $messages)?)?),)*]
    };
    (@one $name:literal $path:literal beside $file:literal) => {
        shipped!(@text $name, $path, &[(
            concat!("messages/", $file),
            include_str!(concat!("../../../../scenarios/infiniband/messages/", $file)),
        )])
    };
    (@one $name:literal) => { shipped!(@text $name, concat!($name, ".toml"), &[]) };
    (@one $name:literal $path:literal) => { shipped!(@text $name, $path, &[]) };
    (@one $name:literal $path:literal $file:literal) => {
        shipped!(@text $name, $path, &[(
            concat!("flows/", $file),
            include_str!(concat!("../../../../scenarios/bolt/flows/", $file)),
        )])
    };
    (@text $name:literal, $path:expr, $files:expr) => {
        Shipped { name: $name, text: include_str!(concat!("../../../../scenarios/", $path)), files: $files }
    };
}

/// The scenarios that ship.
pub fn scenarios() -> &'static [Shipped] {
    shipped![
        "incast-20",
        "incast-16",
        "two-flow-join",
        "fairness-4",
        "long-flows-short-flows",
        "many-to-one-16",
        "many-to-one-512",
        "many-to-one-2048",
        "many-to-one-8192",
        "all-to-all-1",
        "all-to-all-4",
        "all-to-all-16",
        "all-to-all-broadcast-1",
        "all-to-all-broadcast-4",
        "all-to-all-broadcast-16",
        "permutation-k8",
        "ring-all-reduce",
        "hierarchical-all-reduce",
        "ai-cluster",
        "all-to-all-linear",
        "all-to-all-pairwise",
        "fat320-websearch30",
        "fat320-websearch30-incast",
        "fat320-websearch50",
        "fat320-websearch50-incast",
        "fat320-hadoop30",
        "fat320-hadoop30-2ms",
        "fat320-hadoop30-10ms",
        "fat320-hadoop50",
        "fat320-hadoop50-incast",
        "leaf-spine-failure",
        "link-flap",
        "recovery-loss",
        "hpcc-recovery",
        "swift-incast",
        "swift-target-scaling",
        "pfc-storm",
        "pfc-deadlock",
        "load-balancing",
        "pcn-head-of-line",
        "tcd-single-point",
        "acc-drain",
        "acc-join",
        "acc-parking-lot",
        "acc-victims",
        "acc-shared-class",
        "acc-fat250-hadoop60",
        "acc-fat250-websearch60",
        "tcd-fat-tree",
        "tcd-fairness",
        "tcd-victims",
        "tcd-testbed",
        "qcn-incast",
        "swift-many-flows",
        "swift-long-flows",
        "decision-latency" in "learned/decision-latency.toml",
        "decisions-in-service" in "learned/decisions-in-service.toml",
        "prediction-value" in "learned/prediction-value.toml",
        "lstm-pid-rates" in "learned/lstm-pid-rates.toml",
        "lstm-pid-senders" in "learned/lstm-pid-senders.toml",
        "lstm-pid-rtts" in "learned/lstm-pid-rtts.toml",
        "lstm-pid-leaf-spine" in "learned/lstm-pid-leaf-spine.toml",
        "rl-cc" in "learned/rl-cc.toml",
        "rl-cc-all-to-all" in "learned/rl-cc-all-to-all.toml",
        "rl-cc-long-short" in "learned/rl-cc-long-short.toml",
        "bolt-single" in "bolt/single.toml",
        "bolt-join100" in "bolt/join100.toml",
        "bolt-join1000" in "bolt/join1000.toml",
        "bolt-leave200" in "bolt/leave200.toml",
        "bolt-leave4000" in "bolt/leave4000.toml",
        "bolt-down400" in "bolt/down400.toml",
        "bolt-fair5" in "bolt/fair5.toml",
        "bolt-star5-1500" in "bolt/star5-1500.toml",
        "bolt-star5-5000" in "bolt/star5-5000.toml",
        "bolt-util60" in "bolt/util60.toml" with "util60.csv",
        "bolt-incast50x100" in "bolt/incast50x100.toml",
        "bolt-star16-fb" in "bolt/star16-fb.toml" with "star16-fb.csv",
        "bolt-fat32-fb" in "bolt/fat32-fb.toml" with "fat32-fb.csv",
        "bolt-solo-star16" in "bolt/solo-star16.toml" with "solo-star16.csv",
        "bolt-solo-fat32" in "bolt/solo-fat32.toml" with "solo-fat32.csv",
        "bolt-lab80" in "bolt/lab80.toml" with "lab80.csv",
        "bolt-fat256-100" in "bolt/fat256-100.toml",
        "bolt-fat256-400" in "bolt/fat256-400.toml",
        "infiniband-demo" in "infiniband/demo.toml",
        "infiniband-unfairness" in "infiniband/unfairness.toml",
        "infiniband-row" in "infiniband/row.toml",
        "infiniband-join" in "infiniband/join.toml",
        "infiniband-fat-tree-128" in "infiniband/fat-tree-128.toml" beside "fat-tree-128.csv",
        "infiniband-fat-tree-1024" in "infiniband/fat-tree-1024.toml" beside "fat-tree-1024.csv",
        "tcd-credits" in "credits/tcd.toml",
        "tcd-credits-victims" in "credits/victims.toml",
        "infiniband-service-level" in "credits/service-level.toml",
        "infiniband-osu" in "credits/osu.toml",
        "infiniband-all-to-all" in "credits/all-to-all.toml",
        "credits-cable" in "credits/cable.toml",
        "infiniband-mpi-io" in "credits/mpi-io.toml",
    ]
}

/// The 20-to-1 incast with its flows `scale` times as large, as a scenario.
///
/// # Panics
/// If `scale` is not above zero.
pub fn demo(scale: f64) -> String {
    assert!(scale > 0.0 && scale.is_finite(), "a scale is above zero");
    let bytes = |megabytes: f64| paceline_kernel::Bytes::new(((megabytes * 1e6 * scale) as u64).max(1));
    let (large, medium, small) = (bytes(200.0), bytes(150.0), bytes(5.0));
    format!(
        r#"# The 20-to-1 incast: three large flows and seventeen small ones meet at one link.
name = "demo"
description = "20-to-1 incast, sizes times {scale}"
duration = "1s"

[topology.star]
hosts = 21
rate = "100Gbps"
delay = "1us"

[[workload]]
label = "large"
incast = {{ senders = [1, 2, 3], receiver = 21, sizes = ["{large}", "{large}", "{medium}"] }}

[[workload]]
label = "small"
incast = {{ senders = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20], receiver = 21, size = "{small}" }}

[cc]
scheme = "hpcc"

[record]
queue = "1us"
rates = "10us"
"#
    )
}
