use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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
    // The same holds for a parent, which only the operating system detects.
    let error = make(&path.join("c"), true, "1").unwrap_err();
    assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
}

#[test]
fn what_there_is_no_time_for_is_named() {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("b");
    let how = Writing {
        waiting: Some(Waiting {
            until: Instant::now(),
            no_longer: || false,
            tell: |_| {},
        }),
        ..Writing::default()
    };
    let folder = Folder::create(&path, false).unwrap().written(how);
    let fill = |out: &mut Out| out.write_all(b"1");
    folder.write(Path::new("summary.json"), fill).unwrap();
    folder.write_if_time(Path::new("report.html"), fill).unwrap();
    assert_eq!(folder.left_out().unwrap(), [Path::new("report.html")]);
    folder.commit().unwrap();
    assert_eq!(names(&path), [LEFT_OUT, "summary.json"]);
    let got = fs::read_to_string(path.join(LEFT_OUT)).unwrap();
    assert!(got.ends_with("interrupted:\nreport.html\n"), "{got}");
}

/// A long write of a table is announced, and is given up halfway if the user stops waiting.
#[test]
fn a_table_is_given_up_when_nobody_waits() {
    static GONE: AtomicBool = AtomicBool::new(false);
    static TOLD: Mutex<String> = Mutex::new(String::new());
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("b");
    let how = Writing {
        waiting: Some(Waiting {
            until: Instant::now() + Duration::from_secs(1000),
            no_longer: || GONE.load(Ordering::SeqCst),
            tell: |what| *TOLD.lock().unwrap() = what.into(),
        }),
        ..Writing::default()
    };
    let folder = Folder::create(&path, false).unwrap().written(how);
    folder
        .write(Path::new("summary.json"), |out| out.write_all(b"1"))
        .unwrap();
    let mut blocks = 0;
    let table = Path::new("flows.csv");
    let long = |out: &mut Out| {
        while blocks < 1000 {
            out.write_all(&[b'1'; 4096])?;
            blocks += 1;
            GONE.store(blocks >= 100, Ordering::SeqCst);
        }
        Ok(())
    };
    folder.write_while_waiting(table, 1_000_000, long).unwrap();
    assert!((100..200).contains(&blocks), "{blocks}");
    assert_eq!(*TOLD.lock().unwrap(), "flows.csv with 1000000 rows");
    folder
        .write_if_time(Path::new("report.html"), |out| out.write_all(b"1"))
        .unwrap();
    let left_out = folder.left_out().unwrap();
    assert_eq!(left_out, [table, Path::new("report.html")]);
    folder.commit().unwrap();
    assert_eq!(names(&path), [LEFT_OUT, "summary.json"]);
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
    // If the link has a target, the folder is created there.
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

/// Links are not followed, and devices are not replaced.
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
