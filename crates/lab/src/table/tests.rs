use super::*;
use crate::results::Machine;
use crate::sample;

fn summaries() -> [Summary; 2] {
    let (mut input, mut outcome) = sample::incast();
    let a = sample::summarised(&input, &outcome, Machine::default());
    input.scheme = "dcqcn-win".into();
    outcome.counters.pauses = 12_345;
    outcome.rtt_per_ack = sample::rtt(&[4_100, 2_000_000]);
    [a, sample::summarised(&input, &outcome, Machine::default())]
}

#[test]
fn comparisons() {
    let [a, b] = &summaries();
    insta::assert_snapshot!("by_run", comparison(&[a, b], 200));
    insta::assert_snapshot!("by_metric", comparison(&[a, b], 80));
}

#[test]
fn rows_are_told_apart() {
    let [a, b] = &summaries();
    let other = Summary { seed: 8, ..a.clone() };
    assert_eq!(row_names(&[a, b]), ["none", "dcqcn-win"]);
    assert_eq!(row_names(&[a, &other]), ["none #7", "none #8"]);
    assert_eq!(row_names(&[a, b, a]), ["none (1)", "dcqcn-win", "none (2)"]);
}

#[test]
fn published_values() {
    let published = |case: &str, value| Published {
        case: case.into(),
        metric: "mean RTT, µs".into(),
        value,
    };
    let table = beside(
        &[
            published("DCQCN", 7.5),
            published("LSTM-PID", 4.25),
            published("HPCC", 4.2),
        ],
        &[Some(7.01), None, Some(4.32)],
    );
    insta::assert_snapshot!("beside", table);
}
