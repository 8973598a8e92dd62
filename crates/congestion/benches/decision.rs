//! What a decision of a learned sender costs: an acknowledgement that ends a completion window.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use paceline_congestion::learned::ModelRef;
use paceline_congestion::lstm_pid::{LstmPid, Params, Predictor};
use paceline_congestion::params::Auto;
use paceline_congestion::testkit::{ack, models::random_model, star_path};
use paceline_congestion::{AckInfo, CongestionControl, Ctx, TimerBank};
use paceline_kernel::rng::{Purpose, Rng};
use paceline_kernel::{Span, Time};

/// A network by itself, and the sender around it.
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

criterion_group!(benches, decision);
criterion_main!(benches);
