//! Training of the predictors: table 1 and figure 11.

use crate::citation::Citation;
use crate::{
    Criterion, Curve, Done, Drawing, Metrics, Panel, Reproduction, Step, StepError, TRAINING_MIX, Tolerance,
    Work,
};
use paceline_congestion::papers;
use paceline_fabric::Progress as RunProgress;
use paceline_lab::run::Control;

use super::{Line, column, panel};
use paceline_learn::dataset::{Dataset, HELD_OUT, STRATA, Source, THESIS_PAIRS, Trace, disjoint, record};
use paceline_learn::train::{Network, Options, Progress, Trained, mape, predict, train};

const SOURCE: Citation = Citation::of(papers::PIDNN_THESIS, "section 3.4");

pub(super) const TABLE_1: Reproduction = Reproduction {
    id: "thesis-table1",
    data: None,
    title: "Error of the predicted round-trip time, round by round",
    source: Citation::of(papers::PIDNN_THESIS, "section 3.4.3, table 1"),
    setting: "19 058 pairs from the incast of table 6 under TIMELY and under the untuned controller, as many calm as \
              restless ones; 19 rounds of 800 pairs to learn from and 200 to test on, mean absolute error, learning \
              rate 0.001. Adam and batches of 10, of which the thesis says nothing. The error of the training pairs is \
              taken before they are learned from.",
    notes: &[
        "Judged, of the LSTM: the error on the test pairs of the last round, and how many times it the first round's is, as \
         close as the thesis's own last rounds are to each other.",
        "Persistence says that the next round-trip time is the last one; AR(3) is a weight for each of the three \
         features, by least squares.",
        "The test pairs of a round are of the runs that it learns from, as in the thesis. The last table has runs that no \
         training saw, with simultaneous events in orders of their own; that none of them is a run of the training is \
         asserted, by resolved scenario, order and samples. Their pairs are all that they have, as often as they occur.",
    ],
    choices: &[TRAINING_MIX],
    steps: &[TRAIN],
    needs: Vec::new,
    panels: table,
};

pub(super) const FIGURE_11: Reproduction = Reproduction {
    id: "thesis-figure11",
    data: None,
    title: "Loss while the predictors learn",
    source: SOURCE,
    setting: "The training of table 1: mean loss of 20 steps.",
    notes: &["The thesis's figure has no numbers: it falls fast at first, then more slowly, then hardly."],
    choices: &[TRAINING_MIX],
    steps: &[TRAIN],
    needs: Vec::new,
    panels: losses,
};

/// What is kept of a network's training.
struct Names {
    network: Network,
    scheme: &'static str,
    title: &'static str,
    /// Series: error by round, loss by step.
    train: &'static str,
    test: &'static str,
    loss: &'static str,
    /// Values: by course of unseen runs, over all its pairs, over as many calm as restless ones, and by stratum.
    courses: [Course; COURSES],
}

/// Names of a network's errors in a course.
struct Course {
    whole: &'static str,
    drawn: &'static str,
    strata: [&'static str; STRATA],
}

/// Courses by which the predictors are judged.
const COURSES: usize = 3;

/// What tables call them, in the order of [`unseen`].
const COURSE_TITLES: [&str; COURSES] = [
    "untuned controller",
    "TIMELY",
    "tuned controller without prediction",
];

macro_rules! names {
    ($network:ident, $scheme:literal, $title:literal) => {
        Names {
            network: Network::$network,
            scheme: $scheme,
            title: $title,
            train: concat!($title, " train"),
            test: concat!($title, " test"),
            loss: concat!($title, " loss"),
            courses: [
                course!($title, "untuned"),
                course!($title, "timely"),
                course!($title, "tuned"),
            ],
        }
    };
}

macro_rules! course {
    ($title:literal, $course:literal) => {
        Course {
            whole: concat!($title, " ", $course, " whole"),
            drawn: concat!($title, " ", $course, " drawn"),
            strata: [
                concat!($title, " ", $course, " stratum 0"),
                concat!($title, " ", $course, " stratum 1"),
                concat!($title, " ", $course, " stratum 2"),
                concat!($title, " ", $course, " stratum 3"),
            ],
        }
    };
}

const NETWORKS: [Names; 5] = [
    names!(Lstm, "lstm-pid", "LSTM"),
    names!(Gru, "hpcc", "GRU"),
    names!(Rnn, "dctcp", "simple RNN"),
    names!(Ar3, "timely", "AR(3)"),
    names!(Persistence, "none", "persistence"),
];

/// Error of the training pairs and of the test pairs by round.
const PRINTED: [(f64, f64); 19] = [
    (0.113, 0.081),
    (0.089, 0.079),
    (0.083, 0.059),
    (0.064, 0.083),
    (0.061, 0.058),
    (0.050, 0.067),
    (0.052, 0.053),
    (0.055, 0.045),
    (0.051, 0.044),
    (0.046, 0.042),
    (0.044, 0.045),
    (0.042, 0.039),
    (0.039, 0.044),
    (0.040, 0.037),
    (0.042, 0.043),
    (0.040, 0.035),
    (0.040, 0.038),
    (0.036, 0.042),
    (0.035, 0.036),
];

/// Records the runs, draws the pairs and trains every network.
pub(super) const TRAIN: Step = Step {
    name: "train predictors",
    title: "training the predictors",
    work,
};

/// Runs that judge, by course; their orders begin at [`HELD_OUT`].
fn unseen() -> [Vec<Source>; COURSES] {
    let held_out = Source::held_out();
    let of = |scheme: &str| {
        let own = held_out
            .iter()
            .filter(|source| source.scheme.as_deref() == Some(scheme));
        own.take(UNSEEN).cloned().collect()
    };
    let tuned = (HELD_OUT..)
        .take(UNSEEN)
        .map(|order| Source::incast("pidnn", &[]).shuffled(order));
    [of("pidnn"), of("timely"), tuned.collect()]
}

/// Runs of a course at most.
const UNSEEN: usize = 3;

/// Pairs that are drawn of a course, as many calm as restless ones.
const DRAWN: usize = 4_000;

/// Share of the step that recording takes.
const RECORDING: f64 = 0.1;

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let sources = Source::thesis();
    work.inform(0.0, "recording")?;
    let traces = recorded(&sources, work)?;
    let data = Dataset::draw(&traces, THESIS_PAIRS, 1).map_err(StepError::of)?;
    let mut courses = Vec::with_capacity(COURSES);
    for sources in unseen() {
        let others = recorded(&sources, work)?;
        let whole = Dataset::whole(&others);
        disjoint(&data.origins, &whole.origins).map_err(StepError::of)?;
        let drawn = Dataset::draw(&others, DRAWN, 1).map_err(StepError::of)?;
        courses.push((whole, drawn));
    }
    let mut numbers = Metrics::default();
    for (place, names) in NETWORKS.iter().enumerate() {
        let trained = one(work, &data, place, names)?;
        let by_round = |of: fn(&paceline_learn::train::Round) -> f64| {
            trained
                .rounds
                .iter()
                .map(|round| (round.number as f64, of(round)))
                .collect()
        };
        numbers
            .series
            .insert(names.train, by_round(|round| round.train_mape));
        numbers
            .series
            .insert(names.test, by_round(|round| round.test_mape));
        numbers.series.insert(names.loss, loss(&trained));
        let error = |pairs: &[_]| -> Result<f64, StepError> {
            let out = predict(names.network, &trained.weights, pairs).map_err(StepError::of)?;
            Ok(mape(pairs, &out))
        };
        for (course, (whole, drawn)) in names.courses.iter().zip(&courses) {
            numbers.values.insert(course.whole, error(&whole.pairs)?);
            numbers.values.insert(course.drawn, error(&drawn.pairs)?);
            for (stratum, name) in (0..).zip(course.strata) {
                let pairs = whole.pairs.iter().filter(|pair| pair.stratum == stratum);
                let pairs: Vec<_> = pairs.copied().collect();
                if !pairs.is_empty() {
                    numbers.values.insert(name, error(&pairs)?);
                }
            }
        }
    }
    Ok(numbers)
}

/// Runs `sources`; an interruption ends it at the next word of progress.
pub(super) fn recorded(sources: &[Source], work: &mut Work<'_>) -> Result<Vec<Trace>, StepError> {
    let go = |_: usize, _: &RunProgress| Control::Continue;
    let traces = record(sources, work.jobs, &go).map_err(StepError::of)?;
    work.inform(RECORDING / 2.0, "recorded")?;
    Ok(traces)
}

/// Trains the network at `place`.
fn one(work: &mut Work<'_>, data: &Dataset, place: usize, names: &Names) -> Result<Trained, StepError> {
    let options = Options::new(names.network);
    let mut stopped = Ok(());
    let trained = train(data, &options, &mut |progress| {
        let Progress::Round(round, _) = progress else {
            return Control::Continue;
        };
        let done = place as f64 + round.number as f64 / options.rounds as f64;
        let share = RECORDING + (1.0 - RECORDING) * done / NETWORKS.len() as f64;
        let words = format!(
            "{}, round {} of {}, error {:.1} %",
            names.title,
            round.number,
            options.rounds,
            100.0 * round.test_mape
        );
        stopped = work.inform(share, &words);
        match stopped {
            Ok(()) => Control::Continue,
            Err(_) => Control::Stop,
        }
    });
    stopped?;
    trained.map_err(StepError::of)
}

/// Steps of which the mean loss is a point.
const MEAN_OF: usize = 20;

fn loss(trained: &Trained) -> Vec<(f64, f64)> {
    let losses: Vec<f64> = trained
        .rounds
        .iter()
        .flat_map(|round| &round.losses)
        .map(|&loss| loss.into())
        .collect();
    let means = losses.chunks(MEAN_OF).enumerate();
    means
        .map(|(place, chunk)| {
            let end = place * MEAN_OF + chunk.len();
            (end as f64, chunk.iter().sum::<f64>() / chunk.len() as f64)
        })
        .collect()
}

/// A series of the step.
fn series<'a>(done: &'a Done, name: &str) -> &'a [(f64, f64)] {
    let found = done.step(TRAIN.name).and_then(|numbers| numbers.series.get(name));
    found.map_or(&[], Vec::as_slice)
}

fn table(done: &Done) -> Vec<Panel> {
    vec![rounds(done), judged(done), compared(done)]
}

const MAPE: (&str, &str, usize) = ("error of the predicted round-trip time", "", 3);

fn rounds(done: &Done) -> Panel {
    let mut columns = vec![column("LSTM, training", "pidnn")];
    columns.extend(NETWORKS.iter().map(|names| column(names.title, names.scheme)));
    let mut kept = vec![series(done, NETWORKS[0].train)];
    kept.extend(NETWORKS.iter().map(|names| series(done, names.test)));
    let line = |(round, &(train, test)): (usize, &(f64, f64))| {
        let ours = kept
            .iter()
            .map(|series| series.get(round).map(|&(_, value)| value));
        let line = Line::shown(format!("round {}", round + 1), MAPE, ours);
        line.printed(0, train).printed(1, test).at((round + 1) as f64)
    };
    let lines: Vec<Line> = PRINTED.iter().enumerate().map(line).collect();
    panel("Test pairs of each round", "round", columns, &lines).along("round", "", false)
}

/// Test errors of the thesis's own last five rounds are 0.035 to 0.043: their standard deviation is 8 % of their mean.
const LAST: Criterion = Criterion::published(
    Tolerance::Within(0.24),
    "three standard deviations of the thesis's last five rounds",
);
/// The same of a quotient of two rounds.
const FALL: Criterion = Criterion::published(
    Tolerance::Within(0.34),
    "three standard deviations of a quotient of two such rounds",
);

fn judged(done: &Done) -> Panel {
    let (train, test) = (series(done, NETWORKS[0].train), series(done, NETWORKS[0].test));
    let last = |series: &[(f64, f64)]| series.last().map(|&(_, value)| value);
    let fall = |series: &[(f64, f64)]| Some(series.first()?.1 / last(series)?);
    let (of_train, of_test) = (PRINTED[0].0 / PRINTED[18].0, PRINTED[0].1 / PRINTED[18].1);
    let ratio = ("first round over last", "×", 2);
    let lines = [
        Line::shown(
            "test pairs of the last round, %",
            ("error after the last round", "%", 2),
            [last(test).map(|e| 100.0 * e)],
        )
        .printed(0, 3.6)
        .wanted(0, LAST),
        Line::shown("first round over last, test pairs", ratio, [fall(test)])
            .printed(0, of_test)
            .wanted(0, FALL),
        Line::shown("first round over last, training pairs", ratio, [fall(train)])
            .printed(0, of_train)
            .wanted(0, FALL),
    ];
    panel(
        "The LSTM's learning",
        "",
        vec![column("LSTM", "lstm-pid")],
        &lines,
    )
}

fn compared(done: &Done) -> Panel {
    let columns = NETWORKS
        .iter()
        .map(|names| column(names.title, names.scheme))
        .collect();
    let value = |name: &str| Some(100.0 * done.step(TRAIN.name)?.values.get(name)?);
    let tail = |names: &Names| {
        let test = series(done, names.test);
        let last = &test[test.len().saturating_sub(5)..];
        (!last.is_empty()).then(|| 100.0 * last.iter().map(|&(_, e)| e).sum::<f64>() / last.len() as f64)
    };
    let of = |label: &str, name: &dyn Fn(&Names) -> Option<f64>| {
        let metric = ("error of the predicted round-trip time", "%", 2);
        Line::shown(label, metric, NETWORKS.iter().map(name))
    };
    let bands = [
        "below 0.02",
        "from 0.02 to 0.08",
        "from 0.08 to 0.15",
        "above 0.15",
    ];
    let mut lines = vec![of("test pairs, mean of the last five rounds", &tail)];
    for (place, title) in COURSE_TITLES.iter().enumerate() {
        let own = |name: fn(&Course) -> &'static str| move |names: &Names| value(name(&names.courses[place]));
        lines.push(of(&format!("{title}, all pairs"), &own(|course| course.whole)));
        lines.push(of(
            &format!("{title}, as many calm as restless"),
            &own(|course| course.drawn),
        ));
        for (stratum, band) in bands.iter().enumerate() {
            lines.push(of(&format!("{title}, |K| {band}"), &|names| {
                value(names.courses[place].strata[stratum])
            }));
        }
    }
    panel(
        "All predictors, by course: error in percent",
        "unseen runs",
        columns,
        &lines,
    )
}

fn losses(done: &Done) -> Vec<Panel> {
    let trained = NETWORKS.iter().filter(|names| names.network.is_recurrent());
    let curves = trained.clone().map(|names| Curve {
        name: names.title.to_string(),
        scheme: names.scheme,
        published: false,
        points: series(done, names.loss).to_vec(),
    });
    let columns = trained
        .clone()
        .map(|names| column(names.title, names.scheme))
        .collect();
    let steps = [1, 10, 20, 40, 76];
    let line = |&place: &usize| {
        let ours = trained
            .clone()
            .map(|names| series(done, names.loss).get(place - 1).map(|&(_, loss)| loss));
        Line::shown(
            format!("steps {} to {}", (place - 1) * MEAN_OF + 1, place * MEAN_OF),
            ("mean loss", "", 4),
            ours,
        )
    };
    let lines: Vec<Line> = steps.iter().map(line).collect();
    vec![Panel {
        drawing: Some(Drawing {
            stepped: false,
            x: ("step", ""),
            y: ("mean absolute error of the output", ""),
            curves: curves.collect(),
        }),
        ..panel("Loss", "", columns, &lines)
    }]
}
