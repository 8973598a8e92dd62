//! Draining, joining, sharing and waiting under ACC.

use paceline_congestion::Mark;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, PfcEvent, PortRef, TraceEvent, TraceKind};
use paceline_fabric::spec::NodeId;
use paceline_scenario::Resolved;

use super::port::step_mean;
use super::{MeasureSet, Metrics, measure};
use crate::stats::mean;

pub(super) const DRAIN: MeasureSet = MeasureSet {
    name: "drain",
    about: "How soon the queue of an incast is gone after the first congested mark has reached a sender, at switch 0 of a star; needs `record.trace-ports`.",
    values: &[
        measure(
            "drained",
            "until the queue has a packet per flow at most",
            "T0",
            2,
        ),
        measure(
            "over",
            "that time over what the largest queue takes at least",
            "",
            2,
        ),
        measure("busy", "the link's share that is used from then on", "%", 2),
        measure("pauses", "pauses later than two T0", "", 0),
        measure("queue", "largest queue", "KB", 0),
        measure("mean", "mean queue when it was gone once", "KB", 1),
    ],
    series: &[],
    of: drain,
};

pub(super) const JOIN: MeasureSet = MeasureSet {
    name: "join",
    about: "A second flow joins one after 1 ms, and leaves: queue, shares within 50 us, goodput.",
    values: &[
        measure("peak", "largest queue", "BDP", 3),
        measure("drained", "from there to a tenth of it", "T0", 2),
        measure(
            "fair",
            "from the second flow's start to shares within 5 %",
            "T0",
            2,
        ),
        measure("carried", "goodput of both while there are two", "Gbit/s", 2),
        measure("mean", "mean queue then", "KB", 1),
        measure(
            "back",
            "from the second flow's end to 95 % for the first",
            "T0",
            1,
        ),
    ],
    series: &[],
    of: join,
};

pub(super) const LOT: MeasureSet = MeasureSet {
    name: "parking-lot",
    about: "Goodput from 2 to 10 ms of the first flow, over all links of a parking lot, and of the others, over one each.",
    values: &[
        measure("share", "the long flow's goodput over half of a link", "", 3),
        measure("long", "the long flow's goodput", "Gbit/s", 2),
        measure("cross", "the least goodput of the others", "Gbit/s", 2),
        measure("carried", "the least that a link carries", "%", 2),
    ],
    series: &[],
    of: lot,
};

pub(super) const SHARED: MeasureSet = MeasureSet {
    name: "shared-class",
    about: "Four flows each way over a link: the first rate to which each falls, and goodput from 2 to 10 ms; needs `record.flows`.",
    values: &[
        measure("error", "error of the arrival rate, median", "%", 2),
        measure("worst", "the largest", "%", 2),
        measure("right", "goodput to the right, of what the link carries", "%", 2),
        measure("left", "goodput to the left", "%", 2),
        measure("queue", "largest queue", "KB", 0),
    ],
    series: &[],
    of: shared,
};

pub(super) const VICTIMS: MeasureSet = MeasureSet {
    name: "paused-victims",
    about: "Goodput of two victims and of the flow to P3, pauses and queues of P0 to P3, from 2 to 12 ms in the network of figure 3.2 of TCD's thesis.",
    values: &[
        measure("demand_0", "F0's goodput over what it has to send", "", 3),
        measure("demand_2", "F2's goodput over what it has to send", "", 3),
        measure("goodput_0", "F0's goodput", "Gbit/s", 3),
        measure("goodput_2", "F2's goodput", "Gbit/s", 3),
        measure("goodput_1", "goodput of the flow to P3", "Gbit/s", 3),
        measure("paused_0", "P0 paused", "%", 2),
        measure("paused_1", "P1 paused", "%", 2),
        measure("paused_2", "P2 paused", "%", 2),
        measure("queue_0", "mean queue of P0", "KB", 1),
        measure("queue_1", "mean queue of P1", "KB", 1),
        measure("queue_2", "mean queue of P2", "KB", 1),
        measure("queue_3", "mean queue of P3", "KB", 0),
    ],
    series: &[
        measure("P0", "queue of P0", "KB", 1),
        measure("P1", "queue of P1", "KB", 1),
        measure("P2", "queue of P2", "KB", 1),
        measure("P3", "queue of P3", "KB", 1),
    ],
    of: victims,
};

fn drain(input: &Resolved, outcome: &Outcome) -> Metrics {
    let link = &input.run.links[0];
    let (t0, bytes_per_us) = (outcome.base_rtt.as_us_f64(), link.rate.as_bps() as f64 / 8e6);
    let at = |event: &TraceEvent| event.at.as_ps() as f64 / 1e6;
    let switch = outcome.trace.iter().filter(|event| event.node == NodeId(0));
    let left: Vec<&TraceEvent> = switch
        .clone()
        .filter(|event| (event.event, event.kind) == (TraceKind::Dequeue, PacketKind::Data))
        .collect();
    let line = switch
        .filter(|event| (event.event, event.kind) == (TraceKind::Receive, PacketKind::Ack))
        .find(|event| event.mark == Mark::Congested);
    let first = line.map(|event| at(event) + link.delay.as_us_f64());
    let Some((first, last)) = first.zip(left.get(left.len() * 4 / 5)) else {
        return Metrics::default();
    };
    let packet = left.iter().map(|event| event.wire).max().unwrap_or(0);
    let few = packet * outcome.flows.len() as u32;
    let since: Vec<&&TraceEvent> = left
        .iter()
        .filter(|event| at(event) >= first && event.at <= last.at)
        .collect();
    let gone = since.iter().position(|event| event.queue_bytes <= few);
    let largest = left.iter().map(|event| event.queue_bytes).max().unwrap_or(0);
    let drained = gone.map(|place| at(since[place]) - first);
    let after = |place: usize| {
        let queues: Vec<f64> = since[place..]
            .iter()
            .map(|event| f64::from(event.queue_bytes) / 1e3)
            .collect();
        mean(&queues)
    };
    let sent: f64 = since.iter().map(|event| f64::from(event.wire)).sum();
    let late = |event: &&PfcEvent| event.pause && event.at.as_ps() as f64 / 1e6 > first + 2.0 * t0;
    Metrics::finite([
        ("drained", drained.map(|us| us / t0)),
        ("over", drained.map(|us| us * bytes_per_us / f64::from(largest))),
        ("busy", Some(100.0 * sent / bytes_per_us / (at(last) - first))),
        ("pauses", Some(outcome.pfc.iter().filter(late).count() as f64)),
        ("queue", Some(f64::from(largest) / 1e3)),
        ("mean", gone.and_then(after)),
    ])
}

/// When the second flow begins, and over how long shares are looked at, in us.
const JOIN_AT: f64 = 1000.0;
const WIDTH: f64 = 50.0;

fn join(input: &Resolved, outcome: &Outcome) -> Metrics {
    let (t0, bdp) = (outcome.base_rtt.as_us_f64(), outcome.bdp.get() as f64);
    let line = input.run.links[0].rate.as_bps() as f64 / 1e9;
    let busiest = outcome.queues.iter().max_by_key(|queue| queue.max);
    let queue: Vec<(f64, f64)> = busiest.map_or_else(Vec::new, |queue| {
        let bins = queue.series.bins();
        bins.map(|bin| (bin.at.as_ps() as f64 / 1e6, bin.max as f64))
            .collect()
    });
    let peak = queue.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
    let low = |&(at, peak): &(f64, f64)| {
        let below = queue
            .iter()
            .find(|&&(then, bytes)| then > at && bytes <= peak / 10.0);
        below.map(|&(then, _)| then - at)
    };
    let Some(joined) = outcome.flows.get(1) else {
        return Metrics::default();
    };
    let end = (joined.start + joined.fct).as_ps() as f64 / 1e6;
    let starts = || (0..).map(|step| f64::from(step) * 10.0);
    let shares = |from: f64| [0, 1].map(|flow| goodput(outcome, flow, from, from + WIDTH));
    let fair = starts()
        .map(|after| JOIN_AT + after)
        .take_while(|from| from + WIDTH < end)
        .find(|&from| {
            let [one, other] = shares(from);
            (one - other).abs() <= 0.05 * (one + other)
        });
    let most = goodput(outcome, 0, 0.5 * JOIN_AT, JOIN_AT);
    let back = starts()
        .map(|after| end.ceil() + after)
        .take_while(|from| *from < outcome.end.as_ps() as f64 / 1e6)
        .find(|&from| goodput(outcome, 0, from, from + WIDTH) >= 0.95 * most);
    let both = (JOIN_AT + 200.0, end - 100.0);
    let then: Vec<f64> = queue
        .iter()
        .filter(|(at, _)| (both.0..both.1).contains(at))
        .map(|(_, bytes)| bytes / 1e3)
        .collect();
    let carried: f64 = (0..2).map(|flow| goodput(outcome, flow, both.0, both.1)).sum();
    Metrics::finite([
        ("peak", peak.map(|(_, bytes)| bytes / bdp)),
        ("drained", peak.as_ref().and_then(low).map(|us| us / t0)),
        ("fair", fair.map(|at| (at - JOIN_AT) / t0)),
        ("carried", (carried <= line).then_some(carried)),
        ("mean", mean(&then)),
        ("back", back.map(|at| (at - end).max(0.0) / t0)),
    ])
}

fn lot(input: &Resolved, outcome: &Outcome) -> Metrics {
    let packet = &input.run.packet;
    let payload = packet.mtu.get() as f64 / (packet.mtu + packet.data_header).get() as f64;
    let most = input.run.links[0].rate.as_bps() as f64 / 1e9 * payload;
    let of = |flow: usize| goodput(outcome, flow as u32, 2000.0, 10_000.0);
    let long = of(0);
    let cross = (1..outcome.flows.len()).map(of).reduce(f64::min);
    Metrics::finite([
        ("share", Some(long / (0.5 * most))),
        ("long", Some(long)),
        ("cross", cross),
        ("carried", cross.map(|cross| 100.0 * (long + cross) / most)),
    ])
}

/// The scheme's default, by which a flow goes below the arrival rate.
const MARGIN: f64 = 0.02;

fn shared(input: &Resolved, outcome: &Outcome) -> Metrics {
    let packet = &input.run.packet;
    let data = (packet.mtu + packet.data_header).get() as f64;
    let ack = packet.ack_header.max(packet.ack_min).get() as f64;
    let line = input.run.links[0].rate.as_bps() as f64;
    // A packet of each flow, and an acknowledgement of one that came the other way.
    let share = line / 4.0 * data / (data + ack);
    let mut errors: Vec<f64> = outcome
        .flow_series
        .iter()
        .filter_map(|flow| {
            let first = flow.rate.bins().find(|bin| (bin.last as f64) < line)?;
            Some(100.0 * (first.last as f64 / (1.0 - MARGIN) / share - 1.0).abs())
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    let carried = |flows: std::ops::Range<u32>| {
        let gbps: f64 = flows.map(|flow| goodput(outcome, flow, 2000.0, 10_000.0)).sum();
        100.0 * gbps * 1e9 / (4.0 * share * packet.mtu.get() as f64 / data)
    };
    Metrics::finite([
        ("error", errors.get(errors.len() / 2).copied()),
        ("worst", errors.last().copied()),
        ("right", Some(carried(0..4))),
        ("left", Some(carried(4..8))),
        ("queue", Some(outcome.queue_max.get() as f64 / 1e3)),
    ])
}

/// Names of ports, with node and peer.
const PORTS: [(&str, u32, u32); 4] = [("P0", 0, 2), ("P1", 1, 2), ("P2", 2, 3), ("P3", 3, 8)];

/// What is looked at, in us.
const FROM: f64 = 2000.0;
const TO: f64 = 12_000.0;

fn victims(input: &Resolved, outcome: &Outcome) -> Metrics {
    let packet = &input.run.packet;
    let payload = packet.mtu.get() as f64 / (packet.mtu + packet.data_header).get() as f64;
    let is = |port: &PortRef, of: usize| (port.node.0, port.peer.0) == (PORTS[of].1, PORTS[of].2);
    let queue = |of: usize| {
        let record = outcome.queues.iter().find(|record| is(&record.port, of))?;
        let bins = record.series.bins();
        Some(
            bins.map(|bin| (bin.at.as_ps() as f64 / 1e6, bin.mean / 1e3))
                .collect::<Vec<(f64, f64)>>(),
        )
    };
    let mean_queue = |of: usize| Some(step_mean(&queue(of)?, FROM, TO));
    let paused = |of: usize| {
        let series = outcome.ports.as_ref()?;
        let place = series.ports.iter().position(|port| is(port, of))?;
        let within = |bin: &usize| {
            let at = series.begin(*bin).as_ps() as f64 / 1e6;
            (FROM..TO).contains(&at)
        };
        let bins: Vec<f64> = series
            .of_port(place)
            .enumerate()
            .filter(|(bin, _)| within(bin))
            .map(|(_, bin)| 100.0 * f64::from(bin.paused))
            .collect();
        mean(&bins)
    };
    let of = |flow: u32| goodput(outcome, flow, FROM, TO);
    let demand = |flow: u32, link: usize| {
        let link = input.run.links.get(link)?;
        Some(of(flow) / (link.rate.as_bps() as f64 / 1e9 * payload))
    };
    let mut all = Metrics::finite([
        ("demand_0", demand(0, 3)),
        ("demand_2", demand(1, 5)),
        ("goodput_0", Some(of(0))),
        ("goodput_2", Some(of(1))),
        ("goodput_1", Some(of(2))),
        ("paused_0", paused(0)),
        ("paused_1", paused(1)),
        ("paused_2", paused(2)),
        ("queue_0", mean_queue(0)),
        ("queue_1", mean_queue(1)),
        ("queue_2", mean_queue(2)),
        ("queue_3", mean_queue(3)),
    ]);
    for (of, (name, ..)) in PORTS.iter().enumerate() {
        // A point for every 100 us is what a chart can show.
        let all_points = queue(of).unwrap_or_default();
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (at, kb) in all_points {
            if points.last().is_none_or(|last| at / 1e3 - last.0 >= 0.1) {
                points.push((at / 1e3, kb));
            }
        }
        all.draw(*name, points);
    }
    all
}

/// Gbit/s that a flow got between two times in us, of recorded rates.
fn goodput(outcome: &Outcome, flow: u32, from: f64, to: f64) -> f64 {
    let width = outcome.rate_bin.as_us_f64();
    let Some(record) = outcome.rates.iter().find(|record| record.flow == flow) else {
        return 0.0;
    };
    let bins = (record.first_bin..).zip(&record.bytes);
    let within = bins.filter(|&(bin, _)| (from..to).contains(&(bin as f64 * width)));
    let bytes: u64 = within.map(|(_, &bytes)| bytes).sum();
    bytes as f64 * 8e-3 / (to - from)
}
