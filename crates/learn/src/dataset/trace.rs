//! Samples of a run by flow.

use std::collections::HashMap;
use std::path::Path;

use paceline_fabric::outcome::RttSample;
use paceline_fabric::spec::{FlowSpec, TieOrder};
use paceline_kernel::{Span, Time};
use paceline_scenario::{Overrides, Resolved};
use sha2::{Digest, Sha256};

use paceline_congestion::lstm_pid::Features;

use super::{Origin, Pair, SMOOTHING, stratum};
use crate::Error;

/// Measurements of a run's senders.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Run from which they come.
    pub origin: Origin,
    /// Resolved scenario, with every parameter (TOML).
    pub scenario: String,
    /// Flows with samples, in order.
    pub flows: Vec<FlowTrace>,
}

/// Measurements of one sender: one sample per completion window.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTrace {
    /// Index of the flow in the run.
    pub flow: u32,
    /// Times of the samples, and round-trip times.
    pub samples: Vec<(Time, Span)>,
}

impl FlowTrace {
    /// Iterates over the round-trip times in µs.
    pub fn rtt_us(&self) -> impl Iterator<Item = f64> {
        self.samples.iter().map(|(_, rtt)| rtt.as_ps() as f64 / 1e6)
    }
}

impl Trace {
    /// Creates the trace of a run that `input` describes.
    pub(super) fn new(input: &Resolved, settings: &[String], samples: &[RttSample]) -> Self {
        let mut flows: Vec<FlowTrace> = Vec::new();
        let mut indices = HashMap::new();
        for sample in samples {
            let index = *indices.entry(sample.flow).or_insert_with(|| {
                flows.push(FlowTrace {
                    flow: sample.flow,
                    samples: Vec::new(),
                });
                flows.len() - 1
            });
            flows[index].samples.push((sample.at, sample.rtt));
        }
        // Samples are in order of time, so flows are found in that of their first ones.
        flows.sort_by_key(|flow| flow.flow);
        let origin = Origin {
            scenario: input.name.clone(),
            scheme: input.scheme.clone(),
            settings: settings.to_vec(),
            seed: input.seed,
            fidelity: input.fidelity,
            order: match input.run.ties {
                TieOrder::Shuffled(seed) => Some(seed),
                TieOrder::Structural | TieOrder::Drawn | TieOrder::Insertion => None,
            },
            model_sha256: model_of(input),
            scenario_sha256: scenario_hash(&input.toml),
            version: paceline_lab::version().to_string(),
            samples: samples.len() as u64,
            sha256: hash(&flows),
        };
        Self {
            origin,
            scenario: input.toml.clone(),
            flows,
        }
    }

    /// Reads the trace from the folder of a run with `record.rtt-samples`. Its times are whole nanoseconds.
    ///
    /// # Errors
    /// The folder has no such samples, or is from another version.
    pub fn from_folder(folder: &Path) -> Result<Self, Error> {
        let summary = folder.join("summary.json");
        let content = |path: &Path, expected, message: String| Error::Content {
            path: path.to_path_buf(),
            expected,
            message,
        };
        let text =
            paceline_scenario::read_text(&summary).map_err(|error| Error::io("read", &summary, error))?;
        let said: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| content(&summary, "the summary of a run", error.to_string()))?;
        let version = said["version"].as_str().unwrap_or("nothing").to_string();
        // Other code may have produced another run under the same scenario.
        if version != paceline_lab::version() {
            return Err(Error::OtherVersion {
                path: folder.to_path_buf(),
                found: version,
                sources: format!(
                    "{} under {}",
                    said["scenario"].as_str().unwrap_or("?"),
                    said["scheme"].as_str().unwrap_or("?")
                ),
            });
        }
        let input = paceline_lab::load(&folder.to_string_lossy(), &Overrides::default())?;
        let path = folder.join("rtt_samples.txt");
        let text = match paceline_scenario::read_text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let message = "there is no rtt_samples.txt in it: run it again with \
                               --set record.rtt-samples=true";
                return Err(content(folder, "a recorded run", message.into()));
            }
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        let samples = samples_of(&text, &input.run.flows)
            .map_err(|message| content(&path, "a file of samples", message))?;
        Ok(Self::new(&input, &[], &samples))
    }

    /// Returns every pair of the trace, flow by flow, with `source` as the index of their origin.
    pub fn candidates(&self, source: u16) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for flow in &self.flows {
            let mut features = Features::new(SMOOTHING);
            let rtt_us: Vec<f64> = flow.rtt_us().collect();
            for (two, (at, _)) in rtt_us.windows(2).zip(&flow.samples) {
                let [r, next] = two else { continue };
                features.push(*r);
                if let Some(&k) = features.window() {
                    pairs.push(Pair {
                        k,
                        l: features.label(*next) as f32,
                        s: features.smoothed(),
                        r: *next,
                        stratum: stratum(k[2]),
                        source,
                        flow: flow.flow,
                        at: *at,
                    });
                }
            }
        }
        pairs
    }
}

/// Parses the samples of an `rtt_samples.txt`: `time src dst sport acked rtt`, times in ns.
fn samples_of(text: &str, flows: &[FlowSpec]) -> Result<Vec<RttSample>, String> {
    let ends = |flow: &FlowSpec| {
        (
            u64::from(flow.src.0),
            u64::from(flow.dst.0),
            u64::from(flow.sport),
        )
    };
    let known: HashMap<_, u32> = flows.iter().map(ends).zip(0..).collect();
    let mut samples = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let values: Option<Vec<u64>> = line.split(' ').map(|word| word.parse().ok()).collect();
        let Some(&[at, src, dst, sport, seq, rtt]) = values.as_deref() else {
            return Err(format!("line {number} is `{line}`, not six whole numbers"));
        };
        let Some(&flow) = known.get(&(src, dst, sport)) else {
            return Err(format!(
                "line {number}: the scenario has no flow from {src} to {dst} with port {sport}"
            ));
        };
        if rtt == 0 {
            return Err(format!("line {number}: a round-trip time of 0"));
        }
        // Larger times do not fit in picoseconds.
        let last = u64::MAX / 1000;
        if let Some(late) = [at, rtt].into_iter().find(|&ns| ns > last) {
            return Err(format!("line {number}: {late} ns: expected at most {last}"));
        }
        samples.push(RttSample {
            at: Time::from_ns(at),
            flow,
            seq,
            rtt: Span::from_ns(rtt),
        });
    }
    Ok(samples)
}

/// Returns the SHA-256 of the weights of the model that predicts in the run of `input`.
fn model_of(input: &Resolved) -> Option<String> {
    let schemes = input.run.schemes.iter();
    schemes
        .flat_map(|scheme| scheme.config.values())
        .find(|(key, hash)| key == "model-hash" && hash != "auto")
        .map(|(_, hash)| hash)
}

/// Returns the hash of a resolved scenario without name, description and `[record]`, which do not change a
/// run.
pub(super) fn scenario_hash(toml: &str) -> String {
    let mut hash = Sha256::new();
    let mut table = "";
    for line in toml.lines() {
        if line.starts_with('[') {
            table = line;
        }
        let name = table.is_empty() && (line.starts_with("name =") || line.starts_with("description ="));
        if !name && table != "[record]" && !line.is_empty() {
            hash.update(line);
            hash.update("\n");
        }
    }
    super::file::hex(&hash.finalize())
}

fn hash(flows: &[FlowTrace]) -> String {
    let mut hash = Sha256::new();
    for flow in flows {
        for (at, rtt) in &flow.samples {
            hash.update(flow.flow.to_le_bytes());
            hash.update(at.as_ps().to_le_bytes());
            hash.update(rtt.as_ps().to_le_bytes());
        }
    }
    super::file::hex(&hash.finalize())
}
