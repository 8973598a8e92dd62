//! Networks, who sends in them, and what runs come to: the steps of `decc-law`, `decc-latency` and `decc-regret`, one for each
//! network, so that an experiment that was stopped goes on with the next.

use std::sync::Arc;

use paceline_congestion::decc;
use paceline_congestion::learned::{ModelRef, shipped};
use paceline_congestion::params::Auto;
use paceline_congestion::registry::SchemeConfig;
use paceline_fabric::spec::{RunSpec, SchemeSpec};
use paceline_kernel::Span;
use paceline_learn::decc::EVALUATION;
use paceline_learn::search::{Measured, Network, SWIFT_BY_HAND, SWIFT_SEARCHED, Shape, Subject, oracle};
use paceline_scenario::{Overrides, load_text};

use super::watched::in_chunks;
use crate::{Metrics, Step, StepError, Work};

/// A network, how many seeds, and what else is different there.
#[derive(Clone, Copy)]
struct Case {
    label: &'static str,
    network: fn() -> Network,
    seeds: u64,
    more: More,
}

impl Case {
    /// A network in which nothing else is different.
    const fn plain(label: &'static str, network: fn() -> Network, seeds: u64) -> Self {
        Self {
            label,
            network,
            seeds,
            more: More::Nothing,
        }
    }

    /// Whether a sender is run here: whole schemes other than DCQCN are not mixed with it.
    fn compares(&self, who: Who) -> bool {
        self.more != More::Mixed || !matches!(who, Who::Scheme(name) if name != "dcqcn")
    }
}

/// The step of a case under these senders.
macro_rules! step {
    ($case:expr, $senders:expr) => {
        Step {
            name: $case.label,
            title: $case.label,
            work: |task: &mut Work<'_>| work(task, &$case, &$senders),
        }
    };
}

/// Every step.
pub(super) const STEPS: [Step; 17] = [
    step!(LAW[0], LAW_SENDERS),
    step!(LAW[1], LAW_SENDERS),
    step!(LAW[2], LAW_SENDERS),
    step!(LAW[3], LAW_SENDERS),
    step!(LAW[4], LAW_SENDERS),
    step!(LAW[5], LAW_SENDERS),
    step!(LAW[6], LAW_SENDERS),
    step!(LAW[7], LAW_SENDERS),
    step!(TABLE[0], TABLE_SENDERS),
    step!(CURVE[0], LATENCIES),
    step!(CURVE[1], LATENCIES),
    step!(REGRET[0], REGRET_SENDERS),
    step!(REGRET[1], REGRET_SENDERS),
    step!(REGRET[2], REGRET_SENDERS),
    step!(REGRET[3], REGRET_SENDERS),
    step!(REGRET[4], REGRET_SENDERS),
    step!(REGRET[5], REGRET_SENDERS),
];

/// What else is different.
#[derive(Clone, Copy, PartialEq)]
enum More {
    Nothing,
    /// Priority flow control, with 32 MB of buffer.
    Pfc,
    /// The same; every other flow is under DCQCN.
    Mixed,
}

/// Who sends.
#[derive(Clone, Copy)]
enum Who {
    /// Flows that know how many they are.
    Oracle,
    SwiftByHand,
    SwiftTuned,
    /// DECC under a model that ships.
    Model(&'static str),
    /// The same; each decision takes so many ns, and a NIC computes so many at a time (0: any number).
    Slow(&'static str, u64, u32),
    /// A scheme with the parameters that it has by itself.
    Scheme(&'static str),
}

/// What is kept of a run: its name, and how it is found.
type Quantity = (&'static str, fn(&Measured) -> f64);

const QUANTITIES: [Quantity; 6] = [
    ("goodput, of link capacity", |run| 100.0 * run.settled.goodput),
    ("p99 of one-way latency", |run| run.p99_us),
    ("Jain's index", |run| run.settled.jain),
    ("packets lost", |run| 100.0 * run.settled.loss),
    ("packets lost in the whole run", |run| 100.0 * run.whole.loss),
    ("cost", |run| run.settled.cost()),
];

/// A run lasts as long as each flow sends so many packets, where flows are many.
const PACKETS: f64 = 60.0;

/// Under `who`, in place of the scheme of a resolved scenario; nothing where that scheme stays.
fn config(who: Who, network: &Network) -> Result<Option<SchemeConfig>, StepError> {
    let model = |name: &str, latency_ns: u64, decisions_in_service: u32| {
        let model = shipped::find(name).ok_or_else(|| StepError::of(format!("no model `{name}` ships")))?;
        let params = decc::Params {
            model: Auto::Is(ModelRef::read_from(name, Arc::clone(&model))),
            decision_latency: Span::from_ns(latency_ns),
            decisions_in_service,
            ..decc::Params::default()
        };
        Ok(Some(params.into()))
    };
    let swift = |values: &[f64]| {
        let config = Subject::Swift.config(values, network);
        config.map(Some).map_err(StepError::of)
    };
    match who {
        Who::Oracle => Ok(Some(oracle(network))),
        Who::SwiftByHand => swift(&SWIFT_BY_HAND),
        Who::SwiftTuned => swift(&SWIFT_SEARCHED),
        Who::Model(name) => model(name, 0, 0),
        Who::Slow(name, latency_ns, in_service) => model(name, latency_ns, in_service),
        Who::Scheme(_) => Ok(None),
    }
}

fn run(case: &Case, who: Who, seed: u64) -> Result<Measured, StepError> {
    let network = Network {
        packets: PACKETS,
        ..(case.network)()
    };
    let mut text = network.scenario();
    let own = match (case.more, who) {
        (More::Mixed, _) => Some("dcqcn"),
        (_, Who::Scheme(name)) => Some(name),
        _ => None,
    };
    if let Some(name) = own {
        text = text.replace("scheme = \"none\"", &format!("scheme = \"{name}\""));
    }
    if case.more != More::Nothing {
        text = text
            .replace("flow-control = \"none\"", "flow-control = \"pfc\"")
            .replace(
                &format!("\nbuffer = \"{}B\"", network.buffer),
                "\nbuffer = \"32MB\"",
            );
    }
    let overrides = Overrides {
        seed: Some(EVALUATION + 1 + seed),
        ..Overrides::default()
    };
    let input = load_text("drawn", &text, &overrides).map_err(StepError::of)?;
    let mut run: RunSpec = (*input.run).clone();
    if let Some(config) = config(who, &network)? {
        let scheme = SchemeSpec::from(config);
        if case.more == More::Mixed {
            run.schemes.push(scheme);
            let added = (run.schemes.len() - 1) as u16;
            let others = run.flows.iter_mut().skip(1).step_by(2);
            others.for_each(|flow| flow.scheme = added);
        } else {
            run.schemes[0] = scheme;
        }
    }
    Measured::of_run(&network, run).map_err(StepError::of)
}

/// All runs of a case: sender by sender, seed by seed.
fn work(work: &mut Work<'_>, case: &Case, senders: &[Who]) -> Result<Metrics, StepError> {
    // A run's place is that of its sender and seed, be the others run here or not.
    let mut all = Vec::new();
    for (&who, place) in senders.iter().zip(0..).filter(|(who, _)| case.compares(**who)) {
        all.extend((0..case.seeds).map(|seed| (who, seed, place * case.seeds + seed)));
    }
    let seen = in_chunks(&all, work, (0.0..1.0, "run"), &|&(who, seed, _)| {
        run(case, who, seed)
    })?;
    let mut numbers = Metrics::default();
    for (name, of) in QUANTITIES {
        let points = seen
            .iter()
            .zip(&all)
            .map(|(run, (.., place))| (*place as f64, of(run)));
        numbers.draw(name, points);
    }
    Ok(numbers)
}

/// `decc-law`: flows to one host in the paper's network, and all pairs of its hosts.
const LAW: [Case; 8] = [
    Case::plain("2 flows to one host", || Network::plain(Shape::LeafSpine(2)), 10),
    Case::plain(
        "32 flows to one host",
        || Network::plain(Shape::LeafSpine(32)),
        10,
    ),
    Case::plain(
        "256 flows to one host",
        || Network::plain(Shape::LeafSpine(256)),
        10,
    ),
    Case::plain(
        "2048 flows to one host",
        || Network::plain(Shape::LeafSpine(2048)),
        10,
    ),
    Case::plain(
        "8192 flows to one host",
        || Network::plain(Shape::LeafSpine(8192)),
        10,
    ),
    Case::plain(
        "64 hosts, 1 flow each pair",
        || Network::plain(Shape::Broadcast(1)),
        3,
    ),
    Case::plain(
        "64 hosts, 4 flows each pair",
        || Network::plain(Shape::Broadcast(4)),
        2,
    ),
    Case::plain(
        "64 hosts, 16 flows each pair",
        || Network::plain(Shape::Broadcast(16)),
        2,
    ),
];

const LAW_SENDERS: [Who; 9] = [
    Who::Oracle,                 // oracle
    Who::SwiftByHand,            // swift
    Who::SwiftTuned,             // swift, tuned
    Who::Scheme("hpcc"),         // hpcc
    Who::Scheme("adpg"),         // adpg
    Who::Model("decc-law"),      // law
    Who::Model("decc-net"),      // network
    Who::Model("decc-net-q4"),   // compressed
    Who::Model("decc-tree-300"), // 300 trees
];

/// `decc-latency`.
const TABLE: [Case; 1] = [Case::plain(
    "64 hosts, 8 flows each pair",
    || Network::plain(Shape::Broadcast(8)),
    2,
)];
const CURVE: [Case; 2] = [
    Case::plain(
        "32 flows, by latency",
        || Network::plain(Shape::LeafSpine(32)),
        10,
    ),
    Case::plain(
        "256 flows, by latency",
        || Network::plain(Shape::LeafSpine(256)),
        10,
    ),
];

const NET: &str = "decc-net";
const SMALL: &str = "decc-net-q4";
const TREES: &str = "decc-tree-300";

const TABLE_SENDERS: [Who; 13] = [
    Who::Scheme("hpcc"),         // hpcc
    Who::Model(NET),             // network, 0
    Who::Model(SMALL),           // compressed, 0
    Who::Model(TREES),           // trees, 0
    Who::Slow(NET, 458_000, 1),  // network, 1 at a time
    Who::Slow(SMALL, 17_000, 1), // compressed, 1
    Who::Slow(TREES, 1530, 1),   // trees, 1
    Who::Slow(NET, 458_000, 8),  // network, 8 at a time
    Who::Slow(SMALL, 17_000, 8), // compressed, 8
    Who::Slow(TREES, 1530, 8),   // trees, 8
    Who::Slow(NET, 458_000, 0),  // network, any number
    Who::Slow(SMALL, 17_000, 0), // compressed, any
    Who::Slow(TREES, 1530, 0),   // trees, any
];

const LATENCIES: [Who; 7] = [
    Who::Slow("decc-law", 0, 0),       // 0
    Who::Slow("decc-law", 1530, 0),    // 1.53 µs
    Who::Slow("decc-law", 5000, 0),    // 5 µs
    Who::Slow("decc-law", 17_000, 0),  // 17 µs
    Who::Slow("decc-law", 50_000, 0),  // 50 µs
    Who::Slow("decc-law", 150_000, 0), // 150 µs
    Who::Slow("decc-law", 458_000, 0), // 458 µs
];

/// `decc-regret`: networks that taught nothing.
fn flows() -> Network {
    Network::plain(Shape::LeafSpine(256))
}

const fn case(label: &'static str, network: fn() -> Network, more: More) -> Case {
    Case {
        more,
        ..Case::plain(label, network, 10)
    }
}

const REGRET: [Case; 6] = [
    case("as in training", flows, More::Nothing),
    case(
        "800 Gbit/s",
        || Network {
            gbps: 800.0,
            buffer: 2_000_000,
            ..flows()
        },
        More::Nothing,
    ),
    case(
        "base round trip 40 µs",
        || Network {
            delay_us: 5.0,
            buffer: 4_000_000,
            ..flows()
        },
        More::Nothing,
    ),
    Case::plain(
        "spines 2:1 oversubscribed, 1 flow each pair",
        || Network {
            spine: 2.0,
            ..Network::plain(Shape::Broadcast(1))
        },
        2,
    ),
    case("PFC", flows, More::Pfc),
    case("half of the flows DCQCN, PFC", flows, More::Mixed),
];

const REGRET_SENDERS: [Who; 9] = [
    Who::SwiftByHand,            // swift
    Who::SwiftTuned,             // swift, tuned
    Who::Scheme("hpcc"),         // hpcc
    Who::Scheme("bolt"),         // bolt
    Who::Scheme("dcqcn"),        // dcqcn
    Who::Model("decc-law"),      // law
    Who::Model("decc-net"),      // network
    Who::Model("decc-net-q4"),   // compressed
    Who::Model("decc-tree-300"), // 300 trees
];

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: Case = Case {
        label: "four flows",
        network: || Network::plain(Shape::Star(4)),
        seeds: 2,
        more: More::Nothing,
    };

    /// Whoever sends, and all else that is different, runs; under PFC nothing is lost, and of a mixture half is another's.
    #[test]
    fn cells_of_the_grid_run() {
        for (more, who) in [
            (More::Nothing, Who::Scheme("hpcc")),
            (More::Nothing, Who::Slow("decc-law", 17_000, 1)),
            (More::Pfc, Who::Scheme("dcqcn")),
            (More::Mixed, Who::Model("decc-law")),
        ] {
            let case = Case { more, ..CASE };
            let found = run(&case, who, 0).unwrap();
            assert!(found.goodput > 0.3 && found.goodput < 1.02, "{found:?}");
            assert!(more == More::Nothing || found.loss_all == 0.0, "{found:?}");
            assert!(found.p99 >= 1.0, "{found:?}");
        }
        let mixed = Case {
            more: More::Mixed,
            ..CASE
        };
        let law = run(&mixed, Who::Model("decc-law"), 0).unwrap();
        assert_ne!(law, run(&mixed, Who::Scheme("dcqcn"), 0).unwrap());
        // A decision that takes long is felt.
        let slow = run(&CASE, Who::Slow("decc-law", 458_000, 1), 0).unwrap();
        assert_ne!(slow, run(&CASE, Who::Model("decc-law"), 0).unwrap());
    }
}
