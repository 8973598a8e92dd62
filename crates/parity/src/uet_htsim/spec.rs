//! The simulator's input: options, connections and topology.

use super::balance::Algorithm;

/// A complete description of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct UetSpec {
    /// Options of its command line.
    pub options: Options,
    /// Connections, messages and triggers.
    pub matrix: Matrix,
    /// Switches, links and their latencies.
    pub tree: Tree,
}

/// Congestion control algorithms of senders (`-sender_cc_algo`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderControl {
    /// Network-signal congestion control, by ECN and delay.
    Nscc,
    /// A window that shrinks with each marked ACK.
    Dctcp,
    /// A window that shrinks only after timeouts.
    Constant,
}

/// Selection among equal-cost ports at switches (`-strat`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Hash of flow, entropy value and the switch's salt.
    EcmpHost,
    /// Round robin for data, in an order permuted each round.
    EcmpRoundRobin,
    /// Random choice among the emptiest queues, for data.
    EcmpAdaptive,
    /// Hash. Half of the packets hashed to a fullest queue go to an emptiest one instead.
    EcmpHostAdaptive,
}

/// Implements the names of an enum's values on the command line.
macro_rules! named {
    ($type:ident, $count:literal, $($name:literal = $value:ident),+) => {
        impl $type {
            /// Names on the command line, with their values.
            pub const NAMES: [(&'static str, Self); $count] = [$(($name, Self::$value)),+];

            /// Returns the name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $name),+ }
            }
        }
    };
}

named!(
    SenderControl,
    3,
    "nscc" = Nscc,
    "dctcp" = Dctcp,
    "constant" = Constant
);
named!(
    Strategy,
    4,
    "ecmp_host" = EcmpHost,
    "ecmp_rr" = EcmpRoundRobin,
    "ecmp_ar" = EcmpAdaptive,
    "ecmp_host_ar" = EcmpHostAdaptive
);
named!(
    Algorithm,
    5,
    "bitmap" = Bitmap,
    "reps" = Reps,
    "reps_legacy" = RepsLegacy,
    "oblivious" = Oblivious,
    "mixed" = Mixed
);

/// Options of the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Rate of NICs, Mb/s. All formulas use it.
    pub linkspeed: u64,
    /// Size of a data packet with its header, bytes.
    pub mtu: u16,
    /// End of the run, us; 0 runs until no events are left.
    pub end: u64,
    /// Seed of the one random stream.
    pub seed: u32,
    /// True if senders have congestion control.
    pub sender_cc: bool,
    /// True if receivers grant credit (RCCC).
    pub receiver_cc: bool,
    /// True if an option explicitly enabled congestion control at senders.
    pub sender_chosen: bool,
    /// Congestion control algorithm of senders.
    pub sender_algorithm: SenderControl,
    /// Selector of entropy values.
    pub balancing: Algorithm,
    /// Number of entropy values, a power of two.
    pub paths: u32,
    /// Initial window, packets; 0 means 1.5 bandwidth-delay products.
    pub cwnd: u32,
    /// Capacity of a switch queue, packets. Overrides `queue_factor`.
    pub queue: Option<u32>,
    /// Capacity of a switch queue, bandwidth-delay products.
    pub queue_factor: Option<u32>,
    /// Lower and upper ECN threshold, packets.
    pub ecn: Option<(u64, u64)>,
    /// True if full queues trim packets; otherwise they drop them.
    pub trims: bool,
    /// Size of a trimmed packet, bytes.
    pub trim_size: u16,
    /// Bytes after which a receiver sends an ACK.
    pub sack_threshold: u32,
    /// Target delay of NSCC, us; derived from the round trip if `None`.
    pub target_delay: Option<f64>,
    /// Right shift of the largest window: QuickAdapt acts below the result.
    pub quick_gate: u32,
    /// True if each flow's base round trip starts with that of its own path.
    pub accurate_base: bool,
    /// True if NACKs may lower the base round-trip time.
    pub base_on_nack: bool,
    /// True if senders detect losses by gaps and probes (SLEEK).
    pub sleek: bool,
    /// Number of links at a quarter of their rate.
    pub failed: u32,
    /// True if pacers adapt to congestion inside the network.
    pub oversubscribed: bool,
    /// True if pacers do not adapt even in an oversubscribed topology.
    pub never_oversubscribed: bool,
    /// Additive increase of adaptive pacers, as a share of the link rate.
    pub additive: f64,
    /// Multiplicative decrease of adaptive pacers.
    pub multiplicative: f64,
    /// Weight of a new sample of the marked share.
    pub averaging: f64,
    /// Selection of ports at switches.
    pub strategy: Strategy,
    /// True if a connection may have several messages.
    pub messages: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            linkspeed: 100_000,
            mtu: 4150,
            end: 1000,
            seed: 13,
            sender_cc: true,
            receiver_cc: false,
            sender_chosen: false,
            sender_algorithm: SenderControl::Nscc,
            balancing: Algorithm::Mixed,
            paths: 64,
            cwnd: 0,
            queue: None,
            queue_factor: None,
            ecn: None,
            trims: true,
            trim_size: 64,
            sack_threshold: 16_384,
            target_delay: None,
            quick_gate: 3,
            accurate_base: false,
            base_on_nack: true,
            sleek: false,
            failed: 0,
            oversubscribed: false,
            never_oversubscribed: false,
            additive: 0.01,
            multiplicative: 0.5,
            averaging: 0.5,
            strategy: Strategy::EcmpHost,
            messages: false,
        }
    }
}

/// Start condition of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Absolute start time, us.
    At(u64),
    /// Index of the trigger in [`Matrix::triggers`].
    Trigger(u32),
}

/// One line of the connection matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Index of the sending host.
    pub src: u32,
    /// Index of the receiving host.
    pub dst: u32,
    /// Flow id of both directions; generated if `None`.
    pub id: Option<u32>,
    /// Start time or trigger.
    pub start: Start,
    /// Payload of the flow or message, bytes.
    pub size: u32,
    /// Index of the trigger that the flow's end activates.
    pub then: Option<u32>,
    /// True for a further message of the connection with this id.
    pub is_message: bool,
}

/// Effect of activating a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// Starts all targets. A second activation is an error.
    OneShot,
    /// Starts the next target.
    MultiShot,
    /// Starts all targets after this many activations.
    Barrier(u32),
}

/// A parsed connection matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// Number of hosts in the network.
    pub hosts: u32,
    /// Connections and further messages, in the order of the file.
    pub connections: Vec<Connection>,
    /// Triggers with their ids, in the order of the file.
    pub triggers: Vec<(u32, TriggerKind)>,
}

/// A fat tree of two or three tiers of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// Number of hosts in all pods.
    pub hosts: u32,
    /// Number of switch tiers: two or three.
    pub tiers: u32,
    /// Hosts per top-of-rack switch.
    pub hosts_per_tor: u32,
    /// Top-of-rack switches per pod.
    pub tors_per_pod: u32,
    /// Number of pods; one in a tree of two tiers.
    pub pods: u32,
    /// Aggregation switches per pod.
    pub aggs_per_pod: u32,
    /// Core switches; 0 in a tree of two tiers.
    pub cores: u32,
    /// Core switches that an aggregation switch connects to.
    pub cores_per_agg: u32,
    /// Parallel links below an aggregation switch, and below a core switch.
    pub bundles: [u32; 2],
    /// Rates of the links below each tier, bit/s.
    pub rates: [u64; 3],
    /// Latencies of the links below each tier, ps.
    pub links: [u64; 3],
    /// Latencies of each tier's switches, ps.
    pub switches: [u64; 3],
    /// Ratio of the capacity below the tiers to the capacity above.
    pub oversubscription: u32,
    /// Latency of the longest path, ps.
    pub diameter: u64,
    /// True if read from a topology file.
    pub is_from_file: bool,
}

impl Tree {
    /// Returns the simulator's default tree for a number of hosts; latencies in ps. Fails with the number of hosts of
    /// the next larger tree.
    pub fn plain(hosts: u32, tiers: u32, rate: u64, link: u64, switch: u64) -> Result<Self, u32> {
        let size = |k: u64| match tiers {
            3 => k * k * k / 4,
            _ => k * k / 2,
        };
        let k = (1..).find(|k| size(*k) >= u64::from(hosts)).unwrap_or(1);
        // An odd number of ports cannot be split evenly between up and down.
        if size(k) != u64::from(hosts) || k % 2 == 1 {
            return Err(size(k + k % 2) as u32);
        }
        let k = k as u32;
        let (pods, tors_per_pod, cores) = match tiers {
            3 => (k, k / 2, k * k / 4),
            _ => (1, k, 0),
        };
        Ok(Self {
            hosts,
            tiers,
            hosts_per_tor: k / 2,
            tors_per_pod,
            pods,
            aggs_per_pod: k / 2,
            cores,
            cores_per_agg: if tiers == 3 { k / 2 } else { 0 },
            bundles: [1, 1],
            rates: [rate; 3],
            links: [link; 3],
            switches: [switch; 3],
            oversubscription: 1,
            diameter: link * 2 * u64::from(tiers) + switch * (2 * u64::from(tiers) - 1),
            is_from_file: false,
        })
    }

    /// Returns the number of top-of-rack switches.
    pub fn tors(&self) -> u32 {
        self.pods * self.tors_per_pod
    }

    /// Returns the number of aggregation switches, which are the spines of a tree of two tiers.
    pub fn aggs(&self) -> u32 {
        self.pods * self.aggs_per_pod
    }

    /// Returns the latency between two hosts, ps. In the default tree, paths below the core count as the simulator
    /// does.
    pub fn latency(&self, a: u32, b: u32) -> u64 {
        let (tor_a, tor_b) = (a / self.hosts_per_tor, b / self.hosts_per_tor);
        let same_pod = self.tiers == 3 && tor_a / self.tors_per_pod == tor_b / self.tors_per_pod;
        let ([link, middle, _], [tor, agg, _]) = (self.links, self.switches);
        match (tor_a == tor_b, same_pod) {
            (true, _) if !self.is_from_file => 2 * (link + tor),
            (false, true) if !self.is_from_file => 4 * (link + tor),
            (true, _) => 2 * link + tor,
            (false, true) => 2 * link + 2 * tor + 2 * middle + agg,
            (false, false) => self.diameter,
        }
    }
}
