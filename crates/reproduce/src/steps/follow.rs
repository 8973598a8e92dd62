//! Step for figure 17: predicted and measured round-trip times.

use paceline_lab::stats::mean;
use paceline_scenario::NS3_HPCC;

use super::watched::run_all;
use crate::need::Input;
use crate::reference::INCAST_20;
use crate::{Metrics, RunRequest, Step, StepError, Work};

pub(super) const STEP: Step = Step {
    name: "follow",
    title: "watching predictions",
    work,
};

/// Range of the samples that are drawn.
const FROM: usize = 100;
const SHOWN: usize = 200;

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let need = RunRequest {
        fidelity: NS3_HPCC,
        ..RunRequest::of(Input::Reference(&INCAST_20), "lstm-pid")
    };
    let seen = run_all(&[need], work)?.remove(0);
    let mut numbers = Metrics::default();
    for (node, course) in (1..).zip(&seen.log.course) {
        let drawn = || {
            (FROM..)
                .map(|index| index as f64)
                .zip(course.iter().skip(FROM).take(SHOWN))
        };
        numbers.draw(
            format!("node {node}, predicted"),
            drawn().map(|(index, &(predicted, _))| (index, predicted)),
        );
        numbers.draw(
            format!("node {node}, measured"),
            drawn().map(|(index, &(_, measured))| (index, measured)),
        );
        let errors = course.iter();
        let errors = errors.map(|(predicted, measured)| (predicted - measured).abs() / measured);
        if let Some(error) = mean(&errors.collect::<Vec<f64>>()) {
            numbers.set(format!("error of node {node}"), 100.0 * error);
        }
    }
    if let Some(error) = seen.log.mape() {
        numbers.set("error", 100.0 * error);
    }
    numbers.set("count", seen.log.count as f64);
    Ok(numbers)
}
