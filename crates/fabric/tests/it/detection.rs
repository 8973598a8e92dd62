//! States that detectors find: samples compared with machines driven by the trace, causes of pauses, marks of flows,
//! detectors by traffic class, parts of a run.

use crate::common::{G100, G400, add_flow, link, natural, run, scheme, star, static_pfc, traced};
use paceline_congestion::Mark;
use paceline_congestion::detect::tcd::{Machine, Settings, Variant};
use paceline_congestion::switch::{EgressPort, Red};
use paceline_fabric::Simulation;
use paceline_fabric::outcome::{Outcome, PacketKind, StateRecord, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{Bytes, Span, Time};

const TCD: Tcd = Tcd {
    variant: Variant::Thesis,
    epsilon: 0.05,
    max_ton: Some(Span::from_us(6)),
};
/// Switch A with the hosts of the victim and of the congested flow, switch B with both receivers and four more senders.
const A: u32 = 8;
const B: u32 = 9;

/// The victim (flow 0, to host 2) shares the path to B with the congested flow (flow 1, to host 3), whose port four others
/// fill too.
fn victim_and_culprit(detection: Detection) -> RunSpec {
    let mut spec = natural(star(8, scheme("dcqcn")));
    spec.nodes = vec![NodeKind::Host; 8];
    spec.nodes.extend([NodeKind::Switch; 2]);
    spec.links = vec![link(A, B, G400), link(0, A, G100), link(1, A, G100)];
    // Data that a pause held back reaches the victim's receiver as fast as it leaves.
    spec.links.push(link(2, B, G400));
    spec.links.extend((3..8).map(|host| link(host, B, G100)));
    static_pfc(&mut spec, 40_000, 38_000, 300_000);
    for curve in &mut spec.switch.ecn {
        (curve.kmin, curve.kmax) = (Bytes::new(5_000), Bytes::new(50_000));
    }
    spec.switch.detection = detection;
    add_flow(&mut spec, 0, 2, 800_000, 0);
    add_flow(&mut spec, 1, 3, 800_000, 0);
    for host in 4..8 {
        add_flow(&mut spec, host, 3, 250_000, 5_000);
    }
    spec.record.state_every = Some(Span::from_ns(500));
    spec.record.port_bin = Some(Span::from_us(1));
    spec
}

fn state_of(outcome: &Outcome, node: u32, peer: u32) -> &StateRecord {
    let mut all = outcome.states.iter();
    all.find(|record| (record.port.node.0, record.port.peer.0) == (node, peer))
        .expect("every switch port is sampled")
}

/// Returns the value at each sample, from the first.
fn samples(record: &StateRecord, end: Time) -> Vec<(Time, u64)> {
    let bins: Vec<_> = record.series.bins().collect();
    let period = record.series.period();
    assert_eq!(record.series.width(), period, "a sample in each bin");
    let mut at = Time::ZERO + period;
    let mut found = Vec::new();
    while at < end {
        let last = bins.iter().take_while(|bin| bin.at <= at).last();
        found.push((at, last.map_or(0, |bin| bin.last)));
        at += period;
    }
    found
}

/// Returns the states of a machine that is driven by the trace and the pauses of A's port to B, at the same instants.
fn by_hand(outcome: &Outcome, at: &[(Time, u64)]) -> Vec<(Time, u64)> {
    let port = EgressPort {
        classes: 3,
        full_packet: Span::ZERO,
        full_bytes: 1048,
        rate: G400,
        delay: Span::from_us(1),
        red: Red::new(5_000, 50_000, 0.2),
        buffer: 1 << 20,
    };
    let settings = Settings {
        variant: TCD.variant,
        epsilon: TCD.epsilon,
        gap: Bytes::new(2_000),
        max_ton: TCD.max_ton,
    };
    let (rule, mut machine) = (settings.rule(&port), Machine::default());
    let steps = traced(outcome, A, TraceKind::Enqueue).chain(traced(outcome, A, TraceKind::Dequeue));
    let mut steps: Vec<_> = steps
        .filter(|event| event.interface == 1 && event.class == 3)
        .collect();
    steps.sort_by_key(|event| event.at);
    let pauses: Vec<_> = outcome.pfc.iter().filter(|event| event.node.0 == A).collect();
    let (mut step, mut pause, mut queue) = (0, 0, 0);
    let mut found = Vec::new();
    for &(at, _) in at {
        while step < steps.len() || pause < pauses.len() {
            let stepped = steps.get(step).map_or(Time::MAX, |event| event.at);
            let paused = pauses.get(pause).map_or(Time::MAX, |event| event.at);
            let now = stepped.min(paused);
            if now >= at {
                break;
            }
            if paused == now {
                match pauses[pause].pause {
                    true => machine.on_pause(&rule, now, queue),
                    false => machine.on_resume(now, queue),
                }
                pause += 1;
                continue;
            }
            queue = steps[step].queue_bytes;
            if steps[step].event == TraceKind::Dequeue {
                machine.on_departure(&rule, now, queue);
            }
            step += 1;
        }
        found.push((at, machine.state(&rule, at, queue) as u64));
    }
    found
}

#[test]
fn sampled_states_are_those_of_a_machine_that_the_trace_drives() {
    let mut spec = victim_and_culprit(Detection::Tcd(TCD));
    spec.record.trace_nodes = vec![NodeId(A)];
    let outcome = run(spec);
    let seen = samples(state_of(&outcome, A, B), outcome.end);
    assert_eq!(seen, by_hand(&outcome, &seen));
    let count = |state| seen.iter().filter(|&&(_, value)| value == state).count();
    let counts = [0, 1, 2, 3].map(count);
    assert!(counts[0] > 0 && counts[2] > 20, "{counts:?}");
    // The congested flow's port is congested and never undetermined: nobody pauses it. The victim's is free.
    let root = samples(state_of(&outcome, B, 3), outcome.end);
    assert!(root.iter().filter(|sample| sample.1 == 3).count() > 20 && root.iter().all(|&(_, s)| s != 2));
    assert!(
        samples(state_of(&outcome, B, 2), outcome.end)
            .iter()
            .all(|sample| sample.1 == 0)
    );
}

/// The port of B that holds A's packets is the cause: interface 3 of B leads to host 3.
#[test]
fn pauses_are_written_down_with_their_cause() {
    let outcome = run(victim_and_culprit(Detection::Tcd(TCD)));
    let ports = outcome.ports.as_ref().unwrap();
    let place = |node, peer| {
        let is_it = |port: &paceline_fabric::outcome::PortRef| (port.node.0, port.peer.0) == (node, peer);
        ports.ports.iter().position(is_it).unwrap()
    };
    let causes: Vec<u16> = ports.paused_for(place(A, B)).collect();
    assert_eq!(causes.len(), ports.bins());
    assert!(causes.contains(&3) && causes.iter().all(|&cause| cause == 0 || cause == 3));
    // If there is a cause, the port was paused in that bin, or will be in the next: the pause takes a microsecond.
    let paused: Vec<f32> = ports.of_port(place(A, B)).map(|bin| bin.paused).collect();
    for (bin, _) in causes.iter().enumerate().filter(|&(_, &cause)| cause > 0) {
        let near = &paused[bin..(bin + 3).min(paused.len())];
        assert!(near.iter().any(|&share| share > 0.0), "bin {bin}");
    }
    // Hosts' ports have causes too: A holds back the congested flow's host because of its own port to B.
    let hosts: Vec<u16> = ports.paused_for(place(1, A)).collect();
    assert!(hosts.iter().all(|&cause| cause <= 1));
    let without = run(victim_and_culprit(Detection::Red));
    assert_eq!(without.ports.unwrap().paused_for(0).count(), 0);
    assert!(without.states.is_empty());
}

/// Marks of each flow are those that its packets arrived with.
#[test]
fn marks_are_counted_where_packets_arrive() {
    let mut spec = victim_and_culprit(Detection::Tcd(TCD));
    spec.record.trace_nodes = vec![NodeId(2), NodeId(3)];
    let outcome = run(spec);
    for (id, flow) in (0..).zip(&outcome.flows) {
        let came = |mark| {
            let all = outcome
                .trace
                .iter()
                .filter(|event| event.event == TraceKind::Receive);
            let data = all.filter(|event| event.kind == PacketKind::Data && event.flow == id);
            data.filter(|event| event.mark == mark).count() as u32
        };
        let counts = (came(Mark::Congested), came(Mark::Undetermined));
        assert_eq!((flow.congested, flow.undetermined), counts, "flow {id}");
    }
    let [victim, culprit] = [0, 1].map(|id| outcome.flows[id]);
    assert!(victim.congested == 0 && victim.undetermined > 50, "{victim:?}");
    assert!(culprit.congested > 50, "{culprit:?}");
}

/// Puts the victim in a separate class.
fn two_classes(classes: Vec<(u8, Detection)>, rest: Detection) -> Outcome {
    let mut spec = victim_and_culprit(rest);
    spec.switch.class_detection = classes;
    // The victim's class has a congested flow as well.
    add_flow(&mut spec, 1, 3, 400_000, 5_000);
    add_flow(&mut spec, 0, 2, 400_000, 5_000);
    for flow in [6, 7] {
        spec.flows[flow].class = 5;
    }
    run(spec)
}

#[test]
fn each_class_has_the_detector_that_it_is_given() {
    let undetermined = |outcome: &Outcome| {
        let of = |class: &[usize]| {
            class
                .iter()
                .map(|&flow| outcome.flows[flow].undetermined)
                .sum::<u32>()
        };
        (of(&[0, 1, 2, 3, 4, 5]), of(&[6, 7]))
    };
    let both = two_classes(Vec::new(), Detection::Tcd(TCD));
    let (third, fifth) = undetermined(&both);
    assert!(third > 50 && fifth > 50, "{third} {fifth}");
    let one = two_classes(vec![(5, Detection::Red)], Detection::Tcd(TCD));
    let (third, fifth) = undetermined(&one);
    assert!(third > 50 && fifth == 0, "{third} {fifth}");
    assert!(one.states.iter().all(|record| record.priority == 3));
    let other = two_classes(
        vec![(5, Detection::Tcd(TCD)), (3, Detection::NpEcn)],
        Detection::Red,
    );
    let (third, fifth) = undetermined(&other);
    assert!(third == 0 && fifth > 50, "{third} {fifth}");
    let mut classes: Vec<u8> = other.states.iter().map(|record| record.priority).collect();
    classes.dedup();
    assert_eq!(&classes[..4], &[3, 5, 3, 5]);
}

#[test]
fn states_of_parts_are_those_of_the_whole() {
    let spec = victim_and_culprit(Detection::Tcd(TCD));
    let alone = run(spec.clone());
    let mut simulation = Simulation::new(spec).unwrap();
    assert_eq!(simulation.cut(2), Ok(2));
    simulation.set_threads(2);
    while !simulation.advance(10_000).done {}
    let cut = simulation.finish();
    assert_eq!(cut.states, alone.states);
    assert_eq!(cut.ports, alone.ports);
    assert!(cut == alone);
}
