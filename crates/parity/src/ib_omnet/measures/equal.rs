//! Equality of messages with the OMNeT++ model in the fat tree of 128 hosts.

use std::collections::BTreeMap;

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;
use paceline_scenario::guest::{MeasureSet, Metrics, measure};

use super::reference;
use crate::ib_omnet::{CreditOutcome, CreditSpec};

pub(crate) const EQUAL: MeasureSet = MeasureSet {
    name: "ib-equal",
    about: "`infiniband-fat-tree-128`: which messages are the model's to the nanosecond.",
    values: &[measure(
        "equal",
        "messages that are equal to the nanosecond",
        "",
        0,
    )],
    series: &[],
    of: |input, outcome| {
        let credits = CreditOutcome::of(outcome);
        let equal = credits.map(|credits| equal(input, outcome, credits) as f64);
        Metrics::of([("equal", equal)])
    },
};

/// Counts messages that equal the model's: start time, arrival time and latency, to the tenth of a nanosecond that
/// the model writes.
fn equal(input: &Resolved, outcome: &Outcome, credits: &CreditOutcome) -> usize {
    let mut theirs: BTreeMap<(u32, u32), [u64; 3]> = BTreeMap::new();
    for line in reference::fat_tree().unwrap_or_default().lines().skip(1) {
        let fields: Vec<f64> = line.split(',').filter_map(|field| field.parse().ok()).collect();
        if let [from, _, message, _, made, there, latency] = fields[..] {
            let ps = [made, there, latency].map(|us| (us * 1e6).round() as u64);
            theirs.insert((from as u32, message as u32), ps);
        }
    }
    let sources = CreditSpec::of(&input.run).map_or(&[][..], |credits| &credits.sources);
    let ours = sources
        .iter()
        .flat_map(|source| (0..source.count).map(move |message| (source.first, message)));
    ours.filter(|&(first, message)| {
        let flow = (first + message) as usize;
        let record = &outcome.flows[flow];
        let Some((there, sent)) = record.received.zip(credits.injected[flow]) else {
            return false;
        };
        let times = [
            record.start.as_ps(),
            there.as_ps(),
            there.saturating_since(sent).as_ps(),
        ];
        // The model's text loses up to half a tenth of a nanosecond, and its conversion here up to 1 ps.
        let known = theirs.get(&(input.run.flows[flow].src.0 + 1, message));
        known.is_some_and(|known| {
            known
                .iter()
                .zip(times)
                .all(|(&known, ours)| known.abs_diff(ours) <= 51)
        })
    })
    .count()
}
