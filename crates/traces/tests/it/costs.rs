//! Cost of operations in graphs, in Chakra traces and in GOAL text. Run each test alone, in release: `cargo test
//! --release -p paceline-traces --test it -- --ignored --nocapture NAME`.
#![expect(clippy::disallowed_macros, reason = "what was measured is the result")]

use std::sync::Arc;
use std::time::Instant;

use paceline_traces::chakra;
use paceline_traces::chunks::{Chunks, Links, Topology};
use paceline_traces::executor::{Executor, PointRules, Rules};
use paceline_traces::goal;
use paceline_traces::graph::{Graph, Names};
use paceline_traces::program::{Lanes, OperationId, Order, Program, Rank, Work};

use crate::encode::{Node, file};
use crate::executor::network;
use crate::scale::{generate, peak};

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
    let program = Arc::new(graph.finish(Box::new(Nameless)));
    for path in [false, true] {
        let mut rules = Rules::default();
        rules.keep.path = path;
        let begin = Instant::now();
        let mut executor = Executor::new(program.clone(), rules);
        network(RANKS, 1000.0).run(&mut executor).unwrap();
        let took = begin.elapsed();
        assert!(executor.is_done());
        let each = took.as_secs_f64() * 1e9 / f64::from(3 * RANKS * ROUNDS);
        let with = if path { "with" } else { "without" };
        println!("{each:.0} ns for each operation, with those of the network, {with} its critical path");
    }
}

#[test]
#[ignore = "measures: run it with --release"]
fn a_million_nodes_of_chakra() {
    const RANKS: u64 = 8;
    const NODES: u64 = 125_000;
    let folder = tempfile::tempdir().unwrap();
    let mut length = 0;
    for rank in 0..RANKS {
        let nodes: Vec<Node> = (0..NODES)
            .map(|id| {
                let node = match id % 50 {
                    49 => Node::collective(id, 0, 4096),
                    _ => Node::comp(id, 1 + (id + rank) % 7),
                };
                (1..=5_u64.min(id)).fold(node.int("seq_id", id as i64), |node, k| node.after(id - k))
            })
            .collect();
        let bytes = file(&nodes);
        length += bytes.len();
        std::fs::write(folder.path().join(format!("t.{rank}.et")), bytes).unwrap();
    }
    let before = peak();
    let begin = Instant::now();
    let (graph, _) = chakra::read(&folder.path().join("t"), &chakra::Options::default()).unwrap();
    let read = begin.elapsed().as_secs_f64() * 1e6 / (RANKS * NODES) as f64;
    println!(
        "{} MB: {read:.2} us a node, {before:?} MB before, {:?} MB after",
        length >> 20,
        peak()
    );
    let begin = Instant::now();
    let mut executor = Executor::new(chakra::shared(graph), chakra::rules());
    network(RANKS as Rank, 1000.0).run(&mut executor).unwrap();
    let run = begin.elapsed().as_secs_f64() * 1e6 / (RANKS * NODES) as f64;
    println!("run: {run:.2} us a node, {:?} MB", peak());
    assert!(
        executor.is_done() && read + run < 4.0,
        "{read} + {run} us for a node"
    );
}

#[test]
#[ignore = "measures: run it with --release"]
fn goal_text_of_40_mb() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.goal");
    generate(&path, 256, 40 << 20);
    let begin = Instant::now();
    let (program, _) = goal::read(&path).unwrap();
    let operations: u64 = (0..256).map(|r| u64::from(program.operations(r))).sum();
    let each = |begin: Instant| begin.elapsed().as_secs_f64() * 1e6 / operations as f64;
    println!(
        "{operations} operations: read {:.2} us each, {:?} MB",
        each(begin),
        peak()
    );
    let begin = Instant::now();
    let mut executor = Executor::new(Arc::new(program), Rules::default());
    network(256, 1000.0).run(&mut executor).unwrap();
    println!("run: {:.2} us each, {:?} MB", each(begin), peak());
    assert!(executor.is_done());
}
