//! Recording of runs for datasets.

use paceline_fabric::Progress;
use paceline_fabric::spec::RecordSpec;
use paceline_lab::results::{RunStatus, Summary};
use paceline_lab::run::{self, Control};
use paceline_scenario::Resolved;

use super::{Source, Trace};
use crate::Error;

/// Callback for progress: index of the source, and progress of its run.
pub type Watch<'a> = &'a (dyn Fn(usize, &Progress) -> Control + Sync);

/// Recorded run with its flows' samples.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Measurements of its senders.
    pub trace: Trace,
    /// Summary of the run.
    pub summary: Summary,
}

/// Runs `sources` on at most `jobs` threads and returns their senders' measurements. The result does not
/// depend on `jobs`.
///
/// # Errors
/// A scenario is invalid, a run failed, or `watch` stopped one.
pub fn record(sources: &[Source], jobs: usize, watch: Watch<'_>) -> Result<Vec<Trace>, Error> {
    let runs = record_runs(sources, jobs, watch)?;
    Ok(runs.into_iter().map(|run| run.trace).collect())
}

/// As [`record`], with the summaries of the runs.
///
/// # Errors
/// See [`record`].
pub fn record_runs(sources: &[Source], jobs: usize, watch: Watch<'_>) -> Result<Vec<Recorded>, Error> {
    let inputs: Result<Vec<Resolved>, Error> = sources.iter().map(Source::load).collect();
    let inputs = inputs?;
    let runs = run::compare(&inputs, jobs, watch).into_iter();
    let recorded = runs
        .zip(inputs.iter().zip(sources))
        .map(|(run, (input, source))| {
            let run = run?;
            match run.summary.status {
                RunStatus::Partial => Err(Error::Stopped("the runs were recorded")),
                // Samples before a deadlock are valid.
                RunStatus::Completed | RunStatus::Deadlock | RunStatus::Stuck => Ok(Recorded {
                    trace: Trace::new(input, &source.settings, &run.outcome.rtt_samples),
                    summary: run.summary,
                }),
            }
        });
    recorded.collect()
}

impl Source {
    /// Loads the run, with only its samples recorded.
    ///
    /// # Errors
    /// The scenario is invalid, or a key is set twice.
    pub fn load(&self) -> Result<Resolved, Error> {
        let mut input = paceline_lab::load(&self.scenario, &self.overrides()?)?;
        // Other recorders do not change a run, but cost time and memory.
        input.run_mut().record = RecordSpec {
            rtt_samples: true,
            ..RecordSpec::default()
        };
        Ok(input)
    }
}
