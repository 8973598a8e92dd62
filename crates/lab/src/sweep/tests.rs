//! Sweeps of a tiny scenario, from the grid to the folder.

mod merging;
mod seeds;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use paceline_fabric::Progress;
use paceline_scenario::{Overrides, Resolved};

use super::*;
use crate::files::write_run_into;
use crate::run::{Control, Cut};

pub(super) const TINY: &str = r#"name = "tiny"
seed = 5
[topology.star]
hosts = 3
[[workload]]
label = "burst"
incast = { fan-in = 2, receiver = 3, size = "10KB" }
start-jitter = "10us"
[cc]
scheme = "hpcc"
"#;

/// A scenario and a folder for results, which live as long as this.
struct Lab {
    tmp: tempfile::TempDir,
    study: Study,
}

/// Remembers which runs were made; may stop the sweep, or break runs of a scheme.
#[derive(Default)]
struct Notes {
    made: Mutex<Vec<String>>,
    /// Every run that was on its way, by its number in the job.
    watched: Mutex<BTreeSet<usize>>,
    breaks: Option<&'static str>,
    stop_after: Option<usize>,
}

impl Watch for Notes {
    fn begin(&self, _: usize, _: usize, _: bool) {}
    fn progress(&self, run: usize, input: &Resolved, _: &Progress) -> Control {
        self.watched.lock().unwrap().insert(run);
        assert!(
            self.breaks != Some(input.scheme.as_str()),
            "bytes in are not bytes out"
        );
        Control::Continue
    }
    fn cut(&self, _: usize, _: Cut) {}
    fn end(&self, _: usize, row: &Row) {
        self.made.lock().unwrap().push(row.id.clone());
    }
    fn stopped(&self) -> bool {
        self.stop_after
            .is_some_and(|count| self.made.lock().unwrap().len() >= count)
    }
}

impl Notes {
    fn made(&self) -> Vec<String> {
        let mut made = self.made.lock().unwrap().clone();
        made.sort();
        made
    }
}

impl Lab {
    fn new(over: &[&str], repeats: u32) -> Self {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("tiny.toml");
        fs::write(&path, TINY).unwrap();
        let overrides = Overrides {
            over: over.iter().map(ToString::to_string).collect(),
            ..Overrides::default()
        };
        let study = Study {
            input: path.display().to_string(),
            overrides,
            repeats: Some(repeats),
            arguments: vec!["tiny.toml".into()],
        };
        Self { tmp, study }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.tmp.path().join(name)
    }

    fn job<'a>(&'a self, plan: &'a Plan, folder: &'a Path) -> Job<'a> {
        Job {
            study: &self.study,
            plan,
            folder,
            shard: Shard::WHOLE,
            keep: Keep::Summary,
            write: |folder, sub, input, finished| write_run_into(folder, sub, input, finished).map(|_| ()),
            jobs: 1,
            force: false,
        }
    }

    /// Runs everything into a folder and gives its results.
    fn run(&self, name: &str) -> String {
        let (plan, folder) = (self.study.plan(1).unwrap(), self.path(name));
        self.job(&plan, &folder).run(&Notes::default()).unwrap();
        results(&folder)
    }
}

/// Writes the results of a folder and reads the table.
fn results(folder: &Path) -> String {
    write_results(folder, &SweepData::read(folder).unwrap()).unwrap();
    fs::read_to_string(folder.join("results.csv")).unwrap()
}

const GRID: [&str; 2] = ["cc.scheme=hpcc,dctcp", "workload.burst.incast.size=10KB,20KB"];

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_sweeps_folder() {
    let lab = Lab::new(&GRID, 2);
    let plan = lab.study.plan(2).unwrap();
    let folder = lab.path("out");
    let notes = Notes::default();
    let ran = lab.job(&plan, &folder).run(&notes).unwrap();
    assert_eq!(
        ran,
        Ran {
            completed: 8,
            ..Ran::default()
        }
    );
    let table = results(&folder);
    assert_eq!(
        names(&folder),
        [
            ".lock",
            "points.csv",
            "points.parquet",
            "results.csv",
            "results.parquet",
            "rows",
            "runs",
            "sweep.json"
        ]
    );
    let id = &plan.points[0].runs[0];
    assert_eq!(
        names(&folder.join("runs").join(id)),
        ["flows.csv", "scenario.toml", "summary.json"]
    );
    let data = SweepData::read(&folder).unwrap();
    assert_eq!(data.plan, plan);
    assert_eq!(data.rows.len(), 8);
    // The same seed gives both schemes the same flows.
    let starts = |point: usize| {
        let path = folder
            .join("runs")
            .join(&plan.points[point].runs[1])
            .join("flows.csv");
        let text = fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| line.split(',').nth(7).unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(starts(0)[0], "start_ps");
    assert_eq!(starts(0), starts(2));
    // The table: the axes, the run, its numbers.
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(
        head[..6],
        [
            "cc.scheme",
            "workload.burst.incast.size",
            "seed",
            "id",
            "status",
            "message"
        ]
    );
    for name in [
        "fct_slowdown.p99",
        "labels.burst.fct_slowdown.mean",
        "counters.events",
    ] {
        assert!(head.contains(&name), "{name}: {head:?}");
    }
    assert!(
        !head
            .iter()
            .any(|name| name.contains("cpu_s") || name.contains("rss"))
    );
    let first: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(first[..6], ["hpcc", "10KB", "5", id, "completed", ""]);
    let p99 = head.iter().position(|name| *name == "fct_slowdown.p99").unwrap();
    let value = data.values(0, |summary| summary.fct_slowdown.p99);
    assert_eq!((value[0].0, value[0].1.to_string()), (5, first[p99].to_string()));
    assert_eq!(table.lines().count(), 9);
    let columns = crate::files::columns::read_parquet(&folder.join("results.parquet")).unwrap();
    assert_eq!(
        columns
            .iter()
            .map(|column| column.name.as_str())
            .collect::<Vec<_>>(),
        head
    );
}

#[test]
fn what_is_finished_is_not_run_again() {
    let lab = Lab::new(&GRID, 2);
    let plan = lab.study.plan(1).unwrap();
    let whole = lab.run("whole");
    let folder = lab.path("out");
    let stopped = Notes {
        stop_after: Some(3),
        ..Notes::default()
    };
    let ran = lab.job(&plan, &folder).run(&stopped).unwrap();
    assert_eq!((ran.completed, ran.left), (3, 5));
    assert!(
        results(&folder)
            .lines()
            .filter(|line| line.contains(",missing,"))
            .count()
            == 5
    );
    // As if killed: a row that is not there, a folder and a row in the making.
    let lost = stopped.made()[0].clone();
    fs::remove_file(folder.join(format!("rows/{lost}.json"))).unwrap();
    let half = folder.join(format!("runs/.{lost}.partial-99999-0"));
    fs::create_dir(&half).unwrap();
    fs::write(half.join("summary.json"), "{").unwrap();
    fs::write(folder.join(format!("rows/.{lost}.json.partial-99999-1")), "{").unwrap();
    // Another process' business.
    fs::create_dir(folder.join("runs/.0123456789.partial-99999-0")).unwrap();
    let notes = Notes::default();
    let ran = lab.job(&plan, &folder).run(&notes).unwrap();
    assert_eq!((ran.there, ran.completed), (2, 6));
    let made = notes.made();
    assert!(made.contains(&lost));
    assert!(
        stopped
            .made()
            .iter()
            .filter(|id| **id != lost)
            .all(|id| !made.contains(id))
    );
    assert_eq!(results(&folder), whole);
    assert_eq!(names(&folder.join("runs")).len(), 8 + 1);
    assert_eq!(names(&folder.join("rows")).len(), 8);
    // A damaged row counts as none.
    fs::write(folder.join(format!("rows/{lost}.json")), "").unwrap();
    let notes = Notes::default();
    lab.job(&plan, &folder).run(&notes).unwrap();
    assert_eq!(notes.made(), [lost]);
}

#[test]
fn a_failed_run_is_a_row() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp,none"], 2);
    let plan = lab.study.plan(1).unwrap();
    let folder = lab.path("out");
    let notes = Notes {
        breaks: Some("dctcp"),
        ..Notes::default()
    };
    let ran = Job {
        jobs: 2,
        ..lab.job(&plan, &folder)
    }
    .run(&notes)
    .unwrap();
    assert_eq!((ran.completed, ran.failed), (4, 2));
    let data = SweepData::read(&folder).unwrap();
    let row = data.row(1, 0).unwrap();
    assert_eq!((row.status, row.summary.is_none()), (Status::Failed, true));
    assert!(
        row.message
            .as_ref()
            .unwrap()
            .contains("bytes in are not bytes out"),
        "{row:?}"
    );
    let table = results(&folder);
    assert_eq!(table.lines().filter(|line| line.contains(",failed,")).count(), 2);
    assert!(
        super::table(&data).contains("0/2, 2 failed"),
        "{}",
        super::table(&data)
    );
    // It is tried again, and nothing else is.
    let notes = Notes::default();
    let ran = lab.job(&plan, &folder).run(&notes).unwrap();
    assert_eq!((ran.there, ran.completed), (4, 2));
    assert_eq!(results(&folder), lab.run("other"));
}

/// What is recorded only for files is left out where these are not kept: that changes no number.
#[test]
fn what_is_kept_does_not_change_the_numbers() {
    let over = [
        "record.flows=1us,2us",
        "record.trace=[[1]]",
        "record.rtt-samples=true",
        "record.queue=1us",
        "record.rates=1us",
    ];
    let lab = Lab::new(&over, 1);
    let plan = lab.study.plan(1).unwrap();
    let folder = lab.path("all");
    let all = Job {
        keep: Keep::All,
        ..lab.job(&plan, &folder)
    };
    all.run(&Notes::default()).unwrap();
    let run = folder.join("runs").join(&plan.points[0].runs[0]);
    assert!(run.join("rtt_samples.txt").is_file() && run.join("series.parquet").is_file());
    assert_eq!(results(&folder), lab.run("summary"));
}

#[test]
fn a_scenario_that_changes_meanwhile_stops_the_sweep() {
    let lab = Lab::new(&GRID, 1);
    let plan = lab.study.plan(1).unwrap();
    fs::write(lab.path("tiny.toml"), TINY.replace("hosts = 3", "hosts = 4")).unwrap();
    let error = lab
        .job(&plan, &lab.path("out"))
        .run(&Notes::default())
        .unwrap_err();
    assert!(
        error.to_string().contains("has changed since the sweep began"),
        "{error}"
    );
    assert!(names(&lab.path("out/rows")).is_empty());
}

#[test]
fn another_plan_in_the_same_folder() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 2);
    lab.run("out");
    let folder = lab.path("out");
    // A larger one uses what is there.
    let mut larger = lab.study.clone();
    larger.repeats = Some(3);
    let plan = larger.plan(1).unwrap();
    let notes = Notes::default();
    let ran = Job {
        study: &larger,
        ..lab.job(&plan, &folder)
    }
    .run(&notes)
    .unwrap();
    assert_eq!((ran.there, ran.completed), (4, 2));
    // To keep more of each run means to run it again, to keep less does not.
    let all = Job {
        study: &larger,
        keep: Keep::All,
        ..lab.job(&plan, &folder)
    };
    assert_eq!(all.run(&Notes::default()).unwrap().completed, 6);
    assert!(
        folder
            .join("runs")
            .join(&plan.points[0].runs[0])
            .join("series.parquet")
            .is_file()
    );
    let less = Job {
        study: &larger,
        ..lab.job(&plan, &folder)
    };
    assert_eq!(less.run(&Notes::default()).unwrap().there, 6);
    // To begin again is possible, another version or scenario only so.
    let forced = Job {
        study: &larger,
        force: true,
        ..lab.job(&plan, &folder)
    };
    assert_eq!(forced.run(&Notes::default()).unwrap().completed, 6);
    for (from, to, expected) in [
        (
            "\"version\": \"",
            "\"version\": \"9",
            "holds a sweep by version 9",
        ),
        (
            "\"scenario\": \"tiny",
            "\"scenario\": \"other",
            "holds a sweep of `other`",
        ),
    ] {
        let file = folder.join("sweep.json");
        let text = fs::read_to_string(&file).unwrap();
        // Not as an edit, of which the plan's digest would tell.
        let other = text
            .replacen(from, to, 1)
            .replacen("{\n  \"digest\"", "{\n  \"former\"", 1);
        fs::write(&file, other).unwrap();
        let error = less.run(&Notes::default()).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("--force"), "{error}");
        fs::write(&file, text).unwrap();
    }
    // Nothing but sweeps is touched.
    let thesis = lab.path("thesis");
    fs::create_dir(&thesis).unwrap();
    fs::write(thesis.join("chapter1.tex"), "years of work").unwrap();
    let forced = Job {
        force: true,
        ..lab.job(&plan, &thesis)
    };
    assert!(forced.run(&Notes::default()).is_err());
    assert_eq!(names(&thesis), ["chapter1.tex"]);
}

#[test]
fn a_whole_sweep_and_its_shards_keep_each_other_away() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 1);
    let (plan, folder) = (lab.study.plan(1).unwrap(), lab.path("out"));
    let open = |shard: &str| store::Store::open(&folder, &plan, shard.parse().unwrap(), false);
    let refused = |shard: &str| open(shard).unwrap_err().to_string();
    let whole = open("1/1").unwrap();
    assert!(refused("1/2").contains("a `paceline sweep` of the whole is at work"));
    drop(whole);
    let (_one, _two) = (open("1/2").unwrap(), open("2/2").unwrap());
    assert!(refused("1/2").contains("another `paceline sweep --shard 1/2` is at work"));
    assert!(refused("1/1").contains("another `paceline sweep` is at work"));
}

#[test]
fn two_at_once_are_refused() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 1);
    let (plan, folder) = (lab.study.plan(1).unwrap(), lab.path("out"));
    let store = store::Store::open(&folder, &plan, Shard::WHOLE, false).unwrap();
    let error = lab.job(&plan, &folder).run(&Notes::default()).unwrap_err();
    assert!(
        error.to_string().contains("another `paceline sweep` is at work"),
        "{error}"
    );
    drop(store);
    assert_eq!(
        lab.job(&plan, &folder).run(&Notes::default()).unwrap().completed,
        2
    );
}

#[test]
fn a_table_of_means_and_differences() {
    let lab = Lab::new(&GRID, 3);
    lab.run("out");
    let mut data = SweepData::read(&lab.path("out")).unwrap();
    // Numbers that can be checked by hand: 1, 2, 3 and 3, 4, 8; 6 and 0 differences are clear.
    let slowdowns = BTreeMap::from([
        (0, [1.0, 2.0, 3.0]),
        (1, [2.0, 2.0, 2.0]),
        (2, [3.0, 4.0, 8.0]),
        (3, [8.0, 8.0, 8.0]),
    ]);
    for (point, values) in slowdowns {
        for (repeat, value) in values.into_iter().enumerate() {
            let id = data.plan.points[point].runs[repeat].clone();
            let summary = data.rows.get_mut(&id).unwrap().summary.as_mut().unwrap();
            summary.fct_slowdown.mean = Some(value);
            summary.fct_slowdown.p99 = Some(value);
            summary.fct_us.mean = Some(1500.0 + value);
            summary.queue_bytes.max = 20_000;
        }
    }
    insta::assert_snapshot!(super::table(&data));
}

/// An edit could put runs to other points than they were made for.
#[test]
fn an_edited_plan_is_refused_and_so_is_a_row_of_another_version() {
    let lab = Lab::new(&["cc.scheme=hpcc,dctcp"], 1);
    let (plan, folder) = (lab.study.plan(1).unwrap(), lab.path("out"));
    lab.job(&plan, &folder).run(&Notes::default()).unwrap();
    let collected = || collect(std::slice::from_ref(&folder), &folder, false, false);
    assert!(collected().is_ok());
    let refused = |expected: &str| {
        for error in [
            lab.job(&plan, &folder).run(&Notes::default()).unwrap_err(),
            SweepData::read(&folder).unwrap_err(),
            collected().unwrap_err(),
        ] {
            assert!(error.to_string().contains(expected), "{error}");
        }
    };
    let changed = |file: &std::path::Path, from: &str, to: &str| {
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(file, text.replacen(from, to, 1)).unwrap();
        text
    };
    let file = folder.join("sweep.json");
    let text = changed(&file, "\"dctcp\"", "\"dcqcn\"");
    refused("sweep.json was edited");
    fs::write(&file, text).unwrap();
    let row = folder
        .join("rows")
        .join(format!("{}.json", plan.points[0].runs[0]));
    changed(&row, env!("CARGO_PKG_VERSION"), "0.0.1");
    refused("is by version 0.0.1");
    let mixed = collect(std::slice::from_ref(&folder), &folder, true, false).unwrap();
    assert!(
        mixed.data.plan.version.starts_with("0.0.1, "),
        "{}",
        mixed.data.plan.version
    );
}
