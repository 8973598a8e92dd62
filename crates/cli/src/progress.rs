//! Progress of runs on standard error: a bar on a terminal, otherwise a line now and then.

mod steps;
mod sweep;
#[cfg(feature = "training")]
mod train;

use std::borrow::Borrow;
use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use paceline_fabric::Progress;
use paceline_kernel::Time;
use paceline_lab::run::{Cut, cores};
use paceline_scenario::Resolved;

use crate::args::SayArgs;

pub(crate) use steps::StepMeter;
pub(crate) use sweep::SweepMeter;
#[cfg(feature = "training")]
pub(crate) use train::{GainMeter, RoundProgress, TrainMeter};

/// Number of steps of a progress bar.
const STEPS: u64 = 1000;
/// Interval between lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress display of some runs.
pub(crate) struct Meter {
    show: Show,
    started: Instant,
    runs: Mutex<State>,
}

enum Show {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

impl Show {
    fn of(say: SayArgs) -> Self {
        let terminal = std::io::stderr().is_terminal();
        match (say.quiet || (say.json && !terminal), terminal) {
            (true, _) => Self::Nothing,
            (false, true) => Self::Bar(bar()),
            (false, false) => Self::Lines,
        }
    }

    /// Prints `text` on a separate line, above the bar if there is one.
    fn line(&self, text: &str) {
        match self {
            Self::Bar(bar) => bar.suspend(|| say!("{text}")),
            Self::Lines => say!("{text}"),
            Self::Nothing => {}
        }
    }
}

struct State {
    runs: Vec<OneRun>,
    last_line: Instant,
}

struct OneRun {
    /// Start of the first flow. Nothing happens before it, which is two seconds in ns-3 inputs.
    start: Time,
    stop: Time,
    /// Number of flows; `None` if it is known only after the run.
    flows: Option<u64>,
    now: Option<Progress>,
}

/// Returns the number of a run's flows; `None` for jobs by traces, whose flows depend on the run.
fn known_flows(input: &Resolved) -> Option<u64> {
    (input.run.programs.is_empty()).then(|| input.run.flow_count() as u64)
}

impl OneRun {
    fn of(input: &Resolved) -> Self {
        let starts = input.run.flows.iter().map(|flow| flow.start);
        let start = match input.run.arrivals {
            // Random flows may start immediately.
            Some(_) => Time::ZERO,
            None => starts.min().unwrap_or(Time::ZERO),
        };
        Self {
            start,
            stop: input.run.stop,
            flows: known_flows(input),
            now: None,
        }
    }

    /// Returns the finished share: the maximum of the shares of simulated time, flows and iterations. (Runs end when
    /// no events are left, often long before their duration.)
    fn fraction(&self) -> f64 {
        let Some(now) = self.now else { return 0.0 };
        if now.done {
            return 1.0;
        }
        let since = |time: Time| time.as_ps().saturating_sub(self.start.as_ps()) as f64;
        let time = since(now.now) / since(self.stop).max(1.0);
        let flows = (self.flows).map_or(0.0, |flows| now.completed as f64 / flows.max(1) as f64);
        let iterations = (now.iterations).map_or(0.0, |(over, all)| f64::from(over) / f64::from(all.max(1)));
        time.max(flows).max(iterations).min(1.0)
    }
}

impl Meter {
    /// Creates a display for `inputs`.
    pub(crate) fn new<I: Borrow<Resolved>>(inputs: &[I], say: SayArgs) -> Self {
        let inputs: Vec<&Resolved> = inputs.iter().map(Borrow::borrow).collect();
        let show = Show::of(say);
        if matches!(show, Show::Lines) {
            let flows: Option<u64> = inputs.iter().map(|input| known_flows(input)).sum();
            let flows = flows.map_or_else(String::new, |flows| format!(": {flows} flows"));
            say!("running {}{flows}", names(&inputs));
        }
        let started = Instant::now();
        Self {
            show,
            started,
            runs: Mutex::new(State {
                runs: inputs.into_iter().map(OneRun::of).collect(),
                last_line: started,
            }),
        }
    }

    /// Reports the number of threads of a run if it is less than `asked`.
    pub(crate) fn print_cut(&self, run: &str, asked: usize, cut: Cut) {
        if let Some(text) = cut_text(&format!("{run} goes"), asked, cut) {
            self.show.line(&text);
        }
    }

    /// Updates the progress of one run.
    pub(crate) fn update(&self, run: usize, now: &Progress) {
        let mut state = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        state.runs[run].now = Some(*now);
        let elapsed = self.started.elapsed();
        match &self.show {
            Show::Nothing => {}
            Show::Bar(bar) => {
                let (fraction, text) = describe(&state.runs, elapsed);
                bar.set_message(text);
                bar.set_position((fraction * STEPS as f64) as u64);
            }
            // A log file gets a line now and then, since every update would flood it.
            Show::Lines if state.last_line.elapsed() >= LINE_EVERY => {
                state.last_line = Instant::now();
                let (fraction, text) = describe(&state.runs, elapsed);
                say!("{:3.0}%  {text}", fraction * 100.0);
            }
            Show::Lines => {}
        }
    }
}

/// Returns a message about the number of threads if it is less than `asked`. `goes` is the start of the sentence.
fn cut_text(goes: &str, asked: usize, cut: Cut) -> Option<String> {
    match cut {
        Ok(parts) if parts >= asked => None,
        Ok(parts) => Some(format!(
            "{goes} on {parts} threads: its network can be cut into no more parts"
        )),
        Err(why) => Some(format!("{goes} on one thread: {why}")),
    }
}

/// Returns a message about the number of threads per run, if parallel runs share the cores.
pub(crate) fn share_text(runs: usize, each: usize) -> String {
    let s = if each == 1 { "" } else { "s" };
    format!(
        "{runs} runs side by side on {} cores: {each} thread{s} each",
        cores()
    )
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Show::Bar(bar) = &self.show {
            bar.finish_and_clear();
        }
    }
}

/// Formats inputs as `a under x, y; b under x`.
fn names(inputs: &[&Resolved]) -> String {
    let part = |part: &[&Resolved]| {
        let mut schemes: Vec<&str> = part.iter().map(|input| input.scheme.as_str()).collect();
        schemes.dedup();
        format!("{} under {}", part[0].name, schemes.join(", "))
    };
    let parts = inputs.chunk_by(|a, b| a.name == b.name);
    parts.map(part).collect::<Vec<_>>().join("; ")
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(8));
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3}%  {msg}") {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}

/// Returns the finished share, and a description of the progress.
fn describe(runs: &[OneRun], elapsed: Duration) -> (f64, String) {
    let fraction = runs.iter().map(OneRun::fraction).sum::<f64>() / runs.len().max(1) as f64;
    let of_all =
        |get: fn(&Progress) -> u64| -> u64 { runs.iter().filter_map(|run| run.now.as_ref()).map(get).sum() };
    let flows: Option<u64> = runs.iter().map(|run| run.flows).sum();
    let flows = flows.map_or_else(String::new, |flows| format!("/{flows}"));
    // At least a millisecond, since no time has passed at the first update.
    let rate = of_all(|now| now.packet_hops) as f64 / elapsed.as_secs_f64().max(1e-3) / 1e6;
    let mut text = match runs {
        [run] => {
            let now = run.now.map_or(Time::ZERO, |now| now.now);
            let iteration = match run.now.and_then(|now| now.iterations) {
                Some((over, all)) => format!("iteration {} of {all}  ", (over + 1).min(all)),
                None => String::new(),
            };
            format!(
                "{iteration}{} of at most {}",
                milliseconds(now),
                milliseconds(run.stop)
            )
        }
        _ => {
            let done = runs
                .iter()
                .filter(|run| run.now.is_some_and(|now| now.done))
                .count();
            format!("{done}/{} runs", runs.len())
        }
    };
    text.push_str(&format!(
        "  {}{flows} flows  {rate:.1} M packet-hops/s",
        of_all(|now| now.completed)
    ));
    // An estimate from the very beginning would jump about.
    if fraction > 0.01 && fraction < 1.0 {
        let left = elapsed.as_secs_f64() * (1.0 - fraction) / fraction;
        text.push_str(&format!("  ETA {}", clock(left)));
    }
    (fraction, text)
}

fn milliseconds(time: Time) -> String {
    format!("{:.3} ms", time.as_ps() as f64 / 1e9)
}

/// Formats a duration as `0:07` or `1:02:03`.
fn clock(seconds: f64) -> String {
    let s = seconds.round() as u64;
    let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
    if h > 0 {
        return format!("{h}:{m:02}:{s:02}");
    }
    format!("{m}:{s:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(now_ms: u64, completed: u64, done: bool) -> OneRun {
        OneRun {
            start: Time::ZERO,
            stop: Time::from_ns(100_000_000),
            flows: Some(20),
            now: Some(Progress {
                now: Time::from_ns(now_ms * 1_000_000),
                events: 2_000_000,
                packet_hops: 3_000_000,
                completed,
                iterations: None,
                done,
            }),
        }
    }

    /// A job by a trace shows its current iteration.
    #[test]
    fn iterations_of_a_trace_are_counted() {
        let at = |over| {
            let mut repeated = run(10, 70, false);
            // The number of flows is not known in advance.
            repeated.flows = None;
            repeated.now.as_mut().unwrap().iterations = Some((over, 8));
            describe(&[repeated], Duration::from_secs(3))
        };
        let (fraction, text) = at(2);
        assert_eq!(fraction, 0.25);
        assert!(
            text.starts_with("iteration 3 of 8  10.000 ms of at most 100.000 ms  70 flows  "),
            "{text}"
        );
        assert!(at(8).1.starts_with("iteration 8 of 8  "));
    }

    #[test]
    fn one_run_tells_its_time() {
        let (fraction, text) = describe(&[run(10, 5, false)], Duration::from_secs(3));
        assert_eq!(fraction, 0.25);
        assert_eq!(
            text,
            "10.000 ms of at most 100.000 ms  5/20 flows  1.0 M packet-hops/s  ETA 0:09"
        );
    }

    /// Inputs of ns-3 start with two idle seconds.
    #[test]
    fn time_before_the_first_flow_does_not_count() {
        let mut idle = run(2000, 0, false);
        (idle.start, idle.stop) = (Time::from_ns(2_000_000_000), Time::from_ns(2_100_000_000));
        let (fraction, text) = describe(&[idle], Duration::from_secs(3));
        assert_eq!(fraction, 0.0);
        assert!(!text.contains("ETA"), "{text}");
        let mut early = run(1000, 0, false);
        (early.start, early.stop) = (Time::from_ns(2_000_000_000), Time::from_ns(2_100_000_000));
        assert_eq!(early.fraction(), 0.0);
        let mut later = run(2025, 1, false);
        (later.start, later.stop) = (Time::from_ns(2_000_000_000), Time::from_ns(2_100_000_000));
        assert_eq!(later.fraction(), 0.25);
    }

    #[test]
    fn several_runs_are_counted() {
        let (fraction, text) = describe(&[run(30, 20, true), run(50, 3, false)], Duration::from_secs(2));
        assert_eq!(fraction, 0.75);
        assert_eq!(text, "1/2 runs  23/40 flows  3.0 M packet-hops/s  ETA 0:01");
    }

    #[test]
    fn clocks() {
        assert_eq!(
            [clock(7.2), clock(62.0), clock(3723.0)],
            ["0:07", "1:02", "1:02:03"]
        );
    }
}
