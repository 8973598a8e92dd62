//! The network that flows of a run met, in the terms of the search.

use std::collections::{BTreeMap, BTreeSet};

use paceline_fabric::RunSpec;
use paceline_fabric::spec::{FlowControl, NodeId, NodeKind};
use paceline_lab::results::{FlowRows, FlowState};
use serde::{Deserialize, Serialize};

use crate::search::{Messages, Network, SPREAD_US, Shape};

/// Hosts of a network in which all send to all, at most, as in the search's own.
const HOSTS: u32 = 5;

/// The network in which flows decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Met {
    /// Rate of the link to the host that received most, in Gbit/s.
    pub gbps: f64,
    /// The empty network's round trip as senders know it, in us.
    pub base_rtt_us: f64,
    /// Links of a path: 2 if all flows stay below one switch, else 4.
    pub links: u32,
    /// Payload of a packet, in bytes.
    pub mtu: u32,
    /// Buffer of the switch at that host, in bytes.
    pub buffer: u64,
    /// Whether switches pause instead of dropping.
    pub pfc: bool,
    /// Hosts that send or receive.
    pub hosts: u32,
    /// Whether hosts that receive most of the payload send as well.
    pub both_ways: bool,
    /// Flows under way to a host at a time.
    pub flows: Spread,
    /// Of the most flows to that host at a time, the share that joins more than 1 ms after the first.
    pub late: f64,
    /// The median size in bytes of flows, where those that ended had most of the payload; nothing if flows went on.
    #[serde(default)]
    pub message: Option<u64>,
}

/// How a number is spread, over the time in which it is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// A tenth of the time it is at most this.
    pub p10: u32,
    /// Half of the time.
    pub p50: u32,
    /// Nine tenths.
    pub p90: u32,
    /// The greatest.
    pub max: u32,
}

/// Larger messages are flows that always have data, as in the search's own networks.
const MESSAGE: u64 = 4_000_000;
/// All messages of a network, in bytes, at most: more take too long.
const BATCH: u64 = 1_000_000_000;

impl Met {
    /// The same with messages that start at once in the flows' place, if messages were met.
    pub(crate) fn messages(&self, flows: u32) -> Option<Network> {
        let bytes = self.message.filter(|&bytes| bytes <= MESSAGE)?;
        let network = self.network(flows);
        let all = u64::from(network.flows() * network.receivers());
        Some(Network {
            messages: Some(Messages::AtOnce(bytes.min(BATCH / all.max(1)).max(1))),
            late: 0.0,
            ..network
        })
    }

    /// The search's network that is like it, with so many flows to a host.
    pub(crate) fn network(&self, flows: u32) -> Network {
        let shape = match (self.both_ways, self.links) {
            (true, _) => {
                let hosts = self.hosts.clamp(2, HOSTS);
                Shape::AllToAll(hosts, (flows / (hosts - 1)).max(1))
            }
            (false, 2) => Shape::Star(flows),
            (false, _) => Shape::LeafSpine(flows),
        };
        let mut network = Network {
            gbps: self.gbps,
            delay_us: 0.0,
            mtu: self.mtu,
            buffer: self.buffer,
            late: self.late,
            pfc: self.pfc,
            ..Network::plain(shape)
        };
        network.delay_us = ((self.base_rtt_us - network.base_us()) / (2.0 * network.links())).max(0.001);
        network
    }
}

/// What flows tell of a network.
pub(super) struct Seen {
    /// It.
    pub(super) network: Met,
    /// Mean rates while flows were under way.
    pub(super) rates: Vec<f64>,
}

impl Seen {
    /// Nothing if no flow sent anything.
    pub(super) fn of(run: &RunSpec, flows: &FlowRows, end: u64) -> Option<Self> {
        let mut comings: BTreeMap<u32, Vec<(u64, i32)>> = BTreeMap::new();
        let mut received: BTreeMap<u32, u64> = BTreeMap::new();
        let mut sent: BTreeMap<u32, u64> = BTreeMap::new();
        let (mut rates, mut first, mut far) = (Vec::new(), u64::MAX, false);
        let (mut sizes, mut ended) = (Vec::new(), 0);
        let switches = Access::of(run);
        for row in flows.rows() {
            let until = row.fct_ps.map_or(end, |fct| row.start_ps + fct);
            if matches!(row.status, FlowState::NotStarted | FlowState::Unreachable) || until <= row.start_ps {
                continue;
            }
            first = first.min(row.start_ps);
            sizes.push(row.size_bytes);
            ended += row.fct_ps.map_or(0, |_| row.sent_bytes);
            comings
                .entry(row.dst)
                .or_default()
                .extend([(row.start_ps, 1), (until, -1)]);
            *received.entry(row.dst).or_default() += row.sent_bytes;
            *sent.entry(row.src).or_default() += row.sent_bytes;
            rates.push(row.sent_bytes as f64 / (until - row.start_ps) as f64);
            far |= switches.switch(row.src) != switches.switch(row.dst);
        }
        let (&busiest, _) = received.iter().max_by_key(|&(_, bytes)| *bytes)?;
        let access = switches.0.get(&busiest)?;
        let both: u64 = received
            .iter()
            .filter(|(host, _)| sent.contains_key(host))
            .map(|(_, bytes)| bytes)
            .sum();
        let tier = run
            .switch
            .tiers
            .iter()
            .find(|tier| tier.switches.contains(&access.switch));
        let settled = first + (SPREAD_US * 1e6) as u64;
        let changes = comings.get(&busiest)?.as_slice();
        let (there, most) = (most_until(changes, settled), most_until(changes, u64::MAX));
        sizes.sort_unstable();
        let all: u64 = received.values().sum();
        let hosts = received.keys().chain(sent.keys()).collect::<BTreeSet<_>>();
        Some(Self {
            network: Met {
                gbps: access.gbps,
                base_rtt_us: 0.0,
                links: if far { 4 } else { 2 },
                mtu: run.packet.mtu.get() as u32,
                buffer: tier.map_or(run.switch.buffer, |tier| tier.buffer).get(),
                pfc: matches!(run.switch.flow_control, FlowControl::Pfc(_)),
                hosts: hosts.len() as u32,
                both_ways: 2 * both > all,
                flows: spread_of(comings.into_values()),
                late: 1.0 - f64::from(there) / f64::from(most.max(1)),
                message: (2 * ended > all).then(|| sizes[sizes.len() / 2]),
            },
            rates,
        })
    }
}

/// The most that are under way at a time up to an instant.
fn most_until(changes: &[(u64, i32)], last: u64) -> i32 {
    let mut changes: Vec<_> = changes.iter().filter(|(at, _)| *at <= last).collect();
    changes.sort_unstable();
    let counts = changes.iter().scan(0, |count, (_, change)| {
        *count += change;
        Some(*count)
    });
    counts.max().unwrap_or(0)
}

/// How many are under way, by how long that is so: of comings and goings at each of several places.
pub(super) fn spread_of(places: impl Iterator<Item = Vec<(u64, i32)>>) -> Spread {
    let mut time: BTreeMap<u32, u64> = BTreeMap::new();
    for mut changes in places {
        changes.sort_unstable();
        let (mut now, mut count) = (0, 0);
        for (at, change) in changes {
            if count > 0 && at > now {
                *time.entry(count as u32).or_default() += at - now;
            }
            (now, count) = (at, count + change);
        }
    }
    let total: u64 = time.values().sum();
    let at = |share: f64| {
        let mut passed = 0;
        let found = time.iter().find(|&(_, &time)| {
            passed += time;
            passed as f64 >= share * total as f64
        });
        found.map_or(1, |(&count, _)| count)
    };
    Spread {
        p10: at(0.1),
        p50: at(0.5),
        p90: at(0.9),
        max: time.keys().next_back().copied().unwrap_or(1),
    }
}

/// By host, its switch and the rate of its link.
struct Access(BTreeMap<u32, Link>);

struct Link {
    switch: NodeId,
    gbps: f64,
}

impl Access {
    fn of(run: &RunSpec) -> Self {
        let mut found = BTreeMap::new();
        for link in &run.links {
            for (host, switch) in [(link.a, link.b), (link.b, link.a)] {
                if run.nodes[host.0 as usize] == NodeKind::Host {
                    let gbps = link.rate.as_bps() as f64 / 1e9;
                    found.entry(host.0).or_insert(Link { switch, gbps });
                }
            }
        }
        Self(found)
    }

    fn switch(&self, host: u32) -> Option<NodeId> {
        self.0.get(&host).map(|link| link.switch)
    }
}
