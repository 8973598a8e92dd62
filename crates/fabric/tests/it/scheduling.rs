//! The order and the times of transmissions: priorities, round robin, pacing, windows.

use crate::common;

use crate::common::{add_flow, assert_complete, link, natural, run, scheme, scheme_with, star, traced};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::{Outcome, PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span};
use std::num::NonZeroU32;

/// Time of a full data packet at 100 Gbit/s, in ps.
const TX: u64 = 83_840;

fn plain(hosts: u32) -> RunSpec {
    let mut spec = natural(star(hosts, scheme("none")));
    spec.switch.ecn.clear();
    spec.switch.buffer = Bytes::new(256 << 20);
    spec
}

/// Returns (time in ps, flow, kind) of the packets that leave `interface` of `node`.
fn departures(outcome: &Outcome, node: u32, interface: u32) -> Vec<(u64, u32, PacketKind)> {
    traced(outcome, node, TraceKind::Dequeue)
        .filter(|e| e.interface == interface)
        .map(|e| (e.at.as_ps(), e.flow, e.kind))
        .collect()
}

/// Class 0 (ACKs) waits for the packet on the wire and for no other.
#[test]
fn priority_zero_is_strict() {
    let mut spec = plain(4);
    // Hosts 2 and 3 overload the port to host 1, which also carries host 4's acknowledgements for host 1's data.
    add_flow(&mut spec, 2, 1, 1_000_000, 0);
    add_flow(&mut spec, 3, 1, 1_000_000, 0);
    add_flow(&mut spec, 1, 4, 1_000_000, 0);
    spec.record.trace_nodes = vec![NodeId(0)];
    let outcome = run(spec);
    let left = departures(&outcome, 0, 1);
    let mut seen = 0;
    let asked = traced(&outcome, 0, TraceKind::Enqueue).filter(|e| e.interface == 1);
    for ack in asked.filter(|e| e.kind == PacketKind::Ack) {
        let at = ack.at.as_ps();
        let next = left
            .iter()
            .find(|(t, _, kind)| *t >= at && *kind == PacketKind::Ack)
            .unwrap();
        let overtaken = left
            .iter()
            .filter(|(t, _, kind)| *kind == PacketKind::Data && *t > at && *t < next.0);
        assert_eq!(overtaken.count(), 0);
        assert!(next.0 - at <= TX);
        seen += 1;
    }
    assert_eq!(seen, 1000);
    assert!(outcome.queue_max.get() > 500_000, "the port was overloaded");
}

/// While three classes wait, they leave in turn, a packet each, whichever arrived faster.
#[test]
fn classes_take_turns() {
    let mut spec = plain(6);
    for (src, class) in [(1, 1), (2, 1), (3, 1), (4, 4), (5, 7)] {
        add_flow(&mut spec, src, 6, 300_000, 0);
        spec.flows.last_mut().unwrap().class = class;
    }
    spec.record.trace_nodes = vec![NodeId(0)];
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let order: Vec<u8> = departures(&outcome, 0, 6)
        .iter()
        .map(|&(_, flow, _)| spec.flows[flow as usize].class)
        .collect();
    assert_eq!(order.len(), 1500);
    // The first few leave as they arrive; all classes wait until 4 and 7 have sent their 300 packets.
    for window in order[6..880].windows(3) {
        assert!(
            [[1, 4, 7], [4, 7, 1], [7, 1, 4]].contains(&[window[0], window[1], window[2]]),
            "{window:?}"
        );
    }
    assert!(order[910..].iter().all(|&class| class == 1));
}

/// Queue pairs of one host take turns; a new one joins the round, a finished one leaves it.
#[test]
fn queue_pairs_take_turns() {
    let mut spec = plain(4);
    for (dst, size, start) in [(2, 100_000, 0), (3, 50_000, 0), (4, 100_000, 1000)] {
        add_flow(&mut spec, 1, dst, size, start);
    }
    spec.record.trace_nodes = vec![NodeId(1)];
    let outcome = run(spec);
    let sent = departures(&outcome, 1, 1);
    assert_eq!(sent.len(), 250);
    assert!(
        sent.windows(2).all(|w| w[1].0 - w[0].0 == TX),
        "the link never rests"
    );
    let order: Vec<u32> = sent.iter().map(|d| d.1).collect();
    // Twelve packets of the two, then all three in turn until flow 1 has sent its 50.
    assert!(
        order[..12]
            .iter()
            .enumerate()
            .all(|(i, &flow)| flow == i as u32 % 2)
    );
    let turns = |part: &[u32], n: usize| part.windows(n).all(|w| (1..n).all(|i| !w[..i].contains(&w[i])));
    assert!(turns(&order[12..144], 3), "{:?}", &order[12..144]);
    assert!(turns(&order[146..230], 2));
}

/// After one cut to half of the rate, with nothing that raises it, packets leave twice as far apart, to the picosecond.
#[test]
fn pacing_is_exact() {
    let settings = [
        ("cnp-interval", "1s"),
        ("alpha-interval", "1s"),
        ("increase-timer", "1s"),
        ("byte-counter", "1GB"),
    ];
    let mut spec = natural(star(3, scheme_with("dcqcn-paper", WindowMode::Off, &settings)));
    // Packets that find another ahead of them are marked, and there is only one CNP a second.
    spec.switch.ecn = vec![EcnCurve {
        rate: common::G100,
        kmin: Bytes::new(0),
        kmax: Bytes::new(0),
        pmax: 1.0,
    }];
    add_flow(&mut spec, 1, 3, 2_000_000, 0);
    add_flow(&mut spec, 2, 3, 2_000_000, 0);
    spec.record.trace_nodes = vec![NodeId(1)];
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(
        outcome.counters.control_hops,
        2 * 2,
        "a CNP for each flow, over two links"
    );
    let sent = departures(&outcome, 1, 1);
    let gaps: Vec<u64> = sent.windows(2).map(|w| w[1].0 - w[0].0).collect();
    let slow = gaps.iter().position(|&gap| gap != TX).expect("a cut");
    assert!(slow < 60, "the cut comes a round trip after the first mark");
    assert!(
        gaps[slow..].iter().all(|&gap| gap == 2 * TX),
        "{:?}",
        &gaps[slow..]
    );
}

/// Pacing of one queue pair does not hold back another of the same host.
#[test]
fn paced_queue_pairs_interleave() {
    let mut spec = natural(star(
        4,
        scheme_with("hpcc", WindowMode::Variable, &[("eta", "0.5")]),
    ));
    for dst in 2..=4 {
        add_flow(&mut spec, 1, dst, 500_000, 0);
    }
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let fcts: Vec<f64> = outcome.flows.iter().map(|flow| flow.fct.as_us_f64()).collect();
    // A third of the link each is below the target of every receiver's link: nobody waits long.
    let together = 1500.0 * 0.0872;
    assert!(fcts.iter().all(|&fct| fct < 1.3 * together), "{fcts:?}");
}

/// A fixed window: never more than it and one packet in flight, and full if the path is long.
#[test]
fn windows_bound_what_is_in_flight() {
    let mut spec = natural(star(2, scheme_with("none", WindowMode::Fixed, &[])));
    // A bottleneck before the receiver, so that the window and not the line decides.
    spec.links[1].rate = BitRate::from_gbps(25);
    spec.switch.ecn.clear();
    add_flow(&mut spec, 1, 2, 1_000_000, 0);
    spec.record.trace_nodes = vec![NodeId(1)];
    let outcome = run(spec);
    // 4 us of cables, 80 + 320 ns of payload, times 25 Gbit/s.
    assert_eq!(outcome.base_rtt, Span::from_ns(4400));
    assert_eq!(outcome.bdp, Bytes::new(13_750));
    let (mut sent, mut acked, mut most) = (0, 0, 0);
    for event in &outcome.trace {
        match (event.event, event.kind) {
            (TraceKind::Dequeue, PacketKind::Data) => {
                assert!(
                    sent - acked < 13_750,
                    "a packet leaves with {} in flight",
                    sent - acked
                );
                sent = event.seq + u64::from(event.payload);
                most = most.max(sent - acked);
            }
            (TraceKind::Receive, PacketKind::Ack) => acked = event.seq,
            _ => {}
        }
    }
    assert_eq!((most, acked), (14_000, 1_000_000));
}

/// Without pacing, packets leave at line rate regardless of the scheme's rate, which then only limits the window. Each
/// flow's window is that of its own path, if requested.
#[test]
fn no_pacing_and_own_paths() {
    let mut spec = natural(star(3, scheme_with("hpcc", WindowMode::Off, &[("eta", "0.5")])));
    spec.nic.pacing = false;
    add_flow(&mut spec, 1, 2, 500_000, 0);
    spec.record.trace_nodes = vec![NodeId(1)];
    let sent = departures(&run(spec), 1, 1);
    assert_eq!(sent.len(), 500);
    assert!(sent.windows(2).all(|w| w[1].0 - w[0].0 == 87_200));

    let most_in_flight = |global: bool| {
        let mut spec = natural(star(3, scheme_with("none", WindowMode::Fixed, &[])));
        spec.nic.global_rtt = global;
        spec.links[2].delay = Span::from_us(10);
        // The cable is short and the receiver slow: only the window holds back.
        spec.links[1].rate = BitRate::from_gbps(25);
        spec.switch.ecn.clear();
        add_flow(&mut spec, 1, 2, 1_000_000, 0);
        spec.record.trace_nodes = vec![NodeId(1)];
        let outcome = run(spec);
        let (mut acked, mut most) = (0, 0);
        for event in &outcome.trace {
            match (event.event, event.kind) {
                (TraceKind::Dequeue, PacketKind::Data) => most = most.max(event.seq + 1000 - acked),
                (TraceKind::Receive, PacketKind::Ack) => acked = event.seq,
                _ => {}
            }
        }
        most
    };
    // 4.4 us at 25 Gbit/s; 22.16 us at 100 (hosts 1 and 3).
    assert_eq!([most_in_flight(false), most_in_flight(true)], [14_000, 277_000]);
}

/// In a chain, flows share a link by the packets that its port holds: FIFO within a class.
#[test]
fn one_class_is_first_in_first_out() {
    let mut spec = plain(3);
    spec.nodes.extend([NodeKind::Switch, NodeKind::Host]);
    // Hosts 1, 2, 3 at switch 0, host 5 behind switch 4.
    spec.links.push(link(0, 4, common::G100));
    spec.links.push(link(4, 5, common::G100));
    for src in 1..=3 {
        add_flow(&mut spec, src, 5, 200_000, u64::from(src));
    }
    spec.record.trace_nodes = vec![NodeId(0), NodeId(4)];
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    for (node, interface) in [(0, 4), (4, 2)] {
        let queued: Vec<(u32, u64)> = traced(&outcome, node, TraceKind::Enqueue)
            .filter(|e| e.interface == interface)
            .map(|e| (e.flow, e.seq))
            .collect();
        let left: Vec<(u32, u64)> = traced(&outcome, node, TraceKind::Dequeue)
            .filter(|e| e.interface == interface)
            .map(|e| (e.flow, e.seq))
            .collect();
        assert_eq!(queued, left);
    }
}

/// Returns the order in which three connections of host 1 send: their packets have 1048, 548 and 298 bytes on the wire.
fn order_of_three(scheduling: Scheduling) -> Vec<u32> {
    let mut spec = plain(4);
    spec.nic.scheduling = scheduling;
    for message in 0..60 {
        let connection = message % 3;
        add_flow(
            &mut spec,
            1,
            2 + connection,
            [1000, 500, 250][connection as usize],
            0,
        );
        let flow = spec.flows.last_mut().unwrap();
        (flow.connection, flow.sport) = (NonZeroU32::new(1 + connection), 10_000);
    }
    spec.record.trace_nodes = vec![NodeId(1)];
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let sent = departures(&outcome, 1, 1);
    sent.iter().take(20).map(|&(_, flow, _)| flow % 3).collect()
}

/// Computed by hand: the packets that each rule lets three ever-ready queue pairs send.
#[test]
fn queue_pairs_go_by_the_rule_of_their_nic() {
    let [packets, turns, least] = [
        Scheduling::RoundRobin,
        Scheduling::Quantum(Bytes::new(1500)),
        Scheduling::MaxMin,
    ]
    .map(order_of_three);
    let round: Vec<u32> = (0..20).map(|packet| packet % 3).collect();
    assert_eq!(packets, round);
    // 1500 - 2 * 1048 = -596; 1500 - 3 * 548 = -144; 1500 - 6 * 298 = -288; then 904 - 1048 = -144, and so on.
    assert_eq!(
        turns,
        [0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0, 1, 1, 1, 2, 2, 2, 2, 2]
    );
    // Starts: 0 0 0 298 548 596 894 1048 1096 1192 1490 1644 1788 2086 2096.
    assert_eq!(least[..15], [0, 1, 2, 2, 1, 2, 2, 0, 1, 2, 2, 1, 2, 2, 0]);
}

/// Twenty queue pairs, so that the NIC has a tree of departure times: under max-min those with small packets send as
/// many bytes.
#[test]
fn many_queue_pairs_share_by_bytes() {
    let share_of_small = |scheduling| {
        let mut spec = plain(21);
        spec.nic.scheduling = scheduling;
        for message in 0..100 {
            for connection in 0..20 {
                let size = if connection % 2 == 0 { 1000 } else { 200 };
                add_flow(&mut spec, 1, 2 + connection, size, message / 50 * 1000);
                let flow = spec.flows.last_mut().unwrap();
                (flow.connection, flow.sport) = (NonZeroU32::new(1 + connection), 10_000);
            }
        }
        spec.stop = paceline_kernel::Time::from_ns(35_000);
        spec.record.trace_nodes = vec![NodeId(1)];
        let outcome = run(spec);
        let sent = departures(&outcome, 1, 1);
        let small = sent.iter().filter(|(_, flow, _)| flow % 2 == 1).count() as f64 * 248.0;
        let large = sent.iter().filter(|(_, flow, _)| flow % 2 == 0).count() as f64 * 1048.0;
        small / (small + large)
    };
    let packets = share_of_small(Scheduling::RoundRobin);
    assert!((packets - 248.0 / 1296.0).abs() < 0.01, "{packets}");
    for rule in [Scheduling::MaxMin, Scheduling::Quantum(Bytes::new(2000))] {
        let share = share_of_small(rule);
        assert!((share - 0.5).abs() < 0.03, "{rule:?}: {share}");
    }
}

/// Rules that do not suit the hosts are refused.
#[test]
fn rules_that_do_not_fit_are_refused() {
    let refused = |change: fn(&mut RunSpec)| {
        let mut spec = plain(2);
        change(&mut spec);
        match paceline_fabric::Simulation::new(spec).err() {
            Some(paceline_fabric::BuildError::BadHost(why)) => why,
            other => format!("{other:?}"),
        }
    };
    let small = refused(|spec| spec.nic.scheduling = Scheduling::Quantum(Bytes::new(1000)));
    assert!(small.contains("is less than a full packet"), "{small}");
    let other = refused(|spec| {
        spec.nic.scheduling = Scheduling::MaxMin;
        spec.quirks.lazy_qp_removal = true;
    });
    assert!(other.contains("hosts of other simulators"), "{other}");
}
