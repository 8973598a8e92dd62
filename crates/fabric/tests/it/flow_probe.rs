//! Flow probes, in networks small enough to know what made flows slow: compared with computation by hand, and with the
//! trace of all packets.

use crate::common;

use std::collections::BTreeMap;

use crate::common::{add_flow, link, natural, run, scheme, scheme_with, star, static_pfc};
use paceline_congestion::Mark;
use paceline_congestion::registry::WindowMode;
use paceline_fabric::flow_probe::{Cause, FlowProbe};
use paceline_fabric::outcome::{Outcome, PacketKind, TraceEvent, TraceKind};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};

/// Time of a data packet of 1048 B at 100 Gbit/s, in ps.
const TX: u64 = 83_840;

fn looked_at(mut spec: RunSpec) -> Outcome {
    spec.record.flow_probes = (0..spec.flows.len() as u32).collect();
    let mut without = spec.clone();
    without.record.flow_probes.clear();
    let outcome = run(spec);
    assert_eq!(run(without).digest, outcome.digest, "looking moves nothing");
    for (look, account) in outcome.flow_probes.iter().zip(&outcome.accounts) {
        sums(look, account);
    }
    outcome
}

/// Asserts that the times waited for each flow sum to the time that packets waited.
fn sums(look: &FlowProbe, account: &paceline_fabric::account::FlowAccount) {
    assert_eq!(look.flow, account.flow);
    let nic = look.nic.iter().fold(Span::ZERO, |sum, &(_, span)| sum + span);
    // After its last packet a sender waits for nothing that its account counts.
    assert!(nic >= account.sender.nic);
    for hop in account.hops.iter().filter(|hop| !hop.back) {
        let shared = look.shared.iter().find(|shared| shared.port == hop.port);
        let waited = shared.map_or(Span::ZERO, |shared| {
            shared.flows.iter().fold(shared.idle, |sum, of| sum + of.waited)
        });
        assert_eq!(waited, hop.queueing, "flow {} at {:?}", look.flow, hop.port);
        let paused = shared.map_or(Span::ZERO, |shared| shared.paused);
        assert_eq!(paused, hop.paused, "flow {} at {:?}", look.flow, hop.port);
    }
}

/// Returns the events of data packets at one egress port.
fn at_port(outcome: &Outcome, node: u32, interface: u32) -> Vec<TraceEvent> {
    let here = |event: &&TraceEvent| {
        (event.node.0, event.interface, event.kind) == (node, interface, PacketKind::Data)
            && matches!(event.event, TraceKind::Enqueue | TraceKind::Dequeue)
    };
    outcome.trace.iter().filter(here).copied().collect()
}

/// Returns the time for which packets of `flow` waited for each flow at a port that was never paused, from the trace:
/// every packet's wait is cut at each departure.
fn waits_by_trace(events: &[TraceEvent], flow: u32) -> BTreeMap<u32, (u64, u64)> {
    let mut waits: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let departures: Vec<&TraceEvent> = events.iter().filter(|e| e.event == TraceKind::Dequeue).collect();
    for came in events
        .iter()
        .filter(|e| e.event == TraceKind::Enqueue && e.flow == flow)
    {
        let left = departures
            .iter()
            .find(|e| e.flow == flow && e.seq == came.seq)
            .unwrap();
        for other in &departures {
            let (on, off) = (other.at.as_ps(), other.at.as_ps() + u64::from(other.wire) * 80);
            let (from, to) = (on.max(came.at.as_ps()), off.min(left.at.as_ps()));
            if from < to {
                waits.entry(other.flow).or_default().1 += to - from;
            }
        }
    }
    // Bytes that left while at least one packet of the flow stayed behind.
    let mut inside = 0;
    for event in events {
        let own = event.flow == flow;
        match event.event {
            TraceKind::Enqueue => inside += u32::from(own),
            _ => {
                inside -= u32::from(own);
                if inside > 0 {
                    waits.entry(event.flow).or_default().0 += u64::from(event.wire);
                }
            }
        }
    }
    waits
}

/// Two flows into one port, and a third past it: the two wait for each other there, and nowhere else.
#[test]
fn two_flows_share_a_port() {
    let mut spec = natural(star(4, scheme_with("none", WindowMode::Fixed, &[])));
    add_flow(&mut spec, 1, 3, 200_000, 0);
    add_flow(&mut spec, 2, 3, 100_000, 500);
    add_flow(&mut spec, 2, 4, 50_000, 600);
    spec.record.trace_nodes = vec![NodeId(0)];
    let outcome = looked_at(spec);
    let events = at_port(&outcome, 0, 3);
    for flow in [0, 1] {
        let look = &outcome.flow_probes[flow as usize];
        let [shared] = &look.shared[..] else {
            panic!("one port: {:?}", look.shared);
        };
        assert_eq!((shared.port.node, shared.port.peer), (NodeId(0), NodeId(3)));
        let found: BTreeMap<u32, (u64, u64)> = shared
            .flows
            .iter()
            .map(|of| (of.flow, (of.bytes, of.waited.as_ps())))
            .collect();
        assert_eq!(found, waits_by_trace(&events, flow));
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [0, 1]);
    }
    assert!(
        outcome.flow_probes[2].shared.is_empty(),
        "{:?}",
        outcome.flow_probes[2].shared
    );
    // Flows 1 and 2 take turns at their NIC; flow 0 has another.
    assert!(outcome.flow_probes[0].nic.is_empty());
    assert_eq!(
        outcome.flow_probes[1]
            .nic
            .iter()
            .map(|of| of.0)
            .collect::<Vec<_>>(),
        [2]
    );
    assert!(outcome.flow_probes[0].causes.is_empty(), "no scheme, no cuts");
}

/// Two flows of a host take turns: each waits a packet's time of the other for each of its own.
#[test]
fn a_shared_nic() {
    let mut spec = natural(star(3, scheme("none")));
    add_flow(&mut spec, 1, 2, 100_000, 0);
    add_flow(&mut spec, 1, 3, 100_000, 0);
    let outcome = looked_at(spec);
    assert_eq!(outcome.flow_probes[0].nic, [(1, Span::from_ps(99 * TX))]);
    assert_eq!(outcome.flow_probes[1].nic, [(0, Span::from_ps(100 * TX))]);
}

/// DCTCP: marks are those of the port to the receiver, as the trace counts them, and so are the cuts.
#[test]
fn marks_come_from_the_port_that_marked() {
    let mut spec = natural(star(5, scheme("dctcp")));
    spec.switch.ecn.truncate(1);
    (spec.switch.ecn[0].kmin, spec.switch.ecn[0].kmax) = (Bytes::new(20_000), Bytes::new(20_000));
    add_flow(&mut spec, 1, 4, 600_000, 0);
    add_flow(&mut spec, 2, 4, 600_000, 0);
    add_flow(&mut spec, 3, 5, 600_000, 0);
    spec.record.trace_nodes = vec![NodeId(0), NodeId(1)];
    spec.record.flow_every = Some(Span::from_ns(20));
    spec.record.flows_max = 3;
    let outcome = looked_at(spec);
    let look = &outcome.flow_probes[0];
    let events = at_port(&outcome, 0, 4);
    let marked = events
        .iter()
        .filter(|e| e.event == TraceKind::Dequeue && e.flow == 0 && e.mark == Mark::Congested);
    let marked: Vec<&TraceEvent> = marked.collect();
    let [marks] = &look.marks[..] else {
        panic!("one port marks: {:?}", look.marks);
    };
    assert_eq!((marks.port.node, marks.port.peer), (NodeId(0), NodeId(4)));
    assert_eq!(marks.count, marked.len() as u64);
    assert_eq!(
        (marks.first, marks.last),
        (marked[0].at, marked[marked.len() - 1].at)
    );
    let deepest = marked
        .iter()
        .map(|event| u64::from(event.queue_bytes))
        .max()
        .unwrap();
    assert_eq!(marks.queue_max.get(), deepest);
    // Every cut was caused by marks of that port, came with an acknowledgement, and started from the last limits.
    let [cause] = &look.causes[..] else {
        panic!("one cause: {:?}", look.causes);
    };
    assert_eq!((cause.cause, cause.port), (Cause::Mark, Some(marks.port)));
    assert_eq!(
        (cause.count as usize, cause.first),
        (look.cuts.len(), look.cuts[0].at)
    );
    let acks: Vec<Time> = outcome
        .trace
        .iter()
        .filter(|e| (e.node, e.flow, e.kind, e.event) == (NodeId(1), 0, PacketKind::Ack, TraceKind::Receive))
        .map(|event| event.at)
        .collect();
    let windows: Vec<(Time, u64)> = (outcome.flow_series[0].window.bins())
        .map(|bin| (bin.at, bin.last))
        .collect();
    for cut in &look.cuts {
        assert!(acks.contains(&cut.at), "{cut:?}");
        assert!(cut.after.window < cut.before.window && cut.factor() > 1.0);
        // The recorded window agrees.
        let until = windows.iter().rev().find(|window| window.0 <= cut.at).unwrap();
        let since = windows.iter().find(|window| window.0 > cut.at).unwrap();
        assert_eq!(
            (until.1, since.1),
            (cut.before.window.get(), cut.after.window.get()),
            "{cut:?}"
        );
    }
    // The third flow has a port to itself.
    assert!(outcome.flow_probes[2].causes.is_empty() && outcome.flow_probes[2].marks.is_empty());
}

/// DCQCN's receiver sends CNPs; HPCC reads telemetry; TIMELY measures: the port is the same.
#[test]
fn each_kind_of_scheme_is_told_by_the_shared_port() {
    let kinds = [
        ("dcqcn", Cause::Mark),
        ("dcqcn-paper", Cause::Cnp),
        ("hpcc", Cause::Telemetry),
        ("hpcc-pint", Cause::Digest),
        ("timely", Cause::Delay),
        ("swift", Cause::Delay),
        ("bolt", Cause::Notice),
        ("qcn", Cause::Notice),
        ("powertcp", Cause::Telemetry),
    ];
    for (name, got) in kinds {
        // Every marked acknowledgement is a notification, or the receiver sends packets.
        let scheme = match name {
            "dcqcn-paper" => scheme_with("dcqcn", WindowMode::Off, &[("flavour", "paper")]),
            _ => scheme(name),
        };
        let mut spec = natural(star(6, scheme));
        spec.switch.ecn.truncate(1);
        (spec.switch.ecn[0].kmin, spec.switch.ecn[0].kmax) = (Bytes::new(20_000), Bytes::new(100_000));
        for host in 1..=4 {
            add_flow(&mut spec, host, 6, 1_000_000, 0);
        }
        let outcome = looked_at(spec);
        let look = &outcome.flow_probes[0];
        let cause = look.causes.first().unwrap_or_else(|| panic!("{name}: no cut"));
        let port = cause
            .port
            .unwrap_or_else(|| panic!("{name}: no port in {cause:?}"));
        assert_eq!(
            (cause.cause, port.node, port.peer),
            (got, NodeId(0), NodeId(6)),
            "{name}"
        );
        let shared = look
            .shared
            .iter()
            .find(|shared| shared.port == port)
            .expect("it waited there");
        let mut flows: Vec<u32> = shared.flows.iter().map(|of| of.flow).collect();
        flows.sort_unstable();
        assert_eq!(flows, [0, 1, 2, 3], "{name}");
    }
}

/// Two switches. Flow 0 goes from host 2 into the slow link to host 6; flow 1 from host 3 to host 7, which is idle. PFC
/// pauses the link between the switches because of flow 0, and holds flow 1 back with it.
fn victim() -> RunSpec {
    let mut spec = natural(star(2, scheme("none")));
    use NodeKind::{Host, Switch};
    spec.nodes = vec![Switch, Switch, Host, Host, Host, Host, Host, Host];
    spec.links = vec![link(0, 1, common::G100)];
    spec.links
        .extend([2, 3, 4].map(|host| link(0, host, common::G100)));
    spec.links
        .extend([5, 6, 7].map(|host| link(1, host, common::G100)));
    spec.links[5].rate = BitRate::from_gbps(10);
    spec.switch.ecn.clear();
    static_pfc(&mut spec, 40_000, 38_000, 60_000);
    spec.nic.rto = None;
    add_flow(&mut spec, 2, 6, 1_000_000, 0);
    add_flow(&mut spec, 3, 7, 300_000, 20_000);
    spec.record.trace_nodes = vec![NodeId(0), NodeId(1)];
    spec
}

#[test]
fn a_victim_names_the_port_and_the_flow_behind_the_pauses() {
    let outcome = looked_at(victim());
    let look = &outcome.flow_probes[1];
    let name = |port: &paceline_fabric::outcome::PortRef| (port.node.0, port.peer.0);
    let at_trunk = look
        .pauses
        .iter()
        .find(|pauses| name(&pauses.port) == (0, 1))
        .expect("the trunk");
    assert_eq!(at_trunk.way.iter().map(name).collect::<Vec<_>>(), [(1, 6)]);
    // All bytes at the root are flow 0's.
    assert_eq!(at_trunk.flows.iter().map(|of| of.0).collect::<Vec<_>>(), [0]);
    // Counts and times are those of the frames that the switch received.
    let frames: Vec<_> = outcome
        .pfc
        .iter()
        .filter(|frame| (frame.node.0, frame.interface) == (0, 1))
        .collect();
    let since_start = |at: Time| at >= outcome.flows[1].start;
    let pauses: Vec<Time> = frames
        .iter()
        .filter(|frame| frame.pause)
        .map(|frame| frame.at)
        .collect();
    let resumes: Vec<Time> = frames
        .iter()
        .filter(|frame| !frame.pause)
        .map(|frame| frame.at)
        .collect();
    let watched: Vec<usize> = (0..pauses.len())
        .filter(|&i| pauses[i] >= at_trunk.first)
        .collect();
    assert!(since_start(at_trunk.first) && watched.len() > 5);
    assert_eq!(at_trunk.count as usize, watched.len());
    let time: u64 = watched
        .iter()
        .map(|&i| resumes[i].as_ps() - pauses[i].as_ps())
        .sum();
    assert_eq!(at_trunk.time.as_ps(), time);
    // The trunk is paused, so its switch pauses the senders: through the trunk, from the same root.
    let at_nic = look.pauses.iter().find(|pauses| name(&pauses.port) == (3, 0));
    if let Some(at_nic) = at_nic {
        assert_eq!(at_nic.way.iter().map(name).next_back(), Some((1, 6)));
    }
    // Pauses, not a queue: flow 1's own port is empty.
    let account = &outcome.accounts[1];
    let paused: Span = account.hops.iter().fold(Span::ZERO, |sum, hop| sum + hop.paused);
    assert!(paused > Span::ZERO && look.causes.is_empty());
}

/// A NIC that pauses for no reason in the network: the path to the root is empty.
#[test]
fn a_host_that_pauses_is_the_root() {
    let mut spec = natural(star(2, scheme("none")));
    spec.storms.push(PauseStorm {
        node: NodeId(2),
        link: None,
        class: 3,
        at: Time::from_ns(1_500),
        until: Some(Time::from_ns(20_000)),
    });
    add_flow(&mut spec, 1, 2, 20_000, 0);
    let outcome = looked_at(spec);
    let [pauses] = &outcome.flow_probes[0].pauses[..] else {
        panic!("{:?}", outcome.flow_probes[0].pauses);
    };
    assert_eq!((pauses.port.node, pauses.port.peer), (NodeId(0), NodeId(2)));
    assert!(pauses.way.is_empty() && pauses.flows.is_empty());
    // From the frame's arrival to the resume's: 18.5 us.
    assert_eq!((pauses.count, pauses.time), (1, Span::from_ns(18_500)));
}
