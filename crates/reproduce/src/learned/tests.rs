use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::{Done, Outcomes, Plan, Reproduction, faults, is_of, ticks_of_unfinished, undetected};

use super::REGISTRY;

#[test]
fn the_registry_is_whole() {
    let ids: BTreeSet<&str> = crate::registry().map(|one| one.id).collect();
    assert_eq!(ids.len(), crate::registry().count());
    for one in REGISTRY {
        assert!(
            !one.steps.is_empty() || !one.needs().is_empty(),
            "{} needs something",
            one.id
        );
        let records = one.records(&Done::default());
        let ours = records
            .iter()
            .filter(|record| !record.ours.is_null() || record.ok.is_some());
        assert_eq!(ours.count(), 0, "{} has results of nothing", one.id);
        let mut cases: Vec<_> = records.iter().map(|r| (&r.case, r.metric)).collect();
        cases.sort_unstable();
        cases.dedup();
        assert_eq!(cases.len(), records.len(), "cases of {} are told apart", one.id);
    }
}

#[test]
fn every_run_is_planned_once_and_loads() {
    let plan = Plan::of(REGISTRY.iter().flat_map(Reproduction::needs));
    let names: BTreeSet<String> = plan.needs.iter().map(|need| need.name()).collect();
    assert_eq!(names.len(), plan.needs.len());
    for need in &plan.needs {
        let input = need
            .load()
            .unwrap_or_else(|error| panic!("{}: {error}", need.name()));
        assert_eq!(
            (input.scheme.as_str(), input.fidelity),
            (need.scheme, need.fidelity)
        );
    }
}

#[test]
fn no_criterion_passes_twice_or_half_or_nothing() {
    let faults: Vec<String> = REGISTRY.iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The outcomes are `outcomes/ID.json` of `paceline reproduce ID`, copied to `validation/reproductions`.
#[test]
fn every_tick_can_become_a_cross() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/reproductions");
    for one in REGISTRY {
        let Ok(text) = fs::read_to_string(folder.join(format!("{}.json", one.id))) else {
            continue;
        };
        let outcomes: Outcomes = serde_json::from_str(&text).unwrap();
        let done = outcomes.done(one).unwrap();
        assert!(
            is_of(one, &done),
            "what was recorded of {} is of another version",
            one.id
        );
        let left = undetected(one, &done, Vec::new());
        assert!(left.is_empty(), "{}: {left:#?}", one.id);
        assert_eq!(
            ticks_of_unfinished(one, &done),
            Vec::<String>::new(),
            "{}",
            one.id
        );
    }
}
