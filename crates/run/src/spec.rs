//! Description of a run: an explicit description of a network, its flows and what to record.
//!
//! Every value is given here: no defaults are looked up later, and a run is a pure function of a [`RunSpec`].

use std::num::NonZeroU32;

use paceline_congestion::Requirements;
use paceline_congestion::entropy::{Entropy, Selector};
use paceline_congestion::registry::{SchemeConfig, WindowMode};
use paceline_kernel::{BitRate, Bytes, Span, Time};
use serde::{Deserialize, Serialize};

mod arrivals;
mod balancing;
mod changes;
mod isolation;
mod lanes;
mod model;
mod nic;
mod nics;
mod node;
mod noise;
mod notices;
mod program;
mod quirks;
mod retry;
mod switch;

pub use arrivals::*;
pub use balancing::*;
pub use changes::*;
pub use isolation::*;
pub use lanes::*;
pub use model::*;
pub use nic::*;
pub use nics::*;
pub use node::*;
pub use noise::*;
pub use notices::*;
pub use program::*;
pub use quirks::*;
pub use retry::*;
pub use switch::*;

/// Kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Sends and receives packets; never forwards.
    Host,
    /// Forwards packets; never sends data of its own.
    Switch,
}

/// Cable with the same properties in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkSpec {
    /// Node at one end.
    pub a: NodeId,
    /// Node at the other end.
    pub b: NodeId,
    /// Rate of each direction.
    pub rate: BitRate,
    /// Propagation delay in each direction.
    pub delay: Span,
    /// Probability that the link loses a packet.
    pub error_rate: f64,
}

/// Host whose NIC pauses a class of its switch's port for ever: a broken NIC, or a receiver that never
/// empties its memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PauseStorm {
    /// Host whose NIC pauses.
    pub node: NodeId,
    /// Only link that it pauses, an index in [`RunSpec::links`]; `None` for all links of the host.
    #[serde(default)]
    pub link: Option<usize>,
    /// Priority class that is paused.
    pub class: u8,
    /// Start of the storm.
    pub at: Time,
    /// End of the storm; `None` if it never ends.
    pub until: Option<Time>,
}

/// Static next hop that replaces those of shortest paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StaticRoute {
    /// Switch that forwards, or host that sends.
    pub node: NodeId,
    /// Destination host of the packets.
    pub to: NodeId,
    /// Neighbour to which they go; without a working link to it they are lost.
    pub via: NodeId,
}

/// Sizes of packets on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PacketFormat {
    /// Largest payload of a data packet.
    pub mtu: Bytes,
    /// Headers of a data packet, without those of a scheme.
    pub data_header: Bytes,
    /// Headers of an ACK or NACK, without those of a scheme.
    pub ack_header: Bytes,
    /// Smallest ACK or NACK.
    pub ack_min: Bytes,
    /// Size of a PFC frame.
    pub pfc_frame: Bytes,
    /// Size of a congestion notification packet.
    pub cnp: Bytes,
    /// Size of HPCC's telemetry, in data packets and their ACKs.
    pub int_header: Bytes,
    /// Size of HPCC-PINT's digest.
    pub pint_header: Bytes,
    /// Size of a time stamp.
    pub timestamp_header: Bytes,
    /// True if headers of schemes count; otherwise the plain headers hold them.
    pub scheme_headers: bool,
    /// Bytes that a link adds to every packet: they take time there, and count nowhere else.
    pub framing: Bytes,
}

/// RoCEv2 with a payload of 1000 bytes.
impl Default for PacketFormat {
    fn default() -> Self {
        Self {
            mtu: Bytes::new(1000),
            data_header: Bytes::new(48),
            ack_header: Bytes::new(46),
            ack_min: Bytes::new(60),
            pfc_frame: Bytes::new(64),
            cnp: Bytes::new(64),
            int_header: Bytes::new(42),
            pint_header: Bytes::new(2),
            timestamp_header: Bytes::new(8),
            scheme_headers: true,
            framing: Bytes::ZERO,
        }
    }
}

impl PacketFormat {
    /// Returns the bytes that a scheme's requirements add to the headers of its data packets and ACKs.
    fn added_header(&self, needs: &Requirements) -> u64 {
        if !self.scheme_headers {
            return 0;
        }
        let part = |needed: bool, size: Bytes| if needed { size.get() } else { 0 };
        part(needs.int, self.int_header)
            + part(needs.pint, self.pint_header)
            + part(needs.timestamp, self.timestamp_header)
            + u64::from(needs.header)
    }
    /// Returns all header bytes of the data packets of a scheme with these requirements.
    #[inline]
    pub fn data_headers(&self, needs: &Requirements) -> u16 {
        (self.data_header.get() + self.added_header(needs)) as u16
    }
    /// Returns the size of a full data packet with all headers that can ever count.
    pub fn largest(&self) -> Bytes {
        let headers = [
            self.data_header,
            self.int_header,
            self.timestamp_header,
            self.pint_header,
        ];
        let add = |sum: u64, header: Bytes| sum.saturating_add(header.get());
        Bytes::new(headers.into_iter().fold(self.mtu.get(), add))
    }
    /// Returns the size of the longest data packet of schemes with these requirements: a full one with all
    /// headers, and the `first` extra bytes of a message's first packet.
    pub fn longest(&self, needs: impl Iterator<Item = Requirements>, first: Bytes) -> Bytes {
        let headers = needs.map(|needs| self.data_headers(&needs)).max();
        self.mtu + Bytes::new(u64::from(headers.unwrap_or(0))) + first
    }
    /// Returns the size of a data packet with `headers` bytes of headers that a switch returns without its
    /// payload.
    #[inline]
    pub fn turned_back(&self, headers: u16) -> u16 {
        headers.max(self.ack_min.get() as u16)
    }
    /// Returns the size of a scheme's ACKs on the wire.
    #[inline]
    pub fn ack_wire(&self, needs: &Requirements) -> u16 {
        (self.ack_header.get() + self.added_header(needs)).max(self.ack_min.get()) as u16
    }
}

/// Order of simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TieOrder {
    /// By the entity that scheduled them: the same for any number of threads.
    Structural,
    /// By the order in which they were scheduled, as in ns-3.
    Insertion,
    /// As `Structural`, but arrivals in an order drawn from the run's seed, different at each instant. For
    /// networks with losses, so that none of equal senders always goes first.
    Drawn,
    /// At random: shows whether a result depends on ties.
    Shuffled(u64),
}

impl TieOrder {
    /// Returns true if the order depends on instants and entities alone, so that a partitioned run has the
    /// same.
    #[inline]
    pub fn is_by_entity(self) -> bool {
        matches!(self, Self::Structural | Self::Drawn)
    }
}

/// Scheme of a run and its window mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SchemeSpec {
    /// Scheme and its parameters.
    pub config: SchemeConfig,
    /// Limit on bytes in flight.
    pub window: WindowMode,
}

impl From<SchemeConfig> for SchemeSpec {
    /// Uses the scheme's default window mode.
    fn from(config: SchemeConfig) -> Self {
        Self {
            window: config.default_window(),
            config,
        }
    }
}

/// Flow: one message from one host to another, on its own queue pair or on a persistent connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlowSpec {
    /// Node number of the sending host.
    pub src: NodeId,
    /// Node number of the receiving host.
    pub dst: NodeId,
    /// Payload bytes to deliver.
    pub size: Bytes,
    /// Start time; with [`RunSpec::dependencies`] the earliest one.
    pub start: Time,
    /// Priority class, 1 to 7.
    pub class: u8,
    /// Source port: spreads flows over paths.
    pub sport: u16,
    /// Destination port: spreads flows over paths; in ns-3 HPCC inputs also a label.
    pub dport: u16,
    /// Index of its label in [`RunSpec::labels`].
    pub label: u16,
    /// Index of its scheme in [`RunSpec::schemes`].
    pub scheme: u16,
    /// Persistent connection that carries all flows of this number, one after another; their hosts, ports,
    /// classes and schemes are equal. `None` for a flow with its own queue pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<NonZeroU32>,
    /// NICs that it uses, if it names them.
    #[serde(default, skip_serializing_if = "Nics::are_any")]
    pub nics: Nics,
}

/// Event of a flow for which another waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Awaited {
    /// The flow's sender starts.
    Started,
    /// The flow's last byte arrives in order at the receiver: steps of collectives wait for this.
    Received,
    /// The flow's last acknowledgement arrives at the sender: closed loops wait for this.
    Acknowledged,
}

/// Dependency of a flow on another. A flow starts once all of its dependencies are fulfilled and its own
/// start time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Dependency {
    /// Waiting flow: index in [`RunSpec::flows`].
    pub flow: u32,
    /// Flow for which it waits.
    pub after: u32,
    /// Event for which it waits.
    pub awaited: Awaited,
    /// Additional delay after the event, such as for computation.
    pub delay: Span,
}

/// Settings of recording. Disabled records cost nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RecordSpec {
    /// Period of samples of every switch port's queue: statistics, histograms, the busiest ports' series.
    pub queue_every: Option<Span>,
    /// First and last instant of queue sampling.
    pub queue_window: (Time, Time),
    /// Period at whose multiples the queue histograms are copied (ns-3's dump).
    pub queue_dump_every: Option<Span>,
    /// Width of the bins that count bytes acknowledged per flow.
    pub rate_every: Option<Span>,
    /// Width of the bins of every port and every switch's buffer; it doubles whenever the bins are full: see
    /// [`crate::outcome::PortSeries`].
    pub port_bin: Option<Span>,
    /// Period of samples of the states that detectors report for switch ports.
    pub state_every: Option<Span>,
    /// Period of samples of the credits of every lane of every port, in a credit-based network.
    pub credit_every: Option<Span>,
    /// Period of samples of rate, window and round-trip time of the first flows, taken when they have
    /// changed.
    pub flow_every: Option<Span>,
    /// Number of flows sampled under `flow_every`.
    pub flows_max: u32,
    /// True to keep no list of PFC frames, which grows with their number; they are counted anyway.
    pub omit_pfc: bool,
    /// Nodes whose packets are traced.
    pub trace_nodes: Vec<NodeId>,
    /// Single ports at which packets are traced: a node, and its neighbour at the other end of the link.
    pub trace_ports: Vec<(NodeId, NodeId)>,
    /// First and last instant of tracing; `None` for the whole run.
    pub trace_window: Option<(Time, Time)>,
    /// True to keep every round-trip time sample of the first kind (one per flow and round trip).
    pub rtt_samples: bool,
    /// True to record the distribution of data packets' one-way latency: see [`crate::Outcome::latency`].
    pub latency: bool,
    /// True to keep the results as of half of the run's time: see [`crate::Outcome::first_half`].
    #[serde(default)]
    pub halves: bool,
    /// Flows whose time is broken down: see [`crate::outcome::account`].
    pub accounts: Accounted,
    /// Indices of flows to probe; their time is broken down too. See [`crate::outcome::flow_probe`].
    pub flow_probes: Vec<u32>,
    /// Parties between which waits in queues are recorded: see [`crate::outcome::blame`].
    #[serde(default)]
    pub blame: Blame,
    /// True to record each lost packet.
    #[serde(default)]
    pub drops: bool,
}

impl RecordSpec {
    /// Returns true if a recorder needs single events at the engine's ports.
    pub fn has_probes(&self) -> bool {
        self.blame != Blame::Off || self.drops
    }
}

/// Parties between which waits in queues are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// None: waits are not recorded.
    #[default]
    Off,
    /// Labels that scenarios give to flows.
    Labels,
    /// Source hosts of flows.
    Hosts,
}

/// Flows whose time is broken down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accounted {
    /// No flow at all.
    #[default]
    None,
    /// All flows of the run.
    All,
    /// The flows with these indices.
    Flows(Vec<u32>),
}

/// Complete description of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunSpec {
    /// Kinds of nodes, by [`NodeId`].
    pub nodes: Vec<NodeKind>,
    /// Links between nodes, in the order that numbers interfaces.
    pub links: Vec<LinkSpec>,
    /// Links that fail during the run.
    pub failures: Vec<LinkFailure>,
    /// Delay from a link's failure or recovery to the recomputation of routes.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub reconvergence: Span,
    /// Other changes of links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_changes: Vec<LinkChange>,
    /// Errors of links, in addition to [`LinkSpec::error_rate`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise: Vec<Noise>,
    /// Links with link-level retry: index of the link, and its settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<(usize, LinkRetry)>,
    /// Temporary slowdowns of hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_changes: Vec<HostChange>,
    /// NICs that pause for ever.
    pub storms: Vec<PauseStorm>,
    /// Static next hops, which replace those of shortest paths.
    pub routes: Vec<StaticRoute>,
    /// Choice of switches among equal next hops.
    pub load_balancing: LoadBalancing,
    /// Hash that ECMP uses.
    pub ecmp_hash: EcmpHash,
    /// Packet-by-packet choice of paths by senders, with [`LoadBalancing::Ecmp`] in switches; `None` if a
    /// flow has one path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<Entropy>,
    /// Properties of all switches.
    pub switch: SwitchSpec,
    /// Properties of all hosts.
    pub nic: NicSpec,
    /// Sizes of packets on the wire.
    pub packet: PacketFormat,
    /// Units of the telemetry header with [`Quirks::int_wire_precision`].
    pub int_multi: u32,
    /// Schemes to which flows refer.
    pub schemes: Vec<SchemeSpec>,
    /// Labels to which flows refer.
    pub labels: Vec<String>,
    /// Labels, by index, whose flows keep to one path, chosen by hash, under any load balancing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_path: Vec<u16>,
    /// Flows, in order of start.
    pub flows: Vec<FlowSpec>,
    /// Stream of flows: then `flows` is empty, and there are no dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Programs that start flows during the run, numbered after all others.
    #[serde(default, skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
    /// Dependencies between flows, which must be free of cycles.
    pub dependencies: Vec<Dependency>,
    /// Latest end of the run.
    pub stop: Time,
    /// Seed of every random stream.
    pub seed: u64,
    /// Deviations from realistic behaviour.
    pub quirks: Quirks,
    /// Network of another simulator that replaces the switches and hosts.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Settings of links and switches with [`FlowControl::Credits`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Box<LaneSpec>>,
    /// Order of simultaneous events.
    pub ties: TieOrder,
    /// Settings of recording; everything off by default.
    pub record: RecordSpec,
    /// True to check every invariant during the run.
    pub check: bool,
}

/// A network without nodes, links, schemes and flows: switches with PFC and without marks, exact times, nothing
/// recorded.
impl Default for RunSpec {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            links: Vec::new(),
            failures: Vec::new(),
            reconvergence: Span::ZERO,
            link_changes: Vec::new(),
            noise: Vec::new(),
            retries: Vec::new(),
            host_changes: Vec::new(),
            storms: Vec::new(),
            routes: Vec::new(),
            load_balancing: LoadBalancing::default(),
            ecmp_hash: EcmpHash::default(),
            entropy: None,
            switch: SwitchSpec::default(),
            nic: NicSpec::default(),
            packet: PacketFormat::default(),
            int_multi: 1,
            schemes: Vec::new(),
            labels: Vec::new(),
            one_path: Vec::new(),
            flows: Vec::new(),
            arrivals: None,
            programs: Vec::new(),
            dependencies: Vec::new(),
            stop: Time::from_ns(4_000_000_000),
            seed: 1,
            quirks: Quirks::default(),
            model: None,
            lanes: None,
            ties: TieOrder::Structural,
            record: RecordSpec::default(),
            check: false,
        }
    }
}

impl RunSpec {
    /// Returns the number of flows; for programs an estimate.
    pub fn flow_count(&self) -> usize {
        let most = |program: &Program| program.flows as usize;
        self.described_flows() + self.programs.iter().map(most).sum::<usize>()
    }

    /// Returns an upper bound of flow ids; the number of a program's flows is known only after the run.
    pub fn flow_ids(&self) -> usize {
        match self.programs.is_empty() {
            true => self.flow_count(),
            false => (u32::MAX >> 6) as usize,
        }
    }

    /// Returns true if all packets of a flow take one path while no link fails.
    pub fn has_one_way_per_flow(&self) -> bool {
        self.load_balancing == LoadBalancing::Ecmp && self.entropy.is_none()
    }

    /// Returns true if NICs choose a link for each packet: they have several, or senders keep a state for each path.
    pub fn chooses_links(&self) -> bool {
        let keeps_states = |entropy: &Entropy| entropy.selector == Selector::Mrc;
        self.nic.planes > 1 || self.entropy.as_ref().is_some_and(keeps_states)
    }

    /// Returns true if consecutive packets of a flow may take different paths.
    pub fn spreads_packets(&self) -> bool {
        self.load_balancing.is_per_packet() || self.entropy.is_some()
    }

    /// Returns true if programs start all flows.
    pub fn is_of_programs(&self) -> bool {
        !self.programs.is_empty() && self.described_flows() == 0
    }

    /// Returns the number of flows in the list or the stream.
    pub fn described_flows(&self) -> usize {
        let streamed = self
            .arrivals
            .as_ref()
            .map_or(0, |arrivals| arrivals.flows as usize);
        self.flows.len() + streamed
    }

    /// Returns the start of the first flow or program.
    pub fn first_start(&self) -> Option<Time> {
        let starts = self.programs.iter().map(|program| program.start);
        starts.chain(self.first_described_start()).min()
    }

    /// Returns the start of the first flow in the list or the stream.
    pub fn first_described_start(&self) -> Option<Time> {
        let streamed = self.streamed().map(|arrivals| arrivals.first);
        self.flows.first().map(|flow| flow.start).or(streamed)
    }

    /// Returns the start of the last flow; for programs, of the program.
    pub fn last_start(&self) -> Option<Time> {
        let streamed = self.streamed().map(|arrivals| arrivals.last);
        let described = self.flows.last().map(|flow| flow.start).or(streamed);
        let starts = self.programs.iter().map(|program| program.start);
        starts.chain(described).max()
    }

    /// Returns the stream of flows, unless it is empty.
    fn streamed(&self) -> Option<&Arrivals> {
        self.arrivals.as_ref().filter(|arrivals| arrivals.flows > 0)
    }

    /// Returns the bytes of the extra header in each message's first packet: see [`LaneSpec::first_header`].
    pub fn first_header(&self) -> u16 {
        let lanes = self.lanes.as_ref();
        lanes.map_or(0, |lanes| lanes.first_header.get() as u16)
    }

    /// Returns true if the network uses credits rather than pauses.
    pub fn is_under_credits(&self) -> bool {
        self.lanes.is_some() || self.model.as_ref().is_some_and(|model| model.credit_lanes() > 0)
    }

    /// Iterates over the priority classes of flows.
    pub fn flow_classes(&self) -> impl Iterator<Item = u8> {
        let sources = self.arrivals.iter().flat_map(|arrivals| &arrivals.sources);
        let streamed = sources.map(|source| source.class);
        let of_programs = self.programs.iter().map(|program| program.class);
        let described = self.flows.iter().map(|flow| flow.class).chain(streamed);
        described.chain(of_programs)
    }
}
