use super::*;
use crate::dataset::{Dataset, Pair, stratum};
use crate::pidnn::{self, Episode, Point, TrainedGains};
use crate::train::{Control, Network, Options, Trained, train};
use paceline_congestion::lstm_pid::Gains;
use paceline_kernel::Time;

/// A course that comes and goes, so that there is something to learn.
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
    // Three samples of a sine say what the fourth is.
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
