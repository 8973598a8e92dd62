use paceline_congestion::learned::{Model, shipped};
use paceline_congestion::spine::{HIDDEN, Params, run};
use paceline_scenario::Overrides;

use super::practice::practise;
use super::*;
use crate::pass::{backward_through, forward};

fn trained(threads: usize) -> TrainedPolicy {
    let options = Options {
        threads,
        rounds: 2,
        trial: 1,
        ..options()
    };
    train(&options, &Checkpoints::none(), &mut |_| Control::Continue).unwrap()
}

/// One thread and two give the same bytes, and the files are a model that decides as the trained policy.
#[test]
fn the_same_seed_gives_the_same_policy() {
    let [one, two] = [1, 2].map(trained);
    assert_eq!(one.policy, two.policy);
    assert_eq!(one.updates, two.updates);
    let triggered = one.updates[1].triggered.unwrap();
    assert!(triggered > 0.6 && triggered < 0.95, "{triggered}");
    let best = one.updates.iter().filter_map(|update| update.trial);
    let best = best.fold(f64::NEG_INFINITY, f64::max);
    assert_eq!(trial(&one.policy, 2).unwrap(), best);
    let written = files("spine-test", &one, "paceline train spine").unwrap();
    let model = Model::parse(&written.card, &written.weights).unwrap();
    let seen = [0.3; INPUTS];
    assert_eq!(run(model.layers().unwrap(), &seen), run(&one.policy, &seen));
}

/// Flows that practise the built-in policy without a random part give the same trace as flows under `spine`,
/// including buffer overflows.
#[test]
fn flows_practise_as_the_scheme_runs() {
    let set = ["duration=2ms", "record.accounts=off", "network.buffer=60KB"];
    let overrides = Overrides {
        scheme: Some("spine".to_string()),
        set: set.map(String::from).to_vec(),
        ..Overrides::default()
    };
    let input = paceline_lab::load("rl-cc", &overrides).unwrap();
    let mut control = |_: &_| Control::Continue;
    let inside = paceline_lab::run::execute(&input, &mut control).unwrap().outcome;
    let policy = shipped::find("spine").unwrap();
    let policy = Arc::new(policy.layers().unwrap().clone());
    let (courses, simulation) = practise(&input, &Params::default(), &policy, None).unwrap();
    let outside = paceline_lab::run::conclude(&input, simulation).unwrap().outcome;
    assert!(courses.iter().map(|course| course.steps.len()).sum::<usize>() > 200);
    assert_eq!(outside.flows, inside.flows);
    assert_eq!(outside.counters, inside.counters);
    assert_eq!(outside.decisions, inside.decisions);
}

/// Compares derivatives through the trunk's recurrent state with finite differences, for the sum of the
/// heads' outputs in the second interval.
#[test]
fn derivatives_go_through_the_memory() {
    let policy = first(&SPINE, &mut stream(3, 9));
    let inputs: [[f32; INPUTS]; 2] =
        std::array::from_fn(|time| std::array::from_fn(|k| ((k * 7 + time * 5) % 11) as f32 / 11.0 - 0.4));
    let passes = |policy: &Network| {
        let before = forward(policy, 1, inputs[0].to_vec());
        let mut seen = inputs[1].to_vec();
        seen[..HIDDEN].copy_from_slice(before.memory());
        let after = forward(policy, 1, seen);
        [before, after]
    };
    let [before, after] = passes(&policy);
    let mut slope = vec![0.0; policy.values().len()];
    let by_seen = backward_through(&policy, &after, vec![1.0; OUTPUTS], &[], Some(&mut slope));
    let by_memory = &by_seen[..HIDDEN];
    backward_through(&policy, &before, vec![0.0; OUTPUTS], by_memory, Some(&mut slope));
    let sum = |policy: &Network| {
        passes(policy)[1]
            .output
            .iter()
            .map(|said| f64::from(*said))
            .sum::<f64>()
    };
    let mut largest = 0.0f64;
    for index in (0..slope.len()).step_by(37) {
        let moved = |by: f32| {
            let mut policy = policy.clone();
            policy.values_mut()[index] += by;
            sum(&policy)
        };
        let difference = (moved(1e-2) - moved(-1e-2)) / 2e-2;
        let off = (f64::from(slope[index]) - difference).abs();
        assert!(off < 2e-3, "{index}: {} {difference}", slope[index]);
        largest = largest.max(difference.abs());
    }
    assert!(largest > 0.05, "{largest}");
}
