//! The paper's network (section 2.6): layers of 128, 64 and 32 units, a long short-term memory of 32, and
//! layers of 16 and 1.
//!
//! A flow carries the recurrent state from one decision to the next. Learning takes the state before a
//! decision as given (the paper's algorithm 1 samples single steps), so derivatives end there.

use paceline_congestion::learned::activation::{sigmoid, tanh};
use paceline_congestion::learned::dense::transposed;
use paceline_congestion::learned::layers::{Layer, Network, Units};
use paceline_kernel::rng::Rng;
use serde_json::json;

use crate::Error;
use crate::pass::{Fitted, FittedState, Pass, backward, first, forward};
use crate::train::{Tensor, Weights};
use crate::write::{ModelFiles, serialize};

/// Features of a decision; `WINDOW` is the number of decisions in the window (table 5).
pub(super) const FEATURES: [&str; 5] = [
    "delivered-log2",
    "latency-log2",
    "loss",
    "in-flight-log2",
    "rate-log2",
];
pub(super) const WINDOW: usize = 5;
/// Inputs from the window; `MEMORY` is the size of the recurrent state: outputs and cells of its units.
pub(super) const READ: usize = FEATURES.len() * WINDOW;
pub(super) const MEMORY: usize = 2 * UNITS;
const UNITS: usize = 32;

const TRUNK: [Layer; 3] = [
    Layer::new(READ, 128, Units::Rectified),
    Layer::new(128, 64, Units::Rectified),
    Layer::new(64, UNITS, Units::Rectified),
];
/// Gates input, forget, cell and output, with inputs from the trunk and from the units' last outputs.
const GATES: [Layer; 1] = [Layer::new(2 * UNITS, 4 * UNITS, Units::Linear)];
const HEAD: [Layer; 2] = [
    Layer::new(UNITS, 16, Units::Rectified),
    Layer::new(16, 1, Units::Tanh),
];
const PARTS: [&[Layer]; 3] = [&TRUNK, &GATES, &HEAD];
/// Bound of the gates' initial weights, as in PyTorch: 1 / sqrt(units).
const REACH: f32 = 0.176_776_7;

/// Policy in three parts: trunk before the recurrent layer, gates, and head.
#[derive(Clone)]
pub(super) struct Actor {
    parts: [Fitted; 3],
    /// True if the recurrent layer is used; otherwise trunk and head are connected directly, and the gates'
    /// values are unused.
    pub(super) remembers: bool,
}

/// Passes of all parts.
pub(super) struct Passes {
    trunk: Pass,
    gates: Pass,
    /// Cells before and after the decision.
    cells: (Vec<f32>, Vec<f32>),
    head: Pass,
}

impl Passes {
    pub(super) fn actions(&self) -> &[f32] {
        &self.head.output
    }
}

impl Actor {
    /// Creates a policy with small initial actions.
    pub(super) fn new(remembers: bool, rng: &mut Rng) -> Self {
        let trunk = {
            // `first` makes the last layer small, but here another layer follows the trunk.
            let whole = first(&[TRUNK.as_slice(), HEAD.as_slice()].concat(), rng);
            let size = TRUNK.iter().map(Layer::size).sum();
            Network::new(&TRUNK, whole.values()[..size].to_vec())
        };
        let gate = |_| (2.0 * rng.next_f64() as f32 - 1.0) * REACH;
        let gates = (0..GATES[0].size()).map(gate).collect();
        let parts = [trunk, Network::new(&GATES, gates), first(&HEAD, rng)];
        Self {
            parts: parts.map(Fitted::new),
            remembers,
        }
    }

    /// Runs the network on rows of [`READ`] inputs followed by the recurrent state.
    pub(super) fn forward(&self, rows: usize, seen: &[f32]) -> Passes {
        let [trunk, gates, head] = self.parts.each_ref().map(|part| &part.network);
        let each = || seen.chunks_exact(READ + MEMORY);
        let read = each().flat_map(|row| &row[..READ]).copied().collect();
        let trunk = forward(trunk, rows, read);
        let joined = trunk.output.chunks_exact(UNITS).zip(each());
        let joined = joined.flat_map(|(x, row)| x.iter().chain(&row[READ..READ + UNITS]));
        let gates = forward(gates, rows, joined.copied().collect());
        let before: Vec<f32> = each().flat_map(|row| &row[READ + UNITS..]).copied().collect();
        let (mut after, mut given) = (Vec::with_capacity(before.len()), Vec::with_capacity(before.len()));
        for (sums, cells) in gates
            .output
            .chunks_exact(4 * UNITS)
            .zip(before.chunks_exact(UNITS))
        {
            // PyTorch's order of gates: input, forget, cell, output.
            for (unit, cell) in cells.iter().enumerate() {
                let [i, f, g, o] = gates_of(sums, unit);
                after.push(f * cell + i * g);
                given.push(o * tanh(after[after.len() - 1]));
            }
        }
        if !self.remembers {
            given.clone_from(&trunk.output);
        }
        Passes {
            head: forward(head, rows, given),
            cells: (before, after),
            trunk,
            gates,
        }
    }

    /// Makes an optimiser step, given the derivatives with respect to the actions.
    pub(super) fn step(&mut self, passes: &Passes, by_action: Vec<f32>, rate: f64) {
        let slopes = self.slopes(passes, by_action);
        let parts = self.parts.iter_mut().zip(slopes);
        parts.for_each(|(part, slope)| part.step(&slope, rate));
    }

    /// Returns the derivatives with respect to all values.
    pub(super) fn slopes(&self, passes: &Passes, by_action: Vec<f32>) -> [Vec<f32>; 3] {
        let networks = self.parts.each_ref().map(|part| &part.network);
        let mut slopes = networks.map(|network| vec![0.0; network.values().len()]);
        let by_given = backward(networks[2], &passes.head, by_action, Some(&mut slopes[2]));
        let sums = passes.gates.output.chunks_exact(4 * UNITS);
        let mut by_sums = Vec::with_capacity(passes.gates.output.len());
        for (row, sums) in sums.enumerate() {
            let mut by = [0.0; 4 * UNITS];
            // The logistic function s has the derivative s (1 - s), the hyperbolic tangent t has 1 - t t.
            for unit in 0..UNITS {
                let index = row * UNITS + unit;
                let ([i, f, g, o], kept) = (gates_of(sums, unit), tanh(passes.cells.1[index]));
                let by_cell = by_given[index] * o * (1.0 - kept * kept);
                by[unit] = by_cell * g * i * (1.0 - i);
                by[UNITS + unit] = by_cell * passes.cells.0[index] * f * (1.0 - f);
                by[2 * UNITS + unit] = by_cell * i * (1.0 - g * g);
                by[3 * UNITS + unit] = by_given[index] * kept * o * (1.0 - o);
            }
            by_sums.extend(by);
        }
        let by_joined = backward(networks[1], &passes.gates, by_sums, Some(&mut slopes[1]));
        let by_read = by_joined.chunks_exact(2 * UNITS).flat_map(|row| &row[..UNITS]);
        let by_read = match self.remembers {
            true => by_read.copied().collect(),
            false => {
                // The gates are unused, so they must not be trained.
                slopes[1].fill(0.0);
                by_given
            }
        };
        backward(networks[0], &passes.trunk, by_read, Some(&mut slopes[0]));
        slopes
    }

    /// Changes one value, for tests.
    #[cfg(test)]
    pub(super) fn nudge(&mut self, mut index: usize, by: f32) {
        for part in &mut self.parts {
            let values = part.network.values_mut();
            match values.get_mut(index) {
                Some(value) => return *value += by,
                None => index -= values.len(),
            }
        }
    }

    /// Moves towards another policy by this share of the distance.
    pub(super) fn follow(&mut self, other: &Self, share: f32) {
        for (own, other) in self.parts.iter_mut().zip(&other.parts) {
            follow(&mut own.network, &other.network, share);
        }
    }

    /// Returns all values, part after part.
    pub(super) fn values(&self) -> Vec<f32> {
        let parts = self.parts.iter();
        parts.flat_map(|part| part.network.values()).copied().collect()
    }

    pub(super) fn state(&self) -> Vec<FittedState> {
        self.parts.iter().map(Fitted::state).collect()
    }

    pub(super) fn go_on_from(&mut self, state: Vec<FittedState>) -> Result<(), Error> {
        for ((part, layers), state) in self.parts.iter_mut().zip(PARTS).zip(state) {
            *part = Fitted::of(layers, state)?;
        }
        Ok(())
    }
}

/// Moves a network towards another by this share of the distance.
pub(super) fn follow(slow: &mut Network, fast: &Network, share: f32) {
    let values = slow.values_mut().iter_mut().zip(fast.values());
    values.for_each(|(slow, fast)| *slow += share * (fast - *slow));
}

fn gates_of(sums: &[f32], unit: usize) -> [f32; 4] {
    let sum = |gate: usize| sums[gate * UNITS + unit];
    [sigmoid(sum(0)), sigmoid(sum(1)), tanh(sum(2)), sigmoid(sum(3))]
}

/// Returns the files of a policy with these values: its card, and tensors in PyTorch's layout.
///
/// # Errors
/// The weights cannot be serialised.
pub(in super::super) fn files(
    name: &str,
    values: &[f32],
    remembers: bool,
    about: &str,
) -> Result<ModelFiles, Error> {
    const NAMES: [&str; 6] = ["first", "second", "third", "memory", "fifth", "last"];
    let mut tensors = Weights::new();
    let mut rest = values;
    for (layer, name) in PARTS.concat().iter().zip(NAMES) {
        let (own, later) = rest.split_at(layer.size());
        rest = later;
        // The card has no such layer then.
        if name == "memory" && !remembers {
            continue;
        }
        let (bias, weights) = own.split_at(layer.columns());
        let mut put = |what: &str, inputs: usize, weights: &[f32]| {
            let rows = transposed(inputs, layer.columns(), weights);
            tensors.insert(
                format!("{name}.{what}"),
                Tensor::new(&[layer.columns(), inputs], rows),
            );
        };
        if name == "memory" {
            // PyTorch stores weights of inputs and of the recurrent state separately.
            let (read, before) = weights.split_at(UNITS * layer.columns());
            put("weight_ih_l0", UNITS, read);
            put("weight_hh_l0", UNITS, before);
        } else {
            put("weight", layer.inputs, weights);
        }
        let bias_name = if name == "memory" { "bias_ih_l0" } else { "bias" };
        tensors.insert(
            format!("{name}.{bias_name}"),
            Tensor::new(&[layer.columns()], bias.to_vec()),
        );
    }
    let relu = |name: &str| json!({ "linear": name, "then": "relu" });
    let mut layers = vec![
        relu("first"),
        relu("second"),
        relu("third"),
        json!({ "lstm": "memory" }),
        relu("fifth"),
        json!({ "linear": "last", "then": "tanh" }),
    ];
    layers.retain(|layer| remembers || layer["lstm"].is_null());
    let card = json!({
        "format": 1,
        "kind": "policy",
        "name": name,
        "about": about,
        "observation": FEATURES,
        "history": WINDOW,
        "action": "window-multiplier",
        "step": STEP,
        "clock": "feedback",
        "interval": "8us",
        "silence": 3.0,
        "feedback": "switch-ack",
        "layers": layers,
    });
    let mut card = serde_json::to_vec_pretty(&card)
        .map_err(|error| Error::Options(format!("the card of {name} cannot be written: {error}")))?;
    card.push(b'\n');
    Ok(ModelFiles {
        weights: serialize(&tensors)?,
        card,
    })
}

/// Step of equation (2): alpha is 0.85, and actions are between -0.5 and 0.5.
const STEP: f64 = 0.425;
