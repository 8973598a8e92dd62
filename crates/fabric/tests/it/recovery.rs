//! Recovery from losses: go-back-N, timeouts, coalesced ACKs, lossy and failing links.

use crate::common::{G100, add_flow, assert_complete, link, natural, run, scheme, scheme_with, star, traced};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::{FlowStatus, Outcome, PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{Bytes, Span, Time};

fn incast16(name: &str) -> RunSpec {
    let mut spec = natural(star(17, scheme(name)));
    for host in 1..=16 {
        add_flow(&mut spec, host, 17, 500_000, 0);
    }
    spec
}

/// Leaves 0 to 3 of four hosts each (8 to 23), spines 4 to 7; every host sends to two others.
fn leaf_spine(name: &str) -> RunSpec {
    let mut spec = natural(star(2, scheme(name)));
    spec.nodes = [vec![NodeKind::Switch; 8], vec![NodeKind::Host; 16]].concat();
    spec.links.clear();
    for leaf in 0..4 {
        spec.links.extend((4..8).map(|spine| link(leaf, spine, G100)));
        spec.links
            .extend((0..4).map(|host| link(leaf, 8 + 4 * leaf + host, G100)));
    }
    for host in 0..16 {
        for hop in [5, 10] {
            add_flow(&mut spec, 8 + host, 8 + (host + hop) % 16, 200_000, 0);
        }
    }
    spec
}

/// One flow of `packets` over a link that is down from `at` to `until` (ns): packets on it are lost.
fn interrupted(packets: u64, at: u64, until: u64, change: impl FnOnce(&mut RunSpec)) -> Outcome {
    let mut spec = natural(star(2, scheme("none")));
    spec.switch.ecn.clear();
    add_flow(&mut spec, 1, 2, 1000 * packets, 0);
    spec.failures.push(LinkFailure {
        link: 0,
        at: Time::from_ns(at),
        until: Some(Time::from_ns(until)),
    });
    spec.record.trace_nodes = vec![NodeId(1), NodeId(2)];
    change(&mut spec);
    run(spec)
}

fn sent(outcome: &Outcome) -> Vec<u64> {
    traced(outcome, 1, TraceKind::Dequeue).map(|e| e.seq).collect()
}

/// A gap is reported once; the sender goes back to it and sends everything again from there.
#[test]
fn go_back_n() {
    let outcome = interrupted(200, 2_000, 2_001, |_| ());
    let nacks: Vec<_> = traced(&outcome, 2, TraceKind::Dequeue)
        .filter(|e| e.kind == PacketKind::Nack)
        .map(|e| (e.at.as_ps(), e.seq))
        .collect();
    // At 2 us 23 packets have left and 11 have arrived at the switch: the 12th is missing.
    assert_eq!(nacks.iter().map(|n| n.1).collect::<Vec<_>>(), [11_000]);
    let order = sent(&outcome);
    let back = order.windows(2).position(|w| w[1] < w[0]).unwrap();
    assert!(
        order[..=back]
            .iter()
            .enumerate()
            .all(|(i, &seq)| seq == 1000 * i as u64)
    );
    assert!(
        order[back + 1..]
            .iter()
            .enumerate()
            .all(|(i, &seq)| seq == 11_000 + 1000 * i as u64)
    );
    assert_eq!(order.last(), Some(&199_000));
    let resent = (back as u64 + 1 - 11) * 1000;
    assert_eq!(outcome.flows[0].retransmitted, Bytes::new(resent));
    assert_eq!((outcome.counters.nacks, outcome.counters.timeouts), (1, 0));
    assert_eq!(outcome.flows[0].status, FlowStatus::Completed);
    // The NACK leaves as soon as the first packet behind the gap has arrived.
    let behind = traced(&outcome, 2, TraceKind::Receive)
        .find(|e| e.seq > 11_000)
        .unwrap();
    assert_eq!(nacks[0].0, behind.at.as_ps());
}

/// A NACK that is lost is repeated after the interval, not before.
#[test]
fn nacks_are_spaced() {
    // The second failure also loses the NACK (on the links from about 4.1 us on).
    let outcome = interrupted(2000, 2_000, 2_001, |spec| {
        spec.nic.nack_interval = Span::from_us(50);
        spec.failures.push(LinkFailure {
            link: 1,
            at: Time::from_ns(4_500),
            until: Some(Time::from_ns(4_501)),
        });
    });
    let nacks: Vec<_> = traced(&outcome, 2, TraceKind::Dequeue)
        .filter(|e| e.kind == PacketKind::Nack)
        .collect();
    assert_eq!(nacks.len(), 2);
    assert_eq!(nacks[0].seq, nacks[1].seq);
    let gap = nacks[1].at.as_ps() - nacks[0].at.as_ps();
    assert!((50_000_000..50_000_000 + 83_840).contains(&gap), "{gap}");
    assert_eq!(outcome.counters.timeouts, 0);
    assert_eq!(outcome.flows[0].status, FlowStatus::Completed);
}

/// With chunks the sender goes back to the start of the chunk with the gap.
#[test]
fn back_to_the_chunk() {
    let outcome = interrupted(200, 2_000, 2_001, |spec| {
        spec.nic.back_to_chunk = Some(Bytes::new(4000))
    });
    let order = sent(&outcome);
    let back = order.windows(2).position(|w| w[1] < w[0]).unwrap();
    assert_eq!(order[back + 1], 8_000);
    assert_eq!(outcome.flows[0].status, FlowStatus::Completed);
    assert_eq!(outcome.flows[0].delivered, Bytes::new(200_000));
}

/// Chunks that are no multiples of the MTU: packets overlap data that has arrived.
#[test]
fn chunks_beside_packets() {
    for chunk in [700, 1901, 3333] {
        let mut spec = incast16("dcqcn");
        spec.schemes[0].window = WindowMode::Off;
        spec.nic.back_to_chunk = Some(Bytes::new(chunk));
        spec.nic.nack_interval = Span::from_us(20);
        spec.links.iter_mut().for_each(|link| link.error_rate = 0.005);
        spec.stop = Time::from_ns(1_000_000_000);
        assert_complete(&spec, &run(spec.clone()));
    }
}

/// Only a timeout reveals the loss of the last packet, or of the last ACK; a duplicate is acknowledged again.
#[test]
fn the_end_is_lost() {
    // Three packets: the last leaves at 167.68 ns and is at the switch at 1251.52.
    let last_packet = interrupted(3, 1_200, 1_300, |spec| spec.nic.rto = Some(Span::from_us(100)));
    assert_eq!(sent(&last_packet), [0, 1000, 2000, 2000]);
    assert_eq!(
        (last_packet.counters.timeouts, last_packet.counters.nacks),
        (1, 0)
    );
    // The last progress is the second ACK: (2 + 1) packets, two ACKs, four cables.
    let progress = 3 * 83_840 + 2 * 4_800 + 4_000_000;
    let again = traced(&last_packet, 1, TraceKind::Dequeue)
        .last()
        .unwrap()
        .at
        .as_ps();
    assert_eq!(again, progress + 100_000_000);

    // Its ACK is at the switch at 3.34 us and at the sender at 4.35.
    let last_ack = interrupted(3, 4_300, 4_340, |spec| spec.nic.rto = Some(Span::from_us(100)));
    assert_eq!(sent(&last_ack), [0, 1000, 2000, 2000]);
    assert_eq!(
        (last_ack.counters.timeouts, last_ack.counters.data_received),
        (1, 4)
    );
    assert_eq!(last_ack.flows[0].status, FlowStatus::Completed);

    // Without timeouts, or if duplicates are ignored, the flow hangs and is reported.
    for change in [
        |spec: &mut RunSpec| spec.nic.rto = None,
        |spec: &mut RunSpec| spec.quirks.ignore_duplicates = true,
    ] {
        let hangs = interrupted(3, 4_300, 4_340, |spec| {
            spec.stop = Time::from_ns(10_000_000);
            change(spec);
        });
        assert_eq!(hangs.flows[0].status, FlowStatus::Unfinished);
        assert_eq!(hangs.flows[0].delivered, Bytes::new(3000));
    }
}

/// An ACK for every eighth packet, for the last, and whenever the sender's window is full.
#[test]
fn coalesced_acknowledgements() {
    let acks_by = |policy: AckPolicy, packets: u64, scheme: SchemeSpec| {
        let mut spec = natural(star(2, scheme));
        spec.nic.ack = policy;
        add_flow(&mut spec, 1, 2, 1000 * packets, 0);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        assert_eq!(outcome.counters.timeouts, 0);
        outcome.counters.ack_hops / 2
    };
    let acks = |packets, scheme| acks_by(AckPolicy::EveryPackets(8), packets, scheme);
    let open = || scheme_with("none", WindowMode::Off, &[]);
    assert_eq!([1, 7, 8, 9, 100].map(|n| acks(n, open())), [1, 1, 1, 2, 13]);
    // Whenever 3500 bytes are new: every fourth packet, and the last.
    let bytes = AckPolicy::EveryBytes(Bytes::new(3500));
    assert_eq!([1, 8, 10].map(|n| acks_by(bytes, n, open())), [1, 2, 3]);
    // A window of 52 packets is never filled up to a multiple of 8: the packet that fills it asks for an ACK.
    let windowed = acks(1000, scheme_with("none", WindowMode::Fixed, &[]));
    assert!(windowed > 125 && windowed < 400, "{windowed}");
}

#[test]
fn lossy_links_lose_no_flow() {
    for name in ["none", "dcqcn", "dctcp", "timely", "hpcc", "hpcc-pint"] {
        for (rate, incast) in [(1e-4, true), (1e-3, false), (1e-2, true), (1e-2, false)] {
            let mut spec = if incast { incast16(name) } else { leaf_spine(name) };
            spec.links.iter_mut().for_each(|link| link.error_rate = rate);
            spec.nic.nack_interval = Span::from_us(20);
            let outcome = run(spec.clone());
            assert_complete(&spec, &outcome);
            let hops = outcome.counters.packet_hops() as f64;
            let lost = outcome.counters.link_drops as f64;
            let deviation = (lost - rate * hops).abs() / (rate * hops).sqrt();
            // Pauses are not lost: slightly fewer hops than all.
            assert!(deviation < 5.0, "{name} {rate}: {lost} of {hops}");
        }
    }
}

/// A sender's link, the receiver's, or one to a spine fails and comes back.
#[test]
fn failures_with_recovery() {
    for name in ["dcqcn", "hpcc"] {
        for (mut spec, link) in [(incast16(name), 3), (incast16(name), 16), (leaf_spine(name), 1)] {
            spec.failures.push(LinkFailure {
                link,
                at: Time::from_ns(20_000),
                until: Some(Time::from_ns(60_000)),
            });
            let outcome = run(spec.clone());
            assert_complete(&spec, &outcome);
            assert!(outcome.counters.link_drops > 0);
        }
    }
}

/// A receiver cannot know that its sender has all acknowledgements: data that arrives again is acknowledged again, even
/// if another flow has taken over the queue pair.
#[test]
fn what_comes_twice_is_acknowledged_twice() {
    for others in [0, 1_u64] {
        // The timeout is shorter than the round trip: the packet is retransmitted before its acknowledgement arrives.
        let mut spec = natural(star(2, scheme("none")));
        spec.nic.rto = Some(Span::from_us(3));
        spec.record.trace_nodes = vec![NodeId(2)];
        add_flow(&mut spec, 1, 2, 1000, 0);
        // The first acknowledgement is back after 4.2 us, the second packet arrives at 5.2 us.
        for _ in 0..others {
            add_flow(&mut spec, 1, 2, 500, 4_500);
        }
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let of_first = |event| {
            traced(&outcome, 2, event)
                .filter(|e| e.flow == 0)
                .map(|e| (e.kind, e.seq))
                .collect::<Vec<_>>()
        };
        assert_eq!(of_first(TraceKind::Receive), [(PacketKind::Data, 0); 2]);
        assert_eq!(of_first(TraceKind::Dequeue), [(PacketKind::Ack, 1000); 2]);
        assert_eq!(outcome.counters.timeouts, 1 + others);
    }
}
