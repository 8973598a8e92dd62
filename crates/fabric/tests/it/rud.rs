//! Reliable unordered delivery, and paths that senders choose packet by packet.

use crate::common::{self, G100, add_flow, assert_complete, kb, link, natural, run, scheme, star};
use paceline_congestion::entropy::{Entropy, Selector};
use paceline_congestion::registry::WindowMode;
use paceline_fabric::Outcome;
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};

const RUD: Recovery = Recovery::Rud(Rud {
    rto: Span::from_us(200),
});

const SELECTORS: [Selector; 4] = [
    Selector::Oblivious,
    Selector::Bitmap,
    Selector::Reps,
    Selector::Mixed,
];

/// Two switches (0 and 1) with links of these rates between them, `hosts` hosts at each: 2 to `hosts + 1`, then the
/// rest.
fn parallel(uplinks: &[BitRate], hosts: u32, selector: Option<Selector>) -> RunSpec {
    let mut spec = natural(star(2, scheme("none")));
    spec.nodes = vec![NodeKind::Switch; 2];
    spec.nodes.resize(2 + 2 * hosts as usize, NodeKind::Host);
    spec.links = uplinks.iter().map(|&rate| link(0, 1, rate)).collect();
    for host in 0..2 * hosts {
        spec.links.push(link(u32::from(host >= hosts), 2 + host, G100));
    }
    spec.switch.ecn.clear();
    spec.nic.recovery = RUD;
    spec.entropy = selector.map(|selector| Entropy {
        selector,
        values: 64,
        mrc: None,
    });
    spec
}

fn data_by_interface(outcome: &Outcome, uplinks: usize) -> Vec<usize> {
    let mut counts = vec![0; uplinks];
    for event in common::traced(outcome, 0, TraceKind::Dequeue) {
        if event.kind == PacketKind::Data {
            counts[event.interface as usize - 1] += 1;
        }
    }
    counts
}

/// One flow uses all links, each data packet is acknowledged over the link that it took, and nothing is retransmitted
/// although packets overtake each other.
#[test]
fn packets_of_a_flow_take_all_links() {
    for selector in SELECTORS {
        let mut spec = parallel(&[G100; 4], 1, Some(selector));
        spec.record.trace_nodes = vec![NodeId(0)];
        add_flow(&mut spec, 2, 3, 4_000_000, 0);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        assert_eq!(outcome.counters.retransmitted_bytes, 0);
        let counts = data_by_interface(&outcome, 4);
        // 1000 of each on average; of 64 values, the number per link is binomial: three standard deviations of the
        // share are 650.
        assert!(
            counts.iter().all(|&count| count > 350),
            "{selector:?}: {counts:?}"
        );
        assert_eq!(counts.iter().sum::<usize>(), 4000);
    }
}

/// Two flows at line rate over two links: one flow each if ECMP is lucky, both on one otherwise. With spraying, both
/// complete in little more than the time that one takes alone.
#[test]
fn two_flows_share_two_links_evenly() {
    let mut spec = parallel(&[G100; 2], 2, Some(Selector::Mixed));
    for host in [2, 3] {
        add_flow(&mut spec, host, host + 2, 4_000_000, 0);
    }
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    for flow in &outcome.flows {
        let slowdown = flow.fct.as_ps() as f64 / flow.ideal.as_ps() as f64;
        assert!((1.0..1.1).contains(&slowdown), "{slowdown}");
    }
}

/// One of four links has a tenth of the rate of the others. Selectors that use marks and trims avoid it.
#[test]
fn feedback_avoids_a_slow_link() {
    let share = |selector| {
        let mut spec = parallel(&[BitRate::from_gbps(10), G100, G100, G100], 1, Some(selector));
        spec.switch.ecn = [10, 100]
            .map(|g| EcnCurve {
                rate: BitRate::from_gbps(g),
                kmin: kb(2),
                kmax: kb(10),
                pmax: 1.0,
            })
            .to_vec();
        spec.record.trace_nodes = vec![NodeId(0)];
        add_flow(&mut spec, 2, 3, 4_000_000, 0);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        data_by_interface(&outcome, 4)[0] as f64 / 4000.0
    };
    let oblivious = share(Selector::Oblivious);
    assert!((0.1..0.4).contains(&oblivious), "{oblivious}");
    for selector in [Selector::Bitmap, Selector::Reps, Selector::Mixed] {
        let listening = share(selector);
        assert!(
            listening < 0.75 * oblivious,
            "{selector:?}: {listening}, {oblivious}"
        );
    }
}

/// An incast into a switch that trims: each trimmed packet is retransmitted once per trim, and nothing waits for a
/// timeout. The window limits retransmissions too: with two packets each, the queue is short.
#[test]
fn trimmed_packets_are_sent_again_within_the_window() {
    let mut spec = star(9, common::scheme_with("none", WindowMode::Fixed, &[]));
    spec = natural(spec);
    spec.switch.ecn.clear();
    spec.switch.flow_control = FlowControl::None;
    spec.switch.loss.drop = DropPolicy::Tail(Bytes::new(20_000));
    spec.switch.loss.trim = Some(Trim { queue: kb(100) });
    spec.nic.recovery = RUD;
    for sender in 1..9 {
        add_flow(&mut spec, sender, 9, 200_000, 0);
    }
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let counters = &outcome.counters;
    assert!(counters.trimmed > 100, "{counters:?}");
    assert_eq!((counters.timeouts, counters.buffer_drops), (0, 0));
    assert_eq!(counters.retransmitted_bytes, 1000 * counters.trimmed);
    assert_eq!(counters.nacks, counters.trimmed);
    // Each packet that was sent was trimmed or arrived, once.
    assert_eq!(counters.data_received, 8 * 200);
}

/// The link fails for a while: packets lost on it are retransmitted after a timeout, one by one.
#[test]
fn what_a_broken_link_lost_is_sent_again() {
    for selector in SELECTORS {
        let mut spec = parallel(&[G100; 2], 1, Some(selector));
        spec.failures = vec![LinkFailure {
            link: 0,
            at: Time::from_ns(20_000),
            until: Some(Time::from_ns(500_000)),
        }];
        add_flow(&mut spec, 2, 3, 1_000_000, 0);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let counters = &outcome.counters;
        assert!(counters.link_drops > 0 && counters.timeouts > 0, "{counters:?}");
        // ACKs are lost too: the packets that they acknowledged arrive twice.
        assert!(counters.retransmitted_bytes <= 1000 * counters.timeouts);
    }
}

/// Acknowledgements stand for several packets: 16 kB here, but at once for the first, the last, and marked ones.
#[test]
fn acknowledgements_are_coalesced() {
    let mut spec = natural(star(2, scheme("none")));
    spec.switch.ecn.clear();
    spec.nic.recovery = RUD;
    spec.nic.ack = AckPolicy::EveryBytes(Bytes::new(16_000));
    spec.record.trace_nodes = vec![NodeId(2)];
    add_flow(&mut spec, 1, 2, 320_000, 0);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let acks = common::traced(&outcome, 2, TraceKind::Dequeue).filter(|event| event.kind == PacketKind::Ack);
    // The first packet, then 19 times 16, then the 15 that are left.
    assert_eq!(acks.count(), 21);
}

/// The incast under a receiver's grants: after the first windows the queue is short, nobody waits for a timeout, and
/// all flows end at nearly the same time.
#[test]
fn grants_share_a_link() {
    let run_of = |name: &str| {
        let mut spec = natural(star(9, scheme(name)));
        spec.switch.flow_control = FlowControl::None;
        spec.switch.loss.drop = DropPolicy::Tail(Bytes::new(60_000));
        spec.switch.loss.trim = Some(Trim { queue: kb(100) });
        spec.nic.recovery = RUD;
        spec.record.accounts = Accounted::All;
        for sender in 1..9 {
            add_flow(&mut spec, sender, 9, 1_000_000, 0);
        }
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        outcome
    };
    for name in ["rccc", "nscc-rccc"] {
        let outcome = run_of(name);
        let counters = &outcome.counters;
        // One of eight sends at a time: a flow spends nearly all of its time waiting for grants.
        for account in &outcome.accounts {
            let fct = outcome.flows[account.flow as usize].fct;
            assert_eq!(account.total(), fct);
            let held_back = account.sender.grants + account.sender.window;
            assert!(
                held_back.as_ps() as f64 > 0.7 * fct.as_ps() as f64,
                "{name}: {account:?}"
            );
            let by_grants = account.sender.grants > account.sender.window;
            assert!(by_grants || name == "nscc-rccc", "{name}: {account:?}");
            assert_eq!(account.sender.pacing, Span::ZERO);
        }
        assert!(
            counters.grants > 400 && counters.timeouts == 0,
            "{name}: {counters:?}"
        );
        // 16 kB each, to eight flows of 1 MB, and a little ahead at their ends; fewer bytes each if windows are
        // smaller.
        let most = if name == "rccc" { 800 } else { 2000 };
        assert!(counters.grants < most, "{name}: {counters:?}");
        let ends: Vec<f64> = outcome
            .flows
            .iter()
            .map(|flow| flow.fct.as_ps() as f64 / 1e6)
            .collect();
        let last = ends.iter().copied().fold(0.0, f64::max);
        let first = ends.iter().copied().fold(f64::MAX, f64::min);
        // 8 MB of payload in packets of 1000 and 56 or 64 bytes of headers at 99 % of 100 Gbit/s take some 690 us.
        assert!((660.0..730.0).contains(&last), "{name}: {last}");
        // Credit is shared evenly; additional windows of senders are not.
        let share = if name == "rccc" { 0.8 } else { 0.5 };
        assert!(first > share * last, "{name}: {first} to {last}");
    }
}

/// Every packet has a timer: losses within a window are retransmitted independently, each packet a timeout after its
/// last transmission, so that ten losses cost one timeout.
#[test]
fn losses_wait_side_by_side() {
    let rto = Span::from_us(100);
    for seed in 1..=8 {
        let mut spec = natural(star(2, scheme("none")));
        for link in &mut spec.links {
            link.rate = BitRate::from_gbps(400);
            link.error_rate = 0.01;
        }
        spec.seed = seed;
        spec.packet.mtu = Bytes::new(4096);
        spec.switch.flow_control = FlowControl::None;
        spec.switch.ecn.clear();
        spec.nic.recovery = Recovery::Rud(Rud { rto });
        spec.record.trace_nodes = vec![NodeId(1)];
        add_flow(&mut spec, 1, 2, 4_000_000, 0);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let mut sent: std::collections::BTreeMap<u64, Vec<u64>> = std::collections::BTreeMap::new();
        for event in common::traced(&outcome, 1, TraceKind::Dequeue) {
            if event.kind == PacketKind::Data {
                sent.entry(event.seq).or_default().push(event.at.as_ps());
            }
        }
        let (mut again, mut most) = (0, 0);
        for times in sent.values() {
            most = most.max(times.len() as u64);
            for pair in times.windows(2) {
                again += 1;
                // It may wait for packets that leave at that time.
                let waited = pair[1] - pair[0] - rto.as_ps();
                assert!(waited < 2_000_000, "seed {seed}: {waited} ps after its timeout");
            }
        }
        assert!(again >= 10 && outcome.counters.timeouts >= again);
        // 4 MB take some 83 us, a round trip 2 us.
        let bound = Span::from_us(90) + Span::from_ps(rto.as_ps() * (most - 1));
        let fct = outcome.flows[0].fct;
        assert!(fct < bound, "seed {seed}: {fct} with {again} packets sent again");
    }
}
