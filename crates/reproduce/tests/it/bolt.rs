//! Reproduction of the quickest experiment of Bolt's evaluation, the join, from its runs to its verdicts.

use paceline_lab::run::Control;
use paceline_reproduce::{self as reproduce, Done, Plan, RunRequest};

/// All judged values of a single flow and of a join meet their criteria.
#[test]
fn a_flow_joins_another() {
    let join = reproduce::find("bolt-b1").unwrap();
    let under = |need: &&RunRequest| need.scheme == "bolt" || need.scheme == "hpcc";
    let plan = Plan::of(join.needs().iter().filter(under));
    let inputs: Vec<_> = plan.needs.iter().map(|need| need.load().unwrap()).collect();
    let runs = reproduce::run_each(&plan.needs, &inputs, 2, &|_, _| Control::Continue, &Ok);
    let done = Done {
        runs: runs.into_iter().map(Result::unwrap).collect(),
        ..Done::default()
    };
    assert!(
        done.runs
            .iter()
            .all(|run| run.finished.is_some() && run.numbers.is_some())
    );
    let traces = done.runs.iter().filter_map(|run| run.finished.as_ref());
    assert!(
        traces
            .map(|run| run.outcome.trace.len())
            .all(|events| events == 0)
    );
    let records = join.records(&done);
    let judged: Vec<_> = records.iter().filter(|record| record.ok.is_some()).collect();
    // Except HPCC's dip, in which the link's utilisation falls further than in the figure.
    let good = |record: &reproduce::Record| record.ok == Some(true) || record.case.contains("HPCC: dip");
    let bad: Vec<_> = judged.iter().filter(|record| !good(record)).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(judged.len() >= 16, "{}", judged.len());
}

/// After an abrupt end of a flow, Bolt's published listing alone differs widely from the paper's values. The authors'
/// simulator has them, but only with the pauses that spread its packets.
#[test]
fn what_the_paper_lists_is_not_what_its_simulator_does() {
    let down = reproduce::find("bolt-b4").unwrap();
    let wanted = |need: &&RunRequest| need.scheme.starts_with("bolt") && !need.variant.contains("nosm");
    let plan = Plan::of(down.needs().iter().filter(wanted));
    let inputs: Vec<_> = plan.needs.iter().map(|need| need.load().unwrap()).collect();
    let runs = reproduce::run_each(&plan.needs, &inputs, 2, &|_, _| Control::Continue, &Ok);
    let done = Done {
        runs: runs.into_iter().map(Result::unwrap).collect(),
        ..Done::default()
    };
    let records = down.records(&done);
    let of = |column: &str, what: &str| {
        let named = |case: &str| case.starts_with(column) && case.contains(what);
        let record = records.iter().find(|record| named(&record.case)).unwrap();
        (record.ours.as_f64().unwrap(), record.ok)
    };
    let window = "Bolt: window at 95 %";
    let (paper, verdict) = of("the listing alone", window);
    assert!(paper > 100.0 && verdict.is_none(), "{paper} {verdict:?}");
    let (ours, verdict) = of("as it ships", window);
    assert!(ours < 35.0 && verdict.is_none(), "{ours} {verdict:?}");
    let (simulator, verdict) = of("the authors' simulator", window);
    assert!(
        simulator < 24.0 && verdict == Some(true),
        "{simulator} {verdict:?}"
    );
    let (no_pause, verdict) = of("the authors' simulator", "simulator's pauses: window at 95 %");
    assert!(no_pause > 100.0 && verdict.is_none(), "{no_pause} {verdict:?}");
}
