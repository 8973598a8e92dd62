//! Exact comparison of flows, completion times, marks, pauses and port states with the simulator of TCD's authors.

use crate::command::tcd::{RECORDED, TcdRun, digest, ours, shipped};
use paceline_lab::run::{Control, execute};
use paceline_parity::tcd_ns3::{Change, TcdNs3Record};

#[track_caller]
fn assert_same(name: &str) {
    let run = TcdRun::new(&shipped(), name);
    let recorded = run.recorded().expect("a row of the table of runs");
    let (input, finished) = run.run().unwrap();
    let ours = ours(&input, &finished, recorded["tells"] == "1");
    for (column, file) in RECORDED {
        if recorded[column] != "-" {
            let digest = format!("{:016x}", digest(&ours[file]));
            assert_eq!(digest, recorded[column], "{name}: {file}");
        }
    }
}

/// A single congestion point, with pauses, TCD's states, a sender under DCQCN, and fixed rates. T is too small for
/// two of them.
#[test]
fn a_single_congestion_point() {
    for mode in ["ecn", "npecn", "tcd", "tcd_T20"] {
        assert_same(&format!("s1_single/{mode}"));
    }
}

/// A sample of a port's state equals the state after its last change.
#[test]
fn states_are_sampled() {
    let input =
        TcdRun::new(&shipped(), "s1_single/tcd").load(&["parity.tcd-ns3.log=true", "record.states=10us"]);
    let input = input.unwrap();
    let outcome = execute(&input, &mut |_| Control::Continue).unwrap().outcome;
    let log = TcdNs3Record::of(&outcome).unwrap();
    let mut seen = [0; 4];
    for record in &outcome.states {
        let ends = (record.port.node, record.port.peer, record.priority);
        let here = log
            .changes
            .iter()
            .filter(|change| (change.port.node, change.port.peer, change.class) == ends);
        let states: Vec<_> = here
            .filter_map(|change| match change.what {
                Change::State(_, new) => Some((change.at, new as u64)),
                _ => None,
            })
            .collect();
        for bin in record.series.bins() {
            // Samples are taken before the other events of the same instant.
            let last = states.iter().rev().find(|(at, _)| *at < bin.at);
            let state = last.map_or(0, |(_, state)| *state);
            assert_eq!((bin.min, bin.max), (state, state), "{ends:?} at {}", bin.at);
            seen[state as usize] += 1;
        }
    }
    assert!(seen.iter().all(|&count| count > 0), "{seen:?}");
}

/// Ports change from undetermined to congested.
#[test]
fn several_congestion_points() {
    for mode in ["ecn_nocc", "npecn_nocc", "tcd_nocc"] {
        assert_same(&format!("s2_multi_150us/{mode}"));
    }
}

/// The bursts in the authors' repository.
#[test]
fn bursts() {
    for run in [
        "b_burstflow_4x30us/tcd",
        "b_burstflow_f_15x150us/npecn",
        "b_testflow_17to1/tcd",
    ] {
        assert_same(run);
    }
}

/// A receiver has more flows than slots.
#[test]
fn victims_beside_more_flows_than_slots() {
    assert_same("s3_victim_64k/tcd");
}

/// The paths of the 4000 flows in a fat tree depend on random ports, all of which one run covers.
#[test]
fn a_fat_tree() {
    assert_same("f_hadoop_4000/tcd");
}
