//! Series of queues: the bins of a long run agree with its samples.

use crate::common::{add_flow, natural, run, scheme, star};
use paceline_fabric::outcome::{Bin, QueueRecord};
use paceline_fabric::spec::RunSpec;
use paceline_kernel::{Span, Time};

const EVERY: Span = Span::from_ns(100);
const END_MS: u64 = 24;
/// Number of parts of the time, each with few enough samples for single bins.
const PARTS: u64 = 4;

/// Bulk flows to host 4 and, every millisecond, 20 KB to host 5 from two hosts at once.
fn bulk_and_bursts() -> RunSpec {
    let mut spec = natural(star(7, scheme("hpcc")));
    spec.check = false;
    for host in 1..=3 {
        add_flow(&mut spec, host, 4, 1_000_000_000, 0);
    }
    for ms in 1..END_MS {
        for host in [6, 7] {
            add_flow(&mut spec, host, 5, 20_000, ms * 1_000_000);
        }
    }
    spec.stop = Time::from_ns(END_MS * 1_000_000);
    spec.record.queue_every = Some(EVERY);
    spec.record.queue_window = (Time::ZERO, spec.stop);
    spec
}

/// Returns every sample of some ports, from runs that each sample a part of the time.
fn samples<const N: usize>(spec: &RunSpec, interfaces: [usize; N]) -> [Vec<u64>; N] {
    let mut all = [const { Vec::new() }; N];
    let part = END_MS * 1_000_000 / PARTS;
    for k in 0..PARTS {
        let mut spec = spec.clone();
        let from = Time::from_ns(k * part);
        let to = from + Span::from_ps(part * 1000 - EVERY.as_ps());
        spec.record.queue_window = (from, to);
        spec.stop = to + EVERY;
        let outcome = run(spec);
        for (all, interface) in all.iter_mut().zip(interfaces) {
            let series = &outcome.queues[interface].series;
            assert_eq!(series.width(), EVERY, "not thinned");
            let mut held = 0;
            let mut bins = series.bins().peekable();
            for n in 0..part * 1000 / EVERY.as_ps() {
                let at = from + Span::from_ps(n * EVERY.as_ps());
                held = bins.next_if(|bin| bin.at == at).map_or(held, |bin| bin.last);
                all.push(held);
            }
        }
    }
    all
}

/// Asserts that each bin agrees with its samples. A bin of several samples has the first of the next.
fn agree(record: &QueueRecord, samples: &[u64]) {
    let factor = (record.series.width().as_ps() / EVERY.as_ps()) as usize;
    let parts: Vec<&[u64]> = samples.chunks(factor).collect();
    let mut bins = record.series.bins().peekable();
    let mut held: Option<Bin> = None;
    for (n, part) in parts.iter().enumerate() {
        let at = Time::from_ps(n as u64 * record.series.width().as_ps());
        if let Some(bin) = bins.next_if(|bin| bin.at == at) {
            held = Some(bin);
        }
        let found = held.map_or((0, 0, 0, 0.0), |bin| (bin.min, bin.max, bin.last, bin.mean));
        let sum: u64 = part.iter().sum();
        let expected = (
            *part.iter().min().unwrap(),
            *part.iter().max().unwrap(),
            part[part.len() - 1],
            sum as f64 / part.len() as f64,
        );
        assert_eq!(found, expected, "bin {n} at {at}");
    }
}

#[test]
fn a_port_that_empties_is_empty_whatever_other_ports_do() {
    let spec = bulk_and_bursts();
    let outcome = run(spec.clone());
    let [bulk, bursts] = [3, 4].map(|interface| &outcome.queues[interface]);
    assert_eq!((bulk.port.peer.0, bursts.port.peer.0), (4, 5));
    // The busy port is thinned, independently of the other.
    assert!(bulk.series.width() > EVERY);
    assert_eq!(bursts.series.width(), EVERY);
    let [in_bulk, in_bursts] = samples(&spec, [3, 4]);
    assert!(in_bursts.iter().max().unwrap() > &10_000);
    agree(bulk, &in_bulk);
    agree(bursts, &in_bursts);
    // Between bursts the port is empty, and recorded as empty: after each, a point at 0.
    let bins: Vec<Bin> = bursts.series.bins().collect();
    for ms in 2..END_MS {
        let before = Time::from_ns(ms * 1_000_000 - 1000);
        let held = bins.iter().rev().find(|bin| bin.at <= before).unwrap();
        assert_eq!((held.max, held.last), (0, 0), "before {ms} ms");
        assert!(
            held.at < Time::from_ns((ms - 1) * 1_000_000 + 100_000),
            "{}",
            held.at
        );
    }
}
