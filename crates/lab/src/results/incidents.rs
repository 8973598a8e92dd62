//! Incidents of links and hosts during a run: those in the scenario, and those that the PFC watchdog found.

use paceline_fabric::Outcome;
use paceline_fabric::spec::{HostChange, LinkChange, NodeId, RunSpec, WatchdogAction};
use paceline_kernel::order::Sort as _;
use paceline_kernel::{Span, Time};
use paceline_scenario::NodeNames;
use serde::{Deserialize, Serialize};

use super::pauses::ports_of;
use crate::text::duration_us;

/// Incident of a link, a host or a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Name of the link, host or port.
    pub place: String,
    /// Kind of incident, in words.
    pub what: String,
    /// Start of the incident, in ps.
    pub from_ps: u64,
    /// End of the incident, in ps; null if it did not end.
    pub until_ps: Option<u64>,
    /// Ports concerned, named as in series.
    pub ports: Vec<String>,
    /// Node numbers of the hosts concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<u32>,
}

impl Incident {
    /// Describes the incident and its times, without a full stop.
    pub fn text(&self) -> String {
        let at = |ps: u64| duration_us(Some(ps as f64 / 1e6));
        let until = match self.until_ps {
            Some(until) => format!("{} to {}", at(self.from_ps), at(until)),
            None => format!("from {}", at(self.from_ps)),
        };
        format!("{}: {} ({until})", self.place, self.what)
    }

    /// Returns true if the incident overlaps this interval, in ps.
    pub fn overlaps(&self, from_ps: u64, to_ps: u64) -> bool {
        self.from_ps < to_ps && self.until_ps.is_none_or(|until| until > from_ps)
    }
}

/// Returns the name and the ports of each link.
fn links(run: &RunSpec, names: &NodeNames) -> Vec<(String, Vec<String>)> {
    let mut all: Vec<(String, Vec<String>)> = (run.links.iter())
        .map(|link| (format!("link {}", names.link(link.a.0, link.b.0)), Vec::new()))
        .collect();
    for (node, interface, peer, link) in ports_of(run) {
        all[link].1.push(format!("port {node}.{interface}->{peer}"));
    }
    all
}

fn change_text(change: &LinkChange) -> String {
    let parts = [
        change.rate.map(|rate| format!("at {rate}")),
        change.delay.map(|delay| format!("delay {delay}")),
        change.error_rate.map(|rate| format!("loses {} %", rate * 100.0)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn host_text(change: &HostChange) -> String {
    let parts = [
        change
            .compute
            .map(|factor| format!("computes {factor} times as long")),
        change.receive_rate.map(|rate| format!("takes packets at {rate}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the incidents before the end of a run, in order of time.
pub(super) fn incidents(run: &RunSpec, names: &NodeNames, outcome: &Outcome) -> Vec<Incident> {
    let of_links = links(run, names);
    let ports_of_host = |host: NodeId| -> Vec<String> {
        let name = format!("port {}.", host.0);
        let peer = format!("->{}", host.0);
        let all = of_links.iter().flat_map(|(_, ports)| ports);
        all.filter(|port| port.starts_with(&name) || port.ends_with(&peer))
            .cloned()
            .collect()
    };
    let mut all = Vec::new();
    let mut add = |place: String,
                   what: String,
                   (from, until): (Time, Option<Time>),
                   ports: Vec<String>,
                   hosts: Vec<u32>| {
        all.push(Incident {
            place,
            what,
            from_ps: from.as_ps(),
            until_ps: until.map(Time::as_ps),
            ports,
            hosts,
        });
    };
    for failure in &run.failures {
        let (place, ports) = of_links[failure.link].clone();
        let what = match run.reconvergence {
            Span::ZERO => "down".to_string(),
            later => format!("down, routes follow after {later}"),
        };
        add(place, what, (failure.at, failure.until), ports, Vec::new());
    }
    for change in &run.link_changes {
        let (place, ports) = of_links[change.link].clone();
        add(
            place,
            change_text(change),
            (change.at, change.until),
            ports,
            Vec::new(),
        );
    }
    for change in &run.host_changes {
        let ports = ports_of_host(change.node);
        let place = format!("host {}", change.node.0);
        add(
            place,
            host_text(change),
            (change.at, change.until),
            ports,
            vec![change.node.0],
        );
    }
    for storm in &run.storms {
        let ports = ports_of_host(storm.node);
        let place = format!("host {}", storm.node.0);
        let whom = match storm.link.map(|link| &run.links[link]) {
            Some(link) if link.a == storm.node => names.name(link.b.0),
            Some(link) => names.name(link.a.0),
            None => "its switch".to_string(),
        };
        let what = format!("pauses class {} of {whom}", storm.class);
        add(place, what, (storm.at, storm.until), ports, vec![storm.node.0]);
    }
    let does = run.switch.watchdog.map(|watchdog| watchdog.action);
    for storm in &outcome.storms {
        let port = storm.port.to_string();
        let what = match does {
            Some(WatchdogAction::Drop) => format!(
                "watchdog drops class {}: {} packets",
                storm.priority, storm.dropped
            ),
            Some(WatchdogAction::Forward) => format!("watchdog ignores pauses of class {}", storm.priority),
            _ => format!("watchdog reports a storm of class {}", storm.priority),
        };
        add(
            names.entity(&port),
            what,
            (storm.detected, storm.restored),
            vec![port],
            Vec::new(),
        );
    }
    // Scheduled incidents after the end of a run did not happen.
    all.retain(|one: &Incident| one.from_ps < outcome.end.as_ps());
    all.order_by(|a, b| (a.from_ps, &a.place).cmp(&(b.from_ps, &b.place)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use paceline_fabric::outcome::{PortRef, WatchdogStorm};
    use paceline_fabric::spec::{LinkFailure, PauseStorm, PfcWatchdog};
    use paceline_kernel::BitRate;

    #[test]
    fn what_happened_in_order() {
        let (mut input, mut outcome) = sample::incast();
        let at = Time::from_ns;
        let run = input.run_mut();
        run.failures = vec![LinkFailure {
            link: 0,
            at: at(40_000),
            until: None,
        }];
        run.link_changes = vec![LinkChange {
            link: 1,
            at: at(10_000),
            until: Some(at(20_000)),
            rate: Some(BitRate::from_gbps(10)),
            delay: None,
            error_rate: Some(0.01),
        }];
        run.storms = vec![PauseStorm {
            node: NodeId(2),
            link: None,
            class: 3,
            at: at(30_000),
            until: Some(at(35_000)),
        }];
        run.host_changes = vec![HostChange {
            node: NodeId(1),
            at: at(1_000_000_000),
            until: None,
            compute: Some(2.0),
            receive_rate: None,
        }];
        run.switch.watchdog = Some(PfcWatchdog {
            detection: Span::from_us(1),
            restoration: Span::from_us(2),
            action: WatchdogAction::Drop,
        });
        let (port, detected) = (
            PortRef {
                node: NodeId(3),
                interface: 1,
                peer: NodeId(2),
            },
            at(31_000),
        );
        outcome.storms = vec![WatchdogStorm {
            port,
            priority: 3,
            detected,
            restored: None,
            dropped: 7,
        }];
        let all = incidents(&input.run, &input.names, &outcome);
        let texts: Vec<_> = all.iter().map(Incident::text).collect();
        let link = |i: usize| {
            let link = &input.run.links[i];
            format!("link {}", input.names.link(link.a.0, link.b.0))
        };
        // The slow host is slow after the end.
        let expected = [
            format!("{}: at 10Gbps, loses 1 % (10.00 µs to 20.00 µs)", link(1)),
            "host 2: pauses class 3 of its switch (30.00 µs to 35.00 µs)".to_string(),
            "host 3 -> host 2: watchdog drops class 3: 7 packets (from 31.00 µs)".to_string(),
            format!("{}: down (from 40.00 µs)", link(0)),
        ];
        assert_eq!(texts, expected);
        assert!(all[0].overlaps(0, 10_000_001) && !all[0].overlaps(20_000_000, 30_000_000));
        assert_eq!(all[0].ports.len(), 2);
    }
}
