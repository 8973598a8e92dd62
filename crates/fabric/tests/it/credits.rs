//! Standard credits: traces worked out by hand, and invariants.

use crate::common;
use crate::networks::lanes;

use std::num::NonZeroU32;

use crate::common::{add_flow, assert_complete, fcts, run};
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_fabric::{Outcome, Simulation};
use paceline_kernel::{Bytes, Span};

/// Returns the time of `bytes` at 100 Gbit/s, in ps.
const fn tx(bytes: u64) -> u64 {
    bytes * 80
}

const CABLE: u64 = 1_000_000;

/// A packet of 100 bytes through a switch and its acknowledgement: 126 and 30 bytes on each wire.
#[test]
fn a_packet_alone_is_stored_and_forwarded() {
    let mut spec = lanes::star(2, lanes::ib(512));
    add_flow(&mut spec, 1, 2, 100, 0);
    let outcome = run(spec);
    let fct = 2 * (tx(126) + CABLE) + 2 * (tx(30) + CABLE);
    assert_eq!(outcome.flows[0].fct, Span::from_ps(fct));
    assert_eq!(outcome.flows[0].ideal, Span::from_ps(fct));
}

/// The switch forwards once it has read 20 bytes.
#[test]
fn a_packet_alone_is_cut_through() {
    let mut lanes = lanes::ib(512);
    lanes.forwarding = Forwarding::CutThrough {
        header: Bytes::new(20),
    };
    let mut spec = lanes::star(2, lanes.clone());
    add_flow(&mut spec, 1, 2, 100, 0);
    let outcome = run(spec);
    let fct = (tx(20) + CABLE + tx(126) + CABLE) + (tx(20) + CABLE + tx(30) + CABLE);
    assert_eq!(outcome.flows[0].fct, Span::from_ps(fct));
    assert_eq!(outcome.flows[0].ideal, Span::from_ps(fct));
    // On a wire four times as fast it starts when three quarters have arrived, so that it never runs out of bytes.
    let mut spec = lanes::star(2, lanes);
    spec.links[1].rate = common::G400;
    add_flow(&mut spec, 1, 2, 100, 0);
    let outcome = run(spec);
    let there = tx(126) + 2 * CABLE;
    let back = tx(20) / 4 + CABLE + tx(30) + CABLE;
    assert_eq!(outcome.flows[0].fct, Span::from_ps(there + back));
    assert_eq!(outcome.flows[0].ideal, Span::from_ps(there + back));
}

/// Returns times (ps) and sizes (bytes) of the data packets that host 1 sends.
fn sent_by_host_1(outcome: &Outcome) -> Vec<(u64, u32)> {
    common::traced(outcome, 1, TraceKind::Dequeue)
        .filter(|event| event.kind == PacketKind::Data)
        .map(|event| (event.at.as_ps(), event.wire))
        .collect()
}

/// Three packets, of which the first has 16 bytes more: 1066, 1050 and 126.
#[test]
fn the_first_packet_of_a_message_is_longer() {
    let mut lanes = lanes::ib(512);
    lanes.first_header = Bytes::new(16);
    let mut spec = lanes::star(2, lanes.clone());
    spec.record.trace_nodes = vec![NodeId(1)];
    add_flow(&mut spec, 1, 2, 2 * 1024 + 100, 0);
    let outcome = run(spec);
    let sent = [(0, 1066), (tx(1066), 1050), (tx(1066 + 1050), 126)];
    assert_eq!(sent_by_host_1(&outcome), sent);
    // The switch stores the first, then the others wait for it.
    let there = tx(1066) + CABLE + tx(1066 + 1050 + 126) + CABLE;
    let fct = Span::from_ps(there + 2 * (tx(30) + CABLE));
    assert_eq!((outcome.flows[0].fct, outcome.flows[0].ideal), (fct, fct));
    // A message of one packet has the longer header, and so has each of several messages on one connection.
    let mut spec = lanes::star(2, lanes);
    spec.record.trace_nodes = vec![NodeId(1)];
    (0..2).for_each(|_| add_flow(&mut spec, 1, 2, 1024 + 100, 0));
    for flow in &mut spec.flows {
        (flow.connection, flow.sport) = (NonZeroU32::new(1), 10_000);
    }
    let outcome = run(spec);
    let wires: Vec<u32> = sent_by_host_1(&outcome).iter().map(|&(_, wire)| wire).collect();
    assert_eq!(wires, [1066, 126, 1066, 126]);
}

/// A first packet without room is held back, even if others would have room: of 17 blocks, 1050 bytes need all, and so
/// do 1066; 1100 would need 18.
#[test]
fn the_first_packet_needs_its_credits() {
    let mut lanes = lanes::ib(17);
    lanes.first_header = Bytes::new(16);
    let mut spec = lanes::star(2, lanes.clone());
    add_flow(&mut spec, 1, 2, 1024, 0);
    assert_complete(&spec, &run(spec.clone()));
    lanes.first_header = Bytes::new(50);
    let mut spec = lanes::star(2, lanes);
    add_flow(&mut spec, 1, 2, 1024, 0);
    let error = Simulation::new(spec).err().expect("it is refused").to_string();
    assert!(error.contains("a packet of 1100 bytes takes 18"), "{error}");
}

/// Departures of the switch's flow-control packets towards host 1, and the packets of the sender that wait for them.
#[test]
fn credits_come_back_once_in_a_period() {
    // Two packets of 17 blocks each fit: 1024 + 26 bytes, 84 ns.
    let mut spec = lanes::star(2, lanes::ib(34));
    spec.record.trace_nodes = vec![NodeId(1)];
    add_flow(&mut spec, 1, 2, 3 * 1024, 0);
    let outcome = run(spec.clone());
    let sent: Vec<u64> = common::traced(&outcome, 1, TraceKind::Dequeue)
        .filter(|event| event.kind == PacketKind::Data)
        .map(|event| event.at.as_ps())
        .collect();
    // The first two leave at once. The switch has forwarded both long before its announcement at 4.096 us, whose packet
    // of 8 bytes takes 640 ps, and the cable a microsecond.
    let update = 4_096_000 + tx(8) + CABLE;
    assert_eq!(sent, [0, tx(1050), update]);
    assert_complete(&spec, &outcome);
    // Ethernet's credits come when space is freed: the first packet has left the switch 1.168 us after its departure.
    let mut spec = lanes::star(2, lanes::cbfc(34));
    spec.record.trace_nodes = vec![NodeId(1)];
    add_flow(&mut spec, 1, 2, 3 * 1024, 0);
    let outcome = run(spec);
    let third = common::traced(&outcome, 1, TraceKind::Dequeue)
        .filter(|event| event.kind == PacketKind::Data)
        .nth(2)
        .map(|event| event.at.as_ps());
    assert_eq!(third, Some(tx(1050) + CABLE + tx(1050) + tx(8) + CABLE));
}

/// Throughput of a sender of full packets, in bytes of a period, if it may have `packets` packets in the switch.
#[test]
fn a_buffer_lets_through_what_it_holds_in_a_period() {
    // With more than ten, the last would reach the host behind the switch after its announcement.
    for packets in [1, 2, 5, 10] {
        let mut spec = lanes::star(2, lanes::ib(17 * packets));
        add_flow(&mut spec, 1, 2, 100 * 1024 * u64::from(packets), 0);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        // One buffer's worth is sent in each period, as long as that is not faster than the line.
        let periods = Span::from_ps(4_096_000 * 99).as_ns_f64();
        let took = outcome.flows[0].fct.as_ns_f64();
        assert!(
            (periods..periods + 8_000.0).contains(&took),
            "{packets}: {took} ns, and 99 periods are {periods} ns"
        );
    }
}

/// Four hosts send to one: nothing is lost, and each has its share.
#[test]
fn inputs_share_an_output() {
    for lanes in [lanes::ib(1024), lanes::cbfc(1024)] {
        let mut spec = lanes::star(5, lanes);
        (1..5).for_each(|host| add_flow(&mut spec, host, 5, 2 << 20, 0));
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        assert_eq!(outcome.counters.buffer_drops + outcome.counters.link_drops, 0);
        assert_eq!(outcome.counters.retransmitted_bytes, 0);
        let fcts = fcts(&outcome);
        let (least, most) = (fcts.iter().min().unwrap(), fcts.iter().max().unwrap());
        assert!((*most as f64 / *least as f64) < 1.01, "{fcts:?}");
    }
}

/// Seven hosts send to one under event-driven credits: RRCC and DCQCN get feedback and slow down, nothing is lost, and
/// the port before the congested one waits less for credits than without them.
#[test]
fn rates_are_controlled_over_credits_by_event() {
    let waited = |scheme: &str| {
        let mut spec = lanes::star(8, lanes::cbfc(1024));
        spec.schemes = vec![common::scheme(scheme)];
        spec.switch.ecn = vec![EcnCurve {
            rate: common::G100,
            kmin: Bytes::new(20_000),
            kmax: Bytes::new(40_000),
            pmax: 0.2,
        }];
        (1..8).for_each(|host| add_flow(&mut spec, host, 8, 4 << 20, 0));
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let counters = &outcome.counters;
        let lost = counters.buffer_drops + counters.link_drops;
        assert_eq!((lost, counters.retransmitted_bytes), (0, 0), "{scheme}");
        assert!(counters.notifications > 0, "{scheme}");
        counters.paused_ps
    };
    let alone = waited("none");
    for scheme in ["rrcc", "dcqcn"] {
        let controlled = waited(scheme);
        assert!(controlled * 2 < alone, "{scheme}: {controlled} of {alone} ps");
    }
}

/// Two lanes of one output with weights 1 to 3: the bytes sent while both have packets.
#[test]
fn lanes_have_their_weights() {
    let mut lanes = lanes::cbfc(2048);
    lanes.buffers = vec![2048, 2048];
    lanes.lane_of = [0, 0, 0, 0, 1, 1, 1, 1];
    // 1024 and 3072 bytes: used up by one packet of 1050, and by three.
    lanes.arbitration.low = vec![(0, 16), (1, 48)];
    let mut spec = lanes::star(3, lanes);
    add_flow(&mut spec, 1, 3, 30 << 20, 0);
    add_flow(&mut spec, 2, 3, 30 << 20, 0);
    spec.flows[1].class = 5;
    spec.stop = paceline_kernel::Time::from_ns(1_000_000);
    let outcome = run(spec);
    let got = |flow: usize| outcome.flows[flow].delivered.get() as f64;
    assert!((got(1) / got(0) - 3.0).abs() < 0.02, "{} {}", got(0), got(1));
}

/// Each lane has a separate round robin: two busy lanes take turns packet by packet, and so do the two queue pairs of
/// each, in any order of their starts.
#[test]
fn queue_pairs_of_each_lane_take_turns() {
    for classes in [[3, 3, 5, 5], [3, 5, 3, 5]] {
        let mut lanes = lanes::cbfc(2048);
        lanes.buffers = vec![2048, 2048];
        lanes.lane_of = [0, 0, 0, 0, 1, 1, 1, 1];
        lanes.arbitration.low = vec![(0, 16), (1, 16)];
        let mut spec = lanes::star(5, lanes);
        for (to, class) in (2..).zip(classes) {
            add_flow(&mut spec, 1, to, 1_000_000, 0);
            spec.flows.last_mut().unwrap().class = class;
        }
        spec.record.trace_nodes = vec![NodeId(1)];
        spec.stop = paceline_kernel::Time::from_ns(50_000);
        let outcome = run(spec);
        let mut sent = [0_u32; 4];
        common::traced(&outcome, 1, TraceKind::Dequeue)
            .filter(|event| event.kind == PacketKind::Data)
            .for_each(|event| sent[event.flow as usize] += 1);
        let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
        assert!(*least > 100 && most - least <= 1, "{classes:?}: {sent:?}");
    }
}

/// Lost flow-control packets and data are compensated for.
#[test]
fn what_links_lose_is_told_again() {
    for lanes in [lanes::ib(256), lanes::cbfc(256)] {
        let mut spec = lanes::star(3, lanes);
        spec.links.iter_mut().for_each(|link| link.error_rate = 0.01);
        add_flow(&mut spec, 1, 3, 4 << 20, 0);
        add_flow(&mut spec, 2, 3, 4 << 20, 0);
        let outcome = run(spec.clone());
        assert!(outcome.counters.link_drops > 100);
        assert_complete(&spec, &outcome);
    }
}

/// Switches 0 to 3 in a ring, host 4 + i at switch i; packets go clockwise, each to the host two switches on.
fn ring(lanes: LaneSpec) -> RunSpec {
    let mut spec = lanes::row(4, 100, lanes);
    spec.links.push(common::link(3, 0, common::G100));
    for node in 0..4 {
        for to in (0..4).filter(|&to| to != node) {
            spec.routes.push(StaticRoute {
                node: NodeId(node),
                to: NodeId(4 + to),
                via: NodeId((node + 1) % 4),
            });
        }
    }
    (0..4).for_each(|host| add_flow(&mut spec, 4 + host, 4 + (host + 2) % 4, 4 << 20, 0));
    spec
}

/// Buffers that wait for each other in a ring: the deadlock is found by proof, and the run ends.
#[test]
fn a_ring_stands_still() {
    for lanes in [lanes::ib(17 * 4), lanes::cbfc(17 * 4)] {
        let outcome = run(ring(lanes));
        let deadlock = outcome.deadlock.expect("all four wait for each other");
        let mut waiting: Vec<(u32, u32)> = (deadlock.pauses.iter())
            .map(|pause| (pause.port.node.0, pause.port.peer.0))
            .collect();
        waiting.sort_unstable();
        let (ring, hosts) = waiting.split_at(4);
        assert_eq!(ring, [(0, 1), (1, 2), (2, 3), (3, 0)]);
        assert_eq!(hosts, [(4, 0), (5, 1), (6, 2), (7, 3)]);
        assert_eq!(deadlock.cycles.len(), 1);
        assert_eq!(deadlock.cycles[0].len(), 4);
        assert!(deadlock.ended, "{}", outcome.end);
        assert_eq!(outcome.counters.buffer_drops, 0);
    }
}

/// The full ring would need a second lane for packets that have crossed the link back to switch 0 (a dateline); two
/// hosts that do not close the ring need none.
#[test]
fn half_a_ring_does_not() {
    let mut spec = ring(lanes::ib(17 * 4));
    spec.flows.truncate(2);
    let outcome = run(spec.clone());
    assert_eq!(outcome.deadlock, None);
    assert_complete(&spec, &outcome);
}

/// Hosts 0 to 15 of a fat tree of four-port switches: by destination all cores get the same load.
#[test]
fn d_mod_k_uses_all_cores() {
    let mut spec = lanes::star(1, lanes::ib(512));
    let (edges, aggregations, cores) = (16..24, 24..32, 32..36);
    spec.nodes = (0..36)
        .map(|node| {
            if node < 16 {
                NodeKind::Host
            } else {
                NodeKind::Switch
            }
        })
        .collect();
    spec.links = (0..16)
        .map(|host| common::link(host, 16 + host / 2, common::G100))
        .collect();
    for (i, edge) in edges.enumerate() {
        let pod = i as u32 / 2;
        spec.links
            .extend((0..2).map(|a| common::link(edge, 24 + 2 * pod + a, common::G100)));
    }
    for (i, aggregation) in aggregations.enumerate() {
        let first = cores.start + 2 * (i as u32 % 2);
        spec.links
            .extend((0..2).map(|c| common::link(aggregation, first + c, common::G100)));
    }
    spec.ecmp_hash = EcmpHash::DModK;
    spec.record.trace_nodes = cores.clone().map(NodeId).collect();
    // Each sends to the host with the same index in the next pod.
    (0..16).for_each(|host| add_flow(&mut spec, host, (host + 4) % 16, 1024, 0));
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let data = |core: u32| {
        let sent = common::traced(&outcome, core, TraceKind::Dequeue);
        sent.filter(|event| event.kind == PacketKind::Data).count()
    };
    assert_eq!(cores.map(data).collect::<Vec<_>>(), [4, 4, 4, 4]);
    assert!(!outcome.hangs_on_seed);
}

/// A link that fails and comes back starts with the free space at its other end.
#[test]
fn a_link_that_comes_back_has_its_credits() {
    for lanes in [lanes::ib(256), lanes::cbfc(256)] {
        let mut spec = lanes::row(3, 100, lanes);
        add_flow(&mut spec, 3, 5, 8 << 20, 0);
        add_flow(&mut spec, 4, 5, 8 << 20, 0);
        for at in [100_000, 300_000, 420_000] {
            spec.failures.push(LinkFailure {
                link: 1,
                at: paceline_kernel::Time::from_ns(at),
                until: Some(paceline_kernel::Time::from_ns(at + 50_000)),
            });
        }
        let outcome = run(spec.clone());
        assert!(outcome.counters.link_drops > 0);
        assert_complete(&spec, &outcome);
    }
}
