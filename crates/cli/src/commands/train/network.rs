//! Training of a predictor, and of others for comparison.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use paceline_lab::files::Folder;
use paceline_lab::text::percent;
use paceline_learn::dataset::{Dataset, Pair};
use paceline_learn::on_policy::{TESTED, checkpoint, options as on_policy_options};
use paceline_learn::page::{self, COMPARED, Course, Judged, NetworkPage, ON_POLICY};
use paceline_learn::train::{self, Network, Options, Progress, Trained, Weights};
use paceline_learn::{Error, Slot, Snapshot};
use serde_json::Value;

use super::args::NetworkArgs;
use super::data::{self, Data};
use super::session::Session;
use super::{on_policy, record};
use crate::args::SayArgs;
use crate::commands::folder::{write_json, write_page};
use crate::failure::{Done, Ended, Failure};
use crate::progress::{RoundProgress, TrainMeter};
use crate::{interrupt, output, text};

/// A trained predictor, and its weights after each round.
pub(super) struct Fitted {
    pub(super) trained: Trained,
    pub(super) checkpoints: Vec<Weights>,
}

/// Results of training the requested predictor.
struct Made {
    first: Fitted,
    data: Data,
    /// On-policy rounds, if requested.
    own: Option<on_policy::Ended>,
}

/// Collects data, trains and compares predictors, writes the folder and prints the results.
pub(super) fn train(args: &NetworkArgs, network: Network, session: &Session) -> Ended {
    let kept = interrupt::keep();
    let made = match args.on_policy {
        Some(rounds) => on_policy::train(args, network, rounds as usize, session)?.map(Made::of_own_runs),
        None => of_data(args, network, session)?,
    };
    let Some(made) = made else {
        say!("nothing is written: no round was over");
        return Ok(Done::Interrupted);
    };
    let (dataset, own) = (&made.data.dataset, made.own.as_ref());
    let options = &made.first.trained.options;
    let cut_short = made.first.trained.stopped || own.is_some_and(|own| own.missing > 0);
    let mut others = Vec::new();
    for other in compared(args, network) {
        // A comparison of a predictor that learned less than it should would mislead, and Ctrl-C asks for an end.
        if cut_short || others.iter().any(|one: &Fitted| one.trained.stopped) {
            break;
        }
        let options = Options {
            network: other,
            ..options.clone()
        };
        let slot = session.checkpoints.slot(other.name());
        others.extend(fit(dataset, &options, None, slot, session.say)?);
    }
    // Hours of training may be complete, so they are written even if Ctrl-C comes now.
    let _kept = kept.written(!interrupt::asked());
    let test = page::test_pairs(dataset, options);
    let all = std::iter::once(&made.first).chain(&others);
    let judged = all.map(|one| Judged::new(&one.trained, &test));
    let judged: Vec<Judged<'_>> = judged.collect::<Result<_, _>>()?;
    let on_policy = own.map(|own| own.state.report(&own.check)).transpose()?;
    let report = NetworkPage {
        predictors: &judged,
        dataset,
        test: &test,
        traces: &made.data.traces,
        courses: &page::errors_by_course(&judged, &courses(dataset, &test, own))?,
        on_policy: on_policy.as_deref().unwrap_or_default(),
        command: session.whole_command(),
        facts: record::facts(options, dataset),
        warnings: warnings(&judged, own),
    };
    let partial = cut_short || others.iter().any(|one| one.trained.stopped) || interrupt::asked();
    let folder = session.checkpoints.results(&session.folder, session.force)?;
    interrupt::print_place(&session.folder, folder.destination());
    // With the checkpoint, so that the same command resumes.
    if partial {
        session.checkpoints.carry(&folder)?;
    }
    let record = record::training(&report, cut_short);
    write_all(session, &folder, &made, &report, &record)?;
    folder.commit()?;
    show(session, &report, &record)?;
    Ok(if partial { Done::Interrupted } else { Done::All })
}

impl Made {
    fn of_own_runs(mut own: on_policy::Ended) -> Self {
        Self {
            first: own.fitted.take().expect("a round is over"),
            data: own.data.take().expect("a round is over"),
            own: Some(own),
        }
    }
}

/// Trains on data that do not depend on the predictor. Returns `None` if interrupted before the end of the first
/// round.
fn of_data(args: &NetworkArgs, network: Network, session: &Session) -> Result<Option<Made>, Failure> {
    let start = start(args, network)?;
    let Some(data) = data::gather(&args.data, session)? else {
        return Ok(None);
    };
    let mut options = options(args, network, &data.dataset, None, session)?;
    if let Some(start) = &start {
        options.hidden = start.hidden;
    }
    let weights = start.as_ref().map(|start| &start.weights);
    let slot = session.checkpoints.slot(network.name());
    let first = fit(&data.dataset, &options, weights, slot, session.say)?;
    Ok(first.map(|first| Made {
        first,
        data,
        own: None,
    }))
}

/// Groups pairs by course: pairs reserved for tests, and runs that were not used for training.
fn courses(dataset: &Dataset, test: &[Pair], own: Option<&on_policy::Ended>) -> Vec<Course> {
    let mut courses = page::tested_courses(dataset, test);
    let Some(own) = own else {
        return courses;
    };
    let first = page::unseen_courses(own.state.first());
    let known = |one: &Course| courses.iter().any(|course| course.name == one.name);
    let first: Vec<Course> = first.into_iter().filter(|one| !known(one)).collect();
    courses.extend(first);
    courses.extend(page::unseen_courses(own.check.iter().map(|run| &run.trace)));
    courses
}

/// Weights that a training starts from.
struct Start {
    hidden: usize,
    weights: Weights,
}

/// Returns the weights to resume from, if requested.
fn start(args: &NetworkArgs, network: Network) -> Result<Option<Start>, Failure> {
    let Some(path) = &args.resume else {
        return Ok(None);
    };
    let (card, weights) = paceline_learn::read(&model_file(path, network)?)?;
    if card.kind.name() != network.name() {
        return Err(Failure::arguments(format!(
            "--resume: {} is a model of kind {}, and {network} is to be trained",
            path.display(),
            card.kind
        )));
    }
    Ok(Some(Start {
        hidden: card.hidden,
        weights,
    }))
}

/// Returns the model file for `path`, which may be the file, or the folder of a training or checkpoint.
fn model_file(path: &Path, network: Network) -> Result<PathBuf, Failure> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let inside = path.join(format!("{}.safetensors", model_name(network)));
    if inside.is_file() {
        return Ok(inside);
    }
    Err(Failure::arguments(format!(
        "--resume: there is no rtt-{network}.safetensors in {}",
        path.display()
    )))
}

/// Returns the training options for a dataset. `round` is the number of the on-policy round, if any.
pub(super) fn options(
    args: &NetworkArgs,
    network: Network,
    dataset: &Dataset,
    round: Option<usize>,
    session: &Session,
) -> Result<Options, Failure> {
    let mut options = Options {
        seed: session.seed(),
        ..Options::new(network)
    };
    if let Some(rounds) = args.rounds {
        options.rounds = rounds as usize;
    }
    // No two rounds share pairs, so all rounds together use the dataset once.
    let (pairs, rounds) = (dataset.pairs.len(), options.rounds);
    options = on_policy_options(options, round.unwrap_or(0), pairs);
    if let Some(batch) = args.batch {
        options.batch = batch as usize;
    }
    if let Some(rate) = args.learning_rate {
        options.learning_rate = rate;
    }
    if options.test_pairs == 0 {
        return Err(Failure::arguments(format!(
            "{rounds} rounds need {} pairs, as no two of them share any, and there are {pairs}: fewer --rounds, \
             or more data",
            rounds * TESTED
        )));
    }
    Ok(options)
}

/// Lists the networks to compare with: cheap baselines always, all others with `--compare`.
fn compared(args: &NetworkArgs, network: Network) -> impl Iterator<Item = Network> {
    let compare = args.compare;
    let wanted = move |other: &Network| *other != network && (compare || !other.is_recurrent());
    Network::ALL.into_iter().filter(wanted)
}

/// Trains one predictor, from its checkpoint if present. Returns `None` if interrupted before the end of the first
/// round.
pub(super) fn fit(
    dataset: &Dataset,
    options: &Options,
    start: Option<&Weights>,
    slot: Slot<'_>,
    say: SayArgs,
) -> Result<Option<Fitted>, Failure> {
    let mut meter = (options.network.is_recurrent())
        .then(|| TrainMeter::new(options.network.title(), options.rounds, options.pairs(), say));
    let mut checkpoints = Vec::new();
    let mut watch = |now: Progress<'_>| {
        if let Progress::Round(round, weights) = now {
            checkpoints.push(weights.clone());
            if let Some(meter) = &mut meter {
                meter.round(RoundProgress {
                    round: round.number,
                    of: options.rounds,
                    loss: round.loss,
                    train: round.train_mape,
                    test: round.test_mape,
                });
            }
        }
        interrupt::control()
    };
    match train::train_from(dataset, options, start, slot, &mut watch) {
        Ok(trained) => Ok(Some(Fitted { trained, checkpoints })),
        Err(Error::Stopped(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns warnings about the first of `judged`.
fn warnings(judged: &[Judged<'_>], own: Option<&on_policy::Ended>) -> Vec<String> {
    let first = &judged[0];
    let mut found = Vec::new();
    if let Some(own) = own.filter(|own| own.missing > 0) {
        let rounds = own.state.laps().len() - 1;
        found.push(format!(
            "The training was interrupted after {rounds} of {} on-policy rounds.",
            rounds + own.missing
        ));
    }
    if first.trained.stopped {
        found.push(format!(
            "The training was interrupted after {} of {} rounds.",
            first.trained.rounds.len(),
            first.trained.options.rounds
        ));
    }
    // A network that predicts no better than a smaller one is not worth its cost.
    let simple = judged[1..]
        .iter()
        .filter(|one| one.parameters < first.parameters && one.mape <= first.mape);
    for one in simple {
        found.push(format!(
            "{} with {} parameters predicts no worse than {} with {}: a test error of {} against {}.",
            one.name(),
            one.parameters,
            first.name(),
            first.parameters,
            percent(one.mape),
            percent(first.mape)
        ));
    }
    let start = first.rounds()[0].test_mape;
    if first.rounds().len() > 1 && first.trained.last().test_mape >= start {
        found.push(format!(
            "The test error did not fall: {} in the first round, {} in the last.",
            percent(start),
            percent(first.trained.last().test_mape)
        ));
    }
    found
}

/// Writes the files of the folder, which appear together when it is committed.
fn write_all(
    session: &Session,
    folder: &Folder,
    made: &Made,
    report: &NetworkPage<'_>,
    record: &Value,
) -> Result<(), Failure> {
    let Made { first, data, own } = made;
    data.dataset
        .write(&folder.staged(Path::new("dataset.parquet"))?)?;
    let trained = &first.trained;
    let name = model_name(trained.options.network);
    let model = |inside: &Path, trained: &Trained, state: Snapshot<'_>, data: &Dataset| {
        let files = paceline_learn::write(&name, trained, state, data, &session.command)?;
        for (ending, bytes) in [("safetensors", &files.weights), ("json", &files.card)] {
            let file = inside.join(format!("{name}.{ending}"));
            folder.write(&file, |out| out.write_all(bytes))?;
        }
        Ok::<(), Failure>(())
    };
    let dataset = &data.dataset;
    model(Path::new(""), trained, Snapshot::last(trained), dataset)?;
    for (weights, round) in first.checkpoints.iter().zip(1..) {
        let inside = Path::new("checkpoints").join(format!("round-{round:02}"));
        let rounds = &trained.rounds[..round];
        model(&inside, trained, Snapshot { weights, rounds }, dataset)?;
    }
    let laps = own.as_ref().map_or(&[][..], |own| own.state.laps());
    for (number, lap) in laps.iter().enumerate().filter(|(_, lap)| !lap.trained.stopped) {
        let inside = checkpoint(number);
        model(
            Path::new(&inside),
            &lap.trained,
            Snapshot::last(&lap.trained),
            &lap.dataset,
        )?;
    }
    write_json(folder, record)?;
    write_page(folder, &page::network(report)?)
}

/// Returns the name of a predictor's files, without their endings.
fn model_name(network: Network) -> String {
    format!("rtt-{network}")
}

/// Prints the table and suggestions.
fn show(session: &Session, report: &NetworkPage<'_>, record: &Value) -> Result<(), Failure> {
    if session.say.json {
        output::print_json(record)?;
    } else {
        output::print(&table(report))?;
    }
    if session.say.quiet {
        return Ok(());
    }
    output::print_warnings(&report.warnings);
    let folder = session.folder.display();
    say!("results in {folder}, with figures to look at: {folder}/report.html");
    let predictor = report.predictors[0].trained.options.network;
    say!(
        "use it  paceline run incast-20 --scheme lstm-pid --set cc.lstm-pid.predictor={predictor} \
         --set cc.lstm-pid.model={folder}/{}.safetensors",
        model_name(predictor)
    );
    Ok(())
}

/// Returns the loss curves, and a table that compares the predictors.
fn table(report: &NetworkPage<'_>) -> String {
    let first = &report.predictors[0];
    let curve = |name: &str, values: Vec<f64>, shown: fn(f64) -> String| {
        let (start, end) = (shown(values[0]), shown(values[values.len() - 1]));
        vec![
            name.to_string(),
            text::sparkline(&values),
            format!("{start} to {end}"),
        ]
    };
    let of = |get: fn(&train::Round) -> f64| first.rounds().iter().map(get).collect();
    let curves = [
        curve("loss", of(|round| round.loss), |loss| format!("{loss:.4}")),
        curve("train MAPE", of(|round| round.train_mape), percent),
        curve("test MAPE", of(|round| round.test_mape), percent),
    ];
    let mut rows = vec![COMPARED.map(String::from).to_vec()];
    rows.extend(report.predictors.iter().map(page::compared));
    let mut all = format!(
        "{}: {} pairs of {}, {} rounds\n{}\n{}",
        first.name(),
        report.dataset.pairs.len(),
        record::runs(report.dataset),
        first.rounds().len(),
        text::columns(&curves, output::stdout_width()),
        text::table(&rows)
    );
    let head = ["course", "pairs of", "pairs"].map(String::from).into_iter();
    let names = report.predictors.iter().map(|one| one.name().to_string());
    let mut rows = vec![head.chain(names).collect()];
    rows.extend(page::by_course(report.courses));
    all.push_str(&format!("\nerror by course\n{}", text::table(&rows)));
    if !report.on_policy.is_empty() {
        let mut rows = vec![ON_POLICY.map(String::from).to_vec()];
        rows.extend(report.on_policy.iter().map(page::on_policy_row));
        all.push_str(&format!("\non-policy rounds\n{}", text::table(&rows)));
    }
    all
}
