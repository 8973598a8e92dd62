//! Serialization of run descriptions.

use paceline_fabric::RunSpec;
use paceline_scenario::{NS3_HPCC, Overrides, load};

/// A run's description is data: written as text and read again, it is the same.
#[test]
fn a_run_is_read_as_it_was_written() {
    let runs = [
        ("incast-16", Overrides::default()),
        ("fat320-hadoop30-2ms", Overrides::default()),
        (
            "incast-20",
            Overrides {
                fidelity: Some(NS3_HPCC),
                shuffle_ties: Some(5),
                ..Overrides::default()
            },
        ),
        (
            "incast-16",
            Overrides {
                set: [
                    "network.flow-control=none",
                    "network.drop.policy=tail",
                    "network.drop.packets=8",
                    "network.drop.trim=true",
                    "network.recovery=irn",
                    "network.load-balancing=flowlet",
                    "record.trace=all",
                ]
                .map(String::from)
                .into(),
                scheme: Some("dcqcn-win".into()),
                ..Overrides::default()
            },
        ),
    ];
    let shipped = paceline_scenario::builtin::scenarios();
    let shipped = shipped.iter().map(|shipped| (shipped.name, Overrides::default()));
    for (name, overrides) in runs.into_iter().chain(shipped) {
        let resolved = load(name, &overrides).unwrap_or_else(|error| panic!("{name}: {error}"));
        // The first flows are enough: tens of thousands are all written the same way.
        let mut run = RunSpec::clone(&resolved.run);
        run.flows.truncate(100);
        if let Some(model) = &run.model {
            // Reading it again would require every simulator.
            let why = toml::to_string(&run).expect_err("a network of another simulator");
            assert!(why.to_string().contains(model.name()), "{name}: {why}");
            run.model = None;
        }
        if !run.programs.is_empty() {
            let why = toml::to_string(&run).expect_err("a program");
            assert!(why.to_string().contains("has no written form"), "{name}: {why}");
            run.programs.clear();
        }
        let text = toml::to_string(&run).unwrap_or_else(|error| panic!("{name}: {error}"));
        let again: RunSpec = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(format!("{again:?}"), format!("{run:?}"), "{name}");
        assert!(again == run, "{name}");
    }
}
