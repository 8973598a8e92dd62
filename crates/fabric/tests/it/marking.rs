//! RED and step marking, from the trace of every departing packet.

use crate::common;

use crate::common::{G100, add_flow, kb, natural, run, scheme, star, traced};
use paceline_congestion::Mark;
use paceline_fabric::outcome::{Outcome, PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes};

/// Four hosts overload a fifth for a while; the trace has every departure of its port.
fn overload(kmin: u64, kmax: u64, pmax: f64, change: impl FnOnce(&mut RunSpec)) -> Outcome {
    let mut spec = natural(star(5, scheme("none")));
    spec.switch.ecn = vec![EcnCurve {
        rate: G100,
        kmin: kb(kmin),
        kmax: kb(kmax),
        pmax,
    }];
    for host in 1..=4 {
        add_flow(&mut spec, host, 5, 1_000_000, 0);
    }
    spec.record.trace_nodes = vec![NodeId(0)];
    change(&mut spec);
    run(spec)
}

/// Returns (bytes left behind, marked) of the data packets that leave the overloaded port.
fn departures(outcome: &Outcome) -> Vec<(f64, bool)> {
    traced(outcome, 0, TraceKind::Dequeue)
        .filter(|e| e.kind == PacketKind::Data && e.interface == 5)
        .map(|e| (f64::from(e.queue_bytes), e.mark == Mark::Congested))
        .collect()
}

/// Returns the deviation of the marks from their expected number, in standard deviations. Both kinds of packets must be
/// frequent.
fn deviation(packets: &[(f64, bool)], probability: impl Fn(f64) -> f64) -> f64 {
    let (mut expected, mut variance, mut marked) = (0.0, 0.0, 0.0);
    for &(left, mark) in packets {
        let p = probability(left);
        assert!(
            !(mark && p == 0.0) && (mark || p < 1.0),
            "left {left}: marked {mark} with {p}"
        );
        expected += p;
        variance += p * (1.0 - p);
        marked += f64::from(u8::from(mark));
    }
    (marked - expected) / f64::sqrt(variance)
}

fn red(kmin: f64, kmax: f64, pmax: f64) -> impl Fn(f64) -> f64 {
    move |left| match left {
        q if q <= kmin => 0.0,
        q if q <= kmax => pmax * (q - kmin) / (kmax - kmin),
        _ => 1.0,
    }
}

/// The probability rises from 0 at Kmin to Pmax at Kmax, then is 1; over all and in each fifth.
#[test]
fn red_marks_with_its_probability() {
    for (pmax, seed) in [(0.2, 1), (0.7, 2), (1.0, 3)] {
        let outcome = overload(300, 1300, pmax, |spec| spec.seed = seed);
        let packets = departures(&outcome);
        assert_eq!(packets.len(), 4000);
        let curve = red(3e5, 13e5, pmax);
        assert!(deviation(&packets, &curve).abs() < 5.0);
        for fifth in 0..5 {
            let from = 3e5 + 2e5 * f64::from(fifth);
            let part: Vec<_> = packets
                .iter()
                .copied()
                .filter(|p| p.0 > from && p.0 <= from + 2e5)
                .collect();
            assert!(part.len() > 200, "{}", part.len());
            assert!(deviation(&part, &curve).abs() < 5.0, "{pmax} {fifth}");
        }
        assert!(packets.iter().filter(|p| p.0 > 13e5).count() > 1000);
        let marked = packets.iter().filter(|p| p.1).count() as u64;
        assert_eq!(outcome.counters.marked, marked);
        assert_eq!(outcome.counters.notifications, marked, "every mark is echoed");
    }
}

/// The reference's generator gives other numbers of the same distribution.
#[test]
fn red_with_the_references_generator() {
    let outcome = overload(300, 1300, 0.5, |spec| spec.quirks.ns3_random = true);
    let packets = departures(&outcome);
    assert!(deviation(&packets, red(3e5, 13e5, 0.5)).abs() < 5.0);
}

/// Kmin = Kmax: packets that leave more than that behind are marked, no others.
#[test]
fn a_step_is_a_step() {
    let outcome = overload(500, 500, 1.0, |_| ());
    let packets = departures(&outcome);
    assert!(packets.iter().all(|&(left, marked)| marked == (left > 5e5)));
    let marked = packets.iter().filter(|p| p.1).count();
    assert!(marked > 1000 && marked < 3900, "{marked}");
}

/// A class's marks follow its own queue, regardless of the others'.
#[test]
fn classes_are_marked_apart() {
    let outcome = overload(300, 300, 1.0, |spec| spec.flows[3].class = 5);
    let mut most = [0; 8];
    for event in traced(&outcome, 0, TraceKind::Dequeue).filter(|e| e.kind == PacketKind::Data) {
        assert_eq!(
            event.mark == Mark::Congested,
            event.queue_bytes > 300_000,
            "{event:?}"
        );
        most[usize::from(event.class)] = event.queue_bytes.max(most[usize::from(event.class)]);
    }
    // Half of the port for a quarter of the load: class 5 holds far less.
    assert!(
        most[3] > 1_000_000 && most[5] < 600_000 && most[5] > 400_000,
        "{most:?}"
    );
}

/// A mark stays, and counts once, even if a second switch would set it too; without curves there are none.
#[test]
fn marks_on_two_switches() {
    let chain = |spec: &mut RunSpec| {
        spec.nodes
            .extend([NodeKind::Switch, NodeKind::Host, NodeKind::Host]);
        // Switch 0 - switch 6 - hosts 7 and 8; the second link is half as fast.
        spec.links.push(common::link(0, 6, G100));
        spec.links.push(common::link(6, 7, BitRate::from_gbps(50)));
        spec.links.push(common::link(8, 6, G100));
        let half = spec.switch.ecn.first().map(|curve| EcnCurve {
            rate: BitRate::from_gbps(50),
            ..*curve
        });
        spec.switch.ecn.extend(half);
        spec.flows.clear();
        for src in [1, 2, 8] {
            add_flow(spec, src, 7, 1_000_000, 0);
        }
        spec.record.trace_nodes = vec![NodeId(0), NodeId(6)];
    };
    let outcome = overload(100, 100, 1.0, chain);
    let marked_at = |node: u32, port: u32| {
        traced(&outcome, node, TraceKind::Dequeue)
            .filter(|e| e.kind == PacketKind::Data && e.interface == port && e.mark == Mark::Congested)
            .map(|e| (e.flow, e.seq))
            .collect::<std::collections::BTreeSet<_>>()
    };
    let (first, second) = (marked_at(0, 6), marked_at(6, 2));
    assert!(first.len() > 100 && first.is_subset(&second) && second.len() > first.len());
    assert_eq!(outcome.counters.marked, second.len() as u64);
    let without = overload(100, 100, 1.0, |spec| {
        spec.switch.ecn.clear();
        chain(spec);
    });
    assert_eq!(without.counters.marked, 0);
}

/// One ACK for several packets echoes a mark of any of them; each mark is echoed once.
#[test]
fn coalesced_acknowledgements_echo_marks() {
    let outcome = overload(500, 500, 1.0, |spec| spec.nic.ack = AckPolicy::EveryPackets(4));
    let marked = outcome.counters.marked;
    let echoes = outcome.counters.notifications;
    assert_eq!(outcome.counters.ack_hops, 2 * 1000);
    // Marks come in one long row, so all but its ends are echoed four at a time, per flow.
    assert!(
        echoes * 4 >= marked && echoes * 4 <= marked + 4 * 6,
        "{echoes} {marked}"
    );
}

/// The error for a missing curve names the existing rates.
#[test]
fn a_missing_curve_is_refused() {
    let mut spec = natural(star(2, scheme("none")));
    spec.links[1].rate = BitRate::from_gbps(200);
    add_flow(&mut spec, 1, 2, 1000, 0);
    let error = paceline_fabric::Simulation::new(spec.clone())
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("200") && error.contains("100") && error.contains("400"),
        "{error}"
    );
    spec.switch.ecn[0].kmin = Bytes::new(10_000_000);
    spec.links[1].rate = G100;
    let error = paceline_fabric::Simulation::new(spec).err().unwrap().to_string();
    assert!(error.contains("kmin"), "{error}");
}
