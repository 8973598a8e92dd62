//! Checkpoints: the state of trainings on disk, so that one that is stopped or killed can resume and produce
//! the same bytes.
//!
//! `unfinished/` in the folder of a training holds `plan.json` (command and version) and a file for each
//! training of the command. A file is written at least every [`EVERY`] between two steps, as a new file that
//! is synchronised to disk before it replaces the old one. The folder is removed when the command is
//! complete. A file holds the state that the training cannot recompute: weights, means of optimisers, random
//! generators, and the actions of an environment's episode ([`Actions`]).

use std::cell::{Cell, RefCell};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use paceline_env::{Batch, Environment, Rollout};
use paceline_lab::files::{
    Folder, OutputError, check_destination, clear_leftovers, is_barely_begun, write_file,
};
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::Error;

/// Default time between two checkpoints.
pub const EVERY: Duration = Duration::from_secs(30);

/// Longest time for a last checkpoint when a training is stopped, so that the user need not wait; it is
/// skipped if the previous one took longer.
const PATIENCE: Duration = Duration::from_millis(200);

/// Subfolder of a training's folder, until the command is complete.
const FOLDER: &str = "unfinished";
const PLAN: &str = "plan.json";

/// Header of a checkpoint file; its SHA-256 follows, then its content.
const MAGIC: &[u8; 16] = b"paceline state\n\n";
const HASH: usize = 32;

/// Content of the file `unfinished/plan.json`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Plan {
    version: String,
    command: String,
}

impl Plan {
    fn read(destination: &Path) -> Option<Self> {
        let text = paceline_scenario::read_text(destination.join(FOLDER).join(PLAN)).ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// Checkpoints of the trainings of a command.
#[derive(Debug)]
pub struct Checkpoints {
    /// Folder of the training; `None` if nothing is kept.
    destination: Option<PathBuf>,
    plan: Plan,
    every: Duration,
    /// Time of the last checkpoint, and the time that it took.
    last: Cell<(Instant, Duration)>,
    /// Lock that is held while this exists; the operating system releases it even if the process is killed.
    lock: RefCell<Option<File>>,
    /// Called once if a checkpoint cannot be written; the training continues.
    warn: fn(&str),
    warned: Cell<bool>,
    /// Prefix of file names: the part of a training that has several.
    part: RefCell<String>,
    /// True if results have replaced the folder.
    replaced: Cell<bool>,
}

/// Removes the folder of a training that has written no checkpoint.
impl Drop for Checkpoints {
    fn drop(&mut self) {
        let Some(folder) = self.folder().filter(|_| !self.replaced.get()) else {
            return;
        };
        if self.lock.borrow().is_none() {
            return;
        }
        // Without a state there is nothing to resume.
        let names = fs::read_dir(&folder).into_iter().flatten().flatten();
        let ours = |name: &str| matches!(name, PLAN | ".lock");
        if names
            .into_iter()
            .all(|entry| entry.file_name().to_str().is_some_and(ours))
        {
            // If removal fails, an empty training stays, which the same command resumes.
            let _ = fs::remove_dir_all(&folder);
            let _ = self.destination.as_ref().map(fs::remove_dir);
        }
    }
}

/// The checkpoint of one of the networks that a command trains.
#[derive(Clone, Copy)]
pub struct Slot<'a> {
    pub(crate) checkpoints: &'a Checkpoints,
    pub(crate) name: &'a str,
}

impl Checkpoints {
    /// Returns the checkpoint of the network `name`.
    pub fn slot<'a>(&'a self, name: &'a str) -> Slot<'a> {
        Slot {
            checkpoints: self,
            name,
        }
    }

    /// Creates checkpoints that are not kept.
    pub fn none() -> Self {
        Self::new(None, "", Duration::MAX, |_| ())
    }

    fn new(destination: Option<&Path>, command: &str, every: Duration, warn: fn(&str)) -> Self {
        Self {
            destination: destination.map(Path::to_path_buf),
            plan: Plan {
                version: crate::identity::version().to_string(),
                command: command.to_string(),
            },
            every,
            last: Cell::new((Instant::now(), Duration::ZERO)),
            lock: RefCell::new(None),
            warn,
            warned: Cell::new(false),
            part: RefCell::default(),
            replaced: Cell::new(false),
        }
    }

    /// Returns true if `destination` holds a stopped training of this command.
    pub fn are_of(destination: &Path, command: &str) -> bool {
        Plan::read(destination).is_some_and(|plan| plan.command == command)
    }

    /// Opens the checkpoints of a command with results in `destination`: resumes a stopped training there, or
    /// with `force` starts again.
    ///
    /// # Errors
    /// The folder holds something else, or is from another version, or another process works there, or it
    /// cannot be written.
    pub fn open(
        destination: &Path,
        command: &str,
        every: Duration,
        force: bool,
        warn: fn(&str),
    ) -> Result<Self, Error> {
        clear_leftovers(destination);
        let new = Self::new(Some(destination), command, every, warn);
        let barely_begun = is_barely_begun(destination, FOLDER, PLAN);
        match Plan::read(destination) {
            Some(plan) if !force => new.fits(destination, &plan)?,
            None if barely_begun => {}
            _ => check_destination(destination, force)?,
        }
        let folder = destination.join(FOLDER);
        // A training that was killed before it wrote its plan starts again there.
        if folder.is_dir() && !barely_begun {
            new.lock(&folder)?;
            if force {
                fs::remove_dir_all(&folder).map_err(io_error("remove", &folder))?;
                new.lock.take();
            }
        }
        if !barely_begun {
            // Another process started a training here and gave up: results can be written.
            drop(Folder::create(destination, force || folder.is_dir())?);
        }
        // From here on no other process can train here, and a stopped training can be resumed.
        new.begin(&folder)?;
        Ok(new)
    }

    fn fits(&self, destination: &Path, plan: &Plan) -> Result<(), Error> {
        let folder = destination.display();
        let hint = "choose another folder with --out, or start again there with --force";
        if plan.command != self.plan.command {
            return Err(Error::Options(format!(
                "{folder} holds an unfinished training by `{}`, this is `{}`: {hint}",
                plan.command, self.plan.command
            )));
        }
        if plan.version != crate::identity::version() {
            return Err(Error::Options(format!(
                "{folder} holds an unfinished training by version {}, this is {}: {hint}",
                plan.version,
                crate::identity::version()
            )));
        }
        Ok(())
    }

    /// Locks the folder against a second process.
    fn lock(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(".lock");
        let mut options = File::options();
        let file = options.create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(io_error("create", &path))?;
        // Two processes would overwrite each other's checkpoints.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let training = folder.parent().unwrap_or(folder).display();
            return Err(Error::Options(format!(
                "another `paceline train` is at work in {training}"
            )));
        }
        // Other errors are ignored: some network file systems have no locks.
        *self.lock.borrow_mut() = Some(file);
        Ok(())
    }

    fn folder(&self) -> Option<PathBuf> {
        Some(self.destination.as_ref()?.join(FOLDER))
    }

    /// Returns true if there is a training to resume.
    pub fn exist(&self) -> bool {
        self.folder().is_some_and(|folder| folder.is_dir())
    }

    fn file(&self, folder: &Path, name: &str) -> PathBuf {
        folder.join(format!("{}{name}.bin", self.part.borrow()))
    }

    /// Sets the prefix that separates the following checkpoints from other parts of the training.
    pub(crate) fn enter(&self, part: &str) {
        *self.part.borrow_mut() = part.to_string();
    }

    /// Removes the checkpoints of the present part, whose results are stored elsewhere.
    pub(crate) fn forget(&self) {
        let part = self.part.borrow();
        let entries = self
            .folder()
            .into_iter()
            .flat_map(fs::read_dir)
            .flatten()
            .flatten();
        let of_part = |name: &str| !part.is_empty() && name.starts_with(&*part) && name.ends_with(".bin");
        for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(of_part)) {
            // A file that remains takes space but is not read again.
            let _ = fs::remove_file(entry.path());
        }
    }

    /// Runs a function as the part called `part`.
    pub(crate) fn in_part<T>(&self, part: &str, what: impl FnOnce() -> T) -> T {
        let before = self.part.replace(part.to_string());
        let done = what();
        *self.part.borrow_mut() = before;
        done
    }

    /// Returns a path for temporary results of the training until the command is complete; `None` if nothing
    /// is kept.
    ///
    /// # Errors
    /// The folder cannot be written, or another process works there.
    pub fn path_of(&self, name: &Path) -> Result<Option<PathBuf>, Error> {
        let Some(folder) = self.folder() else {
            return Ok(None);
        };
        self.begin(&folder)?;
        Ok(Some(folder.join(name)))
    }

    /// Returns the path from [`Checkpoints::path_of`] relative to the folder of the training.
    pub fn relative_path_of(name: &Path) -> PathBuf {
        Path::new(FOLDER).join(name)
    }

    /// Reads the state of the training `name`.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(crate) fn take<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Error> {
        let Some(folder) = self.folder() else {
            return Ok(None);
        };
        let path = self.file(&folder, name);
        let bytes = match paceline_scenario::read_bytes(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        content(&bytes).map(Some).map_err(|message| Error::Content {
            path,
            expected: "a checkpoint as `paceline train` wrote it",
            message: format!("{message} (start again with --force)"),
        })
    }

    /// Returns true if the next checkpoint is due.
    pub(crate) fn are_due(&self) -> bool {
        self.destination.is_some() && self.last.get().0.elapsed() >= self.every
    }

    /// Returns true if a last checkpoint is written when a training is stopped.
    pub(crate) fn are_quick(&self) -> bool {
        self.destination.is_some() && self.last.get().1 < PATIENCE
    }

    /// Writes the state of the training `name`. If that fails, a warning is printed and the training
    /// continues.
    ///
    /// # Errors
    /// Another process works in the folder.
    pub(crate) fn keep(&self, name: &str, state: &impl Serialize) -> Result<(), Error> {
        let Some(folder) = self.folder() else {
            return Ok(());
        };
        let begun = Instant::now();
        let written = self.write(&folder, name, state);
        self.last.set((Instant::now(), begun.elapsed()));
        match written {
            Err(error @ (Error::Io { .. } | Error::Output(_))) => {
                if !self.warned.replace(true) {
                    (self.warn)(&format!("no checkpoint is written: {error}"));
                }
                Ok(())
            }
            other => other,
        }
    }

    /// Creates and locks the folder, unless that is done already.
    fn begin(&self, folder: &Path) -> Result<(), Error> {
        if self.lock.borrow().is_none() {
            fs::create_dir_all(folder).map_err(io_error("create", folder))?;
            self.lock(folder)?;
            write_file(&folder.join(PLAN), |out| {
                serde_json::to_writer(&mut *out, &self.plan)?;
                writeln!(out)
            })?;
        }
        Ok(())
    }

    fn write(&self, folder: &Path, name: &str, state: &impl Serialize) -> Result<(), Error> {
        self.begin(folder)?;
        let state = postcard::to_allocvec(state).map_err(|error| Error::Options(error.to_string()))?;
        let hash = Sha256::digest(&state);
        write_file(&self.file(folder, name), |out| {
            out.write_all(MAGIC)?;
            out.write_all(&hash)?;
            out.write_all(&state)
        })?;
        Ok(())
    }

    /// Creates the folder of the results, which replaces that of the checkpoints.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn results(&self, destination: &Path, force: bool) -> Result<Folder, OutputError> {
        let folder = Folder::create_for_long(destination, force || self.exist())?;
        self.replaced.set(true);
        Ok(folder)
    }

    /// Carries the checkpoints over into a folder that will replace theirs.
    ///
    /// # Errors
    /// They cannot be copied.
    pub fn carry(&self, folder: &Folder) -> Result<(), OutputError> {
        folder.carry(Path::new(FOLDER), Path::new(FOLDER))
    }
}

fn content<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let Some((hash, state)) = bytes
        .strip_prefix(MAGIC)
        .and_then(|rest| rest.split_first_chunk::<HASH>())
    else {
        return Err("it does not begin as one".to_string());
    };
    // Damaged data would otherwise be decoded to other weights without an error.
    if Sha256::digest(state)[..] != hash[..] {
        return Err("it is damaged, or was edited".to_string());
    }
    postcard::from_bytes(state).map_err(|error| error.to_string())
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { action, path, source }
}

/// Numbers serialised as raw bytes, since there may be millions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Floats(pub(crate) Vec<f32>);

impl Floats {
    /// Returns the numbers if there are `count` of them.
    pub(crate) fn expect(self, count: usize) -> Result<Vec<f32>, Error> {
        expect_length(self.0.len(), count)?;
        Ok(self.0)
    }
}

/// Checks that a checkpoint has the expected number of values or parts.
pub(crate) fn expect_length(found: usize, expected: usize) -> Result<(), Error> {
    match found == expected {
        true => Ok(()),
        false => Err(Error::Options(format!(
            "a checkpoint has {found} numbers where {expected} are expected"
        ))),
    }
}

impl Serialize for Floats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = self.0.iter().flat_map(|value| value.to_le_bytes()).collect();
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Floats {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Floats;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("numbers of four bytes")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Floats, E> {
                let (numbers, rest) = bytes.as_chunks::<4>();
                match rest {
                    [] => Ok(Floats(
                        numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
                    )),
                    _ => Err(E::custom("a number is cut")),
                }
            }
        }
        let floats = deserializer.deserialize_bytes(Bytes)?;
        // NaN in a weight or a mean would spread over the whole training.
        match floats.0.iter().position(|value| value.is_nan()) {
            Some(index) => Err(D::Error::custom(format!("number {index} is none"))),
            None => Ok(floats),
        }
    }
}

/// Running episode of an environment, stored as the actions that reproduce it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Actions {
    seed: u64,
    polls: Vec<u32>,
    actions: Floats,
    polled: bool,
}

impl Actions {
    /// Records the present episode of an environment.
    pub(crate) fn of(environment: &Environment) -> Self {
        let Rollout {
            seed,
            polls,
            actions,
            polled,
            ..
        } = environment.rollout();
        Self {
            seed: *seed,
            polls: polls.clone(),
            actions: Floats(actions.clone()),
            polled: *polled,
        }
    }

    /// Replays the episode in an environment of the same scenario.
    pub(crate) fn replay(&self, environment: &mut Environment) -> Result<(), Error> {
        // Simulations cannot be serialised, but the same seed and actions reproduce the episode.
        environment.reset(Some(self.seed))?;
        let mut batch = Batch::default();
        let mut rest = &self.actions.0[..];
        for &count in &self.polls {
            environment.poll(&mut batch)?;
            let (actions, later) = rest
                .split_at_checked(count as usize)
                .ok_or_else(|| Error::Options("the actions of a checkpoint end early".to_string()))?;
            environment.submit(actions)?;
            rest = later;
        }
        if self.polled {
            environment.poll(&mut batch)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path, command: &str, force: bool) -> Result<Checkpoints, Error> {
        Checkpoints::open(path, command, Duration::ZERO, force, |_| ())
    }

    #[test]
    fn what_is_kept_is_taken_by_the_same_command() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("here");
        let state = (7u64, Floats(vec![0.1, -2.0]), vec!["a".to_string()]);
        drop(open(&path, "train a", false).unwrap());
        assert!(!path.exists(), "nothing is left of a training that kept nothing");
        let kept = open(&path, "train a", false).unwrap();
        assert!(kept.are_due() && Checkpoints::are_of(&path, "train a"));
        assert_eq!(kept.take::<u64>("a").unwrap(), None);
        kept.keep("a", &state).unwrap();
        let error = open(&path, "train a", false).unwrap_err().to_string();
        assert!(error.contains("is at work in"), "{error}");
        drop(kept);
        assert!(Checkpoints::are_of(&path, "train a") && !Checkpoints::are_of(&path, "train b"));
        let again = open(&path, "train a", false).unwrap();
        assert_eq!(again.take("a").unwrap(), Some(state));
        drop(again);
        let error = open(&path, "train b", false).unwrap_err().to_string();
        assert!(error.contains("by `train a`, this is `train b`"), "{error}");
        let forced = open(&path, "train b", true).unwrap();
        assert_eq!(forced.take::<u64>("a").unwrap(), None);
    }

    #[test]
    fn one_that_was_edited_is_refused() {
        let tmp = tempfile::tempdir().unwrap();
        let kept = open(tmp.path(), "train a", false).unwrap();
        kept.keep("a", &Floats(vec![1.0; 9])).unwrap();
        let path = tmp.path().join("unfinished/a.bin");
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, &bytes).unwrap();
        let error = kept.take::<Floats>("a").unwrap_err().to_string();
        assert!(
            error.contains("a.bin is not a checkpoint") && error.contains("was edited"),
            "{error}"
        );
        fs::write(&path, "nothing").unwrap();
        let error = kept.take::<Floats>("a").unwrap_err().to_string();
        assert!(error.contains("does not begin as one"), "{error}");
    }
}
