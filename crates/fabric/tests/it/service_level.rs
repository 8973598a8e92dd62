//! IBCC by service level: a notification of one queue pair slows down all of its port and level, and no others.

use crate::common;
use crate::networks::lanes;

use crate::common::{add_flow, assert_complete, run, scheme_with};
use paceline_congestion::Mark;
use paceline_congestion::registry::WindowMode;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};

/// Flows of host 1: the innocent one, the one that is notified, and two that start later, on the same service level and
/// on another.
const INNOCENT: u32 = 0;
const NOTIFIED: u32 = 3;
const LATER: u32 = 4;
const OTHER_LEVEL: u32 = 5;

/// Hosts 2 and 5 fill the port of host 3, to which one packet of host 1 goes. A BECN sets the index to 127 at once.
fn network(per_sl: &str) -> RunSpec {
    let settings = [("fecn", "false"), ("ccti-increase", "127"), ("per-sl", per_sl)];
    let mut spec = lanes::star(5, lanes::ib(2048));
    spec.schemes = vec![scheme_with("ibcc", WindowMode::Off, &settings)];
    spec.switch.ecn = vec![EcnCurve {
        rate: common::G100,
        kmin: Bytes::new(1000),
        kmax: Bytes::new(1000),
        pmax: 1.0,
    }];
    add_flow(&mut spec, 1, 4, 16 << 20, 0);
    add_flow(&mut spec, 2, 3, 20 * 1024, 0);
    add_flow(&mut spec, 5, 3, 20 * 1024, 0);
    add_flow(&mut spec, 1, 3, 1024, 1_000);
    add_flow(&mut spec, 1, 4, 16 << 20, 45_000);
    add_flow(&mut spec, 1, 4, 16 << 20, 45_000);
    spec.flows[OTHER_LEVEL as usize].class = 4;
    spec.record.trace_nodes = vec![NodeId(1)];
    spec.stop = Time::from_ns(60_000);
    spec
}

/// Returns the arrival of the BECN at host 1.
fn notified_at(outcome: &Outcome) -> u64 {
    let becns: Vec<(u32, u64)> = common::traced(outcome, 1, TraceKind::Receive)
        .filter(|event| event.kind == PacketKind::Ack && event.mark == Mark::Congested)
        .map(|event| (event.flow, event.at.as_ps()))
        .collect();
    let [(NOTIFIED, at)] = becns[..] else {
        panic!("one BECN, of the flow that goes through the port: {becns:?}");
    };
    at
}

/// Returns the distances between a flow's packets that host 1 sends from `from` to `until`, in ps.
fn gaps(outcome: &Outcome, flow: u32, from: u64, until: u64) -> Vec<u64> {
    let sent: Vec<u64> = common::traced(outcome, 1, TraceKind::Dequeue)
        .filter(|event| event.kind == PacketKind::Data && event.flow == flow)
        .map(|event| event.at.as_ps())
        .filter(|at| (from..until).contains(at))
        .collect();
    assert!(sent.len() > 3, "flow {flow} has {} packets there", sent.len());
    sent.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Returns the gap between packets of 1050 bytes for a table entry of `packets` packet times.
fn gap(packets: f64) -> u64 {
    let rate = BitRate::from_gbps(100).scale(1.0 / (1.0 + packets));
    rate.time_to_send(Bytes::new(1050)).as_ps()
}

const TIMER: u64 = 29 * 1_024_000;
const US: u64 = 1_000_000;

/// Index 127 stands for 15.1 packet times, in eighths 121; after 29.696 us 126 stands for 15.1 (126/127)^2 = 14.863,
/// 119 eighths.
#[test]
fn queue_pairs_of_a_service_level_share_an_index_and_its_timer() {
    let outcome = run(network("true"));
    let at = notified_at(&outcome);
    let alike = |flow, from: u64, until: u64, packets: f64| {
        let gaps = gaps(&outcome, flow, from, until);
        assert!(
            gaps.iter().all(|&found| found == gap(packets)),
            "{flow}: {gaps:?}"
        );
    };
    assert!(
        gaps(&outcome, INNOCENT, 0, at)
            .iter()
            .all(|&gap| gap <= 2 * 84_000)
    );
    alike(INNOCENT, at, at + TIMER, 15.125);
    alike(INNOCENT, at + TIMER, 45 * US, 14.875);
    // A flow that starts later has the index of the others on its level; on another service level it has a separate
    // one.
    let begun = gaps(&outcome, LATER, 45 * US, at + 2 * TIMER);
    assert!(
        begun.iter().all(|&found| found.abs_diff(gap(14.875)) <= 84_000),
        "{begun:?}"
    );
    let other = gaps(&outcome, OTHER_LEVEL, 45 * US, 60 * US);
    assert!(other.iter().all(|&gap| gap <= 3 * 84_000), "{other:?}");
}

/// By queue pair, the innocent one is not affected.
#[test]
fn queue_pairs_have_their_own_index_otherwise() {
    let outcome = run(network("false"));
    notified_at(&outcome);
    for flow in [INNOCENT, LATER, OTHER_LEVEL] {
        let gaps = gaps(&outcome, flow, 45 * US, 60 * US);
        assert!(gaps.iter().all(|&gap| gap <= 4 * 84_000), "{flow}: {gaps:?}");
    }
}

/// Connections that start again, links that fail and come back, hosts with many queue pairs: the state of a service
/// level follows its queue pairs, every flow completes, and a run in parts is the same.
#[test]
fn what_is_shared_outlasts_idle_connections_and_failed_links() {
    let mut spec = network("true");
    spec.stop = Time::from_ns(100_000_000);
    spec.record.trace_nodes.clear();
    spec.flows
        .iter_mut()
        .for_each(|flow| flow.size = Bytes::new(flow.size.get().min(1 << 20)));
    spec.nic.idle_reset = Some(Span::from_ns(1));
    for flow in [INNOCENT, LATER] {
        let flow = &mut spec.flows[flow as usize];
        (flow.connection, flow.sport) = (std::num::NonZeroU32::new(1), 7);
    }
    spec.failures.push(LinkFailure {
        link: 0,
        at: Time::from_ns(20_000),
        until: Some(Time::from_ns(30_000)),
    });
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(outcome.digest, run(spec).digest);
}
