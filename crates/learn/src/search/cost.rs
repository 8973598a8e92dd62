//! What a run costs: the queue, the unfairness and the losses of it, and what of the line is left unused.

use paceline_congestion::registry::SchemeConfig;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::RunSpec;
use paceline_fabric::{Outcome, Simulation, Until};
use paceline_kernel::{Span, Time};
use paceline_lab::stats::jain;
use paceline_scenario::Resolved;

use super::Network;
use super::network::Messages;
use crate::Error;

/// How well a run, or half of one, went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Payload delivered, of what receivers' links carry; above 1 where bytes count that were out of order before.
    pub goodput: f64,
    /// The 99th percentile of data packets' one-way latency, over that of the empty network.
    pub p99: f64,
    /// Jain's index of what flows were delivered; of a whole run, over the fair share of a receiver's line that each had
    /// while it was there.
    pub jain: f64,
    /// Packets lost, of those that were sent.
    pub loss: f64,
}

impl Quality {
    /// The cost: of goodput 1 for each point that is missing, of latency 5 for each doubling, of unfairness 1 for each
    /// 0.05 of Jain's index, of loss 1 for each point.
    pub fn cost(&self) -> f64 {
        let unused = 100.0 * (1.0 - self.goodput).max(0.0);
        unused + 5.0 * libm::log2(self.p99) + 20.0 * (1.0 - self.jain) + 100.0 * self.loss
    }
}

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// In its second half.
    pub settled: Quality,
    /// The 99th percentile of one-way latency there, in us.
    pub p99_us: f64,
    /// As a whole, from the first start on.
    pub whole: Quality,
    /// What messages took; nothing if there are none.
    pub messages: Option<Slowdowns>,
}

/// How much longer messages took than alone in the network under no control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdowns {
    /// The geometric mean.
    pub mean: f64,
    /// The 99th percentile: of few messages the greatest.
    pub p99: f64,
    /// From the first start to the last end, of the time that all bytes take on the receiver's line.
    pub together: f64,
}

impl Measured {
    /// Of a run under a scheme.
    ///
    /// # Errors
    /// There is no such network.
    pub fn of(network: &Network, input: &Resolved, config: SchemeConfig) -> Result<Self, Error> {
        let mut run = (*input.run).clone();
        run.schemes[0] = config.into();
        Self::of_run(network, run)
    }

    /// Of a run of this network, whoever sends.
    ///
    /// # Errors
    /// It cannot be built.
    pub fn of_run(network: &Network, run: RunSpec) -> Result<Self, Error> {
        let end = run.stop;
        let half = Time::from_ps(end.as_ps() / 2);
        let built = Simulation::new(run.clone());
        let mut simulation = built.map_err(|error| Error::Options(error.to_string()))?;
        simulation.advance_to(Until::Time(half));
        let before = simulation.clone().finish();
        simulation.advance_to(Until::Time(end));
        let after = simulation.finish();
        Ok(Self::between(
            network,
            &run,
            (&before, &after),
            (end.as_ps() - half.as_ps()) as f64 * 1e-12,
        ))
    }

    fn between(
        network: &Network,
        run: &RunSpec,
        (before, after): (&Outcome, &Outcome),
        seconds: f64,
    ) -> Self {
        let endless = |place: usize| run.flows[place].size.get() >= ENDLESS;
        let flows = before.flows.iter().zip(&after.flows).enumerate();
        let (mut delivered, mut over_fair, mut all, mut whole) = (Vec::new(), Vec::new(), 0.0, 0.0);
        let fair = fair_shares(run, after);
        for (place, (before, after)) in flows {
            let bytes = (after.delivered.get() - before.delivered.get()) as f64;
            all += bytes;
            whole += after.delivered.get() as f64;
            if endless(place) {
                delivered.push(bytes);
                over_fair.push(after.delivered.get() as f64 / fair[place].max(1e-9));
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

    /// What a search counts. Of flows that always have data, the mean of the costs of the whole run and of its second
    /// half, and for who joins and is joined 1 for each 0.1 of the whole run's Jain's index below 1 and 1.5 for each point
    /// that it lost. Of messages 10 for each doubling of their time, in the mean and at worst; of those that come at once,
    /// the time of all together in the mean's place; and what they leave of the line, and how, to flows that share it.
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

/// Flows of so many bytes never end.
const ENDLESS: u64 = 1_000_000_000_000;

/// What each flow would have got if its receiver's line had been shared evenly by those that were there, in seconds of
/// that line: a flow that joins late has less than one that was alone before.
fn fair_shares(run: &RunSpec, outcome: &Outcome) -> Vec<f64> {
    let mut joins: Vec<usize> = (0..run.flows.len()).collect();
    joins.sort_by_key(|&place| (run.flows[place].dst, outcome.flows[place].start));
    let mut fair = vec![0.0; run.flows.len()];
    for together in joins.chunk_by(|&one, &other| run.flows[one].dst == run.flows[other].dst) {
        let start = |there: usize| {
            together
                .get(there)
                .map_or(run.stop, |&place| outcome.flows[place].start)
        };
        // From the last to the first: who is there for longer has what those who join have, and what came before.
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
            // Who has not come to the end has taken at least this long.
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
            mean: libm::exp(each.iter().map(|&one| libm::log(one)).sum::<f64>() / count.max(1) as f64),
            p99: *each.get((count * 99).div_ceil(100).checked_sub(1)?)?,
            together: last.saturating_since(first).as_us_f64() / together,
        })
    }
}

/// The 99th percentile of what came between.
fn p99(before: Option<&Outcome>, after: &Outcome) -> Option<f64> {
    let mut latency = after.latency.as_ref()?.histogram_ns.clone();
    if let Some(before) = before.and_then(|before| before.latency.as_ref()) {
        latency.subtract(&before.histogram_ns).ok()?;
    }
    (!latency.is_empty()).then(|| latency.value_at_quantile(0.99) as f64 / 1000.0)
}
