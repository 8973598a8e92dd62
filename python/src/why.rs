//! Where the time of flows went.

use paceline_lab::run::{Finished, Resources, RunError, execute_on};
use paceline_lab::table::DEFAULT_WIDTH;
use paceline_lab::why::{AskError, Asker, FlowAnswer, Question};
use paceline_scenario::Resolved;
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::input::path;
use crate::json::to_python;
use crate::run::{Run, preformatted};
use crate::watch::{Watch, watched};

/// Where a flow's time went.
#[pyclass(frozen, module = "paceline")]
pub(crate) struct Why {
    answer: FlowAnswer,
}

#[pymethods]
impl Why {
    /// It in a few sentences.
    #[getter]
    fn story(&self) -> String {
        self.answer.why().story
    }

    /// All that is known, as `paceline why --json` tells it.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.answer.why())
    }

    fn __str__(&self) -> String {
        self.answer.why().text(DEFAULT_WIDTH)
    }

    fn __repr__(&self) -> String {
        format!("<paceline.Why: {}>", self.answer.why().story)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        preformatted(py, &self.__str__())
    }
}

/// Runs what has to be run, while somebody waits.
struct Waiting<'a>(&'a Watch);

impl Asker for Waiting<'_> {
    fn run(&mut self, input: &Resolved) -> Result<Finished, RunError> {
        self.0.begin(1);
        let resources = Resources {
            threads: input.threads,
            ..Resources::ONE_THREAD
        };
        let finished = execute_on(input, resources, &mut |now| self.0.update(0, input, now))?;
        self.0.end(0);
        Ok(finished)
    }

    fn inform(&mut self, _: &str) {}
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Input(problems) => problems.into(),
            AskError::Run(error) => error.into(),
            AskError::Rows(error) => Self::run(error),
            AskError::Refused(_) | AskError::Folder(_) => Self::argument(error),
        }
    }
}

/// Where the time of flow `flow` went, as `paceline why` tells it; without a flow the slowest flows, in a list.
///
/// `run` is a `Run`, the folder of one, or a scenario, which is then run.
#[pyfunction]
#[pyo3(signature = (run, flow=None, *, top=10, brief=false, progress=None))]
pub(crate) fn why<'py>(
    py: Python<'py>,
    run: &Bound<'py, PyAny>,
    flow: Option<u32>,
    top: usize,
    brief: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let folder = match run.cast::<Run>() {
        Ok(run) => run.get().any_folder(py)?,
        Err(_) => path(run)?,
    };
    let folder = folder.to_string_lossy().into_owned();
    let question = move |watch: &Watch, flow| {
        let question = Question {
            run: &folder,
            top,
            brief,
            label: None,
        };
        let asker = &mut Waiting(watch);
        match flow {
            Some(flow) => Ok((Some(question.flow(flow, asker)?), Vec::new())),
            None => Ok::<_, AskError>((None, question.slowest(asker)?.slow)),
        }
    };
    let told = watched(py, progress.as_ref(), move |watch| Ok(question(watch, flow)?))?;
    match told {
        (Some(answer), _) => Ok(Bound::new(py, Why { answer })?.into_any()),
        (None, slow) => to_python(py, &slow),
    }
}
