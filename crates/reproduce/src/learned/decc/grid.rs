//! Networks, who sends in them, and what runs come to: the grid that all of DECC's experiments share.

use std::sync::Arc;

use paceline_congestion::decc;
use paceline_congestion::learned::{ModelRef, shipped};
use paceline_congestion::params::Auto;
use paceline_congestion::registry::SchemeConfig;
use paceline_fabric::spec::{RunSpec, SchemeSpec};
use paceline_kernel::Span;
use paceline_lab::stats::{CONFIDENCE, Interval, interval};
use paceline_learn::decc::EVALUATION;
use paceline_learn::search::{Measured, Network, SWIFT_BY_HAND, SWIFT_SEARCHED, Subject, oracle};
use paceline_scenario::{Overrides, load_text};

use super::super::{Line, column, panel};
use crate::steps::watched::in_chunks;
use crate::{Column, Done, Metrics, Panel, StepError, Work};

/// A network, how many seeds, and what else is different there.
#[derive(Clone, Copy)]
pub(super) struct Case {
    pub(super) label: &'static str,
    pub(super) network: fn() -> Network,
    pub(super) seeds: u64,
    pub(super) more: More,
}

impl Case {
    /// A network in which nothing else is different.
    pub(super) const fn plain(label: &'static str, network: fn() -> Network, seeds: u64) -> Self {
        Self {
            label,
            network,
            seeds,
            more: More::Nothing,
        }
    }

    /// Whether a sender is run here: whole schemes other than DCQCN are not mixed with it.
    pub(super) fn compares(&self, who: Who) -> bool {
        self.more != More::Mixed || !matches!(who, Who::Scheme(name) if name != "dcqcn")
    }
}

/// A step of its own for a case, so that a reproduction that was stopped goes on with the next.
macro_rules! step {
    ($case:expr, $senders:expr) => {
        $crate::Step {
            name: $case.label,
            title: $case.label,
            work: |work: &mut $crate::Work<'_>| $crate::learned::decc::grid::work(work, &$case, &$senders),
        }
    };
}
pub(super) use step;

/// What else is different.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum More {
    Nothing,
    /// Priority flow control, with 32 MB of buffer.
    Pfc,
    /// The same; every other flow is under DCQCN.
    Mixed,
}

/// Who sends.
#[derive(Clone, Copy)]
pub(super) enum Who {
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

/// A column: its name, the scheme whose colour it has, who sends.
pub(super) type Sender = (&'static str, &'static str, Who);

pub(super) fn columns(senders: &[Sender]) -> Vec<Column> {
    let one = |&(name, colour, _): &Sender| column(name, colour);
    senders.iter().map(one).collect()
}

/// What is shown of a run: its name, unit and decimals, and how it is found.
pub(super) type Quantity = ((&'static str, &'static str, usize), fn(&Measured) -> f64);

pub(super) const QUANTITIES: [Quantity; 6] = [
    (("goodput, of what the links carry", "%", 2), |run| {
        100.0 * run.goodput
    }),
    (("p99 of one-way latency", "µs", 2), |run| run.p99_us),
    (("Jain's index", "of 1", 4), |run| run.jain),
    (("packets lost", "%", 3), |run| 100.0 * run.loss),
    (("packets lost in the whole run", "%", 3), |run| {
        100.0 * run.loss_all
    }),
    (("cost", "", 2), Measured::cost),
];
pub(super) const COST: usize = 5;

/// A run lasts as long as each flow sends so many packets, where flows are many.
const PACKETS: f64 = 60.0;

/// Under `who`, in place of the scheme of a resolved scenario; nothing where that scheme stays.
pub(super) fn config(who: Who, network: &Network) -> Result<Option<SchemeConfig>, StepError> {
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
pub(super) fn work(work: &mut Work<'_>, case: &Case, senders: &[Sender]) -> Result<Metrics, StepError> {
    // A run's place is that of its sender and seed, be the others run here or not.
    let mut all = Vec::new();
    for (&(.., who), place) in senders
        .iter()
        .zip(0..)
        .filter(|((.., who), _)| case.compares(*who))
    {
        all.extend((0..case.seeds).map(|seed| (who, seed, place * case.seeds + seed)));
    }
    let seen = in_chunks(&all, work, (0.0..1.0, "run"), &|&(who, seed, _)| {
        run(case, who, seed)
    })?;
    let mut numbers = Metrics::default();
    for ((name, ..), of) in QUANTITIES {
        let points = seen
            .iter()
            .zip(&all)
            .map(|(run, (.., place))| (*place as f64, of(run)));
        numbers.series.insert(name, points.collect());
    }
    Ok(numbers)
}

/// A quantity of all seeds of a case under one of its senders, if it was run there.
pub(super) fn values(
    done: &Done,
    (case, senders): (&Case, &[Sender]),
    quantity: usize,
    sender: usize,
) -> Option<Vec<f64>> {
    let ((name, ..), _) = QUANTITIES[quantity];
    let series = done.step(case.label)?.series.get(name)?;
    case.compares(senders[sender].2).then_some(())?;
    let from = sender as u64 * case.seeds;
    let own = series
        .iter()
        .filter(|(place, _)| (from..from + case.seeds).contains(&(*place as u64)));
    let own: Vec<f64> = own.map(|point| point.1).collect();
    (own.len() == case.seeds as usize).then_some(own)
}

pub(super) fn mean(done: &Done, case: (&Case, &[Sender]), quantity: usize, sender: usize) -> Option<f64> {
    let values = values(done, case, quantity, sender)?;
    Some(values.iter().sum::<f64>() / values.len().max(1) as f64)
}

/// A quantity in all cases, with half of the 95 % interval.
pub(super) fn table(done: &Done, cases: &[Case], senders: &[Sender], quantity: usize) -> Panel {
    let (head, _) = QUANTITIES[quantity];
    let mut lines = Vec::new();
    for case in cases {
        let estimate = |sender| interval(&values(done, (case, senders), quantity, sender)?, CONFIDENCE);
        let all: Vec<Option<Interval>> = (0..senders.len()).map(estimate).collect();
        let means = all.iter().map(|one| one.map(|interval| interval.mean));
        lines.push(Line::shown(case.label, head, means));
        let halves = all.iter().map(|one| one.map(|interval| interval.half_width()));
        lines.push(Line::shown(format!("{}, ±", case.label), head, halves));
    }
    let (name, unit, _) = head;
    let unit = if unit.is_empty() {
        String::new()
    } else {
        format!(", {unit}")
    };
    panel(&format!("{name}{unit}"), "network", columns(senders), &lines)
}

#[cfg(test)]
mod tests {
    use paceline_learn::search::Shape;

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

    #[test]
    fn a_senders_values_are_its_own() {
        let mut numbers = Metrics::default();
        let points = (0..4).map(|number| (f64::from(number), f64::from(number)));
        numbers.series.insert(QUANTITIES[COST].0.0, points.collect());
        let mut done = Done::default();
        done.steps.insert(CASE.label, numbers);
        let oracle = ("", "", Who::Oracle);
        let case = (&CASE, &[oracle; 3][..]);
        assert_eq!(values(&done, case, COST, 1), Some(vec![2.0, 3.0]));
        assert_eq!(mean(&done, case, COST, 0), Some(0.5));
        assert_eq!(values(&done, case, COST, 2), None);
        // Those of a sender that is not run are nobody's.
        let mixed = Case {
            more: More::Mixed,
            ..CASE
        };
        let hpcc = ("", "", Who::Scheme("hpcc"));
        let case = (&mixed, &[oracle, hpcc, oracle][..]);
        assert_eq!(values(&done, case, COST, 1), None);
        assert_eq!(values(&done, case, COST, 2), Some(vec![2.0, 3.0]));
    }
}
