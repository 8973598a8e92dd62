//! While an experiment is both data and code: both need the same runs, and say the same of whatever comes of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use paceline_kernel::rng::{Purpose, Rng};
use paceline_lab::results::RunStatus;
use paceline_scenario::diagnostics::Source;

use super::{Experiment, OnDisk};
use crate::mutations::scaled;
use crate::need::{Done, DoneRun, Input, Metrics, RunRequest, sets};
use crate::outcomes::{Kept, Outcomes};
use crate::{Record, Reproduction, in_code};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What makes a run, whatever it is called.
fn made_of(need: &RunRequest) -> String {
    let mut settings: Vec<String> = need.settings.iter().map(|one| one.replace(' ', "")).collect();
    settings.sort();
    let digest = need.digest.map_or("", |digest| digest.name);
    let input = match need.input {
        Input::Shipped(name, seed) => format!("{name} {seed}"),
        Input::File(name, seed) => format!("{name} {seed}"),
        Input::Reference(reference) => reference.name.to_string(),
    };
    let flows = need.flows_only;
    format!(
        "{input} {} {} {settings:?} {digest} {flows}",
        need.scheme,
        need.fidelity.name()
    )
}

/// What was recorded of the code, under its names.
fn recorded(one: &Reproduction) -> Option<Outcomes> {
    let file = root().join(format!("validation/reproductions/{}.json", one.id));
    serde_json::from_str(&fs::read_to_string(file).ok()?).unwrap()
}

/// The same under the names of the data.
fn renamed(outcomes: &Outcomes, code: &Reproduction, data: &Reproduction) -> Outcomes {
    let by_content: BTreeMap<String, RunRequest> = code
        .needs()
        .into_iter()
        .map(|need| (made_of(&need), need))
        .collect();
    let run = |need: RunRequest| {
        let kept = outcomes.runs.get(&by_content.get(&made_of(&need))?.name())?;
        let mut kept = kept.clone();
        if let Some(summary) = kept.summary().filter(|_| !need.summary.is_empty()) {
            let values = need.of_summary(&summary).into_iter();
            kept.values
                .extend(values.map(|(name, value)| (name.to_string(), value)));
            kept.summary = serde_json::Value::Null;
        }
        Some((need.name(), kept))
    };
    Outcomes {
        runs: data.needs().into_iter().filter_map(run).collect(),
        steps: outcomes.steps.clone(),
    }
}

fn random(rng: &mut Rng, like: &Metrics) -> Metrics {
    let mut draw = |value: &mut f64| *value = 0.5 + rng.next_f64();
    let mut drawn = like.clone();
    drawn.values.values_mut().for_each(&mut draw);
    let points = drawn.series.values_mut().flatten();
    points.for_each(|(_, y)| draw(y));
    drawn
}

/// Numbers drawn at random of all runs and steps, for both.
fn drawn(code: &Reproduction, data: &Reproduction, seed: u64) -> [Done; 2] {
    let mut rng = Rng::stream(seed, Purpose::Workload, 0);
    let known = recorded(code).unwrap_or_default();
    let input = RunRequest::of(Input::Shipped("incast-16", 1), "hpcc")
        .load()
        .unwrap();
    let mut both = [Done::default(), Done::default()];
    let by_content: BTreeMap<String, RunRequest> = data
        .needs()
        .into_iter()
        .map(|need| (made_of(&need), need))
        .collect();
    for need in code.needs() {
        let Some(of_data) = by_content.get(&made_of(&need)) else {
            continue;
        };
        let kept = known.runs.get(&need.name());
        let like = kept.map(Kept::numbers).filter(|like| *like != Metrics::default());
        let like = like.or_else(|| need.digest.map(|digest| names(digest.name)));
        let numbers = like.map(|like| random(&mut rng, &like));
        let summary = kept
            .and_then(Kept::summary)
            .map(|summary| scaled(&summary, 0.5 + rng.next_f64()));
        let mut of_summary = numbers.clone().unwrap_or_default();
        if let Some(summary) = &summary {
            of_summary.values.extend(of_data.of_summary(summary));
        }
        let run = |need: &RunRequest, numbers: Option<Metrics>| DoneRun {
            need: need.clone(),
            input: input.clone(),
            finished: None,
            numbers,
            summary: summary.clone(),
            status: Some(RunStatus::Completed),
        };
        both[0].runs.push(run(&need, numbers));
        both[1].runs.push(run(of_data, Some(of_summary)));
    }
    for step in code.steps {
        let like = known.steps.get(step.name).map(Kept::numbers).unwrap_or_default();
        let numbers = random(&mut rng, &like);
        both.iter_mut()
            .for_each(|done| drop(done.steps.insert(step.name, numbers.clone())));
    }
    both
}

/// Every name of a set, with something of each.
fn names(set: &str) -> Metrics {
    let mut metrics = Metrics::default();
    if let Some(set) = sets().find(|one| one.name == set) {
        metrics
            .values
            .extend(set.values.iter().map(|one| (one.name, 1.0)));
        let points: Vec<(f64, f64)> = (0..400).map(|x| (f64::from(x), 1.0)).collect();
        metrics
            .series
            .extend(set.series.iter().map(|one| (one.name, points.clone())));
    }
    metrics
}

/// What a record says, but for what it is called.
fn says(record: &Record) -> String {
    let digits = |value: &serde_json::Value| match value.as_f64() {
        Some(number) => format!("{number:.9e}"),
        None => value.to_string(),
    };
    let Record {
        unit,
        tolerance,
        ok,
        kind,
        source,
        because,
        ..
    } = record;
    let (paper, ours) = (digits(&record.paper), digits(&record.ours));
    format!(
        "{paper} | {ours} {unit} | {tolerance} {ok:?} {} {source:?} {because}",
        kind.name()
    )
}

fn differences(code: &Reproduction, data: &Reproduction, done: [&Done; 2]) -> Vec<String> {
    let list = |one: &Reproduction, done: &Done| {
        let mut all: Vec<(String, String)> = (one.records(done).iter())
            .map(|record| (says(record), format!("{}: {}", record.case, record.metric)))
            .collect();
        all.sort();
        all
    };
    let (a, b) = (list(code, done[0]), list(data, done[1]));
    let mut counts: BTreeMap<&str, i32> = BTreeMap::new();
    a.iter()
        .for_each(|(says, _)| *counts.entry(says).or_default() += 1);
    b.iter()
        .for_each(|(says, _)| *counts.entry(says).or_default() -= 1);
    let only = |all: &[(String, String)], sign: i32, what: &str| {
        let found = all.iter().filter(|(says, _)| counts[says.as_str()] * sign > 0);
        found
            .take(12)
            .map(|(says, name)| format!("{what} {name}: {says}"))
            .collect::<Vec<String>>()
    };
    [only(&a, 1, "code"), only(&b, -1, "data")].concat()
}

fn read(id: &str) -> &'static Reproduction {
    let folder = root().join("experiments").join(id);
    let path = folder.join("experiment.toml");
    let text = fs::read_to_string(&path).unwrap();
    let source = Source::new(path.display().to_string(), text);
    let found = Experiment::read(id, &source, &OnDisk(&folder));
    Box::leak(Box::new(found.unwrap_or_else(|error| panic!("{error}"))))
}

/// The experiments that are both.
fn both() -> Vec<(&'static Reproduction, &'static Reproduction)> {
    let only = std::env::var("ONLY").ok();
    // From the disk, so that a change of theirs needs no build.
    let data = paceline_scenario::read_text(root().join("experiments/order.txt")).unwrap();
    let data = data.split_whitespace().map(read).collect::<Vec<_>>().into_iter();
    let data = data.filter(|one| only.as_deref().is_none_or(|only| one.id.contains(only)));
    data.filter_map(|data| Some((in_code().find(|code| code.id == data.id)?, data)))
        .collect()
}

#[test]
fn data_says_what_code_says() {
    let mut wrong = Vec::new();
    for (code, data) in both() {
        let mut say = |text: String| wrong.push(format!("{}: {text}", code.id));
        let texts = |one: &Reproduction| {
            [
                one.title.to_string(),
                one.source.to_string(),
                one.setting.to_string(),
            ]
        };
        for (a, b) in texts(code).into_iter().zip(texts(data)) {
            if a != b {
                say(format!("texts\n  code {a}\n  data {b}"));
            }
        }
        if (code.notes, code.choices) != (data.notes, data.choices) {
            let different = |(a, b): &(&&str, &&str)| a != b;
            let notes: Vec<_> = code.notes.iter().zip(data.notes).filter(different).collect();
            say(format!("notes or choices: {notes:#?} {:#?}", data.choices));
        }
        let steps = |one: &Reproduction| one.steps.iter().map(|step| step.name).collect::<Vec<_>>();
        if steps(code) != steps(data) {
            say(format!("steps {:?} {:?}", steps(code), steps(data)));
        }
        let sorted = |one: &Reproduction| {
            let mut all: Vec<String> = one.needs().iter().map(made_of).collect();
            all.sort();
            all.dedup();
            all
        };
        let (a, b) = (sorted(code), sorted(data));
        let of = |a: &[String], b: &[String]| -> Vec<String> {
            a.iter().filter(|one| !b.contains(one)).take(4).cloned().collect()
        };
        if a != b {
            say(format!(
                "runs\n  code {:#?}\n  data {:#?}",
                of(&a, &b),
                of(&b, &a)
            ));
            continue;
        }
        for seed in 0..3 {
            let [of_code, of_data] = drawn(code, data, seed);
            let found = differences(code, data, [&of_code, &of_data]);
            if !found.is_empty() {
                say(format!("numbers drawn at random\n  {}", found.join("\n  ")));
                break;
            }
        }
        if let Some(outcomes) = recorded(code) {
            let (a, b) = (
                outcomes.done(code).unwrap(),
                renamed(&outcomes, code, data).done(data).unwrap(),
            );
            let found = differences(code, data, [&a, &b]);
            if !found.is_empty() {
                say(format!("recorded\n  {}", found.join("\n  ")));
            }
        }
        let nothing = Done::default();
        let found = differences(code, data, [&nothing, &nothing]);
        if !found.is_empty() {
            say(format!("nothing run\n  {}", found.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `MOVE=1` moves recorded outcomes next to their experiments.
#[test]
fn recorded_outcomes_are_moved() {
    if std::env::var_os("MOVE").is_none() {
        return;
    }
    for (code, data) in both() {
        let Some(outcomes) = recorded(code) else { continue };
        let text = serde_json::to_string_pretty(&renamed(&outcomes, code, data)).unwrap();
        fs::write(
            root().join(format!("experiments/{}/outcome.json", code.id)),
            text + "\n",
        )
        .unwrap();
    }
}
