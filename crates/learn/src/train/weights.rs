//! Weights, by the names that PyTorch gives them.

use std::collections::BTreeMap;

use candle_core::{DType, Device};

use crate::Error;

/// A tensor of weights.
#[derive(Clone, Debug, PartialEq)]
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

    pub(super) fn to_library(&self) -> Result<candle_core::Tensor, Error> {
        let tensor = candle_core::Tensor::from_slice(&self.values, self.shape.as_slice(), &Device::Cpu)?;
        Ok(tensor.to_dtype(DType::F32)?)
    }

    pub(super) fn of_library(tensor: &candle_core::Tensor) -> Result<Self, Error> {
        let values = tensor.flatten_all()?.to_vec1::<f32>()?;
        Ok(Self::new(tensor.dims(), values))
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
