//! The book's example in a network: a scheme with a sender, a receiver and a switch half that is not built in.

use crate::common::{add_flow, assert_complete, build_with, natural, run_with, scheme, star};
use paceline_congestion::Mark;
use paceline_congestion::example::Params;
use paceline_congestion::registry::{SchemeFactory, WindowMode};
use paceline_fabric::outcome::{Outcome, PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_fabric::{BuildError, Factories, Simulation};
use paceline_kernel::Bytes;

/// Eight hosts send to a ninth.
fn incast() -> RunSpec {
    let mut aimd = scheme("none");
    aimd.window = WindowMode::Variable;
    let mut spec = natural(star(9, aimd));
    // This scheme does not use the network's own marks.
    for curve in &mut spec.switch.ecn {
        (curve.kmin, curve.kmax, curve.pmax) = (Bytes::ZERO, Bytes::ZERO, 1.0);
    }
    spec.switch.assist = Some(AssistPorts::Switches);
    for host in 1..=8 {
        add_flow(&mut spec, host, 9, 1_000_000, 0);
    }
    spec.record.trace_nodes = vec![NodeId(0), NodeId(9)];
    spec
}

/// Returns the marks of data packets as they leave the switch, and of answers as they leave the receiver, for one flow.
fn marks(outcome: &Outcome, flow: u32) -> (Vec<Mark>, Vec<Mark>) {
    let of = |node, kind| {
        let event = |event: &&paceline_fabric::outcome::TraceEvent| {
            (event.node, event.kind, event.event, event.flow)
                == (NodeId(node), kind, TraceKind::Dequeue, flow)
        };
        outcome
            .trace
            .iter()
            .filter(event)
            .map(|event| event.mark)
            .collect()
    };
    (of(0, PacketKind::Data), of(9, PacketKind::Ack))
}

#[test]
fn all_three_act() {
    let spec = incast();
    let outcome = run_with(spec.clone(), &SchemeFactory::of(Params::default()));
    assert_complete(&spec, &outcome);
    let mut echoed = 0;
    for flow in 0..8 {
        let (left, answered) = marks(&outcome, flow);
        assert_eq!(left.len(), answered.len());
        let before = std::iter::once(&Mark::None).chain(&left);
        let expected: Vec<Mark> = left
            .iter()
            .zip(before)
            .map(|(mark, before)| *mark.min(before))
            .collect();
        assert_eq!(answered, expected, "flow {flow}");
        echoed += answered.iter().filter(|mark| mark.is_set()).count() as u64;
    }
    assert!(echoed > 10 && echoed < outcome.counters.marked);
    assert_eq!(outcome.counters.notifications, echoed);
    // And the senders cut their rates.
    let unmarking = Params {
        threshold: Bytes::new(100_000_000),
        ..Params::default()
    };
    let unmarked = run_with(spec, &SchemeFactory::of(unmarking));
    assert_eq!(unmarked.counters.marked, 0);
    let mean_queue = |outcome: &Outcome| {
        let left: Vec<u64> = outcome
            .trace
            .iter()
            .filter(|event| {
                (event.node, event.kind, event.event) == (NodeId(0), PacketKind::Data, TraceKind::Dequeue)
            })
            .map(|event| u64::from(event.queue_bytes))
            .collect();
        left.iter().sum::<u64>() / left.len() as u64
    };
    let (with, without) = (mean_queue(&outcome), mean_queue(&unmarked));
    assert!(with * 2 < without, "{with} against {without} bytes");
}

#[test]
fn halves_fork_with_their_run() {
    let factory = SchemeFactory::of(Params::default());
    let alone = run_with(incast(), &factory);
    let mut simulation = build_with(incast(), &factory);
    simulation.advance(5000);
    let mut fork = simulation.clone();
    for run in [&mut simulation, &mut fork] {
        while !run.advance(1 << 20).done {}
    }
    assert_eq!(fork.finish(), alone);
    assert_eq!(simulation.finish(), alone);
}

#[test]
fn switches_have_to_take_part() {
    let mut spec = incast();
    spec.switch.assist = None;
    let factories = Factories::from([(0, SchemeFactory::of(Params::default()))]);
    let error = Simulation::with_factories(spec, factories).err().unwrap();
    assert!(matches!(error, BuildError::BadSchemes(_)), "{error}");
    assert!(
        error
            .to_string()
            .contains("switches that mark what leaves growing queues"),
        "{error}"
    );
}
