//! Steps between the runs of a reproduction and its tables: training, or a computation over many samples.

use super::need::{Done, Metrics};
use paceline_lab::run::Control;

/// Step that is executed once, even if several reproductions need it.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Name; steps with the same name are the same.
    pub name: &'static str,
    /// Description of the step for progress messages: `training the predictors`.
    pub title: &'static str,
    /// Function that executes the step. It has access to the runs that its reproduction needs, and to the values of
    /// earlier steps.
    pub work: fn(&mut Work<'_>) -> Result<Metrics, StepError>,
}

/// Environment of a step.
pub struct Work<'a> {
    /// Completed runs and steps.
    pub done: &'a Done,
    /// Largest number of threads.
    pub jobs: usize,
    inform: &'a mut dyn FnMut(f64, &str) -> Control,
}

/// Reason why a step has no values.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// Interruption by the user.
    #[error("interrupted")]
    Stopped,
    /// Failure of a dependency.
    #[error("{0}")]
    Failed(String),
}

impl StepError {
    /// Wraps an error as a failure.
    pub fn of(error: impl std::fmt::Display) -> Self {
        Self::Failed(error.to_string())
    }
}

impl<'a> Work<'a> {
    /// Creates an environment; `inform` receives the progress.
    pub fn new(done: &'a Done, jobs: usize, inform: &'a mut dyn FnMut(f64, &str) -> Control) -> Self {
        Self { done, jobs, inform }
    }

    /// Reports the completed share with a short text.
    ///
    /// # Errors
    /// [`StepError::Stopped`] if the step should stop.
    pub fn inform(&mut self, share: f64, words: &str) -> Result<(), StepError> {
        match (self.inform)(share, words) {
            Control::Continue => Ok(()),
            Control::Stop => Err(StepError::Stopped),
        }
    }
}

/// Storage for the values of finished steps, so that interrupted reproductions can resume.
pub trait Keeps {
    /// Returns the values of a step that was finished before.
    fn take(&self, step: &Step) -> Option<Metrics>;

    /// Stores the values of a step.
    ///
    /// # Errors
    /// If they cannot be written.
    fn keep(&self, step: &Step, numbers: &Metrics) -> Result<(), StepError>;
}

/// Storage that keeps nothing.
impl Keeps for () {
    fn take(&self, _: &Step) -> Option<Metrics> {
        None
    }

    fn keep(&self, _: &Step, _: &Metrics) -> Result<(), StepError> {
        Ok(())
    }
}

/// Executes `steps` in order, each name once, except stored ones, and adds their values to `done`. `inform` receives
/// the step, its completed share, and a text. A failed step does not affect the others; after an interrupted one, no
/// further step runs.
pub fn run_steps(
    steps: impl IntoIterator<Item = Step>,
    done: &mut Done,
    jobs: usize,
    keeps: &dyn Keeps,
    inform: &mut dyn FnMut(&Step, f64, &str) -> Control,
) -> Vec<(Step, StepError)> {
    let mut errors: Vec<(Step, StepError)> = Vec::new();
    for step in steps {
        // Several experiments may name a step; one that has failed would fail again.
        let tried = done.steps.contains_key(step.name) || errors.iter().any(|(e, _)| e.name == step.name);
        if tried {
            continue;
        }
        if let Some(numbers) = keeps.take(&step) {
            done.steps.insert(step.name, numbers);
            continue;
        }
        let mut say = |share: f64, words: &str| inform(&step, share, words);
        let result = (step.work)(&mut Work::new(done, jobs, &mut say));
        let result = result.and_then(|numbers| keeps.keep(&step, &numbers).map(|()| numbers));
        match result {
            Ok(numbers) => {
                done.steps.insert(step.name, numbers);
            }
            Err(error) => {
                let stopped = matches!(error, StepError::Stopped);
                errors.push((step, error));
                if stopped {
                    break;
                }
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(value: f64) -> Metrics {
        Metrics::of([("value", Some(value))])
    }

    const ONE: Step = Step {
        name: "one",
        title: "counting",
        work: |work| {
            work.inform(0.5, "halfway")?;
            Ok(numbers(1.0))
        },
    };
    const BROKEN: Step = Step {
        name: "broken",
        title: "failing",
        work: |_| Err(StepError::of("no data")),
    };
    const TWO: Step = Step {
        name: "two",
        title: "adding",
        work: |work| {
            let one = work
                .done
                .step("one")
                .map_or(0.0, |numbers| numbers.values["value"]);
            work.inform(1.0, "done")?;
            Ok(numbers(one + 1.0))
        },
    };

    #[test]
    fn steps_are_done_once_and_see_earlier_ones() {
        let mut done = Done::default();
        let mut heard = Vec::new();
        let errors = run_steps(
            [ONE, BROKEN, ONE, BROKEN, TWO],
            &mut done,
            1,
            &(),
            &mut |step, share, words| {
                heard.push(format!("{} {share} {words}", step.title));
                Control::Continue
            },
        );
        assert_eq!(heard, ["counting 0.5 halfway", "adding 1 done"]);
        assert_eq!(done.step("two").unwrap().values["value"], 2.0);
        let [(step, error)] = &errors[..] else {
            panic!("{errors:?}")
        };
        assert_eq!((step.name, error.to_string().as_str()), ("broken", "no data"));
    }

    #[test]
    fn what_is_stopped_is_the_last() {
        let mut done = Done::default();
        let errors = run_steps([ONE, TWO], &mut done, 1, &(), &mut |_, _, _| Control::Stop);
        assert!(done.steps.is_empty());
        assert!(matches!(errors[..], [(ref step, StepError::Stopped)] if step.name == "one"));
    }
}
