//! Work that takes long: on a thread of its own, so that the caller hears Ctrl-C and tells how far it is.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use paceline_lab::files;
use paceline_lab::run::Control;
use paceline_scenario::Resolved;
use pyo3::prelude::*;

use crate::failure::{Failure, guarded};

/// How often the caller looks after signals, and tells how far the work is.
const TICK: Duration = Duration::from_millis(40);
/// How long work that is given up has to end in good order before the caller goes on without it.
const GRACE: Duration = Duration::from_millis(120);

/// How far some runs are.
#[pyclass(frozen, get_all, module = "paceline")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// How many there are.
    runs: usize,
    /// How many of them are over.
    done: usize,
    /// The share that is done, from 0 to 1: of simulated time or of flows, whichever is more.
    fraction: f64,
    /// Simulated time of the one that is furthest, of those that are under way.
    simulated_s: f64,
    /// Events of all.
    events: u64,
    /// Packet-hops of all.
    packet_hops: u64,
}

impl Progress {
    /// Progress of `runs` runs of which `done` are over and the others have not begun, for a caller that does not see
    /// further.
    pub(crate) fn of_runs(runs: usize, done: usize, events: u64, packet_hops: u64) -> Self {
        Self {
            runs,
            done,
            fraction: if runs == 0 { 1.0 } else { done as f64 / runs as f64 },
            simulated_s: 0.0,
            events,
            packet_hops,
        }
    }
}

#[pymethods]
impl Progress {
    fn __repr__(&self) -> String {
        format!(
            "<paceline.Progress {:.0} %, {} of {} runs, {} packet-hops>",
            100.0 * self.fraction,
            self.done,
            self.runs,
            self.packet_hops
        )
    }
}

/// How far a run is.
#[derive(Clone, Copy, Default)]
struct One {
    done: bool,
    fraction: f64,
    simulated_s: f64,
    events: u64,
    packet_hops: u64,
}

#[derive(Default)]
struct State {
    runs: usize,
    begun: BTreeMap<usize, One>,
}

/// Between the thread that works and the one that waits for it.
#[derive(Default)]
pub(crate) struct Watch {
    stop: AtomicBool,
    given_up: AtomicBool,
    state: Mutex<State>,
}

impl Watch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many runs are to be made.
    pub(crate) fn begin(&self, runs: usize) {
        self.state().runs = runs;
    }

    /// Takes in how far a run is, and says what it is to do.
    pub(crate) fn update(&self, run: usize, input: &Resolved, now: &paceline_fabric::Progress) -> Control {
        let time = now.now.as_ps() as f64 / input.run.stop.as_ps().max(1) as f64;
        // How many flows jobs by traces have only the run shows.
        let flows = match input.run.programs.is_empty() {
            true => now.completed as f64 / input.run.flow_count().max(1) as f64,
            false => 0.0,
        };
        let one = One {
            done: now.done,
            fraction: if now.done { 1.0 } else { time.max(flows).min(1.0) },
            simulated_s: now.now.as_ps() as f64 / 1e12,
            events: now.events,
            packet_hops: now.packet_hops,
        };
        let mut state = self.state();
        let known = state.begun.entry(run).or_default();
        // What is done again, to account for it, is done.
        if !known.done {
            *known = one;
        }
        drop(state);
        self.control()
    }

    /// A run is over.
    pub(crate) fn end(&self, run: usize) {
        let mut state = self.state();
        let one = state.begun.entry(run).or_default();
        (one.done, one.fraction) = (true, 1.0);
    }

    /// Whether the work is to stop.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// What a run is to do now.
    pub(crate) fn control(&self) -> Control {
        if self.stopped() {
            Control::Stop
        } else {
            Control::Continue
        }
    }

    /// Whether anybody waits for what comes of the work: asked before it is kept.
    ///
    /// # Errors
    /// Nobody does, nor hears of the error.
    pub(crate) fn wanted(&self) -> Result<(), Failure> {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(Failure::run("given up"));
        }
        Ok(())
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn progress(&self) -> Progress {
        let state = self.state();
        let all = || state.begun.values();
        let fractions: f64 = all().map(|one| one.fraction).sum();
        let running = all().filter(|one| !one.done).map(|one| one.simulated_s);
        Progress {
            runs: state.runs,
            done: all().filter(|one| one.done).count(),
            fraction: fractions / state.runs.max(1) as f64,
            simulated_s: running.fold(0.0, f64::max),
            events: all().map(|one| one.events).sum(),
            packet_hops: all().map(|one| one.packet_hops).sum(),
        }
    }

    /// Tells whoever wants to know how far the work is; who answers `False` ends it, and what ran is kept.
    fn tell(&self, py: Python<'_>, told: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(told) = told else { return Ok(()) };
        let answer = told.call1((self.progress().into_pyobject(py)?,))?;
        if answer.extract::<bool>().is_ok_and(|go_on| !go_on) {
            self.stop();
        }
        Ok(())
    }
}

/// Does `work` on a thread of its own and waits for it, without the interpreter's lock; `progress` is called now and
/// then, and once at the end. An exception (Ctrl-C's, or one of `progress`) ends the work: nothing is kept of it but
/// what is in files by itself.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let (done, result) = mpsc::channel();
    let worker = watch.clone();
    let started = std::thread::Builder::new()
        .name("paceline".into())
        .spawn(move || {
            // If nobody waits any more there is nobody to tell.
            let _ = done.send(guarded(|| work(&worker)));
        });
    started.map_err(|error| Failure::run(format!("cannot start a thread: {error}")).exception(py))?;
    let result = Mutex::new(result);
    let wait = |time| {
        py.detach(|| {
            let result = result.lock().unwrap_or_else(PoisonError::into_inner);
            result.recv_timeout(time)
        })
    };
    loop {
        let ended = match wait(TICK) {
            Ok(ended) => Some(ended),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                let lost = Failure::Internal("the thread that worked is gone".into());
                return Err(lost.exception(py));
            }
        };
        let told = py.check_signals().and_then(|()| watch.tell(py, progress));
        if let Err(error) = told {
            watch.given_up.store(true, Ordering::Relaxed);
            watch.stop();
            if ended.is_none() {
                let _ = wait(GRACE);
            }
            return Err(error);
        }
        if let Some(ended) = ended {
            return ended.map_err(|failure| failure.exception(py));
        }
    }
}

/// Removes what is in the making: for an interpreter that ends.
#[pyfunction]
pub(crate) fn _abandon() {
    files::abandon();
}
