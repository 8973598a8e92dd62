//! Training of the predictors: table 1 and figure 11.

use paceline_fabric::Progress as RunProgress;
use paceline_lab::run::Control;
use paceline_learn::dataset::{Dataset, HELD_OUT, STRATA, Source, THESIS_PAIRS, Trace, disjoint, record};
use paceline_learn::train::{Network, Options, Progress, Trained, mape, predict, train};

use crate::{Metrics, Step, StepError, Work};

/// What is kept of a network's training.
struct Names {
    network: Network,
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

macro_rules! names {
    ($network:ident, $title:literal) => {
        Names {
            network: Network::$network,
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
    names!(Lstm, "LSTM"),
    names!(Gru, "GRU"),
    names!(Rnn, "simple RNN"),
    names!(Ar3, "AR(3)"),
    names!(Persistence, "persistence"),
];

/// Records the runs, draws the pairs and trains every network.
pub(super) const STEP: Step = Step {
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
