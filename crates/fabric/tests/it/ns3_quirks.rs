//! Quirks of the reference that its own experiments show rarely, one at a time, computed by hand.

use crate::common::{G100, add_flow, link, run, scheme, scheme_with, star, traced};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::{FlowStatus, Outcome, PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};

/// A flow of `size` bytes from host 1 to host 2 of a star in the reference's mode.
fn one_flow(name: &str, window: WindowMode, size: u64) -> RunSpec {
    let mut spec = star(2, scheme_with(name, window, &[]));
    add_flow(&mut spec, 1, 2, size, 0);
    spec.record.trace_nodes = vec![NodeId(1), NodeId(2)];
    spec
}

fn starts(outcome: &Outcome) -> Vec<u64> {
    traced(outcome, 1, TraceKind::Dequeue)
        .map(|e| e.at.as_ns())
        .collect()
}

/// With pacing off, HPCC's rate still moves the next packet by the change of the gap: not at all while it is the
/// line's, later once it is not.
#[test]
fn a_rate_that_does_not_pace_moves_packets_all_the_same() {
    let sent = |repaces_unpaced| {
        // A fixed window, and an additive step of zero: the rate settles below the line's.
        let settings = [("rate-ai", "0bps")];
        let mut spec = star(2, scheme_with("hpcc", WindowMode::Fixed, &settings));
        add_flow(&mut spec, 1, 2, 200_000, 0);
        spec.record.trace_nodes = vec![NodeId(1)];
        spec.nic.pacing = false;
        spec.quirks.repaces_unpaced = repaces_unpaced;
        starts(&run(spec))
    };
    let (plain, moved) = (sent(false), sent(true));
    assert_eq!(plain.len(), moved.len());
    // Before any feedback packets leave back to back in both.
    assert_eq!(plain[..48], moved[..48]);
    assert!(
        plain.last() < moved.last(),
        "{:?} {:?}",
        plain.last(),
        moved.last()
    );
}

/// Chunks of 4000 bytes: 8000 bytes are acknowledged whole; of 9000 the last 1000 never are.
#[test]
fn only_whole_chunks_are_acknowledged() {
    let status = |size, whole_chunks_only| {
        let mut spec = one_flow("none", WindowMode::Off, size);
        spec.nic.back_to_chunk = Some(Bytes::new(4000));
        spec.quirks.whole_chunks_only = whole_chunks_only;
        run(spec).flows[0].status
    };
    assert_eq!(status(8000, true), FlowStatus::Completed);
    assert_eq!(status(9000, true), FlowStatus::Unfinished);
    assert_eq!(status(9000, false), FlowStatus::Completed);
}

/// A packet is lost before the queue of a slow link. When the receiver notices, the queue holds 2.7 ms of packets, and
/// every 500 us of that it asks again: the sender sends the rest several times. Data that arrives after the flow has
/// completed belongs to a flow that the receiver has forgotten, and it asks for the first byte.
#[test]
fn a_receiver_that_has_forgotten_a_flow_asks_for_its_first_byte() {
    let nacks = |receiver_forgets| {
        let mut spec = one_flow("none", WindowMode::Off, 4_000_000);
        spec.links[1].rate = BitRate::from_gbps(10);
        spec.switch.ecn.clear();
        spec.switch.buffer = Bytes::new(256 << 20);
        spec.quirks.receiver_forgets = receiver_forgets;
        spec.failures.push(LinkFailure {
            link: 0,
            at: Time::from_ns(50_000),
            until: Some(Time::from_ns(50_010)),
        });
        let outcome = run(spec);
        let flow = outcome.flows[0];
        assert_eq!(flow.status, FlowStatus::Completed);
        let done = flow.start + flow.fct;
        traced(&outcome, 2, TraceKind::Dequeue)
            .filter(|e| e.kind == PacketKind::Nack && e.at > done)
            .inspect(|e| assert_eq!(e.seq, 0))
            .count()
    };
    assert_eq!(nacks(false), 0);
    assert!(nacks(true) > 0);
}

/// Bytes in the queue of a failed link stay counted in the reference's switch, so that the pauses of their senders
/// never end.
#[test]
fn what_a_failed_link_loses_stays_in_the_buffer() {
    let paused = |lost_bytes_stay| {
        let mut spec = star(4, scheme("none"));
        // Hosts 1 to 3 send to 4; its link fails while their packets fill the switch.
        for host in 1..=3 {
            add_flow(&mut spec, host, 4, 4_000_000, 0);
        }
        spec.switch.buffer = Bytes::new(1 << 20);
        spec.failures.push(LinkFailure {
            link: 3,
            at: Time::from_ns(100_000),
            until: None,
        });
        spec.stop = Time::from_ns(1_000_000);
        spec.quirks.lost_bytes_stay = lost_bytes_stay;
        let outcome = run(spec);
        let pauses = outcome.pfc.iter().filter(|event| event.pause).count();
        (pauses, outcome.pfc.len() - pauses)
    };
    let (pauses, resumes) = paused(false);
    assert!(pauses > 0 && pauses == resumes, "{pauses} {resumes}");
    let (pauses, resumes) = paused(true);
    assert!(pauses > resumes, "{pauses} {resumes}");
}

/// Two paths of different lengths between leaves 0 and 1, over spines 2 (1 us) and 3 (5 us): the first one found is
/// that over the spine with the higher number, and its round trip is every pair's.
#[test]
fn the_round_trip_of_the_first_path_found() {
    let ideals = |first_path_found| {
        let mut spec = star(2, scheme("none"));
        spec.nodes = [vec![NodeKind::Switch; 4], vec![NodeKind::Host; 2]].concat();
        spec.links = vec![link(0, 4, G100), link(1, 5, G100)];
        for (spine, us) in [(2, 1), (3, 5)] {
            for leaf in [0, 1] {
                let mut link = link(leaf, spine, G100);
                link.delay = Span::from_us(us);
                spec.links.push(link);
            }
        }
        for _ in 0..8 {
            add_flow(&mut spec, 4, 5, 1000, 0);
        }
        spec.quirks.first_path_found = first_path_found;
        let mut ideals: Vec<u64> = run(spec).flows.iter().map(|flow| flow.ideal.as_ns()).collect();
        ideals.sort_unstable();
        ideals.dedup();
        ideals
    };
    // 4 payloads of 80 ns and 1048 B at 83.84 ns; 2 (1 + 1 + 1 + 1) us or 2 (1 + 5 + 5 + 1) us.
    assert_eq!(ideals(false), [8000 + 320 + 83, 24_000 + 320 + 83]);
    assert_eq!(ideals(true), [24_000 + 320 + 83]);
}
