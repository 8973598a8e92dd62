//! Sets of hosts, in every key that takes one.

use std::collections::BTreeSet;

use paceline_fabric::spec::NodeId;
use paceline_kernel::{BitRate, Span};
use paceline_scenario::{Overrides, Resolved, groups, load_text, topology};

/// Loads a network with four leaves of four hosts.
fn load(rest: &str) -> Result<Resolved, String> {
    let text =
        format!("duration = '1ms'\ncc.scheme = 'none'\n[topology.leaf-spine]\nhosts-per-leaf = 4\n{rest}\n");
    load_text("test.toml", &text, &Overrides::default()).map_err(|error| error.to_string())
}

fn message(rest: &str) -> String {
    load(rest).unwrap_err()
}

fn ends(run: &Resolved) -> Vec<(u32, u32)> {
    run.run
        .flows
        .iter()
        .map(|flow| (flow.src.0, flow.dst.0))
        .collect()
}

#[test]
fn sets_stand_wherever_hosts_are_named() {
    let run = load(
        "[hosts]\nsink = 15\nhalf = 'leaf 0-1'\n\
         [[workload]]\nincast = { senders = ['0..3 step 2', 7], receiver = 'sink' }\n\
         [[workload]]\nincast = { senders = 'half except 1..7', receiver = 9 }\n\
         [[workload]]\nflows = [{ src = 'sink', dst = 3, size = '1KB' }]\n",
    )
    .unwrap();
    assert_eq!(ends(&run), [(0, 15), (2, 15), (7, 15), (0, 9), (15, 3)]);
    let run = load(
        "[[workload]]\nall-gather = { hosts = ['leaf 3', 0] }\n\
         [record]\ntrace = '16, leaf 1, hosts 4..5'\n[[network.pause-storm]]\nnode = '5'\nat = '1us'\n",
    )
    .unwrap();
    let first: Vec<_> = ends(&run)[..5].iter().map(|ends| ends.0).collect();
    assert_eq!(first, [12, 13, 14, 15, 0]);
    let traced: Vec<_> = run.run.record.trace_nodes.iter().map(|node| node.0).collect();
    assert_eq!(traced, [16, 17, 4, 5]);
    assert_eq!(run.run.storms[0].node.0, 5);
}

#[test]
fn random_traffic_keeps_to_its_hosts() {
    let run = load(
        "[[workload]]\npermutation = { hosts = 'leaf 1-2', size = '1KB' }\n\
         [[workload]]\npoisson = { hosts = 'leaf 1-2', sizes = 'websearch', load = 0.5 }\n\
         [[workload]]\nincast-poisson = { hosts = 'leaf 1-2', load = 0.5, fan-in = 3 }\n",
    )
    .unwrap();
    let named: BTreeSet<u32> = ends(&run).iter().flat_map(|&(src, dst)| [src, dst]).collect();
    assert_eq!(named, (4..12).collect());
}

#[test]
fn what_was_resolved_resolves_again() {
    let run = load(
        "[hosts]\na = ['leaf 2', '0..3 step 2']\n[[workload]]\nall-reduce = { hosts = 'a', size = '1MB' }\n",
    )
    .unwrap();
    assert!(
        run.toml.contains("a = [\"leaf 2\", \"0..3 step 2\"]"),
        "{}",
        run.toml
    );
    let again = load_text("again.toml", &run.toml, &Overrides::default()).unwrap();
    assert_eq!(*again.run, *run.run);
    assert_eq!(again.toml, run.toml);
}

#[test]
fn what_is_wrong_has_its_place() {
    let work = |hosts: &str| format!("[[workload]]\nall-gather = {{ hosts = {hosts} }}");
    for (rest, expected) in [
        (
            work("'0..3, leaf 4'"),
            "test.toml:6:36: there is no leaf 4: leaves are 0 to 3",
        ),
        (
            work("[0, 'leef 2']"),
            "test.toml:6:29: there are no hosts called `leef` (did you mean `leaf`?)",
        ),
        (work("'0..3, 2'"), "test.toml:6:24: host 2 is named twice"),
        (
            work("'pod 0'"),
            "test.toml:6:25: this network has no pods (it has leaves)",
        ),
        (
            work("'14..17'"),
            "test.toml:6:25: node 16 is a switch: flows are between hosts (nodes 0 to 15)",
        ),
        (
            work("'all except 0..15'"),
            "test.toml:6:24: there are no hosts here",
        ),
        (
            "[hosts]\nall = 3".to_string(),
            "test.toml:6:7: hosts cannot be called `all` (a name is made of letters, digits, `-`, `_` and `.`, a \
             letter first, and no word of the language of hosts (all, except, step, leaf, leaves, pod, pods, rail, \
             rails, server, servers))",
        ),
        (
            "[hosts]\nfront = 'leaf 0'\n[[workload]]\nincast = { fan-in = 2, receiver = 'frnt' }".to_string(),
            "test.toml:8:36: there are no hosts called `frnt` (did you mean `front`?)",
        ),
        (
            "[[workload]]\nincast = { fan-in = 2, receiver = 'leaf 1' }".to_string(),
            "test.toml:6:35: these are 4 hosts: expected one",
        ),
        (
            "[[workload]]\nincast = { senders = 'leaf 1', receiver = 4 }".to_string(),
            "test.toml:6:22: the flow goes from host 4 to itself",
        ),
    ] {
        assert_eq!(message(&rest), expected, "{rest}");
    }
}

/// A set on the command line is read as one in a file, and an error points at it.
#[test]
fn sets_on_the_command_line() {
    let text = "duration = '1ms'\ncc.scheme = 'none'\n[topology.star]\nhosts = 8\n\
                [[workload]]\nlabel = 'sum'\nall-gather = {}\n";
    let set = |value: &str| Overrides {
        set: vec![format!("workload.sum.all-gather.hosts={value}")],
        ..Overrides::default()
    };
    let run = load_text("test.toml", text, &set("1..4 step 3")).unwrap();
    assert_eq!(ends(&run), [(1, 4), (4, 1)]);
    let error = load_text("test.toml", text, &set("1..9")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--set:1:31: there is no node 9: nodes are 0 to 8"
    );
}

#[test]
fn leaves_and_pods_are_read_off_the_links() {
    let (g100, us) = (BitRate::from_gbps(100), Span::from_us(1));
    let rates = topology::FatTreeRates {
        host: g100,
        aggregation: g100,
        core: g100,
    };
    let tree = topology::fat_tree(4, 1, rates, us);
    let count = |kind| groups::sets(&tree, kind).map(|sets| (sets.len(), sets[1].clone()));
    let hosts = |from: u32, to: u32| (from..to).map(NodeId).collect::<Vec<_>>();
    assert_eq!(count("leaf"), Some((8, hosts(2, 4))));
    assert_eq!(count("pod"), Some((4, hosts(4, 8))));
    assert_eq!(count("rail"), None);
    assert_eq!(groups::tiers(&tree)[15..26], [0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2]);
    let fat = topology::hpcc_fat(g100, g100, us);
    let pods = groups::sets(&fat, "pod").unwrap();
    assert_eq!((pods.len(), pods[4].clone()), (5, hosts(256, 320)));
}
