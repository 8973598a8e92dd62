//! SimAI's network: its topologies, its configuration, and the messages of its runs.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use paceline_fabric::Simulation;
use paceline_fabric::spec::{FlowControl, NodeId, StaticRoute};
use paceline_kernel::{Bytes, Span};
use paceline_scenario::{Overrides, Resolved, SIMAI, load, load_text};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../traces/tests/data/simai")
        .join(name)
}

/// Message in a run of SimAI: sender, receiver, bytes, start and completion time in ns.
struct Message {
    ends: (u32, u32),
    port: u32,
    bytes: u64,
    start: u64,
    fct: u64,
}

/// Reads messages that SimAI logged at their completion, sorted by start.
fn messages(name: &str) -> Vec<Message> {
    let file = fs::File::open(data(&format!("{name}-messages.csv.gz"))).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    let mut messages: Vec<Message> = text
        .lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<u64> = line.split(',').map(|field| field.parse().unwrap()).collect();
            Message {
                ends: (fields[0] as u32, fields[1] as u32),
                port: fields[2] as u32,
                bytes: fields[3],
                start: fields[4],
                fct: fields[5],
            }
        })
        .collect();
    messages.sort_by_key(|message| (message.start, message.ends, message.port));
    messages
}

/// Loads SimAI's configuration with this topology and these messages.
fn with(topology: &str, messages: &[Message]) -> Resolved {
    let folder = tempfile::tempdir().unwrap();
    let mut flows = format!("{}\n", messages.len());
    for message in messages {
        let (src, dst) = message.ends;
        let (s, ns) = (message.start / 1_000_000_000, message.start % 1_000_000_000);
        writeln!(flows, "{src} {dst} 3 100 {} {s}.{ns:09}", message.bytes).unwrap();
    }
    fs::write(folder.path().join("flows.txt"), flows).unwrap();
    fs::copy(data(topology), folder.path().join("topology.txt")).unwrap();
    let conf = fs::read_to_string(data("SimAI.conf")).unwrap();
    let conf = conf.replace("/etc/astra-sim/simulation/flow1.txt", "flows.txt");
    let path = folder.path().join("SimAI.conf");
    fs::write(&path, format!("TOPOLOGY_FILE topology.txt\n{conf}\n")).unwrap();
    load(path.to_str().unwrap(), &Overrides::default()).unwrap()
}

/// Counts the messages whose duration equals SimAI's to the nanosecond.
fn equal(topology: &str, name: &str) -> (usize, usize) {
    let messages = messages(name);
    let resolved = with(topology, &messages);
    assert_eq!(resolved.fidelity, SIMAI);
    let mut simulation = Simulation::new(resolved.run).unwrap();
    while !simulation.advance(1 << 20).done {}
    let outcome = simulation.finish();
    assert!(outcome.pfc.is_empty());
    let flows = outcome.flows.iter().zip(&messages);
    let equal = flows.filter(|(flow, message)| flow.fct == Span::from_ns(message.fct));
    (equal.count(), messages.len())
}

#[test]
fn every_message_of_an_all_reduce_in_a_server() {
    let topology = "Rail_Opti_SingleToR_8g_8gps_200Gbps_H20";
    assert_eq!(equal(topology, "microAllReduce-lat3"), (1792, 1792));
}

/// Rings over two servers. The other messages start in the same nanosecond in which a packet arrives: a list of flows
/// does not say which came first.
#[test]
fn messages_of_rings_over_servers() {
    let (equal, all) = equal("Spectrum-X_16g_8gps_100Gbps_A100", "tp16-lat3");
    assert!(equal >= 7462 && all == 7680, "{equal} of {all}");
}

#[test]
fn what_simais_network_has_of_its_own() {
    let resolved = with(
        "Spectrum-X_32g_8gps_100Gbps_A100",
        &messages("microAllReduce-lat3"),
    );
    let run = &resolved.run;
    let packet = &run.packet;
    let sizes = [packet.mtu, packet.data_header, packet.ack_min].map(Bytes::get);
    assert_eq!(sizes, [9000, 52, 60]);
    assert_eq!(run.links[0].delay, Span::from_ns(25));
    assert!(run.nic.global_rtt);
    let said: Vec<String> = resolved.warnings.iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(|text| text.contains("GLOBAL_T is 0")),
        "{said:#?}"
    );
    let [tier] = &run.switch.tiers[..] else {
        panic!("{:?}", run.switch.tiers);
    };
    assert_eq!(tier.switches, [32, 33, 34, 35].map(NodeId));
    assert!(tier.ecn.is_empty() && !tier.pauses);
    assert_eq!(tier.buffer, Bytes::new(32 << 20));
    assert!(matches!(run.switch.flow_control, FlowControl::Pfc(_)));
    assert_eq!(run.routes, []);
    let simulation = Simulation::new(resolved.run.clone()).unwrap();
    // Twice four links of 500 ns, two packets at 100 Gbit/s and two at 400.
    assert_eq!(simulation.finish().base_rtt, Span::from_ns(5800));
}

/// All GPUs of a server are also at one outer switch, as near as the inner switch, which has precedence.
#[test]
fn gpus_of_a_server_meet_inside_it() {
    let topology = "7 2 2 1 8 H100\n4 5 6\n0 4 2400Gbps 0.000025ms 0\n1 4 2400Gbps 0.000025ms 0\n\
                    2 5 2400Gbps 0.000025ms 0\n3 5 2400Gbps 0.000025ms 0\n0 6 100Gbps 0.0005ms 0\n\
                    1 6 100Gbps 0.0005ms 0\n2 6 100Gbps 0.0005ms 0\n3 6 100Gbps 0.0005ms 0\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("topology.txt");
    fs::write(&path, topology).unwrap();
    let run = |fidelity: &str| {
        let text = format!(
            "fidelity = '{fidelity}'\nduration = '1ms'\ncc.scheme = 'none'\ntopology.file = {:?}\n[[workload]]\n\
             flows = [{{ src = 0, dst = 1, size = '9KB' }}, {{ src = 2, dst = 3, size = '9KB' }}, \
             {{ src = 1, dst = 2, size = '9KB' }}]\n",
            path.to_str().unwrap()
        );
        load_text("test.toml", &text, &Overrides::default()).unwrap()
    };
    for fidelity in ["exact", "simai"] {
        let resolved = run(fidelity);
        let route = |node, to, via| StaticRoute {
            node: NodeId(node),
            to: NodeId(to),
            via: NodeId(via),
        };
        let routes = [route(0, 1, 4), route(1, 0, 4), route(2, 3, 5), route(3, 2, 5)];
        assert_eq!(resolved.run.routes, routes);
        let again = load_text("again.toml", &resolved.toml, &Overrides::default());
        assert!(again.is_err(), "its topology is a file");
        let mut simulation = Simulation::new(resolved.run).unwrap();
        while !simulation.advance(1 << 20).done {}
        let times: Vec<u64> = simulation
            .finish()
            .flows
            .iter()
            .map(|flow| flow.fct.as_ns())
            .collect();
        assert!(
            times[0] < 500 && times[1] < 500 && times[2] > 2000,
            "{fidelity}: {times:?}"
        );
    }
}

/// ns-3 takes a bare number for bit/s or seconds: 2400 bit/s would silently block all traffic.
#[test]
fn rates_and_delays_of_links_have_units() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("topology.txt");
    let load = |head: &str, link: &str| {
        fs::write(&path, format!("{head}0 2 2400Gbps 0 0\n{link}\n")).unwrap();
        let text = format!(
            "fidelity = 'simai'\nduration = '1ms'\ncc.scheme = 'none'\ntopology.file = {:?}\n[[workload]]\n\
             flows = [{{ src = 0, dst = 1, size = '9KB' }}]\n",
            path.to_str().unwrap()
        );
        load_text("test.toml", &text, &Overrides::default())
    };
    let (simai, plain) = ("3 2 1 0 2 H100\n2\n", "3 1 2\n2\n");
    for (head, link) in [
        (simai, "1 2 2400Gbps 0.000025ms 0"),
        (plain, "1 2 2400Gbps 0.000025ms 0"),
        // ns3-datacenter writes rates in this format.
        (plain, "1 2 25000000000.0 0.000025 0"),
    ] {
        load(head, link).unwrap();
    }
    let rate = "topology.txt:4:5: `2400` has no unit: expected a rate with its unit, such as 100Gbps";
    let delay = "has no unit: expected a delay with its unit, such as 0.001ms";
    for (head, link, expected) in [
        (simai, "1 2 2400 0.000025ms 0", rate),
        (plain, "1 2 2400 0.000025ms 0", rate),
        (simai, "1 2 2400Gbps 0.000025 0", delay),
        (plain, "1 2 2400Gbps 25 0", delay),
    ] {
        let error = load(head, link).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
