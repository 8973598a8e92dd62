//! Helpers of the policy tests.

use paceline_env::{Batch, Config, Environment, Source};
use paceline_scenario::Overrides;

/// Returns 2 ms of `rl-cc` under a scheme with these settings, without accounts.
pub(crate) fn of_rl_cc(scheme: &str, set: &[&str]) -> Overrides {
    let always = ["duration=2ms", "record.accounts=off"];
    Overrides {
        scheme: Some(scheme.to_string()),
        set: always.iter().chain(set).map(|set| set.to_string()).collect(),
        ..Overrides::default()
    }
}

/// Asserts that external flows for which `decide` answers from their observations give the same run as flows
/// under the scheme that contains the policy.
pub(crate) fn goes_the_same_way(
    (outside, config): (Overrides, Config),
    decide: impl Fn(&[f32]) -> f32,
    inside: &Overrides,
) {
    let source = Source {
        name: "rl-cc".to_string(),
        overrides: outside,
    };
    let mut environment = Environment::new(source, config).unwrap();
    let (mut batch, mut decisions) = (Batch::default(), 0);
    loop {
        environment.poll(&mut batch).unwrap();
        if batch.is_empty() {
            break;
        }
        let actions: Vec<f32> = (0..batch.len())
            .map(|row| decide(batch.observation(row)))
            .collect();
        decisions += actions.len();
        environment.submit(&actions).unwrap();
    }
    let outside = environment.finish().unwrap().outcome;
    let input = paceline_lab::load("rl-cc", inside).unwrap();
    let inside = paceline_lab::run::execute(&input, &mut |_| paceline_lab::run::Control::Continue);
    let inside = inside.unwrap().outcome;
    assert!(decisions > 200, "{decisions}");
    assert_eq!(outside.flows, inside.flows);
    assert_eq!(outside.counters, inside.counters);
}
