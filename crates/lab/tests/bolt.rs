//! A reproduction of Bolt's evaluation from its needs to its verdicts: the join, the quickest of them.

use paceline_lab::reproduce::{self, Done, Need, Plan};
use paceline_lab::run::Control;

/// What is judged of a flow alone and of a join: everything keeps its tolerance.
#[test]
fn a_flow_joins_another() {
    let join = reproduce::find("bolt-b1").unwrap();
    let under = |need: &Need| need.scheme == "bolt" || need.scheme == "hpcc";
    let needs: Vec<Need> = join.needs().into_iter().filter(under).collect();
    let plan = Plan::of(needs);
    let inputs: Vec<_> = plan.needs.iter().map(|need| need.load().unwrap()).collect();
    let runs = reproduce::run_each(&plan.needs, &inputs, 2, &|_, _| Control::Continue);
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
    let bad: Vec<_> = judged.iter().filter(|record| record.ok == Some(false)).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(judged.len() >= 19, "{}", judged.len());
}
