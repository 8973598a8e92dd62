use super::*;
use crate::testkit::{Pair, egress_port, passing, star_path};
use paceline_kernel::Time;
use paceline_kernel::rng::{Purpose, Rng};
use proptest::prelude::*;

fn pair(params: &Params) -> Pair<Qcn> {
    Pair::new(star_path(), |path| Qcn::new(params, path))
}

fn params() -> Params {
    Params {
        q_eq: Bytes::new(26_000),
        ..Params::default()
    }
}

/// Sends `bytes` on the wire, in packets of 10000.
fn send(pair: &mut Pair<Qcn>, bytes: u64) {
    for _ in 0..bytes / 10_000 {
        pair.send(Bytes::new(10_000 - 48));
    }
}

/// Frame of 1000 bytes after whose arrival the queue holds `queue` bytes.
fn data(queue: u32) -> PacketView {
    PacketView {
        wire: 1000,
        ..passing(queue.saturating_sub(1000))
    }
}

fn feedback(fb: u8) -> Signal {
    Signal {
        words: Words::EMPTY.with_u8(0, fb),
        port_rate: BitRate::from_gbps(100),
        after: Span::ZERO,
    }
}

#[test]
fn equations_1_and_2_by_hand() {
    let rules = PointRules::new(&params());
    // (1 + 2 w) Qeq = 130000. Q = 36000 after 31000: Fb = -(10000 + 2 * 5000) = -20000; 63 * 20 / 130 = 9.69.
    assert_eq!(rules.feedback(36_000, 31_000), 9);
    // Above the equilibrium, but falling: Fb = -(10000 - 2 * 6000) = 2000, so no feedback.
    assert_eq!(rules.feedback(36_000, 42_000), 0);
    // Below it and rising: Fb = -(-6000 + 2 * 10000) = -14000; 6.78.
    assert_eq!(rules.feedback(20_000, 10_000), 6);
    assert_eq!(rules.feedback(26_000, 26_000), 0);
    // Saturated: Fb = -(64000 + 2 * 90000).
    assert_eq!(rules.feedback(90_000, 0), 63);
    assert_eq!(rules.feedback(u32::MAX, 0), 63);
}

/// Intervals between samples, without and with jitter.
#[test]
fn equation_3_by_hand() {
    let mut rng = Rng::stream(1, Purpose::Switch, 0);
    let rules = PointRules::new(&Params {
        jitter: 0.0,
        ..params()
    });
    let mut point = CongestionPoint::new(rules, &egress_port(), &mut rng);
    let mut frames_to_sample = |queue: u32, frames: u32| {
        for frame in 1..=frames {
            let mut at = Egress {
                now: Time::ZERO,
                rate: BitRate::from_gbps(100),
                queued: queue,
                rng: &mut rng,
            };
            let got = point.on_arrival(&mut at, &data(queue)).notify;
            assert_eq!(
                got != Notify::Nobody,
                frame == frames && queue > 0,
                "{queue}: {frame}"
            );
        }
    };
    // An empty queue: the first sample after 150000 bytes gives no feedback, nor does the next 150000 bytes
    // later.
    frames_to_sample(0, 150);
    frames_to_sample(90_000, 150);
    // fb was 63: an interval of 15000 bytes. The queue is constant at 90000: Fb = -64000, fb = 31.
    frames_to_sample(90_000, 15);
    // 150000 / (1 + 9 * 31 / 63) = 27631: the 28th frame.
    frames_to_sample(90_000, 28);

    let rules = PointRules::new(&params());
    let intervals: Vec<i64> = (0..1000).map(|_| rules.interval(0, &mut rng)).collect();
    assert!(intervals.iter().all(|i| (127_500..=172_500).contains(i)));
    let mean = intervals.iter().sum::<i64>() as f64 / 1000.0;
    assert!((mean - 150_000.0).abs() < 1500.0, "{mean}");
}

#[test]
fn equations_4_and_5_by_hand() {
    let mut pair = pair(&Params::default());
    send(&mut pair, 1_000_000);
    assert_eq!(pair.rate(), BitRate::from_gbps(100), "nothing to recover from");
    pair.signal(&feedback(0));
    assert_eq!(pair.rate(), BitRate::from_gbps(100));
    // 100 (1 - 32/128) = 75.
    pair.signal(&feedback(32));
    assert_eq!(pair.rate(), BitRate::from_gbps(75));
    // A second CNM in the first cycle keeps the target: 75 (1 - 64/128 + 1/128).
    pair.signal(&feedback(63));
    assert_eq!(pair.rate().as_bps(), 38_085_937_500);
    assert_eq!(pair.cc.target_rate(), BitRate::from_gbps(100));
    send(&mut pair, 140_000);
    assert_eq!(pair.rate().as_bps(), 38_085_937_500);
    send(&mut pair, 10_000);
    assert_eq!(pair.rate().as_bps(), 69_042_968_750);
    // A cycle has ended: the next cut sets the target and starts a new cycle.
    send(&mut pair, 100_000);
    pair.signal(&feedback(64 / 2));
    assert_eq!(pair.cc.target_rate().as_bps(), 69_042_968_750);
    assert_eq!(pair.rate().as_bps(), 51_782_226_562);
    send(&mut pair, 140_000);
    assert_eq!(pair.rate().as_bps(), 51_782_226_562);
    send(&mut pair, 10_000);
    assert_eq!(pair.rate().as_bps(), 60_412_597_656);
}

#[test]
fn equations_6_and_7_by_hand() {
    let mut pair = pair(&Params::default());
    pair.signal(&feedback(32));
    send(&mut pair, 150_000);
    pair.signal(&feedback(32)); // Rt = 87.5, R = 65.625 Gbit/s
    assert_eq!(pair.rate().as_bps(), 65_625_000_000);
    // Five cycles of fast recovery: the distance to the target shrinks to a 32nd.
    send(&mut pair, 5 * 150_000);
    assert_eq!(pair.rate().as_bps(), 87_500_000_000 - 21_875_000_000 / 32);
    // Then half cycles, each with a step of 50 Mbit/s.
    send(&mut pair, 70_000);
    assert_eq!(pair.cc.target_rate().as_bps(), 87_500_000_000);
    send(&mut pair, 10_000);
    assert_eq!(pair.cc.target_rate().as_bps(), 87_550_000_000);
    send(&mut pair, 70_000);
    assert_eq!(pair.cc.target_rate().as_bps(), 87_600_000_000);
    // After four more time cycles only B exceeds F.
    pair.advance(Span::from_us(5 * 1500));
    assert_eq!(pair.expired.len(), 5);
    assert_eq!(pair.cc.target_rate().as_bps(), 87_850_000_000);
    // The sixth time cycle takes half as long: min(B, T) - F = 1.
    pair.advance(Span::from_us(750));
    assert_eq!(pair.cc.target_rate().as_bps(), 88_350_000_000);
    pair.advance(Span::from_us(750));
    assert_eq!(
        pair.cc.target_rate().as_bps(),
        89_350_000_000,
        "min(7, 7) - F = 2"
    );
}

#[test]
fn the_limiter_ends_at_the_line() {
    let mut pair = pair(&Params::default());
    pair.signal(&feedback(1));
    for _ in 0..1000 {
        send(&mut pair, 150_000);
    }
    assert_eq!(pair.rate(), BitRate::from_gbps(100));
    let timers = pair.expired.len();
    pair.advance_to(pair.now() + Span::from_us(1_000_000));
    assert_eq!(pair.expired.len(), timers, "no timer runs for nothing");
    assert!(pair.now() > Time::ZERO);
}

proptest! {
    /// For any events R stays within its bounds and at or below Rt; the feedback has six bits and grows with
    /// the queue.
    #[test]
    fn rates_stay_within_bounds(steps in prop::collection::vec((0u8..4, 0u8..=255), 1..200)) {
        let mut pair = pair(&Params::default());
        for (what, amount) in steps {
            match what {
                0 => pair.signal(&feedback(amount)),
                1 => pair.advance(Span::from_us(u64::from(amount) * 20)),
                _ => send(&mut pair, u64::from(amount) * 4000),
            }
            prop_assert!(pair.rate() >= BitRate::from_bps(100_000_000));
            prop_assert!(pair.rate() <= pair.cc.target_rate());
            prop_assert!(pair.cc.target_rate() <= BitRate::from_gbps(100));
        }
    }

    #[test]
    fn feedback_grows_with_the_queue(queue in 0u32..2_000_000, more in 0u32..100_000, old in 0u32..2_000_000) {
        let rules = PointRules::new(&params());
        let fb = rules.feedback(queue, old);
        prop_assert!(fb <= 63);
        prop_assert!(rules.feedback(queue + more, old) >= fb);
        prop_assert!(rules.feedback(queue, old + more) <= fb);
    }
}
