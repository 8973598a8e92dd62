//! Architectures of known models, by name.

/// Architecture of a transformer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Name of the model in results.
    pub name: String,
    /// Number of transformer layers, L.
    pub layers: u32,
    /// Width of the residual stream, h.
    pub hidden: u32,
    /// Number of attention heads.
    pub heads: u32,
    /// Heads of keys and values.
    pub kv_heads: u32,
    /// Width of a head, or the mean of the widths of its keys and its values.
    pub head_dim: u32,
    /// Inner width of a dense layer's MLP.
    pub ffn: u32,
    /// True if the MLP has a gate: three matrices instead of two.
    pub gated: bool,
    /// Tokens of the vocabulary, before padding.
    pub vocabulary: u32,
    /// True if the head shares its weights with the embedding.
    pub tied: bool,
    /// True if each position has a trained vector.
    pub positions: bool,
    /// Weights of a layer's attention; `None` to derive them from the heads.
    pub attention_weights: Option<u32>,
    /// Experts of a layer; 0 for a dense model.
    pub experts: u32,
    /// Experts that a token goes to, k.
    pub top_k: u32,
    /// Inner width of an expert.
    pub expert_ffn: u32,
    /// Experts that every token goes to.
    pub shared_experts: u32,
    /// Dense layers at the beginning of a model with experts.
    pub dense_layers: u32,
}

/// Architecture of a known model: a row of [`PRESETS`].
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name in a scenario.
    pub name: &'static str,
    /// Public source of the values.
    pub source: &'static str,
    /// Layers, hidden, heads, kv-heads, head-dim, ffn, vocabulary.
    dense: [u32; 7],
    /// Gated MLP, tied embeddings, trained positions.
    has: [bool; 3],
    /// Weights of a layer's attention, if heads do not determine them.
    attention_weights: Option<u32>,
    /// Experts, top-k, expert-ffn, shared-experts, dense-layers.
    experts: [u32; 5],
}

const GPT: [bool; 3] = [false, true, true];
const LLAMA: [bool; 3] = [true, false, false];

const fn dense(name: &'static str, source: &'static str, dense: [u32; 7], has: [bool; 3]) -> Preset {
    Preset {
        name,
        source,
        dense,
        has,
        attention_weights: None,
        experts: [0; 5],
    }
}

/// Known architectures, with their sources.
pub const PRESETS: [Preset; 7] = [
    dense(
        "gpt-13b",
        "Brown et al., Language Models are Few-Shot Learners (2020), table 2.1, with a width of 40 * 128",
        [40, 5120, 40, 40, 128, 20480, 50257],
        GPT,
    ),
    dense(
        "gpt-175b",
        "Brown et al., Language Models are Few-Shot Learners (2020), table 2.1",
        [96, 12288, 96, 96, 128, 49152, 50257],
        GPT,
    ),
    dense(
        "llama-3-8b",
        "The Llama 3 Herd of Models (2024), table 3",
        [32, 4096, 32, 8, 128, 14336, 128_256],
        LLAMA,
    ),
    dense(
        "llama-3-70b",
        "The Llama 3 Herd of Models (2024), table 3",
        [80, 8192, 64, 8, 128, 28672, 128_256],
        LLAMA,
    ),
    dense(
        "llama-3-405b",
        "The Llama 3 Herd of Models (2024), table 3",
        [126, 16384, 128, 8, 128, 53248, 128_256],
        LLAMA,
    ),
    Preset {
        experts: [8, 2, 14336, 0, 0],
        ..dense(
            "mixtral-8x7b",
            "Mixtral of Experts (2024), table 1",
            [32, 4096, 32, 8, 128, 14336, 32000],
            LLAMA,
        )
    },
    Preset {
        // Latent attention: h(1536 + 512 + 64) + 1536 * 128 * 192 + 512 * 128 * 256 + 128 * 128 h. Keys of a head have
        // 192 elements and values 128, so 160 is their mean.
        attention_weights: Some(187_105_280),
        experts: [256, 8, 2048, 1, 3],
        ..dense(
            "deepseek-v3",
            "DeepSeek-V3 Technical Report (2024), section 4.2, and its configuration file",
            [61, 7168, 128, 128, 160, 18432, 129_280],
            LLAMA,
        )
    },
];

/// Returns the architecture of this name.
pub fn preset(name: &str) -> Option<Model> {
    let row = PRESETS.iter().find(|row| row.name == name)?;
    let [layers, hidden, heads, kv_heads, head_dim, ffn, vocabulary] = row.dense;
    let [gated, tied, positions] = row.has;
    let [experts, top_k, expert_ffn, shared_experts, dense_layers] = row.experts;
    Some(Model {
        name: name.to_string(),
        layers,
        hidden,
        heads,
        kv_heads,
        head_dim,
        ffn,
        gated,
        vocabulary,
        tied,
        positions,
        attention_weights: row.attention_weights,
        experts,
        top_k,
        expert_ffn,
        shared_experts,
        dense_layers,
    })
}

impl Model {
    /// Returns true if a layer has experts.
    pub fn has_experts(&self, layer: u32) -> bool {
        self.experts > 0 && layer >= self.dense_layers
    }
}
