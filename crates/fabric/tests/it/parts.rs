//! Runs in parts that run at the same time: all results are those of a single thread.

use std::sync::Arc;

use crate::common;

use crate::common::{G100, G400, add_flow, link, natural, run, scheme, scheme_with, star};
use crate::networks::{build, case, known::known, record, schemes};
use paceline_congestion::entropy::{Entropy, Selector};
use paceline_congestion::registry::{SchemeFactory, WindowMode};
use paceline_fabric::spec::*;
use paceline_fabric::{Factories, Outcome, Simulation, ThreadRanks};
use paceline_kernel::{Bytes, Span, Time};
use proptest::prelude::*;

/// Returns the outcome in `parts` parts, and their actual number; `None` if the run cannot be cut.
fn in_parts(spec: &RunSpec, parts: usize, step: u64) -> Option<(Outcome, usize)> {
    on_threads(spec, parts, parts, step)
}

/// Returns the outcome in `parts` parts on this many threads, regardless of the number of processors.
fn on_threads(spec: &RunSpec, parts: usize, threads: usize, step: u64) -> Option<(Outcome, usize)> {
    let mut simulation = Simulation::new(spec.clone()).unwrap();
    let parts = simulation.cut(parts).ok()?;
    simulation.set_threads(threads);
    while !simulation.advance(step).done {}
    Some((simulation.finish(), parts))
}

/// Returns the outcome on several ranks with `threads` parts each; `None` if the run cannot be cut for them.
fn on_ranks(spec: &RunSpec, ranks: usize, threads: usize, step: u64) -> Option<Outcome> {
    let run = |rank: ThreadRanks| {
        let mut simulation = Simulation::new(spec.clone()).unwrap();
        simulation.cut_among(Arc::new(rank), threads).ok()?;
        while !simulation.advance(step).done {}
        simulation.finish_rank()
    };
    let outcomes: Vec<Option<Outcome>> = std::thread::scope(|scope| {
        let ranks = ThreadRanks::connect(ranks).into_iter();
        let ranks: Vec<_> = ranks.map(|rank| scope.spawn(move || run(rank))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    });
    assert!(
        outcomes[1..].iter().all(Option::is_none),
        "the first rank has the outcome"
    );
    outcomes.into_iter().next().unwrap()
}

/// Asserts that all results are the same, field by field.
fn assert_same(cut: &Outcome, alone: &Outcome) {
    assert_eq!(cut.counters, alone.counters);
    assert_eq!(cut.completions, alone.completions);
    for (flow, (cut, alone)) in cut.flows.iter().zip(&alone.flows).enumerate() {
        assert_eq!(cut, alone, "flow {flow}");
    }
    assert_eq!(cut.end, alone.end);
    assert_eq!(cut.deadlock, alone.deadlock);
    assert_eq!(cut.pfc, alone.pfc);
    assert_eq!(cut.rtt_per_round_trip, alone.rtt_per_round_trip);
    assert_eq!(cut.rtt_samples, alone.rtt_samples);
    assert_eq!(cut.rates, alone.rates);
    assert_eq!(cut.flow_series, alone.flow_series);
    assert_eq!(cut.queues, alone.queues);
    assert_eq!(cut.queue_dumps, alone.queue_dumps);
    assert_eq!(cut.queue_max, alone.queue_max);
    assert_eq!(cut.ports, alone.ports);
    assert_eq!(cut.states, alone.states);
    assert_eq!(cut.trace, alone.trace);
    assert_eq!(cut.accounts, alone.accounts);
    assert_eq!(cut.decisions, alone.decisions);
    assert_eq!(cut.hangs_on_seed, alone.hangs_on_seed);
    assert_eq!(cut.digest, alone.digest);
    assert!(cut == alone);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(48), max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_run_in_any_number_of_parts(
        case in case(&schemes()),
        step in 2000u64..200_000,
        recorded in any::<bool>(),
        threads in 1usize..6,
    ) {
        let mut spec = natural(build(&case));
        spec.record.flow_probes.clear();
        if recorded {
            record(&mut spec);
        }
        let alone = run(spec.clone());
        for parts in [2, 3, 7, 16] {
            let Some((outcome, _)) = on_threads(&spec, parts, threads, step) else { continue };
            if let Err(why) = std::panic::catch_unwind(|| assert_same(&outcome, &alone)) {
                let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
                prop_assert!(false, "in {} parts: {}", parts, why);
            }
        }
        for (ranks, threads) in [(2, 1), (3, 1), (2, 2)] {
            let Some(outcome) = on_ranks(&spec, ranks, threads, step) else { continue };
            if let Err(why) = std::panic::catch_unwind(|| assert_same(&outcome, &alone)) {
                let why = why.downcast_ref::<String>().cloned().unwrap_or_default();
                prop_assert!(false, "on {} ranks: {}", ranks, why);
            }
        }
    }
}

#[test]
fn known_runs_in_parts() {
    let mut cut = 0;
    for case in known() {
        let mut spec = natural(build(&case));
        spec.record.flow_probes.clear();
        spec.ties = TieOrder::Structural;
        record(&mut spec);
        let alone = run(spec.clone());
        for parts in [2, 7] {
            let Some((outcome, _)) = on_threads(&spec, parts, 4, 109_892) else {
                continue;
            };
            assert_same(&outcome, &alone);
            assert_same(&on_ranks(&spec, 2, 1, 70_001).unwrap(), &alone);
            cut += 1;
        }
    }
    assert!(cut >= 4, "{cut} could be cut");
}

/// A host that loses one of its two links moves its flows in their own order, not in that of their slots. One of them
/// has the slot of a flow of the other host, except in a run in parts.
#[test]
fn flows_that_move_to_another_link_keep_their_order() {
    let mut spec = natural(star(2, scheme("hpcc")));
    spec.nodes = [vec![NodeKind::Switch; 3], vec![NodeKind::Host; 2]].concat();
    spec.links = [(0, 2), (1, 2), (3, 0), (3, 1), (4, 2)]
        .map(|(a, b)| link(a, b, G100))
        .to_vec();
    spec.flows.clear();
    add_flow(&mut spec, 4, 3, 1000, 0);
    for (i, start) in (0..12).zip([0, 1000, 12_000].into_iter().cycle()) {
        add_flow(&mut spec, 3, 4, 100_000 + 10_000 * i, start);
    }
    spec.flows.sort_by_key(|flow| flow.start);
    spec.failures.push(LinkFailure {
        link: 2,
        at: Time::from_ns(20_000),
        until: None,
    });
    record(&mut spec);
    let (cut, parts) = in_parts(&spec, 2, 1000).unwrap();
    assert_eq!(parts, 2);
    assert_same(&cut, &run(spec));
}

/// 17 leaves of two hosts under three spines: each host sends to one of the next leaf, to one half the network away,
/// and to the last.
fn leaves(name: &'static str) -> RunSpec {
    let mut spec = natural(star(2, scheme(name)));
    spec.nodes = [vec![NodeKind::Switch; 20], vec![NodeKind::Host; 34]].concat();
    spec.links.clear();
    for leaf in 0..17 {
        spec.links.extend((17..20).map(|spine| link(leaf, spine, G400)));
        spec.links
            .extend((0..2).map(|host| link(leaf, 20 + 2 * leaf + host, G100)));
    }
    for host in 0..33 {
        let to = [(host + 2) % 34, (host + 17) % 34, 33];
        for (i, to) in (0..).zip(to) {
            add_flow(
                &mut spec,
                20 + host,
                20 + to,
                8_000 * (1 + i),
                700 * i + u64::from(host % 5),
            );
        }
    }
    spec.flows.sort_by_key(|flow| flow.start);
    spec.check = false;
    record(&mut spec);
    spec
}

/// With losses, a failure, and every load-balancing policy.
#[test]
fn many_parts() {
    let policies = [
        LoadBalancing::Ecmp,
        LoadBalancing::Spray,
        LoadBalancing::Adaptive,
        LoadBalancing::Ecmp,
    ];
    for (name, policy) in ["hpcc", "dcqcn", "bolt", "qcn"].into_iter().zip(policies) {
        let mut spec = leaves(name);
        spec.load_balancing = policy;
        spec.links[0].error_rate = 0.01;
        spec.failures.push(LinkFailure {
            link: 5,
            at: Time::from_ns(9_000),
            until: Some(Time::from_ns(30_000)),
        });
        let alone = run(spec.clone());
        for parts in [2, 3, 7, 16] {
            let (outcome, found) = in_parts(&spec, parts, 1 << 20).expect("a run that can be cut");
            assert_eq!(found, parts, "{name}");
            assert_same(&outcome, &alone);
        }
    }
}

/// Senders that choose a path for each packet, receivers that take packets in any order, switches that trim.
#[test]
fn many_parts_of_packets_that_are_spread() {
    for selector in [Selector::Reps, Selector::Mixed] {
        let mut spec = leaves("dctcp");
        spec.entropy = Some(Entropy {
            selector,
            values: 16,
            mrc: None,
        });
        spec.nic.recovery = Recovery::Rud(Rud {
            rto: Span::from_us(50),
        });
        spec.switch.flow_control = FlowControl::None;
        spec.switch.loss.drop = DropPolicy::Tail(Bytes::new(5000));
        spec.switch.loss.trim = Some(Trim {
            queue: Bytes::new(2000),
        });
        spec.failures.push(LinkFailure {
            link: 5,
            at: Time::from_ns(9_000),
            until: Some(Time::from_ns(30_000)),
        });
        let alone = run(spec.clone());
        let counters = &alone.counters;
        assert!(
            counters.trimmed > 0 && counters.link_drops > 0 && counters.timeouts > 0,
            "{counters:?}"
        );
        for parts in [2, 7, 16] {
            let (outcome, _) = in_parts(&spec, parts, 1 << 20).expect("a run that can be cut");
            assert_same(&outcome, &alone);
        }
    }
}

/// Hosts and decisions that take time, a NIC that pauses for a while, flows that wait for others at their own host and
/// elsewhere.
#[test]
fn hosts_that_take_time_and_flows_that_wait() {
    let mut spec = leaves("hpcc");
    spec.schemes.push(scheme_with(
        "lstm-pid",
        WindowMode::Off,
        &[("decision-latency", "2us")],
    ));
    spec.nic.endpoint = Some(Endpoint {
        delay: Span::from_ns(700),
        per_packet: Span::from_ns(90),
        rate: None,
        jitter: Span::from_ns(200),
    });
    spec.storms.push(PauseStorm {
        node: NodeId(53),
        link: None,
        class: 3,
        at: Time::from_ns(5_000),
        until: Some(Time::from_ns(40_000)),
    });
    for flow in (0..spec.flows.len()).step_by(3) {
        spec.flows[flow].scheme = 1;
    }
    for flow in 0..spec.flows.len() as u32 {
        let to = spec.flows[flow as usize].dst;
        let next = (flow + 1..spec.flows.len() as u32).find(|&next| spec.flows[next as usize].src == to);
        let (Some(next), true) = (next, flow % 4 == 0) else {
            continue;
        };
        spec.dependencies.push(Dependency {
            flow: next,
            after: flow,
            awaited: Awaited::Received,
            delay: Span::from_ns(u64::from(flow % 3) * 50),
        });
    }
    // For a host three leaves on: those two are in one part.
    let elsewhere = spec.flows.len() as u32 - 1;
    spec.dependencies.push(Dependency {
        flow: elsewhere,
        after: 0,
        awaited: Awaited::Acknowledged,
        delay: Span::ZERO,
    });
    let alone = run(spec.clone());
    assert!(
        alone.decisions.is_some_and(|decisions| decisions.made > 30),
        "{:?}",
        alone.decisions
    );
    assert_eq!(alone.completions.len(), spec.flows.len());
    for parts in [2, 3, 7, 16] {
        let (outcome, found) = in_parts(&spec, parts, 1 << 20).expect("a run that can be cut");
        assert_eq!(found, parts);
        assert_same(&outcome, &alone);
    }
}

/// A ring of switches that pause each other forever: found at the same instant across parts.
#[test]
fn a_standstill_across_parts() {
    let mut spec = natural(star(2, scheme("none")));
    spec.nodes = [vec![NodeKind::Switch; 3], vec![NodeKind::Host; 3]].concat();
    spec.links = (0..3).map(|n| link(n, (n + 1) % 3, G100)).collect();
    spec.links.extend((0..3).map(|n| link(n, 3 + n, G100)));
    common::static_pfc(&mut spec, 20_000, 18_000, 60_000);
    // The longer direction: each host to the switch two further on.
    for n in 0..3 {
        spec.routes.push(StaticRoute {
            node: NodeId(n),
            to: NodeId(3 + (n + 2) % 3),
            via: NodeId((n + 1) % 3),
        });
        add_flow(&mut spec, 3 + n, 3 + (n + 2) % 3, 3_000_000, 0);
    }
    spec.switch.ecn.clear();
    record(&mut spec);
    let alone = run(spec.clone());
    assert!(
        alone.deadlock.as_ref().is_some_and(|found| found.ended),
        "{:?}",
        alone.deadlock
    );
    let (outcome, parts) = in_parts(&spec, 3, 1 << 20).expect("a run that can be cut");
    assert_eq!(parts, 3);
    assert_same(&outcome, &alone);
}

/// A defect in one of the parts is reported as it is without parts.
#[test]
fn a_fault_in_a_part() {
    let mut spec = leaves("none");
    spec.schemes.push(spec.schemes[0].clone());
    let last = spec.flows.iter_mut().filter(|flow| flow.src.0 >= 50);
    last.for_each(|flow| flow.scheme = 1);
    let factory = SchemeFactory::new(|_| panic!("no sender of the last leaf"));
    let factories = Factories::from([(1, factory)]);
    let mut simulation = Simulation::with_factories(spec, factories).unwrap();
    assert_eq!(simulation.cut(4), Ok(4));
    let run = std::panic::AssertUnwindSafe(|| simulation.advance(u64::MAX));
    let panic = std::panic::catch_unwind(run).expect_err("a fault");
    assert_eq!(panic.downcast_ref(), Some(&"no sender of the last leaf"));
}

/// Counts of windows add up, and depend on the parts alone, not on threads or steps.
#[test]
fn windows_are_counted() {
    let spec = leaves("hpcc");
    let counts = |threads: usize, step: u64| {
        let mut simulation = Simulation::new(spec.clone()).unwrap();
        assert_eq!(simulation.window_counts(), None);
        simulation.cut(4).unwrap();
        simulation.set_threads(threads);
        while !simulation.advance(step).done {}
        (simulation.window_counts().unwrap(), simulation.progress())
    };
    let (one, progress) = counts(1, u64::MAX);
    assert_eq!(one.events, progress.events);
    assert!(one.crossed > 0 && one.crossed < progress.packet_hops, "{one:?}");
    assert!(
        one.largest_part >= one.events / 4 && one.busiest >= one.largest_part,
        "{one:?}"
    );
    assert!(one.busiest < one.events, "{one:?}");
    assert_eq!(counts(3, u64::MAX).0, one);
}
