use std::collections::BTreeSet;

use paceline_lab::reproduce::{Done, Plan, Reproduction};

use super::REGISTRY;

#[test]
fn the_registry_is_whole() {
    let others = paceline_lab::reproduce::REGISTRY.iter();
    let ids: BTreeSet<&str> = others.chain(REGISTRY).map(|one| one.id).collect();
    assert_eq!(
        ids.len(),
        paceline_lab::reproduce::REGISTRY.len() + REGISTRY.len()
    );
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
