//! Paths: failures, several NICs, parallel links, hosts that cannot be reached.

use crate::common::{G100, add_flow, assert_complete, link, natural, run, scheme, star, traced};
use paceline_fabric::outcome::{FlowStatus, Outcome, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{Bytes, Time};

fn down(link: usize, at: u64, until: Option<u64>) -> LinkFailure {
    LinkFailure {
        link,
        at: Time::from_ns(at),
        until: until.map(Time::from_ns),
    }
}

/// Returns time, interface and flow of every packet that leaves a node.
fn departures(outcome: &Outcome, node: u32) -> Vec<(u64, u32, u32)> {
    traced(outcome, node, TraceKind::Dequeue)
        .map(|e| (e.at.as_ns(), e.interface, e.flow))
        .collect()
}

/// Leaves 0 and 1, spines 2 and 3, hosts 4 and 5 at leaf 0 and 6 and 7 at leaf 1.
fn two_spines() -> RunSpec {
    let mut spec = natural(star(2, scheme("hpcc")));
    spec.nodes = [vec![NodeKind::Switch; 4], vec![NodeKind::Host; 4]].concat();
    spec.links = vec![
        link(0, 2, G100),
        link(0, 3, G100),
        link(1, 2, G100),
        link(1, 3, G100),
        link(0, 4, G100),
        link(0, 5, G100),
        link(1, 6, G100),
        link(1, 7, G100),
    ];
    spec
}

/// A spine's link fails for good: all flows complete over the other, and nothing uses it again.
#[test]
fn failed_paths_are_left() {
    // Link 0 is the first interface of leaf 0, link 2 leads from the spine to the other leaf.
    for failed in [0, 2] {
        let mut spec = two_spines();
        for flow in 0..16 {
            add_flow(&mut spec, 4 + flow % 2, 6 + flow % 2, 100_000, 0);
        }
        spec.failures.push(down(failed, 30_000, None));
        spec.record.trace_nodes = vec![NodeId(0)];
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let up = departures(&outcome, 0);
        let by_spine = |interface: u32, late: bool| {
            let here = up.iter().filter(|d| d.1 == interface && (d.0 > 30_000) == late);
            here.map(|d| d.2).collect::<std::collections::BTreeSet<_>>().len()
        };
        assert!(
            by_spine(1, false) > 2 && by_spine(2, false) > 2,
            "both spines were used"
        );
        assert_eq!(by_spine(1, true), 0);
        assert_eq!(by_spine(2, true), 16, "all use the other");
    }
}

/// Both spines lose a link: nothing connects the leaves any more, and that is reported.
#[test]
fn unreachable_hosts_are_reported() {
    let mut spec = two_spines();
    spec.stop = Time::from_ns(20_000_000);
    add_flow(&mut spec, 4, 6, 1_000_000, 0);
    add_flow(&mut spec, 4, 5, 1_000_000, 0);
    add_flow(&mut spec, 5, 7, 1_000_000, 100_000);
    spec.failures = vec![down(0, 30_000, None), down(3, 40_000, None)];
    let outcome = run(spec);
    let status: Vec<_> = outcome.flows.iter().map(|flow| flow.status).collect();
    assert_eq!(
        status,
        [
            FlowStatus::Unreachable,
            FlowStatus::Completed,
            FlowStatus::Unreachable
        ]
    );
    let first = outcome.flows[0].delivered.get();
    assert!(first > 100_000 && first < 500_000, "{first}");
    assert_eq!(outcome.flows[2].delivered, Bytes::ZERO);
    // Without failures too: a switch without links to the others.
    let mut spec = natural(star(2, scheme("dcqcn")));
    spec.nodes.extend([NodeKind::Switch, NodeKind::Host]);
    spec.links.push(link(3, 4, G100));
    add_flow(&mut spec, 1, 4, 1000, 0);
    add_flow(&mut spec, 1, 2, 1000, 0);
    let outcome = run(spec);
    let status: Vec<_> = outcome.flows.iter().map(|flow| flow.status).collect();
    assert_eq!(status, [FlowStatus::Unreachable, FlowStatus::Completed]);
}

/// A host with two NICs spreads its flows over both, and uses the other if one is cut off.
#[test]
fn several_nics() {
    let build = || {
        let mut spec = natural(star(2, scheme("dcqcn")));
        // Host 1 has links to switches 0 and 3, and so has host 2.
        spec.nodes.push(NodeKind::Switch);
        spec.links.push(link(3, 1, G100));
        spec.links.push(link(3, 2, G100));
        for _ in 0..32 {
            add_flow(&mut spec, 1, 2, 50_000, 0);
        }
        spec.record.trace_nodes = vec![NodeId(1)];
        spec
    };
    let spec = build();
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let mut flows = [const { std::collections::BTreeSet::new() }; 2];
    for (_, interface, flow) in departures(&outcome, 1) {
        flows[interface as usize - 1].insert(flow);
    }
    assert!(flows.iter().all(|flows| flows.len() > 8), "{flows:?}");
    assert!(flows[0].is_disjoint(&flows[1]), "a flow stays on its NIC");
    let end = |outcome: &Outcome| outcome.flows.iter().map(|f| f.fct.as_ns()).max().unwrap();
    // 32 flows of 50 packets over two links: at worst some 24 on one of them.
    assert!(end(&outcome) < 24 * 50 * 84 + 10_000, "{}", end(&outcome));

    let mut spec = build();
    spec.failures = vec![down(0, 20_000, None)];
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(departures(&outcome, 1).iter().all(|d| d.0 <= 20_000 || d.1 == 2));
}

/// Parallel links share flows by the hash; the quirk leaves all but the last unused.
#[test]
fn parallel_links() {
    let used = |last_only: bool| {
        let mut spec = natural(star(2, scheme("none")));
        spec.quirks.last_parallel_link_only = last_only;
        spec.nodes.extend([NodeKind::Switch, NodeKind::Host]);
        spec.links.extend((0..3).map(|_| link(0, 3, G100)));
        spec.links.push(link(3, 4, G100));
        for _ in 0..60 {
            add_flow(&mut spec, 1, 4, 5_000, 0);
        }
        spec.record.trace_nodes = vec![NodeId(0)];
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let mut flows = [0; 3];
        for flow in 0..60 {
            let here = departures(&outcome, 0);
            let ports: Vec<u32> = here
                .iter()
                .filter(|d| d.2 == flow && d.1 > 2)
                .map(|d| d.1)
                .collect();
            assert!(ports.len() == 5 && ports.iter().all(|&port| port == ports[0]));
            flows[ports[0] as usize - 3] += 1;
        }
        flows
    };
    let spread = used(false);
    assert!(spread.iter().all(|&flows| flows > 8), "{spread:?}");
    assert_eq!(used(true), [0, 0, 60]);
}

/// Equal next hops are in descending order, or, with the quirk, in the order in which a search from the destination
/// reaches them: here the reverse, since 6 is behind 1 and 5 behind 2.
#[test]
fn next_hops_in_the_order_of_a_search() {
    let taken = |as_found: bool| {
        let mut spec = natural(star(2, scheme("none")));
        spec.quirks.next_hops_as_found = as_found;
        spec.nodes = vec![NodeKind::Switch; 7];
        spec.nodes.extend([NodeKind::Host; 2]);
        // From switch 3 to switch 0: by 6 and 1, or by 5 and 2.
        let links = [(7, 3), (3, 6), (3, 5), (6, 1), (5, 2), (1, 0), (2, 0), (0, 8)];
        spec.links = links.map(|(a, b)| link(a, b, G100)).to_vec();
        for _ in 0..40 {
            add_flow(&mut spec, 7, 8, 1000, 0);
        }
        spec.record.trace_nodes = vec![NodeId(3)];
        let mut to_host_8 = departures(&run(spec), 3);
        to_host_8.retain(|d| d.1 != 1);
        to_host_8.sort_by_key(|d| d.2);
        to_host_8.iter().map(|d| d.1).collect::<Vec<_>>()
    };
    let (numbered, found) = (taken(false), taken(true));
    assert_eq!(numbered.len(), 40);
    assert!(numbered.contains(&2) && numbered.contains(&3));
    let exchanged: Vec<u32> = numbered.iter().map(|&interface| 5 - interface).collect();
    assert_eq!(found, exchanged);
}

/// The hash that spreads flows depends on the seed.
#[test]
fn another_seed_takes_other_paths() {
    let upward = |seed: u64| {
        let mut spec = two_spines();
        spec.seed = seed;
        for _ in 0..40 {
            add_flow(&mut spec, 4, 6, 1000, 0);
        }
        spec.record.trace_nodes = vec![NodeId(0)];
        let mut ports = departures(&run(spec), 0);
        ports.retain(|d| d.1 <= 2);
        ports.sort_by_key(|d| d.2);
        ports.iter().map(|d| d.1).collect::<Vec<_>>()
    };
    assert_eq!(upward(1), upward(1));
    assert_ne!(upward(1), upward(2));
}

/// ACKs to a host that is cut off meanwhile are lost; none waits at a port that is down.
#[test]
fn answers_to_a_host_that_is_cut_off() {
    for at in (1_000..12_000).step_by(500) {
        let mut spec = natural(star(2, scheme("none")));
        // Host 1 has links to switches 0 and 3, host 2 to 0 alone; one NIC of host 1 is down at once.
        spec.nodes.push(NodeKind::Switch);
        spec.links.push(link(3, 1, G100));
        spec.links.push(link(3, 0, G100));
        add_flow(&mut spec, 1, 2, 100_000, 0);
        spec.failures = vec![down(2, 0, Some(40_000)), down(0, at, Some(60_000))];
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        assert!(outcome.counters.link_drops > 0);
    }
}
