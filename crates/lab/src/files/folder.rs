//! A folder that appears whole or not at all.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

use super::staging::{self, Staged};
use super::unmanaged::{copy, keep_foreign};
use super::{Format, Writing};

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
    until: Option<Instant>,
    left_out: RefCell<Vec<PathBuf>>,
}

impl Folder {
    /// Starts a folder that is to be `destination`; its parents are made where they are missing.
    pub fn create(destination: &Path, force: bool) -> Result<Self, OutputError> {
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
            until: None,
            left_out: RefCell::default(),
        })
    }

    /// The same, written as that says.
    pub const fn written(mut self, how: Writing) -> Self {
        (self.format, self.timeline, self.until) = (how.format, how.timeline, how.until);
        self
    }

    /// The format of tables.
    pub const fn format(&self) -> Format {
        self.format
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
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let path = self.staged(name)?;
        let attempt = || staging::fill(File::create(&path)?, fill);
        attempt().map_err(|source| OutputError::Io {
            action: "write",
            path: self.destination.join(name),
            source,
        })
    }

    /// The same for a file without which the folder tells its run: unless somebody waits, and has for long enough
    /// ([`Writing::until`]).
    pub fn write_if_time(
        &self,
        name: &Path,
        fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            self.left_out.borrow_mut().push(name.to_path_buf());
            return Ok(());
        }
        self.write(name, fill)
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
            return self.staged.publish(&self.destination).map_err(failed("create"));
        }
        keep_foreign(&self.destination, self.staged.path()).map_err(failed("keep what is in"))?;
        let replaced = self.staged.replace(&self.destination);
        replaced.map_err(|(action, source)| failed(action)(source))
    }
}

/// Writes a single file: it appears whole or not at all, instead of an earlier one. What is not a file
/// stays as it is, a link too: nothing is written where it leads.
pub fn write_file(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
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
        staging::fill(file, fill)?;
        staged.publish(path)
    };
    attempt().map_err(|source| OutputError::Io {
        action: "write",
        path: path.to_path_buf(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(path)
            .unwrap()
            .map(|e| e.unwrap().file_name().to_string_lossy().into())
            .collect();
        names.sort();
        names
    }

    fn make(path: &Path, force: bool, content: &str) -> Result<(), OutputError> {
        let folder = Folder::create(path, force)?;
        folder.write(Path::new("summary.json"), |out| out.write_all(content.as_bytes()))?;
        folder.write(Path::new("deep/er.txt"), |out| out.write_all(b"x"))?;
        folder.commit()
    }

    #[test]
    fn appears_whole() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("a/b");
        make(&path, false, "1").unwrap();
        assert_eq!(names(&path), ["deep", "summary.json"]);
        assert_eq!(names(&tmp.path().join("a")), ["b"]);
    }

    #[test]
    fn an_empty_folder_is_used() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("b");
        fs::create_dir(&path).unwrap();
        make(&path, false, "1").unwrap();
        assert_eq!(names(tmp.path()), ["b"]);
    }

    #[test]
    fn replaces_only_when_told_and_only_runs() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("b");
        make(&path, false, "1").unwrap();
        assert!(matches!(
            make(&path, false, "2"),
            Err(OutputError::NotEmpty { .. })
        ));
        assert_eq!(fs::read_to_string(path.join("summary.json")).unwrap(), "1");
        make(&path, true, "2").unwrap();
        assert_eq!(fs::read_to_string(path.join("summary.json")).unwrap(), "2");

        let other = tmp.path().join("thesis");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("chapter1.tex"), "years of work").unwrap();
        assert!(matches!(
            make(&other, true, "2"),
            Err(OutputError::NotOurs { .. })
        ));
        assert_eq!(names(tmp.path()), ["b", "thesis"]);
    }

    #[test]
    fn a_file_in_the_way() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("b");
        fs::write(&path, "").unwrap();
        assert!(matches!(
            make(&path, true, "1"),
            Err(OutputError::NotAFolder { .. })
        ));
        // Also as a parent, where only the system can tell.
        let error = make(&path.join("c"), true, "1").unwrap_err();
        assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
    }

    #[test]
    fn what_there_is_no_time_for_is_named() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("b");
        let how = Writing {
            until: Some(Instant::now()),
            ..Writing::default()
        };
        let folder = Folder::create(&path, false).unwrap().written(how);
        let fill = |out: &mut BufWriter<File>| out.write_all(b"1");
        folder.write(Path::new("summary.json"), fill).unwrap();
        folder.write_if_time(Path::new("report.html"), fill).unwrap();
        assert_eq!(folder.left_out().unwrap(), [Path::new("report.html")]);
        folder.commit().unwrap();
        assert_eq!(names(&path), [LEFT_OUT, "summary.json"]);
        let got = fs::read_to_string(path.join(LEFT_OUT)).unwrap();
        assert!(got.ends_with("interrupted:\nreport.html\n"), "{got}");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_nowhere_is_refused_at_once() {
        let tmp = tempfile::tempdir().unwrap();
        let (link, gone) = (tmp.path().join("link"), tmp.path().join("gone"));
        std::os::unix::fs::symlink(&gone, &link).unwrap();
        for path in [link.clone(), link.join("run")] {
            let error = Folder::create(&path, true).unwrap_err().to_string();
            assert!(
                error.contains("link is a link to") && error.contains("gone"),
                "{error}"
            );
        }
        // Once it leads somewhere, that is where the folder is.
        fs::create_dir(&gone).unwrap();
        make(&link, false, "1").unwrap();
        assert_eq!(names(&gone), ["deep", "summary.json"]);
    }

    #[test]
    fn a_failed_write_names_the_file_and_leaves_nothing() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("b");
        let folder = Folder::create(&path, false).unwrap();
        folder
            .write(Path::new("summary.json"), |out| out.write_all(b"x"))
            .unwrap();
        let error = folder
            .write(Path::new("fct.txt"), |_| {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            })
            .unwrap_err();
        drop(folder);
        assert_eq!(
            error.to_string(),
            format!(
                "cannot write {}: no storage space",
                path.join("fct.txt").display()
            )
        );
        assert!(names(tmp.path()).is_empty());
    }

    #[test]
    fn a_single_file_is_whole_or_as_before() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("a.json");
        let write = |result: io::Result<()>, text: &'static str| {
            write_file(&path, |out| out.write_all(text.as_bytes()).and(result))
        };
        write(Ok(()), "1").unwrap();
        write(Ok(()), "2").unwrap();
        let error = write(Err(io::Error::from(io::ErrorKind::StorageFull)), "3").unwrap_err();
        assert!(error.to_string().contains("a.json: no storage space"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "2");
        assert_eq!(names(tmp.path()), ["a.json"]);
    }

    /// Neither is a link followed nor what stands for a device replaced.
    #[cfg(unix)]
    #[test]
    fn a_link_is_not_written_through() {
        let tmp = tempfile::tempdir().unwrap();
        let (file, link) = (tmp.path().join("thesis.tex"), tmp.path().join("a.json"));
        fs::write(&file, "years of work").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let error = write_file(&link, |out| out.write_all(b"1")).unwrap_err();
        assert!(
            error.to_string().contains("a.json exists and is not a file"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&file).unwrap(), "years of work");
        assert!(link.is_symlink());
        let error = write_file(tmp.path(), |out| out.write_all(b"1")).unwrap_err();
        assert!(matches!(error, OutputError::NotAFile { .. }), "{error}");
    }

    #[test]
    fn what_no_run_has_written_stays() {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("a");
        make(&path, false, "1").unwrap();
        let write = |name: &str| {
            let file = path.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, name).unwrap();
        };
        fs::write(path.join("scenario.toml"), "flows = { file = \"in/flows.csv\" }").unwrap();
        let ours = [
            "in/flows.csv",
            "why/3.json",
            "why/3.csv",
            "report.html",
            "trace.tr",
            "flows.parquet",
        ];
        let theirs = [
            "notes.txt",
            "in/notes.txt",
            "why/why not.csv",
            "figures/a/b.pdf",
            ".hidden",
        ];
        ours.iter().chain(&theirs).for_each(|name| write(name));
        make(&path, true, "2").unwrap();
        for name in theirs {
            assert_eq!(fs::read_to_string(path.join(name)).unwrap(), name);
        }
        for name in ours {
            assert!(!path.join(name).exists(), "{name}");
        }
        assert_eq!(fs::read_to_string(path.join("summary.json")).unwrap(), "2");
        assert_eq!(names(tmp.path()), ["a"]);
    }

    #[test]
    fn names_cannot_lead_out() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = Folder::create(&tmp.path().join("b"), false).unwrap();
        for name in ["../x", "/tmp/x", "a/../../x"] {
            let result = folder.write(Path::new(name), |_| Ok(()));
            assert!(matches!(result, Err(OutputError::BadName { .. })), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_unwritable_parent_is_an_error() {
        use std::os::unix::fs::PermissionsExt as _;
        let tmp = tempfile::tempdir().unwrap();
        let parent = tmp.path().join("locked");
        fs::create_dir(&parent).unwrap();
        fs::set_permissions(&parent, fs::Permissions::from_mode(0o555)).unwrap();
        if fs::write(parent.join("probe"), "").is_ok() {
            // The administrator may write anywhere; a folder of the system that nobody may write
            // stands in.
            let error = make(Path::new("/proc/paceline"), false, "1").unwrap_err();
            assert!(
                error.to_string().starts_with("cannot create /proc/paceline"),
                "{error}"
            );
            return;
        }
        let error = make(&parent.join("b"), false, "1").unwrap_err();
        assert!(error.to_string().starts_with("cannot create"), "{error}");
    }
}
