use super::*;
use crate::testkit::star_path;

/// Law with the named coefficients set and the others at their initial values.
fn law(set: &[(&str, f32)]) -> Result<Law, String> {
    let value = |coefficient: &Coefficient| {
        let found = set.iter().find(|(name, _)| *name == coefficient.name);
        found.map_or(coefficient.start as f32, |&(_, value)| value)
    };
    Law::new(&COEFFICIENTS.iter().map(value).collect::<Vec<f32>>())
}

/// Law with the same values for many packets and for few.
fn even() -> Law {
    let pairs = [
        ("t0", 1.1),
        ("tl", 0.05),
        ("ts", 0.02),
        ("up", 1.0),
        ("umax", 0.4),
        ("down", 0.5),
        ("dmax", 0.2),
        ("kd", 0.1),
        ("rho", 0.5),
    ];
    let names: Vec<(String, f32)> = pairs
        .iter()
        .flat_map(|&(name, value)| [(name.to_string(), value), (format!("{name}-few"), value)])
        .collect();
    let mut set: Vec<(&str, f32)> = names
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    set.extend([
        ("last", 0.5),
        ("wcap", 1.0),
        ("wadd", 0.5),
        ("kl", 0.5),
        ("kt", 0.3),
    ]);
    set.extend([
        ("rg", 1.0),
        ("cw", 0.001),
        ("pw", 1.0),
        ("gup", 0.5),
        ("init", 0.5),
    ]);
    law(&set).unwrap()
}

fn near(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() < 1e-6 * expected.abs(),
        "{found}, not {expected}"
    );
}

/// A flow at 1/16 of a line of 100 Gbit/s, whose bandwidth-delay product is 52 packets of 1000 bytes.
#[test]
fn decisions_by_hand() {
    let (law, path) = (even(), star_path());
    let sixteenth = State {
        w: 1.0 / 16.0,
        before: None,
        starts: false,
    };
    // The target is 1.1 + 0.05 * 4 + 0.02 * 4 + 0.001 / 512.
    let target = 1.380_001_953;
    near(law.rests_at(sixteenth.w, path.bdp_packets()), target);
    // r = 1.1, below the target: 0.4 (target - 1.1) / (target - 1) sqrt(4), plus 0.1 * 0.2 since r fell by
    // 0.2, minus 0.5 / 10.
    let seen = Interval {
        mean: Some(1.2),
        newest: 1.0,
        elapsed: 4.0,
        nacks: 0.1,
    };
    let mut state = State {
        before: Some(1.3),
        ..sixteenth
    };
    let d = 0.8 * (target - 1.1) / (target - 1.0) + 0.02 - 0.05;
    let limits = law.decide(&mut state, &seen, PolicyOutput::None, &path);
    near(state.w, libm::exp(d) / 16.0);
    near(state.before.unwrap(), 1.1);
    near(limits.rate.as_bps() as f64, 1e11 * state.w / libm::sqrt(1.1));
    assert_eq!(limits.window.get(), (1000.0 * (52.0 * state.w + 0.5)) as u64);
    // Above the target: half of the excess over r, at most 0.2.
    for (r, d) in [(2.0, -0.5 * (2.0 - target) / 2.0), (4.0, -0.2)] {
        let seen = Interval {
            mean: Some(r),
            newest: r,
            elapsed: 4.0,
            nacks: 0.0,
        };
        near(law.step(&sixteenth, &seen, 52.0).sum(), d);
    }
    // No reply: the earlier r is kept.
    let silence = Interval {
        mean: None,
        newest: 4.0,
        elapsed: 12.0,
        nacks: 0.0,
    };
    near(law.step(&sixteenth, &silence, 52.0).sum(), -0.3);
    // A residual is added, and w stays within its bounds.
    let mut state = sixteenth;
    law.decide(&mut state, &silence, PolicyOutput::Residual(0.5), &path);
    near(state.w, libm::exp(-0.2) / 16.0);
    let mut state = sixteenth;
    law.decide(&mut state, &silence, PolicyOutput::Decision(-0.5), &path);
    near(state.w, libm::exp(-0.25) / 16.0);
    for _ in 0..6 {
        law.decide(&mut state, &silence, PolicyOutput::Decision(1.0), &path);
    }
    near(state.w, 1.5);
    for d in [-0.36, 0.0, 0.04] {
        let action = action_of(d);
        near(f64::from(action * action.abs()) + 1.0, d + 1.0);
    }
}

/// (7a): messages that start at line rate, and those that do not. The line's w is 1.2 here.
#[test]
fn a_first_rate_depends_on_the_message() {
    let law = law(&[("whole", 4.0), ("wane", 2.0), ("init", 0.52), ("wcap", 1.0)]).unwrap();
    let first = |products: u64| {
        let path = PathInfo {
            first_message: Bytes::new(products * 52_000),
            ..star_path()
        };
        law.start(&path, Auto::Auto, Auto::Auto).w
    };
    near(first(0), 1.2);
    near(first(4), 1.2);
    near(first(8), 1.2 / 4.0);
    near(first(20), 1.2 / 25.0);
    near(first(1_000_000), 1.2 * 0.01);
    let low = law.start(&star_path(), Auto::Auto, Auto::Is(0.0));
    near(low.w, 1.2 * 0.01);
    let given = law.start(&star_path(), Auto::Is(BitRate::from_gbps(50)), Auto::Auto);
    near(given.w, 0.5);
}

/// (7b): a starting flow leaps towards the share whose target it measures, until it reaches the share or
/// loses a packet.
#[test]
fn a_start_ends_at_its_share() {
    let (law, path) = (even(), star_path());
    let packets = path.bdp_packets();
    for share in [1e-4, 0.01, 0.3, 1.0] {
        let met = law.rests_at(share, packets);
        let found = law.share_at(met, packets);
        assert!((found - libm::log(share)).abs() < 3e-5, "{found}");
    }
    let at = |w: f64, r: f64, nacks: f64| {
        let state = State {
            w,
            before: None,
            starts: true,
        };
        let seen = Interval {
            mean: Some(r),
            newest: r,
            elapsed: 1.0,
            nacks,
        };
        let step = law.step(&state, &seen, packets);
        (step.sum(), step.starts)
    };
    let sixteenth = law.rests_at(1.0 / 16.0, packets);
    let (d, goes_on) = at(1.0 / 20.0, sixteenth, 0.0);
    assert!((d - libm::log(20.0 / 16.0)).abs() < 3e-5, "{d}");
    assert!(goes_on);
    let (d, goes_on) = at(1.0 / 1000.0, sixteenth, 0.0);
    near(d, law.leap);
    assert!(goes_on);
    let (d, goes_on) = at(0.9, sixteenth, 0.0);
    near(d, -law.fall);
    assert!(!goes_on);
    let (d, goes_on) = at(1.0 / 20.0, sixteenth, 0.1);
    assert!((d - libm::log(20.0 / 16.0) + 0.05).abs() < 3e-5, "{d}");
    assert!(!goes_on);
}

#[test]
fn pairs_are_blended_by_packets_per_round_trip() {
    let law = law(&[("t0", 1.1), ("t0-few", 1.3), ("rho", 0.2), ("rho-few", 0.6)]).unwrap();
    // One packet per round trip weighs both halves equally; three packets weigh them 3 to 1.
    near(law.coefficients(1.0 / 52.0, 52.0).t0, 1.2);
    near(law.coefficients(3.0 / 52.0, 52.0).rho, 0.3);
}

/// A flow alone and far below its share reaches the line rate within some hundred round trips.
#[test]
fn a_slow_flow_comes_back() {
    let (law, path) = (law(&[]).unwrap(), star_path());
    let mut state = State {
        w: SHARES.0,
        before: None,
        starts: false,
    };
    let mut elapsed = 0.0;
    while state.w < 0.9 {
        let wait = (1.0 / (state.w * path.bdp_packets())).max(1.0);
        elapsed += wait;
        let seen = Interval {
            mean: Some(1.0),
            newest: 1.0,
            elapsed: wait,
            nacks: 0.0,
        };
        law.decide(&mut state, &seen, PolicyOutput::None, &path);
    }
    // The first packet alone takes 2^18 / 52 base round trips.
    assert!(elapsed < 3.0 * 5041.0, "{elapsed}");
}

#[test]
fn a_law_with_other_numbers_is_refused() {
    let error = Law::new(&[1.0; 3]).unwrap_err();
    assert_eq!(error, format!("a rate law has {COUNT} numbers; found 3"));
    assert_eq!(
        law(&[("umax-few", 0.9)]).unwrap_err(),
        "`umax-few` is 0.9; expected 0.01 to 0.7"
    );
    assert!(law(&[("umax", f32::NAN)]).is_err());
    for coefficient in COEFFICIENTS {
        let (low, high) = coefficient.range;
        assert!(law(&[(coefficient.name, low as f32), ("kt", 0.2)]).is_ok());
        assert!(law(&[(coefficient.name, high as f32), ("kt", 0.2)]).is_ok());
    }
}
