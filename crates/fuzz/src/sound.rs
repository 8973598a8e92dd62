//! The files that are damaged: inputs that people write, and what runs, sweeps and trainings leave behind.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use paceline_congestion::learned::forest::{Forest, Scale};
use paceline_congestion::learned::shipped::SHIPPED;
use paceline_congestion::testkit::forests;
use paceline_fabric::Progress;
use paceline_lab::files::columns::{Column, Values, write_parquet};
use paceline_lab::files::{Folder, Format, Writing, write_run_into};
use paceline_lab::run::{Control, Cut, execute};
use paceline_lab::sweep::{Job, Keep, Row, Shard, Study, Watch};
use paceline_learn::dataset::{Dataset, Trace};
use paceline_scenario::{Overrides, Resolved};

/// Scenarios that ship and are over soon.
pub(crate) const SHIPPED_SCENARIOS: [&str; 14] = [
    "all-to-all-4",
    "fairness-4",
    "incast-16",
    "bolt-join100",
    "bolt-fair5",
    "link-flap",
    "load-balancing",
    "pcn-head-of-line",
    "pfc-storm",
    "prediction-value",
    "qcn-incast",
    "recovery-loss",
    "ring-all-reduce",
    "swift-target-scaling",
];

/// A run of a few thousand events that writes every file that runs write.
const RUN: &str = r#"name = "fuzz"
description = "four hosts send to a fifth"
duration = "1ms"
seed = 3
[topology.star]
hosts = 5
rate = "100Gbps"
delay = "1us"
[network]
buffer = "1MB"
[[workload]]
label = "burst"
incast = { fan-in = 4, receiver = 5, size = "400KB" }
start-jitter = "2us"
[[workload]]
label = "answer"
flows = [{ src = 5, dst = 1, size = "3KB", start = "5us" }]
[cc]
scheme = "dcqcn"
[record]
queue = "1us"
rates = "5us"
flows = "2us"
rtt-samples = true
"#;

/// Ports that pauses stop and start, with detectors of either kind.
const DETECTED: &str = r#"duration = "1ms"
[topology.dumbbell]
left = 3
right = 2
rate = "100Gbps"
delay = "1us"
[network]
lossless = [3, 5]
pfc.static = { xoff = "40KB", xon = "38KB" }
headroom.fixed = "200KB"
ecn = { kmin = "5KB", kmax = "50KB", pmax = 0.2, reference-rate = "100Gbps" }
[network.detection]
kind = "tcd"
variant = "adaptive"
epsilon = 0.1
max-ton = "20us"
times = 3
class = [{ priority = 5, kind = "np-ecn" }]
[[workload]]
label = "burst"
incast = { senders = [0, 1, 4], receiver = 3, size = "200KB" }
[[workload]]
label = "beside"
priority = 5
flows = [{ src = 0, dst = 4, size = "50KB", start = "5us" }]
[cc]
scheme = "dcqcn-tcd"
[record]
states = "2us"
"#;

/// Flows of sizes that a file says.
const DRAWN: &str = r#"duration = "1ms"
[topology.star]
hosts = 4
[[workload]]
poisson = { sizes = "sizes.txt", load = 0.3, from = "0s", to = "10us" }
[cc]
scheme = "dctcp"
"#;

/// Flows of a table.
const REPLAY: &str = r#"duration = "1ms"
[topology.star]
hosts = 5
[[workload]]
trace = { file = "FILE" }
[cc]
scheme = "hpcc"
"#;

const SIZES: &str = "size percent\n0 0\n1000 20\n20000 70.5\n300000 100\n";

const CONFIG: [(&str, &str); 4] = [
    (
        "config.txt",
        include_str!("../../scenario/tests/data/a_single_10KB/hpcc.txt"),
    ),
    (
        "topology.txt",
        include_str!("../../scenario/tests/data/a_single_10KB/topology.txt"),
    ),
    (
        "flow.txt",
        include_str!("../../scenario/tests/data/a_single_10KB/flow.txt"),
    ),
    (
        "trace_all.txt",
        include_str!("../../scenario/tests/data/a_single_10KB/trace_none.txt"),
    ),
];

/// Makes all of them in `folder`.
pub(crate) fn make(folder: &Path) -> Result<()> {
    for name in SHIPPED_SCENARIOS {
        let mut all = paceline_scenario::scenarios().iter();
        let shipped = all.find(|shipped| shipped.name == name);
        let shipped = shipped.with_context(|| format!("no scenario `{name}` ships"))?;
        write(folder, &format!("scenario/{name}.toml"), shipped.text)?;
    }
    write(folder, "scenario/run.toml", RUN)?;
    write(folder, "scenario/detected.toml", DETECTED)?;
    for (name, text) in CONFIG {
        write(folder, &format!("ns3/{name}"), text)?;
    }
    write(folder, "drawn/mine.toml", DRAWN)?;
    write(folder, "drawn/sizes.txt", SIZES)?;
    runs(folder)?;
    write(folder, "csv/mine.toml", REPLAY.replace("FILE", "flows.csv"))?;
    copy(folder, "run/flows.csv", "csv/flows.csv")?;
    write(
        folder,
        "parquet/mine.toml",
        REPLAY.replace("FILE", "flows.parquet"),
    )?;
    copy(folder, "columns/flows.parquet", "parquet/flows.parquet")?;
    sweep(folder)?;
    training(folder)
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> Result<()> {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap_or(folder))?;
    fs::write(&path, text).with_context(|| path.display().to_string())
}

fn copy(folder: &Path, from: &str, to: &str) -> Result<()> {
    write(folder, to, fs::read(folder.join(from))?)
}

/// The folders of a run, with its tables as text and as Parquet.
fn runs(folder: &Path) -> Result<()> {
    let input = paceline_scenario::load_text("fuzz.toml", RUN, &Overrides::default())?;
    let finished = execute(&input, &mut |_| Control::Continue)?;
    for (name, format) in [("run", Format::Csv), ("columns", Format::Parquet)] {
        let how = Writing {
            format,
            ..Writing::default()
        };
        let made = Folder::create(&folder.join(name), true)?.written(how);
        write_run_into(&made, Path::new(""), &input, &finished)?;
        made.commit()?;
    }
    Ok(())
}

/// Nobody watches.
struct Unwatched;

impl Watch for Unwatched {
    fn begin(&self, _: usize, _: usize, _: bool) {}
    fn progress(&self, _: usize, _: &Resolved, _: &Progress) -> Control {
        Control::Continue
    }
    fn cut(&self, _: usize, _: Cut) {}
    fn share(&self, _: usize, _: usize) {}
    fn end(&self, _: usize, _: &Row) {}
    fn stopped(&self) -> bool {
        false
    }
}

fn sweep(folder: &Path) -> Result<()> {
    let study = Study {
        input: folder.join("scenario/run.toml").display().to_string(),
        overrides: Overrides {
            over: vec!["cc.scheme=hpcc,dctcp".into()],
            ..Overrides::default()
        },
        repeats: Some(2),
        arguments: vec!["run.toml".into()],
    };
    let plan = study.plan(1)?;
    let place = folder.join("sweep");
    Job {
        study: &study,
        plan: &plan,
        folder: &place,
        shard: Shard::WHOLE,
        keep: Keep::Summary,
        write: |folder, sub, input, finished| write_run_into(folder, sub, input, finished).map(|_| ()),
        jobs: 1,
        force: true,
    }
    .run(&Unwatched)?;
    Ok(())
}

/// A model, and a dataset.
fn training(folder: &Path) -> Result<()> {
    let model = &SHIPPED[0];
    write(folder, "model/mine.json", model.card)?;
    write(folder, "model/mine.safetensors", model.weights)?;
    let forest = Forest::new(forests::random(6, &[Scale::Fixed(8), Scale::Float], 4, 1))?;
    write(folder, "model/forest.json", forest.to_json().as_bytes())?;
    let trace = Trace::from_folder(&folder.join("run"))?;
    let data = Dataset::draw(&[trace], 8, 1)?;
    data.write(&folder.join("dataset.parquet"))?;
    Ok(())
}

/// A table whose columns are not what a reader of `flows.parquet` or `series.parquet` looks for, but sound Parquet.
pub(crate) fn other_columns(columns: &[Column], damage: &mut dyn FnMut(usize) -> usize) -> Result<Vec<u8>> {
    let rows = [0, 1, 2, 7][damage(4)];
    let mut changed: Vec<Column> = columns.to_vec();
    for column in &mut changed {
        let kind = damage(8);
        let odd = damage(7);
        column.values = match kind {
            0 => Values::Text(vec![Some("x".into()); rows]),
            1 => Values::Int(vec![
                [
                    None,
                    Some(0),
                    Some(-1),
                    Some(i64::MIN),
                    Some(i64::MAX),
                    Some(1),
                    Some(7)
                ][odd];
                rows
            ]),
            2 => Values::Real(vec![
                [
                    None,
                    Some(0.0),
                    Some(-1.0),
                    Some(f64::NAN),
                    Some(f64::INFINITY),
                    Some(1e300),
                    Some(-1e-300)
                ][odd];
                rows
            ]),
            _ => resized(&column.values, rows),
        };
    }
    if damage(3) == 0 {
        let at = damage(changed.len());
        changed.remove(at);
    }
    let mut out = Vec::new();
    write_parquet(&mut out, &changed, &[])?;
    Ok(out)
}

/// The same values, as often as it takes.
fn resized(values: &Values, rows: usize) -> Values {
    fn of<T: Clone>(all: &[Option<T>], rows: usize) -> Vec<Option<T>> {
        let some = all.iter().cycle().take(if all.is_empty() { 0 } else { rows });
        let mut some: Vec<Option<T>> = some.cloned().collect();
        some.resize(rows, None);
        some
    }
    match values {
        Values::Text(all) => Values::Text(of(all, rows)),
        Values::Int(all) => Values::Int(of(all, rows)),
        Values::Real(all) => Values::Real(of(all, rows)),
    }
}
