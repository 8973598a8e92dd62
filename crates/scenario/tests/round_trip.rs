//! A resolved scenario, written beside its files and loaded again, is the same run.

use std::fs;
use std::path::Path;

use paceline_fabric::RunSpec;
use paceline_scenario::{Fidelity, Origin, Overrides, Resolved, load};

fn data(path: &str) -> String {
    format!("{}/tests/data/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Two runs are the same if every part of them prints the same; units print exactly.
fn same(a: &RunSpec, b: &RunSpec) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

fn write(resolved: &Resolved, folder: &Path) -> String {
    let path = folder.join("scenario.toml");
    fs::write(&path, &resolved.toml).unwrap();
    for (name, text) in &resolved.files {
        fs::write(folder.join(name), text).unwrap();
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
        for fidelity in [None, Some(Fidelity::Exact)] {
            let overrides = Overrides {
                fidelity,
                ..Overrides::default()
            };
            let resolved = assert_round_trip(&data(config), &overrides);
            assert_eq!(resolved.origin, Origin::Ns3Config);
            assert_eq!(resolved.fidelity, fidelity.unwrap_or(Fidelity::Ns3Hpcc));
        }
    }
}

#[test]
fn shipped_scenarios_under_several_schemes() {
    for shipped in paceline_scenario::scenarios() {
        for scheme in ["none", "dcqcn", "dctcp", "timely", "hpcc", "hpcc-pint"] {
            let overrides = Overrides {
                scheme: Some(scheme.to_string()),
                ..Overrides::default()
            };
            let resolved = assert_round_trip(shipped.name, &overrides);
            assert_eq!(
                (resolved.name.as_str(), resolved.scheme.as_str()),
                (shipped.name, scheme)
            );
            assert_eq!(resolved.warnings, Vec::<String>::new(), "{}", shipped.name);
            assert!(shipped.about().contains("Source:"), "{}", shipped.name);
            assert_eq!(shipped.description(), resolved.description);
        }
    }
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
        fidelity: Some(Fidelity::Ns3Hpcc),
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
        resolved
            .warnings
            .iter()
            .any(|warning| warning.contains("defaults are used"))
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
