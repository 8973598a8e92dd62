use paceline_kernel::{BitRate, Bytes, Span};
use proptest::prelude::*;

use super::*;
use crate::registry::AnyParams;
use crate::signal::Carrier;
use crate::switch::Notify;
use crate::testkit::{Pair, ack, egress_port, star_path};

/// Transmission time of a full packet, in ps.
const FULL: i64 = 1048;

/// Port with all parts enabled, a threshold of 1048 bytes and at most three PRU tokens.
fn port(pru: u32, sm: i64) -> BoltPort {
    let params = Params {
        threshold_packets: 1,
        pru_max: 3,
        ..Params::default()
    };
    let port = EgressPort {
        full_packet: Span::from_ps(FULL as u64),
        ..egress_port()
    };
    BoltPort {
        pru,
        sm,
        ..BoltPort::new(&params, &port)
    }
}

/// SRC of a port with `queue` bytes queued.
fn reported(queue: u32) -> Notify {
    Notify::Sender(super::src(queue), Carrier::Headers)
}

#[test]
fn equation_1_supply_and_demand() {
    let mut port = port(0, 0);
    // Half of the capacity was used.
    port.supply(2 * FULL, FULL);
    assert_eq!(port.sm, FULL);
    // An idle port keeps one packet's worth, no more.
    port.supply(1_000_000, FULL);
    assert_eq!(port.sm, FULL);
    // Three packets at once leave a debt of two, which supply pays off first.
    for _ in 0..3 {
        port.supply(0, FULL);
    }
    assert_eq!(port.sm, -2 * FULL);
    port.supply(2 * FULL, 60);
    assert_eq!(port.sm, -60);
}

#[test]
fn equation_2_one_report_over_a_path() {
    let mut port = port(2, FULL);
    // Congestion is checked first: no token is taken and none is left.
    assert_eq!(port.judge(1048, BOLT | INC), (BOLT | DEC, reported(1048)));
    assert_eq!(port.judge(5000, BOLT | LAST), (BOLT | LAST | DEC, reported(5000)));
    assert_eq!((port.pru, port.sm), (2, FULL));
    // Further congested ports stay silent.
    assert_eq!(port.judge(5000, BOLT | DEC), (BOLT | DEC, Notify::Nobody));
    let mut riding = BoltPort {
        src_on: false,
        ..port
    };
    assert_eq!(riding.judge(1048, BOLT | INC), (BOLT | DEC, Notify::Packet));
    // One byte below the threshold.
    assert_eq!(port.judge(1047, BOLT | INC), (BOLT | INC, Notify::Nobody));
}

#[test]
fn equation_3_last_comes_before_inc() {
    let mut port = port(0, 0);
    for expected in [1, 2, 3, 3] {
        let tag = BOLT | LAST | INC;
        // Packets of the last window leave a token, take none, and keep their flags.
        assert_eq!(port.judge(0, tag), (tag, Notify::Nobody));
        assert_eq!(port.pru, expected);
    }
    // A flow shorter than a window leaves no token: no other flow had made room for it.
    port.pru = 0;
    port.judge(0, BOLT | FIRST | LAST);
    port.pru_on = false;
    port.judge(0, BOLT | LAST);
    assert_eq!(port.pru, 0);
}

#[test]
fn equations_4_and_5_pru_is_spent_before_sm() {
    let mut port = port(1, FULL);
    let inc = BOLT | INC;
    assert_eq!(port.judge(0, inc).0, inc);
    assert_eq!((port.pru, port.sm), (0, FULL));
    assert_eq!(port.judge(0, inc).0, inc);
    assert_eq!((port.pru, port.sm), (0, 0));
    assert_eq!(port.judge(0, inc).0, BOLT);
    // Less than a whole packet is no token.
    port.sm = FULL - 1;
    assert_eq!(port.judge(0, inc).0, BOLT);
    // Without INC, nothing is spent.
    (port.pru, port.sm) = (1, FULL);
    assert_eq!(port.judge(0, BOLT).0, BOLT);
    assert_eq!((port.pru, port.sm), (1, FULL));
    // Each part can be disabled.
    (port.pru_on, port.sm_on) = (false, false);
    assert_eq!(port.judge(0, inc).0, BOLT);
}

fn pair_with(params: &Params) -> Pair<Bolt> {
    Pair::new(star_path(), |path| Bolt::new(params, path))
}

fn pair() -> Pair<Bolt> {
    pair_with(&Params::default())
}

fn out(seq: u64, end: u64) -> Outgoing {
    Outgoing {
        seq,
        payload: 1000.min(end - seq),
        snd_una: 0,
        end,
    }
}

fn src(queue_packets: u64, rtt_ns: u64) -> Signal {
    Signal {
        words: super::src(queue_packets as u32 * 1048),
        port_rate: BitRate::from_gbps(100),
        after: Span::from_ns(rtt_ns),
    }
}

/// Checks that `bolt-paper` has the paper's settings regardless of the scenario's, and the defaults of `bolt`.
#[test]
fn bolt_as_listed_and_as_it_ships() {
    let of = |name: &str| {
        let bolt = Params {
            threshold: Auto::Is(Bytes::new(9999)),
            ..Params::default()
        };
        let blocks = crate::registry::SchemeParams {
            bolt: Some(bolt),
            ..crate::registry::SchemeParams::default()
        };
        let config = blocks.configure(name).unwrap();
        let AnyParams::Bolt(params) = config.params() else {
            panic!("{name} is Bolt")
        };
        let threshold = params.congestion_threshold();
        (threshold.bytes(1500), threshold.bytes(5000))
    };
    assert_eq!(of("bolt-paper"), (1500, 5000));
    assert_eq!(of("bolt"), (9999, 9999));
    assert_eq!(Params::default().congestion_threshold().bytes(1500), 3000);
}

fn window(pair: &Pair<Bolt>) -> u64 {
    pair.cc.window().get()
}

#[test]
fn flags_follow_the_flow() {
    let mut pair = pair();
    // 52 packets fit into the window. Before the first ACK: FIRST; the last 52 packets: LAST.
    assert_eq!(pair.tag(&out(0, 52_000)), BOLT | FIRST | LAST);
    assert_eq!(pair.tag(&out(0, 52_001)), BOLT | FIRST);
    pair.advance(Span::from_ns(4160));
    pair.ack(&AckInfo {
        tag: BOLT | FIRST,
        ..ack(1000, 52_000)
    });
    // (9) at the first ACK has no effect: the window is at its maximum.
    assert_eq!(window(&pair), 52_000);
    assert_eq!(pair.tag(&out(48_000, 100_001)), BOLT | INC);
    assert_eq!(pair.tag(&out(48_001, 100_001)), BOLT | LAST);
    assert_eq!(pair.tag(&out(100_000, 100_001)), BOLT | LAST);
}

#[test]
fn the_last_packet_is_last_even_when_the_window_is_smaller() {
    let mut pair = pair_with(&Params {
        initial_window: Auto::Is(Bytes::new(100)),
        ..Params::default()
    });
    assert_eq!(pair.tag(&out(5000, 6500)), BOLT | FIRST);
    assert_eq!(pair.tag(&out(6000, 6500)), BOLT | FIRST | LAST);
}

/// Two packets queued and the flow at line rate: one packet is cut per half `rtt_src`.
#[test]
fn equation_7_spaces_decrements() {
    let mut pair = pair();
    pair.tag(&out(0, 1_000_000));
    let mut windows = Vec::new();
    for _ in 0..5 {
        pair.advance(Span::from_ns(500));
        pair.signal(&src(2, 2000));
        windows.push(window(&pair));
    }
    assert_eq!(windows, [52_000, 51_000, 51_000, 50_000, 50_000]);
    // An empty queue asks for no cut, however long ago the last one was.
    pair.advance(Span::from_us(1_000_000));
    pair.signal(&src(0, 2000));
    assert_eq!(window(&pair), 50_000);
}

/// After an RTT sample the flow's share of the port is `cwnd / rtt`: 52 packets of 1048 B in 8720 ns are half
/// of it, so one of two queued packets is this flow's.
#[test]
fn equation_6_by_the_flows_share() {
    let mut pair = pair();
    pair.tag(&out(0, 1_000_000));
    let rtt = Span::from_ps(2 * 52 * 1048 * 80);
    pair.advance(rtt);
    pair.ack(&AckInfo {
        rtt,
        ..ack(1000, 52_000)
    });
    pair.signal(&src(2, 1)); // cut now: the flow began long ago
    assert_eq!(window(&pair), 51_000);
    // From here on the share is 51/52 of a half: a cut takes 52/51 of rtt_src.
    pair.advance(Span::from_ns(2000));
    pair.signal(&src(2, 2000));
    assert_eq!(window(&pair), 51_000);
    pair.advance(Span::from_ns(40));
    pair.signal(&src(2, 2000));
    assert_eq!(window(&pair), 50_000);
}

#[test]
fn without_src_the_ack_brings_the_report() {
    let mut pair = pair();
    pair.tag(&out(0, 1_000_000));
    pair.advance(Span::from_ns(4160));
    let congested = Some(CongestedPort {
        queue: Bytes::new(1048),
        rate: BitRate::from_gbps(100),
    });
    // cwnd / rtt is just above the line, so the one queued packet is this flow's. (9) follows.
    pair.ack(&AckInfo {
        tag: BOLT | DEC,
        congested,
        ..ack(1000, 52_000)
    });
    assert_eq!(window(&pair), 51_000 + 1000);
    pair.advance(Span::from_ns(4160));
    pair.ack(&AckInfo {
        tag: BOLT | DEC,
        congested,
        ..ack(2000, 53_000)
    });
    assert_eq!(window(&pair), 51_000);
}

#[test]
fn equations_8_and_9_growth() {
    let mut pair = pair_with(&Params {
        initial_window: Auto::Is(Bytes::new(10_000)),
        ..Params::default()
    });
    let inc = |seq, snd_nxt| AckInfo {
        tag: BOLT | INC,
        ..ack(seq, snd_nxt)
    };
    pair.ack(&ack(1000, 10_000)); // (9)
    assert_eq!(window(&pair), 11_000);
    pair.ack(&ack(2000, 12_000));
    assert_eq!(window(&pair), 11_000);
    pair.ack(&inc(3000, 13_000)); // (8)
    assert_eq!(window(&pair), 12_000);
    pair.ack(&ack(10_000, 22_000)); // all that was sent then, but nothing sent since
    assert_eq!(window(&pair), 12_000);
    // Even if a packet was lost, one sent after the last step ends the round: (8) and (9).
    pair.ack(&inc(14_000, 22_000));
    assert_eq!(window(&pair), 14_000);
    for i in 15..100 {
        pair.ack(&inc(i * 1000, i * 1000 + 14_000));
    }
    assert_eq!(window(&pair), 52_000, "the largest");
}

#[test]
fn below_a_packet_it_paces() {
    let mut pair = pair_with(&Params {
        initial_window: Auto::Is(Bytes::new(4000)),
        ..Params::default()
    });
    pair.tag(&out(0, 1_000_000));
    let mut windows = Vec::new();
    for _ in 0..12 {
        pair.advance(Span::from_us(10));
        pair.signal(&src(1000, 1));
        windows.push(window(&pair));
    }
    assert_eq!(windows, [3000, 2000, 1000, 500, 250, 125, 62, 31, 15, 10, 10, 10]);
    // One packet of 1048 B per hundred base round trips of 4160 ns.
    let SendLimits { rate, window } = pair.cc.limits();
    assert_eq!(window, Bytes::new(1000));
    assert_eq!(rate.as_bps(), 1048 * 8 * 1_000_000 / 416);
    // (9) returns the window to above a packet: 1010 bytes of payload per round trip, plus a quarter by (10).
    pair.ack(&ack(1000, 2000));
    assert_eq!(pair.rate().as_bps(), 1010 * 1048 * 8 * 1_000_000 / 3328);
}

#[test]
fn windows_are_paced_after_the_first() {
    let small = Params {
        initial_window: Auto::Is(Bytes::new(10_000)),
        ai: 0.0,
        ..Params::default()
    };
    // Ten packets of 1048 B per 4160 ns, plus a quarter.
    for (pace, pace_gain, bps) in [
        (true, 1.0, 10 * 1048 * 8 * 1_000_000_000 / 4160),
        (true, 1.25, 10 * 1048 * 8 * 1_000_000_000 / 3328),
        (false, 1.25, 100_000_000_000),
    ] {
        let mut pair = pair_with(&Params {
            pace,
            pace_gain,
            ..small.clone()
        });
        assert_eq!(pair.rate(), BitRate::from_gbps(100));
        pair.ack(&ack(1000, 10_000));
        assert_eq!(pair.rate().as_bps(), bps);
        // Queueing on the path does not slow the pacer; the window limits the flow.
        pair.ack(&AckInfo {
            rtt: Span::from_ns(8320),
            ..ack(2000, 10_000)
        });
        assert_eq!(pair.rate().as_bps(), bps);
    }
}

#[test]
fn losses_halve_once_per_round_trip_and_timeouts_reset() {
    let mut pair = pair();
    pair.tag(&out(0, 1_000_000));
    let nack = AckInfo {
        nack: true,
        newly_acked: 0,
        ..ack(1000, 52_000)
    };
    pair.advance(Span::from_ns(4159));
    pair.ack(&nack);
    assert_eq!(window(&pair), 52_000, "the flow began less than a round trip ago");
    pair.advance(Span::from_ns(1));
    pair.ack(&nack);
    pair.ack(&nack);
    assert_eq!(window(&pair), 26_000);
    for expected in [13_000, 6500, 3250, 1625, 10] {
        pair.advance(Span::from_us(100));
        pair.timeout();
        assert_eq!(window(&pair), expected);
    }
    // Progress resets the count of timeouts.
    pair.ack(&ack(2000, 3000));
    pair.advance(Span::from_us(100));
    pair.timeout();
    assert_eq!(window(&pair), 505);
}

#[test]
fn windows_that_contradict_each_other() {
    let bytes = |n| Auto::Is(Bytes::new(n));
    let params = |initial_window, min_window, max_window| Params {
        initial_window,
        min_window,
        max_window,
        ..Params::default()
    };
    for (bad, param) in [
        (params(bytes(2), Auto::Auto, bytes(1)), "initial-window"),
        (params(Auto::Auto, bytes(2), bytes(1)), "min-window"),
        (params(bytes(1), bytes(2), Auto::Auto), "min-window"),
    ] {
        assert_eq!(bad.check().unwrap_err().param, param);
    }
    assert_eq!(params(bytes(2), bytes(1), bytes(3)).check(), Ok(()));
}

proptest! {
    /// For any packets and ports: tokens stay within their caps, DEC is never cleared, only the first
    /// congested port reports to the sender, INC is never set again, and each INC that survives costs exactly
    /// one token.
    #[test]
    fn tokens_and_flags_at_any_ports(
        packets in prop::collection::vec((0u8..16, prop::collection::vec((0u32..3000, 0i64..3000), 1..5)), 1..300),
        pru: bool, sm: bool, src: bool,
    ) {
        let mut ports = [BoltPort { pru_on: pru, sm_on: sm, src_on: src, ..port(0, 0) }; 5];
        for (tag, hops) in packets {
            let mut tag = BOLT | tag;
            let mut reports = u32::from(tag & DEC != 0);
            for (port, (queue, gained)) in ports.iter_mut().zip(hops) {
                port.supply(gained, FULL);
                let before = *port;
                let (went_on, got) = port.judge(queue, tag);
                prop_assert!(port.sm <= FULL && port.pru <= port.pru_max);
                prop_assert!(went_on & INC == 0 || tag & INC != 0, "INC came back");
                prop_assert!(went_on & DEC != 0 || tag & DEC == 0, "DEC went away");
                reports += u32::from(got == reported(queue));
                prop_assert!(reports <= 1);
                let spent = i64::from(before.pru) * FULL + before.sm - i64::from(port.pru) * FULL - port.sm;
                let kept = went_on & (INC | LAST) == INC;
                let left_behind = tag & LAST != 0 && spent == -FULL;
                prop_assert!(left_behind || spent == i64::from(kept) * FULL, "{spent}");
                tag = went_on;
            }
        }
    }

    /// For any feedback the window stays within its bounds and the sender may send.
    #[test]
    fn the_window_stays_in_its_bounds(
        steps in prop::collection::vec((0u8..5, 0u64..20_000, 0u64..100_000), 1..300),
        min in 1u64..5000,
    ) {
        let params = Params { min_window: Auto::Is(Bytes::new(min)), ..Params::default() };
        let mut pair = pair_with(&params);
        let (mut seq, mut sent) = (0, 52_000);
        for (step, ns, value) in steps {
            pair.advance(Span::from_ns(ns));
            match step {
                0 => pair.signal(&src(value % 500, ns)),
                1 => pair.timeout(),
                2 => { pair.tag(&out(sent, 1 << 40)); sent += 1000; }
                nack_or_ack => {
                    seq = (seq + value % 3 * 1000).min(sent);
                    pair.ack(&AckInfo {
                        nack: nack_or_ack == 3,
                        rtt: Span::from_ns(ns),
                        tag: BOLT | if value & 1 == 1 { INC } else { DEC },
                        ..ack(seq, sent)
                    });
                }
            }
            prop_assert!((min..=52_000).contains(&window(&pair)), "{}", window(&pair));
        }
    }
}
