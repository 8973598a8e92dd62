//! Stored runs of the OMNeT++ model (`validation/ib-omnet`), and the comparison with ours.

use std::io::Read as _;

use flate2::read::GzDecoder;
use paceline_fabric::{Outcome, RunSpec};
use paceline_kernel::Time;

use crate::ib_omnet::{CreditOutcome, line};

macro_rules! packed {
    ($($name:literal)*) => {
        &[$(($name, include_bytes!(concat!("../../../validation/trace_", $name, ".csv.gz")))),*]
    };
}

static FAT_TREE: &[u8] = include_bytes!("../../../validation/fat-tree-128-messages-cbfc.csv.gz");

/// Traces of all steps in [`WINDOWS`], by run.
static TRACES: &[(&str, &[u8])] = packed!(
    "N200_cbfc_g10" "N200_cbfc_g20" "N200_ibcc_g10" "N200_ibcc_g20" "N200_rrcc_g10" "N200_rrcc_g20"
    "PUB_cbfc_g20" "PUB_ibcc_g20" "PUB_rrcc_g20"
);

/// Windows of the traces, us. The second includes the steps at its end.
const WINDOWS: [(u64, u64); 2] = [(0, 45), (10_000, 10_060)];

/// Returns a run's trace as text.
fn trace(run: &str) -> Option<String> {
    let (_, packed) = TRACES.iter().find(|(name, _)| *name == run)?;
    unpacked(packed)
}

/// Returns the messages of the 128-host fat tree without congestion control, as text.
pub(super) fn fat_tree() -> Option<String> {
    unpacked(FAT_TREE)
}

fn unpacked(packed: &[u8]) -> Option<String> {
    let mut text = String::new();
    GzDecoder::new(packed).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns the lines of a trace that ours has, too. Notifications are only compared on wires.
fn lines(trace: &str) -> impl Iterator<Item = &str> {
    trace.lines().skip(1).filter(|line| {
        let arrives = line.contains(",sink_rx,") && !line.contains(" becn=0");
        !arrives && !line.contains(",BECN_rx,")
    })
}

/// Counts our steps that equal the model's in order, minus our steps beyond the end of the model's trace.
pub(super) fn equal_steps(name: &str, run: &RunSpec, outcome: &Outcome) -> Option<f64> {
    let trace = trace(name)?;
    let (_, last) = WINDOWS[1];
    let within = |at: Time| {
        let us = at.as_ps() / 1_000_000;
        let inside = WINDOWS.iter().any(|&(from, to)| (from..to).contains(&us));
        inside || at == Time::from_ns(last * 1000)
    };
    let steps = &CreditOutcome::of(outcome)?.trace;
    let ours = steps.iter().filter(|event| within(event.at));
    let mut ours = ours.filter_map(|event| line(run, event));
    let equal = lines(&trace)
        .filter(|line| ours.next().is_some_and(|ours| ours == *line))
        .count();
    Some(equal as f64 - ours.count() as f64)
}
