//! Keys of a job that is a model's training.

use std::fmt;

use paceline_congestion::params::is;
use paceline_kernel::{Bytes, Span};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use toml::Spanned;

use super::tables;

/// Model of a job: a preset's name, or an architecture.
#[derive(Clone, Debug)]
pub(crate) enum ModelChoice {
    Named(String),
    Own(Box<Architecture>),
}

impl Serialize for ModelChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Named(name) => serializer.serialize_str(name),
            Self::Own(table) => table.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ModelChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ModelChoice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a model's name as a text, or a table such as { layers = 32, hidden = 4096, heads = 32, vocabulary = 32000 }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ModelChoice, E> {
                Ok(ModelChoice::Named(text.to_string()))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<ModelChoice, A::Error> {
                let table = Architecture::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(ModelChoice::Own(Box::new(table)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

tables! {
    /// The architecture of a transformer, instead of a name; also the changes of a known one.
    struct Architecture {
        /// name of a known model whose values are the defaults
        preset: Spanned<String>;
        /// number of transformer layers
        layers: Spanned<u32>;
        /// width of the residual stream
        hidden: Spanned<u32>;
        /// number of attention heads
        heads: Spanned<u32>;
        /// heads of keys and values
        kv_heads: Spanned<u32> => "as heads";
        /// width of a head
        head_dim: Spanned<u32> => "hidden by heads";
        /// inner width of an MLP
        ffn: Spanned<u32> => "4 times hidden";
        /// MLPs have a gate: three matrices instead of two
        gated: bool => "false";
        /// tokens of the vocabulary, padded to a multiple of 128 times the tensor-parallel ranks
        vocabulary: Spanned<u32>;
        /// the head shares its weights with the embedding
        tied: bool => "false";
        /// each position has a trained vector
        positions: bool => "false";
        /// number of weights of a layer's attention, where heads do not determine it
        attention_weights: Spanned<u32> => "from the heads";
        /// experts of a layer; 0 for a dense model
        experts: Spanned<u32> => "0";
        /// experts that each token goes to
        top_k: Spanned<u32> => "0";
        /// inner width of an expert
        expert_ffn: Spanned<u32> => "0";
        /// experts that all tokens go to
        shared_experts: Spanned<u32> => "0";
        /// dense layers at the beginning
        dense_layers: Spanned<u32> => "0";
    }
    /// Degrees of parallelism of a model's training. Ranks are numbered as in Megatron: tensor parallelism is fastest, then
    /// context, experts, data; the pipeline is slowest.
    struct Parallelism {
        /// ranks that share each layer
        tensor: Spanned<u32> = "1";
        /// stages of the pipeline
        pipeline: Spanned<u32> = "1";
        /// replicas of the model
        data: Spanned<u32> => "ranks by the other degrees";
        /// data-parallel ranks that share the experts of a layer
        expert: Spanned<u32> = "1";
        /// ranks that share each sequence
        context: Spanned<u32> = "1";
    }
    /// Batch, schedule and rates of a model's training.
    struct ModelTraining {
        /// sequences of a step, over all replicas
        global_batch: Spanned<u32>;
        /// sequences of a micro-batch
        micro_batch: Spanned<u32> = "1";
        /// tokens of a sequence
        sequence: Spanned<u32> = "4096";
        /// order of micro-batches: `1f1b`, `gpipe`, or `zero-bubble` (ZB-H1)
        schedule: Spanned<String> = "1f1b";
        /// parts of the model on each stage, under 1f1b: its interleaved form
        interleave: Spanned<u32> = "1";
        /// layers of each stage (when interleaved, of each part in the order of the model)
        stages: Spanned<Vec<u32>> => "all the same";
        /// exchange gradients during the last backward pass
        overlap: bool = "false";
        /// gradients that are exchanged together
        bucket: Spanned<Bytes> = "160MB", only(&[&[is(".overlap", &["true"])]]);
        /// each replica holds a part of the optimizer's state: gradients in a reduce-scatter, weights in an all-gather
        optimizer_sharding: bool = "true";
        /// split norms and residuals by tokens among the tensor-parallel ranks
        sequence_parallel: Spanned<bool> = "true";
        /// format of tokens to experts: `bf16`, or `fp8` with scales; all other activations are bf16
        precision: Spanned<String> = "bf16";
        /// exponent of the Zipf distribution of tokens over experts, whose order is another in each layer; 0 if all get as
        /// many. No expert gets a token twice
        experts_skew: Spanned<f64> = "0.0";
        /// collectives of each `layer`, or merged over the layers of a `stage`: fewer operations, same bytes
        granularity: Spanned<String> = "layer";
        /// repeat three faults of the files of `aicb`
        like: Spanned<String> => "none";
        /// operations per second of a GPU
        flops: Spanned<String> = "989T";
        /// bytes per second of a GPU's memory
        memory: Spanned<String> = "3.35TB/s";
        /// share of flops that multiplications reach
        efficiency: Spanned<f64> = "0.5";
        /// computing times instead of flops: a table
        times: ModelTimes;
    }
    /// Computing times of a rank for a micro-batch forward; backward takes twice as long.
    struct ModelTimes {
        /// attention of a layer
        attention: Span => "from flops";
        /// MLP of a dense layer, or a layer's shared experts and router
        mlp: Span => "from flops";
        /// experts of a layer
        experts: Span => "from flops";
        /// head of the last stage, and loss
        head: Span => "from flops";
    }
}
