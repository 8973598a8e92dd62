//! Computing times: floating-point operations over the rate of a GPU, or traffic of its memory if that is longer.
//!
//! A multiplication with n weights takes 2 n operations per token forward, and as many for each of the gradients of
//! inputs and of weights. The core of an attention takes 2 s operations per token and element of all heads (4 without
//! a causal mask), and twice that backward. Memory carries the weights, and two bytes for each element of input and
//! output. The optimizer reads a gradient and three states of four bytes per weight of its part, and writes the states
//! and a weight of two bytes.

use super::formulas::product;
use super::plan::Plan;

/// Part of a model whose computing time can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Attention of a layer.
    Attention,
    /// MLP of a dense layer, or a layer's shared experts and router.
    Mlp,
    /// Experts of a layer at a rank.
    Experts,
    /// Head of the last stage, and loss.
    Head,
}

/// Longest time of a part, in ns, so that no sum overflows.
const LONGEST: f64 = 1e15;

/// Traffic of the optimizer per weight, in bytes.
const OPTIMIZER_BYTES: f64 = 30.0;

/// Time of a part for a micro-batch, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartTime {
    /// Multiplications with weights; each of the two gradients takes as long.
    pub weights: u64,
    /// Core of an attention; the gradients of inputs take twice as long.
    pub core: u64,
}

impl Plan {
    /// Returns the time of a part in a layer, for a forward pass of a micro-batch.
    pub fn forward(&self, part: Part, layer: u32) -> PartTime {
        if let Some(weights) = self.training.gpu.forward_ns[part as usize] {
            return PartTime { weights, core: 0 };
        }
        let h = u64::from(self.model.hidden);
        let (tokens, weights, width) = match part {
            Part::Attention => (self.tokens(), self.attention_weights(), h),
            Part::Mlp => (self.tokens(), self.dense_weights(layer), h),
            Part::Experts => {
                // With uniform routing, each of the E experts gets its share of all tokens of the group.
                let mine = self.expert_tokens();
                return PartTime {
                    weights: self.ns(
                        2.0 * mine as f64 * self.mlp_weights(self.model.expert_ffn) as f64
                            / f64::from(self.parallel.tensor),
                        2.0 * self.expert_weights(layer) as f64 + 4.0 * mine as f64 * h as f64,
                    ),
                    core: 0,
                };
            }
            Part::Head => (self.tokens(), self.embedding_weights(), h + self.vocabulary()),
        };
        let core = match part {
            Part::Attention => {
                let heads = product([u64::from(self.model.heads), u64::from(self.model.head_dim)]);
                let mine = heads as f64 / f64::from(self.parallel.tensor);
                self.ns(
                    2.0 * f64::from(self.training.sequence) * mine * tokens as f64,
                    2.0 * tokens as f64 * (mine + 2.0 * self.kv_width() as f64),
                )
            }
            _ => 0,
        };
        if weights == 0 {
            return PartTime { weights: 0, core };
        }
        PartTime {
            weights: self.ns(
                2.0 * weights as f64 * tokens as f64,
                2.0 * weights as f64 + 4.0 * tokens as f64 * width as f64,
            ),
            core,
        }
    }

    /// Returns the tokens that a rank's experts get from a micro-batch.
    fn expert_tokens(&self) -> u64 {
        product([self.tokens(), u64::from(self.model.top_k)])
    }

    /// Returns the time of the optimizer at a stage.
    pub fn optimizer(&self, stage: u32) -> u64 {
        let (all, experts) = self.weights(stage);
        let replicas = u64::from(self.parallel.data) * u64::from(self.parallel.context);
        let (all, experts) = match self.training.optimizer_sharding {
            true => (
                all / replicas,
                experts / (replicas / u64::from(self.parallel.expert)),
            ),
            false => (all, experts),
        };
        self.ns(0.0, OPTIMIZER_BYTES * (all as f64 + experts as f64))
    }

    /// Returns the duration of this many operations with this traffic.
    fn ns(&self, operations: f64, bytes: f64) -> u64 {
        let gpu = &self.training.gpu;
        let seconds = (operations / (gpu.flops * gpu.efficiency)).max(bytes / gpu.memory);
        (seconds * 1e9).ceil().min(LONGEST) as u64
    }
}
