//! Several schemes side by side.

use std::path::PathBuf;

use paceline_lab::compare::{self as lab, One};
use paceline_lab::files::{RunData, Writing};
use paceline_lab::repeats::Repeats;
use paceline_lab::results::Summary;
use paceline_lab::run::{compare_accounted, cores};
use paceline_lab::table;
use paceline_report::{render, repeats_pages, together, write_compared};
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
    jobs=None, force=false, progress=None
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
) -> PyResult<Comparison> {
    let schemes = names(schemes)?;
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
        repeats: repeats.max(1),
        out,
        force,
        jobs: jobs.unwrap_or_else(cores).max(1),
    };
    let (runs, repeats) = watched(py, progress.as_ref(), move |watch| carry_out(&input, &how, watch))?;
    let place = |scheme: &str, seed: u64| {
        let folder = folder.as_ref()?;
        let listed = repeats.as_ref().map(|all| &all.runs);
        let name = listed.map_or(scheme.to_string(), |_| format!("{scheme}-{seed}"));
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
            true => "a function: a policy acts for flows in paceline.Environment(scenario), whose finish() gives the Run to \
                     compare with those under schemes"
                .to_string(),
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

fn carry_out(input: &Input, how: &How, watch: &Watch) -> Result<Compared, Failure> {
    let schemes =
        lab::schemes(&how.schemes).map_err(|error| Failure::argument(format!("schemes: {error}")))?;
    let inputs = lab::inputs(&input.name, &input.overrides, &schemes, how.repeats)?;
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
    let (finished, failure) = lab::run_all(&inputs, &mut run_some);
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    watch.wanted()?;
    let repeats = together(&inputs, &finished);
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
