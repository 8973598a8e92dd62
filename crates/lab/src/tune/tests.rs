//! Searches of tiny scenarios with known answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use paceline_fabric::Progress;
use paceline_scenario::{Overrides, Resolved};

use super::*;
use crate::run::{Control, Cut};
use crate::sweep::Row;

/// A flow of 4 MB at a fixed rate, over a link of 10 Gbit/s.
const FIXED: &str = r#"name = "fixed"
seed = 1
[topology.dumbbell]
left = 1
right = 1
rate = "40Gbps"
bottleneck-rate = "10Gbps"
delay = "1us"
[[workload]]
flows = [{ src = 0, dst = 1, size = "4MB", start = "0s" }]
[network]
buffer = "64MB"
[cc]
scheme = "fixed"
fixed.rate = "5Gbps"
"#;

/// Incasts at random under DCQCN.
const RANDOM: &str = r#"name = "random"
seed = 3
duration = "5ms"
[topology.star]
hosts = 5
rate = "25Gbps"
delay = "1us"
[[workload]]
incast-poisson = { fan-in = 3, size = "30KB", load = 0.5, from = "0s", to = "100us" }
[cc]
scheme = "dcqcn"
"#;

/// Observer that may stop the search after some runs.
#[derive(Default)]
struct Notes {
    made: AtomicUsize,
    stop_after: Option<usize>,
}

impl crate::sweep::Watch for Notes {
    fn begin(&self, _: usize, _: usize, _: bool) {}
    fn progress(&self, _: usize, _: &Resolved, _: &Progress) -> Control {
        Control::Continue
    }
    fn cut(&self, _: usize, _: Cut) {}
    fn share(&self, _: usize, _: usize) {}
    fn end(&self, _: usize, row: &Row) {
        self.made
            .fetch_add(usize::from(row.summary.is_some()), Ordering::Relaxed);
    }
    fn stopped(&self) -> bool {
        self.stop_after
            .is_some_and(|most| self.made.load(Ordering::Relaxed) >= most)
    }
}

impl Watch for Notes {
    fn start(&self, _: usize, _: bool) {}
    fn trials(&self, _: usize, _: usize, _: Option<f64>) {}
}

struct Lab {
    tmp: tempfile::TempDir,
    options: Options,
}

impl Lab {
    fn new(text: &str, over: &[&str], objective: &str, limits: &[&str], trials: usize) -> Self {
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("tiny.toml");
        fs::write(&path, text).unwrap();
        let strings = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let options = Options {
            input: path.display().to_string(),
            over: strings(over),
            objective: objective.to_string(),
            limits: strings(limits),
            repeats: 2,
            held_out: 3,
            trials: Some(trials),
            ..Options::default()
        };
        Self { tmp, options }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.tmp.path().join(name)
    }

    fn plan(&self) -> Plan {
        self.options.plan(&Notes::default()).unwrap().unwrap()
    }

    fn run(&self, name: &str, jobs: usize, notes: &Notes) -> Option<Found> {
        let (plan, folder) = (self.plan(), self.folder(name));
        let job = Job {
            options: &self.options,
            plan: &plan,
            folder: &folder,
            jobs,
            force: false,
        };
        let found = job.run(notes).unwrap()?;
        write(&folder, &self.options, &found).unwrap();
        Some(found)
    }

    fn found(&self) -> Found {
        self.run("out", 2, &Notes::default()).unwrap()
    }
}

fn content(folder: &Path) -> Vec<String> {
    let file = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    ["tuned.toml", "trials.csv", "summary.json", "tune.json"]
        .map(file)
        .to_vec()
}

/// S bytes at rate R over a link of rate C leave S (1 - C/R) in the queue at the end. Rates from C on take the same
/// time, and those up to C / (1 - Q/S) keep the queue below Q. So the optimum lies between these two.
#[test]
fn the_fastest_rate_that_keeps_a_queue() {
    let limits = ["queue_bytes.max<=400KB"];
    let lab = Lab::new(
        FIXED,
        &["cc.fixed.rate=1Gbps..40Gbps"],
        "makespan_us",
        &limits,
        60,
    );
    let found = lab.found();
    let (rate, unit) = Unit::parse(&found.parameters[0].best).unwrap();
    assert_eq!(unit, Unit::Rate);
    let (least, most) = (10e9, 10e9 / (1.0 - 0.4 / 4.0));
    assert!(
        (0.99 * least..1.01 * most).contains(&rate),
        "{rate} of {least} to {most}"
    );
    assert_eq!(found.parameters[0].written.as_deref(), Some("5Gbps"));
    // Nothing is random, so one run decides. It is limited by the link, not by twice the rate.
    assert!(found.held_out.fixed && found.held_out.ratio.unwrap().ends().is_none());
    assert_eq!(found.verdict, Verdict::Better);
    let gain = found.search.unwrap().mean;
    assert!((0.49..0.56).contains(&gain), "{gain}");
    assert!(found.counts.over_limit > 0 && !found.parameters[0].flat);
    // The scenario runs as it is, and has the value.
    let tuned = lab.folder("out").join("tuned.toml");
    let input = crate::load(tuned.to_str().unwrap(), &Overrides::default()).unwrap();
    let summary = crate::run::execute(&input, &mut |_| Control::Continue)
        .unwrap()
        .summary;
    assert_eq!(summary.makespan_us.unwrap(), found.held_out.best[0]);
}

#[test]
fn a_parameter_that_does_nothing_is_flat() {
    // A fixed rate reacts to no mark.
    let text = FIXED.replace("[cc]", "[network.ecn]\nkmin = \"1MB\"\nkmax = \"2MB\"\n[cc]");
    let lab = Lab::new(&text, &["network.ecn.pmax=0.1..1.0"], "makespan_us", &[], 20);
    let found = lab.found();
    assert!(found.flat && found.parameters[0].flat, "{found:#?}");
    assert_eq!(found.verdict, Verdict::NoDifference);
    assert_eq!(found.best, 0, "ties keep the scenario as written");
    let said = |word: &str| found.warnings.iter().any(|warning| warning.contains(word));
    assert!(said("The objective is flat") && said("`network.ecn.pmax` is flat"));
    // The same warnings are silent where a parameter matters.
    let lab = Lab::new(FIXED, &["cc.fixed.rate=1Gbps..8Gbps"], "makespan_us", &[], 20);
    let found = lab.found();
    assert!(!found.flat && !found.parameters[0].flat);
    assert_eq!(found.parameters[0].edge.as_deref(), Some("upper"));
    assert!(found.warnings.iter().any(|warning| warning.contains("upper end")));
}

const TWO: [&str; 2] = ["network.ecn.kmin=2KB..200KB", "network.ecn.kmax=2KB..400KB"];

#[test]
fn bytes_are_the_same_on_any_number_of_threads_and_after_an_interruption() {
    let lab = Lab::new(RANDOM, &TWO, "fct_slowdown.mean", &[], 19);
    let whole = lab.run("whole", 1, &Notes::default()).unwrap();
    lab.run("two", 2, &Notes::default()).unwrap();
    assert_eq!(content(&lab.folder("whole")), content(&lab.folder("two")));
    let mut calls = 0;
    loop {
        let notes = Notes {
            stop_after: Some(15),
            ..Notes::default()
        };
        calls += 1;
        if let Some(found) = lab.run("parts", 2, &notes) {
            assert_eq!(found, whole);
            break;
        }
        assert!(!lab.folder("parts").join("summary.json").exists());
    }
    assert!(calls > 2, "{calls}");
    assert_eq!(content(&lab.folder("whole")), content(&lab.folder("parts")));
    // Everything is there now.
    let notes = Notes::default();
    lab.run("parts", 2, &notes).unwrap();
    assert_eq!(notes.made.load(Ordering::Relaxed), 0);
    // A longer search begins with the same candidates.
    let mut longer = Lab::new(RANDOM, &TWO, "fct_slowdown.mean", &[], 25);
    longer.options.input.clone_from(&lab.options.input);
    let found = longer.found();
    assert_eq!(found.trials[..19], whole.trials[..19]);
}

#[test]
fn refused_candidates_rank_last_and_are_counted() {
    let lab = Lab::new(RANDOM, &TWO, "fct_slowdown.mean", &[], 31);
    let found = lab.found();
    let refused = |trial: &&Trial| matches!(&trial.standing, Standing::Refused(why) if why.contains("kmin"));
    let count = found.trials.iter().filter(refused).count();
    assert!(count > 0, "{:#?}", found.trials);
    assert_eq!((count, found.counts.failed), (found.counts.refused, 0));
    assert_eq!(found.trials[found.best].standing, Standing::Feasible);
    let text = fs::read_to_string(lab.folder("out").join("trials.csv")).unwrap();
    assert_eq!(text.matches(",refused,").count(), count);
}

#[test]
fn a_folder_of_another_kind_is_left_alone() {
    let lab = Lab::new(RANDOM, &TWO, "fct_slowdown.mean", &[], 7);
    let folder = lab.folder("mine");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let plan = lab.plan();
    let job = |plan, folder| Job {
        options: &lab.options,
        plan,
        folder,
        jobs: 1,
        force: false,
    };
    let error = job(&plan, &folder)
        .run(&Notes::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("is not empty"), "{error}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    lab.found();
    let other = Plan {
        objective: Objective {
            measure: "fct_us.mean".to_string(),
            maximise: false,
        },
        ..plan.clone()
    };
    let error = job(&other, &lab.folder("out"))
        .run(&Notes::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("holds another search"), "{error}");
}

#[test]
fn mistakes_are_named() {
    for (over, objective, limits, expected) in [
        (&[][..], "fct_us.p99", &[][..], "there is nothing to tune"),
        (
            &["network.ecn.kmun=5KB..10KB"],
            "fct_us.p99",
            &[],
            "unknown key `kmun`",
        ),
        (
            &["network.ecn.kmin=5us..10us"],
            "fct_us.p99",
            &[],
            "unknown unit `us`",
        ),
        (&["cc.scheme=dcqcn,hpcd"], "fct_us.p99", &[], "hpcd"),
        (
            &TWO,
            "fct_us.p98",
            &[],
            "no measure `fct_us.p98` (did you mean `fct_us.p95`, `fct_us.p99`",
        ),
        (
            &TWO,
            "fct_us.p99",
            &["drop<=0"],
            "no measure `drop` (did you mean `drops`",
        ),
        (
            &[TWO[0], TWO[0]],
            "fct_us.p99",
            &[],
            "`network.ecn.kmin` is named twice",
        ),
    ] {
        let lab = Lab::new(RANDOM, over, objective, limits, 20);
        let error = lab.options.plan(&Notes::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let lab = Lab::new(RANDOM, &TWO, "fct_us.p99", &[], 6);
    let error = lab.options.plan(&Notes::default()).unwrap_err().to_string();
    assert!(error.contains("--trials 6: expected 7 to 100000"), "{error}");
    // No ratio to a zero.
    let lab = Lab::new(RANDOM, &TWO, "drops", &[], 20);
    let (plan, folder) = (lab.plan(), lab.folder("out"));
    let job = Job {
        options: &lab.options,
        plan: &plan,
        folder: &folder,
        jobs: 1,
        force: false,
    };
    let error = job.run(&Notes::default()).unwrap_err().to_string();
    assert!(
        error.contains("`drops` is 0 in the scenario as written with seed 3"),
        "{error}"
    );
}

#[test]
fn whole_numbers_and_written_values_are_recognised() {
    let over = [
        "cc.dcqcn.fast-recovery-stages=1..9",
        "cc.dcqcn.g=0.001..1",
        "network.ecn.kmax=2KB..2MB",
    ];
    let lab = Lab::new(RANDOM, &over, "fct_slowdown.mean", &[], 20);
    let plan = lab.plan();
    let whole = |parameter: &Parameter| matches!(&parameter.domain, Domain::Range(range) if range.whole);
    assert_eq!(
        plan.parameters.iter().map(whole).collect::<Vec<_>>(),
        [true, false, true]
    );
    let written: Vec<_> = plan.written.iter().map(|value| value.as_deref()).collect();
    assert_eq!(written, [Some("1"), Some("0.00390625"), Some("400KB")]);
    // A direction that tables know is taken from them.
    let lab = Lab::new(RANDOM, &TWO, "rate_while_active_gbps", &[], 20);
    assert!(lab.plan().objective.maximise && !lab.plan().against.maximise);
}
