//! Purposes of messages, with the formulas of their sizes.

use super::experts::Layers;
use super::layout::GroupKind;
use crate::program::CollectiveKind;

/// Sources of formulas, by the name in the table.
pub(super) const SOURCES: [(&str, &str); 3] = [
    (
        "AICB",
        "aliyun/aicb@23eec3c4, workload_generator/SimAI_training_workload_generator.py",
    ),
    ("Megatron", "Narayanan et al. (2021), Korthikanti et al. (2022)"),
    ("ring", "Liu et al. (2023), ring attention"),
];
const AICB: &str = SOURCES[0].0;
const MEGATRON: &str = SOURCES[1].0;
const RING: &str = SOURCES[2].0;

/// Purpose of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Purpose {
    /// Activations of an embedding.
    Embedding,
    /// Activations into an attention.
    AttentionIn,
    /// Activations out of an attention.
    AttentionOut,
    /// Keys and values in the ring of a sequence.
    KeysAndValues,
    /// Activations into a dense MLP.
    MlpIn,
    /// Activations out of a dense MLP.
    MlpOut,
    /// Counts by which tokens are dispatched.
    Router,
    /// Tokens on their way to experts.
    Dispatch,
    /// Tokens of experts that tensor-parallel ranks share.
    ExpertsIn,
    /// Results of such experts.
    ExpertsOut,
    /// Results on their way from experts.
    Combine,
    /// Activations into the head.
    Head,
    /// Values per token for the loss.
    Loss,
    /// Activations to the next stage.
    Activations,
    /// Gradients to the previous stage.
    InputGradients,
    /// Gradients of a shared embedding.
    SharedEmbedding,
    /// Gradients of weights but those of experts.
    Gradients,
    /// Gradients of experts' weights.
    ExpertGradients,
    /// Updated weights but those of experts.
    Weights,
    /// Updated weights of experts.
    ExpertWeights,
    /// All-reduce of the embedding in AICB's files.
    AicbEmbedding,
    /// Small all-reduces of the optimizer in AICB's files.
    AicbOptimizer,
}

impl Purpose {
    /// Returns the name, the formula of the size, and the source.
    pub const fn about(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Embedding => ("embedding", "2 b s h / cp", MEGATRON),
            Self::AttentionIn => ("attention, in", "2 b s h / cp", AICB),
            Self::AttentionOut => ("attention, out", "2 b s h / cp", AICB),
            Self::KeysAndValues => ("keys and values", "4 b s d n / (cp tp)", RING),
            Self::MlpIn => ("mlp, in", "2 b s h / cp", AICB),
            Self::MlpOut => ("mlp, out", "2 b s h / cp", AICB),
            Self::Router => ("router", "2 ep E tp", AICB),
            Self::Dispatch => ("dispatch", "M k / tp; fp8: b s k (h + 4 h/128) / (cp tp)", AICB),
            Self::ExpertsIn => ("experts, in", "M k", AICB),
            Self::ExpertsOut => ("experts, out", "M k", AICB),
            Self::Combine => ("combine", "M k / tp", AICB),
            Self::Head => ("head", "2 b s h / cp", MEGATRON),
            Self::Loss => ("loss", "4 b s / cp", AICB),
            Self::Activations => ("activations", "M / tp; without sequence-parallel M", AICB),
            Self::InputGradients => ("gradients of inputs", "M / tp; without sequence-parallel M", AICB),
            Self::SharedEmbedding => ("shared embedding", "4 h V' / tp", MEGATRON),
            Self::Gradients => ("gradients", "4 P", AICB),
            Self::ExpertGradients => ("experts' gradients", "4 Pe", AICB),
            Self::Weights => ("weights", "2 P", AICB),
            Self::ExpertWeights => ("experts' weights", "2 Pe", AICB),
            Self::AicbEmbedding => ("embedding, as in AICB", "2 V h", AICB),
            Self::AicbOptimizer => ("optimizer, as in AICB", "4", AICB),
        }
    }
}

/// Collective but for its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Communication {
    pub(super) purpose: Purpose,
    pub(super) kind: CollectiveKind,
    pub(super) group: GroupKind,
    pub(super) bytes: u64,
    /// Layers whose experts determine the shares of the members; `None` if all are equal.
    pub(super) experts: Option<Layers>,
}
