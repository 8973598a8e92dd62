//! Estimates of the time of runs, from which blocks and job arrays are cut.

use paceline_fabric::spec::{ArrivalPattern, ArrivalSource, NodeKind};
use paceline_scenario::Resolved;

use crate::run::memory_of_flows;

/// Packets of data that one core forwards at one port in a second, each with its acknowledgement.
const HOPS_PER_S: f64 = 4e6;
/// Seconds that building a network and writing a run's files take at least.
const LEAST_S: f64 = 2e-3;
/// Seconds to build a network, per link.
const LINK_S: f64 = 2e-6;

/// Estimates the seconds of a run on one core, within a factor of about three for ordinary traffic. A run that ends
/// early, or that drops much, takes less or more.
pub(super) fn seconds(input: &Resolved) -> f64 {
    let run = &input.run;
    let listed: f64 = run.flows.iter().map(|flow| flow.size.get() as f64).sum();
    let sources = run.arrivals.iter().flat_map(|arrivals| &arrivals.sources);
    let drawn: f64 = sources.map(bytes_of).sum();
    let started: f64 = (run.programs.iter())
        .map(|program| f64::from(program.flows) * program.largest as f64)
        .sum();
    let is_host = |kind: &&NodeKind| matches!(kind, NodeKind::Host);
    let hosts = run.nodes.iter().filter(is_host).count();
    let switches = run.nodes.len() - hosts;
    // No more than all hosts can send until the end.
    let fastest = run.links.iter().map(|link| link.rate.as_bps()).max().unwrap_or(0);
    let most = hosts as f64 * fastest as f64 / 8.0 * run.stop.as_ps() as f64 / 1e12;
    let packets = (listed + drawn + started).min(most) / run.packet.mtu.get().max(1) as f64;
    // In a star each packet crosses two links, in a tree of switches four to six.
    let hops = if switches < 2 { 2.0 } else { 5.0 };
    LEAST_S + LINK_S * run.links.len() as f64 + packets * hops / HOPS_PER_S
}

/// Estimates the memory of a run in bytes, without packets in queues.
pub(super) fn memory(input: &Resolved) -> u64 {
    /// Memory of the program with its tables.
    const LEAST: u64 = 64_000_000;
    /// Memory of a node with its links, measured from 1,024 to 65,536 hosts.
    const NODE: u64 = 8_000;
    LEAST + NODE * input.run.nodes.len() as u64 + memory_of_flows(input)
}

/// Returns the bytes that a source of arrivals is expected to send.
fn bytes_of(source: &ArrivalSource) -> f64 {
    let (from, to) = source.window;
    let window = to.as_ps().saturating_sub(from.as_ps()) as f64;
    match &source.pattern {
        ArrivalPattern::Poisson { hosts, sizes, .. } => {
            let flows: f64 = hosts.iter().map(|(_, mean_ps)| window / mean_ps).sum();
            flows * mean_size(sizes)
        }
        ArrivalPattern::Incasts {
            mean_ps,
            fan_in,
            size,
            ..
        } => window / mean_ps * f64::from(*fan_in) * size.get() as f64,
        ArrivalPattern::Told { messages } => messages.iter().map(|message| message.size.get() as f64).sum(),
    }
}

/// Returns the mean in bytes of sizes with their cumulative probabilities.
fn mean_size(points: &[(f64, f64)]) -> f64 {
    let first = points.first().map_or(0.0, |&(size, share)| size * share);
    let between = points
        .windows(2)
        .map(|pair| (pair[0].0 + pair[1].0) / 2.0 * (pair[1].1 - pair[0].1));
    first + between.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_scenario::{Overrides, load};

    /// Twice the bytes take about twice the time, whether flows are listed or drawn.
    #[test]
    fn times_follow_the_traffic() {
        let of = |name: &str, set: &str, streams: bool| {
            let overrides = Overrides {
                set: vec![set.to_string()],
                streams,
                ..Overrides::default()
            };
            seconds(&load(name, &overrides).unwrap())
        };
        let size = |size: &str| of("incast-16", &format!("workload.incast.incast.size={size}"), false);
        let (one, two) = (size("10MB"), size("20MB"));
        assert!((1.8..2.2).contains(&(two / one)), "{one} {two}");
        let load = |load: &str, streams| {
            let set = format!("workload.background.poisson.load={load}");
            of("fat320-hadoop30-2ms", &set, streams)
        };
        let (low, high) = (load("0.2", true), load("0.4", true));
        assert!((1.5..2.5).contains(&(high / low)), "{low} {high}");
        let listed = load("0.4", false);
        assert!((0.7..1.4).contains(&(listed / high)), "{listed} {high}");
    }
}
