//! Measures of long flows through one switch that short flows disturb.

use paceline_fabric::Outcome;
use paceline_fabric::outcome::{Binned, FlowSeries};
use paceline_fabric::spec::NodeId;
use paceline_kernel::sorted::SortedSet;
use paceline_kernel::{Bytes, Time};
use paceline_scenario::Resolved;

use super::{Measure, MeasureSet, Metrics, measure};
use crate::results::{flow_rows, payload_gbps};
use crate::stats::{mean, percentile};

pub(super) const SET: MeasureSet = MeasureSet {
    name: "long-short",
    about: "Flows labelled `long` through one switch, and those labelled `short` that disturb them: slowdowns; what long \
            flows deliver from the first start of a short one to the last, of the payload that their receivers' links carry; \
            and when a long flow reacts to a short one to the same host: the time from the short flow's first packet at the \
            switch to the first instant at which the long flow's rate or window is 20 % lower, over the round trip of the \
            empty network, within 10 of these. Needs record.flows, with record.flows-max of the long flows, and record.rates.",
    values: VALUES,
    series: &[],
    of,
};

const VALUES: &[Measure] = &[
    measure(
        "reaction",
        "reaction of long flows, median, in round trips",
        "RTT",
        2,
    ),
    measure(
        "reaction_mean",
        "reaction of long flows, mean, in round trips",
        "RTT",
        2,
    ),
    measure("reacted", "short flows that long ones react to", "%", 1),
    measure("utilisation", "links' utilisation by long flows", "%", 2),
    measure("short_p50", "median slowdown of short flows", "×", 3),
    measure("short_p99", "p99 of slowdown of short flows", "×", 3),
    measure("long_p50", "median slowdown of long flows", "×", 3),
];

/// Relative decrease of a rate or window that counts as a cut.
const CUT: f64 = 0.2;
/// Round trips after which a cut no longer counts as a reaction.
const WITHIN: f64 = 10.0;

fn of(input: &Resolved, outcome: &Outcome) -> Metrics {
    let slowdowns = |label: &str| {
        let rows = flow_rows(input, outcome).filter(|row| row.label == label);
        let mut all: Vec<f64> = rows.filter_map(|row| row.slowdown).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let (short, long) = (slowdowns("short"), slowdowns("long"));
    let reactions = reactions(input, outcome);
    let mut cuts: Vec<f64> = reactions.iter().copied().flatten().collect();
    cuts.sort_by(f64::total_cmp);
    let share = (!reactions.is_empty()).then(|| 100.0 * cuts.len() as f64 / reactions.len() as f64);
    Metrics::of([
        ("reaction", percentile(&cuts, 0.5)),
        ("reaction_mean", mean(&cuts)),
        ("reacted", share),
        ("utilisation", utilisation(input, outcome)),
        ("short_p50", percentile(&short, 0.5)),
        ("short_p99", percentile(&short, 0.99)),
        ("long_p50", percentile(&long, 0.5)),
    ])
}

/// Returns the indices of the flows with a label.
fn labelled<'a>(input: &'a Resolved, label: &'static str) -> impl Iterator<Item = usize> + 'a {
    let flows = input.run.flows.iter().enumerate();
    let is_of = move |label_of: u16| input.run.labels[usize::from(label_of)] == label;
    flows
        .filter(move |(_, flow)| is_of(flow.label))
        .map(|(index, _)| index)
}

/// Returns the reaction times of long flows to each short flow to the same host, in round trips of the empty network.
fn reactions(input: &Resolved, outcome: &Outcome) -> Vec<Option<f64>> {
    let run = &input.run;
    let base = outcome.base_rtt.as_ps() as f64;
    let mut all = Vec::new();
    for short in labelled(input, "short") {
        let (src, dst, start) = (
            run.flows[short].src,
            run.flows[short].dst,
            outcome.flows[short].start,
        );
        let Some(link) = run.links.iter().find(|link| link.a == src || link.b == src) else {
            continue;
        };
        let packet = Bytes::new(run.packet.mtu.get() + run.packet.data_header.get());
        let arrives = start + link.delay + link.rate.time_to_send(packet);
        let last = arrives.as_ps() as f64 + WITHIN * base;
        for long in labelled(input, "long").filter(|&long| run.flows[long].dst == dst) {
            let record = &outcome.flows[long];
            let ends = record.start + record.fct;
            let sends = record.start < arrives && (record.fct.as_ps() == 0 || ends.as_ps() as f64 > last);
            let series = outcome.flow_series.iter().find(|one| one.flow as usize == long);
            if let (true, Some(series)) = (sends, series) {
                all.push(cut_after(series, arrives, last).map(|at| (at - arrives.as_ps() as f64) / base));
            }
        }
    }
    all
}

/// Returns the first time, in ps and up to `last`, at which the rate or window is lower by [`CUT`] than at `from`.
fn cut_after(series: &FlowSeries, from: Time, last: f64) -> Option<f64> {
    let first_cut = |values: &Binned| {
        let mut before = None;
        for bin in values.bins() {
            let at = bin.at.as_ps() as f64;
            if bin.at <= from {
                before = Some(bin.last as f64);
            } else if at > last {
                return None;
            } else if (bin.min as f64) < (1.0 - CUT) * before? {
                return Some(at);
            }
        }
        None
    };
    let cuts = [first_cut(&series.rate), first_cut(&series.window)];
    cuts.into_iter().flatten().min_by(f64::total_cmp)
}

/// Returns the payload that long flows deliver while short ones start, in percent of the capacity of their receivers'
/// links.
fn utilisation(input: &Resolved, outcome: &Outcome) -> Option<f64> {
    let starts = || labelled(input, "short").map(|short| outcome.flows[short].start.as_ps());
    let bin = outcome.rate_bin.as_ps().max(1);
    // Whole bins.
    let (from, to) = (starts().min()?.div_ceil(bin), starts().max()? / bin);
    let long: SortedSet<u32> = labelled(input, "long").map(|long| long as u32).collect();
    let receivers: SortedSet<NodeId> = long
        .iter()
        .map(|&long| input.run.flows[long as usize].dst)
        .collect();
    let within = |record: &paceline_fabric::outcome::RateRecord| -> u64 {
        let bins = record.bytes.iter().zip(record.first_bin..);
        bins.filter(|(_, bin)| (from..to).contains(bin))
            .map(|(bytes, _)| bytes)
            .sum()
    };
    let records = outcome.rates.iter().filter(|record| long.contains(&record.flow));
    let bits: u64 = records.map(|record| 8 * within(record)).sum();
    let ns = (to.checked_sub(from)? * bin) as f64 / 1e3;
    (ns > 0.0 && !outcome.rates.is_empty())
        .then(|| 100.0 * bits as f64 / (payload_gbps(&input.run, &receivers) * ns))
}
