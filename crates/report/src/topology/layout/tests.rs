use std::collections::BTreeSet;

use paceline_fabric::spec::{LinkSpec, NodeId};
use paceline_kernel::{BitRate, Span};
use paceline_scenario::topology::{
    FatTreeRates, dumbbell, fat_tree, hpcc_fat, leaf_spine, parking_lot, star,
};
use proptest::prelude::*;

use super::*;

const RATE: BitRate = BitRate::from_gbps(100);
const DELAY: Span = Span::from_us(1);

fn fat(k: u32) -> Topology {
    let rates = FatTreeRates {
        host: RATE,
        aggregation: RATE,
        core: RATE,
    };
    fat_tree(k, 1, rates, DELAY)
}

/// Checks that no two nodes have the same position, all are inside, and none overlaps its neighbour.
fn check(topology: &Topology) -> Layout {
    let found = layout(topology);
    let mut indices = BTreeSet::new();
    let mut rows = vec![Vec::new(); 1 + found.tier.iter().max().map_or(0, |&top| top as usize)];
    for node in 0..topology.nodes.len() {
        let x = found.x[node];
        assert!((0.0..=1.0).contains(&x), "node {node} at {x}");
        assert!(
            indices.insert((found.tier[node], (x * 1e9) as u64)),
            "node {node} is on another"
        );
        assert_eq!(found.tier[node] == 0, topology.nodes[node] == NodeKind::Host);
        rows[found.tier[node] as usize].push((x, found.half[node]));
    }
    for row in &mut rows {
        row.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(
            row.windows(2)
                .all(|pair| pair[0].0 + pair[0].1 <= pair[1].0 - pair[1].1 + 1e-9)
        );
    }
    for (link, &(a, b)) in topology.links.iter().zip(&found.ends) {
        for (node, end) in [(link.a.0 as usize, a), (link.b.0 as usize, b)] {
            assert!((end - found.x[node]).abs() <= found.half[node] + 1e-9);
        }
    }
    assert_eq!(layout(topology), found);
    found
}

#[test]
fn tiers_are_distances_from_hosts() {
    let counts = |topology: &Topology| {
        let found = check(topology);
        let top = found.tier.iter().max().map_or(0, |&top| top);
        (0..=top)
            .map(|t| found.tier.iter().filter(|&&tier| tier == t).count())
            .collect::<Vec<_>>()
    };
    let ends = (RATE, DELAY);
    assert_eq!(counts(&star(17, RATE, DELAY)), [17, 1]);
    assert_eq!(counts(&dumbbell(3, 5, ends, ends)), [8, 2]);
    assert_eq!(counts(&parking_lot(4, RATE, DELAY)), [10, 5]);
    assert_eq!(counts(&leaf_spine(4, 2, 8, ends, ends)), [32, 4, 2]);
    assert_eq!(counts(&fat(8)), [128, 32, 32, 16]);
    assert_eq!(counts(&hpcc_fat(RATE, RATE, DELAY)), [320, 20, 20, 16]);
    assert_eq!(counts(&Topology::default()), [0]);
}

#[test]
fn hosts_stand_under_their_switch_and_pods_stay_together() {
    let found = check(&hpcc_fat(RATE, RATE, DELAY));
    for host in 0..320 {
        let switch = 320 + host / 16;
        assert!((found.x[host] - found.x[switch]).abs() < 0.5 / 20.0);
    }
    for pod in 0..5 {
        for aggregation in 340 + pod * 4..344 + pod * 4 {
            let x = found.x[aggregation];
            assert!(
                (pod as f64 / 5.0..(pod + 1) as f64 / 5.0).contains(&x),
                "{aggregation} at {x}"
            );
        }
    }
}

#[test]
fn an_order_without_crossings_is_found() {
    // Leaves 4 to 7, spines 8 and 9; the numbers cross: 8 has leaves 6 and 7, 9 has 4 and 5.
    let mut topology = Topology::new(4, 6);
    for i in 0..4 {
        topology.link(i, 4 + i, RATE, DELAY);
        topology.link(4 + i, if i < 2 { 9 } else { 8 }, RATE, DELAY);
    }
    let found = check(&topology);
    assert!(found.x[9] < found.x[8]);
    assert_eq!(inversions(vec![2, 0, 1, 1], 3), 3);
}

#[test]
fn links_within_a_tier_go_around_what_is_between() {
    let mut topology = parking_lot(2, RATE, DELAY);
    topology.link(6, 8, RATE, DELAY);
    let found = check(&topology);
    assert_eq!(found.bent[6..], [false, false, true]);
    // Neighbours are linked at the sides that face each other.
    let (a, b) = found.ends[6];
    assert!((a - found.x[6] - found.half[6]).abs() < 1e-9 && (found.x[7] - found.half[7] - b).abs() < 1e-9);
}

proptest! {
    #[test]
    fn any_network_has_a_picture(
        hosts in 0u32..12,
        switches in 0u32..12,
        pairs in prop::collection::vec((0u32..24, 0u32..24), 0..40),
    ) {
        let mut topology = Topology::new(hosts, switches);
        let nodes = hosts + switches;
        for (a, b) in pairs.into_iter().filter(|&(a, b)| a != b && a < nodes && b < nodes) {
            let (a, b) = (NodeId(a), NodeId(b));
            topology.links.push(LinkSpec { a, b, rate: RATE, delay: DELAY, error_rate: 0.0 });
        }
        check(&topology);
    }
}
