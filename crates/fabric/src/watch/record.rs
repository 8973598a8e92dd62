//! Records that a run makes while it goes.

use crate::core::packet::Packet;
use crate::core::port::{Port, Ports};
use crate::ids::{FlowId, PortId};
use crate::world::classes::{Classes, STRICT};
use crate::world::links::Profiles;
use flows::FlowRecorder;
use paceline_kernel::ids::List;
use paceline_kernel::{Bytes, Span, Time};
use paceline_run::outcome::{
    Binned, PacketKind, PfcEvent, PortRef, QueueDump, QueueRecord, Room, RttSample, TraceEvent, TraceKind,
};
use paceline_run::spec::{FlowControl, NodeId, PfcMode, RecordSpec, RunSpec};
use ports::PortRecorder;
use rates::Rates;
pub(crate) use round_trips::RoundTrips;
use serde::{Deserialize, Serialize};
use states::ClassRecorder;

mod flows;
mod hooks;
mod merge;
mod ports;
mod rates;
pub(crate) mod round_trips;
mod states;

/// Upper limit of the bins of all ports' queues together: 20 MB.
const QUEUE_BINS_MAX: usize = 1 << 19;

/// Recorders of a run. One that is not requested is empty and costs a comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recorder {
    pub(crate) ports: PortRecorder,
    pub(crate) flows: FlowRecorder,
    pub(crate) states: ClassRecorder,
    pub(crate) credits: ClassRecorder,
    /// True if acknowledgements are shown to recorders of flows.
    pub(crate) follows_flows: bool,
    pub(crate) tracing: bool,
    /// True for ports whose packets are traced.
    #[serde(skip)]
    traced: List<PortId, bool>,
    /// First and last instant of tracing, in ps.
    trace_window: (u64, u64),
    /// Interface number of each port at its node, from 1 in the order of links.
    #[serde(skip)]
    interfaces: List<PortId, u32>,
    pub(crate) pfc: Vec<PfcEvent>,
    pub(crate) rtt_per_round_trip: RoundTrips,
    pub(crate) rtt_per_ack: RoundTrips,
    pub(crate) rtt_samples: Vec<RttSample>,
    /// One-way latency of data packets, if requested.
    pub(crate) latency: Option<RoundTrips>,
    pub(crate) queues: Vec<QueueRecord>,
    /// Ports in the order of `queues`.
    #[serde(skip)]
    sampled: Vec<PortId>,
    /// Time of the next sample of the queues, in ps; `u64::MAX` for none, or if samples are events.
    pub(crate) queues_due: u64,
    /// Number of samples of the queues so far.
    samples: u64,
    room: Room,
    pub(crate) queue_dumps: Vec<QueueDump>,
    pub(crate) rates: Rates,
    pub(crate) trace: Vec<TraceEvent>,
}

impl Recorder {
    pub(super) fn new(run: &RunSpec, ports: &Ports, profiles: &Profiles, classes: &Classes) -> Self {
        let (spec, nodes) = (&run.record, run.nodes.len());
        let traced = traced(spec, ports);
        let mut interfaces: List<PortId, u32> = List::new();
        let mut counts: List<NodeId, u32> = List::of(nodes, 0);
        for port in ports {
            counts[port.node] += 1;
            interfaces.push(counts[port.node]);
        }
        let mut sampled: Vec<PortId> = Vec::new();
        if spec.queue_every.is_some() {
            sampled = ports.ids().filter(|&id| !ports[id].is_host).collect();
            // The order of results: by node, then by interface.
            sampled.sort_by_key(|&id| (ports[id].node, interfaces[id]));
        }
        let from = spec.queue_window.0.as_ps();
        let every = spec.queue_every.map_or(1, |every| every.as_ps().max(1));
        let record = |&id: &PortId| QueueRecord {
            port: PortRef {
                node: ports[id].node,
                interface: interfaces[id],
                peer: ports[ports[id].peer].node,
            },
            histogram_kb: Vec::new(),
            max: Bytes::ZERO,
            sum: 0,
            series: Binned::new(from, every, 0, from),
        };
        let room = Room::new(QUEUE_BINS_MAX, sampled.len());
        let queues = sampled.iter().map(record).collect();
        let flows = FlowRecorder::new(run);
        Self {
            ports: PortRecorder::new(run, ports, profiles),
            follows_flows: flows.is_on() || spec.rate_every.is_some(),
            flows,
            states: ClassRecorder::of_states(run, ports, classes),
            credits: ClassRecorder::of_credits(run, ports),
            tracing: traced.as_slice().contains(&true),
            traced,
            trace_window: spec
                .trace_window
                .map_or((0, u64::MAX), |(from, to)| (from.as_ps(), to.as_ps())),
            interfaces,
            pfc: Vec::new(),
            rtt_per_round_trip: RoundTrips::new(),
            rtt_per_ack: RoundTrips::new(),
            rtt_samples: Vec::new(),
            latency: spec.latency.then(RoundTrips::new),
            queues,
            sampled,
            queues_due: u64::MAX,
            samples: 0,
            room,
            queue_dumps: Vec::new(),
            rates: Rates::new(spec.rate_every, run.flow_count()),
            trace: Vec::new(),
        }
    }

    /// Returns the last instant before the next sample that is no event.
    pub(crate) fn free_until(&self) -> u64 {
        let sampled = self.ports.due().min(self.flows.due()).min(self.states.due());
        let sampled = sampled.min(self.credits.due());
        sampled.min(self.queues_due.max(1)) - 1
    }

    pub(crate) fn interface(&self, port: PortId) -> u32 {
        self.interfaces[port]
    }

    pub(crate) fn record_rate(&mut self, flow: FlowId, now: u64, bytes: u64) {
        self.rates.add(flow, now, bytes);
    }

    /// Returns true if events at a port are traced now.
    pub(crate) fn traces(&self, port: PortId, now: u64) -> bool {
        let (from, to) = self.trace_window;
        self.traced[port] && (from..=to).contains(&now)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a record of many fields, built in one place"
    )]
    pub(super) fn trace(
        &mut self,
        now: u64,
        node: NodeId,
        port: PortId,
        event: TraceKind,
        packet: &Packet,
        queue_bytes: u32,
        classes: &Classes,
        spec: &RunSpec,
    ) {
        if !self.traces(port, now) {
            return;
        }
        let pause = match (packet.kind, spec.switch.flow_control) {
            (PacketKind::Pause, FlowControl::Pfc(pfc)) => match pfc.mode {
                PfcMode::Quanta { pause } => pause,
                PfcMode::OnOff => Span::MAX,
            },
            _ => Span::ZERO,
        };
        let got = match packet.kind {
            PacketKind::Credit => (u64::from(packet.note), packet.answers, packet.class - STRICT - 1),
            // A signal has the scheme's words in the field of the payload.
            PacketKind::Signal => (packet.seq, 0, classes.priority(packet.class)),
            _ => (
                packet.seq,
                u32::from(packet.payload),
                classes.priority(packet.class),
            ),
        };
        let (seq, payload, class) = got;
        self.trace.push(TraceEvent {
            at: Time::from_ps(now),
            node,
            interface: self.interfaces[port],
            event,
            queue_bytes,
            kind: packet.kind,
            signal: match packet.kind {
                PacketKind::Signal => packet.tag,
                _ => 0,
            },
            flow: packet.flow.0,
            seq,
            payload,
            wire: u32::from(packet.wire),
            class,
            mark: packet.mark,
            pause,
        });
    }

    /// Ends the series of queues.
    pub(crate) fn finish_queues(&mut self) {
        for queue in &mut self.queues {
            queue.series.finish(self.samples);
        }
    }
}

/// Returns true for each port whose packets are traced.
fn traced(spec: &RecordSpec, ports: &Ports) -> List<PortId, bool> {
    let is_traced = |port: &Port| {
        let ends = (port.node, ports[port.peer].node);
        spec.trace_nodes.contains(&ends.0) || spec.trace_ports.contains(&ends)
    };
    ports.iter().map(is_traced).collect()
}
