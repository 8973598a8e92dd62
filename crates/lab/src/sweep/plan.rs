//! Plans of sweeps: axes, points, seeds and the ids of runs.

use paceline_kernel::sorted::SortedSet;
use paceline_scenario::sweep::{Axis, AxisValue, Grid};
use paceline_scenario::{Diagnostics, Overrides, Resolved};
use serde::{Deserialize, Serialize};

use super::SweepError;
use super::arguments::words;
use super::estimate::{memory, seconds};
use super::id::run_ids;
use super::stored::Stored;
use crate::InputWarnings;
use crate::run::side_by_side;

/// Number of points that are resolved before their results are merged.
const POINTS_AT_ONCE: usize = 4096;
/// Maximum number of runs in a plan.
const RUNS_MAX: u128 = 1_000_000;

/// Definition of a sweep: scenario, changes and repeats.
#[derive(Clone, Debug, Default)]
pub struct Study {
    /// Scenario, as in [`paceline_scenario::load`].
    pub input: String,
    /// Changes from the command line, `--over` included.
    pub overrides: Overrides,
    /// Seeds per point; `None` unless the command line sets them.
    pub repeats: Option<u32>,
    /// Command-line arguments; see [`Plan::arguments`].
    pub arguments: Vec<String>,
}

impl Study {
    /// Creates a study with the arguments that a command line would have.
    pub fn new(input: impl Into<String>, overrides: Overrides, repeats: Option<u32>) -> Self {
        let input = input.into();
        Self {
            arguments: words(&input, &overrides, repeats),
            input,
            overrides,
            repeats,
        }
    }

    /// Builds the plan: resolves and checks every point of the grid, on at most `jobs` threads.
    ///
    /// # Errors
    /// The scenario, the grid or one of its points is wrong.
    pub fn plan(&self, jobs: usize) -> Result<Plan, SweepError> {
        let grid = paceline_scenario::grid(&self.input, &self.overrides)?;
        let repeats = self.repeats.or(grid.repeats);
        if grid.axes.is_empty() && repeats.unwrap_or(1) < 2 {
            return Err(SweepError::Refused(
                "there is nothing to sweep: use --over KEY=VALUE,VALUE,.. or --repeats N, or the scenario's [sweep] \
                 table"
                    .into(),
            ));
        }
        let repeats = repeats.unwrap_or(1);
        // Counted before any point is built, since a mistyped range may have more points than fit in memory.
        let sizes = grid.axes.iter().map(|axis| axis.values.len() as u128);
        let runs = sizes.chain([u128::from(repeats)]).fold(1, u128::saturating_mul);
        if runs > RUNS_MAX {
            return Err(SweepError::Refused(format!(
                "the grid has {runs} runs: expected at most {RUNS_MAX}"
            )));
        }
        let values = points(&grid);
        let version = crate::identity::version();
        // Every point is resolved now, so that a bad one is reported before the first run and not hours later.
        let resolve = |values: &Vec<usize>| -> Result<_, SweepError> {
            let input = self.load(values, None)?;
            let seeds = seeds(input.seed, repeats)?;
            let point = Point {
                values: values.clone(),
                scheme: input.scheme.clone(),
                runs: run_ids(&input, &seeds, version),
            };
            let warnings = InputWarnings::of([&input]);
            let needs = (seconds(&input), memory(&input));
            let head = (input.name, input.description, seeds);
            Ok((point, head, (warnings, input.named), needs))
        };
        let mut plan = Plan {
            version: version.to_string(),
            scenario: String::new(),
            description: String::new(),
            arguments: self.arguments.clone(),
            axes: grid.axes,
            seeds: Vec::new(),
            points: Vec::with_capacity(values.len()),
            input_warnings: InputWarnings::default(),
            seconds: Vec::with_capacity(values.len()),
            memory: 0,
            stored: Stored::of(&self.input, &self.overrides, Vec::new())?,
        };
        // In parts, since what a point comes with takes more memory than what is kept of it.
        for part in values.chunks(POINTS_AT_ONCE) {
            for point in side_by_side(part.len(), jobs, &|i| resolve(&part[i])) {
                let (point, head, (warnings, named), (seconds, memory)) = point?;
                let (scenario, description, seeds) = head;
                plan.input_warnings.add(&warnings);
                plan.stored.add(named);
                if plan.points.is_empty() {
                    (plan.scenario, plan.description, plan.seeds) = (scenario, description, seeds);
                }
                plan.points.push(point);
                plan.seconds.push(seconds);
                plan.memory = plan.memory.max(memory);
            }
        }
        // Needs the ids of all points, since two values may agree at some points only.
        plan.check_values()?;
        Ok(plan)
    }

    /// Loads the scenario at a point, with its own seed or another.
    pub fn load(&self, point: &[usize], seed: Option<u64>) -> Result<Resolved, Diagnostics> {
        let mut overrides = self.overrides.clone();
        overrides.point = point.to_vec();
        overrides.seed = seed.or(overrides.seed);
        crate::load(&self.input, &overrides)
    }
}

/// Returns every combination of the axes' values; the last axis varies fastest.
fn points(grid: &Grid) -> Vec<Vec<usize>> {
    grid.axes.iter().fold(vec![Vec::new()], |points, axis| {
        let with = |point: &Vec<usize>, value| [&point[..], &[value]].concat();
        let more = |point| (0..axis.values.len()).map(move |value| with(point, value));
        points.iter().flat_map(more).collect()
    })
}

/// Returns `repeats` consecutive seeds from `first` on.
fn seeds(first: u64, repeats: u32) -> Result<Vec<u64>, SweepError> {
    let last = first.checked_add(u64::from(repeats) - 1);
    match last.filter(|&last| i64::try_from(last).is_ok()) {
        Some(last) => Ok((first..=last).collect()),
        None => Err(SweepError::Refused(format!(
            "there are no {repeats} seeds from {first} on"
        ))),
    }
}

/// Axes, points and runs of a sweep: the content of `sweep.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of the program with the hash of its code.
    pub version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Description in the scenario.
    pub description: String,
    /// Arguments of `paceline sweep` that produce this plan.
    pub arguments: Vec<String>,
    /// Axes of the grid, with their values.
    pub axes: Vec<Axis>,
    /// Seeds of every point: common random numbers.
    pub seeds: Vec<u64>,
    /// Points of the grid; the last axis varies fastest.
    pub points: Vec<Point>,
    /// Warnings about the inputs of the points, each with the first seed. Not in the file: rows have them.
    #[serde(skip)]
    pub input_warnings: InputWarnings,
    /// Estimated seconds of a run of each point on one core, within a factor of about three. Not in the file, so empty
    /// for a plan from one.
    #[serde(skip)]
    pub seconds: Vec<f64>,
    /// Estimated memory of the largest run, in bytes. Not in the file either.
    #[serde(skip)]
    pub memory: u64,
    /// Scenario and the files that it names, for the sweep's folder. Empty for a plan from a file.
    #[serde(skip)]
    pub stored: Stored,
}

/// Point of the grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// Index of the value of each axis.
    pub values: Vec<usize>,
    /// Name of the scheme.
    pub scheme: String,
    /// Ids of the runs, one per seed. Points with equal settings share their runs.
    pub runs: Vec<String>,
}

impl Plan {
    /// Returns the values of a point, in the order of the axes.
    pub fn values<'a>(&'a self, point: &'a Point) -> impl Iterator<Item = &'a AxisValue> {
        let axes = self.axes.iter().zip(&point.values);
        axes.map(|(axis, &value)| &axis.values[value])
    }

    /// Returns every run once, in the order of the plan: its id, the first point that it belongs to, and the index of
    /// its seed.
    pub fn runs(&self) -> Vec<(&str, usize, usize)> {
        let mut seen = SortedSet::new();
        let all = self.points.iter().enumerate().flat_map(|(number, point)| {
            let ids = point.runs.iter().enumerate();
            ids.map(move |(repeat, id)| (id.as_str(), number, repeat))
        });
        all.filter(|(id, ..)| seen.insert(*id)).collect()
    }

    /// Returns true if another plan has the same runs at the same points.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        (&self.version, &self.axes, &self.seeds, &self.points)
            == (&other.version, &other.axes, &other.seeds, &other.points)
    }

    /// Rejects two values of an axis that give the same runs at every point: either another key overrides the axis, or
    /// the two are spellings of one value. (Equal runs at only some points are fine: a parameter of one scheme does
    /// nothing under another.)
    fn check_values(&self) -> Result<(), SweepError> {
        // Points that differ in one axis are this far apart.
        let mut stride = self.points.len();
        for (number, axis) in self.axes.iter().enumerate() {
            stride /= axis.values.len();
            let mut known = SortedSet::new();
            for value in 0..axis.values.len() {
                let runs: Vec<_> = (self.points.iter())
                    .filter(|point| point.values[number] == value)
                    .flat_map(|point| &point.runs)
                    .collect();
                if known.insert(runs) {
                    continue;
                }
                let same = |&other: &usize| {
                    let here = self.points.iter().enumerate();
                    let mut here = here.filter(|(_, point)| point.values[number] == value);
                    here.all(|(i, point)| self.points[i - (value - other) * stride].runs == point.runs)
                };
                let other = (0..value).find(same).unwrap_or(0);
                return Err(SweepError::Refused(format!(
                    "the values `{}` and `{}` of `{}` give the same runs: they mean the same, or something \
                     else overrides them",
                    axis.values[other], axis.values[value], axis.key
                )));
            }
        }
        Ok(())
    }

    /// Checks that every index in the plan is valid; in a damaged file some may not be.
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::sweep) fn study(over: &[&str], repeats: Option<u32>) -> (tempfile::TempDir, Study) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiny.toml");
        std::fs::write(&path, super::super::tests::TINY).unwrap();
        let overrides = Overrides {
            over: over.iter().map(ToString::to_string).collect(),
            ..Overrides::default()
        };
        let study = Study {
            input: path.display().to_string(),
            overrides,
            repeats,
            arguments: Vec::new(),
        };
        (folder, study)
    }

    /// The number of runs is checked before any point is built.
    #[test]
    fn a_grid_of_too_many_runs_is_refused_with_their_number() {
        let values: Vec<String> = (1..=1000).map(|kb| format!("{kb}KB")).collect();
        let keys = ["workload.0.incast.size", "network.buffer", "network.ecn.kmin"];
        let over: Vec<String> = keys
            .iter()
            .map(|key| format!("{key}={}", values.join(",")))
            .collect();
        let over: Vec<&str> = over.iter().map(String::as_str).collect();
        let (_folder, study) = study(&over, Some(u32::MAX));
        let message = study.plan(1).unwrap_err().to_string();
        let runs = 1000_u128.pow(3) * u128::from(u32::MAX);
        assert!(
            message.contains(&format!("{runs} runs: expected at most 1000000")),
            "{message}"
        );
    }

    #[test]
    fn a_plan_by_hand() {
        let over = ["cc.scheme=hpcc,none", "workload.0.incast.size=1KB,2KB,3KB"];
        let (_folder, study) = study(&over, Some(2));
        let plan = study.plan(2).unwrap();
        assert_eq!(plan, study.plan(1).unwrap());
        assert_eq!((plan.scenario.as_str(), &plan.seeds[..]), ("tiny", &[5, 6][..]));
        let values: Vec<_> = plan.points.iter().map(|point| point.values.clone()).collect();
        assert_eq!(values, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
        let schemes: Vec<_> = plan.points.iter().map(|point| point.scheme.as_str()).collect();
        assert_eq!(schemes, ["hpcc", "hpcc", "hpcc", "none", "none", "none"]);
        let texts: Vec<_> = plan.values(&plan.points[4]).map(ToString::to_string).collect();
        assert_eq!(texts, ["none", "2KB"]);
        let runs = plan.runs();
        assert_eq!(runs.len(), 12);
        let indices: Vec<_> = runs.iter().map(|&(_, point, repeat)| (point, repeat)).collect();
        assert_eq!(indices[..3], [(0, 0), (0, 1), (1, 0)]);
        // The seed of the command line is the first.
        let mut other = study.clone();
        other.overrides.seed = Some(6);
        let other = other.plan(1).unwrap();
        assert_eq!(other.seeds, [6, 7]);
        assert_eq!(other.points[3].runs[0], plan.points[3].runs[1]);
    }

    #[test]
    fn what_one_scheme_does_not_know_is_run_once() {
        let over = ["cc.scheme=none,hpcc", "cc.hpcc.eta=0.9,0.95"];
        let (_folder, study) = study(&over, None);
        let plan = study.plan(1).unwrap();
        assert_eq!((plan.points.len(), plan.runs().len()), (4, 3));
        assert_eq!(plan.points[0].runs, plan.points[1].runs);
    }

    #[test]
    fn refusals() {
        for (over, repeats, expected) in [
            (&[][..], None, "there is nothing to sweep"),
            (&[], Some(1), "there is nothing to sweep"),
            (
                &["network.mtu=1KB,500B,1000B"],
                None,
                "the values `1KB` and `1000B` of `network.mtu`",
            ),
            (
                &[
                    "workload.0.incast.size=1KB,2KB",
                    "workload.burst.incast.size=3KB,4KB",
                ],
                None,
                "the values `1KB` and `2KB` of `workload.0.incast.size`",
            ),
            (&["cc.hpcc.etaa=0.9"], None, "--over:1:9: unknown key `etaa`"),
            (&["check=true"], Some(2_000_000), "the grid has 2000000 runs"),
        ] {
            let (_folder, study) = study(over, repeats);
            let error = study.plan(2).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{over:?}: {error}");
        }
        let (_folder, mut study) = study(&[], Some(2));
        study.overrides.seed = Some(i64::MAX as u64);
        let error = study.plan(1).unwrap_err().to_string();
        assert!(error.starts_with("there are no 2 seeds"), "{error}");
    }
}
