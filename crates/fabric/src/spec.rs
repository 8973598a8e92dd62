//! What is built: a plain, fully explicit description of a network, its flows and what to record.
//!
//! Everything has its value here: no defaults are looked up later, and a run is a pure function
//! of a [`RunSpec`].

use paceline_congestion::Needs;
use paceline_congestion::registry::{SchemeConfig, WindowMode};
use paceline_kernel::{BitRate, Bytes, Span, Time};

/// A node of the network: its index in [`RunSpec::nodes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// Sends and receives; never forwards.
    Host,
    /// Forwards.
    Switch,
}

/// A cable: both directions have the same properties.
#[derive(Clone, Debug, PartialEq)]
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

/// Links that go down at some time, and perhaps come back.
#[derive(Clone, Debug)]
pub struct LinkFailure {
    /// Index in [`RunSpec::links`].
    pub link: usize,
    /// When the link goes down: what it carries and what waits for it is lost, routes are recomputed.
    pub at: Time,
    /// When it comes back, if ever.
    pub until: Option<Time>,
}

/// A host whose NIC pauses a class of its switch's port for ever: a broken NIC, or a receiver that
/// does not take its packets from memory.
#[derive(Clone, Debug)]
pub struct PauseStorm {
    /// The host.
    pub node: NodeId,
    /// The class.
    pub class: u8,
    /// When it begins.
    pub at: Time,
    /// When it ends, if ever.
    pub until: Option<Time>,
}

/// A next hop that is given, instead of those of shortest paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticRoute {
    /// The switch.
    pub node: NodeId,
    /// The host that packets are for.
    pub to: NodeId,
    /// The neighbour that they go to; without a live link to it they are lost.
    pub via: NodeId,
}

/// How switches choose among next hops that are equally near.
///
/// What is said of packets here is said of data packets. Acknowledgements and notifications go by
/// [`LoadBalancing::Ecmp`] always, and so do flows to hosts for which next hops are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadBalancing {
    /// By a hash of the flow's addresses and ports, seeded by the switch: a flow has one path.
    #[default]
    Ecmp,
    /// At random whenever a flow has paused for longer than `gap` (LetFlow).
    Flowlet(Flowlets),
    /// At random for every packet.
    Spray,
    /// The port whose queue is the soonest empty, for every packet.
    Adaptive,
    /// The port whose queue is the soonest empty, whenever a flow has paused for longer than `gap`.
    AdaptiveFlowlet(Flowlets),
}

impl LoadBalancing {
    /// Whether packets of a flow that follow each other closely may take different paths.
    pub const fn is_per_packet(self) -> bool {
        matches!(self, Self::Spray | Self::Adaptive)
    }
}

/// How switches tell flowlets apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flowlets {
    /// A flow that sent nothing for longer than this may take another path.
    pub gap: Span,
    /// Entries of a switch's table of flows, a power of two. Flows whose hashes meet in one entry
    /// are taken for one.
    pub entries: u32,
}

/// Buffers, flow control, marking of every switch.
#[derive(Clone, Debug)]
pub struct SwitchSpec {
    /// Shared buffer of a switch, everything included.
    pub buffer: Bytes,
    /// Bytes that each (ingress port, class) always has.
    pub reserve: Bytes,
    /// What each ingress port keeps for packets that arrive after it asked for a pause.
    pub headroom: Headroom,
    /// Flow control.
    pub flow_control: FlowControl,
    /// Marking curves by rate of the egress port; empty for no marking.
    pub ecn: Vec<EcnCurve>,
    /// Which ports do what schemes ask of switches beside marks and telemetry; `None`: none, and no
    /// scheme may ask.
    pub assist: Option<AssistPorts>,
    /// What happens to packets for which there is no room.
    pub loss: LossSpec,
}

/// What happens to packets for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossSpec {
    /// Priorities under flow control, a bit each; the others are lossy. Without flow control all are.
    pub lossless: u8,
    /// When a lossy packet is dropped.
    pub drop: DropPolicy,
    /// Whether lossy data packets lose their payload only.
    pub trim: Option<Trim>,
}

impl LossSpec {
    /// With flow control no class is lossy, without it all are; what is lossy is dropped when the
    /// buffer is full.
    pub const NONE: Self = Self {
        lossless: u8::MAX,
        drop: DropPolicy::Shared,
        trim: None,
    };
}

/// When a packet of a lossy class is dropped: always when the buffer is full, and perhaps before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DropPolicy {
    /// Not before.
    Shared,
    /// When its egress queue would be longer than this.
    Tail(Bytes),
    /// When its egress queue would be longer than `alpha` times what is free of the shared buffer
    /// (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches",
    /// 1998).
    Dynamic {
        /// The factor.
        alpha: f64,
    },
}

/// A data packet that would be dropped loses its payload, and its headers go on in class 0, which
/// overtakes all others (Cheng et al., "Catch the Whole Lot in an Action: Rapid Precise Packet Loss
/// Notification in Data Centers", NSDI 2014; Handley et al., NDP, SIGCOMM 2017).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Bytes that class 0 of the egress port may hold; a header beyond them is dropped.
    pub queue: Bytes,
}

/// Ports that run the switches' halves of schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssistPorts {
    /// All ports of switches.
    Switches,
    /// Ports of switches that lead to other switches.
    BetweenSwitches,
}

/// Size of an ingress port's headroom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Headroom {
    /// `factor` times rate times one-way delay, plus `extra` bytes.
    PerLink {
        /// Multiple of rate times delay.
        factor: f64,
        /// Bytes on top: packets that had started, processing time.
        extra: Bytes,
    },
    /// The same for every port.
    Fixed(Bytes),
}

/// Hop-by-hop flow control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowControl {
    /// None: packets are dropped when there is no room for them, see [`LossSpec`].
    None,
    /// Priority flow control (IEEE 802.1Qbb).
    Pfc(Pfc),
}

/// Priority flow control.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pfc {
    /// When to pause.
    pub threshold: PfcThreshold,
    /// A dynamic threshold's resume: shared bytes at least this far below the threshold.
    pub resume_offset: Bytes,
    /// How long a pause lasts.
    pub mode: PfcMode,
}

/// When an ingress (port, class) asks for a pause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PfcThreshold {
    /// Shared bytes of the (port, class) reach `alpha` times what is free of the shared pool, where
    /// alpha is `2^-shift`, the shift one less for each doubling of the port's rate above
    /// `reference_rate` (never below zero).
    Dynamic {
        /// The shift of ports at `reference_rate`.
        shift: u32,
        /// The rate that goes with `shift`: the hosts' link rate.
        reference_rate: BitRate,
    },
    /// Bytes of the (port, class) exceed `xoff`; resume below `xon`.
    Static {
        /// Pause above.
        xoff: Bytes,
        /// Resume below.
        xon: Bytes,
    },
}

/// How long a pause lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PfcMode {
    /// Until the resume frame.
    OnOff,
    /// For `pause` unless renewed; the pausing port renews it every half of that while it must.
    Quanta {
        /// The time that a pause frame carries.
        pause: Span,
    },
}

/// RED marking of the ports of one rate, at dequeue. `kmin == kmax` is a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnCurve {
    /// The ports' rate.
    pub rate: BitRate,
    /// No mark at or below.
    pub kmin: Bytes,
    /// Every packet is marked above.
    pub kmax: Bytes,
    /// Probability at `kmax`.
    pub pmax: f64,
}

/// Sizes of packets on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    fn added_header(&self, needs: &Needs) -> u64 {
        if !self.scheme_headers {
            return 0;
        }
        let part = |needed: bool, size: Bytes| if needed { size.get() } else { 0 };
        part(needs.int, self.int_header)
            + part(needs.pint, self.pint_header)
            + part(needs.timestamp, self.timestamp_header)
            + u64::from(needs.header)
    }
    /// All headers of a scheme's data packets.
    pub(crate) fn data_headers(&self, needs: &Needs) -> u16 {
        (self.data_header.get() + self.added_header(needs)) as u16
    }
    /// A scheme's ACKs on the wire.
    pub(crate) fn ack_wire(&self, needs: &Needs) -> u16 {
        (self.ack_header.get() + self.added_header(needs)).max(self.ack_min.get()) as u16
    }
}

/// Hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NicSpec {
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// With [`Quirks::ack_threshold`]: an ACK also whenever the next expected byte is a multiple of it.
    pub ack_chunk: Bytes,
    /// Class of ACKs, NACKs and CNPs in hosts and switches; `None`: the flow's own.
    pub ack_class: Option<u8>,
    /// What a receiver's host takes before it answers; `None`: nothing.
    pub endpoint: Option<Endpoint>,
    /// A receiver repeats the NACK for the same gap no sooner than this.
    pub nack_interval: Span,
    /// Go-back-N goes back to the start of the chunk of this size rather than to the gap. A chunk
    /// counts as in flight until all of it has arrived, so windows must be larger.
    pub back_to_chunk: Option<Bytes>,
    /// Go-back-N's retransmission timeout: without progress for so long, go back to the first
    /// unacknowledged byte; `None`: never.
    pub rto: Option<Span>,
    /// How losses are repaired.
    pub recovery: Recovery,
    /// Whether packets are paced at the scheme's rate (otherwise at line rate).
    pub pacing: bool,
    /// Whether `base_rtt` and the bandwidth-delay product are the largest of all pairs of hosts, or
    /// each flow's own.
    pub global_rtt: bool,
}

/// What a receiver's host takes between a data packet's arrival at its NIC and its answer. Its memory
/// for packets that wait is not limited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endpoint {
    /// The way from the NIC to who answers, for every packet: interrupts, the bus, software.
    pub delay: Span,
    /// The receive engine serves one packet at a time, each for so long.
    pub per_packet: Span,
    /// And as long as its bytes take at this rate.
    pub rate: Option<BitRate>,
    /// The way takes up to so much longer, at random; no packet overtakes another.
    pub jitter: Span,
}

/// How losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// The receiver takes packets in order only; the sender goes back to a gap and sends everything
    /// again from there.
    GoBackN,
    /// The receiver takes packets in any order; the sender repeats what is missing.
    SelectiveRepeat(Irn),
}

/// Selective repeat as IRN has it (Mittal et al., SIGCOMM 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Irn {
    /// Timeout without progress while fewer than `low_packets` are in flight.
    pub rto_low: Span,
    /// Timeout otherwise; not below `rto_low`.
    pub rto_high: Span,
    /// See `rto_low`.
    pub low_packets: u32,
    /// Whether new packets are sent only up to one bandwidth-delay product beyond the cumulative
    /// acknowledgement.
    pub bdp_cap: bool,
    /// A packet counts as lost once one has arrived that is more than so many beyond it.
    pub reordering: u32,
}

/// When a receiver acknowledges in-order data. The last packet is always acknowledged, except
/// under [`Quirks::ack_threshold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Every `n`-th packet.
    EveryPackets(u32),
    /// Whenever so many new bytes have arrived.
    EveryBytes(Bytes),
}

/// How events of the same instant are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieOrder {
    /// By who scheduled them: the same for any thread count.
    Structural,
    /// By when they were scheduled, as ns-3 does.
    Insertion,
    /// At random: shows whether a result hangs on ties.
    Shuffled(u64),
}

/// What the reference simulator does and nature does not, one switch each; all off by default.
///
/// There are two: HPCC's ns-3 simulator ([`Quirks::ns3_hpcc`]) and that of the authors of Bolt
/// ([`Quirks::bolt_ns3`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quirks {
    /// Every real-valued duration is cut to whole nanoseconds, so links are slightly too fast.
    pub truncate_to_ns: bool,
    /// Telemetry has the header's narrow wrapping fields: 24-bit ns, 20-bit and 17-bit byte counts
    /// in units of 128 and 80 bytes times `int_multi`; at most 5 hops, 5 known link rates.
    pub int_wire_precision: bool,
    /// A queue pair that is blocked by its window or a pause, with its pacing time in the past,
    /// suppresses the wake-up of the other queue pairs of its NIC.
    pub wakeup_suppression: bool,
    /// Finished queue pairs leave the round robin in a scan that shifts the others' places.
    pub lazy_qp_removal: bool,
    /// The ACK interval is a threshold in bytes on the expected sequence number, not an interval.
    pub ack_threshold: bool,
    /// The class that blocks ACKs in the host's NIC is chosen apart from their class in switches:
    /// 3, or 0 with `ack_high_priority`.
    pub ack_nic_class: bool,
    /// With `ack_nic_class`: ACKs are blocked by pauses of class 0 (never), not 3.
    pub ack_high_priority: bool,
    /// ACKs can be marked, and then carry a mark that nobody reads.
    pub mark_acks: bool,
    /// A receiver ignores data that it already has, so that a lost last acknowledgement is lost for good.
    pub ignore_duplicates: bool,
    /// Thresholds are 32-bit and wrap when the buffer is smaller than headroom plus reserve.
    pub wrapping_threshold: bool,
    /// HPCC divides by the window even where there is none: with the window off, by zero.
    pub hpcc_divides_by_window: bool,
    /// The last of several links between two nodes is the only one used.
    pub last_parallel_link_only: bool,
    /// Random numbers come from ns-3's generator (a new stream for each draw) and from the C
    /// library's `rand`.
    pub ns3_random: bool,
    /// HPCC-PINT's switches compute with approximate logarithms, as the reference does.
    pub pint_approximate_logs: bool,
    /// Every duration is cut to whole nanoseconds; unlike with `truncate_to_ns` what is whole stays what it is.
    pub floor_to_ns: bool,
    /// Ports and hosts are those of the Bolt authors' simulator: behind the queues of a port a FIFO for one
    /// packet, which belongs neither to the queue nor to the wire; messages that each send on a clock of
    /// their own into the queue of their host's port; a NACK for every packet that is not the expected one.
    pub device_fifo: bool,
    /// With `device_fifo`: a window with room for part of a packet makes its flow pause for a packet's share
    /// of the round-trip time, and then sends one whatever the window says.
    pub window_pause: bool,
    /// With `device_fifo`: Bolt's SM token takes each packet for one byte smaller than it is.
    pub sm_drift: bool,
    /// With `device_fifo`: without SM, a host's port leaves the flag INC on a packet for which it has no token.
    pub inc_kept_by_hosts: bool,
    /// With `device_fifo`: a link that goes down still delivers what it carries and what its ports hold,
    /// and nobody looks for another way.
    pub gentle_failures: bool,
    /// With `device_fifo`: Bolt's and Swift's senders are the authors' (whole bytes, increase by a flag
    /// that one packet at a time carries, one time of the last decrease for all reasons).
    pub bolt_ns3_sender: bool,
    /// With `bolt_ns3_sender`: SRC carries the time in whole nanoseconds that the queue takes, not its bytes.
    pub src_drain_time: bool,
    /// With `bolt_ns3_sender`: each SRC halves a window of at most one packet, however soon after the last.
    pub ungated_halving: bool,
    /// With `bolt_ns3_sender`: Swift's flow scaling adds what it should subtract, 4 us in all.
    pub swift_beta_sign: bool,
    /// With `bolt_ns3_sender`: Swift counts an acknowledgement twice that switches marked for Bolt.
    pub swift_double_update: bool,
    /// ECMP hashes the hosts alone, not ports: all flows of two hosts take one path.
    pub hash_hosts_only: bool,
}

impl Quirks {
    /// All of them: HPCC's ns-3 simulator.
    pub const fn ns3_hpcc() -> Self {
        Self {
            truncate_to_ns: true,
            int_wire_precision: true,
            wakeup_suppression: true,
            lazy_qp_removal: true,
            ack_threshold: true,
            ack_nic_class: true,
            ack_high_priority: false,
            mark_acks: true,
            ignore_duplicates: true,
            wrapping_threshold: true,
            hpcc_divides_by_window: true,
            last_parallel_link_only: true,
            ns3_random: true,
            pint_approximate_logs: true,
            floor_to_ns: false,
            device_fifo: false,
            window_pause: false,
            sm_drift: false,
            inc_kept_by_hosts: false,
            gentle_failures: false,
            bolt_ns3_sender: false,
            src_drain_time: false,
            ungated_halving: false,
            swift_beta_sign: false,
            swift_double_update: false,
            hash_hosts_only: false,
        }
    }

    /// All of the Bolt authors' ns-3 simulator.
    pub fn bolt_ns3() -> Self {
        Self {
            floor_to_ns: true,
            device_fifo: true,
            window_pause: true,
            sm_drift: true,
            inc_kept_by_hosts: true,
            gentle_failures: true,
            bolt_ns3_sender: true,
            src_drain_time: true,
            ungated_halving: true,
            swift_beta_sign: true,
            swift_double_update: true,
            hash_hosts_only: true,
            ..Self::default()
        }
    }
}

/// What is chosen in the Bolt authors' simulator beside its quirks; read with [`Quirks::device_fifo`] only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoltNs3Spec {
    /// Which ports have Bolt's queues.
    pub ports: DiscPorts,
    /// The threshold of these queues where no scheme sets one (Swift); `None`: a full packet.
    pub threshold: Option<Bytes>,
    /// Packets that a port's queues hold; only congested ports look.
    pub buffer_packets: u32,
    /// One SRC for so many that are due; but only those are counted that are sent, so any number above
    /// one means a single SRC per port and run.
    pub src_factor: u32,
    /// Whether messages of the same hosts share flows.
    pub share_flows: bool,
    /// Expiries of the retransmission timer in a row after which a flow is given up.
    pub strikes: u32,
}

/// Ports with Bolt's queues; the others have one FIFO each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscPorts {
    /// All, those of hosts too.
    All,
    /// Ports of switches that lead to other switches.
    BetweenSwitches,
}

impl Default for BoltNs3Spec {
    fn default() -> Self {
        Self {
            ports: DiscPorts::All,
            threshold: None,
            buffer_packets: 1000,
            src_factor: 1,
            share_flows: false,
            strikes: 5,
        }
    }
}

/// A scheme as the run uses it.
#[derive(Clone, Debug)]
pub struct SchemeSpec {
    /// Scheme and parameters.
    pub config: SchemeConfig,
    /// How bytes in flight are bounded.
    pub window: WindowMode,
}

/// A flow: one message from one host to another on a queue pair of its own.
#[derive(Clone, Copy, Debug)]
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
}

/// What one flow waits for in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug, Default)]
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
    /// Whose time to account for: see [`crate::account`].
    pub accounts: Accounted,
}

/// Flows whose time is accounted for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Nodes.
    pub nodes: Vec<NodeKind>,
    /// Links.
    pub links: Vec<LinkSpec>,
    /// Links that fail.
    pub failures: Vec<LinkFailure>,
    /// NICs that pause for ever.
    pub storms: Vec<PauseStorm>,
    /// Next hops that are given.
    pub routes: Vec<StaticRoute>,
    /// How switches choose among equal next hops.
    pub load_balancing: LoadBalancing,
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
    /// Which flows wait for which; no flow may wait for itself, not by way of others either.
    pub dependencies: Vec<Dependency>,
    /// The run ends here at the latest.
    pub stop: Time,
    /// Seed of every random stream.
    pub seed: u64,
    /// What the Bolt authors' simulator has beside its quirks.
    pub bolt_ns3: BoltNs3Spec,
    /// Deviations from nature.
    pub quirks: Quirks,
    /// Order of simultaneous events.
    pub ties: TieOrder,
    /// What to record.
    pub record: RecordSpec,
    /// Check every invariant while running.
    pub check: bool,
}
