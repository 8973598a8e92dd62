//! Weights, by the names that PyTorch gives them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A tensor of weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tensor {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its values, the last index fastest.
    pub values: Vec<f32>,
}

/// Tensors by name.
pub type Weights = BTreeMap<String, Tensor>;

impl Tensor {
    /// Of a shape and as many values.
    ///
    /// # Panics
    /// If there are more or fewer.
    pub fn new(shape: &[usize], values: Vec<f32>) -> Self {
        assert_eq!(
            shape.iter().product::<usize>(),
            values.len(),
            "values fill the shape"
        );
        Self {
            shape: shape.to_vec(),
            values,
        }
    }
}

/// All values in a row, tensors in the order of their names.
pub fn flat(weights: &Weights) -> impl Iterator<Item = f32> {
    weights.values().flat_map(|tensor| tensor.values.iter().copied())
}

/// Back from [`flat`], for tensors of these names and shapes.
///
/// # Panics
/// If there are fewer values.
pub fn shaped(shapes: impl IntoIterator<Item = (String, Vec<usize>)>, values: &[f32]) -> Weights {
    let shapes: BTreeMap<String, Vec<usize>> = shapes.into_iter().collect();
    let mut rest = values;
    let tensor = |(name, shape): (String, Vec<usize>)| {
        let (own, others) = rest.split_at(shape.iter().product());
        rest = others;
        (name, Tensor::new(&shape, own.to_vec()))
    };
    shapes.into_iter().map(tensor).collect()
}
