//! Unscheduled bytes: the data that leaves a sender before its first feedback.

use crate::common::{add_flow, assert_complete, natural, run, scheme, star};
use paceline_fabric::spec::*;
use paceline_kernel::Span;
use proptest::prelude::*;

/// Times of a full data packet and an ACK at 100 Gbit/s, in ps.
const DATA: u64 = 83_840;
const ACK: u64 = 4_800;
const US: u64 = 1_000_000;

/// One flow alone at line rate: its first ACK is back after two packets, two ACKs and four links; until then a packet
/// has left every 83.84 ns.
#[test]
fn one_flow_by_hand() {
    let first_ack = 2 * DATA + 2 * ACK + 4 * US;
    let before = first_ack.div_ceil(DATA);
    assert_eq!(before, 50);
    for (size, unheard) in [(1_000_000, before * 1000), (20_000, 20_000), (1, 1)] {
        let mut spec = natural(star(2, scheme("dcqcn")));
        add_flow(&mut spec, 1, 2, size, 300);
        let outcome = run(spec);
        let flow = outcome.flows[0];
        assert_eq!((flow.sent.get(), flow.sent_unscheduled.get()), (size, unheard));
    }
}

/// If the first packets are lost, the first feedback is a NACK for the very first byte: later than the acknowledgement
/// would have come, but long before the first one for new data.
#[test]
fn a_nack_is_feedback() {
    let mut spec = natural(star(2, scheme("dcqcn")));
    spec.links[0].error_rate = 0.2;
    add_flow(&mut spec, 1, 2, 3_000_000, 0);
    let after_a_nack = (1..=20).filter(|&seed| {
        spec.seed = seed;
        let outcome = run(spec.clone());
        (51_000..60_000).contains(&outcome.flows[0].sent_unscheduled.get())
    });
    assert!(
        after_a_nack.count() > 0,
        "of some seed the first packets are lost"
    );
}

/// A flow without feedback at the end of the run, and one that has not started.
#[test]
fn flows_that_do_not_end() {
    let mut spec = natural(star(3, scheme("dcqcn")));
    add_flow(&mut spec, 1, 2, 1_000_000, 0);
    add_flow(&mut spec, 1, 3, 1_000_000, 5000);
    spec.stop = paceline_kernel::Time::from_ps(10 * DATA + 1);
    let outcome = run(spec);
    let of = |flow: usize| {
        (
            outcome.flows[flow].sent.get(),
            outcome.flows[flow].sent_unscheduled.get(),
        )
    };
    assert_eq!([of(0), of(1)], [(11_000, 11_000), (0, 0)]);
}

/// Messages in a row between the same hosts are separate flows: each starts without feedback.
#[test]
fn a_closed_loop() {
    let mut spec = natural(star(2, scheme("hpcc")));
    for _ in 0..5 {
        add_flow(&mut spec, 1, 2, 20_000, 0);
    }
    spec.dependencies = (1..5)
        .map(|flow| Dependency {
            flow,
            after: flow - 1,
            awaited: Awaited::Acknowledged,
            delay: Span::ZERO,
        })
        .collect();
    let outcome = run(spec);
    assert!(
        outcome
            .flows
            .iter()
            .all(|flow| flow.sent_unscheduled.get() == 20_000)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(24), ..ProptestConfig::default() })]

    /// Unscheduled bytes are at most the bytes sent, and of a completed flow all bytes are sent. Recorded samples agree
    /// with the time of the first feedback.
    #[test]
    fn it_is_a_part_of_what_was_sent(
        sizes in proptest::collection::vec(1u64..400_000, 2..8),
        which in 0usize..5,
    ) {
        let name = ["dcqcn", "hpcc", "timely-patched", "swift", "bolt"][which];
        let mut spec = natural(star(9, scheme(name)));
        for (host, &size) in (1..).zip(&sizes) {
            add_flow(&mut spec, host, 9, size, 0);
        }
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        for (flow, &size) in outcome.flows.iter().zip(&sizes) {
            prop_assert_eq!(flow.sent.get(), size);
            prop_assert!(flow.sent_unscheduled.get() >= size.min(1000));
            prop_assert!(flow.sent_unscheduled <= flow.sent);
        }
    }
}
