//! A folder that appears whole or not at all.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use super::limited::{Limit, Out, Waiting};
use super::staging::{self, Lasting, Staged};
use super::unmanaged::{copy, is_written, keep_foreign};
use super::{Format, Writing};
use crate::results::FlowRows;

/// Files by which the folder of an earlier run is known: nothing else is ever replaced.
pub(super) const OURS: [&str; 6] = [
    "summary.json",
    "comparison.json",
    "sweep.json",
    "reproductions.json",
    "unfinished/plan.json",
    "training.json",
];

/// The file that names what was not written.
pub(super) const LEFT_OUT: &str = "left_out.txt";

/// Why output could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The folder has something in it.
    #[error("{} is not empty: choose another folder with --out, or replace it with --force", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has something in it that no run has written.
    #[error(
        "{} does not look like the folder of an earlier run (there is no summary.json in it), \
         so it is not replaced: choose another folder with --out",
        path.display()
    )]
    NotOurs {
        /// The folder.
        path: PathBuf,
    },
    /// There is something in the way that is not a folder.
    #[error("{} exists and is not a folder: choose another with --out", path.display())]
    NotAFolder {
        /// What is in the way.
        path: PathBuf,
    },
    /// There is a link that leads nowhere.
    #[error(
        "{} is a link to {}, which does not exist: make that folder, or choose another with --out",
        path.display(), to.display()
    )]
    Dangling {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// There is something in the way that is not a file.
    #[error("{} exists and is not a file: choose another name, or remove it", path.display())]
    NotAFile {
        /// What is in the way.
        path: PathBuf,
    },
    /// The file is there already.
    #[error("{} exists: choose another file, or replace it with --force", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The command reads the file that it was asked to write.
    #[error("{} is what this command reads: choose another file", path.display())]
    Input {
        /// The file.
        path: PathBuf,
    },
    /// A file's name would lead out of the folder.
    #[error("the file name `{}` leads out of the run's folder", path.display())]
    BadName {
        /// The name.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file or folder, as it would be called in the end.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Whether a folder can be made at `destination`: to be asked before a long run, not after it.
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
    if OURS.iter().any(|name| destination.join(name).is_file()) {
        return Ok(());
    }
    Err(OutputError::NotOurs { path })
}

/// Refuses what leads nowhere: the destination, or a folder that it is to be in.
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

/// A folder in the making: a hidden sibling of its destination until [`Folder::commit`].
///
/// Dropped without that, it leaves nothing behind.
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
    /// Starts a folder that is to be `destination`; its parents are made where they are missing, and what processes that were
    /// killed have left of it is removed.
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

    /// The same of what took long: where something has come into its place meanwhile, the folder is to be next to that.
    pub fn create_for_long(destination: &Path, force: bool) -> Result<Self, OutputError> {
        use OutputError::{Dangling, NotAFolder, NotEmpty, NotOurs};
        match Self::create(destination, force) {
            Err(NotEmpty { .. } | NotOurs { .. } | NotAFolder { .. } | Dangling { .. }) => {
                let next = |n: u32| PathBuf::from(format!("{}-{n}", destination.display()));
                let free = |place: &PathBuf| fs::symlink_metadata(place).is_err();
                let place = (2..).map(next).find(free).expect("names do not end");
                Self::create(&place, false)
            }
            other => other,
        }
    }

    /// The same, written as that says.
    pub const fn written(mut self, how: Writing) -> Self {
        (self.format, self.timeline) = (how.format, how.timeline);
        (self.expand, self.waiting) = (how.expand, how.waiting);
        self
    }

    /// The same of which nobody waits until it is on the disk: whoever makes many folders calls [`staging::sync`] at the end.
    pub(crate) const fn lasting_later(mut self) -> Self {
        self.lasting = Lasting::Later;
        self
    }

    /// The format of tables.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Whether flows that come again are written each time.
    pub(super) const fn expand(&self) -> bool {
        self.expand
    }

    /// Whether of these flows those that come again are written once.
    pub(super) fn folds(&self, flows: &FlowRows) -> bool {
        !self.expand && !flows.repeats().all().is_empty()
    }

    /// Whether runs get a timeline.
    pub(super) const fn timeline(&self) -> bool {
        self.timeline
    }

    /// Where the folder will be.
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

    /// The same for a file without which the folder tells its run: unless somebody waits, and has for long enough
    /// ([`Writing::waiting`]).
    pub fn write_if_time(
        &self,
        name: &Path,
        fill: impl FnOnce(&mut Out) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        self.write_within(name, self.waiting.map_or(Limit::Never, Limit::InTime), fill)
    }

    /// The same for a table of so many rows, of which the run is told as well: unless somebody waits no longer. They hear of
    /// it if it takes time.
    pub(super) fn write_while_waiting(
        &self,
        name: &Path,
        rows: usize,
        fill: impl FnOnce(&mut Out) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        /// So many take less than half a second.
        const FEW: usize = 300_000;
        let Some(waiting) = self.waiting else {
            return self.write(name, fill);
        };
        if rows > FEW && !(waiting.no_longer)() {
            (waiting.tell)(&format!("{} with {rows} rows", name.display()));
        }
        self.write_within(name, Limit::WhileWaiting(waiting), fill)
    }

    /// Whether there is no time any more for a file without which the folder tells its run; then it is named as left out, and
    /// need not be computed.
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

    /// The files that were not written, since somebody waited; a file of the folder names them, too.
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

    /// Gives the folder `from` of what is in its place, if that is there, a name `to` in it as well, but for what is hidden.
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

    /// Where the file `name` (a relative path) is until the folder is in its place, for what writes files
    /// by itself; the folder that it is in is made.
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

    /// Puts the folder in its place. What no run has written into that of an earlier run stays in it.
    pub fn commit(self) -> Result<(), OutputError> {
        check_destination(&self.destination, self.force)?;
        let failed = |action| {
            let path = self.destination.clone();
            move |source| OutputError::Io { action, path, source }
        };
        if !self.destination.exists() {
            let published = self.staged.publish(&self.destination, self.lasting);
            return published.map_err(failed("create"));
        }
        keep_foreign(&self.destination, self.staged.path()).map_err(failed("keep what is in"))?;
        let replaced = self.staged.replace(&self.destination);
        replaced.map_err(|(action, source)| failed(action)(source))
    }
}

/// A single file that a command was asked to write, and that it may write: made before anything runs.
#[derive(Debug)]
pub struct OutFile {
    path: PathBuf,
    force: bool,
}

impl OutFile {
    /// Checks that nobody loses anything by the file at `path`.
    ///
    /// `inputs` are the files and folders that the command reads.
    ///
    /// # Errors
    /// There is a link, a folder or a device; a file, without `force`; an input; or a result in a folder that is an input.
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

    /// Finds the file that would be replaced.
    fn there(&self) -> Result<Option<PathBuf>, OutputError> {
        let path = || self.path.clone();
        match fs::symlink_metadata(&self.path) {
            Err(_) => Ok(None),
            Ok(there) if !there.is_file() => Err(OutputError::NotAFile { path: path() }),
            Ok(_) if !self.force => Err(OutputError::Exists { path: path() }),
            Ok(_) => Ok(fs::canonicalize(&self.path).ok()),
        }
    }

    /// Writes it: it appears whole or not at all.
    ///
    /// # Errors
    /// Meanwhile something else has appeared there, or the system refuses.
    pub fn write(&self, fill: impl FnOnce(&mut Out) -> io::Result<()>) -> Result<(), OutputError> {
        self.there()?;
        staging::clear_leftovers(&self.path);
        write_file(&self.path, fill)
    }
}

/// Writes a single file: it appears whole or not at all, instead of an earlier one. What is not a file
/// stays as it is, a link too: nothing is written where it leads.
pub fn write_file(path: &Path, fill: impl FnOnce(&mut Out) -> io::Result<()>) -> Result<(), OutputError> {
    write_lasting(path, Lasting::AtOnce, fill)
}

/// The same of which nobody waits until it is on the disk ([`staging::sync`]).
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
