//! Progress of the steps that follow runs.

use std::time::Instant;

use paceline_reproduce::Step;

use super::{LINE_EVERY, STEPS, Show};
use crate::args::SayArgs;

/// Progress display of consecutive steps.
pub(crate) struct StepMeter {
    show: Show,
    /// Step and time of the last line.
    last: Option<(&'static str, Instant)>,
}

impl StepMeter {
    pub(crate) fn new(say: SayArgs) -> Self {
        Self {
            show: Show::of(say),
            last: None,
        }
    }

    /// Updates the finished share of a step.
    pub(crate) fn update(&mut self, step: &Step, share: f64, words: &str) {
        let text = format!("{}: {words}", step.title);
        match &self.show {
            Show::Nothing => {}
            Show::Bar(bar) => {
                bar.set_message(text);
                bar.set_position((share * STEPS as f64) as u64);
            }
            Show::Lines => {
                let late = |(name, at): (&str, Instant)| name != step.name || at.elapsed() >= LINE_EVERY;
                if self.last.is_none_or(late) {
                    self.last = Some((step.name, Instant::now()));
                    say!("{:3.0}%  {text}", share * 100.0);
                }
            }
        }
    }
}

impl Drop for StepMeter {
    fn drop(&mut self) {
        if let Show::Bar(bar) = &self.show {
            bar.finish_and_clear();
        }
    }
}
