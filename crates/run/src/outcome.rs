//! What a run leaves behind: flows, counters, samples.

use hdrhistogram::Histogram;
use paceline_congestion::Mark;
use paceline_kernel::{Bytes, Span, Time};

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

/// How a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowStatus {
    /// Every byte was acknowledged.
    Completed,
    /// Still under way when the run ended.
    Unfinished,
    /// Its start lies after the end of the run, or what it waits for did not happen.
    NotStarted,
    /// There is no path between its hosts (a failed link).
    Unreachable,
    /// Its sender gave up after too many timeouts in a row.
    GivenUp,
}

/// One flow's results, in the order of [`crate::spec::RunSpec::flows`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowRecord {
    /// How it ended.
    pub status: FlowStatus,
    /// When it started; if it did not, when it would have at the earliest.
    pub start: Time,
    /// When its last byte had arrived in order at the receiver.
    pub received: Option<Time>,
    /// Start to the last acknowledgement's arrival at the sender; zero unless completed.
    pub fct: Span,
    /// The completion time of the same flow alone in the network under scheme `none`, see
    /// `run/ideal.rs` of the engine; with [`crate::spec::Quirks::ideal_by_formula`] what the reference takes for it.
    pub ideal: Span,
    /// Payload bytes sent more than once.
    pub retransmitted: Bytes,
    /// Bytes delivered in order to the application.
    pub delivered: Bytes,
    /// Payload bytes that its sender sent at least once.
    pub sent: Bytes,
    /// Of these, the bytes that left before the sender had heard anything of the flow: an acknowledgement of
    /// any kind, a notification of the receiver or of a switch. Nothing could have held them back.
    pub sent_unscheduled: Bytes,
    /// Data packets that came to its receiver marked as congested, until it had all of the flow.
    pub congested: u32,
    /// And as undetermined.
    pub undetermined: u32,
}

impl FlowRecord {
    /// Of a flow that has not started.
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

/// A flow of a stream that is over: see `Simulation::take_ended`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndedFlow {
    /// Its number in the order of starts.
    pub flow: u32,
    /// What it was.
    pub spec: FlowSpec,
    /// What became of it.
    pub record: FlowRecord,
}

impl EndedFlow {
    /// A flow that had not come to its start when the run ended.
    pub const fn not_started(flow: u32, spec: FlowSpec) -> Self {
        let record = FlowRecord::not_started(&spec);
        Self { flow, spec, record }
    }
}

/// A PFC frame that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PfcEvent {
    /// When.
    pub at: Time,
    /// The node that is paused or resumed.
    pub node: NodeId,
    /// Whether that node is a switch.
    pub is_switch: bool,
    /// Its interface, counted from 1 in the order of links.
    pub interface: u32,
    /// The class.
    pub class: u8,
    /// Pause, or resume.
    pub pause: bool,
}

/// Totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Events executed.
    pub events: u64,
    /// Transmissions of data packets over a link.
    pub data_hops: u64,
    /// Transmissions of ACKs and NACKs.
    pub ack_hops: u64,
    /// Transmissions of PFC frames, CNPs, SRCs and CNMs.
    pub control_hops: u64,
    /// Bytes of all packets other than data, summed over links.
    pub control_bytes: u64,
    /// Data packets that reached their receiver.
    pub data_received: u64,
    /// Packets dropped in switches, for lack of buffer or by the half of a scheme.
    pub buffer_drops: u64,
    /// Of these, packets of classes under flow control: the headroom was too small.
    pub lossless_drops: u64,
    /// Of them, packets that the PFC watchdog dropped; not counted as those of classes under flow control.
    pub watchdog_drops: u64,
    /// Data packets of which switches dropped only the payload, not counted above.
    pub trimmed: u64,
    /// Packets of any kind lost on links (errors, failures) or without a route.
    pub link_drops: u64,
    /// Data packets marked "congestion experienced" (each counted once).
    pub marked: u64,
    /// Data packets marked as undetermined where they had no mark (ternary detection; some are marked as above further
    /// on).
    pub undetermined: u64,
    /// Congestion notifications that reached a sender (as packets or as flags in ACKs).
    pub notifications: u64,
    /// Packets that switches sent to senders about congestion (SRC, CNM).
    pub notices: u64,
    /// Grants that receivers sent.
    pub grants: u64,
    /// Negative acknowledgements sent.
    pub nacks: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Pauses of a (port, class) that began.
    pub pauses: u64,
    /// PFC pause frames received: those that begin a pause and those that renew one.
    pub pause_frames: u64,
    /// PFC resume frames received.
    pub resume_frames: u64,
    /// Time that (port, class) pairs spent paused, summed.
    pub paused_ps: u64,
    /// Payload bytes sent more than once.
    pub retransmitted_bytes: u64,
}

impl Counters {
    /// So many times in [`Self::add`], what was counted is taken away.
    pub const MINUS_ONE: u64 = u64::MAX;

    /// Adds what was counted elsewhere, so many times.
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

    /// Transmissions of a packet of any kind over a link: the unit of work.
    pub const fn packet_hops(&self) -> u64 {
        self.data_hops + self.ack_hops + self.control_hops
    }
}

/// Round-trip times, in picoseconds, with exact extremes and sum.
#[derive(Clone, Debug, PartialEq)]
pub struct RttStats {
    /// Distribution in nanoseconds (exact to 1/16384 of the value).
    pub histogram_ns: Histogram<u64>,
    /// Sum in picoseconds.
    pub sum_ps: u128,
    /// Largest, in picoseconds.
    pub max_ps: u64,
    /// Number of samples.
    pub samples: u64,
}

/// One sample of a flow's round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// When the acknowledgement arrived.
    pub at: Time,
    /// Which flow.
    pub flow: u32,
    /// Acknowledged byte.
    pub seq: u64,
    /// From the start of the data packet's transmission.
    pub rtt: Span,
}

/// Queue samples of one switch port.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRecord {
    /// Which port.
    pub port: PortRef,
    /// How many samples had `k` KB (1000 bytes) or more and less than `k + 1` KB.
    pub histogram_kb: Vec<u64>,
    /// Largest sample.
    pub max: Bytes,
    /// Sum of the samples.
    pub sum: u128,
    /// The samples over time, in bytes. When the series of all ports are too long, the longest of
    /// them get wider bins, each for itself.
    pub series: Binned,
}

/// What a detector found a class of one switch port to be, over time.
#[derive(Clone, Debug, PartialEq)]
pub struct StateRecord {
    /// Which port.
    pub port: PortRef,
    /// Which priority class, or which lane.
    pub priority: u8,
    /// The samples over time: [`paceline_congestion::detect::PortState`] as a number, or credits.
    pub series: Binned,
}

/// ns-3's dump of the queue histograms so far.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueDump {
    /// When.
    pub at: Time,
    /// Histograms in the order of [`Outcome::queues`], each up to its largest bin.
    pub histograms_kb: Vec<Vec<u64>>,
}

/// Goodput of one flow over time.
#[derive(Clone, Debug, PartialEq)]
pub struct RateRecord {
    /// Which flow.
    pub flow: u32,
    /// Bin of the first value.
    pub first_bin: u64,
    /// Bytes acknowledged in each bin.
    pub bytes: Vec<u64>,
}

/// What happened to a traced packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceKind {
    /// Its last bit arrived.
    Receive,
    /// It entered an egress queue.
    Enqueue,
    /// Its transmission started.
    Dequeue,
    /// It was dropped.
    Drop,
}

/// Kinds of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PacketKind {
    /// Payload.
    Data,
    /// Acknowledgement.
    Ack,
    /// Negative acknowledgement.
    Nack,
    /// Congestion notification packet.
    Cnp,
    /// What the switch's half of a scheme tells a sender (Bolt's SRC, QCN's CNM).
    Signal,
    /// PFC pause frame.
    Pause,
    /// PFC resume frame.
    Resume,
    /// Flow-control packet of a network under credits.
    Credit,
    /// A receiver's grant: what its sender may send.
    Grant,
}

impl PacketKind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Data,
        Self::Ack,
        Self::Nack,
        Self::Cnp,
        Self::Signal,
        Self::Pause,
        Self::Resume,
        Self::Credit,
        Self::Grant,
    ];
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// Its name in files.
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
        }
    }

    /// Which packets of a flow it is of, where those wait ([`blame`]).
    pub const fn waiting(self) -> blame::Waiting {
        match self {
            Self::Data => blame::Waiting::Data,
            Self::Ack | Self::Nack => blame::Waiting::Acks,
            _ => blame::Waiting::Control,
        }
    }

    /// Whether it is a frame of priority flow control, which ends at the port that it comes to.
    #[inline(always)]
    pub const fn is_pfc(self) -> bool {
        matches!(self, Self::Pause | Self::Resume)
    }
}

crate::named_value!(PacketKind);

/// One event of a traced packet, at a node or port that [`crate::spec::RecordSpec`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When.
    pub at: Time,
    /// Where.
    pub node: NodeId,
    /// At which of the node's interfaces, from 1 in the order of links.
    pub interface: u32,
    /// What happened.
    pub event: TraceKind,
    /// Bytes in the port's queue of the packet's class, the packet included at `Enqueue` and
    /// excluded at `Dequeue`; 0 in hosts.
    pub queue_bytes: u32,
    /// The packet's kind.
    pub kind: PacketKind,
    /// Of a signal: its place in [`Outcome::signals`]. Otherwise 0.
    pub signal: u8,
    /// Its flow; `u32::MAX` for PFC frames and flow-control packets.
    pub flow: u32,
    /// Data: offset of the first payload byte. ACK, NACK: next expected byte. Flow-control packets: up to where the other
    /// end may send (FCCL). Otherwise 0.
    pub seq: u64,
    /// Payload bytes. Flow-control packets: what was sent so far (FCTBS).
    pub payload: u32,
    /// Bytes on the wire.
    pub wire: u32,
    /// Priority class (of a PFC frame: the class that it pauses or resumes; of a flow-control packet: its lane).
    pub class: u8,
    /// Congestion mark. In ACKs, the echo of the data packet's.
    pub mark: Mark,
    /// Time that a pause frame asks for.
    pub pause: Span,
}

/// Decisions that took time at NICs (see [`paceline_congestion::api::Decisions`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DecisionStats {
    /// Decisions that took effect.
    pub made: u64,
    /// Those that made a policy, of schemes whose decisions mostly watch ([`paceline_congestion::Ctx::count_trigger`]).
    pub triggers: u64,
    /// Decisions whose flow had ended before they could.
    pub flow_ended: u64,
    /// Decisions that waited or were worked on when the run ended.
    pub under_way: u64,
    /// Decisions that were started: those whose waiting time is known.
    pub started: u64,
    /// How long these waited for a processor, summed, in ps.
    pub waited_ps: u128,
    /// The longest of those times.
    pub waited_max: Span,
    /// NICs that had decisions to make.
    pub nics: u32,
    /// Time that their processors worked, summed, in ps.
    pub busy_ps: u128,
    /// Time that they could have worked, from each NIC's first decision to its last, in ps.
    pub available_ps: u128,
    /// Whether some NIC has any number of processors.
    pub any_number: bool,
}

impl DecisionStats {
    /// The share of time that processors worked, from each NIC's first decision to its last; `None`
    /// where a NIC has any number of them.
    pub fn busy_share(&self) -> Option<f64> {
        let known = !self.any_number && self.available_ps > 0;
        known.then(|| self.busy_ps as f64 / self.available_ps as f64)
    }
}

/// Everything that a run leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// When the run ended.
    pub end: Time,
    /// Flows, in the order of the specification; none where they come as a stream.
    pub flows: Vec<FlowRecord>,
    /// Of a stream of flows: those that are over and were not taken (`Simulation::take_ended`), in the
    /// order of their ends, then those that are not, in the order of their starts.
    pub ended: Vec<EndedFlow>,
    /// How many flows of the stream have come to their start.
    pub begun: u32,
    /// What each program has left behind.
    pub programs: Vec<ModelOutcome>,
    /// Indices of completed flows in the order of completion.
    pub completions: Vec<u32>,
    /// Totals.
    pub counters: Counters,
    /// PFC frames received, in order of time, unless [`crate::spec::RecordSpec::omit_pfc`].
    pub pfc: Vec<PfcEvent>,
    /// Round-trip times, one sample per flow and round trip.
    pub rtt_per_round_trip: RttStats,
    /// Round-trip times, one sample per acknowledgement.
    pub rtt_per_ack: RttStats,
    /// With [`crate::spec::RecordSpec::latency`]: from the instant at which a sender's NIC begins with a data packet until
    /// its receiver has all of it (the time that the receiver's host takes included), of each that came with its payload.
    pub latency: Option<RttStats>,
    /// With [`crate::spec::RecordSpec::halves`]: what the run would have left behind at half of its time.
    pub first_half: Option<Box<Self>>,
    /// With [`crate::spec::RecordSpec::rtt_samples`].
    pub rtt_samples: Vec<RttSample>,
    /// With [`crate::spec::RecordSpec::queue_every`], a record per switch port.
    pub queues: Vec<QueueRecord>,
    /// With [`crate::spec::RecordSpec::queue_dump_every`].
    pub queue_dumps: Vec<QueueDump>,
    /// With [`crate::spec::RecordSpec::state_every`], a record per switch port and class with data and a detector.
    pub states: Vec<StateRecord>,
    /// With [`crate::spec::RecordSpec::port_bin`].
    pub ports: Option<PortSeries>,
    /// With [`crate::spec::RecordSpec::flow_every`], in the order of flows.
    pub flow_series: Vec<FlowSeries>,
    /// Largest queue of any switch port, whether or not queues were sampled.
    pub queue_max: Bytes,
    /// With [`crate::spec::RecordSpec::rate_every`].
    pub rates: Vec<RateRecord>,
    /// Width of their bins: what was asked for, or that times a power of two where they are too many.
    pub rate_bin: Span,
    /// With [`crate::spec::RecordSpec::trace_nodes`] or `trace_ports`, in order of time.
    pub trace: Vec<TraceEvent>,
    /// What the signals of the run's schemes are called.
    pub signals: Vec<&'static str>,
    /// The base round-trip time and bandwidth-delay product of the network, as the reference
    /// defines them (largest over all pairs of hosts that have flows).
    pub base_rtt: Span,
    /// See `base_rtt`.
    pub bdp: Bytes,
    /// Where the time of flows went, with [`crate::spec::RecordSpec::accounts`], in the order of flows.
    pub accounts: Vec<account::FlowAccount>,
    /// With [`crate::spec::RecordSpec::flow_probes`], in the order of flows.
    pub flow_probes: Vec<flow_probe::FlowProbe>,
    /// Tables of recorders.
    pub tables: Tables,
    /// Pauses that will never end, if there are any.
    pub deadlock: Option<Deadlock>,
    /// Storms that the PFC watchdog has found, in order of time.
    pub storms: Vec<WatchdogStorm>,
    /// What decisions that take time came to; `None` if no sender asked for any.
    pub decisions: Option<DecisionStats>,
    /// Of the network of another simulator ([`crate::RunSpec::model`]), what it has alongside the rest.
    pub model: Option<ModelOutcome>,
    /// Under credits, with [`crate::spec::RecordSpec::credit_every`]: those of each lane of each port that ever sent
    /// anything.
    pub credit_series: Vec<StateRecord>,
    /// Under credits: how often and how long ports waited for some.
    pub stalls: credits::Stalls,
    /// Who lost where packets of lossy classes arrived for one port at the same instant.
    pub ties: TiedArrivals,
    /// Whether chance had a say: something was drawn from a random stream of the seed, or a path or the order of an
    /// instant was chosen by a hash that depends on it. If not, the same flows do the same under any other seed.
    pub hangs_on_seed: bool,
    /// Phases that were taken from memory, where they were kept.
    pub repeats: Option<Repeats>,
    /// A digest of the order and time of all events: equal runs have equal digests.
    pub digest: u64,
}
