//! How a training goes: what each round came to, on standard error.

use std::cell::Cell;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use paceline_fabric::Progress;

use super::{LINE_EVERY, Show, clock, milliseconds};
use crate::args::SayArgs;

/// Cells of the bar that stands for the largest error.
const CELLS: usize = 24;

/// What a round came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    /// Counted from 1.
    pub(crate) round: usize,
    /// Rounds in all.
    pub(crate) of: usize,
    /// Mean loss while training.
    pub(crate) loss: f64,
    /// Mean absolute percentage error of the training pairs.
    pub(crate) train: f64,
    /// The same of the test pairs.
    pub(crate) test: f64,
}

/// Shows a training round by round.
pub(crate) struct TrainMeter {
    show: Show,
    started: Instant,
    /// The test error of the first round: what the bars are measured by.
    first: Option<f64>,
}

impl TrainMeter {
    /// For a training of `name` in `rounds` rounds.
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

    /// Takes in what a round came to.
    pub(crate) fn round(&mut self, seen: Seen) {
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

/// Shows a training of gains, run by run.
pub(crate) struct GainMeter {
    show: Show,
    episodes: usize,
    last_line: Cell<Instant>,
}

impl GainMeter {
    /// For at most so many runs.
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

    /// Takes in how far a run is, and the gains.
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

/// A round as a line: numbers, and the test error as a bar.
fn line(seen: Seen, first: f64) -> String {
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
        let seen = |test| Seen {
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
        // A training that goes wrong does not fill the screen.
        assert_eq!(line(seen(80.0), 0.08).matches('━').count(), 48);
    }
}
