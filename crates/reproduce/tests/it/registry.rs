//! Built-in experiments: complete, with each run once, and with inputs that load.

use std::collections::BTreeSet;

use paceline_reproduce::{
    Count, Counts, Done, DoneRun, Evidence, Input, Plan, Record, Reproduction, RunRequest, find, names,
    registry, run_steps, undetected,
};
use paceline_scenario::{EXACT, Fidelity, NS3_HPCC};

#[test]
fn the_registry_is_whole() {
    let all: Vec<&Reproduction> = registry().collect();
    for (i, one) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|other| other.id != one.id), "{}", one.id);
        assert_eq!(find(&one.id).map(|found| &found.title), Some(&one.title));
        let records = one.records(&Done::default());
        let judged = |record: &Record| !record.paper.is_null() || record.tolerance != "shown only";
        // A figure without numbers is only for viewing, and has to say so.
        let said = one
            .notes
            .iter()
            .any(|note| note.contains("no numbers") || note.contains("Nothing is judged"));
        let own = one.source.short == "ours";
        assert!(said || own || records.iter().any(judged), "{}", one.id);
        // Without its runs nothing of ours can be judged; computed values need no runs.
        let nothing = |record: &Record| {
            record.ok.is_none() && (record.ours.is_null() || record.kind == Evidence::Shown)
        };
        assert!(
            one.needs().is_empty() || records.iter().all(nothing),
            "{}",
            one.id
        );
        let mut cases: Vec<_> = records.iter().map(|r| (&r.case, &r.metric)).collect();
        cases.sort_unstable();
        cases.dedup();
        assert_eq!(cases.len(), records.len(), "cases of {} are told apart", one.id);
    }
    assert!(names().eq(all.iter().map(|one| one.id.as_str())));
    assert_eq!(find("thesis-table9").map(|one| &one.id), None);
}

/// Experiments use Swift with the settings found by its search: the line for DECC's senders has every number of the
/// learner's.
#[test]
fn swift_is_tuned_as_it_was_searched() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/decc.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let line = text
        .lines()
        .find(|line| line.contains("\"Swift, tuned\""))
        .unwrap();
    let [base, range, rest @ ..] = paceline_learn::search::SWIFT_SEARCHED;
    let names = [
        "fs-min",
        "fs-max",
        "ai",
        "beta",
        "max-mdf",
        "min-window",
        "initial-window",
    ];
    for (name, value) in names.into_iter().zip(rest) {
        let setting = format!("\"cc.swift.{name}\" = {value}, ");
        assert!(line.contains(&setting), "{setting} in {line}");
    }
    // Times are in ns, those of a base round trip in us.
    for (name, value) in [("base-delay", base), ("fs-range", range)] {
        let setting = format!(
            "\"cc.swift.{name}\" = \"{{ceil({:.5} * base)}}ns\"",
            1000.0 * value
        );
        assert!(line.contains(&setting), "{setting} in {line}");
    }
}

#[test]
fn every_run_is_planned_once() {
    let all = Plan::of(registry().flat_map(Reproduction::needs));
    let mut names: Vec<String> = all.needs.iter().map(RunRequest::name).collect();
    names.sort_unstable();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let of_hpcc = |need: &&RunRequest| match need.fidelity.name() {
        "ns3-hpcc" => true,
        "tcd-ns3" => false,
        _ => matches!(need.input, Input::Reference(_)),
    };
    // Incast: the thesis's scheme with three targets, two initial rates, and without prediction, and three other
    // schemes, each in two fidelities; TIMELY with another initial rate; ten orders with and without prediction;
    // three that are drawn. Table 8: seven schemes in each of 3 traffic samples, three more in one. HPCC's figure: 4
    // schemes. Decisions of two controllers that take ten times.
    let incast = 2 * (3 + 1 + 2 + 3) + 1 + 2 * 10 + 3 + 2 * 10;
    assert_eq!(all.needs.iter().filter(of_hpcc).count(), incast + 3 * 7 + 3 + 4);
    assert!(all.needs.iter().all(|need| !need.flows_only));
    let alone = Plan::of(find("thesis-table7").unwrap().needs());
    assert!(alone.needs.iter().all(|need| need.flows_only));
}

/// Three columns are three variants of Bolt: the paper's has neither a pacer nor a threshold of two packets, in any
/// scenario; the built-in one has its defaults; the third is the authors' simulator.
#[test]
fn whose_bolt_a_column_has() {
    let runs = find("bolt-b2").unwrap().needs();
    let scheme = |scheme: &str, fidelity: Fidelity| {
        let is = |need: &&RunRequest| {
            let plain = need.variant.is_empty() || need.variant == "ns3";
            plain && need.scheme == scheme && need.fidelity == fidelity
        };
        let resolved = runs.iter().find(is).unwrap().load().unwrap();
        resolved.run.schemes[0].config.clone()
    };
    let paper = scheme("bolt-paper", EXACT);
    let ours = scheme("bolt", EXACT);
    let code = scheme("bolt", "bolt-ns3".parse().unwrap());
    let value = |config: &paceline_congestion::registry::SchemeConfig, key: &str| {
        let found = config.values().into_iter().find(|(known, _)| known == key);
        found.unwrap().1
    };
    let of = |config| ["threshold", "threshold-packets", "pace"].map(|key| value(config, key));
    assert_eq!(of(&paper), ["auto", "1", "false"]);
    assert_eq!(of(&ours), ["auto", "2", "true"]);
    assert_eq!(of(&code), of(&ours));
    assert_eq!((paper.label(), ours.label()), ("bolt-paper", "bolt"));
    // Other schemes have one run each; quirks of the simulator apply to Bolt only.
    let names = |end: &str| {
        let all = runs.iter().map(RunRequest::name);
        all.filter(|name| name.starts_with("bolt-leave4000") && name.ends_with(end))
            .collect::<std::collections::BTreeSet<String>>()
    };
    let all = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    assert_eq!(
        names("swift2"),
        all(&[
            "bolt-leave4000-swift-1-swift2",
            "bolt-leave4000-swift-1-ns3-swift2"
        ])
    );
    assert_eq!(names("nopause"), all(&["bolt-leave4000-bolt-1-ns3-nopause"]));
}

#[test]
fn every_input_loads() {
    let all = Plan::of(registry().flat_map(Reproduction::needs));
    let mut loaded = BTreeSet::new();
    for need in &all.needs {
        // One run represents those that differ only in seed, parameters or, for large ones, scheme.
        let kind = match &need.input {
            Input::Shipped(name, _) if need.fidelity == NS3_HPCC => name.to_string(),
            Input::Shipped(name, _) => format!("{name} {} {}", need.scheme, need.fidelity.name()),
            Input::File(..) | Input::Embedded(..) | Input::Reference(_) => need.name(),
        };
        if loaded.insert(kind) {
            let input = need
                .load()
                .unwrap_or_else(|error| panic!("{}: {error}", need.name()));
            // In the simulator of TCD's authors everything is DCQCN, or uncontrolled: its runs differ in the
            // switches' behaviour.
            let scheme = match need.fidelity.name() {
                "tcd-ns3" if need.scheme.ends_with("_nocc") => "none",
                "tcd-ns3" => "dcqcn",
                "uet-htsim" => input.scheme.as_str(),
                _ => need.scheme.as_str(),
            };
            assert_eq!((input.scheme.as_str(), input.fidelity), (scheme, need.fidelity));
        }
    }
}

#[test]
fn the_flows_of_the_thesis() {
    let table7 = find("thesis-table7").unwrap();
    let mut done = Done {
        runs: vec![DoneRun::input_of(table7.needs()[0].clone()).unwrap()],
        ..Done::default()
    };
    let errors = run_steps(table7.steps.iter().copied(), &mut done, 1, &(), &mut |_, _, _| {
        paceline_lab::run::Control::Continue
    });
    assert!(errors.is_empty(), "{errors:?}");
    let counts = Counts::of(&table7.records(&done));
    assert_eq!(counts.published, Count { ok: 20, judged: 20 });
    assert_eq!((counts.judged(), counts.shown), (counts.published, 1));
    // Other flows do not result in table 7.
    assert_eq!(undetected(table7, &done, Vec::new()), Vec::<String>::new());
}
