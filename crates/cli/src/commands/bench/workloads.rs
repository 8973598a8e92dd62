//! The canonical speed workloads.

use paceline_scenario::{Diagnostics, Fidelity, Overrides, Resolved};

/// Something to measure.
pub(super) struct Workload {
    pub(super) name: &'static str,
    /// A scenario that ships, or a text.
    scenario: Scenario,
    /// Changes, and further ones for the quick version.
    set: &'static [&'static str],
    quick: &'static [&'static str],
    fidelity: &'static str,
    /// Whether the user may measure something of his own in its place.
    pub(super) replaceable: bool,
    /// Whether it takes so long that it is measured only where it is asked for.
    pub(super) long: bool,
    /// Whether its flows are decided for outside the run.
    pub(super) decided: bool,
}

enum Scenario {
    Shipped(&'static str),
    Text(&'static str),
}

/// No recording, unless a workload says so: what is measured is the simulation.
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

/// The two switches of `infiniband-demo`, and what is sent there, in fidelity `exact`.
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

pub(super) const WORKLOADS: &[Workload] = &[
    Workload {
        name: "incast-20",
        scenario: Scenario::Shipped("incast-20"),
        set: &[],
        quick: &["workload.large.incast.sizes=[\"20MB\"]"],
        fidelity: "ns3-hpcc",
        replaceable: false,
        long: false,
        decided: false,
    },
    Workload {
        name: "fat320-hadoop30-2ms",
        scenario: Scenario::Shipped("fat320-hadoop30-2ms"),
        set: &[],
        quick: &[
            "workload.background.poisson.to=200us",
            "workload.incast.incast-poisson.to=200us",
        ],
        fidelity: "exact",
        replaceable: true,
        long: false,
        decided: false,
    },
    Workload {
        name: "permutation-k8-mtu1000",
        scenario: Scenario::Text(PERMUTATION),
        set: &[],
        quick: &["workload.0.permutation.size=1MB"],
        fidelity: "exact",
        replaceable: false,
        long: false,
        decided: false,
    },
    Workload {
        name: "permutation-k8-mtu4096",
        scenario: Scenario::Text(PERMUTATION),
        set: &["network.mtu=4096B"],
        quick: &["workload.0.permutation.size=1MB"],
        fidelity: "exact",
        replaceable: false,
        long: false,
        decided: false,
    },
    Workload {
        name: "permutation-k16",
        scenario: Scenario::Text(PERMUTATION),
        set: &["topology.fat-tree.k=16", "workload.0.permutation.size=1MB"],
        quick: &["workload.0.permutation.size=100KB"],
        fidelity: "exact",
        replaceable: false,
        long: false,
        decided: false,
    },
    Workload {
        name: "startup-k64",
        scenario: Scenario::Text(STARTUP),
        set: &[],
        quick: &["topology.fat-tree.k=16"],
        fidelity: "exact",
        replaceable: false,
        long: false,
        decided: false,
    },
    Workload {
        name: "incast-20-lstm-pid",
        scenario: Scenario::Shipped("incast-20"),
        set: &["cc.scheme=lstm-pid"],
        quick: &["workload.large.incast.sizes=[\"20MB\"]"],
        fidelity: "ns3-hpcc",
        replaceable: false,
        long: false,
        decided: false,
    },
    Workload {
        name: "infiniband-demo",
        scenario: Scenario::Shipped("infiniband-demo"),
        set: &[],
        quick: &["duration=12ms"],
        fidelity: "ib-omnet",
        replaceable: false,
        long: false,
        decided: false,
    },
    Workload {
        name: "infiniband-fat-tree-128",
        scenario: Scenario::Shipped("infiniband-fat-tree-128"),
        set: &[],
        quick: &["duration=7ms"],
        fidelity: "ib-omnet",
        replaceable: false,
        long: false,
        decided: false,
    },
    Workload {
        name: "infiniband-fat-tree-1024",
        scenario: Scenario::Shipped("infiniband-fat-tree-1024"),
        set: &[],
        quick: &["duration=7ms"],
        fidelity: "ib-omnet",
        replaceable: false,
        long: true,
        decided: false,
    },
    Workload {
        name: "two-switches-ib",
        scenario: Scenario::Text(TWO_SWITCHES),
        set: &[],
        quick: &["workload.0.flows.0.size=8MiB", "workload.0.flows.1.size=8MiB"],
        fidelity: "exact",
        replaceable: false,
        long: false,
        decided: false,
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
        fidelity: "exact",
        replaceable: false,
        long: false,
        decided: false,
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
        fidelity: "exact",
        replaceable: false,
        long: false,
        decided: false,
    },
    Workload {
        name: "uet-permutation-1024",
        scenario: Scenario::Shipped("uet-permutation-1024"),
        set: &[],
        quick: &["duration=20us"],
        fidelity: "uet-htsim",
        replaceable: false,
        long: false,
        decided: false,
    },
    Workload {
        name: "uec-permutation",
        scenario: Scenario::Shipped("uec-permutation"),
        set: &[],
        quick: &["workload.permutation.permutation.size=200KB"],
        fidelity: "exact",
        replaceable: false,
        long: false,
        decided: false,
    },
    Workload {
        name: "decisions-16",
        scenario: Scenario::Text(super::decisions::SIXTEEN),
        set: &[],
        quick: &["duration=5ms"],
        fidelity: "exact",
        replaceable: false,
        long: false,
        decided: true,
    },
    Workload {
        name: "permutation-k32",
        scenario: Scenario::Text(PERMUTATION),
        set: &["topology.fat-tree.k=32", "workload.0.permutation.size=200KB"],
        quick: &["workload.0.permutation.size=20KB"],
        fidelity: "exact",
        replaceable: false,
        long: true,
        decided: false,
    },
    Workload {
        name: "permutation-k8-recorded",
        scenario: Scenario::Text(PERMUTATION),
        set: &["record.ports=auto", "record.accounts=auto"],
        quick: &["workload.0.permutation.size=1MB"],
        fidelity: "exact",
        replaceable: false,
        long: false,
        decided: false,
    },
];

impl Workload {
    /// What changes its scenario.
    pub(super) fn overrides(&self, quick: bool) -> Overrides {
        let further = if quick { self.quick } else { &[] };
        // A simulator with options of its own has no records of the engine's.
        let unrecorded: &[&str] = match self.fidelity {
            "uet-htsim" => &[],
            _ => &UNRECORDED,
        };
        let set = unrecorded.iter().chain(self.set).chain(further);
        let text = match self.scenario {
            Scenario::Text(text) => Some(text.to_string()),
            Scenario::Shipped(_) => None,
        };
        Overrides {
            set: set.map(|text| (*text).to_string()).collect(),
            fidelity: Fidelity::named(self.fidelity),
            text,
            ..Overrides::default()
        }
    }

    /// The run.
    pub(super) fn resolve(&self, quick: bool) -> Result<Resolved, Diagnostics> {
        let overrides = self.overrides(quick);
        match self.scenario {
            // There may be a folder of that name where the user is.
            Scenario::Shipped(name) => paceline_scenario::load_shipped(name, &overrides),
            Scenario::Text(_) => paceline_lab::load(self.name, &overrides),
        }
    }
}

#[cfg(all(test, feature = "parity"))]
mod tests {
    use super::*;

    /// Tests have the simulators that a program adds before anything is looked up.
    #[allow(unsafe_code, reason = "it runs before `main`, where nothing else does")]
    #[ctor::ctor(unsafe)]
    fn guests() {
        paceline_parity::install();
    }

    /// Wherever the user is: what a scenario refers to ships with it.
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
