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
        "[[job]]\nmodel = 'llama-3-8b'\nparallel.tensor = 8\ntraining = { global-batch = 2 }\nlocal.rate = '900Gbps'\nrules.gpus-per-server = 8\n",
        &TINY.replace("sequence = 64", "sequence = 64, experts-skew = 1.5"),
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
        ("[[job]]\nmodel = 'lama-3-8b'\n".to_string(), "test.toml:6:9: unknown model `lama-3-8b` (did you mean `llama-3-8b`, `llama-3-70b` or `llama-3-405b`?)"),
        ("[[job]]\nmodel = 'gpt-13b'\nparallel.tensor = 3\n".to_string(), "test.toml:7:1: tensor 3 * pipeline 1 * context 1 is 3: expected a divisor of the 16 ranks of the network (`parallel.data` gives the number of replicas, and so that of ranks)"),
        ("[[job]]\nmodel = 'gpt-13b'\nparallel = { pipeline = 16 }\ntraining = { global-batch = 8 }\n".to_string(), "test.toml:7:25: 40 layers by 16 stages of the pipeline: expected a multiple (`training.stages = [3, ..]` gives each stage its own number of layers)"),
        ("[[job]]\nmodel = 'gpt-13b'\nparallel = { tensor = 8, data = 4 }\ntraining = { global-batch = 8 }\n".to_string(), "test.toml:7:33: tensor 8 * pipeline 1 * context 1 * data 4 are 32 ranks, and the network has 16 hosts"),
        ("[[job]]\nmodel = 'gpt-13b'\nparallel = { tensor = 8 }\n".to_string(), "test.toml:6:9: the training has no `global-batch` (`training = { global-batch = 512 }`: sequences of a step, over all replicas)"),
        ("[[job]]\nmodel = 'gpt-13b'\nparallel = { expert = 2 }\ntraining = { global-batch = 16 }\n".to_string(), "test.toml:7:23: expert is 2, and gpt-13b has no experts (`experts` of the model gives it experts)"),
        ("[[job]]\nmodel = { preset = 'gpt-13b', top-k = 2 }\ntraining = { global-batch = 16 }\n".to_string(), "test.toml:6:39: `top-k` is for models with `experts`, and this one has none"),
        ("[[job]]\nmodel = { layers = 2 }\n".to_string(), "test.toml:6:9: the model has no `hidden` (`preset` takes the values of a known model: gpt-13b, gpt-175b, llama-3-8b, llama-3-70b, llama-3-405b, mixtral-8x7b, deepseek-v3)"),
        ("[[job]]\nmodel = { preset = 'gpt-13b', layer = 2 }\n".to_string(), "test.toml:6:31: unknown key `layer` (did you mean `layers`? expected `preset`, `layers`, `hidden`, `heads`, `kv-heads`, `head-dim`, `ffn`, `gated`, `vocabulary`, `tied`, `positions`, `attention-weights`, `experts`, `top-k`, `expert-ffn`, `shared-experts`, `dense-layers`)"),
        (tiny("global-batch = 8", "global-batch = 9"), "test.toml:9:29: 9 sequences of global-batch by 4 of a micro-batch at all replicas: expected a multiple"),
        (tiny("expert = 2", "expert = 3"), "test.toml:8:49: 4 experts by 3 expert-parallel ranks: expected a multiple"),
        (tiny("heads = 4", "heads = 5"), "test.toml:8:23: 5 heads by 2 tensor-parallel ranks: expected a multiple"),
        (tiny("sequence = 64", "schedule = '1f1'"), "test.toml:9:43: unknown value `1f1` (did you mean `1f1b`?)"),
        (tiny("sequence = 64", "flops = 'fast'"), "test.toml:9:40: `fast`: expected operations per second, such as \"400T\" or \"1.5PFLOP/s\""),
        (tiny("label = 'tiny'", "goal = 'x.goal'"), "test.toml:7:9: a job by `goal` and by `model` (use a job for each trace)"),
        (tiny("label = 'tiny'", "network = 'chunks'"), "test.toml:6:11: a job by `model` on this network: `loggops` is for GOAL, `chunks` for Chakra"),
        (tiny("label = 'tiny'", "rules = { eager = '1KB' }"), "test.toml:7:9: `eager` is for jobs by `goal`, and this one is by `model`"),
        (tiny("label = 'tiny'", "local.latency = '1us'"), "test.toml:6:1: `local` has no `rate` (`local = { rate = \"3600Gbps\", latency = \"1us\" }`)"),
        (tiny("label = 'tiny'", "local.rate = '0bps'"), "test.toml:6:14: `rate` is 0: expected more"),
        (tiny("label = 'tiny'", "local = { rate = '1Gbps' }"), "test.toml:6:9: the topology has no servers: say how many GPUs each has (`rules = { gpus-per-server = 8 }`)"),
        (tiny("label = 'tiny'", "local = { rate = '1Gbps', rules = 1 }"), "test.toml:6:27: unknown key `rules` (did you mean `job.rules`? expected `rate`, `latency`)"),
        ("[[job]]\nhosts = '0-3'\nlocal = { rate = '1Gbps' }\n[[job.step]]\nall-gather = {}\n".to_string(), "test.toml:7:9: `local` is for jobs by a trace or model: `goal`, `chakra`, `simai` or `model`"),
        (tiny("global-batch = 8", "global-batch = 8, experts-skew = 11"), "test.toml:9:47: experts-skew is 11: expected 0 to 10"),
        ("[[job]]\nmodel = 'gpt-13b'\ntraining = { global-batch = 16, experts-skew = 1 }\n".to_string(), "test.toml:7:48: experts-skew is 1, and gpt-13b has no experts (`experts` of the model gives it experts)"),
        (tiny("label = 'tiny'", "ranks = 12"), "test.toml:8:49: 3 data-parallel ranks by 2 expert-parallel ranks: expected a multiple"),
        (format!("{TINY}[[job.step]]\nall-gather = {{}}\n"), "test.toml:7:9: a job by a trace or model (`model`) has no steps of its own"),
        ("[[job]]\nranks = 4\nparallel.tensor = 2\n".to_string(), "test.toml:7:1: `parallel` is for jobs by a `model`"),
    ] {
        let error = load(&job).unwrap_err();
        assert_eq!(error, expected, "{job}");
    }
}
