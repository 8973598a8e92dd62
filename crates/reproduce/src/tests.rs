use std::collections::BTreeSet;

use crate::citation::Citation;
use paceline_scenario::Fidelity;

use super::*;
use paceline_report::RenderError;

fn cell(paper: f64, ours: f64, tolerance: Tolerance) -> Cell {
    Cell {
        paper: Some(paper),
        ours: Some(ours),
        criterion: Criterion::published(tolerance, ""),
    }
}

#[test]
fn tolerances() {
    let verdict = |paper, ours, tolerance| cell(paper, ours, tolerance).verdict(3);
    assert_eq!(verdict(4.56, 4.560_4, Tolerance::Exact), Some(true));
    assert_eq!(verdict(4.56, 4.560_6, Tolerance::Exact), Some(false));
    assert_eq!(verdict(2.0, 2.5, Tolerance::Within(0.25)), Some(true));
    assert_eq!(verdict(2.0, 1.49, Tolerance::Within(0.25)), Some(false));
    assert_eq!(verdict(50.0, 50.5, Tolerance::Near(0.5)), Some(true));
    assert_eq!(verdict(50.0, 49.4, Tolerance::Near(0.5)), Some(false));
    assert_eq!(verdict(1.0, 9.0, Tolerance::Shown), None);
    // Bounds are of ours alone.
    let bounded = |ours, tolerance| {
        let cell = Cell {
            paper: None,
            ours: Some(ours),
            criterion: Criterion::property(tolerance, Source::Us, ""),
        };
        cell.verdict(3)
    };
    assert_eq!(bounded(2.0, Tolerance::AtMost(2.0)), Some(true));
    assert_eq!(bounded(2.1, Tolerance::AtMost(2.0)), Some(false));
    assert_eq!(bounded(1.9, Tolerance::AtLeast(2.0)), Some(false));
    assert_eq!(bounded(0.5, Tolerance::Between(0.5, 2.5)), Some(true));
    assert_eq!(bounded(f64::NAN, Tolerance::Between(0.5, 2.5)), Some(false));
    // Nothing printed, or nothing run: nothing to judge.
    for (paper, ours) in [(None, Some(1.0)), (Some(1.0), None)] {
        let criterion = Criterion::published(Tolerance::Exact, "");
        assert_eq!(
            Cell {
                paper,
                ours,
                criterion
            }
            .verdict(3),
            None
        );
    }
    assert_eq!(verdict(2.0, f64::NAN, Tolerance::Within(0.25)), Some(false));
}

/// Rows of two sizes: in the first the order of a and b is the paper's, in the second not.
fn panel(_: &Done) -> Vec<Panel> {
    let columns = ["hpcc", "dctcp", "dcqcn"].map(Column::scheme).to_vec();
    let row = |label: &str, size: u64| Row {
        label: label.to_string(),
        metric: "p95 of slowdown",
        unit: "×",
        decimals: 2,
        x: Some(size as f64),
    };
    let papers = [[1.0, 2.0, 8.0], [1.5, 1.75, 6.0]];
    let ours = [[1.1, 2.0, 7.0], [1.75, 1.25, 6.0]];
    let tolerances = [Tolerance::Within(0.25), Tolerance::Exact, Tolerance::Shown];
    let panel = Panel::of(
        "Slowdown",
        "size",
        columns,
        vec![row("300 B", 300), row("10 MB", 10_000_000)],
        |row, column| cell(papers[row][column], ours[row][column], tolerances[column]),
    );
    vec![panel.ordered()]
}

const SYNTHETIC: Reproduction = Reproduction {
    id: "synthetic",
    data: None,
    title: "A table",
    source: Citation::ours("Nobody et al., table 1"),
    setting: "Nothing is run.",
    notes: &["A note on <known> differences, which is long enough to be broken into lines on a terminal."],
    choices: &[Choice {
        what: "a constant of 3",
        tried: "2 and 4",
        changed: "the value of 10 MB by a tenth",
    }],
    steps: &[],
    needs: Vec::new,
    panels: panel,
};

#[test]
fn orders_hold_where_what_is_smaller_is_smaller() {
    let [first, second] = &panel(&Done::default())[0].orderings()[..] else {
        panic!("two rows")
    };
    assert_eq!(
        (first.paper.as_str(), first.ok),
        ("hpcc < dctcp < dcqcn", Some(true))
    );
    assert_eq!(second.ours.as_deref(), Some("dctcp < hpcc < dcqcn"));
    assert_eq!(second.ok, Some(false));
    // What is equal in the paper may be in any order; equal of ours does not keep an order.
    let columns = || ["a", "b", "c"].map(Column::scheme).to_vec();
    let of = |paper: [f64; 3], ours: [f64; 3]| {
        let panel = Panel::of("", "", columns(), vec![Row::quantity("m", "", 1)], |_, column| {
            cell(paper[column], ours[column], Tolerance::Shown)
        });
        panel.ordered().orderings().remove(0)
    };
    let tie = of([1.0, 1.0, 2.0], [1.5, 1.0, 2.0]);
    assert_eq!((tie.paper.as_str(), tie.ok), ("a = b < c", Some(true)));
    assert_eq!(of([1.0, 1.0, 2.0], [2.5, 1.0, 2.0]).ok, Some(false));
    assert_eq!(of([1.0, 2.0, 3.0], [1.0, 2.0, 2.0]).ok, Some(false));
}

#[test]
fn lists_for_programs() {
    let text = serde_json::to_string_pretty(&entries(&[&SYNTHETIC], &Done::default())).unwrap();
    insta::assert_snapshot!("records", text);
}

#[test]
fn texts_for_terminals() {
    let wide = text(&SYNTHETIC, &Done::default(), 100);
    let narrow = text(&SYNTHETIC, &Done::default(), 64);
    assert!(narrow.lines().all(|line| line.chars().count() <= 64), "{narrow}");
    insta::assert_snapshot!("text", format!("{wide}\n{narrow}"));
}

/// A curve of more points than a screen has.
fn long_curve(_: &Done) -> Vec<Panel> {
    let points = (0..5_000)
        .map(|k| (f64::from(k) * 0.005, f64::from(k % 97)))
        .collect();
    let panel = Panel::of("RTT", "", vec![Column::scheme("dctcp")], Vec::new(), |_, _| {
        cell(1.0, 1.0, Tolerance::Exact)
    });
    vec![Panel {
        drawing: Some(Drawing {
            stepped: false,
            x: ("time", "ms"),
            y: ("RTT", "µs"),
            curves: vec![Curve {
                name: "node 1".to_string(),
                scheme: "dctcp",
                published: false,
                points,
            }],
        }),
        ..panel
    }]
}

/// Every sample is on the page, in a track: nothing is left out before somebody looks.
#[test]
fn long_curves_are_tracks() -> Result<(), RenderError> {
    let one = Reproduction {
        panels: long_curve,
        ..SYNTHETIC
    };
    let page = page::render(&[&one], &Done::default())?;
    for part in ["\"kind\":\"track\"", "\"width_ps\":5000000,", "\"begin\":0.0"] {
        assert!(page.contains(part), "{part}");
    }
    Ok(())
}

#[test]
fn a_page_stands_alone() -> Result<(), RenderError> {
    let page = page::render(&[&SYNTHETIC], &Done::default())?;
    for attribute in ["src=", "href=\"http", "@import", "url("] {
        assert!(!page.contains(attribute), "{attribute}");
    }
    assert!(page.contains("&lt;known&gt;") && !page.contains("<known>"));
    // Orders are no published values, and are counted apart.
    for count in [
        "as published: <b class=\"bad\">3 of 4</b>",
        "properties: <b class=\"bad\">1 of 2</b>",
    ] {
        assert!(page.contains(count), "{count}: {page}");
    }
    assert!(page.contains("<td>a constant of 3</td><td>2 and 4</td><td>the value of 10 MB by a tenth</td>"));
    assert!(page.contains("class=\"differs\" title=\"differs\">-28.6% ✗"));
    Ok(())
}

#[test]
fn counts() {
    assert_eq!(Count::of([Some(true), None, Some(true)]).text(), "all 2");
    assert_eq!(Count::of([Some(true), Some(false)]).text(), "1 of 2");
    assert_eq!(Count::of([None]).text(), "none judged");
}

/// Those that need no more than runs.
fn untrained() -> impl Iterator<Item = &'static Reproduction> {
    registry().filter(|one| learned::REGISTRY.iter().all(|known| known.id != one.id))
}

#[test]
fn the_registry_is_whole() {
    let all: Vec<&Reproduction> = untrained().collect();
    for (i, one) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|other| other.id != one.id), "{}", one.id);
        assert_eq!(find(one.id).map(|found| found.title), Some(one.title));
        let records = one.records(&Done::default());
        let judged = |record: &Record| !record.paper.is_null() || record.tolerance != "shown only";
        // A figure without numbers is there to be looked at, and says so.
        let said = one
            .notes
            .iter()
            .any(|note| note.contains("no numbers") || note.contains("Nothing is judged"));
        let own = one.source.short() == "ours";
        assert!(said || own || records.iter().any(judged), "{}", one.id);
        // Without its runs there is nothing of ours to judge; what is computed needs none.
        let nothing = |record: &Record| {
            record.ok.is_none() && (record.ours.is_null() || record.kind == Evidence::Shown)
        };
        assert!(
            one.needs().is_empty() || records.iter().all(nothing),
            "{}",
            one.id
        );
        let mut cases: Vec<_> = records.iter().map(|r| (&r.case, r.metric)).collect();
        cases.sort_unstable();
        cases.dedup();
        assert_eq!(cases.len(), records.len(), "cases of {} are told apart", one.id);
    }
    assert_eq!(find("thesis-table9").map(|one| one.id), None);
}

#[test]
fn every_run_is_planned_once() {
    let every = Plan::of(registry().flat_map(Reproduction::needs));
    let mut names: Vec<String> = every.needs.iter().map(RunRequest::name).collect();
    names.sort_unstable();
    let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let all = Plan::of(untrained().flat_map(Reproduction::needs));
    let of_hpcc = |need: &&RunRequest| match need.fidelity {
        Fidelity::Ns3Hpcc => true,
        Fidelity::TcdNs3 => false,
        _ => matches!(need.input, Input::Reference(_)),
    };
    // Of the incast: the thesis's scheme with three targets, two first rates, and without prediction, and three
    // others, each in two fidelities; TIMELY from another first rate; ten orders with and without prediction; three
    // that are drawn. Table 8: seven schemes in each of 3 draws, three more in one. HPCC's figure: 4 schemes.
    // Decisions of two controllers that take ten times.
    let incast = 2 * (3 + 1 + 2 + 3) + 1 + 2 * 10 + 3 + 2 * 10;
    assert_eq!(all.needs.iter().filter(of_hpcc).count(), incast + 3 * 7 + 3 + 4);
    assert!(all.needs.iter().all(|need| !need.flows_only));
    let alone = Plan::of(find("thesis-table7").unwrap().needs());
    assert!(alone.needs.iter().all(|need| need.flows_only));
}

/// Three columns are three Bolts: the paper's has neither pacer nor a threshold of two packets whatever a
/// scenario says, what ships is what ships, and the third is the authors' simulator.
#[test]
fn whose_bolt_a_column_has() {
    let runs = find("bolt-b2").unwrap().needs();
    let scheme = |scheme: &str, fidelity| {
        let is = |need: &&RunRequest| {
            let plain = need.variant.is_empty() || need.variant == "ns3";
            plain && need.scheme == scheme && need.fidelity == fidelity
        };
        let resolved = runs.iter().find(is).unwrap().load().unwrap();
        resolved.run.schemes[0].config.clone()
    };
    let paper = scheme("bolt-paper", Fidelity::Exact);
    let ours = scheme("bolt", Fidelity::Exact);
    let code = scheme("bolt", Fidelity::BoltNs3);
    let value = |config: &paceline_congestion::registry::SchemeConfig, key: &str| {
        let found = config.values().into_iter().find(|(known, _)| known == key);
        found.unwrap().1
    };
    let of = |config| ["threshold", "threshold-packets", "pace"].map(|key| value(config, key));
    assert_eq!(of(&paper), ["auto", "1", "false"]);
    assert_eq!(of(&ours), ["auto", "2", "true"]);
    assert_eq!(of(&code), of(&ours));
    assert_eq!((paper.label(), ours.label()), ("bolt-paper", "bolt"));
    // Of other schemes there is one run; what is a quirk of the simulator's has no other.
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
    let all = Plan::of(untrained().flat_map(Reproduction::needs));
    let mut loaded = BTreeSet::new();
    for need in &all.needs {
        // One of many stands for those that differ in seed, parameters or, of the large ones, scheme.
        let kind = match need.input {
            Input::Shipped(name, _) if need.fidelity == Fidelity::Ns3Hpcc => name.to_string(),
            Input::Shipped(name, _) => format!("{name} {} {}", need.scheme, need.fidelity.name()),
            Input::File(..) | Input::Reference(_) => need.name(),
        };
        if loaded.insert(kind) {
            let input = need
                .load()
                .unwrap_or_else(|error| panic!("{}: {error}", need.name()));
            // In the simulator of TCD's authors all is DCQCN, or uncontrolled: its runs differ in what switches do.
            let scheme = match need.fidelity {
                Fidelity::TcdNs3 if need.scheme.ends_with("_nocc") => "none",
                Fidelity::TcdNs3 => "dcqcn",
                _ => need.scheme,
            };
            assert_eq!((input.scheme.as_str(), input.fidelity), (scheme, need.fidelity));
        }
    }
}

#[test]
fn the_flows_of_the_thesis() {
    let table7 = find("thesis-table7").unwrap();
    let mut done = Done {
        runs: vec![DoneRun::input_of(table7.needs().remove(0)).unwrap()],
        ..Done::default()
    };
    let errors = run_steps(
        table7.steps.iter().copied(),
        &mut done,
        (1, &()),
        &mut |_, _, _| paceline_lab::run::Control::Continue,
    );
    assert!(errors.is_empty(), "{errors:?}");
    let counts = Counts::of(&table7.records(&done));
    assert_eq!(counts.published, Count { ok: 20, judged: 20 });
    assert_eq!((counts.judged(), counts.shown), (counts.published, 1));
    // Other flows are no table 7.
    assert_eq!(undetected(table7, &done, Vec::new()), Vec::<String>::new());
}
