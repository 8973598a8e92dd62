//! Series of ports and buffers: bins computed by hand, compared with other records of a run, and their sums.

use crate::common;

use crate::common::{add_flow, assert_complete, fcts, natural, run, scheme, star, static_pfc};
use paceline_congestion::Mark;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, PortBin, PortSeries, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{Span, Time};

fn recorded(mut spec: RunSpec, bin_ns: u64) -> (Outcome, PortSeries) {
    spec.record.port_bin = Some(Span::from_ns(bin_ns));
    let outcome = run(spec);
    let ports = outcome.ports.clone().expect("asked for");
    (outcome, ports)
}

/// Returns the bins of the port from one node to another.
fn between(series: &PortSeries, from: u32, to: u32) -> Vec<PortBin> {
    let port =
        |port: &paceline_fabric::outcome::PortRef| (port.node, port.peer) == (NodeId(from), NodeId(to));
    let index = series.ports.iter().position(port).unwrap();
    series.of_port(index).copied().collect()
}

fn assert_close(found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (n, (&found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(
            (f64::from(found) - expected).abs() < 1e-4,
            "bin {n}: {found} {expected}"
        );
    }
}

/// Ten packets of 1048 B, 83.84 ns each, from 0 on; the switch sends them from 1083.84 ns on.
#[test]
fn utilisation_by_hand() {
    let mut spec = natural(star(2, scheme("none")));
    add_flow(&mut spec, 1, 2, 10_000, 0);
    let (_, series) = recorded(spec, 100);
    assert_eq!((series.bin, series.first), (Span::from_ns(100), 0));
    let shares = |from, to| -> Vec<f32> {
        between(&series, from, to)
            .iter()
            .map(|bin| bin.utilisation)
            .collect()
    };
    assert_close(
        &shares(1, 0)[..10],
        &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.384, 0.0],
    );
    let expected = [0.0, 0.1616, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.2224, 0.0];
    assert_close(&shares(0, 2)[9..21], &expected);
    // Ten acknowledgements of 60 B come back.
    assert!((shares(2, 0).iter().sum::<f32>() - 10.0 * 4.8 / 100.0).abs() < 1e-5);
    assert_eq!(shares(0, 1).len(), series.bins());
}

/// A packet that takes 15 bins, and one flow that starts late: the bins start with it.
#[test]
fn long_transmissions_are_shared_out() {
    let mut spec = natural(star(2, scheme("none")));
    spec.links
        .iter_mut()
        .for_each(|link| link.rate = paceline_kernel::BitRate::from_gbps(1));
    spec.switch.ecn.clear();
    add_flow(&mut spec, 1, 2, 1000, 1_000_350);
    let (_, series) = recorded(spec, 500);
    assert_eq!((series.first, series.begin(0)), (2000, Time::from_ns(1_000_000)));
    let shares: Vec<f32> = between(&series, 1, 0).iter().map(|bin| bin.utilisation).collect();
    // 8384 ns from 350 ns on: up to 8734 ns.
    let mut expected = vec![1.0; 18];
    (expected[0], expected[17]) = (0.3, 0.468);
    assert_close(&shares[..18], &expected);
}

/// Two hosts send four packets each at once: one leaves for two that arrive.
#[test]
fn queues_and_buffers_by_hand() {
    let mut spec = natural(star(3, scheme("none")));
    add_flow(&mut spec, 1, 3, 4000, 0);
    add_flow(&mut spec, 2, 3, 4000, 0);
    let (outcome, series) = recorded(spec, 100);
    let queues: Vec<u32> = between(&series, 0, 3)
        .iter()
        .map(|bin| bin.queue_max / 1048)
        .collect();
    assert_eq!(queues[9..18], [0, 1, 2, 3, 4, 4, 3, 1, 0]);
    assert_eq!(outcome.queue_max.get(), 4 * 1048);
    let held: Vec<u32> = series.of_switch(0).map(|bytes| bytes / 1048).collect();
    assert_eq!(held, queues);
    assert_eq!(series.switches, [NodeId(0)]);
}

/// Eight hosts overload one: pauses agree with their list, and marks with the trace.
#[test]
fn pauses_and_marks_agree_with_the_events() {
    let mut spec = natural(star(9, scheme("dcqcn")));
    static_pfc(&mut spec, 40_000, 36_000, 60_000);
    spec.switch
        .ecn
        .iter_mut()
        .for_each(|curve| curve.kmin = common::kb(20));
    spec.record.trace_nodes = vec![NodeId(0)];
    for host in 1..=8 {
        add_flow(&mut spec, host, 9, 100_000, 300 * u64::from(host));
    }
    let (outcome, series) = recorded(spec, 1000);
    assert!(outcome.counters.pauses > 8 && outcome.counters.marked > 8);
    for (index, port) in series.ports.iter().enumerate() {
        let mut paused = vec![0u64; series.bins()];
        let mut since = None;
        let of_port = |event: &&paceline_fabric::outcome::PfcEvent| {
            (event.node, event.interface) == (port.node, port.interface)
        };
        for event in outcome.pfc.iter().filter(of_port) {
            if event.pause {
                since = since.or(Some(event.at.as_ps()));
                continue;
            }
            let (from, to) = (since.take().unwrap(), event.at.as_ps());
            for (bin, sum) in (0..).zip(&mut paused) {
                let (begin, end) = (1_000_000 * bin, 1_000_000 * (bin + 1));
                *sum += to.min(end).saturating_sub(from.max(begin));
            }
        }
        assert_eq!(since, None);
        let expected: Vec<f64> = paused.iter().map(|&ps| ps as f64 / 1e6).collect();
        let found: Vec<f32> = series.of_port(index).map(|bin| bin.paused).collect();
        assert_close(&found, &expected);
    }
    let mut marks = vec![0; series.bins()];
    let is_marked = outcome.trace.iter().filter(|event| {
        event.event == TraceKind::Dequeue && event.kind == PacketKind::Data && event.mark == Mark::Congested
    });
    is_marked.for_each(|event| marks[event.at.as_ns() as usize / 1000] += 1);
    let found: Vec<u32> = between(&series, 0, 9).iter().map(|bin| bin.marks).collect();
    assert_eq!(found, marks);
    assert_eq!(u64::from(marks.iter().sum::<u32>()), outcome.counters.marked);
}

/// Bytes sent, marks and queues of a port do not depend on how often bins were merged.
#[test]
fn doubling_conserves() {
    let mut spec = natural(star(9, scheme("dcqcn")));
    static_pfc(&mut spec, 40_000, 36_000, 60_000);
    spec.switch
        .ecn
        .iter_mut()
        .for_each(|curve| curve.kmin = common::kb(20));
    for host in 1..=8 {
        add_flow(&mut spec, host, 9, 500_000, 777 * u64::from(host));
    }
    let totals = |bin_ns| {
        let (outcome, series) = recorded(spec.clone(), bin_ns);
        assert!(series.bins() <= PortSeries::BINS_MAX);
        let width = series.bin.as_ps() as f64;
        let (mut sent, mut paused, mut marks, mut queue_max) = (0.0, 0.0, 0, 0);
        for bin in (0..series.ports.len()).flat_map(|port| series.of_port(port)) {
            assert!(bin.utilisation <= 1.0001 && bin.paused <= 1.0001, "{bin:?}");
            sent += f64::from(bin.utilisation) * width * 0.0125;
            paused += f64::from(bin.paused) * width;
            marks += bin.marks;
            queue_max = bin.queue_max.max(queue_max);
        }
        assert_eq!(u64::from(queue_max), outcome.queue_max.get());
        assert_eq!(u64::from(marks), outcome.counters.marked);
        let bytes = 1048 * outcome.counters.data_hops + outcome.counters.control_bytes;
        assert!((sent / bytes as f64 - 1.0).abs() < 1e-4, "{sent} {bytes}");
        // One class: the port is paused when the class is.
        assert!((paused / outcome.counters.paused_ps as f64 - 1.0).abs() < 1e-4);
        series.bin.as_ns() / bin_ns
    };
    let doubled = [7, 100, 1000, 50_000].map(totals);
    assert!(doubled[0] >= 64 && doubled[3] == 1, "{doubled:?}");
}

/// Recording adds no event and moves none, in the structural order and in that of the reference.
#[test]
fn recording_moves_nothing() {
    for natural_order in [true, false] {
        let mut spec = star(9, scheme("dcqcn"));
        if natural_order {
            spec = natural(spec);
        }
        for host in 1..=8 {
            add_flow(&mut spec, host, 9, 100_000, 2_000_000 + 500 * u64::from(host));
        }
        let plain = run(spec.clone());
        assert_complete(&spec, &plain);
        assert!(plain.ports.is_none() && plain.flow_series.is_empty());
        (spec.record.flow_every, spec.record.flows_max) = (Some(Span::from_ns(70)), 3);
        let (seen, series) = recorded(spec, 50);
        assert_eq!(
            (seen.digest, seen.counters, seen.end),
            (plain.digest, plain.counters, plain.end)
        );
        assert_eq!((fcts(&seen), seen.queue_max), (fcts(&plain), plain.queue_max));
        // The millisecond of timers after the last packet is not recorded.
        let last = plain.flows.iter().map(|flow| flow.fct.as_ns()).max().unwrap();
        assert!(
            series.begin(series.bins()).as_ns() < 2_010_000 + last,
            "{series:?}"
        );
    }
}

/// A host that has paused its switch since long before the first flow: whole bins, and no more.
#[test]
fn pauses_from_before_the_first_bin() {
    let mut spec = natural(star(2, scheme("none")));
    add_flow(&mut spec, 1, 2, 10_000, 50_000);
    spec.storms.push(PauseStorm {
        node: NodeId(1),
        link: None,
        class: 3,
        at: Time::from_ns(5_000),
        until: Some(Time::from_ns(51_500)),
    });
    let (_, series) = recorded(spec, 1000);
    let paused: Vec<f32> = between(&series, 0, 1).iter().map(|bin| bin.paused).collect();
    // The resume frame of 64 B takes 5.12 ns and a microsecond.
    assert_close(&paused[..4], &[1.0, 1.0, 0.50512, 0.0]);
}

#[test]
fn a_run_without_flows_has_no_ports() {
    let mut spec = natural(star(2, scheme("none")));
    spec.record.port_bin = Some(Span::from_us(1));
    assert!(run(spec).ports.is_none());
}
