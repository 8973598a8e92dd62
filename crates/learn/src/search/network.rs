//! Networks in which candidates are tested: drawn for each generation, or fixed.

use std::fmt::Write as _;

use paceline_kernel::rng::Rng;
use paceline_scenario::{Overrides, Resolved, load_text};

use crate::Error;

/// Network with long flows, messages, or both.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Topology and traffic pattern.
    pub shape: Shape,
    /// Rate of the hosts' links, in Gbit/s.
    pub gbps: f64,
    /// Propagation delay of a link, in us.
    pub delay_us: f64,
    /// Payload of a packet, in bytes.
    pub mtu: u32,
    /// Switch buffer in bytes. With priority flow control it is raised to the sum of all headrooms.
    pub buffer: u64,
    /// True for priority flow control; otherwise switches drop packets.
    pub pfc: bool,
    /// Fraction of flows that start after the others.
    pub late: f64,
    /// In a broadcast, the ratio of the rates of a spine link and a host link: 4 carries all that hosts can
    /// send.
    pub spine: f64,
    /// Run length after all flows have started, in packets per flow. With few flows it is longer.
    pub packets: f64,
    /// Messages in addition to long flows or without them; `None` in a broadcast.
    pub messages: Option<Messages>,
}

/// Message workload; each message is a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Messages {
    /// Messages of 1 KB to 16 MB between separate pairs of hosts in an empty network, without the long flows
    /// of the shape.
    Alone,
    /// Messages of 1 KB to 1 MB from other hosts to the receiver of the long flows. The number is their share
    /// of its line.
    Beside(f64),
    /// Simultaneous messages of this many bytes, one for each flow of the shape.
    AtOnce(u64),
}

/// Topology and pairs of senders and receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// This number of flows to one host through one switch.
    Star(u32),
    /// This number of flows from other racks to one host, in a leaf-spine network.
    LeafSpine(u32),
    /// All pairs of this number of hosts of one switch, with this number of flows per pair.
    AllToAll(u32, u32),
    /// All pairs of 64 hosts of a leaf-spine network, with this number of flows per pair.
    Broadcast(u32),
}

/// Upper limit of hosts that send to one receiver.
const SENDERS: u32 = 32;
/// Interval over which the first flow starts are spread, in us.
pub(crate) const SPREAD_US: f64 = 1000.0;
/// Header bytes of a data packet on the wire, and total size of an acknowledgement.
pub(crate) const HEADER: u32 = 48;
const ACK: f64 = 60.0;

impl Network {
    /// Returns a network of 400 Gbit/s with 1 MB of buffer, as in the paper.
    pub fn plain(shape: Shape) -> Self {
        let deep = matches!(shape, Shape::LeafSpine(_) | Shape::Broadcast(_));
        Self {
            shape,
            gbps: 400.0,
            delay_us: if deep { 1.0 } else { 2.0 },
            mtu: 1000,
            buffer: 1_000_000,
            pfc: false,
            late: 0.0,
            spine: 4.0,
            packets: 25.0,
            messages: None,
        }
    }

    /// Returns the number of flows per receiver.
    pub fn flows(&self) -> u32 {
        match self.shape {
            Shape::Star(flows) | Shape::LeafSpine(flows) => flows,
            Shape::AllToAll(hosts, each) => (hosts - 1) * each,
            Shape::Broadcast(each) => 63 * each,
        }
    }

    /// Returns the number of receiving hosts.
    pub fn receivers(&self) -> u32 {
        match self.shape {
            Shape::Star(_) | Shape::LeafSpine(_) => 1,
            Shape::AllToAll(hosts, _) => hosts,
            Shape::Broadcast(_) => 64,
        }
    }

    /// Returns the number of links on a path.
    pub(crate) fn links(&self) -> f64 {
        match self.shape {
            Shape::Star(_) | Shape::AllToAll(..) => 2.0,
            Shape::LeafSpine(_) | Shape::Broadcast(_) => 4.0,
        }
    }

    /// Returns the serialisation time of a full packet on a host's link, in us.
    pub(crate) fn wire_us(&self) -> f64 {
        f64::from(self.mtu + HEADER) * 8.0 / (self.gbps * 1000.0)
    }

    /// Returns the one-way latency of the empty network, in us.
    pub fn empty_us(&self) -> f64 {
        let wires = match self.shape {
            // Two of the four links are four times as fast.
            Shape::Broadcast(_) => 2.5,
            _ => self.links(),
        };
        self.links() * self.delay_us + wires * self.wire_us()
    }

    /// Returns the base round-trip time that senders know, in us: propagation in both directions and the
    /// serialisation of a payload on each link.
    pub fn base_us(&self) -> f64 {
        let payload = f64::from(self.mtu) / f64::from(self.mtu + HEADER);
        let wires = self.empty_us() - self.links() * self.delay_us;
        2.0 * self.links() * self.delay_us + payload * wires
    }

    /// Returns the payload rate of a receiver's link without other traffic, in bytes per second.
    pub fn payload_per_s(&self) -> f64 {
        self.gbps * 1e9 / 8.0 * f64::from(self.mtu) / f64::from(self.mtu + HEADER)
    }

    /// Returns the fraction of a link for data: hosts that send and receive use part of it for
    /// acknowledgements.
    pub fn data_share(&self) -> f64 {
        match self.shape {
            Shape::Star(_) | Shape::LeafSpine(_) => 1.0,
            Shape::AllToAll(..) | Shape::Broadcast(_) => {
                let packet = f64::from(self.mtu + HEADER);
                packet / (packet + ACK)
            }
        }
    }

    /// Returns the switch's buffer in bytes. With priority flow control it has headroom for packets that
    /// arrive until a pause takes effect.
    fn buffer_bytes(&self) -> u64 {
        /// Upper limit of a switch's ports.
        const PORTS: f64 = SENDERS as f64 + 1.0;
        let port = 4.0 * self.delay_us * self.gbps * 1000.0 / 8.0 + 32.0 * f64::from(self.mtu);
        match self.pfc {
            true => self.buffer.max((PORTS * port) as u64),
            false => self.buffer,
        }
    }

    /// Returns the time to send this number of payload bytes on a host's link, in us.
    fn sends_us(&self, bytes: f64) -> f64 {
        bytes / self.payload_per_s() * 1e6
    }

    /// Returns the length of a run, in us. In its first half all flows start and have time to converge: they
    /// decide once per round trip, or once per packet if that is longer.
    pub fn duration_us(&self) -> f64 {
        match self.messages {
            // Long enough for a scheme that is a hundred times too slow, because the cost depends on the
            // completion times.
            Some(Messages::Alone) => return 100.0 * (self.sends_us(1.6e7) + 2.0 * self.empty_us()),
            Some(Messages::AtOnce(bytes)) => {
                let batch = self.sends_us(bytes as f64 * f64::from(self.flows()));
                return 20.0 * (batch + 100.0 * self.empty_us());
            }
            Some(Messages::Beside(_)) | None => {}
        }
        let spreads = if self.late > 0.0 { 2.0 } else { 1.0 };
        let packets = f64::from(self.flows()) * self.wire_us();
        2.0 * spreads * SPREAD_US + (120.0 * self.empty_us()).max(self.packets * packets)
    }

    /// Returns the scenario in TOML. Its scheme is a placeholder.
    pub fn scenario(&self) -> String {
        let mut text = format!(
            "name = \"drawn\"\nduration = \"{}ns\"\n\n[topology.{}]\n",
            (1000.0 * self.duration_us()) as u64,
            match self.shape {
                Shape::Star(_) | Shape::AllToAll(..) => "star",
                Shape::LeafSpine(_) | Shape::Broadcast(_) => "leaf-spine",
            }
        );
        let mut put = |line: String| {
            let _ = writeln!(text, "{line}");
        };
        let rounds = match self.shape {
            Shape::Star(flows) | Shape::LeafSpine(flows) => flows.div_ceil(SENDERS),
            Shape::AllToAll(_, each) | Shape::Broadcast(each) => each,
        };
        let (hosts, senders, receivers): (u32, Vec<u32>, Vec<u32>) = match self.shape {
            Shape::Star(flows) => {
                let senders = flows.div_ceil(rounds);
                let hosts = match self.messages {
                    // Messages come from all hosts, not only from those with flows.
                    Some(Messages::Beside(_)) => SENDERS + 1,
                    _ => senders + 1,
                };
                (hosts, (1..=senders).collect(), vec![hosts])
            }
            // Racks have 16 hosts: hosts 32 to 63 are in two racks other than that of host 0.
            Shape::LeafSpine(flows) => (64, (32..32 + flows.div_ceil(rounds)).collect(), vec![0]),
            Shape::AllToAll(hosts, _) => (hosts, (1..=hosts).collect(), (1..=hosts).collect()),
            Shape::Broadcast(_) => (64, (0..64).collect(), (0..64).collect()),
        };
        match self.shape {
            Shape::Star(_) | Shape::AllToAll(..) => put(format!("hosts = {hosts}")),
            Shape::LeafSpine(_) => put("leaves = 4\nspines = 4\nhosts-per-leaf = 16".to_string()),
            Shape::Broadcast(_) => put(format!(
                "leaves = 4\nspines = 4\nhosts-per-leaf = 16\nspine-rate = \"{}Gbps\"",
                self.spine * self.gbps
            )),
        }
        put(format!(
            "rate = \"{}Gbps\"\ndelay = \"{}ns\"",
            self.gbps,
            (1000.0 * self.delay_us) as u64
        ));
        // At least one round of flows is there first, or nobody would have to make room for the late ones.
        let late = ((f64::from(rounds) * self.late) as u32).min(rounds - 1);
        let (starts, jitter_us, size) = match self.messages {
            Some(Messages::AtOnce(bytes)) => ([0.0, 0.0], 0.0, format!("{bytes}B")),
            _ => ([0.0, SPREAD_US], SPREAD_US, "1TB".to_string()),
        };
        if let Some(messages) = &self.messages {
            let listed = self.listed(messages, *receivers.first().unwrap_or(&0));
            if !listed.is_empty() {
                put(format!(
                    "\n[[workload]]\nlabel = \"messages\"\nflows = [{listed}]"
                ));
            }
        }
        let receivers = match self.messages {
            Some(Messages::Alone) => Vec::new(),
            _ => receivers,
        };
        for receiver in receivers {
            let senders: Vec<u32> = senders.iter().copied().filter(|&host| host != receiver).collect();
            for (label, rounds, start_us) in [("first", rounds - late, starts[0]), ("late", late, starts[1])]
            {
                if rounds > 0 {
                    put(format!(
                        "\n[[workload]]\nlabel = \"{label}-{receiver}\"\nincast = {{ senders = {senders:?}, receiver = \
                         {receiver}, rounds = {rounds}, period = \"0s\", start = \"{}ns\", size = \"{size}\" }}\n\
                         start-jitter = \"{jitter_us}us\"",
                        (1000.0 * start_us) as u64
                    ));
                }
            }
        }
        put(format!(
            "\n[network]\nmtu = \"{}B\"\nbuffer = \"{}B\"\nport-reserve = \"0B\"\nflow-control = \"{}\"\nrecovery = \
             \"irn\"\n\n[cc]\nscheme = \"none\"\n\n[record]\nlatency = true\naccounts = \"off\"",
            self.mtu,
            self.buffer_bytes(),
            if self.pfc { "pfc" } else { "none" }
        ));
        text
    }

    /// Returns workload entries for messages with explicit start times: to this receiver, or between pairs of
    /// hosts.
    fn listed(&self, messages: &Messages, receiver: u32) -> String {
        let mut text = String::new();
        let mut put = |(src, dst): (u32, u32), bytes: u64, start_us: f64| {
            let _ = write!(
                text,
                "\n  {{ src = {src}, dst = {dst}, size = \"{bytes}B\", start = \"{}ns\" }},",
                (1000.0 * start_us) as u64
            );
        };
        match *messages {
            Messages::Alone => {
                let pairs = (1..).step_by(2).map(|host| (host, host + 1));
                for (pair, bytes) in pairs.zip(ALONE) {
                    put(pair, bytes, 0.0);
                }
            }
            Messages::Beside(share) => {
                // Flows have converged by then; the last messages have a tenth of the run to complete.
                let (from, to) = (0.5 * self.duration_us(), 0.9 * self.duration_us());
                let mean = BESIDE.iter().sum::<u64>() as f64 / BESIDE.len() as f64;
                // Messages of the mean size at this distance take their share of the line.
                let apart = self.sends_us(mean) / share;
                let count = (((to - from) / apart) as usize).clamp(BESIDE.len(), 400);
                let senders: Vec<u32> = (1..=SENDERS).filter(|&host| host != receiver).collect();
                for index in 0..count {
                    // Golden ratios spread sizes, hosts and times without a periodic pattern.
                    let part = |ratio: f64| (index as f64 * ratio).fract();
                    let bytes = BESIDE[(part(0.618_034) * BESIDE.len() as f64) as usize];
                    let host = senders[(part(0.754_878) * senders.len() as f64) as usize];
                    let start = from + (index as f64 + part(0.569_84)) / count as f64 * (to - from);
                    put((host, receiver), bytes, start);
                }
            }
            Messages::AtOnce(_) => {}
        }
        text
    }

    /// Resolves the scenario with this seed.
    ///
    /// # Errors
    /// The network cannot be built.
    pub fn resolve(&self, seed: u64) -> Result<Resolved, Error> {
        let overrides = Overrides {
            seed: Some(seed),
            ..Overrides::default()
        };
        load_text("drawn", &self.scenario(), &overrides).map_err(|error| Error::Options(error.to_string()))
    }
}

/// Sizes of separate messages in bytes, one for each pair of hosts.
const ALONE: [u64; 8] = [
    1_000, 8_000, 64_000, 256_000, 1_000_000, 2_500_000, 6_000_000, 16_000_000,
];
/// Sizes of messages that share the line with long flows, in bytes.
const BESIDE: [u64; 5] = [1_000, 16_000, 64_000, 256_000, 1_000_000];

/// Draws a number whose logarithm is uniform in the range.
fn between(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low * libm::exp2(rng.next_f64() * libm::log2(high / low))
}

/// Lowest and highest number of flows to one host, for each network of a draw.
const FLOWS: [(f64, f64); 5] = [
    (2.0, 8.0),
    (8.0, 64.0),
    (64.0, 512.0),
    (512.0, 2048.0),
    (2048.0, 8192.0),
];

/// Draws the networks of a generation: few flows to many, all pairs of a few hosts, and separate, sharing and
/// simultaneous messages.
pub(crate) fn draw(rng: &mut Rng) -> Vec<Network> {
    let mut all = draw_endless(rng);
    let mut rates = [100.0, 200.0, 400.0]
        .into_iter()
        .cycle()
        .skip(rng.below(3) as usize);
    let mut one = |rng: &mut Rng, shape, messages| {
        let network = Network {
            gbps: rates.next().unwrap_or(400.0),
            delay_us: between(rng, 1.0, 4.0),
            mtu: if rng.below(5) < 2 { 4000 } else { 1000 },
            messages: Some(messages),
            ..Network::plain(shape)
        };
        // Buffers are drawn in bandwidth-delay products, with at least 30 packets.
        let product = 2.0 * network.empty_us() * network.gbps * 1000.0 / 8.0;
        let products = if rng.below(2) == 0 {
            2.5
        } else {
            between(rng, 1.5, 10.0)
        };
        Network {
            buffer: (products * product).max(30.0 * f64::from(network.mtu)) as u64,
            ..network
        }
    };
    all.push(one(rng, Shape::Star(2 * ALONE.len() as u32), Messages::Alone));
    let (flows, share) = (between(rng, 1.0, 4.0).round() as u32, between(rng, 0.05, 0.3));
    all.push(one(rng, Shape::Star(flows), Messages::Beside(share)));
    let (flows, share) = (between(rng, 8.0, 128.0).round() as u32, between(rng, 0.05, 0.2));
    all.push(one(rng, Shape::Star(flows), Messages::Beside(share)));
    let (flows, bytes) = (
        between(rng, 4.0, 32.0).round() as u32,
        between(rng, 16e3, 256e3) as u64,
    );
    all.push(one(rng, Shape::Star(flows), Messages::AtOnce(bytes)));
    let (flows, bytes) = (
        between(rng, 2.0, 32.0).round() as u32,
        between(rng, 256e3, 4e6) as u64,
    );
    all.push(one(rng, Shape::Star(flows), Messages::AtOnce(bytes)));
    all
}

/// Draws networks with long flows only.
pub(crate) fn draw_endless(rng: &mut Rng) -> Vec<Network> {
    let mut one = |index: usize| {
        let gbps = [100.0, 200.0, 400.0, 400.0][rng.below(4) as usize];
        let flows = FLOWS
            .get(index)
            .map(|&(low, high)| between(rng, low, high).round() as u32);
        let all = (rng.below(3) as u32 + 3, between(rng, 1.0, 64.0).round() as u32);
        let tree = rng.below(4) == 0;
        let shape = match flows {
            Some(flows) if tree => Shape::LeafSpine(flows),
            Some(flows) => Shape::Star(flows),
            None => Shape::AllToAll(all.0, all.1),
        };
        let mut network = Network {
            gbps,
            // A path through a spine has twice as many links.
            delay_us: between(rng, 1.0, 4.0) / if tree && flows.is_some() { 2.0 } else { 1.0 },
            mtu: if rng.below(5) < 2 { 4000 } else { 1000 },
            ..Network::plain(shape)
        };
        let product = 2.0 * network.empty_us() * network.gbps * 1000.0 / 8.0;
        let products = match rng.below(4) {
            0 => between(rng, 1.5, 4.0),
            1 => between(rng, 10.0, 100.0),
            _ => 2.5,
        };
        network.buffer = (products * product).max(30.0 * f64::from(network.mtu)) as u64;
        network.late = if rng.below(3) == 0 { 0.5 } else { 0.0 };
        network
    };
    (0..=FLOWS.len()).map(&mut one).collect()
}

/// Returns the fixed networks by which candidates are selected.
pub(crate) fn selection() -> Vec<Network> {
    let star = |flows| Network::plain(Shape::Star(flows));
    let deep = Network {
        gbps: 100.0,
        buffer: 10_000_000,
        ..star(2048)
    };
    let wide = Network {
        delay_us: 4.0,
        mtu: 4000,
        ..star(512)
    };
    let tree = Network::plain(Shape::LeafSpine(256));
    let pairs = Network::plain(Shape::AllToAll(4, 16));
    let messages = |flows, messages| Network {
        messages: Some(messages),
        ..star(flows)
    };
    vec![
        star(2),
        star(32),
        star(256),
        star(2048),
        star(8192),
        deep,
        wide,
        tree,
        pairs,
        messages(16, Messages::Alone),
        messages(1, Messages::Beside(0.1)),
        messages(32, Messages::Beside(0.1)),
        messages(32, Messages::AtOnce(64_000)),
        messages(16, Messages::AtOnce(1_000_000)),
    ]
}
