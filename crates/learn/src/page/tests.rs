use paceline_report::Line;

use super::*;
use crate::dataset::{Dataset, Pair, stratum};
use crate::pidnn::{self, Episode, Point, TrainedGains};
use crate::train::{Control, Network, Options, Trained, train};
use paceline_congestion::learned::forest::{Forest, Parts, Scale};
use paceline_congestion::lstm_pid::Gains;
use paceline_congestion::testkit::forests;
use paceline_kernel::Time;
use serde_json::json;

/// Periodic data that can be learned.
fn data(count: usize) -> Dataset {
    let k = |t: usize| (0.3 * (t as f64 * 0.7).sin()) as f32;
    let pair = |t: usize| Pair {
        k: [k(t), k(t + 1), k(t + 2)],
        l: k(t + 3),
        s: 5.0,
        r: 5.0 * (1.0 + f64::from(k(t + 3))),
        stratum: stratum(k(t + 2)),
        source: 0,
        flow: 0,
        at: Time::from_ns(5_000 * t as u64),
    };
    Dataset {
        pairs: (0..count).map(pair).collect(),
        origins: Vec::new(),
        scenarios: Vec::new(),
        seed: 0,
    }
}

fn options(network: Network) -> Options {
    Options {
        hidden: 4,
        rounds: 3,
        train_pairs: 80,
        test_pairs: 20,
        ..Options::new(network)
    }
}

#[test]
fn a_page_about_a_network() {
    let data = data(320);
    let test = test_pairs(&data, &options(Network::Lstm));
    assert_eq!(test.len(), 60);
    assert_eq!((test[0], test[20]), (data.pairs[80], data.pairs[180]));
    let go = |network| train(&data, &options(network), &mut |_| Control::Continue).unwrap();
    let trained: Vec<Trained> = [Network::Lstm, Network::Ar3, Network::Persistence].map(go).into();
    let predictors: Vec<Judged<'_>> = trained
        .iter()
        .map(|one| Judged::new(one, &test).unwrap())
        .collect();
    // Three samples of a sine determine the fourth.
    assert!(predictors[1].mape < 1e-3 && predictors[2].mape > 0.1);
    assert_eq!(predictors[1].parameters, 4);
    let page = network(&NetworkPage {
        predictors: &predictors,
        dataset: &data,
        test: &test,
        traces: &[],
        courses: &[],
        on_policy: &[],
        command: "paceline train lstm".into(),
        facts: vec![("seed".into(), "1".into())],
        warnings: Vec::new(),
    })
    .unwrap();
    for text in [
        "60 pairs",
        "that of AR(3) by 0.00 %: what is trained here is not the best predictor of these.",
        "Round by round",
        "\"title\":\"Test error by round\"",
        "\"kind\":\"dots\"",
        "paceline train lstm</pre>",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

fn trained(points: u64) -> TrainedGains {
    let gains = |update: u64| Gains {
        p: -0.3,
        i: -0.06,
        d: if update < 75 {
            0.2
        } else {
            0.04 + 1e-4 * (update % 2) as f64
        },
    };
    let episode = |updates: u64| Episode {
        updates,
        gains: gains(updates),
        mean_rtt_us: 5.1,
        mean_loss: 0.5,
        clipped: 0.75,
    };
    TrainedGains {
        options: pidnn::Options::default(),
        gains: gains(100),
        later: gains(100),
        history: (0..points)
            .map(|update| Point {
                update,
                gains: gains(update),
            })
            .collect(),
        episodes: if points > 0 {
            vec![episode(50), episode(100)]
        } else {
            Vec::new()
        },
        change: 0.0025,
        stopped: false,
    }
}

fn gains_page(trained: &TrainedGains) -> String {
    gains(&GainsPage {
        trained,
        target_us: 5.0,
        command: String::new(),
        facts: Vec::new(),
        warnings: Vec::new(),
    })
    .unwrap()
}

#[test]
fn gains_move_until_they_rest() {
    let trained = trained(101);
    let [p, i, d] = last_quarter(&trained);
    assert_eq!((p, i), (0.0, 0.0));
    assert!((d - 1e-4 / 0.04).abs() < 1e-9, "{d}");
    let page = gains_page(&trained);
    for text in [
        "After 100 updates they are K_p -0.300, K_i -0.060 and K_d 0.040; they have come to rest",
        "\"title\":\"Mean round-trip time\"",
        "75.00 %",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn nothing_to_show_is_no_fault() {
    assert!(gains_page(&trained(0)).contains("After 0 updates"));
}

#[test]
fn many_points_are_thinned() {
    assert_eq!(thinned(&[1, 2, 3, 4, 5], 2), [1, 4]);
    assert_eq!(thinned(&[1, 2], 5), [1, 2]);
    assert!(thinned::<u8>(&[], 5).is_empty());
}

/// The curves of a forest are its outputs: at each value the mean over rows with that feature replaced, and
/// constant between thresholds.
#[test]
fn curves_of_a_forest_are_its_answers() {
    let scales = [Scale::Fixed(8), Scale::Float, Scale::Fixed(12)];
    let parts = forests::random(20, &scales, 4, 3);
    assert!(!Background::of(&Forest::new(parts.clone()).unwrap()).met);
    let number = |k: u8, f: u8| f32::from((k * 7 + f * 13) % 31) / 10.0 - 1.5;
    let row = |k: u8| (0..3).map(|f| number(k % 31, f)).collect();
    let rows: Vec<Vec<f32>> = (0..40).map(row).collect();
    let about = json!({ "met": rows, "gains": [0.5, 0.25, 0.25] });
    let about = about.as_object().unwrap().clone();
    let forest = Forest::new(Parts { about, ..parts }).unwrap();
    let background = Background::of(&forest);
    assert_eq!((background.met, &background.rows), (true, &rows));
    for feature in 0..3 {
        let course = dependence(&forest, &background, feature);
        assert!(
            course.len() > 10 && course.is_sorted_by(|a, b| a.x < b.x),
            "{course:?}"
        );
        let answers = |x: f64| {
            let of = |row: &Vec<f32>| {
                let mut row = row.clone();
                row[feature] = x as f32;
                f64::from(forest.decide(&row))
            };
            let mut answers: Vec<f64> = rows.iter().map(of).collect();
            answers.sort_by(f64::total_cmp);
            answers
        };
        let mean = |answers: &[f64]| answers.iter().sum::<f64>() / 40.0;
        for at in &course {
            let answers = answers(at.x);
            let expected = (mean(&answers), answers[4], answers[35]);
            assert_eq!((at.mean, at.low, at.high), expected, "{feature} at {}", at.x);
        }
        // Half-way between two values the output is that at one of them.
        for pair in course.windows(2) {
            let middle = mean(&answers((pair[0].x + pair[1].x) / 2.0));
            assert!(
                [pair[0].mean, pair[1].mean].contains(&middle),
                "{feature}: {pair:?} {middle}"
            );
        }
    }
    let weights = weights(&forest, &background);
    let asked: usize = weights.iter().map(|weight| weight.questions).sum();
    let questions = forest.parts().trees.iter().map(|tree| tree.splits.len());
    assert_eq!((asked, weights[0].gain), (questions.sum(), Some(0.5)));
    let page = super::forest(&ForestPage {
        forest: &forest,
        findings: &paceline_forest::prove::prove(&forest, &[], 100).unwrap(),
        command: "paceline explain x --page y".into(),
    });
    let page = page.unwrap();
    let first = dependence(&forest, &background, 0);
    let means: Vec<(f64, f64)> = first.iter().map(|at| (at.x, at.mean)).collect();
    let drawn = serde_json::to_string(&Line::new("mean", 0, &means).y).unwrap();
    assert!(page.contains(&drawn), "the page draws what was computed");
    assert!(page.contains("40 that it met in its training") && page.contains("Which feature decides"));
}

/// The curves are those of the updates, by scenario; the reaction to z is the network's.
#[test]
fn a_page_about_a_policy() {
    use crate::adpg::{self, CASES};
    let options = adpg::Options {
        updates: 3,
        first_decisions: 64,
        threads: 1,
        ..adpg::Options::default()
    };
    let trained = adpg::train(&options, &crate::checkpoint::Checkpoints::none(), &mut |_| {
        Control::Continue
    })
    .unwrap();
    for update in &trained.updates {
        let mean = update.errors.iter().sum::<f64>() / CASES.len() as f64;
        assert!((mean - update.error).abs() < 1e-9 * update.error, "{update:?}");
    }
    let page = super::adpg(&PolicyPage {
        trained: &trained,
        command: "paceline train adpg".into(),
        facts: vec![("seed".into(), "1".into())],
    })
    .unwrap();
    for text in [
        "In 3 updates a network of 204 weights",
        "4_15 all-to-all",
        "after -1",
        "paceline train adpg",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("stopped before"));
}
