//! Running what is to be recorded.

use paceline_fabric::Progress;
use paceline_fabric::spec::RecordSpec;
use paceline_lab::results::{RunStatus, Summary};
use paceline_lab::run::{self, Control};
use paceline_scenario::Resolved;

use super::{Source, Trace};
use crate::Error;

/// Called as runs go on: the number of the source, and how far its run is.
pub type Watch<'a> = &'a (dyn Fn(usize, &Progress) -> Control + Sync);

/// A run that was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// What its senders measured.
    pub trace: Trace,
    /// What it came to.
    pub summary: Summary,
}

/// Runs `sources` on at most `jobs` threads and keeps what their senders measured. The result does not
/// depend on `jobs`.
///
/// # Errors
/// A scenario is wrong, a run failed, or `watch` stopped one.
pub fn record(sources: &[Source], jobs: usize, watch: Watch<'_>) -> Result<Vec<Trace>, Error> {
    let runs = record_runs(sources, jobs, watch)?;
    Ok(runs.into_iter().map(|run| run.trace).collect())
}

/// As [`record`], and keeps what the runs came to, too.
///
/// # Errors
/// As [`record`].
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
                // What was measured until a deadlock was measured.
                RunStatus::Completed | RunStatus::Deadlock | RunStatus::Stuck => Ok(Recorded {
                    trace: Trace::new(input, &source.settings, &run.outcome.rtt_samples),
                    summary: run.summary,
                }),
            }
        });
    recorded.collect()
}

impl Source {
    /// The run, with its samples recorded and nothing else.
    ///
    /// # Errors
    /// The scenario is wrong, or something is set twice.
    pub fn load(&self) -> Result<Resolved, Error> {
        let mut input = paceline_lab::load(&self.scenario, &self.overrides()?)?;
        // Other recorders move nothing in a run, but cost time and memory.
        input.run_mut().record = RecordSpec {
            rtt_samples: true,
            ..RecordSpec::default()
        };
        Ok(input)
    }
}
