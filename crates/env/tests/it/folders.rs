//! Folders of episodes: the saved decisions repeat the run.

use std::fs;
use std::path::Path;

use paceline_env::{Batch, Config, Environment, Source};
use paceline_lab::files::{Folder, write_run_into};
use paceline_lab::run::{Control, Finished, RunError, execute};
use paceline_lab::why;
use paceline_scenario::{Overrides, Resolved};

fn environment(set: &[&str]) -> Environment {
    let mut source = Source::new("incast-16");
    source.overrides.scheme = Some("external".to_string());
    source.overrides.set = set.iter().map(ToString::to_string).collect();
    Environment::new(source, Config::default()).unwrap()
}

/// Advances by this number of polls or to the end. Each action depends on observations, and so on all earlier
/// actions.
fn take_part(environment: &mut Environment, polls: usize) {
    let mut batch = Batch::default();
    for _ in 0..polls {
        environment.poll(&mut batch).unwrap();
        if batch.is_empty() {
            return;
        }
        let actions: Vec<f32> = (0..batch.len())
            .map(|row| (1.2 - batch.observation(row).iter().sum::<f32>()).clamp(-1.0, 1.0))
            .collect();
        environment.submit(&actions).unwrap();
    }
}

#[test]
fn an_episode_is_made_again_from_its_folder() {
    for latency in [
        "cc.external.decision-latency=0s",
        "cc.external.decision-latency=2us",
    ] {
        for polls in [0, 1, 100, usize::MAX] {
            let mut environment = environment(&[latency, "duration=2ms"]);
            take_part(&mut environment, polls);
            if polls == 100 {
                // Stops without an answer are counted as well.
                environment.poll(&mut Batch::default()).unwrap();
            }
            let decided = environment.decided().unwrap();
            let finished = environment.finish().unwrap();
            assert_again_from_its_folder(&decided, &finished);
        }
    }
}

/// Asserts that a run of an episode's folder gives the same bytes, and that `why` explains its flows.
fn assert_again_from_its_folder(decided: &Resolved, first: &Finished) {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    write_run(&one, decided, first);
    let again = paceline_lab::load(one.to_str().unwrap(), &Overrides::default()).unwrap();
    assert_eq!(again.toml, decided.toml);
    let second = execute(&again, &mut |_| Control::Continue).unwrap();
    assert_eq!(second.summary.status, first.summary.status);
    assert_eq!(second.outcome, first.outcome);
    write_run(&two, &again, &second);
    for file in [
        "flows.csv",
        "fct.txt",
        "scenario.toml",
        "decisions.csv",
        "series.parquet",
    ] {
        assert!(
            fs::read(one.join(file)).unwrap() == fs::read(two.join(file)).unwrap(),
            "{file}"
        );
    }
    let question = why::Question {
        run: one.to_str().unwrap(),
        top: 1,
        label: None,
        brief: false,
    };
    let rows = first.flows.rows();
    let slow = rows
        .filter(|row| row.fct_ps.is_some())
        .max_by_key(|row| row.fct_ps);
    let Some(slow) = slow else { return };
    let got = question.flow(slow.flow_id, &mut Quiet).unwrap();
    assert_eq!(got.why().total_ps, slow.fct_ps.unwrap());
    // Without the decisions the folder is rejected.
    let text = fs::read_to_string(one.join("scenario.toml")).unwrap();
    let without = text.replace("decisions = \"decisions.csv\"\n", "");
    fs::write(one.join("scenario.toml"), without).unwrap();
    let error = paceline_lab::load(one.to_str().unwrap(), &Overrides::default()).unwrap_err();
    assert!(
        error.to_string().contains("it does not have what was decided"),
        "{error}"
    );
    fs::write(one.join("scenario.toml"), text).unwrap();
    fs::remove_file(one.join("decisions.csv")).unwrap();
    let error = paceline_lab::load(one.to_str().unwrap(), &Overrides::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the file of decisions `decisions.csv` does not exist"),
        "{error}"
    );
}

fn write_run(path: &Path, input: &Resolved, finished: &Finished) {
    let folder = Folder::create(path, false).unwrap();
    write_run_into(&folder, Path::new(""), input, finished).unwrap();
    folder.commit().unwrap();
}

struct Quiet;

impl why::Asker for Quiet {
    fn run(&mut self, input: &Resolved) -> Result<Finished, RunError> {
        execute(input, &mut |_| Control::Continue)
    }
    fn inform(&mut self, said: &str) {
        assert!(!said.contains('!'), "{said}");
    }
}

/// Decisions belong to one run: another run rejects them, and runs without external flows ignore them.
#[test]
fn decisions_of_another_run_are_refused() {
    let mut environment = environment(&["duration=1ms"]);
    take_part(&mut environment, usize::MAX);
    let decided = environment.decided().unwrap();
    let finished = environment.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    write_run(&path, &decided, &finished);
    let with = |set: &[&str]| {
        let overrides = Overrides {
            set: set.iter().map(ToString::to_string).collect(),
            ..Overrides::default()
        };
        paceline_lab::load(path.to_str().unwrap(), &overrides).unwrap()
    };
    let moved = with(&["cc.external.initial-rate=100Gbps"]);
    let error = execute(&moved, &mut |_| Control::Continue)
        .unwrap_err()
        .to_string();
    assert!(error.contains("they were made in another run"), "{error}");
    let longer = execute(&with(&["duration=2ms"]), &mut |_| Control::Continue).unwrap_err();
    assert!(
        longer.to_string().contains("nothing is decided there"),
        "{longer}"
    );
    let other = with(&["cc.scheme=dcqcn"]);
    assert!(other.decisions.is_none() && !other.toml.contains("decisions"));
    assert!(
        other
            .warnings
            .iter()
            .any(|said| said.to_string().contains("`decisions` is not used")),
        "{:?}",
        other.warnings
    );
}
