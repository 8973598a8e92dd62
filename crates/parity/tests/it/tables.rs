//! SQL tables of these simulators, compared with the results of their runs.

use std::sync::Arc;

use paceline_lab::run::{Control, Resources, execute_on};
use paceline_parity::ib_omnet::{CreditOutcome, CreditStep};
use paceline_parity::tcd_ns3::TcdNs3Record;
use paceline_query::{Cell, Ended, Run, TABLES};
use paceline_scenario::{Overrides, Resolved, load_shipped};

use crate::command::tcd::{TcdRun, shipped};

fn run(scenario: &str, set: &[&str]) -> Arc<Ended> {
    let overrides = Overrides {
        set: set.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    ended(load_shipped(scenario, &overrides).expect("it ships"))
}

fn ended(input: Resolved) -> Arc<Ended> {
    let finished = execute_on(&input, Resources::ONE_THREAD, &mut |_| Control::Continue).unwrap();
    Arc::new(Ended { input, finished })
}

/// Returns the whole numbers in the first row of an answer.
fn numbers(run: &Run, sql: &str) -> Vec<u64> {
    let answer = run.ask(sql).unwrap();
    let number = |cell: &Cell| match cell {
        Cell::Int(value) => u64::try_from(*value).unwrap(),
        other => panic!("{sql}: {other:?}"),
    };
    answer.rows[0].iter().map(number).collect()
}

/// Checks that each table with `prefix` has rows, and columns of the declared types.
fn check_types(run: &Run, prefix: &str) {
    let of_these: Vec<_> = TABLES
        .iter()
        .filter(|table| table.name.starts_with(prefix))
        .collect();
    assert!(of_these.len() > 2);
    for table in of_these {
        let answer = run.ask(&format!("SELECT * FROM {}", table.name)).unwrap();
        assert!(!answer.rows.is_empty(), "{}", table.name);
        for (column, described) in table.columns.iter().enumerate() {
            let kind = described.kind.name();
            let mut cells = answer
                .rows
                .iter()
                .map(|row| &row[column])
                .filter(|cell| **cell != Cell::Null);
            let fits = |cell: &Cell| match cell {
                Cell::Int(_) => kind == "whole number",
                Cell::Text(_) => kind == "text",
                _ => false,
            };
            assert!(cells.all(fits), "{}.{}", table.name, described.name);
        }
    }
}

#[test]
fn infiniband_is_asked_in_sql() {
    let ended = run("infiniband-demo", &["parity.ib-omnet.log=true", "duration=2ms"]);
    let outcome = CreditOutcome::of(&ended.finished.outcome).unwrap();
    let run = Run::new(Arc::clone(&ended));
    check_types(&run, "ib_");
    let flows = &ended.input.run.flows;
    // There are more steps than a part of the table has rows.
    assert!(outcome.trace.len() > 1 << 15);
    let count = outcome.trace.len() as u64;
    let sum: u64 = outcome.trace.iter().map(|step| step.at.as_ps()).sum();
    assert_eq!(
        numbers(&run, "SELECT count(*), sum(time_ps) FROM ib_steps"),
        [count, sum]
    );
    let received = outcome.trace.iter().filter_map(|step| match step.what {
        CreditStep::Received { flow, marked, .. } => {
            Some([1, flow, flows[flow as usize].src.0, marked.into()])
        }
        _ => None,
    });
    let sums = received.fold([0; 4], |mut sums: [u64; 4], row| {
        sums.iter_mut()
            .zip(row)
            .for_each(|(sum, value)| *sum += u64::from(value));
        sums
    });
    let sql = "SELECT count(*), sum(flow_id), sum(src), sum(marked) FROM ib_steps WHERE step = 'received'";
    assert_eq!(numbers(&run, sql), sums);
    let injected: Vec<u64> = outcome.injected.iter().flatten().map(|at| at.as_ps()).collect();
    assert_eq!(
        numbers(
            &run,
            "SELECT count(*), count(injected_ps), sum(injected_ps) FROM ib_messages"
        ),
        [flows.len() as u64, injected.len() as u64, injected.iter().sum()]
    );
    let packets: u64 = outcome.ports.iter().map(|port| port.packets).sum();
    assert_eq!(
        numbers(&run, "SELECT count(*), sum(packets) FROM ib_ports"),
        [outcome.ports.len() as u64, packets]
    );
    let arrived: u64 = outcome.sources.iter().map(|source| source.received).sum();
    assert_eq!(
        numbers(&run, "SELECT sum(flows), sum(received) FROM ib_sources"),
        [flows.len() as u64, arrived]
    );
}

#[test]
fn tcd_is_asked_in_sql() {
    let input = TcdRun::new(&shipped(), "s1_single/tcd").load(&["parity.tcd-ns3.log=true"]);
    let ended = ended(input.unwrap());
    let record = TcdNs3Record::of(&ended.finished.outcome).unwrap();
    let run = Run::new(Arc::clone(&ended));
    check_types(&run, "tcd_");
    let packets: u64 = record
        .flows
        .iter()
        .map(|flow| u64::from(flow.received.packets))
        .sum();
    assert_eq!(
        numbers(&run, "SELECT count(*), sum(packets) FROM tcd_flows"),
        [record.flows.len() as u64, packets]
    );
    assert_eq!(numbers(&run, "SELECT sum(packets) FROM tcd_bins"), [packets]);
    let queues: u64 = record.changes.iter().map(|change| u64::from(change.queue)).sum();
    assert_eq!(
        numbers(&run, "SELECT count(*), sum(queue_bytes) FROM tcd_changes"),
        [record.changes.len() as u64, queues]
    );
}

/// Runs of other fidelities have these tables, without rows.
#[test]
fn other_runs_have_no_rows() {
    let run = Run::new(run("incast-16", &["duration=20us"]));
    for table in TABLES
        .iter()
        .filter(|table| table.name.starts_with("ib_") || table.name.starts_with("tcd_"))
    {
        assert_eq!(
            numbers(&run, &format!("SELECT count(*) FROM {}", table.name)),
            [0]
        );
    }
}
