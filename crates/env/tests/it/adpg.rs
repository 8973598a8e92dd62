//! Policies trained in an environment decide the same as in the scheme.

use crate::common::{goes_the_same_way, of_rl_cc};
use paceline_congestion::adpg::STEP;
use paceline_congestion::learned::shipped;
use paceline_env::{Action, Config, Feature, Reward};

/// A built-in policy that decides for external flows gives the same run as `adpg`, byte for byte.
#[test]
fn the_policy_in_an_environment_is_the_scheme() {
    for name in ["adpg", "adpg-tree-100"] {
        let policy = shipped::find(name).unwrap();
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
        let outside = of_rl_cc(
            "external",
            &[
                "cc.external.initial-rate=10Gbps",
                "cc.external.min-rate=100Mbps",
                "cc.external.ecn=false",
            ],
        );
        let inside = of_rl_cc(
            "adpg",
            &[
                "cc.adpg.initial-rate=10Gbps",
                "cc.adpg.min-rate=100Mbps",
                &format!("cc.adpg.model={name}"),
            ],
        );
        let decide = |seen: &[f32]| policy.act(seen.try_into().unwrap());
        goes_the_same_way((outside, config), decide, &inside);
    }
}
