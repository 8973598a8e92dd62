//! Bolt at one bottleneck: a flow that joins, one that ends, one that vanishes. Two senders and two receivers, 102
//! Gbit/s to the hosts, 100 between the switches, round-trip time 8 us (Arslan et al., NSDI 2023, figures 8 to 12).

#![allow(clippy::disallowed_macros, reason = "a test says what it measured")]

use crate::common;

use crate::common::{add_flow, link, natural, run, scheme_with, star, traced};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};

/// Bytes in a round trip of the bottleneck.
const BDP: u32 = 100_000;
const RTT_US: f64 = 8.0;

/// Switches 0 and 1; senders 2 and 3, receivers 4 and 5. Packets of 1500 B on the wire.
fn dumbbell(settings: &[(&str, &str)]) -> RunSpec {
    // As in the authors' scripts: two packets, and only the link between the switches.
    let settings = [&[("threshold", "3000B")], settings].concat();
    let mut spec = natural(star(2, scheme_with("bolt", WindowMode::Off, &settings)));
    spec.nodes = [vec![NodeKind::Switch; 2], vec![NodeKind::Host; 4]].concat();
    spec.packet.mtu = Bytes::new(1443);
    spec.links = vec![link(0, 1, common::G100)];
    for (host, switch) in [(2, 0), (3, 0), (4, 1), (5, 1)] {
        spec.links.push(link(switch, host, BitRate::from_gbps(102)));
    }
    for link in &mut spec.links {
        link.delay = Span::from_ns(1272);
    }
    spec.switch.ecn.clear();
    spec.switch.assist = Some(AssistPorts::BetweenSwitches);
    spec.record.trace_nodes = vec![NodeId(0)];
    spec.stop = Time::from_ns(800_000);
    spec
}

fn us(at: Time) -> f64 {
    at.as_ps() as f64 / 1e6
}

/// Returns data events at the bottleneck: time in us, bytes in the queue, bytes of the packet.
fn bottleneck(outcome: &Outcome, kind: TraceKind) -> Vec<(f64, u32, u32)> {
    traced(outcome, 0, kind)
        .filter(|event| event.interface == 1 && event.kind == PacketKind::Data)
        .map(|event| (us(event.at), event.queue_bytes, event.wire))
        .collect()
}

/// Returns the microseconds in which the bottleneck sent nothing, from `from` to `to`.
fn idle(outcome: &Outcome, from: f64, to: f64) -> f64 {
    let sent = bottleneck(outcome, TraceKind::Dequeue);
    let pairs = sent.windows(2).filter(|pair| pair[0].0 >= from && pair[1].0 < to);
    pairs
        .map(|pair| (pair[1].0 - pair[0].0 - f64::from(pair[0].2) * 8.0 / 100_000.0).max(0.0))
        .sum()
}

/// Returns the first time after `from` at which the window of a flow is 95 % of a round trip's bytes.
fn recovered(outcome: &Outcome, flow: usize, from: f64) -> f64 {
    let full = |bin: &paceline_fabric::outcome::Bin| {
        us(bin.at) >= from && bin.max as f64 * 1500.0 / 1443.0 >= 0.95 * f64::from(BDP)
    };
    let mut bins = outcome.flow_series[flow].window.bins();
    bins.find(full).map_or(f64::INFINITY, |bin| us(bin.at))
}

fn joining(settings: &[(&str, &str)]) -> (u32, f64) {
    let mut spec = dumbbell(settings);
    add_flow(&mut spec, 2, 4, 12_000_000, 0);
    add_flow(&mut spec, 3, 5, 12_000_000, 100_000);
    let outcome = run(spec);
    let first = traced(&outcome, 0, TraceKind::Enqueue).find(|event| event.flow == 1);
    let joined = us(first.unwrap().at);
    let queued = bottleneck(&outcome, TraceKind::Enqueue);
    let peak = queued
        .iter()
        .filter(|event| event.0 >= joined)
        .map(|event| event.1)
        .max();
    let peak = peak.unwrap();
    let top = queued.iter().find(|event| event.1 == peak).unwrap().0;
    let left = bottleneck(&outcome, TraceKind::Dequeue);
    let empty = left.iter().find(|event| event.0 > top && event.1 == 0).unwrap().0;
    (peak, (empty - joined) / RTT_US)
}

#[test]
fn a_joining_flow_is_answered_within_a_round_trip() {
    let (peak, empty) = joining(&[]);
    println!("peak {peak} B, empty after {empty:.2} RTT");
    assert!(peak < BDP, "{peak}");
    assert!(empty < 2.0, "{empty}");
    // Feedback that takes a round trip costs a round trip of queue.
    let (without, later) = joining(&[("src", "false")]);
    println!("without SRC: peak {without} B, empty after {later:.2} RTT");
    assert!(without > peak + peak / 4 && later > 2.0, "{without} {later}");
}

/// A flow ends after about 200 us of sharing. Returns the time for which the link has nothing to send in the `span`
/// microseconds that follow, on the mean of 20 phases of its packets relative to the other's.
fn ending(settings: &[(&str, &str)], span: f64) -> f64 {
    let lost = (0..20).map(|phase| {
        let mut spec = dumbbell(settings);
        add_flow(&mut spec, 3, 5, 18_237_500, 0);
        add_flow(&mut spec, 2, 4, 1_215_833, phase * 397);
        let outcome = run(spec);
        let left = us(outcome.flows[1].received.unwrap());
        // Its last packet left the bottleneck 1.4 us before.
        idle(&outcome, left - 3.0, left + span)
    });
    lost.sum::<f64>() / 20.0
}

#[test]
fn a_flow_that_ends_leaves_no_gap() {
    let all = ending(&[], 20.0);
    let without_pru = ending(&[("pru", "false")], 20.0);
    let neither = ending(&[("pru", "false"), ("sm", "false")], 250.0);
    println!("idle {all:.2} us; SM alone {without_pru:.2} us; neither {neither:.2} us");
    assert!(all <= 2.5, "{all}");
    assert!(
        without_pru > 2.0 * all && neither > 5.0 * without_pru,
        "{without_pru} {neither}"
    );
}

/// Clocked by ACKs alone, with a threshold of one packet (`bolt-paper`), windows arrive back to back and the queue
/// persists: packets with LAST leave no token, and a gap brings one packet per round trip.
#[test]
fn as_listed_in_the_paper_a_flow_that_ends_leaves_a_gap() {
    let listed = [("threshold", "1500B"), ("pace", "false")];
    let lost = ending(&listed, 150.0);
    let spread = ending(&[("threshold", "1500B")], 150.0);
    println!("idle {lost:.2} us; with a pacer {spread:.2} us");
    assert!(lost > 10.0 && spread < 5.0, "{lost} {spread}");
    let matched = vanishing(&listed);
    println!("95 % of a round trip after {matched:.1} us");
    assert!(matched > 100.0, "{matched}");
}

/// The link of one of two flows fails at 400 us.
fn vanishing(settings: &[(&str, &str)]) -> f64 {
    let mut spec = dumbbell(settings);
    add_flow(&mut spec, 2, 4, 48_633_333, 0);
    add_flow(&mut spec, 3, 5, 48_633_333, 0);
    spec.failures.push(LinkFailure {
        link: 1,
        at: Time::from_ns(400_000),
        until: None,
    });
    spec.record.flow_every = Some(Span::from_ns(500));
    spec.record.flows_max = 2;
    recovered(&run(spec), 1, 400.0) - 400.0
}

#[test]
fn a_flow_that_vanishes_is_replaced_by_supply() {
    let matched = vanishing(&[]);
    let probing = vanishing(&[("sm", "false")]);
    println!("95 % of a round trip after {matched:.1} us; without SM {probing:.1} us");
    assert!(matched <= 35.0, "{matched}");
    // An additive step per round trip: 30 packets and more.
    assert!(probing >= 25.0 * RTT_US, "{probing}");
}
