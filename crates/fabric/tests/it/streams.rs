//! Flows of a stream: the run is that of their list, and stores only those under way.

use crate::common;
use crate::networks;

use crate::common::{G100, link, natural, run, scheme, star};
use crate::networks::{build, case, known::known, schemes};
use paceline_fabric::outcome::{EndedFlow, FlowRecord};
use paceline_fabric::spec::*;
use paceline_fabric::{Outcome, Simulation};
use paceline_kernel::{Bytes, Span, Time};
use proptest::prelude::*;

/// Poisson arrivals between all hosts that have links, and incasts of two, about `flows` in all until `end`; and
/// explicit messages, some of which start together, the last after all others.
fn sources(spec: &RunSpec, flows: u32, end: Time) -> Vec<ArrivalSource> {
    let linked = |node: &u32| spec.links.iter().any(|link| [link.a.0, link.b.0].contains(node));
    let is_host = |node: &u32| spec.nodes[*node as usize] == NodeKind::Host;
    let nodes = 0..spec.nodes.len() as u32;
    let hosts: Vec<NodeId> = nodes.filter(is_host).filter(linked).map(NodeId).collect();
    let each = end.as_ps() as f64 * hosts.len() as f64 / f64::from(flows);
    let source = |workload, pattern| ArrivalSource {
        workload,
        window: (Time::ZERO, end),
        class: 3 + workload as u8,
        dport: 100 * (workload as u16 + 1),
        label: 0,
        scheme: 0,
        pattern,
    };
    let poisson = ArrivalPattern::Poisson {
        receivers: Vec::new(),
        hosts: hosts.iter().map(|&host| (host, each)).collect(),
        sizes: vec![(100.0, 0.0), (2_000.0, 0.6), (60_000.0, 1.0)],
    };
    let incasts = ArrivalPattern::Incasts {
        receivers: Vec::new(),
        mean_ps: each,
        fan_in: 2,
        size: Bytes::new(9_000),
        hosts: hosts.clone(),
    };
    let got = (1..hosts.len() as u64).map(|number| Message {
        src: hosts[0],
        dst: hosts[number as usize],
        size: Bytes::new(3_000 * number),
        start: Time::from_ps(number / 2 * end.as_ps() / 3),
    });
    let got = ArrivalPattern::Told {
        messages: got.collect(),
    };
    vec![source(0, poisson), source(1, incasts), source(2, got)]
}

/// Runs a stream in steps of `events` events, and takes the ended flows after each.
fn in_steps(spec: RunSpec, events: u64) -> (Vec<EndedFlow>, usize, Outcome) {
    let mut simulation = Simulation::new(spec).unwrap();
    let mut ended = Vec::new();
    while !simulation.advance(events).done {
        ended.append(&mut simulation.take_ended());
    }
    let most = simulation.most_flows_held();
    (ended, most, simulation.finish())
}

/// Asserts that stream and list have the same results, flow by flow.
fn assert_same(spec: RunSpec, events: u64) {
    let list = spec.listed().unwrap();
    let expected = run(list.clone());
    let (mut ended, _, outcome) = in_steps(spec, events);
    ended.extend(outcome.ended.iter().copied());
    let mut records: Vec<FlowRecord> = expected.flows.clone();
    for flow in &ended {
        assert_eq!(flow.spec, list.flows[flow.flow as usize]);
        assert_eq!(
            flow.record, expected.flows[flow.flow as usize],
            "flow {}",
            flow.flow
        );
        records[flow.flow as usize] = flow.record;
    }
    // Each flow was returned once, and none that was not had started.
    let mut numbers: Vec<u32> = ended.iter().map(|flow| flow.flow).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..outcome.begun));
    let rest = &expected.flows[outcome.begun as usize..];
    assert!(
        rest.iter()
            .all(|record| record.start.as_ps() > outcome.end.as_ps())
    );
    let as_list = Outcome {
        flows: records,
        completions: expected.completions.clone(),
        ended: Vec::new(),
        begun: 0,
        ..outcome
    };
    assert_eq!(as_list, expected);
}

/// Returns the network of a case, with about `flows` flows as a stream.
fn streamed(case: &networks::Case, flows: u32) -> RunSpec {
    let mut spec = build(case);
    spec.flows.clear();
    let sources = sources(&spec, flows, Time::from_ns(60_000));
    spec.arrivals = Some(Arrivals::of(sources, spec.seed));
    spec
}

#[test]
fn known_networks_with_streams() {
    for case in known() {
        for (flows, events) in [(1, 1), (44, 820)] {
            let mut spec = streamed(&case, flows);
            assert_same(spec.clone(), events);
            networks::record(&mut spec);
            assert_same(spec, events);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(300), ..ProptestConfig::default() })]

    /// In any network, with losses and failures, even if the run ends in the middle.
    #[test]
    fn a_stream_runs_as_its_list(
        case in case(&schemes()),
        flows in 1u32..60,
        events in 1u64..3000,
        recorded in any::<bool>(),
        stop in prop::option::weighted(0.2, 1u64..80_000),
    ) {
        let mut spec = streamed(&case, flows);
        spec.stop = stop.map_or(spec.stop, Time::from_ns);
        if recorded {
            networks::record(&mut spec);
        }
        assert_same(spec, events);
    }
}

/// A fat tree of 16 hosts with four-port switches.
fn fat_tree() -> RunSpec {
    let mut spec = natural(star(2, scheme("hpcc")));
    spec.nodes = vec![NodeKind::Host; 16];
    spec.nodes.extend([NodeKind::Switch; 20]);
    spec.links = (0..16).map(|host| link(host, 16 + host / 2, G100)).collect();
    for (pod, a, b) in (0..16).map(|i| (i / 4, i / 2 % 2, i % 2)) {
        let above = 24 + pod * 2 + b;
        spec.links.push(link(16 + pod * 2 + a, above, G100));
        spec.links.push(link(above, 32 + b * 2 + a, G100));
    }
    spec.check = false;
    spec
}

/// Only flows under way are stored, however many there are: ten times as many flows over ten times the time take no
/// more memory.
#[test]
fn room_is_for_what_is_under_way() {
    let most = |flows: u32| {
        let mut spec = fat_tree();
        let end = Time::ZERO + Span::from_ns(300 * u64::from(flows));
        let sources = sources(&spec, flows, end);
        spec.arrivals = Some(Arrivals::of(sources, spec.seed));
        let (ended, most, outcome) = in_steps(spec, 100_000);
        assert_eq!(ended.len() + outcome.ended.len(), outcome.begun as usize);
        assert!(outcome.begun > flows, "{} flows", outcome.begun);
        most
    };
    let (few, many) = (most(10_000), most(100_000));
    assert!(few < 3_000 && many < few + few / 2, "{few} flows, then {many}");
}

/// Invalid streams are reported.
#[test]
fn mistakes_are_told() {
    let spec = natural(star(4, scheme("hpcc")));
    let good = sources(&spec, 10, Time::from_ns(10_000));
    let got = |change: &dyn Fn(&mut RunSpec, &mut Vec<ArrivalSource>), part: &str| {
        let (mut changed, mut sources) = (spec.clone(), good.clone());
        change(&mut changed, &mut sources);
        changed.arrivals = Some(Arrivals {
            sources,
            ..Arrivals::of(good.clone(), spec.seed)
        });
        let error = Simulation::new(changed).err().expect("a mistake").to_string();
        assert!(error.contains(part), "{part} is not in {error}");
    };
    got(
        &|_, sources| sources[0].class = 0,
        "priority 0 is not one of 1 to 7",
    );
    got(&|_, sources| sources[1].scheme = 7, "scheme 7 of 1");
    got(
        &|spec, _| common::add_flow(spec, 1, 2, 10, 0),
        "a list of flows, too",
    );
    got(
        &|spec, _| spec.quirks.receiver_forgets = true,
        "those come from a list",
    );
    got(&|spec, _| spec.seed = 99, "and with this seed are");
    let pattern = |sources: &mut Vec<ArrivalSource>, sizes| {
        let hosts = vec![(NodeId(1), 5.0), (NodeId(99), 5.0)];
        sources[0].pattern = ArrivalPattern::Poisson {
            hosts,
            receivers: Vec::new(),
            sizes,
        };
    };
    got(
        &|_, sources| pattern(sources, vec![(1.0, 1.0)]),
        "node 99 does not exist",
    );
}
