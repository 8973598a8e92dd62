//! Real runs, from a scenario to the folder and back.

use std::fs;
use std::path::Path;

use crate::common::contents;

use paceline_lab::files::{RunData, Writing};
use paceline_lab::results::{RunStatus, Summary};
use paceline_lab::run::{Control, Finished, compare, execute};
use paceline_lab::table;
use paceline_report::{self as report, write_comparison, write_run};
use paceline_scenario::{Overrides, Resolved};

const SCENARIO: &str = r#"
name = "small-incast"
description = "Four hosts send to a fifth."
duration = "10ms"
seed = 3

[topology.star]
hosts = 5
rate = "100Gbps"
delay = "1us"

[[workload]]
label = "burst"
flows = [
    { src = 1, dst = 5, size = "300KB", start = "0us" },
    { src = 2, dst = 5, size = "300KB", start = "0us" },
    { src = 3, dst = 5, size = "100KB", start = "10us" },
    { src = 4, dst = 5, size = "1500B", start = "20us" },
]

[cc]
scheme = "dcqcn"

[record]
queue = "1us"
rates = "10us"
rtt-samples = true
trace = [5]
pcap = true
"#;

fn load(folder: &Path, scheme: Option<&str>) -> Resolved {
    let path = folder.join("small-incast.toml");
    fs::write(&path, SCENARIO).unwrap();
    let overrides = Overrides {
        scheme: scheme.map(str::to_string),
        ..Overrides::default()
    };
    paceline_scenario::load(path.to_str().unwrap(), &overrides).unwrap_or_else(|error| panic!("{error:?}"))
}

fn run(input: &Resolved) -> Finished {
    execute(input, &mut |_| Control::Continue).unwrap()
}

fn assert_same(a: &Path, b: &Path) {
    let (a, b) = (contents(a), contents(b));
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (path, bytes) in &a {
        assert!(*bytes == b[path], "{} differs", path.display());
    }
}

#[test]
fn a_folder_holds_all_that_it_takes_to_make_it_again() {
    let tmp = tempfile::tempdir().unwrap();
    let input = load(tmp.path(), None);
    let finished = run(&input);
    let first = tmp.path().join("first");
    write_run(&first, &input, &finished, Writing::default()).unwrap();

    let summary: Summary =
        serde_json::from_str(&fs::read_to_string(first.join("summary.json")).unwrap()).unwrap();
    assert_eq!(
        (summary.flows.completed, summary.status),
        (4, RunStatus::Completed)
    );
    assert!(summary.fct_slowdown.p50.unwrap() > 1.5, "the flows share a link");
    assert!(summary.queue_bytes.max > 100_000 && summary.rtt_per_ack_us.samples > 0);
    assert_eq!(
        fs::read_to_string(first.join("fct.txt")).unwrap().lines().count(),
        4
    );
    for name in ["trace.pcapng", "series.parquet", "rtt_samples.txt"] {
        assert!(fs::metadata(first.join(name)).unwrap().len() > 200, "{name}");
    }

    let again = paceline_scenario::load(
        first.join("scenario.toml").to_str().unwrap(),
        &Overrides::default(),
    )
    .unwrap_or_else(|error| panic!("{error:?}"));
    let second = tmp.path().join("second");
    write_run(&second, &again, &run(&again), Writing::default()).unwrap();
    assert_same(&first, &second);

    let page = report::render(&[RunData::read(&first).unwrap()]).unwrap();
    assert!(
        page == fs::read_to_string(first.join("report.html")).unwrap(),
        "the report is made of the folder"
    );
}

#[test]
fn comparisons_do_not_depend_on_jobs() {
    let tmp = tempfile::tempdir().unwrap();
    let inputs = ["hpcc", "dcqcn", "timely"].map(|scheme| load(tmp.path(), Some(scheme)));
    let folders = [1, 3].map(|jobs| {
        let finished = compare(&inputs, jobs, &|_, _| Control::Continue);
        let finished: Vec<Finished> = finished.into_iter().map(Result::unwrap).collect();
        let pairs: Vec<_> = inputs.iter().zip(&finished).collect();
        let folder = tmp.path().join(format!("jobs{jobs}"));
        write_comparison(&folder, &pairs, Writing::default()).unwrap();
        let summaries: Vec<&Summary> = finished.iter().map(|finished| &finished.summary).collect();
        let text = table::comparison(&summaries, 200);
        let rows: Vec<&str> = text
            .lines()
            .skip(3)
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(rows, ["hpcc", "dcqcn", "timely"]);
        folder
    });
    assert_same(&folders[0], &folders[1]);
}

#[test]
fn an_interrupted_run_keeps_what_it_has() {
    let tmp = tempfile::tempdir().unwrap();
    let mut input = load(tmp.path(), None);
    // Long enough not to end within the first slice of events.
    for flow in &mut input.run_mut().flows {
        flow.size = paceline_kernel::Bytes::new(200_000_000);
    }
    let finished = execute(&input, &mut |_| Control::Stop).unwrap();
    let folder = tmp.path().join("partial");
    write_run(&folder, &input, &finished, Writing::default()).unwrap();
    let summary = RunData::read(&folder).unwrap().summary;
    assert_eq!((summary.status, summary.flows.completed), (RunStatus::Partial, 0));
    assert!(summary.simulated_s > 0.0 && summary.simulated_s < 0.01);
    assert!(
        summary.warnings[0].text.contains("interrupted"),
        "{:?}",
        summary.warnings
    );
    assert!(summary.goodput_gbps.aggregate.unwrap() > 10.0);
}

/// Runs sixteen hosts that send `size` each to one over 400 Gbit/s and 5 us: the bandwidth-delay product is about a
/// megabyte.
fn over_long_links(size: &str, scheme: &str) -> Finished {
    let text = format!(
        "name = \"long-links\"\nduration = \"20ms\"\n[topology.star]\nhosts = 17\nrate = \"400Gbps\"\n\
         delay = \"5us\"\n[[workload]]\nlabel = \"burst\"\n\
         incast = {{ fan-in = 16, receiver = 17, size = \"{size}\" }}\n[cc]\nscheme = \"{scheme}\"\n"
    );
    let input = paceline_scenario::load_text("long.toml", &text, &Overrides::default()).unwrap();
    run(&input)
}

/// Messages far below the bandwidth-delay product are sent completely before the first acknowledgement arrives. A run
/// warns of that, but not if flows last longer.
#[test]
fn a_run_in_which_no_scheme_could_act_says_so() {
    let about = |finished: &Finished| {
        let warnings = finished.summary.warnings.iter();
        warnings
            .filter(|warning| warning.text.contains("congestion control could not act"))
            .map(ToString::to_string)
            .collect::<Vec<String>>()
    };
    let short = over_long_links("64KB", "hpcc");
    let before = short.summary.unscheduled.unwrap();
    assert_eq!(
        (before.bytes, before.sent_bytes, before.share),
        (1_024_000, 1_024_000, 1.0)
    );
    assert_eq!(
        about(&short),
        [
            "100% of the bytes had left before their sender had heard anything of their flow (16 flows, median flow \
          64KB, bandwidth-delay product 1.002MB): congestion control could not act on them, and schemes hardly \
          differ here but in how they start."
        ]
    );
    let group = &short.summary.schemes["hpcc"];
    assert_eq!(group.unscheduled, Some(before));
    assert_eq!(group.labels["burst"].unscheduled, Some(before));
    let text = table::comparison(&[&short.summary], 60);
    assert!(text.contains("unscheduled") && text.contains("100%"), "{text}");

    let long = over_long_links("20MB", "hpcc");
    let share = long.summary.unscheduled.unwrap().share;
    assert!(share > 0.0 && share < 0.1, "{share}");
    assert_eq!(about(&long), [""; 0]);
    assert!(!table::comparison(&[&long.summary], 60).contains("unscheduled"));
    // A scheme that does not react has no such share.
    assert_eq!(over_long_links("64KB", "none").summary.unscheduled, None);
}
