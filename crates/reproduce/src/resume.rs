//! Resumption of interrupted reproductions: finished runs and steps are stored at once, and reused when the same
//! reproductions are requested again.
//!
//! `unfinished/` in the folder of the results holds `plan.json` (version and requested reproductions), a row for each
//! finished run and step, and the runs' folders. It is removed when everything is done.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use paceline_congestion::learned::sha256;
use paceline_congestion::learned::shipped;
use paceline_kernel::rng::mix;
use paceline_kernel::sorted::SortedSet;
use paceline_lab::files::{
    Folder, OutputError, Unsealed, check_destination, clear_leftovers, is_barely_begun, sealed, unsealed,
    write_file,
};
use paceline_lab::results::RunStatus;
use paceline_lab::sweep::run_id;
use paceline_report::write_run_into;
use paceline_scenario::Resolved;
use serde::{Deserialize, Serialize};

use super::Reproduction;
use super::kept::StoredValues;
use super::need::{DoneRun, Metrics, RunRequest};
use super::step::{Keeps, Step, StepError};

/// Folder of finished runs and steps until all are done.
const FOLDER: &str = "unfinished";
const PLAN: &str = "plan.json";

/// Reason why a reproduction cannot start or resume.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// Folder that does not match the request.
    #[error("{0}")]
    Refused(String),
    /// File that cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Content of the file `unfinished/plan.json`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Plan {
    version: String,
    reproductions: SortedSet<String>,
}

impl Plan {
    fn of(chosen: &[&Reproduction]) -> Self {
        Self {
            version: crate::identity::version().to_string(),
            reproductions: chosen.iter().map(|one| one.id.to_string()).collect(),
        }
    }

    fn read(destination: &Path) -> Option<Self> {
        let text = paceline_scenario::read_text(destination.join(FOLDER).join(PLAN)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Checks that the plan in `destination` can be resumed as `other`.
    fn fits(&self, destination: &Path, other: &Self) -> Result<(), ResumeError> {
        let (place, hint) = (
            destination.display(),
            "choose another folder with --out, or start again there with --force",
        );
        let differs = if self.version != other.version {
            format!("by version {}, this is {}", self.version, other.version)
        } else if self.reproductions != other.reproductions {
            let names = |plan: &Self| plan.reproductions.iter().cloned().collect::<Vec<_>>().join(", ");
            format!("of {}, this is of {}", names(self), names(other))
        } else {
            return Ok(());
        };
        Err(ResumeError::Refused(format!(
            "{place} holds an unfinished reproduction {differs}: {hint}"
        )))
    }
}

/// Stored outcome of a run or a step.
#[derive(Serialize, Deserialize)]
struct Row {
    /// Hash of a run's input, or of the built-in models for a step.
    id: String,
    version: String,
    /// Name of the run or step.
    run: String,
    kept: StoredValues,
}

/// Returns true if `destination` holds an interruption of these reproductions.
pub fn is_unfinished(destination: &Path, chosen: &[&Reproduction]) -> bool {
    Plan::read(destination).is_some_and(|plan| plan.reproductions == Plan::of(chosen).reproductions)
}

/// Folder of reproductions in progress.
#[derive(Debug)]
pub struct Unfinished {
    destination: PathBuf,
    /// Lock of the folder, which the system releases even if the process is killed.
    _lock: File,
}

impl Unfinished {
    /// Starts in `destination`, or resumes there; with `force`, starts again. Shards, which are `shared`, may work there
    /// at the same time.
    ///
    /// # Errors
    /// If the folder has other content, was written by another version, is in use by another process, or cannot be
    /// written.
    pub fn open(
        destination: &Path,
        chosen: &[&Reproduction],
        force: bool,
        shared: bool,
    ) -> Result<Self, ResumeError> {
        // First, since it also restores a result that a killed process was about to replace.
        clear_leftovers(destination);
        let plan = Plan::of(chosen);
        match Plan::read(destination) {
            Some(begun) if !force => begun.fits(destination, &plan)?,
            None if is_barely_begun(destination, FOLDER, PLAN) => {}
            _ => check_destination(destination, force)?,
        }
        let folder = destination.join(FOLDER);
        let rows = folder.join("rows");
        fs::create_dir_all(&rows).map_err(io_error("create", &rows))?;
        // Locked before anything is removed: another process may be writing rows.
        let lock = lock(&folder, shared)?;
        if force {
            for part in ["rows", "runs"] {
                remove(&folder.join(part))?;
            }
            fs::create_dir_all(&rows).map_err(io_error("create", &rows))?;
        }
        write_file(&folder.join(PLAN), |out| {
            serde_json::to_writer(&mut *out, &plan)?;
            writeln!(out)
        })?;
        // Created and dropped as a test: the results can later be written next to it.
        drop(Folder::create(destination, true)?);
        Ok(Self {
            destination: destination.to_path_buf(),
            _lock: lock,
        })
    }

    fn row_file(&self, need: &RunRequest, id: &str) -> PathBuf {
        // A stored row lacks the answers to questions that were not asked then, so other questions need another file.
        let set = need.measures.map_or("", |set| set.name);
        let texts = (need.questions.iter()).flat_map(|one| one.measures.iter().chain([&one.sql]));
        let bytes = texts.flat_map(|text| text.bytes());
        let asked = match need.questions.is_empty() {
            true => String::new(),
            false => format!(
                "-{:016x}",
                bytes.fold(0, |hash, byte| mix(hash ^ u64::from(byte)))
            ),
        };
        let name = format!("{id}-{set}{asked}.json");
        self.destination.join(FOLDER).join("rows").join(name)
    }

    fn run_folder(&self, need: &RunRequest) -> PathBuf {
        self.destination.join(run_folder(&need.name()))
    }

    /// Returns the stored outcome of a run; a damaged row counts as absent.
    ///
    /// # Errors
    /// If it was written by another version, or was edited.
    pub fn take(&self, need: &RunRequest, input: &Resolved) -> Result<Option<DoneRun>, ResumeError> {
        let id = run_id(input);
        let file = self.row_file(need, &id);
        let row = paceline_scenario::read_text(&file).ok();
        let row: Option<Row> = match row.map(|text| unsealed(&text)) {
            Some(Err(Unsealed::Edited)) => {
                return Err(ResumeError::Refused(format!(
                    "{} was edited: it is not what `paceline reproduce` wrote (remove it, and the run is made again; or \
                     take the line `digest` out of it, to have it as it is)",
                    file.display()
                )));
            }
            row => row.and_then(Result::ok),
        };
        let Some(row) = row.filter(|row| row.id == id) else {
            return Ok(None);
        };
        if row.version != crate::identity::version() {
            return Err(ResumeError::Refused(format!(
                "{} is by version {}, this is {}: results of different versions are not mixed (remove it, and the \
                 run is made again)",
                file.display(),
                row.version,
                crate::identity::version()
            )));
        }
        // If the run's folder is wanted but was removed, the run has to be repeated.
        let whole = !need.folder || self.run_folder(need).is_dir();
        let summary = row.kept.summary().filter(|_| whole);
        Ok(summary.map(|summary| DoneRun {
            input: input.clone(),
            finished: None,
            numbers: need.kept(&row.kept, &summary),
            summary: Some(summary),
            status: Some(RunStatus::Completed),
            need: need.clone(),
        }))
    }

    /// Stores a run: its folder, if it has one, and, if it completed, its row, which marks it as finished.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn keep(&self, mut run: DoneRun) -> Result<DoneRun, OutputError> {
        // The folder first: a row promises that its run's folder is complete.
        if let Some(finished) = run.finished.take() {
            let folder = Folder::create(&self.run_folder(&run.need), true)?;
            write_run_into(&folder, Path::new(""), &run.input, &finished)?;
            folder.commit()?;
        }
        if run.status == Some(RunStatus::Completed) {
            let row = Row {
                id: run_id(&run.input),
                version: crate::identity::version().to_string(),
                run: run.need.name(),
                kept: StoredValues::whole(run.numbers.as_ref(), run.summary.as_ref()),
            };
            write_file(&self.row_file(&run.need, &row.id), sealed(&row))?;
        }
        Ok(run)
    }
}

/// Returns a hash of all built-in models.
fn models() -> String {
    let all = shipped::SHIPPED
        .iter()
        .flat_map(|one| [sha256(&one.card()), sha256(one.weights)]);
    sha256(all.collect::<String>().as_bytes())
}

impl Unfinished {
    fn step_file(&self, step: &Step) -> PathBuf {
        let name = step.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let file = format!("step-{name}.json");
        self.destination.join(FOLDER).join("rows").join(file)
    }
}

impl Keeps for Unfinished {
    /// Returns a stored step. Damaged or edited rows, and rows by another version or of other models, count as
    /// absent.
    fn take(&self, step: &Step) -> Option<Metrics> {
        let text = paceline_scenario::read_text(self.step_file(step)).ok()?;
        let row: Row = unsealed(&text).ok()?;
        let same = (row.run.as_str(), row.version.as_str(), row.id)
            == (step.name, crate::identity::version(), models());
        same.then(|| row.kept.numbers())
    }

    fn keep(&self, step: &Step, numbers: &Metrics) -> Result<(), StepError> {
        let row = Row {
            id: models(),
            version: crate::identity::version().to_string(),
            run: step.name.to_string(),
            kept: StoredValues::whole(Some(numbers), None),
        };
        write_file(&self.step_file(step), sealed(&row)).map_err(StepError::of)
    }
}

/// Returns the folder of the run with this name until all are done, within that of the results.
pub fn run_folder(name: &str) -> PathBuf {
    Path::new(FOLDER).join("runs").join(name)
}

/// Returns the folder of everything that is stored until all are done.
pub(super) fn kept() -> &'static Path {
    Path::new(FOLDER)
}

/// Locks the folder against a second process, or `shared` with other shards.
fn lock(folder: &Path, shared: bool) -> Result<File, ResumeError> {
    let path = folder.join(".lock");
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(io_error("create", &path))?;
    let locked = match shared {
        true => file.try_lock_shared(),
        false => file.try_lock(),
    };
    match locked {
        Err(TryLockError::WouldBlock) => Err(ResumeError::Refused(format!(
            "another `paceline reproduce` is at work in {}",
            folder.parent().unwrap_or(folder).display()
        ))),
        // Some network file systems have no locks, so this error is ignored.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(file),
    }
}

fn remove(folder: &Path) -> Result<(), OutputError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", folder)(error)),
        _ => Ok(()),
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OutputError {
    let path = path.to_path_buf();
    move |source| OutputError::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Step = Step {
        name: "some step",
        title: "",
        work: |_| Err(StepError::Stopped),
    };

    /// The values of a step are restored, unless they belong to other models or were edited.
    #[test]
    fn steps_are_kept() {
        let tmp = tempfile::tempdir().unwrap();
        let chosen: Vec<&Reproduction> = crate::registry().take(1).collect();
        let unfinished = Unfinished::open(&tmp.path().join("results"), &chosen, false, false).unwrap();
        let take = || Keeps::take(&unfinished, &STEP);
        assert_eq!(take(), None);
        let mut numbers = Metrics::default();
        numbers.set("value", 0.1);
        numbers.draw("list", vec![(0.0, 1.5); 600]);
        Keeps::keep(&unfinished, &STEP, &numbers).unwrap();
        assert_eq!(take(), Some(numbers));
        let file = unfinished.step_file(&STEP);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("1.5", "2.5")).unwrap();
        assert_eq!(take(), None);
        fs::write(&file, text.replace(&models(), "others")).unwrap();
        assert_eq!(take(), None);
    }
}
