//! Steps that count weights, operations and trees of the built-in models, and that compare their decisions.

use std::sync::Arc;

use paceline_congestion::learned::layers::{Layer, Network, Units};
use paceline_congestion::learned::model::Model;
use paceline_congestion::learned::shipped;
use paceline_learn::decc::{difference, in_trials};

use crate::{Metrics, Step, StepError, Work};

pub(super) const COUNTED: Step = Step {
    name: "models, counted",
    title: "counting models",
    work: counted,
};

pub(super) const COMPRESSED: Step = Step {
    name: "networks, compressed",
    title: "comparing the compressed networks",
    work: compressed,
};

pub(super) const TRIALS: Step = Step {
    name: "DECC in trials",
    title: "running policies in trials",
    work: trials,
};

/// Models that run in trials.
const TRIED: [&str; 5] = [
    "decc-law",
    "decc-net",
    "decc-net-q4",
    "decc-tree-100",
    "decc-tree-300",
];

fn trials(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let models = TRIED.map(found).into_iter().collect::<Result<Vec<_>, _>>()?;
    let costs = in_trials(&models, work.jobs).map_err(StepError::of)?;
    let names = ["Swift, by hand", "Swift, tuned"].into_iter().chain(TRIED);
    Ok(Metrics::of(names.zip(costs.into_iter().map(Some))))
}

/// Models that are counted.
const MODELS: [&str; 7] = [
    "decc-net",
    "decc-net-q4",
    "decc-tree-100",
    "decc-tree-300",
    "adpg",
    "aurora",
    "spine",
];

/// DECC's network as printed in its paper: layers of 128, 64 and 32 units, a memory of 32, 16 units and one.
const PRINTED: [usize; 4] = [128, 64, 32, 16];
/// Gates of the memory, and operations per unit in addition to its sums.
const MEMORY: (usize, usize) = (4, 5);

fn found(name: &str) -> Result<Arc<Model>, StepError> {
    shipped::find(name).ok_or_else(|| StepError::of(format!("no model `{name}` ships")))
}

fn counted(_: &mut Work<'_>) -> Result<Metrics, StepError> {
    let mut numbers = Metrics::default();
    for name in MODELS {
        let model = found(name)?;
        let mut put = |what: &str, value: usize| numbers.set(format!("{name}: {what}"), value as f64);
        put("numbers", model.parameters());
        if let Some(forest) = model.forest() {
            let trees = &forest.parts().trees;
            put("trees", trees.len());
            put("questions", trees.iter().map(|tree| tree.splits.len()).sum());
            put("leaves", trees.iter().map(|tree| tree.leaves.len()).sum());
            // Thresholds and leaves are integers, so a tree needs no floating point.
            put("floating-point operations", 0);
            put("operations", trees.iter().map(|tree| tree.splits.len() + 1).sum());
        } else {
            let (weights, kept, operations) = match (model.layers(), model.policy()) {
                (Some(network), _) => of_layers(network),
                // Two layers of rectified units, without biases.
                (None, Some(policy)) => {
                    let weights = policy.weights().count();
                    (weights, weights, 2 * weights + 24)
                }
                (None, None) => (0, 0, 0),
            };
            put("weights", weights);
            put("weights left", kept);
            put("operations", operations);
            let whole = model.card().quantisation.is_some();
            put("floating-point operations", if whole { 0 } else { operations });
        }
    }
    for inputs in [9, 25, 30, 31, 32] {
        numbers.set(
            format!("printed, {inputs} inputs: numbers"),
            printed(inputs).0 as f64,
        );
        numbers.set(
            format!("printed, {inputs} inputs: operations"),
            printed(inputs).1 as f64,
        );
    }
    Ok(numbers)
}

/// Returns the number of weights, of non-zero weights, and of operations: two for each non-zero weight, and one for
/// each non-linear unit.
fn of_layers(network: &Network) -> (usize, usize, usize) {
    let (mut all, mut left, mut units) = (0, 0, 0);
    for (layer, _, weights) in network.parts() {
        all += weights.len();
        left += weights.iter().filter(|&&weight| weight != 0.0).count();
        units += match layer {
            Layer {
                units: Units::Linear, ..
            } => 0,
            layer => layer.columns(),
        };
    }
    (all, left, 2 * left + units)
}

/// Returns the number of weights and operations of the printed network, counted by the same rules.
fn printed(inputs: usize) -> (usize, usize) {
    let [first, second, third, last] = PRINTED;
    let (gates, of_unit) = MEMORY;
    let dense = [
        (inputs, first),
        (first, second),
        (second, third),
        (third, last),
        (last, 1),
    ];
    let products: usize = dense.iter().map(|(from, to)| from * to).sum();
    let biases: usize = dense.iter().map(|(_, to)| to).sum();
    let memory = gates * 2 * third * third;
    let numbers = products + biases + memory + gates * third;
    (
        numbers,
        2 * (products + memory) + first + second + third + last + of_unit * third,
    )
}

fn compressed(work: &mut Work<'_>) -> Result<Metrics, StepError> {
    let (whole, small) = (found("decc-net")?, found("decc-net-q4")?);
    let mut numbers = Metrics::default();
    let apart = difference(&whole, &small, work.jobs).map_err(StepError::of)?;
    numbers.set("difference of outputs", 100.0 * apart);
    let network = small
        .layers()
        .ok_or_else(|| StepError::of("decc-net-q4 has no layers"))?;
    let said = small.card().quantisation.as_ref();
    let steps = said.ok_or_else(|| StepError::of("decc-net-q4 is not in whole numbers"))?;
    let (all, left, _) = of_layers(network);
    numbers.set("weights removed", 100.0 * (1.0 - left as f64 / all as f64));
    // The weights of each output are multiples of its step, between the largest one and its negative.
    let (mut bits, mut count) = (0.0, 0);
    for ((layer, _, weights), step) in network.parts().zip(&steps.steps) {
        for column in 0..layer.columns() {
            let own = weights.iter().skip(column).step_by(layer.columns());
            let kept: Vec<f64> = own
                .filter(|&&weight| weight != 0.0)
                .map(|weight| f64::from(weight.abs()))
                .collect();
            let largest = kept.iter().copied().fold(0.0, f64::max);
            if largest > 0.0 {
                bits += kept.len() as f64 * (2.0 * largest / f64::from(*step)).log2();
                count += kept.len();
            }
        }
    }
    let bits = bits / count.max(1) as f64;
    numbers.set("bits", bits);
    numbers.set(
        "fewer bits in weights, times",
        32.0 * all as f64 / (bits * left as f64),
    );
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With 31 inputs the printed network has the printed number of operations.
    #[test]
    fn the_printed_network() {
        assert_eq!(printed(31).1, 46_256);
    }

    /// The built-in network has 8, 32, 32 and 1 units.
    #[test]
    fn a_network_is_counted() {
        let network = found("decc-net").unwrap().layers().cloned().unwrap();
        let (all, left, operations) = of_layers(&network);
        assert_eq!(all, 8 * 32 + 32 * 32 + 32);
        assert_eq!((left, operations), (all, 2 * all + 65));
    }
}
