//! `trace.pcapng`: traced packets in the format that Wireshark reads.
//!
//! The packets are reconstructed from the simulator's records, as RoCEv2 packets of RDMA WRITEs with payloads of zeros
//! (see `wire`). An interface stands for a traced port, times are in picoseconds. A packet is written when it arrives
//! (inbound) and when its transmission starts (outbound). Of a network under credits they are InfiniBand's, with its
//! flow-control packets (see `infiniband`). With reliable unordered delivery they are Ultra Ethernet's (see `uet`).
//!
//! Lengths are those of the simulated packets, so that rates computed from them are the simulated ones. Headers of the
//! simulated packets may be shorter than RoCEv2's: then the payload of a data frame is shorter, too. Where headers
//! alone are longer, the frame is, and the file's comment says so (see `Longer`).

mod infiniband;
mod pcapng;
mod uet;
mod wire;

use std::io::{self, Write};
use std::num::NonZeroU32;

use paceline_congestion::Mark;
use paceline_fabric::outcome::{FlowRecord, FlowStatus, Outcome, PacketKind, TraceEvent, TraceKind};
use paceline_fabric::spec::{Binding, FlowSpec, LaneSpec, NodeId, Recovery, RunSpec};
use paceline_kernel::sorted::{SortedMap, SortedSet};
use paceline_kernel::{BitRate, Bytes, Span, Time};
use paceline_scenario::NodeNames;

use super::ns3::interfaces;
use pcapng::{Direction, Interface, Writer};

/// Link types: Ethernet frames, and ERF records, which distinguish data packets of InfiniBand from link packets.
const LINK_TYPE_ETHERNET: u16 = 1;
const LINK_TYPE_ERF: u16 = 197;

/// Snap length that truncates nothing. Wireshark reports truncated RoCEv2 packets as malformed.
pub(super) const WHOLE: u32 = 65_535;

/// Writes the trace of a run, at most `snap_length` bytes of each packet. Interfaces have the names of nodes.
pub(super) fn write(
    out: &mut impl Write,
    spec: &RunSpec,
    names: &NodeNames,
    outcome: &Outcome,
    snap_length: u32,
) -> io::Result<()> {
    let ports = traced_ports(spec, names);
    let posted = Posted::of(spec, outcome);
    let link_type = match is_infiniband(spec) {
        true => LINK_TYPE_ERF,
        false => LINK_TYPE_ETHERNET,
    };
    // The comment is in the first block of the file, so lengths are compared before any packet is written.
    let longer = Longer::find(spec, &posted, &outcome.trace);
    let application = format!("Paceline {}", crate::identity::version());
    let mut writer = Writer::new(out, &application, &longer.comment())?;
    for port in &ports {
        writer.interface(&Interface {
            name: &port.name,
            rate: port.rate,
            link_type,
            snap_length,
        })?;
    }
    for event in &outcome.trace {
        let Some(direction) = direction(event) else {
            continue;
        };
        let key = (event.node.0, event.interface);
        let Ok(index) = ports.binary_search_by_key(&key, |port| (port.node, port.interface)) else {
            continue;
        };
        let sent_as = posted.sent_as(event.flow);
        let Some((bytes, length)) = frame(spec, event, sent_as, ports[index].rate) else {
            continue;
        };
        let kept = &bytes[..bytes.len().min(snap_length as usize)];
        writer.packet(index as u32, event.at, direction, kept, length as u32)?;
    }
    Ok(())
}

/// Returns the direction in which a packet passes its port; `None` for events inside the node.
fn direction(event: &TraceEvent) -> Option<Direction> {
    match event.event {
        TraceKind::Receive => Some(Direction::Inbound),
        TraceKind::Dequeue => Some(Direction::Outbound),
        TraceKind::Enqueue | TraceKind::Drop => None,
    }
}

/// Returns true if the links are InfiniBand's. With credits that are returned per event they are Ethernet's.
fn is_infiniband(spec: &RunSpec) -> bool {
    let told_in_periods = |lanes: &LaneSpec| matches!(lanes.binding, Binding::Ib { .. });
    let model = spec.model.as_ref();
    model.is_some_and(|model| model.credit_lanes() > 0) || spec.lanes.as_deref().is_some_and(told_in_periods)
}

/// Builds an event's packet for its link type and returns it with its length on the wire; `None` if its flow is
/// unknown.
fn frame(spec: &RunSpec, event: &TraceEvent, sent_as: SentAs, rate: BitRate) -> Option<(Vec<u8>, usize)> {
    if is_infiniband(spec) {
        let bytes = infiniband::record(spec, event, sent_as)?;
        let length = bytes.len();
        return Some((bytes, length));
    }
    let bytes = packet(spec, event, sent_as, rate)?.bytes();
    // The simulator's packets may carry more than the real ones: telemetry.
    let length = bytes.len().max(event.wire as usize);
    Some((bytes, length))
}

/// (simulated, written) lengths of the frames that are longer than their simulated packets, by kind of packet.
struct Longer(SortedMap<&'static str, SortedSet<(usize, usize)>>);

impl Longer {
    /// Maximum number of lengths that the comment lists per kind of packet.
    const NAMED: usize = 4;

    fn find(spec: &RunSpec, posted: &Posted, trace: &[TraceEvent]) -> Self {
        let mut found: SortedMap<_, SortedSet<_>> = SortedMap::new();
        for event in trace.iter().filter(|event| direction(event).is_some()) {
            let sent_as = posted.sent_as(event.flow);
            let length = match is_infiniband(spec) {
                true => infiniband::length(spec, event, sent_as),
                // The line rate affects only the duration in pause frames.
                false => packet(spec, event, sent_as, BitRate::from_bps(0)).map(|packet| packet.length()),
            };
            let wire = event.wire as usize;
            if let Some(length) = length.filter(|&length| length > wire) {
                found
                    .entry(plural(event.kind))
                    .or_default()
                    .insert((wire, length));
            }
        }
        Self(found)
    }

    /// Returns the comment of the file, which lists the lengths that differ from the simulated ones.
    fn comment(&self) -> String {
        let mut text =
            "Made from a simulation: headers and payloads are made up, lengths are the simulated ones."
                .to_owned();
        if self.0.is_empty() {
            return text;
        }
        text.push_str(" Longer than simulated, for their headers: ");
        let kinds = self.0.iter().map(|(kind, lengths)| {
            let named = lengths
                .iter()
                .take(Self::NAMED)
                .map(|(wire, length)| format!("{length} for {wire} bytes"));
            let mut named: Vec<String> = named.collect();
            if lengths.len() > Self::NAMED {
                named.push("..".to_owned());
            }
            format!("{kind} ({})", named.join(", "))
        });
        text.push_str(&kinds.collect::<Vec<_>>().join("; "));
        text.push('.');
        text
    }
}

fn plural(kind: PacketKind) -> &'static str {
    match kind {
        PacketKind::Data => "data packets",
        PacketKind::Ack => "acknowledgements",
        PacketKind::Nack => "negative acknowledgements",
        PacketKind::Pause | PacketKind::Resume => "pause frames",
        PacketKind::Credit => "flow-control packets",
        _ => "notifications",
    }
}

struct Port {
    node: u32,
    interface: u32,
    rate: BitRate,
    name: String,
}

/// Returns the traced ports, those of traced nodes and single ones, in order of node and interface.
fn traced_ports(spec: &RunSpec, names: &NodeNames) -> Vec<Port> {
    let nodes: SortedSet<u32> = spec.record.trace_nodes.iter().map(|node| node.0).collect();
    let single = spec
        .record
        .trace_ports
        .iter()
        .map(|(node, peer)| (node.0, peer.0));
    let single: SortedSet<(u32, u32)> = single.collect();
    let mut peers = vec![Vec::new(); spec.nodes.len()];
    for link in &spec.links {
        peers[link.a.0 as usize].push(link.b.0);
        peers[link.b.0 as usize].push(link.a.0);
    }
    let peer = |node: u32, interface: u32| peers[node as usize][interface as usize - 1];
    let is_traced = |&(node, interface, _): &(u32, u32, u64)| {
        nodes.contains(&node) || single.contains(&(node, peer(node, interface)))
    };
    let port = |(node, interface, bps): (u32, u32, u64)| Port {
        node,
        interface,
        rate: BitRate::from_bps(bps),
        name: format!(
            "{}, port {interface} to {}",
            names.numbered(node),
            names.numbered(peer(node, interface))
        ),
    };
    interfaces(spec).into_iter().filter(is_traced).map(port).collect()
}

/// Queue pair that a flow uses.
#[derive(Clone, Copy)]
struct SentAs {
    /// First flow of its persistent connection, or the flow itself: the queue pair is named after it.
    named_by: u32,
    /// Bytes sent over the queue pair before the flow.
    start: u64,
}

/// Queue pairs of the flows that use a persistent connection.
struct Posted(SortedMap<u32, SentAs>);

impl Posted {
    /// Assigns sequence numbers; messages are posted in the order of their starts.
    fn of(spec: &RunSpec, outcome: &Outcome) -> Self {
        let mtu = spec.packet.mtu.get().max(1);
        let mut messages: Vec<(NonZeroU32, Time, u32)> = Vec::new();
        let started = |record: &FlowRecord| record.status != FlowStatus::NotStarted;
        for (flow, (described, record)) in (0..).zip(spec.flows.iter().zip(&outcome.flows)) {
            if let Some(connection) = described.connection.filter(|_| started(record)) {
                messages.push((connection, record.start, flow));
            }
        }
        messages.sort_unstable();
        let mut ends: SortedMap<NonZeroU32, u64> = SortedMap::new();
        let mut first: SortedMap<NonZeroU32, u32> = SortedMap::new();
        // The smallest number names a queue pair, independently of the order of starts.
        for &(connection, _, flow) in &messages {
            let known = first.entry(connection).or_insert(flow);
            *known = (*known).min(flow);
        }
        let assign = |(connection, _, flow): (NonZeroU32, Time, u32)| {
            let end = ends.entry(connection).or_default();
            let start = *end;
            // Each message begins with a new packet, so numbers go on after a whole packet.
            *end += spec.flows[flow as usize].size.get().next_multiple_of(mtu);
            let named_by = first[&connection];
            (flow, SentAs { named_by, start })
        };
        Self(messages.into_iter().map(assign).collect())
    }

    /// Returns the queue pair of a flow.
    fn sent_as(&self, flow: u32) -> SentAs {
        let own = SentAs {
            named_by: flow,
            start: 0,
        };
        self.0.get(&flow).copied().unwrap_or(own)
    }
}

/// Builds the packet of an event; returns `None` if the flow is unknown.
fn packet(spec: &RunSpec, event: &TraceEvent, sent_as: SentAs, rate: BitRate) -> Option<wire::Packet> {
    if matches!(event.kind, PacketKind::Pause | PacketKind::Resume) {
        let quanta = match event.kind {
            PacketKind::Pause => pause_quanta(event.pause, rate),
            _ => 0,
        };
        return Some(wire::Packet::Pfc {
            node: event.node.0,
            class: event.class,
            quanta,
        });
    }
    let flow = spec.flows.get(event.flow as usize)?;
    let data = event.kind == PacketKind::Data;
    let ends = ends(flow, data);
    let ecn_capable = spec
        .schemes
        .get(flow.scheme as usize)
        .is_some_and(|scheme| scheme.config.needs().ecn);
    let marked = data && event.mark == Mark::Congested;
    let header = wire::Header {
        from: ends.0.0,
        to: ends.1.0,
        source_port: flow.sport,
        class: flow.class,
        ecn: if marked { 3 } else { u8::from(ecn_capable) * 2 },
        queue_pair: wire::queue_pair(sent_as.named_by, data),
    };
    let message = message(spec, flow, event, sent_as.start);
    let mut packet = match spec.nic.recovery {
        Recovery::Rud(_) => wire::Packet::Uet { header, message },
        Recovery::GoBackN | Recovery::SelectiveRepeat(_) => wire::Packet::Roce { header, message },
    };
    packet.fit(event.wire as usize);
    Some(packet)
}

/// Returns the source and destination host of a packet of a flow.
fn ends(flow: &FlowSpec, data: bool) -> (NodeId, NodeId) {
    match data {
        true => (flow.src, flow.dst),
        false => (flow.dst, flow.src),
    }
}

/// Builds the message of a flow's packet; its queue pair has sent `start` bytes before the flow.
fn message(spec: &RunSpec, flow: &FlowSpec, event: &TraceEvent, start: u64) -> wire::Message {
    let mtu = spec.packet.mtu.get().max(1);
    let expected = (event.seq / mtu) as u32;
    let end = start + flow.size.get();
    match event.kind {
        PacketKind::Data => wire::Message::Write {
            number: expected,
            first: event.seq == start,
            last: event.seq + u64::from(event.payload) >= end,
            // Both fields have 32 bits.
            length: u32::try_from(flow.size.get()).unwrap_or(u32::MAX),
            offset: u32::try_from(event.seq.saturating_sub(start)).unwrap_or(u32::MAX),
            // The last packet may be simulated at full length; its payload is only the rest of the message.
            payload: u64::from(event.payload).min(end.saturating_sub(event.seq)) as u32,
        },
        PacketKind::Ack => wire::Message::Ack {
            // An ACK has the number of the last packet that arrived in order.
            number: (event.seq.div_ceil(mtu) as u32).wrapping_sub(1),
            complete: event.seq >= end,
            congested: event.mark.is_set(),
        },
        PacketKind::Nack => wire::Message::Nack {
            number: expected,
            congested: event.mark.is_set(),
        },
        _ => wire::Message::Cnp,
    }
}

/// Returns a pause in units of 512 bit times; the maximum for a pause without end.
fn pause_quanta(pause: Span, rate: BitRate) -> u16 {
    if pause == Span::ZERO {
        return u16::MAX;
    }
    let bits = rate.bytes_in(pause).get().saturating_mul(8);
    u16::try_from(Bytes::new(bits.div_ceil(512)).get()).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
