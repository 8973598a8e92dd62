//! Step for table 1 and figure 11: training of the predictors.

use paceline_fabric::Progress as RunProgress;
use paceline_lab::run::Control;
use paceline_learn::dataset::{Dataset, HELD_OUT, STRATA, Source, THESIS_PAIRS, Trace, disjoint, record};
use paceline_learn::train::{Network, Options, Progress, Trained, mape, predict, train};

use crate::{Metrics, Step, StepError, Work};

/// Kinds of runs by which the predictors are judged.
const COURSES: [&str; 3] = ["untuned", "timely", "tuned"];

/// Step that records the runs, samples the pairs and trains every network.
pub(super) const STEP: Step = Step {
    name: "train predictors",
    title: "training the predictors",
    work,
};

/// Returns the runs for judging, by kind; their orders start at [`HELD_OUT`].
fn unseen() -> [Vec<Source>; COURSES.len()] {
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

/// Largest number of runs of a kind.
const UNSEEN: usize = 3;

/// Number of pairs sampled from a kind, half of them from calm intervals.
const DRAWN: usize = 4_000;

/// Share of the step's progress for recording.
const RECORDING: f64 = 0.1;

fn work(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let sources = Source::thesis();
    work.inform(0.0, "recording")?;
    let traces = recorded(&sources, work)?;
    let data = Dataset::draw(&traces, THESIS_PAIRS, 1).map_err(StepError::of)?;
    let mut courses = Vec::with_capacity(COURSES.len());
    for sources in unseen() {
        let others = recorded(&sources, work)?;
        let whole = Dataset::whole(&others);
        // Pairs seen in training would make the errors look too small.
        disjoint(&data.origins, &whole.origins).map_err(StepError::of)?;
        let drawn = Dataset::draw(&others, DRAWN, 1).map_err(StepError::of)?;
        courses.push((whole, drawn));
    }
    let mut numbers = Metrics::default();
    for (index, network) in Network::ALL.into_iter().enumerate() {
        let title = network.title();
        let trained = one(work, &data, index, network)?;
        let rounds = || trained.rounds.iter();
        numbers.draw(
            format!("{title} train"),
            rounds().map(|round| (round.number as f64, round.train_mape)),
        );
        numbers.draw(
            format!("{title} test"),
            rounds().map(|round| (round.number as f64, round.test_mape)),
        );
        numbers.draw(format!("{title} loss"), loss(&trained));
        let error = |pairs: &[_]| -> Result<f64, StepError> {
            let out = predict(network, &trained.weights, pairs).map_err(StepError::of)?;
            Ok(mape(pairs, &out))
        };
        // Errors over all pairs of a kind, over equal numbers of calm and other pairs, and by stratum.
        for (course, (whole, drawn)) in COURSES.into_iter().zip(&courses) {
            numbers.set(format!("{title} {course} whole"), error(&whole.pairs)?);
            numbers.set(format!("{title} {course} drawn"), error(&drawn.pairs)?);
            for stratum in 0..STRATA as u8 {
                let pairs = whole.pairs.iter().filter(|pair| pair.stratum == stratum);
                let pairs: Vec<_> = pairs.copied().collect();
                if !pairs.is_empty() {
                    numbers.set(format!("{title} {course} stratum {stratum}"), error(&pairs)?);
                }
            }
        }
    }
    Ok(numbers)
}

/// Runs `sources`; an interruption takes effect at the next progress report.
pub(super) fn recorded(sources: &[Source], work: &mut Work<'_>) -> Result<Vec<Trace>, StepError> {
    let go = |_: usize, _: &RunProgress| Control::Continue;
    let traces = record(sources, work.jobs, &go).map_err(StepError::of)?;
    work.inform(RECORDING / 2.0, "recorded")?;
    Ok(traces)
}

/// Trains the network at a position of the list.
fn one(work: &mut Work<'_>, data: &Dataset, index: usize, network: Network) -> Result<Trained, StepError> {
    let options = Options::new(network);
    let mut stopped = Ok(());
    let trained = train(data, &options, &mut |progress| {
        let Progress::Round(round, _) = progress else {
            return Control::Continue;
        };
        let done = index as f64 + round.number as f64 / options.rounds as f64;
        let share = RECORDING + (1.0 - RECORDING) * done / Network::ALL.len() as f64;
        let words = format!(
            "{}, round {} of {}, error {:.1} %",
            network.title(),
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
    // A stopped training returns weights, too, but unfinished ones.
    stopped?;
    trained.map_err(StepError::of)
}

/// Number of training steps averaged for a point of the loss curve.
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
        .map(|(index, chunk)| {
            let end = index * MEAN_OF + chunk.len();
            (end as f64, chunk.iter().sum::<f64>() / chunk.len() as f64)
        })
        .collect()
}
