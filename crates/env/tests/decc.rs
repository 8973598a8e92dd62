//! What is trained in an environment is what runs as `decc`.

mod common;

use common::{goes_the_same_way, of_rl_cc};
use paceline_congestion::decc::features::{INPUTS, ONCE, latency};
use paceline_congestion::decc::{SILENCE, STEP};
use paceline_congestion::learned::shipped;
use paceline_env::{Action, Config, Feature, Reward};

/// A policy that ships decides for flows from outside: they go the way of flows under `decc`, to the byte.
#[test]
fn the_policy_in_an_environment_is_the_scheme() {
    let model = shipped::find("decc-clone").unwrap();
    let policy = model.decides().unwrap();
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
    let silence = format!("cc.external.silence={SILENCE}");
    let outside = of_rl_cc(
        "external",
        &[
            "network.buffer=60KB",
            "cc.external.initial-rate=1Gbps",
            "cc.external.ecn=false",
            &silence,
        ],
    );
    let inside = of_rl_cc(
        "decc",
        &[
            "network.buffer=60KB",
            "cc.decc.model=decc-clone",
            "cc.decc.initial-rate=1Gbps",
        ],
    );
    let decide = |seen: &[f32]| {
        let mut seen = seen.to_vec();
        let delays = seen.iter_mut().skip(1).step_by(ONCE);
        delays.for_each(|rtt| *rtt = latency(*rtt));
        policy.decide(&seen)
    };
    goes_the_same_way((outside, config), decide, &inside);
}
