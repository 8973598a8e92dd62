//! Collectives and closed loops: their messages and dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use paceline_fabric::find_cycle;
use paceline_fabric::spec::{Awaited, NodeId, RunSpec};
use paceline_jobs::collective::{Algorithm, Plan};
use paceline_kernel::{Bytes, Span, Time};
use paceline_scenario::{Overrides, Resolved, load_text};
use proptest::prelude::*;

fn hosts(n: u32) -> Vec<NodeId> {
    // Ranks are list indices, so nodes are numbered in the opposite order to tell them apart.
    (0..n).map(|rank| NodeId(100 - rank)).collect()
}

fn plan(algorithm: Algorithm, n: u32, size: u64, iterations: u32) -> Plan {
    let compute = Span::from_us(3);
    algorithm.plan(&hosts(n), Bytes::new(size), Time::ZERO, iterations, compute)
}

/// Returns every algorithm that `n` hosts can execute.
fn algorithms(n: u32) -> Vec<Algorithm> {
    use Algorithm::*;
    let mut all = vec![
        RingAllReduce,
        ReduceScatter,
        AllGather,
        PairwiseAllToAll,
        LinearAllToAll,
    ];
    all.extend(
        (2..n)
            .filter(|group| n.is_multiple_of(*group))
            .map(|group| HierarchicalAllReduce { group }),
    );
    if n.is_power_of_two() {
        all.push(HalvingDoubling);
    }
    all
}

/// Returns, for each rank, the bytes that it sends and receives in an iteration.
fn traffic(plan: &Plan, n: u32) -> (Vec<u64>, Vec<u64>) {
    let (mut sent, mut received) = (vec![0; n as usize], vec![0; n as usize]);
    let rank = |node: NodeId| (100 - node.0) as usize;
    for message in &plan.messages[..plan.per_iteration] {
        sent[rank(message.src)] += message.size.get();
        received[rank(message.dst)] += message.size.get();
    }
    (sent, received)
}

#[test]
fn a_ring_of_three_by_hand() {
    let plan = plan(Algorithm::RingAllReduce, 3, 10, 1);
    let list: Vec<_> = plan
        .messages
        .iter()
        .map(|m| (100 - m.src.0, 100 - m.dst.0, m.size.get()))
        .collect();
    // Parts of 4, 3, 3 bytes. Rank r reduces part r - 1 first, and ends with part r.
    assert_eq!(
        list,
        [
            (0, 1, 3),
            (1, 2, 4),
            (2, 0, 3), // parts 2, 0, 1
            (0, 1, 3),
            (1, 2, 3),
            (2, 0, 4), // parts 1, 2, 0
            (0, 1, 4),
            (1, 2, 3),
            (2, 0, 3), // parts 0, 1, 2
            (0, 1, 3),
            (1, 2, 4),
            (2, 0, 3), // parts 2, 0, 1
        ]
    );
    // Rank 1 in the second step waits for the message that rank 0 sent in the first.
    let waits: Vec<_> = plan.dependencies.iter().filter(|d| d.flow == 4).collect();
    assert_eq!((waits[0].after, waits[0].awaited), (0, Awaited::Received));
    assert_eq!((waits[1].after, waits[1].awaited), (1, Awaited::Started));
    assert_eq!(plan.dependencies.len(), 2 * 9);
}

#[test]
fn pairwise_pairs() {
    let partners = |n| {
        let plan = plan(Algorithm::PairwiseAllToAll, n, 5, 1);
        let of_rank_1 = plan.messages.iter().filter(|m| m.src.0 == 99);
        of_rank_1.map(|m| 100 - m.dst.0).collect::<Vec<_>>()
    };
    assert_eq!(partners(8), [0, 3, 2, 5, 4, 7, 6]);
    assert_eq!(partners(6), [2, 3, 4, 5, 0]);
}

#[test]
fn halving_and_doubling_by_hand() {
    let plan = plan(Algorithm::HalvingDoubling, 4, 400, 1);
    let of_rank_0 = plan.messages.iter().filter(|m| m.src.0 == 100);
    let list: Vec<_> = of_rank_0.map(|m| (100 - m.dst.0, m.size.get())).collect();
    assert_eq!(list, [(2, 200), (1, 100), (1, 100), (2, 200)]);
}

/// Executes an all-reduce on sets of host numbers that stand for partial sums. Returns true if every host ends with
/// all contributions, which requires that the right parts are passed on.
fn everyone_hears_of_everyone(plan: &Plan, n: u32) -> bool {
    let mut known: Vec<BTreeSet<u32>> = (0..n).map(|rank| BTreeSet::from([rank])).collect();
    for step in plan.messages[..plan.per_iteration].chunks(n as usize) {
        let before = known.clone();
        for message in step {
            let (src, dst) = ((100 - message.src.0) as usize, (100 - message.dst.0) as usize);
            known[dst].extend(before[src].iter().copied());
        }
    }
    known.iter().all(|known| known.len() == n as usize)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(40), ..ProptestConfig::default() })]

    #[test]
    fn what_collectives_send(n in 2u32..20, more in 0u64..5_000, iterations in 1u32..4) {
        let size = u64::from(n) + more;
        for algorithm in algorithms(n) {
            let plan = plan(algorithm, n, size, iterations);
            let all = plan.messages.len();
            prop_assert_eq!(all, plan.per_iteration * iterations as usize);
            prop_assert_eq!(plan.per_iteration as f64, algorithm.messages(n));
            prop_assert_eq!(find_cycle(all, &plan.dependencies), None, "{:?}", algorithm);
            prop_assert!(plan.messages.iter().all(|m| m.src != m.dst && m.size > Bytes::ZERO));
            let (sent, received) = traffic(&plan, n);
            prop_assert_eq!(sent.iter().sum::<u64>(), received.iter().sum::<u64>());
            let others = u64::from(n - 1);
            // Any division among n ranks moves all but one part, give or take a byte per step.
            let expected = match algorithm {
                Algorithm::PairwiseAllToAll | Algorithm::LinearAllToAll => others * size,
                Algorithm::ReduceScatter | Algorithm::AllGather => size * others / u64::from(n),
                _ => 2 * size * others / u64::from(n),
            };
            let slack = 2 * u64::from(n);
            for bytes in sent.iter().chain(&received) {
                prop_assert!(bytes.abs_diff(expected) <= slack, "{:?}: {} {}", algorithm, bytes, expected);
            }
            // The network's total is exact.
            let total = match algorithm {
                Algorithm::PairwiseAllToAll | Algorithm::LinearAllToAll => u64::from(n) * others * size,
                Algorithm::ReduceScatter | Algorithm::AllGather => others * size,
                _ => 2 * others * size,
            };
            prop_assert_eq!(sent.iter().sum::<u64>(), total, "{:?}", algorithm);
            prop_assert!(everyone_hears_of_everyone(&plan, n), "{:?}", algorithm);
        }
    }

    /// Only a host's first messages start without a dependency, and every dependency concerns the sender: a message
    /// that this host received or sent.
    #[test]
    fn what_collectives_wait_for(n in 2u32..12, iterations in 1u32..4) {
        for algorithm in algorithms(n) {
            let plan = plan(algorithm, n, 1_000, iterations);
            let mut received: BTreeMap<u32, usize> = BTreeMap::new();
            for dependency in &plan.dependencies {
                let (message, before) = (
                    &plan.messages[dependency.flow as usize],
                    &plan.messages[dependency.after as usize],
                );
                if dependency.awaited == Awaited::Received {
                    prop_assert_eq!(before.dst, message.src);
                    *received.entry(dependency.flow).or_default() += 1;
                } else {
                    prop_assert_eq!(before.src, message.src);
                }
                // Computation is only between iterations.
                let iteration = |flow: u32| flow as usize / plan.per_iteration;
                let between = iteration(dependency.flow) != iteration(dependency.after);
                prop_assert_eq!(dependency.delay, Span::from_us(if between { 3 } else { 0 }));
            }
            let free = match algorithm {
                Algorithm::LinearAllToAll => plan.per_iteration,
                _ => n as usize,
            };
            for flow in 0..plan.messages.len() {
                let waits = received.contains_key(&(flow as u32));
                let posted_with_first = algorithm == Algorithm::LinearAllToAll
                    && flow % plan.per_iteration >= n as usize;
                prop_assert_eq!(waits, flow >= free && !posted_with_first, "{:?} {}", algorithm, flow);
            }
        }
    }
}

fn resolved(workload: &str) -> Resolved {
    let text = format!(
        "duration = '10ms'\n[topology.star]\nhosts = 4\n[[workload]]\n{workload}\n[cc]\nscheme = 'none'\n"
    );
    load_text("test.toml", &text, &Overrides::default()).unwrap()
}

fn run(workload: &str) -> Arc<RunSpec> {
    resolved(workload).run
}

#[test]
fn closed_loops() {
    let run = run(
        "closed-loop = { senders = [1, 2], receivers = [1, 2, 3], outstanding = 2, messages = 5, size = '3KB', think-time = '7us' }",
    );
    assert_eq!(run.flows.len(), 10);
    for flow in &run.flows {
        assert!([1, 2].contains(&flow.src.0) && flow.src != flow.dst && flow.dst.0 <= 3);
        assert_eq!(flow.size, Bytes::new(3_000));
    }
    assert_eq!(run.dependencies.len(), 6);
    for dependency in &run.dependencies {
        assert_eq!(dependency.flow, dependency.after + 2);
        assert_eq!(dependency.awaited, Awaited::Acknowledged);
        assert_eq!(dependency.delay, Span::from_us(7));
        assert_eq!(
            run.flows[dependency.flow as usize].src,
            run.flows[dependency.after as usize].src
        );
    }
    // Equal slots and receivers share their ports; other slots have others.
    let mut ports: BTreeMap<(NodeId, NodeId, u32), BTreeSet<u16>> = BTreeMap::new();
    for (i, flow) in run.flows.iter().enumerate() {
        let index = (i as u32 % 5) % 2;
        ports
            .entry((flow.src, flow.dst, index))
            .or_default()
            .insert(flow.sport);
    }
    assert!(ports.values().all(|ports| ports.len() == 1));
}

/// Two processes of each sender keep two messages outstanding to each receiver, over one connection each.
#[test]
fn closed_loops_over_persistent_connections() {
    let run = run(
        "closed-loop = { senders = [1, 2], receivers = [1, 2, 3], to = 'all', processes = 2, outstanding = 2, messages = 3, connections = 'persistent' }",
    );
    assert_eq!(run.flows.len(), 2 * 2 * 2 * 3);
    assert_eq!(run.dependencies.len(), 2 * 2 * 2);
    let mut carried: BTreeMap<u32, Vec<(NodeId, NodeId, u16)>> = BTreeMap::new();
    for flow in &run.flows {
        let number = flow.connection.unwrap().get();
        carried
            .entry(number)
            .or_default()
            .push((flow.src, flow.dst, flow.sport));
    }
    assert_eq!(
        carried.keys().copied().collect::<Vec<_>>(),
        (1..=8).collect::<Vec<_>>()
    );
    for flows in carried.values() {
        assert_eq!(flows.len(), 3);
        assert!(flows.iter().all(|flow| *flow == flows[0]));
    }
    // The first message of each sender goes to the next receiver.
    assert_eq!((run.flows[0].src, run.flows[0].dst), (NodeId(1), NodeId(2)));
}

/// Collectives use one connection for each pair of hosts in all iterations, by default.
#[test]
fn collectives_over_persistent_connections() {
    let run = run("all-to-all = { hosts = [1, 2, 3], iterations = 4 }");
    assert_eq!(run.flows.len(), 4 * 6);
    let numbers: BTreeSet<u32> = run
        .flows
        .iter()
        .map(|flow| flow.connection.unwrap().get())
        .collect();
    assert_eq!(numbers, (1..=6).collect());
    let alone = self::run("all-to-all = { hosts = [1, 2, 3], iterations = 4, connections = 'per-message' }");
    assert!(alone.flows.iter().all(|flow| flow.connection.is_none()));
    assert_eq!(run.dependencies, alone.dependencies);
}

#[test]
fn jitter_delays_first_messages_alone() {
    let jittered = resolved("start-jitter = '50us'\nall-reduce = { iterations = 2 }");
    let run = &jittered.run;
    let delayed: Vec<_> = run.flows.iter().filter(|flow| flow.start > Time::ZERO).collect();
    assert_eq!(delayed.len(), 4);
    assert!(delayed.iter().all(|flow| flow.start.as_ps() < 50_000_000));
    // Jitter changes the order of starts; the iterations still refer to the same messages.
    let [first, second] = &jittered.collectives[0].iterations[..] else {
        panic!("two iterations")
    };
    assert_eq!((first.len(), second.len()), (24, 24));
    let early: BTreeSet<u32> = first.iter().copied().collect();
    for dependency in &run.dependencies {
        if early.contains(&dependency.flow) {
            assert!(early.contains(&dependency.after));
        }
    }
    assert!(
        delayed
            .iter()
            .all(|flow| first.iter().any(|&i| run.flows[i as usize].sport == flow.sport))
    );
}

#[test]
fn what_is_said_of_a_collective() {
    let one = |workload: &str| resolved(workload).collectives[0].clone();
    let ring = one("label = 'x'\nall-reduce = { size = '8KB', hosts = [4, 2, 1] }");
    assert_eq!(
        (ring.label.as_str(), ring.hosts, ring.size),
        ("x", 3, Bytes::new(8_000))
    );
    assert!((ring.bus_factor - 4.0 / 3.0).abs() < 1e-12);
    let all = one("all-to-all = { size = '8KB', algorithm = 'pairwise' }");
    assert_eq!((all.size, all.bus_factor), (Bytes::new(32_000), 0.75));
    assert_eq!(all.iterations[0].len(), 12);
    assert_eq!(one("all-gather = {}").bus_factor, 0.75);
}

#[test]
fn mixes_of_sizes() {
    let run = run(
        "poisson = { load = 0.5, sizes = [{ size = '1MB', share = 0.1 }, { size = '1KB', share = 0.9 }] }",
    );
    let small = run
        .flows
        .iter()
        .filter(|flow| flow.size == Bytes::new(1_000))
        .count();
    let large = run
        .flows
        .iter()
        .filter(|flow| flow.size == Bytes::new(1_000_000))
        .count();
    assert_eq!(small + large, run.flows.len());
    assert!(run.flows.len() > 150);
    let share = small as f64 / run.flows.len() as f64;
    assert!((0.83..0.96).contains(&share), "{share}");
}
