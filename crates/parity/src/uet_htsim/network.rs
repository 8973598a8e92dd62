//! Switches with their queues and links.

use std::collections::VecDeque;

use super::derived::Derived;
use super::packet::List;
use super::random::Random;
use super::spec::{Options, Tree};

/// Properties shared by ports of the same kind, and by the links behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PortClass {
    /// Transmission time of a byte, ps.
    pub(super) byte: u64,
    /// Capacity of the data queue, bytes.
    pub(super) size: u64,
    pub(super) ecn: Option<(u64, u64)>,
    /// Latency of the link, ps.
    pub(super) latency: u64,
    /// True if the link leads to a host.
    pub(super) is_last: bool,
}

/// A switch queue and the link behind it. For a host only the link is used.
#[derive(Clone, Default)]
#[repr(align(64))]
pub(super) struct Port {
    /// Waiting data packets (`low`), and headers and control packets (`high`).
    pub(super) low: List,
    pub(super) high: List,
    pub(super) low_bytes: u64,
    pub(super) high_bytes: u64,
    /// Sizes of the first packets in `low` and `high`.
    pub(super) low_size: u16,
    pub(super) high_size: u16,
    /// Packets in flight on the link.
    pub(super) pipe: List,
    /// Index of the switch at the other end, or [`HOST`] combined with the host's index.
    pub(super) to: u32,
    pub(super) class: u32,
    pub(super) serving: Serving,
}

const _: () = assert!(size_of::<Port>() == 64, "a cache line");

/// Fill level of a queue at its last sample, for adaptive routing.
#[derive(Clone, Copy, Default)]
pub(super) struct Level {
    pub(super) level: u8,
    pub(super) at: u64,
}

/// Flag in [`Port::to`] that marks a host.
pub(super) const HOST: u32 = 1 << 31;

/// Queue of the packet being sent.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Serving {
    #[default]
    Nothing,
    Low,
    High,
}

/// A packet in a switch's latency stage.
#[derive(Clone, Copy)]
pub(super) struct Staged {
    pub(super) leaves: u64,
    pub(super) id: u32,
    pub(super) egress: u32,
}

/// Tiers of the fat tree, lowest first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tier {
    Tor,
    Agg,
    Core,
}

/// A switch. Its ports are contiguous: downlinks first, then uplinks.
#[derive(Clone)]
pub(super) struct Switch {
    pub(super) tier: Tier,
    /// Index within the tier.
    pub(super) index: u32,
    pub(super) salt: u32,
    /// Packets in the latency stage, in order of departure.
    pub(super) stage: VecDeque<Staged>,
    pub(super) latency: u64,
    pub(super) first: u32,
    /// Index of the first uplink, and the number of uplinks.
    pub(super) up: u32,
    pub(super) ups: u32,
    /// Offset of the switch's row in [`Network::table`].
    pub(super) row: u32,
    /// Length of the longest next-hop list.
    pub(super) stride: u32,
    /// Next uplink in round-robin routing.
    pub(super) turn: u32,
}

/// All ports and switches of the network.
#[derive(Clone)]
pub(super) struct Network {
    /// Links of hosts, followed by ports of switches.
    pub(super) ports: Vec<Port>,
    /// Sampled fill levels, by port.
    pub(super) levels: Vec<Level>,
    /// By port: packets sent from the control queue while data waited.
    pub(super) turns: Vec<u32>,
    pub(super) classes: Vec<PortClass>,
    pub(super) switches: Vec<Switch>,
    /// By host: indices of its ToR switch and of its pod.
    pub(super) tor: Vec<u32>,
    pub(super) pod: Vec<u32>,
    /// Index of each switch's next-hop list by destination; 0 if not computed yet.
    pub(super) table: Vec<u16>,
    /// By switch: lists of equal-cost ports, as offsets from its first port. Hashes index them in this order.
    pub(super) lists: Vec<Vec<u16>>,
}

/// Scales a rate or size to that of a degraded link, a quarter.
fn slow(value: u64) -> u64 {
    (value as f64 * 0.25) as u64
}

/// Returns the transmission time of a byte, ps.
fn byte_time(rate: u64) -> u64 {
    ((1e12 * 8.0) / rate as f64) as u64
}

impl Network {
    /// Builds the network. Each switch draws its hash salt, in this order.
    pub(super) fn new(options: &Options, set: &Derived, tree: &Tree, random: &mut Random) -> Self {
        let mut net = Self {
            ports: Vec::new(),
            levels: Vec::new(),
            turns: Vec::new(),
            classes: Vec::new(),
            switches: Vec::new(),
            tor: (0..tree.hosts).map(|host| host / tree.hosts_per_tor).collect(),
            pod: Vec::new(),
            table: Vec::new(),
            lists: Vec::new(),
        };
        net.pod = net.tor.iter().map(|tor| tor / tree.tors_per_pod).collect();
        let class = |tier: usize, is_last: bool, is_slow: bool| {
            let rate = tree.rates[tier];
            let part = |value: u64| if is_slow { slow(value) } else { value };
            PortClass {
                byte: byte_time(part(rate)),
                size: part(set.queue),
                ecn: (!is_last || !options.receiver_cc).then_some((part(set.ecn.0), part(set.ecn.1))),
                latency: tree.links[tier],
                is_last,
            }
        };
        let (tors, aggs) = (tree.tors(), tree.aggs());
        // Ports are numbered and switches draw from `random` in this order; another order changes every hash.
        for host in 0..tree.hosts {
            let to = net.tor[host as usize];
            net.port(class(0, false, false), to);
        }
        for tor in 0..tors {
            net.switch(Tier::Tor, tor, tree.switches[0], random);
            for host in 0..tree.hosts_per_tor {
                net.port(class(0, true, false), HOST | (tor * tree.hosts_per_tor + host));
            }
            net.turn_up();
            for agg in 0..tree.aggs_per_pod {
                let is_slow = tree.tiers == 2 && agg < options.failed;
                for _ in 0..tree.bundles[0] {
                    let to = tors + tor / tree.tors_per_pod * tree.aggs_per_pod + agg;
                    net.port(class(1, false, is_slow), to);
                }
            }
            net.close();
        }
        for agg in 0..aggs {
            net.switch(Tier::Agg, agg, tree.switches[1], random);
            let is_slow = tree.tiers == 2 && agg < options.failed;
            for tor in 0..tree.tors_per_pod {
                for _ in 0..tree.bundles[0] {
                    let to = agg / tree.aggs_per_pod * tree.tors_per_pod + tor;
                    net.port(class(1, false, is_slow), to);
                }
            }
            net.turn_up();
            for link in 0..tree.cores_per_agg {
                for _ in 0..tree.bundles[1] {
                    let core = agg % tree.aggs_per_pod + tree.aggs_per_pod * link;
                    net.port(class(2, false, false), tors + aggs + core);
                }
            }
            net.close();
        }
        for core in 0..tree.cores {
            net.switch(Tier::Core, core, tree.switches[2], random);
            for pod in 0..tree.pods {
                let agg = tree.aggs_per_pod * pod + core % tree.aggs_per_pod;
                let link = core / tree.aggs_per_pod;
                let is_slow = link + agg * tree.aggs_per_pod < options.failed;
                for _ in 0..tree.bundles[1] {
                    net.port(class(2, false, is_slow), tors + agg);
                }
            }
            net.turn_up();
            net.close();
        }
        net.rows(tree);
        net.levels = vec![Level::default(); net.ports.len()];
        net.turns = vec![0; net.ports.len()];
        net
    }

    fn port(&mut self, class: PortClass, to: u32) {
        // Most ports are alike, so they share a class.
        let known = self.classes.iter().position(|known| *known == class);
        let class = known.unwrap_or_else(|| {
            self.classes.push(class);
            self.classes.len() - 1
        }) as u32;
        self.ports.push(Port {
            to,
            class,
            ..Port::default()
        });
    }

    fn switch(&mut self, tier: Tier, index: u32, latency: u64, random: &mut Random) {
        self.switches.push(Switch {
            tier,
            index,
            salt: random.draw(),
            stage: VecDeque::new(),
            latency,
            first: self.ports.len() as u32,
            up: 0,
            ups: 0,
            row: 0,
            stride: 1,
            turn: 0,
        });
    }

    /// Marks the start of the uplinks: ports added from here on lead up.
    fn turn_up(&mut self) {
        let last = self.switches.last_mut().expect("a switch has ports");
        last.up = self.ports.len() as u32;
    }

    fn close(&mut self) {
        let ports = self.ports.len() as u32;
        let last = self.switches.last_mut().expect("a switch has ports");
        last.ups = ports - last.up;
    }

    /// Allocates the table of next-hop lists: one entry per ToR, one per destination at other switches.
    fn rows(&mut self, tree: &Tree) {
        let mut row = 0;
        for switch in &mut self.switches {
            switch.row = row;
            let [below_agg, below_core] = tree.bundles;
            switch.stride = switch.ups.max(below_agg).max(below_core);
            row += match switch.tier {
                Tier::Tor => 1,
                Tier::Core if tree.bundles[1] == 1 => 0,
                Tier::Agg if tree.bundles[0] == 1 && switch.ups == 0 => 0,
                _ => tree.hosts,
            };
        }
        self.table = vec![0; row as usize];
        self.lists = vec![Vec::new(); self.switches.len()];
    }
}
