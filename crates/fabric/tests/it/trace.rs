//! The packet trace of a 10-packet flow, compared with the reference's, event by event.

use crate::common::{add_flow, run, scheme, star};
use paceline_fabric::outcome::{PacketKind, TraceEvent, TraceKind};
use paceline_fabric::routing::address;
use paceline_fabric::spec::{FlowSpec, NodeId};
use paceline_kernel::Time;

/// Formats one event as the reference's trace reader prints it.
fn line(event: &TraceEvent, flow: &FlowSpec, timestamps: bool) -> String {
    let name = match event.event {
        TraceKind::Receive => "Recv",
        TraceKind::Enqueue => "Enqu",
        TraceKind::Dequeue => "Dequ",
        TraceKind::Drop => "Drop",
    };
    let is_data = event.kind == PacketKind::Data;
    let at_switch = event.node.0 == 0;
    // The reader's class: 0 for arrivals and for the host's queue of acknowledgements.
    let class = if event.event == TraceKind::Receive || (!is_data && !at_switch) {
        0
    } else {
        event.class
    };
    // Its queue length is that of an unrelated counter: 0 throughout these traces.
    let (src, dst, sport, dport) = if is_data {
        (flow.src.0, flow.dst.0, flow.sport, flow.dport)
    } else {
        (flow.dst.0, flow.src.0, flow.dport, flow.sport)
    };
    let ends = format!("{:08x} {:08x} {sport} {dport}", address(src), address(dst));
    let head = format!(
        "{} n:{} {}:{class} 0 {name} ecn:0 {ends}",
        event.at.as_ns(),
        event.node.0,
        event.interface
    );
    if is_data {
        let ts = if timestamps { sent_at(event) } else { 0 };
        format!(
            "{head} U {} {ts} {} {}({})",
            event.seq, event.class, event.wire, event.payload
        )
    } else {
        format!("{head} A 0x00 {} {} 0 {}", event.class, event.seq, event.wire)
    }
}

/// Returns the departure of packet `seq / 1000` of the flow: packets leave back to back, 84 ns apart.
fn sent_at(event: &TraceEvent) -> u64 {
    2_000_000_000 + event.seq / 1000 * 84
}

#[test]
fn every_event_of_ten_packets() {
    let traces = [
        ("hpcc", include_str!("../data/trace_10kb_hpcc.txt")),
        ("dcqcn", include_str!("../data/trace_10kb_dcqcn.txt")),
        ("timely", include_str!("../data/trace_10kb_timely.txt")),
        ("dctcp", include_str!("../data/trace_10kb_dctcp.txt")),
    ];
    for (name, expected) in traces {
        let mut spec = star(2, scheme(name));
        spec.record.trace_nodes = (0..3).map(NodeId).collect();
        add_flow(&mut spec, 1, 2, 10_000, 2_000_000_000);
        let flow = spec.flows[0];
        let mut ours: Vec<String> = run(spec)
            .trace
            .iter()
            .map(|event| line(event, &flow, name == "timely"))
            .collect();
        let mut expected: Vec<String> = expected.lines().map(strip_ack_time).collect();
        assert_eq!(expected.len(), 110);
        // Within an instant, events of different nodes may be in either order.
        ours.sort();
        expected.sort();
        assert_eq!(ours, expected, "{name}");
    }
}

/// Acknowledgements repeat the data packet's time stamp; ours print 0 there.
fn strip_ack_time(line: &str) -> String {
    let mut fields: Vec<&str> = line.split(' ').collect();
    if fields.get(10) == Some(&"A") {
        let place = fields.len() - 2;
        fields[place] = "0";
    }
    fields.join(" ")
}

/// A single port and a time window: the node's events at this port, in this window.
#[test]
fn single_ports_and_windows() {
    let (from, to) = (Time::from_ns(2_000_001_500), Time::from_ns(2_000_002_000));
    let mut whole = star(2, scheme("dcqcn"));
    add_flow(&mut whole, 1, 2, 10_000, 2_000_000_000);
    let mut part = whole.clone();
    whole.record.trace_nodes = vec![NodeId(0)];
    part.record.trace_ports = vec![(NodeId(0), NodeId(2))];
    part.record.trace_window = Some((from, to));
    let mut expected = run(whole).trace;
    let all = expected.len();
    expected.retain(|event| event.interface == 2 && from <= event.at && event.at <= to);
    assert!(!expected.is_empty() && expected.len() < all / 2);
    assert_eq!(run(part).trace, expected);
}
