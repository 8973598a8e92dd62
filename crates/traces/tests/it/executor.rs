//! GOAL programs run by the executor on an ideal network, compared with closed forms.

use std::sync::Arc;

use paceline_traces::chunks::{Chunks, Links, Topology};
use paceline_traces::executor::{Executor, PointRules, Rules};
use paceline_traces::goal;
use paceline_traces::program::{Program, Rank};

use crate::chakra::data;

/// Creates a network in which all messages take this time, regardless of their size.
pub(crate) fn network(ranks: Rank, latency_ns: f64) -> Chunks {
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
    // Sends of a rank leave in the order of lines, so that the deepest branch goes first. (ATLAHS has 41,500: equal
    // times leave its heap in another order.)
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
