use super::*;
use crate::Mark;
use crate::api::AckInfo;
use crate::testkit::models::Tensors;
use crate::testkit::policies::{card, policy, tensor};
use crate::testkit::{Pair, ack, star_path};

/// Weights of a single linear layer.
fn linear(weights: &[f32], bias: f32) -> Tensors {
    vec![
        tensor("0.weight", &[1, weights.len()], weights),
        tensor("0.bias", &[1], &[bias]),
    ]
}

const LAYER: &str = r#""layers": [{"linear": "0"}]"#;

fn params(entries: &str, tensors: &Tensors) -> Params {
    let model = policy(&card(entries), tensors).unwrap();
    Params {
        model: Auto::Is(model),
        ..Params::default()
    }
}

fn pair(params: &Params) -> Pair<Inside<Policy>> {
    params.check().unwrap();
    Pair::new(star_path(), |path| Policy::sender(params, path))
}

/// a = 0.5 - marks + 2 a[t-1], starting from 10 Gbit/s, once per round trip.
#[test]
fn decisions_by_hand() {
    let entries = format!(r#""observation": ["marks", "action"], "action": "rate-multiplier", {LAYER}"#);
    let mut pair = pair(&params(&entries, &linear(&[-1.0, 2.0], 0.5)));
    pair.advance(Span::from_us(4));
    pair.ack(&ack(1000, 50_000));
    assert!(pair.deciding());
    pair.decision();
    // a = 0.5: times 1.1.
    assert!((pair.rate().as_gbps_f64() - 11.0).abs() < 1e-6);
    pair.advance(Span::from_us(4));
    pair.ack(&AckInfo {
        mark: Mark::Congested,
        ..ack(60_000, 90_000)
    });
    pair.decision();
    // 0.5 - 1 + 1 = 0.5.
    assert!((pair.rate().as_gbps_f64() - 12.1).abs() < 1e-6);
    pair.advance(Span::from_us(4));
    pair.ack(&ack(100_000, 120_000));
    pair.decision();
    // 0.5 + 1 = 1.5, clamped to 1: times 1.2.
    assert!((pair.rate().as_gbps_f64() - 14.52).abs() < 1e-6);
}

/// Weights distinguish the three observations that the network reads; the first one stands in for missing
/// earlier ones.
#[test]
fn history_and_normalisation_by_hand() {
    let entries = format!(
        r#""observation": ["rtt"], "history": 3, "normalise": {{"mean": [1], "std": [2], "clip": 0.25}},
           "action": "rate", {LAYER}"#
    );
    let mut pair = pair(&params(&entries, &linear(&[1.0, 0.1, 0.01], 0.0)));
    let mut after = |round: u64, rtts: f64| {
        pair.advance(Span::from_us(40));
        let rtt = Span::from_ps((rtts * star_path().base_rtt.as_ps() as f64) as u64);
        pair.ack(&AckInfo {
            rtt,
            ..ack(round * 100_000, round * 100_000 + 50_000)
        });
        pair.decision();
        // The line's rate times 2^(8 (a - 1)).
        1.0 + libm::log2(pair.rate().as_gbps_f64() / 100.0) / 8.0
    };
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    near(after(1, 1.4), 0.2 * 1.11);
    near(after(2, 1.2), 0.2 * 1.1 + 0.1 * 0.01);
    near(after(3, 9.0), 0.2 + 0.1 * 0.1 + 0.25 * 0.01);
}

#[test]
fn the_largest_of_several_chooses() {
    let tensors = vec![
        tensor("0.weight", &[3, 1], &[0.0, -1.0, 1.0]),
        tensor("0.bias", &[3], &[0.5, 0.9, 0.0]),
    ];
    let entries =
        format!(r#""observation": ["marks"], "choices": [0, 1, -0.5], "action": "rate-multiplier", {LAYER}"#);
    let mut pair = pair(&params(&entries, &tensors));
    pair.advance(Span::from_us(4));
    pair.ack(&ack(1000, 50_000));
    pair.decision();
    assert!((pair.rate().as_gbps_f64() - 12.0).abs() < 1e-6);
    pair.advance(Span::from_us(4));
    pair.ack(&AckInfo {
        mark: Mark::Congested,
        ..ack(60_000, 90_000)
    });
    pair.decision();
    assert!((pair.rate().as_gbps_f64() - 12.0 / 1.1).abs() < 1e-6);
}

/// The scenario overrides the card; values in neither are those of `external`.
#[test]
fn the_card_says_when() {
    let entries = format!(
        r#""observation": ["marks"], "action": "rate", "clock": "aligned", "interval": "10us", "decision-latency": "1us",
           "initial-rate": "40Gbps", {LAYER}"#
    );
    let by_card = params(&entries, &linear(&[0.0], 0.0));
    assert_eq!(by_card.needs().decisions.unwrap().latency, Span::from_us(1));
    assert_eq!(by_card.explicit().interval, Auto::Is(Span::from_us(10)));
    let mut one = pair(&by_card);
    assert_eq!(one.rate(), BitRate::from_gbps(40));
    one.advance(Span::from_us(4));
    one.ack(&ack(1000, 2000));
    assert!(!one.deciding());
    one.advance(Span::from_us(6));
    assert!(one.deciding());
    let by_scenario = Params {
        clock: Auto::Is(Clock::Feedback),
        interval: Auto::Is(Span::ZERO),
        ..by_card
    };
    let mut one = pair(&by_scenario);
    one.advance(Span::from_us(4));
    one.ack(&ack(1000, 2000));
    assert!(one.deciding());
}

#[test]
fn observations_say_what_switches_tell() {
    let of = |name: &str| {
        let entries = format!(r#""observation": ["{name}"], "action": "rate", {LAYER}"#);
        params(&entries, &linear(&[0.0], 0.0)).needs()
    };
    assert!(!of("rtt").int && !of("rtt").tags);
    assert!(of("queue").int);
    assert!(of("switch-queue").tags);
}

/// Errors of cards and weights say what was expected.
#[test]
fn what_does_not_fit_is_told() {
    let one = linear(&[0.0, 0.0], 0.0);
    let said = |entries: &str, tensors: &Tensors| match policy(&card(entries), tensors) {
        Err(error) => error.to_string(),
        Ok(model) => {
            let params = Params {
                model: Auto::Is(model),
                ..Params::default()
            };
            params
                .check()
                .map_or_else(|error| error.message, |()| "fine".into())
        }
    };
    let two = r#""observation": ["rtt", "marks"], "action": "rate""#;
    let with = |more: &str| format!("{two}, {LAYER}, {more}");
    let cases = [
        (with(r#""step": 0.1"#), &one, "fine"),
        (
            with(r#""stp": 0.1"#),
            &one,
            "unknown field `stp`, expected one of",
        ),
        (
            format!(r#""observation": ["rt", "marks"], "action": "rate", {LAYER}"#),
            &one,
            "the card of `mine`: unknown observation `rt` (did you mean `rtt`?)",
        ),
        (
            format!(r#""observation": ["rtt", "marks"], "action": "rates", {LAYER}"#),
            &one,
            "unknown action `rates` (did you mean `rate`?)",
        ),
        (
            format!(r#""observation": ["rtt"], "action": "rate", {LAYER}"#),
            &one,
            "layer 1 (linear) reads 2 numbers; the observation has 1",
        ),
        (
            format!(r#"{two}, "layers": [{{"linear": "1"}}]"#),
            &one,
            "no tensor `1.weight` (did you mean `0.weight`?); they have 0.bias, 0.weight",
        ),
        (
            format!(r#"{two}, "layers": [{{"linear": "0", "then": "tan"}}]"#),
            &one,
            "layers[0].then: unknown activation `tan` (did you mean `tanh`?)",
        ),
        (
            format!(r#"{two}, "layers": [{{"then": "tanh"}}]"#),
            &one,
            "layers[0]: expected one of `linear`, `gru` and `lstm`",
        ),
        (
            with(r#""normalise": {"mean": [0], "std": [1, 1]}"#),
            &one,
            "normalise.mean: 1 numbers; expected 2, one for each name of the observation",
        ),
        (
            with(r#""normalise": {"mean": [0, 0], "std": [1, 0]}"#),
            &one,
            "normalise.std: 0; expected numbers above 0",
        ),
        (with(r#""history": 0"#), &one, "history: 0; expected 1 to 64"),
        (
            with(r#""output": 1"#),
            &one,
            "output: 1; the last layer gives 1 numbers",
        ),
        (
            with(r#""choices": [0, 1]"#),
            &one,
            "choices: 2 actions; expected 1",
        ),
        (
            with(r#""clock": "aligned""#),
            &one,
            "interval: 0 is no time between instants",
        ),
        (
            with(r#""clock": "aligned", "interval": "1ps""#),
            &one,
            "interval: 1ps between instants is less than a packet takes; expected 10ns or more",
        ),
        (
            with(r#""interval": "ten""#),
            &one,
            "the card of `mine`: interval: ",
        ),
        (with(r#""interval": "1""#), &one, "the card of `mine`: interval: "),
    ];
    for (entries, tensors, expected) in cases {
        let said = said(&entries, tensors);
        assert!(said.contains(expected), "{entries}\n{said}\n{expected}");
    }
    let mut more = one.clone();
    more.push(tensor("value.weight", &[1, 2], &[0.0, 0.0]));
    assert!(said(&with(r#""step": 0.1"#), &more).contains(
        "no layer has the tensors value.weight; list what is no part of the policy under `ignore`"
    ));
    assert_eq!(said(&with(r#""ignore": ["value"]"#), &more), "fine");
    let flat = vec![tensor("0.weight", &[2], &[0.0, 0.0])];
    assert!(
        said(&with(r#""step": 0.1"#), &flat).contains("the tensor `0.weight` is [2]; expected 2 dimensions")
    );
    let wild = linear(&[0.0, f32::NAN], 0.0);
    assert!(said(&with(r#""step": 0.1"#), &wild).contains("`0.weight` has the value NaN at index 1"));
}

/// Feedback is what the card or the scenario sets, but at least what the observations need.
#[test]
fn feedback_is_what_observations_need_at_least() {
    let entries = |observation: &str, more: &str| {
        format!(r#""observation": ["{observation}"], "action": "rate", {more} {LAYER}"#)
    };
    let asked = |params: &Params| params.asks().feedback;
    let plain = params(&entries("latency-log2", ""), &linear(&[1.0], 0.0));
    assert_eq!(asked(&plain), Feedback::Ack);
    let card = params(
        &entries("latency-log2", r#""feedback": "switch-ack","#),
        &linear(&[1.0], 0.0),
    );
    assert_eq!(asked(&card), Feedback::SwitchAck);
    let own = Params {
        feedback: Auto::Is(Feedback::Ack),
        ..card
    };
    own.check().unwrap();
    assert_eq!(asked(&own), Feedback::Ack);
    let lacking = Params {
        feedback: Auto::Is(Feedback::Int),
        ..params(&entries("switch-queue", ""), &linear(&[1.0], 0.0))
    };
    let error = lacking.check().unwrap_err().to_string();
    assert!(
        error.contains("`int` does not tell `switch-queue`, which the policy reads; expected `switch-ack`"),
        "{error}"
    );
}
