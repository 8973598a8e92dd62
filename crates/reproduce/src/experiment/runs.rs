//! Expansion of axes and grids to the runs of an experiment.

use paceline_congestion::registry::variant::{Variant, VariantError};
use paceline_kernel::sorted::{SortedMap, SortedSet};
use std::sync::Arc;

use paceline_lab::measures::{MeasureSet, SETS, find_set};
use paceline_scenario::diagnostics::{Location, Source};
use paceline_scenario::guest::left_out;
use paceline_scenario::{Diagnostics, EXACT, Problem};

use super::axes::{CASE, swept};
use super::names::{Axis, AxisCase, Bound, Grid, Names, Own, unknown};
use super::own::OwnMeasures;
use super::published::cells;
use super::schema::{Case, Common, File, Many, NamedOr, Runs, Text};
use super::source::Folder;
use crate::need::{Input, Question, RunRequest};
use crate::reference::{self, Reference};

/// Reads the names, and the runs of all grids.
pub(super) fn read(
    file: &File,
    common: &Common,
    source: &Source,
    folder: &dyn Folder,
) -> Result<(Names, Vec<RunRequest>), Diagnostics> {
    let axis = |(name, cases): (&'_ String, &NamedOr<Vec<Case>>)| match cases {
        NamedOr::Own(cases) => Ok((name.clone(), cases.clone())),
        NamedOr::Named(path) => Ok((name.clone(), cases_of(name, path, source, folder)?)),
    };
    let own: Result<Vec<(String, Vec<Case>)>, Problem> = file.axis.iter().map(axis).collect();
    let mut all = own?;
    if !file.case.is_empty() {
        all.push((CASE.to_string(), file.case.clone()));
    }
    // An axis of the experiment replaces the shared one of the same name.
    let shared = (common.axis.iter()).filter(|(name, _)| all.iter().all(|(known, _)| known != *name));
    let shared: Result<Vec<(String, Vec<Case>)>, Problem> = shared.map(axis).collect();
    all.extend(shared?);
    let mut names = Names::default();
    for (name, cases) in &all {
        let of = |case: &Case| AxisCase {
            name: case.name.clone(),
            key: key(case),
            with: case.with.clone(),
            scheme: case.scheme.as_ref().map(|scheme| scheme.get_ref().clone()),
            published_as: case.published_as.clone(),
        };
        let known: SortedSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        if known.len() < cases.len() {
            return Err(Problem::new(format!("two cases of `{name}` have one name")).into());
        }
        names.axes.push(Axis {
            name: name.clone(),
            cases: cases.iter().map(of).collect(),
            swept: swept(name, cases),
        });
    }
    let own = OwnMeasures::read(file, common, source)?;
    let mut requests = Vec::new();
    for runs in &file.runs.0 {
        let grid = Reading {
            runs,
            cases: all.iter().map(|(_, cases)| cases.as_slice()).collect(),
            names: &names,
            own: &own,
            source,
            folder,
        };
        let grid = grid.grid(&mut requests)?;
        if names.grids.iter().any(|known| known.name == grid.name) {
            let what = "several grids of runs need different names: name = \"..\"";
            return Err(Problem::new(what).at(&source.end()).into());
        }
        names.grids.push(grid);
    }
    check_questions(file, source)?;
    check_names(&requests, source)?;
    Ok((names, requests))
}

/// Reads cases from a CSV file: names under `name`, values of scenario keys under those keys.
fn cases_of(axis: &str, path: &str, source: &Source, folder: &dyn Folder) -> Result<Vec<Case>, Problem> {
    let missing = || Problem::new(format!("there is no file `{path}`")).at(&source.end());
    let file = folder.text(path).ok_or_else(missing)?;
    let mut lines = cells(&file).into_iter();
    let heads = lines.next().unwrap_or_default();
    let heads: Vec<String> = heads.into_iter().map(|(text, _)| text).collect();
    let case = |line: Vec<(String, Location)>| {
        if heads.first().is_none_or(|head| head != "name") || line.len() != heads.len() {
            let text =
                "expected `name` and keys of the scenario in the first line, and as many cells in each";
            return Err(Problem::new(text).at(&line[0].1));
        }
        let name = line[0].0.clone();
        let set = heads.iter().zip(line).skip(1);
        let set = set.map(|(head, (text, _))| (head.clone(), toml::Value::String(text)));
        Ok(Case {
            // A name that is a number also is the axis's value in expressions.
            with: name
                .parse::<f64>()
                .map(|number| (axis.to_string(), number.into()))
                .into_iter()
                .collect(),
            set: set.collect(),
            name,
            ..Case::default()
        })
    };
    lines.map(case).collect()
}

/// Checks that folders of different runs have different names.
fn check_names(requests: &[RunRequest], source: &Source) -> Result<(), Problem> {
    let mut known: SortedMap<String, &RunRequest> = SortedMap::new();
    for request in requests {
        let name = request.name();
        match known.get(&name) {
            Some(other) if *other != request => {
                let text = format!("different runs have one name, `{name}`");
                let help = "give the cases different keys, or the grids: key = \"..\"";
                return Err(Problem::new(text).at(&source.end()).help(help));
            }
            _ => drop(known.insert(name, request)),
        }
    }
    Ok(())
}

/// Measures and questions for the runs of a grid.
type Sets = (
    Option<&'static MeasureSet>,
    SortedMap<String, Own>,
    Vec<Arc<Question>>,
);

/// Rejects questions that no grid asks.
fn check_questions(file: &File, source: &Source) -> Result<(), Problem> {
    let measures = file.runs.0.iter().flat_map(|runs| &runs.measures);
    let named: SortedSet<&String> = measures.flat_map(|names| &names.get_ref().0).collect();
    match file.question.iter().find(|(name, _)| !named.contains(name)) {
        None => Ok(()),
        Some((name, question)) => {
            let problem = Problem::new(format!("no runs are asked the question `{name}`"));
            let help = format!("[runs] measures = \"{name}\"");
            Err(problem.at(&source.at(question.sql.span())).help(help))
        }
    }
}

/// Indices of cases by axis.
type CasesByAxis = SortedMap<usize, Vec<usize>>;

/// Grid while it is read.
struct Reading<'a> {
    runs: &'a Runs,
    /// Cases of every axis.
    cases: Vec<&'a [Case]>,
    names: &'a Names,
    own: &'a OwnMeasures,
    source: &'a Source,
    folder: &'a dyn Folder,
}

impl Reading<'_> {
    fn grid(&self, requests: &mut Vec<RunRequest>) -> Result<Grid, Problem> {
        let names = self.names;
        let axes = self.axes()?;
        let (set, own, asked) = self.measures()?;
        let only = self.cases_by_axis(&self.runs.only, &axes)?;
        let except = self.except(&axes)?;
        let mut runs = Vec::new();
        for bound in names.combinations(&axes)? {
            let is_in = |cases: &CasesByAxis| cases.iter().all(|(axis, cases)| cases.contains(&bound[axis]));
            if !is_in(&only) || except.iter().any(is_in) {
                runs.push(None);
                continue;
            }
            let first = requests.len();
            // Seeds of a case override those of the grid; of several cases, the last axis counts.
            let of_case = |axis: &usize| self.cases[*axis][bound[axis]].seeds.as_ref();
            let seeds = axes.iter().rev().find_map(of_case).unwrap_or(&self.runs.seeds);
            for &seed in &seeds.0 {
                let request = self.request(&axes, &bound, seed)?;
                requests.push(RunRequest {
                    measures: set,
                    questions: asked.clone(),
                    ..request
                });
            }
            runs.push(Some(first..requests.len()));
        }
        Ok(Grid {
            name: self.runs.name.clone().unwrap_or_default(),
            axes,
            runs,
            set,
            own,
            partial: self.runs.partial,
            scheme: self.runs.scheme.as_ref().map(|scheme| scheme.get_ref().clone()),
        })
    }

    /// Returns the built-in set, the experiment's measures by name, and the questions for all of them.
    fn measures(&self) -> Result<Sets, Problem> {
        let mut sets: Sets = (None, self.own.everywhere.clone(), Vec::new());
        let (set, own, asked) = &mut sets;
        let location = self.runs.measures.as_ref().map_or(0..0, toml::Spanned::span);
        let twice = |name: &str| {
            let text = format!("two of these have a measure `{name}`");
            Problem::new(text).at(&self.source.at(location.clone()))
        };
        for name in self.runs.measures.iter().flat_map(|names| &names.get_ref().0) {
            let Some(found) = self.own.questions.get(name) else {
                let first = find_set(name).filter(|_| set.is_none());
                *set = Some(first.ok_or_else(|| self.unknown_set(name))?);
                continue;
            };
            asked.extend(found.first().map(|one| Arc::clone(&one.question)));
            for one in found {
                let name = one.measure.name.to_string();
                if own.insert(name.clone(), one.clone()).is_some() {
                    return Err(twice(&name));
                }
            }
        }
        let clash = set.and_then(|set| own.keys().find(|name| set.find(name).is_some()));
        match clash {
            Some(name) => Err(twice(name)),
            None => Ok(sets),
        }
    }

    fn unknown_set(&self, name: &str) -> Problem {
        let location = self.runs.measures.as_ref().map_or(0..0, toml::Spanned::span);
        let location = self.source.at(location);
        if find_set(name).is_some() {
            return Problem::new("runs have one set of measures that is no question of the experiment")
                .at(&location);
        }
        if let Some(why) = left_out(name) {
            return Problem::new(format!("set of measures `{name}`: {why}")).at(&location);
        }
        let questions = self.own.questions.keys().map(String::as_str);
        let known: Vec<&str> = SETS.iter().map(|set| set.name).chain(questions).collect();
        unknown("set of measures", name, &known).at(&location)
    }

    fn axes(&self) -> Result<Vec<usize>, Problem> {
        let names = self.names;
        match &self.runs.axes {
            Some(axes) => {
                let one = |axis: &Text| names.axis(axis.get_ref(), &self.source.at(axis.span()));
                axes.iter().map(one).collect()
            }
            None => Ok(names
                .axes
                .iter()
                .position(|axis| axis.name == CASE)
                .into_iter()
                .collect()),
        }
    }

    /// Returns the combinations that are not run, as cases by axis: those of the grid, and those of single cases.
    fn except(&self, axes: &[usize]) -> Result<Vec<CasesByAxis>, Problem> {
        let of_grid = self.runs.except.iter().map(|one| self.cases_by_axis(one, axes));
        let mut all: Vec<CasesByAxis> = of_grid.collect::<Result<_, Problem>>()?;
        for &axis in axes {
            for (index, case) in self.cases[axis].iter().enumerate() {
                if !case.except.is_empty() {
                    let mut one = self.cases_by_axis(&case.except, axes)?;
                    one.insert(axis, vec![index]);
                    all.push(one);
                }
            }
        }
        Ok(all)
    }

    fn cases_by_axis(
        &self,
        written: &SortedMap<String, Many<String>>,
        axes: &[usize],
    ) -> Result<CasesByAxis, Problem> {
        let end = self.source.end();
        let of = |(axis, cases): (&String, &Many<String>)| {
            let axis = self.names.axis(axis, &end)?;
            if !axes.contains(&axis) {
                let text = format!("these runs have no axis `{}`", self.names.axes[axis].name);
                return Err(Problem::new(text).at(&end));
            }
            let cases = cases.0.iter().map(|case| self.names.case(axis, case, &end));
            Ok((axis, cases.collect::<Result<Vec<usize>, Problem>>()?))
        };
        written.iter().map(of).collect()
    }

    /// Creates a run: settings of the grid, then those of its cases, the innermost axis last.
    fn request(&self, axes: &[usize], bound: &Bound, seed: u64) -> Result<RunRequest, Problem> {
        let cases: Vec<&Case> = axes.iter().map(|axis| &self.cases[*axis][bound[axis]]).collect();
        let last = |own: &Option<Text>, of: fn(&Case) -> &Option<Text>| {
            let of_cases = cases.iter().rev().find_map(|case| of(case).clone());
            of_cases.or_else(|| own.clone())
        };
        let scheme = last(&self.runs.scheme, |case| &case.scheme);
        let fidelity = last(&self.runs.fidelity, |case| &case.fidelity);
        let scenario = last(&self.runs.scenario, |case| &case.scenario);
        let reference = last(&self.runs.reference, |case| &case.reference);
        let end = self.source.end();
        let fidelity = match fidelity {
            None => EXACT,
            Some(name) => (name.get_ref().parse())
                .map_err(|text: String| Problem::new(text).at(&self.source.at(name.span())))?,
        };
        let scheme = match scheme {
            Some(scheme) if fidelity.has_own_transport() => {
                let text = format!("runs in {} fidelity have no scheme", fidelity.name());
                let help = "options of that simulator choose its control: set keys of `parity.uet-htsim`";
                return Err(Problem::new(text).at(&self.source.at(scheme.span())).help(help));
            }
            Some(scheme) => scheme,
            None if fidelity.has_own_transport() => Text::new(0..0, fidelity.name().to_string()),
            None => {
                let help = "say `scheme = \"..\"` in [runs] or in the case";
                return Err(Problem::new("a run has no scheme").at(&end).help(help));
            }
        };
        let input = match (scenario, reference) {
            (_, Some(reference)) => {
                let found = self.reference(&reference)?;
                if !found.has(scheme.get_ref()) {
                    self.check_scheme(&scheme)?;
                }
                Input::Reference(found)
            }
            (Some(scenario), None) => {
                if !fidelity.has_own_transport() {
                    self.check_scheme(&scheme)?;
                }
                self.scenario(&scenario, seed)?
            }
            (None, None) => {
                let help = "say `scenario = \"..\"` in [runs] or in the case";
                return Err(Problem::new("a run has no scenario").at(&end).help(help));
            }
        };
        let settings = (self.runs.set.iter()).chain(cases.iter().flat_map(|case| &case.set));
        let settings = settings.map(|(key, value)| {
            let value = match value {
                toml::Value::String(text) => self.names.compute(text, bound, &end)?,
                other => other.to_string(),
            };
            Ok(format!("{key}={value}"))
        });
        let folders = cases.iter().rev().find_map(|case| case.folders);
        let keys = (self.runs.key.iter().cloned()).chain(cases.iter().map(|case| key(case)));
        let keys: Vec<String> = keys.filter(|key| !key.is_empty()).collect();
        // Keys become names of folders.
        let leads_away = |key: &&String| {
            key.starts_with('.') || key.contains(|c: char| "/\\:".contains(c) || c.is_control())
        };
        if let Some(key) = keys.iter().find(leads_away) {
            let message = format!("the key {key:?} cannot be part of a folder's name");
            return Err(Problem::new(message)
                .at(&end)
                .help("use letters, digits, `-`, `_` and `.`"));
        }
        Ok(RunRequest {
            fidelity,
            variant: keys.join("-"),
            settings: settings.collect::<Result<_, Problem>>()?,
            flows_only: self.runs.flows_only,
            folder: folders.unwrap_or(self.runs.folders),
            ..RunRequest::of(input, scheme.get_ref().as_str())
        })
    }

    fn check_scheme(&self, scheme: &Text) -> Result<(), Problem> {
        let found = Variant::parse(scheme.get_ref());
        let error = |error: VariantError| match error {
            VariantError::Unknown(error) => {
                unknown("scheme", &error.found, &error.names).at(&self.source.at(scheme.span()))
            }
            VariantError::Setting { .. } => {
                let problem = Problem::new(error.to_string()).at(&self.source.at(scheme.span()));
                match error.hint() {
                    Some(hint) => problem.help(hint),
                    None => problem,
                }
            }
        };
        found.map(drop).map_err(error)
    }

    fn reference(&self, name: &Text) -> Result<&'static Reference, Problem> {
        let found = reference::all().find(|one| one.name == name.get_ref());
        found.ok_or_else(|| {
            let known: Vec<&str> = reference::all().map(|one| one.name).collect();
            unknown("reference run", name.get_ref(), &known).at(&self.source.at(name.span()))
        })
    }

    fn scenario(&self, name: &Text, seed: u64) -> Result<Input, Problem> {
        let built_in = paceline_scenario::scenarios()
            .iter()
            .find(|one| one.name == name.get_ref());
        if let Some(one) = built_in {
            return Ok(Input::Shipped(one.name, seed));
        }
        if let Some(input) = self.folder.scenario(name.get_ref(), seed) {
            return Ok(input);
        }
        let known: Vec<&str> = paceline_scenario::scenarios()
            .iter()
            .map(|one| one.name)
            .collect();
        let location = self.source.at(name.span());
        Err(unknown("scenario", name.get_ref(), &known).at(&location))
    }
}

/// Returns the name of a case in folders.
fn key(case: &Case) -> String {
    if let Some(key) = &case.key {
        return key.clone();
    }
    let words = case.name.to_lowercase();
    let words = words.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-")
}
