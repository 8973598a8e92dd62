//! Tiers of switches with different buffers, headroom, thresholds and marking.

use crate::common::{G100, add_flow, kb, link, natural, run, scheme, star, static_pfc};
use paceline_fabric::Simulation;
use paceline_fabric::outcome::Outcome;
use paceline_fabric::spec::*;
use paceline_kernel::Bytes;

/// Returns the settings of all switches, as a tier of these.
fn as_all(spec: &RunSpec, switches: &[u32]) -> SwitchTier {
    SwitchTier {
        switches: switches.iter().copied().map(NodeId).collect(),
        buffer: spec.switch.buffer,
        headroom_on_top: spec.switch.headroom_on_top,
        headroom: spec.switch.headroom,
        pauses: true,
        threshold: None,
        ecn: spec.switch.ecn.clone(),
    }
}

fn step(at: u64) -> Vec<EcnCurve> {
    vec![EcnCurve {
        rate: G100,
        kmin: kb(at),
        kmax: kb(at),
        pmax: 1.0,
    }]
}

/// Three hosts at switch 0 send to three at switch 7, which is behind one link: the queue is at switch 0.
fn two_switches() -> RunSpec {
    let mut spec = natural(star(6, scheme("none")));
    spec.nodes.push(NodeKind::Switch);
    for host in 4..=6 {
        spec.links[host as usize - 1].a = NodeId(7);
    }
    spec.links.push(link(0, 7, G100));
    spec.switch.ecn = step(100_000);
    for host in 1..=3 {
        add_flow(&mut spec, host, host + 3, 600_000, 0);
    }
    spec
}

fn with(mut spec: RunSpec, switches: &[u32], change: impl FnOnce(&mut SwitchTier)) -> Outcome {
    let mut tier = as_all(&spec, switches);
    change(&mut tier);
    spec.switch.tiers = vec![tier];
    run(spec)
}

#[test]
fn a_tier_of_all_switches_is_as_if_all_had_it() {
    let plain = run(two_switches()).digest;
    assert_eq!(with(two_switches(), &[0, 7], |_| ()).digest, plain);
    let mut all = two_switches();
    let steep = PfcThreshold::Dynamic {
        shift: 9,
        reference_rate: G100,
    };
    let FlowControl::Pfc(pfc) = &mut all.switch.flow_control else {
        panic!("pauses are what this is about");
    };
    pfc.threshold = steep;
    all.switch.headroom = Headroom::Fixed(Bytes::new(40_000));
    all.switch.buffer = Bytes::new(900_000);
    all.switch.ecn = step(30);
    let tier = |tier: &mut SwitchTier| {
        tier.buffer = Bytes::new(900_000);
        tier.headroom = Headroom::Fixed(Bytes::new(40_000));
        tier.threshold = Some(steep);
        tier.ecn = step(30);
    };
    let expected = run(all).digest;
    assert_ne!(expected, plain);
    assert_eq!(with(two_switches(), &[0, 7], tier).digest, expected);
}

#[test]
fn a_tier_marks_by_its_own_curves() {
    let marked = |switches: &[u32]| {
        with(two_switches(), switches, |tier| tier.ecn = step(30))
            .counters
            .marked
    };
    assert!(marked(&[0]) > 100);
    // No packets queue at the other switch.
    assert_eq!(marked(&[7]), 0);
}

#[test]
fn a_tier_pauses_by_its_own_thresholds_and_buffer() {
    let pauses = |outcome: Outcome| outcome.pfc.len();
    assert_eq!(pauses(run(two_switches())), 0);
    let of =
        |switches: &[u32], change: &dyn Fn(&mut SwitchTier)| pauses(with(two_switches(), switches, change));
    let small = |tier: &mut SwitchTier| tier.buffer = Bytes::new(1_200_000);
    let steep = |tier: &mut SwitchTier| {
        tier.threshold = Some(PfcThreshold::Dynamic {
            shift: 9,
            reference_rate: G100,
        });
    };
    for change in [&small as &dyn Fn(&mut SwitchTier), &steep] {
        assert!(of(&[0], change) > 0);
        assert_eq!(of(&[7], change), 0);
    }
}

/// A switch that would pause drops instead if its tier never pauses.
#[test]
fn a_tier_that_never_pauses_drops() {
    let small = |pauses: bool| {
        with(two_switches(), &[0], |tier| {
            tier.buffer = Bytes::new(300_000);
            tier.headroom = Headroom::Fixed(Bytes::new(40_000));
            tier.pauses = pauses;
        })
    };
    let (pausing, silent) = (small(true), small(false));
    assert!(!pausing.pfc.is_empty() && silent.pfc.is_empty());
    assert_eq!(pausing.counters.buffer_drops, 0);
    assert!(silent.counters.buffer_drops > 0);
    assert_eq!(silent.counters.lossless_drops, silent.counters.buffer_drops);
}

/// If several tiers name a switch, the first counts; tiers must name existing switches.
#[test]
fn tiers_that_contradict() {
    let mut spec = two_switches();
    let first = as_all(&spec, &[0]);
    let second = SwitchTier {
        ecn: step(30),
        ..first.clone()
    };
    spec.switch.tiers = vec![first, second];
    assert_eq!(run(spec).counters.marked, 0);
    for (node, says) in [(1, "node 1 is no switch"), (9, "node 9 is no switch")] {
        let mut spec = two_switches();
        spec.switch.tiers = vec![as_all(&spec, &[node])];
        let error = Simulation::new(spec).err().expect("there is no such switch");
        assert!(error.to_string().contains(says), "{error}");
    }
    let mut spec = two_switches();
    let threshold = Some(PfcThreshold::Dynamic {
        shift: 9,
        reference_rate: G100,
    });
    spec.switch.tiers = vec![SwitchTier {
        threshold,
        ..as_all(&spec, &[0])
    }];
    static_pfc(&mut spec, 80_000, 60_000, 40_000);
    let error = Simulation::new(spec)
        .err()
        .expect("static thresholds are all switches'");
    assert!(error.to_string().contains("only dynamic thresholds"), "{error}");
}
