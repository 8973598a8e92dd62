//! A killed training resumes with the same command, and gives the same bytes as an uninterrupted one.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::common::{TINY, command, files, folder_with, run, stdout};

/// Returns the bytes of all checkpoints.
fn checkpoints(folder: &Path) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(folder.join("unfinished"))
        .into_iter()
        .flatten()
        .flatten();
    let bins = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(".bin"));
    bins.filter_map(|entry| fs::read(entry.path()).ok()).collect()
}

/// Kills a training (`kill -9`) after its checkpoints have changed `changes` times. Returns true if it was still
/// running.
fn kill(path: &Path, words: &[&str], changes: usize) -> bool {
    kill_in(&path.join("killed"), path, words, changes)
}

/// Kills a training whose results go to `folder`.
fn kill_in(folder: &Path, path: &Path, words: &[&str], changes: usize) -> bool {
    let mut command = command(path);
    command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let (mut seen, mut last) = (0, checkpoints(folder));
    while seen < changes {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        let now = checkpoints(folder);
        if now != last && !now.is_empty() {
            (seen, last) = (seen + 1, now);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

fn goes_on(training: &str) {
    let folder = folder_with("tiny.toml", TINY);
    goes_on_in(folder.path(), training);
}

fn goes_on_in(path: &Path, training: &str) {
    let words: Vec<&str> = training.split(' ').collect();
    stdout(path, &[&words[..], &["-q", "--out", "whole"]].concat());
    let often = ["--out", "killed", "--checkpoint-every", "1ms"];
    let again = [&words[..], &often].concat();
    assert!(
        kill(path, &again, 1),
        "{training}: it was over before it was killed"
    );
    assert!(!path.join("killed/training.json").exists(), "{training}");
    kill(path, &again, 1);
    let output = run(path, &again);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{training}: {said}");
    assert!(
        said.contains("going on from the checkpoint in killed"),
        "{training}: {said}"
    );
    let (whole, killed) = (files(&path.join("whole")), files(&path.join("killed")));
    let names = |files: &std::collections::BTreeMap<_, _>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&killed), names(&whole), "{training}");
    for (name, bytes) in &whole {
        assert!(killed[name] == *bytes, "{training}: {}", name.display());
    }
}

#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn predictors() {
    goes_on("train lstm --scenarios tiny.toml --schemes timely,dctcp --pairs 2000 --rounds 8 --compare");
}

#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn predictors_on_their_own_runs() {
    goes_on("train gru --scenarios tiny.toml --on-policy 2 --pairs 1000 --rounds 4");
}

#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn gains() {
    goes_on("train pidnn --scenario tiny.toml --episodes 5");
}

#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn adpg() {
    goes_on("train adpg --quick");
}

#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn aurora() {
    goes_on("train aurora --quick");
}

#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn spine() {
    goes_on("train spine --quick");
}

#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn decc_by_search() {
    goes_on("train decc law --quick");
}

/// A refinement resumes with the experience that it was started with, and rejects other experience.
#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn decc_by_experience() {
    let folder = folder_with("tiny.toml", TINY);
    let path = folder.path();
    let upload = "run tiny.toml --scheme decc --upload met -q";
    let upload: Vec<&str> = upload.split(' ').collect();
    stdout(path, &upload);
    let train = "train decc refine decc-law --quick --experience met";
    let often = format!("{train} --out other --checkpoint-every 1ms");
    let often: Vec<&str> = often.split(' ').collect();
    assert!(kill_in(&path.join("other"), path, &often, 1));
    stdout(path, &[&upload[..], &["--seed", "2"]].concat());
    let output = run(path, &often);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("the model or the experience has changed since"),
        "{said}"
    );
    goes_on_in(path, train);
}

/// Episodes resume in the middle of a refinement, of a clone, and of later steps.
#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn decc_episode_by_episode() {
    goes_on("train decc continual tiny.toml --quick --episodes 3");
    goes_on("train decc continual tiny.toml --quick --deploy trees");
}

/// A loop resumes with the scenario that it was started with, and rejects another.
#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn decc_in_another_scenario() {
    let folder = folder_with("tiny.toml", TINY);
    let path = folder.path();
    let train = "train decc continual tiny.toml --quick --out killed --checkpoint-every 1ms";
    let words: Vec<&str> = train.split(' ').collect();
    assert!(kill(path, &words, 2));
    fs::write(path.join("tiny.toml"), TINY.replace("10MB", "11MB")).unwrap();
    let output = run(path, &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("the model or the scenario has changed since"),
        "{said}"
    );
}

#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn decc_by_gradients() {
    goes_on("train decc residual --quick --algorithm td3 --rounds 3");
}

#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn decc_by_proximal_optimisation() {
    goes_on("train decc residual --quick --algorithm ppo --rounds 3");
}

#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn decc_compressed() {
    goes_on("train decc compress decc-net --quick");
}

#[test]
#[ignore = "trains several times: `cargo test --workspace -- --include-ignored`"]
fn decc_cloned() {
    goes_on("train decc clone decc-law --quick --rounds 3");
}

/// A training killed before its first checkpoint leaves nothing that blocks the next.
#[cfg(feature = "training")]
#[test]
fn at_its_very_start() {
    let folder = folder_with("tiny.toml", TINY);
    let path = folder.path();
    let unfinished = path.join("killed/unfinished");
    fs::create_dir_all(&unfinished).unwrap();
    for name in [".lock", ".plan.json.partial-1-0"] {
        fs::write(unfinished.join(name), "").unwrap();
    }
    let train = "train pidnn --scenario tiny.toml --episodes 5 --checkpoint-every 1ms -q --out killed";
    let words: Vec<&str> = train.split(' ').collect();
    stdout(path, &words);
    assert!(path.join("killed/training.json").is_file());
    assert!(!unfinished.exists() && !path.join("killed-2").exists());
}

/// Another command does not resume a training, and checkpoints of none are rejected.
#[cfg(feature = "training")]
#[test]
fn another_training_is_refused() {
    let folder = folder_with("tiny.toml", TINY);
    let path = folder.path();
    let train = "train pidnn --scenario tiny.toml --episodes 5 --out killed --checkpoint-every 1ms";
    let words: Vec<&str> = train.split(' ').collect();
    assert!(kill(path, &words, 1));
    let output = run(path, &[&words[..], &["--lag", "2"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("holds an unfinished training by `paceline train pidnn"),
        "{said}"
    );
    // A modified checkpoint is rejected.
    let bin = path.join("killed/unfinished/pidnn.bin");
    let mut bytes = fs::read(&bin).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&bin, bytes).unwrap();
    let output = run(path, &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("was edited"), "{said}");
    let forced = run(path, &[&words[..], &["--force", "-q"]].concat());
    assert_eq!(forced.status.code(), Some(0));
    assert!(!path.join("killed/unfinished").exists());
}
