//! Who is an agent.

use paceline_congestion::agent::Unknown;
use std::collections::BTreeMap;

use paceline_fabric::spec::RunSpec;

use paceline_scenario::EXTERNAL;

/// Who is an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agents {
    /// Each flow; over persistent connections each queue pair, whatever messages it carries.
    Flow,
    /// All flows to one receiver, whose link is their bottleneck: it sees their mean, and its action is for each of
    /// them. (With an aligned clock.)
    Receiver,
}

impl Agents {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Flow, Self::Receiver];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Receiver => "receiver",
        }
    }

    /// What it says.
    pub const fn help(self) -> &'static str {
        match self {
            Self::Flow => "each flow is an agent, or each queue pair of persistent connections",
            Self::Receiver => {
                "all flows to one receiver are an agent, which sees their mean and acts for each"
            }
        }
    }

    /// The one of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn find(name: &str) -> Result<Self, Unknown> {
        let found = Self::ALL.into_iter().find(|agents| agents.name() == name);
        found.ok_or_else(|| Unknown::new("kind of agents", name, &Self::ALL.map(Self::name)))
    }
}

/// Whose flows are whose.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roster {
    /// For each flow of the run its agent; [`NOBODY`] of flows under other schemes. (A connection asks by its first flow.)
    pub(crate) of_flow: Vec<u32>,
    /// For each agent its bottleneck: the receiver, counted from 0.
    pub(crate) bottleneck: Vec<u32>,
    /// For each bottleneck its agents.
    pub(crate) members: Vec<Vec<u32>>,
    /// For each agent how many queue pairs it has.
    pub(crate) queue_pairs: Vec<u32>,
    /// For each agent the flow by which the first of them asks.
    pub(crate) first: Vec<u32>,
    /// Whether there are queue pairs that may have nothing to send for a while.
    pub(crate) persist: bool,
}

/// No agent's number.
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
