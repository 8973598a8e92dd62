//! Persistent connections: the agent is the queue pair, not the message.

use std::collections::BTreeMap;

use paceline_env::{Action, Agents, Batch, Config, Environment, Feature, Reward, Source};
use paceline_scenario::Overrides;

/// Returns a scenario with four senders to one receiver, each with three messages in sequence.
fn source(set: &[&str]) -> Source {
    const TEXT: &str = r#"
name = "loop"
duration = "5ms"
[topology.star]
hosts = 5
rate = "100Gbps"
delay = "1us"
[[workload]]
label = "writes"
closed-loop = { senders = [1, 2, 3, 4], receivers = [5], connections = "persistent", messages = 3, size = "200KB" }
[cc]
scheme = "external"
"#;
    Source {
        name: "loop".to_string(),
        overrides: Overrides {
            text: Some(TEXT.to_string()),
            set: set.iter().map(|text| (*text).to_string()).collect(),
            ..Overrides::default()
        },
    }
}

/// Runs an episode in which every action is `action`, and returns all batches.
fn episode(environment: &mut Environment, action: f32) -> Vec<Batch> {
    let mut got = Vec::new();
    loop {
        let mut batch = Batch::default();
        environment.poll(&mut batch).unwrap();
        let count = batch.len();
        got.push(batch);
        if count == 0 {
            return got;
        }
        environment.submit(&vec![action; count]).unwrap();
    }
}

fn config() -> Config {
    Config {
        features: vec![Feature::find("rate-log2").unwrap()],
        history: 1,
        action: Action::Rate,
        ..Config::default()
    }
}

/// A queue pair asks during all of its messages, keeps its rate between them, and leaves after the last.
#[test]
fn a_queue_pair_is_an_agent_over_all_of_its_messages() {
    let mut environment = Environment::new(source(&[]), config()).unwrap();
    assert_eq!(environment.agents(), 4);
    // An action of 0.75 is a quarter of the line: log2(1/4) = 8 (a - 1).
    let got = episode(&mut environment, 0.75);
    let finished = environment.finish().unwrap();
    assert_eq!(finished.summary.flows.completed, 12);
    let flows = &finished.outcome.flows;
    let ends: Vec<u64> = flows
        .iter()
        .map(|flow| flow.start.as_ps() + flow.fct.as_ps())
        .collect();
    let seconds: Vec<u64> = flows[4..8].iter().map(|flow| flow.start.as_ps()).collect();
    let mut asked: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for batch in &got {
        for row in 0..batch.len() {
            asked.entry(batch.agents[row]).or_default().push(batch.times[row]);
            // Its first question shows its initial rate of 10 Gbit/s, all others the rate set by its action.
            let shares = batch.observation(row)[0] * 16.0;
            let first = asked[&batch.agents[row]].len() == 1;
            assert!((shares + if first { 3.32 } else { 2.0 }).abs() < 0.01, "{shares}");
        }
    }
    assert_eq!(asked.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
    for times in asked.values() {
        let before = times.iter().filter(|&&at| at < seconds[0]).count();
        assert!(
            before > 3 && times.len() > 3 * before - 3,
            "{before} of {}",
            times.len()
        );
    }
    let left: Vec<_> = got.iter().flat_map(|batch| &batch.left).collect();
    assert_eq!(left.len(), 4);
    assert!(left.iter().all(|left| left.complete));
    // No agent leaves after its first message.
    let leaves = |batch: &Batch| !batch.left.is_empty();
    let first = got.iter().position(leaves).unwrap();
    let at = got[..first]
        .iter()
        .rev()
        .find_map(|batch| batch.times.last().copied());
    assert!(at > ends[4..8].iter().copied().min(), "{at:?}, {ends:?}");
}

/// A receiver's agent leaves when the last message of its last queue pair is complete while others continue,
/// even if senders restart in between.
#[test]
fn a_receiver_has_queue_pairs() {
    let others = r#"
[[workload]]
closed-loop = { senders = [4], receivers = [5], connections = "persistent", messages = 9, size = "200KB" }
[[workload]]
closed-loop = { senders = [3], receivers = [4], connections = "persistent", messages = 30, size = "200KB" }
"#;
    for think in ["0us", "100us"] {
        let mut source = source(&[
            "cc.external.clock=aligned",
            "cc.external.interval=10us",
            "network.idle-reset=50us",
            &format!("workload.0.closed-loop.think-time={think}"),
        ]);
        let text = source.overrides.text.take();
        source.overrides.text = text.map(|text| text.replace("[cc]", &format!("{others}[cc]")));
        let agents = Agents::Receiver;
        let mut environment = Environment::new(source, Config { agents, ..config() }).unwrap();
        assert_eq!(environment.agents(), 2);
        let got = episode(&mut environment, 0.75);
        let left: Vec<_> = got.iter().flat_map(|batch| &batch.left).collect();
        assert!(
            left.len() == 2 && left.iter().all(|left| left.complete),
            "{left:?}"
        );
        let gone = left[0].agent;
        let leaves = got.iter().position(|batch| !batch.left.is_empty()).unwrap();
        assert!(leaves < got.len() - 50, "{think}: {leaves} of {}", got.len());
        let after = got[leaves..].iter().filter(|batch| batch.agents.contains(&gone));
        assert_eq!(after.count(), 0, "{think}: it asks on");
    }
}

/// A sender that restarts after a pause is the same agent, which leaves once.
#[test]
fn who_begins_anew_stays() {
    let idle = "workload.0.closed-loop.think-time=100us";
    let mut rates = Vec::new();
    for reset in ["off", "50us"] {
        let set = [idle, &format!("network.idle-reset={reset}")];
        let mut environment = Environment::new(source(&set), config()).unwrap();
        let got = episode(&mut environment, 0.75);
        let left = got.iter().map(|batch| batch.left.len()).sum::<usize>();
        assert_eq!(left, 4, "{reset}");
        let begins = |batch: &Batch| {
            (0..batch.len())
                .filter(|&row| batch.observation(row)[0] * 16.0 < -3.0)
                .count()
        };
        rates.push(got.iter().map(begins).sum::<usize>());
    }
    // At their initial rate of 10 Gbit/s they ask once; with resets once per message.
    assert_eq!(rates, [4, 12]);
}

/// An idle queue pair between two messages does not influence the reward of others.
#[test]
fn who_has_nothing_to_send_is_not_counted() {
    // The second sends during the first one's think time, so they never send at the same time.
    let more = r#"
[[workload]]
closed-loop = { senders = [2], receivers = [5], connections = "persistent", messages = 3, size = "200KB", start = "200us", think-time = "400us" }
"#;
    let with = |more: &str| {
        let set = [
            "workload.0.closed-loop.senders=[1]",
            "workload.0.closed-loop.think-time=400us",
        ];
        let mut source = source(&set);
        let text = source.overrides.text.take();
        source.overrides.text = text.map(|text| text.replace("[cc]", &format!("{more}[cc]")));
        let reward = Reward::Decc;
        let mut environment = Environment::new(source, Config { reward, ..config() }).unwrap();
        let got = episode(&mut environment, 0.75);
        let rewards = got.iter().flat_map(|batch| &batch.rewards);
        (environment.agents(), rewards.copied().fold(0.0f32, f32::max))
    };
    let (one, two) = (with(""), with(more));
    assert_eq!((one.0, two.0), (1, 2));
    // A quarter of the line gives a reward of at most 0.1 tanh(0.25), two quarters 0.1 tanh(0.5).
    assert!((0.015..0.0246).contains(&one.1), "{one:?}");
    assert!((one.1 - two.1).abs() < 0.001, "{one:?}, {two:?}");
}
