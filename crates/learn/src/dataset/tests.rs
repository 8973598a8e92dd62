use super::draw::shares;
use super::*;
use paceline_kernel::Span;
use paceline_scenario::EXACT;
use std::path::Path;

/// Trace of one flow with these round-trip times in ns, one sample per µs.
fn trace(rtt_ns: &[u64]) -> Trace {
    let samples = rtt_ns.iter().zip(1..);
    let samples = samples.map(|(&rtt, i)| (Time::from_ns(i), Span::from_ns(rtt)));
    Trace {
        origin: Origin {
            scenario: "made-up".into(),
            scheme: "timely".into(),
            settings: vec!["a=1".into()],
            seed: 3,
            fidelity: EXACT,
            order: None,
            model_sha256: None,
            scenario_sha256: "1".into(),
            version: paceline_lab::version().into(),
            samples: rtt_ns.len() as u64,
            sha256: "0".into(),
        },
        scenario: "seed = 3\n".into(),
        flows: vec![FlowTrace {
            flow: 7,
            samples: samples.collect(),
        }],
    }
}

/// Trace whose round-trip times pass through all strata.
fn restless(samples: u64) -> Trace {
    let mut rng = crate::rng::Stream::Draw.rng(9);
    let steps: Vec<u64> = (0..samples)
        .map(|i| match i / 50 % 3 {
            0 => 5_000 + rng.below(50),
            1 => 5_000 + rng.below(700),
            _ => 4_000 + rng.below(6_000),
        })
        .collect();
    trace(&steps)
}

/// S: 5, 5.2, 5.16 and 5.928, all in µs; K and L are computed from them by hand.
#[test]
fn pairs_are_those_of_the_formulas() {
    let pairs = trace(&[5_000, 6_000, 5_000, 9_000, 4_000]).candidates(2);
    assert_eq!(pairs.len(), 2);
    let first = pairs[0];
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
    let (s1, s2, s3) = (5.2, 5.16, 5.928);
    for (k, by_hand) in first.k.iter().zip([0.0, (6.0 - s1) / s1, (5.0 - s2) / s2]) {
        assert!(close(f64::from(*k), by_hand), "{k} {by_hand}");
    }
    assert!(close(f64::from(first.l), (9.0 - s2) / s2) && close(first.s, s2));
    assert_eq!((first.r, first.flow, first.source, first.stratum), (9.0, 7, 2, 1));
    assert_eq!(first.at, Time::from_ns(3));
    assert!(close(f64::from(pairs[1].k[2]), (9.0 - s3) / s3) && pairs[1].stratum == 3);
    // An output of L predicts the next sample exactly; one of K[t] predicts no change.
    assert_eq!(first.error(first.l), 0.0);
    assert!(close(first.error(first.k[2]), (9.0 - 5.0) / 9.0));
    // Three samples give no pair.
    assert!(trace(&[5_000, 6_000, 5_000]).candidates(0).is_empty());
}

#[test]
fn strata_have_their_edges() {
    let of = |k: f32| stratum(k);
    assert_eq!(
        [0.0, 0.0199, 0.02, -0.0799, 0.08, 0.1499, -0.15, 3.9].map(of),
        [0, 0, 1, 1, 2, 2, 3, 3]
    );
}

#[test]
fn shares_are_as_equal_as_can_be() {
    assert_eq!(shares(8, &[9, 9, 9, 9]), [2; 4]);
    assert_eq!(shares(10, &[9, 1, 9, 0]), [4, 1, 5, 0]);
    assert_eq!(shares(7, &[9, 9, 9, 9]).iter().sum::<usize>(), 7);
    assert_eq!(shares(20, &[5, 5, 5, 5]), [5; 4]);
    assert_eq!(shares(0, &[5, 0, 5, 5]), [0; 4]);
}

#[test]
fn a_drawn_dataset_is_even_and_repeats() {
    let traces = [restless(3_000)];
    let all = Dataset::whole(&traces);
    assert_eq!(all.pairs.len(), 2_997);
    let there = all.strata();
    assert!(there.iter().all(|&count| count >= 251), "{there:?}");
    let drawn = Dataset::draw(&traces, 1_002, 1).unwrap();
    let mut counts = drawn.strata();
    counts.sort_unstable();
    assert_eq!(counts, [250, 250, 251, 251]);
    assert_eq!(drawn, Dataset::draw(&traces, 1_002, 1).unwrap());
    let other = Dataset::draw(&traces, 1_002, 2).unwrap();
    assert!(other.hash() != drawn.hash() && other.pairs[0] != drawn.pairs[0]);
    // No pair is drawn twice, and the order is not that of time.
    let mut times: Vec<Time> = drawn.pairs.iter().map(|pair| pair.at).collect();
    assert!(!times.is_sorted());
    times.sort_unstable();
    times.dedup();
    assert_eq!(times.len(), 1_002);
    let message = Dataset::draw(&traces, 5_000, 1).unwrap_err().to_string();
    assert!(
        message.contains("5000 pairs") && message.contains("2997"),
        "{message}"
    );
}

/// The hash is over bytes that are the same everywhere (this one was computed with another program). A change
/// must be noticed, since model cards contain it.
#[test]
fn the_hash_is_stable() {
    let data = Dataset::whole(&[trace(&[5_000, 6_000, 5_000, 9_000, 4_000])]);
    assert_eq!(data.hash(), data.clone().hash());
    assert_eq!(
        data.hash(),
        "2630885d48e4d300aa24044864aac63ded34600c828a4df33060efda0af9d51a"
    );
    let mut versioned = data.clone();
    versioned.origins[0].version = "9.9.9".into();
    assert_eq!(versioned.hash(), data.hash());
    let mut moved = data.clone();
    moved.pairs[1].k[0] += 1e-7;
    assert_ne!(moved.hash(), data.hash());
    let mut renamed = data.clone();
    renamed.origins[0].settings[0] = "a=2".into();
    assert_ne!(renamed.hash(), data.hash());
}

fn written(data: &Dataset) -> (tempfile::TempDir, std::path::PathBuf) {
    let tmp = tempfile::tempdir().unwrap();
    let path = tmp.path().join("pairs.parquet");
    data.write(&path).unwrap();
    (tmp, path)
}

#[test]
fn what_is_written_is_read() {
    let data = Dataset::draw(&[restless(3_000), restless(500)], 1_000, 5).unwrap();
    let (tmp, path) = written(&data);
    assert_eq!(Dataset::read(&path).unwrap(), data);
    let again = tmp.path().join("again.parquet");
    data.write(&again).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&again).unwrap());
}

fn refused(path: &Path) -> String {
    Dataset::read(path).unwrap_err().to_string()
}

#[test]
fn what_is_no_dataset_is_refused() {
    let data = Dataset::whole(&[trace(&[5_000, 6_000, 5_000, 9_000, 4_000])]);
    let (tmp, path) = written(&data);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    assert!(refused(&path).contains("pairs.parquet is not a dataset: "));
    let missing = tmp.path().join("none.parquet");
    assert!(refused(&missing).starts_with("cannot read "));
    // A table of another kind.
    use paceline_lab::files::columns::{Column, Values, write_parquet};
    let other = [Column::new("entity", Values::Int(vec![Some(1)]))];
    let mut out = Vec::new();
    write_parquet(&mut out, &other, &[]).unwrap();
    std::fs::write(&path, &out).unwrap();
    assert!(refused(&path).contains("`paceline train` did not write"));
}

/// Error for the file of `data` with one entry of its metadata changed.
fn with_metadata(data: &Dataset, key: &str, value: &str) -> String {
    let (_tmp, path) = written(data);
    let mut metadata: Vec<(String, String)> = super::file::metadata(&path).unwrap().into_iter().collect();
    metadata.sort();
    for (name, content) in &mut metadata {
        if name == key {
            *content = value.into();
        }
    }
    let metadata: Vec<(&str, String)> = metadata
        .iter()
        .map(|(key, value)| (&**key, value.clone()))
        .collect();
    let columns = paceline_lab::files::columns::read_parquet(&path).unwrap();
    let mut out = Vec::new();
    paceline_lab::files::columns::write_parquet(&mut out, &columns, &metadata).unwrap();
    std::fs::write(&path, out).unwrap();
    refused(&path)
}

#[test]
fn another_versions_dataset_is_refused_with_what_to_do() {
    let data = Dataset::whole(&[trace(&[5_000, 6_000, 5_000, 9_000, 4_000])]);
    let message = with_metadata(&data, "version", "0.0.3");
    assert!(
        message.contains("recorded by version 0.0.3, this is version")
            && message.contains("record it again (its sources: made-up under timely)"),
        "{message}"
    );
    let message = with_metadata(&data, "format", "7");
    assert!(message.contains("(form 7, expected 2)"), "{message}");
    let message = with_metadata(&data, "smoothing", "0.3");
    assert!(message.contains("smoothed with 0.3, not 0.2"), "{message}");
    let message = with_metadata(&data, "sha256", "00");
    assert!(message.contains("the hash differs"), "{message}");
    let message = with_metadata(&data, "origins", "[]");
    assert!(message.contains("from a source beyond its 0"), "{message}");
}

#[test]
fn a_key_is_set_once() {
    let refused = |source: Source| source.load().unwrap_err().to_string();
    let twice = Source::incast("pidnn", &["shuffle-ties=3", "shuffle-ties=7"]);
    assert_eq!(
        refused(twice),
        "`incast-20` is to run with `shuffle-ties=3` and with `shuffle-ties=7`: `shuffle-ties` can be set once, as \
         the last would silently win"
    );
    // An order in the source and in a setting is the same mistake.
    let both = Source::incast("pidnn", &["shuffle-ties = 3"]).shuffled(7);
    assert!(refused(both).contains("`shuffle-ties` can be set once"));
    let scheme = Source::incast("pidnn", &["cc.scheme=dctcp"]);
    assert!(refused(scheme).contains("with `cc.scheme=pidnn` and with `cc.scheme=dctcp`"));
}

#[test]
fn an_order_is_that_of_the_run() {
    let order = |source: Source| match source.load().unwrap().run.ties {
        paceline_fabric::spec::TieOrder::Shuffled(order) => Some(order),
        _ => None,
    };
    assert_eq!(order(Source::tuned().shuffled(7)), Some(7));
    assert_eq!(order(Source::tuned().shuffled(7).shuffled(9)), Some(9));
    assert_eq!(order(Source::incast("pidnn", &["shuffle-ties=3"])), Some(3));
    assert_eq!(order(Source::tuned()), None);
}

fn origin(order: Option<u64>) -> Origin {
    let name = |order: Option<u64>| format!("{order:?}");
    Origin {
        order,
        scenario_sha256: name(order),
        sha256: name(order),
        ..trace(&[5_000]).origin
    }
}

#[test]
fn runs_that_judge_are_not_those_that_were_learned_from() {
    let training = [None, Some(1), Some(7)].map(origin);
    disjoint(&training, &[Some(101), Some(8)].map(origin)).unwrap();
    let refused = |test: Origin| {
        disjoint(&training, &[origin(Some(101)), test])
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused(Origin {
            order: Some(102),
            sha256: "new".into(),
            ..origin(Some(7))
        }),
        "made-up under timely (a=1) in order 102 cannot judge what learned from made-up under timely (a=1) in order \
         7: they have the same resolved scenario"
    );
    let other = |order| Origin {
        scenario_sha256: "new".into(),
        ..origin(order)
    };
    assert!(
        refused(Origin {
            order: Some(102),
            ..other(Some(7))
        })
        .ends_with("they have the same samples")
    );
    let scheme = Origin {
        scheme: "dctcp".into(),
        sha256: "new".into(),
        ..other(Some(7))
    };
    assert!(refused(scheme).ends_with("they have the same order of simultaneous events"));
    assert!(refused(origin(None)).contains("in its own order"));
    apart_from_orders(&training, 101..=110).unwrap();
    assert!(
        apart_from_orders(&training, 5..=8)
            .unwrap_err()
            .to_string()
            .contains("a run in order 7")
    );
}

/// Runs that judge in `thesis-table1`: none of them is a training run.
#[test]
fn held_out_runs_have_orders_of_their_own() {
    let of =
        |sources: Vec<Source>| -> Vec<Option<u64>> { sources.iter().map(|source| source.order).collect() };
    let (training, held_out) = (of(Source::thesis()), of(Source::held_out()));
    assert_eq!((training.len(), held_out.len()), (17, 17));
    assert!(
        held_out
            .iter()
            .all(|order| order.is_some() && !training.contains(order))
    );
    // A run in both is found by its resolved scenario.
    let sha = |source: &Source| super::trace::scenario_hash(&source.load().unwrap().toml);
    let seventh = Source::incast("pidnn", UNTUNED).shuffled(7);
    assert!(Source::thesis().iter().any(|source| sha(source) == sha(&seventh)));
    assert!(
        Source::thesis()
            .iter()
            .all(|source| sha(source) != sha(&Source::held_out()[5]))
    );
}

/// Names and recording do not change the hash of a scenario.
#[test]
fn a_scenario_is_told_by_what_runs() {
    let sha = |settings: &[&str]| {
        super::trace::scenario_hash(&Source::incast("pidnn", settings).load().unwrap().toml)
    };
    assert_eq!(sha(&["record.rtt-samples=true"]), sha(&["record.queue=off"]));
    assert_eq!(sha(&["name=other"]), sha(&[]));
    assert_ne!(sha(&["cc.lstm-pid.k-p=-0.3"]), sha(&[]));
    assert_ne!(sha(&["shuffle-ties=3"]), sha(&["shuffle-ties=4"]));
}
