//! ACC in a network: with other schemes, and with packet losses.

use crate::common::{add_flow, assert_complete, kb, natural, run, scheme, star};
use paceline_fabric::spec::*;
use paceline_kernel::Bytes;

/// Incast of `flows` hosts that start together, at 100 Gbit/s and 1 us per link, with marking steps at 20 KB.
fn incast(flows: u32) -> RunSpec {
    let mut spec = natural(star(flows + 1, scheme("acc")));
    for curve in &mut spec.switch.ecn {
        (curve.kmin, curve.kmax, curve.pmax) = (kb(20), kb(20), 1.0);
    }
    for host in 1..=flows {
        add_flow(&mut spec, host, flows + 1, 1_000_000, 0);
    }
    spec
}

/// With a scheme that ignores all feedback: ACC takes what the other leaves, and does not stop.
#[test]
fn it_shares_with_one_that_does_not_listen() {
    let mut spec = incast(3);
    spec.schemes.push(scheme("none"));
    spec.flows[2].scheme = 1;
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.flows[2].fct < outcome.flows[0].fct);
    assert_eq!(outcome.counters.buffer_drops, 0);
}

/// Recovers from losses, with a quarter of a buffer and no pauses.
#[test]
fn losses_are_repaired() {
    let mut spec = incast(8);
    spec.switch.flow_control = FlowControl::None;
    spec.switch.buffer = Bytes::new(200_000);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.counters.buffer_drops > 0);
}
