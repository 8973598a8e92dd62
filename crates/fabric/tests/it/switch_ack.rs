//! Answers of switches to data packets that ask, in a network.

use crate::common;

use crate::common::{G100, add_flow, natural, scheme_with, star};
use paceline_congestion::registry::WindowMode;
use paceline_congestion::{Answers, SendLimits};
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_fabric::{Outcome, Simulation, Until};
use paceline_kernel::{Bytes, Span, Time};

/// Hosts 1 and 2 send to host 3, each at line rate; the second starts half a packet later.
fn two_to_one(settings: &[(&str, &str)]) -> RunSpec {
    let own = [("initial-rate", "100Gbps"), ("feedback", "switch-ack")];
    let settings: Vec<_> = own.iter().chain(settings).copied().collect();
    let mut spec = natural(star(3, scheme_with("external", WindowMode::Off, &settings)));
    spec.switch.assist = Some(AssistPorts::Switches);
    spec.switch.ecn.clear();
    add_flow(&mut spec, 1, 3, 1_000_000, 0);
    add_flow(&mut spec, 2, 3, 1_000_000, 0);
    spec.flows[1].start = Time::from_ps(PACKET.as_ps() / 2);
    spec.stop = Time::from_ns(20_000);
    spec.record.trace_nodes = vec![NodeId(0)];
    spec
}

/// Time of 1056 bytes at 100 Gbit/s.
const PACKET: Span = Span::from_ps(84_480);
const WIRE: u64 = 1056;
const LINK: Span = Span::from_us(1);

/// Returns the answers to flow 1 and their times; their sender continues as before.
fn got(spec: &RunSpec) -> (Vec<(Time, Answers)>, Outcome) {
    let mut simulation = Simulation::new(spec.clone()).unwrap();
    let mut found = Vec::new();
    while !simulation.advance_to(Until::Decisions).done {
        simulation.answer(|question| {
            let report = question.report.unwrap();
            if question.flow == 1 && report.tally.answers.count > 0 {
                found.push((report.at, report.tally.answers));
            }
            Some(SendLimits {
                rate: G100,
                window: Bytes::MAX,
            })
        });
    }
    (found, simulation.finish())
}

/// Computed by hand. Packet k of the second host is in the switch at `packets(k)`. By then 2k + 1 others have arrived,
/// of which k + 1 have left for the wire: k are queued. The answer of 64 bytes takes its time and the link's. Windows
/// are of 2 us, and before the third no whole window is known in which the port was always busy.
#[test]
fn every_packet_is_answered_with_what_it_found() {
    let every = [
        ("clock", "feedback"),
        ("switch-interval", "0s"),
        ("switch-threshold", "0B"),
        ("switch-window", "2us"),
    ];
    let spec = two_to_one(&every);
    let (answers, outcome) = got(&spec);
    assert!(answers.len() > 60, "{}", answers.len());
    let in_switch = |k: u64| PACKET.as_ps() / 2 + (k + 1) * PACKET.as_ps() + LINK.as_ps();
    // The port's first packet came from the first host, and from then on one follows the other.
    let first = PACKET.as_ps() + LINK.as_ps();
    let sent = |from: u64, to: u64| {
        let left = (0..).map(|j| first + j * PACKET.as_ps());
        WIRE * left.take_while(|&at| at < to).filter(|&at| at >= from).count() as u64
    };
    for (k, (at, answer)) in answers.iter().enumerate().take(60) {
        let k = k as u64;
        let (now, window) = (in_switch(k), 2_000_000);
        if k < 20 {
            // No acknowledgement has been ahead of it.
            let small = G100.time_to_send(Bytes::new(64));
            assert_eq!(at.as_ps(), now + small.as_ps() + LINK.as_ps(), "{k}");
        }
        assert_eq!(answer.count, 1, "{k}");
        assert_eq!(answer.drains_max, G100.time_to_send(Bytes::new(k * WIRE)), "{k}");
        let begun = now / window * window;
        let before = begun.saturating_sub(window);
        let used = sent(before, begun) as f64 / 25_000.0 * f64::from(u8::from(begun > 0));
        assert!(
            (answer.utilisation_max - used).abs() < 1e-4,
            "{k}: {answer:?}, {used}"
        );
        // Bytes queued at the start of the last window: those that had arrived by then, less those that had left.
        let came = |offset: u64| {
            (0..)
                .take_while(|k| first + offset + k * PACKET.as_ps() < before)
                .count() as u64
        };
        let queued = WIRE * (came(0) + came(PACKET.as_ps() / 2)) - sent(0, before);
        let grown = (k * WIRE) as f64 - queued as f64;
        let growth = grown / ((now - before) as f64 / 1e6) / 12_500.0;
        assert!((answer.growth - growth).abs() < 1e-4, "{k}: {answer:?}, {growth}");
    }
    let answered = outcome.counters.notices;
    let data = common::traced(&outcome, 0, TraceKind::Receive).filter(|e| e.kind == PacketKind::Data);
    assert_eq!(answered, data.count() as u64, "each packet, once");
    let left = common::traced(&outcome, 0, TraceKind::Dequeue);
    let wires: Vec<u32> = (left.filter(|e| e.kind == PacketKind::Signal))
        .map(|e| e.wire)
        .collect();
    assert!(wires.len() as u64 + 2 > answered && wires.iter().all(|&wire| wire == 64));
}

/// A packet asks at each interval, and is answered above the threshold. The k-th packet finds k packets.
#[test]
fn thresholds_and_intervals_hold() {
    let answers = |settings: &[(&str, &str)]| {
        let mut with = vec![("clock", "feedback")];
        with.extend(settings);
        let (answers, outcome) = got(&two_to_one(&with));
        (answers, outcome.counters.notices)
    };
    let (every, all) = answers(&[("switch-interval", "0s")]);
    // A full packet is the threshold: the first finds nothing.
    assert_eq!(every[0].1.drains_max, PACKET);
    let (from_ten, fewer) = answers(&[("switch-interval", "0s"), ("switch-threshold", "10560B")]);
    assert_eq!(from_ten[0].1.drains_max, G100.time_to_send(Bytes::new(10 * WIRE)));
    assert!(fewer + 18 == all, "{fewer} {all}: nine of each flow");
    let (spaced, _) = answers(&[("switch-interval", "844800ps")]);
    let found: Vec<_> = spaced
        .iter()
        .map(|(_, answer)| answer.drains_max.as_ps() / PACKET.as_ps())
        .collect();
    assert_eq!(found[..4], [10, 20, 30, 40]);
}

/// With other feedback, no packet asks, and no port answers.
#[test]
fn nobody_answers_who_is_not_asked() {
    for feedback in ["ack", "int"] {
        let (answers, outcome) = got(&two_to_one(&[("clock", "feedback"), ("feedback", feedback)]));
        assert_eq!((answers.len(), outcome.counters.notices), (0, 0));
    }
}

/// Answers from a port two switches away reach the sender, whichever path the packet took; and those of several ports
/// do.
#[test]
fn answers_find_the_sender_over_several_hops() {
    let mut spec = two_to_one(&[("switch-interval", "0s"), ("clock", "feedback")]);
    // Hosts 1 and 2 at switch 0, switches 4 and 5 between, host 3 at switch 6 on a slower link.
    spec.nodes = [NodeKind::Switch, NodeKind::Host, NodeKind::Host, NodeKind::Host].to_vec();
    spec.nodes.extend([NodeKind::Switch; 3]);
    let links = [(0, 1), (0, 2), (0, 4), (0, 5), (4, 6), (5, 6), (3, 6)];
    spec.links = links.map(|(a, b)| common::link(a, b, G100)).to_vec();
    spec.links[6].rate = paceline_kernel::BitRate::from_gbps(25);
    spec.record.trace_nodes = vec![NodeId(1), NodeId(2), NodeId(6)];
    spec.stop = Time::from_ns(60_000);
    let (_, outcome) = got(&spec);
    let seen = |node, event| {
        let events = common::traced(&outcome, node, event).filter(|e| e.kind == PacketKind::Signal);
        events.map(|e| e.flow).collect::<Vec<_>>()
    };
    let sent = seen(6, TraceKind::Dequeue);
    assert!(sent.len() > 100, "{}", sent.len());
    for host in [1, 2] {
        let received = seen(host, TraceKind::Receive);
        assert!(received.len() > 50 && received.iter().all(|&flow| flow == host - 1));
    }
}
