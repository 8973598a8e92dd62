//! Mutation tests of criteria: each must be able to fail.
//!
//! Two questions. For a criterion alone: does it reject twice or half of the wanted value, and a missing one
//! ([`faults`])? For a reproduction with an outcome: is there, for each met criterion, a wrong outcome under which it
//! fails ([`undetected`])? A criterion that is met in any case judges nothing.

use paceline_kernel::sorted::SortedMap;
use serde_json::Value;

use super::criterion::{Cell, Evidence, Source, Tolerance};
use super::need::{Done, Metrics};
use super::{Panel, Record, Reproduction};
use paceline_lab::results::{RunStatus, Summary};

/// Describes the faults of a reproduction's criteria that need no outcome.
pub fn faults(reproduction: &Reproduction) -> Vec<String> {
    let panels = reproduction.panels(&Done::default());
    let mut faults = Vec::new();
    for panel in &panels {
        for (row, cells) in panel.rows.iter().zip(&panel.cells) {
            for (column, cell) in panel.columns.iter().zip(cells) {
                if let Some(fault) = fault(cell, row.decimals) {
                    let name = row.name();
                    faults.push(format!("{}, {}, {name}: {fault}", reproduction.id, column.name));
                }
            }
        }
    }
    faults
}

/// Returns the fault of a criterion, if it has one.
fn fault(cell: &Cell, decimals: usize) -> Option<String> {
    let criterion = &cell.criterion;
    let tolerance = criterion.tolerance;
    if criterion.kind == Evidence::Shown {
        return None;
    }
    if tolerance != Tolerance::Exact && criterion.because.is_empty() {
        return Some(format!("{} has no reason", tolerance.text()));
    }
    if criterion.source == Source::Us && cell.paper.is_some() {
        return Some("a published value stands beside a bound of ours".to_string());
    }
    let right = match tolerance {
        Tolerance::AtMost(most) => most,
        Tolerance::AtLeast(least) => least,
        Tolerance::Between(least, most) => 0.5 * (least + most),
        _ => match cell.paper {
            Some(paper) => paper,
            None => return Some("there is nothing to be close to".to_string()),
        },
    };
    let verdict = |ours: f64| {
        let mut cell = cell.clone();
        cell.ours = Some(ours);
        cell.verdict(decimals)
    };
    if verdict(right) != Some(true) {
        return Some(format!("{right} is refused"));
    }
    if right == 0.0 {
        // Zero has no multiple, so the value is moved by a fixed amount.
        let far = match tolerance {
            Tolerance::Between(_, most) => 2.0 * most,
            _ => 1.0,
        };
        let passes = [far, -far].map(|ours| verdict(ours) == Some(true));
        return (passes == [true; 2]).then(|| format!("{far} passes for 0"));
    }
    // A bound refuses one side only, and the multiples of a negative bound lie on its other side.
    let wrong: &[f64] = match tolerance {
        Tolerance::AtMost(most) if most > 0.0 => &[2.0],
        Tolerance::AtMost(_) => &[0.5, 0.0],
        Tolerance::AtLeast(least) if least > 0.0 => &[0.5, 0.0],
        Tolerance::AtLeast(_) => &[2.0],
        _ => &[2.0, 0.5, 0.0],
    };
    let passes = wrong
        .iter()
        .find(|&&factor| verdict(factor * right) != Some(false));
    passes.map(|factor| format!("{factor} times {right} passes"))
}

/// Returns true if an outcome fits this version: a value of it is judged, or shown if nothing is judged.
pub fn is_of(reproduction: &Reproduction, done: &Done) -> bool {
    let records = reproduction.records(done);
    let judges = records.iter().any(|record| record.kind != Evidence::Shown);
    let has = |record: &Record| match judges {
        true => record.ok.is_some(),
        false => !record.ours.is_null(),
    };
    records.iter().any(has)
}

/// Modification that makes an outcome wrong.
pub type Mutation = Box<dyn Fn(&mut Done)>;

/// Returns the met criteria of a reproduction that no modification of its outcome fails: every number of every group
/// of similar runs is doubled, halved and removed, any two groups are swapped, and the changes in `own` are applied.
/// Lists values and orderings, as `column, row: metric`.
pub fn undetected(reproduction: &Reproduction, done: &Done, own: Vec<Mutation>) -> Vec<String> {
    let mut left: SortedMap<(usize, usize, usize), String> = SortedMap::new();
    for (index, panel) in reproduction.panels(done).iter().enumerate() {
        let records = panel.records(&reproduction.id);
        let ticks = places(panel).into_iter().zip(&records);
        let ticks = ticks.filter(|(_, record)| record.ok == Some(true));
        left.extend(ticks.map(|((row, column), record)| ((index, row, column), name(record))));
    }
    for wrong in own.into_iter().chain(wrongs(done)) {
        if left.is_empty() {
            break;
        }
        let mut changed = done.clone();
        wrong(&mut changed);
        // Other rows are unchanged, or need no further test.
        let rows = left.keys().map(|&(panel, row, _)| (panel, row)).collect();
        for (index, panel) in reproduction.rows(&changed, &rows) {
            let records = panel.records(&reproduction.id);
            for ((row, column), record) in places(&panel).into_iter().zip(records) {
                if record.ok == Some(false) && rows.contains(&(index, row)) {
                    left.remove(&(index, row, column));
                }
            }
        }
    }
    left.into_values().collect()
}

/// Returns row and column of each of a panel's records; an ordering comes after the columns.
fn places(panel: &Panel) -> Vec<(usize, usize)> {
    let ordered = |row: usize| panel.has_ordering(row);
    let columns = |row: usize| 0..panel.columns.len() + usize::from(ordered(row));
    let rows = 0..panel.rows.len();
    rows.flat_map(|row| columns(row).map(move |column| (row, column)))
        .collect()
}

/// Returns the criteria that are met although a run's flows had not finished.
pub fn ticks_of_unfinished(reproduction: &Reproduction, done: &Done) -> Vec<String> {
    let mut changed = done.clone();
    for run in &mut changed.runs {
        run.status = Some(RunStatus::Partial);
    }
    changed.steps.clear();
    let records = reproduction.records(&changed);
    records
        .iter()
        .filter(|record| record.ok == Some(true))
        .map(name)
        .collect()
}

fn name(record: &Record) -> String {
    format!("{}: {} ({})", record.case, record.metric, record.tolerance)
}

/// Groups runs that differ only in a number, such as a seed, an order or a pattern; or, if `of_a_case`, only in the
/// seed. Groups are in the order of their first run.
fn groups(done: &Done, of_a_case: bool) -> Vec<Vec<usize>> {
    let key = |index: usize| {
        let need = &done.runs[index].need;
        let counts = |c: &char| of_a_case || !c.is_ascii_digit();
        let variant: String = need.variant.chars().filter(counts).collect();
        (
            need.name().split('-').next().map(str::to_string),
            need.scheme.clone(),
            need.fidelity.name(),
            variant,
        )
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for index in 0..done.runs.len() {
        match groups.iter_mut().find(|group| key(group[0]) == key(index)) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Number of parts in which a step's list is modified.
const PARTS: usize = 16;

/// Factors that numbers are multiplied by.
const FACTORS: [f64; 3] = [2.0, 0.5, 0.0];

/// Returns the modifications of an outcome.
fn wrongs(done: &Done) -> Vec<Mutation> {
    let mut groups = groups(done, false);
    groups.extend(self::groups(done, true));
    let mut wrongs: Vec<Mutation> = Vec::new();
    for group in &groups {
        let names = names(done.runs[group[0]].numbers.as_ref());
        for only in std::iter::once(None).chain(names.into_iter().map(Some)) {
            for factor in FACTORS {
                let (group, only) = (group.clone(), only.clone());
                wrongs.push(Box::new(move |done| {
                    for &index in &group {
                        scale_run(done, index, only.as_deref(), factor);
                    }
                }));
            }
        }
    }
    for (&step, numbers) in &done.steps {
        for only in names(Some(numbers)) {
            for factor in FACTORS {
                let only = only.clone();
                wrongs.push(Box::new(move |done| {
                    if let Some(numbers) = done.steps.get_mut(step) {
                        scale(numbers, Some(&only), factor);
                    }
                }));
            }
        }
    }
    // A list of a step may hold several runs, so parts of it are modified.
    for (&step, numbers) in &done.steps {
        for (list, points) in &numbers.series {
            let part = points.len().div_ceil(PARTS).max(1);
            for (first, factor) in (0..points.len())
                .step_by(part)
                .flat_map(|first| [(first, 1e6), (first, 1e-6)])
            {
                let list = list.clone();
                wrongs.push(Box::new(move |done| {
                    let numbers = done.steps.get_mut(step);
                    let points = numbers.and_then(|numbers| numbers.series.get_mut(&list));
                    let wrong = points.into_iter().flatten().skip(first).take(part);
                    wrong
                        .for_each(|(_, value)| *value = if *value == 0.0 { factor } else { *value * factor });
                }));
            }
        }
    }
    for (first, a) in groups.iter().enumerate() {
        for b in &groups[first + 1..] {
            let pairs: Vec<(usize, usize)> = a.iter().copied().zip(b.iter().copied()).collect();
            wrongs.push(Box::new(move |done| {
                pairs.iter().for_each(|&(a, b)| exchange(done, a, b))
            }));
        }
    }
    wrongs
}

fn names(numbers: Option<&Metrics>) -> Vec<String> {
    let all = numbers.map(|numbers| numbers.values.keys().chain(numbers.series.keys()).cloned());
    all.into_iter().flatten().collect()
}

/// Multiplies the numbers with a name, or all of them. A 0, such as of drops or unfinished flows, becomes the factor.
fn scale(numbers: &mut Metrics, only: Option<&str>, factor: f64) {
    let is_meant = |name: &str| only.is_none_or(|only| only == name);
    let change = |value: &mut f64| match *value {
        0.0 => *value = factor,
        _ => *value *= factor,
    };
    let values = numbers.values.iter_mut().filter(|(name, _)| is_meant(name));
    values.for_each(|(_, value)| change(value));
    let lists = numbers.series.iter_mut().filter(|(name, _)| is_meant(name));
    lists
        .flat_map(|(_, list)| list)
        .for_each(|(_, value)| change(value));
}

fn scale_run(done: &mut Done, index: usize, only: Option<&str>, factor: f64) {
    let run = &mut done.runs[index];
    if let Some(numbers) = &mut run.numbers {
        scale(numbers, only, factor);
    }
    if let Some(summary) = &mut run.summary {
        *summary = scaled(summary, factor);
    }
}

/// Returns a summary with every number multiplied.
pub(crate) fn scaled(summary: &Summary, factor: f64) -> Summary {
    fn multiply(value: &mut Value, factor: f64) {
        match value {
            Value::Number(number) if number.is_f64() => {
                *value = Value::from(number.as_f64().unwrap_or_default() * factor);
            }
            Value::Array(all) => all.iter_mut().for_each(|value| multiply(value, factor)),
            Value::Object(all) => all.values_mut().for_each(|value| multiply(value, factor)),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(summary).unwrap_or_default();
    multiply(&mut value, factor);
    serde_json::from_value(value).unwrap_or_else(|_| summary.clone())
}

/// Swaps the outcomes of two runs.
fn exchange(done: &mut Done, a: usize, b: usize) {
    let of = |done: &Done, index: usize| {
        let run = &done.runs[index];
        (run.numbers.clone(), run.summary.clone())
    };
    let (of_a, of_b) = (of(done, a), of(done, b));
    (done.runs[a].numbers, done.runs[a].summary) = of_b;
    (done.runs[b].numbers, done.runs[b].summary) = of_a;
}
