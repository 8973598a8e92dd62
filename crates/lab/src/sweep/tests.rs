//! Sweeps of a tiny scenario, from the grid to the folder.

mod blocks;
mod large;
mod merging;
mod nothing;
mod resuming;
mod seeds;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use paceline_fabric::Progress;
use paceline_scenario::{Overrides, Resolved};

use super::*;
use crate::InputWarnings;
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

/// Study and a temporary folder for its results, which is removed with this value.
struct Lab {
    tmp: tempfile::TempDir,
    study: Study,
}

/// Observer that records the runs that were made; it may stop the sweep, or make runs of a scheme panic.
#[derive(Default)]
struct Notes {
    made: Mutex<Vec<String>>,
    /// Runs with reported progress, by their number in the job.
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
    fn share(&self, _: usize, _: usize) {}
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

    /// Runs everything into a folder and returns its results.
    fn run(&self, name: &str) -> String {
        let (plan, folder) = (self.study.plan(1).unwrap(), self.path(name));
        self.job(&plan, &folder).run(&Notes::default()).unwrap();
        results(&folder)
    }
}

/// Writes the results of a folder and returns the table.
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
            "notes.json",
            "points.csv",
            "points.parquet",
            "results.csv",
            "results.parquet",
            "rows",
            "runs",
            "scenario",
            "sweep.json"
        ]
    );
    let id = &plan.points[0].runs[0];
    assert_eq!(
        names(&folder.join("runs").join(id)),
        ["flows.csv", "scenario.toml", "summary.json"]
    );
    let data = SweepData::read(&folder).unwrap();
    // Warnings about inputs are in the rows, not in the plan.
    let without_warnings = |plan: &Plan| Plan {
        input_warnings: InputWarnings::default(),
        seconds: Vec::new(),
        memory: 0,
        stored: Stored::default(),
        ..plan.clone()
    };
    assert_eq!(data.plan, without_warnings(&plan));
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

/// Recordings that only serve files are turned off if the files are not written, which changes no number.
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
    // A point with unfinished flows is marked, and has no differences.
    let id = data.plan.points[2].runs[0].clone();
    let summary = data.rows.get_mut(&id).unwrap().summary.as_mut().unwrap();
    summary.flows.completed -= 1;
    let text = super::table(&data);
    assert_eq!(text.matches(" !").count(), 1, "{text}");
    assert!(
        text.contains("!: a run failed or left flows unfinished"),
        "{text}"
    );
    assert!(!data.point_is_comparable(2) && data.point_is_comparable(0));
}
