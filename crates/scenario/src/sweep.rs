//! Grid of a sweep: its axes and their values.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Grid of a sweep: every combination of the axes' values is a point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// Axes in the order in which they were written.
    pub axes: Vec<Axis>,
    /// Number of seeds per point, if the scenario sets it.
    pub repeats: Option<u32>,
}

/// Key of the scenario with the values to sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Path of the key, as for `--set`.
    pub key: String,
    /// Distinct values, at least one.
    pub values: Vec<AxisValue>,
}

/// Value on an axis, for tables and plots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AxisValue {
    /// Boolean value, which has no scale.
    Bool(bool),
    /// Integer of at most 64 bits, signed.
    Int(i64),
    /// Floating-point number of 64 bits.
    Real(f64),
    /// Name, quantity with its unit, or any other text as written.
    Text(String),
}

impl AxisValue {
    /// Returns the value as a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Real(value) => Some(*value),
            Self::Bool(_) | Self::Text(_) => None,
        }
    }
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Real(value) => value.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl Grid {
    /// Returns the number of points: the product of the numbers of values.
    pub fn points(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }
}
