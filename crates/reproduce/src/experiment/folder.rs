//! Experiments of users: read from a folder, created from a scenario, checked, recorded.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use paceline_lab::files::{OutFile, OutputError, write_file};
use paceline_scenario::diagnostics::Source;
use paceline_scenario::{Diagnostics, Problem};
use serde::{Deserialize, Serialize};

use super::read;
use super::source::OnDisk;
use crate::count::Counts;
use crate::mutations::{faults, undetected};
use crate::need::{Done, overruled};
use crate::outcomes::Outcomes;
use crate::{Evidence, Reproduction};

/// File that makes a folder an experiment.
pub(super) const FILE: &str = "experiment.toml";
const OUTCOME: &str = "outcome.json";

/// Reads the experiment in a folder, whose name it gets.
///
/// # Errors
/// All problems found in it, with their positions.
pub fn read_folder(folder: &Path) -> Result<Reproduction, Diagnostics> {
    let path = folder.join(FILE);
    let text = paceline_scenario::read_text(&path).map_err(|error| {
        let text = format!("{} is no experiment: {error}", folder.display());
        Problem::new(text).help(format!(
            "`paceline reproduce --new {}` writes one to start from",
            folder.display()
        ))
    })?;
    let source = Source::new(path.display().to_string(), text);
    // `.` and `..` have no file name of their own.
    let whole = folder.canonicalize();
    let name = whole.as_deref().unwrap_or(folder).file_name();
    let id = name.map_or_else(|| "experiment".into(), |name| name.to_string_lossy().into_owned());
    let one = read(&id, &source, &OnDisk(folder))?;
    // Reads the scenarios, too: their mistakes show before the first run.
    for need in crate::Plan::of(one.needs()).needs {
        need.load().map_err(|error| located(error, &source))?;
    }
    Ok(one)
}

/// Moves the problems of a run's scenario to the text in the experiment that causes them, if it can be found.
fn located(error: Diagnostics, source: &Source) -> Diagnostics {
    let of = |problem: &Problem| {
        let written = problem
            .place()
            .map(|location| location.text().trim_matches(['"', '\'']).to_string());
        let written = written.filter(|text| !text.is_empty());
        let found = written.and_then(|text| Some((source.text().find(&text)?, text.len())));
        found.map(|(at, length)| Problem::new(problem.message()).at(&source.at(at..at + length)))
    };
    let problems = error
        .problems()
        .iter()
        .map(|problem| of(problem).unwrap_or_else(|| problem.clone()));
    Diagnostics::of(problems.collect::<Vec<_>>()).unwrap_or(error)
}

/// Result of a check without a run.
#[derive(Debug)]
pub struct Checked {
    /// Summary such as `4 runs; 12 values: 3 published, 2 properties, 7 shown`.
    pub summary: String,
    /// Criteria that cannot fail, or have no reason.
    pub faults: Vec<String>,
    /// Aspects that were not checked, with reasons.
    pub notes: Vec<String>,
}

/// Checks an experiment without running it: each criterion must be able to fail, with the recorded outcome if
/// `folder` has one.
///
/// # Errors
/// If the recorded outcome cannot be read.
pub fn check(one: &Reproduction, folder: Option<&Path>) -> Result<Checked, Diagnostics> {
    let needs = crate::Plan::of(one.needs()).needs;
    let runs = needs.len();
    let inputs: Vec<_> = needs
        .iter()
        .map(crate::RunRequest::load)
        .collect::<Result<_, _>>()?;
    let records = one.records(&Done::default());
    let of = |kind: Evidence| records.iter().filter(|record| record.kind == kind).count();
    let kinds: Vec<String> = (Evidence::ALL.iter())
        .filter(|kind| of(**kind) > 0)
        .map(|kind| format!("{} {}", of(*kind), kind.name()))
        .collect();
    let mut found = Checked {
        summary: format!("{runs} runs, {} values: {}", records.len(), kinds.join(", ")),
        faults: faults(one),
        notes: overruled(&inputs),
    };
    let path = folder
        .map(|folder| folder.join(OUTCOME))
        .filter(|path| path.exists());
    let Some(path) = path else {
        found.notes.push(format!(
            "no {OUTCOME}: whether every criterion can fail shows after `--record`"
        ));
        return Ok(found);
    };
    let text = paceline_scenario::read_text(&path).map_err(|error| Problem::new(error.to_string()))?;
    let recorded: Recorded =
        serde_json::from_str(&text).map_err(|error| Problem::new(format!("{}: {error}", path.display())))?;
    let done = recorded.outcomes.done(one)?;
    let counts = Counts::of(&one.records(&done));
    found.summary.push_str(&format!("; recorded: {}", counts.text()));
    // A criterion that no wrong outcome fails proves nothing, even if it is met.
    let stays = undetected(one, &done, Vec::new()).into_iter();
    found
        .faults
        .extend(stays.map(|tick| format!("{tick} passes whatever is wrong")));
    Ok(found)
}

/// Content of the file `outcome.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Recorded {
    /// Version of the program.
    #[serde(default)]
    version: String,
    #[serde(flatten)]
    outcomes: Outcomes,
}

/// Writes the outcome of an experiment into its folder.
///
/// # Errors
/// If it cannot be written.
pub fn record(one: &Reproduction, done: &Done, folder: &Path) -> Result<(), OutputError> {
    let recorded = Recorded {
        version: crate::identity::version().to_string(),
        outcomes: Outcomes::of(one, done),
    };
    let text = serde_json::to_string_pretty(&recorded).unwrap_or_default();
    write_file(&folder.join(OUTCOME), |out| writeln!(out, "{text}"))
}

/// Returns a commented experiment for a scenario to start from.
pub fn template(scenario: &str, schemes: &[&str]) -> String {
    let cases = schemes
        .iter()
        .map(|scheme| format!("[[case]]\nname = \"{scheme}\"\nscheme = \"{scheme}\"\n\n"));
    let cases: String = cases.collect();
    let [first, second] = match schemes {
        [first, second, ..] => [*first, *second],
        [one] => [*one, *one],
        [] => ["", ""],
    };
    include_str!("template.toml")
        .replace("SCENARIO", scenario)
        .replace("CASES\n", &cases)
        .replace("FIRST", first)
        .replace("SECOND", second)
}

/// Creates an experiment in a new folder: its file, and a copy of the scenario if that is a file.
///
/// # Errors
/// If the folder has an experiment already, the scenario cannot be read, or something cannot be written.
pub fn begin(folder: &Path, scenario: &str, text: &str) -> Result<(), Problem> {
    let new = |path: &Path| {
        OutFile::new(path, false, &[]).map_err(|error| match error {
            OutputError::Exists { path } => Problem::new(format!("{} exists", path.display())),
            error => Problem::new(error.to_string()),
        })
    };
    // Checks both names before it creates the folder, so that a refusal leaves nothing behind.
    let path = new(&folder.join(FILE))?;
    let file = Path::new(scenario);
    let copy = match file.file_name().filter(|_| file.is_file()) {
        // The scenario's file may already be in the right folder.
        Some(name) if !is_same(file, &folder.join(name)) => {
            let bytes =
                paceline_scenario::read_bytes(file).map_err(|error| Problem::new(error.to_string()))?;
            Some((new(&folder.join(name))?, bytes))
        }
        _ => None,
    };
    fs::create_dir_all(folder).map_err(|error| Problem::new(format!("{}: {error}", folder.display())))?;
    // The scenario first: a folder with an experiment always has its scenario.
    let files = copy.iter().map(|(file, bytes)| (file, bytes.as_slice()));
    for (file, bytes) in files.chain([(&path, text.as_bytes())]) {
        file.write(|out| out.write_all(bytes))
            .map_err(|error| Problem::new(error.to_string()))?;
    }
    Ok(())
}

fn is_same(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
