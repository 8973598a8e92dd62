//! Execution of scenarios: one, or several in parallel.

use std::any::Any;
use std::borrow::Borrow;
use std::cell::Cell;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use paceline_fabric::outcome::{EndedFlow, Repeats};
use paceline_fabric::{BuildError, Exchange, Factories, Outcome, Progress, Simulation, Until};
use paceline_kernel::Time;
use paceline_kernel::order::Sort as _;

use crate::measures;
use crate::results::{FlowRows, Gathering, Machine, RunStatus, Summary, summarise};
use decided::{Decided, Halt};
use machine::Cpu;
use paceline_scenario::{Memoise, Resolved};

mod decided;
mod machine;
mod memory;
mod ranks;
mod slowest;
mod threads;

pub use decided::{conclude, patience};
pub use memory::{free_memory, memory_of_flows, memory_warning};
use ranks::Slice;
pub use ranks::assist;
pub use slowest::{AGAIN_MAX, SLOWEST, account_for_slowest, compare_accounted};
pub use threads::{Cut, Resources, cores, idle_cores, parts_possible, threads_each};

/// Approximate time between two calls of the progress function.
const SLICE: Duration = Duration::from_millis(40);
/// Events of a part until the first call, and the minimum and maximum until the next.
const SLICE_EVENTS: (u64, u64, u64) = (20_000, 1_000, 4_000_000);

/// Answer of the progress function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    /// Continue with the next slice.
    Continue,
    /// Stop now and keep the results so far.
    Stop,
}

/// Result of a run that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Records of the simulation.
    pub outcome: Outcome,
    /// Flows in the order of their starts.
    pub flows: FlowRows,
    /// Metrics of the run, as in `summary.json`.
    pub summary: Summary,
}

/// Error of a run that has no result.
#[derive(Debug)]
pub struct RunError {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Reason for the lack of a result.
    pub kind: RunErrorKind,
}

/// Reason why a run has no result.
#[derive(Debug)]
pub enum RunErrorKind {
    /// The network cannot be built.
    Build(BuildError),
    /// The file for flows that do not fit in memory cannot be written.
    Scratch {
        /// Folder of the file.
        folder: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The network cannot be divided among the ranks.
    Undivided(&'static str),
    /// A requested set of measures does not exist.
    Measures(String),
    /// The recorded decisions belong to another run: the difference, and a remedy.
    Decisions(String),
    /// The reproduced simulator aborts at this point, too.
    Aborted {
        /// Simulated time of the abort.
        now: Time,
        /// Condition on which it aborts.
        message: String,
    },
    /// The simulator violated one of its invariants.
    Broken {
        /// Seed of the run.
        seed: u64,
        /// Simulated time of the last progress before the fault.
        now: Time,
        /// Number of events executed before the fault.
        events: u64,
        /// Message of the failed check.
        message: String,
    },
}

impl RunError {
    fn of(input: &Resolved, kind: RunErrorKind) -> Self {
        Self {
            scenario: input.name.clone(),
            scheme: input.scheme.clone(),
            kind,
        }
    }
}

impl Display for RunError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            scenario,
            scheme,
            kind,
        } = self;
        match kind {
            RunErrorKind::Build(source) => {
                write!(
                    f,
                    "cannot build scenario `{scenario}` with scheme `{scheme}`: {source}"
                )
            }
            RunErrorKind::Scratch { folder, source } => write!(
                f,
                "cannot keep the flows of scenario `{scenario}` with scheme `{scheme}` that do not fit in memory in a \
                 file in {}: {source}",
                folder.display()
            ),
            RunErrorKind::Undivided(why) => write!(
                f,
                "scenario `{scenario}` with scheme `{scheme}` cannot be divided among ranks: {why} (without mpirun it \
                 runs on one machine)"
            ),
            RunErrorKind::Measures(message) => f.write_str(message),
            RunErrorKind::Decisions(message) => {
                write!(f, "the decisions of scenario `{scenario}` do not fit: {message}")
            }
            RunErrorKind::Aborted { now, message } => write!(
                f,
                "scenario `{scenario}` stops at {now}, where the simulator that it reproduces aborts: {message}"
            ),
            RunErrorKind::Broken {
                seed,
                now,
                events,
                message,
            } => write!(
                f,
                "the simulator broke an invariant in scenario `{scenario}` with scheme `{scheme}`, seed {seed}, \
                 after {events} events at {now}: {message} (this is a fault of the program: please report it \
                 with the run's scenario)"
            ),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            RunErrorKind::Build(source) => Some(source),
            RunErrorKind::Scratch { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<BuildError> for RunErrorKind {
    fn from(source: BuildError) -> Self {
        Self::Build(source)
    }
}

/// Interface of [`execute`] to a simulation; tests implement it with a stand-in.
trait Engine: Sized {
    fn cut(&mut self, parts: usize) -> Cut;
    /// Divides the run among ranks, with so many parts each.
    fn cut_among(&mut self, _ranks: &Arc<dyn Exchange>, _threads: usize) -> Cut {
        Err("its senders are decided for from outside")
    }
    /// Enables the reuse of repeated phases, or returns the reason why there can be none.
    fn memoise(&mut self, _checks: bool) -> Result<(), &'static str> {
        Err("its senders are decided for from outside")
    }
    fn advance(&mut self, events: u64) -> Progress;
    /// Advances to this instant; returns `None` if the engine cannot stop at one.
    fn advance_until(&mut self, _at: Time) -> Option<Progress> {
        None
    }
    /// Returns the outcome up to now; `None` if the engine cannot tell.
    fn so_far(&self) -> Option<Outcome> {
        None
    }
    /// Returns the reason why the run cannot continue, if there is one.
    fn halt(&self) -> Option<Halt> {
        None
    }
    /// Removes and returns the flows of a stream that have ended.
    fn take_ended(&mut self) -> Vec<EndedFlow> {
        Vec::new()
    }
    fn finish(self) -> Outcome;
}

impl Engine for Simulation {
    fn cut(&mut self, parts: usize) -> Cut {
        Self::cut(self, parts)
    }
    fn cut_among(&mut self, ranks: &Arc<dyn Exchange>, threads: usize) -> Cut {
        Self::cut_among(self, ranks.clone(), threads)
    }
    fn memoise(&mut self, checks: bool) -> Result<(), &'static str> {
        Self::memoise(self, checks)
    }
    fn advance(&mut self, events: u64) -> Progress {
        Self::advance(self, events)
    }
    fn advance_until(&mut self, at: Time) -> Option<Progress> {
        Some(self.advance_to(Until::Time(at)))
    }
    fn so_far(&self) -> Option<Outcome> {
        Some(self.clone().finish())
    }
    fn take_ended(&mut self) -> Vec<EndedFlow> {
        Self::take_ended(self)
    }
    fn finish(self) -> Outcome {
        Self::finish(self)
    }
}

/// Runs `input` to its end on one thread, or until `progress` returns [`Control::Stop`]; `progress` is called about
/// every 40 ms, and once at the end.
pub fn execute(
    input: &Resolved,
    progress: &mut dyn FnMut(&Progress) -> Control,
) -> Result<Finished, RunError> {
    execute_on(input, Resources::ONE_THREAD, progress)
}

/// Runs `input` on several threads; the results are the same as on one.
pub fn execute_on(
    input: &Resolved,
    resources: Resources<'_>,
    progress: &mut dyn FnMut(&Progress) -> Control,
) -> Result<Finished, RunError> {
    let build = || Simulation::new(input.run.clone());
    match &input.decisions {
        Some(decisions) => {
            let build = || Ok(Decided::new(build()?, &input.run, decisions.clone()));
            drive(input, build, resources, progress)
        }
        None => drive(input, build, resources, progress),
    }
}

/// Runs `input` on one thread; schemes whose numbers are in `factories` get the senders that these create.
pub fn execute_with(
    input: &Resolved,
    factories: Factories,
    progress: &mut dyn FnMut(&Progress) -> Control,
) -> Result<Finished, RunError> {
    let build = || Simulation::with_factories(input.run.clone(), factories);
    drive(input, build, Resources::ONE_THREAD, progress)
}

fn drive<E: Engine>(
    input: &Resolved,
    build: impl FnOnce() -> Result<E, BuildError>,
    resources: Resources<'_>,
    progress: &mut dyn FnMut(&Progress) -> Control,
) -> Result<Finished, RunError> {
    if let Some(wrong) = measures::unknown(input) {
        return Err(RunError::of(input, RunErrorKind::Measures(wrong)));
    }
    let wall = Instant::now();
    let cpu = Cpu::now();
    // The last progress outlives the engine, so that a panic can be reported with its simulated time.
    let seen = Cell::new((Time::ZERO, 0));
    let scratch = resources
        .scratch
        .map_or_else(std::env::temp_dir, Path::to_path_buf);
    let unkept = |source| RunErrorKind::Scratch {
        folder: scratch.clone(),
        source,
    };
    // A broken invariant panics. It becomes an error here, so that the other runs of a comparison or sweep go on.
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut engine = build()?;
        let mut parts = 1;
        if let Some(ranks) = resources.ranks {
            if input.run.record.halves {
                return Err(RunErrorKind::Undivided(
                    "`record.halves` looks at the run halfway",
                ));
            }
            let cut = engine.cut_among(ranks, resources.threads);
            parts = cut.map_err(RunErrorKind::Undivided)?;
        } else if resources.threads > 1 {
            let cut = engine.cut(resources.threads);
            (resources.on_cut)(cut);
            parts = cut.unwrap_or(1);
        }
        let memoised = match input.memoise {
            Memoise::Off => Err("`--memoise off`"),
            _ if input.run.record.halves => Err("`record.halves` looks at the run halfway"),
            memoise => engine.memoise(memoise == Memoise::Check),
        };
        let mut over = Gathering::new(input, &scratch);
        let first_half = match input.run.record.halves {
            true => half(&mut engine, input.run.stop, &mut |now| {
                seen.set((now.now, now.events));
                progress(now)
            }),
            false => None,
        };
        // Each part executes its own share of a slice, so the first slice grows with the parts that really run in
        // parallel.
        let mut slice = Slice {
            events: SLICE_EVENTS.0 * parts.min(cores()) as u64,
            stop: false,
        };
        let status = loop {
            if let Some(ranks) = resources.ranks {
                slice = slice.agreed(&**ranks);
            }
            if slice.stop {
                break RunStatus::Partial;
            }
            let begun = Instant::now();
            let now = engine.advance(slice.events);
            // Flows of a stream leave the engine in every slice; otherwise memory would grow with the number of flows.
            over.take(&engine.take_ended()).map_err(unkept)?;
            slice.events = next_slice(slice.events, begun.elapsed());
            seen.set((now.now, now.events));
            let control = progress(&now);
            // Checked before `halt` and `control`: a run that ended in its last slice is complete even if it was to be
            // stopped.
            if now.done {
                break RunStatus::Completed;
            }
            match engine.halt() {
                Some(Halt::Early) => break RunStatus::Partial,
                Some(Halt::Other(message)) => return Err(RunErrorKind::Decisions(message)),
                None => {}
            }
            slice.stop = control == Control::Stop;
        };
        let mut outcome = engine.finish();
        outcome.first_half = first_half.map(Box::new);
        // The reason is recorded only for runs with programs, since only these were expected to repeat phases.
        if let (Err(why), false, Memoise::On | Memoise::Check) =
            (memoised, input.run.programs.is_empty(), input.memoise)
        {
            outcome.repeats = Some(Repeats {
                why_not: Some(why),
                ..Repeats::default()
            });
        }
        let flows = over.end(&input.run, &outcome).map_err(unkept)?;
        Ok((outcome, flows, status, parts))
    }));
    let (outcome, flows, status, parts) = match result {
        Ok(Ok(done)) => done,
        Ok(Err(kind)) => return Err(RunError::of(input, kind)),
        Err(panic) => {
            let (now, events) = seen.get();
            return Err(broken(input, now, events, panic.as_ref()));
        }
    };
    // A reproduced simulator may abort in this scenario; results up to that point would not be comparable with it.
    let left = input.run.model.as_ref().zip(outcome.model.as_ref());
    if let Some((now, message)) = left.and_then(|(model, left)| model.abort(left)) {
        return Err(RunError::of(input, RunErrorKind::Aborted { now, message }));
    }
    let machine = Machine {
        wall_s: wall.elapsed().as_secs_f64(),
        cpu_s: cpu.since(parts),
        peak_rss_bytes: machine::peak_rss_bytes(),
    };
    let summary = summarise(input, &outcome, &flows, status, machine);
    // Iterators over flows end silently at an error of the scratch file, so the summary counts only if all rows were
    // read.
    flows
        .check()
        .map_err(|source| RunError::of(input, unkept(source)))?;
    Ok(Finished {
        outcome,
        flows,
        summary,
    })
}

/// Advances to half of the run's time and returns the outcome there; `None` if `progress` stops the run before, or it
/// ends.
fn half<E: Engine>(
    engine: &mut E,
    stop: Time,
    progress: &mut dyn FnMut(&Progress) -> Control,
) -> Option<Outcome> {
    /// Number of calls of `progress` up to the half.
    const STEPS: u64 = 64;
    for step in 1..=STEPS {
        let at = u128::from(stop.as_ps()) * u128::from(step) / u128::from(2 * STEPS);
        let now = engine.advance_until(Time::from_ps(at as u64))?;
        if progress(&now) == Control::Stop || now.done {
            return None;
        }
    }
    engine.so_far()
}

/// Returns the number of events for the next slice, given that `events` took this long.
fn next_slice(events: u64, took: Duration) -> u64 {
    let share = SLICE.as_secs_f64() / took.as_secs_f64().max(1e-9);
    let next = (events as f64 * share.clamp(0.1, 2.0)) as u64;
    next.clamp(SLICE_EVENTS.1, SLICE_EVENTS.2)
}

fn broken(input: &Resolved, now: Time, events: u64, panic: &(dyn Any + Send)) -> RunError {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    let kind = RunErrorKind::Broken {
        seed: input.seed,
        now,
        events,
        message: message.to_string(),
    };
    RunError::of(input, kind)
}

/// Runs `inputs` on at most `jobs` threads. Results are in the order of the inputs and do not depend on `jobs`.
/// `progress` gets the index of the input. A run that it stops is partial; one that it stops before the first slice is
/// nearly empty.
pub fn compare<I: Borrow<Resolved> + Sync>(
    inputs: &[I],
    jobs: usize,
    progress: &(dyn Fn(usize, &Progress) -> Control + Sync),
) -> Vec<Result<Finished, RunError>> {
    side_by_side(inputs.len(), jobs, &|i| {
        execute(inputs[i].borrow(), &mut |now| progress(i, now))
    })
}

/// Computes `work(0..count)` on at most `jobs` threads, starting with the smallest numbers.
pub fn side_by_side<T: Send>(count: usize, jobs: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, count.max(1)) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= count {
                        return;
                    }
                    let result = work(i);
                    results
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((i, result));
                }
            });
        }
    });
    let mut results = results
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    // Threads end in any order, and results must not depend on it.
    results.order_by_key(|&(i, _)| i);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// Engine that does nothing for some slices and then ends or panics.
    struct Clockwork {
        slices: u64,
        breaks: bool,
        now: u64,
    }

    impl Engine for Clockwork {
        fn cut(&mut self, _: usize) -> Cut {
            Err("it is a clockwork")
        }
        fn advance(&mut self, events: u64) -> Progress {
            self.now += 1;
            let done = self.now == self.slices;
            assert!(!(done && self.breaks), "bytes in {} are not bytes out {}", 3, 2);
            let events = self.now * events;
            Progress {
                now: Time::from_ns(self.now),
                events,
                packet_hops: 0,
                completed: 0,
                iterations: None,
                done,
            }
        }
        fn finish(self) -> Outcome {
            Outcome {
                end: Time::from_ns(self.now),
                ..sample::incast().1
            }
        }
    }

    fn clockwork(slices: u64, breaks: bool) -> impl FnOnce() -> Result<Clockwork, BuildError> {
        move || {
            Ok(Clockwork {
                slices,
                breaks,
                now: 0,
            })
        }
    }

    #[test]
    fn runs_to_its_end_and_reports_on_the_way() {
        let (input, _) = sample::incast();
        let mut calls = Vec::new();
        let finished = drive(&input, clockwork(3, false), Resources::ONE_THREAD, &mut |now| {
            calls.push((now.events, now.done));
            Control::Continue
        });
        let dones: Vec<bool> = calls.iter().map(|&(_, done)| done).collect();
        assert_eq!((calls[0].0, dones), (SLICE_EVENTS.0, vec![false, false, true]));
        let summary = finished.unwrap().summary;
        assert_eq!(
            (summary.status, summary.simulated_s),
            (RunStatus::Completed, 3e-9)
        );
    }

    #[test]
    fn stops_when_told() {
        let (input, _) = sample::incast();
        let stop_at_two = |now: &Progress| {
            if now.now >= Time::from_ns(2) {
                Control::Stop
            } else {
                Control::Continue
            }
        };
        let finished = drive(&input, clockwork(9, false), Resources::ONE_THREAD, &mut {
            stop_at_two
        })
        .unwrap();
        assert_eq!(finished.summary.status, RunStatus::Partial);
        assert_eq!(finished.outcome.end, Time::from_ns(2));
        // Stopped in the slice that would have been the last: the run is whole.
        let whole = drive(&input, clockwork(2, false), Resources::ONE_THREAD, &mut {
            stop_at_two
        })
        .unwrap();
        assert_eq!(whole.summary.status, RunStatus::Completed);
    }

    #[test]
    fn slices_take_about_as_long_whatever_an_event_costs() {
        let mut events = SLICE_EVENTS.0;
        for ns_each in [50, 5_000, 400, 100_000] {
            for _ in 0..12 {
                events = next_slice(events, Duration::from_nanos(events * ns_each));
            }
            let takes = Duration::from_nanos(events * ns_each);
            assert!(takes <= 3 * SLICE, "{ns_each} ns each: {takes:?}");
            assert!(
                takes >= SLICE / 2 || events == SLICE_EVENTS.2,
                "{ns_each} ns each: {takes:?}"
            );
        }
    }

    #[test]
    fn a_panic_becomes_an_error_with_its_place() {
        let (input, _) = sample::incast();
        let error = drive(&input, clockwork(3, true), Resources::ONE_THREAD, &mut |_| {
            Control::Continue
        })
        .unwrap_err();
        let text = error.to_string();
        for part in [
            "`tiny`",
            "`none`",
            "seed 7",
            " events at",
            "2ns",
            "bytes in 3 are not bytes out 2",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn order_does_not_depend_on_jobs() {
        for jobs in [0, 1, 3, 100] {
            let squares = side_by_side(20, jobs, &|i| i * i);
            assert_eq!(squares, (0..20).map(|i| i * i).collect::<Vec<_>>(), "{jobs} jobs");
        }
        assert!(side_by_side(0, 4, &|i| i).is_empty());
    }
}
