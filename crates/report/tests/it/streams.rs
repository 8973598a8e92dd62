//! Streamed flows lead to the same folders as their list, byte for byte.

use std::path::Path;

use crate::common::contents;
use paceline_lab::files::{Format, Writing};
use paceline_lab::repeats::{Part, Repeats};
use paceline_lab::results::RunStatus;
use paceline_lab::run::{Control, Finished, Resources, account_for_slowest, execute};
use paceline_report::{repeat_names, write_comparison, write_repeats, write_run};
use paceline_scenario::{Overrides, Resolved, load_text};
use proptest::prelude::*;

/// Random parameters of a scenario.
#[derive(Clone, Debug)]
struct Case {
    duration_us: u64,
    scheme: &'static str,
    /// Kind and label of each workload.
    workloads: Vec<(usize, &'static str)>,
    network: usize,
    record: usize,
    seed: u64,
    ties: Option<u64>,
    parquet: bool,
    /// True to stop the run after the first of its steps, if it has several.
    stopped: bool,
}

/// Kinds of workloads: random ones within the run, beyond its end, and after its end; then listed ones, next to
/// random ones.
const WORKLOADS: [&str; 10] = [
    "poisson = { load = 0.3, sizes = 'websearch' }",
    "poisson = { load = 0.2, sizes = [{ size = '1KB', share = 0.7 }, { size = '30KB', share = 0.3 }] }",
    "poisson = { load = 0.02, sizes = [{ size = '700B', share = 1.0 }], from = '20us', to = '60us' }",
    "incast-poisson = { load = 0.1, fan-in = 4, size = '20KB' }",
    "scheme = 'timely'\npoisson = { load = 0.1, sizes = 'fb-hadoop' }",
    "poisson = { load = 0.1, sizes = 'google-rpc', to = '9ms' }",
    "poisson = { load = 0.1, sizes = 'google-rpc', from = '8ms', to = '9ms' }",
    "incast = { fan-in = 9, receiver = 3, size = '10KB', period = '40us', rounds = 4 }",
    "start-jitter = '2us'\npermutation = { size = '20KB' }",
    "flows = [{ src = 4, dst = 1, size = '50KB', start = '30us' }, { src = 1, dst = 2, size = '9KB' }]",
];

/// Index of the first listed workload.
const TOLD: usize = 7;

/// Networks, including ones that lose packets, and one with a link that fails in the middle.
const NETWORKS: [&str; 4] = [
    "",
    "[network]\nerror-rate = 0.001\n",
    "[network]\nrecovery = 'irn'\nflow-control = 'none'\n",
    "[[network.failure]]\nnodes = [16, 24]\nat = '30us'\nuntil = '70us'\n",
];

const RECORDS: [&str; 3] = [
    "",
    "[record]\nqueue = '1us'\nrates = '10us'\nflows = '1us'\n",
    "[record]\naccounts = 'all'\n",
];

impl Case {
    fn text(&self) -> String {
        let workloads = self.workloads.iter().map(|&(kind, label)| {
            let block = WORKLOADS[kind];
            format!("[[workload]]\nlabel = '{label}'\n{block}\n")
        });
        let ties = self
            .ties
            .map_or_else(String::new, |seed| format!("shuffle-ties = {seed}\n"));
        format!(
            "name = 'random'\nduration = '{}us'\nseed = {}\n{ties}[topology.fat-tree]\nk = 4\n{}\n{}[cc]\nscheme = '{}'\n{}",
            self.duration_us,
            self.seed,
            workloads.collect::<Vec<_>>().join("\n"),
            NETWORKS[self.network],
            self.scheme,
            RECORDS[self.record]
        )
    }

    fn writing(&self) -> Writing {
        Writing {
            force: false,
            format: if self.parquet {
                Format::Parquet
            } else {
                Format::Csv
            },
            ..Writing::default()
        }
    }

    fn load(&self, streams: bool, seed: Option<u64>) -> Option<Resolved> {
        let overrides = Overrides {
            streams,
            seed,
            ..Overrides::default()
        };
        match load_text("random.toml", &self.text(), &overrides) {
            Ok(input) => Some(input),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("every flow starts after the end"), "{text}");
                None
            }
        }
    }

    fn run(&self, input: &Resolved) -> Finished {
        let mut finished = execute(input, &mut |_| match self.stopped {
            true => Control::Stop,
            false => Control::Continue,
        })
        .unwrap();
        let again = &mut |_: &_| Control::Continue;
        account_for_slowest(input, &mut finished, Resources::ONE_THREAD, again).unwrap();
        finished
    }
}

fn cases() -> impl Strategy<Value = Case> {
    let workload = (
        0..WORKLOADS.len(),
        prop::sample::select(vec!["web", "incast", "a, \"b\""]),
    );
    let what = (
        20u64..150,
        prop::sample::select(vec!["hpcc", "dcqcn", "dctcp", "swift", "none"]),
        prop::collection::vec(workload, 1..4),
        0..NETWORKS.len(),
        0..RECORDS.len(),
    );
    let how = (1u64..1000, prop::option::weighted(0.2, 1u64..9), any::<bool>());
    (what, how).prop_map(|(what, how)| {
        let (duration_us, scheme, workloads, network, record) = what;
        let (seed, ties, parquet) = how;
        Case {
            duration_us,
            scheme,
            workloads,
            network,
            record,
            seed,
            ties,
            parquet,
            stopped: false,
        }
    })
}

fn assert_same(list: &Path, stream: &Path, case: &Case) {
    let (list, stream) = (contents(list), contents(stream));
    assert!(
        list.keys().eq(stream.keys()),
        "{:?} {:?}",
        list.keys(),
        stream.keys()
    );
    for (name, bytes) in &list {
        assert!(*bytes == stream[name], "{} differs: {case:?}", name.display());
    }
}

fn simple() -> Case {
    Case {
        duration_us: 80,
        scheme: "hpcc",
        workloads: vec![(1, "web"), (3, "incast")],
        network: 0,
        record: 0,
        seed: 5,
        ties: None,
        parquet: false,
        stopped: false,
    }
}

/// Checks that both folders are the same.
fn compare(case: &Case) {
    let tmp = tempfile::tempdir().unwrap();
    let [list, stream] = [false, true].map(|streams| {
        let folder = tmp.path().join(streams.to_string());
        let input = case.load(streams, None)?;
        let drawn = |&(kind, _): &(usize, _)| kind < TOLD;
        assert_eq!(
            input.run.arrivals.is_some(),
            streams && case.workloads.iter().any(drawn)
        );
        let finished = case.run(&input);
        assert_eq!(finished.summary.status == RunStatus::Partial, case.stopped);
        write_run(&folder, &input, &finished, case.writing()).unwrap();
        Some(folder)
    });
    match (list, stream) {
        (Some(list), Some(stream)) => assert_same(&list, &stream, case),
        // All flows start after the end of the run.
        (list, stream) => assert_eq!(list, stream, "{}", case.text()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(24), ..ProptestConfig::default() })]

    #[test]
    fn a_stream_leaves_the_folder_of_its_list(case in cases()) {
        compare(&case);
    }
}

/// The table of an interrupted run includes the flows that had not started.
#[test]
fn interrupted_runs_are_the_same() {
    compare(&Case {
        duration_us: 400,
        stopped: true,
        ..simple()
    });
}

/// Compares several runs next to each other, with one seed and with two.
#[test]
fn comparisons_are_the_same() {
    let case = simple();
    let tmp = tempfile::tempdir().unwrap();
    let [lists, streams] = [false, true].map(|streams| {
        let folder = tmp.path().join(streams.to_string());
        let mut inputs = Vec::new();
        for (scheme, seed) in [("hpcc", 5), ("hpcc", 6), ("dcqcn", 5), ("dcqcn", 6)] {
            let case = Case {
                scheme,
                ..case.clone()
            };
            inputs.push(case.load(streams, Some(seed)).unwrap());
        }
        let finished: Vec<Finished> = inputs.iter().map(|input| case.run(input)).collect();
        let runs: Vec<(&Resolved, &Finished)> = inputs.iter().zip(&finished).collect();
        write_comparison(&folder.join("one"), &[runs[0], runs[2]], case.writing()).unwrap();
        let parts: Vec<Part<'_>> = (repeat_names(&runs).into_iter().zip(&finished))
            .map(|(folder, run)| Part {
                folder,
                summary: &run.summary,
                flows: &run.flows,
                fixed: false,
            })
            .collect();
        let repeats = Repeats::of(&parts, &[5, 6]).unwrap();
        assert!(repeats.paired[0].flows.is_some());
        write_repeats(&folder.join("two"), &runs, &repeats, case.writing()).unwrap();
        folder
    });
    assert_same(&lists, &streams, &case);
}
