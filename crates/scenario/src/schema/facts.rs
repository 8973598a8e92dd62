//! Conditions under which settings have an effect: those that several declarations share, and facts about a run that
//! no single setting determines.

use paceline_congestion::params::{Condition, When, is, is_not};
use paceline_congestion::registry::{SchemeConfig, WindowMode};
use paceline_fabric::spec::{Fault, Noise, NoiseKind, Recovery, RunSpec};

/// Networks of the engine, as opposed to those of other simulators.
pub(crate) const OWN: Condition = is("fidelity", &["exact", "ns3-hpcc", "simai"]);
/// Networks with the engine's queue pairs.
pub(crate) const QUEUE_PAIRS: Condition = is("fidelity", &["exact", "ns3-hpcc", "simai", "bolt-ns3"]);
pub(crate) const PFC: Condition = is("network.flow-control", &["pfc"]);
pub(crate) const NO_CREDITS: Condition = is("network.flow-control", &["pfc", "none"]);
pub(crate) const CREDITS: Condition = is("network.flow-control", &["credits"]);
pub(crate) const NOT_BOLT: Condition = is_not("fidelity", &["bolt-ns3"]);
pub(crate) const NOT_TCD: Condition = is_not("fidelity", &["tcd-ns3"]);
pub(crate) const NOT_IB: Condition = is_not("fidelity", &["ib-omnet"]);

/// Runs in which switches of the engine may drop packets of lossy classes.
pub(crate) const LOSSY: When = &[
    &[OWN, is("network.flow-control", &["none"])],
    &[OWN, PFC, is_not("network.lossless", &["[1, 2, 3, 4, 5, 6, 7]"])],
];
/// Runs with flowlets.
pub(crate) const FLOWLETS: When = &[
    &[is("network.load-balancing", &["flowlet"])],
    &[
        is("network.load-balancing", &["adaptive"]),
        is("network.adaptive.per", &["flowlet"]),
    ],
];
/// Settings under which a ternary detector derives the longest continuous transmission of a port.
pub(crate) const DERIVED: [Condition; 2] = [is(".kind", &["tcd"]), is(".max-ton", &["auto"])];

/// Fact about a run.
pub(crate) struct Fact {
    name: &'static str,
    pub(crate) holds: fn(&RunSpec) -> bool,
    /// Reason why a dependent setting has no effect if the fact does not hold.
    pub(crate) idle: &'static str,
}

/// Schemes whose senders do not use the base round-trip time.
const WITHOUT_BASE_RTT: [&str; 9] = [
    "lstm-pid", "none", "fixed", "dcqcn", "timely", "qcn", "pcn", "ibcc", "rrcc",
];

fn any(run: &RunSpec, is: impl Fn(&SchemeConfig) -> bool) -> bool {
    run.schemes.iter().any(|spec| is(&spec.config))
}

static FACTS: [Fact; 19] = [
    Fact {
        name: "a link that is dark",
        holds: |run| {
            let is_dark = |noise: &Noise| matches!(noise.kind, NoiseKind::Script(Fault::Dark, _));
            run.noise.iter().any(is_dark)
        },
        idle: "no link is dark (network.link-error)",
    },
    Fact {
        name: "a scheme that uses INT",
        holds: |run| any(run, |scheme| scheme.needs().int),
        idle: "no flow's scheme uses telemetry (INT)",
    },
    Fact {
        name: "a scheme that uses PINT",
        holds: |run| any(run, |scheme| scheme.needs().pint),
        idle: "no flow's scheme uses probabilistic telemetry (PINT)",
    },
    Fact {
        name: "a scheme that uses timestamps",
        holds: |run| any(run, |scheme| scheme.needs().timestamp),
        idle: "no flow's scheme uses timestamps in packets",
    },
    Fact {
        name: "a scheme that adds headers",
        holds: |run| {
            any(run, |scheme| {
                let needs = scheme.needs();
                needs.int || needs.pint || needs.timestamp || needs.header > 0
            })
        },
        idle: "no flow's scheme adds headers",
    },
    Fact {
        name: "a scheme that sends CNPs or grants",
        holds: |run| {
            any(run, |scheme| {
                scheme.receiver_half().is_some() || scheme.needs().grants || scheme.name() == "qcn"
            })
        },
        idle: "no flow's receiver sends congestion notification packets or grants",
    },
    Fact {
        name: "a scheme that needs it",
        holds: |run| any(run, |scheme| scheme.switch_part().is_some()),
        idle: "no flow's scheme needs it",
    },
    Fact {
        name: "persistent connections",
        holds: |run| run.flows.iter().any(|flow| flow.connection.is_some()),
        idle: "no flow uses a persistent connection",
    },
    Fact {
        name: "a window, or a scheme that uses the base RTT",
        holds: |run| {
            let bounded = matches!(&run.nic.recovery, Recovery::SelectiveRepeat(irn) if irn.bdp_cap);
            let windows = run.schemes.iter().any(|spec| spec.window != WindowMode::Off);
            bounded || windows || any(run, |scheme| !WITHOUT_BASE_RTT.contains(&scheme.name()))
        },
        idle: "no flow has a window, and no scheme asks for the base RTT",
    },
    Fact {
        name: "a scheme that sets rates",
        // With the other schemes, windows control the sending of packets.
        holds: |run| {
            any(run, |scheme| {
                !["none", "dx", "nscc", "rccc"].contains(&scheme.name())
            })
        },
        idle: "no flow's scheme sets a rate",
    },
    Fact {
        name: "receivers that take time (`network.endpoint`)",
        holds: |run| run.nic.endpoint.is_some(),
        idle: "receivers answer at once (network.endpoint)",
    },
    Fact {
        name: "marks by curves",
        // Marks that no scheme reads are still counted, so the curves have an effect.
        holds: |run| {
            let no_reader = !any(run, |scheme| scheme.needs().ecn);
            no_reader || any(run, SchemeConfig::reads_curves) || !run.switch.detectors().is_empty()
        },
        idle: "switches mark by the rule of the flows' scheme",
    },
    Fact {
        name: "a link that fails",
        holds: |run| !run.failures.is_empty() && !run.quirks.gentle_failures,
        idle: "no link fails in a way that loses packets",
    },
    Fact {
        name: "flows that wait for others, with a delay",
        holds: |run| !run.programs.is_empty() || run.dependencies.iter().any(|one| !one.delay.is_zero()),
        idle: "no flow waits for another and then for a time",
    },
    Fact {
        name: "packets in several lanes",
        holds: |_| false,
        idle: "all packets of that simulator use the first lane",
    },
    Fact {
        name: "Bolt",
        holds: |run| any(run, |scheme| scheme.name() == "bolt"),
        idle: "no flow runs under bolt",
    },
    Fact {
        name: "Swift",
        holds: |run| any(run, |scheme| scheme.name() == "swift"),
        idle: "no flow runs under swift",
    },
    Fact {
        name: "a job by a trace",
        holds: |run| run.programs.iter().any(|program| program.state.has_operations()),
        idle: "no job is by a trace",
    },
    Fact {
        name: "a detector",
        holds: |run| !run.switch.detectors().is_empty(),
        idle: "no port has a detector (network.detection)",
    },
];

/// Returns the fact with this name.
pub(crate) fn fact(name: &str) -> Option<&'static Fact> {
    FACTS.iter().find(|fact| fact.name == name)
}
