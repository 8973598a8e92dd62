//! Notes on seeds and axes without effect, which would otherwise look like findings, with the reasons.

use paceline_kernel::order::Sort as _;
use paceline_scenario::{Warning, WarningKind};
use serde::Serialize;

use super::{Metric, Plan, Seeds, SweepData, metrics};
use crate::results::Summary;

/// Maximum number of metrics named that differ although no packet does.
const NAMED: usize = 3;

/// Metrics that depend on the expiry of the last timer, and affect nothing else.
const OF_THE_END: [&str; 3] = ["simulated_s", "events", "counters.events"];

/// Subject of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteKind {
    /// Seeds that have no effect.
    Seeds,
    /// Values of an axis without effect.
    Axis,
}

/// Note on an axis or on seeds without effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Seeds or an axis.
    pub kind: NoteKind,
    /// Key of the axis; `None` for seeds.
    pub key: Option<String>,
    /// Points of the grid at which it holds.
    pub points: Vec<usize>,
    /// Text of the note with its reason.
    pub text: String,
}

/// Finds the seeds and axes of a sweep that have no effect.
pub fn notes(data: &SweepData) -> Vec<Note> {
    let all: Vec<Seeds> = (0..data.plan.points.len())
        .map(|point| data.seeds_at(point))
        .collect();
    notes_of(&data.plan, &all, &mut &*data)
}

/// Finds the seeds and axes of a plan that have no effect, by the effect of the seeds of each point and the runs.
pub(super) fn notes_of(data: &Plan, all: &[Seeds], runs: &mut impl Runs) -> Vec<Note> {
    let axes = 0..data.axes.len();
    let mut found = seeds(data, all);
    found.extend(axes.flat_map(|axis| of_axis(data, axis, runs)));
    found
}

/// Digest and metrics of a run.
pub(super) type RunResult = (String, Vec<Metric>);

/// Source of the runs' results.
pub(super) trait Runs {
    /// Returns digest and metrics of each run of a point, in the order of the seeds; `None` if one has not succeeded.
    fn results(&mut self, point: usize) -> Option<Vec<RunResult>>;
    /// Returns what explains equal results, for each run of a point.
    fn briefs(&mut self, point: usize, key: &str) -> Vec<Brief>;
}

impl Runs for &SweepData {
    fn results(&mut self, point: usize) -> Option<Vec<RunResult>> {
        let of = |repeat| {
            let summary = self.row(point, repeat)?.summary.as_ref()?;
            Some((summary.digest.clone(), metrics(summary)))
        };
        (0..self.plan.seeds.len()).map(of).collect()
    }

    fn briefs(&mut self, point: usize, key: &str) -> Vec<Brief> {
        self.summaries(point)
            .map(|(_, summary)| Brief::of(summary, key))
            .collect()
    }
}

/// Facts of a run that explain why an axis has no effect.
#[derive(Clone, Debug)]
pub(super) struct Brief {
    /// Text of a warning that the key has no effect.
    idle: Option<String>,
    /// Packets marked, pause frames, and packets lost.
    counts: [u64; 3],
}

impl Brief {
    /// Takes the facts about `key` from a summary.
    pub(super) fn of(summary: &Summary, key: &str) -> Self {
        Self {
            idle: idle(summary, key),
            counts: [summary.ecn.ce + summary.ecn.ue, summary.pfc.pauses, summary.drops],
        }
    }
}

/// Finds seeds without effect, with a note for each reason.
fn seeds(data: &Plan, all: &[Seeds]) -> Vec<Note> {
    let note = |what: Seeds, because: &str| {
        let points: Vec<usize> = (0..all.len()).filter(|&point| all[point] == what).collect();
        let count = data.seeds.len();
        (!points.is_empty()).then(|| Note {
            kind: NoteKind::Seeds,
            key: None,
            text: match (place(data, &points, None), all.len()) {
                (Some(index), _) => {
                    format!("At {index} the {count} seeds are one run, without an interval: {because}.")
                }
                (None, 1) => format!("The {count} seeds are one run, without an interval: {because}."),
                (None, _) => {
                    format!("The {count} seeds of each point are one run, without an interval: {because}.")
                }
            },
            points,
        })
    };
    [
        note(Seeds::NothingDrawn, "nothing is random here"),
        note(
            Seeds::NothingActs,
            "nothing acts on what is random here, such as which packets are marked",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Agreement of an axis' values at points that differ in nothing else.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Common {
    /// Equal settings: these scenarios do not use the key.
    Runs,
    /// Equal results, since a warning says that the key has no effect.
    Idle(String),
    /// Equal results, with the event whose absence explains it, if known.
    Results(Option<&'static str>),
    /// Equal timing of every packet; these metrics differ.
    Packets(Vec<String>),
}

/// Finds points at which the values of an axis have no effect, with a note for each reason.
fn of_axis(data: &Plan, axis: usize, runs: &mut impl Runs) -> Vec<Note> {
    let axes = &data.axes;
    let values = axes[axis].values.len();
    if values < 2 {
        return Vec::new();
    }
    // The last axis varies fastest, so the points that differ only in this axis are `stride` apart.
    let stride: usize = axes[axis + 1..].iter().map(|other| other.values.len()).product();
    let mut found: Vec<(Common, Vec<usize>)> = Vec::new();
    for first in (0..data.points.len()).filter(|&point| data.points[point].values[axis] == 0) {
        let line: Vec<usize> = (0..values).map(|value| first + value * stride).collect();
        let Some(common) = common(data, &line, &axes[axis].keys(), runs) else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| *known == common) {
            Some((_, points)) => points.extend(line),
            None => found.push((common, line)),
        }
    }
    let note = |(common, mut points): (Common, Vec<usize>)| {
        points.sort_unstable();
        let key = &axes[axis].key;
        let at = place(data, &points, Some(axis)).map_or_else(String::new, |index| format!(" at {index}"));
        let is_of_packets = matches!(common, Common::Packets(_));
        let because = match common {
            Common::Runs => "the scenarios there do not have this key".to_string(),
            Common::Idle(warning) => warning,
            Common::Results(Some(never)) => format!("it is read, but {never}"),
            Common::Results(None) => "it is read, but never decided anything".to_string(),
            Common::Packets(numbers) => format!("only {} differ", numbers.join(", ")),
        };
        Note {
            kind: NoteKind::Axis,
            key: Some(key.clone()),
            text: match is_of_packets {
                true => format!("`{key}` moves no packet{at}: {because}."),
                false => format!(
                    "`{key}` changes nothing{at}: {because}. All {values} values give the same results."
                ),
            },
            points,
        }
    };
    found.into_iter().map(note).collect()
}

/// Returns the agreement of the points of a line, if all their runs behave equally.
fn common(data: &Plan, line: &[usize], keys: &[&str], source: &mut impl Runs) -> Option<Common> {
    let runs = |point: usize| &data.points[point].runs;
    // Equal ids mean equal scenarios. This is checked first because it needs no results.
    if line.iter().all(|&point| runs(point) == runs(line[0])) {
        return Some(Common::Runs);
    }
    // One point after the other: mostly the first two differ, and a line may be long.
    let first = source.results(line[0])?;
    let mut varying: Vec<String> = Vec::new();
    for &point in &line[1..] {
        let other = source.results(point)?;
        for ((digest_a, in_a), (digest_b, in_b)) in first.iter().zip(&other) {
            let changed = in_b.iter().enumerate();
            let changed = changed.filter(|(at, one)| in_a.get(*at) != Some(one) && !in_a.contains(one));
            let mut changed = changed
                .map(|(_, (name, _))| name)
                .filter(|name| !OF_THE_END.contains(&name.as_str()))
                .peekable();
            // Differing metrics with equal digests still mean equal packets; with different digests the axis has an
            // effect.
            if changed.peek().is_some() && digest_a != digest_b {
                return None;
            }
            varying.extend(changed.cloned());
        }
    }
    if !varying.is_empty() {
        varying.order();
        varying.dedup();
        let more = varying.len().saturating_sub(NAMED);
        varying.truncate(NAMED);
        if more > 0 {
            varying.push(format!("{more} more numbers"));
        }
        return Some(Common::Packets(varying));
    }
    // A warning is about one key; of several keys each might have another.
    let briefs: Vec<Brief> = line
        .iter()
        .flat_map(|&point| source.briefs(point, keys.first().copied().unwrap_or_default()))
        .collect();
    // A warning explains it only if all runs have one.
    let warnings: Option<Vec<&String>> = briefs.iter().map(|one| one.idle.as_ref()).collect();
    Some(
        match warnings.and_then(|all| all.first().map(|text| (*text).clone())) {
            Some(warning) if keys.len() == 1 => Common::Idle(warning),
            _ => Common::Results(never(&briefs, keys)),
        },
    )
}

/// Returns the text of a run's warning that the key has no effect.
fn idle(summary: &Summary, key: &str) -> Option<String> {
    let last = key.rsplit('.').next().unwrap_or(key);
    let names = |warning: &&Warning| {
        let kind = matches!(
            warning.id,
            WarningKind::UnusedSetting | WarningKind::UnusedScheme | WarningKind::UnusedVariant
        );
        let quoted = |name: &str| {
            warning.text.contains(&format!("`{name}`")) || warning.text.contains(&format!("`{name} "))
        };
        let of_scheme = key.strip_prefix("cc.").and_then(|rest| rest.split('.').next());
        kind && (quoted(key) || quoted(last) || of_scheme.is_some_and(quoted))
    };
    let found = summary.warnings.iter().find(names)?;
    Some(found.text.trim_end_matches('.').to_string())
}

/// Returns the event that would have made the key matter and that occurred in no run.
fn never(all: &[Brief], keys: &[&str]) -> Option<&'static str> {
    /// Parts of keys, the count in [`Brief::counts`] on which they act, and the sentence.
    const BY_NAME: [(&[&str], usize, &str); 3] = [
        (
            &["ecn", "kmin", "kmax", "pmax"],
            0,
            "no packet is marked in any of these runs",
        ),
        (
            &["pfc", "xoff", "xon", "headroom", "watchdog"],
            1,
            "nothing is paused in any of these runs",
        ),
        (
            &["buffer", "rto", "recovery", "irn", "rud", "go-back"],
            2,
            "no packet is lost in any of these runs",
        ),
    ];
    let named = |names: &[&str]| {
        keys.iter()
            .all(|key| key.split(['.', '-']).any(|part| names.contains(&part)))
    };
    let found = BY_NAME
        .iter()
        .find(|(names, count, _)| named(names) && all.iter().all(|one| one.counts[*count] == 0));
    found.map(|(.., text)| *text)
}

/// Describes points by the values of one axis if that is enough; returns `None` if they are all points. The axis
/// `without` does not count.
fn place(data: &Plan, points: &[usize], without: Option<usize>) -> Option<String> {
    let all = &data.points;
    if points.len() == all.len() {
        return None;
    }
    for (number, axis) in data
        .axes
        .iter()
        .enumerate()
        .filter(|(number, _)| Some(*number) != without)
    {
        let mut values: Vec<usize> = points.iter().map(|&point| all[point].values[number]).collect();
        values.sort_unstable();
        values.dedup();
        let there = all.iter().filter(|point| values.contains(&point.values[number]));
        if there.count() == points.len() {
            let values: Vec<String> = values
                .iter()
                .map(|&value| axis.values[value].to_string())
                .collect();
            return Some(format!("{} = {}", axis.key, values.join(", ")));
        }
    }
    Some(format!("{} of {} points", points.len(), all.len()))
}
