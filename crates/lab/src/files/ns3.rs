//! Output files as HPCC's ns-3 simulator writes them.
//!
//! The only errors of these functions are those of the writer.

use std::io::{self, Write};

use paceline_fabric::outcome::{Outcome, PacketKind, TraceEvent, TraceKind};
use paceline_fabric::spec::{FlowSpec, NodeId, NodeKind, RunSpec};

use super::line::Line;
use crate::results::FlowRows;

/// Returns the IPv4 address of a node: `11.x.y.1`, with x the node's number over 256 and y the rest.
pub(crate) const fn address(node: NodeId) -> u32 {
    0x0b00_0001 + ((node.0 / 256) << 16) + ((node.0 % 256) << 8)
}

/// Formats an address as eight digits.
fn hexadecimal(address: u32) -> [u8; 8] {
    let digit = |index: usize| b"0123456789abcdef"[(address >> (28 - 4 * index) & 15) as usize];
    std::array::from_fn(digit)
}

/// Writes `fct.txt`: per completed flow, in order of completion, `src dst sport dport size start fct ideal` (addresses
/// in hexadecimal, bytes, ns).
pub fn fct(out: &mut impl Write, flows: &FlowRows) -> io::Result<()> {
    let mut line = Line::new(b' ');
    for flow in flows.completions() {
        line.text(&hexadecimal(address(NodeId(flow.src))))
            .text(&hexadecimal(address(NodeId(flow.dst))))
            .int(flow.sport)
            .int(flow.dport)
            .int(flow.size)
            .int(flow.start_ps / 1000)
            .int(flow.fct_ps.unwrap_or(0) / 1000)
            .int(flow.ideal_ps / 1000)
            .end(out)?;
    }
    flows.check()
}

/// Writes `pfc.txt`: per PFC frame received, `time node is_switch interface pause` (ns; 1 for yes).
pub fn pfc(out: &mut impl Write, outcome: &Outcome) -> io::Result<()> {
    for event in &outcome.pfc {
        writeln!(
            out,
            "{} {} {} {} {}",
            event.at.as_ns(),
            event.node.0,
            u8::from(event.is_switch),
            event.interface,
            u8::from(event.pause)
        )?;
    }
    Ok(())
}

/// Writes `qlen.txt`, cumulative histograms of the queues: `time: <ns>`, then for every switch port `switch interface
/// c0 c1 ...` with the number of samples of 0, 1, ... KB.
///
/// A run that was not asked for dumps has one, of its end.
pub fn qlen(out: &mut impl Write, spec: &RunSpec, outcome: &Outcome) -> io::Result<()> {
    let mut dump = |at: paceline_kernel::Time, histograms: &mut dyn Iterator<Item = &Vec<u64>>| {
        writeln!(out, "time: {}", at.as_ns())?;
        for (queue, histogram) in outcome.queues.iter().zip(histograms) {
            write!(out, "{} {}", queue.port.node.0, queue.port.interface)?;
            histogram.iter().try_for_each(|count| write!(out, " {count}"))?;
            writeln!(out)?;
        }
        io::Result::Ok(())
    };
    for taken in &outcome.queue_dumps {
        dump(taken.at, &mut taken.histograms_kb.iter())?;
    }
    if spec.record.queue_dump_every.is_none() && !outcome.queues.is_empty() {
        dump(
            outcome.end,
            &mut outcome.queues.iter().map(|queue| &queue.histogram_kb),
        )?;
    }
    Ok(())
}

/// Writes `rtt_samples.txt`: `time src dst sport acked rtt`, times in ns.
pub fn rtt_samples(out: &mut impl Write, flows: &FlowRows, outcome: &Outcome) -> io::Result<()> {
    // Flows of traces and streams are no part of the run's description.
    let ends: Vec<(u32, u32, u16)> = flows
        .entries()
        .map(|flow| (flow.src, flow.dst, flow.sport))
        .collect();
    flows.check()?;
    for sample in &outcome.rtt_samples {
        let (src, dst, sport) = ends[sample.flow as usize];
        writeln!(
            out,
            "{} {src} {dst} {sport} {} {}",
            sample.at.as_ns(),
            sample.seq,
            sample.rtt.as_ns()
        )?;
    }
    Ok(())
}

/// Writes `trace.tr`, the binary packet trace: a header with every interface's rate and the largest window, then a
/// record of 56 bytes per event.
pub(super) fn trace(out: &mut impl Write, spec: &RunSpec, outcome: &Outcome) -> io::Result<()> {
    let interfaces = interfaces(spec);
    out.write_all(&(interfaces.len() as u32).to_le_bytes())?;
    for (node, interface, bps) in interfaces {
        out.write_all(&(node as u16).to_le_bytes())?;
        out.write_all(&[interface as u8])?;
        out.write_all(&bps.to_le_bytes())?;
    }
    out.write_all(&(outcome.bdp.get() as u32).to_le_bytes())?;
    for event in &outcome.trace {
        out.write_all(&record(spec, event))?;
    }
    Ok(())
}

/// Returns (node, interface from 1 in the order of links, bit/s) of every interface, by node.
pub(crate) fn interfaces(spec: &RunSpec) -> Vec<(u32, u32, u64)> {
    let mut of_node = vec![Vec::new(); spec.nodes.len()];
    for link in &spec.links {
        for end in [link.a, link.b] {
            of_node[end.0 as usize].push(link.rate.as_bps());
        }
    }
    let numbered =
        |(node, rates): (u32, Vec<u64>)| rates.into_iter().zip(1..).map(move |(bps, i)| (node, i, bps));
    (0..).zip(of_node).flat_map(numbered).collect()
}

/// Lays out one record as the reference's C structure, little-endian, with zero padding.
fn record(spec: &RunSpec, event: &TraceEvent) -> [u8; 56] {
    let mut bytes = [0u8; 56];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    let is_switch = spec.nodes[event.node.0 as usize] == NodeKind::Switch;
    put(0, &event.at.as_ns().to_le_bytes());
    put(8, &(event.node.0 as u16).to_le_bytes());
    put(10, &[event.interface as u8]);
    put(11, &[queue_index(event, is_switch)]);
    // The reference looks at the queue before a packet enters it.
    let entering = if is_switch && event.event == TraceKind::Enqueue {
        event.wire
    } else {
        0
    };
    put(12, &event.queue_bytes.saturating_sub(entering).to_le_bytes());
    put(24, &(event.wire as u16).to_le_bytes());
    let (protocol, kind) = match event.kind {
        PacketKind::Data => (0x11, event.event),
        PacketKind::Ack => (0xfc, event.event),
        PacketKind::Nack => (0xfd, event.event),
        PacketKind::Pause | PacketKind::Resume => (0xfe, event.event),
        // The reference has no other notification.
        PacketKind::Cnp
        | PacketKind::Signal
        | PacketKind::Credit
        | PacketKind::Grant
        | PacketKind::Llr
        | PacketKind::Isolate
        | PacketKind::Probe => (0xff, event.event),
    };
    put(26, &[protocol, event_code(kind)]);
    // An ACK's own ECN field is clear: the echo is a flag.
    let ecn = if event.kind == PacketKind::Data {
        event.mark.code_point()
    } else {
        0
    };
    put(28, &[ecn, u8::from(is_switch)]);
    if let Some(flow) = spec.flows.get(event.flow as usize) {
        let forward = event.kind == PacketKind::Data;
        let (from, to) = if forward {
            (flow.src, flow.dst)
        } else {
            (flow.dst, flow.src)
        };
        put(16, &address(from).to_le_bytes());
        put(20, &address(to).to_le_bytes());
        put_body(&mut put, event, flow);
    } else {
        let microseconds = event.pause.as_ps() / 1_000_000;
        put(32, &u32::try_from(microseconds).unwrap_or(u32::MAX).to_le_bytes());
        put(36, &event.queue_bytes.to_le_bytes());
        put(40, &[event.class]);
    }
    bytes
}

/// Writes the part of a record that depends on the kind of packet.
fn put_body(put: &mut impl FnMut(usize, &[u8]), event: &TraceEvent, flow: &FlowSpec) {
    let seq = (event.seq as u32).to_le_bytes();
    let class = u16::from(flow.class).to_le_bytes();
    match event.kind {
        PacketKind::Data => {
            put(32, &flow.sport.to_le_bytes());
            put(34, &flow.dport.to_le_bytes());
            put(36, &seq);
            put(48, &class);
            put(50, &(event.payload as u16).to_le_bytes());
        }
        PacketKind::Ack | PacketKind::Nack => {
            put(32, &flow.dport.to_le_bytes());
            put(34, &flow.sport.to_le_bytes());
            put(36, &u16::from(event.mark.is_set()).to_le_bytes());
            put(38, &class);
            put(40, &seq);
        }
        PacketKind::Cnp | PacketKind::Signal | PacketKind::Grant | PacketKind::Probe => {
            put(32, &(event.flow as u16).to_le_bytes());
            put(34, &[flow.class, event.mark.code_point()]);
        }
        PacketKind::Pause
        | PacketKind::Resume
        | PacketKind::Credit
        | PacketKind::Llr
        | PacketKind::Isolate => {}
    }
}

/// Returns the class if the reference records one; 0 on reception and in the hosts' queue of ACKs.
fn queue_index(event: &TraceEvent, is_switch: bool) -> u8 {
    let pfc = matches!(event.kind, PacketKind::Pause | PacketKind::Resume);
    let host_control = !is_switch && event.kind != PacketKind::Data;
    if pfc || host_control || event.event == TraceKind::Receive {
        0
    } else {
        event.class
    }
}

const fn event_code(kind: TraceKind) -> u8 {
    match kind {
        TraceKind::Receive => 0,
        TraceKind::Enqueue => 1,
        TraceKind::Dequeue => 2,
        TraceKind::Drop => 3,
    }
}

#[cfg(test)]
mod tests {
    use paceline_congestion::Mark;
    use paceline_fabric::outcome::QueueDump;
    use paceline_kernel::{BitRate, Bytes, Span, Time};

    use super::*;
    use crate::sample;

    fn text(fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        fill(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn addresses() {
        assert_eq!(address(NodeId(10)), 0x0b00_0a01);
        assert_eq!(address(NodeId(300)), 0x0b01_2c01);
    }

    #[test]
    fn texts() {
        let (input, mut outcome) = sample::incast();
        // In order of completion: flow 1 first. Fractions of a nanosecond are cut.
        outcome.flows[0].fct = Span::from_ps(10_000_999);
        assert_eq!(
            text(|out| fct(out, &sample::rows(&input, &outcome))),
            "0b000201 0b000401 10000 100 20000 2000000 6000 6000\n\
             0b000101 0b000401 10000 100 1000 2000000 10000 5000\n"
        );
        assert_eq!(
            text(|out| pfc(out, &outcome)),
            "2004000 3 0 1 1\n2006000 3 0 1 0\n"
        );
        assert_eq!(
            text(|out| rtt_samples(out, &sample::rows(&input, &outcome), &outcome)),
            "2004174 1 4 10000 1000 4174\n"
        );
    }

    #[test]
    fn queue_histograms() {
        let (mut input, mut outcome) = sample::incast();
        assert_eq!(
            text(|out| qlen(out, &input.run, &outcome)),
            "time: 2100000\n0 1 100\n0 2 97 2 1\n"
        );
        input.run_mut().record.queue_dump_every = Some(Span::from_us(1000));
        assert_eq!(text(|out| qlen(out, &input.run, &outcome)), "");
        outcome.queue_dumps = vec![QueueDump {
            at: Time::from_ns(2_000_000),
            histograms_kb: vec![vec![1], vec![0, 1]],
        }];
        assert_eq!(
            text(|out| qlen(out, &input.run, &outcome)),
            "time: 2000000\n0 1 1\n0 2 0 1\n"
        );
    }

    fn event(
        node: u32,
        interface: u32,
        event: TraceKind,
        kind: PacketKind,
        ns: u64,
        wire: u32,
    ) -> TraceEvent {
        TraceEvent {
            at: Time::from_ns(ns),
            node: NodeId(node),
            interface,
            event,
            queue_bytes: 0,
            kind,
            signal: 0,
            flow: 0,
            seq: 1000,
            payload: 1000,
            wire,
            class: 3,
            mark: Mark::None,
            pause: Span::ZERO,
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Records of the reference's trace of a 10 KB flow from host 1 to host 2 through switch 0; padding (offset 52) and
    /// unused fields, which the reference leaves uninitialised, are set to zero.
    #[test]
    fn trace_records_are_the_references() {
        let (mut input, mut outcome) = sample::incast();
        input.run_mut().nodes = vec![NodeKind::Switch, NodeKind::Host, NodeKind::Host];
        input.run_mut().links.truncate(2);
        input.run_mut().flows.truncate(1);
        input.run_mut().flows[0].dst = NodeId(2);
        outcome.bdp = Bytes::new(52_000);
        outcome.trace = vec![
            event(1, 1, TraceKind::Dequeue, PacketKind::Data, 2_000_000_087, 1090),
            TraceEvent {
                queue_bytes: 88,
                ..event(0, 1, TraceKind::Enqueue, PacketKind::Ack, 2_000_003_181, 88)
            },
            event(1, 1, TraceKind::Receive, PacketKind::Ack, 2_000_004_188, 88),
        ];
        let mut out = Vec::new();
        trace(&mut out, &input.run, &outcome).unwrap();
        assert_eq!(
            hex(&out[..52]),
            "04000000\
             00000100e8764817000000\
             00000200e8764817000000\
             01000100e8764817000000\
             02000100e8764817000000\
             20cb0000"
        );
        let records: Vec<String> = out[52..].chunks(56).map(hex).collect();
        assert_eq!(
            records,
            [
                "579435770000000001000103000000000101000b0102000b\
                 420411020000000010276400e803000000000000000000000300e80300000000",
                "6da035770000000000000103000000000102000b0101000b\
                 5800fc01000100006400102700000300e8030000000000000000000000000000",
                "5ca435770000000001000100000000000102000b0101000b\
                 5800fc00000000006400102700000300e8030000000000000000000000000000",
            ]
        );
    }

    #[test]
    fn interfaces_count_from_one_in_the_order_of_links() {
        let (mut input, _) = sample::incast();
        input.run_mut().links[1].rate = BitRate::from_gbps(400);
        let found = interfaces(&input.run);
        assert_eq!(found[..2], [(0, 1, 100_000_000_000), (0, 2, 400_000_000_000)]);
        assert_eq!(found.last(), Some(&(4, 1, 100_000_000_000)));
    }
}
