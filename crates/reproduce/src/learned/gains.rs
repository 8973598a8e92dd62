//! Training of the controller: figure 13, and what other gains do.

use crate::citation::Citation;
use paceline_congestion::papers;
use std::ops::Range;

use crate::{
    Choice, Criterion, Curve, Done, Drawing, Metrics, ON_POLICY, Panel, Reproduction, RunRequest, Source,
    Step, StepError, THESIS_INCAST, Tolerance, Work, thin,
};
use paceline_congestion::lstm_pid::Gains;
use paceline_lab::results::Summary;
use paceline_lab::run::Control;
use paceline_scenario::Fidelity;

use super::watched::run_all;
use super::{Line, OWN, column, panel};
use paceline_learn::Checkpoints;
use paceline_learn::pidnn::{CONVERGED, Options, START, THESIS, TrainedGains, train};

/// How the gains are trained, where the thesis says nothing or what it says does not end.
const SCHEDULE: [Choice; 4] = [
    Choice {
        what: "A decision's consequence is measured three samples later (lag 3).",
        tried: "the next sample, as in the thesis; the one after it",
        changed: "With the next K_P only falls, to -1.2 in 8 runs, and does not settle in 550 000 updates; with the one after it \
                  half as fast.",
    },
    Choice {
        what: "The last 11 of 40 runs are in units relative to target and line (settle 11).",
        tried: "about eight schedules of runs and units, among them the thesis's units throughout",
        changed: "Of those tried this one alone kept the changes of the last quarter below 1 %.",
    },
    Choice {
        what: "The learning rate falls with the updates of all flows and runs together.",
        tried: "each flow's own count",
        changed: "With its own count it starts anew with every flow, and K_P runs to -7 in 8 runs.",
    },
    Choice {
        what: "A flow does not learn from its first 40 decisions (warm-up 40).",
        tried: "learning from all",
        changed: "The first decisions are far from the target, and clip: what was seen of it was not kept.",
    },
];

pub(super) const FIGURE_13: Reproduction = Reproduction {
    id: "thesis-figure13",
    data: None,
    title: "The controller's gains while they are trained",
    source: Citation::of(papers::PIDNN_THESIS, "section 3.5.3, figure 13"),
    setting: "On-line in the incast of table 6, run again and again: after each sample a step against the gradient of half \
              the squared distance from 5 µs, each component cut at 0.1, the learning rate 0.01/√(t+1). All flows train \
              the same three gains. As `paceline train pidnn` does without options: in µs and Gbit/s, the last runs \
              relative to target and line; a decision's consequence is measured three samples later.",
    notes: &[
        "Judged are the thesis's final gains, within 15 %: of the three the training moved K_I least, by 17 %, so that gains that \
         stay where they start miss all three; that each moves the thesis's way, at least half as far; and that gains which \
         came to rest stay there when training goes on for ten more runs. The change over the last quarter is not judged: \
         training ends when it is below 1 %.",
        "Of the thesis's final gains none is met. Ours are those of another rule: a decision's consequence three samples later, and \
         the last runs in other units, without which nothing comes to rest (see what was chosen).",
        "With the thesis's units the cut is nearly always the gradient: each update moves each gain by the learning rate, \
         one way or the other. How far they get hangs on the number of updates more than on anything else: the steps \
         add up to 0.002 √t at most. The thesis does not say how many it took.",
        "The thesis measures the consequence at the next sample; the packet timed there left before the decision took \
         effect.",
    ],
    choices: &SCHEDULE,
    steps: &[TRAIN],
    needs: Vec::new,
    panels: trained,
};

pub(super) const RETRAINED: Reproduction = Reproduction {
    id: "retrained-gains",
    data: None,
    title: "Other derivative gains, and gains trained from none, 20-to-1 incast",
    source: OWN,
    setting: "The incast of table 6 in the manner of HPCC's simulator, target 5 µs, under the controller with and without the \
              LSTM: the thesis's gains with another derivative gain, and gains that were trained here: as in figure 13, and \
              from the thesis's final gains with a derivative gain of 0, which may become negative.",
    notes: &[
        "Nothing is judged. The thesis's derivative gain is positive: a rising round trip raises the rate.",
        "The queue is the sum of what rates are too much, and rates are the sum of the controller's steps: without a term \
         that looks ahead such a loop swings. A negative derivative gain looks ahead, and so does a prediction.",
    ],
    choices: &[SCHEDULE[0], SCHEDULE[1], SCHEDULE[2], SCHEDULE[3], ON_POLICY],
    steps: &[TRAIN, RETRAIN],
    panels: compared,
    ..FIGURE_13
};

const TRAIN: Step = Step {
    name: "train gains",
    title: "training the controller's gains",
    work: |work| {
        let options = Options {
            beyond: BEYOND,
            ..Options::default()
        };
        let found = learn(work, &options, 0.0..1.0)?;
        Ok(numbers(&found))
    },
};

/// Names of the gains' series and values.
const NAMES: [&str; 3] = ["K_P", "K_I", "K_D"];
const UPDATES: &str = "updates";
const LATER: [&str; 3] = ["later K_P", "later K_I", "later K_D"];

/// Runs after the gains came to rest.
const BEYOND: usize = 10;
const CHANGES: [&str; 3] = ["change of K_P", "change of K_I", "change of K_D"];

fn each(gains: Gains) -> [f64; 3] {
    [gains.p, gains.i, gains.d]
}

/// Trains; `share` is the part of the step that this is.
fn learn(work: &mut Work<'_>, options: &Options, share: Range<f64>) -> Result<TrainedGains, StepError> {
    let mut stopped = Ok(());
    let found = train(options, &Checkpoints::none(), &mut |episode, now, gains| {
        let done = now.now.as_secs_f64().clamp(0.0, 1.0);
        let part = (episode as f64 + done) / (options.episodes + options.beyond) as f64;
        let words = format!(
            "run {}, gains {:.3} {:.3} {:.3}",
            episode + 1,
            gains.p,
            gains.i,
            gains.d
        );
        stopped = work.inform(share.start + (share.end - share.start) * part.min(1.0), &words);
        match stopped {
            Ok(()) => Control::Continue,
            Err(_) => Control::Stop,
        }
    });
    stopped?;
    found.map_err(StepError::of)
}

fn numbers(found: &TrainedGains) -> Metrics {
    let mut numbers = Metrics::default();
    let last = found.history.last().map_or(0, |point| point.update);
    numbers.values.insert(UPDATES, last as f64);
    for k in 0..NAMES.len() {
        let course: Vec<(f64, f64)> = found
            .history
            .iter()
            .map(|point| (point.update as f64, each(point.gains)[k]))
            .collect();
        let quarter = 0.75 * last as f64;
        let late = course.iter().filter(|&&(update, _)| update >= quarter);
        let of_last = each(found.gains)[k];
        let change = late
            .map(|&(_, gain)| (gain / of_last - 1.0).abs())
            .fold(0.0, f64::max);
        numbers.values.insert(CHANGES[k], 100.0 * change);
        numbers.values.insert(NAMES[k], of_last);
        numbers.values.insert(LATER[k], each(found.later)[k]);
        numbers.series.insert(NAMES[k], thin(&course));
    }
    numbers
}

/// Closer than the least that the thesis's training moved a gain by: K_I, from -0.05 to -0.06.
const FINAL: Criterion = Criterion::published(
    Tolerance::Within(0.15),
    "the thesis's training moved K_I by 17 %: gains at their start must miss",
);

/// Where the thesis's gains went from their start, and at least half as far.
fn moved(k: usize) -> Criterion {
    let half = 0.5 * (each(THESIS)[k] - each(START)[k]);
    Criterion::property(
        Tolerance::AtMost(half),
        Source::Paper,
        "half as far as the thesis's",
    )
}

/// How far gains at rest may go when training goes on.
const AT_REST: Criterion = Criterion::property(
    Tolerance::AtMost(100.0 * CONVERGED),
    Source::Us,
    "what the training calls rest",
);

/// The outcome of a training that found `gains`, and had `later` after further runs.
#[cfg(test)]
pub(super) fn outcome_of(gains: Gains, later: Gains) -> Done {
    let mut numbers = Metrics::default();
    for k in 0..NAMES.len() {
        numbers.values.insert(NAMES[k], each(gains)[k]);
        numbers.values.insert(LATER[k], each(later)[k]);
    }
    Done {
        steps: [(TRAIN.name, numbers)].into(),
        ..Done::default()
    }
}

fn trained(done: &Done) -> Vec<Panel> {
    let numbers = done.step(TRAIN.name);
    let value = |name: &str| numbers.and_then(|numbers| numbers.values.get(name)).copied();
    let gain = |k: usize| {
        let line = Line::shown(NAMES[k], (NAMES[k], "", 3), [value(NAMES[k])]);
        line.printed(0, each(THESIS)[k]).wanted(0, FINAL)
    };
    let way = |k: usize| {
        let start = each(START)[k];
        let line = Line::shown(
            format!("{}: moved from its start", NAMES[k]),
            (NAMES[k], "", 3),
            [value(NAMES[k]).map(|gain| gain - start)],
        );
        line.printed(0, each(THESIS)[k] - start).wanted(0, moved(k))
    };
    let later = |k: usize| {
        let change = value(NAMES[k]).zip(value(LATER[k]));
        let change = change.map(|(then, later)| 100.0 * (later / then - 1.0).abs());
        let label = format!("{}: change in {BEYOND} further runs, %", NAMES[k]);
        Line::shown(label, (LATER[k], "%", 2), [change]).wanted(0, AT_REST)
    };
    let change = |k: usize| {
        let label = format!("{}: change over the last quarter, %", NAMES[k]);
        Line::shown(label, (CHANGES[k], "%", 2), [value(CHANGES[k])])
    };
    let start = |k: usize| {
        let label = format!("{} at the start", NAMES[k]);
        let line = Line::shown(label, (NAMES[k], "", 3), [Some(each(START)[k])]);
        line.printed(0, each(START)[k])
    };
    let mut lines: Vec<Line> = (0..3).map(start).collect();
    lines.extend((0..3).map(gain));
    lines.extend((0..3).map(way));
    lines.extend((0..3).map(change));
    lines.extend((0..3).map(later));
    lines.push(Line::shown("updates", (UPDATES, "", 0), [value(UPDATES)]));
    // What the program starts with is not a result.
    if numbers.is_none() {
        lines[..3].iter_mut().for_each(|line| line.cells[0].0 = None);
    }
    let colors = ["lstm-pid", "timely", "hpcc"];
    let curves = NAMES.iter().zip(colors).map(|(name, scheme)| Curve {
        name: (*name).to_string(),
        scheme,
        published: false,
        points: numbers
            .and_then(|numbers| numbers.series.get(name))
            .cloned()
            .unwrap_or_default(),
    });
    vec![Panel {
        drawing: Some(Drawing {
            stepped: false,
            x: ("update", ""),
            y: ("gain", ""),
            curves: curves.collect(),
        }),
        ..panel("Gains", "", vec![column("pidnn", "pidnn")], &lines)
    }]
}

/// Gains that are compared: what tables call them, and the series in which their runs are.
const SETS: [(&str, &str); 7] = [
    ("the thesis's", "thesis"),
    ("K_D = 0", "zero"),
    ("K_D = -0.04", "little"),
    ("K_D = -0.2", "some"),
    ("K_D = -0.4", "much"),
    ("trained as in figure 13", "trained"),
    ("trained from K_D = 0", "retrained"),
];

const PREDICTORS: [(&str, &str); 2] = [("without prediction", "pidnn"), ("with the LSTM", "lstm-pid")];

/// Name, unit, digits, and where a summary has it.
type Quantity = ((&'static str, &'static str, usize), fn(&Summary) -> Option<f64>);

const QUANTITIES: [Quantity; 6] = [
    (("mean RTT, one sample per round trip", "µs", 3), |s| {
        s.rtt_per_round_trip_us.mean
    }),
    (("p99 RTT, one sample per round trip", "µs", 3), |s| {
        s.rtt_per_round_trip_us.p99
    }),
    (("max RTT, one sample per round trip", "µs", 2), |s| {
        s.rtt_per_round_trip_us.max
    }),
    (("mean rate", "Gbit/s", 2), |s| s.rate_while_active_gbps),
    (("Jain's index of goodput", "", 4), |s| s.jain),
    (("last completion", "ms", 2), |s| s.makespan_us.map(|us| us / 1e3)),
];

const RETRAIN: Step = Step {
    name: "retrain gains",
    title: "training gains with a free derivative",
    work: retrain,
};

/// Where a predictor's quantity is in the series of a set of gains.
fn place(predictor: usize, quantity: usize) -> f64 {
    (predictor * QUANTITIES.len() + quantity) as f64
}

fn retrain(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let flat = |d| Gains { d, ..THESIS };
    let options = Options {
        start: flat(0.0),
        ..Options::default()
    };
    let found = learn(work, &options, 0.0..0.5)?;
    let first = work.done.step(TRAIN.name).and_then(|numbers| {
        let value = |name: &str| numbers.values.get(name).copied();
        Some(Gains {
            p: value(NAMES[0])?,
            i: value(NAMES[1])?,
            d: value(NAMES[2])?,
        })
    });
    let first = first.ok_or_else(|| StepError::of("the gains of figure 13 are missing"))?;
    let sets = [
        flat(0.04),
        flat(0.0),
        flat(-0.04),
        flat(-0.2),
        flat(-0.4),
        first,
        found.gains,
    ];
    let needs: Vec<RunRequest> = sets
        .iter()
        .flat_map(|gains| PREDICTORS.map(|(_, scheme)| with(gains, scheme)))
        .collect();
    let seen = run_all(&needs, work)?;
    let mut numbers = numbers(&found);
    for ((_, name), runs) in SETS.iter().zip(seen.chunks(PREDICTORS.len())) {
        let points = runs.iter().enumerate().flat_map(|(predictor, run)| {
            let values = QUANTITIES.iter().enumerate();
            values
                .filter_map(move |(quantity, (_, of))| Some((place(predictor, quantity), of(&run.summary)?)))
        });
        numbers.series.insert(name, points.collect());
    }
    Ok(numbers)
}

fn with(gains: &Gains, scheme: &'static str) -> RunRequest {
    let setting = |(key, value): (&str, f64)| format!("cc.lstm-pid.{key}={value:.6}");
    RunRequest {
        fidelity: Fidelity::Ns3Hpcc,
        settings: [("k-p", gains.p), ("k-i", gains.i), ("k-d", gains.d)]
            .map(setting)
            .to_vec(),
        ..RunRequest::of(THESIS_INCAST, scheme)
    }
}

fn compared(done: &Done) -> Vec<Panel> {
    let numbers = done.step(RETRAIN.name);
    let first = done.step(TRAIN.name);
    let value = |set: usize, predictor: usize, quantity: usize| {
        let wanted = place(predictor, quantity);
        let series = numbers?.series.get(SETS[set].1)?;
        series
            .iter()
            .find(|&&(x, _)| x == wanted)
            .map(|&(_, value)| value)
    };
    let columns = || -> Vec<_> {
        let colors = ["lstm-pid", "hpcc", "dctcp", "timely", "swift", "pidnn", "dcqcn"];
        SETS.iter()
            .zip(colors)
            .map(|((title, _), scheme)| column(title, scheme))
            .collect()
    };
    let gains = |k: usize| {
        let of =
            |numbers: Option<&Metrics>| numbers.and_then(|numbers| numbers.values.get(NAMES[k])).copied();
        Line::shown(NAMES[k], (NAMES[k], "", 3), [of(first), of(numbers)])
    };
    let both = vec![column(SETS[5].0, "pidnn"), column(SETS[6].0, "dcqcn")];
    let mut panels = vec![panel(
        "What training found",
        "",
        both,
        &[gains(0), gains(1), gains(2)],
    )];
    for (predictor, (title, _)) in PREDICTORS.iter().enumerate() {
        let line = |(quantity, &((metric, unit, decimals), _)): (usize, &Quantity)| {
            let label = if unit.is_empty() {
                metric.to_string()
            } else {
                format!("{metric}, {unit}")
            };
            let ours = (0..SETS.len()).map(|set| value(set, predictor, quantity));
            Line::shown(label, (metric, unit, decimals), ours)
        };
        let lines: Vec<Line> = QUANTITIES.iter().enumerate().map(line).collect();
        panels.push(panel(title, "", columns(), &lines));
    }
    panels
}
