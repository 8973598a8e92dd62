//! Random forests for tests and benchmarks.

use paceline_kernel::rng::{Purpose, Rng};
use serde_json::Map;

use crate::learned::forest::{Feature, Parts, Scale, Split, Tree};

/// Returns a forest without notes on its origin; its unit is a sixteenth.
pub fn parts(features: &[(&str, Scale)], trees: Vec<Tree>) -> Parts {
    let feature = |(name, scale): &(&str, Scale)| Feature {
        name: (*name).into(),
        scale: *scale,
        trend: None,
    };
    Parts {
        name: "test".into(),
        features: features.iter().map(feature).collect(),
        output: "a".into(),
        fraction: 4,
        start: 0,
        limits: None,
        trees,
        claims: Vec::new(),
        about: Map::new(),
    }
}

/// Returns random trees of depth `depth` / 2 to `depth`, with splits at hundredths from -2 to 2 of uniformly
/// drawn features.
pub fn random(trees: usize, scales: &[Scale], depth: usize, seed: u64) -> Parts {
    let mut rng = Rng::stream(seed, Purpose::Training, 0);
    let mut tree = || {
        let shallow = depth.div_ceil(2);
        let depth = shallow + rng.below((depth - shallow) as u64 + 1) as usize;
        let splits = (0..depth).map(|_| {
            let feature = rng.below(scales.len() as u64) as usize;
            let x = rng.below(401) as f32 / 100.0 - 2.0;
            let above = scales[feature].position(x);
            Split { feature, above }
        });
        Tree {
            splits: splits.collect(),
            leaves: (0..1 << depth).map(|_| rng.below(2001) as i32 - 1000).collect(),
        }
    };
    let trees = (0..trees).map(|_| tree()).collect();
    let names: Vec<String> = (0..scales.len()).map(|k| format!("f{k}")).collect();
    let features: Vec<(&str, Scale)> = names
        .iter()
        .map(String::as_str)
        .zip(scales.iter().copied())
        .collect();
    parts(&features, trees)
}
