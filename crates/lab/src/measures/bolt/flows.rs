//! Few long flows over one link: alone, when another joins, when one leaves.

use paceline_fabric::Outcome;
use paceline_scenario::Resolved;

use super::super::port::{Passage, Place, PortEvents, reaches, step_mean};
use super::super::{MeasureSet, Metrics, measure};
use super::{BDP, RTT, windows};
use crate::stats::jain;

/// A set of the traced port.
macro_rules! of_port {
    ($name:literal, $about:literal, $values:expr, $series:expr, $of:expr) => {
        MeasureSet {
            name: $name,
            about: concat!(
                "The first port of `record.trace-ports`, where packets of 1500 bytes have a round trip of 8 µs: ",
                $about
            ),
            values: $values,
            series: $series,
            of: $of,
        }
    };
}

pub(in crate::measures) const ALONE: MeasureSet = of_port!(
    "flow-alone",
    "one flow that is alone.",
    &[
        measure("utilisation", "utilisation", "%", 2),
        measure("peak", "queue peak", "KB", 1),
        measure("src", "SRCs", "", 0),
        measure("fct", "completion", "µs", 3),
        measure("standing", "queue 400 to 600 µs", "KB", 1),
    ],
    &[],
    alone
);

pub(in crate::measures) const JOIN: MeasureSet = of_port!(
    "flow-joins",
    "the queue after the first packet of flow 1.",
    &[
        measure("peak", "queue peak", "KB", 1),
        measure("peak_at", "time of the peak", "µs", 2),
        measure("peak_bdp", "queue peak", "BDP", 2),
        measure("empty_rtts", "empty after the peak", "round trips", 2),
        measure("dip", "dip of utilisation", "%", 1),
        measure("standing", "queue 100 to 300 µs after", "KB", 1),
        measure("src", "SRCs", "", 0),
        measure("before", "queue 60 to 0 µs before", "KB", 1),
    ],
    &[measure("queue", "queue after the first packet", "KB", 1)],
    join
);

pub(in crate::measures) const LEAVE: MeasureSet = of_port!(
    "flow-leaves",
    "the link, and the window of flow 1, after the last packet of flow 0. `record.flows` has to be on.",
    &[
        measure("idle", "lost time of the link", "µs", 2),
        measure("bdp95", "window at 95 % of a BDP after", "µs", 1),
        measure("stable", "window stable after", "µs", 1),
        measure("largest", "largest window", "KB", 1),
    ],
    &[measure("window", "window after the last packet", "KB", 1)],
    leave
);

pub(in crate::measures) const ENDS: MeasureSet = of_port!(
    "between-ends",
    "from the first flow's last byte to the last one's.",
    &[measure("utilisation", "utilisation", "%", 2)],
    &[],
    ends
);

pub(in crate::measures) const SHARES: MeasureSet = of_port!(
    "come-and-go",
    "five flows of which one starts every 2 ms and from 10 ms on one leaves. `record.flows` has to be on.",
    &[
        measure("slot0", "Jain's index", "", 4),
        measure("slot1", "Jain's index", "", 4),
        measure("slot2", "Jain's index", "", 4),
        measure("slot3", "Jain's index", "", 4),
        measure("slot4", "Jain's index", "", 4),
        measure("slot5", "Jain's index", "", 4),
        measure("slot6", "Jain's index", "", 4),
        measure("slot7", "Jain's index", "", 4),
        measure("slot8", "Jain's index", "", 4),
        measure("utilisation", "utilisation", "%", 2),
        measure("queue", "mean queue", "KB", 2),
    ],
    &[],
    shares
);

/// What the traced port did; nothing without one.
fn traced(input: &Resolved, outcome: &Outcome) -> Option<(PortEvents, Vec<Passage>)> {
    let place = Place::traced(&input.run)?;
    Some(PortEvents::of(&input.run, outcome, place))
}

fn alone(input: &Resolved, outcome: &Outcome) -> Metrics {
    let Some((events, _)) = traced(input, outcome) else {
        return Metrics::default();
    };
    let peak = events.peak(0.0, f64::INFINITY);
    let first = outcome.flows.first();
    Metrics::of([
        (
            "utilisation",
            Some(100.0 * events.utilisation(20_000.0, 600_000.0)),
        ),
        ("peak", peak.map(|(_, bytes)| bytes / 1e3)),
        ("src", Some(outcome.counters.notices as f64)),
        ("fct", first.map(|flow| flow.fct.as_ps() as f64 / 1e6)),
        ("standing", Some(events.mean(400_000.0, 600_000.0) / 1e3)),
    ])
}

/// After a join at `join`: the queue's peak, when it is empty, what the link lost.
pub(super) fn after_join(events: &PortEvents, join: f64) -> [(&'static str, Option<f64>); 6] {
    let end = join + 200_000.0;
    let peak = events.peak(join, end);
    let empty = peak.and_then(|(at, _)| events.empty_after(at));
    let dip = empty.map(|empty| 100.0 * events.least_utilisation(empty, end, 8000.0, 250.0));
    [
        ("peak", peak.map(|(_, bytes)| bytes / 1e3)),
        ("peak_at", peak.map(|(at, _)| (at - join) / 1e3)),
        ("peak_bdp", peak.map(|(_, bytes)| bytes / BDP)),
        ("empty_rtts", empty.map(|at| (at - join) / RTT)),
        ("dip", dip),
        (
            "standing",
            Some(events.mean(join + 100_000.0, join + 300_000.0) / 1e3),
        ),
    ]
}

fn join(input: &Resolved, outcome: &Outcome) -> Metrics {
    let Some((events, passages)) = traced(input, outcome) else {
        return Metrics::default();
    };
    let Some(first) = passages.iter().find(|passage| passage.flow == 1) else {
        return Metrics::default();
    };
    let join = first.at;
    let mut taken = Metrics::of(after_join(&events, join));
    taken.set("src", outcome.counters.notices as f64);
    let before = events.mean(join - 60_000.0, join) / 1e3;
    taken.set("before", before);
    let near = (events.queue.iter()).filter(|(at, _)| (-10_000.0..=60_000.0).contains(&(at - join)));
    let points = near.map(|&(at, bytes)| ((at - join) / 1e3, bytes / 1e3));
    taken.draw("queue", points);
    taken
}

/// How long after the flow's end things are looked at.
const AFTER: f64 = 600_000.0;

/// The payload of a bandwidth-delay product of the dumbbell: as the authors have it.
pub(super) const FULL: f64 = 97_260.0;

/// What the link and the remaining flow do after `leave`; times in µs.
pub(super) fn after_leave(
    events: &PortEvents,
    window: &[(f64, f64)],
    leave: f64,
) -> [(&'static str, Option<f64>); 4] {
    let within = |&&(at, _): &&(f64, f64)| (leave..=leave + AFTER).contains(&at);
    let inside = window.iter().filter(within);
    let largest = inside.map(|&(_, bytes)| bytes).fold(0.0, f64::max);
    let us = |ns: Option<f64>| ns.map(|ns| ns / 1e3);
    [
        ("idle", Some(events.idle(leave, leave + AFTER) / 1e3)),
        ("bdp95", us(reaches(window, leave, 0.95 * FULL))),
        ("stable", us(reaches(window, leave, 0.98 * largest))),
        ("largest", Some(largest / 1e3)),
    ]
}

fn leave(input: &Resolved, outcome: &Outcome) -> Metrics {
    let Some((events, passages)) = traced(input, outcome) else {
        return Metrics::default();
    };
    let Some(last) = passages.iter().rev().find(|passage| passage.flow == 0) else {
        return Metrics::default();
    };
    let leave = last.at;
    let window = windows(outcome, 1);
    let mut taken = Metrics::of(after_leave(&events, &window, leave));
    // From 50 µs before the flow's end to 450 µs after it.
    let near = (window.iter()).filter(|(at, _)| (-50_000.0..=450_000.0).contains(&(at - leave)));
    let points = near.map(|&(at, bytes)| ((at - leave) / 1e3, bytes / 1e3));
    taken.draw("window", points);
    taken
}

/// Utilisation from the first arrival of a last byte to the last one, both seen from the port:
/// `way` earlier. Time without transmission, as the authors count it.
pub(super) fn between_ends(events: &PortEvents, ends: &[f64], way: f64) -> Option<f64> {
    let first = ends.iter().copied().fold(f64::INFINITY, f64::min) - way;
    let last = ends.iter().copied().fold(0.0, f64::max) - way;
    (first < last).then(|| 100.0 * (1.0 - events.idle(first, last) / (last - first)))
}

fn ends(input: &Resolved, outcome: &Outcome) -> Metrics {
    let Some((events, _)) = traced(input, outcome) else {
        return Metrics::default();
    };
    let received = outcome.flows.iter().filter_map(|flow| flow.received);
    let ends: Vec<f64> = received.map(|at| at.as_ps() as f64 / 1e3).collect();
    let first = input.run.links.first();
    let way = first.map_or(0.0, |link| link.delay.as_ps() as f64 / 1e3);
    Metrics::of([("utilisation", between_ends(&events, &ends, way))])
}

const MS: f64 = 1e6;

/// Slots of 2 ms.
const SLOTS: [&str; 9] = [
    "slot0", "slot1", "slot2", "slot3", "slot4", "slot5", "slot6", "slot7", "slot8",
];

/// Jain's index of the windows of those flows that send in slot `slot`, over a part of it (in ms
/// from its start).
pub(super) fn slot_jain(windows: &[Vec<(f64, f64)>; 5], slot: usize, part: (f64, f64)) -> Option<f64> {
    let begin = 2.0 * slot as f64 * MS;
    let (first, last) = (slot.saturating_sub(4), slot.min(4));
    let mean = |window: &Vec<(f64, f64)>| step_mean(window, begin + part.0 * MS, begin + part.1 * MS);
    let means: Vec<f64> = windows[first..=last].iter().map(mean).collect();
    jain(&means)
}

fn shares(input: &Resolved, outcome: &Outcome) -> Metrics {
    let Some((events, _)) = traced(input, outcome) else {
        return Metrics::default();
    };
    let windows = [0, 1, 2, 3, 4].map(|flow| windows(outcome, flow));
    let slots = SLOTS.iter().enumerate();
    let mut taken = Metrics::of(slots.map(|(slot, name)| (*name, slot_jain(&windows, slot, (1.0, 2.0)))));
    let (from, to) = (0.1 * MS, 17.9 * MS);
    let utilisation = 100.0 * events.utilisation(from, to);
    taken.set("utilisation", utilisation);
    taken.set("queue", events.mean(from, to) / 1e3);
    taken
}
