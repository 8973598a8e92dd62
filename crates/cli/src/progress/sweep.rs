//! Progress of a sweep on standard error.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use paceline_fabric::Progress;
use paceline_kernel::sorted::{SortedMap, SortedSet};
use paceline_lab::run::{Control, Cut};
use paceline_lab::sweep::{Row, Status, Watch};
use paceline_scenario::Resolved;

use super::{LINE_EVERY, OneRun, STEPS, Show, clock, cut_text, share_text};
use crate::args::SayArgs;
use crate::interrupt;

/// Progress display of a sweep.
pub(crate) struct SweepMeter {
    show: Show,
    name: String,
    started: Instant,
    state: Mutex<State>,
}

struct State {
    total: usize,
    done: usize,
    failed: usize,
    /// Packet hops of the finished runs.
    hops: u64,
    running: SortedMap<usize, OneRun>,
    last_line: Instant,
    /// Note on the course of a search; empty for a sweep.
    note: String,
    /// Messages about partitioning that were printed already: each is printed once, for all runs that it applies to.
    said: SortedSet<String>,
}

impl SweepMeter {
    /// Creates a display for a sweep of the scenario `name`.
    pub(crate) fn new(name: &str, say: SayArgs) -> Self {
        let started = Instant::now();
        Self {
            show: Show::of(say),
            name: name.to_string(),
            started,
            state: Mutex::new(State {
                total: 0,
                done: 0,
                failed: 0,
                hops: 0,
                running: SortedMap::new(),
                last_line: started,
                note: String::new(),
                said: SortedSet::new(),
            }),
        }
    }

    fn say_once(&self, text: String) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.said.contains(&text) {
            self.show.line(&text);
            state.said.insert(text);
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        let elapsed = self.started.elapsed();
        match &self.show {
            Show::Bar(bar) => {
                let (fraction, text) = describe(&state, elapsed);
                bar.set_message(text);
                bar.set_position((fraction * STEPS as f64) as u64);
            }
            Show::Lines if state.last_line.elapsed() >= LINE_EVERY => {
                state.last_line = Instant::now();
                let (fraction, text) = describe(&state, elapsed);
                say!("{:3.0}%  {text}", fraction * 100.0);
            }
            Show::Lines | Show::Nothing => {}
        }
    }
}

impl Watch for SweepMeter {
    fn begin(&self, runs: usize, there: usize, plan_changed: bool) {
        self.change(|state| state.total = runs);
        let mut text = match (runs, there) {
            (0, there) => format!("sweep of {}: all {there} runs are finished", self.name),
            (runs, 0) => format!("sweep of {}: {runs} runs", self.name),
            (runs, there) => format!(
                "sweep of {}: {runs} runs, and {there} that are finished",
                self.name
            ),
        };
        if plan_changed {
            text.push_str("; finished runs in the folder are reused");
        }
        self.show.line(&text);
    }

    fn cut(&self, asked: usize, cut: Cut) {
        if let Some(text) = cut_text("runs of this sweep go", asked, cut) {
            self.say_once(text);
        }
    }

    fn share(&self, beside: usize, each: usize) {
        self.say_once(share_text(beside, each));
    }

    fn progress(&self, run: usize, input: &Resolved, now: &Progress) -> Control {
        self.change(|state| {
            state.running.entry(run).or_insert_with(|| OneRun::of(input)).now = Some(*now);
        });
        interrupt::control()
    }

    fn end(&self, run: usize, row: &Row) {
        self.change(|state| {
            state.running.remove(&run);
            state.done += 1;
            state.failed += usize::from(row.status == Status::Failed);
            state.hops += row.summary.as_ref().map_or(0, |summary| summary.packet_hops);
        });
    }

    fn stopped(&self) -> bool {
        interrupt::asked()
    }
}

impl paceline_lab::tune::Watch for SweepMeter {
    fn start(&self, runs: usize, resumes: bool) {
        self.change(|state| (state.total, state.done) = (runs, 0));
        let resumes = if resumes {
            "; finished runs in the folder are reused"
        } else {
            ""
        };
        self.show
            .line(&format!("search in {}: at most {runs} runs{resumes}", self.name));
    }

    fn trials(&self, made: usize, of: usize, best: Option<f64>) {
        self.change(|state| {
            let best = best.map_or_else(String::new, |best| format!(", best {best:.3} of as written"));
            state.note = format!("  {made}/{of} candidates{best}");
        });
    }
}

impl Drop for SweepMeter {
    fn drop(&mut self) {
        if let Show::Bar(bar) = &self.show {
            bar.finish_and_clear();
        }
    }
}

/// Returns the finished share, and a description of the progress.
fn describe(state: &State, elapsed: Duration) -> (f64, String) {
    let running = state.running.values();
    let parts: f64 = running.clone().map(OneRun::fraction).sum();
    let fraction = (state.done as f64 + parts) / state.total.max(1) as f64;
    let hops: u64 = running.filter_map(|run| run.now).map(|now| now.packet_hops).sum();
    let rate = (state.hops + hops) as f64 / elapsed.as_secs_f64().max(1e-3) / 1e6;
    let mut text = format!("{}/{} runs", state.done, state.total);
    if state.failed > 0 {
        text.push_str(&format!(", {} failed", state.failed));
    }
    text.push_str(&format!("  {rate:.1} M packet-hops/s"));
    text.push_str(&state.note);
    // An estimate from the first runs would jump about.
    if fraction > 0.001 && fraction < 1.0 {
        let left = elapsed.as_secs_f64() * (1.0 - fraction) / fraction;
        text.push_str(&format!("  ETA {}", clock(left)));
    }
    (fraction.min(1.0), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_kernel::Time;

    #[test]
    fn runs_that_are_under_way_count() {
        let half = OneRun {
            start: Time::ZERO,
            stop: Time::from_ns(100),
            flows: Some(10),
            now: Some(Progress {
                now: Time::from_ns(50),
                events: 1,
                packet_hops: 1_000_000,
                completed: 2,
                iterations: None,
                done: false,
            }),
        };
        let state = State {
            total: 10,
            done: 2,
            failed: 1,
            hops: 9_000_000,
            running: SortedMap::from([(2, half)]),
            last_line: Instant::now(),
            note: String::new(),
            said: SortedSet::new(),
        };
        let (fraction, text) = describe(&state, Duration::from_secs(5));
        assert_eq!(fraction, 0.25);
        assert_eq!(text, "2/10 runs, 1 failed  2.0 M packet-hops/s  ETA 0:15");
    }
}
