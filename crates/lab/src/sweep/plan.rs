//! What a sweep consists of.

use paceline_scenario::sweep::{Axis, AxisValue};
use serde::{Deserialize, Serialize};

/// A sweep's axes, points and runs: the content of `sweep.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The program's version.
    pub version: String,
    /// The scenario's name.
    pub scenario: String,
    /// What the scenario says of itself.
    pub description: String,
    /// The arguments of `paceline sweep` that give this plan.
    pub arguments: Vec<String>,
    /// What varies.
    pub axes: Vec<Axis>,
    /// The seeds of every point: common random numbers.
    pub seeds: Vec<u64>,
    /// The grid; the last axis varies fastest.
    pub points: Vec<Point>,
}

/// A point of the grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The value of each axis, by its number.
    pub values: Vec<usize>,
    /// The scheme's name.
    pub scheme: String,
    /// The id of the run of each seed. Points that differ in nothing share their runs.
    pub runs: Vec<String>,
}

impl Plan {
    /// The values of a point, in the order of the axes.
    pub fn values<'a>(&'a self, point: &'a Point) -> impl Iterator<Item = &'a AxisValue> {
        let axes = self.axes.iter().zip(&point.values);
        axes.map(|(axis, &value)| &axis.values[value])
    }

    /// Every run once, in the order of the plan: its id, the first point that it belongs to, and
    /// the number of its seed.
    pub fn runs(&self) -> Vec<(&str, usize, usize)> {
        let mut seen = std::collections::BTreeSet::new();
        let all = self.points.iter().enumerate().flat_map(|(number, point)| {
            let ids = point.runs.iter().enumerate();
            ids.map(move |(repeat, id)| (id.as_str(), number, repeat))
        });
        all.filter(|(id, ..)| seen.insert(*id)).collect()
    }

    /// Whether every number in it leads somewhere, as it does unless the file was damaged.
    pub(super) fn check(&self) -> Result<(), String> {
        let within = |point: &Point| {
            point.runs.len() == self.seeds.len()
                && point.values.len() == self.axes.len()
                && (point.values.iter().zip(&self.axes)).all(|(&value, axis)| value < axis.values.len())
        };
        match self.points.iter().position(|point| !within(point)) {
            Some(bad) => Err(format!("point {bad} does not fit the axes and seeds")),
            None => Ok(()),
        }
    }
}
