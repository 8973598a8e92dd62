//! Every criterion can fail: outcomes that were recorded are made wrong, and a cross has to appear.
//!
//! The outcomes are `outcomes/ID.json` of `paceline reproduce ID`, copied to `validation/reproductions`.

use std::fs;
use std::path::Path;

use paceline_congestion::lstm_pid::Gains;
use paceline_learn::pidnn::{START, THESIS};

use super::*;

/// `None` where nothing was recorded.
fn recorded(one: &Reproduction) -> Option<Done> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = match one.data {
        Some(_) => format!("experiments/{}/outcome.json", one.id),
        None => format!("validation/reproductions/{}.json", one.id),
    };
    let text = fs::read_to_string(root.join(file)).ok()?;
    let outcomes: Outcomes =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", one.id));
    let done = outcomes.done(one).unwrap();
    assert!(
        is_of(one, &done),
        "what was recorded of {} is of another version: run `paceline reproduce {}`, and copy \
         results/reproduce/outcomes/{}.json to validation/reproductions",
        one.id,
        one.id,
        one.id
    );
    Some(done)
}

#[test]
fn no_criterion_passes_twice_or_half_or_nothing() {
    let faults: Vec<String> = registry().flat_map(faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// Of `thesis-table7` and `bolt-figure1` nothing is run: the one is judged with its flows below, the other is computed.
#[test]
fn every_tick_can_become_a_cross() {
    let (mut left, mut seen) = (Vec::new(), Vec::new());
    for one in registry().filter(|one| learned::REGISTRY.iter().all(|known| known.id != one.id)) {
        let Some(done) = recorded(one) else { continue };
        seen.push(one.id);
        let start: Mutation = Box::new(|done| *done = trained(START, START));
        let own = if one.id == "thesis-figure13" {
            vec![start]
        } else {
            Vec::new()
        };
        let ticks = undetected(one, &done, own)
            .into_iter()
            .chain(ticks_of_unfinished(one, &done));
        left.extend(ticks.map(|tick| format!("{}, {tick}", one.id)));
    }
    assert!(left.is_empty(), "these stay ticks whatever is wrong: {left:#?}");
    assert!(
        seen.contains(&"thesis-table4") && seen.contains(&"thesis-table6"),
        "{seen:?}"
    );
}

/// A number of a step under a bound that nothing breaks, one whose row is not of the step at all, and an honest one.
fn vacuous(done: &Done) -> Vec<Panel> {
    let value = done
        .step("step")
        .and_then(|numbers| numbers.values.get("gain"))
        .copied();
    let wide = Criterion::property(Tolerance::Between(0.1, 10.0), Source::Us, "a factor of ten");
    let close = Criterion::published(Tolerance::Within(0.1), "its digits");
    let rows = ["wide", "constant", "honest"].map(|name| Row::quantity(name, "", 1));
    let panel = Panel::of("", "", vec![Column::scheme("pidnn")], rows.to_vec(), |row, _| {
        Cell {
            paper: Some(1.0),
            ours: if row == 1 { value.map(|_| 1.0) } else { value },
            criterion: if row == 0 { wide } else { close },
        }
    });
    vec![panel]
}

#[test]
fn what_cannot_fail_is_found() {
    const STEP: Step = Step {
        name: "step",
        title: "a step",
        work: |_| Ok(Metrics::default()),
    };
    let one = Reproduction {
        id: "synthetic",
        steps: &[STEP],
        needs: Vec::new,
        panels: vacuous,
        choices: &[],
        ..learned::REGISTRY[0]
    };
    let mut done = Done::default();
    let gain = Metrics {
        values: [("gain", 1.0)].into(),
        ..Metrics::default()
    };
    done.steps.insert("step", gain);
    assert_eq!(
        faults(&one),
        ["synthetic, pidnn, wide: a published value stands beside a bound of ours"]
    );
    // What no step moves keeps its tick, whatever is wrong.
    assert_eq!(
        undetected(&one, &done, Vec::new()),
        ["pidnn: constant (within 10 %)"]
    );
}

#[test]
fn choices_say_what_else_was_tried() {
    for choice in registry().flat_map(|one| one.choices) {
        assert!(
            !choice.what.is_empty() && !choice.tried.is_empty() && !choice.changed.is_empty(),
            "{choice:?}"
        );
    }
}

/// The outcome of a training that found `gains`, and had `later` after further runs.
fn trained(gains: Gains, later: Gains) -> Done {
    let each = |gains: Gains| [gains.p, gains.i, gains.d];
    let named = |names: [&'static str; 3], gains| names.into_iter().zip(each(gains));
    let found = named(["K_P", "K_I", "K_D"], gains);
    let metrics = Metrics {
        values: found
            .chain(named(["later K_P", "later K_I", "later K_D"], later))
            .collect(),
        ..Metrics::default()
    };
    Done {
        steps: [("train gains", metrics)].into(),
        ..Done::default()
    }
}

/// Gains that never left their start, or run off when the training goes on.
#[test]
fn gains_at_their_start_are_no_figure_13() {
    let one = find("thesis-figure13").unwrap();
    let done = trained(THESIS, THESIS);
    let ticks = |done: &Done| {
        one.records(done)
            .iter()
            .filter(|record| record.ok == Some(true))
            .count()
    };
    assert_eq!(ticks(&done), 9, "the thesis's own gains, at rest");
    let start = trained(START, START);
    assert_eq!(ticks(&start), 3, "they are at rest, and that is all");
    let later: Mutation = Box::new(|done| *done = trained(THESIS, START));
    let start: Mutation = Box::new(|done| *done = trained(START, START));
    assert_eq!(undetected(one, &done, vec![start, later]), Vec::<String>::new());
}
