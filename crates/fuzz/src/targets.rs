//! Targets: the readers, with their inputs.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::slice;
use std::thread;

use anyhow::{Context as _, Result};
use paceline_congestion::learned::card::Card;
use paceline_congestion::learned::forest::{Forest, ForestError};
use paceline_congestion::learned::model::Model;
use paceline_congestion::learned::sha256;
use paceline_fabric::Progress;
use paceline_lab::diff::Diff;
use paceline_lab::files::RunData;
use paceline_lab::files::columns::read_parquet;
use paceline_lab::run::Control;
use paceline_lab::sweep::{self, SweepData};
use paceline_lab::why::{slowest, slowest_table};
use paceline_learn::dataset::{Dataset, Trace};
use paceline_report::figure::{self, FigureKind, Preset, Seeds};
use paceline_reproduce::{Done, Plan, RunRequest};
use paceline_scenario::Overrides;
use paceline_traces::check::check;
use paceline_traces::explain::{Costs, explain};
use paceline_traces::loggops::{self, Parameters, Variant};
use paceline_traces::open::{self, Format};
use sha2::{Digest as _, Sha256};

use crate::grammar::Subject;
use crate::mutate::{ContentKind, Mutator};
use crate::oracle::{EVENTS, Verdict, WIDTH, load_and_run, load_with, reached, tables, words};
use crate::{corpus, grammar};

/// Reader, and the file that is damaged for it.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Path within the folder of the seed corpus; `*` means any file of a folder.
    file: &'static str,
    kind: ContentKind,
    made: Made,
    read: fn(&Path) -> Verdict,
}

/// Source of a reader's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// Damaged file of the seed corpus.
    Damaged,
    /// Random text from a grammar.
    Random(Subject),
    /// Random text from a grammar, damaged.
    RandomDamaged(Subject),
}

const fn text(name: &'static str, file: &'static str, read: fn(&Path) -> Verdict) -> Target {
    Target {
        name,
        file,
        kind: ContentKind::Text,
        made: Made::Damaged,
        read,
    }
}

const fn random(name: &'static str, made: Made, read: fn(&Path) -> Verdict) -> Target {
    Target {
        made,
        ..text(name, "random/mine.toml", read)
    }
}

const fn binary(name: &'static str, file: &'static str, read: fn(&Path) -> Verdict) -> Target {
    Target {
        kind: ContentKind::Binary,
        ..text(name, file, read)
    }
}

/// All targets, in the order in which they run by default.
pub(crate) static TARGETS: [Target; 49] = [
    text("scenario", "scenario/*", scenario),
    random("random", Made::Random(Subject::Flows), with_files),
    random("random-damaged", Made::RandomDamaged(Subject::Flows), with_files),
    random("random-goal", Made::Random(Subject::Goal), with_trace),
    random(
        "random-goal-binary",
        Made::Random(Subject::GoalBinary),
        with_trace,
    ),
    random("random-chakra", Made::Random(Subject::Chakra), with_trace),
    random(
        "random-chakra-json",
        Made::Random(Subject::ChakraJson),
        with_trace,
    ),
    random("random-simai", Made::Random(Subject::SimAi), with_trace),
    random("random-simai-conf", Made::Random(Subject::SimAiConf), conf),
    random("random-matrix", Made::Random(Subject::Matrix), with_files),
    random("random-uet", Made::Random(Subject::Uet), with_files),
    random("random-policy", Made::Random(Subject::Policy), with_files),
    random("random-experiment", Made::Random(Subject::Experiment), experiment),
    text("settings", "settings/set.txt", settings),
    text("ns3-config", "ns3/config.txt", beside),
    text("ns3-topology", "ns3/topology.txt", beside),
    text("ns3-flows", "ns3/flow.txt", beside),
    text("infragraph", "infragraph/net.yaml", beside),
    text("ns3-trace", "ns3/trace_all.txt", beside),
    text("tcd-config", "tcd/config.txt", beside),
    text("tcd-flows", "tcd/f", beside),
    text("messages", "messages/messages.csv", beside),
    text("decisions", "decided/decisions.csv", beside),
    text("cdf", "drawn/sizes.txt", beside),
    text("csv", "csv/flows.csv", beside),
    binary("parquet", "parquet/flows.parquet", beside),
    text("goal", "goal/mine.goal", trace),
    binary("goal-binary", "goal/mine.bin", trace),
    binary("chakra", "chakra/mine.0.et", trace),
    text("chakra-json", "chakra-json/mine.0.json", trace),
    text("simai", "simai/mine.txt", trace),
    text("model-card", "model/mine.json", model),
    binary("model-weights", "model/mine.safetensors", model_by_its_hash),
    text("forest", "model/forest.json", forest_by_its_hash),
    text("catboost", "model/catboost.json", catboost),
    text("run-summary", "run/summary.json", run_folder),
    text("run-scenario", "run/scenario.toml", run_folder),
    text("run-network", "run/topology.txt", run_folder),
    text("run-flows-csv", "run/flows.csv", run_folder),
    binary("run-flows-parquet", "columns/flows.parquet", run_folder),
    binary("run-series", "run/series.parquet", run_folder),
    text("run-flow-time", "run/flow_time.csv", run_folder),
    text("run-pauses", "run/pfc.txt", run_folder),
    text("run-blame", "run/blame.csv", run_folder),
    text("run-samples", "run/rtt_samples.txt", samples),
    text("sweep-plan", "sweep/sweep.json", sweep_folder),
    text("sweep-rows", "sweep/rows/*", sweep_folder),
    binary("dataset", "dataset.parquet", dataset),
    binary(
        "checkpoint",
        "training/unfinished/adpg.bin",
        checkpoint_by_its_hash,
    ),
];

/// Faulty readers, with which the tests check that faults are detected.
static FAULTY: [Target; 5] = [
    text("faulty-panic", "scenario/*", |_| panic!("on purpose")),
    text("faulty-silence", "scenario/*", |_| Err(String::new())),
    text("faulty-memory", "scenario/*", |_| {
        drop(vec![1u8; 1 << 40]);
        Ok(())
    }),
    text("faulty-time", "scenario/*", |_| {
        std::thread::sleep(std::time::Duration::from_secs(3600));
        Ok(())
    }),
    text("faulty-crash", "scenario/*", |_| std::process::abort()),
];

/// Returns the target with this name.
pub(crate) fn named(name: &str) -> Option<&'static Target> {
    TARGETS.iter().chain(&FAULTY).find(|target| target.name == name)
}

/// File whose content a target has damaged or generated.
pub(crate) struct Input {
    /// Path within the folder of the valid files.
    pub(crate) file: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl Target {
    /// Returns the files that may be damaged, within the folder of the corpus.
    fn files(&self, folder: &Path) -> Result<Vec<PathBuf>> {
        let Some(parent) = self.file.strip_suffix("/*") else {
            return Ok(vec![PathBuf::from(self.file)]);
        };
        let entries = fs::read_dir(folder.join(parent))?;
        let names = entries.map(|entry| Ok(Path::new(parent).join(entry?.file_name())));
        let mut names: Vec<PathBuf> = names.collect::<Result<_>>()?;
        // A folder lists its entries in no fixed order, and a seed must always choose the same file.
        names.sort();
        Ok(names)
    }

    /// Returns the reader's input for a seed.
    pub(crate) fn input(&self, folder: &Path, seed: u64) -> Result<Input> {
        let files = self.files(folder)?;
        let read = |file: &PathBuf| fs::read(folder.join(file)).with_context(|| file.display().to_string());
        let whole = files.iter().map(read).collect::<Result<Vec<_>>>()?;
        // Seeds differ between subjects, so that they do not start alike.
        let mut mutator = match self.made {
            Made::Random(subject) => Mutator::new(seed ^ (subject as u64) << 32),
            _ => Mutator::new(seed),
        };
        if let Made::Random(subject) | Made::RandomDamaged(subject) = self.made {
            let mut bytes = grammar::text(&mut mutator, subject).into_bytes();
            // A grammar without odd values gets some of its texts damaged.
            let is_damaged = match self.made {
                Made::RandomDamaged(_) => true,
                _ => subject != Subject::Flows && mutator.below(8) == 0,
            };
            if is_damaged {
                let other = grammar::text(&mut mutator, subject).into_bytes();
                mutator.damage(self.kind, &mut bytes, &[other]);
            }
            let file = files[0].clone();
            return Ok(Input { file, bytes });
        }
        let which = mutator.below(files.len());
        let file = files[which].clone();
        let table = file.extension().is_some_and(|extension| extension == "parquet");
        if table && mutator.below(2) == 0 {
            let columns = read_parquet(&folder.join(&file))?;
            let bytes = corpus::other_columns(&columns, &mut |n| mutator.below(n))?;
            return Ok(Input { file, bytes });
        }
        let mut bytes = whole[which].clone();
        mutator.damage(self.kind, &mut bytes, &whole);
        Ok(Input { file, bytes })
    }

    #[cfg(feature = "guided")]
    pub(crate) fn damage(&self, mutator: &mut Mutator, bytes: &mut Vec<u8>) {
        let whole = bytes.clone();
        mutator.damage(self.kind, bytes, &[whole]);
    }

    /// Returns an earlier fault's input, which replaces the first file.
    pub(crate) fn regression(&self, folder: &Path, bytes: Vec<u8>) -> Result<Input> {
        let file = self.files(folder)?.swap_remove(0);
        Ok(Input { file, bytes })
    }

    /// Runs the reader on the input, which temporarily replaces the file of the corpus. A panic is an error.
    pub(crate) fn read(&self, folder: &Path, input: &Input) -> Result<thread::Result<Verdict>> {
        let path = folder.join(&input.file);
        let whole = fs::read(&path)?;
        fs::write(&path, &input.bytes)?;
        let said = catch_unwind(AssertUnwindSafe(|| (self.read)(&path)));
        fs::write(&path, whole)?;
        Ok(said)
    }
}

fn scenario(path: &Path) -> Verdict {
    load_and_run(path)
}

/// Processes a trace as the commands do; a valid one completes, or reports why it does not.
fn trace(path: &Path) -> Verdict {
    let open::Opened { program, format, .. } = open::open(path).map_err(words)?;
    let report = check(&*program, 65_535);
    explain(&*program, &Costs::alpha_beta(1_000, 100_000_000_000)).map_err(words)?;
    if format != Format::Goal {
        return report.into_result().map(drop).map_err(words);
    }
    let outcome = loggops::run(&*program, Variant::LogGopSim, &Parameters::default());
    reached();
    report.into_result().map_err(words)?;
    match outcome.map_err(words)?.stuck {
        Some(stuck) => Err(stuck.waits.join("; ") + "stuck"),
        None => Ok(()),
    }
}

/// Loads the scenario or folder next to a damaged file, which names it.
fn beside(path: &Path) -> Verdict {
    let folder = path.parent().expect("the file is in a folder");
    let mine = folder.join("mine.toml");
    load_and_run(if mine.is_file() { &mine } else { folder })
}

/// Loads a random input with the files that it names.
fn with_files(path: &Path) -> Verdict {
    unpacked(path, "mine.toml", load_and_run)
}

/// Loads a random input that names a trace, which is also read by itself, as some commands do.
fn with_trace(path: &Path) -> Verdict {
    unpacked(path, "mine.toml", |mine| {
        let names = ["mine.goal", "mine.bin", "t", "workload.txt"];
        let traces = names.map(|name| mine.with_file_name(name));
        for path in traces.iter().filter(|path| open::format(path).is_some()) {
            // The result depends on rules that only the scenario has, so errors are acceptable.
            let _ = trace(path);
        }
        load_and_run(mine)
    })
}

/// Loads SimAI's configuration with the files that it names.
fn conf(path: &Path) -> Verdict {
    unpacked(path, "SimAI.conf", load_and_run)
}

/// Processes an experiment with the files that it names: reads and checks it, runs its runs, and prints its tables.
fn experiment(path: &Path) -> Verdict {
    unpacked(path, "experiment.toml", |file| {
        let folder = file.parent().expect("the file is in a folder");
        let one = paceline_reproduce::read_folder(folder).map_err(words)?;
        paceline_reproduce::check(&one, Some(folder)).map_err(words)?;
        let needs = Plan::of(one.needs()).needs;
        let inputs = needs.iter().map(RunRequest::load).collect::<Result<Vec<_>, _>>();
        let inputs = inputs.map_err(words)?;
        let stop = |_: usize, now: &Progress| match now.events < EVENTS {
            true => Control::Continue,
            false => Control::Stop,
        };
        let runs = paceline_reproduce::run_each(&needs, &inputs, 1, &stop, &Ok);
        reached();
        let done = Done {
            runs: runs.into_iter().flatten().collect(),
            ..Done::default()
        };
        one.panels(&done);
        paceline_reproduce::text(&one, &done, WIDTH);
        paceline_reproduce::markdown(&one, &done);
        paceline_reproduce::entries(&[&one], &done);
        Ok(())
    })
}

/// Calls `read` for a file `name` with the content of an input, next to the files that belong to it.
fn unpacked(path: &Path, name: &str, read: impl Fn(&Path) -> Verdict) -> Verdict {
    let text = fs::read_to_string(path).map_err(words)?;
    let (input, files) = grammar::split(&text);
    let folder = path.with_extension("files");
    fs::create_dir_all(&folder).map_err(words)?;
    // A damaged name must not lead out of the folder.
    let is_plain = |name: &str| {
        !name.starts_with('.')
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ".-".contains(c))
    };
    for (name, content) in files.iter().filter(|(name, _)| is_plain(name)) {
        fs::write(folder.join(name), content).map_err(words)?;
    }
    let mine = folder.join(name);
    fs::write(&mine, input).map_err(words)?;
    let said = read(&mine);
    fs::remove_dir_all(&folder).map_err(words)?;
    said
}

/// Applies assignments for `--set`, one per line, to a scenario next to them.
fn settings(path: &Path) -> Verdict {
    let text = String::from_utf8_lossy(&fs::read(path).map_err(words)?).into_owned();
    let overrides = Overrides {
        set: text.lines().map(str::to_string).collect(),
        ..Overrides::default()
    };
    let folder = path.parent().expect("the file is in a folder");
    load_with(&folder.join("mine.toml"), &overrides)
}

/// Imports a model from CatBoost; an imported one can be written and read.
fn catboost(path: &Path) -> Verdict {
    let bytes = fs::read(path).map_err(words)?;
    for fraction in [None, Some(8)] {
        let forest = paceline_forest::catboost::read(&bytes, "mine", fraction).map_err(words)?;
        if let Err(error) = Forest::parse(forest.to_json().as_bytes()) {
            panic!("an imported forest cannot be read: {error}");
        }
    }
    Ok(())
}

fn model(path: &Path) -> Verdict {
    let read = |extension| fs::read(path.with_extension(extension)).map_err(words);
    let model = Model::parse(&read("json")?, &read("safetensors")?).map_err(words)?;
    reached();
    model.predict(&[0.5, -0.5, 1e30]);
    Ok(())
}

/// Reads weights whose card has their digest, so that damage passes the digest's check.
fn model_by_its_hash(path: &Path) -> Verdict {
    let read = |extension| fs::read(path.with_extension(extension)).map_err(words);
    let weights = read("safetensors")?;
    let card = Card {
        weights_sha256: sha256(&weights),
        ..Card::parse(&read("json")?).map_err(words)?
    };
    let card = serde_json::to_vec(&card).map_err(words)?;
    let model = Model::parse(&card, &weights).map_err(words)?;
    reached();
    model.predict(&[0.5, -0.5, 1e30]);
    Ok(())
}

/// Reads a forest with a corrected digest, so that damage passes the check. A valid one must decide the same in both
/// implementations.
fn forest_by_its_hash(path: &Path) -> Verdict {
    let bytes = fs::read(path).map_err(words)?;
    let forest = match Forest::parse(&bytes) {
        Err(ForestError::Hash { found, expected }) => {
            let text = String::from_utf8(bytes).map_err(words)?;
            Forest::parse(text.replace(&expected, &found).as_bytes())
        }
        other => other,
    };
    let forest = forest.map_err(words)?;
    reached();
    // Includes a value beyond every threshold, and NaN, for which every comparison is false.
    let features = [0.5, -0.5, 1e30, f32::NAN];
    match forest.sum(&features) == forest.sum_at(&forest.positions(&features)) {
        true => Ok(()),
        false => panic!("a forest decides in two ways"),
    }
}

/// Processes the folder of a run as the commands do.
fn run_folder(path: &Path) -> Verdict {
    let folder = path.parent().expect("the file is in a folder");
    let data = RunData::read(folder).map_err(words)?;
    tables(&data.summary);
    let corpus = folder.parent().expect("the run is in a folder");
    let unlike = RunData::read(&corpus.join("unlike")).map_err(words)?;
    for (a, b) in [(&data, &data), (&data, &unlike), (&unlike, &data)] {
        Diff::of(a, b)?.text(["a", "b"], WIDTH);
    }
    let runs = [data.clone(), unlike];
    for what in FigureKind::ALL {
        if let Ok(figure) = figure::of_runs(&runs, what, Seeds::Pooled) {
            draw(&figure);
        }
    }
    slowest_table(&slowest(
        data.flows.rows(),
        data.tables.rows(),
        10,
        "run",
        &data.names,
    ));
    if let Err(error) = paceline_report::render(slice::from_ref(&data)) {
        panic!("there is no page: {error}");
    }
    load_and_run(&folder.join("scenario.toml"))
}

fn draw(figure: &figure::Figure) {
    let style = Preset::Column.style();
    figure.svg(&style);
    figure.pgf(&style);
    figure.csv();
}

fn samples(path: &Path) -> Verdict {
    let folder = path.parent().expect("the file is in a folder");
    let trace = Trace::from_folder(folder).map_err(words)?;
    trace.candidates(0);
    Ok(())
}

fn sweep_folder(path: &Path) -> Verdict {
    let all = path
        .ancestors()
        .find(|folder| folder.join("sweep.json").is_file());
    let folder = all.expect("the file is in the folder of a sweep");
    let data = SweepData::read(folder).map_err(words)?;
    sweep::table(&data);
    for metric in ["mean_slowdown", "p99_slowdown", "goodput_gbps"] {
        if let Ok(figure) = figure::of_sweep(&data, metric, None) {
            draw(&figure);
        }
    }
    let whole = tempfile::tempdir().map_err(words)?;
    sweep::collect(&[folder.to_path_buf()], &whole.path().join("whole"), false, true).map_err(words)?;
    if let Err(error) = paceline_report::render_sweep(&data) {
        panic!("there is no page: {error}");
    }
    Ok(())
}

fn dataset(path: &Path) -> Verdict {
    Dataset::read(path).map(drop).map_err(words)
}

/// Reads a checkpoint with a corrected digest, so that damage passes the check.
fn checkpoint_by_its_hash(path: &Path) -> Verdict {
    let mut bytes = fs::read(path).map_err(words)?;
    if let Some((hash, state)) = bytes
        .get_mut(CHECKPOINT_MAGIC..)
        .and_then(|rest| rest.split_first_chunk_mut::<32>())
    {
        hash.copy_from_slice(&Sha256::digest(&*state));
    }
    fs::write(path, bytes).map_err(words)?;
    let folder = path.parent().and_then(Path::parent);
    corpus::train(folder.expect("the file is in a folder of a folder")).map_err(words)
}

/// Number of bytes before a checkpoint's digest.
const CHECKPOINT_MAGIC: usize = 16;
