//! QCN in a network: its queue, its messages, and the ports that sample.

use crate::common;

use crate::common::{G100, add_flow, assert_complete, natural, run, scheme, scheme_with, star};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_fabric::{BuildError, Outcome, Simulation};
use paceline_kernel::{BitRate, Span, Time};

const MS: u64 = 1_000_000;

/// `senders` hosts send to one for `ms`, at `rate`.
fn incast(name: &str, senders: u32, rate: BitRate, ms: u64) -> RunSpec {
    let mut spec = natural(star(senders + 1, scheme(name)));
    for link in &mut spec.links {
        link.rate = rate;
    }
    spec.switch.ecn.clear();
    spec.switch.assist = Some(AssistPorts::Switches);
    for host in 1..=senders {
        add_flow(&mut spec, host, senders + 1, 1_000_000_000, 0);
    }
    spec.stop = Time::from_ns(ms * MS);
    spec.nic.rto = Some(Span::from_us(100_000));
    spec.record.queue_every = Some(Span::from_us(5));
    spec.record.queue_window = (Time::from_ns(ms * MS / 2), spec.stop);
    spec
}

/// Returns the mean of the busiest queue over the second half, in KB, and the utilisation of the link.
fn steady(spec: &RunSpec, outcome: &Outcome) -> (f64, f64) {
    let busiest = outcome.queues.iter().max_by_key(|queue| queue.sum).unwrap();
    let samples = busiest.histogram_kb.iter().sum::<u64>() as f64;
    let delivered: u64 = outcome.flows.iter().map(|flow| flow.delivered.get()).sum();
    let capacity = spec.links[0]
        .rate
        .bytes_in(spec.stop.saturating_since(Time::ZERO));
    let goodput = delivered as f64 / capacity.get() as f64 * 1048.0 / 1000.0;
    (busiest.sum as f64 / samples / 1000.0, goodput)
}

#[test]
fn the_queue_stands_at_the_equilibrium() {
    for (name, rate, ms, q_eq) in [
        ("qcn-10g", BitRate::from_gbps(10), 200, 26.0),
        ("qcn", G100, 20, 260.0),
    ] {
        for senders in [2, 8] {
            let spec = incast(name, senders, rate, ms);
            let outcome = run(spec.clone());
            let (queue, used) = steady(&spec, &outcome);
            assert!((queue / q_eq - 1.0).abs() < 0.15, "{name} {senders}: {queue} KB");
            assert!(used > 0.95 && used < 1.001, "{name} {senders}: {used}");
            assert_eq!(outcome.counters.pauses, 0);
            assert_eq!(outcome.counters.notices, outcome.counters.notifications);
        }
    }
}

/// Another equilibrium parameter gives another queue.
#[test]
fn the_equilibrium_is_a_parameter() {
    let mut spec = incast("qcn", 4, G100, 20);
    spec.schemes = vec![scheme_with("qcn", WindowMode::Off, &[("q-eq", "520KB")])];
    let (queue, _) = steady(&spec, &run(spec.clone()));
    assert!((queue / 520.0 - 1.0).abs() < 0.15, "{queue} KB");
}

/// From a port two switches away, with several paths back: every message reaches the sender of the sampled frame, and
/// is received there as a message.
#[test]
fn messages_find_the_sender() {
    let mut spec = incast("qcn", 1, G100, 1);
    // Hosts 0 and 1 at switch 5, switches 6 and 7 in between, host 2 at switch 8 on a slower link.
    spec.nodes = vec![NodeKind::Host; 9];
    spec.nodes[5..].fill(NodeKind::Switch);
    spec.links = [
        (0, 5),
        (1, 5),
        (5, 6),
        (5, 7),
        (6, 8),
        (7, 8),
        (3, 8),
        (4, 8),
        (2, 8),
    ]
    .map(|(a, b)| common::link(a, b, G100))
    .to_vec();
    spec.links[8].rate = BitRate::from_gbps(25);
    spec.flows.clear();
    add_flow(&mut spec, 0, 2, 5_000_000, 0);
    add_flow(&mut spec, 1, 2, 5_000_000, 0);
    spec.stop = Time::from_ns(20 * MS);
    spec.record.trace_nodes = vec![NodeId(0), NodeId(1), NodeId(8)];
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let at = |node, event| {
        common::traced(&outcome, node, event)
            .filter(|e| e.kind == PacketKind::Signal)
            .map(|e| (e.flow, e.wire))
            .collect::<Vec<_>>()
    };
    let sent = at(8, TraceKind::Dequeue);
    assert!(sent.len() > 10, "{}", sent.len());
    assert!(sent.iter().all(|&(_, wire)| wire == 64));
    for host in [0, 1] {
        let received = at(host, TraceKind::Receive);
        assert!(!received.is_empty());
        assert!(received.iter().all(|&(flow, _)| flow == host));
        assert_eq!(
            received.len(),
            sent.iter().filter(|&&(flow, _)| flow == host).count()
        );
    }
}

#[test]
fn only_ports_that_take_part_sample() {
    let mut spec = incast("qcn", 4, G100, 2);
    spec.switch.assist = Some(AssistPorts::BetweenSwitches);
    // The only switch has no port to another.
    assert_eq!(run(spec).counters.notices, 0);
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut spec = incast("qcn", 2, G100, 1);
    spec.switch.assist = None;
    let error = Simulation::new(spec).err().unwrap();
    assert!(matches!(error, BuildError::BadSchemes(_)), "{error}");
    let mut spec = incast("qcn", 2, G100, 1);
    spec.schemes
        .push(scheme_with("qcn", WindowMode::Off, &[("w", "1")]));
    let error = Simulation::new(spec).err().unwrap();
    assert!(error.to_string().contains("q-eq"), "{error}");
}
