//! Sizes of messages and numbers of weights, in bytes and elements.
//!
//! h hidden, L layers, s sequence, b micro-batch, V vocabulary, k top-k, E experts; tp, pp, dp, ep, cp degrees of
//! parallelism; SP sequence parallelism; P weights of a rank but experts, Pe weights of its experts. An element has
//! two bytes, a gradient four. Sources: [`super::Purpose`].
//!
//! | message | group | bytes | number |
//! |---|---|---|---|
//! | M, tensor | tp | 2 b s h / cp | with SP, an all-gather and a reduce-scatter for attention and for the MLP; without, an all-reduce for each; forward and backward |
//! | pipeline | next stage | M / tp with SP, else M | for each boundary, direction and micro-batch |
//! | keys and values | next in the ring of cp | 4 b s d n / (cp tp), n heads of d | cp - 1 for each layer; twice the bytes backward |
//! | router | tp, ep | 2 ep E tp | for each layer with experts, forward |
//! | dispatch | ep | M k / tp; fp8: b s k (h + 4 h/128) / (cp tp) | for each layer with experts, forward and backward |
//! | combine | ep | M k / tp | the same |
//! | experts' tensor | tp | M k | all-gather and reduce-scatter, forward and backward |
//! | loss | tp | 4 b s / cp | 3 for each micro-batch |
//! | gradients | dp, cp | 4 P | once: a reduce-scatter with sharding, else an all-reduce |
//! | weights | dp, cp | 2 P | once with sharding: an all-gather |
//! | experts' gradients | dp/ep, cp | 4 Pe, 2 Pe | the same |
//! | shared embedding | first and last stage | 4 h V' / tp | once |
//!
//! V' is V rounded up to a multiple of 128 tp. Biases are not counted.
//!
//! `like = "aicb"` repeats three faults of the files of aliyun/aicb@23eec3c4: the word embedding counts four times in
//! P (`MockedMegatron.py:583`), on every stage, as do positions and head; attention and dense MLPs send nothing over
//! tensor parallelism backward; and every stage has the final all-gather, the losses, an all-reduce of 2 V h, and four
//! of 4 bytes. Experts' gradients are also part of those over dp there.

use super::plan::{Plan, Precision};

/// Ranks of a tensor-parallel group times this divide the padded vocabulary (Megatron's
/// `make-vocab-size-divisible-by`).
const VOCABULARY_UNIT: u64 = 128;

/// Elements of a token that share a scale of four bytes in fp8 (deepseek-ai/DeepEP@dd758caf).
const SCALED: u64 = 128;

/// Returns a product, saturating.
pub(super) fn product<const N: usize>(factors: [u64; N]) -> u64 {
    factors.into_iter().fold(1, u64::saturating_mul)
}

impl Plan {
    fn tp(&self) -> u64 {
        u64::from(self.parallel.tensor)
    }

    fn h(&self) -> u64 {
        u64::from(self.model.hidden)
    }

    /// Returns the number of micro-batches of a replica in a step.
    pub fn micro_batches(&self) -> u32 {
        self.training.global_batch / self.training.micro_batch / self.parallel.data
    }

    /// Returns the tokens of a micro-batch at a rank, b s / cp.
    pub fn tokens(&self) -> u64 {
        let all = u64::from(self.training.micro_batch) * u64::from(self.training.sequence);
        all / u64::from(self.parallel.context)
    }

    /// Returns M, the activations of a micro-batch.
    pub fn activations(&self) -> u64 {
        product([2, self.tokens(), self.h()])
    }

    /// Returns the bytes between two stages.
    pub fn pipeline(&self) -> u64 {
        match self.training.sequence_parallel {
            true => self.activations() / self.tp(),
            false => self.activations(),
        }
    }

    /// Returns the bytes of keys and values that a rank passes on in the ring of a sequence.
    pub fn keys_and_values(&self) -> u64 {
        product([4, self.tokens(), self.kv_width()])
    }

    /// Returns the width of a rank's keys. A head that several ranks share is at each of them.
    pub(super) fn kv_width(&self) -> u64 {
        let heads = (u64::from(self.model.kv_heads) / self.tp()).max(1);
        heads * u64::from(self.model.head_dim)
    }

    /// Returns the bytes of a micro-batch's tokens to the experts.
    pub fn dispatch(&self) -> u64 {
        let copies = product([self.tokens(), u64::from(self.model.top_k)]);
        match self.training.precision {
            Precision::Bf16 => self.combine(),
            Precision::Fp8 => product([copies, self.h() + 4 * self.h().div_ceil(SCALED)]) / self.tp(),
        }
    }

    /// Returns the bytes of the experts' results.
    pub fn combine(&self) -> u64 {
        self.expert_tensor() / self.tp()
    }

    /// Returns the bytes that the tensor-parallel ranks of an expert gather, M k.
    pub fn expert_tensor(&self) -> u64 {
        product([self.activations(), u64::from(self.model.top_k)])
    }

    /// Returns the bytes of the counts by which tokens are dispatched.
    pub fn router(&self) -> u64 {
        product([
            2,
            u64::from(self.parallel.expert),
            u64::from(self.model.experts),
            self.tp(),
        ])
    }

    /// Returns the bytes of a value per token, for the loss.
    pub fn loss(&self) -> u64 {
        product([4, self.tokens()])
    }

    /// Returns V' / tp, a rank's rows of the padded vocabulary.
    pub fn vocabulary(&self) -> u64 {
        let unit = VOCABULARY_UNIT * self.tp();
        u64::from(self.model.vocabulary).div_ceil(unit) * VOCABULARY_UNIT
    }

    /// Returns a rank's weights of a layer's attention.
    pub fn attention_weights(&self) -> u64 {
        let model = &self.model;
        let width = u64::from(model.head_dim) * 2 * (u64::from(model.heads) + u64::from(model.kv_heads));
        let all = model
            .attention_weights
            .map_or(product([self.h(), width]), u64::from);
        all / self.tp()
    }

    /// Returns the weights of a two- or three-layer perceptron with this inner width.
    pub fn mlp_weights(&self, width: u32) -> u64 {
        product([if self.model.gated { 3 } else { 2 }, self.h(), u64::from(width)])
    }

    /// Returns a rank's weights of a layer's dense or shared MLP and of its router.
    pub fn dense_weights(&self, layer: u32) -> u64 {
        let model = &self.model;
        if !model.has_experts(layer) {
            return self.mlp_weights(model.ffn) / self.tp();
        }
        let shared = product([
            u64::from(model.shared_experts),
            self.mlp_weights(model.expert_ffn),
        ]);
        let router = match self.training.like_aicb {
            true => 0,
            false => product([self.h(), u64::from(model.experts)]),
        };
        (shared / self.tp()).saturating_add(router)
    }

    /// Returns a rank's weights of a layer's experts.
    pub fn expert_weights(&self, layer: u32) -> u64 {
        if !self.model.has_experts(layer) {
            return 0;
        }
        let mine = u64::from(self.model.experts / self.parallel.expert);
        product([mine, self.mlp_weights(self.model.expert_ffn)]) / self.tp()
    }

    /// Returns a rank's weights of a layer but those of its experts. Each of the two norms has h.
    pub fn layer_weights(&self, layer: u32) -> u64 {
        (self.attention_weights() + 2 * self.h()).saturating_add(self.dense_weights(layer))
    }

    /// Returns a rank's weights of the embedding or of the head.
    pub fn embedding_weights(&self) -> u64 {
        product([self.vocabulary(), self.h()])
    }

    /// Returns the weights of positions.
    pub fn position_weights(&self) -> u64 {
        match self.model.positions || self.training.like_aicb {
            true => product([u64::from(self.training.sequence), self.h()]),
            false => 0,
        }
    }

    /// Returns a virtual stage's weights outside of layers, per rank.
    pub fn outer_weights(&self, virtual_stage: u32) -> u64 {
        let is_last = virtual_stage + 1 == self.virtual_stages();
        if self.training.like_aicb {
            // Once for a stage, of one part or several.
            let is_counted = virtual_stage < self.parallel.pipeline;
            return u64::from(is_counted) * (5 * self.embedding_weights() + self.position_weights());
        }
        let first = match virtual_stage {
            0 => self.embedding_weights() + self.position_weights(),
            _ => 0,
        };
        // On one stage, a shared embedding is one set of weights; on two, each has a copy.
        let has_head = is_last && !(self.model.tied && virtual_stage == 0);
        first + u64::from(has_head) * self.embedding_weights()
    }

    /// Returns P and Pe of a stage: weights of a rank but experts, and weights of its experts.
    pub fn weights(&self, stage: u32) -> (u64, u64) {
        let (mut all, mut experts) = (0_u64, 0_u64);
        for part in self.parts_of(stage) {
            all = all.saturating_add(self.outer_weights(part));
            for layer in self.layers_of(part) {
                all = all.saturating_add(self.layer_weights(layer));
                experts = experts.saturating_add(self.expert_weights(layer));
            }
        }
        (all, experts)
    }

    /// Returns the bytes of a shared embedding's gradients.
    pub fn shared_embedding(&self) -> u64 {
        product([4, self.embedding_weights()])
    }
}
