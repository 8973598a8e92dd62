//! Networks and traffic for measurements of the engine.

#[path = "../../tests/it/common/mod.rs"]
mod common;
#[path = "../../tests/it/networks/lanes.rs"]
mod lanes;

use std::num::NonZeroU32;

use common::{G100, G400, add_flow, link, natural, scheme, scheme_with, star};
use paceline_congestion::detect::tcd::Variant;
use paceline_congestion::registry::WindowMode;
use paceline_fabric::Simulation;
use paceline_fabric::spec::{
    Accounted, Detection, DropPolicy, EcmpHash, FlowControl, FlowSpec, Forwarding, Irn, NodeId, NodeKind,
    Recovery, Release, RunSpec, Tcd,
};
use paceline_kernel::{Bytes, Span, Time};

/// Start of the flows, in ns.
const START: u64 = 2_000_000_000;

/// A name, and the function that builds the run.
type Workload = (&'static str, fn() -> RunSpec);

/// Workloads that are measured.
pub(crate) const WORKLOADS: [Workload; 19] = [
    ("incast-16/ns3-hpcc", || incast(16)),
    ("incast-16/exact", || exact(incast(16))),
    ("permutation-k4/ns3-hpcc", || permutation(4, "hpcc")),
    ("permutation-k4/exact", || exact(permutation(4, "hpcc"))),
    ("permutation-k8/exact", || exact(permutation(8, "hpcc"))),
    ("permutation-k8/dcqcn", || exact(permutation(8, "dcqcn"))),
    ("permutation-k8/dcqcn-tcd", || {
        detecting(exact(permutation(8, "dcqcn")))
    }),
    ("incast-20/ns3-hpcc", || incast(20)),
    ("incast-20/exact", || exact(incast(20))),
    ("incast-20/exact+ports+accounts", || {
        recorded(exact(incast(20)), "ports+accounts")
    }),
    ("permutation-k16/exact", || exact(permutation(16, "hpcc"))),
    ("permutation-k32/exact", || exact(permutation(32, "hpcc"))),
    ("messages-20000/hpcc", || exact(messages())),
    ("crowd-8190/swift", || exact(crowd())),
    ("connections-8190/irn", || {
        connections(Recovery::SelectiveRepeat(IRN))
    }),
    ("connections-8190/go-back-n", || connections(Recovery::GoBackN)),
    ("permutation-k8/ib", || on_credit(permutation(8, "none"))),
    ("permutation-k8/ibcc", || on_credit(permutation(8, "ibcc"))),
    ("permutation-k16/ib", || on_credit(permutation(16, "none"))),
];

/// Returns `spec` under InfiniBand's credits, with cut-through switches and routes by destination.
fn on_credit(spec: RunSpec) -> RunSpec {
    let mut lanes = lanes::ib(1288);
    lanes.forwarding = Forwarding::CutThrough {
        header: Bytes::new(20),
    };
    lanes.release = Release::Start;
    RunSpec {
        ecmp_hash: EcmpHash::DModK,
        check: false,
        ..lanes::under(spec, lanes)
    }
}

/// Returns `spec` in exact time, without the checks that tests make.
fn exact(spec: RunSpec) -> RunSpec {
    RunSpec {
        check: false,
        ..natural(spec)
    }
}

/// Returns `spec` with ternary congestion detection at all ports, as in its authors' thesis.
fn detecting(mut spec: RunSpec) -> RunSpec {
    spec.switch.detection = Detection::Tcd(Tcd {
        variant: Variant::Thesis,
        epsilon: 0.05,
        max_ton: None,
    });
    spec
}

/// Returns `spec` with some of the recorders that scenarios have by default: `ports` in bins, `accounts` of all flows.
fn recorded(mut spec: RunSpec, recorders: &str) -> RunSpec {
    for recorder in recorders.split('+') {
        match recorder {
            "ports" => spec.record.port_bin = Some(Span::from_us(1)),
            "accounts" => spec.record.accounts = Accounted::All,
            other => panic!("there is no recorder `{other}`: there are ports and accounts"),
        }
    }
    spec
}

/// Returns the workload of this name, which may be followed by recorders: `incast-20/exact+ports+accounts`.
#[allow(
    dead_code,
    reason = "the benchmarks measure all, instructions are counted of one"
)]
pub(crate) fn find(name: &str) -> Option<RunSpec> {
    let find = |name: &str| WORKLOADS.iter().find(|(known, _)| *known == name);
    if let Some((_, spec)) = find(name) {
        return Some(spec());
    }
    let (name, recorders) = name.split_once('+')?;
    let (_, spec) = find(name)?;
    Some(recorded(spec(), recorders))
}

/// Incast: `senders` hosts send 500 KB each to one more through a switch, under HPCC.
fn incast(senders: u32) -> RunSpec {
    let mut spec = star(senders + 1, scheme("hpcc"));
    for sender in 1..=senders {
        add_flow(&mut spec, sender, senders + 1, 500_000, START);
    }
    spec
}

/// Fat tree with switches of `k` ports (Al-Fares et al., SIGCOMM 2008): `k³ / 4` hosts, then edge, aggregation and core
/// switches. Every host sends 200 KB to the one half the network away.
fn permutation(k: u32, name: &str) -> RunSpec {
    let half = k / 2;
    let hosts = k * half * half;
    let (edge, aggregation) = (hosts, hosts + k * half);
    let core = aggregation + k * half;
    let nodes = core + half * half;
    let mut spec = star(2, scheme(name));
    spec.nodes = (0..nodes)
        .map(|node| {
            if node < hosts {
                NodeKind::Host
            } else {
                NodeKind::Switch
            }
        })
        .collect();
    spec.links = (0..hosts)
        .map(|host| link(host, edge + host / half, G100))
        .collect();
    for pod in 0..k {
        for (a, b) in (0..half).flat_map(|a| (0..half).map(move |b| (a, b))) {
            let above = aggregation + pod * half + b;
            spec.links.push(link(edge + pod * half + a, above, G100));
            spec.links.push(link(above, core + b * half + a, G100));
        }
    }
    for host in 0..hosts {
        add_flow(&mut spec, host, (host + hosts / 2) % hosts, 200_000, START);
    }
    spec
}

/// 90 hosts send 91 flows each to one more through a switch for 4 ms, under Swift: 8190 windows far below a packet,
/// which pacing spreads.
fn crowd() -> RunSpec {
    let mut spec = star(91, scheme("swift"));
    for sender in (1..=90).flat_map(|host| [host; 91]) {
        add_flow(&mut spec, sender, 91, 10_000_000, START);
    }
    spec.stop = Time::from_ns(START) + Span::from_us(4000);
    spec
}

const IRN: Irn = Irn {
    rto_low: Span::from_us(2000),
    rto_high: Span::from_us(2000),
    low_packets: 3,
    bdp_cap: true,
    reordering: 0,
};

/// 90 hosts with 91 persistent connections each, to one more through a 400 Gbit/s switch that drops what its queue of 1
/// MB has no room for. A second message of 64 KB is posted 1 ms after the first. Tuned Swift, whose windows are far
/// below a packet.
fn connections(recovery: Recovery) -> RunSpec {
    let settings = [
        ("base-delay", "10us"),
        ("fs-range", "8us"),
        ("fs-min", "0.0001"),
        ("min-window", "0.001"),
        ("initial-window", "0.05"),
    ];
    let mut spec = exact(star(91, scheme_with("swift", WindowMode::Off, &settings)));
    spec.links.iter_mut().for_each(|link| link.rate = G400);
    spec.switch.flow_control = FlowControl::None;
    spec.switch.loss.drop = DropPolicy::Tail(Bytes::new(1_000_000));
    (spec.nic.recovery, spec.nic.rto) = (recovery, Some(Span::from_us(2000)));
    add_flow(&mut spec, 1, 91, 64_000, START);
    let first = spec.flows[0];
    let posted = [START, START + 1_000_000].map(Time::from_ns).into_iter();
    spec.flows = posted
        .flat_map(|start| (0..8190).map(move |connection| (start, connection)))
        .map(|(start, connection)| FlowSpec {
            src: NodeId(1 + connection / 91),
            sport: 10_000 + (connection % 91) as u16,
            start,
            connection: NonZeroU32::new(1 + connection),
            ..first
        })
        .collect();
    spec.stop = Time::from_ns(START) + Span::from_us(4000);
    spec
}

/// 20,000 messages of a packet each, one every 20 ns, on a fat tree with 16 hosts: the cost of starting and ending a
/// flow.
fn messages() -> RunSpec {
    let mut spec = permutation(4, "hpcc");
    spec.flows.clear();
    for message in 0..20_000 {
        let (src, distance) = (message % 16, 1 + message / 16 % 15);
        add_flow(
            &mut spec,
            src,
            (src + distance) % 16,
            1000,
            START + 20 * u64::from(message),
        );
    }
    spec
}

/// Runs to the end. Returns (packet-hops, events).
#[inline(never)]
pub(crate) fn simulate(simulation: &mut Simulation) -> (u64, u64) {
    loop {
        let progress = simulation.advance(1 << 20);
        if progress.done {
            return (progress.packet_hops, progress.events);
        }
    }
}
