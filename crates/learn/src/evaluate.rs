//! Evaluation of predictors on recorded runs, without a network: errors and series of predictions.

use paceline_congestion::learned::model::Model;
use paceline_congestion::lstm_pid::Features;
use paceline_kernel::Time;

use crate::dataset::{FlowTrace, Pair, SMOOTHING, STRATA, Trace};

/// Accuracy of a predictor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// Mean relative error of the predicted round-trip times.
    pub mape: f64,
    /// Mean relative error in each stratum; `None` for a stratum without pairs.
    pub by_stratum: [Option<f64>; STRATA],
    /// Number of pairs in the comparison.
    pub pairs: usize,
}

/// Returns the scores of a predictor's outputs for `pairs`, as from [`crate::train::predict`].
pub fn scores(pairs: &[Pair], out: &[f32]) -> Scores {
    let (mut sums, mut counts) = ([0.0; STRATA], [0_usize; STRATA]);
    for (pair, &out) in pairs.iter().zip(out) {
        sums[usize::from(pair.stratum)] += pair.error(out);
        counts[usize::from(pair.stratum)] += 1;
    }
    let all: usize = counts.iter().sum();
    Scores {
        mape: sums.iter().sum::<f64>() / all.max(1) as f64,
        by_stratum: std::array::from_fn(|i| (counts[i] > 0).then(|| sums[i] / counts[i] as f64)),
        pairs: all,
    }
}

/// Sample of a flow with its smoothed value and its prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time of the measurement.
    pub at: Time,
    /// Round-trip time, in µs.
    pub rtt_us: f64,
    /// Smoothed round-trip time, in µs.
    pub smoothed_us: f64,
    /// Prediction made after the previous sample, in µs; from the fourth sample on.
    pub predicted_us: Option<f64>,
}

/// Returns a flow's samples as a sender with `model` would have seen them.
pub fn follow(flow: &FlowTrace, model: &Model) -> Vec<Sample> {
    let mut features = Features::new(SMOOTHING);
    let mut predicted_us = None;
    let samples = flow.samples.iter().zip(flow.rtt_us());
    samples
        .map(|(&(at, _), rtt_us)| {
            features.push(rtt_us);
            let sample = Sample {
                at,
                rtt_us,
                smoothed_us: features.smoothed(),
                predicted_us,
            };
            let out = features.window().map(|k| f64::from(model.predict(k)));
            // It is compared with the next sample.
            predicted_us = out.map(|out| features.rtt_of(out));
            sample
        })
        .collect()
}

/// Returns `|K|` of all samples of a run in ascending order, so that an index gives the share of samples
/// (figure 8 of the thesis).
pub fn sizes_of_k(trace: &Trace) -> Vec<f64> {
    let mut all = Vec::new();
    for flow in &trace.flows {
        let mut features = Features::new(SMOOTHING);
        all.extend(flow.rtt_us().map(|rtt| features.push(rtt).abs()));
    }
    all.sort_by(f64::total_cmp);
    all
}

#[cfg(test)]
mod tests {
    use paceline_congestion::learned::shipped;
    use paceline_kernel::Span;

    use super::*;
    use crate::dataset::stratum;

    fn flow(rtt_ns: &[u64]) -> FlowTrace {
        let samples = rtt_ns.iter().zip(1..);
        FlowTrace {
            flow: 0,
            samples: samples
                .map(|(&rtt, i)| (Time::from_ns(i), Span::from_ns(rtt)))
                .collect(),
        }
    }

    #[test]
    fn scores_are_means_of_relative_errors() {
        let pair = |k: f32, l: f32| Pair {
            k: [0.0, 0.0, k],
            l,
            s: 5.0,
            r: 5.0 * (1.0 + f64::from(l)),
            stratum: stratum(k),
            source: 0,
            flow: 0,
            at: Time::ZERO,
        };
        let pairs = [pair(0.0, 0.25), pair(0.01, 0.0), pair(0.5, -0.5)];
        let found = scores(&pairs, &[0.0, 0.5, -0.5]);
        assert!((found.mape - (0.25 / 1.25 + 0.5) / 3.0).abs() < 1e-7, "{found:?}");
        let [calm, none, nothing, restless] = found.by_stratum;
        assert!((calm.unwrap() - (0.2 + 0.5) / 2.0).abs() < 1e-7);
        assert_eq!((none, nothing, restless, found.pairs), (None, None, Some(0.0), 3));
    }

    #[test]
    fn predictions_are_of_the_sample_that_they_stand_beside() {
        let model = shipped::find("rtt-ar3").unwrap();
        let samples = follow(&flow(&[5_000, 6_000, 5_000, 9_000]), &model);
        assert!(samples[..3].iter().all(|sample| sample.predicted_us.is_none()));
        // S and K of the third sample, computed by hand.
        let (s1, s2) = (5.2, 5.16);
        let k = [0.0, ((6.0 - s1) / s1) as f32, ((5.0 - s2) / s2) as f32];
        let by_hand = (1.0 + f64::from(model.predict(&k))) * s2;
        let found = samples[3];
        assert!(
            (found.predicted_us.unwrap() - by_hand).abs() < 1e-6,
            "{found:?} {by_hand}"
        );
        assert!(
            (found.rtt_us, found.at) == (9.0, Time::from_ns(4)) && (found.smoothed_us - 5.928).abs() < 1e-9
        );
    }

    #[test]
    fn sizes_of_k_are_in_order() {
        let origin = crate::dataset::Origin {
            scenario: String::new(),
            scheme: String::new(),
            settings: Vec::new(),
            seed: 1,
            fidelity: paceline_scenario::EXACT,
            order: None,
            model_sha256: None,
            scenario_sha256: String::new(),
            version: String::new(),
            samples: 3,
            sha256: String::new(),
        };
        let trace = Trace {
            origin,
            scenario: String::new(),
            flows: vec![flow(&[5_000, 6_000, 5_000])],
        };
        let (s1, s2) = (5.2, 5.16);
        let by_hand = [0.0, 0.16 / s2, 0.8 / s1];
        for (found, by_hand) in sizes_of_k(&trace).iter().zip(by_hand) {
            assert!((found - by_hand).abs() < 1e-9, "{found} {by_hand}");
        }
    }
}
