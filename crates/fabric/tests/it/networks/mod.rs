//! Random networks with random traffic, pauses, losses, failures, policies.
#![allow(dead_code, unreachable_pub, reason = "each test uses what it needs")]

pub mod known;
pub mod lanes;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use paceline_congestion::entropy::{Entropy, Mrc, Selector};
use paceline_congestion::registry::{
    Incompatible, NetworkFacts, SCHEMES, Scheme, SchemeConfig, Setting, WindowMode,
};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

use crate::common::{self, add_flow, link, natural, scheme, star};

/// A network and its traffic.
#[derive(Clone, Debug)]
pub struct Case {
    switches: u32,
    /// Links between switches, in addition to a chain that connects them all.
    extra: Vec<(u32, u32)>,
    /// Switches of each host; more than one for a multi-homed host.
    homes: Vec<Vec<u32>>,
    rates: Vec<u64>,
    flows: Vec<(usize, usize, u64, u64, u8)>,
    pub scheme: &'static str,
    pub flow_control: FlowControl,
    buffer_kb: u64,
    pub error_rate: f64,
    pub failures: Vec<(usize, u64, u64)>,
    pub ack: AckPolicy,
    chunk: Option<u64>,
    recovery: Recovery,
    ties: TieOrder,
    pacing: bool,
    global_rtt: bool,
    ack_class: Option<u8>,
    /// Pause in µs after which persistent connections start again, if they do; `None` for a queue pair per flow.
    pub connections: Option<Option<u64>>,
    seed: u64,
}

fn flow_control() -> impl Strategy<Value = FlowControl> {
    let threshold = prop_oneof![
        (-2i32..5).prop_map(|shift| PfcThreshold::Dynamic {
            shift,
            reference_rate: BitRate::from_gbps(100)
        }),
        (6u64..40).prop_map(|kb| PfcThreshold::Static {
            xoff: common::kb(kb),
            xon: common::kb(kb - 3)
        }),
    ];
    let mode = prop_oneof![
        Just(PfcMode::OnOff),
        (3u64..20).prop_map(|us| PfcMode::Quanta {
            pause: Span::from_us(us)
        })
    ];
    let response = prop_oneof![
        3 => Just(PfcResponse::NONE),
        1 => (0u64..3, 0u64..5).prop_map(|(least, jitter)| PfcResponse {
            least: Span::from_us(least),
            jitter: Span::from_us(jitter),
        })
    ];
    prop_oneof![
        1 => Just(FlowControl::None),
        4 => (threshold, mode, response).prop_map(|(threshold, mode, response)| {
            FlowControl::Pfc(Pfc { threshold, resume_offset: Bytes::new(3072), mode, response })
        }),
    ]
}

/// Timeouts longer than any queue here, so that only lost packets are retransmitted.
fn recovery() -> impl Strategy<Value = Recovery> {
    let irn = (1u32..5, any::<bool>(), prop_oneof![Just(0), 1u32..8]);
    let irn = irn.prop_map(|(low_packets, bdp_cap, reordering)| {
        Recovery::SelectiveRepeat(Irn {
            rto_low: Span::from_us(1000),
            rto_high: Span::from_us(1500),
            low_packets,
            bdp_cap,
            reordering,
        })
    });
    let rud = Recovery::Rud(Rud {
        rto: Span::from_us(1000),
    });
    prop_oneof![2 => Just(Recovery::GoBackN), 2 => irn, 1 => Just(rud)]
}

/// Settings of senders and receivers, and the order of events.
fn sender() -> impl Strategy<Value = (AckPolicy, Option<u64>, TieOrder, bool, bool)> {
    let ack = prop_oneof![
        3 => Just(AckPolicy::EveryPackets(1)),
        1 => (2u32..17).prop_map(AckPolicy::EveryPackets),
        1 => (1u64..17_000).prop_map(|bytes| AckPolicy::EveryBytes(Bytes::new(bytes))),
    ];
    let chunk = prop::option::weighted(0.2, 1u64..20_000);
    let ties = prop_oneof![
        2 => Just(TieOrder::Structural),
        1 => Just(TieOrder::Insertion),
        1 => any::<u64>().prop_map(TieOrder::Shuffled),
    ];
    (ack, chunk, ties, prop::bool::weighted(0.8), any::<bool>())
}

/// Returns networks with one of these schemes.
pub fn case(schemes: &[&'static str]) -> impl Strategy<Value = Case> + use<> {
    let schemes = schemes.to_vec();
    (2u32..5, 3usize..9).prop_flat_map(move |(switches, hosts)| {
        let homes = prop::collection::vec(prop::collection::vec(0..switches, 1..3), hosts);
        let flow = (
            0..hosts,
            1..hosts,
            1u64..120_000,
            0u64..60_000,
            prop_oneof![Just(3u8), Just(3u8), 1u8..8],
        );
        let shape = (
            Just(switches),
            prop::collection::vec((0..switches, 0..switches), 0..4),
            homes,
            prop::collection::vec(prop_oneof![Just(25u64), Just(40), Just(100), Just(400)], 4),
            prop::collection::vec(flow, 1..24),
        );
        let rest = (
            prop::sample::select(schemes.clone()),
            flow_control(),
            100u64..2000,
            prop_oneof![3 => Just(0.0), 1 => 0.0001f64..0.01],
            prop_oneof![3 => Just(0), 1 => 1usize..4].prop_flat_map(|failures| {
                prop::collection::vec((0usize..8, 1u64..100_000, 1u64..100_000), failures)
            }),
            (sender(), recovery()),
            prop_oneof![Just(Some(0)), Just(None)],
            prop::option::of(prop::option::of(0u64..50)),
            any::<u64>(),
        );
        (shape, rest).prop_map(|((switches, extra, homes, rates, flows), rest)| {
            let (scheme, flow_control, buffer_kb, error_rate, failures, sender, ack_class, connections, seed) =
                rest;
            let ((ack, chunk, ties, pacing, global_rtt), recovery) = sender;
            Case {
                switches,
                extra,
                homes,
                rates,
                flows,
                scheme,
                flow_control,
                buffer_kb,
                error_rate,
                failures,
                ack,
                chunk,
                recovery,
                ties,
                pacing,
                global_rtt,
                ack_class,
                connections,
                seed,
            }
        })
    })
}

/// Returns any policy that the scheme allows; half of the time ECMP.
fn balancing(spec: &RunSpec, seed: u64) -> LoadBalancing {
    let flowlets = Flowlets {
        gap: Span::from_ns(seed >> 8 & 0xfff),
        entries: 2 << (seed >> 3 & 7),
    };
    let policy = match seed & 7 {
        0..=3 => LoadBalancing::Ecmp,
        4 => LoadBalancing::Flowlet(flowlets),
        5 => LoadBalancing::AdaptiveFlowlet(flowlets),
        6 => LoadBalancing::Spray,
        _ => LoadBalancing::Adaptive,
    };
    match spec.schemes[0].config.needs().int {
        true if policy.is_per_packet() => LoadBalancing::Flowlet(flowlets),
        _ => policy,
    }
}

/// Returns any selector, every second time with ECMP, if packets have room for the value.
fn entropy(spec: &RunSpec, seed: u64) -> Option<Entropy> {
    let needs = spec.schemes[0].config.needs();
    let may = spec.load_balancing == LoadBalancing::Ecmp && !needs.int && !needs.pint;
    let selectors = [
        Selector::Oblivious,
        Selector::Bitmap,
        Selector::Reps,
        Selector::Mixed,
    ];
    let keeps_states = matches!(spec.nic.recovery, Recovery::Rud(_)) && seed >> 50 & 1 == 0;
    (may && seed >> 40 & 1 == 0).then(|| Entropy {
        selector: match keeps_states {
            true => Selector::Mrc,
            false => selectors[(seed >> 41 & 3) as usize],
        },
        values: (1 << (seed >> 43 & 7)).max(u32::from(spec.nic.planes)),
        mrc: keeps_states.then(|| Mrc {
            in_use: 1 << (seed >> 51 & 7),
            probe_interval: Span::from_ns(500 + (seed >> 54 & 0xff) * 100),
        }),
    })
}

/// Returns the number of planes: several every fourth time, if receivers do not pace what comes by a link.
fn planes(spec: &RunSpec, seed: u64) -> u8 {
    match seed >> 36 & 7 {
        _ if spec.schemes[0].config.needs().grants => 1,
        0 => 2,
        1 => 4,
        _ => 1,
    }
}

/// Returns static next hops to some hosts in every eighth network, each on a shortest path.
fn routes(spec: &RunSpec, seed: u64) -> Vec<StaticRoute> {
    let draw = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let nodes = || (0..).zip(&spec.nodes).map(|(node, &kind)| (NodeId(node), kind));
    let chosen = |n: u32| draw >> (n % 56) & 1 == 1;
    let mut routes = Vec::new();
    for (to, _) in nodes().filter(|&(node, kind)| draw >> 61 == 0 && kind == NodeKind::Host && chosen(node.0))
    {
        let mut level = vec![to];
        let mut known = level.clone();
        while !level.is_empty() {
            let mut next = Vec::new();
            for (node, _) in nodes().filter(|(node, kind)| *kind == NodeKind::Switch && !known.contains(node))
            {
                let joins = |link: &&LinkSpec| [link.a, link.b].contains(&node);
                let peers = spec
                    .links
                    .iter()
                    .filter(joins)
                    .map(|link| if link.a == node { link.b } else { link.a });
                let mut nearer: Vec<NodeId> = peers.filter(|peer| level.contains(peer)).collect();
                nearer.dedup();
                if !nearer.is_empty() {
                    next.push(node);
                    let via = nearer[draw as usize % nearer.len()];
                    routes.extend(chosen(node.0 + 8).then_some(StaticRoute { node, to, via }));
                }
            }
            known.extend_from_slice(&next);
            level = next;
        }
    }
    routes
}

/// Returns any scheduling, half of the time round robin.
fn scheduling(seed: u64) -> Scheduling {
    match seed >> 20 & 3 {
        0 | 1 => Scheduling::RoundRobin,
        2 => Scheduling::Quantum(Bytes::new(1100 + (seed >> 22 & 0xfff))),
        _ => Scheduling::MaxMin,
    }
}

/// Gives every NIC one link that it need not choose: credits allow no other.
pub fn without_choice(spec: &mut RunSpec) {
    spec.nic.planes = 1;
    if let Some(entropy) = spec
        .entropy
        .as_mut()
        .filter(|entropy| entropy.selector == Selector::Mrc)
    {
        (entropy.selector, entropy.mrc) = (Selector::Bitmap, None);
    }
}

/// Builds the run of a case.
pub fn build(case: &Case) -> RunSpec {
    let mut spec = natural(star(2, scheme(case.scheme)));
    let hosts = case.homes.len() as u32;
    spec.nodes = (0..case.switches + hosts)
        .map(|n| {
            if n < case.switches {
                NodeKind::Switch
            } else {
                NodeKind::Host
            }
        })
        .collect();
    let rate = |i: usize| BitRate::from_gbps(case.rates[i % case.rates.len()]);
    spec.links.clear();
    for s in 1..case.switches {
        spec.links.push(link(s - 1, s, rate(s as usize)));
    }
    spec.links.extend(
        case.extra
            .iter()
            .enumerate()
            .filter(|(_, (a, b))| a != b)
            .map(|(i, &(a, b))| link(a, b, rate(i))),
    );
    spec.nic.planes = planes(&spec, case.seed);
    for (host, homes) in case.homes.iter().enumerate() {
        let links = match spec.nic.planes {
            1 => homes.len(),
            planes => usize::from(planes),
        };
        spec.links.extend(
            homes
                .iter()
                .cycle()
                .take(links)
                .map(|&s| link(case.switches + host as u32, s, rate(host))),
        );
    }
    spec.routes = routes(&spec, case.seed);
    for link in &mut spec.links {
        link.error_rate = case.error_rate;
    }
    spec.switch.ecn = [25u64, 40, 100, 400]
        .map(|g| EcnCurve {
            rate: BitRate::from_gbps(g),
            kmin: common::kb(g / 5),
            kmax: common::kb(g),
            pmax: 0.5,
        })
        .to_vec();
    spec.switch.flow_control = case.flow_control;
    // Enough for packets that arrive after a pause was sent: two cables and a frame at both ends.
    spec.switch.headroom = Headroom::PerLink {
        factor: 2.0,
        extra: Bytes::new(6000),
    };
    let headroom: u64 = spec
        .links
        .iter()
        .map(|l| 2 * (l.rate.bytes_in(l.delay).get() * 2 + 6000 + 4096))
        .sum();
    spec.switch.buffer = Bytes::new(headroom + case.buffer_kb * 1000);
    spec.nic.ack = case.ack;
    spec.nic.recovery = case.recovery;
    spec.load_balancing = balancing(&spec, case.seed);
    spec.entropy = entropy(&spec, case.seed);
    // Some have a window of their own, which may be smaller than a chunk: such runs are refused.
    let any_window = spec.schemes[0].window == WindowMode::Off && !refuses_chunks(&spec.schemes[0].config);
    // If packets overtake each other, a chunk may never arrive whole: such runs are refused.
    let in_order = spec.has_one_way_per_flow();
    if any_window && in_order && case.recovery == Recovery::GoBackN {
        spec.nic.back_to_chunk = case.chunk.map(Bytes::new);
    }
    spec.nic.pacing = case.pacing;
    spec.nic.scheduling = scheduling(case.seed);
    spec.nic.global_rtt = case.global_rtt;
    spec.ties = case.ties;
    spec.nic.ack_class = case.ack_class;
    spec.seed = case.seed;
    spec.record.accounts = Accounted::All;
    spec.record.flow_probes = (0..case.flows.len() as u32).step_by(3).collect();
    for &(which, at, span) in &case.failures {
        let at = Time::from_ns(at);
        spec.failures.push(LinkFailure {
            link: which % spec.links.len(),
            at,
            until: Some(at + Span::from_ns(span)),
        });
    }
    let mut flows = case.flows.clone();
    flows.sort_by_key(|flow| flow.3);
    for (src, offset, size, start, class) in flows {
        let dst = (src + offset) % case.homes.len();
        add_flow(
            &mut spec,
            case.switches + src as u32,
            case.switches + dst as u32,
            size,
            start,
        );
        spec.flows.last_mut().unwrap().class = class;
    }
    if let Some(idle_reset) = case.connections {
        connect(&mut spec);
        spec.nic.back_to_chunk = None;
        spec.nic.idle_reset = idle_reset.map(Span::from_us);
    }
    spec
}

/// Returns true if scenarios with this scheme may not go back to chunks.
fn refuses_chunks(config: &SchemeConfig) -> bool {
    let facts = NetworkFacts {
        acks_each_packet: true,
        chunks: true,
        pacing: true,
        marks: true,
        pauses: false,
        credits: false,
        undetermined: false,
    };
    let of_chunks = |found: &Incompatible| {
        matches!(
            found,
            Incompatible::Refused {
                setting: Setting::Chunk,
                ..
            }
        )
    };
    config.incompatible(&facts).iter().any(of_chunks)
}

/// Lets flows of the same hosts and class share a persistent connection.
pub fn connect(spec: &mut RunSpec) {
    let mut known: BTreeMap<_, (NonZeroU32, u16)> = BTreeMap::new();
    for flow in &mut spec.flows {
        let number = NonZeroU32::MIN.saturating_add(known.len() as u32);
        let key = (flow.src, flow.dst, flow.class);
        let (number, sport) = *known.entry(key).or_insert((number, flow.sport));
        (flow.connection, flow.sport) = (Some(number), sport);
    }
}

/// Returns every scheme, by every name.
pub fn schemes() -> Vec<&'static str> {
    let names = |scheme: &'static Scheme| {
        let aliases = scheme.aliases.iter().map(|alias| alias.name);
        std::iter::once(scheme.name).chain(aliases)
    };
    SCHEMES.iter().flat_map(names).collect()
}

/// Turns on all recorders except flow probes.
pub fn record(spec: &mut RunSpec) {
    let every = |us| Some(Span::from_us(us));
    spec.record.queue_every = every(1);
    spec.record.queue_window = (Time::ZERO, Time::from_ns(300_000));
    spec.record.queue_dump_every = every(10);
    spec.record.rate_every = every(3);
    spec.record.port_bin = every(2);
    spec.record.flow_every = every(2);
    spec.record.flows_max = 8;
    spec.record.trace_nodes = (0..spec.nodes.len() as u32).step_by(3).map(NodeId).collect();
    spec.record.rtt_samples = true;
    spec.record.accounts = Accounted::All;
}
