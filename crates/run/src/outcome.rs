//! Results of a run: flows, counters, samples.

use hdrhistogram::Histogram;
use paceline_congestion::Mark;
use paceline_kernel::{Bytes, Span, Time};
use serde::{Deserialize, Serialize};

use crate::spec::{FlowSpec, NodeId};
use crate::table::Tables;

pub mod account;
mod binned;
pub mod blame;
pub mod credits;
mod deadlock;
pub mod flow_probe;
mod flows;
mod model;
mod port_ref;
mod ports;
mod repeats;
mod room;
mod storms;

pub use binned::{Bin, Binned};
pub use deadlock::{Deadlock, EndlessPause};
pub use flows::FlowSeries;
pub use model::{ModelOutcome, ModelRecord};
pub use port_ref::PortRef;
pub use ports::{PortBin, PortSeries, Side, TiedArrivals};
pub use repeats::{Repeats, StateRepeats};
pub use room::Room;
pub use storms::WatchdogStorm;

/// Fate of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FlowStatus {
    /// Every byte was acknowledged.
    Completed,
    /// Still active when the run ended.
    Unfinished,
    /// The start lies after the end of the run, or an event that it waits for did not occur.
    NotStarted,
    /// There is no path between its hosts, because of a failed link.
    Unreachable,
    /// The sender gave up after too many consecutive timeouts.
    GivenUp,
}

/// Results of one flow, in the order of [`crate::spec::RunSpec::flows`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRecord {
    /// Fate of the flow.
    pub status: FlowStatus,
    /// Start time; if it did not start, the earliest time at which it could have.
    pub start: Time,
    /// Time at which its last byte had arrived in order at the receiver.
    pub received: Option<Time>,
    /// Time from its start to the arrival of the last acknowledgement at the sender; zero unless completed.
    pub fct: Span,
    /// Completion time of the same flow alone in the network under scheme `none`, see `run/ideal.rs` of the
    /// engine; with [`crate::spec::Quirks::ideal_by_formula`] the reference's estimate of it.
    pub ideal: Span,
    /// Payload bytes sent more than once.
    pub retransmitted: Bytes,
    /// Bytes delivered in order to the application.
    pub delivered: Bytes,
    /// Payload bytes that its sender sent at least once.
    pub sent: Bytes,
    /// Unscheduled bytes: those of `sent` that left before the sender had any feedback on the flow, be it an
    /// acknowledgement or a notification from receiver or switch. No scheme could have held them back.
    pub sent_unscheduled: Bytes,
    /// Data packets that arrived marked as congested, until the receiver had the whole flow.
    pub congested: u32,
    /// Data packets that arrived marked as undetermined, until the receiver had the whole flow.
    pub undetermined: u32,
}

impl FlowRecord {
    /// Creates the record of a flow that has not started.
    pub const fn not_started(flow: &FlowSpec) -> Self {
        Self {
            status: FlowStatus::NotStarted,
            start: flow.start,
            received: None,
            fct: Span::ZERO,
            ideal: Span::ZERO,
            retransmitted: Bytes::ZERO,
            delivered: Bytes::ZERO,
            sent: Bytes::ZERO,
            sent_unscheduled: Bytes::ZERO,
            congested: 0,
            undetermined: 0,
        }
    }
}

/// Completed flow of a stream: see `Simulation::take_ended`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndedFlow {
    /// Number of the flow, in the order of starts.
    pub flow: u32,
    /// Description of the flow.
    pub spec: FlowSpec,
    /// Results of the flow.
    pub record: FlowRecord,
}

impl EndedFlow {
    /// Creates the entry of a flow whose start lay after the end of the run.
    pub const fn not_started(flow: u32, spec: FlowSpec) -> Self {
        let record = FlowRecord::not_started(&spec);
        Self { flow, spec, record }
    }
}

/// Arrival of a PFC frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PfcEvent {
    /// Time of the arrival.
    pub at: Time,
    /// Node that is paused or resumed.
    pub node: NodeId,
    /// True if that node is a switch.
    pub is_switch: bool,
    /// Interface of the node, counted from 1 in the order of links.
    pub interface: u32,
    /// Priority class of the frame.
    pub class: u8,
    /// True for a pause, false for a resume.
    pub pause: bool,
}

/// Totals over the network and the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Events that the engine executed.
    pub events: u64,
    /// Transmissions of data packets over a link.
    pub data_hops: u64,
    /// Transmissions of ACKs and NACKs over a link.
    pub ack_hops: u64,
    /// Transmissions of PFC frames, CNPs, SRCs and CNMs over a link.
    pub control_hops: u64,
    /// Bytes of all packets other than data, summed over links.
    pub control_bytes: u64,
    /// Data packets that reached their receiver.
    pub data_received: u64,
    /// Packets dropped in switches, for lack of buffer or by a scheme's switch half.
    pub buffer_drops: u64,
    /// Packets in `buffer_drops` of classes under flow control: the headroom was too small.
    pub lossless_drops: u64,
    /// Packets in `buffer_drops` that the PFC watchdog dropped; not part of `lossless_drops`.
    pub watchdog_drops: u64,
    /// Data packets from which switches removed only the payload; not part of `buffer_drops`.
    pub trimmed: u64,
    /// Packets of any kind lost on links (errors, failures) or without a route.
    pub link_drops: u64,
    /// Data packets marked "congestion experienced", each counted once.
    pub marked: u64,
    /// Data packets marked as undetermined while unmarked (ternary detection); some of them count in `marked`
    /// further on.
    pub undetermined: u64,
    /// Congestion notifications that reached a sender, as packets or as flags in ACKs.
    pub notifications: u64,
    /// Packets that switches sent to senders about congestion (SRC, CNM).
    pub notices: u64,
    /// Grants that receivers sent.
    pub grants: u64,
    /// Negative acknowledgements that receivers sent.
    pub nacks: u64,
    /// Retransmission timeouts of senders.
    pub timeouts: u64,
    /// Starts of pauses of a (port, class).
    pub pauses: u64,
    /// PFC pause frames received, both those that start a pause and those that renew one.
    pub pause_frames: u64,
    /// PFC resume frames received.
    pub resume_frames: u64,
    /// Time that (port, class) pairs spent paused, summed, in ps.
    pub paused_ps: u64,
    /// Payload bytes sent more than once.
    pub retransmitted_bytes: u64,
}

impl Counters {
    /// Factor for [`Self::add`] that subtracts.
    pub const MINUS_ONE: u64 = u64::MAX;

    /// Adds `times` times the counters of another run or part.
    pub fn add(&mut self, other: &Self, times: u64) {
        let &Self {
            events,
            data_hops,
            ack_hops,
            control_hops,
            control_bytes,
            data_received,
            buffer_drops,
            lossless_drops,
            watchdog_drops,
            trimmed,
            link_drops,
            marked,
            undetermined,
            notifications,
            notices,
            grants,
            nacks,
            timeouts,
            pauses,
            pause_frames,
            resume_frames,
            paused_ps,
            retransmitted_bytes,
        } = other;
        let sums = [
            (&mut self.events, events),
            (&mut self.data_hops, data_hops),
            (&mut self.ack_hops, ack_hops),
            (&mut self.control_hops, control_hops),
            (&mut self.control_bytes, control_bytes),
            (&mut self.data_received, data_received),
            (&mut self.buffer_drops, buffer_drops),
            (&mut self.lossless_drops, lossless_drops),
            (&mut self.watchdog_drops, watchdog_drops),
            (&mut self.trimmed, trimmed),
            (&mut self.link_drops, link_drops),
            (&mut self.marked, marked),
            (&mut self.undetermined, undetermined),
            (&mut self.notifications, notifications),
            (&mut self.notices, notices),
            (&mut self.grants, grants),
            (&mut self.nacks, nacks),
            (&mut self.timeouts, timeouts),
            (&mut self.pauses, pauses),
            (&mut self.pause_frames, pause_frames),
            (&mut self.resume_frames, resume_frames),
            (&mut self.paused_ps, paused_ps),
            (&mut self.retransmitted_bytes, retransmitted_bytes),
        ];
        for (sum, part) in sums {
            *sum = sum.wrapping_add(part.wrapping_mul(times));
        }
    }

    /// Returns the transmissions of packets of any kind over a link: the unit of work.
    pub const fn packet_hops(&self) -> u64 {
        self.data_hops + self.ack_hops + self.control_hops
    }
}

/// Round-trip times, in picoseconds, with exact extremes and sum.
#[derive(Clone, Debug, PartialEq)]
pub struct RttStats {
    /// Distribution in nanoseconds, accurate to 1/16384 of the value.
    pub histogram_ns: Histogram<u64>,
    /// Sum of all samples, in picoseconds.
    pub sum_ps: u128,
    /// Largest sample, in picoseconds.
    pub max_ps: u64,
    /// Number of samples taken.
    pub samples: u64,
}

/// Sample of a flow's round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RttSample {
    /// Arrival time of the acknowledgement.
    pub at: Time,
    /// Index of the flow.
    pub flow: u32,
    /// Byte up to which it acknowledges.
    pub seq: u64,
    /// Time since the start of the data packet's transmission.
    pub rtt: Span,
}

/// Queue samples of one switch port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueRecord {
    /// Port whose queue was sampled.
    pub port: PortRef,
    /// Number of samples from `k` KB (1000 bytes) to less than `k + 1` KB, by `k`.
    pub histogram_kb: Vec<u64>,
    /// Largest sample, in bytes.
    pub max: Bytes,
    /// Sum of all samples, in bytes.
    pub sum: u128,
    /// Samples over time, in bytes. If the series of all ports are too long, the longest of them get wider
    /// bins, each independently.
    pub series: Binned,
}

/// State of a class of one switch port over time, as a detector reports it.
#[derive(Clone, Debug, PartialEq)]
pub struct StateRecord {
    /// Port whose state was sampled.
    pub port: PortRef,
    /// Priority class, or lane.
    pub priority: u8,
    /// Samples over time: [`paceline_congestion::detect::PortState`] as a number, or credits.
    pub series: Binned,
}

/// ns-3's dump of the queue histograms so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueDump {
    /// Time of the dump.
    pub at: Time,
    /// Histograms in the order of [`Outcome::queues`], each up to its largest bin.
    pub histograms_kb: Vec<Vec<u64>>,
}

/// Goodput of one flow over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateRecord {
    /// Index of the flow.
    pub flow: u32,
    /// Number of the bin of the first value.
    pub first_bin: u64,
    /// Bytes acknowledged in each bin.
    pub bytes: Vec<u64>,
}

/// Event of a traced packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TraceKind {
    /// Arrival of the last bit.
    Receive,
    /// Entry into an egress queue.
    Enqueue,
    /// Start of the transmission.
    Dequeue,
    /// Loss of the packet.
    Drop,
}

/// Kind of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[repr(u8)]
pub enum PacketKind {
    /// Data packet, with or without its payload.
    Data,
    /// Acknowledgement of a receiver.
    Ack,
    /// Negative acknowledgement of a receiver.
    Nack,
    /// Congestion notification packet of a receiver.
    Cnp,
    /// Signal of a scheme's switch half to a sender (Bolt's SRC, QCN's CNM).
    Signal,
    /// PFC pause frame between neighbours.
    Pause,
    /// PFC resume frame between neighbours.
    Resume,
    /// Flow-control packet of a credit-based network.
    Credit,
    /// Grant of a receiver to its sender.
    Grant,
    /// Control ordered set of link-level retry, or a frame that such a link carries again.
    Llr,
    /// Message of a switch to its neighbour that a flow is isolated (CIM of IEEE 802.1Qcz).
    Isolate,
    /// Probe of a path that its sender does not trust, and the receiver's answer.
    Probe,
}

impl PacketKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 12] = [
        Self::Data,
        Self::Ack,
        Self::Nack,
        Self::Cnp,
        Self::Signal,
        Self::Pause,
        Self::Resume,
        Self::Credit,
        Self::Grant,
        Self::Llr,
        Self::Isolate,
        Self::Probe,
    ];
    /// Number of kinds, for arrays indexed by kind.
    pub const COUNT: usize = Self::ALL.len();

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
            Self::Nack => "nack",
            Self::Cnp => "cnp",
            Self::Signal => "signal",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Credit => "credit",
            Self::Grant => "grant",
            Self::Llr => "llr",
            Self::Isolate => "isolate",
            Self::Probe => "probe",
        }
    }

    /// Returns the group of a flow's packets to which the kind belongs in records of waiting ([`blame`]).
    pub const fn waiting(self) -> blame::Waiting {
        match self {
            Self::Data => blame::Waiting::Data,
            Self::Ack | Self::Nack => blame::Waiting::Acks,
            _ => blame::Waiting::Control,
        }
    }

    /// Returns true for frames between neighbours that come before all others and have no numbers under link-level
    /// retry.
    #[inline]
    pub const fn is_link_control(self) -> bool {
        matches!(self, Self::Pause | Self::Resume | Self::Credit | Self::Isolate)
    }

    /// Returns true for frames between neighbours about the priorities of a link: of flow control, and of isolation.
    #[inline(always)]
    pub const fn is_pfc(self) -> bool {
        matches!(self, Self::Pause | Self::Resume | Self::Isolate)
    }
}

crate::named_value!(PacketKind);

/// Event of a traced packet, at a node or port that [`crate::spec::RecordSpec`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceEvent {
    /// Time of the event.
    pub at: Time,
    /// Node at which it occurred.
    pub node: NodeId,
    /// Interface of the node, from 1 in the order of links.
    pub interface: u32,
    /// Kind of event at the port.
    pub event: TraceKind,
    /// Bytes in the port's queue for the packet's class, with the packet at `Enqueue` and without it at
    /// `Dequeue`; 0 in hosts.
    pub queue_bytes: u32,
    /// Kind of the packet.
    pub kind: PacketKind,
    /// For a signal, its index in [`Outcome::signals`]; otherwise 0.
    pub signal: u8,
    /// Index of its flow; `u32::MAX` for PFC frames and flow-control packets.
    pub flow: u32,
    /// Data: offset of the first payload byte. ACK, NACK: next expected byte. Flow-control packets: the limit
    /// up to which the other end may send (FCCL). Otherwise 0.
    pub seq: u64,
    /// Payload bytes. Flow-control packets: total sent so far (FCTBS).
    pub payload: u32,
    /// Bytes on the wire.
    pub wire: u32,
    /// Priority class; for a PFC frame the class that it pauses or resumes, for a flow-control packet its
    /// lane.
    pub class: u8,
    /// Congestion mark; in ACKs, the echo of the data packet's.
    pub mark: Mark,
    /// Duration that a pause frame asks for.
    pub pause: Span,
}

/// Statistics of decisions that take time at NICs (see [`paceline_congestion::api::Decisions`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionStats {
    /// Decisions that took effect.
    pub made: u64,
    /// Decisions that created a policy, in schemes whose decisions mostly observe
    /// ([`paceline_congestion::Ctx::count_trigger`]).
    pub triggers: u64,
    /// Decisions whose flow ended before they took effect.
    pub flow_ended: u64,
    /// Decisions that waited or were being computed when the run ended.
    pub under_way: u64,
    /// Decisions that were started, so that their waiting time is known.
    pub started: u64,
    /// Waiting time for a processor, summed over started decisions, in ps.
    pub waited_ps: u128,
    /// Longest of those waiting times.
    pub waited_max: Span,
    /// NICs that had decisions to compute.
    pub nics: u32,
    /// Time during which their processors worked, summed, in ps.
    pub busy_ps: u128,
    /// Time during which they could have worked, from each NIC's first decision to its last, in ps.
    pub available_ps: u128,
    /// True if a NIC has an unlimited number of processors.
    pub any_number: bool,
}

impl DecisionStats {
    /// Returns the statistics of two sets of NICs together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            made: self.made + other.made,
            triggers: self.triggers + other.triggers,
            flow_ended: self.flow_ended + other.flow_ended,
            under_way: self.under_way + other.under_way,
            started: self.started + other.started,
            waited_ps: self.waited_ps + other.waited_ps,
            waited_max: self.waited_max.max(other.waited_max),
            nics: self.nics + other.nics,
            busy_ps: self.busy_ps + other.busy_ps,
            available_ps: self.available_ps + other.available_ps,
            any_number: self.any_number | other.any_number,
        }
    }

    /// Returns the share of time during which processors worked, from each NIC's first decision to its last;
    /// `None` if a NIC has an unlimited number of them.
    pub fn busy_share(&self) -> Option<f64> {
        let known = !self.any_number && self.available_ps > 0;
        known.then(|| self.busy_ps as f64 / self.available_ps as f64)
    }
}

/// All results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Time at which the run ended.
    pub end: Time,
    /// Flows, in the order of the specification; empty if they come as a stream.
    pub flows: Vec<FlowRecord>,
    /// Flows of a stream: completed ones that were not taken (`Simulation::take_ended`) in the order of
    /// completion, then the others in the order of their starts.
    pub ended: Vec<EndedFlow>,
    /// Number of the stream's flows that have started.
    pub begun: u32,
    /// Results of each program.
    pub programs: Vec<ModelOutcome>,
    /// Indices of completed flows in the order of completion.
    pub completions: Vec<u32>,
    /// Totals over the network.
    pub counters: Counters,
    /// PFC frames received, in order of time, unless [`crate::spec::RecordSpec::omit_pfc`].
    pub pfc: Vec<PfcEvent>,
    /// Round-trip times, one sample per flow and round trip.
    pub rtt_per_round_trip: RttStats,
    /// Round-trip times, one sample per acknowledgement.
    pub rtt_per_ack: RttStats,
    /// One-way latency of each data packet that arrived with its payload, with
    /// [`crate::spec::RecordSpec::latency`]: from the start of its transmission at the sender's NIC until the
    /// receiver has all of it, including the time in the receiver's host.
    pub latency: Option<RttStats>,
    /// Results as of half of the run's time, with [`crate::spec::RecordSpec::halves`].
    pub first_half: Option<Box<Self>>,
    /// Samples of round-trip times, with [`crate::spec::RecordSpec::rtt_samples`].
    pub rtt_samples: Vec<RttSample>,
    /// Queue samples, one record per switch port, with [`crate::spec::RecordSpec::queue_every`].
    pub queues: Vec<QueueRecord>,
    /// Dumps of queue histograms, with [`crate::spec::RecordSpec::queue_dump_every`].
    pub queue_dumps: Vec<QueueDump>,
    /// Detector states, one record per switch port and class with data and a detector, with
    /// [`crate::spec::RecordSpec::state_every`].
    pub states: Vec<StateRecord>,
    /// Series of ports and buffers, with [`crate::spec::RecordSpec::port_bin`].
    pub ports: Option<PortSeries>,
    /// Series of flows, in the order of flows, with [`crate::spec::RecordSpec::flow_every`].
    pub flow_series: Vec<FlowSeries>,
    /// Largest queue of any switch port, whether or not queues were sampled.
    pub queue_max: Bytes,
    /// Goodput of flows over time, with [`crate::spec::RecordSpec::rate_every`].
    pub rates: Vec<RateRecord>,
    /// Width of the bins of `rates`: the requested width, or a power of two times it if there are too many
    /// bins.
    pub rate_bin: Span,
    /// Events of traced packets in order of time, with [`crate::spec::RecordSpec::trace_nodes`] or
    /// `trace_ports`.
    pub trace: Vec<TraceEvent>,
    /// Names of the signals of the run's schemes.
    pub signals: Vec<&'static str>,
    /// Base round-trip time of the network as the reference defines it: the largest over all pairs of hosts
    /// with flows. `bdp` is the corresponding bandwidth-delay product.
    pub base_rtt: Span,
    /// Bandwidth-delay product for `base_rtt`.
    pub bdp: Bytes,
    /// Breakdown of flows' completion times, in the order of flows, with
    /// [`crate::spec::RecordSpec::accounts`].
    pub accounts: Vec<account::FlowAccount>,
    /// Probes of flows, in the order of flows, with [`crate::spec::RecordSpec::flow_probes`].
    pub flow_probes: Vec<flow_probe::FlowProbe>,
    /// Tables of recorders, sorted by name.
    pub tables: Tables,
    /// Endless pauses, if there are any.
    pub deadlock: Option<Deadlock>,
    /// Storms that the PFC watchdog detected, in order of time.
    pub storms: Vec<WatchdogStorm>,
    /// Statistics of decisions that take time; `None` if no sender asked for any.
    pub decisions: Option<DecisionStats>,
    /// Additional results of another simulator's network ([`crate::RunSpec::model`]).
    pub model: Option<ModelOutcome>,
    /// Credits of each lane of each port that ever sent anything, in a credit-based network with
    /// [`crate::spec::RecordSpec::credit_every`].
    pub credit_series: Vec<StateRecord>,
    /// Stalls of ports for lack of credits, in a credit-based network.
    pub stalls: credits::Stalls,
    /// Losers of simultaneous arrivals of lossy packets for one port.
    pub ties: TiedArrivals,
    /// True if the run depends on its seed: a random stream was used, or a seeded hash chose a path or an
    /// order of simultaneous events. If false, the same flows behave identically under any other seed.
    pub hangs_on_seed: bool,
    /// Reuse of repeated phases, if phases were memorised.
    pub repeats: Option<Repeats>,
    /// Digest of the order and time of all events: equal runs have equal digests.
    pub digest: u64,
}
