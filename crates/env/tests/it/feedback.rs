//! Delay of queue information to senders by acknowledgements, by telemetry, and by switch answers.

use paceline_env::{Batch, Config, Environment, Feature, Source};
use paceline_scenario::Overrides;

/// Returns a scenario with a flow at line rate that another joins after 100 us.
fn source(feedback: &str) -> Source {
    const TEXT: &str = r#"
name = "joined"
duration = "120us"
[topology.star]
hosts = 3
rate = "100Gbps"
delay = "1us"
[[workload]]
label = "long"
incast = { senders = [1], receiver = 3, size = "50MB" }
[[workload]]
label = "joins"
incast = { senders = [2], receiver = 3, size = "50MB", start = "100us" }
[cc]
scheme = "external"
[cc.external]
initial-rate = "100Gbps"
clock = "feedback"
switch-interval = "0s"
"#;
    Source {
        name: "joined".to_string(),
        overrides: Overrides {
            text: Some(TEXT.to_string()),
            set: vec![format!("cc.external.feedback={feedback}")],
            ..Overrides::default()
        },
    }
}

/// Returns the first time, in ps, at which the long flow observes more than `above`, and its observation.
fn sees(feedback: &str, observation: &str, above: f32) -> (u64, Vec<f32>) {
    let names = match feedback {
        "switch-ack" => vec![
            observation,
            "switch-growth",
            "switch-utilisation",
            "switch-answers",
        ],
        _ => vec![observation],
    };
    let config = Config {
        features: names.iter().map(|name| Feature::find(name).unwrap()).collect(),
        history: 1,
        ..Config::default()
    };
    let mut environment = Environment::new(source(feedback), config).unwrap();
    let mut batch = Batch::default();
    loop {
        environment.poll(&mut batch).unwrap();
        assert!(!batch.is_empty(), "{feedback}: nothing is seen");
        for row in 0..batch.len() {
            let seen = batch.observation(row);
            if batch.agents[row] == 0 && seen[0] > above {
                return (batch.times[row], seen.to_vec());
            }
        }
        // An action of 1 is the line rate.
        environment.submit(&vec![1.0; batch.len()]).unwrap();
    }
}

/// Delays in round trips of the empty network, from the arrival of the second flow's first packet at the
/// switch: a switch's answer takes one link (0.25), information that returns with an acknowledgement takes
/// three (0.75).
#[test]
fn switches_answer_sooner_than_receivers_do() {
    // A packet of 1056 bytes at 100 Gbit/s, four links, and an acknowledgement of 64 bytes on two of them.
    let (packet, link) = (84_480.0, 1e6);
    let round_trip = 4.0 * link + 2.0 * packet + 2.0 * 5120.0;
    let joined = 100e6 + packet + link;
    let after = |feedback, observation, above| {
        let (at, seen) = sees(feedback, observation, above);
        ((at as f64 - joined) / round_trip, seen)
    };
    let (by_rtt, _) = after("ack", "rtt", 1.015);
    let (by_telemetry, _) = after("int", "queue", 0.0);
    let (by_answer, seen) = after("switch-ack", "switch-queue", 0.0);
    assert!((0.7..0.9).contains(&by_rtt), "{by_rtt}");
    assert!((0.7..0.9).contains(&by_telemetry), "{by_telemetry}");
    assert!((0.2..0.35).contains(&by_answer), "{by_answer}");
    // The answer is to a packet that found one other in the queue of a busy line.
    let queue = packet / round_trip;
    assert!((f64::from(seen[0]) - queue).abs() < 1e-3, "{seen:?}");
    assert!(seen[1] > 0.0 && seen[2] > 0.99 && seen[3] == 1.0, "{seen:?}");
}
