//! Training data: newly recorded runs, existing runs, or a dataset.

use std::fs;
use std::path::{Path, PathBuf};

use paceline_kernel::order::Sort as _;
use paceline_learn::dataset::{self, Dataset, EDGES, STRATA, Source, THESIS_PAIRS, Trace};
use paceline_scenario::Resolved;

use super::args::DataArgs;
use super::session::Session;
use crate::failure::Failure;
use crate::progress::Meter;
use crate::{input, interrupt};

/// Number of consecutive samples of a flow in a pair: three features, and the value to predict.
const WINDOW: usize = 4;

/// Pairs, and the runs that they come from, if available.
pub(super) struct Data {
    pub(super) dataset: Dataset,
    pub(super) traces: Vec<Trace>,
}

/// Collects the data that the arguments ask for. Returns `None` if interrupted.
pub(super) fn gather(args: &DataArgs, session: &Session) -> Result<Option<Data>, Failure> {
    if let Some(path) = dataset_file(&args.data)? {
        if args.pairs.is_some() {
            return Err(Failure::arguments(
                "--pairs is about drawing from runs, and a dataset.parquet is drawn already: leave it out, \
                 or record the runs again",
            ));
        }
        let dataset = Dataset::read(&path)?;
        if let Some(version) = dataset.of_other_code() {
            say!(
                "warning: {} was recorded by {version}, this is {}: under this code its runs may be different ones",
                path.display(),
                paceline_lab::version()
            );
        }
        return Ok(Some(Data {
            dataset,
            traces: Vec::new(),
        }));
    }
    let traces = if args.data.is_empty() {
        match record(args, session)? {
            Some(traces) => traces,
            None => return Ok(None),
        }
    } else {
        let folders = run_folders(&args.data)?;
        let traces = folders.iter().map(|folder| Trace::from_folder(folder));
        traces.collect::<Result<_, _>>()?
    };
    check(&traces)?;
    let dataset = Dataset::draw(&traces, args.pairs.unwrap_or(THESIS_PAIRS), session.seed())?;
    Ok(Some(Data { dataset, traces }))
}

/// Returns the dataset among `paths`, if any. A dataset is complete and cannot be combined.
fn dataset_file(paths: &[PathBuf]) -> Result<Option<PathBuf>, Failure> {
    let dataset_in = |path: &PathBuf| match path.is_dir() {
        true => Some(path.join("dataset.parquet")).filter(|file| file.is_file()),
        false => Some(path.clone()),
    };
    let found: Vec<PathBuf> = paths.iter().filter_map(dataset_in).collect();
    match (&found[..], paths.len()) {
        ([], _) => Ok(None),
        ([one], 1) => Ok(Some(one.clone())),
        ([one, ..], _) => Err(Failure::arguments(format!(
            "--data: {} is a dataset, whose pairs are drawn already, and cannot be put together with others: \
             give it alone, or the folders of the runs",
            one.display()
        ))),
    }
}

/// Lists the folders of runs in `paths`: the paths themselves, or runs inside them.
fn run_folders(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let is_run = |path: &Path| path.join("summary.json").is_file();
    let mut folders = Vec::new();
    for path in paths {
        if is_run(path) {
            folders.push(path.clone());
            continue;
        }
        let cannot = |error| Failure::arguments(format!("--data: cannot read {}: {error}", path.display()));
        let entries = fs::read_dir(path).map_err(cannot)?;
        let entries: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
        let mut inside: Vec<PathBuf> = entries.map_err(cannot)?;
        inside.retain(|path| is_run(path));
        if inside.is_empty() {
            return Err(Failure::arguments(format!(
                "--data: {} is neither a dataset nor the folder of a run (there is no summary.json in it)",
                path.display()
            )));
        }
        // A folder lists its entries in any order, on which the drawn pairs would depend.
        inside.order();
        folders.append(&mut inside);
    }
    Ok(folders)
}

/// Lists the runs to record.
fn sources(args: &DataArgs, session: &Session) -> Result<Vec<Source>, Failure> {
    if args.scenarios.is_empty() {
        return Ok(Source::thesis());
    }
    let schemes: Vec<Option<String>> = match args.schemes.is_empty() {
        true => vec![None],
        false => {
            let names = input::schemes(&args.schemes)?;
            names.into_iter().map(|name| Some(name.to_string())).collect()
        }
    };
    let source = |scenario: &String, scheme: &Option<String>| Source {
        scenario: scenario.clone(),
        scheme: scheme.clone(),
        settings: args.set.clone(),
        seed: session.chosen_seed,
        fidelity: None,
        order: None,
        model: None,
    };
    let scenarios = args.scenarios.iter();
    Ok(scenarios
        .flat_map(|scenario| schemes.iter().map(move |scheme| source(scenario, scheme)))
        .collect())
}

/// Records the runs. Returns `None` if interrupted.
pub(super) fn record(args: &DataArgs, session: &Session) -> Result<Option<Vec<Trace>>, Failure> {
    let sources = sources(args, session)?;
    let inputs: Vec<Resolved> = sources.iter().map(Source::load).collect::<Result<_, _>>()?;
    let meter = Meter::new(&inputs, session.say);
    let traces = dataset::record(&sources, session.threads, &|run, now| {
        meter.update(run, now);
        interrupt::control()
    });
    drop(meter);
    match traces {
        Err(paceline_learn::Error::Stopped(_)) => Ok(None),
        traces => Ok(Some(traces?)),
    }
}

/// Rejects runs with too few or too uniform samples.
pub(super) fn check(traces: &[Trace]) -> Result<(), Failure> {
    for trace in traces {
        let longest = trace.flows.iter().map(|flow| flow.samples.len()).max();
        if longest.unwrap_or(0) < WINDOW {
            return Err(Failure::arguments(format!(
                "`{}` under `{}` has no round-trip times to learn from: {WINDOW} samples of a flow make a pair, \
                 one a round trip, and the longest flow has {}; its flows have to be larger",
                trace.origin.scenario,
                trace.origin.scheme,
                longest.unwrap_or(0)
            )));
        }
    }
    let mut strata = [0usize; STRATA];
    for pair in traces.iter().flat_map(|trace| trace.candidates(0)) {
        strata[usize::from(pair.stratum)] += 1;
    }
    let Some(empty) = strata.iter().position(|&pairs| pairs == 0) else {
        return Ok(());
    };
    let range = match empty {
        0 => format!("below {}", EDGES[0]),
        i if i < EDGES.len() => format!("from {} to {}", EDGES[i - 1], EDGES[i]),
        i => format!("of {} and more", EDGES[i - 1]),
    };
    Err(Failure::arguments(format!(
        "of {} pairs none has a |K| {range}: these runs are too even to learn from (there are {} pairs in the \
         four strata); add runs of other traffic, or under a scheme that lets round-trip times move, such as \
         timely",
        strata.iter().sum::<usize>(),
        strata.map(|pairs| pairs.to_string()).join(", ")
    )))
}
