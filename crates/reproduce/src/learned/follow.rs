//! Predicted and measured round-trip times side by side: figure 17.

use crate::citation::Citation;
use crate::{
    Curve, Done, Drawing, Metrics, ON_POLICY, Panel, Reproduction, RunRequest, Step, StepError,
    THESIS_INCAST, Work,
};
use paceline_congestion::papers;
use paceline_scenario::Fidelity;

use super::watched::run_all;
use super::{Line, column, panel};

pub(super) const FIGURE_17: Reproduction = Reproduction {
    id: "thesis-figure17",
    data: None,
    title: "Predicted and measured round-trip times",
    source: Citation::of(papers::PIDNN_THESIS, "section 4.2.2, figure 17"),
    setting: "The incast of table 6 under the thesis's scheme, the shipped model: what nodes 1 and 2 predicted, and what \
              they measured next, 200 samples from the hundredth on.",
    notes: &[
        "The thesis's figure has no numbers; it says that the curves all but coincide, and that they part at the peaks, \
         where the controller acts on the prediction and so prevents it.",
        "The error is over all nodes and all samples. The same controller without prediction has the error of taking \
         the last round-trip time for the next.",
    ],
    choices: &[ON_POLICY],
    steps: &[FOLLOW],
    needs: Vec::new,
    panels,
};

const FOLLOW: Step = Step {
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
        ..RunRequest::of(THESIS_INCAST, "lstm-pid")
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

fn panels(done: &Done) -> Vec<Panel> {
    let numbers = done.step(FOLLOW.name);
    let value = |name: &str| numbers.and_then(|numbers| numbers.values.get(name)).copied();
    let error = ("error of the predicted round-trip time", "%", 2);
    let lines = [
        Line::shown("error, all nodes, %", error, [value(ERROR)]),
        Line::shown(
            "error, the beginning of node 1, %",
            error,
            [value(NODE_ERRORS[0])],
        ),
        Line::shown(
            "error, the beginning of node 2, %",
            error,
            [value(NODE_ERRORS[1])],
        ),
        Line::shown("predictions", ("predictions", "", 0), [value(COUNT)]),
    ];
    let table = panel(
        "All predictions",
        "",
        vec![column("lstm-pid", "lstm-pid")],
        &lines,
    );
    let node = |node: usize| {
        let curve = |name: &'static str, scheme| Curve {
            name: name.to_string(),
            scheme,
            published: false,
            points: numbers
                .and_then(|numbers| numbers.series.get(name))
                .cloned()
                .unwrap_or_default(),
        };
        let drawing = Drawing {
            stepped: false,
            x: ("sample", ""),
            y: ("RTT", "µs"),
            curves: vec![
                curve(PREDICTED[node], "lstm-pid"),
                curve(MEASURED[node], "timely"),
            ],
        };
        Panel::drawn(format!("Node {}", node + 1), drawing)
    };
    vec![table, node(0), node(1)]
}
