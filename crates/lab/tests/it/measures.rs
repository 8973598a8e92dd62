//! Sets of measures, compared with differences of two runs or with values computed by hand.

use paceline_fabric::Outcome;
use paceline_lab::measures::{Metrics, find_set};
use paceline_lab::run::{Control, Resources, execute_on};
use paceline_lab::stats::jain;
use paceline_scenario::{Overrides, Resolved, load_text};

const CROWD: &str = r#"
[topology.star]
hosts = 7
rate = "100Gbps"
delay = "1us"
[network]
flow-control = "none"
recovery = "irn"
buffer = "100KB"
[[workload]]
flows = [
  { src = 1, dst = 7, size = "1GB", start = "0s" },
  { src = 2, dst = 7, size = "1GB", start = "0s" },
  { src = 3, dst = 7, size = "1GB", start = "100us" },
  { src = 4, dst = 7, size = "1GB", start = "700us" },
  { src = 5, dst = 6, size = "100KB", start = "20us" },
]
[cc]
scheme = "dcqcn"
[record]
latency = true
halves = true
"#;

fn run(text: &str, set: &[&str]) -> (Resolved, Outcome) {
    let overrides = Overrides {
        set: set.iter().map(ToString::to_string).collect(),
        ..Overrides::default()
    };
    let input = load_text("measures.toml", text, &overrides).unwrap();
    let finished = execute_on(&input, Resources::ONE_THREAD, &mut |_| Control::Continue).unwrap();
    (input, finished.outcome)
}

fn measured(set: &str, (input, outcome): &(Resolved, Outcome)) -> Metrics {
    (find_set(set).unwrap().of)(input, outcome)
}

/// The measures of the second half equal the difference between a run and one that ends at half of its time.
#[test]
fn a_half_is_a_difference_of_two_runs() {
    let whole = run(CROWD, &["duration=1600us"]);
    let first = run(CROWD, &["duration=800us"]);
    let (found, early) = (measured("halves", &whole), measured("halves", &first));
    let near = |name: &str, expected: f64| {
        let value = found.values[name];
        assert!(
            (value - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{name}: {value} {expected}"
        );
    };
    near(
        "goodput",
        2.0 * found.values["whole_goodput"] - early.values["whole_goodput"],
    );
    let (whole, first) = (&whole.1, &first.1);
    let more: Vec<f64> = (whole.flows.iter().zip(&first.flows))
        .map(|(whole, first)| (whole.delivered.get() - first.delivered.get()) as f64)
        .collect();
    assert!(more.contains(&0.0), "a flow ends in the first half");
    near("jain", jain(&more).unwrap());
    let lost = whole.counters.buffer_drops - first.counters.buffer_drops;
    let came = whole.counters.data_received - first.counters.data_received;
    assert!(first.counters.buffer_drops > 0 && lost > 0);
    near("loss", 100.0 * lost as f64 / (came + lost) as f64);
    let [all, before] = [whole, first].map(|outcome| outcome.latency.clone().unwrap());
    let samples = all.samples - before.samples;
    near(
        "latency",
        (all.sum_ps - before.sum_ps) as f64 / samples as f64 / 1e6,
    );
    // Up to 1 % of the second half's packets were later than its p99.
    let beyond = |histogram: &paceline_fabric::outcome::RttStats| {
        let ns = (found.values["p99"] * 1e3).round() as u64;
        let recorded = histogram.histogram_ns.iter_recorded();
        recorded
            .filter(|one| one.value_iterated_to() > ns)
            .map(|one| one.count_at_value())
            .sum::<u64>()
    };
    let later = (beyond(&all) - beyond(&before)) as f64 / samples as f64;
    assert!(later <= 0.01, "{later}");
}

const DISTURBED: &str = r#"
duration = "400us"
[topology.star]
hosts = 5
rate = "100Gbps"
delay = "1us"
[network]
flow-control = "none"
recovery = "irn"
[[workload]]
label = "long"
flows = [{ src = 1, dst = 5, size = "1GB", start = "0s" }, { src = 3, dst = 4, size = "1GB", start = "0s" }]
[[workload]]
label = "short"
flows = [
  { src = 2, dst = 5, size = "10KB", start = "100us" },
  { src = 2, dst = 5, size = "10KB", start = "200us" },
]
[record]
flows = "100ns"
flows-max = 16
rates = "1us"
"#;

/// Long flows at a fixed rate do not react, and use a known share of their receivers' links; under HPCC they yield
/// within a few round trips.
#[test]
fn long_flows_react_or_do_not() {
    let fixed = run(DISTURBED, &["cc.scheme=fixed", "cc.fixed.rate=40Gbps"]);
    let found = measured("long-short", &fixed);
    assert_eq!(found.values["reacted"], 0.0);
    assert!(!found.values.contains_key("reaction"));
    let share = found.values["utilisation"];
    assert!((share - 40.0).abs() < 0.5, "{share}");
    assert!(found.values["short_p99"] < 3.0, "{found:?}");
    let hpcc = run(DISTURBED, &["cc.scheme=hpcc"]);
    let found = measured("long-short", &hpcc);
    assert!(found.values["reacted"] >= 50.0, "{found:?}");
    let reaction = found.values["reaction"];
    assert!((0.2..3.0).contains(&reaction), "{reaction}");
}
