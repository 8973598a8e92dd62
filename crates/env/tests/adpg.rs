//! What is trained in an environment is what runs as a scheme.

use paceline_congestion::adpg::STEP;
use paceline_congestion::learned::shipped;
use paceline_env::{Action, Batch, Config, Environment, Feature, Reward, Source};
use paceline_scenario::Overrides;

fn overrides(scheme: &str, model: Option<&str>) -> Overrides {
    let set = [
        format!("cc.{scheme}.initial-rate=10Gbps"),
        format!("cc.{scheme}.min-rate=100Mbps"),
        "duration=2ms".to_string(),
        "record.accounts=off".to_string(),
    ];
    let not_marked = (scheme == "external").then(|| "cc.external.ecn=false".to_string());
    let model = model.map(|model| format!("cc.adpg.model={model}"));
    Overrides {
        scheme: Some(scheme.to_string()),
        set: set.into_iter().chain(not_marked).chain(model).collect(),
        ..Overrides::default()
    }
}

/// A policy that ships decides for flows from outside: they go the way of flows under `adpg`, to the byte.
#[test]
fn the_policy_in_an_environment_is_the_scheme() {
    for name in ["adpg", "adpg-tree-100"] {
        goes_the_same_way(name);
    }
}

fn goes_the_same_way(name: &str) {
    let policy = shipped::find(name).unwrap();
    let source = Source {
        name: "rl-cc".to_string(),
        overrides: overrides("external", None),
    };
    let config = Config {
        features: ["action", "adpg"]
            .map(|name| Feature::find(name).unwrap())
            .to_vec(),
        history: 2,
        action: Action::RateMultiplier,
        step: STEP,
        reward: Reward::Adpg,
        ..Config::default()
    };
    let mut environment = Environment::new(source, config).unwrap();
    let (mut batch, mut decisions) = (Batch::default(), 0);
    loop {
        environment.poll(&mut batch).unwrap();
        if batch.is_empty() {
            break;
        }
        let act = |row| policy.act(batch.observation(row).try_into().unwrap());
        let actions: Vec<f32> = (0..batch.len()).map(act).collect();
        decisions += actions.len();
        environment.submit(&actions).unwrap();
    }
    let outside = environment.finish().unwrap().outcome;
    let input = paceline_lab::load("rl-cc", &overrides("adpg", Some(name))).unwrap();
    let inside = paceline_lab::run::execute(&input, &mut |_| paceline_lab::run::Control::Continue);
    let inside = inside.unwrap().outcome;
    assert!(decisions > 200, "{decisions}");
    assert_eq!(outside.flows, inside.flows);
    assert_eq!(outside.counters, inside.counters);
}
