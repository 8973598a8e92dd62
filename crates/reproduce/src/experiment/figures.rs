//! Figures of an experiment: recipes of `paceline plot`, whose runs are those of a grid.

use paceline_kernel::sorted::SortedMap;
use paceline_lab::InputWarnings;
use paceline_lab::measures::{find_summary, summary_names};
use paceline_lab::sweep::{Keep, Plan, Point, Row, Status, Stored, SweepData};
use paceline_query::Run;
use paceline_report::figure::FigureKind;
use paceline_scenario::diagnostics::Source;
use paceline_scenario::sweep::Axis;
use paceline_scenario::{Diagnostics, Problem};
use toml::{Spanned, Value};

use super::names::{Grid, Names, unknown};
use crate::need::{Done, RunRequest};

/// Options of `paceline plot` as a file has them, with their positions.
pub type Recipe = SortedMap<String, Spanned<Value>>;

/// Keys of a recipe that concern the runs.
const RUNS: &str = "runs";
const WHAT: &str = "what";
const OVER: &str = "over";
const SQL: &str = "sql";

/// Figure of the runs of a grid.
#[derive(Clone, Debug)]
pub struct FigurePlan {
    /// Recipe without its runs; its axis has the key of the scenario.
    pub recipe: Recipe,
    /// File of the experiment, for messages.
    pub source: Source,
    /// Sweep over the grid; ids are indices of requests.
    plan: Plan,
}

impl FigurePlan {
    /// Returns the finished runs of the experiment's requests as a sweep, whose ids are names of runs.
    pub fn sweep(&self, needs: &[RunRequest], done: &Done) -> SweepData {
        let mut plan = self.plan.clone();
        let mut rows = SortedMap::new();
        for point in &mut plan.points {
            for id in &mut point.runs {
                let need = id.parse::<usize>().ok().and_then(|index| needs.get(index));
                let Some(run) = need.and_then(|need| done.ended(need)) else {
                    continue;
                };
                *id = run.need.name();
                let row = |summary: &paceline_lab::results::Summary| Row {
                    id: id.clone(),
                    version: plan.version.clone(),
                    seed: summary.seed,
                    status: Status::Completed,
                    message: None,
                    keep: Keep::Summary,
                    summary: Some(summary.clone()),
                    draws_nothing: false,
                };
                rows.extend(run.summary.as_ref().map(|summary| (id.clone(), row(summary))));
            }
        }
        SweepData { plan, rows }
    }
}

/// Reads the figures: their runs, quantity and axis. The other keys are those of `paceline plot`, which knows them.
pub(super) fn read(
    figures: &[Recipe],
    names: &Names,
    needs: &mut [RunRequest],
    source: &Source,
) -> Result<Vec<FigurePlan>, Diagnostics> {
    let mut plans = Vec::new();
    let mut problems = Vec::new();
    for recipe in figures {
        match figure(recipe, names, needs, source) {
            Ok(plan) => plans.push(plan),
            Err(problem) => problems.push(problem),
        }
    }
    match Diagnostics::of(problems) {
        Some(diagnostics) => Err(diagnostics),
        None => Ok(plans),
    }
}

fn figure(
    recipe: &Recipe,
    names: &Names,
    needs: &mut [RunRequest],
    source: &Source,
) -> Result<FigurePlan, Problem> {
    let mut recipe = recipe.clone();
    let grid = grid(recipe.remove(RUNS), names, source)?;
    let axes: Vec<&Axis> = grid.axes.iter().map(|&axis| &names.axes[axis].swept).collect();
    if let Some(over) = recipe.get_mut(OVER) {
        let location = source.at(over.span());
        let named = over.get_ref().as_str().unwrap_or_default();
        let is_it = |&axis: &usize| {
            let (own, key) = (&names.axes[axis].name, &names.axes[axis].swept.key);
            own == named || key == named || key.ends_with(&format!(".{named}"))
        };
        let Some(&axis) = grid.axes.iter().find(|axis| is_it(axis)) else {
            let known: Vec<&str> = grid
                .axes
                .iter()
                .map(|&axis| names.axes[axis].name.as_str())
                .collect();
            return Err(unknown("axis", named, &known).at(&location));
        };
        *over = Spanned::new(over.span(), names.axes[axis].swept.key.clone().into());
    }
    if needs_folders(&recipe, source)? {
        let runs = grid.runs.iter().flatten().cloned().flatten();
        runs.for_each(|run| needs[run].folder = true);
    }
    let plan = plan(grid, &axes, names, needs)?;
    Ok(FigurePlan {
        recipe,
        source: source.clone(),
        plan,
    })
}

/// Returns the grid that a figure is of: the only one unless it is named.
fn grid<'a>(runs: Option<Spanned<Value>>, names: &'a Names, source: &Source) -> Result<&'a Grid, Problem> {
    let named = match &runs {
        None => None,
        Some(runs) => {
            let one = match runs.get_ref() {
                Value::Array(all) if all.len() == 1 => all[0].as_str(),
                one => one.as_str(),
            };
            let location = source.at(runs.span());
            let expected = || Problem::new("expected the name of one of `[[runs]]`").at(&location);
            Some((one.ok_or_else(expected)?, location))
        }
    };
    match (named, &names.grids[..]) {
        (Some((name, location)), all) => Ok(&all[names.grid(name, &location)?]),
        (None, [only]) => Ok(only),
        (None, []) => Err(Problem::new("a figure needs runs").at(&source.end())),
        (None, _) => {
            let problem = Problem::new("a figure is of one of several `[[runs]]`").at(&source.end());
            Err(problem.help(format!("say which: {RUNS} = \"..\"")))
        }
    }
}

/// Checks the quantity of a figure. Returns true if it is about more of the runs than their summaries.
fn needs_folders(recipe: &Recipe, source: &Source) -> Result<bool, Problem> {
    if let Some(sql) = recipe.get(SQL)
        && let Some(text) = sql.get_ref().as_str()
    {
        let checked = Run::empty().check(text);
        checked.map_err(|error| Problem::new(error.to_string()).at(&source.at(sql.span())))?;
        return Ok(true);
    }
    let Some(what) = recipe.get(WHAT) else {
        return Ok(false);
    };
    let name = what.get_ref().as_str().unwrap_or_default();
    let kinds = || FigureKind::ALL.into_iter().map(FigureKind::name);
    if kinds().any(|kind| kind == name) {
        return Ok(true);
    }
    match find_summary(name) {
        Some(_) => Ok(false),
        None => {
            let known: Vec<&str> = kinds().chain(summary_names()).collect();
            Err(unknown("figure or measure", name, &known).at(&source.at(what.span())))
        }
    }
}

/// Returns a grid as the plan of a sweep. Combinations that are not run have no point.
fn plan(grid: &Grid, axes: &[&Axis], names: &Names, needs: &[RunRequest]) -> Result<Plan, Problem> {
    let mut points = Vec::new();
    let mut seeds: Vec<u64> = Vec::new();
    for (bound, runs) in names.combinations(&grid.axes)?.iter().zip(&grid.runs) {
        let Some(runs) = runs else { continue };
        let of_point: Vec<u64> = needs[runs.clone()].iter().map(RunRequest::seed).collect();
        if of_point.len() > seeds.len() {
            seeds = of_point;
        }
        points.push(Point {
            values: grid.axes.iter().map(|axis| bound[axis]).collect(),
            scheme: needs[runs.start].scheme.clone(),
            runs: runs.clone().map(|run| run.to_string()).collect(),
        });
    }
    Ok(Plan {
        version: crate::identity::version().to_string(),
        scenario: String::new(),
        description: String::new(),
        arguments: Vec::new(),
        axes: axes.iter().map(|&axis| axis.clone()).collect(),
        seeds,
        points,
        input_warnings: InputWarnings::default(),
        seconds: Vec::new(),
        memory: 0,
        stored: Stored::default(),
    })
}
