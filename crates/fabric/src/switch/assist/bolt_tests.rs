use paceline_kernel::ids::Id;
use std::collections::{BTreeMap, BTreeSet};

use paceline_congestion::bolt::{DEC, INC};
use proptest::prelude::*;

use super::*;
use crate::Simulation;
use crate::common::{G100, add_flow, assert_complete, link, natural, run, scheme, scheme_with, star};
use crate::ids::ProfileId;
use paceline_congestion::registry::WindowMode;
use paceline_kernel::Bytes;
use paceline_run::outcome::{Outcome, TraceKind};
use paceline_run::spec::{FlowControl, NodeId, NodeKind, SchemeSpec};

fn bolt(settings: &[(&str, &str)]) -> SchemeSpec {
    scheme_with("bolt", WindowMode::Off, settings)
}

/// Row of switches 0, 1, 2: hosts 3 to 5 at the first, 6 and 7 at the second, 8 and 9 at the last.
fn row(scheme: SchemeSpec) -> RunSpec {
    let mut spec = natural(star(2, scheme));
    spec.nodes = [vec![NodeKind::Switch; 3], vec![NodeKind::Host; 7]].concat();
    spec.links = vec![link(0, 1, G100), link(1, 2, G100)];
    for (host, switch) in [(3, 0), (4, 0), (5, 0), (6, 1), (7, 1), (8, 2), (9, 2)] {
        spec.links.push(link(switch, host, G100));
    }
    spec
}

/// Flows that make every link of the row a bottleneck at some time.
fn crossing(scheme: SchemeSpec, size: u64, apart_ns: u64) -> RunSpec {
    let mut spec = row(scheme);
    for (i, (src, dst)) in [(3, 8), (4, 9), (5, 6), (6, 8), (7, 9), (3, 9)]
        .into_iter()
        .enumerate()
    {
        let i = i as u64;
        add_flow(&mut spec, src, dst, size + 7777 * i, apart_ns * i);
    }
    spec
}

/// Observations of a run's packets, made between events.
#[derive(Default)]
struct Walk {
    /// Tags of every data packet, in the order in which they were seen.
    tags: BTreeMap<(u32, u64, u64), Vec<u8>>,
    reports: BTreeSet<(u32, u64, u64)>,
}

fn walk(spec: RunSpec) -> (Walk, Outcome) {
    let mut simulation = Simulation::new(spec).unwrap();
    let mut walk = Walk::default();
    while !simulation.advance(1).done {
        for id in simulation.core.packets.slots() {
            let packet = simulation.core.packets.get(id);
            let key = (packet.flow.0, packet.seq, packet.sent_at);
            match packet.kind {
                PacketKind::Data => {
                    let tags = walk.tags.entry(key).or_default();
                    if tags.last() != Some(&packet.tag) {
                        tags.push(packet.tag);
                    }
                }
                PacketKind::Signal => {
                    walk.reports.insert(key);
                }
                _ => {}
            }
        }
    }
    (walk, simulation.finish())
}

impl Walk {
    /// INC and DEC change once only, and each packet that met congestion was reported once.
    fn verify(&self, outcome: &Outcome) {
        for (key, tags) in &self.tags {
            for pair in tags.windows(2) {
                assert!(pair[0] & INC >= pair[1] & INC, "{key:?}: INC came back: {tags:?}");
                assert!(pair[0] & DEC <= pair[1] & DEC, "{key:?}: DEC went away: {tags:?}");
            }
        }
        assert_eq!(outcome.counters.notices, self.reports.len() as u64);
        let congested = self
            .tags
            .iter()
            .filter(|(_, tags)| tags.iter().any(|tag| tag & DEC != 0));
        assert!(congested.map(|(key, _)| *key).eq(self.reports.iter().copied()));
    }
}

#[test]
fn flags_go_one_way_and_each_packet_is_reported_once() {
    let spec = crossing(bolt(&[]), 300_000, 3000);
    let (walk, outcome) = walk(spec.clone());
    assert_complete(&spec, &outcome);
    walk.verify(&outcome);
    let with = |bit: u8| {
        walk.tags
            .values()
            .filter(|tags| tags.iter().any(|tag| tag & bit != 0))
            .count()
    };
    assert!(walk.reports.len() > 100, "{}", walk.reports.len());
    assert!(with(INC) > 100, "{}", with(INC));
    // Some asked for more and were refused on the path; others arrived with the flag set.
    let arrived = walk
        .tags
        .values()
        .filter(|tags| tags.last().is_some_and(|tag| tag & INC != 0));
    let arrived = arrived.count();
    assert!(arrived > 10 && arrived < with(INC), "{arrived} of {}", with(INC));
}

/// Two packets meet at a port: the second finds nothing queued, the third and fourth find the second.
#[test]
fn a_report_by_hand() {
    let bolt = scheme_with("bolt", WindowMode::Off, &[("threshold-packets", "1")]);
    let mut spec = natural(star(3, bolt));
    add_flow(&mut spec, 1, 3, 2000, 0);
    add_flow(&mut spec, 2, 3, 2000, 0);
    spec.record.trace_nodes = vec![NodeId(1), NodeId(2)];
    let (walk, outcome) = walk(spec.clone());
    assert_complete(&spec, &outcome);
    // 1057 B leave every 84.56 ns. Flow 0's first packet leaves at once, flow 1's first waits. The second packets come
    // as that one leaves: for the first of them the end of the transmission came before.
    assert_eq!(
        walk.reports.iter().map(|key| (key.0, key.1)).collect::<Vec<_>>(),
        [(1, 1000)]
    );
    let notice: Vec<_> = outcome
        .trace
        .iter()
        .filter(|event| event.kind == PacketKind::Signal)
        .collect();
    assert_eq!(notice.len(), 1, "{notice:?}");
    // Sent at 84.56, arrived at 84.56 + 84.56 + 1000, back 60 B and 1000 ns later.
    assert_eq!(
        (notice[0].at.as_ps(), notice[0].wire),
        (169_120 + 1_000_000 + 4_800 + 1_000_000, 60)
    );
    assert_eq!((outcome.counters.notices, outcome.counters.notifications), (1, 1));
}

/// Leaves 0 and 1, four spines, four hosts at each leaf. A leaf's report goes back through the spine that the data came
/// through, no matter which one the hash would choose.
#[test]
fn reports_go_back_the_way_that_data_came() {
    let mut spec = natural(star(2, scheme("bolt")));
    spec.nodes = [vec![NodeKind::Switch; 6], vec![NodeKind::Host; 8]].concat();
    spec.links.clear();
    for spine in 2..6 {
        spec.links.extend([link(0, spine, G100), link(1, spine, G100)]);
    }
    for host in 6..14 {
        spec.links.push(link(u32::from(host >= 10), host, G100));
    }
    for src in 6..10 {
        add_flow(&mut spec, src, 10, 200_000, 0);
        add_flow(&mut spec, src, 11, 200_000, 0);
    }
    spec.record.trace_nodes = (2..6).map(NodeId).collect();
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let spines = |kind: PacketKind, flow: u32| {
        let seen = outcome.trace.iter().filter(|e| e.kind == kind && e.flow == flow);
        seen.map(|event| event.node).collect::<BTreeSet<_>>()
    };
    let mut reported = 0;
    for flow in 0..8 {
        let (data, back) = (spines(PacketKind::Data, flow), spines(PacketKind::Signal, flow));
        assert_eq!(data.len(), 1);
        assert!(back.is_subset(&data), "flow {flow}: {back:?} for {data:?}");
        reported += back.len();
    }
    assert!(reported >= 4, "{reported}");
    assert_eq!(outcome.counters.link_drops, 0);
    let passed = outcome
        .trace
        .iter()
        .filter(|e| e.kind == PacketKind::Signal && e.event == TraceKind::Dequeue);
    assert!(passed.count() > 100);
}

/// Without SRC, the report comes back with the ACK. Without PRU and SM, only the additive step is left.
#[test]
fn parts_can_be_off() {
    let spec = crossing(bolt(&[("src", "false")]), 300_000, 3000);
    let mut simulation = Simulation::new(spec.clone()).unwrap();
    let mut riding = 0;
    while !simulation.advance(1).done {
        riding += simulation
            .core
            .packets
            .slots()
            .filter(|&id| {
                let packet = simulation.core.packets.get(id);
                packet.kind == PacketKind::Ack && packet.note_port != ProfileId::NONE && packet.note >= 1057
            })
            .count();
    }
    let outcome = simulation.finish();
    assert_complete(&spec, &outcome);
    assert!(riding > 100);
    assert_eq!(outcome.counters.notices, 0);

    let (walk, outcome) = walk(crossing(
        bolt(&[("pru", "false"), ("sm", "false")]),
        300_000,
        3000,
    ));
    walk.verify(&outcome);
    let kept = walk
        .tags
        .values()
        .filter(|tags| tags.len() > 1 && tags.iter().all(|tag| tag & INC != 0));
    assert_eq!(kept.count(), 0);
}

#[test]
fn ports_take_part_as_told() {
    let spec = |assist| {
        let mut spec = crossing(bolt(&[]), 50_000, 0);
        spec.switch.assist = assist;
        Simulation::new(spec)
    };
    let taking_part = |assist| {
        let simulation = spec(Some(assist)).unwrap();
        let half = &simulation.switches.assists.halves[0];
        (0..simulation.core.ports.len())
            .filter(|&port| half.ports.takes_part(port))
            .collect::<Vec<_>>()
    };
    assert_eq!(taking_part(AssistPorts::BetweenSwitches), [0, 1, 2, 3]);
    // The switch's end of a host's link.
    assert_eq!(
        taking_part(AssistPorts::Switches),
        [0, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16]
    );
    let message = spec(None).err().unwrap().to_string();
    assert!(message.contains("these do not assist"), "{message}");
}

#[test]
fn two_sets_of_rules_are_refused() {
    let mut spec = crossing(bolt(&[]), 50_000, 0);
    spec.schemes.push(bolt(&[("pru", "false")]));
    let message = Simulation::new(spec.clone()).err().unwrap().to_string();
    assert!(message.contains("one set of `src`, `pru`"), "{message}");
    // Parameters that only senders use may differ.
    spec.schemes[1] = bolt(&[("ai", "2")]);
    assert!(Simulation::new(spec).is_ok());
}

/// A link of the path fails and comes back while reports are under way.
#[test]
fn reports_survive_a_change_of_topology() {
    let mut spec = crossing(bolt(&[]), 2_000_000, 1000);
    spec.failures = vec![paceline_run::spec::LinkFailure {
        link: 1,
        at: paceline_kernel::Time::from_ns(60_000),
        until: Some(paceline_kernel::Time::from_ns(90_000)),
    }];
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.counters.notices > 100);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(24), ..ProptestConfig::default() })]

    /// Under losses, with pauses or drops: every flow ends, flags change once only, and tokens keep their caps
    /// (`check`).
    #[test]
    fn no_flow_hangs_under_losses(
        error in 0.0f64..0.05,
        size in 1u64..200_000,
        apart in 0u64..5000,
        lossless: bool, src: bool, pru: bool, sm: bool,
        buffer_kb in 15u64..400,
        seed in 1u64..1000,
    ) {
        let on = |part: bool| if part { "true" } else { "false" };
        let mut spec = crossing(bolt(&[("src", on(src)), ("pru", on(pru)), ("sm", on(sm))]), size, apart);
        spec.seed = seed;
        for link in &mut spec.links {
            link.error_rate = error;
        }
        if !lossless {
            spec.switch.flow_control = FlowControl::None;
            spec.switch.reserve = Bytes::ZERO;
            spec.switch.buffer = Bytes::new(buffer_kb * 1000);
        }
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
    }
}
