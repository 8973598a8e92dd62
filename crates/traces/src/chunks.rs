//! Network of chunks: the links of ASTRA-sim's analytical model (astra-sim/astra-sim@518bd51).
//!
//! A message of m bytes takes floor(l + m/B) ns over a link of latency l and B bytes per ns, and occupies it for
//! floor(m/B) ns. Further messages wait in order. Along a route, whole messages are stored and forwarded. Without
//! congestion awareness a message takes floor(hops l + m/B) ns, and none waits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::path::Path;

use paceline_kernel::{Span, Time};

use crate::executor::Executor;
use crate::network::{Message, Network};
use crate::program::Rank;
use crate::trouble::{Trouble, several_dimensions};

/// Arrangement of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Links from each rank to the next and the previous one. Messages take the shorter direction, clockwise if both
    /// are equal.
    Ring,
    /// Links from each rank to a switch and back.
    Switch,
    /// Links from each rank to every other.
    FullyConnected,
}

/// Topology with the properties of its links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// Arrangement of the links.
    pub topology: Topology,
    /// Number of ranks in the network.
    pub ranks: Rank,
    /// Rate of a link in GB/s, of 2^30 bytes each.
    pub bandwidth: f64,
    /// Latency of a link, in ns.
    pub latency_ns: f64,
}

impl Links {
    /// Reads a network file: `topology`, `npus_count`, `bandwidth` (GB/s), `latency` (ns), each a list of one.
    ///
    /// # Errors
    /// If the file is invalid, with the line.
    pub fn read(path: &Path) -> Result<Self, Trouble> {
        let file = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|e| Trouble::at(&file, format!("cannot be read: {e}")))?;
        Self::parse(&file, &text)
    }

    /// Parses the text of a network file.
    ///
    /// # Errors
    /// If the text is invalid, with the line.
    pub fn parse(file: &str, text: &str) -> Result<Self, Trouble> {
        const KEYS: [&str; 4] = ["topology", "npus_count", "bandwidth", "latency"];
        let mut values: [Option<(usize, &str)>; 4] = [None; 4];
        for (number, line) in text.lines().enumerate() {
            let location = format!("{file}:{}", number + 1);
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() || line == "---" {
                continue;
            }
            let (key, rest) = line
                .split_once(':')
                .ok_or_else(|| Trouble::at(&location, format!("`{line}`: expected `key: [ value ]`")))?;
            let Some(at) = KEYS.iter().position(|k| *k == key.trim()) else {
                return Err(crate::trouble::unknown(&location, "key", key.trim(), &KEYS));
            };
            if values[at].is_some() {
                return Err(Trouble::at(&location, format!("{} is there twice", key.trim())));
            }
            let list = rest.trim();
            let inner = list
                .strip_prefix('[')
                .and_then(|l| l.strip_suffix(']'))
                .ok_or_else(|| Trouble::at(&location, format!("`{list}`: expected `[ value ]`")))?;
            let items: Vec<&str> = inner.split(',').map(str::trim).collect();
            if items.len() > 1 {
                return Err(several_dimensions(&location, key.trim(), items.len()));
            }
            if items[0].is_empty() {
                return Err(Trouble::at(&location, format!("`{list}`: expected `[ value ]`")));
            }
            values[at] = Some((number + 1, items[0].trim_matches(['"', '\''])));
        }
        let value =
            |at: usize| values[at].ok_or_else(|| Trouble::at(file, format!("{} is missing", KEYS[at])));
        let number = |at: usize| -> Result<f64, Trouble> {
            let (line, text) = value(at)?;
            let parsed = text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
            parsed.ok_or_else(|| {
                Trouble::at(
                    format!("{file}:{line}"),
                    format!("{} is `{text}`, expected a number of at least 0", KEYS[at]),
                )
            })
        };
        let (line, name) = value(0)?;
        let topology = match name {
            "Ring" => Topology::Ring,
            "Switch" => Topology::Switch,
            "FullyConnected" => Topology::FullyConnected,
            _ => {
                return Err(crate::trouble::unknown(
                    format!("{file}:{line}"),
                    "topology",
                    name,
                    &["Ring", "Switch", "FullyConnected"],
                ));
            }
        };
        let (line, count) = value(1)?;
        let ranks = count.parse::<Rank>().ok().filter(|n| *n > 0).ok_or_else(|| {
            Trouble::at(
                format!("{file}:{line}"),
                format!("npus_count is `{count}`, expected a whole number of at least 1"),
            )
        })?;
        let bandwidth = number(2)?;
        // Every size is divided by it.
        if bandwidth == 0.0 {
            return Err(Trouble::at(file, "bandwidth is 0, expected more"));
        }
        Ok(Self {
            topology,
            ranks,
            bandwidth,
            latency_ns: number(3)?,
        })
    }

    /// Returns the rate B in bytes per ns.
    fn bytes_per_ns(&self) -> f64 {
        self.bandwidth * (1_u64 << 30) as f64 / 1e9
    }

    /// Returns true if clockwise is not the longer direction around the ring.
    fn clockwise(&self, from: Rank, to: Rank) -> bool {
        let ahead = (u64::from(to) + u64::from(self.ranks) - u64::from(from)) % u64::from(self.ranks);
        ahead * 2 <= u64::from(self.ranks)
    }

    fn hops(&self, from: Rank, to: Rank) -> u32 {
        match self.topology {
            Topology::Ring => {
                let away = from.abs_diff(to);
                away.min(self.ranks - away)
            }
            Topology::Switch => 2,
            Topology::FullyConnected => 1,
        }
    }

    /// Returns the node after `at` on the path between two ranks; the switch is numbered after the last rank.
    fn next(&self, at: Rank, message: &Message) -> Rank {
        match self.topology {
            Topology::Ring if self.clockwise(message.from, message.to) => {
                if at + 1 < self.ranks {
                    at + 1
                } else {
                    0
                }
            }
            Topology::Ring => at.checked_sub(1).unwrap_or(self.ranks - 1),
            Topology::Switch if at == message.from => self.ranks,
            Topology::Switch | Topology::FullyConnected => message.to,
        }
    }
}

/// Event of the simulation.
#[derive(Clone, Copy, Debug)]
enum Event {
    Wake(u64),
    /// Arrival of a message at a node.
    At(Message, Rank),
    /// End of a transmission on the link between two nodes.
    Free(Rank, Rank),
}

#[derive(Clone, Debug)]
struct Timed {
    at: Time,
    number: u64,
    event: Event,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl Eq for Timed {}
impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Timed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

#[derive(Clone, Debug, Default)]
struct Link {
    busy: bool,
    waiting: VecDeque<Message>,
}

/// Network of chunks with its clock.
#[derive(Clone, Debug)]
pub struct Chunks {
    links: Links,
    aware: bool,
    now: Time,
    number: u64,
    events: BinaryHeap<Reverse<Timed>>,
    used: BTreeMap<(Rank, Rank), Link>,
    carried: u64,
}

fn floor_ns(ns: f64) -> Span {
    Span::from_ps((ns as u64).saturating_mul(1000))
}

impl Chunks {
    /// Creates an idle network; `aware` makes messages wait for busy links.
    pub fn new(links: Links, aware: bool) -> Self {
        Self {
            links,
            aware,
            now: Time::ZERO,
            number: 0,
            events: BinaryHeap::new(),
            used: BTreeMap::new(),
            carried: 0,
        }
    }

    /// Returns the number of messages delivered so far.
    pub fn messages(&self) -> u64 {
        self.carried
    }

    /// Executes a program until no events are left; the executor then tells whether it is complete or stuck.
    ///
    /// # Errors
    /// If the program has more ranks than the network, or exceeds the range of time.
    pub fn run(&mut self, executor: &mut Executor) -> Result<(), String> {
        let ranks = executor.program().ranks();
        if ranks > self.links.ranks {
            return Err(format!(
                "the trace has {ranks} ranks, but npus_count of the network is {}",
                self.links.ranks
            ));
        }
        executor.start(self);
        while self.step(executor) {
            // Times saturate there, so later events would all happen at once.
            if self.now == Time::MAX {
                return Err("the trace is not over at the last time there is (2^64 ps, 213 days)".into());
            }
        }
        Ok(())
    }

    /// Processes the next event; returns false if there was none.
    pub fn step(&mut self, executor: &mut Executor) -> bool {
        let Some(Reverse(next)) = self.events.pop() else {
            return false;
        };
        self.now = next.at;
        match next.event {
            Event::Wake(token) => executor.woken(token, self),
            // The model has no acknowledgements: a message is sent, received and acknowledged in one moment.
            Event::At(message, node) if node == message.to => {
                self.carried += 1;
                executor.sent(message.id, self);
                executor.received(message.id, self);
                executor.acknowledged(message.id, self);
            }
            Event::At(message, node) => self.forward(message, node),
            Event::Free(from, to) => self.freed(from, to),
        }
        true
    }

    fn push(&mut self, at: Time, event: Event) {
        self.number += 1;
        self.events.push(Reverse(Timed {
            at,
            number: self.number,
            event,
        }));
    }

    /// Forwards a message from a node, or queues it if the link is busy.
    fn forward(&mut self, message: Message, node: Rank) {
        let next = self.links.next(node, &message);
        let link = self.used.entry((node, next)).or_default();
        if link.busy {
            link.waiting.push_back(message);
        } else {
            link.busy = true;
            self.transmit(message, node, next);
        }
    }

    fn transmit(&mut self, message: Message, node: Rank, next: Rank) {
        let serial = message.bytes as f64 / self.links.bytes_per_ns();
        let arrives = self.now.saturating_add(floor_ns(self.links.latency_ns + serial));
        self.push(arrives, Event::At(message, next));
        self.push(self.now.saturating_add(floor_ns(serial)), Event::Free(node, next));
    }

    fn freed(&mut self, from: Rank, to: Rank) {
        let Some(link) = self.used.get_mut(&(from, to)) else {
            return;
        };
        match link.waiting.pop_front() {
            Some(message) => self.transmit(message, from, to),
            None => link.busy = false,
        }
    }
}

impl Network for Chunks {
    fn now(&self) -> Time {
        self.now
    }

    fn wake(&mut self, at: Time, token: u64) {
        self.push(at.max(self.now), Event::Wake(token));
    }

    fn send(&mut self, message: Message) {
        if self.aware {
            self.forward(message, message.from);
        } else {
            let hops = f64::from(self.links.hops(message.from, message.to));
            let serial = message.bytes as f64 / self.links.bytes_per_ns();
            let takes = floor_ns(hops * self.links.latency_ns + serial);
            self.push(self.now.saturating_add(takes), Event::At(message, message.to));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_file_is_read_and_its_mistakes_are_named() {
        let text =
            "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 50.0 ]  # GB/s\nlatency: [ 500.0 ]  # ns\n";
        let links = Links::parse("n.yml", text).unwrap();
        assert_eq!(
            (links.topology, links.ranks, links.bandwidth, links.latency_ns),
            (Topology::Ring, 8, 50.0, 500.0)
        );
        let wrong = |from: &str, to: &str| {
            Links::parse("n.yml", &text.replace(from, to))
                .unwrap_err()
                .to_string()
        };
        assert!(wrong("Ring", "Rung").contains("n.yml:1"));
        assert!(wrong("8", "8, 2").contains("2 dimensions"));
        assert!(wrong("npus_count", "npus").contains("npus"));
        assert!(wrong("latency: [ 500.0 ]", "").contains("latency is missing"));
        assert!(wrong("50.0", "-1").contains("n.yml:3"));
    }

    #[test]
    fn a_program_of_more_ranks_than_the_network_is_refused() {
        let links = Links {
            topology: Topology::Ring,
            ranks: 4,
            bandwidth: 1.0,
            latency_ns: 1.0,
        };
        let graph = crate::graph::Graph::builder(5, crate::program::Lanes { orders: Vec::new() });
        let program = graph.finish(Box::new(Nameless));
        let rules = crate::executor::Rules::default();
        let mut executor = Executor::new(std::sync::Arc::new(program), rules);
        let refused = Chunks::new(links, true).run(&mut executor).unwrap_err();
        assert!(
            refused.contains("5 ranks") && refused.contains("is 4"),
            "{refused}"
        );
    }

    #[derive(Debug)]
    struct Nameless;

    impl crate::graph::Names for Nameless {
        fn name(&self, _: Rank, _: u32) -> String {
            String::new()
        }
    }

    #[test]
    fn a_ring_is_gone_round_the_shorter_way() {
        let links = Links {
            topology: Topology::Ring,
            ranks: 8,
            bandwidth: 1.0,
            latency_ns: 1.0,
        };
        assert!(links.clockwise(0, 4) && links.clockwise(6, 1) && !links.clockwise(0, 5));
        assert_eq!((links.hops(0, 4), links.hops(6, 1), links.hops(0, 5)), (4, 3, 3));
    }
}
