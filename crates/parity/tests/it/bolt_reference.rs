//! Exact comparison of messages, SRCs, packets and queues with the Bolt authors' simulator.

use crate::command::bolt::{runs, shipped};

/// Repeats the reference runs of a scenario and returns their number.
fn assert_equal(scenario: &str) -> usize {
    let found = runs(&shipped()).into_iter().map(Result::unwrap);
    let found: Vec<_> = found.filter(|run| run.name.starts_with(scenario)).collect();
    for run in &found {
        let close = run.closeness().unwrap();
        assert!(close.is_equal(), "{}: {close:?}", run.name);
        assert_eq!(
            close.equal, close.messages,
            "{}: messages to the nanosecond",
            run.name
        );
        assert_eq!(close.srcs.0, close.srcs.1, "{}: SRCs", run.name);
        assert_eq!(close.packets.0, close.packets.1, "{}: data packets", run.name);
        assert_eq!(close.queue.0, close.queue.1, "{}: the largest queue", run.name);
    }
    found.len()
}

#[test]
fn a_flow_alone() {
    assert_eq!(assert_equal("single_"), 2);
}

#[test]
fn flows_that_join_and_leave() {
    assert_eq!(assert_equal("join"), 5);
    assert_eq!(assert_equal("leave200_"), 1);
    assert_eq!(assert_equal("down400_"), 1);
}

#[test]
fn five_senders_with_parts_of_bolt_off() {
    assert_eq!(assert_equal("star5_"), 6);
    assert_eq!(assert_equal("star5m1500_"), 6);
}

#[test]
fn messages_that_share_flows() {
    assert_eq!(assert_equal("lab80_"), 3);
}
