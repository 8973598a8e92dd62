//! PCN in a network: marks that spare paused packets, reports, and the effect on victims.

use crate::common;

use crate::common::{add_flow, kb, link, natural, run, scheme, star, static_pfc};
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_fabric::{BuildError, Simulation};
use paceline_kernel::{BitRate, Bytes, Span, Time};

const US: u64 = 1000;
const G40: BitRate = BitRate::from_gbps(40);

fn network(name: &str, nodes: Vec<NodeKind>, links: Vec<LinkSpec>) -> RunSpec {
    let mut spec = natural(star(1, scheme(name)));
    (spec.nodes, spec.links) = (nodes, links);
    static_pfc(&mut spec, 160_000, 158_000, 100_000);
    spec.switch.assist = Some(AssistPorts::Switches);
    spec.switch.ecn = [40, 100]
        .map(|g| EcnCurve {
            rate: BitRate::from_gbps(g),
            kmin: kb(2 * g),
            kmax: kb(2 * g),
            pmax: 1.0,
        })
        .to_vec();
    spec.nic.rto = Some(Span::from_us(100_000));
    spec
}

/// Host 2 behind switches 0 and 1 sends to host 3, while bursts of hosts 6 to 13 fill host 5's port at switch 1. Host 4
/// at switch 0 sends there too: its packets and the pauses are ahead of the victim's.
fn victim(name: &str) -> RunSpec {
    let mut nodes = vec![NodeKind::Switch; 2];
    nodes.resize(14, NodeKind::Host);
    let mut links = vec![link(0, 1, BitRate::from_gbps(100))];
    for (switch, host) in [(0, 2), (1, 3), (0, 4), (1, 5)] {
        links.push(link(switch, host, G40));
    }
    links.extend((6..14).map(|host| link(1, host, G40)));
    let mut spec = network(name, nodes, links);
    add_flow(&mut spec, 2, 3, 1_000_000_000, 0);
    add_flow(&mut spec, 4, 5, 1_000_000_000, 0);
    // Shorter than any scheme's reaction.
    spec.schemes.push(scheme("none"));
    for burst in 0..8 {
        for host in 6..14 {
            add_flow(&mut spec, host, 5, 128_000, (500 + burst * 500) * US);
            spec.flows.last_mut().unwrap().scheme = 1;
        }
    }
    spec.stop = Time::from_ns(5000 * US);
    (spec.record.flow_every, spec.record.flows_max) = (Some(Span::from_us(5)), 1);
    spec
}

/// Returns the victim's throughput, and the lowest rate that it used, in Gbit/s.
fn victims_rates(name: &str) -> (f64, f64) {
    let outcome = run(victim(name));
    assert!(outcome.counters.pauses > 0, "{name}");
    let lowest = outcome.flow_series[0]
        .rate
        .bins()
        .map(|bin| bin.min)
        .min()
        .unwrap();
    let gbps = outcome.flows[0].delivered.get() as f64 * 8.0 / 5e6;
    (gbps, lowest as f64 / 1e9)
}

/// Packets at switch 0 wait for a pause to end: DCQCN takes that for congestion and cuts the victim, PCN does not. The
/// link between the switches is never full.
#[test]
fn a_victim_behind_pauses_keeps_its_rate() {
    let (pcn, lowest) = victims_rates("pcn");
    for name in ["dcqcn", "dcqcn-paper"] {
        let (dcqcn, cut_to) = victims_rates(name);
        assert!(pcn > 1.15 * dcqcn, "{name}: {dcqcn} against {pcn} Gbit/s");
        assert!(lowest > cut_to, "{name}");
    }
    // Of 40, and it is held back during pauses.
    assert!(pcn > 35.0 && lowest > 39.0, "{pcn} {lowest}");
}

/// `n` hosts send to one, in a star.
fn incast(n: u32, ms: u64) -> RunSpec {
    let mut nodes = vec![NodeKind::Switch];
    nodes.resize(n as usize + 2, NodeKind::Host);
    let links = (1..=n + 1).map(|host| link(0, host, G40)).collect();
    let mut spec = network("pcn", nodes, links);
    for host in 1..=n {
        add_flow(&mut spec, host, n + 1, 1_000_000_000, 0);
    }
    spec.stop = Time::from_ns(ms * 1000 * US);
    spec
}

#[test]
fn an_incast_is_drained_and_pauses_end() {
    for n in [2, 8, 16] {
        let outcome = run(incast(n, 5));
        let last = outcome.pfc.iter().map(|event| event.at).max().unwrap();
        assert!(last < Time::from_ns(1000 * US), "{n}: pauses until {last}");
        let delivered: u64 = outcome.flows.iter().map(|flow| flow.delivered.get()).sum();
        let used = delivered as f64 * 8.0 * 1.048 / 5e6 / 40.0;
        assert!(used > 0.97, "{n}: {used}");
    }
}

/// The receiver measures a flow every 50 us, back to back, and reports the rate at which it arrived.
#[test]
fn receivers_report_every_period() {
    let mut spec = incast(2, 5);
    spec.flows.truncate(1);
    spec.flows[0].size = Bytes::new(5_000_000);
    spec.record.trace_nodes = vec![NodeId(1)];
    let outcome = run(spec);
    let times: Vec<u64> = common::traced(&outcome, 1, TraceKind::Receive)
        .filter(|event| event.kind == PacketKind::Cnp)
        .map(|event| event.at.as_ns() / 100)
        .collect();
    // 5.24 MB at 40 Gbit/s are 1048 us.
    assert!((20..=21).contains(&times.len()), "{}", times.len());
    assert!(
        times
            .windows(2)
            .all(|pair| (499..=501).contains(&(pair[1] - pair[0]))),
        "{times:?}"
    );
    // Packets of the last period are reported when the sender has finished: the receiver cannot know that.
    let done = (outcome.flows[0].start + outcome.flows[0].fct).as_ns() / 100;
    let heard = times.iter().filter(|&&at| at <= done).count();
    assert_eq!(
        (heard, outcome.counters.notifications),
        (times.len() - 1, heard as u64)
    );
}

/// A flow that is over within a period is reported all the same, even if another has taken over its sender's queue
/// pair.
#[test]
fn reports_outlive_their_flows() {
    let mut spec = incast(1, 1);
    spec.flows.clear();
    // 10 us each, one after the other.
    for flow in 0..20 {
        add_flow(&mut spec, 1, 2, 50_000, flow * 20 * US);
    }
    spec.record.trace_nodes = vec![NodeId(1)];
    let outcome = run(spec);
    let mut reported: Vec<u32> = common::traced(&outcome, 1, TraceKind::Receive)
        .filter(|event| event.kind == PacketKind::Cnp)
        .map(|event| event.flow)
        .collect();
    reported.sort_unstable();
    assert_eq!(reported, (0..20).collect::<Vec<_>>());
}

/// Packets that wait while their class is paused are not marked, however many they are; those that arrive after the
/// pause are.
#[test]
fn what_was_paused_is_not_marked() {
    let marked = |name| {
        let mut spec = incast(4, 1);
        spec.schemes = vec![scheme(name)];
        static_pfc(&mut spec, 1_000_000, 990_000, 100_000);
        spec.flows.clear();
        // 400 packets wait for the storm's end, 200 KB is the step.
        for host in 1..=4 {
            add_flow(&mut spec, host, 5, 100_000, 0);
        }
        spec.switch.ecn[0].kmin = kb(200);
        spec.switch.ecn[0].kmax = kb(200);
        spec.storms.push(PauseStorm {
            node: NodeId(5),
            link: None,
            class: 3,
            at: Time::ZERO,
            until: Some(Time::from_ns(200 * US)),
        });
        run(spec).counters.marked
    };
    assert_eq!(marked("pcn"), 0);
    // From 400 packets down to 200000 / 1048 = 190.8.
    let by_queue = marked("dcqcn-paper");
    assert!((205..=210).contains(&by_queue), "{by_queue}");
}

#[test]
fn switches_must_do_their_part() {
    let mut spec = incast(2, 1);
    spec.switch.assist = None;
    let error = Simulation::new(spec).err().unwrap();
    assert!(matches!(error, BuildError::BadSchemes(_)), "{error}");
}
