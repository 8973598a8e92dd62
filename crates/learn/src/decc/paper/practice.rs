//! Practice of flows under the paper's policy: their inputs, the global state of table 1, and the common
//! reward (3) to (8).

use std::sync::{Arc, Mutex, PoisonError};

use paceline_congestion::CongestionControl;
use paceline_congestion::api::{Observation, PathInfo, SendLimits};
use paceline_congestion::decc;
use paceline_congestion::external::Feedback;
use paceline_congestion::learned::inside::Decider;
use paceline_congestion::learned::{Model, ModelRef};
use paceline_congestion::params::Auto;
use paceline_congestion::policy::Policy;
use paceline_kernel::rng::{Purpose, Rng};

use super::actor::{FEATURES, MEMORY, READ, WINDOW};
use super::{ALL, SEEN, Transition};
use crate::Error;
use crate::decc::practice::{Episode, delivered, drive, every};
use crate::rng::normal;
use crate::search::Network;

/// Coefficients of (8); `BOUND` limits rewards (table 5, section 2.5).
const C: [f64; 5] = [0.1, 0.02, 1.0, 0.02, 0.01];
const BOUND: f64 = 0.1;
/// Tolerance beta of (4).
const TOLERATED: f64 = 0.1;
/// Discount factor of a decision.
const GAMMA: f32 = 0.98;
/// Share of the noise kept from one decision to the next: an Ornstein-Uhlenbeck process.
const NOISE_KEPT: f64 = 0.85;
/// Least time between two decisions, as in the card.
const INTERVAL_US: f64 = 8.0;

/// Settings of practice in a round.
#[derive(Clone, Debug)]
pub(super) struct Manner {
    pub(super) model: Arc<Model>,
    pub(super) feedback: Feedback,
    /// Standard deviation of the noise's steps.
    pub(super) noise: f64,
    /// Approximate number of decisions stored per episode.
    pub(super) kept: usize,
    /// True if a flow's reward is its own, as if it were alone.
    pub(super) own_reward: bool,
}

/// Measurements of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Known {
    /// Delivered shares of its line, the latest of [`WINDOW`] decisions first; `decisions` is the number of
    /// decisions so far.
    pub(super) shares: [f64; WINDOW],
    pub(super) decisions: usize,
    /// Round-trip time over the empty network's.
    pub(super) latency: f64,
    /// Ratio of losses to deliveries.
    pub(super) lost: f64,
    /// Window over the bandwidth-delay product.
    pub(super) window: f64,
    /// Rate over the line's.
    pub(super) rate: f64,
}

impl Known {
    fn latest(&self) -> &[f64] {
        &self.shares[..self.decisions.clamp(1, WINDOW)]
    }

    /// Returns the mean share of equation (7).
    fn mean(&self) -> f64 {
        mean(self.latest().iter().copied())
    }

    /// Returns a flow's part of (6).
    fn unsteady(&self) -> f64 {
        let mean_share = self.mean();
        let squares = self
            .latest()
            .iter()
            .map(|share| (share - mean_share) * (share - mean_share));
        if mean_share > 0.0 {
            libm::sqrt(mean(squares)) / mean_share
        } else {
            0.0
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / f64::max(count, 1.0)
}

/// Returns the reward of equations (3) to (6) and (8) over all flows that have decided. As printed, (4) is
/// positive for latencies below the tolerance, and (5) and (6) are negative while (8) subtracts them: that
/// would reward delay, unfairness and unsteadiness. Here the sign of (4) is reversed, and (5) and (6) have no
/// minus. Throughput and rates are shares of the line, latency is in base round trips, and a hyperbolic
/// tangent bounds the result.
pub(super) fn reward(flows: &[Known], receivers: f64) -> f64 {
    let thr: f64 = flows.iter().map(|flow| flow.shares[0]).sum();
    let latency = mean(flows.iter().map(|flow| flow.latency));
    let fastest = flows.iter().map(|flow| flow.rate).fold(0.0, f64::max);
    let fair = mean(flows.iter().map(Known::mean));
    let unfair = mean(
        flows
            .iter()
            .map(|flow| (flow.mean() - fair) * (flow.mean() - fair)),
    );
    let terms = [
        (thr / receivers).min(1.0),
        -(latency - (1.0 + TOLERATED)).max(0.0) * fastest,
        -mean(flows.iter().map(|flow| flow.lost)),
        -libm::sqrt(unfair),
        -mean(flows.iter().map(Known::unsteady)),
    ];
    let sum: f64 = C.iter().zip(terms).map(|(c, term)| c * term).sum();
    BOUND * libm::tanh(sum / BOUND)
}

/// Returns the features of table 1, in its order. Quantities that vary by orders of magnitude are logarithms.
pub(super) fn global(flows: &[Known], network: &Network) -> [f32; ALL] {
    let log = |x: f64, over: f64| libm::log2(x.max(1.0 / 65_536.0)) / over;
    let receivers = f64::from(network.receivers());
    let of = |value: fn(&Known) -> f64| flows.iter().map(value);
    let least = |value: fn(&Known) -> f64| of(value).fold(f64::INFINITY, f64::min);
    let most = |value: fn(&Known) -> f64| of(value).fold(0.0, f64::max);
    let share = |flow: &Known| flow.shares[0];
    let window = |flow: &Known| flow.window;
    let product = network.gbps * 1000.0 / 8.0 * network.base_us();
    [
        (of(share).sum::<f64>() / receivers).min(4.0),
        log(least(share), 16.0),
        log(most(share), 16.0),
        log(mean(of(|flow| flow.latency)), 4.0),
        log(least(window), 16.0),
        log(most(window), 16.0),
        log(mean(of(window)), 16.0),
        mean(of(|flow| flow.lost)),
        log(flows.len() as f64 / receivers, 13.0),
        network.base_us() / 40.0,
        log(network.buffer as f64 / product, 8.0),
        network.gbps / 400.0,
    ]
    .map(|value| value as f32)
}

/// State that all flows of an episode share.
#[derive(Debug)]
struct Course {
    manner: Manner,
    network: Network,
    seed: u64,
    every: u64,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    agents: u32,
    /// Flows that have decided.
    flows: Vec<Known>,
    kept: Vec<Transition>,
}

/// Runs an episode and returns its transitions.
pub(super) fn practise(episode: &Episode, manner: &Manner) -> Result<Vec<Transition>, Error> {
    let network = &episode.network;
    let params = decc::Params {
        model: Auto::Is(ModelRef::read_from("candidate", Arc::clone(&manner.model))),
        feedback: Auto::Is(manner.feedback),
        decision_latency: episode.latency,
        ..decc::Params::default()
    };
    let course = Arc::new(Course {
        manner: manner.clone(),
        network: network.clone(),
        seed: episode.seed,
        every: every(network, INTERVAL_US, manner.kept),
        log: Mutex::default(),
    });
    let (shared, asks) = (Arc::clone(&course), params.clone());
    let make = move |path: &PathInfo| -> Box<dyn CongestionControl> {
        let agent = {
            let mut log = shared.log.lock().unwrap_or_else(PoisonError::into_inner);
            log.agents += 1;
            log.agents - 1
        };
        let policy = asks.policy_on(path).expect("its model has a card");
        Box::new(policy.asks_of(path, |policy| Flow {
            rng: Rng::stream(shared.seed, Purpose::Training, (5 << 20) | u64::from(agent)),
            course: Arc::clone(&shared),
            policy,
            agent,
            index: None,
            noise: 0.0,
            before: None,
        }))
    };
    drive(network, episode.seed, &params, make)?;
    let mut log = course.log.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut log.kept))
}

/// Flow that records its decisions.
#[derive(Clone, Debug)]
struct Flow {
    course: Arc<Course>,
    policy: Policy,
    agent: u32,
    /// Index of its measurements, once it has decided.
    index: Option<usize>,
    rng: Rng,
    noise: f64,
    /// Last decision, if it is stored.
    before: Option<Box<Decision>>,
}

/// Decision with its inputs.
#[derive(Clone, Debug)]
struct Decision {
    all: [f32; ALL],
    seen: [f32; SEEN],
    tried: f32,
}

impl Flow {
    /// Returns the present measurements; `seen` of the policy are its inputs.
    fn known(&self, before: &Known, report: &Observation, path: &PathInfo) -> Known {
        let tally = &report.tally;
        let mut shares = before.shares;
        shares.rotate_right(1);
        // Filling a gap delivers many bytes at once; a share above the line's belongs to earlier time.
        shares[0] = delivered(report, path).min(1.0);
        let latency = f64::from(self.policy.seen()[READ - FEATURES.len() + 1]);
        Known {
            shares,
            decisions: before.decisions + 1,
            latency: libm::exp2(4.0 * latency),
            lost: match (tally.timeouts, tally.acks.saturating_sub(tally.nacks)) {
                (0, delivered) => (f64::from(tally.nacks) / f64::from(delivered.max(1))).min(1.0),
                _ => 1.0,
            },
            window: match self.policy.window() {
                0.0 => path.mtu.get() as f64,
                window => window,
            } / path.bdp.get().max(1) as f64,
            rate: report.limits.rate.as_bps() as f64 / path.line_rate.as_bps().max(1) as f64,
        }
    }
}

impl Decider for Flow {
    fn decide(&mut self, report: &Observation, path: &PathInfo) -> SendLimits {
        let course = Arc::clone(&self.course);
        let mut seen = [0.0; SEEN];
        // A policy without a recurrent layer has no state to copy.
        let memory = self.policy.memory();
        seen[READ..][..memory.len()].copy_from_slice(memory);
        let said = self.policy.says(report, path);
        seen[..READ].copy_from_slice(self.policy.seen());
        // The noise is correlated, since independent noise would average out within a round trip.
        self.noise = NOISE_KEPT * self.noise + course.manner.noise * normal(&mut self.rng);
        let tried = said + self.noise as f32;
        let mut log = course.log.lock().unwrap_or_else(PoisonError::into_inner);
        let log = &mut *log;
        let index = *self.index.get_or_insert_with(|| {
            log.flows.push(Known::default());
            log.flows.len() - 1
        });
        log.flows[index] = self.known(&log.flows[index], report, path);
        let keeps = self.rng.below(course.every) == 0;
        // Global features take time in proportion to the flows, so they are computed only if they are stored.
        if keeps || self.before.is_some() {
            let all = global(&log.flows, &course.network);
            if let Some(before) = self.before.take() {
                log.kept.push(Transition {
                    agent: self.agent,
                    tried: before.tried,
                    label: 0.0,
                    all: before.all,
                    seen: before.seen,
                    action: before.tried.clamp(-1.0, 1.0),
                    reward: match course.manner.own_reward {
                        true => reward(&log.flows[index..=index], 1.0),
                        false => reward(&log.flows, f64::from(course.network.receivers())),
                    } as f32,
                    discount: GAMMA,
                    next_all: all,
                    next_seen: seen,
                });
            }
            self.before = keeps.then(|| Box::new(Decision { all, seen, tried }));
        }
        self.policy.does(tried.clamp(-1.0, 1.0), report, path)
    }
}

const _: () = assert!(SEEN == READ + MEMORY, "what is read, and the memory before");
