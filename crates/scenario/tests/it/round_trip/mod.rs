//! Round trips: a resolved scenario, written with its files and loaded again, is the same run.

mod aliases;
mod network;

use std::fs;
use std::path::Path;

use paceline_fabric::RunSpec;
use paceline_fabric::spec::Quirks;
use paceline_kernel::{BitRate, Span};
use paceline_scenario::warning::lines;
use paceline_scenario::{
    EXACT, Fidelity, NS3_HPCC, Origin, Overrides, Resolved, Warning, WarningKind, load, load_shipped,
};

fn data(path: &str) -> String {
    format!("{}/tests/data/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns true if every part of two runs prints the same; units print exactly.
fn same(a: &RunSpec, b: &RunSpec) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

fn write(resolved: &Resolved, folder: &Path) -> String {
    let path = folder.join("scenario.toml");
    fs::write(&path, &resolved.toml).unwrap();
    for (name, content) in &resolved.files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    path.to_str().unwrap().to_string()
}

fn assert_round_trip(input: &str, overrides: &Overrides) -> Resolved {
    let first = load(input, overrides).unwrap_or_else(|error| panic!("{input}: {error}"));
    let folder = tempfile::tempdir().unwrap();
    let again = load(&write(&first, folder.path()), &Overrides::default()).unwrap();
    assert!(
        same(&first.run, &again.run),
        "{input}\n{:#?}\n{:#?}",
        first.run,
        again.run
    );
    assert_eq!(first.toml, again.toml, "{input}");
    assert_eq!(
        (&first.name, &first.scheme, first.seed),
        (&again.name, &again.scheme, again.seed)
    );
    assert_eq!(first.files, again.files);
    assert_eq!(again.origin, Origin::Toml);
    first
}

#[test]
fn ns3_configurations() {
    for config in [
        "a_single_10KB/hpcc.txt",
        "a_single_10KB/dcqcn.txt",
        "c_incast16/hpcc.txt",
        "c_incast16/dcqcn.txt",
    ] {
        for fidelity in [None, Some(EXACT)] {
            let overrides = Overrides {
                fidelity,
                ..Overrides::default()
            };
            let resolved = assert_round_trip(&data(config), &overrides);
            assert_eq!(resolved.origin, Origin::Ns3Config);
            assert_eq!(resolved.fidelity, fidelity.unwrap_or(NS3_HPCC));
        }
    }
}

#[test]
fn shipped_scenarios_under_several_schemes() {
    let mut paused_first = Vec::new();
    for shipped in paceline_scenario::scenarios() {
        // The large ones differ only in numbers, so one scheme is enough.
        let all = ["hpcc", "none", "dcqcn", "dctcp", "timely", "hpcc-pint", "bolt"];
        let large = shipped.name.starts_with("fat320") && shipped.name != "fat320-hadoop30-2ms";
        let schemes = match shipped.name {
            // This one has the simulator's own congestion control.
            name if name.starts_with("uet") => {
                assert_round_trip(name, &Overrides::default());
                continue;
            }
            // Packets are sprayed over many paths, which schemes with telemetry do not support.
            name if name.starts_with("uec") => &all[1..5],
            // With credits, congestion control belongs to the network.
            name if name.starts_with("infiniband") => &all[1..2],
            // Its buffers are smaller than the marking threshold, which causes a warning for schemes that read marks.
            "credits-cable" => &all[..2],
            // Switches of these do not inspect arriving packets.
            name if name.contains("credits") => &all[..6],
            _ => &all[..if large { 1 } else { 7 }],
        };
        for scheme in schemes {
            let overrides = Overrides {
                scheme: Some(scheme.to_string()),
                ..Overrides::default()
            };
            let resolved = assert_round_trip(shipped.name, &overrides);
            assert_eq!(
                (resolved.name.as_str(), resolved.scheme.as_str()),
                (shipped.name, *scheme)
            );
            // Its own scheme's block is unused under another scheme, and its buffers may be too small for that
            // scheme's marks.
            let is_of_own = |warning: &&Warning| {
                !warning.id.is_of_all_runs()
                    && !matches!(warning.id, WarningKind::Threshold | WarningKind::Misfit)
            };
            let others = resolved.warnings.iter().filter(is_of_own);
            assert_eq!(lines(others), Vec::<String>::new(), "{}", shipped.name);
            assert!(shipped.about().contains("Source:"), "{}", shipped.name);
            assert_eq!(shipped.description(), resolved.description);
        }
        let own = load_shipped(shipped.name, &Overrides::default()).unwrap();
        let (marks, others): (Vec<_>, Vec<_>) = (own
            .warnings
            .into_iter()
            .filter(|warning| !warning.id.is_of_all_runs() && warning.id != WarningKind::Misfit))
        .partition(|warning| warning.id == WarningKind::Threshold);
        assert_eq!(lines(&others), Vec::<String>::new(), "{}", shipped.name);
        if !marks.is_empty() {
            paused_first.push(shipped.name);
        }
    }
    // In the paper, pauses start before marks.
    assert_eq!(paused_first, ["pcn-head-of-line"]);
}

#[test]
fn hosts_that_take_time() {
    let set = |keys: &[&str]| Overrides {
        set: keys.iter().map(|key| format!("network.endpoint.{key}")).collect(),
        scheme: Some("swift".into()),
        ..Overrides::default()
    };
    let some = assert_round_trip("incast-16", &set(&["per-packet=50ns", "rate=80Gbps"]));
    let endpoint = some.run.nic.endpoint.unwrap();
    assert_eq!(endpoint.per_packet, Span::from_ns(50));
    assert_eq!(endpoint.rate, Some(BitRate::from_gbps(80)));
    assert_eq!((endpoint.delay, endpoint.jitter), (Span::ZERO, Span::ZERO));
    // A model without any delay is none.
    let nothing = assert_round_trip("incast-16", &set(&["delay=0s", "rate=off"]));
    assert_eq!(nothing.run.nic.endpoint, None);
}

#[test]
fn every_override() {
    let overrides = Overrides {
        set: vec![
            "network.ack.every-bytes=4KB".into(),
            "record.trace=all".into(),
            "network.ack-class=flow".into(),
        ],
        scheme: Some("dcqcn-win".into()),
        seed: Some(7),
        duration: Some("3ms".parse().unwrap()),
        fidelity: Some(NS3_HPCC),
        shuffle_ties: Some(5),
        check: true,
        ..Overrides::default()
    };
    let resolved = assert_round_trip("incast-16", &overrides);
    assert_eq!((resolved.seed, resolved.run.seed), (7, 7));
    assert_eq!(resolved.run.stop.as_ns(), 3_000_000);
    assert_eq!(resolved.run.ties, paceline_fabric::spec::TieOrder::Shuffled(5));
    assert!(resolved.run.check && resolved.run.quirks.truncate_to_ns);
    assert_eq!(resolved.run.record.trace_nodes.len(), resolved.run.nodes.len());
}

#[test]
fn a_quirk_alone_leaves_the_others_as_the_fidelity_has_them() {
    let of = |fidelity, setting: &str| {
        let overrides = Overrides {
            set: vec![setting.into()],
            fidelity: Some(fidelity),
            ..Overrides::default()
        };
        assert_round_trip("incast-16", &overrides).run.quirks
    };
    let without = of(NS3_HPCC, "quirks.wakeup-suppression=false");
    let expected = Quirks {
        wakeup_suppression: false,
        ..Quirks::ns3_hpcc()
    };
    assert_eq!(without, expected);
    let with = of(EXACT, "quirks.truncate-to-ns=true");
    let expected = Quirks {
        truncate_to_ns: true,
        ..Quirks::default()
    };
    assert_eq!(with, expected);
}

#[test]
fn several_schemes_and_generated_parts() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
seed = 3
[topology.leaf-spine]
[[workload]]
label = "one"
start-jitter = "1us"
incast = { fan-in = 3, receiver = 9, sizes = ["1MB", "5KB"], rounds = 3, period = "100us" }
[[workload]]
label = "two"
scheme = "dcqcn-win"
priority = 5
poisson = { sizes = "sizes.txt", load = 0.5, to = "1ms" }
[[workload]]
scheme = "dctcp"
all-to-all = {}
[cc]
scheme = "dcqcn"
[cc.dcqcn]
g = 0.01
"#;
    fs::write(folder.path().join("mix.toml"), text).unwrap();
    fs::write(folder.path().join("sizes.txt"), "100 0\n1000 50\n2000 100\n").unwrap();
    let resolved = assert_round_trip(
        folder.path().join("mix.toml").to_str().unwrap(),
        &Overrides::default(),
    );
    assert_eq!(resolved.schemes, ["dcqcn", "dcqcn-win", "dctcp"]);
    assert_eq!(resolved.run.labels, ["one", "two", "all-to-all"]);
    let windows: Vec<_> = resolved.run.schemes.iter().map(|scheme| scheme.window).collect();
    use paceline_congestion::registry::WindowMode::{Off, Variable};
    assert_eq!(windows, [Off, Variable, Variable]);
    assert!(
        resolved
            .run
            .flows
            .iter()
            .any(|flow| flow.class == 5 && flow.scheme == 1)
    );
    assert!(resolved.run.flows.is_sorted_by_key(|flow| flow.start));
}

#[test]
fn workloads_with_dependencies() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
[topology.star]
hosts = 8
[[workload]]
start-jitter = "3us"
all-reduce = { algorithm = "hierarchical", group-size = 4, iterations = 2, compute = "5us" }
[[workload]]
all-reduce = { algorithm = "halving-doubling", size = "64KB" }
[[workload]]
all-to-all = { algorithm = "pairwise", hosts = [1, 2, 3], size = "9KB" }
[[workload]]
label = "posted"
all-to-all = { iterations = 3, size = "2KB" }
[[workload]]
reduce-scatter = { hosts = [8, 7, 6] }
[[workload]]
all-gather = {}
[[workload]]
closed-loop = { senders = [1, 2], receivers = [3, 4], messages = 7, outstanding = 3, sizes = [{ size = "1KB", share = 0.25 }, { size = "8KB", share = 0.75 }], think-time = "1us" }
[[workload]]
start-jitter = "1us"
trace = { file = "flows.csv", ignore = ["priority"] }
[cc]
scheme = "dcqcn"
"#;
    let trace = "flow_id,src,dst,size_bytes,start_us,after,delay_us,label,scheme,priority\n\
                 7,1,2,1000,0.25,,,first,hpcc,9\n\
                 9,2,3,1000,,7,1.5,then,,9\n";
    fs::write(folder.path().join("mix.toml"), text).unwrap();
    fs::write(folder.path().join("flows.csv"), trace).unwrap();
    let resolved = assert_round_trip(
        folder.path().join("mix.toml").to_str().unwrap(),
        &Overrides::default(),
    );
    assert_eq!(resolved.schemes, ["dcqcn", "hpcc"]);
    assert_eq!(lines(&resolved.warnings), Vec::<String>::new());
    let labels = [
        "all-reduce",
        "all-to-all",
        "posted",
        "reduce-scatter",
        "all-gather",
        "closed-loop",
        "first",
        "then",
    ];
    assert_eq!(resolved.run.labels, labels);
    let counts: Vec<_> = resolved
        .collectives
        .iter()
        .map(|c| (c.hosts, c.iterations.len()))
        .collect();
    assert_eq!(counts, [(8, 2), (8, 1), (3, 1), (8, 3), (3, 1), (8, 1)]);
    // Every flow of a collective belongs to exactly one iteration.
    let mut named: Vec<u32> = resolved
        .collectives
        .iter()
        .flat_map(|c| c.iterations.iter().flatten().copied())
        .collect();
    let total = named.len();
    named.sort_unstable();
    named.dedup();
    assert_eq!(named.len(), total);
    assert_eq!(resolved.run.flows.len(), total + 14 + 2);
    let last = resolved.run.dependencies.last().unwrap();
    assert_eq!(resolved.run.flows[last.flow as usize].label, 7);
    assert_eq!(last.delay.as_ps(), 1_500_000);
}

#[test]
fn flows_written_as_a_trace_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = |workload: &str| {
        format!(
            "duration = '10ms'\n[topology.star]\nhosts = 4\n[[workload]]\nlabel = 'a, \"b\"'\n{workload}\n[cc]\nscheme = 'none'\n"
        )
    };
    for workload in [
        "all-reduce = { iterations = 2, compute = '3us' }",
        "all-to-all = { algorithm = 'linear', iterations = 2 }",
        "closed-loop = { messages = 4, outstanding = 2, think-time = '1us' }",
        "poisson = { sizes = 'websearch', load = 0.1, to = '1ms' }",
    ] {
        let made = paceline_scenario::load_text("made", &scenario(workload), &Overrides::default())
            .unwrap()
            .run;
        let text = paceline_scenario::generate::flows_csv(&made);
        fs::write(folder.path().join("flows.csv"), &text).unwrap();
        let replay = scenario("trace = { file = 'flows.csv' }").replace("label = 'a, \"b\"'\n", "");
        let input = folder.path().join("replay.toml");
        fs::write(&input, replay).unwrap();
        let read = load(input.to_str().unwrap(), &Overrides::default()).unwrap().run;
        assert_eq!(paceline_scenario::generate::flows_csv(&read), text, "{workload}");
        assert_eq!(read.labels, ["a, \"b\""]);
    }
}

#[test]
fn settings_on_an_ns3_configuration() {
    let overrides = Overrides {
        set: vec![
            "record.queue=1us".into(),
            "cc.hpcc.eta=0.9".into(),
            "network.buffer=16MiB".into(),
        ],
        ..Overrides::default()
    };
    let resolved = assert_round_trip(&data("c_incast16/hpcc.txt"), &overrides);
    assert_eq!(resolved.run.record.queue_every, Some("1us".parse().unwrap()));
    assert_eq!(resolved.run.switch.buffer.get(), 16 << 20);
    assert!(resolved.toml.contains("eta = 0.9\n"));
    assert_eq!(resolved.run.flows.len(), 16);
}

#[test]
fn another_scheme_on_an_ns3_configuration_has_its_own_defaults() {
    let overrides = Overrides {
        set: vec!["cc.scheme=dctcp".into()],
        ..Overrides::default()
    };
    let resolved = assert_round_trip(&data("c_incast16/hpcc.txt"), &overrides);
    assert_eq!(resolved.scheme, "dctcp");
    let curve = resolved.run.switch.ecn[0];
    assert_eq!(
        (curve.kmin.get(), curve.kmax.get(), curve.pmax),
        (300_000, 300_000, 1.0)
    );
    assert!(
        lines(&resolved.warnings)
            .iter()
            .any(|warning| warning.contains("uses its own defaults"))
    );
}

#[test]
fn changing_the_scheme_does_not_move_the_traffic() {
    let flows = |scheme: &str| {
        let overrides = Overrides {
            scheme: Some(scheme.into()),
            ..Overrides::default()
        };
        format!("{:?}", load("leaf-spine-failure", &overrides).unwrap().run.flows)
    };
    assert_eq!(flows("hpcc"), flows("timely"));
    let other_seed = Overrides {
        seed: Some(2),
        ..Overrides::default()
    };
    let other = load("leaf-spine-failure", &other_seed).unwrap();
    assert_ne!(flows("hpcc"), format!("{:?}", other.run.flows));
}

/// Ports are recorded unless the run has the reference's fidelity, or was written for it.
#[test]
fn what_is_recorded() {
    let record = |input: &str, set: &[&str], fidelity: Option<Fidelity>| {
        let overrides = Overrides {
            set: set.iter().map(ToString::to_string).collect(),
            fidelity,
            ..Overrides::default()
        };
        let resolved = assert_round_trip(input, &overrides);
        (resolved.run.record.clone(), resolved.toml)
    };
    let us = paceline_kernel::Span::from_us;
    let (shipped, toml) = record("incast-16", &[], None);
    assert_eq!((shipped.port_bin, shipped.flow_every), (Some(us(1)), Some(us(1))));
    assert_eq!((shipped.flows_max, shipped.omit_pfc), (64, false));
    assert!(toml.contains("ports = \"auto\"\n") && toml.contains("flows-max = 64\n"));
    let (reference, toml) = record("incast-16", &[], Some(NS3_HPCC));
    assert_eq!(reference.port_bin, None);
    assert!(toml.contains("ports = \"off\"\n"));
    let config = data("c_incast16/hpcc.txt");
    for fidelity in [None, Some(EXACT)] {
        let (record, _) = record(&config, &[], fidelity);
        assert_eq!((record.port_bin, record.flow_every), (None, None));
    }
    let settings = [
        "record.ports=250ns",
        "record.flows=3us",
        "record.flows-max=2",
        "record.pfc=false",
    ];
    let (set, _) = record(&config, &settings, None);
    assert_eq!(
        (set.port_bin, set.flow_every),
        (Some(paceline_kernel::Span::from_ns(250)), Some(us(3)))
    );
    assert_eq!((set.flows_max, set.omit_pfc), (2, true));
}
