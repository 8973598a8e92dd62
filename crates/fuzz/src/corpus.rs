//! Seed corpus: valid files to damage, namely inputs of users, and the results of runs, sweeps and trainings.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use paceline_congestion::SendLimits;
use paceline_congestion::learned::forest::{Forest, Scale};
use paceline_congestion::learned::shipped::SHIPPED;
use paceline_congestion::testkit::forests;
use paceline_fabric::{Progress, Simulation, Until};
use paceline_kernel::{BitRate, Bytes};
use paceline_lab::files::columns::{Column, Values, write_parquet};
use paceline_lab::files::{Folder, Format, Writing, write_run_into};
use paceline_lab::run::{Control, Cut, execute, patience};
use paceline_lab::sweep::{Job, Keep, Row, Shard, Study, Watch};
use paceline_learn::dataset::{Dataset, Trace};
use paceline_learn::{Checkpoints, adpg};
use paceline_scenario::{Decision, Decisions, Overrides, Resolved};

/// Built-in scenarios that take little time.
pub(crate) const SHIPPED_SCENARIOS: [&str; 19] = [
    "acc-join",
    "all-to-all-4",
    "fairness-4",
    "incast-16",
    "infiniband-join",
    "hierarchical-all-reduce",
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
    "tcd-single-point",
    "two-flow-join",
];

/// Run of a few thousand events with every kind of result file.
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
blame = "labels"
"#;

/// Scenario with ports that pauses stop and start, and with both kinds of detectors.
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

/// Scenario with flow sizes from a file.
const DRAWN: &str = r#"duration = "1ms"
[topology.star]
hosts = 4
[[workload]]
poisson = { sizes = "sizes.txt", load = 0.3, from = "0s", to = "10us" }
[cc]
scheme = "dctcp"
"#;

/// Scenario with flows from a table.
const REPLAY: &str = r#"duration = "1ms"
[topology.star]
hosts = 5
[[workload]]
trace = { file = "FILE" }
[cc]
scheme = "hpcc"
"#;

/// Scenario with flows that are controlled from outside.
const ASKING: &str = r#"duration = "1ms"
[topology.star]
hosts = 4
[[workload]]
incast = { fan-in = 3, receiver = 4, size = "100KB" }
[cc]
scheme = "external"
[cc.external]
decision-latency = "1us"
"#;

/// Scenario of a network with credits, whose messages are in a table.
const MESSAGES: &str = r#"fidelity = "ib-omnet"
duration = "300us"
topology.star = { hosts = 4, rate = "32Gbps", delay = "0s" }
[[workload]]
label = "one"
messages = { file = "messages.csv" }
[parity.ib-omnet]
control = "rrcc"
[cc]
scheme = "none"
"#;

const TABLE: &str = "src_lid,dst_lid,msg_bytes,n_msgs,gap_ns,start_ms\n1,4,4096,5,1,0.001\n2,4,10000,3,200,0.002\n\
                     3,1,1,7,1,0\n";

/// Run that has little in common with the first one.
const UNLIKE: &str = r#"duration = "300us"
[topology.leaf-spine]
leaves = 2
spines = 2
hosts-per-leaf = 2
[[workload]]
label = "burst"
permutation = { size = "40KB" }
[[workload]]
label = "sum"
all-reduce = { size = "60KB", iterations = 2 }
[cc]
scheme = "hpcc"
"#;

/// Assignments for `--set`, one per line; targets damage this text.
const SETTINGS: &str = "network.buffer=4MB\nworkload.burst.incast.size=30KB\ncc.dcqcn.g=0.01\nworkload.1.priority=4\n\
                        record.queue=\"2us\"\ncc.dcqcn-paper.g = 0.5\nnetwork.pfc.static={ xoff = \"50KB\", xon = \"40KB\" }\n\
                        network.lossless=[3, 4]\nfidelity=exact\nname=mine\n";

/// Input of the simulator of TCD's authors.
const TCD: [(&str, &str); 3] = [
    (
        "config.txt",
        "ENABLE_QCN 1\nUSE_DYNAMIC_PFC_THRESHOLD 0\nENABLE_ROOTECN 1\nENABLE_ROOTECNCC 1\nSEED_NUMBER 6\n\
         ROOTECN_INTERVAL 97\nFLOW_LEVEL_ECMP 1\nTOPOLOGY_FILE t\nFLOW_FILE f\nSEND_IN_CHUNKS 0\nAPP_STOP_TIME 2.06\n\
         SIMULATOR_STOP_TIME 2.06\nRP_TIMER 55\nBYTE_COUNTER 10000000\nKMAX 200\nKMIN 5\nPMAX 0.01\n\
         DCTCP_GAIN 0.00390625\nRATE_AI 40Mb/s\nRATE_HAI 200Mb/s\nL2_CHUNK_SIZE 4000\nL2_ACK_INTERVAL 256\n",
    ),
    (
        "t",
        "4 1 3\n3\n0 3 40Gbps 0.004ms 0\n1 3 40Gbps 0.004ms 0\n2 3 40Gbps 0.004ms 0\n",
    ),
    (
        "f",
        "3\n0 2 3 64000 2.0 2.5\n1 2 3 1001 2.000001 3\n0 1 3 24 2.0 3\n",
    ),
];

/// Model in CatBoost's format.
const CATBOOST: &str = include_str!("../../forest/tests/catboost/model.json");

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

/// Network of InfraGraph, and a scenario with it.
const INFRAGRAPH: &str = include_str!("../../scenario/tests/data/infragraph/box.yaml");
const INFRAGRAPH_RUN: &str = r#"name = "fuzz"
duration = "1ms"
[topology.infragraph]
file = "net.yaml"
delay = "1us"
[[workload]]
permutation = { size = "10KB" }
[cc]
scheme = "dcqcn"
"#;

/// Traces of jobs from the tests of their readers.
const GOAL: &[u8] = include_bytes!("../../traces/tests/data/goal/mixed_02.goal");
const GOAL_BINARY: &[u8] = include_bytes!("../../traces/tests/data/goal/mixed_02.bin");
const CHAKRA: &[u8] =
    include_bytes!("../../traces/tests/data/chakra/dags/compute_then_all_reduce/trace.0.et");
const CHAKRA_JSON: &[u8] = include_bytes!("../../traces/tests/data/chakra/jsonizer/b.0.json");
const SIMAI: &[u8] = include_bytes!("../../traces/tests/data/simai/reduced-moe-w32-tp2-ep8.txt");

/// Creates the corpus in `folder`.
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
    write(folder, "infragraph/net.yaml", INFRAGRAPH)?;
    write(folder, "infragraph/mine.toml", INFRAGRAPH_RUN)?;
    write(folder, "drawn/mine.toml", DRAWN)?;
    write(folder, "drawn/sizes.txt", SIZES)?;
    for (name, text) in TCD {
        write(folder, &format!("tcd/{name}"), text)?;
    }
    write(folder, "messages/mine.toml", MESSAGES)?;
    write(folder, "messages/messages.csv", TABLE)?;
    write(folder, "settings/mine.toml", RUN)?;
    write(folder, "settings/set.txt", SETTINGS)?;
    write(folder, "goal/mine.goal", GOAL)?;
    write(folder, "goal/mine.bin", GOAL_BINARY)?;
    for rank in 0..8 {
        write(folder, &format!("chakra/mine.{rank}.et"), CHAKRA)?;
    }
    for rank in 0..4 {
        write(folder, &format!("chakra-json/mine.{rank}.json"), CHAKRA_JSON)?;
    }
    write(folder, "simai/mine.txt", SIMAI)?;
    write(folder, "random/mine.toml", "")?;
    write(folder, "model/catboost.json", CATBOOST)?;
    // Runs before the inputs below, which are copies of their tables.
    runs(folder)?;
    decided(folder)?;
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

/// Creates folders of runs, with tables as text and as Parquet.
fn runs(folder: &Path) -> Result<()> {
    for (name, text, format) in [
        ("run", RUN, Format::Csv),
        ("columns", RUN, Format::Parquet),
        ("unlike", UNLIKE, Format::Csv),
    ] {
        let input = paceline_scenario::load_text("fuzz.toml", text, &Overrides::default())?;
        let finished = execute(&input, &mut |_| Control::Continue)?;
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

/// Creates the scenario of a run with externally controlled flows, and the recorded decisions.
fn decided(folder: &Path) -> Result<()> {
    let input = paceline_scenario::load_text("asking.toml", ASKING, &Overrides::default())?;
    let mut simulation = Simulation::new(input.run.clone())?;
    let patience = patience(&input.run);
    let (mut made, mut stop) = (Vec::new(), 0);
    loop {
        let now = simulation.advance_to(Until::Due(patience));
        if now.done {
            break;
        }
        stop += 1;
        simulation.answer(|question| {
            let limits = SendLimits {
                rate: BitRate::from_gbps(10 + u64::from(question.flow)),
                window: Bytes::MAX,
            };
            made.push(Decision {
                stop,
                at_ps: now.now.as_ps(),
                flow: question.flow,
                limits,
            });
            Some(limits)
        });
    }
    let input = input.decided(Decisions { made, ended: None });
    write(folder, "decided/mine.toml", &input.toml)?;
    for (name, content) in &input.files {
        write(folder, &format!("decided/{name}"), content)?;
    }
    Ok(())
}

/// Observer of a sweep that ignores all events.
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
    let location = folder.join("sweep");
    Job {
        study: &study,
        plan: &plan,
        folder: &location,
        shard: Shard::WHOLE,
        keep: Keep::Summary,
        write: |folder, sub, input, finished| write_run_into(folder, sub, input, finished).map(|_| ()),
        jobs: 1,
        force: true,
    }
    .run(&Unwatched)?;
    for row in fs::read_dir(location.join("rows"))? {
        unseal(&row?.path())?;
    }
    unseal(&location.join("sweep.json"))?;
    Ok(())
}

/// Removes the digest from a file, so that damage reaches the reader: an edited file with a digest is rejected at
/// once.
fn unseal(file: &Path) -> Result<()> {
    let mut value: serde_json::Value = serde_json::from_slice(&fs::read(file)?)?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("digest");
    }
    Ok(fs::write(file, serde_json::to_vec_pretty(&value)?)?)
}

/// Creates a model and a dataset.
fn training(folder: &Path) -> Result<()> {
    let model = &SHIPPED[0];
    write(folder, "model/mine.json", model.card())?;
    write(folder, "model/mine.safetensors", model.weights)?;
    let forest = Forest::new(forests::random(6, &[Scale::Fixed(8), Scale::Float], 4, 1))?;
    write(folder, "model/forest.json", forest.to_json().as_bytes())?;
    let trace = Trace::from_folder(&folder.join("run"))?;
    let data = Dataset::draw(&[trace], 8, 1)?;
    data.write(&folder.join("dataset.parquet"))?;
    train(&folder.join("training"))?;
    Ok(())
}

/// Runs one update of a policy's training, or resumes a checkpoint if there is one.
pub(crate) fn train(folder: &Path) -> Result<(), paceline_learn::Error> {
    let checkpoints = Checkpoints::open(folder, "fuzz", Duration::ZERO, false, |_| ())?;
    let options = adpg::Options {
        updates: 1,
        first_decisions: 8,
        threads: 1,
        ..adpg::Options::default()
    };
    adpg::train(&options, &checkpoints, &mut |_| Control::Continue).map(drop)
}

/// Writes valid Parquet whose columns differ from those that a reader of `flows.parquet` or `series.parquet` expects.
pub(crate) fn other_columns(columns: &[Column], damage: &mut dyn FnMut(usize) -> usize) -> Result<Vec<u8>> {
    // Columns of a table have to be equally long, or it could not be written.
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

/// Repeats values until there are `rows` of them.
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
