//! Environments from the learner's view: waiting agents, determinism, and rejection of bad input.

use paceline_env::{Action, Agents, Batch, Config, Environment, Error, Feature, Reward, Source, Vector};
use paceline_scenario::Overrides;

/// Returns a scenario with sixteen senders to one receiver and these settings.
fn source(set: &[&str]) -> Source {
    const TEXT: &str = r#"
name = "sixteen"
duration = "400us"
[topology.star]
hosts = 17
rate = "100Gbps"
delay = "1us"
[[workload]]
label = "long"
incast = { fan-in = 16, receiver = 17, size = "50MB" }
[network]
mtu = "4096B"
[cc]
scheme = "external"
"#;
    Source {
        name: "sixteen".to_string(),
        overrides: Overrides {
            text: Some(TEXT.to_string()),
            set: set.iter().map(|text| (*text).to_string()).collect(),
            ..Overrides::default()
        },
    }
}

fn environment(set: &[&str]) -> Environment {
    Environment::new(source(set), Config::default()).unwrap()
}

/// Returns the actions of a simple policy: faster while there is no queue.
fn policy(batch: &Batch) -> Vec<f32> {
    (0..batch.len())
        .map(|row| {
            let latest = &batch.observation(row)[batch.width - 7..];
            (1.6 - latest[0]).clamp(-1.0, 1.0)
        })
        .collect()
}

/// Runs a complete episode and returns all batches.
fn episode(environment: &mut Environment) -> Vec<Batch> {
    let mut got = Vec::new();
    loop {
        let mut batch = Batch::default();
        environment.poll(&mut batch).unwrap();
        let actions = policy(&batch);
        let over = batch.is_empty();
        got.push(batch);
        if over {
            return got;
        }
        environment.submit(&actions).unwrap();
    }
}

#[test]
fn agents_ask_once_per_round_trip_and_a_policy_that_looks_holds_the_queue() {
    let mut environment = environment(&[]);
    let got = episode(&mut environment);
    assert_eq!(environment.agents(), 16);
    let decisions: usize = got.iter().map(Batch::len).sum();
    assert!(decisions > 16 * 20, "{decisions} in 400us");
    let last = &got[got.len() - 20];
    let delay = last.observation(0)[last.width - 7];
    assert!((1.2..2.2).contains(&delay), "{delay} base round trips");
    let end = got.last().unwrap();
    assert_eq!((end.over.as_slice(), end.left.len()), (&[0][..], 16));
    assert!(
        end.left.iter().all(|left| !left.complete),
        "the run stopped before its flows"
    );
}

#[test]
fn the_same_seed_is_the_same_bytes_on_any_number_of_threads() {
    let of = |threads| {
        let environments = (1..=5).map(|seed| {
            let mut environment = environment(&["cc.external.decision-latency=1us"]);
            environment.reset(Some(seed)).unwrap();
            environment
        });
        let mut vector = Vector::new(environments.collect(), threads).unwrap();
        let mut got = Vec::new();
        loop {
            let batch = vector.poll().unwrap().clone();
            let actions = policy(&batch);
            got.push(batch);
            if actions.is_empty() {
                return got;
            }
            vector.submit(&actions).unwrap();
        }
    };
    let one = of(1);
    assert!(one.len() > 50 && one[10].len() > 5);
    assert_eq!(one, of(3));
}

/// With a latency all questions within it form a batch; without one the run stops at each instant; aligned
/// flows ask together.
#[test]
fn batches_are_as_large_as_time_allows() {
    let mean = |set: &[&str]| {
        let got = episode(&mut environment(set));
        let decisions: usize = got.iter().map(Batch::len).sum();
        decisions as f64 / (got.len() - 1) as f64
    };
    let single = mean(&[]);
    assert!(single < 2.0, "{single}");
    let late = mean(&["cc.external.decision-latency=2us"]);
    assert!(late > 2.0 * single, "{late}");
    let aligned = mean(&["cc.external.clock=aligned", "cc.external.interval=10us"]);
    assert!(aligned > 15.0, "{aligned}");
}

/// Each answer in a batch takes effect a latency after its own question, as in a run that stops at each
/// question.
#[test]
fn all_in_a_batch_asked_within_the_latency() {
    let got = episode(&mut environment(&["cc.external.decision-latency=2us"]));
    let mut before = 0;
    for batch in got.iter().filter(|batch| !batch.is_empty()) {
        let (first, last) = (batch.times[0], *batch.times.last().unwrap());
        assert!(batch.times.is_sorted());
        assert!(last - first < 2_000_000, "{first} to {last}");
        assert!(first >= before, "no earlier than the last batch");
        before = last;
    }
}

#[test]
fn agents_leave_when_their_flows_are_complete() {
    let mut environment = environment(&["workload.long.incast.size=200KB", "duration=5ms"]);
    let got = episode(&mut environment);
    let left: Vec<_> = got.iter().flat_map(|batch| &batch.left).collect();
    assert_eq!(left.len(), 16);
    assert!(left.iter().all(|left| left.complete));
    let finished = environment.finish().unwrap();
    assert_eq!(finished.summary.flows.completed, 16);
}

#[test]
fn an_episode_is_made_again_from_its_actions_and_looked_at() {
    for stops_early in [false, true] {
        let mut environment = environment(&[]);
        environment.reset(Some(7)).unwrap();
        if stops_early {
            let mut batch = Batch::default();
            for _ in 0..100 {
                environment.poll(&mut batch).unwrap();
                environment.submit(&policy(&batch)).unwrap();
            }
        } else {
            episode(&mut environment);
        }
        let rollout = environment.rollout().clone();
        let mut again = rollout.replay(&environment, None).unwrap();
        let again = again.finish().unwrap();
        let first = environment.finish().unwrap();
        assert_eq!(again.outcome, first.outcome);
        let mut record = environment.scenario().run.record.clone();
        record.flow_every = Some(paceline_kernel::Span::from_us(1));
        let mut looked_at = rollout.replay(&environment, Some(record)).unwrap();
        let looked_at = looked_at.finish().unwrap();
        assert_eq!(
            looked_at.outcome.digest, first.outcome.digest,
            "to look moves nothing"
        );
        let mut other = rollout;
        other.agents[3] += 1;
        let error = other.replay(&environment, None).err().unwrap().to_string();
        assert!(error.contains("the rollout does not fit: at poll"), "{error}");
    }
}

#[test]
fn bad_input_is_refused_and_changes_nothing() {
    let mut environment = environment(&["cc.external.clock=aligned", "cc.external.interval=10us"]);
    let mut twin = environment.clone();
    let message = |result: Result<(), Error>| result.unwrap_err().to_string();
    assert_eq!(
        message(environment.submit(&[])),
        "there is nothing to answer: expected a poll before"
    );
    let mut batch = Batch::default();
    environment.poll(&mut batch).unwrap();
    let mut again = Batch::default();
    environment.poll(&mut again).unwrap();
    assert_eq!(batch, again, "to ask again is no step");
    let count = batch.len();
    assert_eq!(
        message(environment.submit(&vec![0.0; count + 1])),
        format!(
            "{} actions for {count} agents that wait: expected one for each, in the order of the poll",
            count + 1
        )
    );
    for (wrong, word) in [
        (f32::NAN, "NaN"),
        (f32::INFINITY, "inf"),
        (f32::NEG_INFINITY, "-inf"),
    ] {
        let mut actions = vec![0.1; count];
        actions[count - 1] = wrong;
        let text = message(environment.submit(&actions));
        assert!(
            text.contains(&format!("is {word}; expected a number from -1 to 1")),
            "{text}"
        );
    }
    let actions = vec![0.1; count];
    for (agent, what) in [(99, "does not exist"), (batch.agents[0], "is named twice")] {
        let mut agents = batch.agents.clone();
        agents[1] = agent;
        let text = message(environment.submit_for(&agents, &actions));
        assert!(text.starts_with(&format!("agent {agent} {what}")), "{text}");
    }
    assert!(message(environment.submit_for(&batch.agents[1..], &actions)).contains("expected one for each"));
    // The rejected calls changed nothing, and the order of agents does not matter: the twin has the same
    // episode.
    let mut reversed = batch.agents.clone();
    reversed.reverse();
    environment.submit_for(&reversed, &actions).unwrap();
    twin.poll(&mut again).unwrap();
    twin.submit(&actions).unwrap();
    assert_eq!(episode(&mut environment), episode(&mut twin));
    assert!(message(environment.submit(&actions)).starts_with("the episode is over, at "));
}

#[test]
fn a_reset_in_the_middle_begins_anew_and_a_closed_environment_says_so() {
    let mut environment = environment(&[]);
    let whole = episode(&mut environment);
    environment.reset(None).unwrap();
    let mut batch = Batch::default();
    for _ in 0..5 {
        environment.poll(&mut batch).unwrap();
        environment.submit(&policy(&batch)).unwrap();
    }
    environment.poll(&mut batch).unwrap();
    environment.reset(None).unwrap();
    assert_eq!(episode(&mut environment), whole);
    environment.close();
    assert!(matches!(environment.poll(&mut batch), Err(Error::Closed)));
    assert!(matches!(environment.submit(&[]), Err(Error::Closed)));
    assert!(matches!(environment.reset(None), Err(Error::Closed)));
    assert!(environment.finish().is_err());
}

/// The error for a completed flow differs from that for an unknown one.
#[test]
fn actions_for_those_who_have_left() {
    let mut short = source(&["cc.external.clock=aligned", "cc.external.interval=10us"]);
    let sizes = format!("sizes = [\"40KB\"{}]", ", \"50MB\"".repeat(15));
    let text = short
        .overrides
        .text
        .map(|text| text.replace("size = \"50MB\"", &sizes));
    short.overrides.text = text;
    let mut environment = Environment::new(short, Config::default()).unwrap();
    let mut batch = Batch::default();
    let gone = loop {
        environment.poll(&mut batch).unwrap();
        if let Some(left) = batch.left.first() {
            break left.agent;
        }
        environment.submit(&vec![0.0; batch.len()]).unwrap();
    };
    let mut agents = batch.agents.clone();
    agents[0] = gone;
    let error = environment
        .submit_for(&agents, &vec![0.0; agents.len()])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("agent {gone} has left: expected actions for the agents of the last poll")
    );
}

#[test]
fn who_cannot_be_an_environment_says_why() {
    let error = |source: Source, config: Config| Environment::new(source, config).err().unwrap().to_string();
    let mut dcqcn = source(&[]);
    dcqcn.overrides.scheme = Some("dcqcn".to_string());
    let text = error(dcqcn, Config::default());
    assert!(
        text.contains("has no agents: its 16 flows are under dcqcn; expected at least one flow"),
        "{text}"
    );
    let text = error(
        Source {
            overrides: Overrides {
                text: Some(
                    "duration = \"1ms\"\n[topology.star]\nhosts = 2\n[cc]\nscheme = \"external\"\n"
                        .to_string(),
                ),
                ..Overrides::default()
            },
            name: "empty".to_string(),
        },
        Config::default(),
    );
    assert!(text.contains("`empty` has no agents: it has no flows"), "{text}");
    let with = |change: &dyn Fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        error(source(&[]), config)
    };
    let text = with(&|config| config.features.push(Feature::find("queue").unwrap()));
    assert!(
        text.contains("`queue` is what switches tell; expected `cc.external.feedback = \"int\"`"),
        "{text}"
    );
    assert!(with(&|config| config.agents = Agents::Receiver).contains("expected `cc.external.clock"));
    assert!(with(&|config| config.features.clear()).contains("expected at least one name"));
    assert!(with(&|config| config.history = 0).contains("history: 0; expected 1 to 64"));
    assert!(with(&|config| config.step = f64::NAN).contains("step: NaN; expected a number above 0"));
}

/// A built-in scenario of another scheme becomes an environment.
#[test]
fn a_scenario_of_another_scheme_is_decided_for_outside() {
    let mut environment = Environment::new(Source::new("incast-16"), Config::default()).unwrap();
    assert_eq!(environment.scenario().scheme, "external");
    let mut batch = Batch::default();
    environment.poll(&mut batch).unwrap();
    assert_eq!(batch.len(), 1);
}

/// One agent for all flows to a receiver observes their mean, and its action applies to each.
#[test]
fn an_agent_per_receiver() {
    let config = Config {
        agents: Agents::Receiver,
        action: Action::Rate,
        history: 1,
        ..Config::default()
    };
    let set = ["cc.external.clock=aligned", "cc.external.interval=20us"];
    let mut environment = Environment::new(source(&set), config).unwrap();
    assert_eq!(environment.agents(), 1);
    let mut batch = Batch::default();
    for _ in 0..8 {
        environment.poll(&mut batch).unwrap();
        assert_eq!(batch.agents, [0]);
        // A share of 1/32 of the line each: log2(1/32) = 8 (a - 1).
        environment.submit(&[0.375]).unwrap();
    }
    environment.poll(&mut batch).unwrap();
    let rate = batch.observation(0)[5];
    assert!((rate + 5.0 / 16.0).abs() < 1e-6, "{rate}");
    // The remaining queue is from simultaneous packets: 15 packets of 333 ns, in a round trip of 4.7 us.
    let delay = batch.observation(0)[0];
    assert!(delay < 2.1, "no queue that stands: {delay}");
    // 0.1 tanh(10 R), where R is half of 0.1 minus the terms for delay and variation.
    assert!((0.03..0.047).contains(&batch.rewards[0]), "{}", batch.rewards[0]);
}

/// A window below one packet is a pacing rate.
#[test]
fn windows() {
    let config = Config {
        action: Action::WindowMultiplier,
        step: 0.425,
        reward: Reward::Adpg,
        ..Config::default()
    };
    let mut environment = Environment::new(source(&[]), config).unwrap();
    let mut batch = Batch::default();
    let mut least = 0.0f32;
    while {
        environment.poll(&mut batch).unwrap();
        !batch.is_empty()
    } {
        least = least.min(batch.observation(0)[batch.width - 2]);
        environment.submit(&vec![-1.0; batch.len()]).unwrap();
    }
    // A packet per round trip would be a share of 2^-3.8; the lowest window, 1/64 of a packet, is 2^-9.8.
    assert!((-9.9..-8.0).contains(&(least * 16.0)), "{least}");
}
