//! Benchmarks the cost of one decision of a learned sender: an acknowledgement that ends a completion window.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use paceline_congestion::decc::features::observe;
use paceline_congestion::decc::law::{Interval, PolicyOutput};
use paceline_congestion::learned::forest::{Forest, Parts, Scale};
use paceline_congestion::learned::stack::{Dense, Layer, Recurrent, Stack, WIDEST};
use paceline_congestion::learned::{ModelRef, shipped};
use paceline_congestion::lstm_pid::{LstmPid, Params, Predictor};
use paceline_congestion::params::Auto;
use paceline_congestion::testkit::{ack, forests, models::random_model, star_path};
use paceline_congestion::{AckInfo, CongestionControl, Ctx, TimerBank};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{Span, Time};

/// Benchmarks the prediction network alone, and the sender that contains it.
fn decision(c: &mut Criterion) {
    let mut group = c.benchmark_group("decision");
    for (name, predictor) in [
        ("pid alone", Predictor::None),
        ("ar3", Predictor::Ar3),
        ("rnn", Predictor::Rnn),
        ("gru", Predictor::Gru),
        ("lstm", Predictor::Lstm),
    ] {
        let mut params = Params {
            predictor,
            ..Params::default()
        };
        if let Some(kind) = predictor.kind() {
            params.model = Auto::Is(ModelRef::read_from("test", random_model(kind, 1)));
        }
        let path = star_path();
        let mut sender = LstmPid::new(&params, &path);
        let mut timers = TimerBank::default();
        let mut rng = Rng::stream(1, Purpose::Congestion, 0);
        let mut i = 0;
        group.bench_function(name, |b| {
            b.iter(|| {
                i += 1;
                let mut cx = Ctx {
                    now: Time::from_ns(i),
                    path: &path,
                    timers: &mut timers,
                    rng: &mut rng,
                };
                let rtt = Span::from_ns(4000 + (i & 1023));
                sender.on_ack(&mut cx, &AckInfo { rtt, ..ack(i, i) });
                black_box(sender.limits())
            });
        });
    }
    group.finish();
}

/// Benchmarks forests alone, on the thirty features of a policy that sees five windows of six numbers. Each
/// split here uses a random feature; the splits of trained trees repeat features more often.
fn forest(c: &mut Criterion) {
    let mut group = c.benchmark_group("forest");
    let mut rng = Rng::stream(2, Purpose::Congestion, 0);
    let mut row = || std::array::from_fn(|_| rng.next_f64() as f32 * 4.0 - 2.0);
    let rows: Vec<[f32; 30]> = (0..1024).map(|_| row()).collect();
    let scale = Scale::Fixed(13);
    for trees in [100, 300, 1000] {
        let deep = |parts: Parts| Parts {
            trees: parts
                .trees
                .into_iter()
                .filter(|tree| tree.splits.len() == 6)
                .take(trees)
                .collect(),
            ..parts
        };
        let forest =
            Forest::new(deep(forests::random(5 * trees, &[scale; 30], 6, 1))).expect("parts that fit");
        assert_eq!(forest.parts().trees.len(), trees);
        let mut at = 0;
        group.bench_function(format!("{trees} trees of depth 6"), |b| {
            b.iter(|| {
                at = (at + 1) % rows.len();
                forest.decide(black_box(&rows[at]))
            });
        });
    }
    group.finish();
}

/// Benchmarks DECC's decision alone: law, network, integer network and trees.
fn policy(c: &mut Criterion) {
    let mut group = c.benchmark_group("decc");
    let path = star_path();
    let law = shipped::find("decc-law").expect("it ships");
    let law = law.law().expect("it is a law");
    let mut state = law.start(&path, Auto::Auto, Auto::Auto);
    let mut seen = Interval {
        mean: Some(1.2),
        newest: 1.3,
        elapsed: 1.0,
        nacks: 0.0,
    };
    group.bench_function("law", |b| {
        b.iter(|| {
            seen.newest = 2.5 - seen.newest;
            black_box(law.decide(&mut state, black_box(&seen), PolicyOutput::None, &path))
        });
    });
    for name in ["decc-net", "decc-net-q4", "decc-tree-100", "decc-tree-300"] {
        let model = shipped::find(name).expect("it ships");
        let policy = model.decides().expect("it decides");
        let mut features = observe(&state, &seen, path.bdp_packets());
        group.bench_function(name, |b| {
            b.iter(|| {
                features[2] = 0.4 - features[2];
                black_box(policy.decide(black_box(&features)))
            });
        });
    }
    group.finish();
}

/// Benchmarks user-supplied networks: the built-in feed-forward one, and recurrent ones.
fn own(c: &mut Criterion) {
    let mut group = c.benchmark_group("own");
    let ships = shipped::find("policy-mlp").expect("it ships");
    let (_, ships) = ships.stack().expect("it has a card");
    let mut rng = Rng::stream(3, Purpose::Congestion, 0);
    let mut dense = |inputs: usize, outputs: usize| {
        let mut draw =
            |count: usize| -> Vec<f32> { (0..count).map(|_| rng.next_f64() as f32 - 0.5).collect() };
        let rows = draw(inputs * outputs);
        Dense::of_rows(inputs, &rows, draw(outputs))
    };
    let mut memory = |inputs: usize, units: usize, gates: usize| Recurrent {
        input: dense(inputs, gates * units),
        hidden: dense(units, gates * units),
    };
    let stack = |layer: Layer| Stack::new(vec![layer], 10).expect("it fits");
    let networks = [
        ("policy-mlp 10-32-32-1", ships.clone()),
        ("gru 10-32", stack(Layer::Gru(memory(10, 32, 3)))),
        ("lstm 10-64", stack(Layer::Lstm(memory(10, 64, 4)))),
    ];
    for (name, network) in networks {
        let mut state = vec![0.0; network.remembers()];
        let mut x = 0.3;
        group.bench_function(name, |b| {
            b.iter(|| {
                x = 0.4 - x;
                let mut numbers = [x; WIDEST];
                network.step(black_box(&mut numbers), &mut state);
                black_box(numbers[0])
            });
        });
    }
    group.finish();
}

criterion_group!(benches, decision, forest, policy, own);
criterion_main!(benches);
