//! Flows that depend on others: closed loops, steps of collectives, and flows that never start.

use crate::common;

use crate::common::{add_flow, assert_complete, link, natural, run, scheme, star};
use paceline_fabric::outcome::{FlowRecord, FlowStatus};
use paceline_fabric::spec::*;
use paceline_fabric::{BuildError, Simulation, find_cycle};
use paceline_kernel::{Bytes, Span, Time};
use proptest::prelude::*;

/// Times of a full data packet and an ACK at 100 Gbit/s, in ps.
const DATA: u64 = 83_840;
const ACK: u64 = 4_800;
const US: u64 = 1_000_000;

fn plain(hosts: u32) -> RunSpec {
    let mut spec = natural(star(hosts, scheme("none")));
    spec.switch.ecn.clear();
    spec
}

fn wait(flow: u32, after: u32, awaited: Awaited, delay_ps: u64) -> Dependency {
    Dependency {
        flow,
        after,
        awaited,
        delay: Span::from_ps(delay_ps),
    }
}

fn start(record: &FlowRecord) -> u64 {
    record.start.as_ps()
}

/// Returns the arrival of the last of `n` packets through one switch, in ps.
const fn arrival(n: u64) -> u64 {
    (n + 1) * DATA + 2 * US
}

#[test]
fn each_kind_of_waiting_by_hand() {
    let mut spec = plain(4);
    add_flow(&mut spec, 1, 2, 10_000, 0);
    add_flow(&mut spec, 1, 3, 1_000, 0);
    add_flow(&mut spec, 2, 4, 1_000, 0);
    add_flow(&mut spec, 4, 3, 1_000, 0);
    spec.dependencies = vec![
        wait(1, 0, Awaited::Acknowledged, 7_000),
        wait(2, 0, Awaited::Received, 0),
        wait(3, 0, Awaited::Started, 3 * US),
    ];
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let flows = &outcome.flows;
    assert_eq!(flows[0].received, Some(Time::from_ps(arrival(10))));
    let acknowledged = arrival(10) + 2 * ACK + 2 * US;
    assert_eq!(flows[0].fct.as_ps(), acknowledged);
    assert_eq!(start(&flows[1]), acknowledged + 7_000);
    assert_eq!(start(&flows[2]), arrival(10));
    assert_eq!(start(&flows[3]), 3 * US);
    // Completion times count from the actual start; host 2's ACK leaves before its own data.
    assert_eq!(flows[1].fct.as_ps(), arrival(1) + 2 * ACK + 2 * US);
    assert_eq!(flows[2].fct.as_ps(), ACK + arrival(1) + 2 * ACK + 2 * US);
}

#[test]
fn the_last_thing_counts_and_so_does_the_start_time() {
    let mut spec = plain(4);
    add_flow(&mut spec, 1, 2, 10_000, 0);
    add_flow(&mut spec, 3, 4, 1_000, 0);
    // Waits for both: the first is the later one.
    add_flow(&mut spec, 2, 3, 1_000, 0);
    // Ready long before its time, and just after it.
    add_flow(&mut spec, 4, 1, 1_000, 50_000);
    add_flow(&mut spec, 4, 1, 1_000, 50_000);
    spec.dependencies = vec![
        wait(2, 0, Awaited::Received, 100),
        wait(2, 1, Awaited::Received, 200),
        wait(3, 1, Awaited::Received, 0),
        wait(4, 1, Awaited::Received, 60 * US),
    ];
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let starts: Vec<u64> = outcome.flows.iter().map(start).collect();
    assert_eq!(starts, [0, 0, arrival(10) + 100, 50 * US, arrival(1) + 60 * US]);
}

#[test]
fn the_order_of_ties_does_not_matter_for_who_starts() {
    for ties in [TieOrder::Structural, TieOrder::Insertion, TieOrder::Shuffled(3)] {
        let mut spec = plain(3);
        spec.ties = ties;
        add_flow(&mut spec, 1, 2, 1_000, 0);
        // Becomes ready at the very instant at which its time comes.
        add_flow(&mut spec, 2, 3, 1_000, 0);
        spec.flows[1].start = Time::from_ps(arrival(1));
        spec.dependencies = vec![wait(1, 0, Awaited::Received, 0)];
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        assert_eq!(start(&outcome.flows[1]), arrival(1), "{ties:?}");
    }
}

#[test]
fn what_waits_for_something_that_never_happens_does_not_start() {
    let mut spec = plain(3);
    // Host 5 is at a switch without a link to the others.
    spec.nodes.extend([NodeKind::Switch, NodeKind::Host]);
    spec.links.push(link(4, 5, common::G100));
    add_flow(&mut spec, 1, 5, 1_000, 0);
    add_flow(&mut spec, 1, 2, 1_000, 0);
    add_flow(&mut spec, 2, 3, 1_000, 0);
    spec.dependencies = vec![
        wait(1, 0, Awaited::Received, 0),
        wait(2, 1, Awaited::Acknowledged, 0),
    ];
    let outcome = run(spec);
    let status: Vec<_> = outcome.flows.iter().map(|flow| flow.status).collect();
    assert_eq!(
        status,
        [
            FlowStatus::Unreachable,
            FlowStatus::NotStarted,
            FlowStatus::NotStarted
        ]
    );
    assert_eq!(outcome.flows[1].fct, Span::ZERO);
}

#[test]
fn graphs_that_cannot_be() {
    let mut spec = plain(3);
    for _ in 0..4 {
        add_flow(&mut spec, 1, 2, 1_000, 0);
    }
    let error = |dependencies: Vec<Dependency>| {
        let mut spec = spec.clone();
        spec.dependencies = dependencies;
        match Simulation::new(spec) {
            Err(BuildError::BadFlow { flow, why }) => (flow, why),
            other => panic!("{:?}", other.err()),
        }
    };
    let after = |flow, after| wait(flow, after, Awaited::Received, 0);
    // Flow 3 waits for the cycle without being part of it.
    let (flow, why) = error(vec![after(3, 2), after(1, 2), after(2, 1), after(1, 0)]);
    assert!(
        [1, 2].contains(&flow) && why.contains("waits for itself"),
        "{flow} {why}"
    );
    assert_eq!(error(vec![after(0, 0)]).0, 0);
    assert_eq!(
        error(vec![after(1, 9)]),
        (1, "it has to do with flow 9, and there are 4".to_string())
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(32), ..ProptestConfig::default() })]

    /// Any graph without cycles runs to its end, and no flow starts before its time, as the checks of the run assert.
    #[test]
    fn any_acyclic_graph_runs_to_its_end(
        flows in prop::collection::vec((1u32..=5, 1u32..=4, 1u64..20_000, 0u64..20_000), 1..30),
        edges in prop::collection::vec((0usize..30, 0usize..30, 0u8..3, 0u64..5 * US), 0..60),
        losses in prop::bool::ANY,
    ) {
        let mut spec = plain(5);
        let mut starts: Vec<u64> = flows.iter().map(|&(.., start)| start).collect();
        starts.sort_unstable();
        for (&(src, hop, size, _), start) in flows.iter().zip(starts) {
            add_flow(&mut spec, src, 1 + (src - 1 + hop) % 5, size, start);
        }
        for (a, b, kind, delay) in edges {
            let (a, b) = (a % flows.len(), b % flows.len());
            let awaited = [Awaited::Started, Awaited::Received, Awaited::Acknowledged][usize::from(kind)];
            // Not only forward in time: the order is that of the numbers times seven.
            let rank = |i: usize| (i * 7) % 31;
            let (flow, after) = if rank(a) > rank(b) { (a, b) } else { (b, a) };
            if flow != after {
                spec.dependencies.push(wait(flow as u32, after as u32, awaited, delay));
            }
        }
        prop_assert_eq!(find_cycle(spec.flows.len(), &spec.dependencies), None);
        if losses {
            spec.links.iter_mut().for_each(|link| link.error_rate = 0.01);
        }
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        for (record, flow) in outcome.flows.iter().zip(&spec.flows) {
            prop_assert!(record.start >= flow.start);
            prop_assert!(record.received.unwrap() < record.start + record.fct);
        }
        // A cycle is found wherever an edge closes one.
        if let Some(&edge) = spec.dependencies.first() {
            spec.dependencies.push(Dependency { flow: edge.after, after: edge.flow, ..edge });
            prop_assert!(find_cycle(spec.flows.len(), &spec.dependencies).is_some());
        }
    }
}

#[test]
fn a_long_chain_takes_its_steps_one_by_one() {
    let mut spec = plain(2);
    let steps = 50;
    for step in 0..steps {
        add_flow(&mut spec, 1 + step % 2, 2 - step % 2, 1_000, 0);
    }
    spec.dependencies = (1..steps)
        .map(|step| wait(step, step - 1, Awaited::Received, 0))
        .collect();
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(spec.flows[0].size, Bytes::new(1_000));
    // Ping-pong: the ACK of the received flow leaves before the answer.
    let last = outcome.flows[steps as usize - 1].received.unwrap();
    assert_eq!(
        last.as_ps(),
        arrival(1) + u64::from(steps - 1) * (ACK + arrival(1))
    );
}
