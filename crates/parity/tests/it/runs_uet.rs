//! Ultra Ethernet's transport in runs of the lab: flow records, and a run that the simulator aborts.

use paceline_fabric::outcome::FlowStatus;
use paceline_lab::run::{Control, RunErrorKind, execute};
use paceline_parity::uet_htsim::{UetModel, UetOutcome};
use paceline_scenario::{Overrides, Resolved, load_text};

fn resolved(arguments: &str) -> Resolved {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../validation/uet-htsim/scenarios"
    );
    let text = format!(
        "fidelity = \"uet-htsim\"\n[parity.uet-htsim]\narguments = \"{}\"\n",
        arguments.replace("-tm ", &format!("-tm {folder}/"))
    );
    load_text("mine.toml", &text, &Overrides::default()).unwrap()
}

#[test]
fn records_of_flows_are_the_simulators() {
    for arguments in ["-tm triggers.cm", "-tm messages.cm -conn_reuse -receiver_cc_only"] {
        let input = resolved(arguments);
        let done = execute(&input, &mut |_| Control::Continue).unwrap();
        let own = UetOutcome::of(&done.outcome).unwrap();
        let model = UetModel::of(&input.run).unwrap();
        for (end, flow) in own.flows.iter().zip(&model.flows) {
            let record = &done.outcome.flows[*flow as usize];
            assert_eq!(record.status == FlowStatus::Completed, end.finish.is_some());
            if let (Some(start), Some(finish)) = (end.start, end.finish) {
                assert_eq!(
                    (record.start.as_ps(), record.fct.as_ps()),
                    (start, finish - start)
                );
                assert!(
                    record.fct >= record.ideal && record.delivered == input.run.flows[*flow as usize].size
                );
            }
        }
        assert_eq!(done.outcome.counters.events, own.counters.events);
        assert_eq!(done.outcome.counters.packet_hops(), own.counters.link_hops);
    }
}

#[test]
fn a_run_that_the_simulator_aborts_has_no_result() {
    let input = resolved("-tm incast15.cm -disable_trim -load_balancing_algo reps -q 4 -ecn 1 3");
    let error = execute(&input, &mut |_| Control::Continue).unwrap_err();
    assert!(matches!(error.kind, RunErrorKind::Aborted { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("where the simulator that it reproduces aborts")
    );
}
