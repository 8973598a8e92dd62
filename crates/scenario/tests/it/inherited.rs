//! Files written by a run, under another scheme: values that came with the scheme are replaced by the other's.

use paceline_scenario::warning::lines;
use paceline_scenario::{Overrides, Resolved, builtin, load_shipped, load_text};

fn under(scheme: &str, set: &[&str]) -> Overrides {
    Overrides {
        scheme: Some(scheme.to_string()),
        set: set.iter().map(|text| (*text).to_string()).collect(),
        ..Overrides::default()
    }
}

fn text(name: &str, text: &str, overrides: &Overrides) -> Resolved {
    load_text(name, text, overrides).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Removes the block of the former scheme, which stays unchanged.
fn without(toml: &str, block: &str) -> String {
    let mut kept = true;
    let keeps = |line: &&str| {
        if line.starts_with('[') {
            kept = *line != format!("[cc.{block}]");
        }
        kept
    };
    toml.lines()
        .filter(keeps)
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn another_scheme_has_its_own_marking_window_and_detection() {
    let all = ["hpcc", "dctcp", "dcqcn", "dcqcn-tcd", "swift", "pcn"];
    for first in all {
        let written = load_shipped("incast-20", &under(first, &[])).unwrap();
        // Schemes that share a block also share its parameters.
        let block = first.trim_end_matches("-tcd");
        for second in all
            .into_iter()
            .filter(|second| second.trim_end_matches("-tcd") != block)
        {
            let anew = load_shipped("incast-20", &under(second, &[])).unwrap();
            let again = text("incast-20", &written.toml, &under(second, &[]));
            assert_eq!(without(&again.toml, block), anew.toml, "{first}, then {second}");
            let got = lines(&again.warnings).join("\n");
            assert!(got.contains(&format!("came with {first}")), "{got}");
        }
        let same = text("incast-20", &written.toml, &under(first, &[]));
        assert_eq!(same.toml, written.toml);
        assert!(
            !lines(&same.warnings).join("\n").contains("came with"),
            "{:?}",
            lines(&same.warnings)
        );
    }
}

#[test]
fn what_was_said_stays_and_settings_hold() {
    let said = ["network.ecn.pmax=0.5", "cc.window=fixed"];
    let written = load_shipped("incast-20", &under("hpcc", &said)).unwrap();
    assert!(!written.toml.contains("[cc.defaults]"), "{}", written.toml);
    let again = text("incast-20", &written.toml, &under("dctcp", &[]));
    assert_eq!(again.run.switch.ecn, written.run.switch.ecn);
    // A setting in the same table as values that are dropped.
    let written = load_shipped("incast-20", &under("hpcc", &[])).unwrap();
    let one = ["network.ecn.pmax=0.5"];
    let again = text("incast-20", &written.toml, &under("dctcp", &one));
    let anew = load_shipped("incast-20", &under("dctcp", &one)).unwrap();
    assert_eq!(again.run.switch.ecn, anew.run.switch.ecn);
    // In a file written by hand, only the block tells.
    let by_hand = written
        .toml
        .replacen("scheme = \"hpcc\"", "scheme = \"dctcp\"", 1);
    let by_hand = text("incast-20", &by_hand, &Overrides::default());
    assert_eq!(
        by_hand.run.switch.ecn,
        load_shipped("incast-20", &under("dctcp", &[]))
            .unwrap()
            .run
            .switch
            .ecn
    );
}

/// `paceline explain NAME > mine.toml` works in any folder.
#[test]
fn a_copy_of_what_ships_finds_what_ships_with_it() {
    for shipped in builtin::scenarios()
        .iter()
        .filter(|shipped| !shipped.files.is_empty())
    {
        let copy = load_text("mine.toml", shipped.text, &Overrides::default());
        assert!(copy.is_ok(), "{}: {}", shipped.name, copy.unwrap_err());
    }
}

#[test]
fn unused_rates_are_reported() {
    let unpaced = load_shipped("incast-16", &under("dcqcn", &["network.pacing=false"])).unwrap();
    let got = lines(&unpaced.warnings).join("\n");
    assert!(got.contains("has no window: it behaves like `none`"), "{got}");
    let windowed = under("dcqcn", &["network.pacing=false", "cc.window=variable"]);
    assert!(lines(&load_shipped("incast-16", &windowed).unwrap().warnings).is_empty());
}

#[test]
fn files_that_are_no_scenarios_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("flow.txt"),
        "2\n0 1 3 100 1000 2.0\n1 0 3 100 1000 2.0\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("config.txt"), "CC_MODE 3\n").unwrap();
    let said = |name: &str| {
        let path = folder.path().join(name);
        paceline_scenario::load(&path.display().to_string(), &Overrides::default()).unwrap_err()
    };
    let problems = said("flow.txt");
    assert!(
        problems.to_string().contains("looks like a file of flows"),
        "{problems}"
    );
    for (name, text, expected) in [
        (
            "topo",
            "18 8 1 9 20 A100\n8 9 10\n",
            "looks like a file of flows, or a topology",
        ),
        (
            "a.cm",
            "Nodes 2\nConnections 1\n0->1 start 0 size 9\n",
            "a connection matrix of htsim",
        ),
        ("a.topo", "Nodes 32\nTiers 2\n", "a topology of htsim"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
        assert!(said(name).to_string().contains(expected), "{}", said(name));
    }
    let problems = said("confg.txt");
    assert!(problems.to_string().contains("there is no file"), "{problems}");
    assert!(format!("{problems:?}").contains("config.txt`?"), "{problems:?}");
}
