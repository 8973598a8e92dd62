use paceline_kernel::{BitRate, Bytes, Span};
use proptest::prelude::*;

use super::*;
use crate::testkit::{Pair, ack, star_path};

/// Parameters without flow scaling; the target on the two links of [`star_path`] is then 12 us.
fn plain() -> Params {
    Params {
        flow_scaling: false,
        initial_window: 10.0,
        ..Params::default()
    }
}

fn pair(params: &Params) -> Pair<Swift> {
    Pair::new(star_path(), |path| Swift::new(params, path))
}

fn after(rtt_ns: u64) -> AckInfo<'static> {
    AckInfo {
        rtt: Span::from_ns(rtt_ns),
        ..ack(1000, 50_000)
    }
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} instead of {b}");
}

#[test]
fn the_target_by_hand() {
    let target = Target::new(&Params::default());
    // alpha = 100 us / (1/sqrt(0.1) - 1/16) = 100 us / 3.0997776602 = 32260.378 ns.
    assert!((target.alpha - 32_260.378).abs() < 0.001, "{}", target.alpha);
    assert!((target.beta + 2_016.274).abs() < 0.001, "{}", target.beta);
    // One packet: alpha + beta; 64 packets: alpha / 8 + beta = -beta, since alpha / 16 = -beta.
    close(target.flow_scaling(1.0), target.alpha + target.beta);
    close(target.flow_scaling(64.0), -target.beta);
    // The full range at fs-min and below, nothing at fs-max and above.
    close(target.flow_scaling(0.1), 100_000.0);
    assert_eq!(target.flow_scaling(0.05), 100_000.0);
    assert_eq!(target.flow_scaling(256.0), 0.0);
    assert_eq!(target.flow_scaling(1000.0), 0.0);
    close(target.of(3, 64.0), 10_000.0 + 3_000.0 - target.beta);
    assert_eq!(Target::new(&plain()).of(6, 0.001), 16_000.0);
}

/// Equilibrium queue of the dumbbell in Bolt's simulations (three links of 100 Gbit/s, 7.995 us) with 1, 2
/// and 5 flows: 74.7, 88.3 and 113 KB, as the same formula predicts for its reference runs with the right
/// sign.
#[test]
fn the_fixed_points_of_the_dumbbell() {
    let target = Target::new(&Params::default());
    let mss = 1459.0;
    for (flows, kilobytes) in [(1.0, 74.7), (2.0, 88.3), (5.0, 113.0)] {
        // RTT = target(w), and n w packets fill a round trip.
        let mut rtt = 10_000.0;
        for _ in 0..200 {
            rtt = target.of(3, rtt * 12.5 / mss / flows);
        }
        let queue = (rtt - 7_995.0) * 12.5 / 1000.0;
        assert!((queue / kilobytes - 1.0).abs() < 0.015, "{flows}: {queue} KB");
    }
}

#[test]
fn increases_by_hand() {
    let mut pair = pair(&plain());
    // Equation (4): 10 + 1/10, then 3 packets over the new window.
    pair.ack(&after(11_999));
    close(pair.cc.window(), 10.1);
    pair.ack(&AckInfo {
        newly_acked: 3000,
        ..after(4160)
    });
    close(pair.cc.window(), 10.1 + 3.0 / 10.1);
    // The fraction of a packet waits: ten packets of 1000 bytes, at line rate.
    assert_eq!(
        pair.cc.limits(),
        SendLimits {
            rate: BitRate::from_gbps(100),
            window: Bytes::new(10_000),
        }
    );
}

#[test]
fn decreases_by_hand() {
    let mut pair = pair(&plain());
    // Equation (6): 1 - 0.8 * 12/24 = 0.6.
    pair.ack(&after(24_000));
    close(pair.cc.window(), 6.0);
    // Within a round trip of 24 us nothing changes. Afterwards, at the target, the factor is one.
    pair.advance(Span::from_ns(23_999));
    pair.ack(&after(24_000));
    close(pair.cc.window(), 6.0);
    pair.advance(Span::from_ns(1));
    pair.ack(&after(12_000));
    close(pair.cc.window(), 6.0);
    // That was no decrease, so the next one waits for the last real one only, by the round trip of this ACK.
    // 1 - 0.8 * 88/100 is raised to 0.5.
    pair.advance(Span::from_us(75));
    pair.ack(&after(100_000));
    close(pair.cc.window(), 6.0);
    pair.advance(Span::from_us(1));
    pair.ack(&after(100_000));
    close(pair.cc.window(), 3.0);
    // ACKs above the target do not postpone the next decrease.
    for _ in 0..10 {
        pair.advance(Span::from_us(10));
        pair.ack(&after(100_000));
    }
    close(pair.cc.window(), 1.5);
}

#[test]
fn below_one_packet_it_is_paced() {
    let mut pair = pair(&Params {
        initial_window: 1.5,
        ..plain()
    });
    assert_eq!(pair.cc.limits().window, Bytes::new(1000));
    assert_eq!(pair.rate(), BitRate::from_gbps(100));
    // 0.9 of a packet in 24 us: one packet of 1048 bytes every 26.667 us.
    pair.ack(&after(24_000));
    close(pair.cc.window(), 0.9);
    assert_eq!(pair.cc.limits().window, Bytes::new(1000));
    let gap = pair.rate().time_to_send(Bytes::new(1048));
    assert!((gap.as_ns_f64() - 24_000.0 / 0.9).abs() < 0.01, "{gap}");
    // Equation (5): plus ai for the packet; a window of 1.9 sends one packet, at line rate.
    pair.ack(&after(5_000));
    close(pair.cc.window(), 1.9);
    assert_eq!(pair.rate(), BitRate::from_gbps(100));
}

#[test]
fn the_endpoint_has_its_own_window() {
    let mut pair = pair(&plain());
    let at_host = |rtt_us: u64, host_us| AckInfo {
        endpoint_delay: Span::from_us(host_us),
        ..after(rtt_us * 1000)
    };
    // Of 204 us the host took 200: the fabric's 4 are below 12; for the host 1 - 0.8 * 100/200 = 0.6.
    pair.ack(&at_host(204, 200));
    let (fabric, endpoint) = pair.cc.windows();
    close(fabric, 10.1);
    close(endpoint, 6.0);
    close(pair.cc.window(), 6.0);
    // The host's 90 us are below its target; the fabric's 24 cut its window to 0.6 of 10.1.
    pair.ack(&at_host(114, 90));
    let (fabric, endpoint) = pair.cc.windows();
    close(fabric, 6.06);
    close(endpoint, 6.0 + 1.0 / 6.0);
    // With `endpoint` off, the host's delay is ignored.
    let mut pair = Pair::new(star_path(), |path| {
        let params = Params {
            endpoint: false,
            ..plain()
        };
        Swift::new(&params, path)
    });
    pair.ack(&at_host(1004, 1000));
    close(pair.cc.window(), 10.1);
}

#[test]
fn losses_and_timeouts() {
    let mut pair = pair(&Params {
        initial_window: 64.0,
        ..plain()
    });
    let nack = AckInfo {
        nack: true,
        newly_acked: 0,
        ..after(8_000)
    };
    // Equation (7), once per round trip.
    pair.ack(&nack);
    pair.ack(&nack);
    assert_eq!(pair.cc.windows(), (32.0, 32.0));
    // Four timeouts halve the window, the fifth reduces it to the minimum.
    for expected in [16.0, 8.0, 4.0, 2.0, 0.01] {
        pair.advance(Span::from_us(100));
        pair.timeout();
        assert_eq!(pair.cc.window(), expected);
    }
    // An ACK resets the count: the next timeout only halves.
    pair.ack(&after(4160));
    close(pair.cc.window(), 1.01);
    pair.advance(Span::from_us(100));
    pair.timeout();
    close(pair.cc.window(), 0.505);
}

#[test]
fn windows_of_their_own_accord() {
    let pair = pair(&Params::default());
    assert_eq!(pair.cc.window(), 52.0, "the bandwidth-delay product");
    assert_eq!(pair.cc.law.max, 256.0);
    let long = PathInfo {
        bdp: Bytes::new(500_000),
        ..star_path()
    };
    assert_eq!(Swift::new(&Params::default(), &long).law.max, 2000.0);
}

#[test]
fn parameters_that_contradict_each_other() {
    let of = |params: Params| params.check().unwrap_err().param;
    let (fs_min, max_window) = (300.0, 4.0);
    assert_eq!(of(Params { fs_min, ..plain() }), "fs-min");
    assert_eq!(
        of(Params {
            max_window,
            ..plain()
        }),
        "initial-window"
    );
    assert_eq!(plain().check(), Ok(()));
}

/// Random event at a sender.
#[derive(Clone, Debug)]
enum Happening {
    Ack {
        rtt_ns: u64,
        endpoint_ns: u64,
        acked: u64,
    },
    Nack {
        rtt_ns: u64,
    },
    Timeout,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        8 => (1..2_000_000u64, 0..1000u64, 0..20_000u64).prop_map(|(rtt_ns, part, acked)| Happening::Ack {
            rtt_ns,
            endpoint_ns: rtt_ns * part / 1000,
            acked,
        }),
        1 => (1..2_000_000u64).prop_map(|rtt_ns| Happening::Nack { rtt_ns }),
        1 => Just(Happening::Timeout),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(256), failure_persistence: None, ..ProptestConfig::default() })]

    /// For any delays, losses and timeouts: both windows stay within their bounds, no decrease exceeds its
    /// limit, and the NIC's limits match the window.
    #[test]
    fn windows_stay_within_their_bounds(
        story in prop::collection::vec((0..500_000u64, happening()), 1..300),
        max in 1.0..500.0f64,
        endpoint in any::<bool>(),
        flow_scaling in any::<bool>(),
    ) {
        let params = Params { max_window: max, endpoint, flow_scaling, ..Params::default() };
        let mut pair = pair(&params);
        let mut decreased = None;
        for (wait, happening) in story {
            pair.advance(Span::from_ns(wait));
            let before = pair.cc.windows();
            let hard = match happening {
                Happening::Ack { rtt_ns, endpoint_ns, acked } => {
                    pair.ack(&AckInfo {
                        newly_acked: acked,
                        endpoint_delay: Span::from_ns(endpoint_ns),
                        ..after(rtt_ns)
                    });
                    false
                }
                Happening::Nack { rtt_ns } => {
                    pair.ack(&AckInfo { nack: true, ..after(rtt_ns) });
                    false
                }
                Happening::Timeout => {
                    pair.timeout();
                    pair.cc.timeouts >= params.timeouts
                }
            };
            let after = pair.cc.windows();
            for (before, after) in [(before.0, after.0), (before.1, after.1)] {
                prop_assert!((params.min_window..=max).contains(&after), "{after}");
                let least = (before * (1.0 - params.max_mdf)).max(params.min_window);
                prop_assert!(hard || after >= least, "from {before} to {after}");
            }
            if after.0 < before.0 && !hard {
                let rtt = pair.cc.rtt;
                prop_assert!(decreased.is_none_or(|at| pair.now().saturating_since(at) >= rtt));
            }
            if after.0 < before.0 {
                decreased = Some(pair.now());
            }
            let limits = pair.cc.limits();
            let cwnd = pair.cc.window();
            let packets = limits.window.get() as f64 / 1000.0;
            prop_assert_eq!(packets, cwnd.floor().max(1.0));
            prop_assert_eq!(limits.rate < BitRate::from_gbps(100), cwnd < 1.0 && pair.cc.rtt.as_ns_f64() / cwnd > 83.85);
        }
    }
}

/// LSwift or MSwift without flow scaling; the target is 12 us.
fn lenient(median: Middle) -> Params {
    Params {
        late_acks: 5,
        median,
        ..plain()
    }
}

#[test]
fn lswift_waits_for_late_acks_in_a_row() {
    let mut pair = pair(&lenient(Middle::Off));
    let round = |pair: &mut Pair<Swift>, rtt_us: u64| {
        pair.advance(Span::from_us(30));
        pair.ack(&after(rtt_us * 1000));
        pair.cc.windows().0
    };
    // Four late ACKs do nothing, and an early one makes the count start again: 10 + 1/10.
    for _ in 0..4 {
        assert_eq!(round(&mut pair, 24), 10.0);
    }
    close(round(&mut pair, 11), 10.1);
    for _ in 0..4 {
        close(round(&mut pair, 24), 10.1);
    }
    // The fifth decreases by equation (6), and the next decrease needs five more.
    close(round(&mut pair, 24), 6.06);
    for _ in 0..4 {
        close(round(&mut pair, 24), 6.06);
    }
    close(round(&mut pair, 24), 3.636);
    // Once a round trip: five late ACKs at one instant are too early.
    for _ in 0..7 {
        pair.ack(&after(24_000));
        close(pair.cc.windows().0, 3.636);
    }
    close(round(&mut pair, 24), 3.636 * 0.6);
}

/// Delays in us, with a target of 12: the median, and the window that follows.
#[test]
fn mswift_by_hand() {
    let params = Params {
        late_acks: 1,
        ..lenient(Middle::Lower)
    };
    let mut pair = pair(&params);
    let mut window: f64 = 10.0;
    // H is 5 at ten packets, 3 at six and 1 at three. The lower median of 10 | 10 24 | 10 24 24 | 24 24 9 | 10:
    for (delay, late) in [(10, false), (24, false), (24, true), (9, true), (10, false)] {
        pair.advance(Span::from_us(30));
        pair.ack(&after(delay * 1000));
        // A median of 24 us makes 0.6 of the window, by equation (6).
        window = if late { window * 0.6 } else { window + 1.0 / window };
        close(pair.cc.windows().0, window);
    }
    // Below two packets, the median is the last delay.
    let mut pair = Pair::new(star_path(), |path| {
        let initial_window = 1.5;
        Swift::new(
            &Params {
                initial_window,
                ..params
            },
            path,
        )
    });
    pair.ack(&after(11_000));
    close(pair.cc.windows().0, 1.5 + 1.0 / 1.5);
    pair.cc.fabric.cwnd = 1.5;
    pair.advance(Span::from_us(30));
    pair.ack(&after(24_000));
    close(pair.cc.windows().0, 0.9);
}

/// One of every `period` ACKs is late, and cuts the window in half: with q = 1 / period the window is
/// sqrt(1.5 / q) on average. The median of the last delays ignores it.
#[test]
fn a_share_of_late_packets_collapses_the_window_unless_the_median_counts() {
    for period in [100u32, 50, 25] {
        let mean = |late_acks, median| {
            let params = Params {
                beta: 1.0,
                late_acks,
                median,
                ..plain()
            };
            let mut pair = pair(&params);
            let (mut sum, mut time) = (0.0, 0.0);
            for packet in 0..40_000u32 {
                let window = pair.cc.window();
                let gap = 11_000.0 / window;
                pair.advance(Span::from_ns(gap as u64));
                let is_late = packet % period == 0;
                pair.ack(&after(if is_late { 24_000 } else { 11_000 }));
                if packet > 10_000 {
                    (sum, time) = (sum + window * gap, time + gap);
                }
            }
            sum / time
        };
        let collapsed = (1.5 * f64::from(period)).sqrt();
        let swift = mean(1, Middle::Off);
        assert!(
            (swift / collapsed - 1.0).abs() < 0.05,
            "{swift} instead of {collapsed}"
        );
        for (late_acks, median) in [
            (5, Middle::Off),
            (5, Middle::Lower),
            (1, Middle::Lower),
            (1, Middle::Upper),
        ] {
            let window = mean(late_acks, median);
            assert!(window > 15.0 * collapsed, "{window} with {median:?}");
        }
    }
}
