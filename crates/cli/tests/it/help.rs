//! Help, lists and explanations.

use std::path::Path;

use crate::common::stdout;
use insta::assert_snapshot;

fn page(args: &[&str]) -> String {
    stdout(Path::new("."), args)
}

#[cfg(feature = "training")]
#[test]
fn help_fits_a_screen() {
    let help = page(&["--help"]);
    assert!(help.lines().count() <= 40, "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    assert_snapshot!(help);
}

#[cfg(all(feature = "parity", feature = "training"))]
#[test]
fn help_of_commands() {
    for name in [
        "demo",
        "run",
        "compare",
        "sweep",
        "tune",
        "merge",
        "list",
        "explain",
        "report",
        "plot",
        "reproduce",
        "train",
        "bench",
        "completions",
    ] {
        assert_snapshot!(format!("help_{name}"), page(&[name, "--help"]));
    }
    assert_snapshot!(
        "help_generate_topology",
        page(&["generate", "topology", "--help"])
    );
    for name in ["import", "prove", "export"] {
        assert_snapshot!(format!("help_{name}"), page(&["forest", name, "--help"]));
    }
    assert_snapshot!("help_generate_flows", page(&["generate", "flows", "--help"]));
}

#[cfg(all(feature = "parity", feature = "training"))]
#[test]
fn lists() {
    for what in [
        "schemes",
        "scenarios",
        "topologies",
        "workloads",
        "reproductions",
        "models",
    ] {
        // Only the first schemes are in the snapshot, since new ones are added; all of them have explanations.
        insta::with_settings!({ filters => [("(?s)\nhpcc .*\n\n", "\n...\n\n")] }, {
            assert_snapshot!(format!("list_{what}"), page(&["list", what]));
        });
        let json: serde_json::Value = serde_json::from_str(&page(&["list", what, "--json"])).unwrap();
        let list = json.as_array().unwrap();
        assert!(!list.is_empty());
        assert!(
            list.iter()
                .all(|item| item["name"].is_string() && item["summary"].is_string())
        );
    }
}

#[test]
fn explanations() {
    for name in [
        "dcqcn-win",
        "none",
        "fat-tree",
        "poisson",
        "websearch",
        "incast-16",
        "pfc",
        "network.ecn",
        "rtt-lstm",
    ] {
        assert_snapshot!(format!("explain_{name}"), page(&["explain", name]));
    }
}

#[test]
fn everything_listed_is_explained() {
    for what in ["schemes", "scenarios", "topologies", "workloads", "models"] {
        let json: serde_json::Value = serde_json::from_str(&page(&["list", what, "--json"])).unwrap();
        for item in json.as_array().unwrap() {
            let name = item["name"].as_str().unwrap();
            assert!(page(&["explain", name]).contains(name), "{name}");
        }
    }
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(page(&["completions", shell]).contains("compare"), "{shell}");
    }
}
