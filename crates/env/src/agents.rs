//! Assignment of flows to agents.

use paceline_congestion::agent::Unknown;
use std::collections::BTreeMap;

use paceline_fabric::spec::RunSpec;

use paceline_scenario::EXTERNAL;

/// Grouping of flows into agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agents {
    /// One agent per flow; with persistent connections one per queue pair, independent of its messages.
    Flow,
    /// One agent for all flows to a receiver, whose link is their bottleneck. It observes their mean, and its
    /// action applies to each of them. (Requires an aligned clock.)
    Receiver,
}

impl Agents {
    /// All groupings, in the order of help texts.
    pub const ALL: [Self; 2] = [Self::Flow, Self::Receiver];

    /// Returns its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Receiver => "receiver",
        }
    }

    /// Returns its description for help texts.
    pub const fn help(self) -> &'static str {
        match self {
            Self::Flow => "each flow is an agent, or each queue pair of persistent connections",
            Self::Receiver => {
                "all flows to one receiver are an agent, which sees their mean and acts for each"
            }
        }
    }

    /// Finds a grouping by its name.
    ///
    /// # Errors
    /// There is no grouping with this name.
    pub fn find(name: &str) -> Result<Self, Unknown> {
        let found = Self::ALL.into_iter().find(|agents| agents.name() == name);
        found.ok_or_else(|| Unknown::new("kind of agents", name, &Self::ALL.map(Self::name)))
    }
}

/// Mapping between flows, agents and bottlenecks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roster {
    /// Agent of each flow of the run; [`NOBODY`] for flows under other schemes. (Connections ask under their
    /// first flow.)
    pub(crate) of_flow: Vec<u32>,
    /// Bottleneck of each agent: the index of its receiver.
    pub(crate) bottleneck: Vec<u32>,
    /// Agents of each bottleneck.
    pub(crate) members: Vec<Vec<u32>>,
    /// Number of queue pairs of each agent.
    pub(crate) queue_pairs: Vec<u32>,
    /// Flow number under which each agent's first queue pair asks.
    pub(crate) first: Vec<u32>,
    /// True if there are persistent connections, which may be idle for a time.
    pub(crate) persist: bool,
}

/// Marks flows without an agent.
pub(crate) const NOBODY: u32 = u32::MAX;

impl Roster {
    pub(crate) fn new(run: &RunSpec, agents: Agents) -> Self {
        let asks: Vec<bool> = (run.schemes.iter())
            .map(|scheme| scheme.config.name() == EXTERNAL)
            .collect();
        let mut roster = Self::default();
        let (mut receivers, mut connections) = (BTreeMap::new(), BTreeMap::new());
        for (flow, number) in run.flows.iter().zip(0..) {
            if !asks[flow.scheme as usize] {
                roster.of_flow.push(NOBODY);
                continue;
            }
            let known = flow
                .connection
                .and_then(|connection| connections.get(&connection));
            // All messages of a connection belong to the same agent.
            if let Some(&agent) = known {
                roster.of_flow.push(agent);
                continue;
            }
            let next = receivers.len() as u32;
            let bottleneck = *receivers.entry(flow.dst).or_insert(next);
            if bottleneck == next {
                roster.members.push(Vec::new());
            }
            let first = roster.members[bottleneck as usize].first().copied();
            let agent = match (agents, first) {
                (Agents::Receiver, Some(agent)) => agent,
                _ => roster.enter(bottleneck, number),
            };
            roster.queue_pairs[agent as usize] += 1;
            roster.of_flow.push(agent);
            if let Some(connection) = flow.connection {
                connections.insert(connection, agent);
                roster.persist = true;
            }
        }
        roster
    }

    fn enter(&mut self, bottleneck: u32, first: u32) -> u32 {
        let agent = self.bottleneck.len() as u32;
        self.bottleneck.push(bottleneck);
        self.queue_pairs.push(0);
        self.first.push(first);
        self.members[bottleneck as usize].push(agent);
        agent
    }

    pub(crate) fn len(&self) -> usize {
        self.bottleneck.len()
    }
}
