use paceline_congestion::learned::activation::tanh;
use paceline_congestion::learned::forest::{Scale, Trend};

use super::*;
use crate::prove::{self, Verdict};

fn shape(trends: &[Option<Trend>]) -> Shape {
    let feature = |(k, trend): (usize, &Option<Trend>)| Feature {
        name: format!("x{k}"),
        scale: Scale::Fixed(12),
        trend: *trend,
    };
    Shape {
        name: "test".into(),
        features: trends.iter().enumerate().map(feature).collect(),
        output: "y".into(),
    }
}

/// Draws rows with features from -1 to 1.
fn drawn(rows: usize, features: usize, seed: u64, wanted: impl Fn(&[f32], f32) -> f32) -> Rows {
    let mut rng = Rng::stream(seed, Purpose::Training, 100);
    let mut drawn = Rows::default();
    for _ in 0..rows {
        let x: Vec<f32> = (0..features).map(|_| rng.next_f64() as f32 * 2.0 - 1.0).collect();
        let noise = rng.next_f64() as f32 * 2.0 - 1.0;
        drawn.push(&x, wanted(&x, noise));
    }
    drawn
}

fn options() -> Options {
    Options {
        validation: 0.0,
        ..Options::default()
    }
}

#[test]
fn a_leaf_is_the_shrunken_mean_of_what_is_left() {
    let rows = Rows {
        features: vec![0.0, 0.0, 1.0],
        targets: vec![1.0, 2.0, 6.0],
        weights: Vec::new(),
    };
    let options = Options {
        trees: 1,
        depth: 1,
        learning_rate: 0.5,
        l2: 1.0,
        ..options()
    };
    let forest = train(&shape(&[None]), &rows, &options).unwrap().forest;
    // The mean is 3. Below: -2 and -1, with weight 2; above: 3, with weight 1.
    let got = [0.0, 1.0].map(|x| forest.value(forest.sum(&[x])));
    assert!((got[0] - (3.0 - 0.5 * 3.0 / 3.0)).abs() < 1e-3, "{got:?}");
    assert!((got[1] - (3.0 + 0.5 * 3.0 / 2.0)).abs() < 1e-3, "{got:?}");
    let weighed = Rows {
        weights: vec![1.0, 1.0, 4.0],
        ..rows
    };
    let forest = train(&shape(&[None]), &weighed, &options).unwrap().forest;
    // The mean is 4.5. Below: -3.5 and -2.5; above: 1.5, four times.
    let got = [0.0, 1.0].map(|x| forest.value(forest.sum(&[x])));
    assert!((got[0] - (4.5 - 0.5 * 6.0 / 3.0)).abs() < 1e-3, "{got:?}");
    assert!((got[1] - (4.5 + 0.5 * 6.0 / 5.0)).abs() < 1e-3, "{got:?}");
}

#[test]
fn what_is_a_forest_is_found() {
    let wanted =
        |x: &[f32], _: f32| if x[1] > 0.25 { 3.0 } else { 0.0 } + if x[2] > -0.5 { 1.0 } else { 0.0 };
    let rows = drawn(4000, 4, 1, wanted);
    let options = Options {
        trees: 3,
        depth: 2,
        learning_rate: 1.0,
        l2: 0.0,
        bins: 256,
        ..options()
    };
    let trained = train(&shape(&[None; 4]), &rows, &options).unwrap();
    // Thresholds are accurate to a bin, and rows in that bin may be wrong.
    let asked: Vec<usize> = trained.forest.parts().trees[0]
        .splits
        .iter()
        .map(|s| s.feature)
        .collect();
    assert_eq!(asked, [1, 2]);
    let wrong = (0..rows.len())
        .filter(|row| {
            let x = &rows.features[row * 4..][..4];
            (trained.forest.decide(x) - wanted(x, 0.0)).abs() > 0.05
        })
        .count();
    assert!(wrong < rows.len() / 100, "{wrong}");
}

#[test]
fn a_smooth_function_is_approached() {
    let wanted = |x: &[f32], _: f32| tanh(3.0 * x[0]) * 0.4 - 0.2 * x[1] * x[2];
    let rows = drawn(4000, 3, 2, wanted);
    let options = Options {
        trees: 100,
        depth: 4,
        validation: 0.2,
        ..options()
    };
    let trained = train(&shape(&[None; 3]), &rows, &options).unwrap();
    let fresh = drawn(1000, 3, 3, wanted);
    let square = |row: usize| {
        let x = &fresh.features[row * 3..][..3];
        f64::from(trained.forest.decide(x) - fresh.targets[row]).powi(2)
    };
    let error = ((0..1000).map(square).sum::<f64>() / 1000.0).sqrt();
    // The standard deviation of the targets is about 0.29.
    assert!(error < 0.03, "{error}");
    let judged = trained.course.last().unwrap().validation;
    assert!((judged / error - 1.0).abs() < 0.3, "{judged} {error}");
    let falls = trained
        .course
        .windows(2)
        .filter(|pair| pair[1].train <= pair[0].train);
    assert!(falls.count() >= 98);
}

#[test]
fn threads_move_nothing() {
    let rows = drawn(2000, 5, 4, |x, noise| x[0] * x[1] + noise * 0.1);
    let made = [1, 2, 5].map(|threads| {
        let options = Options {
            trees: 20,
            threads,
            ..options()
        };
        train(&shape(&[None; 5]), &rows, &options)
            .unwrap()
            .forest
            .to_json()
    });
    assert!(made[0] == made[1] && made[0] == made[2]);
}

#[test]
fn it_stops_where_nothing_more_is_learned() {
    let rows = drawn(600, 2, 5, |x, noise| x[0] + noise);
    let options = Options {
        trees: 400,
        learning_rate: 0.3,
        validation: 0.3,
        patience: 20,
        ..options()
    };
    let trained = train(&shape(&[None; 2]), &rows, &options).unwrap();
    let kept = trained.forest.parts().trees.len();
    assert!(kept < 100 && trained.course.len() == kept + 20, "{kept}");
    let least = trained
        .course
        .iter()
        .map(|step| step.validation)
        .fold(f64::INFINITY, f64::min);
    assert_eq!(trained.course[kept - 1].validation, least);
}

/// The target is not monotone and has noise.
#[test]
fn trends_are_kept_and_proved() {
    let wanted = |x: &[f32], noise: f32| x[1] - x[0] * x[0] + 0.5 * x[0] * x[2] + 0.3 * noise;
    let rows = drawn(3000, 3, 6, wanted);
    let options = Options {
        trees: 60,
        depth: 5,
        ..options()
    };
    let verdicts = |trends: &[Option<Trend>]| {
        let forest = train(&shape(trends), &rows, &options).unwrap().forest;
        let got = [(0, Trend::Falling), (1, Trend::Rising)];
        got.map(|(feature, trend)| prove::prove_trend(&forest, feature, trend, 100_000).verdict)
    };
    let kept = verdicts(&[Some(Trend::Falling), Some(Trend::Rising), None]);
    assert_eq!(kept, [Verdict::Holds, Verdict::Holds]);
    for verdict in verdicts(&[None; 3]) {
        assert!(matches!(verdict, Verdict::Refuted(_)), "{verdict:?}");
    }
}

#[test]
fn limits_are_within_what_was_asked() {
    let rows = drawn(500, 1, 7, |x, _| x[0]);
    let options = Options {
        limits: Some([-0.5, 0.5]),
        ..options()
    };
    let forest = train(&shape(&[None]), &rows, &options).unwrap().forest;
    assert!(forest.decide(&[1.0]) <= 0.5 && forest.decide(&[1.0]) > 0.499);
    assert!(forest.decide(&[-1.0]) >= -0.5 && forest.decide(&[-1.0]) < -0.499);
}

#[test]
fn what_cannot_be_learned_from_is_refused() {
    let good = drawn(10, 2, 8, |x, _| x[0]);
    let got = |change: &dyn Fn(&mut Rows, &mut Options)| {
        let (mut rows, mut options) = (good.clone(), options());
        change(&mut rows, &mut options);
        train(&shape(&[None; 2]), &rows, &options)
            .unwrap_err()
            .to_string()
    };
    let all = [
        got(&|_, o| o.depth = 0),
        got(&|_, o| o.bins = 300),
        got(&|_, o| o.learning_rate = f64::NAN),
        got(&|_, o| o.l2 = -1.0),
        got(&|_, o| o.validation = 1.0),
        got(&|_, o| o.limits = Some([1.0, 1.0])),
        got(&|rows, _| rows.features.truncate(19)),
        got(&|rows, _| rows.weights = vec![1.0; 3]),
        got(&|rows, _| rows.weights = vec![0.0; 10]),
        got(&|rows, _| rows.targets[3] = f32::NAN),
        got(&|rows, _| rows.features[7] = f32::INFINITY),
        got(&|rows, _| *rows = Rows::default()),
    ];
    insta::assert_snapshot!(all.join("\n"));
}
