//! Keys under the names of an earlier version: the same scenario, with a warning.

use paceline_scenario::warning::lines;
use paceline_scenario::{Overrides, load_text};

const SCENARIO: &str = "duration = '1ms'\ntopology.star = { hosts = 3, rate = '100Gbps', delay = '1us' }\n\
                        workload = [{ incast = { fan-in = 2, receiver = 2, size = '9KB' } }]\ncc.scheme = 'hpcc'\n";

/// What is said of a scenario's keys, and the scenario as a run writes it.
fn read(network: &str, set: &[&str]) -> Result<(Vec<String>, String), String> {
    let overrides = Overrides {
        set: set.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    let text = format!("{SCENARIO}{network}");
    let resolved = load_text("test.toml", &text, &overrides).map_err(|problem| problem.to_string())?;
    let got = lines(&resolved.warnings).into_iter();
    Ok((
        got.filter(|line| line.contains("is now called")).collect(),
        resolved.toml,
    ))
}

#[test]
fn former_names_are_read_as_the_present_ones() {
    for (old, new) in [
        ("flow_control = 'none'", "flow-control = 'none'"),
        ("reserve = '8KB'", "port-reserve = '8KB'"),
        ("nic = 'out-of-order'", "receiver-order = 'out-of-order'"),
        (
            "pfc = { response = '1us', response-jitter = '2us' }",
            "pfc = { reaction-time = '1us', reaction-jitter = '2us' }",
        ),
        (
            "flow-control = 'credits'\nlanes = { buffer = '9KB' }",
            "flow-control = 'credits'\ncredit = { buffer = '9KB' }",
        ),
    ] {
        let (none, expected) = read(&format!("[network]\n{new}\n"), &[]).unwrap();
        assert_eq!(none, [""; 0], "{new}");
        let (got, found) = read(&format!("[network]\n{old}\n"), &[]).unwrap();
        assert_eq!(found, expected, "{old}");
        assert!(!got.is_empty(), "{old}");
    }
}

#[test]
fn a_warning_has_its_place() {
    let (got, _) = read("[network]\nreserve = '8KB'\n", &["network.pfc.response=1us"]).unwrap();
    assert_eq!(
        got,
        [
            "test.toml:6:1: `network.reserve` is now called `network.port-reserve`; the old name still works in this version",
            "--set:1:13: `network.pfc.response` is now called `network.pfc.reaction-time`; the old name still works in this \
             version"
        ]
    );
}

/// What only another simulator reads has a table of its own.
#[test]
fn tables_of_other_simulators_have_moved() {
    let read = |text: &str, set: &[&str]| {
        let overrides = Overrides {
            set: set.iter().map(ToString::to_string).collect(),
            ..Overrides::default()
        };
        let resolved = load_text("test.toml", text, &overrides).map_err(|problem| problem.to_string())?;
        Ok::<_, String>((lines(&resolved.warnings), resolved.toml))
    };
    let bolt = format!("fidelity = 'bolt-ns3'\n{}", SCENARIO.replace("'hpcc'", "'bolt'"));
    let of = |tables: &str| read(&format!("{bolt}{tables}"), &[]);
    let (none, expected) = of("[parity.bolt-ns3]\nstrikes = 3\nwindow-pause = false\n").unwrap();
    assert_eq!(none, [""; 0]);
    for tables in [
        "[network.bolt-ns3]\nstrikes = 3\n[quirks]\nwindow-pause = false\n",
        "[parity.bolt-ns3]\nstrikes = 3\n[quirks]\nwindow-pause = false\n",
        "[quirks]\nwindow-pause = false\ndevice-fifo = true\n[network.bolt-ns3]\nstrikes = 3\n",
    ] {
        let (warnings, toml) = of(tables).unwrap();
        assert_eq!(toml, expected, "{tables}");
        assert!(!warnings.is_empty(), "{tables}");
    }
    let (warnings, toml) = read(
        &bolt,
        &["network.bolt-ns3.strikes=3", "quirks.window-pause=false"],
    )
    .unwrap();
    assert_eq!(toml, expected);
    let place = "--set:1:9: `network.bolt-ns3` is now called `parity.bolt-ns3`";
    assert!(
        warnings.iter().any(|line| line.starts_with(place)),
        "{warnings:?}"
    );
    // Runs of earlier versions wrote all quirks down.
    let written =
        "[quirks]\ndevice-fifo = false\nbolt-ns3-sender = false\nwindow-pause = false\nsm-drift = false\n";
    let (warnings, toml) = read(&format!("{SCENARIO}{written}"), &[]).unwrap();
    assert_eq!(toml, read(SCENARIO, &[]).unwrap().1);
    assert!(
        matches!(&warnings[..], [one] if one.contains("device-fifo, bolt-ns3-sender, window-pause, sm-drift")),
        "{warnings:?}"
    );
    let refused = read(&format!("{SCENARIO}[quirks]\ndevice-fifo = true\n"), &[]).unwrap_err();
    assert!(
        refused.contains("`device-fifo` is what the fidelity `bolt-ns3` is"),
        "{refused}"
    );
}

/// A setting replaces what a file says under the other name.
#[test]
fn settings_and_files_may_differ_in_the_name() {
    for (file, set) in [
        ("reserve", "port-reserve"),
        ("port-reserve", "reserve"),
        ("reserve", "reserve"),
    ] {
        let set = format!("network.{set}=1KB");
        let (_, toml) = read(&format!("[network]\n{file} = '8KB'\n"), &[&set]).unwrap();
        assert!(toml.contains("port-reserve = \"1KB\""), "{toml}");
    }
}

#[test]
fn both_names_at_once_are_refused() {
    let refused = read("[network]\nreserve = '8KB'\nport-reserve = '8KB'\n", &[]).unwrap_err();
    assert!(
        refused
            .starts_with("test.toml:6:1: `reserve` is the former name of `port-reserve`, which is set too"),
        "{refused}"
    );
}
