//! Priority flow control, compared with computation by hand.

use crate::common;

use crate::common::{add_flow, assert_complete, natural, run, scheme, star, static_pfc, traced};
use paceline_fabric::outcome::{FlowStatus, Outcome, PacketKind, PfcEvent, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};

const XOFF: u64 = 40_000;
const XON: u64 = 38_000;
/// Times in ps of data packets of 1048 B at 100 and at 40 Gbit/s, and of a PFC frame of 64 B at 100.
const TX100: u64 = 83_840;
const TX40: u64 = 209_600;
const TX_PFC: u64 = 5_120;

/// `senders` hosts at 100 Gbit/s and a receiver (the last host) at 40, without marking.
fn into_slow_link(senders: u32, size: u64) -> RunSpec {
    let mut spec = natural(star(senders + 1, scheme("none")));
    spec.switch.ecn.clear();
    spec.links[senders as usize].rate = BitRate::from_gbps(40);
    static_pfc(&mut spec, XOFF, XON, 60_000);
    spec.nic.rto = None;
    for host in 1..=senders {
        add_flow(&mut spec, host, senders + 1, size, 0);
    }
    spec
}

fn quanta(spec: &mut RunSpec, pause: Span) {
    let FlowControl::Pfc(pfc) = &mut spec.switch.flow_control else {
        panic!("PFC is on")
    };
    pfc.mode = PfcMode::Quanta { pause };
}

fn heeded_after(spec: &mut RunSpec, least: Span, jitter: Span) {
    let FlowControl::Pfc(pfc) = &mut spec.switch.flow_control else {
        panic!("PFC is on")
    };
    pfc.response = PfcResponse { least, jitter };
}

/// Returns the frames that arrived at a node.
fn at(outcome: &Outcome, node: u32) -> Vec<PfcEvent> {
    let events = outcome.pfc.iter().copied();
    events.filter(|e| e.node == NodeId(node)).collect()
}

/// The queue rises at 60 Gbit/s and falls at 40: with B1 - B0 the distance of the thresholds and tau the response time,
/// `Ton = (B1 - B0 + Ri tau) / (Ri - Rd)`, `Toff = (B1 - B0 + Ri tau) / Rd`.
#[test]
fn on_off_periods_follow_from_thresholds() {
    for response in [Span::ZERO, Span::from_us(3)] {
        periods_follow(response);
    }
}

fn periods_follow(response: Span) {
    let mut spec = into_slow_link(1, 2_000_000);
    spec.switch.headroom = Headroom::Fixed(Bytes::new(120_000));
    heeded_after(&mut spec, response, Span::ZERO);
    let outcome = run(spec);
    assert_eq!(outcome.counters.buffer_drops, 0);
    let events = at(&outcome, 1);
    assert!(events.len() > 12, "{}", events.len());
    assert!(events.iter().enumerate().all(|(i, e)| e.pause == (i % 2 == 0)));
    // A frame, a cable there and back; on average half a packet is on the wire when the frame arrives.
    let tau = (TX_PFC + 2_000_000 + TX100 / 2 + response.as_ps()) as f64;
    let swing = (XOFF - XON) as f64 + tau / 80.0;
    let (on, off) = (swing * 8.0 / 60.0 * 1000.0, swing * 8.0 / 40.0 * 1000.0);
    let gap = |i: usize| (events[i + 1].at.as_ps() - events[i].at.as_ps()) as f64;
    // The first period starts from an empty switch, the last ends with the flow.
    for i in (2..events.len() - 4).step_by(2) {
        // Each threshold is met to within a packet of the fluid model; the excess over the upper one drains at the
        // ratio of the rates.
        assert!((gap(i) - off).abs() < 1.5 * TX40 as f64, "off {} {off}", gap(i));
        assert!(
            (gap(i + 1) - on).abs() < 1.5 * TX40 as f64,
            "on {} {on}",
            gap(i + 1)
        );
    }
    let periods = (events.len() - 6) / 2;
    let span = (events[2 + 2 * periods].at.as_ps() - events[2].at.as_ps()) as f64;
    let share = span / periods as f64 / (on + off);
    assert!((share - 1.0).abs() < 0.03, "{share}");
}

/// Ports with a random reaction time of up to 20 us: nothing is lost if the headroom allows for it, no resume overtakes
/// the pause before it, and the times depend on the seed.
#[test]
fn ports_may_take_their_time() {
    let spec = |seed, headroom| {
        let mut spec = into_slow_link(2, 2_000_000);
        spec.switch.headroom = headroom;
        spec.seed = seed;
        heeded_after(&mut spec, Span::ZERO, Span::from_us(20));
        spec
    };
    let roomy = Headroom::PerLink {
        factor: 3.0,
        extra: Bytes::new(2200),
    };
    let outcome = run(spec(1, roomy));
    assert_complete(&spec(1, roomy), &outcome);
    assert_eq!(outcome.counters.buffer_drops, 0);
    assert!(outcome.hangs_on_seed && outcome.counters.pauses > 10);
    assert_eq!(outcome.digest, run(spec(1, roomy)).digest);
    assert_ne!(outcome.digest, run(spec(2, roomy)).digest);
    let short = run(spec(1, Headroom::Fixed(Bytes::new(60_000))));
    assert!(short.counters.lossless_drops > 0);
}

/// The first pause: the switch has sent a packet whenever the slow link was free, and pauses when the rest exceeds
/// XOFF.
#[test]
fn first_pause_to_the_picosecond() {
    let outcome = run(into_slow_link(1, 2_000_000));
    // Packet n (from 1) arrives at n TX100 + 1 us. The k-th leaves at TX100 + (k - 1) TX40 + 1 us and frees its bytes
    // at that moment, before an arrival of the same instant is counted.
    let n = (1..)
        .find(|n| {
            let gone = (n * TX100 - TX100) / TX40 + 1;
            // The packet that has just arrived leaves at once only if the queue is empty.
            (n - gone) * 1048 > XOFF
        })
        .unwrap();
    let asked = n * TX100 + 1_000_000;
    let ack_in_the_way = 4_800;
    let arrived = at(&outcome, 1)[0].at.as_ps();
    let earliest = asked + TX_PFC + 1_000_000;
    assert!(
        (earliest..=earliest + ack_in_the_way).contains(&arrived),
        "{arrived} {earliest}"
    );
}

/// Senders that share the slow link get half each, and are paused for the rest of the time.
#[test]
fn two_senders_are_paused_alike() {
    let spec = into_slow_link(2, 2_000_000);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(
        outcome.counters.buffer_drops + outcome.counters.retransmitted_bytes,
        0
    );
    let fct = outcome.flows[0].fct.as_ps() as f64;
    let both = 2.0 * 2000.0 * TX40 as f64;
    assert!((fct / both - 1.0).abs() < 0.05, "{fct} {both}");
    // Each sends 20 of 100 Gbit/s: paused four fifths of the time until all is sent.
    let share = outcome.counters.paused_ps as f64 / 2.0 / both;
    assert!((share - 0.8).abs() < 0.05, "{share}");
}

/// The switch renews the pause every half of its time as long as it must; a resume ends it at once.
#[test]
fn timed_pauses_are_renewed_and_ended() {
    let pause = Span::from_us(1);
    let mut spec = into_slow_link(1, 2_000_000);
    quanta(&mut spec, pause);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(outcome.counters.buffer_drops, 0);
    let events = at(&outcome, 1);
    let mut renewals = 0;
    for pair in events.windows(2) {
        let gap = pair[1].at.as_ps() - pair[0].at.as_ps();
        if pair[0].pause && pair[1].pause {
            assert!(gap.abs_diff(500_000) <= 2 * 4_800, "a renewal after {gap} ps");
            renewals += 1;
        }
        assert!(pair[0].pause || pair[1].pause, "two resumes in a row");
    }
    assert!(renewals > 20);
    // Each renewal is a frame, and none is a pause.
    let counters = outcome.counters;
    assert_eq!(counters.pause_frames - counters.pauses, renewals);
    let on_off = run(into_slow_link(1, 2_000_000));
    assert_eq!(outcome.flows[0].fct, on_off.flows[0].fct);
}

/// Pauses shorter than half of the time that they carry: each is one frame. (Half of 22 us falls into the next of these
/// pauses, which the renewal of the last one must not affect.)
#[test]
fn short_pauses_are_not_renewed() {
    let mut spec = into_slow_link(1, 2_000_000);
    quanta(&mut spec, Span::from_us(22));
    let outcome = run(spec);
    let events = at(&outcome, 1);
    assert!(events.len() > 10);
    let alternate = events.iter().enumerate().all(|(i, e)| e.pause == (i % 2 == 0));
    assert!(alternate, "a pause shorter than half its time was renewed");
}

/// If PFC frames can be lost, a lost resume stops the link for good unless pauses expire.
#[test]
fn timed_pauses_expire() {
    let lossy = |timed: bool| {
        let mut spec = into_slow_link(1, 2_000_000);
        spec.quirks.ns3_random = true;
        spec.links[0].error_rate = 0.05;
        spec.nic.rto = Some(Span::from_us(100));
        spec.stop = Time::from_ns(50_000_000);
        if timed {
            quanta(&mut spec, Span::from_us(2));
        }
        run(spec).flows[0].status
    };
    assert_eq!(lossy(false), FlowStatus::Unfinished);
    assert_eq!(lossy(true), FlowStatus::Completed);
}

/// A host paused in class 3 goes on sending class 5.
#[test]
fn classes_are_paused_apart() {
    let mut spec = into_slow_link(1, 2_000_000);
    spec.nodes.push(NodeKind::Host);
    spec.links.push(common::link(0, 3, common::G100));
    add_flow(&mut spec, 1, 3, 1_000_000, 0);
    spec.flows[1].class = 5;
    spec.record.trace_nodes = vec![NodeId(1)];
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(
        at(&outcome, 1).iter().all(|e| e.class == 3),
        "class 5 meets no slow link"
    );
    // From the arrival of a pause to that of its resume only class 5 leaves, and back to back.
    let events = at(&outcome, 1);
    for pair in events.windows(2).filter(|pair| pair[0].pause) {
        let inside: Vec<_> = traced(&outcome, 1, TraceKind::Dequeue)
            .filter(|e| e.kind == PacketKind::Data && e.at > pair[0].at && e.at < pair[1].at)
            .collect();
        assert!(inside.iter().all(|e| e.class == 5));
        if pair[1].at < Time::from_ns(100_000) {
            let expected = (pair[1].at.as_ps() - pair[0].at.as_ps()) / TX100;
            assert!(
                (inside.len() as u64).abs_diff(expected) <= 1,
                "{} {expected}",
                inside.len()
            );
        }
    }
    // Half of the link while class 3 may send too, all of it otherwise: 40 of 100 are class 3's.
    let fct = outcome.flows[1].fct.as_ps();
    assert!(fct < 1000 * TX100 * 100 / 50, "{fct}");
}

/// PFC frames wait only for the packet on the wire, ahead of all queued packets, class 0 included.
#[test]
fn pfc_frames_go_first() {
    let mut spec = into_slow_link(1, 1_000_000);
    spec.nodes.push(NodeKind::Host);
    spec.links.push(common::link(0, 3, common::G100));
    // Data and acknowledgements (class 0) fill the link on which the pauses go.
    add_flow(&mut spec, 3, 1, 1_000_000, 0);
    spec.record.trace_nodes = vec![NodeId(0)];
    let outcome = run(spec);
    let at_port = |e: &&paceline_fabric::outcome::TraceEvent| e.interface == 1;
    let sent: Vec<_> = traced(&outcome, 0, TraceKind::Dequeue).filter(at_port).collect();
    let is_pfc = |kind| matches!(kind, PacketKind::Pause | PacketKind::Resume);
    let (mut frames, mut waited) = (0, 0);
    let asked = traced(&outcome, 0, TraceKind::Enqueue).filter(at_port);
    for asked in asked.filter(|e| is_pfc(e.kind)) {
        let next = sent.iter().find(|e| e.at >= asked.at && is_pfc(e.kind)).unwrap();
        let between = sent.iter().filter(|e| e.at > asked.at && e.at < next.at);
        assert_eq!(between.count(), 0, "something overtook a PFC frame");
        let wait = next.at.as_ps() - asked.at.as_ps();
        assert!(wait <= TX100);
        frames += 1;
        waited += u64::from(wait > 0);
    }
    assert!(frames > 10 && waited > 10, "{frames} {waited}");
}

/// Headroom for the packets that arrive after the pause was sent: two cables, a frame, a packet at either end.
#[test]
fn headroom_is_what_lossless_takes() {
    let needed = 2 * 12_500 + 64 + 2 * 1048 + 1048;
    let loss = |headroom: u64| {
        let mut spec = into_slow_link(4, 500_000);
        static_pfc(&mut spec, XOFF, XON, headroom);
        spec.nic.rto = Some(Span::from_us(500));
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        outcome.counters
    };
    assert_eq!(loss(needed).buffer_drops, 0);
    let lossy = loss(0);
    assert!(lossy.buffer_drops > 100, "{lossy:?}");
    assert!(lossy.nacks > 0 && lossy.retransmitted_bytes >= 1000 * lossy.buffer_drops);
}

#[test]
fn without_flow_control_packets_are_dropped_and_sent_again() {
    let mut spec = into_slow_link(4, 500_000);
    spec.switch.flow_control = FlowControl::None;
    spec.switch.buffer = Bytes::new(100_000);
    spec.nic.rto = Some(Span::from_us(500));
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.counters.buffer_drops > 0);
    assert_eq!((outcome.counters.pauses, outcome.counters.paused_ps), (0, 0));
    assert!(outcome.queue_max.get() <= 100_000);
}
