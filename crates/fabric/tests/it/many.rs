//! Very many flows of one host, and very many nodes. Work that grows with their square would not end in time here: a
//! run of a second would take minutes.

use crate::common;

use crate::common::{add_flow, assert_complete, natural, run, scheme, star};
use paceline_fabric::Simulation;
use paceline_fabric::outcome::Outcome;
use paceline_fabric::spec::*;
use paceline_kernel::{Bytes, Time};

const MANY: u32 = 200_000;

/// Returns `count` flows of a byte each from node 1 to node 2 that start at the same instant.
fn flows(mut spec: RunSpec, count: u32) -> RunSpec {
    add_flow(&mut spec, 1, 2, 1, 0);
    spec.flows = vec![spec.flows[0]; count as usize];
    spec.check = false;
    spec
}

fn assert_in_order(spec: &RunSpec, outcome: &Outcome) {
    assert_complete(spec, outcome);
    // Its queue pairs take turns from the second on.
    let ends: Vec<Time> = outcome.flows[1..]
        .iter()
        .map(|flow| flow.received.unwrap())
        .collect();
    assert!(ends.is_sorted());
    assert!(outcome.flows[0].received.unwrap() > Time::ZERO);
}

#[test]
fn flows_of_one_host_end_one_after_another() {
    let spec = flows(natural(star(2, scheme("dcqcn"))), MANY);
    assert_in_order(&spec, &run(spec.clone()));
}

/// Pauses hold back one of two classes most of the time.
#[test]
fn flows_of_a_paused_host_end() {
    let mut spec = flows(natural(star(3, scheme("none"))), 60_000);
    common::static_pfc(&mut spec, 20_000, 15_000, 100_000);
    for (i, flow) in spec.flows.iter_mut().enumerate() {
        flow.size = Bytes::new(1000);
        flow.class = if i % 2 == 0 { 3 } else { 5 };
    }
    // As many bytes of one of the classes come from another host.
    let mut other = spec.flows[0];
    (other.src, other.size) = (NodeId(3), Bytes::new(60_000_000));
    spec.flows.push(other);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.counters.pauses > 100, "{}", outcome.counters.pauses);
}

#[test]
fn flows_with_turns_of_a_quantum_end() {
    let mut spec = flows(natural(star(2, scheme("dcqcn"))), MANY);
    spec.nic.scheduling = Scheduling::Quantum(Bytes::new(3000));
    assert_in_order(&spec, &run(spec.clone()));
}

#[test]
fn messages_of_one_connection_end() {
    let mut spec = flows(natural(star(2, scheme("dcqcn"))), MANY);
    let first = std::num::NonZeroU32::MIN;
    spec.flows
        .iter_mut()
        .for_each(|flow| flow.connection = Some(first));
    assert_in_order(&spec, &run(spec.clone()));
}

#[test]
fn nodes_without_links_cost_nothing() {
    let mut spec = flows(natural(star(2, scheme("dcqcn"))), 2);
    spec.nodes.extend(vec![NodeKind::Host; MANY as usize]);
    spec.nodes.extend(vec![NodeKind::Switch; MANY as usize]);
    let mut simulation = Simulation::new(spec.clone()).unwrap();
    while !simulation.advance(1 << 20).done {}
    assert_complete(&spec, &simulation.finish());
}

#[test]
fn links_that_fail_cost_no_more_each_than_they_are() {
    let mut spec = flows(natural(star(40_000, scheme("dcqcn"))), 2);
    spec.failures = (2..spec.links.len())
        .map(|link| LinkFailure {
            link,
            at: Time::from_ns(1_000_000_000),
            until: None,
        })
        .collect();
    spec.stop = Time::from_ns(1_000_000);
    assert_complete(&spec, &run(spec.clone()));
}
