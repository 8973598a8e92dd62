use super::*;
use crate::testkit::{Pair, ack, star_path};
use window::{Feedback, Window, bandwidth_delay};

/// Sender at 100 Gbit/s and 4.16 us: a bandwidth-delay product of 52,000 bytes in packets of 1000.
fn pair() -> Pair<Nscc> {
    Pair::new(star_path(), |path| Nscc::new(&Params::default(), path, false))
}

fn after(rtt_ns: u64, mark: Mark) -> AckInfo<'static> {
    AckInfo {
        rtt: Span::from_ns(rtt_ns),
        mark,
        ..ack(1000, 52_000)
    }
}

#[test]
fn constants_by_hand() {
    let pair = pair();
    let all = &pair.cc.constants;
    // a = 52/150; b = 3.12/12; alpha = 4000 a b / 3.12e6 ps.
    let (a, b) = (52.0 / 150.0, 0.26);
    assert_eq!(all.target, 3_120_000);
    assert!((all.alpha - 4000.0 * a * b / 3_120_000.0).abs() < 1e-15);
    assert!((all.fair - 5000.0 * a).abs() < 1e-9 && (all.eta - 150.0 * a).abs() < 1e-9);
    assert!((all.fast - 0.25 * a).abs() < 1e-12);
    assert_eq!(pair.cc.window(), Bytes::new(78_000));
}

#[test]
fn marked_and_late_is_cut_once_a_round_trip() {
    let mut pair = pair();
    // The average delay must reach the target first, and each sample weighs 0.0125: seven samples of 40 us
    // suffice.
    for _ in 0..7 {
        pair.ack(&after(44_160, Mark::Congested));
    }
    assert_eq!(pair.cc.window(), Bytes::new(78_000));
    pair.advance(Span::from_us(5));
    pair.ack(&after(44_160, Mark::Congested));
    // D after eight samples: 40 us (1 - 0.9875^8), rounded down at each.
    let average = (0..8).fold(0u64, |average, _| {
        (0.0125 * 40_000_000.0 + 0.9875 * average as f64) as u64
    });
    let cut: f64 = 1.0 - 0.8 * (average - 3_120_000) as f64 / average as f64;
    let expected = (78_000.0 * cut.max(0.5)) as u64;
    // A round trip without an acknowledged window: `inc` is zero, `eta` is added.
    let eta = 150.0 * 52.0 / 150.0;
    assert_eq!(pair.cc.window().get(), (expected as f64 + eta) as u64);
    let before = pair.cc.window();
    pair.ack(&after(44_160, Mark::Congested));
    assert_eq!(pair.cc.window(), before);
}

#[test]
fn a_trimmed_packet_takes_its_size_off() {
    let mut pair = pair();
    let nack = AckInfo {
        nack: true,
        newly_acked: 0,
        trimmed: Some(TrimmedAt::Network),
        ..ack(1000, 52_000)
    };
    pair.ack(&nack);
    assert_eq!(pair.cc.window(), Bytes::new(77_000));
    pair.timeout();
    assert_eq!(pair.cc.window(), Bytes::new(76_000));
}

/// If the receiver's control is active, it handles packets trimmed at the last hop.
#[test]
fn the_receivers_control_takes_care_of_the_last_hop() {
    let mut pair = Pair::new(star_path(), |path| Nscc::new(&Params::default(), path, true));
    for (at, window) in [(TrimmedAt::LastHop, 78_000), (TrimmedAt::Network, 77_000)] {
        pair.ack(&AckInfo {
            nack: true,
            newly_acked: 0,
            trimmed: Some(at),
            ..ack(1000, 52_000)
        });
        assert_eq!(pair.cc.window(), Bytes::new(window));
    }
}

#[test]
fn quick_adapt_sets_the_window_to_what_arrived() {
    let mut pair = pair();
    // The first period starts; then 3000 bytes arrive in it, and one packet is trimmed.
    pair.advance(Span::from_us(1));
    pair.ack(&after(4160, Mark::Congested));
    for _ in 0..3 {
        pair.ack(&after(4160, Mark::Congested));
    }
    pair.advance(Span::from_us(8));
    pair.ack(&AckInfo {
        nack: true,
        newly_acked: 0,
        trimmed: Some(TrimmedAt::Network),
        ..ack(1000, 52_000)
    });
    assert_eq!(pair.cc.window(), Bytes::new(3000));
    // Marks of the 51,000 bytes in flight are ignored.
    pair.ack(&after(44_160, Mark::Congested));
    assert_eq!(pair.cc.window(), Bytes::new(3000));
}

/// Constants of the public simulator at 200 and 800 Gbit/s.
#[test]
fn constants_are_the_simulators() {
    for (rtt, gbps, bdp, alpha, fair) in [
        (
            13_011_360,
            200,
            325_284,
            0.0029535787199999994,
            44303.680799999995,
        ),
        (8_168_560, 800, 816_856, 0.007417052479999999, 111255.78719999999),
    ] {
        let target = (rtt as f64 * 0.75) as u64;
        let all = Constants::new(rtt, gbps * 1_000_000_000, 4086, 4150, target);
        assert_eq!(bandwidth_delay(rtt, all.rate), bdp);
        assert_eq!((all.alpha, all.fair), (alpha, fair));
    }
}

/// Increments at 800 Gbit/s exceed 32 bits: 111,256 per byte, for acknowledgements of 16 kB each.
#[test]
fn increments_wrap_where_that_is_asked_for() {
    let grown = |wraps| {
        let all = Constants {
            wraps,
            ..Constants::new(8_168_560, 800_000_000_000, 4086, 4150, 6_126_420)
        };
        let mut window = Window::new(&all, all.network_rtt, Some(100_000));
        for now in 1..7 {
            window.count(16_384);
            window.on_ack(
                &all,
                Feedback {
                    now,
                    marked: false,
                    delay: all.target,
                    bytes: 16_384,
                    in_flight: 100_000,
                },
            );
        }
        window.window
    };
    // Twice more than eight packets are acknowledged, by three ACKs each: W = W + 3 fair 16384 / W.
    let increment = (3.0 * 111_255.78719999999 * 16_384.0) as i64;
    let first = 100_000 + increment / 100_000;
    assert_eq!(grown(false), first + increment / first);
    assert!(grown(true) < grown(false));
}

/// For any feedback the window stays between one packet and its maximum.
#[test]
fn the_window_stays_in_its_range() {
    let all = Constants::new(14_022_720, 100_000_000_000, 4086, 4150, 10_517_040);
    let mut rng = paceline_kernel::rng::Rng::stream(1, paceline_kernel::rng::Purpose::Congestion, 0);
    let mut flow = Window::new(&all, all.network_rtt, None);
    let (mut now, mut least) = (0, i64::MAX);
    for _ in 0..20_000 {
        now += u64::from(rng.next_u31() % 400_000);
        let (delay, bytes) = (u64::from(rng.next_u31() % 60_000_000), 4150);
        flow.update_average(&all, flow.base + delay, true);
        let ack = Feedback {
            now,
            marked: !rng.next_u31().is_multiple_of(3),
            delay,
            bytes,
            in_flight: 100_000,
        };
        flow.count(bytes);
        match rng.next_u31() % 4 {
            0 => flow.on_nack(&all, 4150, false, ack),
            _ => assert!(flow.on_ack(&all, ack)),
        }
        assert!((4150..=flow.max_window).contains(&flow.window));
        least = least.min(flow.window);
    }
    assert!(least < 20_000, "{least}");
}

/// With a window below a chunk, flows would never finish.
#[test]
fn chunks_are_refused() {
    let network = |chunks| NetworkFacts {
        acks_each_packet: true,
        chunks,
        pacing: true,
        marks: true,
        pauses: false,
        credits: false,
        undetermined: false,
    };
    let both = crate::rccc::Params {
        nscc: true,
        ..crate::rccc::Params::default()
    };
    for chunks in [false, true] {
        let refused = if chunks { vec![WITH_CHUNKS] } else { Vec::new() };
        assert_eq!(Params::default().incompatible(&network(chunks)), refused);
        assert_eq!(both.incompatible(&network(chunks)), refused);
        assert_eq!(crate::rccc::Params::default().incompatible(&network(chunks)), []);
    }
}

/// Under MNSCC the delay is the lower median of the last four, marks are those of the last ACK.
#[test]
fn mnscc_takes_the_median_delay() {
    let with = |median, max_window| {
        let params = Params {
            median,
            max_window,
            ..Params::default()
        };
        Pair::new(star_path(), |path| Nscc::new(&params, path, false))
    };
    // Round trips in ns, and the median of at most four.
    let story = [
        (4160, 4160),
        (9160, 4160),
        (44_160, 9160),
        (4160, 4160),
        (44_160, 9160),
        (44_160, 44_160),
    ];
    let mut median = with(Middle::Lower, 1.5);
    let mut plain = with(Middle::Off, 1.5);
    for (rtt, expected) in story {
        for mark in [Mark::None, Mark::Congested] {
            let mut one = (median.cc.clone(), plain.cc.clone());
            // A copy of each takes the ACK with either mark; the sender with the median is the plain one at that median.
            let mut both = (with(Middle::Off, 1.5), with(Middle::Off, 1.5));
            std::mem::swap(&mut both.0.cc, &mut one.0);
            std::mem::swap(&mut both.1.cc, &mut one.1);
            both.0.ack(&after(rtt, mark));
            both.1.ack(&after(expected, mark));
            assert_eq!(format!("{:?}", both.0.cc.state), format!("{:?}", both.1.cc.state));
        }
        median.ack(&after(rtt, Mark::Congested));
        plain.ack(&after(expected, Mark::Congested));
    }
    // With a window of three packets, the median is that of one delay: the last.
    let mut small = (with(Middle::Lower, 0.06), with(Middle::Off, 0.06));
    for rtt in [4160, 44_160, 9160] {
        small.0.ack(&after(rtt, Mark::None));
        small.1.ack(&after(rtt, Mark::None));
    }
    assert_eq!(small.0.cc.window(), small.1.cc.window());
}
