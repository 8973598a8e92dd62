//! Runs that record the senders' predictions next to the following measurements.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{RunRequest, StepError, Work};
use paceline_congestion::api::{AckInfo, CongestionControl, Ctx, SendLimits};
use paceline_congestion::lstm_pid::LstmPid;
use paceline_congestion::registry::{AnyParams, SchemeFactory};
use paceline_fabric::Factories;
use paceline_kernel::Span;
use paceline_lab::results::{Summary, flow_rows};
use paceline_lab::run::{self, Control};
use paceline_lab::stats::jain;
use paceline_scenario::Resolved;

/// Record of a run's predictions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Log {
    /// Number of predictions whose round-trip time was measured.
    pub(crate) count: u64,
    /// Sum of their relative errors.
    pub(crate) errors: f64,
    /// Series of the first senders: number of the sample, prediction and measurement in µs.
    pub(crate) course: Vec<Vec<(f64, f64)>>,
}

impl Log {
    /// Returns the mean relative error.
    pub(crate) fn mape(&self) -> Option<f64> {
        (self.count > 0).then(|| self.errors / self.count as f64)
    }
}

/// Number of senders whose series are kept, and the length limit of each.
const COURSES: usize = 2;
const COURSE_MAX: usize = 4000;

/// Sender whose predictions are recorded.
#[derive(Clone)]
struct Watched {
    inner: LstmPid,
    /// Number of the sender, in the order of creation.
    number: usize,
    /// Last prediction, in µs.
    expected: Option<f64>,
    seen: u64,
    log: Arc<Mutex<Log>>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Watched {
    /// Records a new decision, if there is one. Predictions count from the third sample on: no predictor has its
    /// three features before.
    fn note(&mut self) {
        if self.inner.decisions() == self.seen {
            return;
        }
        self.seen = self.inner.decisions();
        let Some(decision) = self.inner.last_decision() else {
            return;
        };
        if let Some(expected) = self.expected {
            let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            log.count += 1;
            log.errors += (expected - decision.rtt).abs() / decision.rtt;
            let course = log.course.get_mut(self.number);
            if let Some(course) = course.filter(|course| course.len() < COURSE_MAX) {
                course.push((expected, decision.rtt));
            }
        }
        self.expected = (self.seen >= 3).then_some(decision.prediction);
    }
}

impl CongestionControl for Watched {
    fn limits(&self) -> SendLimits {
        self.inner.limits()
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.inner.on_ack(cx, ack);
        self.note();
    }

    fn on_decision(&mut self, cx: &mut Ctx<'_>) {
        self.inner.on_decision(cx);
        self.note();
    }

    fn on_foresight(&mut self, rtt: Span) {
        self.inner.on_foresight(rtt);
    }

    fn on_idle(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.inner.on_idle(cx, ack);
        self.note();
    }
}

/// Summary of a run and its record.
pub(crate) struct WatchedRun {
    pub(crate) summary: Summary,
    pub(crate) log: Log,
}

/// Runs `input`, whose scheme is `lstm-pid` or an alias of it, with decisions that take no time.
pub(crate) fn run(input: Resolved) -> Result<WatchedRun, StepError> {
    let log = Arc::new(Mutex::new(Log {
        course: vec![Vec::new(); COURSES],
        ..Log::default()
    }));
    let scheme = input.run.schemes.first();
    let scheme = scheme.ok_or_else(|| StepError::of("a run without a scheme"))?;
    let AnyParams::LstmPid(params) = scheme.config.params().clone() else {
        return Err(StepError::of(format!("{} predicts nothing", input.scheme)));
    };
    let (made, shared) = (AtomicUsize::new(0), Arc::clone(&log));
    let factory = SchemeFactory::new(move |path| {
        Box::new(Watched {
            inner: LstmPid::new(&params, path),
            number: made.fetch_add(1, Ordering::Relaxed),
            expected: None,
            seen: 0,
            log: Arc::clone(&shared),
        })
    });
    let factories = Factories::from([(0, factory)]);
    let mut finished =
        run::execute_with(&input, factories, &mut |_| Control::Continue).map_err(StepError::of)?;
    // These tables have a single index over flows of all sizes, like the thesis's incast.
    let goodputs = flow_rows(&input, &finished.outcome).filter_map(|row| {
        let took = row.fct_ps.filter(|&ps| ps > 0)?;
        Some(row.size_bytes as f64 / took as f64)
    });
    finished.summary.jain = jain(&goodputs.collect::<Vec<_>>());
    let log = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(WatchedRun {
        summary: finished.summary,
        log,
    })
}

/// Runs `needs` with the threads of `work`; results are in their order.
pub(crate) fn run_all(needs: &[RunRequest], work: &mut Work<'_>) -> Result<Vec<WatchedRun>, StepError> {
    in_chunks(needs, work, 0.0..1.0, "run", &|need| {
        run(need.load().map_err(StepError::of)?)
    })
}

/// Calls `one` for each of `all` with the threads of `work`; results are in their order. `share` is the part of the
/// step's progress, and `name` the name of an item.
pub(crate) fn in_chunks<T: Sync, R: Send>(
    all: &[T],
    work: &mut Work<'_>,
    share: Range<f64>,
    name: &str,
    one: &(dyn Fn(&T) -> Result<R, StepError> + Sync),
) -> Result<Vec<R>, StepError> {
    let mut done = Vec::with_capacity(all.len());
    for chunk in all.chunks(work.jobs.max(1)) {
        let part = done.len() as f64 / all.len() as f64;
        let words = format!("{name} {} of {}", done.len() + 1, all.len());
        work.inform(share.start + (share.end - share.start) * part, &words)?;
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = chunk.iter().map(|item| scope.spawn(|| one(item))).collect();
            // A panic becomes the error of one run, so that the others are still joined.
            let ended = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(StepError::of("a run broke off")))
            };
            threads.into_iter().map(ended).collect()
        });
        for result in results {
            done.push(result?);
        }
    }
    Ok(done)
}
