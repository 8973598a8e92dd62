//! Congestion notifications that switches make: the control loop that they shorten, their number, random networks.

use crate::common::{G100, add_flow, link, natural, run, scheme_with, star, traced};
use crate::networks::{build, case};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::Simulation;
use paceline_fabric::outcome::{Outcome, PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{Bytes, Span, Time};
use proptest::prelude::*;

const FAST: FastCnp = FastCnp {
    trigger: NoticeTrigger::Queue,
    switches: Vec::new(),
    interval: Span::from_us(4),
    delay: Span::ZERO,
    keep_mark: true,
    table: 1 << 16,
    size: Bytes::new(64),
    key: NoticeKey::Flow,
    pause: NoticePause::Off,
    shown: true,
};

/// Two hosts send to a third over a switch whose link to it takes 50 us; a step mark at 200 KB, no flow control.
fn far_receiver(fast: Option<FastCnp>) -> RunSpec {
    let settings = [("cnp-interval", "4us"), ("cut-interval", "4us")];
    let mut spec = natural(star(3, scheme_with("dcqcn", WindowMode::Off, &settings)));
    spec.links[2] = LinkSpec {
        delay: Span::from_us(50),
        ..link(0, 3, G100)
    };
    spec.switch.flow_control = FlowControl::None;
    let step = Bytes::new(200_000);
    spec.switch.ecn = vec![EcnCurve {
        rate: G100,
        kmin: step,
        kmax: step,
        pmax: 1.0,
    }];
    spec.switch.fast_cnp = fast.map(|fast| FastCnp {
        switches: vec![NodeId(0)],
        ..fast
    });
    spec.stop = Time::from_ns(400_000);
    spec.record.trace_nodes = vec![NodeId(1), NodeId(3)];
    for host in [1, 2] {
        add_flow(&mut spec, host, 3, 100_000_000, 0);
    }
    spec
}

fn cnps(outcome: &Outcome, node: u32, what: TraceKind) -> Vec<u64> {
    let all = traced(outcome, node, what).filter(|event| event.kind == PacketKind::Cnp);
    all.map(|event| event.at.as_ps()).collect()
}

/// The first cut comes earlier by the way over the receiver: both directions of its link, and what the marked packet waits
/// for. Until then two senders fill the queue at twice the rate at which it drains.
#[test]
fn the_peak_is_lower_by_the_time_that_is_saved() {
    let [standard, fast] = [None, Some(FAST)].map(|fast| run(far_receiver(fast)));
    let [first, sooner] = [&standard, &fast].map(|outcome| cnps(outcome, 1, TraceKind::Receive)[0]);
    let saved = first - sooner;
    assert!(saved > 100_000_000, "{saved} ps");
    let peaks = [&standard, &fast].map(|outcome| outcome.queue_max.get());
    // 12.5 bytes per ns beyond what drains.
    let difference = peaks[0] - peaks[1];
    let expected = saved as f64 / 1e3 * 12.5;
    assert!(
        (difference as f64 / expected - 1.0).abs() < 0.05,
        "{difference} of {expected}"
    );
    assert!(difference >= 1_250_000, "{difference}");
}

/// A switch notifies of a flow at most once in its interval and delay; without the mark the receiver notifies of nothing.
#[test]
fn one_notification_in_an_interval() {
    let late = FastCnp {
        delay: Span::from_us(2),
        interval: Span::from_us(5),
        keep_mark: false,
        ..FAST
    };
    for trigger in [NoticeTrigger::Queue, NoticeTrigger::Mark] {
        let outcome = run(far_receiver(Some(FastCnp {
            trigger,
            ..late.clone()
        })));
        let came = cnps(&outcome, 1, TraceKind::Receive);
        assert!(came.len() > 2, "{} came", came.len());
        // A CNP may wait for a packet in front of it.
        let least = came.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
        assert!(least >= 7_000_000 - 100_000, "{least}");
        assert!(cnps(&outcome, 3, TraceKind::Dequeue).is_empty());
        assert_eq!(outcome.flows[0].congested, 0);
        assert!(outcome.counters.notices >= came.len() as u64);
    }
    // With the mark, both notify.
    let outcome = run(far_receiver(Some(FAST)));
    assert!(!cnps(&outcome, 3, TraceKind::Dequeue).is_empty());
    assert!(outcome.flows[0].congested > 0);
}

/// Flows without control that a switch pauses for as long as it needs to send what it has above a threshold: the queue stays
/// near the threshold, and the port never runs dry.
#[test]
fn a_pause_drains_the_queue_and_costs_no_goodput() {
    let threshold = 200_000;
    let fast = FastCnp {
        trigger: NoticeTrigger::Above(Some(Bytes::new(threshold))),
        interval: Span::from_us(4),
        pause: NoticePause::Drain,
        shown: false,
        ..FAST
    };
    let mut spec = far_receiver(Some(fast));
    spec.schemes = vec![scheme_with("none", WindowMode::Off, &[])];
    spec.links[2] = link(0, 3, G100);
    spec.stop = Time::from_ns(2_000_000);
    for flow in &mut spec.flows {
        flow.size = Bytes::new(5_000_000);
    }
    let paused = run(spec.clone());
    // Both senders go on at their rate until they hear of it, 2 us and a packet later; then what is above the threshold
    // drains. Within the interval the queue grows by as much as drains.
    let peak = paused.queue_max.get();
    assert!((threshold..threshold + 150_000).contains(&peak), "{peak}");
    assert_eq!(paused.counters.buffer_drops, 0);
    // 10 MB and their headers, without a gap.
    let last = paused.flows.iter().map(|flow| flow.fct).max().unwrap();
    let mut free = spec.clone();
    free.switch.fast_cnp = None;
    let without = run(free);
    let least = without.flows.iter().map(|flow| flow.fct).max().unwrap();
    let lost = last.as_ps() as f64 / least.as_ps() as f64 - 1.0;
    assert!(lost.abs() < 2e-3, "{lost}");
    assert!(without.queue_max.get() > 4_000_000, "{:?}", without.queue_max);
    // A pause of fixed length: the flow sends nothing meanwhile.
    let fast = spec.switch.fast_cnp.as_mut().unwrap();
    (fast.pause, fast.interval) = (NoticePause::For(Span::from_us(30)), Span::from_us(40));
    let fixed = run(spec);
    let heard = cnps(&fixed, 1, TraceKind::Receive)[0];
    let data = traced(&fixed, 1, TraceKind::Dequeue).filter(|event| event.kind == PacketKind::Data);
    let next = data.map(|event| event.at.as_ps()).find(|&at| at > heard).unwrap();
    assert_eq!(next, heard + 30_000_000);
}

/// The threshold is what a port sends in a round trip of its link, if nothing else is said.
#[test]
fn the_threshold_follows_the_link() {
    let fast = FastCnp {
        trigger: NoticeTrigger::Above(None),
        ..FAST
    };
    let outcome = run(far_receiver(Some(fast)));
    // 100 Gbit/s and twice 50 us are 1.25 MB, which fill at 12.5 bytes per ns.
    let first = cnps(&outcome, 1, TraceKind::Receive)[0];
    let fills = 100_000_000 + 1_000_000;
    assert!(
        (fills..fills + 2_000_000).contains(&first),
        "{first} ps, where {fills} were expected"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(200), ..ProptestConfig::default() })]

    /// Every flow completes, invariants hold (the run checks them), and the run is the same again and in parts.
    #[test]
    fn random_networks(case in case(&["dcqcn", "dcqcn-paper", "dctcp", "hpcc"]), draw in any::<u64>()) {
        let mut spec = build(&case);
        spec.record.flow_probes.clear();
        spec.ties = TieOrder::Structural;
        let switches = (0..).zip(&spec.nodes).filter(|(_, kind)| **kind == NodeKind::Switch);
        let switches = switches.map(|(node, _)| NodeId(node)).filter(|node| draw >> node.0 & 1 == 0);
        spec.switch.fast_cnp = Some(FastCnp {
            trigger: match draw >> 39 & 3 {
                0 => NoticeTrigger::Queue,
                1 => NoticeTrigger::Mark,
                2 => NoticeTrigger::Above(None),
                _ => NoticeTrigger::Above(Some(Bytes::new(draw >> 20 & 0xffff))),
            },
            switches: switches.collect(),
            interval: Span::from_ns(draw >> 41 & 0x1fff),
            delay: Span::from_ns((draw >> 54 & 1) * 700),
            keep_mark: draw >> 55 & 1 == 0,
            table: 1 + (draw >> 56 & 7) as u32,
            size: Bytes::new(64),
            key: if draw >> 60 & 1 == 0 { NoticeKey::Flow } else { NoticeKey::Hosts },
            pause: [NoticePause::Off, NoticePause::Drain, NoticePause::For(Span::from_ns(draw >> 30 & 0x7fff))]
                [(draw >> 61) as usize % 3],
            shown: draw >> 63 == 0,
        });
        // Some flows keep to one path where the network spreads packets.
        if draw >> 38 & 1 == 1 {
            spec.one_path = vec![0];
        }
        let outcome = run(spec.clone());
        prop_assert_eq!(outcome.completions.len(), spec.flows.len(), "{:?}", outcome.counters);
        for account in &outcome.accounts {
            prop_assert_eq!(account.total(), outcome.flows[account.flow as usize].fct);
        }
        prop_assert_eq!(run(spec.clone()).digest, outcome.digest);
        for parts in [2, 3] {
            let mut cut = Simulation::new(spec.clone()).unwrap();
            if cut.cut(parts).is_ok() {
                while !cut.advance(1 << 16).done {}
                prop_assert!(cut.finish() == outcome, "in {} parts", parts);
            }
        }
    }
}
