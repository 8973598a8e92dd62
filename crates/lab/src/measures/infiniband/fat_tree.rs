//! Fat trees of 128 and 1024 hosts: files to some, small messages among others.

use paceline_parity::ib_omnet::{CreditOutcome, CreditSpec};
use std::collections::BTreeMap;

use paceline_fabric::Outcome;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::FlowSpec;
use paceline_kernel::Time;
use paceline_scenario::Resolved;

use super::super::{MeasureSet, Metrics, measure};
use super::reference;
use crate::stats::{mean, percentile};

pub(in crate::measures) const FAT_TREE: MeasureSet = MeasureSet {
    name: "ib-fat-tree",
    about: "`infiniband-fat-tree-128` and `-1024`: latencies of small messages and of files, and which messages are the model's to the \
            nanosecond.",
    values: &[
        measure("equal", "messages that are equal to the nanosecond", "", 0),
        measure("small", "small messages that came", "", 0),
        measure("small_mean", "small messages, mean latency", "us", 2),
        measure("small_p50", "small messages, p50", "us", 2),
        measure("small_p99", "small messages, p99", "us", 2),
        measure("small_max", "small messages, longest", "us", 1),
        measure("small_time", "small messages, mean time", "us", 2),
        measure("large", "files that came", "", 0),
        measure("large_mean", "files, mean latency", "us", 2),
        measure("large_p50", "files, p50", "us", 2),
        measure("large_p99", "files, p99", "us", 2),
        measure("large_max", "files, longest", "us", 2),
        measure("large_time", "files, mean time", "us", 2),
        measure("end", "last message", "ms", 4),
        measure(
            "use",
            "receivers' use of their links while files come, mean",
            "",
            3,
        ),
        measure("fecn", "marked packets that came", "", 0),
        measure("becn", "notifications", "", 0),
    ],
    series: &[],
    of: digest,
};

/// Larger ones are files.
const SMALL: u64 = 8192;

/// A message that came: what it is, when it came to its host, when its first packet went, when it was there.
struct Message<'a> {
    flow: &'a FlowSpec,
    made: Time,
    sent: Time,
    there: Time,
}

fn digest(input: &Resolved, outcome: &Outcome) -> Metrics {
    let Some(credits) = CreditOutcome::of(outcome) else {
        return Metrics::default();
    };
    let all = input.run.flows.iter().zip(&outcome.flows).zip(&credits.injected);
    let messages: Vec<Message<'_>> = all
        .filter(|((_, record), _)| record.status == FlowStatus::Completed)
        .filter_map(|((flow, record), sent)| {
            Some(Message {
                flow,
                made: record.start,
                sent: (*sent)?,
                there: record.received?,
            })
        })
        .collect();
    let last = messages.iter().map(|message| message.there.as_ps()).max();
    let sum = |of: fn(&paceline_parity::ib_omnet::SourceTotals) -> u64| {
        Some(credits.sources.iter().map(of).sum::<u64>() as f64)
    };
    let mut numbers = Metrics::finite([
        ("end", last.map(|ps| ps as f64 / 1e9)),
        ("use", use_of_links(&messages)),
        ("fecn", sum(|source| source.marked)),
        ("becn", sum(|source| source.notified)),
        ("equal", Some(equal(input, outcome, credits) as f64)),
    ]);
    for (name, large) in [("small", false), ("large", true)] {
        let of = |message: &&Message<'_>| (message.flow.size.get() > SMALL) == large;
        numbers.extend(latencies(name, messages.iter().filter(of)).values);
    }
    numbers
}

/// How many, their latencies, and their mean time, in us.
fn latencies<'a>(name: &str, messages: impl Iterator<Item = &'a Message<'a>> + Clone) -> Metrics {
    let us = |from: Time, to: Time| to.saturating_since(from).as_us_f64();
    let mut latencies: Vec<f64> = messages
        .clone()
        .map(|message| us(message.sent, message.there))
        .collect();
    let times: Vec<f64> = messages.map(|message| us(message.made, message.there)).collect();
    latencies.sort_by(f64::total_cmp);
    Metrics::of([
        (name.to_string(), Some(latencies.len() as f64)),
        (format!("{name}_mean"), mean(&latencies)),
        (format!("{name}_p50"), percentile(&latencies, 0.5)),
        (format!("{name}_p99"), percentile(&latencies, 0.99)),
        (format!("{name}_max"), latencies.last().copied()),
        (format!("{name}_time"), mean(&times)),
    ])
}

/// The share of its link that each receiver of files used from the first that was started to the last that came: the mean.
fn use_of_links(messages: &[Message<'_>]) -> Option<f64> {
    let mut receivers: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
    for message in messages.iter().filter(|message| message.flow.size.get() > SMALL) {
        let (made, there) = (message.made.as_ps(), message.there.as_ps());
        let (bytes, first, last) = receivers.entry(message.flow.dst.0).or_insert((0, made, there));
        *bytes += message.flow.size.get();
        (*first, *last) = ((*first).min(made), (*last).max(there));
    }
    // 32 Gbit/s: 250 ps a byte.
    let share = |&(bytes, first, last): &(u64, u64, u64)| bytes as f64 * 250.0 / (last - first) as f64;
    mean(&receivers.values().map(share).collect::<Vec<_>>())
}

/// Messages that are the model's under credits: each when it came to its host, when it was there, and its latency, to
/// the tenth of a nanosecond that is written.
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
