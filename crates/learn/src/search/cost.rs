//! Cost of a run: queueing, unfairness, loss and unused capacity.

use paceline_congestion::registry::SchemeConfig;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::RunSpec;
use paceline_fabric::{Outcome, Simulation, Until};
use paceline_kernel::order::Sort as _;
use paceline_kernel::{Span, Time};
use paceline_lab::stats::jain;
use paceline_scenario::Resolved;

use super::Network;
use super::network::Messages;
use crate::Error;

/// Quality of a run or of half a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Delivered payload relative to the capacity of the receivers' links. It exceeds 1 if bytes that arrived
    /// out of order earlier are counted now.
    pub goodput: f64,
    /// 99th percentile of data packets' one-way latency, relative to the empty network.
    pub p99: f64,
    /// Jain's index of the flows' delivered bytes. For a complete run each flow is first divided by its fair
    /// share of the receiver's line.
    pub jain: f64,
    /// Lost packets as a fraction of sent packets.
    pub loss: f64,
}

impl Quality {
    /// Returns the cost: 1 for each percentage point of missing goodput, 5 for each doubling of latency, 1
    /// for each 0.05 of Jain's index and 1 for each percentage point of loss.
    pub fn cost(&self) -> f64 {
        let unused = 100.0 * (1.0 - self.goodput).max(0.0);
        unused + 5.0 * libm::log2(self.p99) + 20.0 * (1.0 - self.jain) + 100.0 * self.loss
    }
}

/// Measurements of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Quality in the second half.
    pub settled: Quality,
    /// 99th percentile of one-way latency in the second half, in us.
    pub p99_us: f64,
    /// Quality of the complete run from the first flow start.
    pub whole: Quality,
    /// Slowdowns of messages; `None` without messages.
    pub messages: Option<Slowdowns>,
}

/// Message completion times relative to those in an empty network without congestion control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdowns {
    /// Geometric mean over all messages.
    pub mean: f64,
    /// 99th percentile; the maximum for few messages.
    pub p99: f64,
    /// Time from the first start to the last end, relative to the transmission time of all bytes on the
    /// receiver's line.
    pub together: f64,
}

impl Measured {
    /// Runs a scheme in a network and measures the run.
    ///
    /// # Errors
    /// The network cannot be built.
    pub fn of(network: &Network, input: &Resolved, config: SchemeConfig) -> Result<Self, Error> {
        let mut run = (*input.run).clone();
        run.schemes[0] = config.into();
        Self::of_run(network, run)
    }

    /// Runs `run` in this network and measures it.
    ///
    /// # Errors
    /// The run cannot be built.
    pub fn of_run(network: &Network, run: RunSpec) -> Result<Self, Error> {
        let end = run.stop;
        let half = Time::from_ps(end.as_ps() / 2);
        let built = Simulation::new(run.clone());
        let mut simulation = built.map_err(|error| Error::Options(error.to_string()))?;
        simulation.advance_to(Until::Time(half));
        // A copy is finished, so that the run can continue.
        let before = simulation.clone().finish();
        simulation.advance_to(Until::Time(end));
        let after = simulation.finish();
        Ok(Self::between(
            network,
            &run,
            &before,
            &after,
            (end.as_ps() - half.as_ps()) as f64 * 1e-12,
        ))
    }

    fn between(network: &Network, run: &RunSpec, before: &Outcome, after: &Outcome, seconds: f64) -> Self {
        let endless = |index: usize| run.flows[index].size.get() >= ENDLESS;
        let flows = before.flows.iter().zip(&after.flows).enumerate();
        let (mut delivered, mut over_fair, mut all, mut whole) = (Vec::new(), Vec::new(), 0.0, 0.0);
        let fair = fair_shares(run, after);
        for (index, (before, after)) in flows {
            let bytes = (after.delivered.get() - before.delivered.get()) as f64;
            all += bytes;
            whole += after.delivered.get() as f64;
            // Fairness is of the endless flows: a message ends before it could have its fair share.
            if endless(index) {
                delivered.push(bytes);
                over_fair.push(after.delivered.get() as f64 / fair[index].max(1e-9));
            }
        }
        let carries = network.payload_per_s() * f64::from(network.receivers());
        let first = after
            .flows
            .iter()
            .map(|flow| flow.start)
            .min()
            .unwrap_or(Time::ZERO);
        let all_seconds = run.stop.saturating_since(first).as_secs_f64();
        let lost = |outcome: &Outcome| outcome.counters.buffer_drops;
        // A packet that was sent is either received or dropped, apart from those in flight.
        let sent = |outcome: &Outcome| outcome.counters.data_received + lost(outcome);
        let share = |lost: u64, sent: u64| lost as f64 / sent.max(1) as f64;
        let over_empty = |p99_us: f64| (p99_us / network.empty_us()).max(1.0);
        let p99_us = |before| p99(before, after).unwrap_or(0.0);
        let p99 = |before| over_empty(p99_us(before));
        Self {
            p99_us: p99_us(Some(before)),
            settled: Quality {
                goodput: all / (carries * seconds),
                p99: p99(Some(before)),
                jain: jain(&delivered).unwrap_or(1.0),
                loss: share(lost(after) - lost(before), sent(after) - sent(before)),
            },
            whole: Quality {
                goodput: whole / (carries * all_seconds),
                p99: p99(None),
                jain: jain(&over_fair).unwrap_or(1.0),
                loss: share(lost(after), sent(after)),
            },
            messages: network.messages.and_then(|_| Slowdowns::of(network, run, after)),
        }
    }

    /// Returns the cost for the search. With long flows it is the mean cost of the complete run and its
    /// second half, plus 1 for each 0.1 of the complete run's Jain's index below 1 and 1.5 for each
    /// percentage point of loss, to take account of joining flows. With messages it is 10 for each doubling
    /// of the slowdown, for the 99th percentile and the mean; for simultaneous messages the completion time
    /// of all replaces the mean. With messages and long flows the cost of the second half is added.
    pub(crate) fn counted(&self, network: &Network) -> f64 {
        let Some(messages) = &self.messages else {
            let (settled, whole) = (self.settled.cost(), self.whole.cost());
            let joiners = 10.0 * (1.0 - self.whole.jain) + 150.0 * self.whole.loss;
            return settled + (0.5 * (whole - settled) + joiners);
        };
        let doublings = |time: f64| 10.0 * libm::log2(time.max(1.0));
        let took = doublings(messages.p99);
        match network.messages {
            Some(Messages::AtOnce(_)) => took + doublings(messages.together),
            Some(Messages::Beside(_)) => took + doublings(messages.mean) + self.settled.cost(),
            Some(Messages::Alone) | None => took + doublings(messages.mean),
        }
    }
}

/// Flow size in bytes above which a flow never ends.
const ENDLESS: u64 = 1_000_000_000_000;

/// Returns each flow's fair share of its receiver's line in seconds of that line, with an even division
/// between the flows present at each time. A late flow gets less than one that was alone before.
fn fair_shares(run: &RunSpec, outcome: &Outcome) -> Vec<f64> {
    let mut joins: Vec<usize> = (0..run.flows.len()).collect();
    joins.order_by_key(|&index| (run.flows[index].dst, outcome.flows[index].start));
    let mut fair = vec![0.0; run.flows.len()];
    for together in joins.chunk_by(|&one, &other| run.flows[one].dst == run.flows[other].dst) {
        let start = |there: usize| {
            together
                .get(there)
                .map_or(run.stop, |&index| outcome.flows[index].start)
        };
        // From last to first: an earlier flow gets the share of later ones plus the share before they joined.
        let mut later = 0.0;
        for there in (0..together.len()).rev() {
            let alone = start(there + 1).saturating_since(start(there)).as_secs_f64();
            later += alone / (there + 1) as f64;
            fair[together[there]] = later;
        }
    }
    fair
}

impl Slowdowns {
    fn of(network: &Network, run: &RunSpec, outcome: &Outcome) -> Option<Self> {
        let (mut each, mut bytes, mut first, mut last) = (Vec::new(), 0.0, run.stop, Time::ZERO);
        for (spec, flow) in run.flows.iter().zip(&outcome.flows) {
            if spec.size.get() >= ENDLESS || flow.status == FlowStatus::NotStarted {
                continue;
            }
            // An unfinished message has taken at least until the end of the run.
            let (end, took) = match flow.fct {
                Span::ZERO => (run.stop, run.stop.saturating_since(flow.start)),
                fct => (flow.start.saturating_add(fct), fct),
            };
            each.push(took.as_us_f64() / flow.ideal.as_us_f64().max(1e-9));
            bytes += spec.size.get() as f64;
            (first, last) = (first.min(flow.start), last.max(end));
        }
        each.sort_by(f64::total_cmp);
        let count = each.len();
        let together = bytes / network.payload_per_s() * 1e6 + 2.0 * network.empty_us();
        Some(Self {
            // Slowdowns are ratios, so their mean is a geometric one.
            mean: libm::exp(each.iter().map(|&one| libm::log(one)).sum::<f64>() / count.max(1) as f64),
            p99: *each.get((count * 99).div_ceil(100).checked_sub(1)?)?,
            together: last.saturating_since(first).as_us_f64() / together,
        })
    }
}

/// Returns the 99th percentile of latencies recorded between two outcomes, in us.
fn p99(before: Option<&Outcome>, after: &Outcome) -> Option<f64> {
    let mut latency = after.latency.as_ref()?.histogram_ns.clone();
    if let Some(before) = before.and_then(|before| before.latency.as_ref()) {
        latency.subtract(&before.histogram_ns).ok()?;
    }
    (!latency.is_empty()).then(|| latency.value_at_quantile(0.99) as f64 / 1000.0)
}
