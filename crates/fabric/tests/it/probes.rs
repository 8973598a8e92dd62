//! Small runs of the reference that pin one rule each: acknowledgement threshold, link errors, telemetry units, target
//! utilisation, missing window, additive stages, class of ACKs.

use crate::common::{add_flow, fcts, run, scheme, scheme_with, star};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::Bytes;

const T0: u64 = 2_000_000_000;

/// One flow alone between two hosts.
fn alone(scheme: SchemeSpec, size: u64, change: impl FnOnce(&mut RunSpec)) -> Outcome {
    let mut spec = star(2, scheme);
    add_flow(&mut spec, 1, 2, size, T0);
    change(&mut spec);
    run(spec)
}

fn fct(scheme: SchemeSpec, size: u64, change: impl FnOnce(&mut RunSpec)) -> u64 {
    fcts(&alone(scheme, size, change))[0]
}

fn lossy(rate: f64) -> impl FnOnce(&mut RunSpec) {
    move |spec| spec.links.iter_mut().for_each(|link| link.error_rate = rate)
}

/// Four ACKs at multiples of the chunk (4, 8, 12, 16 KB), then one per packet from 20 KB on: the interval is a
/// threshold on the sequence number.
#[test]
fn acknowledgement_threshold() {
    let outcome = alone(scheme("dcqcn"), 100_000, |spec| {
        spec.nic.ack = AckPolicy::EveryBytes(Bytes::new(20_000));
        spec.nic.ack_chunk = Bytes::new(4000);
    });
    // Each crosses two links.
    assert_eq!(outcome.counters.ack_hops, 2 * 85);
    assert_eq!(fcts(&outcome), [12_391]);
}

#[test]
fn link_errors_come_from_one_stream() {
    let outcome = alone(scheme("dcqcn"), 1_000_000, lossy(0.01));
    assert_eq!(outcome.counters.data_received, 1850);
    assert_eq!(fcts(&outcome), [160_404]);
    let outcome = alone(scheme("hpcc"), 10_000_000, lossy(0.001));
    assert_eq!(outcome.counters.data_received, 10_964);
    assert_eq!(fcts(&outcome), [1_011_632]);
}

#[test]
fn telemetry_units_and_target() {
    let size = 10_000_000;
    assert_eq!(fct(scheme("hpcc"), size, |spec| spec.int_multi = 4), 921_013);
    assert_eq!(fct(scheme("hpcc"), size, |spec| spec.int_multi = 1), 921_216);
    let eager = scheme_with("hpcc", WindowMode::Variable, &[("eta", "0.99")]);
    assert_eq!(fct(eager, size, |_| ()), 884_514);
}

/// Without a window the reference's HPCC divides by its zero.
#[test]
fn window_off() {
    let unbounded = scheme_with("hpcc", WindowMode::Off, &[]);
    assert_eq!(fct(unbounded, 1_000_000, |_| ()), 329_491);
}

/// Mean slowdown of 16 simultaneous flows of 500 KB, in hundredths.
#[test]
fn additive_stages() {
    for (stages, expected) in [("0", 1492), ("5", 1553)] {
        let mut spec = star(
            17,
            scheme_with("hpcc", WindowMode::Variable, &[("max-stage", stages)]),
        );
        for host in 1..=16 {
            add_flow(&mut spec, host, 17, 500_000, T0);
        }
        let outcome = run(spec);
        let sum: f64 = outcome
            .flows
            .iter()
            .map(|flow| flow.fct.as_ps() as f64 / flow.ideal.as_ps() as f64)
            .sum();
        assert_eq!(
            (sum / 16.0 * 100.0).round() as u64,
            expected,
            "max-stage {stages}"
        );
    }
}

/// ACKs have high priority in the host's NIC alone: switches queue them with the data.
#[test]
fn high_priority_acknowledgements() {
    let outcome = alone(scheme("dcqcn"), 10_000, |spec| {
        spec.quirks.ack_high_priority = true;
        spec.record.trace_nodes = vec![NodeId(0)];
    });
    assert_eq!(fcts(&outcome), [4921]);
    let acks = outcome
        .trace
        .iter()
        .filter(|event| event.kind == PacketKind::Ack && event.event == TraceKind::Enqueue);
    let classes: Vec<u8> = acks.map(|event| event.class).collect();
    assert_eq!(classes, [3; 10]);
}

/// A host that is paused in class 3 holds its ACKs back, unless they have high priority there.
#[test]
fn pauses_hold_acknowledgements() {
    let first_acks = |high: bool| {
        // Hosts 1 and 2 overload host 3; host 1 also receives, so its ACKs meet the pause.
        let mut spec = star(4, scheme("none"));
        spec.quirks.ack_high_priority = high;
        spec.switch.buffer = Bytes::new(1 << 20);
        add_flow(&mut spec, 1, 3, 1_000_000, T0);
        add_flow(&mut spec, 2, 3, 1_000_000, T0);
        add_flow(&mut spec, 4, 1, 1_000_000, T0);
        let outcome = run(spec);
        assert!(outcome.counters.pauses > 0);
        fcts(&outcome)[2]
    };
    // Data in one direction never waits, so if ACKs are not held back the flow is as fast as alone.
    assert!(first_acks(true) < 90_000, "{}", first_acks(true));
    assert!(first_acks(false) > 90_000, "{}", first_acks(false));
}
