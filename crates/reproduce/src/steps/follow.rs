//! Predicted and measured round-trip times side by side: figure 17.

use paceline_scenario::Fidelity;

use super::watched::run_all;
use crate::need::Input;
use crate::reference::INCAST_20;
use crate::{Metrics, RunRequest, Step, StepError, Work};

pub(super) const STEP: Step = Step {
    name: "follow",
    title: "watching predictions",
    work,
};

/// Series and values of the step.
const PREDICTED: [&str; 2] = ["node 1, predicted", "node 2, predicted"];
const MEASURED: [&str; 2] = ["node 1, measured", "node 2, measured"];
const ERROR: &str = "error";
const NODE_ERRORS: [&str; 2] = ["error of node 1", "error of node 2"];
const COUNT: &str = "count";

/// Which samples are drawn.
const FROM: usize = 100;
const SHOWN: usize = 200;

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let need = RunRequest {
        fidelity: Fidelity::Ns3Hpcc,
        ..RunRequest::of(Input::Reference(&INCAST_20), "lstm-pid")
    };
    let seen = run_all(&[need], work)?.remove(0);
    let mut numbers = Metrics::default();
    for (node, course) in seen.log.course.iter().enumerate() {
        let drawn = || {
            (FROM..)
                .map(|place| place as f64)
                .zip(course.iter().skip(FROM).take(SHOWN))
        };
        let predicted = drawn()
            .map(|(place, &(predicted, _))| (place, predicted))
            .collect();
        let measured = drawn().map(|(place, &(_, measured))| (place, measured)).collect();
        numbers.series.insert(PREDICTED[node], predicted);
        numbers.series.insert(MEASURED[node], measured);
        let errors: Vec<f64> = course
            .iter()
            .map(|(predicted, measured)| (predicted - measured).abs() / measured)
            .collect();
        if let Some(error) = paceline_lab::stats::mean(&errors) {
            numbers.values.insert(NODE_ERRORS[node], 100.0 * error);
        }
    }
    if let Some(error) = seen.log.mape() {
        numbers.values.insert(ERROR, 100.0 * error);
    }
    numbers.values.insert(COUNT, seen.log.count as f64);
    Ok(numbers)
}
