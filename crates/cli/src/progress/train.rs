//! Progress of trainings on standard error, round by round.

use std::cell::Cell;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use paceline_fabric::Progress;

use super::{LINE_EVERY, Show, clock, milliseconds};
use crate::args::SayArgs;

/// Length of the bar for the test error of the first round, in characters.
const CELLS: usize = 24;

/// Results of a training round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RoundProgress {
    /// Number of the round, from 1.
    pub(crate) round: usize,
    /// Total number of rounds.
    pub(crate) of: usize,
    /// Mean training loss of the round.
    pub(crate) loss: f64,
    /// Mean absolute percentage error on the training pairs.
    pub(crate) train: f64,
    /// Mean absolute percentage error on the test pairs.
    pub(crate) test: f64,
}

/// Progress display of a training by round.
pub(crate) struct TrainMeter {
    show: Show,
    started: Instant,
    /// Test error of the first round, to which bars are relative.
    first: Option<f64>,
}

impl TrainMeter {
    /// Creates a display for a training of `name`.
    pub(crate) fn new(name: &str, rounds: usize, pairs: usize, say: SayArgs) -> Self {
        let show = match Show::of(say) {
            Show::Bar(_) => Show::Bar(bar(rounds as u64)),
            other => other,
        };
        let meter = Self {
            show,
            started: Instant::now(),
            first: None,
        };
        meter
            .show
            .line(&format!("training {name}: {rounds} rounds, {pairs} pairs"));
        meter.show.line(&format!(
            "{:>5}  {:>8}  {:>10}  {:>9}",
            "round", "loss", "train MAPE", "test MAPE"
        ));
        meter
    }

    /// Prints the results of a round.
    pub(crate) fn round(&mut self, seen: RoundProgress) {
        let first = *self.first.get_or_insert(seen.test);
        self.show.line(&line(seen, first));
        if let Show::Bar(bar) = &self.show {
            bar.set_position(seen.round as u64);
            let share = seen.round as f64 / seen.of.max(1) as f64;
            if share < 1.0 {
                let left = self.started.elapsed().as_secs_f64() * (1.0 - share) / share;
                bar.set_message(format!("ETA {}", clock(left)));
            }
        }
    }
}

impl Drop for TrainMeter {
    fn drop(&mut self) {
        if let Show::Bar(bar) = &self.show {
            bar.finish_and_clear();
        }
    }
}

/// Progress display for the tuning of gains, by run.
pub(crate) struct GainMeter {
    show: Show,
    episodes: usize,
    last_line: Cell<Instant>,
}

impl GainMeter {
    /// Creates a display for at most `episodes` runs.
    pub(crate) fn new(episodes: usize, say: SayArgs) -> Self {
        let meter = Self {
            show: match Show::of(say) {
                Show::Bar(_) => Show::Bar(bar(episodes as u64)),
                other => other,
            },
            episodes,
            last_line: Cell::new(Instant::now()),
        };
        meter
            .show
            .line(&format!("training gains: at most {episodes} runs"));
        meter
    }

    /// Updates the progress of a run, and the gains.
    pub(crate) fn update(&self, run: usize, now: &Progress, [p, i, d]: [f64; 3]) {
        let (of, text) = (self.episodes, format!("K_p {p:.4}  K_i {i:.4}  K_d {d:.4}"));
        let at = format!("run {}/{of}, {}", run + 1, milliseconds(now.now));
        if now.done || self.last_line.get().elapsed() >= LINE_EVERY {
            self.last_line.set(Instant::now());
            self.show.line(&format!("{at}  {text}"));
        }
        if let Show::Bar(bar) = &self.show {
            bar.set_position((run + usize::from(now.done)) as u64);
            bar.set_message(format!("{at}  {text}"));
        }
    }
}

impl Drop for GainMeter {
    fn drop(&mut self) {
        if let Show::Bar(bar) = &self.show {
            bar.finish_and_clear();
        }
    }
}

fn bar(rounds: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(rounds), ProgressDrawTarget::stderr_with_hz(8));
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {msg}") {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}

/// Formats a round: its values, and the test error as a bar.
fn line(seen: RoundProgress, first: f64) -> String {
    let cells = (seen.test / first.max(f64::MIN_POSITIVE) * CELLS as f64).round();
    let cells = (cells as usize).min(2 * CELLS);
    let text = format!(
        "{:>5}  {:>8.4}  {:>8.2} %  {:>7.2} %  {}",
        seen.round,
        seen.loss,
        seen.train * 100.0,
        seen.test * 100.0,
        "━".repeat(cells)
    );
    text.trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_seen_to_fall() {
        let seen = |test| RoundProgress {
            round: 7,
            of: 19,
            loss: 0.04567,
            train: 0.0523,
            test,
        };
        assert_eq!(
            line(seen(0.08), 0.08),
            "    7    0.0457      5.23 %     8.00 %  ━━━━━━━━━━━━━━━━━━━━━━━━"
        );
        assert_eq!(
            line(seen(0.02), 0.08),
            "    7    0.0457      5.23 %     2.00 %  ━━━━━━"
        );
        // The bar of a diverging training is limited.
        assert_eq!(line(seen(80.0), 0.08).matches('━').count(), 48);
    }
}
