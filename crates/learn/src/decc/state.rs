//! Inputs of critics in addition to a flow's own: the network, and all flows of a bottleneck.

use crate::search::Network;

/// Number of these inputs.
pub(super) const GLOBAL: usize = 8;

/// Properties of a network that a critic reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Facts {
    gbps: f64,
    base_us: f64,
    /// Buffer in bandwidth-delay products.
    buffer: f64,
    receivers: f64,
}

/// Sums over all flows that have decided: their number, delivered shares of the line, and round trips over
/// the base.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) flows: f64,
    pub(super) share: f64,
    pub(super) rtt: f64,
}

impl Facts {
    pub(super) fn of(network: &Network) -> Self {
        let product = network.gbps * 1000.0 / 8.0 * network.base_us();
        Self {
            gbps: network.gbps,
            base_us: network.base_us(),
            buffer: network.buffer as f64 / product,
            receivers: f64::from(network.receivers()),
        }
    }

    /// Returns the number of flows per bottleneck that have decided.
    pub(super) fn flows(&self, sums: &Sums) -> f64 {
        (sums.flows / self.receivers).max(1.0)
    }

    /// Returns the share of a bottleneck that its flows delivered.
    pub(super) fn load(&self, sums: &Sums) -> f64 {
        sums.share / self.receivers
    }

    /// Returns the critic's inputs for a flow with this delivered share: share over the fair one, load,
    /// latency, number of flows; base round trip, buffer, rate, packets per bandwidth-delay product.
    pub(super) fn state(&self, sums: &Sums, share: f64, packets: f64) -> [f32; GLOBAL] {
        let log2 = |x: f64| libm::log2(x.max(1e-6));
        [
            (log2(share * self.flows(sums)) / 4.0).clamp(-2.0, 2.0),
            self.load(sums).min(4.0),
            log2(sums.rtt / sums.flows.max(1.0)) / 4.0,
            log2(self.flows(sums)) / 13.0,
            self.base_us / 40.0,
            log2(self.buffer) / 8.0,
            self.gbps / 400.0,
            log2(packets) / 12.0,
        ]
        .map(|value| value as f32)
    }
}
