use std::sync::Arc;

use super::*;
use crate::chunks::{Chunks, Links, Topology};
use crate::collective::{Algorithm, CollectiveRules};
use crate::graph::{Builder, Graph, Names};
use crate::program::{Collective, CollectiveKind, Lanes};

#[derive(Debug)]
struct Numbers;

impl Names for Numbers {
    fn name(&self, _: Rank, number: OperationId) -> String {
        format!("op {number}")
    }
}

fn lanes(order: Order) -> Lanes {
    Lanes {
        orders: vec![order; 2],
    }
}

/// Creates a network in which each message takes 1000 ns, plus a ns for each byte.
fn network(ranks: Rank) -> Chunks {
    let links = Links {
        topology: Topology::FullyConnected,
        ranks,
        bandwidth: 1e9 / f64::from(1 << 30),
        latency_ns: 1000.0,
    };
    Chunks::new(links, false)
}

fn run(graph: Builder, rules: Rules) -> Executor {
    let program: Arc<dyn Program> = Arc::new(graph.finish(Box::new(Numbers)));
    check(&rules, &program).unwrap();
    let ranks = program.ranks();
    let mut rules = rules;
    rules.keep.path = true;
    let mut executor = Executor::new(program, rules);
    network(ranks).run(&mut executor).unwrap();
    path_is_whole(&executor);
    executor
}

/// Checks that segments follow each other from the start of an iteration to its end, and that no finished links are
/// stored.
fn path_is_whole(executor: &Executor) {
    let Some(path) = executor.results().path else {
        return assert!(!executor.is_done());
    };
    let mut at = path.start;
    for segment in &path.segments {
        assert_eq!(segment.start, at, "{path:?}");
        assert!(segment.end > at);
        at = segment.end;
    }
    assert_eq!(at, path.end);
    let end = executor.results().ranks.iter().map(|rank| rank.end).max();
    if executor.is_done() {
        if path.iteration + 1 == executor.iterations().1 {
            assert_eq!(Some(path.end), end);
        }
        // The current call holds one.
        let links = executor.trail.as_ref().map_or(0, |trail| trail.len());
        assert!(links <= 1, "{links}");
    }
}

fn ends(executor: &Executor) -> Vec<u64> {
    executor.results().ranks.iter().map(|r| r.end.as_ns()).collect()
}

const RULES: fn(CollectiveRules) -> Rules = |collectives| Rules {
    collectives,
    ..Rules::default()
};

fn one_collective(n: Rank, kind: CollectiveKind, bytes: u64, rules: CollectiveRules) -> Executor {
    let mut graph = Graph::builder(n, lanes(Order::Freed));
    let members: Vec<Rank> = (0..n).collect();
    let group = graph.group(&members);
    let work = graph.collective(Collective {
        kind,
        bytes,
        group,
        root: n / 2,
    });
    for rank in 0..n {
        graph.operation(rank, work, 0, 0);
    }
    run(graph, RULES(rules))
}

#[test]
fn every_algorithm_ends_in_groups_of_all_sizes() {
    use CollectiveKind::*;
    for n in 1..20 {
        for kind in [
            AllReduce,
            AllGather,
            ReduceScatter,
            AllToAll,
            Reduce,
            Gather,
            Scatter,
            Broadcast,
            Barrier,
        ] {
            for algorithm in [
                Algorithm::Ring,
                Algorithm::Direct,
                Algorithm::Binomial,
                Algorithm::DoubleBinary,
                Algorithm::Hierarchical(vec![n]),
            ] {
                for trigger in [Trigger::Received, Trigger::Acknowledged] {
                    let rules = CollectiveRules {
                        all_reduce: algorithm.clone(),
                        all_gather: algorithm.clone(),
                        reduce_scatter: algorithm.clone(),
                        all_to_all: algorithm.clone(),
                        rooted: algorithm.clone(),
                        trigger,
                        splits: 3,
                        active: 2,
                        ..CollectiveRules::default()
                    };
                    if rules.check(kind, n).is_err() {
                        continue;
                    }
                    let executor = one_collective(n, kind, 1000, rules);
                    assert!(executor.is_done(), "{kind:?} {algorithm:?} {n}");
                    assert_eq!(executor.instances.len(), 0);
                    assert!(executor.is_idle());
                    assert_eq!(executor.results().collectives[0].done, n);
                }
            }
        }
    }
}

#[test]
fn collectives_take_what_closed_forms_say() {
    let plain = CollectiveRules::default;
    let end = |kind, bytes, rules| ends(&one_collective(8, kind, bytes, rules)).into_iter().max();
    assert_eq!(end(CollectiveKind::AllReduce, 8000, plain()), Some(14 * 2000));
    assert_eq!(end(CollectiveKind::Barrier, 0, plain()), Some(3 * 1001));
    let rooted = |rooted| CollectiveRules { rooted, ..plain() };
    for kind in [CollectiveKind::Broadcast, CollectiveKind::Reduce] {
        // A chain of eight members passes on one piece, then three pieces of 512 KiB one after another.
        assert_eq!(end(kind, 500, plain()), Some(7 * 1500));
        let piece = 1000 + (512 << 10);
        assert_eq!(end(kind, 3 * (512 << 10), plain()), Some((7 + 2) * piece));
        assert_eq!(end(kind, 500, rooted(Algorithm::Binomial)), Some(3 * 1500));
        assert_eq!(end(kind, 500, rooted(Algorithm::Direct)), Some(1500));
    }
    let direct = CollectiveRules {
        all_reduce: Algorithm::Direct,
        ..plain()
    };
    assert_eq!(end(CollectiveKind::AllReduce, 8000, direct), Some(2 * 2000));
    let nested = CollectiveRules {
        all_reduce: Algorithm::Hierarchical(vec![4, 2]),
        ..plain()
    };
    // Three steps of a quarter, two of an eighth, three of a quarter.
    assert_eq!(
        end(CollectiveKind::AllReduce, 8000, nested),
        Some(6 * 3000 + 2 * 2000)
    );
    // Twelve members in rings of two, three and two.
    let twelve = |kind, bytes| {
        let algorithm = Algorithm::Hierarchical(vec![2, 3, 2]);
        let rules = CollectiveRules {
            all_gather: algorithm.clone(),
            reduce_scatter: algorithm,
            ..plain()
        };
        ends(&one_collective(12, kind, bytes, rules)).into_iter().max()
    };
    let gathered = 4 * 1000 + 1200 + 2 * 2400 + 7200;
    assert_eq!(twelve(CollectiveKind::AllGather, 1200), Some(gathered));
    let reduced = 4 * 1000 + 6000 + 2 * 2000 + 1000;
    assert_eq!(twelve(CollectiveKind::ReduceScatter, 12_000), Some(reduced));
    let tree = CollectiveRules {
        all_reduce: Algorithm::Binomial,
        ..plain()
    };
    assert_eq!(end(CollectiveKind::AllReduce, 500, tree), Some(6 * 1500));
    // Each of two servers has four ranks: four rings of eight, each with a quarter of a part.
    let channels = CollectiveRules::simai(4, 3000);
    assert_eq!(
        end(CollectiveKind::AllReduce, 8 * 4000, channels),
        Some(14 * (10 + 3000 + 2000))
    );
}

#[test]
fn a_collective_of_nothing_or_of_one_is_done_at_once() {
    let executor = one_collective(4, CollectiveKind::AllReduce, 0, CollectiveRules::default());
    assert_eq!(ends(&executor), [0; 4]);
    let executor = one_collective(1, CollectiveKind::AllReduce, 10, CollectiveRules::default());
    assert_eq!(ends(&executor), [0]);
}

#[test]
fn eager_sends_end_when_they_leave_and_others_when_they_are_acknowledged() {
    let pair = |bytes| {
        let mut graph = Graph::builder(2, lanes(Order::Freed));
        let tag = 3;
        graph.operation(0, Work::Send { to: 1, bytes, tag }, 0, 0);
        let calc = graph.operation(1, Work::Compute { ns: 5000 }, 0, 0);
        let receive = Work::Receive {
            from: None,
            bytes,
            tag: Some(tag),
        };
        let receive = graph.operation(1, receive, 1, 0);
        graph.after_end(1, calc, receive);
        ends(&run(graph, Rules::default()))
    };
    assert_eq!(pair(100), [0, 5000]);
    assert_eq!(pair(100_000), [106_000, 106_000]);
}

#[test]
fn overheads_and_gaps_are_charged_at_both_ends() {
    let mut graph = Graph::builder(2, lanes(Order::Freed));
    for tag in 0..2 {
        graph.operation(
            0,
            Work::Send {
                to: 1,
                bytes: 11,
                tag,
            },
            0,
            0,
        );
        let receive = Work::Receive {
            from: Some(0),
            bytes: 11,
            tag: Some(tag),
        };
        graph.operation(1, receive, 0, 0);
    }
    let rules = Rules {
        point: PointRules {
            overhead_ns: 100,
            overhead_per_byte_ns: 2,
            gap_ns: 300,
            ..PointRules::GOAL
        },
        ..Rules::default()
    };
    // A send occupies its lane for 120 ns, and the second waits for its NIC until 300. A receive occupies its lane
    // for a gap and an overhead after its last byte; the second, which arrives at 1431, waits for the lane until
    // 1551.
    assert_eq!(ends(&run(graph, rules)), [420, 120 + 1011 + 2 * (300 + 120)]);
}

#[test]
fn a_run_that_cannot_go_on_says_who_waits_for_whom() {
    let mut graph = Graph::builder(2, lanes(Order::Freed));
    let members = graph.group(&[0, 1]);
    let work = graph.collective(Collective {
        kind: CollectiveKind::AllReduce,
        bytes: 8,
        group: members,
        root: 0,
    });
    graph.operation(0, work, 0, 0);
    let receive = Work::Receive {
        from: Some(0),
        bytes: 8,
        tag: Some(9),
    };
    let first = graph.operation(1, receive, 0, 0);
    let second = graph.operation(1, work, 0, 0);
    graph.after_end(1, first, second);
    let executor = run(graph, Rules::default());
    assert!(!executor.is_done());
    let lines: Vec<String> = executor.stuck().into_iter().map(|s| s.text).collect();
    assert_eq!(
        lines,
        [
            "op 0 of rank 0 waits in AllReduce number 0 of group 0 for rank 1, not in it yet",
            "op 0 of rank 1 waits for a message of rank 0 with tag 9",
        ]
    );
}

#[test]
fn a_message_that_no_receive_takes_is_told() {
    let mut graph = Graph::builder(2, lanes(Order::Freed));
    let send = Work::Send {
        to: 1,
        bytes: 10,
        tag: 4,
    };
    graph.operation(0, send, 0, 0);
    graph.operation(1, Work::Compute { ns: 5000 }, 0, 0);
    let executor = run(graph, Rules::default());
    assert!(executor.is_done());
    assert_eq!(
        executor.unclaimed()[0].text,
        "a message of rank 0 with tag 4 has come to rank 1, and no receive has taken it"
    );
}

/// Runs three all-gathers of a pair that are issued while the first is in progress at rank 0. There the third starts
/// before the second; rank 1 is late and must follow that order.
fn pair_in_turn(late: u64) -> Executor {
    let mut graph = Graph::builder(2, lanes(Order::LastIssued));
    let group = graph.group(&[0, 1]);
    for number in 0..3 {
        let work = graph.collective(Collective {
            kind: CollectiveKind::AllGather,
            bytes: 1000 * (1 + number),
            group,
            root: 0,
        });
        for (rank, first) in [(0, 100), (1, late)] {
            let ns = first + number;
            let calc = graph.operation(rank, Work::Compute { ns }, crate::program::NO_LANE, 0);
            let op = graph.operation(rank, work, 1, 0);
            graph.after_end(rank, calc, op);
        }
    }
    let mut rules = Rules::default();
    rules.keep.members = true;
    run(graph, rules)
}

#[test]
fn the_last_issued_goes_first_whatever_others_have_issued() {
    // Messages that arrive before their collective has started are kept for it.
    let executor = pair_in_turn(150);
    assert_eq!(executor.stuck(), []);
    let of = |rank: usize| {
        let all = executor.results().collectives;
        let mut starts: Vec<(Time, usize)> = (0..3).map(|n| (all[n].members[rank].0, n)).collect();
        starts.sort_unstable();
        starts.into_iter().map(|(_, number)| number).collect::<Vec<_>>()
    };
    assert_eq!((of(0), of(1)), (vec![0, 2, 1], vec![0, 2, 1]));
}

/// Rank 0 is alone in the first until its messages arrive: rank 1 starts another one first, since all three are
/// issued there.
#[test]
fn members_that_start_in_unlike_orders_wait_for_each_other() {
    let mut graph = Graph::builder(2, lanes(Order::LastIssued));
    let group = graph.group(&[0, 1]);
    let mut works = Vec::new();
    for number in 0..3 {
        works.push(graph.collective(Collective {
            kind: CollectiveKind::AllGather,
            bytes: 1000 * (1 + number),
            group,
            root: 0,
        }));
    }
    // Rank 1 has issued two of them by the end of its first.
    for (rank, times) in [(0, [0, 100, 200]), (1, [0, 100, 9000])] {
        for (&work, ns) in works.iter().zip(times) {
            let calc = graph.operation(rank, Work::Compute { ns }, crate::program::NO_LANE, 0);
            let op = graph.operation(rank, work, 1, 0);
            graph.after_end(rank, calc, op);
        }
    }
    let executor = run(graph, Rules::default());
    let lines: Vec<String> = executor.stuck().into_iter().map(|s| s.text).collect();
    assert!(lines.iter().any(|line| line.contains("AllGather")), "{lines:?}");
}

#[test]
fn times_of_a_rank_add_up_and_iterations_follow_each_other() {
    let mut graph = Graph::builder(2, lanes(Order::Number));
    let group = graph.group(&[0, 1]);
    let work = graph.collective(Collective {
        kind: CollectiveKind::AllGather,
        bytes: 1000,
        group,
        root: 0,
    });
    for rank in 0..2 {
        let ns = 500 * (1 + u64::from(rank));
        let calc = graph.operation(rank, Work::Compute { ns }, 0, 0);
        let op = graph.operation(rank, work, 1, 0);
        graph.after_end(rank, calc, op);
    }
    let rules = Rules {
        start: Time::from_ns(100),
        repeats: 2,
        compute_scale: 2.0,
        keep: Keep {
            operations: true,
            members: true,
            path: true,
            path_of: None,
        },
        ..Rules::default()
    };
    let executor = run(graph, rules);
    let results = executor.results();
    // Rank 1 computes for 2000 ns, and its message takes 2000 ns; rank 0 gets its message from the slower rank.
    let iterations: Vec<u64> = results.ranks[0].iterations.iter().map(|t| t.as_ns()).collect();
    assert_eq!(iterations, [4100, 8100]);
    for rank in &results.ranks {
        let sum = rank.compute.as_ps() + rank.exposed.as_ps() + rank.waiting.as_ps();
        assert_eq!(sum, rank.end.as_ps() - Time::from_ns(100).as_ps());
    }
    assert_eq!(results.ranks[0].compute.as_ns(), 2 * 1000);
    assert_eq!(results.operations.len(), 8);
    assert_eq!(results.collectives.len(), 2);
    assert_eq!(results.collectives[0].members[1].0.as_ns(), 2100);
}

#[test]
fn a_clone_goes_on_as_the_original_would() {
    let original = one_collective(5, CollectiveKind::AllReduce, 1000, CollectiveRules::default());
    assert_eq!(ends(&original.clone()), ends(&original));
}

/// Rank 0 computes 500 ns and sends; rank 1 waits for its lane, receives, and computes: 500 + (1000 + 100) + 250.
#[test]
fn a_critical_path_by_hand() {
    let mut graph = Graph::builder(2, lanes(Order::Freed));
    let tag = 3;
    let calc = graph.operation(0, Work::Compute { ns: 500 }, 0, 0);
    let send = graph.operation(
        0,
        Work::Send {
            to: 1,
            bytes: 100,
            tag,
        },
        1,
        0,
    );
    graph.after_end(0, calc, send);
    // The path does not contain the computation that ends before the message arrives.
    graph.operation(1, Work::Compute { ns: 900 }, 0, 0);
    let receive = Work::Receive {
        from: Some(0),
        bytes: 100,
        tag: Some(tag),
    };
    let receive = graph.operation(1, receive, 1, 0);
    let second = graph.operation(1, Work::Compute { ns: 250 }, 0, 0);
    graph.after_end(1, receive, second);
    // It waits for the lane of the previous operation.
    let third = graph.operation(1, Work::Compute { ns: 50 }, 0, 0);
    graph.after_end(1, receive, third);
    let rules = Rules {
        keep: Keep {
            operations: true,
            ..Keep::default()
        },
        ..Rules::default()
    };
    let results = run(graph, rules).results();
    let path = results.path.unwrap();
    let short: Vec<(u64, u64, Activity, bool)> = (path.segments.iter())
        .map(|s| (s.start.as_ns(), s.end.as_ns(), s.activity, s.waited_for_lane))
        .collect();
    let carried = Carried {
        from: 0,
        to: 1,
        bytes: 100,
        label: 0,
        send,
        is_request: false,
        left: Time::from_ns(500),
    };
    assert_eq!(
        short,
        [
            (0, 500, Activity::Compute(0, calc), false),
            (500, 1600, Activity::Message(carried, Until::Received), false),
            (1600, 1850, Activity::Compute(1, second), false),
            (1850, 1900, Activity::Compute(1, third), true),
        ]
    );
    let began = |op| {
        results
            .operations
            .iter()
            .find(|o| (o.rank, o.operation) == (1, op))
    };
    let third = began(third).unwrap();
    assert_eq!((third.free.as_ns(), third.start.as_ns()), (1600, 1850));
    assert_eq!(third.after, After::End(receive));
}

/// Above the eager limit, the departure of the message depends on the receive: its request, which arrives in time,
/// and the receive's own predecessors.
#[test]
fn a_path_leads_through_a_late_receive() {
    let mut graph = Graph::builder(2, lanes(Order::Freed));
    let bytes = 100_000;
    graph.operation(0, Work::Send { to: 1, bytes, tag: 0 }, 0, 0);
    let calc = graph.operation(1, Work::Compute { ns: 5000 }, 0, 0);
    let receive = Work::Receive {
        from: None,
        bytes,
        tag: None,
    };
    let receive = graph.operation(1, receive, 1, 0);
    graph.after_end(1, calc, receive);
    let path = run(graph, Rules::default()).results().path.unwrap();
    let kinds: Vec<Activity> = path.segments.iter().map(|s| s.activity).collect();
    assert_eq!(kinds[0], Activity::Compute(1, calc));
    assert!(matches!(kinds[1], Activity::Message(c, _) if c.bytes == bytes && !c.is_request));
    assert_eq!((kinds.len(), path.end.as_ns()), (2, 106_000));
}

/// Only one iteration has a path: the first of the slowest, or the requested one. Links of others are removed.
#[test]
fn the_path_of_one_iteration() {
    let graph = || {
        let mut graph = Graph::builder(2, lanes(Order::Freed));
        let group = graph.group(&[0, 1]);
        let work = graph.collective(Collective {
            kind: CollectiveKind::AllGather,
            bytes: 1000,
            group,
            root: 0,
        });
        for rank in 0..2 {
            let ns = 500 * (1 + u64::from(rank));
            let calc = graph.operation(rank, Work::Compute { ns }, 0, 0);
            let op = graph.operation(rank, work, 1, 0);
            graph.after_end(rank, calc, op);
        }
        graph
    };
    for (path_of, expected) in [(None, 0), (Some(17), 17)] {
        let mut rules = Rules {
            repeats: 50,
            ..Rules::default()
        };
        rules.keep.path_of = path_of;
        let executor = run(graph(), rules);
        let path = executor.results().path.unwrap();
        assert_eq!((path.iteration, path.segments.len()), (expected, 2));
        assert_eq!(path.start.as_ns(), 3000 * u64::from(expected));
        assert_eq!(path.end.as_ns() - path.start.as_ns(), 3000);
        let links = executor.trail.as_ref().unwrap().places();
        assert!(links < 8, "{links}");
    }
}
