//! What is trained in an environment is what runs as `aurora`.

use paceline_congestion::aurora::{CUT, HISTORY, ONCE, STEP, latency};
use paceline_congestion::learned::shipped;
use paceline_env::{Action, Batch, Config, Environment, Feature, Reward, Source};
use paceline_scenario::Overrides;

fn overrides(scheme: &str) -> Overrides {
    let set = [
        format!("cc.{scheme}.initial-rate=1Gbps"),
        format!("cc.{scheme}.interval=4.5us"),
        "network.buffer=60KB".to_string(),
        "duration=2ms".to_string(),
        "record.accounts=off".to_string(),
    ];
    let outside = ["cc.external.ecn=false", "cc.external.clock=feedback"].map(String::from);
    let outside = outside.into_iter().filter(|_| scheme == "external");
    Overrides {
        scheme: Some(scheme.to_string()),
        set: set.into_iter().chain(outside).collect(),
        ..Overrides::default()
    }
}

/// The policy that ships decides for flows from outside: they go the way of flows under `aurora`, to the byte.
#[test]
fn the_policy_in_an_environment_is_the_scheme() {
    let model = shipped::find("aurora").unwrap();
    let policy = model.decides().unwrap();
    let source = Source {
        name: "rl-cc".to_string(),
        overrides: overrides("external"),
    };
    let names = ["rtt-growth", "rtt", "sent"];
    let config = Config {
        features: names.map(|name| Feature::find(name).unwrap()).to_vec(),
        history: HISTORY,
        action: Action::RateMultiplier,
        step: STEP * f64::from(CUT),
        reward: Reward::Aurora,
        ..Config::default()
    };
    let mut environment = Environment::new(source, config).unwrap();
    let (mut batch, mut decisions) = (Batch::default(), 0);
    loop {
        environment.poll(&mut batch).unwrap();
        if batch.is_empty() {
            break;
        }
        let act = |row| {
            let mut seen = batch.observation(row).to_vec();
            let delays = seen.iter_mut().skip(1).step_by(ONCE);
            delays.for_each(|rtt| *rtt = latency(*rtt));
            (policy.decide(&seen) / CUT).clamp(-1.0, 1.0)
        };
        let actions: Vec<f32> = (0..batch.len()).map(act).collect();
        decisions += actions.len();
        environment.submit(&actions).unwrap();
    }
    let outside = environment.finish().unwrap().outcome;
    let input = paceline_lab::load("rl-cc", &overrides("aurora")).unwrap();
    let inside = paceline_lab::run::execute(&input, &mut |_| paceline_lab::run::Control::Continue);
    let inside = inside.unwrap().outcome;
    assert!(decisions > 200, "{decisions}");
    assert_eq!(outside.flows, inside.flows);
    assert_eq!(outside.counters, inside.counters);
}
