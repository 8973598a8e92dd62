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
    /// Path of the key, as for `--set`; `case` for named cases, and paths with commas between them for keys in step.
    pub key: String,
    /// Distinct values, at least one; labels of named cases and of keys in step.
    pub values: Vec<AxisValue>,
    /// For each label, the keys that it sets, with their values; empty for the axis of one key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Vec<(String, AxisValue)>>,
}

impl Axis {
    /// Creates the axis of a key.
    pub fn of_key(key: impl Into<String>, values: Vec<AxisValue>) -> Self {
        Self {
            key: key.into(),
            values,
            settings: Vec::new(),
        }
    }

    /// Returns the keys that a value of the axis sets, and their values.
    pub fn sets(&self, value: usize) -> Vec<(&str, &AxisValue)> {
        match self.settings.get(value) {
            Some(settings) => settings
                .iter()
                .map(|(key, value)| (key.as_str(), value))
                .collect(),
            None => vec![(&self.key, &self.values[value])],
        }
    }

    /// Returns the keys that the axis varies, each once.
    pub fn keys(&self) -> Vec<&str> {
        if self.settings.is_empty() {
            return vec![&self.key];
        }
        let mut keys: Vec<&str> = Vec::new();
        for (key, _) in (0..self.values.len()).flat_map(|value| self.sets(value)) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// Returns the axis's name in figures: the last part of each key.
    pub fn name(&self) -> String {
        let last = |key: &str| key.rsplit('.').next().unwrap_or(key).to_string();
        self.key.split(',').map(last).collect::<Vec<_>>().join(", ")
    }
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
