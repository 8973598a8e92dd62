//! Sender that learns, and the state that all senders of a training share.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use paceline_congestion::api::{AckInfo, CongestionControl, Ctx, PathInfo, SendLimits};
use paceline_congestion::lstm_pid::{Decision, Gains, LstmPid, Params};
use paceline_congestion::registry::{AnyParams, SchemeConfig};
use paceline_kernel::{BitRate, Span};
use serde::{Deserialize, Serialize};

use super::{Count, Damping, Episode, Options, Point, Units, lock};

/// Returns the parameters of a scheme whose gains can be trained.
pub(super) fn params(config: &SchemeConfig) -> Option<&Params> {
    match config.params() {
        AnyParams::LstmPid(params) => Some(params),
        _ => None,
    }
}

/// Returns the gradient of `J = (R[t+1] - T)² / 2` with respect to the gains: equation (1) of the module.
pub(super) fn gradient(options: &Options, before: &Decision, next_rtt: f64, line: BitRate) -> [f64; 3] {
    let rate = before.rate_before.as_bps() as f64;
    let (error, rate) = match options.units {
        Units::Seed => (next_rtt - before.target, rate / 1e9),
        Units::Norm => (
            (next_rtt - before.target) / before.target,
            rate / line.as_bps() as f64,
        ),
    };
    let terms = before.terms;
    [terms.p, terms.i, terms.d].map(|out| error * options.beta * rate * out)
}

/// State that all flows of a training share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    options: Options,
    pub(super) gains: Gains,
    updates: u64,
    pub(super) history: History,
    samples: u64,
    rtt_sum: f64,
    loss_sum: f64,
    components: u64,
    clipped: u64,
}

/// Part of the shared state that a checkpoint stores between two runs.
#[derive(Serialize, Deserialize)]
pub(super) struct SharedState {
    gains: [f64; 3],
    updates: u64,
    points: Vec<(u64, [f64; 3])>,
    every: u64,
    last: (u64, [f64; 3]),
}

const fn numbers(gains: Gains) -> [f64; 3] {
    [gains.p, gains.i, gains.d]
}

const fn gains([p, i, d]: [f64; 3]) -> Gains {
    Gains { p, i, d }
}

impl Shared {
    pub(super) fn state(&self) -> SharedState {
        let point = |point: &Point| (point.update, numbers(point.gains));
        SharedState {
            gains: numbers(self.gains),
            updates: self.updates,
            points: self.history.points.iter().map(point).collect(),
            every: self.history.every,
            last: point(&self.history.last),
        }
    }

    pub(super) fn go_on_from(&mut self, state: SharedState) {
        let point = |(update, numbers)| Point {
            update,
            gains: gains(numbers),
        };
        (self.gains, self.updates) = (gains(state.gains), state.updates);
        self.history = History {
            points: state.points.into_iter().map(point).collect(),
            every: state.every,
            last: point(state.last),
        };
    }

    pub(super) fn new(options: &Options) -> Self {
        let mut history = History::default();
        history.add(0, options.start);
        Self {
            options: options.clone(),
            gains: options.start,
            updates: 0,
            history,
            samples: 0,
            rtt_sum: 0.0,
            loss_sum: 0.0,
            components: 0,
            clipped: 0,
        }
    }

    /// Starts a run with empty statistics. If gains are to settle, the gradient is in relative units.
    pub(super) fn begin(&mut self, settling: bool) {
        if settling {
            self.options.units = Units::Norm;
        }
        (self.samples, self.rtt_sum, self.loss_sum) = (0, 0.0, 0.0);
        (self.components, self.clipped) = (0, 0);
    }

    pub(super) fn episode(&self) -> Episode {
        let samples = self.samples.max(1) as f64;
        Episode {
            updates: self.updates,
            gains: self.gains,
            mean_rtt_us: self.rtt_sum / samples,
            mean_loss: self.loss_sum / samples,
            clipped: self.clipped as f64 / self.components.max(1) as f64,
        }
    }

    /// Applies equation (2): the round-trip time `next_rtt` followed the decision `before`.
    pub(super) fn update(&mut self, before: &Decision, next_rtt: f64, line: BitRate, own: u64) {
        let error = next_rtt - before.target;
        self.samples += 1;
        self.rtt_sum += next_rtt;
        self.loss_sum += error * error / 2.0;
        let t = match self.options.count {
            Count::Global => self.updates,
            Count::PerFlow => own,
        };
        let rate = self.options.learning_rate / ((t + 1) as f64).sqrt();
        let clip = self.options.clip;
        let gradient = gradient(&self.options, before, next_rtt, line);
        let [p, i, d] = gradient.map(|component| rate * component.clamp(-clip, clip));
        self.components += 3;
        self.clipped += gradient.iter().filter(|component| component.abs() > clip).count() as u64;
        self.gains = Gains {
            p: self.gains.p - p,
            i: self.gains.i - i,
            d: self.gains.d - d,
        };
        // A negative gain of the derivative would amplify oscillations.
        if self.options.damping == Damping::Kept {
            self.gains.d = self.gains.d.max(0.0);
        }
        self.updates += 1;
        self.history.add(self.updates, self.gains);
    }
}

/// Gains over time: all points up to a limit, then every second, every fourth, and so on.
#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) points: Vec<Point>,
    every: u64,
    last: Point,
}

impl Default for History {
    fn default() -> Self {
        let nothing = Gains {
            p: 0.0,
            i: 0.0,
            d: 0.0,
        };
        Self {
            points: Vec::new(),
            every: 1,
            last: Point {
                update: 0,
                gains: nothing,
            },
        }
    }
}

impl History {
    /// Upper limit of points.
    const MOST: usize = 4096;

    pub(super) fn add(&mut self, update: u64, gains: Gains) {
        self.last = Point { update, gains };
        if !update.is_multiple_of(self.every) {
            return;
        }
        // Half of the points are dropped to bound memory, and the spacing doubles.
        if self.points.len() == Self::MOST {
            self.every *= 2;
            let every = self.every;
            self.points.retain(|point| point.update.is_multiple_of(every));
            if !update.is_multiple_of(every) {
                return;
            }
        }
        self.points.push(self.last);
    }

    /// Returns the largest relative deviation of a gain from its last value over the last quarter of the
    /// updates. A gain that is constantly 0 is at its bound.
    pub(super) fn change(&self) -> f64 {
        let from = self.last.update - self.last.update / 4;
        let of = |Gains { p, i, d }: Gains| [p, i, d];
        let last = of(self.last.gains);
        let relative = |(then, last): (f64, f64)| match then == last {
            true => 0.0,
            false => (then / last - 1.0).abs(),
        };
        let quarter = self.points.iter().filter(|point| point.update >= from);
        quarter
            .flat_map(|point| of(point.gains).into_iter().zip(last))
            .map(relative)
            .fold(0.0, f64::max)
    }
}

/// Sender that uses the shared gains and updates them.
#[derive(Clone)]
pub(super) struct Learner {
    sender: LstmPid,
    shared: Arc<Mutex<Shared>>,
    /// Last decisions whose effect is not measured yet, oldest first.
    before: VecDeque<Decision>,
    /// Number of decisions until an effect is measured.
    lag: usize,
    /// Initial decisions that are not learned from.
    warm_up: u64,
    line: BitRate,
    updates: u64,
}

impl fmt::Debug for Learner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sender.fmt(f)
    }
}

impl Learner {
    pub(super) fn new(params: &Params, path: &PathInfo, shared: Arc<Mutex<Shared>>) -> Self {
        let (lag, warm_up) = {
            let shared = lock(&shared);
            (shared.options.lag, shared.options.warm_up)
        };
        Self {
            sender: LstmPid::new(params, path),
            shared,
            before: VecDeque::new(),
            lag: lag.max(1),
            warm_up,
            line: path.line_rate,
            updates: 0,
        }
    }

    /// Learns after a new decision: its sample shows the effect of an earlier one.
    fn learn(&mut self, decisions: u64) {
        if self.sender.decisions() == decisions {
            return;
        }
        let Some(&now) = self.sender.last_decision() else {
            return;
        };
        let consequence = (self.before.len() == self.lag).then(|| self.before.pop_front());
        if let Some(before) = consequence.flatten()
            && self.sender.decisions() > self.warm_up
        {
            lock(&self.shared).update(&before, now.rtt, self.line, self.updates);
            self.updates += 1;
        }
        self.before.push_back(now);
    }
}

impl CongestionControl for Learner {
    fn limits(&self) -> SendLimits {
        self.sender.limits()
    }

    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        let decisions = self.sender.decisions();
        // Any flow's next decision uses the newest gains.
        self.sender.set_gains(lock(&self.shared).gains);
        self.sender.on_ack(cx, ack);
        self.learn(decisions);
    }

    fn on_decision(&mut self, cx: &mut Ctx<'_>) {
        let decisions = self.sender.decisions();
        self.sender.on_decision(cx);
        self.learn(decisions);
    }

    fn on_foresight(&mut self, rtt: Span) {
        self.sender.on_foresight(rtt);
    }

    fn on_idle(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.on_ack(cx, ack);
        self.sender.on_idle(cx, ack);
    }
}
