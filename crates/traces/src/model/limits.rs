//! Checks of a plan: ranges of its numbers, and divisions that must be even.

use super::plan::{Plan, Schedule};

/// Largest number of operations of a job's iteration over all ranks, and of one rank.
pub const MOST_OPERATIONS: u64 = 1 << 28;
const MOST_OF_A_RANK: u64 = 1 << 22;

/// Largest number of ranks.
const MOST_RANKS: u64 = 1 << 20;

/// Largest message, and largest set of weights of a rank.
const MOST_BYTES: u64 = 1_000_000_000_000_000;

/// Operations of a layer in one pass, at most, without those of its ring.
const OF_A_LAYER: u64 = 14;

/// Key that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Table and key in a scenario: `parallel.pipeline`.
    pub key: &'static str,
    /// Reason, with the value and the expected one.
    pub message: String,
    /// Advice, if there is any.
    pub help: Option<String>,
}

impl Fault {
    fn new(key: &'static str, message: String) -> Self {
        Self {
            key,
            message,
            help: None,
        }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Returns an error unless `whole` is a multiple of `part`.
fn divides(key: &'static str, whole: (u64, &str), part: (u64, &str)) -> Result<(), Fault> {
    match whole.0.is_multiple_of(part.0) {
        true => Ok(()),
        false => Err(Fault::new(
            key,
            format!(
                "{} {} by {} {}: expected a multiple",
                whole.0, whole.1, part.0, part.1
            ),
        )),
    }
}

/// Checks ranges, divisions and sizes of a plan.
pub(super) fn check(plan: &Plan) -> Result<(), Fault> {
    ranges(plan)?;
    experts(plan)?;
    divisions(plan)?;
    sizes(plan)
}

fn ranges(plan: &Plan) -> Result<(), Fault> {
    let (model, parallel, training) = (&plan.model, &plan.parallel, &plan.training);
    let gpu = &training.gpu;
    for (key, value, least, most) in [
        ("model.layers", model.layers, 1, 1 << 12),
        ("model.hidden", model.hidden, 1, 1 << 20),
        ("model.heads", model.heads, 1, 1 << 16),
        ("model.kv-heads", model.kv_heads, 1, 1 << 16),
        ("model.head-dim", model.head_dim, 1, 1 << 16),
        ("model.ffn", model.ffn, 1, 1 << 24),
        (
            "model.attention-weights",
            model.attention_weights.unwrap_or(1),
            1,
            u32::MAX,
        ),
        ("model.vocabulary", model.vocabulary, 1, 1 << 28),
        ("model.experts", model.experts, 0, 1 << 16),
        ("model.top-k", model.top_k, 0, 1 << 16),
        ("model.expert-ffn", model.expert_ffn, 0, 1 << 24),
        ("model.shared-experts", model.shared_experts, 0, 1 << 10),
        ("model.dense-layers", model.dense_layers, 0, 1 << 12),
        ("parallel.tensor", parallel.tensor, 1, 1 << 16),
        ("parallel.pipeline", parallel.pipeline, 1, 1 << 12),
        ("parallel.data", parallel.data, 1, 1 << 20),
        ("parallel.expert", parallel.expert, 1, 1 << 16),
        ("parallel.context", parallel.context, 1, 1 << 12),
        ("training.global-batch", training.global_batch, 1, 1 << 24),
        ("training.micro-batch", training.micro_batch, 1, 1 << 16),
        ("training.sequence", training.sequence, 1, 1 << 26),
        ("training.interleave", training.interleave, 1, 1 << 12),
    ] {
        if !(least..=most).contains(&value) {
            let name = key.rsplit('.').next().unwrap_or(key);
            return Err(Fault::new(
                key,
                format!("{name} is {value}: expected {least} to {most}"),
            ));
        }
    }
    for (key, value, most) in [
        ("training.flops", gpu.flops, 1e21),
        ("training.memory", gpu.memory, 1e18),
        ("training.efficiency", gpu.efficiency, 1.0),
    ] {
        if !(value > 0.0 && value <= most) {
            let name = key.rsplit('.').next().unwrap_or(key);
            return Err(Fault::new(
                key,
                format!("{name} is {value}: expected more than 0, at most {most}"),
            ));
        }
    }
    if !(0.0..=10.0).contains(&training.experts_skew) {
        return Err(Fault::new(
            "training.experts-skew",
            format!("experts-skew is {}: expected 0 to 10", training.experts_skew),
        ));
    }
    let ranks = [
        parallel.tensor,
        parallel.pipeline,
        parallel.data,
        parallel.context,
    ];
    let ranks = ranks.into_iter().map(u64::from).fold(1, u64::saturating_mul);
    if ranks > MOST_RANKS {
        return Err(Fault::new(
            "parallel",
            format!("{ranks} ranks: expected at most {MOST_RANKS}"),
        ));
    }
    Ok(())
}

/// Checks what models with experts and dense ones need.
fn experts(plan: &Plan) -> Result<(), Fault> {
    let (model, parallel, training) = (&plan.model, &plan.parallel, &plan.training);
    if model.experts == 0 {
        if parallel.expert > 1 {
            let message = format!("expert is {}, and {} has no experts", parallel.expert, model.name);
            return Err(
                Fault::new("parallel.expert", message).help("`experts` of the model gives it experts")
            );
        }
        if training.experts_skew > 0.0 {
            let message = format!(
                "experts-skew is {}, and {} has no experts",
                training.experts_skew, model.name
            );
            return Err(
                Fault::new("training.experts-skew", message).help("`experts` of the model gives it experts")
            );
        }
        return Ok(());
    }
    for (key, value) in [
        ("model.top-k", model.top_k),
        ("model.expert-ffn", model.expert_ffn),
    ] {
        if value == 0 {
            let name = key.rsplit('.').next().unwrap_or(key);
            return Err(Fault::new(
                key,
                format!("{name} is 0 in a model with experts: expected at least 1"),
            ));
        }
    }
    if model.top_k > model.experts {
        let message = format!(
            "top-k is {}: expected at most the {} experts",
            model.top_k, model.experts
        );
        return Err(Fault::new("model.top-k", message));
    }
    if model.dense_layers >= model.layers {
        let message = format!(
            "dense-layers is {}: expected fewer than the {} layers",
            model.dense_layers, model.layers
        );
        return Err(Fault::new("model.dense-layers", message));
    }
    if parallel.tensor > 1 && !training.sequence_parallel {
        let message = "tensor parallelism of a model with experts needs sequence parallelism, as in Megatron";
        return Err(Fault::new("training.sequence-parallel", message.into()));
    }
    divides(
        "parallel.expert",
        (u64::from(model.experts), "experts"),
        (u64::from(parallel.expert), "expert-parallel ranks"),
    )?;
    divides(
        "parallel.expert",
        (u64::from(parallel.data), "data-parallel ranks"),
        (u64::from(parallel.expert), "expert-parallel ranks"),
    )
}

fn divisions(plan: &Plan) -> Result<(), Fault> {
    let (model, parallel, training) = (&plan.model, &plan.parallel, &plan.training);
    let tensor = (u64::from(parallel.tensor), "tensor-parallel ranks");
    divides("parallel.tensor", (u64::from(model.heads), "heads"), tensor)?;
    if !model.kv_heads.is_multiple_of(parallel.tensor) && !parallel.tensor.is_multiple_of(model.kv_heads) {
        let message = format!(
            "{} heads of keys and values by {} tensor-parallel ranks: expected a multiple, or a divisor",
            model.kv_heads, parallel.tensor
        );
        return Err(Fault::new("parallel.tensor", message));
    }
    for (width, name) in [(model.ffn, "ffn"), (model.expert_ffn, "expert-ffn")] {
        divides("parallel.tensor", (u64::from(width), name), tensor)?;
    }
    let virtual_stages = u64::from(parallel.pipeline) * u64::from(training.interleave);
    if training.stages.is_empty() {
        let (key, name) = match training.interleave {
            1 => ("parallel.pipeline", "stages of the pipeline"),
            _ => ("training.interleave", "virtual stages"),
        };
        let layers = (u64::from(model.layers), "layers");
        divides(key, layers, (virtual_stages, name)).map_err(|fault| {
            let each = u64::from(model.layers).div_ceil(virtual_stages);
            fault.help(format!(
                "`training.stages = [{each}, ..]` gives each stage its own number of layers"
            ))
        })?;
    } else {
        let sum: u64 = training.stages.iter().copied().map(u64::from).sum();
        if training.stages.len() as u64 != virtual_stages || sum != u64::from(model.layers) {
            let message = format!(
                "{} stages of {sum} layers in all: expected {virtual_stages} of {}",
                training.stages.len(),
                model.layers
            );
            return Err(Fault::new("training.stages", message));
        }
    }
    let tokens = u64::from(training.sequence);
    // Each rank of the ring has two parts of a sequence, so that a causal mask gives all the same work.
    let parts = if parallel.context > 1 {
        2 * u64::from(parallel.context)
    } else {
        1
    };
    divides(
        "training.sequence",
        (tokens, "tokens"),
        (parts, "parts of a sequence"),
    )?;
    if training.sequence_parallel {
        divides(
            "training.sequence",
            (tokens / u64::from(parallel.context), "tokens of a rank"),
            tensor,
        )?;
    }
    let step = u64::from(training.micro_batch) * u64::from(parallel.data);
    divides(
        "training.global-batch",
        (u64::from(training.global_batch), "sequences of global-batch"),
        (step, "of a micro-batch at all replicas"),
    )?;
    if training.interleave > 1 {
        if training.schedule != Schedule::OneForwardOneBackward || parallel.pipeline == 1 {
            let message = format!(
                "interleave is {}: it is for `1f1b` on several stages",
                training.interleave
            );
            return Err(Fault::new("training.interleave", message));
        }
        divides(
            "training.global-batch",
            (u64::from(plan.micro_batches()), "micro-batches of a replica"),
            (u64::from(parallel.pipeline), "stages, when interleaved"),
        )?;
    }
    if training.overlap && training.bucket == 0 {
        return Err(Fault::new(
            "training.bucket",
            "bucket is 0: expected at least 1B".into(),
        ));
    }
    Ok(())
}

/// Checks that messages and lists have a reasonable size.
fn sizes(plan: &Plan) -> Result<(), Fault> {
    let largest = plan
        .activations()
        .max(plan.keys_and_values())
        .max(plan.expert_tensor());
    if largest > MOST_BYTES {
        let message = format!("a message of {largest} bytes: expected at most {MOST_BYTES}");
        return Err(Fault::new("training.micro-batch", message));
    }
    for stage in 0..plan.parallel.pipeline {
        let (all, experts) = plan.weights(stage);
        let bytes = all.saturating_add(experts).saturating_mul(4);
        if bytes > MOST_BYTES {
            let message = format!("a rank has gradients of {bytes} bytes: expected at most {MOST_BYTES}");
            return Err(Fault::new("model", message));
        }
    }
    let most = plan.training.stages.iter().copied().max();
    let most = most.unwrap_or(plan.model.layers.div_ceil(plan.virtual_stages()));
    let of_a_layer = OF_A_LAYER + 3 * u64::from(plan.parallel.context);
    let of_a_pass = u64::from(most) * of_a_layer + OF_A_LAYER;
    let passes = 3 * u64::from(plan.micro_batches()) * u64::from(plan.training.interleave);
    let buckets = plan.weights(0).0.saturating_mul(4) / plan.training.bucket.max(1);
    let of_a_rank = passes.saturating_mul(of_a_pass).saturating_add(buckets);
    let all = of_a_rank.saturating_mul(u64::from(plan.parallel.ranks()));
    if of_a_rank > MOST_OF_A_RANK || all > MOST_OPERATIONS {
        let message = format!(
            "{} micro-batches of a replica are up to {of_a_rank} operations of a rank, {all} of all ranks: expected at most \
             {MOST_OF_A_RANK} and {MOST_OPERATIONS}",
            plan.micro_batches()
        );
        let fault = Fault::new("training.global-batch", message);
        return Err(fault.help(
            "a smaller global-batch has fewer micro-batches; `granularity = \"stage\"` has fewer operations",
        ));
    }
    Ok(())
}
