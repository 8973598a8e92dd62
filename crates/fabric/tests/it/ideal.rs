//! Ideal completion times, compared with runs of the flow alone.

use crate::networks::lanes;

use crate::common::{G100, add_flow, assert_complete, kb, link, natural, run, scheme, star};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

/// A network, and a flow in it.
#[derive(Clone, Debug)]
struct Case {
    /// Rates in Mbit/s and delays in ps of a chain's links: two to hosts, and one fewer between switches than there are
    /// switches.
    chain: Vec<(u64, u64)>,
    /// Links in addition to those of the chain, between any two switches.
    extra: Vec<(u32, u32, u64, u64)>,
    size: u64,
    mtu: u64,
    /// Headers of data and of acknowledgements, the smallest acknowledgement, framing.
    headers: (u64, u64, u64, u64),
    ack: AckPolicy,
    ack_class: Option<u8>,
    class: u8,
    endpoint: Option<Endpoint>,
    irn: bool,
    lossless: bool,
    pacing: bool,
    start: u64,
    ports: (u16, u16),
    seed: u64,
}

fn rate() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(100_000u64),
        Just(25_000),
        Just(40_000),
        Just(400_000),
        200u64..500_000
    ]
}

fn any_link() -> impl Strategy<Value = (u64, u64)> {
    (rate(), prop_oneof![Just(0), Just(1_000_000), 0u64..5_000_000])
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    (0u64..5_000_000, 0u64..800_000, prop::option::of(1u64..200_000)).prop_map(|(delay, per_packet, rate)| {
        Endpoint {
            delay: Span::from_ps(delay),
            per_packet: Span::from_ps(per_packet),
            rate: rate.map(mbps),
            jitter: Span::ZERO,
        }
    })
}

fn ack() -> impl Strategy<Value = AckPolicy> {
    prop_oneof![
        2 => Just(AckPolicy::EveryPackets(1)),
        1 => (0u32..20).prop_map(AckPolicy::EveryPackets),
        1 => (0u64..20_000).prop_map(|bytes| AckPolicy::EveryBytes(Bytes::new(bytes))),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let network = (
        prop::collection::vec(any_link(), 2..7),
        prop::collection::vec((0u32..5, 0u32..5, rate(), 0u64..3_000_000), 0..6),
    );
    let mtu = prop_oneof![Just(1000u64), Just(4096), Just(9000), 1u64..9500];
    let flow = (
        prop_oneof![1u64..3, 1u64..10_000, 1u64..400_000],
        mtu,
        (
            0u64..120,
            0u64..1500,
            0u64..1500,
            prop_oneof![Just(0u64), Just(20)],
        ),
        1u8..8,
        0u64..1_000_000,
        any::<(u16, u16)>(),
    );
    let hosts = (
        ack(),
        prop::option::of(0u8..8),
        prop::option::of(endpoint()),
        any::<(bool, bool, bool)>(),
        any::<u64>(),
    );
    (network, flow, hosts).prop_map(|((chain, extra), flow, hosts)| {
        let (size, mtu, headers, class, start, ports) = flow;
        let (ack, ack_class, endpoint, (irn, lossless, pacing), seed) = hosts;
        Case {
            chain,
            extra,
            size,
            mtu,
            headers,
            ack,
            ack_class,
            class,
            endpoint,
            irn,
            lossless,
            pacing,
            start,
            ports,
            seed,
        }
    })
}

fn mbps(n: u64) -> BitRate {
    BitRate::from_bps(n * 1_000_000)
}

/// Switches 0 to n - 1 in a chain, host n at its start and host n + 1 at its end.
fn network(case: &Case, name: &str) -> RunSpec {
    let switches = case.chain.len() as u32 - 1;
    let mut spec = natural(star(2, scheme(name)));
    spec.nodes = vec![NodeKind::Switch; switches as usize];
    spec.nodes.extend([NodeKind::Host; 2]);
    let mut chain: Vec<u32> = vec![switches];
    chain.extend(0..switches);
    chain.push(switches + 1);
    let with = |a: u32, b: u32, rate: u64, delay: u64| LinkSpec {
        delay: Span::from_ps(delay),
        ..link(a, b, mbps(rate))
    };
    spec.links = chain
        .windows(2)
        .zip(&case.chain)
        .map(|(ends, &(rate, delay))| with(ends[0], ends[1], rate, delay))
        .collect();
    let extra = case.extra.iter().filter_map(|&(a, b, rate, delay)| {
        let (a, b) = (a % switches, b % switches);
        (a != b).then(|| with(a, b, rate, delay))
    });
    spec.links.extend(extra);
    spec.switch.ecn.clear();
    // Large enough for everything.
    spec.switch.buffer = Bytes::new(1 << 30);
    if !case.lossless {
        spec.switch.flow_control = FlowControl::None;
    }
    spec.packet.mtu = Bytes::new(case.mtu);
    let (data, ack, least, framing) = case.headers;
    spec.packet.data_header = Bytes::new(data);
    spec.packet.ack_header = Bytes::new(ack);
    spec.packet.ack_min = Bytes::new(least.max(1));
    spec.packet.framing = Bytes::new(framing);
    spec.nic.ack = case.ack;
    spec.nic.ack_class = case.ack_class;
    spec.nic.endpoint = case.endpoint;
    spec.nic.pacing = case.pacing;
    spec.nic.rto = Some(Span::from_ns(3_000_000_000));
    if case.irn {
        spec.nic.recovery = Recovery::SelectiveRepeat(Irn {
            rto_low: Span::from_ns(3_000_000_000),
            rto_high: Span::from_ns(3_000_000_000),
            low_packets: 3,
            bdp_cap: false,
            reordering: 0,
        });
    }
    spec.seed = case.seed;
    spec.check = true;
    spec.stop = Time::from_ns(60_000_000_000);
    spec
}

fn one_flow(case: &Case, spec: &mut RunSpec) {
    let source = spec.nodes.len() as u32 - 2;
    add_flow(spec, source, source + 1, case.size, 0);
    let flow = &mut spec.flows[0];
    flow.class = case.class;
    flow.start = Time::from_ps(case.start);
    (flow.sport, flow.dport) = case.ports;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(paceline_testkit::cases(1500)))]

    /// Alone under no scheme a flow takes its ideal time, to the picosecond.
    #[test]
    fn a_flow_alone_takes_its_ideal_time(case in case()) {
        let mut spec = network(&case, "none");
        one_flow(&case, &mut spec);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        prop_assert_eq!(outcome.flows[0].fct, outcome.flows[0].ideal);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(paceline_testkit::cases(600)))]

    /// Under credits a message alone takes its ideal time too, with longer first packets, through cut-through or
    /// store-and-forward switches: as long as there is room, and no flow-control packet gets in between.
    #[test]
    fn a_message_alone_takes_its_ideal_time(
        case in case(),
        first in prop_oneof![Just(0u64), Just(16), 1u64..2000],
        header in prop::option::of(1u64..2000),
    ) {
        let case = Case { endpoint: None, mtu: case.mtu.max(400), ..case };
        let mut spec = network(&case, "none");
        spec.switch.flow_control = FlowControl::Credits;
        spec.nic.ack_class = spec.nic.ack_class.filter(|&class| class > 0);
        spec.lanes = Some(Box::new(LaneSpec {
            binding: Binding::Ib { period: Span::from_ns(50_000_000_000), phase: Phase::Aligned },
            unit: Bytes::new(20_000),
            first_header: Bytes::new(first),
            forwarding: header.map_or(Forwarding::StoreAndForward, |header| Forwarding::CutThrough {
                header: Bytes::new(header),
            }),
            ..lanes::ib(2000)
        }));
        one_flow(&case, &mut spec);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        prop_assert_eq!(outcome.flows[0].fct, outcome.flows[0].ideal);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(paceline_testkit::cases(250)))]

    /// With other flows, under any scheme and load balancing, a flow takes no less than its ideal time. (The runs check
    /// that themselves too. A lost packet may be an acknowledgement, and where those are the bottleneck, the others are
    /// back sooner.)
    #[test]
    fn no_flow_beats_its_ideal_time(
        case in case(),
        name in prop::sample::select(vec!["none", "hpcc", "dcqcn", "dctcp", "timely", "swift"]),
        balancing in 0usize..5,
        sizes in prop::collection::vec((1u64..150_000, 0u64..40_000, any::<bool>(), any::<u16>()), 1..6),
        room in any::<bool>(),
    ) {
        // HPCC's telemetry needs packets of a flow on one path.
        let name = if matches!(balancing, 1 | 2) && name == "hpcc" { "dctcp" } else { name };
        let mut spec = network(&case, name);
        if spec.schemes[0].config.needs().int && case.headers.1 + 42 > 1500 {
            spec.packet.ack_header = Bytes::new(60);
        }
        spec.nic.ack = AckPolicy::EveryPackets(1);
        let flowlets = Flowlets { gap: Span::from_ns(500), entries: 64 };
        spec.load_balancing = [
            LoadBalancing::Ecmp,
            LoadBalancing::Spray,
            LoadBalancing::Adaptive,
            LoadBalancing::Flowlet(flowlets),
            LoadBalancing::AdaptiveFlowlet(flowlets),
        ][balancing];
        if !room {
            spec.switch.buffer = kb(400);
        }
        spec.nic.rto = Some(Span::from_us(2000));
        if let Recovery::SelectiveRepeat(irn) = &mut spec.nic.recovery {
            (irn.rto_low, irn.rto_high) = (Span::from_us(2000), Span::from_us(2000));
            irn.bdp_cap = room;
        }
        let source = spec.nodes.len() as u32 - 2;
        let mut starts = sizes;
        starts.sort_by_key(|&(_, start, ..)| start);
        for (size, start, there, port) in starts {
            let (src, dst) = if there { (source, source + 1) } else { (source + 1, source) };
            add_flow(&mut spec, src, dst, size, start);
            spec.flows.last_mut().unwrap().sport = port;
        }
        // Flows that keep losing packets need not end.
        spec.stop = Time::from_ns(50_000_000);
        let outcome = run(spec);
        let lost = outcome.counters.buffer_drops + outcome.counters.link_drops > 0;
        for flow in &outcome.flows {
            prop_assert!(lost || flow.fct == Span::ZERO || flow.fct >= flow.ideal, "{flow:?}");
        }
    }
}

/// One byte over two hops of 10 Gbit/s with packets of up to 9000 bytes: a small packet's time at each link, not a full
/// one's.
#[test]
fn a_byte_is_not_a_full_packet() {
    let mut spec = natural(star(2, scheme("none")));
    for link in &mut spec.links {
        link.rate = BitRate::from_gbps(10);
    }
    spec.switch.ecn.clear();
    spec.packet.mtu = Bytes::new(9000);
    add_flow(&mut spec, 1, 2, 1, 0);
    let outcome = run(spec);
    // 49 bytes there and 60 back at 0.8 ns each, twice; four cables.
    let ps = 2 * (49 + 60) * 800 + 4 * 1_000_000;
    assert_eq!(outcome.flows[0].ideal.as_ps(), ps);
    assert_eq!(outcome.flows[0].fct.as_ps(), ps);
}

/// HPCC's formula, if requested, is as published: no bound, and longer for small messages.
#[test]
fn by_formula() {
    let mut spec = natural(star(2, scheme("none")));
    spec.quirks.ideal_by_formula = true;
    add_flow(&mut spec, 1, 2, 1, 0);
    let outcome = run(spec);
    // Two payloads of 1000 bytes, 49 bytes, four cables.
    assert_eq!(outcome.flows[0].ideal.as_ps(), 2 * 80_000 + 49 * 80 + 4_000_000);
    assert!(outcome.flows[0].fct < outcome.flows[0].ideal);
}

/// A leaf and a spine, four links of 40 Gbit/s between them, hosts of 100: packet by packet, all links together are
/// faster than the host; one alone is not.
#[test]
fn many_ways() {
    let ideal = |policy, gbps| {
        let mut spec = natural(star(2, scheme("none")));
        spec.nodes = vec![NodeKind::Switch, NodeKind::Switch, NodeKind::Host, NodeKind::Host];
        let fabric = (0..4).map(|_| link(0, 1, BitRate::from_gbps(gbps)));
        spec.links = fabric.chain([link(0, 2, G100), link(1, 3, G100)]).collect();
        spec.load_balancing = policy;
        spec.switch.ecn.clear();
        add_flow(&mut spec, 2, 3, 1_000_000, 0);
        run(spec).flows[0].ideal.as_ps()
    };
    let (packet, ack) = (1048 * 80, 60 * 80);
    // 1000 packets out of the host, one more over each of two links, and an acknowledgement over three.
    let ways = |middle: u64, back: u64| 1000 * packet + middle + packet + 2 * ack + back + 6_000_000;
    let one = |gbps: u64| 1048 * 8000 / gbps;
    assert_eq!(ideal(LoadBalancing::Spray, 40), ways(one(40), 60 * 8000 / 40));
    assert_eq!(ideal(LoadBalancing::Spray, 100), ideal(LoadBalancing::Ecmp, 100));
    // One link of 40 Gbit/s carries them one after another.
    let ecmp = packet + 1000 * one(40) + packet + 2 * ack + 60 * 8000 / 40 + 6_000_000;
    assert_eq!(ideal(LoadBalancing::Ecmp, 40), ecmp);
    // Four of 20 together are slower than the host.
    let spread = packet + 1048 * 1000 * 8000 / 80 + packet + 2 * ack + 60 * 8000 / 20 + 6_000_000;
    assert_eq!(ideal(LoadBalancing::Adaptive, 20), spread);
}
