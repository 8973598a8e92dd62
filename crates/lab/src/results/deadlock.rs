//! Deadlocks and endless pauses, in `summary.json` and in words.

use paceline_fabric::outcome;
use paceline_fabric::spec::NodeId;
use paceline_kernel::{Span, Time};
use paceline_scenario::NodeNames;
use serde::{Deserialize, Serialize};

use crate::text::duration_us;

/// Pauses that will never end; see [`outcome::Deadlock`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Deadlock {
    /// Time of detection, in seconds.
    pub found_s: f64,
    /// True if the run ended because nothing else could move either.
    pub ended: bool,
    /// Cycles of switches, each of which waits for the next one to resume it.
    pub cycles: Vec<Cycle>,
    /// Hosts that paused their switch and will never resume it.
    pub storms: Vec<u32>,
    /// All (port, class) pairs that will never be resumed.
    pub pauses: Vec<EndlessPause>,
    /// Flows with packets that wait behind them.
    pub flows: Vec<u32>,
}

/// Cycle of switches that pause each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cycle {
    /// Switches in the order in which each waits for the next.
    pub nodes: Vec<u32>,
    /// Priority class that is paused.
    pub priority: u8,
    /// Time since which nothing has moved in it, in seconds.
    pub since_s: f64,
}

/// (port, class) pair that will never be resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndlessPause {
    /// Paused port, named as in series.
    pub port: String,
    /// Number of the paused node.
    pub node: u32,
    /// Node that sent the pause.
    pub by: u32,
    /// Priority class that is paused.
    pub priority: u8,
    /// Time of the pause, in seconds.
    pub since_s: f64,
}

impl Deadlock {
    pub(super) fn of(found: &outcome::Deadlock) -> Self {
        let cycle = |cycle: &Vec<usize>| Cycle {
            nodes: cycle.iter().map(|&i| found.pauses[i].port.node.0).collect(),
            priority: cycle.first().map_or(0, |&i| found.pauses[i].class),
            since_s: found.since(cycle).as_secs_f64(),
        };
        let pause = |pause: &outcome::EndlessPause| EndlessPause {
            port: pause.port.to_string(),
            node: pause.port.node.0,
            by: pause.port.peer.0,
            priority: pause.class,
            since_s: pause.since.as_secs_f64(),
        };
        Self {
            found_s: found.found.as_secs_f64(),
            ended: found.ended,
            cycles: found.cycles.iter().map(cycle).collect(),
            storms: found.storms().iter().map(|node| node.0).collect(),
            pauses: found.pauses.iter().map(pause).collect(),
            flows: found.flows.clone(),
        }
    }
}

/// Maximum number of nodes named in a tree of victims.
const NAMES: usize = 24;

fn since(time: Time) -> String {
    duration_us(Some(time.as_ps() as f64 / 1e6))
}

/// Describes a deadlock: a sentence per cycle, per storm, and on the end of the run.
pub(super) fn warnings(found: &outcome::Deadlock, names: &NodeNames, end: Time, stop: Time) -> Vec<String> {
    let mut texts = Vec::new();
    for cycle in &found.cycles {
        let mut along: Vec<String> = (cycle.iter())
            .map(|&i| names.name(found.pauses[i].port.node.0))
            .collect();
        along.extend(along.first().cloned());
        texts.push(format!(
            "Deadlock: pause cycle {} since {}: each of these switches waits for the next to resume it, \
             and none ever will.{}",
            along.join(" -> "),
            since(found.since(cycle)),
            stuck(found.flows.len()),
        ));
    }
    let roots_of = |node: NodeId| -> Vec<usize> {
        let is_root = |&i: &usize| found.pauses[i].port.peer == node && found.pauses[i].waits_for.is_empty();
        (0..found.pauses.len()).filter(is_root).collect()
    };
    // A storm is as old as the first of its root pauses.
    let begin = |roots: &[usize]| roots.iter().map(|&i| found.pauses[i].since).min();
    for switch in found.idle_switches() {
        let roots = roots_of(switch);
        texts.push(format!(
            "Pause storm: {} has paused its neighbours since {} and will not resume them, though nothing holds it up. \
             Held up by it: {}.{}",
            names.numbered(switch.0),
            since(begin(&roots).unwrap_or(found.found)),
            tree(found, names, &roots),
            stuck(found.flows.len()),
        ));
    }
    for host in found.storms() {
        let roots = roots_of(host);
        texts.push(format!(
            "Pause storm: {} has paused its switch since {} and will not resume it. Held up by it: \
             {}.{}",
            names.name(host.0),
            since(begin(&roots).unwrap_or(found.found)),
            tree(found, names, &roots),
            stuck(found.flows.len()),
        ));
    }
    if found.ended {
        let saved = Span::from_ps(stop.as_ps() - end.as_ps());
        texts.push(format!(
            "Nothing else could move: the run ended {} before its time, with the flows unfinished that \
             these pauses hold.",
            duration_us(Some(saved.as_us_f64()))
        ));
    }
    if let Some(last) = texts.last_mut() {
        last.push_str(" `paceline explain deadlock` says what helps.");
    }
    texts
}

fn stuck(flows: usize) -> String {
    match flows {
        0 => String::new(),
        1 => " Packets of 1 flow are stuck there.".to_string(),
        n => format!(" Packets of {n} flows are stuck there."),
    }
}

/// Lists the victims of `roots`: the nodes that these pause, then those that the victims pause, and so on.
fn tree(found: &outcome::Deadlock, nodes: &NodeNames, roots: &[usize]) -> String {
    let name = |i: usize| nodes.name(found.pauses[i].port.node.0);
    let mut seen = vec![false; found.pauses.len()];
    let mut level = roots.to_vec();
    let (mut levels, mut named) = (Vec::new(), 0);
    while !level.is_empty() {
        level.iter().for_each(|&i| seen[i] = true);
        let mut names: Vec<String> = level.iter().map(|&i| name(i)).collect();
        names.dedup();
        let count = names.len();
        names.truncate(NAMES.saturating_sub(named).max(1));
        if names.len() < count {
            names.push(format!("and {} more", count - names.len()));
        }
        named += count;
        levels.push(names.join(", "));
        let waits = |&i: &usize| !seen[i] && found.pauses[i].waits_for.iter().any(|on| level.contains(on));
        level = (0..found.pauses.len()).filter(waits).collect();
    }
    levels.join("; behind these ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_fabric::outcome::PortRef;
    use paceline_fabric::spec::NodeKind;
    use paceline_scenario::topology::Topology;

    fn pause(node: u32, peer: u32, is_switch: bool, us: u64, waits_for: &[usize]) -> outcome::EndlessPause {
        outcome::EndlessPause {
            port: PortRef {
                node: NodeId(node),
                interface: 1,
                peer: NodeId(peer),
            },
            is_switch,
            by_switch: peer != 0,
            class: 3,
            since: Time::from_ns(us * 1000),
            waits_for: waits_for.to_vec(),
        }
    }

    #[test]
    fn a_storm_and_a_circle_in_words() {
        let mut found = outcome::Deadlock {
            found: Time::from_ns(5_000 * 1000),
            ended: true,
            pauses: vec![
                pause(8, 0, true, 200, &[]),
                pause(9, 8, true, 230, &[0]),
                pause(1, 8, false, 225, &[0]),
                pause(2, 9, false, 240, &[1]),
            ],
            cycles: Vec::new(),
            flows: vec![3, 4],
        };
        let mut net = Topology::new(0, 10);
        net.nodes[0] = NodeKind::Host;
        net.nodes[1] = NodeKind::Host;
        net.nodes[2] = NodeKind::Host;
        let names = NodeNames::of(&net);
        let text = |found: &outcome::Deadlock| {
            warnings(
                found,
                &names,
                Time::from_ns(8_000 * 1000),
                Time::from_ns(20_000 * 1000),
            )
            .join("\n")
        };
        insta::assert_snapshot!("storm", text(&found));
        found.pauses = vec![pause(3, 7, true, 1_000, &[1]), pause(7, 3, true, 1_203, &[0])];
        found.cycles = vec![vec![0, 1]];
        insta::assert_snapshot!("circle", text(&found));
        // A switch that is not paused itself is not a storm of a host.
        found.pauses = vec![pause(1, 8, false, 225, &[])];
        found.cycles.clear();
        assert!(found.storms().is_empty());
        insta::assert_snapshot!("idle_switch", text(&found));
        found.pauses = vec![pause(3, 7, true, 1_000, &[1]), pause(7, 3, true, 1_203, &[0])];
        found.cycles = vec![vec![0, 1]];
        let summary = Deadlock::of(&found);
        assert_eq!(
            (summary.cycles[0].nodes.as_slice(), summary.storms.len()),
            (&[3, 7][..], 0)
        );
        assert_eq!(summary.pauses[1].port, "port 7.1->3");
    }
}
