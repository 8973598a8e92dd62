//! Paths compared with 100 observed in the reference run.

use crate::common::{G100, G400, add_flow, link, run, scheme, star};
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_fabric::spec::{NodeId, NodeKind, RunSpec};

/// The reference's fat topology: 320 hosts, 20 top-of-rack, 20 aggregation, 16 core switches.
fn fat(spec: &mut RunSpec) {
    spec.nodes = (0..376)
        .map(|n| if n < 320 { NodeKind::Host } else { NodeKind::Switch })
        .collect();
    spec.links = (0..320).map(|host| link(host, 320 + host / 16, G100)).collect();
    for tor in 0..20 {
        spec.links
            .extend((0..4).map(|agg| link(320 + tor, 340 + tor / 4 * 4 + agg, G400)));
    }
    for agg in 0..20 {
        spec.links
            .extend((0..4).map(|core| link(340 + agg, 360 + agg % 4 * 4 + core, G400)));
    }
}

#[test]
fn packets_and_acknowledgements_take_the_observed_paths() {
    let rows: Vec<Vec<String>> = include_str!("../data/ecmp_test_vectors.tsv")
        .lines()
        .skip(1)
        .map(|line| line.split('\t').map(str::to_string).collect())
        .collect();
    assert_eq!(rows.len(), 100);
    for row in &rows {
        let [src, dst, sport, dport] = [1, 2, 3, 4].map(|column| row[column].parse::<u32>().unwrap());
        let is_ack = row[0] == "A";
        let mut spec = star(2, scheme("dctcp"));
        fat(&mut spec);
        spec.record.trace_nodes = (0..376).map(NodeId).collect();
        // An acknowledgement's row names its own source and ports: the flow's are the reverse.
        let (a, b) = if is_ack { (dst, src) } else { (src, dst) };
        add_flow(&mut spec, a, b, 500, 0);
        (spec.flows[0].sport, spec.flows[0].dport) = if is_ack {
            (dport as u16, sport as u16)
        } else {
            (sport as u16, dport as u16)
        };
        let kind = if is_ack { PacketKind::Ack } else { PacketKind::Data };
        let outcome = run(spec);
        let visited: Vec<String> = outcome
            .trace
            .iter()
            .filter(|event| event.kind == kind && event.event == TraceKind::Receive)
            .map(|event| event.node.0.to_string())
            .collect();
        assert_eq!(visited.join(" "), row[5], "{row:?}");
    }
}
