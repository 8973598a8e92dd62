//! Hosts that take time before they answer.

use crate::common::{add_flow, assert_complete, natural, run, scheme, scheme_with, star, traced};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::{Outcome, PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

const NOTHING: Endpoint = Endpoint {
    delay: Span::ZERO,
    per_packet: Span::ZERO,
    rate: None,
    jitter: Span::ZERO,
};

/// `packets` packets of 1048 bytes from host 1 to host 2 at line rate: the first arrives at 2167.68 ns, the others
/// 83.84 ns apart.
fn line(packets: u64, endpoint: Endpoint) -> RunSpec {
    let mut spec = natural(star(2, scheme("none")));
    spec.nic.endpoint = Some(endpoint);
    spec.record.trace_nodes = vec![NodeId(2)];
    spec.record.accounts = Accounted::All;
    add_flow(&mut spec, 1, 2, 1000 * packets, 0);
    spec
}

/// Returns the departures of acknowledgements, in ps.
fn answers(outcome: &Outcome) -> Vec<u64> {
    traced(outcome, 2, TraceKind::Enqueue)
        .filter(|e| e.kind == PacketKind::Ack)
        .map(|e| e.at.as_ps())
        .collect()
}

const FIRST: u64 = 2_167_680;

#[test]
fn a_fixed_delay_holds_nothing_up() {
    let delay = Span::from_us(3);
    let spec = line(4, Endpoint { delay, ..NOTHING });
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let by_hand: Vec<u64> = (0..4).map(|i| FIRST + 83_840 * i + 3_000_000).collect();
    assert_eq!(answers(&outcome), by_hand);
    // Data counts as received when the host has delivered it.
    assert_eq!(outcome.flows[0].received, Some(Time::from_ps(by_hand[3])));
    // An ACK of 60 bytes over two links of 1 us.
    assert_eq!(outcome.flows[0].fct.as_ps(), by_hand[3] + 2 * (1_000_000 + 4_800));
    // The parts of its time sum to it (the run checks that), and the host's time is among them.
    let host = outcome.accounts[0].host;
    assert_eq!(
        (host.time, host.packets, host.total, host.max),
        (delay, 4, Span::from_us(12), delay)
    );
    assert_eq!(outcome.accounts[0].total(), outcome.flows[0].fct);
}

#[test]
fn the_engine_serves_one_packet_after_another() {
    // 50 ns and 1048 bytes at 80 Gbit/s: 154.8 ns each, while one arrives every 83.84 ns.
    let endpoint = Endpoint {
        delay: Span::from_us(1),
        per_packet: Span::from_ns(50),
        rate: Some(BitRate::from_gbps(80)),
        ..NOTHING
    };
    let spec = line(100, endpoint);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let by_hand: Vec<u64> = (1..=100).map(|i| FIRST + 154_800 * i + 1_000_000).collect();
    assert_eq!(answers(&outcome), by_hand);
    let inside = |i: u64| by_hand[i as usize] - (FIRST + 83_840 * i);
    let host = outcome.accounts[0].host;
    assert_eq!(host.max.as_ps(), inside(99));
    assert_eq!(host.total.as_ps(), (0..100).map(inside).sum::<u64>());
}

#[test]
fn jitter_is_the_hosts_own_and_keeps_the_order() {
    let endpoint = Endpoint {
        delay: Span::from_us(2),
        jitter: Span::from_us(1),
        ..NOTHING
    };
    let with = |seed| {
        let mut spec = line(400, endpoint);
        spec.seed = seed;
        run(spec)
    };
    let outcome = with(1);
    assert_eq!(outcome.counters.nacks, 0);
    let left = answers(&outcome);
    assert!(left.is_sorted());
    let arrived: Vec<u64> = (0..400).map(|i| FIRST + 83_840 * i).collect();
    let inside: Vec<u64> = left
        .iter()
        .zip(&arrived)
        .map(|(left, arrived)| left - arrived)
        .collect();
    assert!(
        inside.iter().all(|ps| (2_000_000..3_000_000).contains(ps)),
        "{inside:?}"
    );
    // Without overtaking, a packet takes the largest of its own jitter and the rests of those before it.
    let mean = inside.iter().sum::<u64>() / 400;
    assert!((2_500_000..2_950_000).contains(&mean), "{mean}");
    assert_eq!(with(1).digest, outcome.digest);
    assert_ne!(answers(&with(2)), left);
}

/// Two senders to a host that reads 40 Gbit/s from a link of 100.
fn slow_host(endpoint_window: bool) -> (RunSpec, Outcome) {
    let window = if endpoint_window { "true" } else { "false" };
    let settings = [
        ("endpoint", window),
        ("max-window", "1000"),
        ("initial-window", "1000"),
    ];
    let mut spec = natural(star(3, scheme_with("swift", WindowMode::Off, &settings)));
    spec.switch.ecn.clear();
    spec.nic.endpoint = Some(Endpoint {
        rate: Some(BitRate::from_gbps(40)),
        ..NOTHING
    });
    add_flow(&mut spec, 1, 3, 1 << 30, 0);
    add_flow(&mut spec, 2, 3, 1 << 30, 0);
    spec.stop = Time::from_ns(20_000_000);
    spec.record.queue_every = Some(Span::from_us(1));
    spec.record.queue_window = (Time::from_ns(10_000_000), spec.stop);
    spec.record.rate_every = Some(Span::from_us(10_000));
    spec.record.rtt_samples = true;
    let outcome = run(spec.clone());
    (spec, outcome)
}

/// A slow host: the endpoint's windows hold its delay at their target, and nothing waits in the network.
#[test]
fn the_endpoint_window_answers_to_a_slow_host() {
    let steady = |outcome: &Outcome| {
        let late: Vec<f64> = outcome
            .rtt_samples
            .iter()
            .filter(|sample| sample.at > Time::from_ns(10_000_000))
            .map(|sample| sample.rtt.as_us_f64())
            .collect();
        late.iter().sum::<f64>() / late.len() as f64
    };
    let (_, outcome) = slow_host(true);
    let rtt = steady(&outcome);
    // The target is 100 us in the host; the empty network's round trip takes 4.2.
    assert!((rtt - 104.2).abs() < 4.0, "{rtt} us");
    let port = |outcome: &Outcome| outcome.queues.iter().map(|queue| queue.max).max();
    assert!(
        port(&outcome).unwrap() <= Bytes::new(3 * 1060),
        "{:?}",
        port(&outcome)
    );
    // All of the host's 40 Gbit/s, of which 1000 of 1060 bytes are payload, in equal halves.
    let each: Vec<f64> = outcome
        .rates
        .iter()
        .map(|rate| rate.bytes[1] as f64 * 8.0 / 1e7)
        .collect();
    assert!((each.iter().sum::<f64>() - 40.0 / 1.06).abs() < 0.4, "{each:?}");
    assert!(
        each.iter().all(|rate| (rate / 18.9 - 1.0).abs() < 0.1),
        "{each:?}"
    );
    // Without those windows, the fabric's have no reason to shrink after their first burst: more and more packets wait
    // for the host.
    let (_, outcome) = slow_host(false);
    let rtt = steady(&outcome);
    assert!(rtt > 200.0, "{rtt} us");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(48), failure_persistence: None, ..ProptestConfig::default() })]

    /// With any delays in hosts, every flow completes, nothing is reordered, and the parts of each flow's time sum to
    /// it (the run checks that and its invariants).
    #[test]
    fn every_flow_completes(
        delay in 0..20_000u64,
        per_packet in 0..2_000u64,
        gbps in prop::option::of(5..200u64),
        jitter in 0..20_000u64,
        name in prop::sample::select(vec!["swift", "hpcc", "dcqcn", "timely"]),
        flows in prop::collection::vec((1..=4u32, 1..4u32, 1..200_000u64, 0..50_000u64), 1..20),
    ) {
        let mut spec = natural(star(4, scheme(name)));
        spec.nic.endpoint = Some(Endpoint {
            delay: Span::from_ns(delay),
            per_packet: Span::from_ns(per_packet),
            rate: gbps.map(BitRate::from_gbps),
            jitter: Span::from_ns(jitter),
        });
        spec.nic.rto = Some(Span::from_us(20_000));
        spec.record.accounts = Accounted::All;
        let mut flows = flows;
        flows.sort_by_key(|flow| flow.3);
        for (src, offset, size, start) in flows {
            add_flow(&mut spec, src, (src - 1 + offset) % 4 + 1, size, start);
        }
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        prop_assert_eq!(outcome.counters.nacks, 0);
        for (account, flow) in outcome.accounts.iter().zip(&outcome.flows) {
            prop_assert_eq!(account.total(), flow.fct);
        }
    }
}
