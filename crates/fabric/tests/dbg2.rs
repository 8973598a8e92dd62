mod common;
use common::*;
use paceline_fabric::outcome::*;
use paceline_fabric::spec::NodeId;
#[test]
fn dbg() {
        let mut spec = star(3, scheme("hpcc"));
        spec.record.trace_nodes = vec![NodeId(1), NodeId(2)];
        add_flow(&mut spec, 1, 3, 2_000_000, 2_000_000_000);
        add_flow(&mut spec, 2, 3, 1_000_000, 2_000_004_999);
        let o = run(spec);
        for t in o.trace { if t.event == TraceKind::Receive { println!("A {} {} {}", t.at.as_ns(), t.flow+1, t.seq); } else if t.kind==PacketKind::Data && t.event==TraceKind::Dequeue { println!("D {} {} {}", t.at.as_ns(), t.flow+1, t.seq);} }
}
