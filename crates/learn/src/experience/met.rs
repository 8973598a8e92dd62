//! Network of a recorded run, in the search's terms.

use paceline_fabric::RunSpec;
use paceline_fabric::spec::{FlowControl, NodeId, NodeKind};
use paceline_kernel::sorted::{SortedMap, SortedSet};
use paceline_lab::results::{FlowRows, FlowState};
use serde::{Deserialize, Serialize};

use crate::search::{Messages, Network, SPREAD_US, Shape};

/// Upper limit of hosts in an all-to-all network, as in the search.
const HOSTS: u32 = 5;

/// Network in which flows decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Met {
    /// Rate of the link to the host that received most, in Gbit/s.
    pub gbps: f64,
    /// Round trip of the empty network as senders know it, in us.
    pub base_rtt_us: f64,
    /// Links of a path: 2 if all flows stay below one switch, otherwise 4.
    pub links: u32,
    /// Payload of a packet, in bytes.
    pub mtu: u32,
    /// Buffer of the switch at that host, in bytes.
    pub buffer: u64,
    /// True if switches pause instead of dropping.
    pub pfc: bool,
    /// Number of hosts that send or receive.
    pub hosts: u32,
    /// True if hosts that receive most of the payload also send.
    pub both_ways: bool,
    /// Concurrent flows to a host.
    pub flows: Spread,
    /// Share of the concurrent flows at the maximum to that host that joined more than 1 ms after the first.
    pub late: f64,
    /// Median size of flows in bytes, if completed flows had most of the payload; `None` for endless flows.
    #[serde(default)]
    pub message: Option<u64>,
}

/// Distribution of a number over the time during which it is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Value not exceeded during a tenth of the time.
    pub p10: u32,
    /// Value not exceeded during half of the time.
    pub p50: u32,
    /// Value not exceeded during nine tenths of the time.
    pub p90: u32,
    /// Maximum of all observations.
    pub max: u32,
}

/// Largest message; larger ones count as endless flows, as in the search's own networks.
const MESSAGE: u64 = 4_000_000;
/// Upper limit of a network's messages in total, in bytes: more take too long.
const BATCH: u64 = 1_000_000_000;

impl Met {
    /// Returns the network with simultaneous messages instead of flows, if messages were recorded.
    pub(crate) fn messages(&self, flows: u32) -> Option<Network> {
        let bytes = self.message.filter(|&bytes| bytes <= MESSAGE)?;
        let network = self.network(flows);
        let all = u64::from(network.flows() * network.receivers());
        Some(Network {
            messages: Some(Messages::AtOnce(bytes.min(BATCH / all.max(1)).max(1))),
            // Simultaneous messages have no late starts.
            late: 0.0,
            ..network
        })
    }

    /// Returns the similar network of the search with this many flows to a host.
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
        // Propagation makes up the rest of the recorded round trip.
        network.delay_us = ((self.base_rtt_us - network.base_us()) / (2.0 * network.links())).max(0.001);
        network
    }
}

/// Properties of a network derived from its flows.
pub(super) struct Derived {
    /// Network of the run.
    pub(super) network: Met,
    /// Mean rates of flows while active.
    pub(super) rates: Vec<f64>,
}

impl Derived {
    /// Derives them from a run's flows; `None` if no flow sent anything.
    pub(super) fn of(run: &RunSpec, flows: &FlowRows, end: u64) -> Option<Self> {
        let mut comings: SortedMap<u32, Vec<(u64, i32)>> = SortedMap::new();
        let mut received: SortedMap<u32, u64> = SortedMap::new();
        let mut sent: SortedMap<u32, u64> = SortedMap::new();
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
        // Flows that start within this time are not counted as late.
        let settled = first + (SPREAD_US * 1e6) as u64;
        let changes = comings.get(&busiest)?.as_slice();
        let (there, most) = (most_until(changes, settled), most_until(changes, u64::MAX));
        sizes.sort_unstable();
        let all: u64 = received.values().sum();
        let hosts = received.keys().chain(sent.keys()).collect::<SortedSet<_>>();
        Some(Self {
            network: Met {
                gbps: access.gbps,
                base_rtt_us: 0.0,
                links: if far { 4 } else { 2 },
                mtu: run.packet.mtu.get() as u32,
                buffer: tier.map_or(run.switch.buffer, |tier| tier.buffer).get(),
                pfc: matches!(run.switch.flow_control, FlowControl::Pfc(_)),
                hosts: hosts.len() as u32,
                // By bytes, so that a few small flows in the other direction do not count.
                both_ways: 2 * both > all,
                flows: spread_of(comings.into_values()),
                late: 1.0 - f64::from(there) / f64::from(most.max(1)),
                // If most bytes are of flows that ended, the traffic consists of messages.
                message: (2 * ended > all).then(|| sizes[sizes.len() / 2]),
            },
            rates,
        })
    }
}

/// Returns the largest number of concurrent flows up to an instant.
fn most_until(changes: &[(u64, i32)], last: u64) -> i32 {
    let mut changes: Vec<_> = changes.iter().filter(|(at, _)| *at <= last).collect();
    // At the same instant ends sort before starts.
    changes.sort_unstable();
    let counts = changes.iter().scan(0, |count, (_, change)| {
        *count += change;
        Some(*count)
    });
    counts.max().unwrap_or(0)
}

/// Returns the distribution over time of the number of concurrent flows, from starts and ends at each of
/// several hosts.
pub(super) fn spread_of(hosts: impl Iterator<Item = Vec<(u64, i32)>>) -> Spread {
    let mut time: SortedMap<u32, u64> = SortedMap::new();
    for mut changes in hosts {
        // Ends come before starts at the same time, so that a flow that follows another is not concurrent with it.
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

/// Switch and link rate of each host.
struct Access(SortedMap<u32, Link>);

struct Link {
    switch: NodeId,
    gbps: f64,
}

impl Access {
    fn of(run: &RunSpec) -> Self {
        let mut found = SortedMap::new();
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
