//! Credits of Ethernet: closed forms, the plain model of one direction, what a link loses.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::common::{add_flow, natural, run, scheme_with, star, traced};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::outcome::{Outcome, PacketKind, TraceKind};
use paceline_fabric::probes::CbfcLane;
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

/// Rates are 800 Gbit/s: ten picoseconds a byte.
const BYTE: u64 = 10;
/// Both ends' processing counts as delay of the cable: 300 ns, and 5 ns/m.
fn cable(metres: u64) -> u64 {
    150_000 + 5_000 * metres
}

/// A saturated direction of a link.
#[derive(Clone, Debug)]
struct Link {
    frame: u64,
    delay: u64,
    unit: u64,
    overhead: i64,
    limit: u64,
    cf_min: u64,
    cf_max: u64,
    cc_timer: u64,
    frames: u64,
    /// Time during which CF_Updates are lost, in ps.
    deaf: Option<(u64, u64)>,
}

impl Link {
    fn credits(&self) -> u64 {
        ((self.frame as i64 + self.overhead) as u64).div_ceil(self.unit)
    }

    fn slot(&self) -> u64 {
        (self.frame + 20) * BYTE
    }

    /// Returns the frames whose credits keep the line busy: the closed form.
    fn enough(&self) -> u64 {
        let round = self.slot() + 2 * self.delay + (self.cf_min + 8) * BYTE;
        round.div_ceil(self.slot())
    }
}

/// Returns a link of `frame` bytes over `metres` with CC_Updates that do not matter, and `frames` frames' credits.
fn link(frame: u64, metres: u64, (unit, overhead, cf_min): (u64, i64, u64)) -> Link {
    let mut link = Link {
        frame,
        delay: cable(metres),
        unit,
        overhead,
        limit: 0,
        cf_min,
        cf_max: 65_536,
        cc_timer: 1_000_000_000_000,
        frames: 6_000,
        deaf: None,
    };
    link.limit = link.credits() * link.enough();
    link
}

/// Returns the same link as a network of two hosts, of which the second answers the last packet alone.
fn network(link: &Link) -> RunSpec {
    let mut spec = natural(star(2, scheme_with("none", WindowMode::Off, &[])));
    spec.nodes = vec![NodeKind::Host, NodeKind::Host];
    spec.links = vec![LinkSpec {
        a: NodeId(0),
        b: NodeId(1),
        rate: BitRate::from_gbps(800),
        delay: Span::from_ps(link.delay),
        error_rate: 0.0,
    }];
    let payload = link.frame - 48;
    spec.packet.mtu = Bytes::new(payload);
    spec.packet.framing = Bytes::new(20);
    spec.nic.ack = AckPolicy::EveryPackets(u32::MAX);
    spec.nic.ack_class = None;
    spec.nic.rto = None;
    spec.switch.flow_control = FlowControl::Credits;
    spec.switch.ecn.clear();
    spec.stop = Time::from_ns(50_000_000);
    spec.record.trace_nodes = vec![NodeId(1)];
    spec.lanes = Some(Box::new(LaneSpec {
        binding: Binding::Cbfc(Cbfc {
            overhead: link.overhead as i16,
            cf_min: Bytes::new(link.cf_min),
            cf_max: Bytes::new(link.cf_max),
            cc_timer: Span::from_ps(link.cc_timer),
            phase: Phase::Aligned,
            scope: Scope::Lane,
        }),
        unit: Bytes::new(link.unit),
        buffers: vec![link.limit as u32],
        lane_of: [0; 8],
        update: Bytes::new(8),
        first_header: Bytes::ZERO,
        forwarding: Forwarding::StoreAndForward,
        release: Release::End,
        arbitration: Arbitration::fair(1),
    }));
    if let Some((from, until)) = link.deaf {
        spec.noise
            .push(noise(Fault::Credits, false, None, (from, Some(until))));
    }
    add_flow(&mut spec, 0, 1, payload * link.frames, 0);
    spec
}

fn noise(fault: Fault, at_b: bool, numbers: Option<Numbers>, (from, until): (u64, Option<u64>)) -> Noise {
    Noise {
        link: 0,
        at_b,
        at: Time::from_ps(from),
        until: until.map(Time::from_ps),
        kind: NoiseKind::Script(fault, numbers),
    }
}

/// Returns the deliveries at a host.
fn delivered(outcome: &Outcome, host: u32) -> Vec<u64> {
    let data = traced(outcome, host, TraceKind::Receive).filter(|event| event.kind == PacketKind::Data);
    data.map(|event| event.at.as_ps()).collect()
}

/// Returns the counters of both ends.
fn counters(outcome: &Outcome) -> [CbfcLane; 2] {
    let table = outcome.tables.iter().find_map(|table| table.rows::<CbfcLane>());
    let rows = table.expect("a link under credits");
    [rows[0].clone(), rows[1].clone()]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Free,
    Arrive,
    Tell { repeats: bool },
    Told { freed: u64 },
    Count,
}

/// Runs a saturated direction in the plainest words: endless counters, one heap. Returns the deliveries.
fn plain(link: &Link) -> Vec<u64> {
    let (slot, k) = (link.slot(), link.credits());
    let mut steps = BinaryHeap::from([Reverse((0, Step::Free))]);
    let mut delivered = Vec::new();
    // The sender's counters, and the end of what it sends.
    let (mut consumed, mut known, mut busy) = (0u64, 0u64, 0u64);
    let (mut counts_due, mut tick) = (false, false);
    // The receiver's.
    let (mut freed, mut last, mut due, mut repeats) = (0u64, None::<u64>, false, false);
    while let Some(Reverse((now, step))) = steps.pop() {
        match step {
            Step::Free => {}
            Step::Arrive => {
                delivered.push(now);
                freed += k;
                if !std::mem::replace(&mut due, true) {
                    let at = last.map_or(now, |last| now.max(last + link.cf_min * BYTE));
                    steps.push(Reverse((at, Step::Tell { repeats: false })));
                }
            }
            Step::Tell { repeats: again } => {
                if again {
                    repeats = false;
                    let next = last.unwrap() + link.cf_max * BYTE;
                    if next > now {
                        repeats = true;
                        steps.push(Reverse((next, Step::Tell { repeats: true })));
                        continue;
                    }
                    if known == freed {
                        continue;
                    }
                } else {
                    due = false;
                }
                last = Some(now);
                let sent = now + 8 * BYTE;
                if link.deaf.is_none_or(|(from, until)| sent < from || sent >= until) {
                    steps.push(Reverse((sent + link.delay, Step::Told { freed })));
                }
                if link.deaf.is_some() && !std::mem::replace(&mut repeats, true) {
                    steps.push(Reverse((now + link.cf_max * BYTE, Step::Tell { repeats: true })));
                }
            }
            Step::Told { freed } => known = freed,
            Step::Count => {
                counts_due = true;
                tick = false;
            }
        }
        if now < busy {
            continue;
        }
        if std::mem::take(&mut counts_due) {
            busy = now + 84 * BYTE;
        } else if consumed < k * link.frames && consumed - known + k <= link.limit {
            consumed += k;
            busy = now + slot;
            steps.push(Reverse((busy + link.delay, Step::Arrive)));
            if !std::mem::replace(&mut tick, true) {
                steps.push(Reverse(((now / link.cc_timer + 1) * link.cc_timer, Step::Count)));
            }
        } else {
            continue;
        }
        steps.push(Reverse((busy, Step::Free)));
    }
    delivered
}

/// Checks the engine against the plain model, and returns the share of the line's rate that the frames get.
fn both(link: &Link) -> f64 {
    let outcome = run(network(link));
    let ours = delivered(&outcome, 1);
    let plain = plain(link);
    let differs = ours.iter().zip(&plain).position(|(a, b)| a != b);
    assert!(
        differs.is_none() && ours.len() == plain.len(),
        "{link:?}: {:?} of {} and {}",
        differs.map(|n| (n, ours[n], plain[n])),
        ours.len(),
        plain.len()
    );
    let [a, b] = counters(&outcome);
    let all = (link.frames * link.credits() % (1 << 20)) as u32;
    assert_eq!((a.s_cc, b.r_cc, b.r_cf), (all, all, all), "{link:?}");
    (link.frames * link.slot()) as f64 / (ours[ours.len() - 1] - link.delay) as f64
}

/// A limit of `k ceil(T_c / slot)` carries the full rate, one packet less does not: an independent program's figures.
#[test]
fn the_smallest_limit_for_the_full_rate_is_the_closed_forms() {
    let cases = [
        (64, 5, (64, -4, 800), 428, 0.99948),
        (4178, 5, (256, 0, 800), 170, 0.96371),
        (4178, 5, (256, 0, 6400), 187, 0.93718),
        (1518, 40, (256, 0, 6400), 306, 0.99136),
        (64, 500, (64, -4, 800), 6321, 0.99998),
    ];
    // Programs may differ by a packet, as an update and a frame of one instant have no order.
    for (frame, metres, wire, limit, less) in cases {
        let mut link = link(frame, metres, wire);
        link.frames = if limit > 3_000 { 40_000 } else { 6_000 };
        assert_eq!(link.limit, limit, "{frame} bytes");
        assert_eq!(both(&link), 1.0, "{frame} bytes");
        link.limit -= link.credits();
        let got = both(&link);
        assert!(
            (got - less).abs() < 1e-4,
            "{frame} bytes, one packet less: {got}, not {less}"
        );
    }
}

/// Sizes and overheads by hand, and a million packets, more than the counters can hold.
#[test]
fn packets_take_whole_credits_and_counters_wrap_around() {
    for (frame, credits) in [(64, 1), (68, 1), (69, 2), (1518, 24)] {
        assert_eq!(link(frame, 5, (64, -4, 800)).credits(), credits);
        let mut link = link(frame, 5, (64, -4, 800));
        link.frames = 50;
        both(&link);
    }
    let mut link = link(1518, 5, (64, -4, 800));
    link.frames = 1_000_000;
    let mut spec = network(&link);
    spec.record.trace_nodes.clear();
    let [a, b] = counters(&run(spec));
    assert_eq!([a.s_cc, b.r_cc, b.r_cf, a.s_cf], [931_328; 4]);
}

/// Frames that a link has lost take their credits along until a CC_Update says so.
#[test]
fn lost_frames_cost_credits_until_counts_come() {
    let mut link = link(1518, 5, (64, -4, 800));
    link.frames = 100;
    link.limit = 1 << 15;
    link.cc_timer = 10_000_000;
    let mut spec = network(&link);
    spec.noise.push(noise(Fault::Bad, true, None, (0, None)));
    spec.stop = Time::from_ns(500_000);
    let mut without = spec.clone();
    without.noise.push(noise(Fault::Counts, true, None, (0, None)));
    let [a, b] = counters(&run(without));
    assert_eq!((a.s_cc, a.s_cf, b.r_cc, b.rx_cc_updates), (2400, 0, 0, 0));
    assert!(a.tx_cc_updates > 10, "counts are repeated until they are known");
    let [a, b] = counters(&run(spec));
    assert_eq!((a.s_cc, a.s_cf, b.r_cc, b.restored), (2400, 2400, 2400, 2400));
}

/// A lane that stands still fills a buffer that all lanes of the port share.
#[test]
fn a_shared_buffer_is_full_for_all() {
    let goodput = |scope| {
        // Two lanes into a switch, of which lane 0 goes to a host behind a link that is slow.
        let mut spec = network(&link(1518, 5, (64, -4, 800)));
        spec.noise.clear();
        spec.record.trace_nodes = vec![NodeId(2), NodeId(3)];
        spec.nodes = vec![NodeKind::Switch, NodeKind::Host, NodeKind::Host, NodeKind::Host];
        let to = |host, gbps| LinkSpec {
            a: NodeId(0),
            b: NodeId(host),
            rate: BitRate::from_gbps(gbps),
            ..spec.links[0].clone()
        };
        spec.links = vec![to(1, 800), to(2, 1), to(3, 800)];
        let lanes = spec.lanes.as_mut().unwrap();
        lanes.lane_of = [0, 0, 1, 0, 0, 0, 0, 0];
        lanes.buffers = vec![2000, 2000];
        lanes.arbitration = Arbitration::fair(2);
        if let Binding::Cbfc(cbfc) = &mut lanes.binding {
            cbfc.scope = scope;
        }
        spec.flows.clear();
        add_flow(&mut spec, 1, 2, 1470 * 200_000, 0);
        add_flow(&mut spec, 1, 3, 1470 * 200_000, 0);
        (spec.flows[0].class, spec.flows[1].class) = (1, 2);
        spec.stop = Time::from_ns(1_000_000);
        let outcome = run(spec);
        let [slow, fast] = [2, 3].map(|host| delivered(&outcome, host).len() as f64 * 1470.0 * 8.0 / 1e6);
        assert!(slow < 2.0, "{slow} Gbit/s");
        fast
    };
    assert!(goodput(Scope::Lane) > 390.0);
    assert!(goodput(Scope::Port) < 2.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(paceline_testkit::cases(60)))]

    /// Each frame arrives to the picosecond as in the plain model.
    #[test]
    fn frames_arrive_as_in_the_plain_model(
        frame in 64u64..9_000,
        metres in 1u64..300,
        (unit, overhead) in (32u64..2_048, -16i64..128),
        (cf_min, more) in (8u64..7_000, 8_000u64..100_000),
        share in 0.02f64..2.0,
        timer in 0.12f64..1.0,
        deaf in prop::option::of((0.0f64..0.9, 0.0f64..0.4)),
    ) {
        let mut link = link(frame, metres, (unit, overhead, cf_min));
        link.cf_max = cf_min + more;
        link.limit = ((link.limit as f64 * share) as u64).max(link.credits());
        link.frames = 400;
        let least = link.frames * link.slot();
        // Fewer than ten counts, at times that no frame begins or ends at: these are multiples of ten picoseconds.
        let lasts = plain(&link).last().unwrap() * 2;
        link.cc_timer = (lasts as f64 * timer) as u64 / 10 * 10 + 3;
        link.deaf = deaf.map(|(from, share)| {
            let from = (least as f64 * from) as u64 / 10 * 10;
            (from + 1, from + 1 + (least as f64 * share) as u64)
        });
        both(&link);
    }
}
