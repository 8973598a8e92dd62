//! Series of ports and switches: step functions with a point at each change of the value.

use paceline_fabric::outcome::{PortBin, PortSeries};
use paceline_kernel::order::Sort as _;

use super::Series;

/// Share of the bin that starts at the time in which the port was sending, 0 to 1.
pub const UTILISATION: &str = "utilisation";
/// Largest queue of the port in the bin, in bytes.
pub const QUEUE_MAX: &str = "queue_max_bytes";
/// Share of the bin in which the other end paused some class of the port, 0 to 1.
pub const PAUSED: &str = "paused";
/// Under credits, the share of the bin in which some lane of the port had a packet and no credit, 0 to 1.
pub const WAITING: &str = "waiting_for_credit";
/// Data packets marked "congestion experienced" at the port in the bin.
pub const MARKS: &str = "marks";
/// Cause of a pause in the bin, if there are detectors: the interface of the peer at which most of this port's traffic
/// was queued when the peer first asked for the pause; 0 if no switch did.
pub const PAUSED_FOR: &str = "paused_for";
/// Largest buffer occupancy of the switch seen in the bin, in bytes.
pub const BUFFER: &str = "buffer_bytes";
/// Width of the bins of the others, in ps: one point, at 0, of the entity `run`.
pub const BIN: &str = "bin_ps";

/// Returns the width of the bins, then the series of each active port, then those of active switches. Bins of `asked`
/// ps were requested; `held_back` is the metric of paused time, or of waiting for credits. If the run `stands` (ends in
/// deadlock), queues, pauses and buffers never return to zero, so their last point repeats the value before it.
pub(super) fn port_series(recorded: &PortSeries, asked: u64, held_back: &str, stands: bool) -> Vec<Series> {
    let width = recorded.bin.as_ps();
    let mut all = vec![Series::new("run", BIN, vec![(0, width as f64)])];
    type Value = fn(&PortBin) -> f64;
    let metrics: [(&str, Value); 4] = [
        (UTILISATION, |bin| share(bin.utilisation)),
        (QUEUE_MAX, |bin| f64::from(bin.queue_max)),
        (held_back, |bin| share(bin.paused)),
        (MARKS, |bin| f64::from(bin.marks)),
    ];
    let mut order: Vec<usize> = (0..recorded.ports.len()).collect();
    order.order_by_key(|&port| (recorded.ports[port].node, recorded.ports[port].interface));
    let mut add = |entity: String, metric: &str, points: Vec<(u64, f64)>| {
        if !points.is_empty() {
            all.push(Series::new(entity, metric, points).in_bins(asked, width));
        }
    };
    for port in order {
        for (metric, value) in metrics {
            let lasts = stands && [QUEUE_MAX, held_back].contains(&metric);
            let points = steps(recorded, recorded.of_port(port).map(value), lasts);
            add(recorded.ports[port].to_string(), metric, points);
        }
        let points = steps(recorded, recorded.paused_for(port).map(f64::from), stands);
        add(recorded.ports[port].to_string(), PAUSED_FOR, points);
    }
    for (switch, node) in recorded.switches.iter().enumerate() {
        let points = steps(recorded, recorded.of_switch(switch).map(f64::from), stands);
        add(format!("switch {}", node.0), BUFFER, points);
    }
    all
}

/// Rounds to a ten-thousandth; further digits come only from packets that the end of a bin cuts in two.
fn share(of: f32) -> f64 {
    (f64::from(of.min(1.0)) * 1e4).round() / 1e4
}

/// Returns a point wherever the value differs from the one before, which is 0 before the first bin and after the last.
/// A value that `lasts` has a point at the end of the last bin instead.
fn steps(recorded: &PortSeries, values: impl Iterator<Item = f64>, lasts: bool) -> Vec<(u64, f64)> {
    let mut last = 0.0;
    let changes = values.enumerate().filter_map(|(n, value)| {
        let changed = value != last;
        last = value;
        changed.then(|| (recorded.begin(n).as_ps(), value))
    });
    let mut points: Vec<(u64, f64)> = changes.collect();
    if last != 0.0 {
        points.push((
            recorded.begin(recorded.bins()).as_ps(),
            if lasts { last } else { 0.0 },
        ));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use paceline_fabric::Simulation;
    use paceline_kernel::{Bytes, Span, Time};

    /// Ten packets of 1048 B from host 1 to host 4 take 83.84 ns each.
    #[test]
    fn points_where_values_change() {
        let mut spec = sample::spec();
        spec.record = Default::default();
        spec.record.port_bin = Some(Span::from_ns(100));
        spec.flows.truncate(1);
        (spec.flows[0].size, spec.flows[0].start) = (Bytes::new(10_000), Time::ZERO);
        let mut simulation = Simulation::new(spec).unwrap();
        while !simulation.advance(1000).done {}
        let outcome = simulation.finish();
        let all = port_series(outcome.ports.as_ref().unwrap(), 100_000, PAUSED, false);
        let find = |entity: &str, metric: &str| {
            let mut of = all.iter().filter(|s| s.entity == entity && s.metric == metric);
            of.next().map(|series| series.points.clone())
        };
        assert_eq!(find("run", BIN).unwrap(), [(0, 1e5)]);
        let from_host = find("port 1.1->0", UTILISATION).unwrap();
        assert_eq!(from_host, [(0, 1.0), (800_000, 0.384), (900_000, 0.0)]);
        let to_host = find("port 0.4->4", UTILISATION).unwrap();
        assert_eq!(
            to_host,
            [
                (1_000_000, 0.1616),
                (1_100_000, 1.0),
                (1_900_000, 0.2224),
                (2_000_000, 0.0)
            ]
        );
        // No port waited or paused; the other hosts were inactive.
        assert!(all[1..].iter().all(|series| series.metric == UTILISATION));
        let entities: Vec<&str> = all.iter().map(|series| &*series.entity).collect();
        assert_eq!(
            entities,
            ["run", "port 0.1->1", "port 0.4->4", "port 1.1->0", "port 4.1->0"]
        );
    }
}
