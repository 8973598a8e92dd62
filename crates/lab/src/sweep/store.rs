//! Folder of a sweep during its execution: finished files survive, partial ones are removed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use paceline_kernel::sorted::SortedSet;

use super::data::{check_version, plan_file, read_plan, read_row, row_file};
use super::{Keep, Plan, Row, Shard, Status, SweepError, sealed_plan, stored};
use crate::files::{
    OutputError, check_destination, clear_leftovers, remove_if_left, sealed, sync, write_file,
    write_file_later,
};

/// Folder of a sweep that this process may write.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    /// Locks that are held as long as this value; the system releases them even if the process is killed.
    _locks: Vec<File>,
    /// True if the folder held another plan.
    pub(super) plan_changed: bool,
}

/// Removes leftovers of killed processes from the files of a sweep's folder.
pub(super) fn clear_killed(folder: &Path) {
    for name in [
        "sweep.json",
        "results.csv",
        "results.parquet",
        "points.csv",
        "points.parquet",
        "notes.json",
        "report.html",
    ] {
        clear_leftovers(&folder.join(name));
    }
}

impl Store {
    /// Opens or creates a sweep's folder for `plan`, of which this process runs the part `shard`. With `force` all
    /// files of an earlier sweep are removed.
    pub(super) fn open(folder: &Path, plan: &Plan, shard: Shard, force: bool) -> Result<Self, SweepError> {
        let resumes = is_begun(folder)?;
        make(folder)?;
        // Locked before anything is read or removed, so that two processes never clear or fill the same part.
        let locks = lock(folder, shard)?;
        // Read first: the scenario may be that of this folder, which is replaced.
        let stored = plan.stored.in_folder()?;
        let mut plan_changed = false;
        if resumes && force {
            clear(folder)?;
        } else if resumes {
            plan_changed = fits(folder, plan)?;
        }
        clear_killed(folder);
        // The plan is written first, so that a folder with any other file of a sweep has a plan.
        write_file(&plan_file(folder), sealed_plan::write(plan))?;
        stored::write(folder, &stored)?;
        make(&folder.join("runs"))?;
        make(&folder.join("rows"))?;
        let store = Self {
            folder: folder.to_path_buf(),
            _locks: locks,
            plan_changed,
        };
        // Rows are checked now: an edited row or one of another version would otherwise be found only after hours of
        // runs.
        let all = plan.runs();
        let mine: SortedSet<&str> = shard.of(&all).into_iter().map(|&(id, ..)| id).collect();
        for id in &mine {
            match read_row(folder, id) {
                Ok(Some(row)) => check_version(folder, plan, &row)?,
                Err(edited @ SweepError::Edited(_)) => return Err(edited),
                // The run of a damaged row is repeated.
                Ok(None) | Err(_) => {}
            }
        }
        // Only this shard's leftovers: files of other shards may be in use by another process.
        store.remove_leftovers(&mine)?;
        Ok(store)
    }

    /// Opens the folder of a sweep that another process owns, or an empty one, for a worker that adds runs.
    pub(crate) fn of_worker(folder: &Path) -> Result<Self, OutputError> {
        make(&folder.join("runs"))?;
        make(&folder.join("rows"))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            _locks: Vec::new(),
            plan_changed: false,
        })
    }

    /// Opens a folder for rows without folders of runs ([`Keep::Row`]).
    pub(crate) fn of_rows(folder: &Path) -> Result<Self, OutputError> {
        make(&folder.join("rows"))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            _locks: Vec::new(),
            plan_changed: false,
        })
    }

    /// Returns the folder of the sweep.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the folder of a run.
    pub(super) fn run_folder(&self, id: &str) -> PathBuf {
        self.folder.join("runs").join(id)
    }

    /// Returns true if a run need not be repeated: it succeeded, and its folder holds the files that `keep` requires.
    pub(crate) fn has(&self, id: &str, keep: Keep) -> bool {
        self.row(id).is_some_and(|row| {
            row.status == Status::Completed && row.keep >= keep && (keep == Keep::Row || self.is_whole(id))
        })
    }

    /// Returns true if a run's folder exists and its files are not empty; a loss of power may leave empty files.
    fn is_whole(&self, id: &str) -> bool {
        let folder = self.run_folder(id);
        let has_content = |name: &str| fs::metadata(folder.join(name)).is_ok_and(|file| file.len() > 0);
        ["scenario.toml", "summary.json"].into_iter().all(has_content)
    }

    /// Flushes the runs' files to disk.
    pub(crate) fn sync(&self) {
        // An error is harmless unless the machine loses power within seconds.
        let _ = sync(&self.folder);
    }

    /// Reads the row of a run, if it exists. (A damaged row counts as missing.)
    pub(crate) fn row(&self, id: &str) -> Option<Row> {
        read_row(&self.folder, id).ok().flatten()
    }

    /// Writes a row, which marks the run as finished.
    pub(super) fn write(&self, row: &Row) -> Result<(), OutputError> {
        write_file_later(&row_file(&self.folder, &row.id), sealed(row))
    }

    /// Removes the row of a run, if it exists.
    pub(super) fn remove_row(&self, id: &str) -> Result<(), OutputError> {
        remove(&row_file(&self.folder, id))
    }

    /// Removes leftovers of a killed process for these runs. (Those of other shards may still be in use.)
    fn remove_leftovers(&self, mine: &SortedSet<&str>) -> Result<(), OutputError> {
        for part in ["runs", "rows"] {
            let folder = self.folder.join(part);
            for entry in read_dir(&folder)? {
                let name = entry.file_name().to_string_lossy().into_owned();
                let Some(id) = owner(&name) else { continue };
                if mine.contains(id) {
                    remove_if_left(&entry.path());
                }
            }
        }
        Ok(())
    }
}

/// Returns true if a folder is a sweep's, and false if a sweep may start in it; other folders are an error.
fn is_begun(folder: &Path) -> Result<bool, OutputError> {
    let is_file = || plan_file(folder).is_file();
    if is_file() {
        return Ok(true);
    }
    match check_empty(folder) {
        // Another part of the sweep has started meanwhile.
        Err(OutputError::NotEmpty { .. }) if is_file() => Ok(true),
        other => other.map(|()| false),
    }
}

/// Returns true if `plan` continues the sweep in a folder: it is by the same code and has all of the runs there,
/// perhaps more. Also true if the folder's sweep has only just started.
pub fn goes_on(folder: &Path, plan: &Plan) -> bool {
    if is_begun(folder).is_ok_and(|begun| !begun) {
        return true;
    }
    let Ok(old) = read_plan(folder) else {
        return false;
    };
    let mine: SortedSet<&str> = plan.runs().into_iter().map(|(id, ..)| id).collect();
    old.version == plan.version && old.runs().iter().all(|(id, ..)| mine.contains(id))
}

/// Checks that a folder that is not a sweep's is empty, except for leftovers of a process that was killed before it
/// wrote the plan.
fn check_empty(folder: &Path) -> Result<(), OutputError> {
    let begun = |name: &str| name.starts_with(".lock") || name.starts_with(".sweep.json.");
    match check_destination(folder, false) {
        Err(OutputError::NotEmpty { path }) => {
            let mut entries = read_dir(folder)?.into_iter();
            if entries.all(|entry| begun(&entry.file_name().to_string_lossy())) {
                return Ok(());
            }
            Err(OutputError::NotEmpty { path })
        }
        other => other,
    }
}

/// Returns the run that a temporary folder or file belongs to: `.<id>.partial-<process>-<n>`, also with `.json` or
/// `old`.
fn owner(name: &str) -> Option<&str> {
    let rest = name.strip_prefix('.')?;
    let (owner, _) = rest
        .split_once(".partial-")
        .or_else(|| rest.split_once(".old-"))?;
    Some(owner.strip_suffix(".json").unwrap_or(owner))
}

/// Returns true if a folder's plan differs from `plan`; an error if `plan` cannot continue it.
fn fits(folder: &Path, plan: &Plan) -> Result<bool, SweepError> {
    let old = read_plan(folder)?;
    let location = folder.display();
    let hint = "choose another folder with --out, or start again there with --force";
    if old.version != plan.version {
        let finished = old
            .runs()
            .iter()
            .filter(|(id, ..)| row_file(folder, id).is_file())
            .count();
        return Err(SweepError::Refused(format!(
            "{location} holds a sweep by version {}, this is {}, which may give other results: its {finished} finished \
             runs are not mixed with new ones; {hint}",
            old.version, plan.version
        )));
    }
    if old.scenario != plan.scenario {
        return Err(SweepError::Refused(format!(
            "{location} holds a sweep of `{}`, this is one of `{}`: {hint}",
            old.scenario, plan.scenario
        )));
    }
    if !goes_on(folder, plan) {
        return Err(SweepError::Refused(format!(
            "{location} holds a sweep over another grid, some runs of which are not in this one: its tables would be \
             replaced. Choose another folder with --out, or start again there with --force"
        )));
    }
    Ok(!old.same_as(plan))
}

/// Locks the folder against other processes: the whole sweep excludes all others, a shard excludes the whole and the
/// same shard.
fn lock(folder: &Path, shard: Shard) -> Result<Vec<File>, SweepError> {
    let open = |name: &str| {
        let path = folder.join(name);
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).open(&path);
        file.map_err(io_error("create", &path))
    };
    let all = open(".lock")?;
    if shard == Shard::WHOLE {
        let taken = all.try_lock();
        return unless_at_work(taken, folder, "another `paceline sweep`").map(|()| vec![all]);
    }
    unless_at_work(all.try_lock_shared(), folder, "a `paceline sweep` of the whole")?;
    let one = open(&format!(".lock-{}-of-{}", shard.index(), shard.count()))?;
    let taken = one.try_lock();
    unless_at_work(
        taken,
        folder,
        &format!("another `paceline sweep --shard {shard}`"),
    )?;
    Ok(vec![all, one])
}

fn unless_at_work(taken: Result<(), TryLockError>, folder: &Path, who: &str) -> Result<(), SweepError> {
    match taken {
        Err(TryLockError::WouldBlock) => {
            let location = folder.display();
            Err(SweepError::Refused(format!("{who} is running in {location}")))
        }
        // Some network file systems have no locks.
        Err(TryLockError::Error(_)) | Ok(()) => Ok(()),
    }
}

/// Removes all files that sweeps write.
fn clear(folder: &Path) -> Result<(), OutputError> {
    for name in [
        stored::FOLDER,
        "rows",
        "runs",
        "results.csv",
        "results.parquet",
        "points.csv",
        "points.parquet",
        "notes.json",
        "report.html",
    ] {
        remove(&folder.join(name))?;
    }
    Ok(())
}

pub(super) fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OutputError {
    let path = path.to_path_buf();
    move |source| OutputError::Io { action, path, source }
}

pub(super) fn make(folder: &Path) -> Result<(), OutputError> {
    fs::create_dir_all(folder).map_err(io_error("create", folder))
}

fn remove(path: &Path) -> Result<(), OutputError> {
    let result = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        _ => Ok(()),
    }
}

pub(crate) fn read_dir(folder: &Path) -> Result<Vec<fs::DirEntry>, OutputError> {
    let entries = fs::read_dir(folder).map_err(io_error("read", folder))?;
    let entries: Result<Vec<_>, _> = entries.collect();
    entries.map_err(io_error("read", folder))
}
