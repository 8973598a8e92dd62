//! Every criterion can fail: when recorded outcomes are made wrong, a cross has to appear.

use std::fs;
use std::path::Path;

use paceline_congestion::lstm_pid::Gains;
use paceline_learn::pidnn::{START, THESIS};
use paceline_reproduce::{
    Done, Metrics, Mutation, Outcomes, Reproduction, faults, find, is_of, read_folder, registry,
    ticks_of_unfinished, undetected,
};

/// Returns the recorded outcome, or `None` if there is none.
fn recorded(one: &Reproduction) -> Option<Done> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let text = fs::read_to_string(folder.join(&one.id).join("outcome.json")).ok()?;
    let outcomes: Outcomes =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", one.id));
    let done = outcomes.done(one).unwrap();
    assert!(
        is_of(one, &done),
        "what was recorded of {0} is of another version: run `paceline reproduce {0}`, and copy \
         results/reproduce/outcomes/{0}.json to experiments/{0}/outcome.json",
        one.id
    );
    Some(done)
}

#[test]
fn no_criterion_passes_twice_or_half_or_nothing() {
    let faults: Vec<String> = registry().flat_map(faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// `thesis-table7` and `bolt-figure1` have no runs: the one is judged by its flows below, the other is computed.
#[test]
fn every_tick_can_become_a_cross() {
    let (mut left, mut seen) = (Vec::new(), Vec::new());
    for one in registry() {
        let Some(done) = recorded(one) else { continue };
        seen.push(one.id.as_str());
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

/// A value of a step under a bound that is always met, one whose row does not depend on the step, and a proper one.
#[test]
fn what_cannot_fail_is_found() {
    let text = r#"
title = "Three criteria"
source = { where = "nobody" }
about = "Nothing is run."
steps = ["follow"]

[[table]]
columns = [{ name = "pidnn", scheme = "pidnn" }]
expect = { within = "10%", because = "its digits" }
rows = [
    { value = "step('follow', 'error')", what = "wide", published = [1.0], expect = { between = [0.1, 10.0], because = "a factor of ten" } },
    { value = "step('follow', 'error') * 0 + 1", what = "constant", published = [1.0] },
    { value = "step('follow', 'error')", what = "honest", published = [1.0] },
]
"#;
    let tmp = tempfile::tempdir().unwrap();
    let folder = tmp.path().join("synthetic");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("experiment.toml"), text).unwrap();
    let one = read_folder(&folder).unwrap();
    let mut done = Done::default();
    done.steps.insert("follow", Metrics::of([("error", Some(1.0))]));
    assert_eq!(
        faults(&one),
        ["synthetic, pidnn, wide: a published value stands beside a bound of ours"]
    );
    // A value that depends on no step stays within its tolerance, in any wrong outcome.
    assert_eq!(
        undetected(&one, &done, Vec::new()),
        ["pidnn: constant (within 10 %)"]
    );
}

#[test]
fn choices_say_what_else_was_tried() {
    for choice in registry().flat_map(|one| &one.choices) {
        assert!(
            !choice.what.is_empty() && !choice.tried.is_empty() && !choice.changed.is_empty(),
            "{choice:?}"
        );
    }
}

/// Returns the outcome of a training that found `gains`, and had `later` after further runs.
fn trained(gains: Gains, later: Gains) -> Done {
    let each = |gains: Gains| [gains.p, gains.i, gains.d].map(Some);
    let mut metrics = Metrics::of(["K_P", "K_I", "K_D"].into_iter().zip(each(gains)));
    let names = ["later K_P", "later K_I", "later K_D"].into_iter();
    metrics.values.extend(Metrics::of(names.zip(each(later))).values);
    Done {
        steps: [("train gains", metrics)].into(),
        ..Done::default()
    }
}

/// Gains that never left their start, or that diverge when the training continues.
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
