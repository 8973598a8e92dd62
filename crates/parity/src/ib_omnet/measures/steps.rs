//! Equality with the OMNeT++ model in the demo, step by step.

use paceline_fabric::{Outcome, RunSpec};
use paceline_scenario::Resolved;
use paceline_scenario::guest::{MeasureSet, Metrics, measure};

use super::reference;
use crate::ib_omnet::{Control, CreditOutcome, CreditSpec};

pub(crate) const STEPS: MeasureSet = MeasureSet {
    name: "ib-steps",
    about: "`infiniband-demo` with `parity.ib-omnet.log`: how much of it is the model's step by step, where the project has \
            the model's steps.",
    values: &[measure("steps", "steps that are equal", "", 0)],
    series: &[],
    of: steps,
};

/// Returns the name of the corresponding run of the model.
fn name(run: &RunSpec) -> Option<String> {
    let credits = CreditSpec::of(run)?;
    let variant = match &credits.notified {
        Some(notified) if notified.len() == 2 => "PUB",
        _ => "N200",
    };
    let scheme = match credits.control {
        Control::None => "cbfc",
        Control::Ibcc(_) => "ibcc",
        Control::Rrcc(_) => "rrcc",
    };
    let gap = credits.sources.last()?.gap.as_ps() / 1_000_000;
    Some(format!("{variant}_{scheme}_g{gap:02}"))
}

fn steps(input: &Resolved, outcome: &Outcome) -> Metrics {
    let run = &input.run;
    let name = CreditOutcome::of(outcome).and_then(|_| name(run));
    let steps = name.and_then(|name| reference::equal_steps(&name, run, outcome));
    Metrics::finite([("steps", steps)])
}
