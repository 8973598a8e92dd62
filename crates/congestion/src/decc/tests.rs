use super::features::INPUTS;
use super::*;
use crate::testkit::models::{card, file, json, random};
use crate::testkit::{Pair, ack, star_path};

/// Features by hand: 1/16 of a line whose bandwidth-delay product is 52 packets.
#[test]
fn features_by_hand() {
    let state = State {
        w: 1.0 / 16.0,
        before: Some(1.25),
        starts: true,
    };
    let seen = Interval {
        mean: Some(2.0),
        newest: 1.0,
        elapsed: 4.0,
        nacks: 0.25,
    };
    let found = observe(&state, &seen, 64.0);
    let log33 = 33f32.log2() / 8.0;
    let expected = [
        -4.0 / 18.0,
        2.0 / 16.0,
        log33,
        0.0,
        9f32.log2() / 8.0,
        2.0 / 12.0,
        0.25,
        0.0,
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    let silence = Interval {
        mean: None,
        elapsed: 0.5,
        ..seen
    };
    let found = observe(
        &State {
            before: None,
            starts: false,
            ..state
        },
        &silence,
        64.0,
    );
    assert_eq!(found[2..], [0.0, 0.0, 0.0, 0.0, 0.25, 1.0]);
}

/// Policy with a constant output: all weights zero, and a bias on the last layer.
fn constant(bias: f32) -> ModelRef {
    let card = card(ModelKind::Decc, 0);
    let mut tensors = random(&card, 1);
    for (name, _, values) in tensors.iter_mut().filter(|(name, ..)| name != "law") {
        values.fill(if name == "last.bias" { bias } else { 0.0 });
    }
    let weights = file(&tensors);
    let model = Model::parse(&json(&card, &weights), &weights);
    ModelRef::read_from("test", Arc::new(model.unwrap()))
}

/// A network that always rises multiplies w by e per decision, up to line rate; one that always falls ends
/// far below a packet per round trip.
#[test]
fn a_network_decides_in_a_laws_place() {
    for (bias, factor, end) in [
        (50.0, libm::exp(1.0), 1.5),
        (-50.0, libm::exp(-1.0), 1.0 / 262_144.0),
    ] {
        let params = Params {
            model: Auto::Is(constant(bias)),
            initial_rate: Auto::Is(BitRate::from_gbps(10)),
            ..Params::default()
        };
        params.check().unwrap();
        let model = shipped::policy(ModelKind::Decc, &params.model, BUILT_IN);
        let mut state = model
            .law()
            .unwrap()
            .start(&star_path(), params.initial_rate, params.whole);
        assert_eq!((state.w, state.starts), (0.1, true));
        // The law controls the start.
        state.starts = false;
        let said = PolicyOutput::Decision(if bias > 0.0 { 1.0 } else { -1.0 });
        let seen = Interval {
            mean: Some(1.5),
            newest: 1.5,
            elapsed: 1.0,
            nacks: 0.0,
        };
        model.law().unwrap().decide(&mut state, &seen, said, &star_path());
        assert!((state.w - 0.1 * factor).abs() < 1e-6, "{state:?}");
        for _ in 0..20 {
            model.law().unwrap().decide(&mut state, &seen, said, &star_path());
        }
        assert_eq!(state.w, end);
        let mut pair = Pair::new(star_path(), |path| Decc::sender(&params, path));
        pair.advance(Span::from_us(5));
        pair.ack(&ack(1000, 3000));
        assert!(pair.deciding(), "the first acknowledgement");
        pair.ack(&ack(2000, 4000));
        pair.decision();
        pair.ack(&ack(3000, 5000));
        assert!(!pair.deciding(), "that packet was sent before");
        pair.advance(Span::from_us(5));
        pair.ack(&ack(3500, 5000));
        assert!(pair.deciding());
        pair.decision();
        pair.timeout();
        assert!(pair.deciding(), "a timeout is news");
    }
}

#[test]
fn a_model_of_another_kind_is_refused() {
    for (name, expected) in [
        (
            "adpg",
            "`adpg` is of kind adpg; expected one of kind decc, a rate law, a policy with a card, or a forest",
        ),
        ("decc-lew", "did you mean `decc-law`?"),
    ] {
        let params = Params {
            model: Auto::Is(ModelRef::new(name)),
            ..Params::default()
        };
        let error = params.check().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// The printed policy: its network is recurrent, and moves a window that starts at one packet.
#[test]
fn the_printed_policy_decides() {
    let params = Params {
        model: Auto::Is(ModelRef::new("paper")),
        ..Params::default()
    };
    params.check().unwrap();
    let Auto::Is(model) = &params.model else {
        unreachable!()
    };
    let model = model.model().unwrap();
    assert_eq!(model.card().name, "decc-paper");
    let (card, stack) = model.stack().unwrap();
    assert_eq!(stack.shape(), "25-128-64-32-lstm 32-16-1");
    assert_eq!((card.step, card.history), (0.425, 5));
    assert_eq!(params.explicit().feedback, Auto::Is(Feedback::SwitchAck));
    assert!(params.needs().tags && params.switch_part().is_some());
    let by_ack = Params {
        feedback: Auto::Is(Feedback::Ack),
        ..params.clone()
    };
    by_ack.check().unwrap();
    assert!(!by_ack.needs().tags && by_ack.switch_part().is_none());
    let path = star_path();
    let mut pair = Pair::new(path.clone(), |path| {
        Policy::sender(&by_ack.policy_on(path).unwrap(), path)
    });
    let first = path.mtu.get() as f64 * 8.0 / path.base_rtt.as_secs_f64();
    assert!((pair.rate().as_bps() as f64 - first).abs() <= 1.0);
    pair.advance(Span::from_us(9));
    pair.ack(&ack(1000, 2000));
    assert!(pair.deciding());
    pair.decision();
    let factor =
        pair.rate().as_bps() as f64 / first * ack(0, 0).rtt.as_secs_f64() / path.base_rtt.as_secs_f64();
    assert!((1.0 / 1.425 - 1e-6..1.425 + 1e-6).contains(&factor), "{factor}");
}

#[test]
fn a_law_reads_no_notices() {
    let params = Params {
        feedback: Auto::Is(Feedback::SwitchAck),
        ..Params::default()
    };
    let error = params.check().unwrap_err().to_string();
    assert!(
        error.contains("`switch-ack` goes with a policy that has a card, such as `paper`; expected `ack`"),
        "{error}"
    );
}

/// The sender's rates equal those of the law in the model file, from its own initial rate on.
#[test]
fn a_law_decides() {
    let params = Params::default();
    params.check().unwrap();
    let mut pair = Pair::new(star_path(), |path| Decc::sender(&params, path));
    let model = crate::learned::shipped::find("decc-law").unwrap();
    let law = model.law().unwrap();
    let mut state = law.start(&star_path(), Auto::Auto, Auto::Auto);
    assert_eq!(pair.rate(), law.limits(state.w, 1.0, &star_path()).rate);
    for round in 1..5u64 {
        pair.advance(Span::from_us(5));
        pair.ack(&ack(round * 1000, round * 1000 + 500));
        assert!(pair.deciding());
        let rtt = ack(0, 0).rtt.as_us_f64() / star_path().base_rtt.as_us_f64();
        // The first packet left one round trip before its acknowledgement arrived.
        let elapsed = if round == 1 {
            rtt
        } else {
            5.0 / star_path().base_rtt.as_us_f64()
        };
        let seen = Interval {
            mean: Some(rtt),
            newest: rtt,
            elapsed,
            nacks: 0.0,
        };
        pair.decision();
        let limits = law.decide(&mut state, &seen, PolicyOutput::None, &star_path());
        assert_eq!(pair.cc.limits(), limits, "round {round}");
    }
    let given = Params {
        initial_rate: Auto::Is(BitRate::from_gbps(10)),
        ..Params::default()
    };
    let pair = Pair::new(star_path(), |path| Decc::sender(&given, path));
    assert_eq!(pair.rate(), BitRate::from_gbps(10));
}

/// A machine that rounds differently anywhere fails this test.
#[test]
fn the_bits_of_a_decision_are_the_same_everywhere() {
    let card = card(ModelKind::Decc, 0);
    let weights = file(&random(&card, 7));
    let model = Model::parse(&json(&card, &weights), &weights).unwrap();
    let policy = model.decides().unwrap();
    let bits = [0.1f32, -0.3, 0.7].map(|x| {
        let features: [f32; INPUTS] = std::array::from_fn(|k| x * (k % 7) as f32 - 0.2);
        policy.decide(&features).to_bits()
    });
    assert_eq!(bits, [3_203_058_517, 1_058_485_248, 3_202_291_376]);
}
