//! A policy trained in an environment decides the same as in `aurora`.

use crate::common::{goes_the_same_way, of_rl_cc};
use paceline_congestion::aurora::{CUT, HISTORY, ONCE, STEP, latency};
use paceline_congestion::learned::shipped;
use paceline_env::{Action, Config, Feature, Reward};

/// The built-in policy that decides for external flows gives the same run as `aurora`, byte for byte.
#[test]
fn the_policy_in_an_environment_is_the_scheme() {
    let model = shipped::find("aurora").unwrap();
    let policy = model.decides().unwrap();
    let names = ["rtt-growth", "rtt", "sent"];
    let config = Config {
        features: names.map(|name| Feature::find(name).unwrap()).to_vec(),
        history: HISTORY,
        action: Action::RateMultiplier,
        step: STEP * f64::from(CUT),
        reward: Reward::Aurora,
        ..Config::default()
    };
    let outside = of_rl_cc(
        "external",
        &[
            "network.buffer=60KB",
            "cc.external.initial-rate=1Gbps",
            "cc.external.interval=4.5us",
            "cc.external.ecn=false",
            "cc.external.clock=feedback",
        ],
    );
    let inside = of_rl_cc(
        "aurora",
        &[
            "network.buffer=60KB",
            "cc.aurora.initial-rate=1Gbps",
            "cc.aurora.interval=4.5us",
        ],
    );
    let decide = |seen: &[f32]| {
        let mut seen = seen.to_vec();
        let delays = seen.iter_mut().skip(1).step_by(ONCE);
        delays.for_each(|rtt| *rtt = latency(*rtt));
        (policy.decide(&seen) / CUT).clamp(-1.0, 1.0)
    };
    goes_the_same_way((outside, config), decide, &inside);
}
