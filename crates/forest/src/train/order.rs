//! Monotone leaves for features with a trend.

use paceline_congestion::learned::forest::{Feature, Trend};

use super::bins::Ask;

/// Upper limit of alternating passes over the features. Remaining violations are then corrected one by one.
const TURNS: usize = 100;
/// Weight of a leaf without rows, so low that its neighbours determine its value.
const NO_ROWS: f64 = 1e-9;

/// For a feature with a trend, its chains of leaves in the order in which values must rise.
type Lines = Vec<Vec<usize>>;

/// Makes leaves monotone by isotonic regression.
pub(super) fn put(values: &mut [f64], weights: &[f64], asks: &[Ask], features: &[Feature]) {
    let constrained = |(k, feature): (usize, &Feature)| {
        let trend = feature.trend?;
        asks.iter()
            .any(|ask| ask.feature == k)
            .then(|| lines(k, trend, asks))
    };
    let all: Vec<Lines> = features.iter().enumerate().filter_map(constrained).collect();
    // Pooling along one feature may violate the trend of another.
    for _ in 0..TURNS {
        let mut moved = false;
        for line in all.iter().flatten() {
            moved |= pool(values, weights, line);
        }
        if !moved {
            return;
        }
    }
    // This ends because values only rise, and only to existing values.
    let mut moved = true;
    while moved {
        moved = false;
        for pair in all.iter().flatten().flat_map(|line| line.windows(2)) {
            if values[pair[1]] < values[pair[0]] {
                values[pair[1]] = values[pair[0]];
                moved = true;
            }
        }
    }
}

/// Returns chains of leaves that differ only in the splits of a feature, in the order of rising thresholds.
fn lines(feature: usize, trend: Trend, asks: &[Ask]) -> Lines {
    let mut levels: Vec<usize> = (0..asks.len()).filter(|k| asks[*k].feature == feature).collect();
    levels.sort_by_key(|level| asks[*level].bin);
    let mut chain = vec![0];
    for level in &levels {
        chain.push(chain.last().copied().unwrap_or(0) | 1 << level);
    }
    let all = chain.last().copied().unwrap_or(0);
    if trend == Trend::Falling {
        chain.reverse();
    }
    let others = (0..1 << asks.len()).filter(|leaf| leaf & all == 0);
    others
        .map(|leaf| chain.iter().map(|step| leaf | step).collect())
        .collect()
}

/// Makes values along a chain monotone by isotonic regression: neighbours in the wrong order get their mean.
/// Returns true if any value changed.
fn pool(values: &mut [f64], weights: &[f64], line: &[usize]) -> bool {
    if line.windows(2).all(|pair| values[pair[0]] <= values[pair[1]]) {
        return false;
    }
    // Mean, weight and number of leaves of a block.
    let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(line.len());
    for leaf in line {
        let mut block = (values[*leaf], weights[*leaf].max(NO_ROWS), 1);
        while let Some(last) = blocks.last().copied()
            && last.0 > block.0
        {
            let weight = last.1 + block.1;
            block = (
                (last.0 * last.1 + block.0 * block.1) / weight,
                weight,
                last.2 + block.2,
            );
            blocks.pop();
        }
        blocks.push(block);
    }
    let pooled = blocks
        .iter()
        .flat_map(|block| std::iter::repeat_n(block.0, block.2));
    for (leaf, value) in line.iter().zip(pooled) {
        values[*leaf] = value;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use paceline_congestion::learned::forest::Scale;

    fn feature(trend: Option<Trend>) -> Feature {
        Feature {
            name: "x".into(),
            scale: Scale::Fixed(8),
            trend,
        }
    }

    fn ask(feature: usize, bin: u8) -> Ask {
        Ask { feature, bin }
    }

    #[test]
    fn neighbours_in_the_wrong_order_become_their_mean() {
        let features = [feature(Some(Trend::Rising)), feature(None)];
        // Bit 0: x above 9; bit 1: y; bit 2: x above 3. Without y the chain is leaves 0, 4, 5; leaf 1 is
        // impossible.
        let asks = [ask(0, 9), ask(1, 0), ask(0, 3)];
        let mut values = [3.0, -7.0, 1.0, 7.0, 1.0, 5.0, 2.0, 3.0];
        put(
            &mut values,
            &[1.0, 0.0, 1.0, 0.0, 3.0, 1.0, 1.0, 1.0],
            &asks,
            &features,
        );
        assert_eq!(values, [1.5, -7.0, 1.0, 7.0, 1.5, 5.0, 2.0, 3.0]);
    }

    #[test]
    fn several_features_agree() {
        let features = [feature(Some(Trend::Falling)), feature(Some(Trend::Rising))];
        let asks = [ask(0, 1), ask(1, 1), ask(0, 2), ask(1, 5)];
        let mut values: Vec<f64> = (0..16).map(|k| f64::from((k * 7919) % 16)).collect();
        put(&mut values, &[1.0; 16], &asks, &features);
        for (k, feature) in features.iter().enumerate() {
            for line in lines(k, feature.trend.unwrap(), &asks) {
                assert!(line.windows(2).all(|pair| values[pair[0]] <= values[pair[1]]));
            }
        }
        assert!(values.iter().any(|value| *value != values[0]));
    }
}
