//! Networks under credits: comparison with a published simulator (`validation/ib-omnet`), and general properties.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::networks_ib::*;
use paceline_fabric::outcome::FlowStatus;
use paceline_fabric::spec::*;
use paceline_fabric::{Outcome, RunSpec, Simulation, Until};
use paceline_kernel::rng::mix;
use paceline_kernel::{Bytes, Span, Time};
use paceline_parity::ib_omnet::*;
use proptest::prelude::*;

fn run(spec: RunSpec) -> Outcome {
    let mut simulation = Simulation::new(spec).unwrap();
    while !simulation.advance(u64::MAX).done {}
    simulation.finish()
}

fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../validation/ib-omnet")
        .join(name)
}

fn text(name: &str) -> String {
    let mut text = String::new();
    let file = fs::File::open(shipped(name)).unwrap();
    match name.ends_with(".gz") {
        true => flate2::read::GzDecoder::new(file).read_to_string(&mut text),
        false => { file }.read_to_string(&mut text),
    }
    .unwrap();
    text
}

fn runs() -> impl Iterator<Item = (Variant, &'static str, Control, &'static str)> {
    [(Variant::Messages, "N200"), (Variant::Published, "PUB")]
        .into_iter()
        .flat_map(|(variant, name)| {
            let schemes = [
                (Control::None, "cbfc"),
                (ibcc_demo(), "ibcc"),
                (rrcc_default(), "rrcc"),
            ];
            schemes.map(|(control, scheme)| (variant, name, control, scheme))
        })
}

/// Formats a step as the reference does.
fn line(spec: &RunSpec, event: &CreditEvent) -> Option<String> {
    let (node, i) = (event.node.0, event.interface);
    let at = |part: &str| match node {
        0..19 => format!("H_{}.{part}", node + 1),
        _ => format!("SW_{}.subport[{i}].{part}", node - 18),
    };
    let host = format!("H_{}", node + 1);
    let flow = |flow: u32| {
        let flow = flow as usize;
        let sources = &CreditSpec::of(spec).unwrap().sources;
        let source = sources
            .iter()
            .rfind(|source| source.first as usize <= flow)
            .unwrap();
        (spec.flows[flow], flow as u32 - source.first)
    };
    let (what, index, info) = match event.what {
        CreditStep::Message { flow: number } => {
            let (flow, message) = flow(number);
            let (to, packets) = (flow.dst.0 + 1, flow.size.get() / PACKET);
            (
                "msg_to_generator",
                host,
                format!("dst={to} msg={message} pkts={packets}"),
            )
        }
        CreditStep::Update { lane, limit, sent } => (
            "wire_tx_fcp",
            at("obuf"),
            format!("vl={lane} fccl={limit} fctbs={sent}"),
        ),
        CreditStep::Sent { from, notification } => {
            let value = notification.map_or(0, |congested| if congested { 1 } else { 3 });
            (
                "wire_tx_data",
                at("obuf"),
                format!("src={} becn={value}", from.0 + 1),
            )
        }
        CreditStep::Credits { credits } => ("arb_credit_update", at("vlarb"), format!("credits={credits}")),
        CreditStep::Marked { from } => ("mark", at("vlarb"), format!("src={}", from.0 + 1)),
        CreditStep::Received {
            flow: number,
            packet,
            marked,
        } => {
            let (flow, message) = flow(number);
            let (from, fecn) = (flow.src.0 + 1, u8::from(marked));
            (
                "sink_rx",
                host,
                format!("src={from} fecn={fecn} becn=0 pkt={packet} msg={message}"),
            )
        }
        CreditStep::Notified { .. } | CreditStep::Granted { .. } | CreditStep::Found { .. } => return None,
    };
    let ps = event.at.as_ps();
    Some(format!("{}.{:03},{what},{index},{info}", ps / 1000, ps % 1000))
}

/// Compares each step of the two traced windows under each scheme: kind, time and order.
#[test]
fn every_step_is_the_references() {
    let mut compared = 0;
    for (variant, name, control, scheme) in runs() {
        for gap in [10, 20] {
            let file = format!("trace_{name}_{scheme}_g{gap}.csv.gz");
            if !shipped(&file).exists() {
                continue;
            }
            let mut spec = demo(variant, control, Span::from_us(gap));
            let ns = |from, to| (Time::from_ns(from), Time::from_ns(to));
            CreditSpec::of_mut(&mut spec).unwrap().trace = vec![ns(0, 45_000), ns(10_000_000, 10_060_000)];
            spec.stop = Time::from_ns(10_060_000);
            let outcome = run(spec.clone());
            let trace = &CreditOutcome::of(&outcome).unwrap().trace;
            let ours: Vec<String> = trace.iter().filter_map(|event| line(&spec, event)).collect();
            let reference = text(&file);
            // Notifications are compared as steps on wires; their effects on senders have other numbers in the
            // reference.
            let is_ours = |line: &&str| {
                let arrives = line.contains(",sink_rx,") && !line.contains(" becn=0");
                !arrives && !line.contains(",BECN_rx,")
            };
            let theirs = reference.lines().skip(1).filter(is_ours);
            let mut ours = ours.iter();
            for line in theirs {
                assert_eq!(ours.next().map(String::as_str), Some(line), "{file}");
                compared += 1;
            }
            assert_eq!(ours.next(), None, "{file}: it ends");
        }
    }
    assert_eq!(compared, 19_079);
}

/// Compares whole runs: messages, their times, marks and notifications, also for gaps without a trace.
#[test]
fn whole_runs_come_out_as_the_references() {
    for (variant, name, control, scheme) in runs() {
        let table = text(&format!("summary_{name}.csv"));
        let mut lines = table.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        for row in lines.filter(|row| row.split(',').nth(2) == Some(scheme)) {
            let row: BTreeMap<&str, &str> = header.iter().copied().zip(row.split(',')).collect();
            let number = |key: &str| row[key].parse::<f64>().unwrap();
            let gap = Span::from_us(number("gap_us") as u64);
            let spec = demo(variant, control, gap);
            let outcome = run(spec.clone());
            let credits = CreditOutcome::of(&outcome).unwrap();
            let mut times: Vec<f64> = Vec::new();
            let mut latencies: Vec<f64> = Vec::new();
            for ((flow, record), injected) in spec.flows.iter().zip(&outcome.flows).zip(&credits.injected) {
                if let (2.., Some(received), Some(injected)) = (flow.src.0, record.received, injected) {
                    times.push(record.fct.as_us_f64());
                    latencies.push(received.saturating_since(*injected).as_us_f64());
                }
            }
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
            let close = |ours: f64, key: &str| {
                assert!(
                    (ours - number(key)).abs() < 0.000_6,
                    "{}: {key} is {ours}, not {}",
                    row["run"],
                    number(key)
                );
            };
            close(times.len() as f64, "n_msg");
            close(mean(&times), "fct_mean_us");
            close(largest(&times), "fct_max_us");
            close(mean(&latencies), "lat_mean_us");
            close(largest(&latencies), "lat_max_us");
            let marked = |node: u32, interface: u16| {
                let port = |port: &&paceline_parity::ib_omnet::PortTotals| {
                    (port.node, port.interface) == (NodeId(node), interface)
                };
                credits.ports.iter().find(port).unwrap().marked as f64
            };
            close(marked(20, 2), "marks_SW2up");
            close(marked(19, 3), "marks_SW1toH5");
            close(marked(19, 0), "marks_SW1toH3");
            let source = |lid: u32| {
                let sources = &CreditSpec::of(&spec).unwrap().sources;
                let of = |source: &Source| spec.flows[source.first as usize].src == host(lid);
                credits.sources[sources.iter().position(of).unwrap()]
            };
            close(source(1).marked as f64, "FECN_rx_H1");
            close(source(2).marked as f64, "FECN_rx_H2");
            close(source(1).notified as f64, "BECN_rx_H1");
            close(source(2).notified as f64, "BECN_rx_H2");
            let bursts: u64 = [4]
                .into_iter()
                .chain(6..=19)
                .map(|lid| source(lid).notified)
                .sum();
            close(bursts as f64, "BECN_rx_burst");
        }
    }
}

/// Compares one flow's throughput for different buffers and flow-control periods.
#[test]
fn a_single_flow_gets_what_its_credits_carry() {
    for row in text("single-flow.csv").lines().skip(1) {
        let fields: Vec<f64> = row.split(',').map(|field| field.parse().unwrap()).collect();
        let [period, buffer, _, expected] = fields[..] else {
            panic!("{row}")
        };
        let mut spec = demo(Variant::Messages, Control::None, Span::from_us(10));
        let only = spec.flows[0];
        let mut credits = CreditSpec::of(&spec).unwrap().clone();
        credits.period = Span::from_ps((period * 1e6) as u64);
        credits.buffer = buffer as u32;
        credits.sources.truncate(1);
        spec.flows = vec![only];
        let (from, until) = (Time::from_ns(500_000), Time::from_ns(1_500_000));
        spec.stop = until;
        credits.trace = vec![(from, until)];
        spec.model = Some(Model::new(credits));
        let outcome = run(spec);
        let trace = &CreditOutcome::of(&outcome).unwrap().trace;
        let is_received = |event: &&CreditEvent| matches!(event.what, CreditStep::Received { .. });
        let received = trace.iter().filter(is_received).count() as f64;
        // The start of the reference's millisecond is unknown: it may contain a packet more or less.
        let (rate, packet) = (received * 0.016_384, 0.016_384);
        assert!((rate - expected).abs() < packet + 0.0005, "{row}: {rate}");
    }
}

/// Returns the traffic of the fat tree's hosts: small messages from most, and files from some, which control their
/// rates.
fn fat_tree_traffic() -> (Vec<Sends>, Vec<NodeId>) {
    let (mut sends, mut controlled) = (Vec::new(), Vec::new());
    for row in text("fat-tree-128-traffic.csv").lines().skip(1) {
        let fields: Vec<f64> = row.split(',').map(|field| field.parse().unwrap()).collect();
        let [from, to, packets, count, first] = fields[..] else {
            panic!("{row}")
        };
        let (from, to) = (from as u32, to as u32);
        let gap = if packets > 2.0 {
            Span::from_ns(1)
        } else {
            Span::from_us(50)
        };
        if packets > 2.0 {
            controlled.extend([host(from), host(to)]);
        }
        sends.push(Sends {
            from,
            to,
            bytes: packets as u64 * PACKET,
            count: count as u32,
            start: Time::from_ps((first * 1e6).round() as u64 - gap.as_ps()),
            gap,
            until: None,
        });
    }
    (sends, controlled)
}

/// Compares each message in a fat tree of 128 hosts, to the nanosecond.
#[test]
fn a_fat_trees_messages_come_when_the_references_do() {
    let (sends, controlled) = fat_tree_traffic();
    let mut spec = fat_tree(4, &sends, Time::from_ns(60_000_000));
    spec.check = false;
    CreditSpec::of_mut(&mut spec).unwrap().controlled = controlled;
    let outcome = run(spec.clone());
    let mut ours: BTreeMap<(u32, u32), (u64, u64, u64)> = BTreeMap::new();
    let injected = &CreditOutcome::of(&outcome).unwrap().injected;
    for source in &CreditSpec::of(&spec).unwrap().sources {
        for message in 0..source.count {
            let flow = (source.first + message) as usize;
            let (record, from) = (&outcome.flows[flow], spec.flows[flow].src.0 + 1);
            let received = record.received.unwrap();
            let latency = received.saturating_since(injected[flow].unwrap());
            let times = [record.start.as_ps(), received.as_ps(), latency.as_ps()].map(|ps| ps / 100);
            ours.insert((from, message), times.into());
        }
    }
    let theirs = text("fat-tree-128-messages-cbfc.csv.gz");
    let mut compared = 0;
    for row in theirs.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let key = (fields[0].parse().unwrap(), fields[2].parse().unwrap());
        let times = [4, 5, 6].map(|i| fields[i].replace('.', "").parse::<u64>().unwrap());
        assert_eq!(ours[&key], times.into(), "{row}");
        compared += 1;
    }
    assert_eq!((compared, outcome.counters.data_hops), (19_320, 1_632_320));
}

/// Step sizes and forks do not change a run.
#[test]
fn steps_and_forks_change_nothing() {
    let mut spec = demo(Variant::Published, rrcc_default(), Span::from_us(5));
    spec.stop = Time::from_ns(10_500_000);
    let whole = run(spec.clone());
    let mut simulation = Simulation::new(spec).unwrap();
    simulation.advance_to(Until::Time(Time::from_ns(10_100_001)));
    let mut fork = simulation.clone();
    for one in [&mut simulation, &mut fork] {
        while !one.advance(7).done {}
    }
    let (first, second) = (simulation.finish(), fork.finish());
    assert_eq!(first, second);
    assert_eq!(first, whole);
}

fn message_of(spec: RunSpec) -> String {
    Simulation::new(spec)
        .err()
        .map_or("it runs".to_string(), |error| error.to_string())
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |change: &dyn Fn(&mut RunSpec, &mut CreditSpec)| {
        let mut spec = demo(Variant::Messages, Control::None, Span::from_us(10));
        let mut credits = CreditSpec::of(&spec).unwrap().clone();
        change(&mut spec, &mut credits);
        spec.model = Some(Model::new(credits));
        message_of(spec)
    };
    let says = |message: String, what: &str| assert!(message.contains(what), "{message}");
    says(
        refused(&|spec, _| spec.ties = TieOrder::Structural),
        "in which they were scheduled",
    );
    says(
        refused(&|spec, _| spec.links[0].delay = Span::from_us(1)),
        "delays have to be zero",
    );
    says(
        refused(&|_, credits| credits.lanes = 16),
        "16 virtual lanes; there may be 1 to 15",
    );
    says(refused(&|_, credits| credits.lanes = 3), "2 weights for 3 lanes");
    says(refused(&|_, credits| credits.buffer = 0), "hold no packet");
    says(refused(&|_, credits| credits.fifo = 1), "queue of 1 packets");
    says(
        refused(&|_, credits| credits.period = Span::ZERO),
        "the period of flow control takes no time",
    );
    says(
        refused(&|_, credits| credits.sources.truncate(16)),
        "flow 2802 belongs to no source",
    );
    says(
        refused(&|_, credits| credits.sources[3].count = 7),
        "209 comes next",
    );
    says(
        refused(&|_, credits| credits.controlled = vec![NodeId(20)]),
        "node 20 is to control its rate",
    );
    says(
        refused(&|spec, _| spec.links.push(spec.links[0].clone())),
        "host 0 has 2 links",
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(paceline_testkit::cases(24)))]

    /// On any tree of switches and with any buffers, all messages arrive and all credits return.
    #[test]
    fn everything_comes_and_every_credit_comes_back(
        seed in 0u64..1 << 40,
        buffer in 1u32..6,
        fifo in 2u32..6,
        lanes in 1u8..4,
        scheme in 0usize..3,
    ) {
        let hosts = 9;
        let draw = |n: u64, below: u64| mix(seed ^ n) % below;
        let switch = |lid: u32| 10 + draw(u64::from(lid), 3) as u32;
        let mut links: Vec<(u32, u32)> = (1..=hosts).map(|lid| (lid, switch(lid))).collect();
        links.extend([(10, 11), (11, 12)]);
        let sends = |lid: u32| {
            let draw = |what: u64, below: u64| draw(u64::from(lid) + 100 * what, below);
            Sends {
                from: lid,
                to: 1 + draw(1, 9) as u32,
                bytes: 1 + draw(2, 9 * PACKET),
                count: 1 + draw(3, 40) as u32,
                start: Time::from_ps(draw(4, 3_000_000)),
                gap: Span::from_ps(1 + draw(5, 2_000_000)),
                until: None,
            }
        };
        let sends: Vec<Sends> = (1..=hosts).map(sends).collect();
        let mut spec = network(hosts, 3, &links, &sends, Time::from_ns(50_000_000));
        let credits = CreditSpec::of_mut(&mut spec).unwrap();
        credits.control = [Control::None, ibcc_demo(), rrcc_default()][scheme];
        credits.controlled = (1..=hosts).map(host).collect();
        (credits.buffer, credits.fifo, credits.lanes) = (buffer, fifo, lanes);
        credits.weights = vec![1; usize::from(lanes)];
        spec.record.accounts = Accounted::All;
        let outcome = run(spec.clone());
        for account in &outcome.accounts {
            prop_assert_eq!(account.total(), outcome.flows[account.flow as usize].fct);
        }
        prop_assert_eq!(outcome.accounts.len(), spec.flows.len());
        let packets: u64 = spec.flows.iter().map(|flow| flow.size.get().div_ceil(PACKET)).sum();
        prop_assert_eq!(outcome.counters.data_received, packets);
        for (flow, record) in spec.flows.iter().zip(&outcome.flows) {
            prop_assert_eq!(record.status, FlowStatus::Completed);
            prop_assert_eq!(record.delivered, flow.size);
            prop_assert!(record.fct > Span::ZERO);
        }
    }
}

/// A run ends when its sources have no further messages.
#[test]
fn a_run_ends_when_its_sources_do() {
    let mut spec = demo(Variant::Published, Control::None, Span::from_us(10));
    let credits = CreditSpec::of_mut(&mut spec).unwrap();
    credits.sources.truncate(2);
    credits
        .sources
        .iter_mut()
        .for_each(|source| source.until = Some(Time::from_ns(1)));
    spec.flows.truncate(2);
    spec.flows[1].size = Bytes::new(1);
    let outcome = run(spec);
    assert!(outcome.end < Time::from_ns(20_000_000), "{}", outcome.end);
    assert_eq!(outcome.counters.data_received, 0);
}
