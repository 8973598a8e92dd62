//! Properties of generated networks and traffic, and of the files written from them.

use std::collections::{BTreeMap, BTreeSet};

use paceline_fabric::spec::{ArrivalPattern, ArrivalSource, NodeId, NodeKind};
use paceline_jobs::collective::Algorithm;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use paceline_scenario::topology::{self, FatTreeRates, Topology};
use paceline_scenario::traffic::{self, Message, Seeds, SizeDistribution};
use paceline_scenario::{NS3_HPCC, Overrides, generate, load, load_text};
use proptest::prelude::*;

const G100: BitRate = BitRate::from_gbps(100);
const US: Span = Span::from_us(1);

fn degrees(topology: &Topology) -> Vec<usize> {
    let mut degrees = vec![0; topology.nodes.len()];
    for link in &topology.links {
        degrees[link.a.0 as usize] += 1;
        degrees[link.b.0 as usize] += 1;
    }
    degrees
}

fn hosts(n: u32) -> Vec<NodeId> {
    (0..n).map(NodeId).collect()
}

fn seeds(seed: u64) -> Seeds {
    Seeds { seed, workload: 0 }
}

/// Returns the messages generated from `pattern` with this seed.
fn drawn(pattern: ArrivalPattern, window: (Time, Time), seed: u64) -> Vec<Message> {
    let source = ArrivalSource {
        workload: 0,
        window,
        class: 3,
        dport: 100,
        label: 0,
        scheme: 0,
        pattern,
    };
    source.messages(seed).collect()
}

/// Counts the nodes reachable from the first.
fn reached(topology: &Topology) -> usize {
    let mut seen = BTreeSet::from([0]);
    let mut todo = vec![0];
    while let Some(node) = todo.pop() {
        for link in &topology.links {
            for (a, b) in [(link.a.0, link.b.0), (link.b.0, link.a.0)] {
                if a == node && seen.insert(b) {
                    todo.push(b);
                }
            }
        }
    }
    seen.len()
}

#[test]
fn hpcc_fat_is_the_reference_link_for_link() {
    let text = include_str!("../data/hpcc_fat.txt");
    let ours = topology::hpcc_fat(G100, BitRate::from_gbps(400), US);
    let words = |text: &str| {
        let number = |word: &str| word.parse::<f64>().map_or(word.to_string(), |x| x.to_string());
        text.split_whitespace().map(number).collect::<Vec<_>>()
    };
    assert_eq!(words(&generate::topology_text(&ours)), words(text));
}

proptest! {
    #[test]
    fn fat_trees_have_their_hosts_and_degrees(half in 1u32..6, oversubscription in 1u32..3) {
        let k = 2 * half;
        let rates = FatTreeRates { host: G100, aggregation: G100, core: G100 };
        let tree = topology::fat_tree(k, oversubscription, rates, US);
        let hosts = tree.hosts().count() as u32;
        prop_assert_eq!(hosts, k * k * k / 4 * oversubscription);
        prop_assert_eq!(tree.switches().count() as u32, 5 * k * k / 4);
        for (node, degree) in degrees(&tree).into_iter().enumerate() {
            let edge = (hosts..hosts + k * half).contains(&(node as u32));
            let expected = match tree.nodes[node] {
                NodeKind::Host => 1,
                NodeKind::Switch if edge => half + half * oversubscription,
                NodeKind::Switch => k,
            };
            prop_assert_eq!(degree as u32, expected, "node {}", node);
        }
        prop_assert_eq!(reached(&tree), tree.nodes.len());
    }

    #[test]
    fn leaf_spines_dumbbells_and_parking_lots_are_connected(a in 1u32..6, b in 1u32..6, c in 1u32..6) {
        for net in [
            topology::leaf_spine(a, b, c, (G100, US), (G100, US)),
            topology::dumbbell(a, b, (G100, US), (G100, US)),
            topology::parking_lot(a, G100, US),
            topology::star(a, G100, US),
        ] {
            prop_assert_eq!(reached(&net), net.nodes.len());
            prop_assert!(net.hosts().all(|host| degrees(&net)[host.0 as usize] == 1));
        }
    }

    #[test]
    fn a_permutation_is_a_derangement(n in 2u32..200, seed in 0u64..1000) {
        let flows = traffic::permutation(&hosts(n), Bytes::new(1), Time::ZERO, seeds(seed));
        let receivers: BTreeSet<_> = flows.iter().map(|flow| flow.dst).collect();
        prop_assert_eq!(receivers.len(), n as usize);
        prop_assert!(flows.iter().all(|flow| flow.src != flow.dst));
        prop_assert_eq!(flows, traffic::permutation(&hosts(n), Bytes::new(1), Time::ZERO, seeds(seed)));
    }

    #[test]
    fn a_stride_is_a_permutation_without_chance((n, stride) in (2u32..200).prop_flat_map(|n| (Just(n), 1..n))) {
        let flows = traffic::stride(&hosts(n), stride as usize, Bytes::new(1), Time::ZERO);
        let pairs: Vec<_> = flows.iter().map(|flow| (flow.src.0, flow.dst.0)).collect();
        let expected: Vec<_> = hosts(n).iter().map(|host| host.0).map(|host| (host, (host + stride) % n)).collect();
        prop_assert_eq!(pairs, expected);
    }

    #[test]
    fn all_to_all_has_every_pair_once(n in 2u32..30) {
        for algorithm in [Algorithm::LinearAllToAll, Algorithm::PairwiseAllToAll] {
            let flows = algorithm.plan(&hosts(n), Bytes::new(1), Time::ZERO, 1, Span::ZERO).messages;
            let pairs: BTreeSet<_> = flows.iter().map(|flow| (flow.src, flow.dst)).collect();
            prop_assert_eq!(pairs.len() as u32, n * (n - 1));
            prop_assert_eq!(flows.len() as u32, n * (n - 1));
            prop_assert!(flows.iter().all(|flow| flow.src != flow.dst));
        }
    }

    #[test]
    fn quantiles_grow_within_the_distribution(p in 0.0f64..1.0, q in 0.0f64..1.0) {
        for (name, ..) in traffic::DISTRIBUTIONS {
            let sizes = SizeDistribution::builtin(name).unwrap();
            let (low, high) = (p.min(q), p.max(q));
            prop_assert!(sizes.quantile(low) <= sizes.quantile(high));
            prop_assert!(sizes.quantile(low) >= Bytes::new(1));
            // Sizes are whole bytes, so the next smaller one is outside of the share.
            let size = sizes.quantile(high);
            prop_assert!(sizes.share_up_to(size - Bytes::new(1)) <= high);
            prop_assert!(sizes.share_up_to(size + Bytes::new(1)) >= high);
        }
    }

    #[test]
    fn written_files_say_the_same_flows(
        sizes in prop::collection::vec((1u64..1 << 40, 0u64..10_000_000_000_000), 1..20),
    ) {
        let flows: Vec<_> = sizes.iter().map(|(size, start)| {
            format!("{{ src = 1, dst = 2, size = \"{size}B\", start = \"{start}ps\" }}")
        }).collect();
        let text = |workload: &str| format!("duration = '100s'\n[topology.star]\nhosts = 2\n{workload}\n[cc]\nscheme = 'none'\n");
        let load = |workload: &str| load_text("test.toml", &text(workload), &Overrides::default()).unwrap().run;
        let run = load(&format!("[[workload]]\nlabel = 'normal'\nflows = [{}]", flows.join(", ")));
        let again = load(&generate::flows_toml(&run.flows, &run.labels));
        prop_assert_eq!(format!("{:?}", &run.flows), format!("{:?}", &again.flows));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("flow.txt"), generate::flows_text(&run.flows)).unwrap();
        std::fs::write(folder.path().join("test.toml"), text("[[workload]]\nfile = 'flow.txt'")).unwrap();
        let path = folder.path().join("test.toml");
        let file = paceline_scenario::load(path.to_str().unwrap(), &Overrides::default()).unwrap().run;
        prop_assert_eq!(format!("{:?}", &run.flows), format!("{:?}", &file.flows));
    }
}

#[test]
fn written_topologies_say_the_same_network() {
    let mut net = topology::dumbbell(
        2,
        3,
        (G100, US),
        (BitRate::from_bps(40_000_000_001), Span::from_ps(1_500)),
    );
    net.links[0].error_rate = 1e-4;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("topology.txt"), generate::topology_text(&net)).unwrap();
    let rest = "\n[[workload]]\nflows = [{ src = 0, dst = 2, size = '1KB' }]\n[cc]\nscheme = 'none'\n";
    for topology in [
        "[topology]\nfile = 'topology.txt'\n".to_string(),
        generate::topology_toml(&net),
    ] {
        let path = folder.path().join("test.toml");
        std::fs::write(&path, format!("{topology}{rest}")).unwrap();
        let run = load(path.to_str().unwrap(), &Overrides::default()).unwrap().run;
        assert_eq!(run.nodes, net.nodes);
        assert_eq!(format!("{:?}", run.links), format!("{:?}", net.links));
    }
}

/// Distributions have the means that HPCC's traffic generator computes with the trapezoid rule.
#[test]
fn distributions_have_their_means() {
    for (name, mean) in [
        ("fb-hadoop", 120_421),
        ("websearch", 1_711_250),
        ("alistorage", 40_870),
        ("google-rpc", 2_892),
    ] {
        assert_eq!(
            SizeDistribution::builtin(name).unwrap().mean().round() as u64,
            mean,
            "{name}"
        );
    }
}

#[test]
fn poisson_traffic_has_its_load() {
    let linked: Vec<_> = hosts(64).into_iter().map(|host| (host, G100)).collect();
    let sizes = SizeDistribution::builtin("alistorage").unwrap();
    let end = Time::from_ns(20_000_000);
    let flows = drawn(traffic::poisson(&linked, &[], &sizes, 0.4), (Time::ZERO, end), 1);
    let bytes: u64 = flows.iter().map(|flow| flow.size.get()).sum();
    let load = bytes as f64 * 8.0 / (64.0 * 100e9 * end.as_secs_f64());
    assert!((load - 0.4).abs() < 0.02, "{load}");
    assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.start < end));
    // Every host sends and receives about as much as the others.
    let mut received: BTreeMap<NodeId, usize> = BTreeMap::new();
    for flow in &flows {
        *received.entry(flow.dst).or_default() += 1;
    }
    let mean = flows.len() / 64;
    assert!(
        received.len() == 64 && received.values().all(|n| n.abs_diff(mean) < mean / 4),
        "{received:?}"
    );
}

#[test]
fn poisson_incasts_have_their_load() {
    let linked: Vec<_> = hosts(100).into_iter().map(|host| (host, G100)).collect();
    let window = (Time::from_ns(1_000_000), Time::from_ns(401_000_000));
    let flows = drawn(
        traffic::incast_poisson(&linked, &[], 0.02, 60, Bytes::new(500_000)),
        window,
        3,
    );
    let load = flows.len() as f64 * 4e6 / (100.0 * 100e9 * 0.4);
    assert!((load - 0.02).abs() < 0.004, "{load}");
    let mut events: BTreeMap<Time, Vec<(NodeId, NodeId)>> = BTreeMap::new();
    for flow in flows {
        events.entry(flow.start).or_default().push((flow.src, flow.dst));
    }
    for event in events.values() {
        let senders: BTreeSet<_> = event.iter().map(|(src, _)| *src).collect();
        let receivers: BTreeSet<_> = event.iter().map(|(_, dst)| *dst).collect();
        assert_eq!((event.len(), senders.len(), receivers.len()), (60, 60, 1));
        assert!(senders.is_disjoint(&receivers));
    }
}

/// Receivers separate from the senders, among them, or both: the load is the senders', no host sends to itself, and
/// all receivers get the same share.
#[test]
fn drawn_flows_go_to_the_receivers() {
    let all = hosts(40);
    let linked: Vec<_> = all[..20].iter().map(|&host| (host, G100)).collect();
    let window = (Time::ZERO, Time::from_ns(100_000_000));
    let sizes = SizeDistribution::fixed(Bytes::new(10_000));
    for (from, to) in [(20, 40), (5, 15), (10, 30), (39, 40)] {
        let receivers = &all[from..to];
        let poisson = drawn(traffic::poisson(&linked, receivers, &sizes, 0.1), window, 5);
        let bits = 8.0 * 10_000.0 * poisson.len() as f64;
        let load = bits / (20.0 * 100e9 * window.1.as_secs_f64());
        assert!((load - 0.1).abs() < 0.01, "{load}");
        let incasts = traffic::incast_poisson(&linked, receivers, 0.1, 16, Bytes::new(10_000));
        let incasts = drawn(incasts, window, 5);
        assert!(incasts.chunks_exact(16).all(|one| {
            let senders: BTreeSet<_> = one.iter().map(|flow| flow.src).collect();
            senders.len() == 16 && one.iter().all(|flow| flow.dst == one[0].dst)
        }));
        for flows in [poisson, incasts] {
            let mut received: BTreeMap<NodeId, usize> = BTreeMap::new();
            for flow in &flows {
                assert!(flow.src != flow.dst && flow.src.0 < 20 && receivers.contains(&flow.dst));
                *received.entry(flow.dst).or_default() += 1;
            }
            let mean = flows.len() / receivers.len();
            assert!(received.len() == receivers.len(), "{received:?}");
            assert!(
                received.values().all(|n| n.abs_diff(mean) < mean / 4),
                "{received:?}"
            );
        }
    }
}

/// A sender cannot be the only receiver, nor can there be more senders than hosts.
#[test]
fn receivers_that_cannot_be_are_told() {
    let said = |workload: &str| {
        let text = format!(
            "duration = \"1ms\"\n[topology.star]\nhosts = 4\n[[workload]]\n{workload}\n[cc]\nscheme = \"none\"\n"
        );
        let error = load_text("my.toml", &text, &Overrides::default()).unwrap_err();
        error.to_string()
    };
    let poisson = r#"poisson = { hosts = [1, 2], receivers = [2], sizes = "websearch", load = 0.1 }"#;
    assert!(
        said(poisson).contains("host 2 sends, and is the only receiver"),
        "{}",
        said(poisson)
    );
    let incasts = "incast-poisson = { hosts = [1, 2], receivers = [3], fan-in = 3 }";
    assert!(
        said(incasts).contains("a fan-in of 3: there are 2 hosts"),
        "{}",
        said(incasts)
    );
}

#[test]
fn shipped_scenarios_are_what_they_say() {
    let run = |name: &str| load(name, &Overrides::default()).unwrap().run;
    let incast = run("incast-20");
    let sizes: Vec<_> = incast
        .flows
        .iter()
        .map(|flow| flow.size.get() / 1_000_000)
        .collect();
    assert_eq!(sizes[..4], [200, 200, 150, 5]);
    assert!(sizes[3..].iter().all(|size| *size == 5) && sizes.len() == 20);
    assert!(
        incast
            .flows
            .iter()
            .zip(1..)
            .all(|(flow, i)| flow.src.0 == i && flow.dst.0 == 21)
    );
    let fat = run("fat320-hadoop30-2ms");
    assert_eq!((fat.nodes.len(), fat.links.len()), (376, 480));
    // 320 hosts at 30 % of 100 Gbit/s for 2 ms, 120 KB each: about 20 000 flows.
    let background = fat.flows.iter().filter(|flow| flow.label == 0).count();
    assert!((19_000..21_000).contains(&background), "{background}");
    let failure = run("leaf-spine-failure");
    assert_eq!(failure.failures.len(), 1);
    let link = &failure.links[failure.failures[0].link];
    assert_eq!((link.a, link.b, link.error_rate), (NodeId(32), NodeId(36), 1e-4));
}

#[test]
fn the_demo_scales() {
    let run = |scale| {
        load_text(
            "demo.toml",
            &paceline_scenario::demo(scale),
            &Overrides::default(),
        )
        .unwrap()
        .run
    };
    let total = |scale| run(scale).flows.iter().map(|flow| flow.size.get()).sum::<u64>();
    assert_eq!((total(1.0), total(0.01)), (635_000_000, 6_350_000));
    assert_eq!(run(1e-12).flows.len(), 20);
}

#[test]
fn ports_count_the_flows_of_a_pair_and_jitter_stays_below_its_bound() {
    let text = "[topology.star]\nhosts = 3\n[[workload]]\nstart-jitter = '5us'\nincast = { fan-in = 2, receiver = 3, rounds = 4, period = '10us' }\n[cc]\nscheme = 'none'\n";
    let run = load_text("test.toml", text, &Overrides::default()).unwrap().run;
    let ports = |src| {
        run.flows
            .iter()
            .filter(|f| f.src == NodeId(src))
            .map(|f| f.sport)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (ports(1), ports(2)),
        (
            vec![10_000, 10_001, 10_002, 10_003],
            vec![10_000, 10_001, 10_002, 10_003]
        )
    );
    assert!(
        run.flows
            .iter()
            .all(|flow| flow.dport == 200 && flow.start.as_ps() % 10_000_000 < 5_000_000)
    );
    assert!(run.flows.iter().any(|flow| flow.start.as_ps() % 1_000_000 != 0));
}

#[test]
fn a_toml_scenario_can_have_the_reference_behaviour() {
    let overrides = Overrides {
        fidelity: Some(NS3_HPCC),
        ..Overrides::default()
    };
    let run = load("incast-16", &overrides).unwrap().run;
    assert!(run.quirks.truncate_to_ns && run.nic.rto.is_none() && run.nic.ack_class.is_none());
    assert_eq!(run.packet.pfc_frame.get(), 43);
}
