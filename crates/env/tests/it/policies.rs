//! Agreement of the scheme `policy` with an environment in which the same network decides.

use std::path::Path;

use paceline_congestion::learned::stack::WIDEST;
use paceline_env::{Action, Batch, Config, Environment, Feature, Source};
use paceline_lab::run::Control;
use paceline_scenario::{Overrides, read_model};

fn overrides(set: &[&str]) -> Overrides {
    Overrides {
        set: set.iter().map(|one| (*one).to_string()).collect(),
        ..Overrides::default()
    }
}

/// Runs a scenario as an environment in which each agent has its own network state.
fn outside(scenario: &str, path: &Path, set: &[&str]) -> String {
    let model = read_model(path).unwrap();
    let (card, stack) = model.stack().unwrap();
    let config = Config {
        features: card
            .observation
            .iter()
            .map(|name| Feature::find(name).unwrap())
            .collect(),
        history: card.history,
        action: Action::find(&card.action).unwrap(),
        step: card.step,
        ..Config::default()
    };
    let source = Source {
        name: scenario.into(),
        overrides: overrides(set),
    };
    let mut environment = Environment::new(source, config).unwrap();
    let mut memory = vec![vec![0.0; stack.remembers()]; environment.agents()];
    let mut batch = Batch::default();
    loop {
        environment.poll(&mut batch).unwrap();
        if batch.agents.is_empty() {
            break;
        }
        let rows = batch.observations.chunks(card.width());
        let actions: Vec<f32> = (batch.agents.iter().zip(rows))
            .map(|(agent, row)| {
                let mut numbers = [0.0; WIDEST];
                numbers[..row.len()].copy_from_slice(row);
                stack.step(&mut numbers, &mut memory[*agent as usize]);
                card.act(&numbers[..stack.outputs()])
            })
            .collect();
        environment.submit(&actions).unwrap();
    }
    ends(&environment.finish().unwrap().outcome)
}

fn ends(outcome: &paceline_fabric::Outcome) -> String {
    format!("{:?}", outcome.flows)
}

/// Runs the same scenario under the scheme `policy`.
fn inside(scenario: &str, path: &Path, set: &[&str]) -> String {
    let model = format!("cc.policy.model=\"{}\"", path.display());
    let mut changes = overrides(set);
    changes.set.push(model);
    changes.scheme = Some("policy".into());
    let input = paceline_lab::load(scenario, &changes).unwrap();
    ends(
        &paceline_lab::run::execute(&input, &mut |_| Control::Continue)
            .unwrap()
            .outcome,
    )
}

#[test]
fn a_policy_decides_as_its_agent_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenario/tests/data/policies");
    for (name, scenario, clock) in [
        ("mlp", "incast-16", ["clock=round-trip", "interval=0s"]),
        ("gru", "incast-16", ["clock=aligned", "interval=10us"]),
        ("lstm", "many-to-one-16", ["clock=feedback", "interval=2us"]),
        ("gru-dynamo", "incast-16", ["clock=round-trip", "interval=3us"]),
    ] {
        let path = folder.join(format!("{name}.json"));
        let set = |scheme: &str| {
            let more = ["decision-latency=1us", "initial-rate=20Gbps"];
            let all = clock.iter().chain(&more).map(|one| format!("cc.{scheme}.{one}"));
            all.chain(["duration=2ms".into()]).collect::<Vec<String>>()
        };
        let (theirs, ours) = (set("external"), set("policy"));
        let theirs: Vec<&str> = theirs.iter().map(String::as_str).collect();
        let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
        let (agents, scheme) = (outside(scenario, &path, &theirs), inside(scenario, &path, &ours));
        assert!(
            agents == scheme,
            "{name}: runs differ\n{:.600}\n{:.600}",
            agents,
            scheme
        );
        assert!(agents.len() > 1000);
    }
}
