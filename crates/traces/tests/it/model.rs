//! Jobs from a model's description: sizes of published files and programs, and random jobs that run to their end.

mod formats;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use paceline_traces::check::check;
use paceline_traces::chunks::{Chunks, Links, Topology};
use paceline_traces::collective::{Algorithm, CollectiveRules};
use paceline_traces::executor::{Executor, PointRules, Rules};
use paceline_traces::model::layout::{GroupKind, Layout};
use paceline_traces::model::{
    Gpu, Granularity, Model, PRESETS, Parallel, Plan, Precision, Schedule, Training, preset, program,
};
use paceline_traces::program::{CollectiveKind, Program, Work};
use paceline_traces::{goal, simai};
use proptest::prelude::*;

const GPU: Gpu = Gpu {
    flops: 989e12,
    memory: 3.35e12,
    efficiency: 0.5,
    forward_ns: [None; 4],
};

fn training(global_batch: u32, sequence: u32) -> Training {
    Training {
        global_batch,
        micro_batch: 1,
        sequence,
        schedule: Schedule::OneForwardOneBackward,
        interleave: 1,
        stages: Vec::new(),
        overlap: false,
        bucket: 160_000_000,
        optimizer_sharding: true,
        sequence_parallel: true,
        precision: Precision::Bf16,
        granularity: Granularity::Layer,
        experts_skew: 0.0,
        experts_seed: 0,
        like_aicb: false,
        gpu: GPU,
    }
}

fn b4(like_aicb: bool) -> Plan {
    let parallel = Parallel {
        tensor: 8,
        pipeline: 2,
        data: 8,
        ..Parallel::ONE
    };
    let training = Training {
        like_aicb,
        ..training(8, 4096)
    };
    Plan::new(preset("gpt-13b").unwrap(), parallel, training).unwrap()
}

/// Returns the plan of the file `reduced-moe-w32-tp2-ep8`.
fn reduced_moe() -> Plan {
    let model = Model {
        layers: 2,
        hidden: 128,
        heads: 4,
        kv_heads: 4,
        head_dim: 32,
        ffn: 512,
        vocabulary: 1024,
        experts: 16,
        top_k: 2,
        expert_ffn: 256,
        ..preset("gpt-13b").unwrap()
    };
    let parallel = Parallel {
        tensor: 2,
        data: 16,
        expert: 8,
        ..Parallel::ONE
    };
    let training = Training {
        like_aicb: true,
        ..training(16, 128)
    };
    Plan::new(model, parallel, training).unwrap()
}

/// Number of collectives by kind and size.
type Counts = BTreeMap<(CollectiveKind, u64), u64>;

fn of_file(name: &str) -> Counts {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/simai")
        .join(name);
    let (workload, _) = simai::read(name, &fs::read_to_string(path).unwrap()).unwrap();
    let mut counts = Counts::new();
    for layer in &workload.layers {
        for phase in [layer.forward, layer.input, layer.weight] {
            if let Some(one) = phase.collective.filter(|one| one.bytes > 0) {
                *counts.entry((one.kind, one.bytes)).or_default() += 1;
            }
        }
    }
    counts
}

fn of_rank(program: &dyn Program, rank: u32) -> Counts {
    let mut counts = Counts::new();
    for number in 0..program.operations(rank) {
        if let Work::Collective(index) = program.operation(rank, number).work {
            let one = program.collectives()[index as usize];
            *counts.entry((one.kind, one.bytes)).or_default() += 1;
        }
    }
    counts
}

#[test]
fn gpt_13b_is_that_of_aicb() {
    let plan = b4(true);
    assert_eq!(plan.activations(), 41_943_040);
    assert_eq!(plan.pipeline(), 5_242_880);
    assert_eq!(plan.weights(0), (971_448_320, 0));
    assert_eq!(2 * plan.weights(1).0, 1_942_896_640);
    assert_eq!(4 * plan.weights(1).0, 3_885_793_280);
    assert_eq!(plan.micro_batches(), 1);
    let job = program(&plan);
    let file = of_file("b4-gpt13b-w128-tp8-pp2-gbs8.txt");
    assert_eq!(file[&(CollectiveKind::AllReduce, 514_631_680)], 1);
    for rank in [0, 127] {
        assert_eq!(of_rank(&job, rank), file, "rank {rank}");
    }
}

#[test]
fn a_model_with_experts_is_that_of_aicb() {
    let plan = reduced_moe();
    assert_eq!(plan.activations(), 32_768);
    assert_eq!(
        (plan.dispatch(), plan.combine(), plan.router()),
        (32_768, 32_768, 512)
    );
    let (all, experts) = plan.weights(0);
    assert_eq!((experts, 2 * (all + experts)), (131_072, 1_082_368));
    assert_eq!(
        of_rank(&program(&plan), 31),
        of_file("reduced-moe-w32-tp2-ep8.txt")
    );
}

/// Without AICB's faults, the embedding counts once and only where it is, and tensor parallelism sends backward, too.
#[test]
fn gpt_13b_is_right_by_default() {
    let plan = b4(false);
    let (layers, rows, positions) = (786_636_800, 32_768_000, 20_971_520);
    assert_eq!(plan.weights(0).0, layers + rows + positions);
    assert_eq!(plan.weights(1).0, layers + rows);
    let job = program(&plan);
    let m = plan.activations();
    let count = |rank, kind, bytes| of_rank(&job, rank).get(&(kind, bytes)).copied().unwrap_or(0);
    // Two of each kind per layer and direction; the embedding adds one of each at the first stage, the head at the last.
    for rank in [0, 127] {
        assert_eq!(count(rank, CollectiveKind::AllGather, m), 81);
        assert_eq!(count(rank, CollectiveKind::ReduceScatter, m), 81);
    }
    assert_eq!(count(127, CollectiveKind::AllReduce, 16_384), 3);
    assert_eq!(count(0, CollectiveKind::AllReduce, 4 * rows), 1);
    let plain = Plan {
        training: Training {
            sequence_parallel: false,
            ..plan.training.clone()
        },
        ..plan
    };
    let job = program(&plain);
    assert_eq!(of_rank(&job, 0)[&(CollectiveKind::AllReduce, m)], 81);
    assert_eq!(plain.pipeline(), m);
}

/// DeepEP's published latencies and bandwidths follow from these sizes (deepseek-ai/DeepEP@dd758caf, docs/legacy.md).
#[test]
fn dispatch_and_combine_are_those_of_deep_ep() {
    let parallel = Parallel {
        data: 8,
        expert: 8,
        ..Parallel::ONE
    };
    let training = Training {
        precision: Precision::Fp8,
        ..training(8, 128)
    };
    let plan = Plan::new(preset("deepseek-v3").unwrap(), parallel, training).unwrap();
    assert_eq!(plan.dispatch() / (128 * 8), 7392);
    assert_eq!(plan.dispatch(), 7_569_408);
    assert_eq!(plan.combine(), 14_680_064);
}

/// Published numbers of parameters, in units of 10^9.
#[test]
fn presets_have_their_published_sizes() {
    for (name, billions) in [
        ("gpt-13b", 13.0),
        ("gpt-175b", 175.0),
        ("llama-3-8b", 8.03),
        ("llama-3-70b", 70.6),
        ("llama-3-405b", 405.9),
        ("mixtral-8x7b", 46.7),
        ("deepseek-v3", 671.0),
    ] {
        let plan = Plan::new(preset(name).unwrap(), Parallel::ONE, training(1, 2048)).unwrap();
        let (all, experts) = plan.weights(0);
        let ratio = (all + experts) as f64 / 1e9 / billions;
        assert!((ratio - 1.0).abs() < 0.012, "{name}: {ratio}");
    }
    assert!(PRESETS.iter().all(|row| !row.source.is_empty()));
}

#[test]
fn groups_are_in_megatrons_order() {
    let parallel = Parallel {
        tensor: 2,
        context: 2,
        data: 4,
        expert: 2,
        pipeline: 2,
    };
    let layout = Layout::new(&parallel);
    let of = |kind, rank| layout.members(kind, layout.of(kind, rank));
    assert_eq!(of(GroupKind::Tensor, 3), [2, 3]);
    assert_eq!(of(GroupKind::Data, 1), [1, 3, 5, 7, 9, 11, 13, 15]);
    assert_eq!(of(GroupKind::Expert, 0), [0, 4]);
    assert_eq!(of(GroupKind::ExpertData, 0), [0, 2, 8, 10]);
    assert_eq!(of(GroupKind::TensorExpert, 18), [18, 19, 22, 23]);
    assert_eq!(of(GroupKind::Embedding, 19), [3, 19]);
    assert_eq!(layout.next_in_ring(1), 3);
    for kind in GroupKind::ALL {
        for number in 0..layout.count(kind) {
            let members = layout.members(kind, number);
            assert_eq!(members.len() as u32, layout.size(kind), "{kind:?}");
            assert!(
                members.iter().all(|&rank| layout.of(kind, rank) == number),
                "{kind:?}"
            );
        }
    }
}

#[test]
fn what_does_not_divide_is_refused_with_its_key() {
    let moe = reduced_moe();
    let fault = |change: fn(&mut Plan)| {
        let mut plan = b4(false);
        change(&mut plan);
        Plan::new(plan.model, plan.parallel, plan.training).unwrap_err()
    };
    for (change, key, message) in [
        (
            (|plan| plan.parallel.pipeline = 3) as fn(&mut Plan),
            "parallel.pipeline",
            "40 layers by 3 stages of the pipeline: expected a multiple",
        ),
        (
            |plan| plan.parallel.tensor = 16,
            "parallel.tensor",
            "40 heads by 16 tensor-parallel ranks: expected a multiple",
        ),
        (
            |plan| plan.training.global_batch = 12,
            "training.global-batch",
            "12 sequences of global-batch by 8 of a micro-batch at all replicas: expected a multiple",
        ),
        (
            |plan| plan.parallel.expert = 2,
            "parallel.expert",
            "expert is 2, and gpt-13b has no experts",
        ),
        (
            |plan| plan.training.stages = vec![20, 19],
            "training.stages",
            "2 stages of 39 layers in all: expected 2 of 40",
        ),
        (
            |plan| plan.training.global_batch = 1 << 23,
            "training.global-batch",
            "expected at most",
        ),
        (
            |plan| plan.training.gpu.efficiency = f64::NAN,
            "training.efficiency",
            "efficiency is NaN",
        ),
    ] {
        let fault = fault(change);
        assert_eq!(fault.key, key, "{fault:?}");
        assert!(fault.message.contains(message), "{fault:?}");
    }
    let with_experts = |expert| {
        let parallel = Parallel {
            expert,
            ..moe.parallel
        };
        Plan::new(moe.model.clone(), parallel, moe.training.clone())
    };
    assert_eq!(
        with_experts(3).unwrap_err().message,
        "16 experts by 3 expert-parallel ranks: expected a multiple"
    );
}

/// Returns the rules of model jobs on a network.
fn rules() -> Rules {
    Rules {
        point: PointRules {
            match_size: false,
            ..PointRules::CHAKRA
        },
        collectives: CollectiveRules {
            all_to_all: Algorithm::Direct,
            gather_size_is_part: false,
            ..CollectiveRules::default()
        },
        ..Rules::default()
    }
}

/// Returns a network without contention.
fn links(ranks: u32) -> Links {
    Links {
        topology: Topology::FullyConnected,
        ranks,
        bandwidth: 50.0,
        latency_ns: 1000.0,
    }
}

/// Runs a plan on a network without contention.
fn run(plan: &Plan) -> Executor {
    let job: Arc<dyn Program> = Arc::new(program(plan));
    let links = links(job.ranks());
    let mut executor = Executor::new(job, rules());
    Chunks::new(links, false).run(&mut executor).unwrap();
    executor
}

/// With one micro-batch more, an iteration under 1F1B, and its end.
#[test]
fn a_pipeline_without_messages_takes_as_long_as_its_formula() {
    let model = Model {
        layers: 4,
        ..preset("llama-3-8b").unwrap()
    };
    let parallel = Parallel {
        pipeline: 4,
        ..Parallel::ONE
    };
    let end = |schedule, batch| {
        let mut training = training(batch, 1024);
        training.schedule = schedule;
        training.gpu.forward_ns = [Some(1_000_000), Some(0), Some(0), Some(0)];
        let plan = Plan::new(model.clone(), parallel, training).unwrap();
        let optimizer = (0..4).map(|stage| plan.optimizer(stage)).collect::<Vec<_>>();
        let ends = run(&plan).results().ranks;
        // The first stage is the last to end.
        (ends[0].end.as_ns() - optimizer[0]) as f64 / 1e6
    };
    // m micro-batches on p stages: (m + p - 1) (1 + 2) ms. The messages add less than a millisecond.
    for (batch, expected) in [(4, 21.0), (8, 33.0)] {
        for schedule in [Schedule::OneForwardOneBackward, Schedule::Gpipe] {
            let got = end(schedule, batch);
            assert!((expected..expected + 3.0).contains(&got), "{schedule:?}: {got}");
        }
    }
    // ZB-H1's bubble is a third: (p - 1) (1 + 1 - 1) ms.
    let got = end(Schedule::ZeroBubble, 8);
    assert!((27.0..30.0).contains(&got), "{got}");
}

#[derive(Clone, Debug)]
struct Random {
    model: Model,
    parallel: Parallel,
    training: Training,
}

fn random() -> impl Strategy<Value = Random> {
    let degrees = (0..3_u32, 0..3_u32, 0..3_u32, 0..2_u32, 0..2_u32);
    let shape = (1..3_u32, 1..3_u32, 0..2_u32, any::<[bool; 8]>());
    let rest = (0..4_u32, 1..3_u32, 1..200_000_u64, any::<[bool; 3]>());
    (degrees, shape, rest).prop_map(
        |((tp, pp, dp, ep, cp), (layers, blocks, dense, has), (order, batch, bucket, more))| {
            let (tensor, pipeline, data, context) = (1 << tp, 1 << pp, 1 << dp, 1 << cp);
            let interleave = if order == 3 && pipeline > 1 { 2 } else { 1 };
            let experts = if has[0] { 8 } else { 0 };
            let per_stage = layers;
            let layers = per_stage * pipeline * interleave;
            let model = Model {
                name: "random".into(),
                layers,
                hidden: 32,
                heads: 8,
                kv_heads: if has[1] { 2 } else { 8 },
                head_dim: 4,
                ffn: 64,
                gated: has[2],
                vocabulary: 100,
                tied: has[3],
                positions: has[4],
                attention_weights: None,
                experts,
                top_k: 2,
                expert_ffn: 16,
                shared_experts: u32::from(has[5]),
                dense_layers: dense.min(layers - 1),
            };
            let parallel = Parallel {
                tensor,
                pipeline,
                data,
                expert: if experts > 0 { (1 << ep).min(data) } else { 1 },
                context,
            };
            let mut training = training(data * pipeline * batch, 16 * blocks);
            training.schedule = match order {
                0 => Schedule::Gpipe,
                1 => Schedule::ZeroBubble,
                _ => Schedule::OneForwardOneBackward,
            };
            training.interleave = interleave;
            training.bucket = bucket;
            training.overlap = has[6];
            training.optimizer_sharding = has[7];
            training.sequence_parallel = experts > 0 || more[0];
            training.granularity = if more[1] {
                Granularity::Stage
            } else {
                Granularity::Layer
            };
            training.like_aicb = more[2];
            training.precision = if order == 1 {
                Precision::Fp8
            } else {
                Precision::Bf16
            };
            Random {
                model,
                parallel,
                training,
            }
        },
    )
}

proptest! {
    /// Each send has its receive, nothing waits for itself, and all ranks end.
    #[test]
    fn random_jobs_run_to_their_end(random in random()) {
        let plan = Plan::new(random.model, random.parallel, random.training).unwrap();
        let job = program(&plan);
        for eager in [0, u64::MAX] {
            let report = check(&job, eager);
            prop_assert!(report.errors.is_empty() && report.cautions.is_empty(), "{:?} {:?}", report.errors, report.cautions);
        }
        let executor = run(&plan);
        prop_assert!(executor.is_done());
        prop_assert_eq!(executor.results().ranks.len() as u32, plan.parallel.ranks());
    }

    /// Merged collectives carry the same bytes.
    #[test]
    fn merging_keeps_all_bytes(random in random()) {
        let bytes = |granularity| {
            let training = Training { granularity, ..random.training.clone() };
            let plan = Plan::new(random.model.clone(), random.parallel, training).unwrap();
            let mut sums: BTreeMap<_, u64> = BTreeMap::new();
            for (message, count) in program(&plan).messages() {
                let key = (message.purpose, message.kind, message.group);
                *sums.entry(key).or_default() += message.bytes * count;
            }
            sums
        };
        let (layer, stage) = (bytes(Granularity::Layer), bytes(Granularity::Stage));
        prop_assert_eq!(layer, stage);
    }
}

/// Returns a small model with 16 experts on 8 expert-parallel ranks, with this skew.
fn uneven(experts_skew: f64, experts_seed: u64, granularity: Granularity) -> Plan {
    let model = Model {
        layers: 4,
        ..reduced_moe().model
    };
    let parallel = Parallel {
        tensor: 2,
        pipeline: 2,
        data: 16,
        expert: 8,
        ..Parallel::ONE
    };
    let training = Training {
        experts_skew,
        experts_seed,
        granularity,
        ..training(32, 128)
    };
    Plan::new(model, parallel, training).unwrap()
}

/// Returns the messages of each all-to-all as the executor sends them: sender, receiver, bytes.
fn sent(plan: &Plan) -> Vec<(u32, u32, u64)> {
    let program = program(plan);
    let rules = CollectiveRules {
        all_to_all: Algorithm::Direct,
        gather_size_is_part: false,
        ..CollectiveRules::default()
    };
    let mut text = Vec::new();
    goal::write_program(&program, &rules, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut all = Vec::new();
    let mut rank = 0;
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("rank ") {
            rank = number.trim_end_matches(" {").parse().unwrap();
        }
        let mut words = line.split([' ', ':']).filter(|word| !word.is_empty());
        let (_, kind) = (words.next(), words.next());
        // Sends of collectives have a label of their own.
        if kind == Some("send") && line.split(':').next().unwrap().contains('s') {
            let bytes = words.next().unwrap().trim_end_matches('b').parse().unwrap();
            let to = words.nth(1).unwrap().parse().unwrap();
            all.push((rank, to, bytes));
        }
    }
    all
}

/// Shares change sizes and computing times, not the totals of a layer: what a rank keeps has the same share.
#[test]
fn uneven_experts_move_bytes_and_keep_their_sum() {
    let (even, skewed) = (
        uneven(0.0, 1, Granularity::Layer),
        uneven(1.0, 1, Granularity::Layer),
    );
    let table = |plan: &Plan| {
        let messages = program(plan).messages();
        messages
            .iter()
            .map(|(message, count)| message.sent() * count)
            .sum::<u64>()
    };
    // The table counts means.
    assert_eq!(table(&even), table(&skewed));
    let sizes = |plan| sent(plan).into_iter().map(|one| one.2).collect::<Vec<u64>>();
    let (equal, moved) = (sizes(&even), sizes(&skewed));
    assert_eq!(equal.len(), moved.len());
    assert_ne!(equal, moved);
    // Parts of a ring are rounded down.
    let sums = [equal, moved].map(|sizes| sizes.iter().sum::<u64>());
    assert!(sums[0].abs_diff(sums[1]) < 1000, "{sums:?}");
    let job = program(&skewed);
    let mut totals = BTreeMap::new();
    for (index, one) in (0..).zip(job.collectives()) {
        if one.kind == CollectiveKind::AllToAll {
            let shares = job.uneven(index).unwrap();
            let parts = paceline_traces::shares::apportion(one.bytes, &shares.weights);
            assert_eq!(parts.iter().sum::<u64>(), one.bytes);
            assert!(parts.iter().max() > Some(&(one.bytes / 8)));
            *totals.entry(shares.by_sender).or_insert(0_u64) += one.bytes;
        }
    }
    assert_eq!(totals.len(), 2);
    // With one layer for each all-to-all, a rank's sums of both directions are the same.
    assert_eq!(totals[&true], totals[&false]);
    // Even messages of dispatch are all alike.
    assert!(program(&even).collectives().len() < job.collectives().len());
    assert!((0..32).all(|rank| job.operations(rank) == program(&even).operations(rank)));
}

/// Each part of a dispatch goes to one rank, and the results of as many tokens come back from it.
#[test]
fn results_come_back_from_where_tokens_went() {
    let plan = uneven(1.2, 7, Granularity::Layer);
    let job = program(&plan);
    let (mut to, mut back) = (BTreeMap::new(), BTreeMap::new());
    for (index, one) in (0..).zip(job.collectives()) {
        if let Some(shares) = job.uneven(index) {
            let parts = paceline_traces::shares::apportion(one.bytes, &shares.weights);
            let sums = if shares.by_sender { &mut back } else { &mut to };
            let rank = |member: usize| job.groups()[one.group as usize][member];
            for (member, part) in parts.into_iter().enumerate() {
                *sums.entry(rank(member)).or_insert(0) += part;
            }
        }
    }
    assert_eq!(to, back);
}

#[test]
fn the_order_of_experts_follows_from_the_seed() {
    let of = |skew: f64, seed| {
        let plan = uneven(skew, seed, Granularity::Layer);
        (0..4)
            .map(|layer| plan.expert_weights_of(layer))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(1.0, 1), of(1.0, 1));
    assert_ne!(of(1.0, 1), of(1.0, 2));
    let one = of(1.0, 1);
    assert_ne!(one[0], one[1]);
    // With two experts per token, none gets more than half of all copies.
    let mut alone = uneven(10.0, 1, Granularity::Layer);
    alone.parallel.expert = 16;
    let weights = alone.expert_weights_of(0);
    let all: u64 = weights.iter().sum();
    assert!(weights.iter().all(|&weight| weight <= all / 2 + 1));
    assert_eq!(weights.iter().filter(|&&weight| weight > all / 3).count(), 2);
    assert!((plan_busiest(0.0) - 1.0).abs() < 1e-9 && plan_busiest(1.0) > 1.5);
}

fn plan_busiest(skew: f64) -> f64 {
    uneven(skew, 1, Granularity::Layer)
        .busiest()
        .into_iter()
        .fold(0.0, f64::max)
}

/// Computing times of experts have the shares of their ranks, and those of all ranks the same sum.
#[test]
fn experts_with_more_tokens_compute_longer() {
    for granularity in [Granularity::Layer, Granularity::Stage] {
        let times = |skew| {
            let job = program(&uneven(skew, 3, granularity));
            let of = |rank: u32| {
                let operations = (0..job.operations(rank)).map(move |number| (rank, number));
                let ns = |(rank, number)| match job.operation(rank, number).work {
                    Work::Compute { ns } => ns,
                    _ => 0,
                };
                operations.map(ns).sum::<u64>()
            };
            (0..32).map(of).collect::<Vec<u64>>()
        };
        let (even, skewed) = (times(0.0), times(1.0));
        assert!(even[..16].iter().all(|&time| time == even[0]));
        assert!(skewed.iter().max() > even.iter().max());
        assert_eq!(
            skewed.iter().sum::<u64>(),
            even.iter().sum::<u64>(),
            "{granularity:?}"
        );
        let report = check(&program(&uneven(1.0, 3, granularity)), u64::MAX);
        assert!(report.errors.is_empty());
    }
}
