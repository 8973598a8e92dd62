//! From input files to a run: scenarios in TOML, and the inputs of HPCC's ns-3 simulator.
//!
//! [`load`] reads either kind and returns a [`Resolved`] run: a [`paceline_fabric::spec::RunSpec`] with a value for
//! everything, and the equivalent TOML text. Errors are returned as [`Diagnostics`].

pub mod builtin;
mod cc;
mod decisions;
pub mod diagnostics;
mod document;
mod files;
pub mod generate;
pub mod groups;
pub mod guest;
mod htsim;
mod infragraph;
mod left_out;
mod link_tiers;
mod measures;
mod models;
mod names;

mod ns3;
mod open;
mod overrides;
mod resolve;
mod resolved;
mod schema;
pub mod sweep;
pub mod topology;
mod trace;
pub mod traffic;
pub mod vendor;
mod visible;
pub mod warning;
mod whole;

use std::path::{Path, PathBuf};

use paceline_congestion::registry::{Scheme, schemes};

pub use builtin::{demo, scenarios, sections, topologies, workloads};
pub use decisions::{Decision, Decisions, EXTERNAL};
pub use diagnostics::{Diagnostics, Problem};
pub use document::read_toml;
pub use files::{Content, NamedFile, ParquetReader, StoredFiles, stored};
pub use link_tiers::{LinkTiers, multiply_rates};
pub use models::{find_model, is_model_file, read_model};
pub use names::NodeNames;
pub use ns3::format::InputFormat;
pub use overrides::Overrides;
pub use resolve::{Collective, Inference, Job, Local};
pub use resolved::{Memoise, Origin, Resolved};
#[doc(hidden)]
pub use schema::declare;
pub use schema::{EXACT, Fidelity, Formula, NS3_HPCC, SIMAI};
pub use sweep::Grid;
pub use visible::{cell, csv_cell, csv_text, visible};
pub use warning::{Warning, WarningKind};
pub use whole::{open_file, read_bytes, read_text};

use diagnostics::Source;
use document::Point;
use files::Files;
use ns3::changes::Changes;
use open::{Opened, open, shipped};
use resolve::Input;

/// Reads a scenario: the path of a TOML file or `config.txt` (distinguished by content), of a folder with a
/// `scenario.toml` or a `config.txt`, or the name of a built-in scenario.
///
/// # Errors
/// All problems of the input, with their positions.
pub fn load(input: &str, overrides: &Overrides) -> Result<Resolved, Diagnostics> {
    load_with(input, overrides, None)
}

/// Like [`load`], for a program that can read Parquet files.
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
            let files = files.and_stored(&folder)?;
            load_config(&source, &config_name(&path), &files, overrides)
        }
    }
}

/// Returns the grid of a sweep of `input`, as [`load`] takes it: its `[sweep]` table and [`Overrides::over`]. Checks
/// only the grid; [`load`] checks its points.
///
/// # Errors
/// All problems of the grid, with their positions.
pub fn grid(input: &str, overrides: &Overrides) -> Result<Grid, Diagnostics> {
    let point = Point {
        overs: &overrides.over,
        values: &[],
    };
    let settings = overrides.settings();
    let (texts, written) = match open(input, overrides)? {
        Opened::Toml(source, files, _) => {
            let document = document::parse(&source, &settings, point, &files)?;
            (document.texts, document.sweep)
        }
        Opened::Config(..) => point.alone()?,
    };
    written.check_against(&settings, &texts)?;
    Ok(written.grid())
}

/// Returns an input as it is written, without [`Overrides`]: the name of a file from which [`load`] gives the run the
/// same name, and the text.
///
/// # Errors
/// As [`load`], if there is no such input.
pub fn written(input: &str, overrides: &Overrides) -> Result<(String, String), Diagnostics> {
    Ok(match open(input, overrides)? {
        Opened::Toml(source, _, name) => (format!("{name}.toml"), source.text().to_string()),
        Opened::Config(source, path) => (format!("{}.txt", config_name(&path)), source.text().to_string()),
    })
}

/// Reads a built-in scenario, even if there is a file of the same name, which [`load`] would read.
///
/// # Errors
/// If the name is unknown, or an override does not fit.
pub fn load_shipped(name: &str, overrides: &Overrides) -> Result<Resolved, Diagnostics> {
    let shipped = shipped(name)?;
    let source = Source::new(format!("{name}.toml"), shipped.text);
    load_toml(&source, shipped.files(), name, overrides)
}

/// Reads a scenario from a TOML text, which errors call `name`. Relative paths start in the working directory.
///
/// # Errors
/// All problems of the text, with their positions.
pub fn load_text(name: &str, text: &str, overrides: &Overrides) -> Result<Resolved, Diagnostics> {
    load_text_with(name, text, &[], overrides)
}

/// Like [`load_text`], but looks for files in `files` first: path as written in the text, and content.
///
/// # Errors
/// As [`load_text`].
pub fn load_text_with(
    name: &str,
    text: &str,
    files: &[(&str, &str)],
    overrides: &Overrides,
) -> Result<Resolved, Diagnostics> {
    let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
    let texts = files
        .iter()
        .map(|(name, text)| (name.to_string(), text.as_bytes().to_vec()));
    let files = Files::within([PathBuf::new()]).with_memory(texts);
    load_toml(&Source::new(name, text), files, &stem, overrides)
}

/// Reads a `config.txt` of HPCC's ns-3 simulator from a text; `name` becomes the name of the run. Files are looked up
/// in `files` (path as written in the configuration, and text), then in the working directory.
///
/// # Errors
/// All problems of the texts, with their positions.
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
    let mut document = document::parse(source, &overrides.settings(), point, &files)?;
    // A point has no grid: it is one of the scenarios that the grid stands for.
    if overrides.point.is_empty() {
        let grid = document.sweep.grid();
        document.scenario.sweep = (!grid.axes.is_empty()).then_some(grid);
    }
    resolve::resolve(Input {
        scenario: document.scenario,
        texts: document.texts,
        locations: document.locations,
        columns: None,
        files: files.with_models(&overrides.models),
        name: plain_name(name),
        origin: Origin::Toml,
        warnings: document.warnings,
        streams: overrides.streams,
        decided_outside: overrides.decided_outside,
        path_of: overrides.path_of,
        memoise: overrides.memoise,
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
        locations: read.locations,
        columns: Some(read.columns),
        files: files.clone(),
        name: plain_name(name),
        origin: Origin::Ns3Config,
        warnings,
        streams: false,
        decided_outside: overrides.decided_outside,
        path_of: overrides.path_of,
        memoise: overrides.memoise,
    })?;
    if changed.is_empty() {
        return Ok(resolved);
    }
    // Settings name keys of a scenario, so they are applied to the scenario that the configuration resolves to. That
    // text leaves out the number of threads.
    let text = Source::new(format!("{} as a scenario", source.name()), resolved.toml);
    let mut document = document::parse(&text, changed, Point::default(), files)?;
    document.scenario.threads = overrides.threads.or(document.scenario.threads);
    let named = resolved.named;
    let changed = resolve::resolve(Input {
        scenario: document.scenario,
        texts: document.texts,
        locations: document.locations,
        columns: None,
        files: files.clone().with_memory(resolved.files),
        name: resolved.name,
        origin: Origin::Ns3Config,
        warnings: resolved.warnings,
        streams: false,
        decided_outside: overrides.decided_outside,
        path_of: overrides.path_of,
        memoise: overrides.memoise,
    })?;
    // The settings are for the scenario that the configuration becomes, but the files are those of the configuration.
    Ok(Resolved { named, ..changed })
}

/// Replaces the characters of a name that folders cannot have.
fn plain_name(name: &str) -> String {
    let plain = |c: char| {
        if c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+') {
            c
        } else {
            '-'
        }
    };
    // Folders with a leading dot are hidden.
    let name: String = name.trim_start_matches('.').chars().map(plain).collect();
    if name.is_empty() {
        "scenario".to_string()
    } else {
        name
    }
}

/// Names a configuration after its file or, if that is just `config`, after its folder, skipping folders named after
/// a scheme.
fn config_name(path: &Path) -> String {
    let absolute = files::one_path(path);
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
        let mut rests = schemes().filter_map(rest);
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
