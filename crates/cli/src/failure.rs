//! Failures of commands: messages and exit statuses.

use std::fmt;
use std::io::IsTerminal as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use miette::{GraphicalReportHandler, GraphicalTheme};
use paceline_lab::files::OutputError;
use paceline_lab::run::{RunError, RunErrorKind};
use paceline_lab::sweep::SweepError;
use paceline_lab::why::AskError;
#[cfg(feature = "training")]
use paceline_learn::Error as LearnError;
use paceline_reproduce::{NotRun, ResumeError};
use paceline_scenario::{Diagnostics, visible};

/// Successful end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Everything is done: exit status 0.
    All,
    /// The user interrupted the command; finished parts are kept: exit status 130.
    Interrupted,
}

impl From<Done> for ExitCode {
    fn from(done: Done) -> Self {
        match done {
            Done::All => Self::SUCCESS,
            Done::Interrupted => Self::from(130),
        }
    }
}

/// Result of every command.
pub(crate) type Ended = Result<Done, Failure>;

/// Reason for which a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Errors in the input, with positions: exit status 2.
    Input(Diagnostics),
    /// Invalid arguments, or arguments that do not match existing files: exit status 2.
    Arguments(String),
    /// A failed run, or output that cannot be written: exit status 1.
    Run(String),
    /// Input or arguments are wrong, and the first rank prints why. Its exit status counts: a launcher may end all ranks
    /// as soon as one fails, so this one ends with 0.
    Elsewhere,
}

impl Failure {
    /// Creates a failure for invalid arguments.
    pub(crate) fn arguments(message: impl fmt::Display) -> Self {
        Self::Arguments(message.to_string())
    }

    /// Creates a failure for a failed run.
    pub(crate) fn run(message: impl fmt::Display) -> Self {
        Self::Run(message.to_string())
    }

    /// Prints the failure on standard error and returns its exit status.
    pub(crate) fn print(&self) -> ExitCode {
        let terminal = std::io::stderr().is_terminal();
        let (text, code) = match self {
            Self::Input(diagnostics) if terminal => (drawn(diagnostics), 2),
            Self::Input(diagnostics) => (plain(diagnostics), 2),
            Self::Arguments(message) => (format!("error: {}\n", visible(message)), 2),
            Self::Run(message) => (format!("error: {}\n", visible(message)), 1),
            Self::Elsewhere => (String::new(), 0),
        };
        crate::say::raw(&text);
        ExitCode::from(code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(diagnostics) => {
                f.write_str(plain(diagnostics).trim_start_matches("error: ").trim_end())
            }
            Self::Arguments(message) | Self::Run(message) => f.write_str(message),
            Self::Elsewhere => f.write_str("another rank says why"),
        }
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Input(diagnostics)
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Io { .. } => Self::run(error),
            _ => Self::arguments(error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error.kind {
            RunErrorKind::Build(_)
            | RunErrorKind::Undivided(_)
            | RunErrorKind::Measures(_)
            | RunErrorKind::Decisions(_) => Self::arguments(error),
            RunErrorKind::Scratch { .. } | RunErrorKind::Broken { .. } | RunErrorKind::Aborted { .. } => {
                Self::run(error)
            }
        }
    }
}

impl From<NotRun> for Failure {
    fn from(error: NotRun) -> Self {
        match error {
            NotRun::Run(error) => error.into(),
            NotRun::Output(error) => error.into(),
            NotRun::Stopped => Self::run(error),
        }
    }
}

impl From<ResumeError> for Failure {
    fn from(error: ResumeError) -> Self {
        match error {
            ResumeError::Refused(message) => Self::Arguments(message),
            ResumeError::Output(error) => error.into(),
        }
    }
}

impl From<AskError> for Failure {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Input(problems) => problems.into(),
            AskError::Run(error) => error.into(),
            AskError::Rows(error) => Self::run(error),
            AskError::Refused(_) | AskError::Folder(_) => Self::arguments(error),
        }
    }
}

#[cfg(feature = "training")]
impl From<LearnError> for Failure {
    fn from(error: LearnError) -> Self {
        match error {
            LearnError::Scenario(diagnostics) => Self::Input(diagnostics),
            LearnError::Run(error) => error.into(),
            LearnError::Output(error) => error.into(),
            LearnError::Page(_) => Self::run(error),
            error => Self::arguments(error),
        }
    }
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Input(diagnostics) => Self::Input(diagnostics),
            SweepError::Refused(message) => Self::Arguments(message),
            SweepError::Edited(_) => Self::arguments(error),
            SweepError::Output(error) => error.into(),
        }
    }
}

/// Maximum number of problems printed one by one.
const SHOWN: usize = 20;

/// Formats one line per problem: `error: file:line:column: message (help)`.
fn plain(diagnostics: &Diagnostics) -> String {
    let shown = diagnostics.problems().iter().take(SHOWN);
    let lines = shown.map(|problem| format!("error: {problem}\n"));
    lines.collect::<String>() + &others(diagnostics)
}

/// Returns a line with the number of problems that are not printed.
fn others(diagnostics: &Diagnostics) -> String {
    match diagnostics.problems().len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("and {more} more errors\n"),
    }
}

/// Formats problems with the text around each position.
fn drawn(diagnostics: &Diagnostics) -> String {
    // https://no-color.org: an empty value is no request.
    let colorless = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let theme = if colorless {
        GraphicalTheme::unicode_nocolor()
    } else {
        GraphicalTheme::unicode()
    };
    let width = crate::text::width(terminal_size::terminal_size_of(std::io::stderr()));
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(width)
        .with_links(false);
    diagnostics.render(&handler, SHOWN) + &others(diagnostics)
}

/// Message and position of the last panic.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Calls `work`. If it panics, explains that the program is at fault. (Panics inside a run do not get here: the lab
/// converts them to errors.)
pub(crate) fn guarded(work: impl FnOnce() -> ExitCode) -> ExitCode {
    // The hook prints nothing, so that the message appears once, together with the request to report it.
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        // A panic carries a `&str` if its message has no arguments, otherwise a `String`.
        let text = payload.downcast_ref::<&str>().copied();
        let message = text
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        let mut last = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(format!("{message} (at {location})"));
    }));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let last = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
        say!(
            "internal error in paceline {}: {}\n\
             This is a fault of the program, not of your input: please report it, with this message and \
             the command.",
            paceline_lab::version(),
            last.as_deref().unwrap_or("no message"),
        );
        ExitCode::FAILURE
    })
}
