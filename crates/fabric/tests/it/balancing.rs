//! Load balancing: the ports that packets take, and its effect on their order.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{G100, add_flow, assert_complete, link, natural, run, scheme, star};
use paceline_fabric::outcome::{PacketKind, TraceKind};
use paceline_fabric::spec::*;
use paceline_fabric::{BuildError, Outcome, Simulation};
use paceline_kernel::{BitRate, Span, Time};

const US: u64 = 1000;

fn flowlets(gap_us: u64) -> Flowlets {
    Flowlets {
        gap: Span::from_us(gap_us),
        entries: 4096,
    }
}

/// `uplinks` links between two switches (0 and 1), with `hosts` hosts at each: 2 to `hosts + 1`, then the rest.
fn parallel(uplinks: &[BitRate], hosts: u32, policy: LoadBalancing) -> RunSpec {
    let mut spec = natural(star(2, scheme("none")));
    spec.nodes = vec![NodeKind::Switch; 2];
    spec.nodes.resize(2 + 2 * hosts as usize, NodeKind::Host);
    spec.links = uplinks.iter().map(|&rate| link(0, 1, rate)).collect();
    for host in 0..2 * hosts {
        spec.links.push(link(u32::from(host >= hosts), 2 + host, G100));
    }
    spec.switch.ecn.clear();
    spec.load_balancing = policy;
    spec.record.trace_nodes = vec![NodeId(0)];
    spec
}

/// Counts data packets that left switch 0 by each of its first `uplinks` interfaces.
fn counts(outcome: &Outcome, uplinks: usize) -> Vec<usize> {
    let mut counts = vec![0; uplinks];
    for event in common::traced(outcome, 0, TraceKind::Dequeue) {
        if event.kind == PacketKind::Data {
            counts[event.interface as usize - 1] += 1;
        }
    }
    counts
}

/// ECMP's choices at one switch are independent of those at the next: all 4 times 4 paths are used equally.
#[test]
fn ecmp_does_not_polarise_unless_all_hash_alike() {
    let (hosts, ways) = (2, 4);
    let mut spec = natural(star(2, scheme("none")));
    // Hosts 0 and 1, their switches 2 and 3; between them 4, 4 and 16 switches.
    let (near, far, core) = (4, 4 + ways, 4 + 2 * ways);
    spec.nodes = vec![NodeKind::Host; hosts];
    spec.nodes.resize((core + ways * ways) as usize, NodeKind::Switch);
    spec.links = vec![link(0, 2, G100), link(1, 3, G100)];
    for a in 0..ways {
        spec.links.push(link(2, near + a, G100));
        spec.links.push(link(3, far + a, G100));
        for b in 0..ways {
            spec.links.push(link(near + a, core + a * ways + b, G100));
            spec.links.push(link(far + a, core + a * ways + b, G100));
        }
    }
    spec.record.trace_nodes = (0..ways * ways).map(|c| NodeId(core + c)).collect();
    for flow in 0..1600 {
        add_flow(&mut spec, 0, 1, 1000, flow * US);
    }
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let mut through: BTreeMap<u32, usize> = BTreeMap::new();
    for event in outcome.trace.iter() {
        if event.kind == PacketKind::Data && event.event == TraceKind::Receive {
            *through.entry(event.node.0).or_default() += 1;
        }
    }
    assert_eq!(through.len(), 16);
    // 100 are expected of each; four standard deviations are 39.
    assert!(through.values().all(|n| (61..140).contains(n)), "{through:?}");
    // With one hash for all, a switch in the middle sends everything that its hash brought there the same way again.
    spec.ecmp_hash = EcmpHash::Shared;
    let outcome = run(spec);
    let came = outcome
        .trace
        .iter()
        .filter(|event| event.event == TraceKind::Receive);
    let through: BTreeSet<u32> = came
        .filter(|event| event.kind == PacketKind::Data)
        .map(|event| event.node.0)
        .collect();
    assert_eq!(through.len(), ways as usize);
}

#[test]
fn every_policy_uses_all_parallel_links() {
    for policy in [
        LoadBalancing::Ecmp,
        LoadBalancing::Flowlet(flowlets(5)),
        LoadBalancing::Spray,
        LoadBalancing::Adaptive,
        LoadBalancing::AdaptiveFlowlet(flowlets(5)),
    ] {
        let mut spec = parallel(&[G100; 4], 4, policy);
        // One after the other, four at a time: no packet waits, and all keep their order.
        for round in 0..100 {
            for host in 2..6 {
                add_flow(&mut spec, host, host + 4, 1000, 10 * US * round);
            }
        }
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let counts = counts(&outcome, 4);
        assert_eq!(counts.iter().sum::<usize>(), 400, "{policy:?}");
        // 100 each; four standard deviations are 35.
        assert!(
            counts.iter().all(|n| (65..=135).contains(n)),
            "{policy:?}: {counts:?}"
        );
    }
}

#[test]
fn spraying_is_even_for_a_single_flow() {
    let mut spec = parallel(&[G100; 4], 1, LoadBalancing::Spray);
    add_flow(&mut spec, 2, 3, 4_000_000, 0);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let counts = counts(&outcome, 4);
    let (total, expected) = (
        counts.iter().sum::<usize>(),
        counts.iter().sum::<usize>() as f64 / 4.0,
    );
    let deviation = 4.0 * (expected * 0.75).sqrt();
    assert!(total >= 4000);
    assert!(
        counts.iter().all(|&n| (n as f64 - expected).abs() < deviation),
        "{counts:?}"
    );
    // Alone on idle links of equal length, packets keep their order on any of them.
    assert_eq!(outcome.counters.nacks, 0);
}

/// A flow of 100 Gbit/s over four links of 40 uses one of them with ECMP, and all of them if its packets are sprayed.
/// With selective repeat nothing is sent twice.
#[test]
fn an_elephant_fills_parallel_links_with_selective_repeat() {
    let g40 = BitRate::from_gbps(40);
    let fct = |policy, bdp_cap| {
        let mut spec = parallel(&[g40; 4], 1, policy);
        spec.nic.recovery = Recovery::SelectiveRepeat(Irn {
            rto_low: Span::from_us(1000),
            rto_high: Span::from_us(1000),
            low_packets: 3,
            bdp_cap,
            reordering: 256,
        });
        add_flow(&mut spec, 2, 3, 10_000_000, 0);
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        assert_eq!(outcome.counters.retransmitted_bytes, 0, "{policy:?}");
        let uplinks = counts(&outcome, 4);
        let used = uplinks.iter().filter(|&&n| n > 2000).count();
        assert_eq!(
            used,
            if policy == LoadBalancing::Ecmp { 1 } else { 4 },
            "{uplinks:?}"
        );
        (outcome.flows[0].fct.as_ns(), outcome.flows[0].ideal.as_ns())
    };
    // 10.48 MB on the wire: 838 us at 100 Gbit/s, 2096 us at 40.
    let (ecmp, _) = fct(LoadBalancing::Ecmp, false);
    assert!(ecmp > 2_096_000, "{ecmp}");
    for policy in [LoadBalancing::Spray, LoadBalancing::Adaptive] {
        let (spread, ideal) = fct(policy, false);
        assert!((838_400..860_000).contains(&ideal), "{ideal}");
        assert!(spread < ideal + ideal / 100, "{policy:?}: {spread} for {ideal}");
        // The BDP in flight is that of all links together, and a little too small when chance makes some packets wait.
        let (capped, _) = fct(policy, true);
        assert!(capped < ideal + ideal / 20, "{policy:?}: {capped} for {ideal}");
    }
}

/// A host on a link of 1 Gbit/s sends a packet every 8.384 us.
fn slow_sender(policy: LoadBalancing) -> RunSpec {
    let mut spec = parallel(&[G100; 4], 1, policy);
    spec.links[4].rate = BitRate::from_gbps(1);
    add_flow(&mut spec, 2, 3, 1_000_000, 0);
    spec
}

#[test]
fn a_flowlet_ends_after_the_gap_and_not_before() {
    for adaptive in [false, true] {
        let policy = |gap| match adaptive {
            true => LoadBalancing::AdaptiveFlowlet(flowlets(gap)),
            false => LoadBalancing::Flowlet(flowlets(gap)),
        };
        // Each packet follows the last within the gap: one port for all.
        let counts_of = |gap| counts(&run(slow_sender(policy(gap))), 4);
        let mut long = counts_of(9);
        long.sort_unstable();
        assert_eq!(long, [0, 0, 0, 1000]);
        // Each packet comes after the gap: 250 are expected of each port, and 55 are four standard deviations.
        let short = counts_of(8);
        assert!(short.iter().all(|n| (195..=305).contains(n)), "{short:?}");
    }
}

#[test]
fn flowlets_keep_their_order_if_the_gap_outlasts_the_difference_of_paths() {
    let with_skew = |us: u64| {
        let mut spec = slow_sender(LoadBalancing::Flowlet(flowlets(8)));
        for uplink in 0..2 {
            spec.links[uplink].delay = Span::from_us(1 + us);
        }
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let used = counts(&outcome, 4).iter().filter(|&&n| n > 100).count();
        assert_eq!(used, 4);
        outcome.counters.nacks
    };
    // Two of four ports are slower by the skew; packets are 8.384 us apart.
    assert_eq!(with_skew(8), 0);
    assert!(with_skew(20) > 0);
}

/// Flows that share an entry of a small table are one flowlet while any of them sends.
#[test]
fn flows_whose_hashes_meet_are_taken_for_one() {
    let ports_of = |entries| {
        let policy = LoadBalancing::Flowlet(Flowlets {
            gap: Span::from_us(50),
            entries,
        });
        let mut spec = parallel(&[G100; 4], 1, policy);
        // 64 flows of a packet, 10 us apart: together they never leave a gap.
        for flow in 0..64 {
            add_flow(&mut spec, 2, 3, 1000, 10 * US * flow);
        }
        counts(&run(spec), 4).iter().filter(|&&n| n > 0).count()
    };
    assert_eq!(ports_of(1 << 16), 4);
    assert!(ports_of(2) <= 2);
}

#[test]
fn adaptive_fills_links_by_their_rates() {
    // 200 Gbit/s into 100 + 25 + 100: the slow link gets a ninth.
    let uplinks = [G100, BitRate::from_gbps(25), G100];
    let shares = |policy| {
        let mut spec = parallel(&uplinks, 2, policy);
        spec.nic.rto = Some(Span::from_us(100_000));
        spec.nic.nack_interval = Span::from_us(100_000);
        spec.stop = Time::from_ns(400 * US);
        add_flow(&mut spec, 2, 4, 100_000_000, 0);
        add_flow(&mut spec, 3, 5, 100_000_000, 0);
        let counts = counts(&run(spec), 3);
        let total = counts.iter().sum::<usize>() as f64;
        counts.iter().map(|&n| n as f64 / total).collect::<Vec<_>>()
    };
    let adaptive = shares(LoadBalancing::Adaptive);
    assert!((adaptive[1] - 1.0 / 9.0).abs() < 0.01, "{adaptive:?}");
    assert!((adaptive[0] - adaptive[2]).abs() < 0.05, "{adaptive:?}");
    let spray = shares(LoadBalancing::Spray);
    // Packets beyond the slow link's rate wait ahead of it, in the end behind a pause; still a third of all admitted
    // packets went there.
    assert!(spray[1] > adaptive[1], "{spray:?}");
}

#[test]
fn adaptive_flowlets_find_a_link_each() {
    let mut spec = parallel(&[G100; 4], 4, LoadBalancing::AdaptiveFlowlet(flowlets(100)));
    for host in 2..6 {
        add_flow(&mut spec, host, host + 4, 1_000_000, 30 * u64::from(host));
    }
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert_eq!(counts(&outcome, 4), [1000; 4]);
    for flow in &outcome.flows {
        assert_eq!(flow.fct, outcome.flows[0].fct, "each alone on its link");
    }
}

/// A class that is paused on one link takes the other.
#[test]
fn adaptive_avoids_a_paused_port() {
    // Switch 0 between host 2 and switches 1 and 3, which both lead to switch 4 and host 5.
    let mut spec = natural(star(2, scheme("none")));
    spec.switch.ecn.clear();
    spec.nodes = vec![NodeKind::Switch; 9];
    for host in [2, 5, 6, 7, 8] {
        spec.nodes[host] = NodeKind::Host;
    }
    spec.links = [
        (0, 1),
        (0, 3),
        (1, 4),
        (3, 4),
        (0, 2),
        (4, 5),
        (1, 6),
        (0, 7),
        (0, 8),
    ]
    .map(|(a, b)| link(a, b, G100))
    .to_vec();
    // Host 6 never takes a packet, so the link from 0 to 1 is paused for good.
    spec.storms.push(PauseStorm {
        node: NodeId(6),
        link: None,
        class: 3,
        at: Time::ZERO,
        until: None,
    });
    common::static_pfc(&mut spec, 20_000, 18_000, 60_000);
    spec.load_balancing = LoadBalancing::Adaptive;
    spec.stop = Time::from_ns(500 * US);
    add_flow(&mut spec, 7, 6, 1_000_000, 0);
    add_flow(&mut spec, 2, 5, 1_000_000, 100 * US);
    let outcome = run(spec);
    let alone = outcome.flows[1].ideal;
    let fct = outcome.flows[1].fct;
    assert!(
        fct > Span::ZERO && fct.as_ns() < alone.as_ns() + 1000,
        "{fct} for {alone}"
    );
}

#[test]
fn a_failed_uplink_is_left_and_taken_again() {
    for policy in [
        LoadBalancing::Spray,
        LoadBalancing::Adaptive,
        LoadBalancing::Flowlet(flowlets(5)),
        LoadBalancing::AdaptiveFlowlet(flowlets(5)),
    ] {
        let mut spec = parallel(&[G100; 2], 1, policy);
        spec.links[2].rate = BitRate::from_gbps(1);
        add_flow(&mut spec, 2, 3, 1_000_000, 0);
        spec.failures.push(LinkFailure {
            link: 0,
            at: Time::from_ns(2_000 * US),
            until: Some(Time::from_ns(5_000 * US)),
        });
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let by_first = |from: u64, to: u64| {
            common::traced(&outcome, 0, TraceKind::Dequeue)
                .filter(|e| e.kind == PacketKind::Data && e.interface == 1)
                .filter(|e| (from..to).contains(&(e.at.as_ns() / US)))
                .count()
        };
        assert!(by_first(0, 2_000) > 50, "{policy:?}");
        assert_eq!(by_first(2_000, 5_000), 0, "{policy:?}");
        assert!(by_first(5_000, 9_000) > 50, "{policy:?}");
        // Only packets on the wire were lost.
        assert!(
            outcome.counters.link_drops <= 2,
            "{policy:?}: {:?}",
            outcome.counters
        );
    }
}

#[test]
fn choices_hang_on_the_seed_and_on_nothing_else() {
    for policy in [LoadBalancing::Spray, LoadBalancing::Flowlet(flowlets(8))] {
        let digest = |seed| {
            let mut spec = slow_sender(policy);
            spec.seed = seed;
            let outcome = run(spec);
            (outcome.digest, counts(&outcome, 4))
        };
        assert_eq!(digest(1), digest(1));
        assert_ne!(digest(1), digest(2));
    }
}

#[test]
fn flows_to_hosts_with_given_routes_keep_their_path() {
    let mut spec = parallel(&[G100; 4], 1, LoadBalancing::Spray);
    spec.routes.push(StaticRoute {
        node: NodeId(0),
        to: NodeId(3),
        via: NodeId(1),
    });
    add_flow(&mut spec, 2, 3, 1_000_000, 0);
    let mut counts = counts(&run(spec), 4);
    counts.sort_unstable();
    assert_eq!(counts, [0, 0, 0, 1000]);
}

/// The window of a flow on a given route is that of its one link, also after flows that took all links to its switch.
#[test]
fn what_a_flow_knows_of_its_path_does_not_depend_on_others() {
    let largest_queue = |others: bool| {
        let mut spec = parallel(&[BitRate::from_gbps(25); 4], 2, LoadBalancing::Spray);
        (spec.schemes, spec.nic.global_rtt) = (vec![scheme("dctcp")], false);
        spec.routes.push(StaticRoute {
            node: NodeId(0),
            to: NodeId(4),
            via: NodeId(1),
        });
        if others {
            add_flow(&mut spec, 3, 5, 1000, 0);
        }
        add_flow(&mut spec, 2, 4, 1_000_000, 1_000_000);
        run(spec).queue_max
    };
    assert_eq!(largest_queue(true), largest_queue(false));
}

/// The time is accounted hop by hop, at all ports that packets passed; `check` asserts that the parts sum to the
/// completion time.
#[test]
fn accounts_know_every_port() {
    let mut spec = parallel(&[G100; 4], 2, LoadBalancing::Spray);
    add_flow(&mut spec, 2, 4, 1_000_000, 0);
    add_flow(&mut spec, 3, 5, 1_000_000, 0);
    spec.record.accounts = Accounted::All;
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    for account in &outcome.accounts {
        assert_eq!(account.total(), outcome.flows[account.flow as usize].fct);
        assert_eq!(account.data.len(), 3);
        let uplinks = account
            .hops
            .iter()
            .filter(|hop| !hop.back && hop.port.node == NodeId(0))
            .map(|hop| hop.packets);
        assert_eq!(uplinks.clone().count(), 4);
        assert!(uplinks.sum::<u64>() >= 1000);
    }
}

#[test]
fn telemetry_and_spreading_packet_by_packet_do_not_go_together() {
    for policy in [LoadBalancing::Spray, LoadBalancing::Adaptive] {
        let mut spec = parallel(&[G100; 4], 1, policy);
        spec.schemes = vec![scheme("hpcc")];
        add_flow(&mut spec, 2, 3, 1000, 0);
        let error = Simulation::new(spec).err().unwrap();
        assert!(matches!(error, BuildError::BadSchemes(_)), "{error}");
    }
}

/// HPCC never compares the counters of two ports: with flowlets it is as fast as on one path.
#[test]
fn hpcc_begins_anew_on_another_path() {
    let fct = |policy| {
        let mut spec = slow_sender(policy);
        spec.schemes = vec![scheme("hpcc")];
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        outcome.flows[0].fct.as_ns() as f64
    };
    let (one, many) = (fct(LoadBalancing::Ecmp), fct(LoadBalancing::Flowlet(flowlets(8))));
    assert!((many / one - 1.0).abs() < 0.05, "{one} {many}");
}

/// Flows with a label that keeps to one path do so, if switches or senders spread the packets of others.
#[test]
fn a_label_may_keep_to_one_path() {
    let spread = |spec: &mut RunSpec, by_senders: bool| {
        if by_senders {
            let selector = paceline_congestion::entropy::Selector::Oblivious;
            spec.entropy = Some(paceline_congestion::entropy::Entropy {
                selector,
                values: 64,
                mrc: None,
            });
        } else {
            spec.load_balancing = LoadBalancing::Spray;
        }
    };
    for by_senders in [false, true] {
        let mut spec = parallel(&[G100; 4], 2, LoadBalancing::Ecmp);
        spread(&mut spec, by_senders);
        let rto = Span::from_us(100);
        spec.nic.recovery = Recovery::Rud(Rud { rto });
        spec.labels.push("one path".into());
        add_flow(&mut spec, 2, 4, 400_000, 0);
        add_flow(&mut spec, 3, 5, 400_000, 0);
        spec.flows[1].label = spec.labels.len() as u16 - 1;
        spec.one_path = vec![spec.flows[1].label];
        let outcome = run(spec.clone());
        assert_complete(&spec, &outcome);
        let ways = |flow: u32| {
            let all = common::traced(&outcome, 0, TraceKind::Dequeue);
            let own = all.filter(|event| event.kind == PacketKind::Data && event.flow == flow);
            own.map(|event| event.interface).collect::<BTreeSet<_>>().len()
        };
        assert_eq!((ways(0), ways(1)), (4, 1), "by senders: {by_senders}");
        // One path has the rate of one link, and the flow's ideal time is that of this link.
        assert_eq!(
            outcome.flows[1].ideal,
            outcome.flows[1].ideal.min(outcome.flows[1].fct)
        );
    }
}
