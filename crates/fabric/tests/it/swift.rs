//! Swift in networks: the queue that it holds, and windows below one packet.

#![allow(clippy::disallowed_macros, reason = "a test says what it measured")]

use crate::common::{G100, add_flow, assert_complete, link, natural, run, scheme_with, star, traced};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::TraceKind;
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};

/// Swift in packets of 1500 bytes, without a window for endpoints.
fn swift(settings: &[(&str, &str)]) -> SchemeSpec {
    let settings = [&[("endpoint", "false")], settings].concat();
    scheme_with("swift", WindowMode::Off, &settings)
}

/// The dumbbell of Bolt's simulations: hosts of 102 Gbit/s at two switches (0 and 1) with one link of 100 Gbit/s
/// between them, 1.272 us each; `flows` flows that do not end.
fn dumbbell(flows: u32) -> RunSpec {
    let mut spec = natural(star(2, swift(&[("max-window", "256")])));
    spec.nodes = vec![NodeKind::Switch; 2];
    spec.nodes.extend(vec![NodeKind::Host; 2 * flows as usize]);
    let at = |a, b, rate| LinkSpec {
        delay: Span::from_ns(1272),
        ..link(a, b, rate)
    };
    let host = BitRate::from_gbps(102);
    spec.links = vec![at(0, 1, G100)];
    spec.links
        .extend((0..2 * flows).map(|n| at(n / flows, 2 + n, host)));
    spec.switch.ecn.clear();
    spec.switch.flow_control = FlowControl::None;
    let packet = &mut spec.packet;
    packet.mtu = Bytes::new(1459);
    (packet.data_header, packet.ack_header, packet.ack_min) =
        (Bytes::new(33), Bytes::new(33), Bytes::new(41));
    for flow in 0..flows {
        add_flow(&mut spec, 2 + flow, 2 + flows + flow, 1 << 30, 0);
    }
    spec.stop = Time::from_ns(4_000_000);
    spec
}

/// N equal flows hold the round-trip time at the target for their windows, so the queue is the rest beyond the empty
/// network's round trip.
#[test]
fn the_standing_queue_is_the_target() {
    // Equation (1) with the default parameters.
    let alpha = 100_000.0 / (1.0 / f64::sqrt(0.1) - 1.0 / 16.0);
    for flows in [1, 2, 5] {
        let mut spec = dumbbell(flows);
        spec.record.queue_every = Some(Span::from_ns(100));
        spec.record.queue_window = (Time::from_ns(2_000_000), Time::from_ns(4_000_000));
        let outcome = run(spec);
        let queue = &outcome.queues[0];
        assert_eq!((queue.port.node, queue.port.peer), (NodeId(0), NodeId(1)));
        let measured = queue.sum as f64 / queue.histogram_kb.iter().sum::<u64>() as f64;
        // 6 * 1272 ns, a data packet three times, an ACK three times.
        let empty = 7_632.0 + 1500.0 * 8.0 * (2.0 / 102.0 + 0.01) + 41.0 * 8.0 * (2.0 / 102.0 + 0.01);
        let mut rtt = 10_000.0;
        for _ in 0..200 {
            let cwnd = rtt * 12.5 / 1500.0 / f64::from(flows);
            rtt = 13_000.0 + alpha / f64::sqrt(cwnd) - alpha / 16.0;
        }
        let predicted = (rtt - empty) * 12.5;
        assert!(
            (measured / predicted - 1.0).abs() < 0.015,
            "{flows}: {measured:.0} B of {predicted:.0} B"
        );
    }
}

/// A window of a quarter of a packet is a packet every four round trips.
#[test]
fn below_one_packet_a_packet_leaves_every_rtt_over_cwnd() {
    let settings = [("initial-window", "0.25"), ("max-window", "0.25")];
    let mut spec = natural(star(2, swift(&settings)));
    add_flow(&mut spec, 1, 2, 50_000, 0);
    spec.record.trace_nodes = vec![NodeId(1)];
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let left: Vec<u64> = traced(&outcome, 1, TraceKind::Dequeue)
        .map(|e| e.at.as_ps())
        .collect();
    assert_eq!(left.len(), 50);
    // Two links of 1 us: a packet of 1056 bytes and an ACK of 60 bytes, twice each.
    let rtt = 4_000_000 + 2 * (84_480 + 4_800);
    for pair in left.windows(2).skip(1) {
        let gap = pair[1] - pair[0];
        assert!(gap.abs_diff(4 * rtt) <= 1000, "{gap} ps of {}", 4 * rtt);
    }
}

/// 600 flows into one port: windows below one packet fill the link, and the queue stays near its target. With windows
/// of at least one packet there would always be 600 packets.
#[test]
fn many_flows_share_a_port_with_windows_below_one_packet() {
    let mean_queue = |min_window: &str| {
        let settings = [
            ("min-window", min_window),
            ("initial-window", "1"),
            ("flow-scaling", "false"),
        ];
        let mut spec = natural(star(11, swift(&settings)));
        for flow in 0..600 {
            add_flow(&mut spec, 1 + flow % 10, 11, 1 << 30, 0);
        }
        spec.stop = Time::from_ns(6_000_000);
        spec.record.queue_every = Some(Span::from_us(1));
        spec.record.queue_window = (Time::from_ns(3_000_000), Time::from_ns(6_000_000));
        spec.record.rate_every = Some(Span::from_us(3000));
        let outcome = run(spec);
        let queue = outcome
            .queues
            .iter()
            .find(|queue| queue.port.peer == NodeId(11))
            .unwrap();
        let delivered: u64 = outcome.rates.iter().filter_map(|rate| rate.bytes.last()).sum();
        let gbps = delivered as f64 * 8.0 / 3e6;
        (
            queue.sum as f64 / queue.histogram_kb.iter().sum::<u64>() as f64,
            gbps,
        )
    };
    let (queue, gbps) = mean_queue("0.01");
    let (full, _) = mean_queue("1");
    eprintln!("{queue:.0} B at {gbps:.1} Gbit/s; at least one packet: {full:.0} B");
    // The target of 12 us leaves 7.8 us of queue, 98 KB, in addition to the increases of 600 flows.
    assert!((98_000.0..147_000.0).contains(&queue), "{queue:.0} B");
    // 1000 of 1056 bytes are payload.
    assert!(gbps > 94.0, "{gbps:.1} Gbit/s");
    // 600 packets, of which 52 are on the wire.
    assert!(full > 550_000.0, "{full:.0} B");
}

/// Eight links between two switches, one of them 20 us longer, and packets of one flow on all of them: Swift collapses to
/// sqrt(1.5 / q) packets, at q = 1/8. Five late acknowledgements in a row are rare, and a median of many delays is never
/// late.
#[test]
fn one_late_path_of_eight() {
    let goodput = |scheme: &str, settings: &[(&str, &str)]| {
        let mut spec = natural(star(2, scheme_with(scheme, WindowMode::Off, settings)));
        spec.nodes = vec![NodeKind::Switch, NodeKind::Switch, NodeKind::Host, NodeKind::Host];
        spec.links = (0..8).map(|_| link(0, 1, G100)).collect();
        spec.links[7].delay = Span::from_us(21);
        spec.links.extend([link(0, 2, G100), link(1, 3, G100)]);
        spec.switch.ecn.clear();
        spec.load_balancing = LoadBalancing::Spray;
        spec.nic.recovery = Recovery::Rud(Rud {
            rto: Span::from_us(200),
        });
        add_flow(&mut spec, 2, 3, 20_000_000, 0);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        20_000_000.0 * 8000.0 / outcome.flows[0].fct.as_ps() as f64
    };
    let settings = [("base-delay", "7us"), ("flow-scaling", "false")];
    let [swift, lswift, mswift] = ["swift", "lswift", "mswift"].map(|scheme| goodput(scheme, &settings));
    // About one window in 10 us, the mean of the round trips.
    let collapsed = f64::sqrt(1.5 * 8.0) * 8.0 / 10.0;
    println!("{swift:.2} (closed form {collapsed:.2}), {lswift:.2}, {mswift:.2} Gbit/s");
    assert!((0.5..2.0).contains(&(swift / collapsed)), "{swift}");
    assert!(swift < 0.2 * lswift && lswift <= mswift, "{lswift} {mswift}");
    assert!(mswift > 80.0, "{mswift}");
    // NSCC cuts at marks alone, of which there are none; the late path makes it grow less, and MNSCC ignores it.
    let [nscc, mnscc] = ["nscc", "mnscc"].map(|scheme| goodput(scheme, &[]));
    println!("{nscc:.2}, {mnscc:.2} Gbit/s");
    assert!(mnscc > 0.95 * nscc, "{nscc} {mnscc}");
}
