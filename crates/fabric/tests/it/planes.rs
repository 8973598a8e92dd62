//! Hosts with a link into each of several planes, and senders that keep a state for each path.

use crate::common::{self, G100, add_flow, assert_complete, link, natural, run, scheme, star};
use paceline_congestion::entropy::{Entropy, Mrc, Selector};
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, TraceEvent, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{Span, Time};

const RTO: Span = Span::from_us(100);
const PROBES: Span = Span::from_us(50);
/// Switches of a plane: two leaves, with a host each, and two spines.
const SWITCHES: u32 = 4;

/// Two hosts (0 and 1) with a link into each of `planes` planes. Plane p has the leaves 2 + 4p and 3 + 4p, and the spines
/// 4 + 4p and 5 + 4p. Links by plane: those of the hosts, then those of the first leaf, then those of the second.
fn two_hosts(planes: u32, selector: Option<Selector>) -> RunSpec {
    let mut spec = natural(star(2, scheme("none")));
    spec.nodes = vec![NodeKind::Host; 2];
    spec.nodes
        .resize(2 + (planes * SWITCHES) as usize, NodeKind::Switch);
    spec.links.clear();
    for plane in 0..planes {
        let leaf = 2 + SWITCHES * plane;
        spec.links
            .extend((0..2).map(|host| link(host, leaf + host, G100)));
        for (end, spine) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            spec.links.push(link(leaf + end, leaf + 2 + spine, G100));
        }
    }
    spec.switch.ecn.clear();
    spec.nic.recovery = Recovery::Rud(Rud { rto: RTO });
    spec.nic.planes = planes as u8;
    spec.entropy = selector.map(|selector| Entropy {
        selector,
        values: 64,
        mrc: Some(Mrc {
            in_use: 8,
            probe_interval: PROBES,
        }),
    });
    spec
}

/// Returns the sixth link of a plane: from its second leaf to its second spine.
const fn last_link(plane: usize) -> usize {
    6 * plane + 5
}

const ALL: [Selector; 5] = [
    Selector::Oblivious,
    Selector::Bitmap,
    Selector::Reps,
    Selector::Mixed,
    Selector::Mrc,
];

fn data_sent(outcome: &Outcome) -> impl Iterator<Item = &TraceEvent> {
    let events = common::traced(outcome, 0, TraceKind::Dequeue);
    events.filter(|event| event.kind == PacketKind::Data)
}

/// One flow has the rate of all planes together, and each of them carries the same number of packets.
#[test]
fn a_flow_takes_all_planes_evenly() {
    for selector in ALL {
        for planes in [2, 4, 8] {
            let mut spec = two_hosts(planes, Some(selector));
            spec.record.trace_nodes = vec![NodeId(0)];
            add_flow(&mut spec, 0, 1, 4_000_000, 0);
            let outcome = run(spec.clone());
            assert_complete(&spec, &outcome);
            let flow = &outcome.flows[0];
            let slowdown = flow.fct.as_ps() as f64 / flow.ideal.as_ps() as f64;
            assert!(
                (1.0..1.15).contains(&slowdown),
                "{selector:?}, {planes}: {slowdown}"
            );
            let mut sent = vec![0; planes as usize];
            data_sent(&outcome).for_each(|event| sent[event.interface as usize - 1] += 1);
            let (least, most) = (sent.iter().min(), sent.iter().max());
            assert!(
                most.zip(least).is_some_and(|(most, least)| most - least <= 1),
                "{sent:?}"
            );
        }
    }
}

/// A flow that keeps to one path has the rate of one plane.
#[test]
fn a_flow_of_one_path_keeps_to_a_plane() {
    let mut spec = two_hosts(4, None);
    spec.nic.recovery = Recovery::GoBackN;
    spec.record.trace_nodes = vec![NodeId(0)];
    add_flow(&mut spec, 0, 1, 1_000_000, 0);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(outcome.flows[0].fct, outcome.flows[0].ideal);
    let first = data_sent(&outcome).next().map(|event| event.interface);
    assert!(data_sent(&outcome).all(|event| Some(event.interface) == first));
}

/// Returns a long flow over two planes during which a link fails at 100 us, and comes back at 1 ms. Routes never
/// change.
fn failing(selector: Selector, links: &[usize]) -> (RunSpec, Outcome) {
    let mut spec = two_hosts(2, Some(selector));
    spec.reconvergence = Span::from_us(10_000);
    for &link in links {
        spec.failures.push(LinkFailure {
            link,
            at: Time::from_ns(100_000),
            until: Some(Time::from_ns(1_000_000)),
        });
    }
    spec.record.trace_nodes = vec![NodeId(0)];
    add_flow(&mut spec, 0, 1, 50_000_000, 0);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    (spec, outcome)
}

/// Until the first packet of a path times out, its share goes on being lost; afterwards nothing is.
#[test]
fn values_whose_packets_vanish_are_no_longer_used() {
    let (_, outcome) = failing(Selector::Mrc, &[last_link(0)]);
    // Half of a plane's packets, for a timeout and some round trips. Half of the spare values are no better, and so on.
    let most = 2.0 * 0.5 * 12.5 * (RTO.as_ns() as f64 / 1000.0 + 30.0);
    let lost = outcome.counters.retransmitted_bytes as f64 / 1000.0;
    assert!((100.0..most).contains(&lost), "{lost} of {most}");
    // Without states the link goes on taking its share.
    let (_, blind) = failing(Selector::Oblivious, &[last_link(0)]);
    let more = blind.counters.retransmitted_bytes as f64 / 1000.0;
    assert!(more > 2.0 * lost, "{more} and {lost}");
}

/// Without one of two planes a flow has half the rate, and all of it again soon after the plane is back.
#[test]
fn a_plane_that_fails_costs_its_share() {
    let (_, outcome) = failing(Selector::Mrc, &[1]);
    let in_window = |from: u64, to: u64| {
        let sent = data_sent(&outcome).filter(|event| {
            let at = event.at.as_ps() / 1_000_000;
            (from..to).contains(&at)
        });
        sent.count() as f64 * 1000.0 * 8.0 / ((to - from) as f64 * 1000.0)
    };
    let full = in_window(20, 100);
    let without = in_window(600, 1000);
    let after = in_window(1100, 1900);
    assert!((0.97..1.03).contains(&(full / 190.0)), "{full} Gbit/s");
    assert!((0.45..0.51).contains(&(without / full)), "{without} of {full}");
    assert!(after > 0.98 * full, "{after} of {full}");
}

/// A host's own link that fails is not used from that moment on.
#[test]
fn a_link_of_the_host_that_fails_is_not_used() {
    let (_, outcome) = failing(Selector::Oblivious, &[0]);
    let at_failure = outcome.counters.link_drops;
    // What was on the link, and the answers that come back by it until it is up again.
    let late = data_sent(&outcome).filter(|event| {
        let at = event.at.as_ps() / 1_000_000;
        event.interface == 1 && (101..1000).contains(&at)
    });
    assert_eq!(late.count(), 0);
    assert!(at_failure > 0);
}
