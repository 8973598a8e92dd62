//! From input files to a run: scenarios in TOML, and the inputs of HPCC's ns-3 simulator.
//!
//! [`load`] reads either kind and returns a [`Resolved`] run: a [`RunSpec`] in which everything has
//! its value, and the TOML text that says the same. What is wrong comes back as [`Diagnostics`].

pub mod builtin;
mod cc;
pub mod collective;
mod decisions;
pub mod diagnostics;
mod document;
mod files;
pub mod generate;
pub mod groups;
mod htsim;
mod models;

mod ns3;
mod open;
mod resolve;
mod schema;
pub mod sweep;
pub mod topology;
mod trace;
pub mod traffic;
mod visible;
pub mod warning;
mod whole;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use paceline_congestion::learned::ModelRef;
use paceline_congestion::registry::{SCHEMES, Scheme};
use paceline_fabric::spec::RunSpec;
use paceline_kernel::Span;

pub use builtin::{demo, scenarios, sections, topologies, workloads};
pub use decisions::{Decision, Decisions, EXTERNAL};
pub use diagnostics::{Diagnostics, Problem};
pub use document::read_toml;
pub use models::{find_model, is_model_file, read_model};
pub use ns3::format::InputFormat;
pub use resolve::{Collective, Job};
pub use schema::Fidelity;
pub use sweep::Grid;
pub use visible::{csv_cell, csv_text, visible};
pub use warning::{Warning, WarningKind};
pub use whole::{open_file, read_bytes, read_text};

use diagnostics::Source;
use document::{Point, Setting};
use files::Files;
use ns3::config::Changes;
use open::{Opened, open};
use resolve::Input;

/// What the command line changes in a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides {
    /// `path.to.key=value`, with the types and checks of the file; a value that is not TOML is a text.
    pub set: Vec<String>,
    /// `cc.scheme`.
    pub scheme: Option<String>,
    /// `seed`.
    pub seed: Option<u64>,
    /// `duration`.
    pub duration: Option<Span>,
    /// `fidelity`.
    pub fidelity: Option<Fidelity>,
    /// The program that a configuration was written for, where its keys do not tell.
    pub input_format: Option<InputFormat>,
    /// Shuffles simultaneous events with this seed.
    pub shuffle_ties: Option<u64>,
    /// Checks every invariant while running.
    pub check: bool,
    /// `threads`.
    pub threads: Option<NonZeroU32>,
    /// Flows that wait for nothing come as a stream ([`RunSpec::arrivals`]) instead of a list: the run is the same,
    /// and holds those that are under way.
    pub streams: bool,
    /// `path.to.key=v1,v2,..`: axes of a sweep, each instead of that of the `[sweep]` table.
    pub over: Vec<String>,
    /// A point of the sweep's grid: for each of [`Grid::axes`] the number of its value. None: the
    /// scenario without its sweep.
    pub point: Vec<usize>,
    /// The text of a scenario that is at hand: it is not looked for, and the input is only what errors call it. Files
    /// that it names are looked for in the working directory.
    pub text: Option<String>,
    /// Whoever runs it decides for flows under [`EXTERNAL`]: decisions that the scenario names are not read.
    pub decided_outside: bool,
    /// Models that are at hand, by the paths by which the scenario may name them: those are not read.
    pub models: Vec<ModelRef>,
}

/// What kind of input a run came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A scenario in TOML.
    Toml,
    /// A `config.txt` of HPCC's ns-3 simulator.
    Ns3Config,
}

/// A run, ready to be built.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The scenario's name, fit for a folder.
    pub name: String,
    /// What the scenario says of itself.
    pub description: String,
    /// The scheme of `[cc]`, as it was named.
    pub scheme: String,
    /// The names of [`RunSpec::schemes`], the first the same as `scheme`.
    pub schemes: Vec<String>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Whose behaviour the run has.
    pub fidelity: Fidelity,
    /// Threads that it may have. Results do not depend on it, so it is neither in `run` nor in `toml`.
    pub threads: usize,
    /// The run, shared with whoever runs it.
    pub run: Arc<RunSpec>,
    /// Which flows make up which collective.
    pub collectives: Vec<Collective>,
    /// Training jobs.
    pub jobs: Vec<Job>,
    /// The same as a scenario, every parameter with its value: [`load`] gives an equal run.
    pub toml: String,
    /// Files that `toml` refers to, to be written alongside it: name (a relative path) and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// What is decided for flows under [`EXTERNAL`], where that is known before the run.
    pub decisions: Option<Arc<Decisions>>,
    /// What looks wrong and may be meant, in the order in which it was found.
    pub warnings: Vec<Warning>,
    /// What kind of input this was.
    pub origin: Origin,
    /// The program whose configuration this is, or is made of.
    pub input_format: Option<InputFormat>,
    /// Whether traced packets are to be written as a capture file.
    pub pcap: bool,
    /// Sets of measures that are computed when the run ends.
    pub measures: Vec<String>,
    /// What a sweep of it varies, if it says so.
    pub sweep: Option<Grid>,
}

impl Resolved {
    /// Of a configuration: whose it was taken for, in a sentence.
    pub fn read_as(&self) -> Option<String> {
        let format = self.input_format.filter(|_| self.origin == Origin::Ns3Config)?;
        Some(format!(
            "{} is read as an input of {} (input-format {format})",
            self.name,
            format.program()
        ))
    }

    /// The run, to be changed: a copy of its own if it is shared.
    pub fn run_mut(&mut self) -> &mut RunSpec {
        Arc::make_mut(&mut self.run)
    }

    /// The same run with what was decided in it, which its folder then has.
    pub fn decided(mut self, decisions: Decisions) -> Self {
        let taken = |name: &String| self.files.iter().any(|(known, _)| known == name);
        let mut names = (1..).map(|i| match i {
            1 => "decisions.csv".to_string(),
            i => format!("decisions-{i}.csv"),
        });
        let name = names.find(|name| !taken(name)).unwrap_or_default();
        // Behind the comment, which is the first line.
        let start = self.toml.find('\n').map_or(0, |end| end + 1);
        self.toml.insert_str(start, &format!("decisions = \"{name}\"\n"));
        self.files.push((name, decisions.text().into_bytes()));
        self.decisions = Some(Arc::new(decisions));
        self
    }
}

/// Reads a scenario: the path of a TOML file or `config.txt` (told apart by content), of a folder
/// with a `scenario.toml` or a `config.txt`, or the name of a scenario that ships.
///
/// # Errors
/// Everything that is wrong with the input, with its place.
pub fn load(input: &str, overrides: &Overrides) -> Result<Resolved, Diagnostics> {
    load_with(input, overrides, None)
}

/// Gives the content of a Parquet file as CSV text, or says why not.
pub type ParquetReader = fn(&Path) -> Result<String, String>;

/// The same as [`load`] for a program that can read Parquet files.
///
/// # Errors
/// As [`load`].
pub fn load_with(
    input: &str,
    overrides: &Overrides,
    parquet: Option<ParquetReader>,
) -> Result<Resolved, Diagnostics> {
    match open(input, overrides)? {
        Opened::Toml(source, files, name) => {
            if let Some(format) = overrides.input_format {
                let message =
                    format!("--input-format {format} is for configurations: `{input}` is a scenario");
                return Err(Problem::new(message).into());
            }
            load_toml(&source, files.with_parquet(parquet), &name, overrides)
        }
        Opened::Config(source, path) => {
            let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
            let files = Files::within([PathBuf::new(), folder.clone()]).and_above(&folder);
            load_config(&source, &config_name(&path), &files, overrides)
        }
    }
}

/// The grid of a sweep of `input`, as [`load`] takes it: its `[sweep]` table and
/// [`Overrides::over`]. Checks the grid by itself, not its points: those are for [`load`].
///
/// # Errors
/// Everything that is wrong with the grid, with its place.
pub fn grid(input: &str, overrides: &Overrides) -> Result<Grid, Diagnostics> {
    let point = Point {
        overs: &overrides.over,
        values: &[],
    };
    let settings = overrides.settings();
    let (texts, written) = match open(input, overrides)? {
        Opened::Toml(source, ..) => {
            let document = document::parse(&source, &settings, point)?;
            (document.texts, document.sweep)
        }
        Opened::Config(..) => point.alone()?,
    };
    written.check_against(&settings, &texts)?;
    Ok(written.grid())
}

/// Reads a scenario that ships; [`load`] would take a file of the same name.
///
/// # Errors
/// If there is none of this name, or an override does not fit it.
pub fn load_shipped(name: &str, overrides: &Overrides) -> Result<Resolved, Diagnostics> {
    let shipped = shipped(name)?;
    let source = Source::new(format!("{name}.toml"), shipped.text);
    load_toml(&source, shipped.files(), name, overrides)
}

impl builtin::Shipped {
    /// Where its files are: the texts that ship with it, then the working directory.
    fn files(&self) -> Files {
        let texts = self.files.iter();
        let texts = texts.map(|&(path, text)| (path.to_string(), text.to_string().into_bytes()));
        Files::within([PathBuf::new()]).with_memory(texts)
    }
}

fn shipped(name: &str) -> Result<&'static builtin::Shipped, Problem> {
    let names = || builtin::scenarios().iter().map(|shipped| shipped.name);
    let found = builtin::scenarios().iter().find(|shipped| shipped.name == name);
    found.ok_or_else(|| {
        let problem = Problem::new(format!("`{name}` is neither a file nor a built-in scenario"));
        problem.help(format!(
            "{} `paceline list scenarios` has all {}",
            diagnostics::among_many(name, names()),
            names().count()
        ))
    })
}

/// Reads a scenario from a TOML text; `name` is what errors call it. Files that it names are looked
/// for in the working directory.
///
/// # Errors
/// Everything that is wrong with the text, with its place.
pub fn load_text(name: &str, text: &str, overrides: &Overrides) -> Result<Resolved, Diagnostics> {
    let stem = name.strip_suffix(".toml").unwrap_or(name);
    load_toml(
        &Source::new(name, text),
        Files::within([PathBuf::new()]),
        stem,
        overrides,
    )
}

/// Reads a `config.txt` of HPCC's ns-3 simulator from a text; `name` is what the run is called.
/// Files that it names are looked for in `files` (path as it stands in the configuration, and
/// text), then in the working directory.
///
/// # Errors
/// Everything that is wrong with the texts, with its place.
pub fn load_config_text(
    name: &str,
    text: &str,
    files: &[(String, String)],
    overrides: &Overrides,
) -> Result<Resolved, Diagnostics> {
    let source = Source::new(format!("{name}/config.txt"), text);
    let texts = files
        .iter()
        .map(|(name, text)| (name.clone(), text.clone().into_bytes()));
    let files = Files::within([PathBuf::new()]).with_memory(texts);
    load_config(&source, name, &files, overrides)
}

fn load_toml(
    source: &Source,
    files: Files,
    name: &str,
    overrides: &Overrides,
) -> Result<Resolved, Diagnostics> {
    let point = Point {
        overs: &overrides.over,
        values: &overrides.point,
    };
    let mut document = document::parse(source, &overrides.settings(), point)?;
    let grid = document.sweep.grid();
    document.scenario.sweep = (!grid.axes.is_empty()).then_some(grid);
    resolve::resolve(Input {
        scenario: document.scenario,
        texts: document.texts,
        parameters: document.parameters,
        columns: None,
        files: files.with_models(&overrides.models),
        name: plain_name(name),
        origin: Origin::Toml,
        warnings: document.warnings,
        streams: overrides.streams,
        decided_outside: overrides.decided_outside,
    })
}

fn load_config(
    source: &Source,
    name: &str,
    files: &Files,
    overrides: &Overrides,
) -> Result<Resolved, Diagnostics> {
    let (overrides, changed) = &overrides.with_own_settings()?;
    let files = &files.clone().with_models(&overrides.models);
    let changes = Changes {
        scheme: overrides.scheme.as_deref(),
        fidelity: overrides.fidelity,
        format: overrides.input_format,
    };
    let mut warnings = Vec::new();
    let read = ns3::config::scenario(source, files, changes, &mut warnings)?;
    let mut scenario = read.scenario;
    scenario.seed = overrides.seed.or(scenario.seed);
    scenario.shuffle_ties = overrides.shuffle_ties;
    scenario.check = overrides.check.then_some(true);
    scenario.threads = overrides.threads;
    if let Some(duration) = overrides.duration {
        scenario.duration = Some(toml::Spanned::new(0..0, duration));
    }
    let resolved = resolve::resolve(Input {
        scenario,
        texts: document::Texts::of(source.clone()),
        parameters: read.places,
        columns: Some(read.columns),
        files: files.clone(),
        name: plain_name(name),
        origin: Origin::Ns3Config,
        warnings,
        streams: false,
        decided_outside: overrides.decided_outside,
    })?;
    if changed.is_empty() {
        return Ok(resolved);
    }
    // Settings speak of a scenario: they change the one that the configuration amounts to. It does not
    // tell threads.
    let text = Source::new(format!("{} as a scenario", source.name()), resolved.toml);
    let mut document = document::parse(&text, changed, Point::default())?;
    document.scenario.threads = overrides.threads.or(document.scenario.threads);
    resolve::resolve(Input {
        scenario: document.scenario,
        texts: document.texts,
        parameters: document.parameters,
        columns: None,
        files: files.clone().with_memory(resolved.files),
        name: resolved.name,
        origin: Origin::Ns3Config,
        warnings: resolved.warnings,
        streams: false,
        decided_outside: overrides.decided_outside,
    })
}

impl Overrides {
    /// With `--set fidelity=`, `--set input-format=` and `--set cc.scheme=` (or a sweep's) as the options that they are:
    /// an ns-3 configuration reads differently with them. And the other settings.
    fn with_own_settings(&self) -> Result<(Self, Vec<Setting>), Problem> {
        let point = Point {
            overs: &self.over,
            values: &self.point,
        };
        let (_, written) = point.alone()?;
        let chosen = written
            .axes
            .iter()
            .zip(&self.point)
            .map(|(axis, &value)| Setting {
                option: "--over",
                text: format!("{}={}", axis.key(), axis.values[value].0),
            });
        let mut own = self.clone();
        let mut others = Vec::new();
        for setting in settings(&self.set).into_iter().chain(chosen) {
            let (key, value) = setting.text.split_once('=').unwrap_or((&setting.text, ""));
            let value = value.trim().trim_matches(['"', '\'']).to_string();
            let swept = setting.option == "--over";
            match key.trim() {
                "fidelity" if own.fidelity.is_none() || swept => {
                    own.fidelity = Some(value.parse().map_err(Problem::new)?);
                }
                "input-format" if own.input_format.is_none() => {
                    own.input_format = Some(value.parse().map_err(Problem::new)?);
                }
                "cc.scheme" if own.scheme.is_none() || swept => own.scheme = Some(value),
                _ => others.push(setting),
            }
        }
        Ok((own, others))
    }

    /// Everything as settings of a TOML scenario.
    fn settings(&self) -> Vec<Setting> {
        let mut all = settings(&self.set);
        let mut add = |option, text: Option<String>| all.extend(text.map(|text| Setting { option, text }));
        add(
            "--scheme",
            self.scheme.as_ref().map(|scheme| format!("cc.scheme={scheme:?}")),
        );
        add("--seed", self.seed.map(|seed| format!("seed={seed}")));
        add(
            "--duration",
            self.duration.map(|duration| format!("duration=\"{duration}\"")),
        );
        add(
            "--fidelity",
            self.fidelity
                .map(|fidelity| format!("fidelity=\"{}\"", fidelity.name())),
        );
        add(
            "--shuffle-ties",
            self.shuffle_ties.map(|seed| format!("shuffle-ties={seed}")),
        );
        add("--check", self.check.then(|| "check=true".to_string()));
        add(
            "--threads",
            self.threads.map(|threads| format!("threads={threads}")),
        );
        all
    }
}

fn settings(set: &[String]) -> Vec<Setting> {
    let setting = |text: &String| Setting {
        option: "--set",
        text: text.clone(),
    };
    set.iter().map(setting).collect()
}

/// A name without what folders cannot have.
fn plain_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+') {
            c
        } else {
            '-'
        }
    };
    let name: String = name.trim_start_matches('.').chars().map(plain).collect();
    if name.is_empty() {
        "scenario".to_string()
    } else {
        name
    }
}

/// A configuration is called after its file, or if that is just `config`, after its folder; a
/// folder that is called after a scheme does not count.
fn config_name(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let stem = absolute
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let folders = absolute.ancestors().skip(1);
    let folders = folders.filter_map(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()));
    let is_scheme = |name: &str| {
        let name = name.replace(['-', '_'], "");
        let rest = |scheme: &Scheme| {
            name.strip_prefix(&scheme.name.replace('-', ""))
                .map(str::to_string)
        };
        let mut rests = SCHEMES.iter().filter_map(rest);
        rests.any(|rest| ["", "win", "vwin"].contains(&rest.as_str()))
    };
    match stem {
        Some(stem) if stem != "config" => stem,
        stem => folders
            .take(2)
            .find(|name| !is_scheme(name))
            .or(stem)
            .unwrap_or_default(),
    }
}
