//! Links and hosts that change during a run, and the PFC watchdog.

use crate::common::{G100, add_flow, assert_complete, link, natural, run, scheme, star, static_pfc, traced};
use crate::networks::{build, case};
use paceline_fabric::Simulation;
use paceline_fabric::outcome::{Outcome, PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

/// `packets` packets of 1048 bytes from host 1 to host 2 at line rate. Each takes 83.84 ns on a link.
fn line(packets: u64) -> RunSpec {
    let mut spec = natural(star(2, scheme("none")));
    spec.record.trace_nodes = vec![NodeId(2)];
    spec.record.accounts = Accounted::All;
    add_flow(&mut spec, 1, 2, 1000 * packets, 0);
    spec
}

/// A change of the link to host 2.
fn change(at_ns: u64, until_ns: u64) -> LinkChange {
    LinkChange {
        link: 1,
        at: Time::from_ns(at_ns),
        until: Some(Time::from_ns(until_ns)),
        rate: None,
        delay: None,
        error_rate: None,
    }
}

/// Returns the arrivals of data packets at host 2, in ps.
fn arrivals(outcome: &Outcome) -> Vec<u64> {
    traced(outcome, 2, TraceKind::Receive)
        .filter(|event| event.kind == PacketKind::Data)
        .map(|event| event.at.as_ps())
        .collect()
}

#[test]
fn a_slower_link_by_hand() {
    let mut spec = line(10);
    spec.link_changes.push(LinkChange {
        rate: Some(BitRate::from_gbps(25)),
        ..change(1200, 3000)
    });
    let outcome = run(spec.clone());
    // The second packet starts to leave the switch at 1167.68 ns, the third at 1251.52 ns and takes 335.36 ns from then
    // on. The eighth starts at 2928.32 ns, and the next ones are fast again.
    let by_hand = [
        2_167_680, 2_251_520, 2_586_880, 2_922_240, 3_257_600, 3_592_960, 3_928_320, 4_263_680, 4_347_520,
        4_431_360,
    ];
    assert_eq!(arrivals(&outcome), by_hand);
    assert_complete(&spec, &outcome);
    // Its time adds up (the run checks that), and the ideal time is that of the original network.
    assert_eq!(outcome.accounts[0].total(), outcome.flows[0].fct);
    assert_eq!(outcome.flows[0].ideal, run(line(10)).flows[0].ideal);
}

#[test]
fn no_packet_overtakes_another_where_a_delay_shrinks() {
    let mut spec = line(14);
    spec.link_changes.push(LinkChange {
        delay: Some(Span::from_us(3)),
        ..change(1100, 2000)
    });
    let outcome = run(spec.clone());
    let starts = |packet: u64| 1_083_840 + 83_840 * packet;
    let mut by_hand = vec![2_167_680];
    // Ten packets start while the delay is 3 us; the last of them ends at 2006.08 ns. Then the port rests for 2 us.
    by_hand.extend((1..=10).map(|packet| starts(packet) + 83_840 + 3_000_000));
    by_hand.extend((0..3).map(|packet| 4_006_080 + 83_840 * (packet + 1) + 1_000_000));
    assert_eq!(arrivals(&outcome), by_hand);
    assert_complete(&spec, &outcome);
}

#[test]
fn a_link_that_loses_all_for_a_while() {
    let mut spec = line(40);
    spec.link_changes.push(LinkChange {
        error_rate: Some(1.0),
        ..change(0, 3000)
    });
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    // Packets that arrive before 3 us: 1 + (3000 - 2167.68) / 83.84.
    assert_eq!(outcome.counters.link_drops, 10);
}

/// A link that fails loses what was on it, by the rate that it had then.
#[test]
fn a_change_and_a_failure_of_one_link() {
    for at in [1_500, 2_600] {
        let mut spec = line(40);
        spec.link_changes.push(LinkChange {
            delay: Some(Span::from_us(3)),
            ..change(2_600, 9_000)
        });
        spec.failures.push(LinkFailure {
            link: 1,
            at: Time::from_ns(at),
            until: Some(Time::from_ns(at + 1)),
        });
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let lost = traced(&outcome, 2, TraceKind::Drop).filter(|event| event.kind == PacketKind::Data);
        // Packets that had started and not arrived.
        let sent = (0..40)
            .filter(|packet| 1_083_840 + 83_840 * packet < at * 1000)
            .count();
        let arrived = arrivals(&outcome)
            .into_iter()
            .filter(|&arrival| arrival <= at * 1000);
        assert_eq!(lost.count(), sent - arrived.count(), "at {at}");
    }
}

/// Routes that follow a failure later lose the packets of that time, and no others.
#[test]
fn routes_follow_later() {
    let spec = |failing, reconvergence| {
        let mut spec = natural(star(2, scheme("none")));
        spec.nodes = vec![NodeKind::Switch, NodeKind::Switch, NodeKind::Host, NodeKind::Host];
        spec.links = vec![
            link(0, 1, G100),
            link(0, 1, G100),
            link(0, 2, G100),
            link(1, 3, G100),
        ];
        spec.record.trace_nodes = vec![NodeId(0)];
        spec.reconvergence = reconvergence;
        add_flow(&mut spec, 2, 3, 1_000_000, 0);
        spec.failures.push(LinkFailure {
            link: failing,
            at: Time::from_ns(10_000),
            until: None,
        });
        spec
    };
    let dropped = |outcome: &Outcome| {
        let drops = traced(outcome, 0, TraceKind::Drop);
        drops.filter(|event| event.kind == PacketKind::Data).count()
    };
    let of = |reconvergence| [0, 1].map(|failing| run(spec(failing, reconvergence)));
    let at_once = of(Span::ZERO);
    let used = usize::from(at_once[1].counters.link_drops > at_once[0].counters.link_drops);
    assert!(at_once.iter().all(|outcome| outcome.completions.len() == 1));
    let later = of(Span::from_us(20));
    assert!(later.iter().all(|outcome| outcome.completions.len() == 1));
    assert_eq!(dropped(&later[1 - used]), 0, "the other link");
    // One packet each 83.84 ns from 1083.84 ns on; those of 10 to 30 us.
    let missed = (0..1000).filter(|packet| (10_000_000..30_000_000).contains(&(1_083_840 + 83_840 * packet)));
    assert_eq!(dropped(&later[used]) - dropped(&at_once[used]), missed.count());
}

/// Hosts 1 and 2 send to 3 and 4; host 3's NIC pauses from 10 us on.
fn storm(until_us: Option<u64>, action: Option<WatchdogAction>) -> RunSpec {
    let mut spec = natural(star(4, scheme("none")));
    static_pfc(&mut spec, 40_000, 38_000, 60_000);
    spec.storms.push(PauseStorm {
        node: NodeId(3),
        link: None,
        class: 3,
        at: Time::from_ns(10_000),
        until: until_us.map(|until| Time::from_ns(until * 1000)),
    });
    spec.switch.watchdog = action.map(|action| PfcWatchdog {
        detection: Span::from_us(100),
        restoration: Span::from_us(200),
        action,
    });
    add_flow(&mut spec, 1, 3, 2_000_000, 0);
    add_flow(&mut spec, 2, 4, 2_000_000, 0);
    spec
}

/// The frame takes 5.12 ns and the cable 1 us.
const FRAME: u64 = 1_005_120;

#[test]
fn a_watchdog_drops() {
    let spec = storm(Some(500), Some(WatchdogAction::Drop));
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let [found] = outcome.storms[..] else {
        panic!("{:?}", outcome.storms)
    };
    assert_eq!(
        (found.port.node, found.port.peer, found.priority),
        (NodeId(0), NodeId(3), 3)
    );
    assert_eq!(found.detected, Time::from_ps(110_000_000 + FRAME));
    assert_eq!(found.restored, Some(Time::from_ps(700_000_000 + FRAME)));
    let counters = &outcome.counters;
    assert!(found.dropped > 0);
    assert_eq!(
        (counters.watchdog_drops, counters.buffer_drops),
        (found.dropped, found.dropped)
    );
    assert_eq!((counters.lossless_drops, &outcome.deadlock), (0, &None));
    // Without an end, packets are dropped forever, and nobody else waits.
    let endless = run(storm(None, Some(WatchdogAction::Drop)));
    assert_eq!(endless.storms[0].restored, None);
    assert_eq!(endless.completions, [1]);
}

#[test]
fn a_watchdog_forwards_or_tells() {
    let outcome = run(storm(Some(500), Some(WatchdogAction::Forward)));
    assert_eq!(outcome.completions.len(), 2);
    assert_eq!((outcome.counters.buffer_drops, outcome.storms[0].dropped), (0, 0));
    // 2000 packets are sent as soon as the storm is detected.
    let end = outcome.flows[0].received.unwrap();
    assert!(end < Time::from_ns(111_006 + 2000 * 84 + 5_000), "{end}");
    let alert = run(storm(None, Some(WatchdogAction::Alert)));
    assert_eq!((alert.storms.len(), alert.completions.as_slice()), (1, &[1][..]));
    assert_eq!(alert.deadlock, run(storm(None, None)).deadlock);
}

/// A pause that ends in time is no storm, and neither is one of an empty queue.
#[test]
fn short_pauses_are_none() {
    let short = run(storm(Some(109), Some(WatchdogAction::Drop)));
    assert_eq!((short.storms.len(), short.counters.buffer_drops), (0, 0));
    let mut idle = storm(Some(500), Some(WatchdogAction::Drop));
    idle.flows[0].start = Time::from_ns(250_000);
    idle.flows.swap(0, 1);
    let outcome = run(idle);
    // Empty at 111 us and at 211 us.
    assert_eq!(outcome.storms[0].detected, Time::from_ps(310_000_000 + FRAME));
}

/// A NIC that reads at a quarter of its line rate pauses its switch and loses nothing; it reads more slowly for a
/// while.
#[test]
fn a_nic_pauses_its_switch() {
    let mut spec = natural(star(2, scheme("none")));
    static_pfc(&mut spec, 100_000, 90_000, 60_000);
    spec.nic.endpoint = Some(Endpoint {
        delay: Span::ZERO,
        per_packet: Span::ZERO,
        rate: Some(BitRate::from_gbps(25)),
        jitter: Span::ZERO,
    });
    let buffer = |size| {
        Some(ReceiveBuffer {
            size: Bytes::new(size),
            xoff: Bytes::new(50_000),
            xon: Bytes::new(30_000),
        })
    };
    spec.nic.receive_buffer = buffer(80_000);
    add_flow(&mut spec, 1, 2, 1_000_000, 0);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(outcome.counters.buffer_drops, 0);
    let of_nic = outcome
        .pfc
        .iter()
        .filter(|event| event.node == NodeId(0) && event.pause);
    assert!(of_nic.count() > 5);
    // 1000 packets of 1048 bytes at 25 Gbit/s, after the first has arrived.
    let data = |spec: &RunSpec| run(spec.clone()).flows[0].received.unwrap().as_ps();
    assert_eq!(data(&spec), 2_167_680 + 1000 * 335_360);
    // A second at a tenth of that rate would take 10 times as long; 100 us of it cost 90 us.
    spec.host_changes.push(HostChange {
        node: NodeId(2),
        at: Time::from_ns(50_000),
        until: Some(Time::from_ns(150_000)),
        compute: None,
        receive_rate: Some(BitRate::from_bps(2_500_000_000)),
    });
    let slowed = data(&spec) - (2_167_680 + 1000 * 335_360);
    assert!(
        (90_000_000 - 3_400_000..90_000_000 + 3_400_000).contains(&slowed),
        "{slowed}"
    );
    // Without flow control, packets that do not fit are lost.
    spec.switch.flow_control = FlowControl::None;
    spec.nic.receive_buffer = buffer(50_000);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.counters.buffer_drops > 0 && outcome.counters.pauses == 0);
}

#[test]
fn a_host_computes_more_slowly() {
    let mut spec = natural(star(2, scheme("none")));
    add_flow(&mut spec, 1, 2, 1000, 0);
    add_flow(&mut spec, 2, 1, 1000, 0);
    spec.dependencies.push(Dependency {
        flow: 1,
        after: 0,
        awaited: Awaited::Received,
        delay: Span::from_us(10),
    });
    spec.host_changes.push(HostChange {
        node: NodeId(2),
        at: Time::from_ns(5_000),
        until: Some(Time::from_ns(8_000)),
        compute: Some(3.0),
        receive_rate: None,
    });
    let outcome = run(spec);
    // The work starts at 2167.68 ns; 1 us of it is done in the 3 us.
    assert_eq!(outcome.flows[1].start, Time::from_ps(2_167_680 + 12_000_000));
}

#[test]
fn changes_that_contradict_each_other_are_refused() {
    let slower = LinkChange {
        rate: Some(G100),
        ..change(100, 200)
    };
    let refused = |changes: Vec<LinkChange>| {
        let mut spec = line(1);
        spec.link_changes = changes;
        Simulation::new(spec).err().map(|error| error.to_string())
    };
    let later = |at, until| LinkChange {
        rate: Some(G100),
        ..change(at, until)
    };
    assert_eq!(refused(vec![slower.clone(), later(200, 300)]), None);
    let why = refused(vec![slower.clone(), later(199, 300)]).unwrap();
    assert_eq!(
        why,
        "change 1 of a link sets the rate of link 1 while another does"
    );
    let longer = LinkChange {
        delay: Some(Span::from_us(2)),
        ..change(150, 300)
    };
    assert_eq!(refused(vec![slower, longer]), None);
    assert!(refused(vec![later(5, 5)]).is_some());
}

/// Adds every kind of change to a random network.
fn changing(spec: &mut RunSpec, draws: [u64; 4]) {
    let [a, b, c, d] = draws;
    let links = spec.links.len() as u64;
    for (i, draw) in [a, b].into_iter().enumerate() {
        let at = Time::from_ns(draw >> 8 & 0xffff);
        spec.link_changes.push(LinkChange {
            link: (draw % links) as usize,
            at,
            until: (draw >> 24 & 3 != 0).then(|| at + Span::from_ns(1 + (draw >> 26 & 0x1_ffff))),
            rate: (i == 0).then(|| BitRate::from_gbps([10, 25, 200, 400][(draw >> 44 & 3) as usize])),
            delay: (i == 1).then(|| Span::from_ns(100 + (draw >> 46 & 0xfff))),
            error_rate: (draw >> 58 & 3 == 0).then_some(0.05),
        });
    }
    if spec.link_changes[0].clash(&spec.link_changes[1]).is_some() {
        spec.link_changes[1].error_rate = None;
    }
    let hosts: Vec<u32> = (0..spec.nodes.len() as u32)
        .filter(|&node| spec.nodes[node as usize] == NodeKind::Host)
        .collect();
    let host = NodeId(hosts[(c % hosts.len() as u64) as usize]);
    let pfc = matches!(spec.switch.flow_control, FlowControl::Pfc(_));
    if c >> 20 & 1 == 1 {
        spec.nic.endpoint = Some(Endpoint {
            delay: Span::from_ns(c >> 21 & 0x3ff),
            per_packet: Span::from_ns(c >> 31 & 0x7f),
            rate: None,
            jitter: Span::from_ns(c >> 38 & 0x7f),
        });
        spec.nic.receive_buffer = Some(ReceiveBuffer {
            size: Bytes::new(20_000 + (c >> 45 & 0xffff)),
            xoff: Bytes::new(10_000 + (c >> 45 & 0xfff)),
            xon: Bytes::new(8_000),
        });
        spec.host_changes.push(HostChange {
            node: host,
            at: Time::from_ns(20_000),
            until: Some(Time::from_ns(60_000)),
            compute: Some(2.0),
            receive_rate: Some(BitRate::from_gbps(5)),
        });
    }
    if pfc {
        let span = |draw: u64| Span::from_ns(5_000 + (draw & 0xffff));
        spec.switch.watchdog = [
            None,
            Some(WatchdogAction::Drop),
            Some(WatchdogAction::Forward),
            Some(WatchdogAction::Alert),
        ][(d & 3) as usize]
            .map(|action| PfcWatchdog {
                detection: span(d >> 2),
                restoration: span(d >> 18),
                action,
            });
        spec.storms.push(PauseStorm {
            node: host,
            link: None,
            class: 3,
            at: Time::from_ns(d >> 34 & 0x7fff),
            until: Some(Time::from_ns(40_000 + (d >> 34 & 0x7fff) + (d >> 49 & 0x3fff))),
        });
    }
    if d >> 63 == 1 {
        spec.reconvergence = Span::from_ns(d >> 20 & 0x7fff);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(400), ..ProptestConfig::default() })]

    /// Every flow completes, invariants hold (the run checks them), its time adds up, and the run is the same in parts.
    #[test]
    fn networks_that_change_at_random(case in case(&["none", "dcqcn", "hpcc", "timely", "nscc"]), draws in any::<[u64; 4]>()) {
        let mut spec = build(&case);
        spec.record.flow_probes.clear();
        changing(&mut spec, draws);
        if draws[0] >> 63 == 1 && spec.lanes.is_none() {
            spec.record.blame = Blame::Hosts;
        }
        let outcome = run(spec.clone());
        prop_assert_eq!(outcome.completions.len(), spec.flows.len(), "{:?} {:?}", outcome.counters, outcome.deadlock);
        for account in &outcome.accounts {
            prop_assert_eq!(account.total(), outcome.flows[account.flow as usize].fct);
        }
        prop_assert_eq!(run(spec.clone()).digest, outcome.digest);
        let mut cut = Simulation::new(spec).unwrap();
        if cut.cut(3).is_ok() {
            while !cut.advance(1 << 16).done {}
            prop_assert!(cut.finish() == outcome, "in parts");
        }
    }
}
