//! One-way latency of data packets.

use crate::common::{add_flow, natural, run, scheme, star};
use paceline_fabric::spec::{Endpoint, RunSpec};
use paceline_kernel::{Bytes, Span};

/// Host 1 sends to host 2 through a switch, in packets of 1000 bytes, 1048 on the wire.
fn one_flow(size: u64) -> RunSpec {
    let mut spec = natural(star(3, scheme("none")));
    add_flow(&mut spec, 1, 2, size, 0);
    spec.record.latency = true;
    spec
}

/// Returns the time of a packet with this payload alone, in ps: twice onto a wire at 100 Gbit/s, and twice 1 µs.
fn alone(payload: u64) -> u64 {
    2 * (payload + 48) * 80 + 2_000_000
}

#[test]
fn packets_alone_take_what_links_take() {
    let latency = run(one_flow(3_500)).latency.unwrap();
    assert_eq!((latency.samples, latency.max_ps), (4, alone(1_000)));
    // The last is shorter, and waits at the switch until the one before has left.
    assert_eq!(
        latency.sum_ps,
        u128::from(3 * alone(1_000) + alone(500) + 500 * 80)
    );
}

#[test]
fn it_is_recorded_only_where_it_is_asked_for() {
    let mut spec = one_flow(3_500);
    let seen = run(spec.clone());
    spec.record.latency = false;
    let plain = run(spec);
    assert!(plain.latency.is_none());
    assert_eq!(plain.digest, seen.digest);
}

/// The second of two packets that meet waits for the first.
#[test]
fn a_queue_is_part_of_it() {
    let mut spec = one_flow(1_000);
    add_flow(&mut spec, 3, 2, 1_000, 0);
    let latency = run(spec).latency.unwrap();
    assert_eq!(latency.samples, 2);
    assert_eq!(latency.sum_ps, u128::from(2 * alone(1_000) + 1_048 * 80));
}

/// The time in the receiver's host is part of the latency.
#[test]
fn a_host_is_part_of_it() {
    let mut spec = one_flow(1_000);
    spec.nic.endpoint = Some(Endpoint {
        delay: Span::from_us(3),
        per_packet: Span::ZERO,
        rate: None,
        jitter: Span::ZERO,
    });
    let latency = run(spec).latency.unwrap();
    assert_eq!(latency.max_ps, alone(1_000) + 3_000_000);
}

/// Lost packets have no latency; packets that arrive twice have one each time.
#[test]
fn each_that_comes_counts() {
    let mut spec = one_flow(200_000);
    spec.links[1].error_rate = 0.02;
    let outcome = run(spec);
    let latency = outcome.latency.unwrap();
    assert!(outcome.counters.link_drops > 0 && outcome.flows[0].retransmitted > Bytes::ZERO);
    assert_eq!(latency.samples, outcome.counters.data_received);
    assert!(latency.samples > 200);
}
