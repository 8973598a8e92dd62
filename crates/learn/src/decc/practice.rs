//! Episodes of practice: flows of a random network, their deciders, and their recorded experience.
//!
//! Senders decide inside the run, and record their inputs and the results.

use std::sync::{Arc, Mutex, PoisonError};

use paceline_congestion::CongestionControl;
use paceline_congestion::api::{Observation, PathInfo, SendLimits};
use paceline_congestion::decc;
use paceline_congestion::decc::features::{INPUTS, observe};
use paceline_congestion::decc::law::{Interval, Law, PolicyOutput, RESIDUAL, State, action_of};
use paceline_congestion::learned::inside::Decider;
use paceline_congestion::learned::layers::Policy;
use paceline_congestion::params::Auto;
use paceline_congestion::registry::{Definition as _, SchemeConfig, SchemeFactory};
use paceline_fabric::{Factories, Simulation, Until};
use paceline_kernel::Span;
use paceline_kernel::rng::{Purpose, Rng};
use paceline_lab::run::side_by_side;

use super::replay::Transition;
use super::state::{Facts, GLOBAL, Sums};
use crate::Error;
use crate::course::TRAINING;
use crate::rng::normal;
use crate::search::{HEADER, Network, draw_endless};

/// Policy shared by senders.
pub(crate) type Shared = Arc<dyn Policy>;

/// Decider of practising flows.
#[derive(Clone, Debug)]
pub(crate) enum PracticePolicy {
    /// The rate law without a residual policy.
    Law,
    /// The law plus a residual policy.
    Residual(Shared),
    /// A policy that replaces the law.
    Policy(Shared),
}

/// Settings of practice in a round.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    pub(crate) law: Law,
    pub(crate) decider: PracticePolicy,
    /// Residual policy of the law whose decisions are to be cloned, if it has one.
    pub(crate) residual: Option<Shared>,
    /// Standard deviation of the noise on actions.
    pub(crate) noise: f64,
    /// Approximate number of decisions stored per episode.
    pub(crate) kept: usize,
}

impl Manner {
    /// Creates settings in which a policy replaces the law.
    pub(crate) fn instead(law: &Law, policy: Shared, noise: f64, kept: usize) -> Self {
        Self {
            law: *law,
            decider: PracticePolicy::Policy(policy),
            residual: None,
            noise,
            kept,
        }
    }
}

/// Episode: a network, the seed of its run, and the latency of decisions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Episode {
    pub(crate) network: Network,
    pub(crate) seed: u64,
    pub(crate) latency: Span,
}

/// Returns episodes in those of the fixed networks whose flows always have data, with immediate decisions.
pub(crate) fn fixed(networks: &[(Network, u64)]) -> Vec<Episode> {
    let one = |(network, seed): &(Network, u64)| Episode {
        network: network.clone(),
        seed: *seed,
        latency: Span::ZERO,
    };
    let endless = networks.iter().filter(|(network, _)| network.messages.is_none());
    endless.map(one).collect()
}

/// Draws the networks of a learning round, with a limit on flows; in half of them decisions take up to 20 us.
pub(crate) fn episodes(rng: &mut Rng, most_flows: u32) -> Vec<Episode> {
    let networks = draw_endless(rng).into_iter();
    let networks = networks.filter(|network| network.flows() * network.receivers() <= most_flows);
    let networks: Vec<Network> = networks.collect();
    let mut one = |network| Episode {
        network,
        seed: TRAINING.start + rng.below(TRAINING.end - TRAINING.start),
        latency: match rng.below(2) {
            0 => Span::ZERO,
            _ => Span::from_ns(rng.below(20_000)),
        },
    };
    networks.into_iter().map(&mut one).collect()
}

/// Runs all episodes, those with the most flows first.
pub(crate) fn practise_all(
    episodes: &[Episode],
    manner: &Manner,
    threads: usize,
) -> Result<Vec<Vec<Transition>>, Error> {
    all_of(episodes, threads, &|episode| practise(episode, manner))
}

/// Returns the results of all episodes; those with the most flows run first.
pub(super) fn all_of<T: Send>(
    episodes: &[Episode],
    threads: usize,
    of: &(dyn Fn(&Episode) -> Result<Vec<T>, Error> + Sync),
) -> Result<Vec<Vec<T>>, Error> {
    let last = episodes.len().saturating_sub(1);
    let run = |index: usize| of(&episodes[last - index]);
    let each = side_by_side(episodes.len(), threads, &run);
    let mut each = each.into_iter().collect::<Result<Vec<_>, Error>>()?;
    each.reverse();
    Ok(each)
}

/// Unit of the critics' rewards, so that the effect of an action is not small.
pub(super) const UNIT: f64 = 0.1;
/// Discount per base round trip.
const GAMMA: f64 = 0.98;

/// State that all flows of an episode share.
#[derive(Debug)]
struct Course {
    manner: Manner,
    facts: Facts,
    seed: u64,
    /// One in this many decisions is stored.
    every: u64,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    agents: u32,
    sums: Sums,
    kept: Vec<Transition>,
}

/// Runs an episode and returns its transitions.
pub(super) fn practise(episode: &Episode, manner: &Manner) -> Result<Vec<Transition>, Error> {
    let network = &episode.network;
    let params = decc::Params {
        decision_latency: episode.latency,
        ..decc::Params::default()
    };
    let course = Arc::new(Course {
        manner: manner.clone(),
        facts: Facts::of(network),
        seed: episode.seed,
        every: every(network, network.base_us(), manner.kept),
        log: Mutex::default(),
    });
    let (shared, asks) = (Arc::clone(&course), params.clone());
    let make = move |path: &PathInfo| -> Box<dyn CongestionControl> {
        let agent = {
            let mut log = shared.log.lock().unwrap_or_else(PoisonError::into_inner);
            log.agents += 1;
            log.agents - 1
        };
        let law = shared.manner.law;
        let state = law.start(path, Auto::Auto, Auto::Auto);
        let flow = Flow {
            rng: Rng::stream(shared.seed, Purpose::Training, u64::from(agent)),
            course: Arc::clone(&shared),
            agent,
            state,
            counted: None,
            before: None,
        };
        Box::new(asks.asks(&law, &state, path, flow))
    };
    drive(network, episode.seed, &params, make)?;
    let mut log = course.log.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut log.kept))
}

/// Returns the interval of stored decisions for about `kept` of them: a flow decides once per `apart_us`, or
/// once per packet if that is longer.
pub(super) fn every(network: &Network, apart_us: f64, kept: usize) -> u64 {
    let flows = f64::from(network.flows() * network.receivers());
    let apart = apart_us.max(f64::from(network.flows()) * network.wire_us());
    let expected = flows * network.duration_us() / apart;
    ((expected / kept.max(1) as f64) as u64).max(1)
}

/// Runs a network with this seed to its end, with senders from `make` that have DECC's requirements.
pub(super) fn drive(
    network: &Network,
    seed: u64,
    params: &decc::Params,
    make: impl Fn(&PathInfo) -> Box<dyn CongestionControl> + Send + Sync + 'static,
) -> Result<(), Error> {
    let mut run = (*network.resolve(seed)?.run).clone();
    run.schemes[0] = SchemeConfig::from(params.clone()).into();
    let end = run.stop;
    let factories = Factories::from([(0, SchemeFactory::new(make).needing(params.needs()))]);
    let built = Simulation::with_factories(run, factories);
    let mut simulation = built.map_err(|error| Error::Options(error.to_string()))?;
    simulation.advance_to(Until::Time(end));
    Ok(())
}

/// Flow that records its decisions.
#[derive(Clone, Debug)]
struct Flow {
    course: Arc<Course>,
    agent: u32,
    state: State,
    rng: Rng,
    /// Share and round trip of this flow in the sums; `None` before its first decision.
    counted: Option<(f64, f64)>,
    /// Last decision, unless it belonged to the law's own start.
    before: Option<Decision>,
}

/// Decision with its inputs.
#[derive(Clone, Debug)]
struct Decision {
    all: [f32; GLOBAL],
    seen: [f32; INPUTS],
    label: f32,
    tried: f32,
}

/// Returns the reward of a decision from later measurements: minus the flow's own part of a run's cost, over
/// 20, from -3 to 0. The cost is 5 per doubling of its latency; 20 times the squared logarithm of its
/// deliveries over the fair share, which approximates the cost of Jain's index for a small spread; 100 times
/// the losses; and of the common part, 100 times the unused share.
fn reward(rtt: f64, over_fair: f64, load: f64, lost: f64) -> f64 {
    let off = libm::log(over_fair.max(1e-9));
    let cost = 5.0 * libm::log2(rtt.max(1.0))
        + 20.0 * (off * off).min(1.0)
        + 100.0 * lost.min(1.0)
        + 100.0 * (1.0 - load).clamp(0.0, 0.2);
    (-cost / 20.0).max(-3.0)
}

/// Returns the flow's deliveries since its last decision, as a share of its line's payload rate.
pub(crate) fn delivered(report: &Observation, path: &PathInfo) -> f64 {
    let mtu = path.mtu.get() as f64;
    let line = path.line_rate.as_bps() as f64 / 8.0 * mtu / (mtu + f64::from(HEADER));
    report.tally.acked as f64 / (line * report.span().as_secs_f64()).max(1e-9)
}

impl Decider for Flow {
    fn decide(&mut self, report: &Observation, path: &PathInfo) -> SendLimits {
        let Course {
            manner,
            facts,
            every,
            log,
            ..
        } = &*self.course;
        let seen = Interval::of(report, path);
        let packets = path.bdp_packets();
        let features = observe(&self.state, &seen, packets);
        let act = |policy: &Shared| policy.decide(&features).clamp(-1.0, 1.0);
        let d = manner.law.step(&self.state, &seen, packets).sum();
        let beside = manner.residual.as_ref().map_or(0.0, act);
        let label = action_of(d + RESIDUAL * f64::from(beside));
        let noise = match manner.noise > 0.0 {
            true => (manner.noise * normal(&mut self.rng)) as f32,
            false => 0.0,
        };
        let (tried, says): (f32, fn(f32) -> PolicyOutput) = match &manner.decider {
            PracticePolicy::Law => (noise, PolicyOutput::Residual),
            PracticePolicy::Residual(policy) => (act(policy) + noise, PolicyOutput::Residual),
            PracticePolicy::Policy(policy) => (act(policy) + noise, PolicyOutput::Decision),
        };
        let share = delivered(report, path);
        let rtt = seen.mean.unwrap_or(seen.newest).max(1.0);
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        // The sums are updated by each flow's change: adding up all flows at each decision would take too
        // long.
        log.sums.flows += f64::from(u8::from(self.counted.is_none()));
        let (shared, met) = self.counted.replace((share, rtt)).unwrap_or_default();
        log.sums.share += share - shared;
        log.sums.rtt += rtt - met;
        let all = facts.state(&log.sums, share, packets);
        let now = Decision {
            all,
            seen: features,
            label,
            tried,
        };
        // In its own start the law decides alone.
        let now = (!self.state.starts).then_some(now);
        if let Some(before) = std::mem::replace(&mut self.before, now) {
            // Drawn rather than counted: with flows that decide in turn, a count would always store the same
            // ones.
            if self.rng.below(*every) == 0 {
                let (flows, load) = (facts.flows(&log.sums), facts.load(&log.sums));
                let discount = libm::pow(GAMMA, seen.elapsed.max(1.0));
                let lost = if seen.mean.is_none() { 1.0 } else { seen.nacks };
                // A reward counts for as long as it lasts.
                let reward = (1.0 - discount) * reward(rtt, share * flows, load, lost) / UNIT;
                log.kept.push(Transition {
                    agent: self.agent,
                    tried: before.tried,
                    label: before.label,
                    all: before.all,
                    seen: before.seen,
                    action: before.tried.clamp(-1.0, 1.0),
                    reward: reward as f32,
                    discount: discount as f32,
                    next_all: all,
                    next_seen: features,
                });
            }
        }
        drop(log);
        let said = says(tried.clamp(-1.0, 1.0));
        manner.law.decide(&mut self.state, &seen, said, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Shape;

    #[test]
    fn rewards_by_hand() {
        assert_eq!(reward(1.0, 1.0, 1.0, 0.0), 0.0);
        // 5 for a doubling, 10 for a tenth lost, 10 for a tenth of the line unused; only the last is common
        // to all flows.
        assert!((reward(2.0, 1.0, 0.9, 0.1) + (5.0 + 10.0 + 10.0) / 20.0).abs() < 1e-9);
        assert!((reward(1.0, libm::exp(0.1), 1.0, 0.0) + 0.2 / 20.0).abs() < 1e-9);
        assert_eq!(reward(1e9, 1e9, 0.0, 1.0), -3.0);
    }

    /// Flows that practise under the law alone behave like flows of the scheme: their measurements settle
    /// where the law does.
    #[test]
    fn flows_practise_as_the_scheme_runs() {
        let model = paceline_congestion::learned::shipped::find("decc-law").unwrap();
        let law = *model.law().unwrap();
        let manner = Manner {
            law,
            decider: PracticePolicy::Law,
            residual: None,
            noise: 0.0,
            kept: 100_000,
        };
        let episode = Episode {
            network: Network::plain(Shape::Star(4)),
            seed: 3,
            latency: Span::ZERO,
        };
        let met = practise(&episode, &manner).unwrap();
        assert!(met.len() > 500, "{}", met.len());
        // At the end each has about a quarter of the line, and the label is a small change.
        let last = &met[met.len() - 4..];
        for one in last {
            assert!(one.next_all[0].abs() < 0.15, "{one:?}");
            assert!(one.label.abs() < 0.4 && one.reward > -0.2, "{one:?}");
            assert_eq!((one.tried, one.action), (0.0, 0.0));
        }
        assert_eq!(practise(&episode, &manner).unwrap(), met);
        let few = practise(&episode, &Manner { kept: 50, ..manner }).unwrap();
        assert!(few.len() >= 25 && few.len() <= 200, "{}", few.len());
    }
}
