//! The grid of a sweep: its axes and their values.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a sweep varies: every combination of the axes' values is a point of the grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Grid {
    /// In the order in which they were written.
    pub axes: Vec<Axis>,
    /// Seeds of each point, if the scenario says how many.
    pub repeats: Option<u32>,
}

/// A key of the scenario and the values that it takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// `path.to.key`, as with `--set`.
    pub key: String,
    /// At least one, no two the same.
    pub values: Vec<AxisValue>,
}

/// A value on an axis, for tables and plots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AxisValue {
    /// A switch.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A real number.
    Real(f64),
    /// A name, a quantity with its unit, or anything else as it was written.
    Text(String),
}

impl AxisValue {
    /// Its value on a scale, where it has one.
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
    /// Points of the grid: the product of the numbers of values.
    pub fn points(&self) -> usize {
        self.axes.iter().map(|axis| axis.values.len()).product()
    }
}
