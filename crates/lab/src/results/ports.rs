//! Shares of time that ports spent sending or paused.

use std::ops::Range;

use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PortRef, PortSeries};
use paceline_fabric::spec::{FlowControl, NodeId, NodeKind, RunSpec};
use paceline_kernel::sorted::SortedMap;
use serde::{Deserialize, Serialize};

use super::pauses::{pauses, ports_of};
use crate::stats::mean;

/// Port and a share of the time, 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortShare {
    /// Name as in series. (A text, since sweeps take means of numbers.)
    #[serde(default)]
    pub port: String,
    /// Share of the time, 0 to 1.
    pub share: f64,
}

/// Share of the time from the first start of a flow to the end of the last in which ports were sending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    /// Ports that sent anything.
    pub ports: u64,
    /// Mean over these ports.
    pub mean: f64,
    /// Port that sent for longest.
    pub busiest: PortShare,
}

/// Share of the same time in which ports had some class paused by the other end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PauseShare {
    /// All ports, hosts' and switches'.
    pub ports: u64,
    /// Mean over these ports: the share of port-time.
    pub mean: f64,
    /// Shares by distance from the hosts.
    pub by_tier: Vec<TierShare>,
    /// Port that was paused for longest; null if none was.
    pub worst: Option<PortShare>,
}

/// Paused time of nodes at the same distance from the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TierShare {
    /// Distance from the hosts in links: 0 for hosts, 1 for switches with hosts.
    pub tier: u32,
    /// Number of ports in the tier.
    pub ports: u64,
    /// Share of port-time paused, 0 to 1.
    pub mean: f64,
}

/// Computes utilisation from the recorded series of ports; returns `None` if nothing was sent.
pub(super) fn utilisation(recorded: &PortSeries, time: &Range<u64>) -> Option<Utilisation> {
    let of = |(number, port): (usize, &PortRef)| {
        // The arithmetic of nanoseconds makes a link a little faster than it is.
        let bins = recorded
            .of_port(number)
            .map(|bin| f64::from(bin.utilisation.min(1.0)));
        let points = (0..).zip(bins.chain([0.0]));
        let points: Vec<(u64, f64)> = points
            .map(|(n, value)| (recorded.begin(n).as_ps(), value))
            .collect();
        Some(PortShare {
            port: port.to_string(),
            share: mean_over(&points, time)?,
        })
    };
    let mut ports: Vec<PortShare> = recorded.ports.iter().enumerate().filter_map(of).collect();
    ports.retain(|port| port.share > 0.0);
    let shares: Vec<f64> = ports.iter().map(|port| port.share).collect();
    Some(Utilisation {
        ports: ports.len() as u64,
        mean: mean(&shares)?,
        busiest: largest(ports)?,
    })
}

/// Returns the mean over a time of a step function that is 0 before its first point.
fn mean_over(points: &[(u64, f64)], time: &Range<u64>) -> Option<f64> {
    let within = |at: u64| at.clamp(time.start, time.end);
    let ends = points.iter().skip(1).map(|&(at, _)| at).chain([u64::MAX]);
    let sum: f64 = points
        .iter()
        .zip(ends)
        .map(|(&(at, value), end)| value * (within(end) - within(at)) as f64)
        .sum();
    (!time.is_empty()).then(|| sum / (time.end - time.start) as f64)
}

/// Returns the port with the largest share; the first of equals.
fn largest(ports: Vec<PortShare>) -> Option<PortShare> {
    ports.into_iter().rev().max_by(|a, b| a.share.total_cmp(&b.share))
}

/// Computes the share from the pause and resume frames; returns `None` without priority flow control, if frames were
/// not recorded, or if no time passed.
pub(super) fn pause_share(spec: &RunSpec, outcome: &Outcome, time: &Range<u64>) -> Option<PauseShare> {
    let recorded = matches!(spec.switch.flow_control, FlowControl::Pfc(_)) && !spec.record.omit_pfc;
    if !recorded || time.is_empty() {
        return None;
    }
    let paused = paused_ps(spec, outcome, time);
    let tiers = tiers(spec);
    let mut by_tier: SortedMap<u32, Vec<f64>> = SortedMap::new();
    let mut ports = Vec::new();
    for (node, interface, peer, _) in ports_of(spec) {
        // Ports that were never paused count with zero, so the mean is the share of all port-time.
        let total = paused.get(&(node, interface)).copied().unwrap_or(0);
        let share = total as f64 / (time.end - time.start) as f64;
        by_tier.entry(tiers[node as usize]).or_default().push(share);
        let port = PortRef {
            node: NodeId(node),
            interface,
            peer: NodeId(peer),
        };
        ports.push(PortShare {
            port: port.to_string(),
            share,
        });
    }
    let shares: Vec<f64> = ports.iter().map(|port| port.share).collect();
    let tier = |(tier, shares): (u32, Vec<f64>)| {
        Some(TierShare {
            tier,
            ports: shares.len() as u64,
            mean: mean(&shares)?,
        })
    };
    Some(PauseShare {
        ports: ports.len() as u64,
        mean: mean(&shares)?,
        by_tier: by_tier.into_iter().filter_map(tier).collect(),
        worst: largest(ports).filter(|port| port.share > 0.0),
    })
}

/// Returns the time in which each port that was ever paused had some class paused, by node and interface.
fn paused_ps(spec: &RunSpec, outcome: &Outcome, time: &Range<u64>) -> SortedMap<(u32, u32), u64> {
    let within = |at: u64| at.clamp(time.start, time.end);
    let mut of_ports: SortedMap<(u32, u32), Vec<(u64, u64)>> = SortedMap::new();
    for ((node, interface, _), all) in pauses(spec, &outcome.pfc, time.end) {
        let spans = all.iter().map(|pause| (within(pause.from), within(pause.until)));
        of_ports.entry((node, interface)).or_default().extend(spans);
    }
    let total = |mut spans: Vec<(u64, u64)>| {
        // Classes of a port may be paused at the same time, so overlaps count once.
        spans.sort_unstable();
        let (mut total, mut counted_to) = (0, 0);
        for (from, until) in spans {
            total += until.saturating_sub(from.max(counted_to));
            counted_to = counted_to.max(until);
        }
        total
    };
    of_ports
        .into_iter()
        .map(|(port, spans)| (port, total(spans)))
        .collect()
}

/// Returns the distance of every node from the nearest host, in links.
fn tiers(spec: &RunSpec) -> Vec<u32> {
    let host = |kind: &NodeKind| if *kind == NodeKind::Host { 0 } else { u32::MAX };
    let mut tiers: Vec<u32> = spec.nodes.iter().map(host).collect();
    for tier in 0.. {
        let mut found = false;
        for link in &spec.links {
            for (near, far) in [(link.a, link.b), (link.b, link.a)] {
                if tiers[near.0 as usize] == tier && tiers[far.0 as usize] == u32::MAX {
                    tiers[far.0 as usize] = tier + 1;
                    found = true;
                }
            }
        }
        if !found {
            break;
        }
    }
    tiers
}

#[cfg(test)]
mod tests {
    use paceline_fabric::outcome::PfcEvent;
    use paceline_fabric::spec::LinkFailure;
    use paceline_kernel::Time;

    use super::*;
    use crate::sample;

    fn pfc(ns: u64, node: u32, interface: u32, class: u8, pause: bool) -> PfcEvent {
        PfcEvent {
            at: Time::from_ns(ns),
            node: NodeId(node),
            is_switch: node == 0,
            interface,
            class,
            pause,
        }
    }

    const NS: u64 = 1_000;

    #[test]
    fn pauses_by_hand() {
        let (input, mut outcome) = sample::incast();
        outcome.pfc = vec![
            // Two classes of host 3: 100 to 500, overlapping, counted once.
            pfc(100, 3, 1, 3, true),
            pfc(200, 3, 1, 4, true),
            pfc(300, 3, 1, 3, false),
            pfc(500, 3, 1, 4, false),
            // The switch's port to host 2: from 900 on, never resumed.
            pfc(900, 0, 2, 3, true),
            // A second pause frame of the same class changes nothing.
            pfc(950, 0, 2, 3, true),
        ];
        let share = pause_share(&input.run, &outcome, &(0..1_000 * NS)).unwrap();
        assert_eq!(share.ports, 8);
        assert!((share.mean - 0.5 / 8.0).abs() < 1e-12);
        let tiers: Vec<_> = share.by_tier.iter().map(|t| (t.tier, t.ports, t.mean)).collect();
        assert_eq!(tiers, [(0, 4, 0.1), (1, 4, 0.025)]);
        let worst = share.worst.unwrap();
        assert_eq!((worst.port.as_str(), worst.share), ("port 3.1->0", 0.4));
        // Only the part within the interval counts.
        let share = pause_share(&input.run, &outcome, &(450 * NS..950 * NS)).unwrap();
        assert_eq!(
            share.by_tier.iter().map(|t| t.mean).collect::<Vec<_>>(),
            [0.025, 0.025]
        );
    }

    #[test]
    fn a_failure_ends_a_pause() {
        let (mut input, mut outcome) = sample::incast();
        outcome.pfc = vec![pfc(100, 3, 1, 3, true)];
        let time = 0..1_000 * NS;
        let mean = |spec: &RunSpec| pause_share(spec, &outcome, &time).unwrap().worst.unwrap().share;
        assert_eq!(mean(&input.run), 0.9);
        input.run_mut().failures = vec![LinkFailure {
            link: 2,
            at: Time::from_ns(300),
            until: None,
        }];
        assert_eq!(mean(&input.run), 0.2);
        assert_eq!(pause_share(&input.run, &outcome, &(5..5)), None);
    }

    #[test]
    fn unknown_without_pfc_or_its_frames() {
        let (mut input, outcome) = sample::incast();
        assert!(pause_share(&input.run, &outcome, &(0..NS)).is_some());
        input.run_mut().record.omit_pfc = true;
        assert_eq!(pause_share(&input.run, &outcome, &(0..NS)), None);
        input.run_mut().record.omit_pfc = false;
        input.run_mut().switch.flow_control = FlowControl::None;
        assert_eq!(pause_share(&input.run, &outcome, &(0..NS)), None);
    }

    #[test]
    fn means_of_steps_by_hand() {
        // Half in 10..20, all of 20..30.
        let points = [(10, 0.5), (20, 1.0), (30, 0.0)];
        for (time, mean) in [
            (0..50, 0.3),
            (20..30, 1.0),
            (15..20, 0.5),
            (25..35, 0.5),
            (40..50, 0.0),
        ] {
            assert_eq!(mean_over(&points, &time), Some(mean), "{time:?}");
        }
        // The last value lasts.
        assert_eq!(mean_over(&[(10, 0.25)], &(0..20)), Some(0.125));
        assert_eq!(mean_over(&points, &(5..5)), None);
    }
}
