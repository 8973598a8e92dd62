//! Deadlocks: pauses that never end are found, others are not mistaken for them.

use crate::common;

use crate::common::{G100, add_flow, link, natural, run, scheme, star, static_pfc};
use paceline_fabric::outcome::{Deadlock, FlowStatus};
use paceline_fabric::spec::*;
use paceline_kernel::{Span, Time};

/// Returns the ports of a deadlock's pauses, as `node->peer`.
fn ports(deadlock: &Deadlock) -> Vec<String> {
    let name = |pause: &paceline_fabric::outcome::EndlessPause| {
        format!("{}->{}", pause.port.node.0, pause.port.peer.0)
    };
    deadlock.pauses.iter().map(name).collect()
}

/// Hosts 1 and 2 send to 3 and 4; host 3's NIC pauses forever from 10 us on.
fn storm(until: Option<u64>) -> RunSpec {
    let mut spec = natural(star(4, scheme("none")));
    static_pfc(&mut spec, 40_000, 38_000, 60_000);
    spec.storms.push(PauseStorm {
        node: NodeId(3),
        link: None,
        class: 3,
        at: Time::from_ns(10_000),
        until: until.map(Time::from_ns),
    });
    add_flow(&mut spec, 1, 3, 2_000_000, 0);
    add_flow(&mut spec, 2, 4, 2_000_000, 0);
    spec
}

#[test]
fn a_storm_and_its_victims() {
    let outcome = run(storm(None));
    let deadlock = outcome.deadlock.expect("the storm does not end");
    assert_eq!(ports(&deadlock), ["1->0", "0->3"]);
    assert!(deadlock.cycles.is_empty());
    assert_eq!(deadlock.storms(), [NodeId(3)]);
    assert_eq!(deadlock.flows, [0]);
    // Host 1 waits for the port that the storm holds; the frame took 5120 ps and the cable.
    assert_eq!(deadlock.pauses[0].waits_for, [1]);
    assert_eq!(
        deadlock.pauses[1].since,
        Time::from_ps(10_000_000 + 5_120 + 1_000_000)
    );
    // The other flow is not affected; then the run ends, a timeout or two later.
    assert_eq!(outcome.flows[1].status, FlowStatus::Completed);
    assert_eq!(outcome.flows[0].status, FlowStatus::Unfinished);
    assert!(
        deadlock.ended && outcome.end < Time::from_ns(4_000_000),
        "{}",
        outcome.end
    );
}

#[test]
fn a_storm_that_ends_is_survived() {
    let outcome = run(storm(Some(500_000)));
    assert_eq!(outcome.completions.len(), 2);
    assert_eq!(outcome.deadlock, None);
    assert!(outcome.flows[0].fct > Span::from_us(500));
}

/// Without timeouts no event is left: found at the end.
#[test]
fn a_storm_without_timeouts() {
    let mut spec = storm(None);
    spec.nic.rto = None;
    let deadlock = run(spec).deadlock.expect("the storm does not end");
    assert_eq!(ports(&deadlock), ["1->0", "0->3"]);
}

/// Timed pauses are renewed, so the storm lasts as well.
#[test]
fn a_storm_of_timed_pauses() {
    let mut spec = storm(None);
    let FlowControl::Pfc(pfc) = &mut spec.switch.flow_control else {
        panic!("PFC is on")
    };
    pfc.mode = PfcMode::Quanta {
        pause: Span::from_us(5),
    };
    let outcome = run(spec);
    assert_eq!(ports(&outcome.deadlock.unwrap()), ["1->0", "0->3"]);
    assert_eq!(outcome.flows[1].status, FlowStatus::Completed);
}

/// Switches 0 to n - 1 in a ring, host n + i at switch i; packets go clockwise, each to the host `hops` switches on.
fn ring(n: u32, hops: u32) -> RunSpec {
    let mut spec = natural(star(1, scheme("none")));
    spec.nodes = [
        vec![NodeKind::Switch; n as usize],
        vec![NodeKind::Host; n as usize],
    ]
    .concat();
    spec.links = (0..n).map(|i| link(i, (i + 1) % n, G100)).collect();
    spec.links.extend((0..n).map(|i| link(i, n + i, G100)));
    for node in 0..n {
        for to in (0..n).filter(|&to| to != node) {
            spec.routes.push(StaticRoute {
                node: NodeId(node),
                to: NodeId(n + to),
                via: NodeId((node + 1) % n),
            });
        }
    }
    spec.switch.ecn.clear();
    static_pfc(&mut spec, 40_000, 38_000, 60_000);
    for i in 0..n {
        add_flow(&mut spec, n + i, n + (i + hops) % n, 3_000_000, 0);
    }
    spec
}

#[test]
fn a_ring_that_deadlocks() {
    let outcome = run(ring(4, 3));
    let deadlock = outcome.deadlock.expect("a deadlock");
    let [cycle] = &deadlock.cycles[..] else {
        panic!("one circle: {deadlock:?}")
    };
    let mut nodes: Vec<u32> = cycle.iter().map(|&i| deadlock.pauses[i].port.node.0).collect();
    let first = nodes.iter().position(|&node| node == 0).unwrap();
    nodes.rotate_left(first);
    assert_eq!(nodes, [0, 1, 2, 3]);
    assert!(deadlock.storms().is_empty() && deadlock.ended);
    // Hosts wait for the ring.
    assert_eq!(deadlock.pauses.len(), 8);
    assert!(deadlock.since(cycle) < deadlock.found);
    assert_eq!(deadlock.flows, [0, 1, 2, 3]);
    assert_eq!(outcome.completions.len(), 0);
    assert!(outcome.end < Time::from_ns(5_000_000), "{}", outcome.end);
}

/// The last bin of a deadlocked run is paused as a whole, wherever in it the run ends.
#[test]
fn a_deadlock_does_not_fade() {
    for bin_us in [1, 70, 1_000] {
        let mut spec = ring(4, 3);
        spec.record.port_bin = Some(Span::from_us(bin_us));
        let outcome = run(spec);
        let (series, deadlock) = (outcome.ports.unwrap(), outcome.deadlock.unwrap());
        for pause in &deadlock.pauses {
            let index = series.ports.iter().position(|port| *port == pause.port).unwrap();
            let last = series.of_port(index).last().unwrap();
            assert!((last.paused - 1.0).abs() < 1e-6, "{bin_us} us: {last:?}");
        }
    }
}

/// A ring in which no packet passes two of its links: congested, paused, alive.
#[test]
fn a_ring_that_lives() {
    let mut spec = ring(4, 1);
    for i in 0..4 {
        add_flow(&mut spec, 4 + (i + 2) % 4, 4 + (i + 3) % 4, 1_000_000, 0);
    }
    spec.links[..4]
        .iter_mut()
        .for_each(|link| link.rate = paceline_kernel::BitRate::from_gbps(40));
    let outcome = run(spec.clone());
    assert!(outcome.counters.pauses > 100);
    assert_eq!(outcome.deadlock, None);
    common::assert_complete(&spec, &outcome);
}

/// A link that fails breaks the cycle: lost data is retransmitted, and everything arrives.
#[test]
fn a_failure_breaks_a_deadlock() {
    let mut spec = ring(4, 3);
    spec.failures.push(LinkFailure {
        link: 0,
        at: Time::from_ns(3_000_000),
        until: Some(Time::from_ns(3_001_000)),
    });
    spec.routes.clear();
    spec.routes = ring(4, 3).routes;
    let outcome = run(spec);
    // Another deadlock may follow; but the run did not end before.
    assert!(outcome.end > Time::from_ns(3_001_000));
}

/// A flow that starts long after another has ended is waited for, even during a deadlock.
#[test]
fn what_is_still_to_come_is_waited_for() {
    let mut spec = storm(None);
    add_flow(&mut spec, 4, 2, 10_000, 0);
    spec.dependencies.push(Dependency {
        flow: 2,
        after: 1,
        awaited: Awaited::Received,
        delay: Span::from_us(50_000),
    });
    let outcome = run(spec);
    assert_eq!(outcome.flows[2].status, FlowStatus::Completed);
    let deadlock = outcome.deadlock.expect("the storm does not end");
    assert!(deadlock.ended && outcome.end < Time::from_ns(60_000_000));
}
