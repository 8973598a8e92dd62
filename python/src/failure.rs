//! What goes wrong, as exceptions. Their classes are in `paceline/errors.py`; their texts are the command's.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use paceline_lab::files::{OutputError, ReadError};
use paceline_lab::run::{RunError, RunErrorKind};
use paceline_lab::sweep::SweepError;
use paceline_scenario::{Diagnostics, visible};
use pyo3::prelude::*;

/// Why something was not done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input is wrong, at these places.
    Scenario(Diagnostics),
    /// The arguments are wrong, or do not fit what is there.
    Argument(String),
    /// A run failed, or what it gave could not be written.
    Run(String),
    /// A fault of this program.
    Internal(String),
}

impl Failure {
    /// Wrong arguments.
    pub(crate) fn argument(message: impl fmt::Display) -> Self {
        Self::Argument(message.to_string())
    }

    /// A failed run.
    pub(crate) fn run(message: impl fmt::Display) -> Self {
        Self::Run(message.to_string())
    }

    /// As an exception.
    pub(crate) fn exception(self, py: Python<'_>) -> PyErr {
        self.raised(py).unwrap_or_else(|error| error)
    }

    fn raised(self, py: Python<'_>) -> PyResult<PyErr> {
        let errors = py.import("paceline.errors")?;
        let (name, message) = match self {
            Self::Scenario(diagnostics) => {
                let problems = diagnostics.problems().iter().map(ToString::to_string);
                let all: Vec<String> = problems.collect();
                let error = errors.getattr("ScenarioError")?.call1((all,))?;
                return Ok(PyErr::from_value(error));
            }
            Self::Argument(message) => ("ArgumentError", message),
            Self::Run(message) => ("RunError", message),
            Self::Internal(message) => ("InternalError", message),
        };
        let error = errors.getattr(name)?.call1((visible(&message),))?;
        Ok(PyErr::from_value(error))
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Scenario(diagnostics)
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Io { .. } => Self::run(error),
            _ => Self::argument(error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error.kind {
            RunErrorKind::Build(_) | RunErrorKind::Measures(_) | RunErrorKind::Decisions(_) => {
                Self::argument(error)
            }
            _ => Self::run(error),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        Self::argument(error)
    }
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Input(diagnostics) => diagnostics.into(),
            SweepError::Refused(message) => Self::Argument(message),
            SweepError::Edited(_) => Self::argument(error),
            SweepError::Output(error) => error.into(),
        }
    }
}

/// The last panic: what it said, and where.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// From here on a panic is kept, to be told as an exception, and nothing is printed.
pub(crate) fn listen() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let message = payload.downcast_ref::<&str>().copied();
        let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = message.unwrap_or("no message");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let mut last = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(format!("{message} (at {place})"));
    }));
}

/// Does `work`; a panic is a failure like others.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let last = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        Err(Failure::Internal(format!(
            "internal error in paceline {}: {}\n\
             This is a fault of the program, not of your input: please report it, with this message and the call.",
            paceline_lab::version(),
            last.as_deref().unwrap_or("no message"),
        )))
    })
}

/// Does `work` without the interpreter's lock.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send,
) -> PyResult<T> {
    py.detach(|| guarded(work))
        .map_err(|failure| failure.exception(py))
}

/// Panics, so that a test can see what comes of it.
#[pyfunction]
pub(crate) fn _fault(py: Python<'_>, message: String) -> PyResult<()> {
    crate::watch::watched(py, None, move |_| panic!("{message}"))
}
