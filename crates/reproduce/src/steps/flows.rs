//! Step for the flows of the thesis's network with 320 hosts, without a simulation.

use paceline_scenario::Resolved;

use crate::need::{Input, Metrics};
use crate::step::{Step, StepError, Work};

pub(super) const STEP: Step = Step {
    name: "thesis flows",
    title: "counting flows by size",
    work,
};

/// Scenario with the first seed that table 8 runs.
const FLOWS: Input = Input::Shipped("fat320-hadoop30-10ms", 4);

/// Sizes of the table, in bytes.
const SIZES: [u64; 19] = [
    100, 200, 300, 350, 400, 500, 600, 700, 1_000, 2_000, 7_000, 30_000, 50_000, 80_000, 120_000, 300_000,
    1_000_000, 2_000_000, 10_000_000,
];

/// Number of senders of an incast.
const FAN_IN: usize = 60;

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let run = work.done.runs.iter().find(|run| run.need.input == FLOWS);
    let run = run.ok_or_else(|| StepError::of("the flows of table 8 are missing"))?;
    Ok(count(&run.input))
}

fn count(input: &Resolved) -> Metrics {
    let labelled = |label: &str| -> Vec<u64> {
        let is = |number: u16| input.run.labels[usize::from(number)] == label;
        let flows = input.run.flows.iter().filter(|flow| is(flow.label));
        flows.map(|flow| flow.size.get()).collect()
    };
    let background = labelled("background");
    // Sizes are truncated to whole bytes when they are generated: one of 300 bytes stands for any below 301.
    let share = |size: u64| {
        let small = background.iter().filter(|&&flow| flow < size).count();
        (size as f64, 100.0 * small as f64 / background.len().max(1) as f64)
    };
    let mut numbers = Metrics::of([
        ("background", Some(background.len() as f64)),
        ("incasts", Some((labelled("incast").len() / FAN_IN) as f64)),
    ]);
    numbers.draw("share", SIZES.map(share));
    numbers
}
