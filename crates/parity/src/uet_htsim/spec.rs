//! What the simulator is told: its options, connections and topology.

use super::balance::Algorithm;

/// A run, completely.
#[derive(Clone, Debug, PartialEq)]
pub struct UetSpec {
    /// Its command line.
    pub options: Options,
    /// Its connections.
    pub matrix: Matrix,
    /// Its network.
    pub tree: Tree,
}

/// What a sender does with its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderControl {
    /// Network-signal congestion control.
    Nscc,
    /// A window that marks shrink.
    Dctcp,
    /// A window that only time-outs shrink.
    Constant,
}

/// How switches choose among equal ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// By a hash of flow, entropy value and the switch's salt.
    EcmpHost,
    /// Data in turn, in an order that is permuted each time round.
    EcmpRoundRobin,
    /// Data to a random one of the shortest queues.
    EcmpAdaptive,
    /// By the hash; half of the packets that would go to a longest queue go to a shortest one.
    EcmpHostAdaptive,
}

/// Names of a type's values.
macro_rules! named {
    ($type:ident, $count:literal, $($name:literal = $value:ident),+) => {
        impl $type {
            /// The values and what the command line calls them.
            pub const NAMES: [(&'static str, Self); $count] = [$(($name, Self::$value)),+];

            /// What the command line calls it.
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

/// The command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Rate of NICs, Mb/s: the rate in all formulas.
    pub linkspeed: u64,
    /// Bytes of a data packet, header included.
    pub mtu: u16,
    /// When the run ends, us; 0: when nothing is left to happen.
    pub end: u64,
    /// Seed of the random numbers.
    pub seed: u32,
    /// Whether senders have a congestion control.
    pub sender_cc: bool,
    /// Whether receivers grant credit.
    pub receiver_cc: bool,
    /// Whether an option switched the sender's control on.
    pub sender_chosen: bool,
    /// The senders' control.
    pub sender_algorithm: SenderControl,
    /// Chooses entropy values.
    pub balancing: Algorithm,
    /// Entropy values.
    pub paths: u32,
    /// Initial window, packets; 0: one and a half bandwidth-delay products.
    pub cwnd: u32,
    /// Packets of a queue.
    pub queue: Option<u32>,
    /// Bandwidth-delay products of a queue.
    pub queue_factor: Option<u32>,
    /// Thresholds of marking, packets.
    pub ecn: Option<(u64, u64)>,
    /// Whether full queues trim packets.
    pub trims: bool,
    /// Bytes of a trimmed packet.
    pub trim_size: u16,
    /// A receiver acknowledges after this many bytes.
    pub sack_threshold: u32,
    /// Target delay of NSCC, us.
    pub target_delay: Option<f64>,
    /// QuickAdapt acts below the largest window shifted by so much.
    pub quick_gate: u32,
    /// Whether each flow starts with the round trip of its own path.
    pub accurate_base: bool,
    /// Whether NACKs may lower the base round-trip time.
    pub base_on_nack: bool,
    /// Whether senders find losses by gaps and probes.
    pub sleek: bool,
    /// Links at a quarter of their rate.
    pub failed: u32,
    /// Whether pacers follow congestion inside the network.
    pub oversubscribed: bool,
    /// Whether they do not, even if the topology is oversubscribed.
    pub never_oversubscribed: bool,
    /// Additive increase, multiplicative decrease and averaging of the control of oversubscribed networks.
    pub additive: f64,
    /// See `additive`.
    pub multiplicative: f64,
    /// See `additive`.
    pub averaging: f64,
    /// How switches choose ports.
    pub strategy: Strategy,
    /// Several messages per connection.
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

/// When a connection starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this time, us.
    At(u64),
    /// When this trigger, by its place in [`Matrix::triggers`], fires.
    Trigger(u32),
}

/// A line of the connection matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Both directions' flow id.
    pub id: Option<u32>,
    /// When it starts.
    pub start: Start,
    /// Payload, bytes.
    pub size: u32,
    /// The trigger that its end activates.
    pub then: Option<u32>,
    /// A further message of the connection that has this id.
    pub is_message: bool,
}

/// What activating a trigger does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerKind {
    /// All targets start, once.
    OneShot,
    /// The next target starts.
    MultiShot,
    /// After this many activations all targets start.
    Barrier(u32),
}

/// A connection matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// Hosts of the network.
    pub hosts: u32,
    /// In the order of the file.
    pub connections: Vec<Connection>,
    /// By their ids.
    pub triggers: Vec<(u32, TriggerKind)>,
}

/// A fat tree of two or three tiers of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// All hosts.
    pub hosts: u32,
    /// Tiers of switches: two or three.
    pub tiers: u32,
    /// Hosts of a top-of-rack switch.
    pub hosts_per_tor: u32,
    /// Top-of-rack switches of a pod.
    pub tors_per_pod: u32,
    /// Pods; one in a tree of two tiers.
    pub pods: u32,
    /// Aggregation switches of a pod.
    pub aggs_per_pod: u32,
    /// Core switches.
    pub cores: u32,
    /// Cores that an aggregation switch reaches.
    pub cores_per_agg: u32,
    /// Parallel links below aggregation and core switches.
    pub bundles: [u32; 2],
    /// By tier: rate of the links below, bit/s.
    pub rates: [u64; 3],
    /// By tier: latency of the links below, ps.
    pub links: [u64; 3],
    /// By tier: latency of the switches, ps.
    pub switches: [u64; 3],
    /// Rate of the links below over that of the links above.
    pub oversubscription: u32,
    /// Latency of the longest path, ps.
    pub diameter: u64,
    /// Whether a file describes it.
    pub is_from_file: bool,
}

impl Tree {
    /// The tree for a number of hosts where no file gives one; latencies in ps. The error is the number of hosts of the
    /// next larger tree.
    pub fn plain(hosts: u32, tiers: u32, rate: u64, (link, switch): (u64, u64)) -> Result<Self, u32> {
        let size = |k: u64| match tiers {
            3 => k * k * k / 4,
            _ => k * k / 2,
        };
        let k = (1..).find(|k| size(*k) >= u64::from(hosts)).unwrap_or(1);
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

    /// Top-of-rack switches.
    pub fn tors(&self) -> u32 {
        self.pods * self.tors_per_pod
    }

    /// Aggregation switches; spines in a tree of two tiers.
    pub fn aggs(&self) -> u32 {
        self.pods * self.aggs_per_pod
    }

    /// Latency between two hosts, ps.
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
