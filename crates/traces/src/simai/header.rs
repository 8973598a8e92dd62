//! First line of a workload.

use crate::trouble::{Caution, Trouble};

use super::workload::{nearest, whole};

/// Supported policy, which is the one that AICB writes.
pub const POLICY: &str = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";

/// Other policies of SimAI.
const OTHERS: [&str; 10] = [
    "HYBRID_TRANSFORMER",
    "DATA",
    "MODEL",
    "HYBRID_DATA_MODEL",
    "HYBRID_MODEL_DATA",
    "HYBRID_CUSTOMIZED",
    "HYBRID_DLRM",
    "HYBRID_DLRM_ENHANCED",
    "MICRO",
    "DISTRIBUTED_INFERENCE",
];

const KEYS: [&str; 9] = [
    "model_parallel_NPU_group",
    "ep",
    "pp",
    "vpp",
    "ga",
    "all_gpus",
    "checkpoints",
    "checkpoint_initiates",
    "pp_comm",
];

/// Values in the first line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Header {
    /// Ranks of a tensor-parallel group, TP (`model_parallel_NPU_group`).
    pub tp: u32,
    /// Ranks of an expert-parallel group; 1 by default.
    pub ep: u32,
    /// Stages of the pipeline; 1 by default.
    pub pp: u32,
    /// Virtual stages; 1 by default.
    pub vpp: u32,
    /// Accumulated batches; 1 by default.
    pub ga: u32,
    /// Total number of ranks, if given.
    pub all_gpus: Option<u32>,
    /// Layers with a checkpoint.
    pub checkpoints: Vec<u32>,
    /// Layers that begin a forward pass within the backward pass.
    pub checkpoint_initiates: Vec<u32>,
    /// Bytes between two stages of the pipeline.
    pub pp_comm: f64,
}

impl Header {
    /// Parses the line; `location` is its position.
    pub(super) fn read(line: &str, location: &str) -> Result<Self, Trouble> {
        let mut words = line.split_ascii_whitespace().peekable();
        policy(words.next(), location)?;
        let mut header = Self {
            ep: 1,
            pp: 1,
            vpp: 1,
            ga: 1,
            ..Self::default()
        };
        let mut seen: Vec<&str> = Vec::new();
        while let Some(word) = words.next() {
            let key = word.strip_suffix(':').unwrap_or(word);
            let Some(known) = KEYS.into_iter().find(|known| *known == key) else {
                return Err(Trouble::at(location, format!("unknown key `{word}`"))
                    .help(nearest(key, KEYS.into_iter())));
            };
            if seen.contains(&known) {
                return Err(Trouble::at(location, format!("{known} is given twice")));
            }
            seen.push(known);
            let Some(value) = words.next() else {
                return Err(Trouble::at(location, format!("{known} has no value")));
            };
            let number = || -> Result<u32, Trouble> {
                let number = whole(value, known, location)?;
                u32::try_from(number).map_err(|_| too_large(known, number, location))
            };
            let count = || -> Result<u32, Trouble> {
                match number()? {
                    0 => Err(Trouble::at(
                        location,
                        format!("{known} is 0: expected at least 1"),
                    )),
                    count => Ok(count),
                }
            };
            match known {
                "model_parallel_NPU_group" => header.tp = count()?,
                "ep" => header.ep = count()?,
                "pp" => header.pp = count()?,
                "vpp" => header.vpp = count()?,
                "ga" => header.ga = count()?,
                "all_gpus" => header.all_gpus = Some(count()?),
                "pp_comm" => header.pp_comm = bytes(value, location)?,
                _ => {
                    let mut layers = Vec::new();
                    for i in 0..number()? {
                        // A word with a colon is the next key, so the list is too short.
                        let Some(layer) = words.next_if(|word| !word.ends_with(':')) else {
                            let message = format!("{known} announces {value} layers, and there are {i}");
                            return Err(Trouble::at(location, message));
                        };
                        let layer = whole(layer, known, location)?;
                        layers.push(u32::try_from(layer).map_err(|_| too_large(known, layer, location))?);
                    }
                    match known {
                        "checkpoints" => header.checkpoints = layers,
                        _ => header.checkpoint_initiates = layers,
                    }
                }
            }
        }
        // Only a missing key leaves 0: a 0 in the file was refused above.
        if header.tp == 0 {
            let message = "there is no `model_parallel_NPU_group:`: expected how many ranks a tensor-parallel group has";
            return Err(Trouble::at(location, message));
        }
        Ok(header)
    }

    /// Returns notes on requested features that SimAI does not perform either.
    pub(super) fn cautions(&self, location: &str) -> Vec<Caution> {
        let mut cautions = Vec::new();
        let mut say = |text: String| {
            cautions.push(Caution {
                text: format!("{location}: {text}"),
            });
        };
        if self.pp > 1 || self.pp_comm > 0.0 {
            say(format!(
                "pp is {} and pp_comm {} B: as in SimAI's packet simulation there is no pipeline, every rank has all layers, and \
                 nothing is sent between stages",
                self.pp, self.pp_comm
            ));
        }
        if !(self.checkpoints.is_empty() && self.checkpoint_initiates.is_empty()) {
            say(
                "checkpoints: as in SimAI, which reads and does not use them, no forward pass is repeated in the backward pass"
                    .to_string(),
            );
        }
        cautions
    }
}

fn policy(word: Option<&str>, location: &str) -> Result<(), Trouble> {
    let Some(word) = word else {
        return Err(Trouble::at(
            location,
            format!("the file is empty: expected `{POLICY}`"),
        ));
    };
    if word == POLICY {
        return Ok(());
    }
    if OTHERS.contains(&word) {
        let message = format!("policy `{word}` is not carried out: expected `{POLICY}`");
        return Err(Trouble::at(location, message));
    }
    let known = OTHERS.into_iter().chain([POLICY]);
    Err(Trouble::at(location, format!("unknown policy `{word}`")).help(nearest(word, known)))
}

/// Parses a size, which may have decimals because AICB computes it.
fn bytes(text: &str, location: &str) -> Result<f64, Trouble> {
    match text.parse::<f64>() {
        Ok(bytes) if bytes.is_finite() && bytes >= 0.0 => Ok(bytes),
        _ => Err(Trouble::at(
            location,
            format!("pp_comm is `{text}`: expected bytes, not negative"),
        )),
    }
}

fn too_large(what: &str, number: u64, location: &str) -> Trouble {
    Trouble::at(
        location,
        format!("{what} is {number}: expected at most {}", u32::MAX),
    )
}
