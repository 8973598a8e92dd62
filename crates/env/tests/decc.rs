//! What is trained in an environment is what runs as `decc`.

use paceline_congestion::decc::STEP;
use paceline_congestion::decc::features::{INPUTS, ONCE, latency};
use paceline_congestion::learned::shipped;
use paceline_env::{Action, Batch, Config, Environment, Feature, Reward, Source};
use paceline_scenario::Overrides;

fn overrides(scheme: &str) -> Overrides {
    let set = [
        format!("cc.{scheme}.initial-rate=1Gbps"),
        "network.buffer=60KB".to_string(),
        "duration=2ms".to_string(),
        "record.accounts=off".to_string(),
    ];
    let not_marked = (scheme == "external").then(|| "cc.external.ecn=false".to_string());
    Overrides {
        scheme: Some(scheme.to_string()),
        set: set.into_iter().chain(not_marked).collect(),
        ..Overrides::default()
    }
}

/// A policy that ships decides for flows from outside: they go the way of flows under `decc`, to the byte.
#[test]
fn the_policy_in_an_environment_is_the_scheme() {
    let model = shipped::find("decc-clone").unwrap();
    let policy = model.decides().unwrap();
    let source = Source {
        name: "rl-cc".to_string(),
        overrides: overrides("external"),
    };
    let names = [
        "delivered-log2",
        "rtt",
        "loss",
        "in-flight-log2",
        "rate-log2",
        "action",
    ];
    let config = Config {
        features: names.map(|name| Feature::find(name).unwrap()).to_vec(),
        history: INPUTS / ONCE,
        action: Action::WindowMultiplier,
        step: STEP,
        reward: Reward::Decc,
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
            seen.iter_mut()
                .skip(1)
                .step_by(ONCE)
                .for_each(|rtt| *rtt = latency(*rtt));
            policy.decide(&seen)
        };
        let actions: Vec<f32> = (0..batch.len()).map(act).collect();
        decisions += actions.len();
        environment.submit(&actions).unwrap();
    }
    let outside = environment.finish().unwrap().outcome;
    let input = paceline_lab::load("rl-cc", &overrides("decc")).unwrap();
    let inside = paceline_lab::run::execute(&input, &mut |_| paceline_lab::run::Control::Continue);
    let inside = inside.unwrap().outcome;
    assert!(decisions > 200, "{decisions}");
    assert_eq!(outside.flows, inside.flows);
    assert_eq!(outside.counters, inside.counters);
}
