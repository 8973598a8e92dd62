//! Jobs by a model: their bytes on the network, and what is refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use paceline_fabric::Simulation;
use paceline_scenario::{Overrides, Resolved, load_text};

const NETWORK: &str = "duration = '10ms'\ncc.scheme = 'none'\n[topology.leaf-spine]\nhosts-per-leaf = 4\n";

fn load(rest: &str) -> Result<Resolved, String> {
    let text = format!("{NETWORK}{rest}\n");
    load_text("test.toml", &text, &Overrides::default()).map_err(|error| error.to_string())
}

const TINY: &str = "[[job]]\nlabel = 'tiny'\nmodel = { layers = 4, hidden = 64, heads = 4, vocabulary = 512, experts = 4, top-k = 2, expert-ffn = 64, \
                    dense-layers = 2 }\nparallel = { tensor = 2, pipeline = 2, expert = 2 }\ntraining = { global-batch = 8, sequence = 64 }\n";

/// Returns the bytes that each host receives, by label.
fn received(run: &Resolved) -> BTreeMap<(String, u32), u64> {
    let mut simulation = Simulation::new(Arc::clone(&run.run)).unwrap();
    while !simulation.advance(1_000_000).done {}
    let outcome = simulation.finish();
    let mut sums = BTreeMap::new();
    for ended in &outcome.ended {
        assert!(ended.record.received.is_some());
        let label = run.run.labels[usize::from(ended.spec.label)].clone();
        *sums.entry((label, ended.spec.dst.0)).or_default() += ended.spec.size.get();
    }
    sums
}

/// An all-gather or a reduce-scatter of M over n ranks brings (n - 1)/n M to each, and an all-to-all the same; an
/// all-reduce brings twice as much.
#[test]
fn what_a_rank_receives_follows_from_the_formulas() {
    let run = load(TINY).unwrap();
    let got = received(&run);
    let of = |label: &str, rank: u32| got.get(&(format!("tiny/{label}"), rank)).copied().unwrap_or(0);
    // M is 2 * 64 * 64; tp 2, dp 4, ep 2, two micro-batches.
    let (m, micro_batches) = (8192, 2);
    let plan = run.jobs[0].model.clone().unwrap();
    assert_eq!(
        (plan.activations(), u64::from(plan.micro_batches())),
        (m, micro_batches)
    );
    // The first stage has two dense layers: four gathers forward, four backward, and one of the embedding backward. New
    // weights are gathered once, by four replicas.
    let weights = 2 * plan.weights(0).0;
    assert_eq!(of("all-gather", 0), micro_batches * 9 * m / 2 + weights * 3 / 4);
    assert_eq!(of("send", 0), micro_batches * m / 2);
    assert_eq!(of("all-to-all", 0), 0);
    // The last has two layers with experts: dispatch and combine, forward and backward, of M k / tp.
    assert_eq!(of("all-to-all", 15), 2 * 4 * micro_batches * (m * 2 / 2) / 2);
    assert_eq!(of("all-reduce", 15), 3 * micro_batches * 4 * 64);
}

#[test]
fn resolved_jobs_are_the_same_again() {
    for job in [
        TINY,
        "[[job]]\nmodel = 'llama-3-8b'\nparallel.tensor = 8\ntraining = { global-batch = 2 }\n",
    ] {
        let run = load(job).unwrap();
        let again = load_text("again.toml", &run.toml, &Overrides::default()).unwrap();
        assert_eq!((again.toml, again.jobs), (run.toml, run.jobs));
    }
}

#[test]
fn what_is_wrong_with_models_is_named() {
    let tiny = |from: &str, to: &str| TINY.replace(from, to);
    for (job, expected) in [
        ("[[job]]\nmodel = 'lama-3-8b'\n".to_string(), "x"),
        ("[[job]]\nmodel = 'gpt-13b'\nparallel.tensor = 3\n".to_string(), "x"),
        ("[[job]]\nmodel = 'gpt-13b'\nparallel = { pipeline = 16 }\ntraining = { global-batch = 8 }\n".to_string(), "x"),
        ("[[job]]\nmodel = 'gpt-13b'\nparallel = { tensor = 8, data = 4 }\ntraining = { global-batch = 8 }\n".to_string(), "x"),
        ("[[job]]\nmodel = 'gpt-13b'\nparallel = { tensor = 8 }\n".to_string(), "x"),
        ("[[job]]\nmodel = 'gpt-13b'\nparallel = { expert = 2 }\ntraining = { global-batch = 16 }\n".to_string(), "x"),
        ("[[job]]\nmodel = { preset = 'gpt-13b', top-k = 2 }\ntraining = { global-batch = 16 }\n".to_string(), "x"),
        ("[[job]]\nmodel = { layers = 2 }\n".to_string(), "x"),
        ("[[job]]\nmodel = { preset = 'gpt-13b', layer = 2 }\n".to_string(), "x"),
        (tiny("global-batch = 8", "global-batch = 9"), "x"),
        (tiny("expert = 2", "expert = 3"), "x"),
        (tiny("heads = 4", "heads = 5"), "x"),
        (tiny("sequence = 64", "schedule = '1f1'"), "x"),
        (tiny("sequence = 64", "flops = 'fast'"), "x"),
        (tiny("label = 'tiny'", "goal = 'x.goal'"), "x"),
        (tiny("label = 'tiny'", "network = 'chunks'"), "x"),
        (tiny("label = 'tiny'", "rules = { eager = '1KB' }"), "x"),
        (tiny("label = 'tiny'", "ranks = 12"), "x"),
        (format!("{TINY}[[job.step]]\nall-gather = {{}}\n"), "x"),
        ("[[job]]\nranks = 4\nparallel.tensor = 2\n".to_string(), "x"),
    ] {
        let error = load(&job).unwrap_err();
        println!("{error}");
        let _ = expected;
    }
}
