//! Names of nodes: unique, readable back, and the same after a scenario is written and read again.

use paceline_kernel::sorted::SortedSet;
use paceline_scenario::{NodeNames, Overrides, Resolved, load_text};
use proptest::prelude::*;

fn load(topology: &str, rest: &str) -> Result<Resolved, String> {
    let text = format!("duration = '1ms'\ncc.scheme = 'none'\n{rest}\n{topology}\n");
    load_text("test.toml", &text, &Overrides::default()).map_err(|error| error.to_string())
}

/// Checks that names are unique, and mean their nodes in every notation.
fn check(names: &NodeNames) {
    let mut seen = SortedSet::new();
    for node in 0..names.len() {
        let name = names.name(node);
        assert!(seen.insert(name.clone()), "two nodes are called {name}");
        assert_eq!(names.node(&name).map(|node| node.0), Some(node), "{name}");
        assert_eq!(names.node(&node.to_string()).map(|node| node.0), Some(node));
        assert!(
            names.numbered(node).contains(&node.to_string()),
            "{}",
            names.numbered(node)
        );
    }
}

fn generated() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u32..9).prop_map(|hosts| format!("[topology.star]\nhosts = {hosts}")),
        (1u32..5, 1u32..5).prop_map(|(left, right)| format!("[topology.dumbbell]\nleft = {left}\nright = {right}")),
        (1u32..6).prop_map(|hops| format!("[topology.parking-lot]\nhops = {hops}")),
        (1u32..6, 1u32..6, 1u32..4).prop_map(|(leaves, spines, hosts)| format!(
            "[topology.leaf-spine]\nleaves = {leaves}\nspines = {spines}\nhosts-per-leaf = {hosts}"
        )),
        (1u32..4, 1u32..4, 1u32..5, 1u32..4, any::<bool>()).prop_map(|(pods, of, gpus, spines, inside)| {
            let inside = if inside { "server-rate = '1.6Tbps'" } else { "" };
            format!(
                "[topology.rail]\nservers = {}\nservers-per-pod = {of}\ngpus = {gpus}\nspines = {spines}\n{inside}",
                pods * of
            )
        }),
        (1u32..5).prop_map(|half| format!("[topology.fat-tree]\nk = {}", 2 * half)),
        Just("[topology.hpcc-fat]".to_string()),
        Just("[topology.graph]\nnodes = 5\nswitches = [1, 3, 4]\nlinks = [{ a = 0, b = 1 }, { a = 1, b = 3 }, { a = 2, b = 3 }]".to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn names_are_unique_and_stay(topology in generated()) {
        let resolved = load(&topology, "").unwrap();
        check(&resolved.names);
        let again = load_text("again.toml", &resolved.toml, &Overrides::default()).unwrap();
        prop_assert_eq!(&again.names, &resolved.names);
    }
}

#[test]
fn generators_have_their_names() {
    let of = |topology: &str, nodes: &[u32]| {
        let names = load(topology, "").unwrap().names;
        nodes
            .iter()
            .map(|&node| names.numbered(node))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let leaf_spine = "[topology.leaf-spine]\nleaves = 4\nspines = 2\nhosts-per-leaf = 4";
    assert_eq!(of(leaf_spine, &[3, 17, 21]), "host 3, leaf 1 (17), spine 1 (21)");
    assert_eq!(
        of("[topology.fat-tree]\nk = 4", &[16, 25, 35]),
        "edge 0 (16), aggregation 1 (25), core 3 (35)"
    );
    assert_eq!(
        of(
            "[topology.rail]\nservers = 2\ngpus = 2\nspines = 1\nserver-rate = '1.6Tbps'",
            &[4, 5, 6, 8]
        ),
        "rail 0 (4), rail 1 (5), spine 0 (6), server 1 (8)"
    );
    assert_eq!(
        of(
            "[topology.rail]\nservers = 2\nservers-per-pod = 1\ngpus = 2\nspines = 1",
            &[5, 6]
        ),
        "pod 0 rail 1 (5), pod 1 rail 0 (6)"
    );
}

/// Every key that takes the number of a node takes its name, and the run is the same.
#[test]
fn names_replace_numbers() {
    let topology = "[topology.leaf-spine]\nleaves = 2\nspines = 2\nhosts-per-leaf = 2";
    let of = |rest: &str| load(topology, rest).map(|resolved| resolved.run);
    for (by_number, by_name) in [
        (
            "network.failure = [{ nodes = [4, 7], at = '1us' }]",
            "network.failure = [{ nodes = ['leaf 0', 'spine 1'], at = '1us' }]",
        ),
        (
            "network.link-change = [{ nodes = [4, 7], at = '1us', rate = '1Gbps' }]",
            "network.link-change = [{ nodes = 'leaf 0 -> spine 1', at = '1us', rate = '1Gbps' }]",
        ),
        (
            "network.slow-host = [{ hosts = [1], at = '1us', receive-rate = '1Gbps' }]",
            "network.slow-host = [{ hosts = 'host 1', at = '1us', receive-rate = '1Gbps' }]",
        ),
        (
            "network.pause-storm = [{ node = 1, peer = 4, at = '1us' }]",
            "network.pause-storm = [{ node = 'host 1', peer = 'leaf 0', at = '1us' }]",
        ),
        (
            "network.route = [{ node = 4, to = [2], via = 7 }]",
            "network.route = [{ node = 'leaf 0', to = 'host 2', via = 'spine 1' }]",
        ),
        (
            "network.rate-factor = { 4-7 = 0.5 }",
            "network.rate-factor = { 'leaf 0-spine 1' = 0.5 }",
        ),
        (
            "record.trace = [4, 5, 7, 1]",
            "record.trace = ['leaf 0-1', 'spine 1', 'host 1']",
        ),
        (
            "record.trace-ports = [[4, 7], [4, 1]]",
            "record.trace-ports = [['leaf 0', 'spine 1'], 'leaf 0 -> host 1']",
        ),
    ] {
        let (expected, got) = (of(by_number), of(by_name));
        assert!(expected.is_ok(), "{by_number}: {expected:?}");
        assert_eq!(got, expected, "{by_name}");
    }
    for (wrong, expected) in [
        (
            "network.failure = [{ nodes = ['leaf 0', 'spin 1'], at = '1us' }]",
            "test.toml:3:30: this network has no node `spin 1` (did you mean `spine 1`?)",
        ),
        (
            "record.trace = 'spine 2'",
            "test.toml:3:23: there is no spine 2: those of tier spine are 0 to 1",
        ),
        (
            "record.trace = 'spin 0, leaf 0'",
            "test.toml:3:17: there are no hosts called `spin` (did you mean `spine 0`?)",
        ),
        (
            "record.trace-ports = [['leaf 0', 'leaf 1']]",
            "test.toml:3:23: there is no link from leaf 0 (4) to leaf 1 (5) to trace",
        ),
    ] {
        assert_eq!(of(wrong).unwrap_err(), expected, "{wrong}");
    }
}
