//! GOAL programs by the executor on an ideal network: closed forms, and what an operation costs.

use std::sync::Arc;
use std::time::Instant;

use paceline_traces::chunks::{Chunks, Links, Topology};
use paceline_traces::executor::{Executor, PointRules, Rules};
use paceline_traces::goal;
use paceline_traces::graph::{Graph, Names};
use paceline_traces::program::{Lanes, OperationId, Order, Program, Rank, Work};

use crate::chakra::data;

/// All messages take this time, whatever their size.
fn network(ranks: Rank, latency_ns: f64) -> Chunks {
    let links = Links {
        topology: Topology::FullyConnected,
        ranks,
        bandwidth: 1e12,
        latency_ns,
    };
    Chunks::new(links, false)
}

fn end(file: &str, point: PointRules) -> (u64, Executor) {
    let (program, _) = goal::read(data(&format!("goal/{file}"))).unwrap();
    let rules = Rules {
        point,
        ..Rules::default()
    };
    let ranks = program.ranks();
    let mut executor = Executor::new(Arc::new(program), rules);
    network(ranks, 2500.0).run(&mut executor).unwrap();
    let ranks = executor.results().ranks;
    let end = ranks.iter().map(|r| r.end.as_ns()).max().unwrap_or(0);
    (end, executor)
}

#[test]
fn overheads_are_charged_as_atlahs_does() {
    let (o, g, l) = (1500, 1000, 2500);
    let point = PointRules {
        overhead_ns: o,
        gap_ns: g,
        ..PointRules::GOAL
    };
    // One byte: k (2o + L + g) for a dissemination on 2^k ranks.
    for (file, k) in [("dissemination_16", 4), ("dissemination_32", 5)] {
        let (end, executor) = end(&format!("{file}.goal"), point);
        assert_eq!(executor.stuck(), []);
        assert_eq!(end, k * (2 * o + l + g), "{file}");
    }
    // Sends of a rank leave in the order of lines, so that the deepest branch goes first. (ATLAHS has 41,500: equal times leave
    // its heap in another order.)
    let (tree, _) = end("binary_tree_32.goal", point);
    assert_eq!(tree, 5 * (2 * o + l + g));
}

#[test]
fn all_goal_samples_end() {
    for entry in std::fs::read_dir(data("goal")).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        if name.ends_with(".goal") {
            let (_, executor) = end(&name, PointRules::GOAL);
            assert_eq!(executor.stuck(), [], "{name}");
            assert!(executor.is_done(), "{name}");
        }
    }
}

#[derive(Debug)]
struct Nameless;

impl Names for Nameless {
    fn name(&self, _: Rank, _: OperationId) -> String {
        String::new()
    }
}

#[test]
#[ignore = "measures: run it with --release"]
fn ten_million_operations() {
    const RANKS: Rank = 100;
    const ROUNDS: u32 = 33_334;
    let lanes = Lanes {
        orders: vec![Order::Freed],
    };
    let mut graph = Graph::builder(RANKS, lanes);
    for rank in 0..RANKS {
        let mut before = None;
        for tag in 0..ROUNDS {
            let from = Some((rank + RANKS - 1) % RANKS);
            let to = (rank + 1) % RANKS;
            let calc = graph.operation(rank, Work::Compute { ns: 1000 }, 0, 0);
            let send = graph.operation(rank, Work::Send { to, bytes: 8, tag }, 0, 0);
            let receive = Work::Receive {
                from,
                bytes: 8,
                tag: Some(tag),
            };
            let receive = graph.operation(rank, receive, 0, 0);
            graph.after_end(rank, calc, send);
            if let Some(before) = before {
                graph.after_end(rank, before, calc);
            }
            before = Some(receive);
        }
    }
    let program = Arc::new(graph.finish(Arc::new(Nameless)));
    let begin = Instant::now();
    let mut executor = Executor::new(program, Rules::default());
    network(RANKS, 1000.0).run(&mut executor).unwrap();
    let took = begin.elapsed();
    assert!(executor.is_done());
    let each = took.as_secs_f64() * 1e9 / f64::from(3 * RANKS * ROUNDS);
    assert!(each < 2000.0, "{each:.0} ns for each operation");
    // Shown where the test is run by hand.
    std::fs::write(std::env::temp_dir().join("executor-ns"), format!("{each:.0}\n")).unwrap();
}
