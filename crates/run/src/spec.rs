//! What is built: a plain, fully explicit description of a network, its flows and what to record.
//!
//! Everything has its value here: no defaults are looked up later, and a run is a pure function
//! of a [`RunSpec`].

use std::num::NonZeroU32;

use paceline_congestion::Requirements;
use paceline_congestion::entropy::Entropy;
use paceline_congestion::registry::{SchemeConfig, WindowMode};
use paceline_kernel::{BitRate, Bytes, Span, Time};
use serde::{Deserialize, Serialize};

mod arrivals;
mod balancing;
mod changes;
mod lanes;
mod model;
mod nic;
mod node;
mod program;
mod quirks;
mod switch;

pub use arrivals::*;
pub use balancing::*;
pub use changes::*;
pub use lanes::*;
pub use model::*;
pub use nic::*;
pub use node::*;
pub use program::*;
pub use quirks::*;
pub use switch::*;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Sends and receives; never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// A cable: both directions have the same properties.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkSpec {
    /// One end.
    pub a: NodeId,
    /// The other end.
    pub b: NodeId,
    /// Rate of each direction.
    pub rate: BitRate,
    /// Propagation delay.
    pub delay: Span,
    /// Probability that a packet is lost on the way.
    pub error_rate: f64,
}

/// A host whose NIC pauses a class of its switch's port for ever: a broken NIC, or a receiver that
/// does not take its packets from memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PauseStorm {
    /// The host.
    pub node: NodeId,
    /// The only link that it pauses, an index in [`RunSpec::links`]; `None`: all links of the host.
    #[serde(default)]
    pub link: Option<usize>,
    /// The class.
    pub class: u8,
    /// When it begins.
    pub at: Time,
    /// When it ends, if ever.
    pub until: Option<Time>,
}

/// A next hop that is given, instead of those of shortest paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StaticRoute {
    /// The switch, or the host whose first hop it is.
    pub node: NodeId,
    /// The host that packets are for.
    pub to: NodeId,
    /// The neighbour that they go to; without a live link to it they are lost.
    pub via: NodeId,
}

/// Sizes of packets on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PacketFormat {
    /// Largest payload of a data packet.
    pub mtu: Bytes,
    /// Headers of a data packet, without what a scheme adds.
    pub data_header: Bytes,
    /// Headers of an ACK or NACK, without what a scheme adds.
    pub ack_header: Bytes,
    /// Smallest ACK or NACK.
    pub ack_min: Bytes,
    /// A PFC frame.
    pub pfc_frame: Bytes,
    /// A congestion notification packet.
    pub cnp: Bytes,
    /// HPCC's telemetry, in data packets and their ACKs.
    pub int_header: Bytes,
    /// HPCC-PINT's digest.
    pub pint_header: Bytes,
    /// A time stamp.
    pub timestamp_header: Bytes,
    /// Whether what a scheme needs in headers is counted: otherwise the plain ones hold it.
    pub scheme_headers: bool,
    /// What a link adds to every packet: it takes time there, and is counted nowhere else.
    pub framing: Bytes,
}

impl PacketFormat {
    /// What a scheme's needs add to the headers of its data packets and their ACKs.
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
    /// All headers of the data packets of a scheme with these needs, in bytes.
    #[inline]
    pub fn data_headers(&self, needs: &Requirements) -> u16 {
        (self.data_header.get() + self.added_header(needs)) as u16
    }
    /// A full data packet with all headers that are ever counted.
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
    /// The longest data packet of schemes with these needs, all headers counted: a full one that is the first of its
    /// message, where that has `first` bytes more.
    pub fn longest(&self, needs: impl Iterator<Item = Requirements>, first: Bytes) -> Bytes {
        let headers = needs.map(|needs| self.data_headers(&needs)).max();
        self.mtu + Bytes::new(u64::from(headers.unwrap_or(0))) + first
    }
    /// A data packet with so many bytes of headers that a switch turns back: without its payload.
    #[inline]
    pub fn turned_back(&self, headers: u16) -> u16 {
        headers.max(self.ack_min.get() as u16)
    }
    /// A scheme's ACKs on the wire.
    #[inline]
    pub fn ack_wire(&self, needs: &Requirements) -> u16 {
        (self.ack_header.get() + self.added_header(needs)).max(self.ack_min.get()) as u16
    }
}

/// How events of the same instant are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TieOrder {
    /// By who scheduled them: the same for any thread count.
    Structural,
    /// By when they were scheduled, as ns-3 does.
    Insertion,
    /// The same, but arrivals in an order drawn from the run's seed, another one at each instant: where packets can be
    /// lost, so that none of equal senders always goes first.
    Drawn,
    /// At random: shows whether a result depends on ties.
    Shuffled(u64),
}

impl TieOrder {
    /// Whether it depends on instants and entities alone, so that a run that is cut into parts has it too.
    #[inline]
    pub fn is_by_entity(self) -> bool {
        matches!(self, Self::Structural | Self::Drawn)
    }
}

/// A scheme as the run uses it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SchemeSpec {
    /// Scheme and parameters.
    pub config: SchemeConfig,
    /// How bytes in flight are bounded.
    pub window: WindowMode,
}

impl From<SchemeConfig> for SchemeSpec {
    /// With the window that the scheme has by itself.
    fn from(config: SchemeConfig) -> Self {
        Self {
            window: config.default_window(),
            config,
        }
    }
}

/// A flow: one message from one host to another, on a queue pair of its own or on a persistent connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlowSpec {
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Payload bytes.
    pub size: Bytes,
    /// When the sender starts; where it waits for others ([`RunSpec::dependencies`]), not before.
    pub start: Time,
    /// Priority class, 1 to 7.
    pub class: u8,
    /// Source port: spreads flows over paths.
    pub sport: u16,
    /// Destination port: spreads flows over paths; in ns-3 HPCC inputs also a label.
    pub dport: u16,
    /// Index in [`RunSpec::labels`].
    pub label: u16,
    /// Index in [`RunSpec::schemes`].
    pub scheme: u16,
    /// The persistent connection that carries it, one after another, with all other flows of this number: their hosts,
    /// ports, classes and schemes are the same. Without one it has a queue pair of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<NonZeroU32>,
}

/// What one flow waits for in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Awaited {
    /// Its sender starts.
    Started,
    /// Its last byte arrives in order at the receiver: what a step of a collective waits for.
    Received,
    /// Its last acknowledgement arrives at the sender: what a closed loop waits for.
    Acknowledged,
}

/// A flow that waits for another. It starts once all that it waits for has happened, and its own
/// start time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Dependency {
    /// The flow that waits: index in [`RunSpec::flows`].
    pub flow: u32,
    /// The flow that it waits for.
    pub after: u32,
    /// For what of that.
    pub awaited: Awaited,
    /// And then for so long: computing, thinking.
    pub delay: Span,
}

/// What to record. Nothing that is off costs anything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RecordSpec {
    /// Sample every switch port's queue at this period: statistics, histograms, the busiest
    /// ports' series.
    pub queue_every: Option<Span>,
    /// First and last instant of queue sampling.
    pub queue_window: (Time, Time),
    /// Take a copy of the queue histograms whenever the time is a multiple of this (ns-3's dump).
    pub queue_dump_every: Option<Span>,
    /// Bytes acknowledged per flow in bins of this width.
    pub rate_every: Option<Span>,
    /// Every port and every switch's buffer in bins of this width, which double as often as the
    /// bins are full: see [`crate::outcome::PortSeries`].
    pub port_bin: Option<Span>,
    /// Sample what detectors find the ports of switches to be at this period.
    pub state_every: Option<Span>,
    /// Sample the credits of every lane of every port at this period, in a network under credits.
    pub credit_every: Option<Span>,
    /// Rate, window and round-trip time of the first flows whenever they have changed, at this period.
    pub flow_every: Option<Span>,
    /// How many flows that is.
    pub flows_max: u32,
    /// Keep no list of the PFC frames, which grows with their number; they are counted all the same.
    pub omit_pfc: bool,
    /// Which nodes' packets to trace.
    pub trace_nodes: Vec<NodeId>,
    /// And at which single ports: a node, and its neighbour at the other end of the link.
    pub trace_ports: Vec<(NodeId, NodeId)>,
    /// First and last instant of tracing; always, if there is none.
    pub trace_window: Option<(Time, Time)>,
    /// Keep every round-trip time sample of the first kind (one per flow and round trip).
    pub rtt_samples: bool,
    /// Distribution of the one-way latency of data packets: see [`crate::Outcome::latency`].
    pub latency: bool,
    /// What the run has come to at half of its time: see [`crate::Outcome::first_half`].
    #[serde(default)]
    pub halves: bool,
    /// Whose time to account for: see [`crate::outcome::account`].
    pub accounts: Accounted,
    /// Flows to look at closely, by index; they are accounted for too. See [`crate::outcome::flow_probe`].
    pub flow_probes: Vec<u32>,
    /// Between whom to account for waits in queues: see [`crate::outcome::blame`].
    #[serde(default)]
    pub blame: Blame,
    /// Record each packet that is lost.
    #[serde(default)]
    pub drops: bool,
}

impl RecordSpec {
    /// Whether anything sees what happens at ports of the engine, one by one.
    pub fn has_probes(&self) -> bool {
        self.blame != Blame::Off || self.drops
    }
}

/// Those between whom waits in queues are accounted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// Nobody.
    #[default]
    Off,
    /// Labels of flows.
    Labels,
    /// The hosts that flows come from.
    Hosts,
}

/// Flows whose time is accounted for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accounted {
    /// Of no flow.
    #[default]
    None,
    /// Of all.
    All,
    /// Of these, by index.
    Flows(Vec<u32>),
}

/// A run, complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunSpec {
    /// Nodes.
    pub nodes: Vec<NodeKind>,
    /// Links.
    pub links: Vec<LinkSpec>,
    /// Links that fail.
    pub failures: Vec<LinkFailure>,
    /// After a link has failed or come back, routes are computed anew so much later.
    #[serde(default, skip_serializing_if = "Span::is_zero")]
    pub reconvergence: Span,
    /// Links that change otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub link_changes: Vec<LinkChange>,
    /// Hosts that change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_changes: Vec<HostChange>,
    /// NICs that pause for ever.
    pub storms: Vec<PauseStorm>,
    /// Next hops that are given.
    pub routes: Vec<StaticRoute>,
    /// How switches choose among equal next hops.
    pub load_balancing: LoadBalancing,
    /// Whose hash ECMP goes by.
    pub ecmp_hash: EcmpHash,
    /// How senders choose among paths packet by packet, with [`LoadBalancing::Ecmp`] in switches; `None`: a flow has one
    /// path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entropy: Option<Entropy>,
    /// Every switch.
    pub switch: SwitchSpec,
    /// Every host.
    pub nic: NicSpec,
    /// Sizes of packets.
    pub packet: PacketFormat,
    /// Units of the telemetry header with [`Quirks::int_wire_precision`].
    pub int_multi: u32,
    /// Schemes that flows name.
    pub schemes: Vec<SchemeSpec>,
    /// Labels that flows name.
    pub labels: Vec<String>,
    /// Flows, in order of start.
    pub flows: Vec<FlowSpec>,
    /// Flows that come as a stream: then that list is empty, and there are no dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// Flows that come as the run goes on, behind all others.
    #[serde(default, skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
    /// Which flows wait for which; no flow may wait for itself, not by way of others either.
    pub dependencies: Vec<Dependency>,
    /// The run ends here at the latest.
    pub stop: Time,
    /// Seed of every random stream.
    pub seed: u64,
    /// Deviations from nature.
    pub quirks: Quirks,
    /// The network of another simulator, in place of what switches and hosts are otherwise.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// With [`FlowControl::Credits`]: what links and switches are told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lanes: Option<Box<LaneSpec>>,
    /// Order of simultaneous events.
    pub ties: TieOrder,
    /// What to record.
    pub record: RecordSpec,
    /// Check every invariant while running.
    pub check: bool,
}

impl RunSpec {
    /// How many flows there are; of programs, about how many there will be.
    pub fn flow_count(&self) -> usize {
        let most = |program: &Program| program.flows as usize;
        self.described_flows() + self.programs.iter().map(most).sum::<usize>()
    }

    /// Ids of flows are below this: how many flows a program starts only its run shows.
    pub fn flow_ids(&self) -> usize {
        match self.programs.is_empty() {
            true => self.flow_count(),
            false => (u32::MAX >> 6) as usize,
        }
    }

    /// Whether all packets of a flow go one way while no link fails.
    pub fn has_one_way_per_flow(&self) -> bool {
        self.load_balancing == LoadBalancing::Ecmp && self.entropy.is_none()
    }

    /// Whether packets of a flow that follow each other closely may take different paths.
    pub fn spreads_packets(&self) -> bool {
        self.load_balancing.is_per_packet() || self.entropy.is_some()
    }

    /// Whether all its flows are programs'.
    pub fn is_of_programs(&self) -> bool {
        !self.programs.is_empty() && self.described_flows() == 0
    }

    /// How many flows there are in the list or the stream.
    pub fn described_flows(&self) -> usize {
        let streamed = self
            .arrivals
            .as_ref()
            .map_or(0, |arrivals| arrivals.flows as usize);
        self.flows.len() + streamed
    }

    /// When the first of them starts.
    pub fn first_start(&self) -> Option<Time> {
        let starts = self.programs.iter().map(|program| program.start);
        starts.chain(self.first_described_start()).min()
    }

    /// When the first of the list or the stream starts.
    pub fn first_described_start(&self) -> Option<Time> {
        let streamed = self.streamed().map(|arrivals| arrivals.first);
        self.flows.first().map(|flow| flow.start).or(streamed)
    }

    /// When the last of them starts; of programs, when they begin.
    pub fn last_start(&self) -> Option<Time> {
        let streamed = self.streamed().map(|arrivals| arrivals.last);
        let described = self.flows.last().map(|flow| flow.start).or(streamed);
        let starts = self.programs.iter().map(|program| program.start);
        starts.chain(described).max()
    }

    /// The stream of flows, if there are any in it.
    fn streamed(&self) -> Option<&Arrivals> {
        self.arrivals.as_ref().filter(|arrivals| arrivals.flows > 0)
    }

    /// What the first packet of each message has alongside the headers of all, in bytes: see [`LaneSpec::first_header`].
    pub fn first_header(&self) -> u16 {
        let lanes = self.lanes.as_ref();
        lanes.map_or(0, |lanes| lanes.first_header.get() as u16)
    }

    /// Whether ports wait for credits, where others are paused.
    pub fn is_under_credits(&self) -> bool {
        self.lanes.is_some() || self.model.as_ref().is_some_and(|model| model.credit_lanes() > 0)
    }

    /// Priority classes of flows.
    pub fn flow_classes(&self) -> impl Iterator<Item = u8> {
        let sources = self.arrivals.iter().flat_map(|arrivals| &arrivals.sources);
        let streamed = sources.map(|source| source.class);
        let of_programs = self.programs.iter().map(|program| program.class);
        let described = self.flows.iter().map(|flow| flow.class).chain(streamed);
        described.chain(of_programs)
    }
}
