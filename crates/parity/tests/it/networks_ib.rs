//! Networks of a published InfiniBand simulator: two switches with nineteen hosts, and fat trees.
#![allow(dead_code, unreachable_pub, reason = "each test uses what it needs")]

use paceline_congestion::{ibcc::omnet as ibcc, rrcc::omnet as rrcc};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use paceline_parity::ib_omnet::*;

use super::common;

/// Size of a packet, bytes.
pub const PACKET: u64 = 2048;

/// Returns the node of a local identifier (LID): hosts are the first nodes, so LID `n` is node `n - 1`.
pub fn host(lid: u32) -> NodeId {
    NodeId(lid - 1)
}

/// Traffic of one host.
#[derive(Clone, Copy)]
pub struct Sends {
    pub from: u32,
    pub to: u32,
    pub bytes: u64,
    pub count: u32,
    pub start: Time,
    pub gap: Span,
    pub until: Option<Time>,
}

/// Builds a network with links of 32 Gbit/s payload rate and without delay. A host's number is its LID, and switch
/// `n` is `hosts + n`.
pub fn network(hosts: u32, switches: u32, links: &[(u32, u32)], sends: &[Sends], stop: Time) -> RunSpec {
    let mut spec = common::natural(common::star(1, common::scheme("none")));
    let mut credits = CreditSpec::ib_omnet();
    let kinds = [(NodeKind::Host, hosts), (NodeKind::Switch, switches)];
    let nodes = kinds
        .into_iter()
        .flat_map(|(kind, count)| (0..count).map(move |_| kind));
    spec.nodes = nodes.collect();
    spec.links = links
        .iter()
        .map(|&(a, b)| LinkSpec {
            a: host(a),
            b: host(b),
            rate: BitRate::from_gbps(32),
            delay: Span::ZERO,
            error_rate: 0.0,
        })
        .collect();
    let mut sends = sends.to_vec();
    sends.sort_by_key(|sends| sends.start);
    spec.flows.clear();
    for one in &sends {
        credits.sources.push(Source {
            first: spec.flows.len() as u32,
            count: one.count,
            start: one.start,
            gap: one.gap,
            until: one.until,
        });
        let flow = FlowSpec {
            src: host(one.from),
            dst: host(one.to),
            size: Bytes::new(one.bytes),
            start: one.start,
            class: 3,
            sport: 10000,
            dport: 100,
            label: 0,
            scheme: 0,
            connection: None,
            nics: Nics::ANY,
        };
        spec.flows.extend((0..one.count).map(|_| flow));
    }
    spec.switch.flow_control = FlowControl::None;
    spec.switch.ecn.clear();
    spec.nic.ack_class = None;
    spec.packet.mtu = Bytes::new(PACKET);
    spec.packet.data_header = Bytes::ZERO;
    spec.model = Some(Model::new(credits));
    spec.ties = TieOrder::Insertion;
    spec.stop = stop;
    spec.check = true;
    spec
}

/// Stop condition of bursty hosts, and the set of hosts that apply notifications.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// Stops after 200 messages; all hosts apply notifications.
    Messages,
    /// Stops after a millisecond; only the two permanent senders apply notifications.
    Published,
}

/// Builds the demo: H1 and H2, behind one switch, always send to H3 and H5. From 10 ms on, fifteen hosts at another
/// switch send small messages to H5, with this gap.
pub fn demo(variant: Variant, control: Control, gap: Span) -> RunSpec {
    let (far, near) = (20, 21);
    let mut links = vec![(1, near), (2, near), (3, far), (near, far)];
    links.extend((4..=19).map(|lid| (lid, far)));
    let endless = |from, to, gap| Sends {
        from,
        to,
        bytes: 20 << 22,
        count: 1,
        start: Time::ZERO,
        gap,
        until: None,
    };
    let mut sends = vec![endless(1, 3, gap), endless(2, 5, Span::from_ns(1))];
    let burst = Sends {
        from: 4,
        to: 5,
        bytes: 2 * PACKET,
        count: if variant == Variant::Messages { 200 } else { 1000 },
        start: Time::from_ns(10_000_000),
        gap,
        until: (variant == Variant::Published).then_some(Time::from_ns(11_000_000)),
    };
    sends.extend([4].into_iter().chain(6..=19).map(|from| Sends { from, ..burst }));
    let mut spec = network(19, 2, &links, &sends, Time::from_ns(30_000_000));
    let credits = CreditSpec::of_mut(&mut spec).unwrap();
    credits.control = control;
    credits.controlled = (1..=19).map(host).collect();
    credits.marking_rate = if matches!(control, Control::Ibcc(_)) { 3 } else { 1 };
    if variant == Variant::Published {
        credits.notified = Some(vec![host(1), host(2)]);
    }
    spec
}

/// Returns the demo's IBCC parameters.
pub fn ibcc_demo() -> Control {
    Control::Ibcc(ibcc::Params::with_timer(Span::from_us(30)))
}

/// Returns RRCC with its default parameters.
pub fn rrcc_default() -> Control {
    Control::Rrcc(rrcc::Params::default())
}

/// Builds a fat tree of switches with `2 * half` ports, numbered as hosts, then edge, aggregation and core switches.
/// The destination alone selects uplinks, in the same way at edge and aggregation switches.
pub fn fat_tree(half: u32, sends: &[Sends], stop: Time) -> RunSpec {
    let (edges, cores) = (2 * half * half, half * half);
    let hosts = edges * half;
    let (edge, aggregation, core) = (hosts + 1, hosts + 1 + edges, hosts + 1 + 2 * edges);
    let mut links: Vec<(u32, u32)> = (0..hosts).map(|i| (i + 1, edge + i / half)).collect();
    for one in 0..edges {
        links.extend((0..half).map(|k| (edge + one, aggregation + one / half * half + k)));
    }
    for one in 0..edges {
        links.extend((0..half).map(|k| (aggregation + one, core + half * k + one % half)));
    }
    network(hosts, 2 * edges + cores, &links, sends, stop)
}
