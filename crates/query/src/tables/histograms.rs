//! Distributions of times that a run only keeps as histograms.

use paceline_fabric::outcome::RttStats;

use crate::table::{Rows, Table, int, ints, not_in_folder, text, whole, words};

pub(super) const HISTOGRAMS: Table = Table {
    name: "histograms",
    about: "a value of a distribution, ascending",
    needs: "an experiment: a folder does not have it",
    columns: &[
        text(
            "name",
            "rtt_per_ack, rtt_per_round_trip, or latency with record.latency",
        ),
        int("value_ns", "the value, to 1/16384 of it"),
        int("count", "how many samples have it"),
    ],
    rows: Rows::Made(|run, first| {
        let outcome = run.outcome().ok_or_else(|| not_in_folder("histograms"))?;
        let all = [
            ("rtt_per_ack", Some(&outcome.rtt_per_ack)),
            ("rtt_per_round_trip", Some(&outcome.rtt_per_round_trip)),
            ("latency", outcome.latency.as_ref()),
        ];
        let of = |(name, stats): (&'static str, Option<&RttStats>)| {
            let recorded = stats
                .into_iter()
                .flat_map(|stats| stats.histogram_ns.iter_recorded());
            recorded
                .map(|one| (name, one.value_iterated_to(), one.count_at_value()))
                .collect::<Vec<_>>()
        };
        let rows: Vec<_> = all.into_iter().flat_map(of).collect();
        Ok(whole(first, || {
            vec![
                words(&rows, |row| row.0),
                ints(&rows, |row| Some(row.1)),
                ints(&rows, |row| Some(row.2)),
            ]
        }))
    }),
};
