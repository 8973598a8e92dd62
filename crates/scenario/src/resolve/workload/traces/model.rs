//! Jobs by a model: its architecture, parallelism and training.

use std::sync::Arc;

use paceline_kernel::rng::mix;
use paceline_traces::model::times::Part;
use paceline_traces::model::{
    Fault, Gpu, Granularity, Model, PARTS, PRESETS, Parallel, Plan, Precision, Schedule, Training, preset,
    program,
};
use toml::Spanned;

use crate::diagnostics::{Location, Problem, among_many};
use crate::groups;
use crate::resolve::Cx;
use crate::resolve::fill::{fill, fill_value, filled};
use crate::resolve::hosts::{self, Holds};
use crate::schema::{self, ModelChoice};
use crate::topology::Net;

use super::super::maker::choice;
use super::chakra::Unit;
use super::files::Read;
use super::found::Names;

/// Refuses tables of a model in a job without one.
pub(super) fn refuse_tables(cx: &Cx<'_>, job: &schema::Job) -> Result<(), Problem> {
    let tables = [
        ("parallel", job.parallel.as_ref().map(Spanned::span)),
        ("training", job.training.as_ref().map(Spanned::span)),
    ];
    match tables.into_iter().find_map(|(key, span)| Some((key, span?))) {
        None => Ok(()),
        Some((key, span)) => {
            let message = format!("`{key}` is for jobs by a `model`");
            Err(Problem::new(message).at(&cx.texts.at(span)))
        }
    }
}

/// Creates the program of a job that trains a model.
pub(super) fn read(
    cx: &mut Cx<'_>,
    job: &mut schema::Job,
    index: usize,
    net: &Net,
    location: &Location,
) -> Result<(Read, Arc<Plan>), Problem> {
    let keys = Keys { index, location };
    let model = model(cx, &keys, job)?;
    let span = job.model.as_ref().map_or(0..0, Spanned::span);
    let ranks = ranks(cx, job, net)?;
    let parallel = parallel(cx, &keys, job, ranks)?;
    let training = job
        .training
        .get_or_insert_with(|| Spanned::new(span.clone(), schema::ModelTraining::default()));
    let training = self::training(cx, &keys, training.get_mut(), &model)?;
    let plan = Plan::new(model, parallel, training).map_err(|fault| keys.problem(cx, fault))?;
    if let Some(gpus) =
        groups::sets(&net.topology, "server").and_then(|servers| Some(servers.first()?.len() as u32))
    {
        let rules = job.rules.get_or_insert_default();
        rules
            .gpus_per_server
            .get_or_insert_with(|| Spanned::new(span, gpus));
    }
    let program = Arc::new(program(&plan));
    let read = Read {
        program,
        names: Names {
            opened: String::new(),
            kept: String::new(),
            by_rank: false,
        },
        cautions: Vec::new(),
    };
    Ok((read, Arc::new(plan)))
}

/// Positions of a job's keys.
struct Keys<'a> {
    /// Index of the job.
    index: usize,
    location: &'a Location,
}

impl Keys<'_> {
    /// Returns the position of a key, or of its table, or of the model.
    fn location(&self, cx: &Cx<'_>, key: &str) -> Location {
        let place = |key: &str| cx.place_of(&format!("job.{}.{key}", self.index));
        let table = key.split('.').next().unwrap_or(key);
        let span = place(key).or_else(|| place(table));
        span.map_or_else(|| self.location.clone(), |span| cx.texts.at(span))
    }

    fn problem(&self, cx: &Cx<'_>, fault: Fault) -> Problem {
        let problem = Problem::new(fault.message).at(&self.location(cx, fault.key));
        match fault.help {
            Some(help) => problem.help(help),
            None => problem,
        }
    }

    /// Returns true if the scenario sets a key.
    fn is_set(&self, cx: &Cx<'_>, key: &str) -> bool {
        cx.place_of(&format!("job.{}.{key}", self.index)).is_some()
    }
}

/// Returns the preset of this name.
fn known(name: &str, location: &Location) -> Result<Model, Problem> {
    preset(name).ok_or_else(|| {
        Problem::new(format!("unknown model `{name}`"))
            .at(location)
            .help(among_many(name, PRESETS.iter().map(|row| row.name)))
    })
}

/// Returns the architecture, and fills in its table.
fn model(cx: &Cx<'_>, keys: &Keys<'_>, job: &mut schema::Job) -> Result<Model, Problem> {
    let location = keys.location;
    let table = match job.model.as_mut().map(Spanned::get_mut) {
        Some(ModelChoice::Own(table)) => table,
        Some(ModelChoice::Named(name)) => return known(name, location),
        None => return Err(Problem::new("the job has no model").at(location)),
    };
    let base = match &table.preset {
        None => None,
        Some(name) => Some(known(name.get_ref(), &cx.texts.of_value(name))?),
    };
    let of = |value: fn(&Model) -> u32| base.as_ref().map(value);
    let needed = |slot: &mut Option<Spanned<u32>>, base: Option<u32>, key: &str| match (&*slot, base) {
        (None, None) => {
            let known: Vec<&str> = PRESETS.iter().map(|row| row.name).collect();
            Err(Problem::new(format!("the model has no `{key}`"))
                .at(location)
                .help(format!(
                    "`preset` takes the values of a known model: {}",
                    known.join(", ")
                )))
        }
        (_, base) => Ok(fill_value(slot, base.unwrap_or_default())),
    };
    let layers = needed(&mut table.layers, of(|model| model.layers), "layers")?;
    let hidden = needed(&mut table.hidden, of(|model| model.hidden), "hidden")?;
    let heads = needed(&mut table.heads, of(|model| model.heads), "heads")?;
    let vocabulary = needed(&mut table.vocabulary, of(|model| model.vocabulary), "vocabulary")?;
    let or = |slot: &mut Option<Spanned<u32>>, value: fn(&Model) -> u32, default: u32| {
        fill_value(slot, base.as_ref().map_or(default, value))
    };
    let found = Model {
        name: (table.preset.as_ref())
            .map_or("model".to_string(), |name| format!("changed {}", name.get_ref())),
        layers,
        hidden,
        heads,
        kv_heads: or(&mut table.kv_heads, |model| model.kv_heads, heads),
        head_dim: or(&mut table.head_dim, |model| model.head_dim, hidden / heads.max(1)),
        ffn: or(&mut table.ffn, |model| model.ffn, hidden.saturating_mul(4)),
        gated: fill(&mut table.gated, base.as_ref().is_some_and(|model| model.gated)),
        vocabulary,
        tied: fill(&mut table.tied, base.as_ref().is_some_and(|model| model.tied)),
        positions: fill(
            &mut table.positions,
            base.as_ref().is_some_and(|model| model.positions),
        ),
        attention_weights: match &table.attention_weights {
            Some(weights) => Some(*weights.get_ref()),
            None => base.as_ref().and_then(|model| model.attention_weights),
        },
        experts: or(&mut table.experts, |model| model.experts, 0),
        top_k: or(&mut table.top_k, |model| model.top_k, 0),
        expert_ffn: or(&mut table.expert_ffn, |model| model.expert_ffn, 0),
        shared_experts: or(&mut table.shared_experts, |model| model.shared_experts, 0),
        dense_layers: or(&mut table.dense_layers, |model| model.dense_layers, 0),
    };
    if let Some(weights) = found.attention_weights {
        fill_value(&mut table.attention_weights, weights);
    }
    let of_experts = [
        ("top-k", found.top_k),
        ("expert-ffn", found.expert_ffn),
        ("shared-experts", found.shared_experts),
        ("dense-layers", found.dense_layers),
    ];
    let is_idle = |(key, value): &(&str, u32)| *value > 0 && keys.is_set(cx, &format!("model.{key}"));
    if found.experts == 0
        && let Some((key, _)) = of_experts.into_iter().find(is_idle)
    {
        let message = format!("`{key}` is for models with `experts`, and this one has none");
        return Err(Problem::new(message).at(&keys.location(cx, &format!("model.{key}"))));
    }
    Ok(found)
}

/// Returns the number of ranks with its position, as far as the job or the network determines it.
fn ranks(cx: &Cx<'_>, job: &schema::Job, net: &Net) -> Result<(u32, Option<Location>), Problem> {
    if let Some(ranks) = &job.ranks {
        return Ok((*ranks.get_ref(), Some(cx.texts.of_value(ranks))));
    }
    match &job.hosts {
        Some(named) => {
            let hosts = hosts::set(cx, net, named, Holds::Hosts)?;
            Ok((hosts.len() as u32, Some(cx.texts.of_value(named))))
        }
        None => Ok((net.topology.hosts().count() as u32, None)),
    }
}

/// Returns the degrees of parallelism, and fills in their table.
fn parallel(
    cx: &Cx<'_>,
    keys: &Keys<'_>,
    job: &mut schema::Job,
    (ranks, given): (u32, Option<Location>),
) -> Result<Parallel, Problem> {
    let span = job.model.as_ref().map_or(0..0, Spanned::span);
    let table = job
        .parallel
        .get_or_insert_with(|| Spanned::new(span, schema::Parallelism::default()));
    let table = table.get_mut();
    let degree = |slot: Spanned<u32>, key: &str| match *slot.get_ref() {
        0 => {
            let location = keys.location(cx, &format!("parallel.{key}"));
            Err(Problem::new(format!("{key} is 0: expected at least 1")).at(&location))
        }
        degree => Ok(degree),
    };
    let tensor = degree(filled!(table.tensor: Parallelism), "tensor")?;
    let pipeline = degree(filled!(table.pipeline: Parallelism), "pipeline")?;
    let expert = degree(filled!(table.expert: Parallelism), "expert")?;
    let context = degree(filled!(table.context: Parallelism), "context")?;
    let others = [tensor, pipeline, context]
        .map(u64::from)
        .into_iter()
        .fold(1, u64::saturating_mul);
    let product = format!("tensor {tensor} * pipeline {pipeline} * context {context}");
    let data = match &table.data {
        Some(data) => {
            let data = degree(data.clone(), "data")?;
            let all = others.saturating_mul(u64::from(data));
            if let Some(location) = given.filter(|_| all != u64::from(ranks)) {
                let message = format!("{product} * data {data} are {all} ranks, and the job has {ranks}");
                return Err(Problem::new(message)
                    .at(&keys.location(cx, "parallel.data"))
                    .see(&location, "the ranks are given here"));
            }
            if all > u64::from(ranks) {
                let message =
                    format!("{product} * data {data} are {all} ranks, and the network has {ranks} hosts");
                return Err(Problem::new(message).at(&keys.location(cx, "parallel.data")));
            }
            data
        }
        None if u64::from(ranks).is_multiple_of(others) && ranks > 0 => (u64::from(ranks) / others) as u32,
        None => {
            let whose = if given.is_some() { "the job" } else { "the network" };
            let message =
                format!("{product} is {others}: expected a divisor of the {ranks} ranks of {whose}");
            return Err(Problem::new(message)
                .at(&keys.location(cx, "parallel"))
                .help("`parallel.data` gives the number of replicas, and so that of ranks"));
        }
    };
    fill_value(&mut table.data, data);
    Ok(Parallel {
        tensor,
        pipeline,
        data,
        expert,
        context,
    })
}

/// Returns batch, schedule and rates, and fills in their table.
fn training(
    cx: &Cx<'_>,
    keys: &Keys<'_>,
    table: &mut schema::ModelTraining,
    model: &Model,
) -> Result<Training, Problem> {
    let Some(global_batch) = table.global_batch.as_ref().map(|batch| *batch.get_ref()) else {
        return Err(Problem::new("the training has no `global-batch`")
            .at(&keys.location(cx, "training"))
            .help("`training = { global-batch = 512 }`: sequences of a step, over all replicas"));
    };
    let schedules = [
        ("1f1b", Schedule::OneForwardOneBackward),
        ("gpipe", Schedule::Gpipe),
        ("zero-bubble", Schedule::ZeroBubble),
    ];
    let precisions = [("bf16", Precision::Bf16), ("fp8", Precision::Fp8)];
    let granularities = [("layer", Granularity::Layer), ("stage", Granularity::Stage)];
    let precision = choice(cx, filled!(table.precision: ModelTraining), &precisions)?;
    if precision == Precision::Fp8 && model.experts == 0 {
        let message = "`precision = \"fp8\"` is for tokens to experts, and this model has none";
        return Err(Problem::new(message).at(&keys.location(cx, "training.precision")));
    }
    let like_aicb = match table.like.clone() {
        None => false,
        Some(like) => choice(cx, like, &[("aicb", true)])?,
    };
    let rate = |text: Spanned<String>, unit: Unit| {
        unit.read(text.get_ref()).ok_or_else(|| {
            let message = format!("`{}`: expected {}", text.get_ref(), unit.expected());
            Problem::new(message).at(&cx.texts.of_value(&text))
        })
    };
    let times = table.times.get_or_insert_default();
    let mut forward_ns = [None; PARTS];
    for (part, time) in [
        (Part::Attention, times.attention),
        (Part::Mlp, times.mlp),
        (Part::Experts, times.experts),
        (Part::Head, times.head),
    ] {
        forward_ns[part as usize] = time.map(|time| time.as_ps() / 1000);
    }
    Ok(Training {
        global_batch,
        micro_batch: nonzero(cx, filled!(table.micro_batch: ModelTraining), "micro-batch")?,
        sequence: *filled!(table.sequence: ModelTraining).get_ref(),
        schedule: choice(cx, filled!(table.schedule: ModelTraining), &schedules)?,
        interleave: *filled!(table.interleave: ModelTraining).get_ref(),
        stages: table
            .stages
            .as_ref()
            .map_or(Vec::new(), |stages| stages.get_ref().clone()),
        overlap: filled!(table.overlap: ModelTraining),
        bucket: filled!(table.bucket: ModelTraining).get_ref().get(),
        optimizer_sharding: filled!(table.optimizer_sharding: ModelTraining),
        sequence_parallel: *filled!(table.sequence_parallel: ModelTraining).get_ref(),
        precision,
        granularity: choice(cx, filled!(table.granularity: ModelTraining), &granularities)?,
        experts_skew: *filled!(table.experts_skew: ModelTraining).get_ref(),
        experts_seed: mix(mix(cx.seed) ^ keys.index as u64),
        like_aicb,
        gpu: Gpu {
            flops: rate(filled!(table.flops: ModelTraining), Unit::Flops)?,
            memory: rate(filled!(table.memory: ModelTraining), Unit::Memory)?,
            efficiency: *filled!(table.efficiency: ModelTraining).get_ref(),
            forward_ns,
        },
    })
}

fn nonzero(cx: &Cx<'_>, slot: Spanned<u32>, key: &str) -> Result<u32, Problem> {
    match *slot.get_ref() {
        0 => Err(Problem::new(format!("{key} is 0: expected at least 1")).at(&cx.texts.of_value(&slot))),
        value => Ok(value),
    }
}
