//! What a run costs: the queue, the unfairness and the losses of it, and what of the line is left unused.

use paceline_congestion::registry::SchemeConfig;
use paceline_fabric::spec::RunSpec;
use paceline_fabric::{Outcome, Simulation, Until};
use paceline_kernel::Time;
use paceline_lab::stats::jain;
use paceline_scenario::Resolved;

use super::Network;
use crate::Error;

/// What a run came to in its second half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Payload delivered, of what receivers' links carry: 1 at most.
    pub goodput: f64,
    /// The 99th percentile of data packets' one-way latency, in us, and over that of the empty network.
    pub p99_us: f64,
    /// See above.
    pub p99: f64,
    /// Jain's index of what flows were delivered.
    pub jain: f64,
    /// Packets lost, of those that were sent.
    pub loss: f64,
    /// The same of the whole run.
    pub loss_all: f64,
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
        let built = Simulation::new(run);
        let mut simulation = built.map_err(|error| Error::Options(error.to_string()))?;
        simulation.advance_to(Until::Time(half));
        let before = simulation.clone().finish();
        simulation.advance_to(Until::Time(end));
        let after = simulation.finish();
        Ok(Self::between(
            network,
            (&before, &after),
            (end.as_ps() - half.as_ps()) as f64 * 1e-12,
        ))
    }

    fn between(network: &Network, (before, after): (&Outcome, &Outcome), seconds: f64) -> Self {
        let flows = before.flows.iter().zip(&after.flows);
        let delivered: Vec<f64> = flows
            .map(|(before, after)| (after.delivered.get() - before.delivered.get()) as f64)
            .collect();
        let carries = network.payload_per_s() * seconds * f64::from(network.receivers());
        let lost = |outcome: &Outcome| outcome.counters.buffer_drops;
        let sent = |outcome: &Outcome| outcome.counters.data_received + lost(outcome);
        let share = |lost: u64, sent: u64| lost as f64 / sent.max(1) as f64;
        let p99_us = p99(before, after).unwrap_or(0.0);
        Self {
            goodput: delivered.iter().sum::<f64>() / carries,
            p99_us,
            p99: (p99_us / network.empty_us()).max(1.0),
            jain: jain(&delivered).unwrap_or(0.0),
            loss: share(lost(after) - lost(before), sent(after) - sent(before)),
            loss_all: share(lost(after), sent(after)),
        }
    }

    /// The cost: of goodput 1 for each point that is missing, of latency 5 for each doubling, of unfairness 1 for each
    /// 0.05 of Jain's index, of loss 1 for each point.
    pub fn cost(&self) -> f64 {
        let unused = 100.0 * (1.0 - self.goodput).max(0.0);
        unused + 5.0 * libm::log2(self.p99) + 20.0 * (1.0 - self.jain) + 100.0 * self.loss
    }

    /// What a search counts: the cost, and 2 for each point that was lost in the whole run, so that the start counts.
    pub(crate) fn counted(&self) -> f64 {
        self.cost() + 200.0 * self.loss_all
    }
}

/// The 99th percentile of what came between.
fn p99(before: &Outcome, after: &Outcome) -> Option<f64> {
    let mut latency = after.latency.as_ref()?.histogram_ns.clone();
    if let Some(before) = &before.latency {
        latency.subtract(&before.histogram_ns).ok()?;
    }
    (!latency.is_empty()).then(|| latency.value_at_quantile(0.99) as f64 / 1000.0)
}
