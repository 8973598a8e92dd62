//! What prediction is worth: the same controller under several predictors.

use paceline_lab::reproduce::{
    Done, Input, Need, Numbers, Panel, Reproduction, Step, StepError, TRAINING_MIX, Work,
};
use paceline_lab::results::Summary;
use paceline_lab::stats::{CONFIDENCE, interval, mean};
use paceline_scenario::Fidelity;

use super::watched::{Seen, run_all};
use super::{Line, OWN, column, panel};

pub(super) const REPRODUCTION: Reproduction = Reproduction {
    id: "prediction-value",
    title: "What prediction is worth: one controller under several predictors, 20-to-1 incast",
    source: OWN,
    setting: "The incast of table 6 and the thesis's controller with its gains and a target of 5 µs. Its prediction is from \
              the LSTM, from networks of the same size, from AR(3), none (the last round trip stands for the next), or \
              from an oracle that knows what a packet that leaves now would meet. In the manner of HPCC's simulator, and \
              in exact fidelity with simultaneous events in ten orders.",
    notes: &[
        "Nothing is judged. The error is that of the predictions made in the run, against the samples that followed: a \
         better controller makes a calmer series, which is easier to predict, so errors of different columns are of \
         different series.",
        "The oracle says which round trip a packet would have that left right now, not what the sample will be that is \
         taken a round trip later: it sees the queue as it is, and knows nothing of what other senders will do.",
        "Changes are paired: the same order of events with and without prediction.",
    ],
    choices: &[TRAINING_MIX],
    steps: &[STEP],
    needs: Vec::new,
    panels,
};

/// A predictor: its name, what tables call it, and settings.
struct Predictor {
    name: &'static str,
    title: &'static str,
    scheme: &'static str,
    settings: &'static [&'static str],
}

const fn predictor(
    name: &'static str,
    title: &'static str,
    scheme: &'static str,
    settings: &'static [&'static str],
) -> Predictor {
    Predictor {
        name,
        title,
        scheme,
        settings,
    }
}

/// The first is what the others are compared with.
const PREDICTORS: [Predictor; 6] = [
    predictor("none", "none", "none", &["cc.lstm-pid.predictor=none"]),
    predictor("lstm", "LSTM", "lstm-pid", &["cc.lstm-pid.predictor=lstm"]),
    predictor("gru", "GRU", "hpcc", &["cc.lstm-pid.predictor=gru"]),
    predictor("rnn", "simple RNN", "dctcp", &["cc.lstm-pid.predictor=rnn"]),
    predictor("ar3", "AR(3)", "timely", &["cc.lstm-pid.predictor=ar3"]),
    predictor("oracle", "oracle", "swift", &["cc.lstm-pid.predictor=oracle"]),
];

/// Name, unit, digits.
type Quantity = (&'static str, &'static str, usize);

const QUANTITIES: [Quantity; 8] = [
    ("mean RTT", "µs", 3),
    ("p99 RTT", "µs", 3),
    ("max RTT", "µs", 2),
    ("mean rate", "Gbit/s", 2),
    ("Jain's index of goodput", "", 4),
    ("mean slowdown of completion", "×", 2),
    ("last completion", "ms", 2),
    ("error of predictions", "%", 2),
];

/// What a run came to, in the order of the quantities.
fn values(seen: &Seen) -> [Option<f64>; QUANTITIES.len()] {
    let s: &Summary = &seen.summary;
    [
        s.rtt_us.mean,
        s.rtt_us.p99,
        s.rtt_us.max,
        s.rate_mean_gbps,
        s.jain,
        s.fct_slowdown.mean,
        s.finish_us.map(|us| us / 1e3),
        seen.log.mape().map(|error| 100.0 * error),
    ]
}

/// The same flows as a scenario: a reference run's configuration says which model it has before the settings
/// here say which predictor.
const INCAST: Input = Input::Shipped("incast-20", 1);

/// Orders of simultaneous events, in exact fidelity.
const ORDERS: usize = 10;

/// The run in the manner of HPCC's simulator (0), or in one of the orders.
fn need(predictor: &Predictor, order: usize) -> Need {
    let mut settings: Vec<String> = predictor.settings.iter().map(ToString::to_string).collect();
    let fidelity = match order {
        0 => Fidelity::Ns3Hpcc,
        _ => {
            settings.push(format!("shuffle-ties={order}"));
            Fidelity::Exact
        }
    };
    Need {
        fidelity,
        variant: format!("{}-{order}", predictor.name),
        settings,
        ..Need::of(INCAST, "lstm-pid")
    }
}

const STEP: Step = Step {
    name: "prediction value",
    title: "one controller under several predictors",
    work,
};

/// Place of a quantity in the series of a predictor.
fn place(order: usize, quantity: usize) -> f64 {
    (order * QUANTITIES.len() + quantity) as f64
}

fn work(work: &mut Work<'_>) -> Result<Numbers, StepError> {
    let needs: Vec<Need> = PREDICTORS
        .iter()
        .flat_map(|predictor| (0..=ORDERS).map(move |order| need(predictor, order)))
        .collect();
    let seen = run_all(&needs, work)?;
    let mut numbers = Numbers::default();
    for (predictor, runs) in PREDICTORS.iter().zip(seen.chunks(ORDERS + 1)) {
        let points = runs.iter().enumerate().flat_map(|(order, run)| {
            let values = values(run).into_iter().enumerate();
            values.filter_map(move |(quantity, value)| Some((place(order, quantity), value?)))
        });
        numbers.series.insert(predictor.name, points.collect());
    }
    Ok(numbers)
}

/// A quantity of a run.
fn value(done: &Done, predictor: usize, order: usize, quantity: usize) -> Option<f64> {
    let series = done.step(STEP.name)?.series.get(PREDICTORS[predictor].name)?;
    let wanted = place(order, quantity);
    series
        .iter()
        .find(|&&(x, _)| x == wanted)
        .map(|&(_, value)| value)
}

/// A quantity in each of the orders.
fn in_orders(done: &Done, predictor: usize, quantity: usize) -> Option<Vec<f64>> {
    (1..=ORDERS)
        .map(|order| value(done, predictor, order, quantity))
        .collect()
}

/// The changes in percent against the first predictor, order by order.
fn changes(done: &Done, predictor: usize, quantity: usize) -> Option<Vec<f64>> {
    let without = in_orders(done, 0, quantity)?;
    let with = in_orders(done, predictor, quantity)?;
    Some(
        with.iter()
            .zip(&without)
            .map(|(with, without)| 100.0 * (with / without - 1.0))
            .collect(),
    )
}

fn panels(done: &Done) -> Vec<Panel> {
    let columns = |from: usize| {
        PREDICTORS[from..]
            .iter()
            .map(|one| column(one.title, one.scheme))
            .collect()
    };
    let label = |(metric, unit, _): Quantity| match unit {
        "" => metric.to_string(),
        unit => format!("{metric}, {unit}"),
    };
    let all = 0..PREDICTORS.len();
    let table = |of: &dyn Fn(usize, usize) -> Option<f64>| -> Vec<Line> {
        let rows = QUANTITIES.iter().enumerate();
        rows.map(|(k, &quantity)| Line::shown(label(quantity), quantity, all.clone().map(|p| of(p, k))))
            .collect()
    };
    let reference = table(&|predictor, quantity| value(done, predictor, 0, quantity));
    let exact = table(&|predictor, quantity| mean(&in_orders(done, predictor, quantity)?));
    let rows = QUANTITIES.iter().enumerate().flat_map(|(k, &(metric, ..))| {
        let found = |predictor| interval(&changes(done, predictor, k)?, CONFIDENCE);
        let others = 1..PREDICTORS.len();
        let means = others.clone().map(|p| found(p).map(|found| found.mean));
        let halves = others.map(|p| found(p).map(|found| found.half_width()));
        [
            Line::shown(format!("{metric}: change, %"), (metric, "%", 1), means),
            Line::shown(
                format!("{metric}: half of the 95 % interval"),
                (metric, "%", 1),
                halves,
            ),
        ]
    });
    let rows: Vec<Line> = rows.collect();
    vec![
        panel("In the manner of HPCC's simulator", "", columns(0), &reference),
        panel(
            "Exact fidelity, mean of ten orders of simultaneous events",
            "",
            columns(0),
            &exact,
        ),
        panel(
            "Exact fidelity, change against no prediction",
            "",
            columns(1),
            &rows,
        ),
    ]
}
