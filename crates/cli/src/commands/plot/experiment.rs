//! Figures of an experiment: recipes that are drawn from its runs.

use std::path::{Component, Path, PathBuf};

use paceline_lab::run::cores;
use paceline_lab::sweep::{Study, SweepData};
use paceline_report::figure::{self, Figure};
use paceline_reproduce::{Done, Drawn, FigurePlan, Reproduction, run_folder};
use paceline_scenario::{Diagnostics, Overrides, Problem};

use super::{Format, PlotArgs, answered, bytes, change, kind, nothing, of_sweep, recipe, style};
use crate::args::SayArgs;
use crate::commands::report::read_folders;
use crate::commands::reproduce;
use crate::failure::Failure;

/// Figure of an experiment whose recipe has been checked.
pub(in crate::commands) struct Checked<'a> {
    one: &'a Reproduction,
    plan: &'a FigurePlan,
    args: PlotArgs,
    name: String,
    format: Format,
}

/// Checks the figures of experiments: keys, values and names of files.
pub(in crate::commands) fn check<'a>(chosen: &[&'a Reproduction]) -> Result<Vec<Checked<'a>>, Diagnostics> {
    let mut all: Vec<Checked<'a>> = Vec::new();
    for &one in chosen {
        for plan in &one.figures {
            let args = recipe::parse(&plan.recipe, &plan.source)?;
            let location = match plan.recipe.get("out") {
                Some(out) => plan.source.at(out.span()),
                None => plan.source.end(),
            };
            let wrong = |text: String| Diagnostics::from(Problem::new(text).at(&location));
            let Some(out) = &args.out else {
                return Err(wrong(
                    "a figure needs the name of its file: out = \"NAME.pdf\"".to_string(),
                ));
            };
            let mut parts = out.components();
            let (Some(Component::Normal(_)), None) = (parts.next(), parts.next()) else {
                return Err(wrong(format!(
                    "`{}`: expected a name without a folder",
                    out.display()
                )));
            };
            let format = super::format(out).map_err(|error| wrong(error.to_string()))?;
            let name = format!("{}-{}", one.id, out.display());
            if all.iter().any(|known| known.name == name) {
                return Err(wrong(format!("two figures have the file `{}`", out.display())));
            }
            all.push(Checked {
                one,
                plan,
                args,
                name,
                format,
            });
        }
    }
    Ok(all)
}

/// Writes the sweep that a figure is of as an experiment, which draws it.
pub(super) fn save(folder: &Path, args: &PlotArgs) -> Result<(), Failure> {
    let wrong = || Failure::arguments("--save-experiment: expected the folder of one sweep");
    let [swept] = args.folders.as_slice() else {
        return Err(wrong());
    };
    if !swept.join("sweep.json").is_file() || args.what.is_none() {
        return Err(wrong());
    }
    let study = Study::of(&swept.display().to_string(), Overrides::default(), None)?;
    let plan = study.plan(cores())?;
    let mut base = study.overrides.clone();
    base.scheme.get_or_insert(plan.points[0].scheme.clone());
    let grid = (&plan.axes[..], &plan.seeds[..], &plan.stored);
    let recipe = recipe::of_experiment(args)?;
    reproduce::save(
        folder,
        (&study.input, &base),
        grid,
        Some(&recipe),
        SayArgs::default(),
    )?;
    Ok(())
}

/// Draws a figure from the runs in the folder of a reproduction that is not yet whole.
pub(in crate::commands) fn draw(checked: &Checked<'_>, done: &Done, folder: &Path) -> Result<Drawn, Failure> {
    let Checked { one, plan, args, .. } = checked;
    let data = plan.sweep(one.needs(), done);
    let of_run = |id: &str| folder.join(run_folder(id));
    let changed = figure(args, &data, &of_run).and_then(|mut figure| {
        change(&mut figure, args)?;
        Ok(figure)
    });
    let figure = changed.map_err(|error| match error {
        Failure::Arguments(message) => recipe::located(&message, &plan.recipe, &plan.source).into(),
        error => error,
    })?;
    Ok(Drawn {
        of: one.id.clone(),
        name: checked.name.clone(),
        bytes: bytes(&figure, args, checked.format)?,
        svg: figure.svg(&style(args)),
    })
}

fn figure(args: &PlotArgs, data: &SweepData, of_run: &dyn Fn(&str) -> PathBuf) -> Result<Figure, Failure> {
    let ids = data.plan.runs().into_iter().map(|(id, ..)| id);
    let folders = || -> Vec<PathBuf> {
        ids.clone()
            .filter(|id| data.rows.contains_key(*id))
            .map(of_run)
            .collect()
    };
    let Some(wanted) = &args.what else {
        return answered(
            read_folders(&folders(), None)?,
            args.sql.as_deref().unwrap_or_default(),
        );
    };
    match kind(wanted) {
        Some(what) if !what.is_of_flows() => {
            let runs: Vec<_> = read_folders(&folders(), None)?
                .into_iter()
                .map(|(_, run)| run)
                .collect();
            figure::of_runs(&runs, what, args.seeds).map_err(|error| nothing(wanted, &error))
        }
        _ => of_sweep(args, wanted, data, of_run),
    }
}
