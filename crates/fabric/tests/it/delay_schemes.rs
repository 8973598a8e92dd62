//! DX and PowerTCP in networks: the queue that each converges to.

use crate::common::{add_flow, natural, run, scheme, scheme_with, star};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::Outcome;
use paceline_fabric::spec::*;
use paceline_kernel::{Span, Time};

/// Long flows of `flows` hosts to another, from 1 to 3 ms.
fn steady(name: &str, flows: u32) -> Outcome {
    let mut spec = natural(star(flows + 1, scheme(name)));
    for host in 1..=flows {
        add_flow(&mut spec, host, flows + 1, 1 << 30, u64::from(host) * 1000);
    }
    spec.stop = Time::from_ns(3_000_000);
    spec.record.queue_every = Some(Span::from_ns(100));
    spec.record.queue_window = (Time::from_ns(1_000_000), spec.stop);
    spec.record.rate_every = Some(Span::from_us(1000));
    run(spec)
}

/// Returns the mean queue at the receiver's port, in bytes.
fn queue(outcome: &Outcome, flows: u32) -> f64 {
    let queues = &outcome.queues;
    let queue = queues
        .iter()
        .find(|queue| queue.port.peer == NodeId(flows + 1))
        .unwrap();
    queue.sum as f64 / queue.histogram_kb.iter().sum::<u64>() as f64
}

/// Returns the rate of each flow in the last ms, in Gbit/s.
fn rates(outcome: &Outcome) -> Vec<f64> {
    outcome
        .rates
        .iter()
        .map(|rate| rate.bytes[rate.bytes.len() - 1] as f64 * 8.0 / 1e6)
        .collect()
}

/// PowerTCP's queue is the sum of the flows' β: a tenth of the bandwidth-delay product each.
#[test]
fn powertcp_queues_beta_of_each_flow() {
    for (name, headers) in [("powertcp", 90.0), ("powertcp-theta", 56.0)] {
        for flows in [2, 5, 10] {
            let outcome = steady(name, flows);
            let beta = outcome.base_rtt.as_ns_f64() * 12.5 / 10.0;
            let (queue, expected) = (queue(&outcome, flows), beta * f64::from(flows));
            assert!(
                (queue / expected - 1.0).abs() < 0.1,
                "{name} {flows}: {queue:.0} B of {expected:.0} B"
            );
            assert_shared(&outcome, 100.0 * 1000.0 / (1000.0 + headers));
        }
    }
}

/// DX's queue is a packet of each flow.
#[test]
fn dx_queues_a_packet_of_each_flow() {
    for flows in [2, 5, 10] {
        let outcome = steady("dx", flows);
        let (queue, expected) = (queue(&outcome, flows), 1056.0 * f64::from(flows));
        assert!(
            (queue / expected - 1.0).abs() < 0.05,
            "{flows}: {queue:.0} B of {expected:.0} B"
        );
        assert_shared(&outcome, 100.0 * 1000.0 / 1056.0);
    }
}

/// Asserts that the flows use the whole link, in equal shares.
fn assert_shared(outcome: &Outcome, goodput: f64) {
    let rates = rates(outcome);
    let (sum, count) = (rates.iter().sum::<f64>(), rates.len() as f64);
    assert!(sum > 0.98 * goodput, "{rates:?} of {goodput}");
    assert!(
        rates.iter().all(|rate| (rate * count / sum - 1.0).abs() < 0.05),
        "{rates:?}"
    );
}

/// Patched TIMELY with its own defaults: eight flows converge to its fixed point, a round trip of T_low (1 + N delta /
/// (beta C)) = 50 (1 + 8 * 0.1 / (0.008 * 100)) = 100 us, without any pause. Without control, or with its `beta` and
/// flows that start at line rate and decide once per round trip, PFC determines the queue.
#[test]
fn patched_timely_holds_its_queue() {
    let incast = |scheme| {
        let mut spec = natural(star(9, scheme));
        for host in 1..=8 {
            add_flow(&mut spec, host, 9, 200_000_000, 0);
        }
        spec.stop = Time::from_ps(12_000_000_000);
        spec.check = false;
        spec.record.queue_every = Some(Span::from_us(10));
        spec.record.queue_window = (Time::from_ps(9_000_000_000), spec.stop);
        run(spec)
    };
    let late = |outcome: &Outcome| outcome.queues.iter().map(|queue| queue.max.get()).max().unwrap();
    let patched = incast(scheme("timely-patched"));
    assert_eq!(patched.counters.pauses, 0);
    assert!(patched.queue_max.get() < 2_500_000, "{}", patched.queue_max);
    // 100 us less the network's 4.18 us, at 100 Gbit/s.
    let at_rest = 95.8e-6 * 100e9 / 8.0;
    let found = late(&patched) as f64;
    assert!((found / at_rest - 1.0).abs() < 0.02, "{found} against {at_rest}");
    let goodput = patched.flows.iter().map(|flow| flow.delivered.get()).sum::<u64>() as f64 * 8.0 / 12e-3;
    assert!(goodput > 92e9, "{goodput}");

    let none = incast(scheme("none"));
    let before = [("segment", "1GB"), ("start-rate", "100Gbps")];
    let untamed = incast(scheme_with("timely-patched", WindowMode::Off, &before));
    for outcome in [&none, &untamed] {
        assert!(outcome.counters.pauses > 0);
        assert!(outcome.queue_max.get() > 15_000_000, "{}", outcome.queue_max);
        assert!(late(outcome) > 5 * late(&patched), "{}", late(outcome));
    }
}
