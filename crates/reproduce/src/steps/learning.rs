//! Steps of `decc-learning` and `decc-ablation`, one for each training: networks that are added to DECC's law, or
//! replace it.

use paceline_lab::run::Control;
use paceline_learn::Checkpoints;
use paceline_learn::decc::{By, Options, base, train};
use paceline_learn::judge::judged;

use crate::{Metrics, Step, StepError, Work};

macro_rules! steps {
    ($($name:literal, $by:expr, $seed:literal;)*) => {
        /// All trainings, as steps of the same form.
        pub(super) const STEPS: [Step; 15] = [$(Step {
            name: $name,
            title: $name,
            work: |task: &mut Work<'_>| work(task, $by, $seed),
        }),*];
    };
}

steps! {
    "td3, seed 1", By::Gradients, 1;
    "td3, seed 2", By::Gradients, 2;
    "td3, seed 3", By::Gradients, 3;
    "ppo, seed 1", By::Proximal, 1;
    "ppo, seed 2", By::Proximal, 2;
    "ppo, seed 3", By::Proximal, 3;
    "paper, seed 1", By::Printed, 1;
    "paper, seed 2", By::Printed, 2;
    "paper, seed 3", By::Printed, 3;
    "no memory, seed 1", By::Memoryless, 1;
    "no memory, seed 2", By::Memoryless, 2;
    "no memory, seed 3", By::Memoryless, 3;
    "own reward, seed 1", By::OwnReward, 1;
    "own reward, seed 2", By::OwnReward, 2;
    "own reward, seed 3", By::OwnReward, 3;
}

/// Rounds of a residual's training, and those between two trials: about two minutes of one core.
const ROUNDS: (usize, usize) = (20, 5);

fn work(work: &mut Work<'_>, by: By, seed: u64) -> Result<Metrics, StepError> {
    let whole = Options::new(by);
    let (rounds, trial) = if by.is_printed() {
        (whole.rounds, whole.trial)
    } else {
        ROUNDS
    };
    let options = Options {
        seed,
        rounds,
        trial,
        threads: work.jobs,
        ..whole
    };
    learned(work, &options)
}

/// Trains and judges a network: the costs over the trials, and costs relative to the law's in runs used neither for
/// training nor for selection.
fn learned(work: &mut Work<'_>, options: &Options) -> Result<Metrics, StepError> {
    let law = base("decc-law").map_err(StepError::of)?;
    let mut stopped = Ok(());
    let trained = train(options, &law, &Checkpoints::none(), &mut |_, update| {
        let done = update.map_or(0, |update| update.round);
        let share = 0.9 * done as f64 / options.rounds.max(1) as f64;
        stopped = work.inform(share, &format!("round {done} of {}", options.rounds));
        match stopped {
            Ok(()) => Control::Continue,
            Err(_) => Control::Stop,
        }
    });
    // A stopped training returns a network, too, but an unfinished one.
    stopped?;
    let trained = trained.map_err(StepError::of)?;
    work.inform(0.9, "runs with other seeds")?;
    let judged = judged(&trained, work.jobs).map_err(StepError::of)?;
    let mut numbers = Metrics::default();
    let trials = trained.updates.iter();
    let trials = trials.filter_map(|update| Some((update.round as f64, update.trial?.0)));
    let first = [(0.0, trained.first)];
    numbers.draw("cost in trials", first.into_iter().chain(trials));
    let over = |costs: &[f64]| {
        let each = judged.over_law(costs).into_iter().enumerate();
        let each = each.map(|(index, ratio)| (index as f64, ratio));
        each.collect::<Vec<_>>()
    };
    numbers.draw("kept, over the law", over(&judged.kept));
    numbers.draw("last, over the law", over(&judged.last));
    let moved = trained.updates.last().map_or(0.0, |update| update.moved);
    numbers.set("moved", 100.0 * moved);
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short training has a curve, a policy that moved, and costs relative to the law's; those of an unchanged law
    /// are 1.
    #[test]
    fn a_training_is_judged() {
        let options = Options {
            rounds: 2,
            trial: 1,
            networks: 1,
            flows: 8,
            steps: 30,
            ..Options::new(By::Gradients)
        };
        let done = crate::need::Done::default();
        let mut quiet = |_: f64, _: &str| Control::Continue;
        let numbers = learned(&mut Work::new(&done, 2, &mut quiet), &options).unwrap();
        assert!(numbers.values["moved"] > 0.0, "{numbers:?}");
        let last = &numbers.series["last, over the law"];
        assert!(
            last.len() == 2 && last.iter().all(|(_, ratio)| *ratio > 0.1),
            "{last:?}"
        );
        assert_eq!(numbers.series["cost in trials"].len(), 2);
    }
}
