//! Congestion isolation: who waits for whom, who is marked, and random networks.

use std::collections::BTreeSet;

use crate::common::{G100, add_flow, assert_complete, link, natural, run, scheme_with, star};
use crate::networks::{build, case};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::Simulation;
use paceline_fabric::outcome::Outcome;
use paceline_fabric::probes::IsolatedFlow;
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

fn isolation(threshold: u64) -> Isolation {
    Isolation {
        from: 3,
        to: 7,
        detect: Bytes::new(threshold),
        tell: Bytes::new(threshold),
        release: Bytes::new(threshold / 2),
        hold: Span::from_us(20),
        interval: Span::from_us(4),
        flows: 64,
        marks_isolated: true,
    }
}

fn isolate(spec: &mut RunSpec, own: Isolation) {
    spec.switch.loss.lossless |= (spec.switch.loss.lossless >> own.from & 1) << own.to;
    spec.switch.isolation = Some(own);
}

/// Four hosts send to host 7, one of them, host 2, over the link between the switches; host 3 sends to host 8 over the same
/// link, whose rate is enough for both. The fifth flow is the victim.
fn victim() -> RunSpec {
    let mut spec = natural(star(2, scheme_with("none", WindowMode::Off, &[])));
    spec.nodes = vec![NodeKind::Switch; 2];
    spec.nodes.resize(9, NodeKind::Host);
    spec.links = vec![link(0, 1, BitRate::from_gbps(200))];
    spec.links.extend([2, 3].map(|host| link(0, host, G100)));
    spec.links.extend((4..9).map(|host| link(1, host, G100)));
    spec.switch.headroom = Headroom::Fixed(Bytes::new(60_000));
    spec.switch.flow_control = FlowControl::Pfc(Pfc {
        threshold: PfcThreshold::Static {
            xoff: Bytes::new(100_000),
            xon: Bytes::new(90_000),
        },
        resume_offset: Bytes::ZERO,
        mode: PfcMode::OnOff,
        response: PfcResponse::NONE,
    });
    let step = Bytes::new(50_000);
    spec.switch.ecn = [G100, BitRate::from_gbps(200)]
        .map(|rate| EcnCurve {
            rate,
            kmin: step,
            kmax: step,
            pmax: 1.0,
        })
        .to_vec();
    spec.stop = Time::from_ns(20_000_000);
    for sender in [2, 4, 5, 6] {
        add_flow(&mut spec, sender, 7, 5_000_000, 0);
    }
    add_flow(&mut spec, 3, 8, 5_000_000, 0);
    spec
}

fn isolated(outcome: &Outcome) -> Vec<IsolatedFlow> {
    let rows = outcome
        .tables
        .iter()
        .find_map(|table| table.rows::<IsolatedFlow>());
    rows.map(|rows| rows.to_vec()).unwrap_or_default()
}

/// Without isolation the victim gets no more than the flow that it shares a paused link with; with it, its own rate.
#[test]
fn a_victim_waits_for_nobody() {
    let before = run(victim());
    let mut spec = victim();
    isolate(&mut spec, isolation(20_000));
    let after = run(spec.clone());
    assert_complete(&spec, &after);
    let gbps = |outcome: &Outcome| 5e6 * 8e3 / outcome.flows[4].fct.as_ps() as f64;
    assert!(gbps(&before) < 45.0, "{} Gbit/s without isolation", gbps(&before));
    assert!(gbps(&after) > 88.0, "{} Gbit/s with it", gbps(&after));
    assert_eq!(after.counters.buffer_drops, 0);
    // The culprits, and nobody else, are isolated; the one that comes over the link also at the switch before.
    let rows = isolated(&after);
    let flows: BTreeSet<u32> = rows.iter().map(|row| row.flow_id).collect();
    assert_eq!(flows, BTreeSet::from([0, 1, 2, 3]));
    let asked: BTreeSet<u32> = rows
        .iter()
        .filter(|row| row.asked_by_neighbour)
        .map(|row| row.flow_id)
        .collect();
    assert_eq!(asked, BTreeSet::from([0]));
    // Nothing is lost or overtaken, and only culprits are marked.
    assert!(after.flows.iter().all(|flow| flow.retransmitted == Bytes::ZERO));
    assert_eq!(after.flows[4].congested, 0);
    assert!(after.flows[..4].iter().any(|flow| flow.congested > 0));
    // The culprits do not lose by it: their port sends at its rate.
    let last = |outcome: &Outcome| outcome.flows[..4].iter().map(|flow| flow.fct).max().unwrap();
    assert!(last(&after).as_ps() as f64 <= 1.01 * last(&before).as_ps() as f64);
}

/// A full table leaves flows in the first queue, and loses nothing.
#[test]
fn a_full_table_leaves_flows_to_their_pauses() {
    let mut spec = victim();
    isolate(
        &mut spec,
        Isolation {
            flows: 1,
            ..isolation(20_000)
        },
    );
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(outcome.counters.buffer_drops, 0);
    let at_once = isolated(&outcome);
    assert!(!at_once.is_empty());
    // At most one at a time in each switch.
    for row in &at_once {
        let others = at_once.iter().filter(|other| {
            let ends = other.until_ps.unwrap_or(u64::MAX);
            other.port.node == row.port.node && other.at_ps < row.at_ps && ends > row.at_ps
        });
        assert_eq!(others.count(), 0, "{row:?}");
    }
}

/// A flow is released once it has been quiet for the hold time, and the port's queue is short: its place is another's.
#[test]
fn quiet_flows_are_released() {
    let mut spec = victim();
    // A second incast, long after the first, in a table that holds one of them.
    for sender in [2, 4, 5, 6] {
        add_flow(&mut spec, sender, 7, 1_000_000, 5_000_000);
    }
    isolate(
        &mut spec,
        Isolation {
            flows: 4,
            ..isolation(20_000)
        },
    );
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let rows = isolated(&outcome);
    let late: Vec<_> = rows.iter().filter(|row| row.at_ps > 5_000_000_000).collect();
    let flows: BTreeSet<u32> = late.iter().map(|row| row.flow_id).collect();
    assert_eq!(flows, BTreeSet::from([5, 6, 7, 8]), "{rows:?}");
    let ended = |row: &&IsolatedFlow| row.port.peer == NodeId(7) && row.until_ps.is_some();
    assert_eq!(rows.iter().filter(ended).count(), 4, "{rows:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(250), ..ProptestConfig::default() })]

    /// Every flow completes, invariants hold (the run checks them), packets of a flow keep their order, and the run is the
    /// same again and in parts.
    #[test]
    fn random_networks(case in case(&["dcqcn", "dctcp", "hpcc", "none"]), draw in any::<u64>()) {
        let mut spec = build(&case);
        spec.record.flow_probes.clear();
        spec.ties = TieOrder::Structural;
        let used: BTreeSet<u8> = spec.flow_classes().chain(spec.nic.ack_class).collect();
        let free = (1..8).rev().find(|priority| !used.contains(priority));
        let from = spec.flow_classes().next();
        if let (Some(from), Some(to)) = (from, free) {
            let threshold = draw & 0xffff;
            isolate(&mut spec, Isolation {
                from,
                to,
                tell: Bytes::new(draw >> 16 & 0xffff),
                release: Bytes::new(draw >> 32 & 0xffff),
                hold: Span::from_ns(draw >> 40 & 0xffff),
                interval: Span::from_ns(draw >> 48 & 0xfff),
                flows: 1 + (draw >> 60) as u32,
                marks_isolated: draw >> 59 & 1 == 0,
                ..isolation(threshold)
            });
        }
        let outcome = run(spec.clone());
        if outcome.deadlock.is_some() {
            return Ok(());
        }
        prop_assert_eq!(outcome.completions.len(), spec.flows.len(), "{:?}", outcome.counters);
        for account in &outcome.accounts {
            prop_assert_eq!(account.total(), outcome.flows[account.flow as usize].fct);
        }
        let in_order = spec.has_one_way_per_flow() && spec.failures.is_empty() && spec.link_changes.is_empty();
        if in_order && outcome.counters.buffer_drops + outcome.counters.link_drops == 0 {
            // Timeouts may be for nothing; a packet that was overtaken brings a NACK.
            prop_assert_eq!(outcome.counters.nacks, 0, "{:?}", outcome.counters);
        }
        prop_assert_eq!(run(spec.clone()).digest, outcome.digest);
        for parts in [2, 3] {
            let mut cut = Simulation::new(spec.clone()).unwrap();
            if cut.cut(parts).is_ok() {
                while !cut.advance(1 << 16).done {}
                prop_assert!(cut.finish() == outcome, "in {} parts", parts);
            }
        }
    }
}
