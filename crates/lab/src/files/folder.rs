//! Output folders that appear whole or not at all.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use super::limited::{Limit, Out, Waiting};
use super::staging::{self, Lasting, Staged};
use super::unmanaged::{copy, is_written, keep_foreign};
use super::{Format, Writing};
use crate::results::FlowRows;

/// Files that identify the folder of an earlier run; no other folder is ever replaced.
pub(super) const OURS: [&str; 7] = [
    "summary.json",
    "comparison.json",
    "sweep.json",
    "reproductions.json",
    "unfinished/plan.json",
    "training.json",
    "tune.json",
];

/// File that lists the files that were not written.
pub(super) const LEFT_OUT: &str = "left_out.txt";

/// Error on writing output.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The folder is not empty.
    #[error("{} is not empty: choose another folder with --out, or replace it with --force", path.display())]
    NotEmpty {
        /// Path of the output folder.
        path: PathBuf,
    },
    /// The folder holds files that no run has written.
    #[error(
        "{} does not look like the folder of an earlier run (there is no summary.json in it), \
         so it is not replaced: choose another folder with --out",
        path.display()
    )]
    NotOurs {
        /// Path of the output folder.
        path: PathBuf,
    },
    /// The path exists and is not a folder.
    #[error("{} exists and is not a folder: choose another with --out", path.display())]
    NotAFolder {
        /// Path that exists already.
        path: PathBuf,
    },
    /// The path is a dangling symbolic link.
    #[error(
        "{} is a link to {}, which does not exist: make that folder, or choose another with --out",
        path.display(), to.display()
    )]
    Dangling {
        /// Path of the link.
        path: PathBuf,
        /// Target of the link.
        to: PathBuf,
    },
    /// The path exists and is not a file.
    #[error("{} exists and is not a file: choose another name, or remove it", path.display())]
    NotAFile {
        /// Path that exists already.
        path: PathBuf,
    },
    /// The file exists, and `--force` was not given.
    #[error("{} exists: choose another file, or replace it with --force", path.display())]
    Exists {
        /// Path of the file.
        path: PathBuf,
    },
    /// The output file is also an input of the command.
    #[error("{} is what this command reads: choose another file", path.display())]
    Input {
        /// File that was to be written.
        path: PathBuf,
    },
    /// The file's name leads out of the folder.
    #[error("the file name `{}` leads out of the run's folder", path.display())]
    BadName {
        /// Name relative to the folder.
        path: PathBuf,
    },
    /// The operating system refused an operation.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Verb for the error text, such as "write".
        action: &'static str,
        /// File or folder under its final name.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// Checks that a folder can be created at `destination`, so that a long run fails before it starts and not after it.
pub fn check_destination(destination: &Path, force: bool) -> Result<(), OutputError> {
    let path = destination.to_path_buf();
    let mut entries = match fs::read_dir(destination) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return check_links(destination),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(OutputError::NotAFolder { path });
        }
        Err(source) => {
            return Err(OutputError::Io {
                action: "read",
                path,
                source,
            });
        }
    };
    if entries.next().is_none() {
        return Ok(());
    }
    if !force {
        return Err(OutputError::NotEmpty { path });
    }
    // `--force` must not remove a user's folder that was named by mistake.
    if OURS.iter().any(|name| destination.join(name).is_file()) {
        return Ok(());
    }
    Err(OutputError::NotOurs { path })
}

/// Refuses a dangling link at the destination or at one of its parents.
fn check_links(destination: &Path) -> Result<(), OutputError> {
    let dangles = |path: &&Path| path.is_symlink() && !path.exists();
    match destination.ancestors().find(dangles) {
        None => Ok(()),
        Some(link) => Err(OutputError::Dangling {
            path: link.to_path_buf(),
            to: fs::read_link(link).unwrap_or_default(),
        }),
    }
}

/// Folder that is still being written: a hidden sibling of its destination until [`Folder::commit`].
///
/// Dropped without a commit, it leaves nothing behind.
#[derive(Debug)]
pub struct Folder {
    destination: PathBuf,
    staged: Staged,
    force: bool,
    format: Format,
    timeline: bool,
    expand: bool,
    waiting: Option<Waiting>,
    left_out: RefCell<Vec<PathBuf>>,
    lasting: Lasting,
}

impl Folder {
    /// Starts a folder for `destination`. Missing parents are created, and leftovers of killed processes are removed.
    pub fn create(destination: &Path, force: bool) -> Result<Self, OutputError> {
        staging::clear_leftovers(destination);
        check_destination(destination, force)?;
        // `.`, `..` and symbolic links have no name of their own to rename to.
        let destination = fs::canonicalize(destination).unwrap_or_else(|_| destination.to_path_buf());
        let parent = staging::parent(&destination);
        fs::create_dir_all(&parent).map_err(|source| OutputError::Io {
            action: "create",
            path: parent.clone(),
            source,
        })?;
        let staged = Staged::folder(&destination).map_err(|source| OutputError::Io {
            action: "create",
            path: destination.clone(),
            source,
        })?;
        Ok(Self {
            destination,
            staged,
            force,
            format: Format::default(),
            timeline: false,
            expand: false,
            waiting: None,
            left_out: RefCell::default(),
            lasting: Lasting::AtOnce,
        })
    }

    /// Starts a folder for output that took long to compute. If the destination has been taken meanwhile, the folder
    /// gets a numbered name next to it, so that no results are lost.
    pub fn create_for_long(destination: &Path, force: bool) -> Result<Self, OutputError> {
        use OutputError::{Dangling, NotAFolder, NotEmpty, NotOurs};
        match Self::create(destination, force) {
            Err(NotEmpty { .. } | NotOurs { .. } | NotAFolder { .. } | Dangling { .. }) => {
                let next = |n: u32| PathBuf::from(format!("{}-{n}", destination.display()));
                let free = |location: &PathBuf| fs::symlink_metadata(location).is_err();
                let location = (2..).map(next).find(free).expect("names do not end");
                Self::create(&location, false)
            }
            other => other,
        }
    }

    /// Sets format, timeline and related options from `how`.
    pub const fn written(mut self, how: Writing) -> Self {
        (self.format, self.timeline) = (how.format, how.timeline);
        (self.expand, self.waiting) = (how.expand, how.waiting);
        self
    }

    /// Defers the flush to disk. A caller that makes many folders calls [`staging::sync`] once at the end.
    pub(crate) const fn lasting_later(mut self) -> Self {
        self.lasting = Lasting::Later;
        self
    }

    /// Returns the format of tables.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Returns true if repeated flows are written each time.
    pub(super) const fn expand(&self) -> bool {
        self.expand
    }

    /// Returns true if some of `flows` are repeats and each of these is written only once.
    pub(super) fn folds(&self, flows: &FlowRows) -> bool {
        !self.expand && !flows.repeats().all().is_empty()
    }

    /// Returns true if runs get a timeline.
    pub(super) const fn timeline(&self) -> bool {
        self.timeline
    }

    /// Returns the final path of the folder.
    pub fn destination(&self) -> &Path {
        &self.destination
    }

    /// Writes the file `name` (a relative path) of the folder through a buffer.
    pub fn write(
        &self,
        name: &Path,
        fill: impl FnOnce(&mut Out) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        self.write_within(name, Limit::Never, fill)
    }

    /// Writes an optional file; it is left out if the user is waiting and the grace period is over
    /// ([`Writing::waiting`]).
    pub fn write_if_time(
        &self,
        name: &Path,
        fill: impl FnOnce(&mut Out) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        self.write_within(name, self.waiting.map_or(Limit::Never, Limit::InTime), fill)
    }

    /// Writes a required table of `rows` rows; it is left out only if the user, who is notified of a long write, stops
    /// waiting.
    pub(super) fn write_while_waiting(
        &self,
        name: &Path,
        rows: usize,
        fill: impl FnOnce(&mut Out) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        /// Rows that are written in less than half a second.
        const FEW: usize = 300_000;
        let Some(waiting) = self.waiting else {
            return self.write(name, fill);
        };
        if rows > FEW && !(waiting.no_longer)() {
            (waiting.tell)(&format!("{} with {rows} rows", name.display()));
        }
        self.write_within(name, Limit::WhileWaiting(waiting), fill)
    }

    /// Returns true if it is too late for an optional file; the file is then listed as left out and need not be
    /// computed.
    pub(super) fn leaves_out(&self, name: &Path) -> bool {
        let late = self
            .waiting
            .map(Limit::InTime)
            .is_some_and(|limit| limit.is_over());
        if late {
            self.left_out.borrow_mut().push(name.to_path_buf());
        }
        late
    }

    fn write_within(
        &self,
        name: &Path,
        limit: Limit,
        fill: impl FnOnce(&mut Out) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        if limit.is_over() {
            self.left_out.borrow_mut().push(name.to_path_buf());
            return Ok(());
        }
        let path = self.staged(name)?;
        let attempt = || staging::fill(File::create(&path)?, limit, self.lasting, fill);
        let failed = |source| OutputError::Io {
            action: "write",
            path: self.destination.join(name),
            source,
        };
        match attempt() {
            // It was given up halfway.
            Err(_) if limit.is_over() => {
                self.left_out.borrow_mut().push(name.to_path_buf());
                fs::remove_file(&path).map_err(failed)
            }
            written => written.map_err(failed),
        }
    }

    /// Returns the files that were left out, and writes their names into a file of the folder.
    ///
    /// # Errors
    /// That cannot be written.
    pub fn left_out(&self) -> Result<Vec<PathBuf>, OutputError> {
        let names = self.left_out.borrow().clone();
        if !names.is_empty() {
            self.write(Path::new(LEFT_OUT), |out| {
                writeln!(out, "Not written, since the run was interrupted:")?;
                names
                    .iter()
                    .try_for_each(|name| writeln!(out, "{}", name.display()))
            })?;
        }
        Ok(names)
    }

    /// Gives folder `from` of the current destination, if it exists, a second name `to` in the new one, hidden files
    /// excepted.
    pub fn carry(&self, from: &Path, to: &Path) -> Result<(), OutputError> {
        let path = self.destination.join(from);
        if !path.is_dir() {
            return Ok(());
        }
        let failed = |source| OutputError::Io {
            action: "read",
            path: path.clone(),
            source,
        };
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (name, target) = (entry.file_name(), to.join(entry.file_name()));
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            if entry.path().is_dir() {
                self.carry(&from.join(name), &target)?;
            } else {
                copy(&entry.path(), &self.staged(&target)?).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Returns the path of the file `name` (a relative path) before the commit, for code that writes files itself. The
    /// parent folder is created.
    pub fn staged(&self, name: &Path) -> Result<PathBuf, OutputError> {
        let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !name.components().all(normal) {
            return Err(OutputError::BadName {
                path: name.to_path_buf(),
            });
        }
        let staged = self.staged.path().join(name);
        self.staged.make_room(&staged).map_err(|source| OutputError::Io {
            action: "write",
            path: self.destination.join(name),
            source,
        })?;
        Ok(staged)
    }

    /// Moves the folder to its destination. Files that no run has written are kept from a folder that it replaces.
    pub fn commit(self) -> Result<(), OutputError> {
        // Checked again, because the destination may have been created during the run.
        check_destination(&self.destination, self.force)?;
        let failed = |action| {
            let path = self.destination.clone();
            move |source| OutputError::Io { action, path, source }
        };
        if !self.destination.exists() {
            let published = self.staged.publish(&self.destination, self.lasting);
            return published.map_err(failed("create"));
        }
        // A user's notes and plots in the folder survive a rerun.
        keep_foreign(&self.destination, self.staged.path()).map_err(failed("keep what is in"))?;
        let replaced = self.staged.replace(&self.destination);
        replaced.map_err(|(action, source)| failed(action)(source))
    }
}

/// Single output file of a command, checked before anything runs.
#[derive(Debug)]
pub struct OutFile {
    path: PathBuf,
    force: bool,
}

impl OutFile {
    /// Checks that writing to `path` destroys nothing that the user needs.
    ///
    /// `inputs` are the files and folders that the command reads.
    ///
    /// # Errors
    /// There is a link, a folder or a device; a file, without `force`; an input; or a result in a folder that is an
    /// input.
    pub fn new(path: &Path, force: bool, inputs: &[&Path]) -> Result<Self, OutputError> {
        let out = Self {
            path: path.to_path_buf(),
            force,
        };
        let Some(there) = out.there()? else { return Ok(out) };
        let is_read = |input: &&Path| {
            fs::canonicalize(input).is_ok_and(|input| {
                there == input
                    || there.strip_prefix(&input).is_ok_and(|within| {
                        let name = within.file_name().unwrap_or_default();
                        is_written(name, within.parent().unwrap_or(Path::new("")))
                    })
            })
        };
        if inputs.iter().any(is_read) {
            return Err(OutputError::Input { path: out.path });
        }
        Ok(out)
    }

    /// Returns the path of the file that would be replaced, if it exists.
    fn there(&self) -> Result<Option<PathBuf>, OutputError> {
        let path = || self.path.clone();
        match fs::symlink_metadata(&self.path) {
            Err(_) => Ok(None),
            Ok(there) if !there.is_file() => Err(OutputError::NotAFile { path: path() }),
            Ok(_) if !self.force => Err(OutputError::Exists { path: path() }),
            Ok(_) => Ok(fs::canonicalize(&self.path).ok()),
        }
    }

    /// Writes the file, which appears whole or not at all.
    ///
    /// # Errors
    /// Meanwhile something else has appeared there, or the system refuses.
    pub fn write(&self, fill: impl FnOnce(&mut Out) -> io::Result<()>) -> Result<(), OutputError> {
        self.there()?;
        staging::clear_leftovers(&self.path);
        write_file(&self.path, fill)
    }
}

/// Writes a single file, which appears whole or not at all and replaces an earlier one. Anything that is not a regular
/// file is left alone; links are not followed.
pub fn write_file(path: &Path, fill: impl FnOnce(&mut Out) -> io::Result<()>) -> Result<(), OutputError> {
    write_lasting(path, Lasting::AtOnce, fill)
}

/// Writes a single file without waiting for the disk ([`staging::sync`]).
pub(crate) fn write_file_later(
    path: &Path,
    fill: impl FnOnce(&mut Out) -> io::Result<()>,
) -> Result<(), OutputError> {
    write_lasting(path, Lasting::Later, fill)
}

fn write_lasting(
    path: &Path,
    lasting: Lasting,
    fill: impl FnOnce(&mut Out) -> io::Result<()>,
) -> Result<(), OutputError> {
    // A link or a device would be replaced, and its target would stay as it was.
    match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => {
            let path = path.to_path_buf();
            return Err(OutputError::NotAFile { path });
        }
        _ => {}
    }
    let attempt = || {
        let (staged, file) = Staged::file(path)?;
        staging::fill(file, Limit::Never, lasting, fill)?;
        staged.publish(path, lasting)
    };
    attempt().map_err(|source| OutputError::Io {
        action: "write",
        path: path.to_path_buf(),
        source,
    })
}

#[cfg(test)]
mod tests;
