//! The standard workloads of speed measurements.

use paceline_scenario::{Diagnostics, Fidelity, Overrides, Resolved};
use serde::Serialize;

/// A workload to measure.
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// A built-in scenario, or a text.
    scenario: Scenario,
    /// Changes to the scenario, and additional ones for the quick version.
    set: &'static [&'static str],
    quick: &'static [&'static str],
    fidelity: &'static str,
    /// True if `--input` may replace it.
    pub(super) replaceable: bool,
    /// True if it takes so long that it only runs if named.
    pub(super) long: bool,
    /// True if its flows have an external agent.
    pub(super) decided: bool,
    /// Another simulator that published this workload.
    pub(super) peer: Option<Peer>,
}

/// Another simulator whose workload is measured here.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Peer {
    /// Name of the simulator and of its experiment.
    pub(super) name: &'static str,
    /// Known cost, and the machine on which it was measured.
    pub(super) cost: &'static str,
    /// Packet hops per second on one core, in millions, derived from this cost.
    pub(super) hops_per_s: Option<f64>,
    /// Differences between our model and theirs.
    pub(super) differs: &'static str,
}

/// Default values of a workload.
const USUAL: Workload = Workload {
    name: "",
    scenario: Scenario::Text(""),
    set: &[],
    quick: &[],
    fidelity: "exact",
    replaceable: false,
    long: false,
    decided: false,
    peer: None,
};

enum Scenario {
    BuiltIn(&'static str),
    Text(&'static str),
}

/// Settings that disable recorders, so that only the simulation is measured.
const UNRECORDED: [&str; 6] = [
    "record.queue=off",
    "record.rates=off",
    "record.ports=off",
    "record.credits=off",
    "record.flows=off",
    "record.accounts=off",
];

const PERMUTATION: &str = r#"
name = "permutation"
duration = "1s"
[topology.fat-tree]
k = 8
rate = "100Gbps"
delay = "1us"
[[workload]]
permutation = { size = "10MB" }
[cc]
scheme = "hpcc"
"#;

const STARTUP: &str = r#"
name = "startup"
duration = "1us"
[topology.fat-tree]
k = 64
rate = "100Gbps"
delay = "1us"
[cc]
scheme = "hpcc"
"#;

/// The two switches of `infiniband-demo` with the same traffic, in fidelity `exact`.
const TWO_SWITCHES: &str = r#"
name = "two-switches"
duration = "1s"
topology.dumbbell = { left = 2, right = 17, rate = "32Gbps", delay = "1us" }
[[workload]]
flows = [{ src = 0, dst = 2, size = "80MiB" }, { src = 1, dst = 4, size = "80MiB" }]
[[workload]]
incast = { receiver = 4, senders = [3, "5..18"], size = "800KiB" }
[network]
flow-control = "credits"
[cc]
scheme = "none"
"#;

/// Each host of a fat tree sends 1 MiB to the host 16 pods further; queues hold 200 packets.
const DAYS_E5: &str = r#"
name = "days-e5"
seed = 51001
duration = "20ms"
[topology.fat-tree]
k = 32
rate = "100Gbps"
delay = "1us"
[[workload]]
permutation = { stride = 4096, size = "1MiB" }
[network]
mtu = "1460B"
data-header = "40B"
ack-header = "40B"
ack-min = "40B"
flow-control = "none"
drop = { policy = "tail", packets = 200 }
[cc]
scheme = "dctcp"
"#;

/// Constant-rate flows, with a packet of 1540 bytes every 1.232 us.
const DAYS_E6: &str = r#"
name = "days-e6"
duration = "1.9ms"
[topology.fat-tree]
k = 32
rate = "100Gbps"
delay = "5us"
[[workload]]
permutation = { stride = 4096, size = "23751420B" }
[network]
mtu = "1500B"
data-header = "40B"
ack-header = "40B"
ack-min = "40B"
flow-control = "none"
drop = { policy = "tail", packets = 200 }
[cc]
scheme = "fixed"
fixed = { rate = "10Gbps" }
"#;

/// Web search at a load of 0.3 between the 128 hosts of a fat tree; marks from 50 to 150 packets.
const UNISON: &str = r#"
name = "unison-k8"
duration = "100ms"
[topology.fat-tree]
k = 8
rate = "100Gbps"
delay = "3us"
[[workload]]
poisson = { sizes = "websearch", load = 0.3, from = "0s", to = "100ms" }
[network]
mtu = "1448B"
data-header = "52B"
ack-header = "52B"
ack-min = "52B"
flow-control = "none"
recovery = "irn"
ecn = { kmin = "75KB", kmax = "225KB", pmax = 0.02, reference-rate = "100Gbps" }
drop = { policy = "tail", limit = "4MB" }
[cc]
scheme = "dctcp"
"#;

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "incast-20",
        scenario: Scenario::BuiltIn("incast-20"),
        quick: &["workload.large.incast.sizes=[\"20MB\"]"],
        fidelity: "ns3-hpcc",
        ..USUAL
    },
    Workload {
        name: "fat320-hadoop30-2ms",
        scenario: Scenario::BuiltIn("fat320-hadoop30-2ms"),
        quick: &[
            "workload.background.poisson.to=200us",
            "workload.incast.incast-poisson.to=200us",
        ],
        replaceable: true,
        ..USUAL
    },
    Workload {
        name: "permutation-k8-mtu1000",
        scenario: Scenario::Text(PERMUTATION),
        quick: &["workload.0.permutation.size=1MB"],
        ..USUAL
    },
    Workload {
        name: "permutation-k8-mtu4096",
        scenario: Scenario::Text(PERMUTATION),
        set: &["network.mtu=4096B"],
        quick: &["workload.0.permutation.size=1MB"],
        ..USUAL
    },
    Workload {
        name: "permutation-k16",
        scenario: Scenario::Text(PERMUTATION),
        set: &["topology.fat-tree.k=16", "workload.0.permutation.size=1MB"],
        quick: &["workload.0.permutation.size=100KB"],
        ..USUAL
    },
    Workload {
        name: "startup-k64",
        scenario: Scenario::Text(STARTUP),
        quick: &["topology.fat-tree.k=16"],
        ..USUAL
    },
    Workload {
        name: "incast-20-lstm-pid",
        scenario: Scenario::BuiltIn("incast-20"),
        set: &["cc.scheme=lstm-pid"],
        quick: &["workload.large.incast.sizes=[\"20MB\"]"],
        fidelity: "ns3-hpcc",
        ..USUAL
    },
    Workload {
        name: "infiniband-demo",
        scenario: Scenario::BuiltIn("infiniband-demo"),
        quick: &["duration=12ms"],
        fidelity: "ib-omnet",
        ..USUAL
    },
    Workload {
        name: "infiniband-fat-tree-128",
        scenario: Scenario::BuiltIn("infiniband-fat-tree-128"),
        quick: &["duration=7ms"],
        fidelity: "ib-omnet",
        ..USUAL
    },
    Workload {
        name: "infiniband-fat-tree-1024",
        scenario: Scenario::BuiltIn("infiniband-fat-tree-1024"),
        quick: &["duration=7ms"],
        fidelity: "ib-omnet",
        long: true,
        ..USUAL
    },
    Workload {
        name: "two-switches-ib",
        scenario: Scenario::Text(TWO_SWITCHES),
        quick: &["workload.0.flows.0.size=8MiB", "workload.0.flows.1.size=8MiB"],
        ..USUAL
    },
    Workload {
        name: "permutation-k8-ib",
        scenario: Scenario::Text(PERMUTATION),
        set: &[
            "network.flow-control=credits",
            "network.ecmp-hash=d-mod-k",
            "cc.scheme=none",
        ],
        quick: &["workload.0.permutation.size=1MB"],
        ..USUAL
    },
    Workload {
        name: "permutation-k16-ib",
        scenario: Scenario::Text(PERMUTATION),
        set: &[
            "topology.fat-tree.k=16",
            "workload.0.permutation.size=1MB",
            "network.flow-control=credits",
            "network.ecmp-hash=d-mod-k",
            "cc.scheme=none",
        ],
        quick: &["workload.0.permutation.size=100KB"],
        ..USUAL
    },
    Workload {
        name: "uet-permutation-1024",
        scenario: Scenario::BuiltIn("uet-permutation-1024"),
        quick: &["duration=20us"],
        fidelity: "uet-htsim",
        ..USUAL
    },
    Workload {
        name: "uec-permutation",
        scenario: Scenario::BuiltIn("uec-permutation"),
        quick: &["workload.permutation.permutation.size=200KB"],
        ..USUAL
    },
    Workload {
        name: "decisions-16",
        scenario: Scenario::Text(super::decisions::SIXTEEN),
        quick: &["duration=5ms"],
        decided: true,
        ..USUAL
    },
    Workload {
        name: "permutation-k32",
        scenario: Scenario::Text(PERMUTATION),
        set: &["topology.fat-tree.k=32", "workload.0.permutation.size=200KB"],
        quick: &["workload.0.permutation.size=20KB"],
        long: true,
        ..USUAL
    },
    Workload {
        name: "permutation-k8-recorded",
        scenario: Scenario::Text(PERMUTATION),
        set: &["record.ports=auto", "record.accounts=auto"],
        quick: &["workload.0.permutation.size=1MB"],
        ..USUAL
    },
    Workload {
        name: "days-e5",
        scenario: Scenario::Text(DAYS_E5),
        quick: &["workload.0.permutation.size=20KB"],
        long: true,
        peer: Some(Peer {
            name: "Days, E5",
            cost: "126.2 s of one core of an i7-13700K for 70.8 million packet-hops (212,378,014 transitions, three a hop); 5.0 s \
                   on 22 threads, 0.76 s on an RTX 4090 (published)",
            hops_per_s: Some(0.561),
            differs: "DCTCP stands for TCP Reno, so more packets are dropped and sent again",
        }),
        ..USUAL
    },
    Workload {
        name: "days-e6",
        scenario: Scenario::Text(DAYS_E6),
        quick: &["duration=20us"],
        long: true,
        peer: Some(Peer {
            name: "Days, E6",
            cost: "we know of no published time",
            hops_per_s: None,
            differs: "receivers acknowledge each packet; a tenth of the 19 ms is simulated",
        }),
        ..USUAL
    },
    Workload {
        name: "unison-k8",
        scenario: Scenario::Text(UNISON),
        quick: &["duration=1ms", "workload.0.poisson.to=1ms"],
        long: true,
        peer: Some(Peer {
            name: "Unison, `mtp-sync`",
            cost: "40 minutes on 8 cores (its authors' estimate for the experiment)",
            hops_per_s: None,
            differs: "a flow keeps its path (there: a path per packet), and DCTCP has a rate and selective repeat (there: TCP)",
        }),
        ..USUAL
    },
    Workload {
        name: "uet-perm-1024",
        scenario: Scenario::BuiltIn("uet-permutation-1024"),
        set: &[
            "seed=31",
            "parity.uet-htsim.linkspeed=800000",
            "parity.uet-htsim.load-balancing=reps_legacy",
            "parity.uet-htsim.paths=64",
        ],
        quick: &["duration=20us"],
        fidelity: "uet-htsim",
        peer: Some(Peer {
            name: "htsim_uec, permutation of 1024 hosts",
            cost: "3.65 to 3.89 s of one core, 131 MB (measured by us: -O3, two-core cloud machine)",
            hops_per_s: None,
            differs: "nothing: the same events; its connection matrix is another draw",
        }),
        ..USUAL
    },
    Workload {
        name: "hpcc-320",
        scenario: Scenario::BuiltIn("fat320-hadoop30-2ms"),
        quick: &[
            "workload.background.poisson.to=200us",
            "workload.incast.incast-poisson.to=200us",
        ],
        fidelity: "ns3-hpcc",
        peer: Some(Peer {
            name: "HPCC's ns-3 simulator, 320 hosts",
            cost: "85.6 s of one core for 28.0 million packet-hops, 348 MB (measured by us: -O3 -march=native, busy two-core \
                   cloud machine)",
            hops_per_s: Some(0.327),
            differs: "nothing: the same events; its flows are another draw",
        }),
        ..USUAL
    },
];

impl Workload {
    /// Returns the changes to its scenario.
    pub(super) fn overrides(&self, quick: bool) -> Overrides {
        let further = if quick { self.quick } else { &[] };
        // A simulator with its own options does not have the engine's records.
        let unrecorded: &[&str] = match self.fidelity {
            "uet-htsim" => &[],
            _ => &UNRECORDED,
        };
        let set = unrecorded.iter().chain(self.set).chain(further);
        let text = match self.scenario {
            Scenario::Text(text) => Some(text.to_string()),
            Scenario::BuiltIn(_) => None,
        };
        Overrides {
            set: set.map(|text| (*text).to_string()).collect(),
            fidelity: Fidelity::named(self.fidelity),
            text,
            ..Overrides::default()
        }
    }

    /// Resolves the run.
    pub(super) fn resolve(&self, quick: bool) -> Result<Resolved, Diagnostics> {
        let overrides = self.overrides(quick);
        match self.scenario {
            // The user's directory may have a folder of that name, which must not be used.
            Scenario::BuiltIn(name) => paceline_scenario::load_shipped(name, &overrides),
            Scenario::Text(_) => paceline_lab::load(self.name, &overrides),
        }
    }
}

#[cfg(all(test, feature = "parity"))]
mod tests {
    use super::*;

    /// Adds the simulators before anything is looked up, as a program does.
    #[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
    #[ctor::ctor(unsafe)]
    fn guests() {
        paceline_parity::install();
    }

    /// Workloads do not depend on the current directory: files that a scenario refers to are built in.
    #[test]
    fn every_workload_is_found_with_its_files() {
        for workload in WORKLOADS {
            for quick in [false, true] {
                let problems = workload.resolve(quick).err().map(|problems| problems.to_string());
                assert_eq!(problems, None, "{}", workload.name);
            }
        }
    }
}
