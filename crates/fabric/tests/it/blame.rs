//! Blame: compared with computation by hand, with the trace of all packets and the list of pauses, and with the
//! accounts of flows.

use std::collections::BTreeMap;

use crate::common::{G100, add_flow, assert_complete, link, natural, run, scheme, star, static_pfc};
use crate::networks::{build, case};
use paceline_fabric::blame::{Waited, Waiting, Why};
use paceline_fabric::outcome::{Outcome, PacketKind, TraceEvent, TraceKind};
use paceline_fabric::spec::*;
use paceline_fabric::{RunSpec, Simulation};
use paceline_kernel::Time;
use proptest::prelude::*;

/// Time of a data packet of 1048 B at 100 Gbit/s, in ps.
const TX: u64 = 83_840;

/// Labels flows in turn, with accounts between these labels.
fn labelled(mut spec: RunSpec, labels: &[&str]) -> RunSpec {
    spec.labels = labels.iter().map(|label| (*label).to_string()).collect();
    for (i, flow) in spec.flows.iter_mut().enumerate() {
        flow.label = (i % labels.len()) as u16;
    }
    spec.record.blame = Blame::Labels;
    spec.record.accounts = Accounted::All;
    spec
}

/// Returns the waits of a run.
fn waits(outcome: &Outcome) -> &[Waited] {
    outcome.tables.rows()
}

/// Returns the waits of data at the port from `node` to `peer`.
fn of_data(outcome: &Outcome, node: u32, peer: u32) -> Vec<(&str, &str, Why, u64)> {
    let here = |of: &&Waited| (of.port.node.0, of.port.peer.0, of.packets) == (node, peer, Waiting::Data);
    let found = waits(outcome).iter().filter(here);
    found
        .map(|of| (&*of.victim, &*of.cause, of.why, of.waited_ps))
        .collect()
}

/// Packets arrive at the port 0, 40, 60 and 143.84 ns after the first, and leave every 83.84 ns in that order. The last
/// two belong to one flow.
#[test]
fn an_incast_of_two_labels() {
    let mut spec = natural(star(4, scheme("none")));
    add_flow(&mut spec, 1, 4, 1000, 0);
    add_flow(&mut spec, 2, 4, 1000, 40);
    add_flow(&mut spec, 3, 4, 2000, 60);
    let spec = labelled(spec, &["a", "b"]);
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    let (a, b) = ("a", "b");
    assert_eq!(
        of_data(&outcome, 0, 4),
        [
            // Flow 2's second packet waits for its first.
            (a, a, Why::Own, TX),
            // Its first packet arrived while flow 0's packet was sent.
            (a, a, Why::InProgress, TX - 60_000),
            // Its second packet arrived while flow 1's packet was sent, and its first waited for all of that.
            (a, b, Why::InProgress, 2 * TX - 60_000 - TX),
            (a, b, Why::Queue, TX),
            (b, a, Why::InProgress, TX - 40_000),
        ]
    );
    assert!(
        waits(&outcome)
            .iter()
            .all(|of| of.port.node == NodeId(0) && of.port.peer == NodeId(4))
    );
    // Between hosts the waits are the same: flows 0 and 2 belong to hosts 1 and 3.
    let mut spec = spec;
    spec.record.blame = Blame::Hosts;
    let of_hosts = run(spec);
    let of_hosts = of_data(&of_hosts, 0, 4);
    assert_eq!(
        of_hosts,
        [
            ("host 2", "host 1", Why::InProgress, TX - 40_000),
            ("host 3", "host 1", Why::InProgress, TX - 60_000),
            ("host 3", "host 2", Why::InProgress, TX - 60_000),
            ("host 3", "host 2", Why::Queue, TX),
            ("host 3", "host 3", Why::Own, TX),
        ]
    );
}

/// Five hosts send to one behind a trunk, and a flow of another label takes the same trunk to a separate host: the five
/// cause its pauses.
#[test]
fn pauses_are_those_of_their_root() {
    let mut spec = natural(star(2, scheme("none")));
    let (hosts, switches) = (7u32, 2u32);
    spec.nodes = vec![NodeKind::Switch; switches as usize];
    spec.nodes.extend(vec![NodeKind::Host; hosts as usize]);
    // Hosts 2 to 6 at switch 0, hosts 7 and 8 at switch 1.
    spec.links = vec![link(0, 1, paceline_kernel::BitRate::from_gbps(400))];
    spec.links.extend((2..7).map(|host| link(0, host, G100)));
    spec.links.extend((7..9).map(|host| link(1, host, G100)));
    static_pfc(&mut spec, 20_000, 10_000, 100_000);
    for host in 2..6 {
        add_flow(&mut spec, host, 7, 400_000, 0);
    }
    add_flow(&mut spec, 6, 8, 100_000, 10_000);
    let mut spec = labelled(spec, &["incast", "victim"]);
    for flow in &mut spec.flows {
        flow.label = u16::from(flow.dst.0 == 8);
    }
    let outcome = run(spec.clone());
    assert_complete(&spec, &outcome);
    assert!(outcome.counters.pause_frames > 10);
    let at_trunk = of_data(&outcome, 0, 1);
    let paused: Vec<_> = at_trunk.iter().filter(|of| of.2 == Why::Paused).collect();
    assert!(paused.iter().any(|of| of.0 == "victim"), "{at_trunk:?}");
    assert!(paused.iter().all(|of| of.1 == "incast"), "{paused:?}");
    sums(&outcome);
}

/// A NIC that pauses for no reason in the network: nobody is to blame.
#[test]
fn a_host_that_pauses_is_nobody() {
    let mut spec = natural(star(2, scheme("none")));
    spec.storms.push(PauseStorm {
        node: NodeId(2),
        link: None,
        class: 3,
        at: Time::from_ns(1_500),
        until: Some(Time::from_ns(20_000)),
    });
    add_flow(&mut spec, 1, 2, 20_000, 0);
    let spec = labelled(spec, &["alone"]);
    let outcome = run(spec);
    let waits = of_data(&outcome, 0, 2);
    assert!(
        waits.iter().any(|of| (of.1, of.2) == ("", Why::Paused)),
        "{waits:?}"
    );
    assert!(
        waits.iter().all(|of| of.1.is_empty() || of.2 == Why::Own),
        "{waits:?}"
    );
    sums(&outcome);
}

/// Compares the waits of flows' packets at each port with the flows' accounts, paused and not.
fn sums(outcome: &Outcome) {
    let key = |port: &paceline_fabric::outcome::PortRef, back: bool, paused: bool| {
        (port.node.0, port.interface, back, paused)
    };
    let mut accounts: BTreeMap<_, u64> = BTreeMap::new();
    for hop in outcome.accounts.iter().flat_map(|account| &account.hops) {
        *accounts.entry(key(&hop.port, hop.back, false)).or_default() += hop.queueing.as_ps();
        *accounts.entry(key(&hop.port, hop.back, true)).or_default() += hop.paused.as_ps();
    }
    let mut blamed: BTreeMap<_, u64> = BTreeMap::new();
    for of in waits(outcome).iter().filter(|of| of.packets != Waiting::Control) {
        let back = of.packets == Waiting::Acks;
        *blamed
            .entry(key(&of.port, back, of.why == Why::Paused))
            .or_default() += of.waited_ps;
    }
    accounts.retain(|_, time| *time > 0);
    blamed.retain(|_, time| *time > 0);
    assert_eq!(blamed, accounts);
}

/// Port, victim's label, kind of packets, cause's label if known, and reason; transmissions in progress count as
/// others.
type Cell = ((u32, u32), u16, Waiting, Option<u16>, Why);

/// Returns the time that packets waited in queues, from the list of events: every wait is cut at each pause and each
/// departure.
fn from_trace(spec: &RunSpec, outcome: &Outcome) -> BTreeMap<Cell, u64> {
    type Packet = (u32, PacketKind, u64);
    let label = |flow: u32| (flow != u32::MAX).then(|| spec.flows[flow as usize].label);
    let mut ports: BTreeMap<(u32, u32), Vec<&TraceEvent>> = BTreeMap::new();
    for event in &outcome.trace {
        ports
            .entry((event.node.0, event.interface))
            .or_default()
            .push(event);
    }
    let mut cells = BTreeMap::new();
    for (port, events) in ports {
        let rate = rate_of(spec, port);
        let sent: Vec<(u64, u64, u32)> = (events.iter())
            .filter(|event| event.event == TraceKind::Dequeue)
            .map(|event| {
                let at = event.at.as_ps();
                (at, at + u64::from(event.wire) * 8000 / rate, event.flow)
            })
            .collect();
        let mut waiting: Vec<(Packet, &TraceEvent)> = Vec::new();
        for event in &events {
            let packet = (event.flow, event.kind, event.seq);
            match event.event {
                TraceKind::Enqueue if label(event.flow).is_some() => waiting.push((packet, event)),
                TraceKind::Dequeue => {
                    let Some(first) = waiting.iter().position(|(one, _)| *one == packet) else {
                        continue;
                    };
                    let (_, came) = waiting.remove(first);
                    let (from, to) = (came.at.as_ps(), event.at.as_ps());
                    let mut add = |cause, why, time| {
                        if time > 0 {
                            let victim = label(event.flow).unwrap();
                            let cell = (port, victim, event.kind.waiting(), cause, why);
                            *cells.entry(cell).or_default() += time;
                        }
                    };
                    let pauses = pauses_of(outcome, port, came.class, to);
                    let paused = pauses
                        .iter()
                        .map(|pause| overlap(*pause, (from, to)))
                        .sum::<u64>();
                    add(None, Why::Paused, paused);
                    let mut rest = to - from - paused;
                    for &(on, off, flow) in &sent {
                        let together = (on.max(from), off.min(to));
                        if together.0 >= together.1 {
                            continue;
                        }
                        let all = together.1 - together.0;
                        let held: u64 = pauses.iter().map(|pause| overlap(*pause, together)).sum();
                        let why = if flow == event.flow { Why::Own } else { Why::Queue };
                        add(label(flow), why, all - held);
                        rest -= all - held;
                    }
                    add(None, Why::Idle, rest);
                }
                _ => {}
            }
        }
        assert!(waiting.is_empty(), "{waiting:?} stay at {port:?}");
    }
    cells
}

fn overlap(a: (u64, u64), b: (u64, u64)) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

/// Returns the rate of a port's link in Gbit/s.
fn rate_of(spec: &RunSpec, (node, interface): (u32, u32)) -> u64 {
    let here = |link: &&LinkSpec| link.a.0 == node || link.b.0 == node;
    let mut links = spec.links.iter().filter(here);
    let link = links.nth(interface as usize - 1).unwrap();
    link.rate.as_bps() / 1_000_000_000
}

/// Returns the times at which a class was paused at a port, up to `end`.
fn pauses_of(outcome: &Outcome, (node, interface): (u32, u32), class: u8, end: u64) -> Vec<(u64, u64)> {
    let frames = outcome
        .pfc
        .iter()
        .filter(|frame| (frame.node.0, frame.interface, frame.class) == (node, interface, class));
    let (mut pauses, mut since) = (Vec::new(), None);
    for frame in frames {
        match (frame.pause, since) {
            (true, None) => since = Some(frame.at.as_ps()),
            (false, Some(from)) => {
                pauses.push((from, frame.at.as_ps()));
                since = None;
            }
            _ => {}
        }
    }
    pauses.extend(since.map(|from| (from, end)));
    pauses
}

/// Returns the time that packets waited, from the accounts. Waits with a pause's origin are left out, since no list of
/// events has them.
fn from_accounts(outcome: &Outcome) -> BTreeMap<Cell, u64> {
    let mut cells = BTreeMap::new();
    for of in waits(outcome) {
        let port = (of.port.node.0, of.port.interface);
        let why = match of.why {
            Why::InProgress => Why::Queue,
            other => other,
        };
        let label = |name: &str| {
            ["a", "b", "c"]
                .iter()
                .position(|label| *label == name)
                .map(|label| label as u16)
        };
        let cause = label(&of.cause).filter(|_| why != Why::Paused);
        let cell = (port, label(&of.victim).unwrap(), of.packets, cause, why);
        *cells.entry(cell).or_default() += of.waited_ps;
    }
    cells
}

/// Returns bounds of the transmissions in progress when packets arrived: those strictly before in the list of events,
/// and those plus all that started in the same instant.
fn in_progress(spec: &RunSpec, outcome: &Outcome) -> [u64; 2] {
    let mut sums = [0; 2];
    for (i, came) in outcome.trace.iter().enumerate() {
        let port = (came.node.0, came.interface);
        let here = |event: &&TraceEvent| (event.node.0, event.interface) == port;
        if came.event != TraceKind::Enqueue || came.flow == u32::MAX {
            continue;
        }
        let packet =
            |event: &&TraceEvent| (event.flow, event.kind, event.seq) == (came.flow, came.kind, came.seq);
        let mut after = outcome.trace[i..].iter().filter(here);
        let left = after
            .find(|event| event.event == TraceKind::Dequeue && packet(event))
            .unwrap();
        let at = came.at.as_ps();
        for event in outcome
            .trace
            .iter()
            .filter(here)
            .filter(|event| event.event == TraceKind::Dequeue)
        {
            let (on, off) = (
                event.at.as_ps(),
                event.at.as_ps() + u64::from(event.wire) * 8000 / rate_of(spec, port),
            );
            if event.flow == came.flow || off <= at || on > at {
                continue;
            }
            let time = off.min(left.at.as_ps()).saturating_sub(at);
            sums[0] += if on < at { time } else { 0 };
            sums[1] += time;
        }
    }
    sums
}

fn blamed(mut spec: RunSpec) -> RunSpec {
    spec.record.flow_probes.clear();
    spec.record.omit_pfc = false;
    labelled(spec, &["a", "b", "c"])
}

#[test]
fn a_few_packets_by_the_trace() {
    let mut spec = natural(star(5, scheme("none")));
    for (host, start) in [(1, 0), (2, 13), (3, 77), (4, 130), (1, 170), (2, 240)] {
        add_flow(&mut spec, host, 5, 7_000, start);
    }
    spec.record.trace_nodes = (0..6).map(NodeId).collect();
    let spec = blamed(spec);
    let outcome = run(spec.clone());
    assert_eq!(from_accounts(&outcome), from_trace(&spec, &outcome));
    let of = |why: Why| -> u64 {
        let all = waits(&outcome).iter().filter(|of| of.why == why);
        all.map(|of| of.waited_ps).sum()
    };
    let [strictly, at_most] = in_progress(&spec, &outcome);
    let found = of(Why::InProgress);
    assert!(
        strictly > 0 && strictly <= found && found <= at_most,
        "{strictly} {found} {at_most}"
    );
    assert!(of(Why::Own) > 0 && of(Why::Queue) > 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(600), ..ProptestConfig::default() })]

    /// Accounts change nothing and are complete: packets' waits agree with the accounts of flows and with the trace.
    #[test]
    fn waits_add_up(case in case(&["none", "dcqcn", "dctcp", "hpcc", "swift", "nscc", "nscc-rccc", "bolt", "qcn"])) {
        let mut spec = blamed(build(&case));
        spec.record.trace_nodes = (0..spec.nodes.len() as u32).map(NodeId).collect();
        let outcome = run(spec.clone());
        let mut without = spec.clone();
        without.record = RecordSpec::default();
        let plain = run(without);
        prop_assert_eq!(plain.digest, outcome.digest);
        prop_assert!(!plain.tables.has::<Waited>());
        let lost = outcome.counters.buffer_drops + outcome.counters.link_drops + outcome.counters.trimmed;
        if lost == 0 {
            sums(&outcome);
        }
        // The list of frames has the arrivals of pauses. They start and end then, unless ports have a reaction time or
        // timers end them.
        let at_once = match case.flow_control {
            FlowControl::Pfc(pfc) => pfc.mode == PfcMode::OnOff && pfc.response == PfcResponse::NONE,
            FlowControl::None | FlowControl::Credits => true,
        };
        if case.failures.is_empty() && at_once {
            prop_assert_eq!(from_accounts(&outcome), from_trace(&spec, &outcome));
        }
        // Between hosts the times are the same.
        let mut of_hosts = spec.clone();
        of_hosts.record.blame = Blame::Hosts;
        let of_hosts = run(of_hosts);
        let sum = |outcome: &Outcome| waits(outcome).iter().map(|of| of.waited_ps).sum::<u64>();
        prop_assert_eq!(sum(&of_hosts), sum(&outcome));
        let again = run(spec);
        prop_assert_eq!(again.tables, outcome.tables);
    }
}

/// A run that is to be cut is not, and returns the reason.
#[test]
fn several_threads_are_refused() {
    let mut spec = natural(star(4, scheme("none")));
    add_flow(&mut spec, 1, 2, 1000, 0);
    spec.ties = TieOrder::Structural;
    let mut simulation = Simulation::new(labelled(spec, &["a"])).unwrap();
    assert_eq!(
        simulation.cut(2),
        Err("what happens at its ports is recorded in one order")
    );
}
