//! What critics see of all agents of a bottleneck.

use paceline_congestion::decc::features::ONCE;

use crate::course::Facts;

/// Numbers of it.
pub(super) const GLOBAL: usize = 12;

/// The share of the line that a feature stands for.
fn share(log: f32) -> f64 {
    libm::exp2(16.0 * f64::from(log))
}

/// A window over the bandwidth-delay product, of what an agent saw last: its rate times its latency.
pub(super) fn window(now: &[f32; ONCE]) -> f64 {
    share(now[4]) * f64::from(now[1]) * 4.0
}

/// Of what each agent saw last, in the order of the paper's Table 1: sum, least and most delivered; mean latency; least,
/// most and mean window; loss; how many; round trip, buffer and rate.
pub(super) fn state<'a>(facts: &Facts, agents: impl Iterator<Item = &'a [f32; ONCE]>) -> [f32; GLOBAL] {
    let (mut count, mut sum, mut latency, mut loss, mut windows) = (0.0f64, 0.0, 0.0, 0.0, 0.0);
    let (mut least, mut most) = ([f64::MAX; 2], [f64::MIN; 2]);
    for now in agents {
        let delivered = share(now[0]);
        let log = libm::log2(window(now).max(1.0 / 65_536.0)) / 8.0;
        count += 1.0;
        sum += delivered;
        latency += 4.0 * f64::from(now[1]);
        loss += f64::from(now[2]);
        windows += log;
        for (k, value) in [delivered, log].into_iter().enumerate() {
            least[k] = least[k].min(value);
            most[k] = most[k].max(value);
        }
    }
    if count == 0.0 {
        return [0.0; GLOBAL];
    }
    [
        sum.min(4.0),
        least[0],
        most[0],
        latency / count / 4.0,
        least[1],
        most[1],
        windows / count,
        loss / count,
        libm::log2(count) / 13.0,
        facts.base_us / 40.0,
        facts.buffer / 4.0,
        facts.gbps / 400.0,
    ]
    .map(|value| value as f32)
}
