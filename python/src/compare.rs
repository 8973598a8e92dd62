//! Several schemes side by side.

use std::path::PathBuf;
use std::sync::Arc;

use paceline_lab::compare::{self as lab, One};
use paceline_lab::files::{RunData, Writing};
use paceline_lab::repeats::{Repeats, hangs_on_seed};
use paceline_lab::results::Summary;
use paceline_lab::run::{compare_accounted, cores};
use paceline_lab::table;
use paceline_report::{render, repeats_pages, scheme_folder, together, write_compared};
use paceline_scenario::Resolved;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::Failure;
use crate::input::{Changes, Input};
use crate::json::to_python;
use crate::run::{Made, Run, check_folder, page, preformatted, scratch};
use crate::watch::{Watch, watched};

/// Runs of several schemes.
#[pyclass(frozen, module = "paceline")]
pub(crate) struct Comparison {
    runs: Vec<Py<Run>>,
    repeats: Option<Repeats>,
    folder: Option<PathBuf>,
}

impl Comparison {
    fn run_data(&self) -> Vec<RunData> {
        self.runs
            .iter()
            .map(|run| RunData::clone(&run.get().data))
            .collect()
    }

    fn table(&self) -> String {
        let summaries: Vec<&Summary> = self.runs.iter().map(|run| &run.get().data.summary).collect();
        let repeats = self.repeats.as_ref().filter(|repeats| repeats.seed_matters);
        match repeats {
            Some(repeats) => table::repeats(repeats, table::DEFAULT_WIDTH),
            None => table::comparison(&summaries, table::DEFAULT_WIDTH),
        }
    }
}

#[pymethods]
impl Comparison {
    /// All runs: scheme by scheme, in each by seed.
    #[getter]
    fn runs(&self, py: Python<'_>) -> Vec<Py<Run>> {
        self.runs.iter().map(|run| run.clone_ref(py)).collect()
    }

    /// `comparison.json`: the summaries of all runs; of several seeds what they tell together.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.repeats {
            Some(repeats) => to_python(py, repeats),
            None => {
                let all: Vec<&Summary> = self.runs.iter().map(|run| &run.get().data.summary).collect();
                to_python(py, &all)
            }
        }
    }

    /// Where its files are, if they have been written.
    #[getter]
    fn folder(&self) -> Option<PathBuf> {
        self.folder.clone()
    }

    /// The run of a scheme; of several seeds the first.
    fn __getitem__(&self, py: Python<'_>, scheme: &str) -> PyResult<Py<Run>> {
        let of_scheme = |run: &&Py<Run>| run.get().data.summary.scheme == scheme;
        let run = self.runs.iter().find(of_scheme).map(|run| run.clone_ref(py));
        run.ok_or_else(|| PyKeyError::new_err(format!("there is no run under `{scheme}`")))
    }

    fn __len__(&self) -> usize {
        self.runs.len()
    }

    /// The page about all: its text, or the path of the file into which it is written.
    #[pyo3(signature = (path=None))]
    fn report(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<Py<PyAny>> {
        page(py, path, || {
            let data = self.run_data();
            let Some(repeats) = &self.repeats else {
                return render(&data).map_err(Failure::run);
            };
            let pages = repeats_pages(repeats, &data).into_iter();
            let about_all = pages.map(|(_, page)| page).next();
            about_all.map_or(Ok(String::new()), |page| page.map_err(Failure::run))
        })
    }

    fn __str__(&self) -> String {
        self.table()
    }

    fn __repr__(&self) -> String {
        let names: Vec<String> = self
            .runs
            .iter()
            .map(|run| run.get().data.summary.scheme.clone())
            .collect();
        format!(
            "<paceline.Comparison of {} runs: {}>",
            names.len(),
            names.join(", ")
        )
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        preformatted(py, &self.table())
    }
}

/// How a comparison is run.
struct How {
    schemes: Vec<String>,
    /// Policies in files: what they are called, and their cards.
    files: Vec<(String, String)>,
    /// Runs that policies have made already: one list for each.
    acted: Vec<Vec<Arc<Made>>>,
    repeats: u32,
    out: Option<PathBuf>,
    force: bool,
    jobs: usize,
}

/// What came of a comparison: runs with what their folders are made of.
type Compared = (Vec<(RunData, Made)>, Option<Repeats>);

/// Runs the same flows and seeds under each scheme.
///
/// With several seeds (`repeats`) tables and page show means with their intervals.
#[pyfunction]
#[pyo3(signature = (
    scenario, schemes, *, repeats=1, set=None, seed=None, duration=None, fidelity=None, threads=None, out=None,
    jobs=None, force=false, progress=None, _files=Vec::new(), _acted=Vec::new()
))]
#[expect(clippy::too_many_arguments, reason = "they are the call's keywords")]
pub(crate) fn compare(
    py: Python<'_>,
    scenario: &Bound<'_, PyAny>,
    schemes: &Bound<'_, PyAny>,
    repeats: u32,
    set: Option<Bound<'_, PyDict>>,
    seed: Option<u64>,
    duration: Option<String>,
    fidelity: Option<String>,
    threads: Option<u32>,
    out: Option<PathBuf>,
    jobs: Option<usize>,
    force: bool,
    progress: Option<Bound<'_, PyAny>>,
    _files: Vec<(String, String)>,
    _acted: Vec<Vec<Py<Run>>>,
) -> PyResult<Comparison> {
    let schemes = names(schemes)?;
    let made = |run: &Py<Run>| run.get().made();
    let acted: Option<Vec<Vec<Arc<Made>>>> = (_acted.iter())
        .map(|runs| runs.iter().map(made).collect())
        .collect();
    let acted = acted.ok_or_else(|| Failure::run("a policy's run has no outcome").exception(py))?;
    let changes = Changes {
        scheme: None,
        set,
        seed,
        duration,
        fidelity,
        threads,
    };
    let input = Input::of(scenario, &changes)?;
    let folder = out.clone();
    let how = How {
        schemes,
        files: _files,
        acted,
        repeats: repeats.max(1),
        out,
        force,
        jobs: jobs.unwrap_or_else(cores).max(1),
    };
    let (runs, repeats) = watched(py, progress.as_ref(), move |watch| carry_out(&input, &how, watch))?;
    let place = |scheme: &str, seed: u64| {
        let folder = folder.as_ref()?;
        let listed = repeats.as_ref().map(|all| &all.runs);
        let scheme = scheme_folder(scheme);
        let name = listed.map_or(scheme.clone(), |_| format!("{scheme}-{seed}"));
        Some(folder.join(name)).filter(|folder| folder.is_dir())
    };
    let runs: PyResult<Vec<Py<Run>>> = runs
        .into_iter()
        .map(|(data, made)| {
            let folder = place(&data.summary.scheme, data.summary.seed);
            let made = folder.is_none().then_some(made);
            Py::new(py, Run::new(py, data, made, folder)?)
        })
        .collect();
    Ok(Comparison {
        runs: runs?,
        repeats,
        folder,
    })
}

/// Names of schemes: a list, or a text that the command would take.
fn names(schemes: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if let Ok(text) = schemes.extract::<String>() {
        return Ok(text.split(',').map(|name| name.trim().to_string()).collect());
    }
    let wrong = |value: &Bound<'_, PyAny>| {
        let kind = value.get_type().name().map(|name| name.to_string());
        let found = match value.is_callable() {
            true => "a function: a policy goes under `policies`, such as policies={\"mine\": f}".to_string(),
            false => format!("a value of type `{}`", kind.unwrap_or_default()),
        };
        Failure::argument(format!("schemes: expected names, found {found}")).exception(value.py())
    };
    let Ok(all) = schemes.try_iter() else {
        return Err(wrong(schemes));
    };
    all.map(|one| {
        let one = one?;
        one.extract().map_err(|_| wrong(&one))
    })
    .collect()
}

/// The runs under the policy of a file, which results call so.
fn of_file(input: &Input, name: &str, card: &str, repeats: u32) -> Result<Vec<Vec<Resolved>>, Failure> {
    let mut overrides = input.overrides.clone();
    overrides.set.push(format!("cc.policy.model={card}"));
    let inputs = lab::inputs(&input.name, &overrides, &["policy"], repeats)?;
    let called = |repeats: Vec<Resolved>| {
        repeats
            .into_iter()
            .map(|one| one.calling("policy", name))
            .collect()
    };
    Ok(inputs.into_iter().map(called).collect())
}

/// What came of a policy's runs. Where neither the seed nor the policy draws anything, the first is all of them.
fn of_policy(runs: &[Arc<Made>]) -> Vec<One<'_>> {
    let same = |run: &Arc<Made>| run.1.outcome.flows == runs[0].1.outcome.flows;
    let inputs: Vec<Resolved> = runs.iter().map(|made| made.0.clone()).collect();
    let fixed = !hangs_on_seed(&inputs, &runs[0].1.outcome) && runs.iter().all(same);
    let count = if fixed { 1 } else { runs.len() };
    let runs = runs[..count].iter();
    runs.map(|made| One {
        input: &made.0,
        run: made.1.clone(),
        fixed,
    })
    .collect()
}

fn carry_out(input: &Input, how: &How, watch: &Watch) -> Result<Compared, Failure> {
    let policies = how.files.len() + how.acted.len();
    let schemes = match how.schemes.is_empty() && policies > 0 {
        true => Vec::new(),
        false => {
            lab::schemes(&how.schemes).map_err(|error| Failure::argument(format!("schemes: {error}")))?
        }
    };
    let mut inputs = lab::inputs(&input.name, &input.overrides, &schemes, how.repeats)?;
    for (name, card) in &how.files {
        inputs.extend(of_file(input, name, card, how.repeats)?);
    }
    if let Some(out) = &how.out {
        check_folder(out, how.force)?;
    }
    let mut begun = 0;
    let mut run_some = |inputs: &[&Resolved]| {
        let first = begun;
        begun += inputs.len();
        watch.begin(begun);
        compare_accounted(
            inputs,
            how.jobs,
            scratch(how.out.as_deref()),
            &|_, _| {},
            &|i, now| watch.update(first + i, inputs[i], now),
        )
    };
    let (mut finished, failure) = lab::run_all(&inputs, &mut run_some);
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    watch.wanted()?;
    finished.extend(how.acted.iter().flat_map(|runs| of_policy(runs)));
    let acted = || {
        how.acted
            .iter()
            .map(|runs| runs.iter().map(|made| made.0.clone()).collect())
    };
    let seeds: Vec<Vec<Resolved>> = inputs
        .first()
        .cloned()
        .into_iter()
        .chain(acted())
        .take(1)
        .collect();
    let repeats = together(&seeds, &finished);
    if let Some(out) = &how.out {
        let writing = Writing {
            force: how.force,
            ..Writing::default()
        };
        write_compared(out, &finished, repeats.as_ref(), writing)?;
    }
    let listed = |one: &One<'_>| {
        repeats.as_ref().is_none_or(|repeats| {
            let mut known = repeats.runs.iter().map(|run| &run.summary);
            known.any(|known| (&known.scheme, known.seed) == (&one.run.summary.scheme, one.run.summary.seed))
        })
    };
    let runs = finished.into_iter().filter(listed);
    let runs = runs.map(|one| (RunData::new(one.input, &one.run), (one.input.clone(), one.run)));
    Ok((runs.collect(), repeats))
}
