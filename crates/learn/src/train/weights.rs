//! Weights under PyTorch's names.

use paceline_kernel::sorted::SortedMap;
use serde::{Deserialize, Serialize};

/// Tensor of weights with its shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tensor {
    /// Size of each dimension.
    pub shape: Vec<usize>,
    /// Values in row-major order.
    pub values: Vec<f32>,
}

/// Tensors by PyTorch's names.
pub type Weights = SortedMap<String, Tensor>;

impl Tensor {
    /// Returns a tensor of a shape with these values.
    ///
    /// # Panics
    /// The number of values does not fit the shape.
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

/// Iterates over all values, tensors in the order of their names.
pub fn flat(weights: &Weights) -> impl Iterator<Item = f32> {
    weights.values().flat_map(|tensor| tensor.values.iter().copied())
}

/// Reverses [`flat`] for tensors of these names and shapes.
///
/// # Panics
/// There are too few values.
pub fn shaped(shapes: impl IntoIterator<Item = (String, Vec<usize>)>, values: &[f32]) -> Weights {
    let shapes: SortedMap<String, Vec<usize>> = shapes.into_iter().collect();
    let mut rest = values;
    let tensor = |(name, shape): (String, Vec<usize>)| {
        let (own, others) = rest.split_at(shape.iter().product());
        rest = others;
        (name, Tensor::new(&shape, own.to_vec()))
    };
    shapes.into_iter().map(tensor).collect()
}
