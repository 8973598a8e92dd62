//! Independence of flows of later ones, of networks without a link to theirs, and of records.

use crate::common::{add_flow, link, run};
use crate::networks::{build, case, record, schemes};
use paceline_fabric::Outcome;
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Span};
use proptest::prelude::*;

/// Asserts that the flows of a run are the first ones of another.
pub(crate) fn assert_same_flows(alone: &Outcome, with_others: &Outcome) {
    for (flow, (before, after)) in alone.flows.iter().zip(&with_others.flows).enumerate() {
        assert_eq!(before, after, "flow {flow}");
    }
    let own = |flow: &u32| (*flow as usize) < alone.flows.len();
    let completed: Vec<u32> = with_others.completions.iter().copied().filter(own).collect();
    assert_eq!(alone.completions, completed);
}

/// Returns the run with an order of simultaneous events that does not depend on how many there are elsewhere.
pub(crate) fn by_entity(mut spec: RunSpec) -> RunSpec {
    if !spec.ties.is_by_entity() {
        spec.ties = TieOrder::Structural;
    }
    spec
}

/// Returns a run, and its outcome if one more flow starts 1 ms after its end.
pub(crate) fn with_a_later_flow(spec: &RunSpec, ends: [u8; 2], size: u64) -> (Outcome, Outcome) {
    let alone = run(spec.clone());
    let nodes = (0..).zip(&spec.nodes);
    let hosts: Vec<u32> = nodes
        .filter(|(_, kind)| **kind == NodeKind::Host)
        .map(|(node, _)| node)
        .collect();
    let src = usize::from(ends[0]) % hosts.len();
    let dst = (src + 1 + usize::from(ends[1]) % (hosts.len() - 1)) % hosts.len();
    let mut more = spec.clone();
    add_flow(
        &mut more,
        hosts[src],
        hosts[dst],
        size,
        alone.end.as_ps() / 1000 + 1_000_000,
    );
    (alone, run(more))
}

/// Returns the outcomes with all records, and with none.
pub(crate) fn with_records(mut spec: RunSpec) -> (Outcome, Outcome) {
    spec.record = RecordSpec {
        accounts: Accounted::None,
        ..RecordSpec::default()
    };
    let alone = run(spec.clone());
    record(&mut spec);
    (run(spec), alone)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(150), ..ProptestConfig::default() })]

    #[test]
    fn what_comes_later(case in case(&schemes()), ends in any::<[u8; 2]>(), size in 1u64..50_000) {
        let (alone, more) = with_a_later_flow(&by_entity(build(&case)), ends, size);
        assert_same_flows(&alone, &more);
    }

    /// The other network is shorter than the first, whose base round trip stays the longest.
    #[test]
    fn what_happens_elsewhere(case in case(&schemes()), sizes in prop::collection::vec(1u64..100_000, 1..6)) {
        let mut spec = by_entity(build(&case));
        spec.nic.global_rtt = false;
        let alone = run(spec.clone());
        let first = spec.nodes.len() as u32;
        spec.nodes.push(NodeKind::Switch);
        for host in first + 1..first + 4 {
            spec.nodes.push(NodeKind::Host);
            for _ in 0..spec.nic.planes {
                let delay = Span::from_ns(400);
                spec.links.push(LinkSpec { delay, ..link(first, host, BitRate::from_gbps(25)) });
            }
        }
        let start = spec.flows.iter().map(|flow| flow.start.as_ps() / 1000).max().unwrap_or(0);
        for (index, size) in (0..).zip(sizes) {
            add_flow(&mut spec, first + 1 + index % 2, first + 3, size, start);
        }
        assert_same_flows(&alone, &run(spec));
    }

    #[test]
    fn what_is_recorded(case in case(&schemes())) {
        let (recorded, alone) = with_records(by_entity(build(&case)));
        assert_same_flows(&alone, &recorded);
        prop_assert_eq!(alone.digest, recorded.digest);
        prop_assert_eq!(alone.counters, recorded.counters);
    }
}
