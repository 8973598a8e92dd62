//! Files and folders that are still being written: hidden next to their destination, and removed if they are never
//! published.

use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use super::limited::{Limit, Limited, Out};

/// Paths that this process is writing. The lock is held while one is created or published, so that the program never
/// exits between two steps of that.
static STAGED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Time at which a file is flushed to disk, so that it survives a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lasting {
    /// Before it gets its final name.
    AtOnce,
    /// When the system or [`sync`] flushes it: waiting for the disk takes longer than a short run.
    Later,
}

/// Flushes deferred writes of the file system that holds `folder`.
pub(crate) fn sync(folder: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(File::open(folder)?)?;
    let _ = folder;
    Ok(())
}

/// Hidden file or folder next to its destination.
///
/// It is removed if it is dropped unpublished. If the process is killed, it stays; its lock, which ends with the
/// process, lets others recognise it as a leftover ([`clear_leftovers`]).
#[derive(Debug)]
pub(super) struct Staged {
    path: PathBuf,
    /// Lock on the path; `None` if the system does not support such locks.
    _lock: Option<File>,
}

impl Staged {
    /// Creates an empty folder to be published as `destination`.
    pub(super) fn folder(destination: &Path) -> io::Result<Self> {
        loop {
            let path = hidden(destination, "partial");
            let mut list = list();
            fs::create_dir(&path)?;
            // Another process may have taken it for a leftover before it was locked.
            if let Some(staged) = Self::locked(&mut list, path, None) {
                return Ok(staged);
            }
        }
    }

    /// Creates an empty file to be published as `destination`.
    pub(super) fn file(destination: &Path) -> io::Result<(Self, File)> {
        loop {
            let path = hidden(destination, "partial");
            let mut list = list();
            let file = File::create_new(&path)?;
            if let Some(staged) = Self::locked(&mut list, path, Some(file.try_clone()?)) {
                return Ok((staged, file));
            }
        }
    }

    fn locked(list: &mut Vec<PathBuf>, path: PathBuf, file: Option<File>) -> Option<Self> {
        let file = file.or_else(|| File::open(&path).ok());
        let lock = match file.map(|file| (file.try_lock(), file)) {
            Some((Ok(()), file)) => Some(file),
            Some((Err(fs::TryLockError::WouldBlock), _)) => return None,
            _ => None,
        };
        if !path.exists() {
            return None;
        }
        list.push(path.clone());
        Some(Self { path, _lock: lock })
    }

    /// Returns the hidden path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the parent folder of `path` within it.
    pub(super) fn make_room(&self, path: &Path) -> io::Result<()> {
        // A folder that was abandoned must not be created again.
        let _list = list();
        fs::create_dir_all(parent(path))
    }

    /// Publishes it at `destination`, where nothing exists.
    pub(super) fn publish(self, destination: &Path, lasting: Lasting) -> io::Result<()> {
        let list = list();
        fs::rename(&self.path, destination)?;
        drop(list);
        if lasting == Lasting::Later {
            return Ok(());
        }
        // The name has to survive a loss of power like the content. If folders cannot be synced, it does after a short
        // time.
        if let Ok(parent) = File::open(parent(destination)) {
            let _ = parent.sync_all();
        }
        Ok(())
    }

    /// Publishes it at `destination` and removes the file or folder that was there.
    pub(super) fn replace(self, destination: &Path) -> Result<(), (&'static str, io::Error)> {
        let former = hidden(destination, "old");
        let mut list = list();
        let lock = lock_of(destination);
        // A kill between the two renames leaves the former result under a hidden name: `clear_leftovers` restores it.
        fs::rename(destination, &former).map_err(|error| ("replace", error))?;
        if let Err(error) = fs::rename(&self.path, destination) {
            // The former folder is restored; the first error is the one to report.
            let _ = fs::rename(&former, destination);
            drop(list);
            return Err(("create", error));
        }
        list.push(former.clone());
        drop(list);
        let former = Self {
            path: former,
            _lock: lock,
        };
        remove(&former.path).map_err(|error| ("remove the former", error))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        list().retain(|path| *path != self.path);
        // Either it was published and nothing is left to remove, or there is no caller to report an error to.
        let _ = remove(&self.path);
    }
}

fn list() -> MutexGuard<'static, Vec<PathBuf>> {
    STAGED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a file through a buffer and flushes it to disk, so that a rename afterwards never exposes partial content.
pub(super) fn fill(
    file: File,
    limit: Limit,
    lasting: Lasting,
    fill: impl FnOnce(&mut Out) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = Limited::buffered(file, limit);
    fill(&mut out)?;
    out.flush()?;
    match lasting {
        Lasting::AtOnce => out.get_ref().file.sync_all(),
        Lasting::Later => Ok(()),
    }
}

/// Removes everything that this process is writing and blocks further publications; for a process that is about to exit
/// in the middle of one. Returns true if there was anything to remove.
pub fn abandon() -> bool {
    /// Maximum number of attempts: a folder that another thread still writes into is not always empty when it is
    /// removed.
    const TRIES: usize = 10;
    let mut list = list();
    let some = !list.is_empty();
    for path in list.drain(..) {
        let _ = (0..TRIES).find(|_| remove(&path).is_ok());
    }
    // The lock stays held, so that other threads wait here instead of reporting their files as missing.
    std::mem::forget(list);
    some
}

/// Removes the leftovers of killed processes at `destination`. If one was killed while it replaced an earlier result,
/// the earlier result is restored.
pub fn clear_leftovers(destination: &Path) {
    let Some(name) = destination.file_name().map(|name| name.to_string_lossy()) else {
        return;
    };
    let (partial, old) = (format!(".{name}.partial-"), format!(".{name}.old-"));
    // Entries that cannot be read or removed do no harm.
    for entry in fs::read_dir(parent(destination)).into_iter().flatten().flatten() {
        let found = entry.file_name().to_string_lossy().into_owned();
        if found.starts_with(&old) && !destination.exists() {
            if let Some(_lock) = lock_of(&entry.path()) {
                let _ = fs::rename(entry.path(), destination);
            }
        } else if found.starts_with(&partial) || found.starts_with(&old) {
            remove_if_left(&entry.path());
        }
    }
}

/// Returns true if `destination` holds only its folder `name`, with nothing but the leftovers of a process that was
/// killed before it wrote its file `plan`: locks, that file in the making, empty folders.
pub fn is_barely_begun(destination: &Path, name: &str, plan: &str) -> bool {
    let entries = |folder: &Path| -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    };
    let staged = format!(".{plan}.partial-");
    let is_left = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match fs::symlink_metadata(path) {
            Ok(about) if about.is_dir() => entries(path).is_ok_and(|entries| entries.is_empty()),
            _ => name == ".lock" || name.starts_with(&staged),
        }
    };
    let folder = destination.join(name);
    let is_alone = entries(destination).is_ok_and(|entries| entries == [folder.clone()]);
    let is_real = fs::symlink_metadata(&folder).is_ok_and(|about| about.is_dir());
    is_alone && is_real && entries(&folder).is_ok_and(|entries| entries.iter().all(is_left))
}

/// Removes an unpublished path unless the process that writes it is alive.
pub(crate) fn remove_if_left(path: &Path) {
    // The lock is held until the path is removed: a process that has just created it fails to lock it, or finds it
    // missing, and creates another.
    if let Some(_lock) = lock_of(path) {
        let _ = remove(path);
    }
}

/// Takes the lock of a path whose owner has ended; returns `None` if it is in use or locks are not supported.
fn lock_of(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    file.try_lock().ok()?;
    Some(file)
}

fn remove(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if there.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

/// Returns the parent folder of `path`.
pub(super) fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Returns a path next to `destination` that neither another process nor another call in this one uses.
fn hidden(destination: &Path, what: &str) -> PathBuf {
    // Processes of several machines or containers may have one number and write into one folder, so counts start at
    // random.
    static NEXT: LazyLock<AtomicU32> =
        LazyLock::new(|| AtomicU32::new(RandomState::new().hash_one(0) as u32));
    let mut name = OsString::from(".");
    name.push(destination.file_name().unwrap_or_default());
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{what}-{}-{n}", std::process::id()));
    parent(destination).join(name)
}

/// Returns true if a name has the form that [`hidden`] generates.
pub(super) fn is_hidden(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = [".partial-", ".old-"]
        .iter()
        .find_map(|what| name.rsplit_once(what))
        .and_then(|(_, rest)| rest.split_once('-'));
    name.starts_with('.') && numbers.is_some_and(|(process, n)| number(process) && number(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_the_making_is_told_by_its_name() {
        let made = hidden(Path::new("a/b.csv"), "partial");
        assert!(is_hidden(&made.file_name().unwrap().to_string_lossy()));
        for name in [".b.partial-1", "b.partial-1-0", ".b.partial-x-0", ".partial"] {
            assert!(!is_hidden(name), "{name}");
        }
    }

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_killed_processes_leave_is_cleared_and_what_lives_is_not() {
        let tmp = tempfile::tempdir().unwrap();
        let location = tmp.path().join("a");
        fs::create_dir(&location).unwrap();
        fs::create_dir_all(tmp.path().join(".a.partial-1-0/sub")).unwrap();
        fs::create_dir(tmp.path().join(".a.old-1-1")).unwrap();
        fs::write(tmp.path().join(".a.partial-1-2"), "").unwrap();
        fs::write(tmp.path().join(".ab.partial-1-2"), "").unwrap();
        let alive = Staged::folder(&location).unwrap();
        clear_leftovers(&location);
        let living = alive.path().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(names(tmp.path()), [living.as_str(), ".ab.partial-1-2", "a"]);
        drop(alive);
        assert_eq!(names(tmp.path()), [".ab.partial-1-2", "a"]);
    }

    /// A folder that one thread starts while another clears leftovers either survives or can be started again; it is
    /// never lost.
    #[test]
    fn what_begins_while_another_clears_stays() {
        let tmp = tempfile::tempdir().unwrap();
        let location = tmp.path().join("a");
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        clear_leftovers(&location);
                    }
                });
            }
            let published = (0..1000).all(|_| {
                Staged::file(&location)
                    .is_ok_and(|(staged, _file)| staged.publish(&location, Lasting::AtOnce).is_ok())
            });
            done.store(true, Ordering::Relaxed);
            assert!(published);
        });
    }

    #[test]
    fn a_beginning_that_was_killed_is_told_from_what_somebody_has() {
        let tmp = tempfile::tempdir().unwrap();
        let begun = || is_barely_begun(tmp.path(), "unfinished", "plan.json");
        assert!(!begun());
        let folder = tmp.path().join("unfinished");
        fs::create_dir_all(folder.join("rows")).unwrap();
        for name in [".lock", ".plan.json.partial-1-0"] {
            fs::write(folder.join(name), "").unwrap();
        }
        assert!(begun());
        for name in ["unfinished/mine", "unfinished/rows/mine", "mine"] {
            fs::write(tmp.path().join(name), "").unwrap();
            assert!(!begun(), "{name}");
            fs::remove_file(tmp.path().join(name)).unwrap();
        }
        assert!(begun());
    }

    #[test]
    fn a_replacement_that_was_cut_short_is_undone() {
        let tmp = tempfile::tempdir().unwrap();
        let location = tmp.path().join("a");
        let old = tmp.path().join(".a.old-1-1");
        fs::create_dir(&old).unwrap();
        fs::write(old.join("summary.json"), "1").unwrap();
        clear_leftovers(&location);
        assert_eq!(fs::read_to_string(location.join("summary.json")).unwrap(), "1");
        assert_eq!(names(tmp.path()), ["a"]);
    }
}
