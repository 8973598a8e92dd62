//! Switches, their queues and links.

use std::collections::VecDeque;

use super::derived::Derived;
use super::packet::List;
use super::random::Random;
use super::spec::{Options, Tree};

/// What queues have in common, and the links behind them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PortClass {
    /// Time of a byte, ps.
    pub(super) byte: u64,
    /// Bytes that the queue of data holds.
    pub(super) size: u64,
    pub(super) ecn: Option<(u64, u64)>,
    /// Latency of the link, ps.
    pub(super) latency: u64,
    /// Whether it leads to a host.
    pub(super) is_last: bool,
}

/// A queue of a switch and the link behind it; of a host, the link alone.
#[derive(Clone, Default)]
#[repr(align(64))]
pub(super) struct Port {
    /// Data; headers and control.
    pub(super) low: List,
    pub(super) high: List,
    pub(super) low_bytes: u64,
    pub(super) high_bytes: u64,
    /// Sizes of the first packets of both.
    pub(super) low_size: u16,
    pub(super) high_size: u16,
    /// Packets on the link.
    pub(super) pipe: List,
    /// The switch, or [`HOST`] and the host, at its other end.
    pub(super) to: u32,
    pub(super) class: u32,
    pub(super) serving: Serving,
}

const _: () = assert!(size_of::<Port>() == 64, "a cache line");

/// How full a queue was when that was last looked at, for adaptive routing.
#[derive(Clone, Copy, Default)]
pub(super) struct Level {
    pub(super) level: u8,
    pub(super) at: u64,
}

/// Whether a port leads to a host.
pub(super) const HOST: u32 = 1 << 31;

/// Which packet is being sent.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Serving {
    #[default]
    Nothing,
    Low,
    High,
}

/// A packet in the latency stage of a switch.
#[derive(Clone, Copy)]
pub(super) struct Staged {
    pub(super) leaves: u64,
    pub(super) id: u32,
    pub(super) egress: u32,
}

/// Where a switch is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tier {
    Tor,
    Agg,
    Core,
}

/// A switch. Its ports are in a row: those down first, then those up.
#[derive(Clone)]
pub(super) struct Switch {
    pub(super) tier: Tier,
    /// Its number within the tier.
    pub(super) index: u32,
    pub(super) salt: u32,
    /// Packets in its latency stage.
    pub(super) stage: VecDeque<Staged>,
    pub(super) latency: u64,
    pub(super) first: u32,
    /// Its first port up, and their number.
    pub(super) up: u32,
    pub(super) ups: u32,
    /// Where its lists of ports by destination begin in the table.
    pub(super) row: u32,
    /// The length of the longest of these.
    pub(super) stride: u32,
    /// The next port in turn, where packets take turns.
    pub(super) turn: u32,
}

/// Ports and switches.
#[derive(Clone)]
pub(super) struct Network {
    /// Links of hosts, then ports of switches.
    pub(super) ports: Vec<Port>,
    /// By port.
    pub(super) levels: Vec<Level>,
    /// By port: packets of the upper queue that were served while the lower one waited.
    pub(super) turns: Vec<u32>,
    pub(super) classes: Vec<PortClass>,
    pub(super) switches: Vec<Switch>,
    /// By host: its switch, and its pod.
    pub(super) tor: Vec<u32>,
    pub(super) pod: Vec<u32>,
    /// Which list a switch has for a destination; 0: not made yet.
    pub(super) table: Vec<u16>,
    /// By switch: lists of equal ports, as offsets from its first, in the order in which the hash counts them.
    pub(super) lists: Vec<Vec<u16>>,
}

/// A part of a rate or size that a slow link has.
fn slow(value: u64) -> u64 {
    (value as f64 * 0.25) as u64
}

/// Time of a byte, ps.
fn byte_time(rate: u64) -> u64 {
    ((1e12 * 8.0) / rate as f64) as u64
}

impl Network {
    /// Builds the network; each switch draws its salt.
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

    /// The ports that follow lead up.
    fn turn_up(&mut self) {
        let last = self.switches.last_mut().expect("a switch has ports");
        last.up = self.ports.len() as u32;
    }

    fn close(&mut self) {
        let ports = self.ports.len() as u32;
        let last = self.switches.last_mut().expect("a switch has ports");
        last.ups = ports - last.up;
    }

    /// Room for the lists of ports: one per ToR, one per destination at the others.
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
