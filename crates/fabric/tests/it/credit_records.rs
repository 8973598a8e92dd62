//! Records of standard credits: over time, on the wire, and the ports that wait for them with their causes.

use crate::common;
use crate::networks::lanes;

use crate::common::{add_flow, run};
use paceline_congestion::detect::tcd::Variant;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, StateRecord, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{Bytes, Span, Time};

/// Arrival of the switch's first flow-control packet at host 1: the period, 8 bytes, the cable.
const TRACED: u64 = 4_096_000 + 640 + 1_000_000;
/// Time of a packet of 1050 bytes, in ps.
const PACKET: u64 = 84_000;

/// Host 1 sends three packets of 17 blocks to host 2, of which the switch's buffer holds two.
fn three_packets() -> RunSpec {
    let mut spec = lanes::star(2, lanes::ib(34));
    add_flow(&mut spec, 1, 2, 3 * 1024, 0);
    spec
}

/// Returns the value of a series at an instant: the last sample.
fn value_at(series: &StateRecord, ps: u64) -> u64 {
    let before = series.series.bins().take_while(|bin| bin.at.as_ps() <= ps);
    before.last().unwrap().last
}

/// Returns the credits of node 1 at an instant.
fn credits_at(outcome: &Outcome, ps: u64) -> u64 {
    let of_host = |one: &&StateRecord| one.port.node == NodeId(1);
    value_at(outcome.credit_series.iter().find(of_host).unwrap(), ps)
}

#[test]
fn credits_over_time_are_what_a_port_may_send() {
    let bare = run(three_packets());
    let mut spec = three_packets();
    spec.record.credit_every = Some(Span::from_ps(PACKET / 2));
    let seen = run(spec);
    assert_eq!((bare.digest, &bare.flows), (seen.digest, &seen.flows));
    // The switch has sent both packets when it announces: 34 more blocks may be sent, of which the third packet takes
    // 17.
    let expected = [
        (PACKET / 2, 17),
        (PACKET * 3 / 2, 0),
        (TRACED - PACKET, 0),
        (TRACED + PACKET, 17),
    ];
    let got = expected.map(|(at, _)| (at, credits_at(&seen, at)));
    assert_eq!(got, expected);
    // Host 1 sends data, the switch forwards it, host 2 and the switch acknowledge: nobody else used a lane.
    assert_eq!(seen.credit_series.len(), 4);
}

#[test]
fn stalls_last_from_the_packet_that_lacks_credit_to_the_credit() {
    let outcome = run(three_packets());
    assert_eq!(outcome.stalls.count, 1);
    assert_eq!(outcome.stalls.time, Span::from_ps(TRACED - 2 * PACKET));
    // With a buffer for all of them nothing waits.
    let mut spec = three_packets();
    spec.lanes.as_mut().unwrap().buffers = vec![51];
    assert_eq!(run(spec).stalls, Default::default());
}

#[test]
fn flow_control_packets_are_traced_as_they_say() {
    let mut spec = three_packets();
    spec.record.trace_nodes = vec![NodeId(0), NodeId(1)];
    let outcome = run(spec);
    let credits = |node: u32, event: TraceKind| {
        let all = common::traced(&outcome, node, event);
        all.filter(|event| event.kind == PacketKind::Credit)
    };
    let heard: Vec<_> = credits(1, TraceKind::Receive)
        .map(|event| (event.at.as_ps(), event.seq, event.payload, event.class))
        .collect();
    // Two packets have arrived, and two have room. The switch has sent nothing on the lane but two acknowledgements (30
    // bytes, a block each).
    assert_eq!(heard[0], (TRACED, 68, 2, 0));
    // Each packet that left the switch towards host 1 arrived, with the contents that it had when it left.
    let sent = credits(0, TraceKind::Dequeue).filter(|event| event.interface == 1);
    let sent: Vec<_> = sent
        .map(|event| {
            (
                event.at.as_ps() + 1_000_640,
                event.seq,
                event.payload,
                event.class,
            )
        })
        .collect();
    assert_eq!(sent, heard);
    assert!(heard.len() > 1);
    assert!(outcome.trace.iter().all(|event| {
        let of_link = event.kind == PacketKind::Credit;
        of_link == (event.flow == u32::MAX) && (!of_link || event.wire == 8)
    }));
}

/// Three hosts send to one: they wait for credits at the switch, where their packets wait at the fourth host's port.
#[test]
fn ports_that_wait_are_told_with_what_is_in_their_way() {
    for lanes in [lanes::ib(1024), lanes::cbfc(1024)] {
        let mut spec = lanes::star(4, lanes);
        (1..4).for_each(|host| add_flow(&mut spec, host, 4, 1 << 20, 0));
        let bare = run(spec.clone());
        spec.record.port_bin = Some(Span::from_us(10));
        let seen = run(spec);
        assert_eq!((bare.digest, bare.stalls), (seen.digest, seen.stalls));
        let ports = seen.ports.as_ref().unwrap();
        let place = |port: &paceline_fabric::outcome::PortRef| port.node == NodeId(1);
        let place = ports.ports.iter().position(place).unwrap();
        let causes: Vec<u16> = ports.paused_for(place).collect();
        let middle = (0..ports.bins()).filter(|&n| ports.begin(n) > Time::from_ns(50_000));
        let middle: Vec<usize> = middle
            .take_while(|&n| ports.begin(n) < Time::from_ns(200_000))
            .collect();
        assert!(middle.len() > 10);
        // The host always has data: it sends or waits, except for part of a packet at a bin's ends.
        let bins: Vec<_> = ports.of_port(place).collect();
        for &n in &middle {
            let (sent, waited) = (bins[n].utilisation, bins[n].paused);
            assert!(
                (sent + waited - 1.0).abs() < 0.02 && waited > 0.5,
                "{sent} {waited}"
            );
        }
        assert!(middle.iter().all(|&n| causes[n] == 4), "{causes:?}");
    }
}

/// Switch 0 with host 2, switch 1 with hosts 3 to 5. Hosts 2, 3 and 4 send to 5, under ternary detection.
fn two_switches(lanes: LaneSpec) -> RunSpec {
    let mut spec = lanes::row(2, 100, lanes);
    spec.nodes.extend([NodeKind::Host; 2]);
    let rate = spec.links[0].rate;
    spec.links
        .extend([common::link(1, 4, rate), common::link(1, 5, rate)]);
    (2..5).for_each(|host| add_flow(&mut spec, host, 5, 1 << 20, 0));
    spec.switch.detection = Detection::Tcd(Tcd {
        variant: Variant::Thesis,
        epsilon: 0.05,
        max_ton: Some(Span::from_us(20)),
    });
    spec.switch.ecn = common::star(1, common::scheme("dctcp")).switch.ecn;
    for curve in &mut spec.switch.ecn {
        (curve.kmin, curve.kmax) = (Bytes::new(2_000), Bytes::new(2_000));
    }
    spec.record.state_every = Some(Span::from_ns(500));
    spec
}

/// A port that waits for credits is undetermined, and the port that packets wait at is a root: in each sample, by lane,
/// whichever of a lane's priorities flows have.
#[test]
fn states_of_ports_are_sampled() {
    let mut two_lanes = lanes::ib(2048);
    two_lanes.buffers = vec![2048; 2];
    two_lanes.lane_of = [0, 1, 0, 1, 0, 1, 0, 1];
    two_lanes.arbitration = Arbitration::fair(2);
    for (lanes, lane) in [(lanes::ib(2048), 0), (two_lanes, 1), (lanes::cbfc(2048), 0)] {
        let outcome = run(two_switches(lanes));
        let of = |node: u32, peer: u32| {
            let mut all = outcome.states.iter();
            all.find(|one| (one.port.node.0, one.port.peer.0) == (node, peer))
                .unwrap()
        };
        assert!(outcome.states.iter().all(|one| one.priority == lane));
        assert_eq!(outcome.states.len(), 6, "ports of switches");
        for us in 50..200 {
            let states = [of(0, 1), of(1, 5)].map(|one| value_at(one, us * 1_000_000));
            assert_eq!(states, [2, 3], "undetermined, congested, at {us} us");
        }
    }
}
