use proptest::prelude::*;

use super::*;
use crate::testkit::{Pair, ack, star_path};

const GBPS: u64 = 1_000_000_000;

/// Sender whose ACKs, each for one packet, the test drives one by one.
struct Flow {
    pair: Pair<Acc>,
    acked: u64,
    sent: u64,
}

impl Flow {
    fn of(params: &Params) -> Self {
        Self {
            pair: Pair::new(star_path(), |path| Acc::new(params, path)),
            acked: 0,
            sent: 0,
        }
    }

    /// Starts with `in_flight` bytes in flight.
    fn with(params: Params, in_flight: u64) -> Self {
        let mut flow = Self::of(&params);
        flow.sent = in_flight;
        flow
    }

    /// Delivers an ACK with `mark` after `gap_ns`, and sends a packet if the window allows it.
    fn ack(&mut self, gap_ns: u64, mark: Mark) {
        self.pair.advance(Span::from_ns(gap_ns));
        self.acked += 1000;
        let ack = AckInfo {
            mark,
            ..ack(self.acked, self.sent)
        };
        self.pair.ack(&ack);
        if self.sent - self.acked < self.pair.cc.limits().window.get() {
            self.sent += 1000;
        }
    }

    fn acks(&mut self, number: u32, gap_ns: u64, mark: Mark) {
        (0..number).for_each(|_| self.ack(gap_ns, mark));
    }

    fn bps(&self) -> u64 {
        self.pair.rate().as_bps()
    }

    fn window(&self) -> u64 {
        self.pair.cc.limits().window.get()
    }
}

/// Two flows at one port of 100 Gbit/s: an ACK for 1000 bytes every 160 ns, so 26 in T0 = 4160 ns.
#[test]
fn equations_1_and_4_to_6_by_hand() {
    let mut flow = Flow::with(Params::default(), 61_000);
    flow.ack(0, Mark::Congested);
    // From now on a packet leaves for each acknowledged one.
    assert_eq!((flow.bps(), flow.window()), (100 * GBPS, 60_000));
    flow.acks(25, 160, Mark::None);
    assert_eq!((flow.bps(), flow.sent - flow.acked), (100 * GBPS, 60_000));
    flow.acked += 1000;
    flow.pair.advance(Span::from_ns(160));
    let last = ack(flow.acked, flow.sent);
    flow.pair.ack(&last);
    // 26 000 B in 4160 ns are 50 Gbit/s of payload, 52.4 on the wire, 51.352 with 2 % less.
    assert_eq!(flow.bps(), 51_352_000_000);
    assert_eq!(flow.pair.cc.target(), BitRate::from_gbps(100));
    // 59 000 bytes are in flight; the pipe is 26 000.
    assert_eq!(flow.sent - flow.acked, 59_000);
    assert_eq!(flow.pair.cc.stopped_until(), Some(flow.acked + 33_000));
    assert_eq!(flow.window(), 26_000);
    flow.acks(32, 160, Mark::Congested);
    assert_eq!((flow.sent - flow.acked, flow.window()), (27_000, 26_000));
    flow.ack(160, Mark::Congested);
    assert_eq!((flow.pair.cc.stopped_until(), flow.window()), (None, u64::MAX));
    assert_eq!(flow.bps(), 51_352_000_000);
}

/// Equation (3): marks of packets sent before the last decrease are ignored; Rt is the rate before the first
/// of several decreases.
#[test]
fn marks_of_times_before_the_decrease_are_not_heard() {
    let mut flow = Flow::with(Params::default(), 27_000);
    flow.ack(0, Mark::Congested);
    flow.acks(26, 160, Mark::None);
    assert_eq!((flow.bps(), flow.pair.cc.stopped_until()), (51_352_000_000, None));
    let told_before = flow.sent - flow.acked;
    flow.acks((told_before / 1000) as u32 - 1, 160, Mark::Congested);
    assert_eq!((flow.bps(), flow.window()), (51_352_000_000, u64::MAX));
    // Marks of packets sent after it: another decrease with no increase between them, to 26.2 Gbit/s less 2
    // %.
    flow.acks(14, 320, Mark::Congested);
    flow.acks(14, 320, Mark::Congested);
    assert_eq!(flow.bps(), 25_676_000_000);
    assert_eq!(flow.pair.cc.target(), BitRate::from_gbps(100));
}

/// With ACKs 1 us apart, eight of them take longer than T0.
#[test]
fn a_slow_flow_waits_for_its_acks() {
    let mut flow = Flow::with(Params::default(), 10_000);
    flow.ack(0, Mark::Congested);
    flow.acks(7, 1000, Mark::Congested);
    assert_eq!(flow.bps(), 100 * GBPS);
    flow.ack(1000, Mark::Congested);
    // 8 Gbit/s of payload.
    assert_eq!(flow.bps(), 8_216_320_000);
}

/// Equation (2): nine ACKs, eight of which arrive together after a silence.
#[test]
fn acks_in_clumps_measure_nothing() {
    let clump = |last: Mark| {
        let mut flow = Flow::with(
            Params {
                victims: Victims::F2,
                ..Params::default()
            },
            100_000,
        );
        flow.ack(0, Mark::None);
        flow.acks(7, 80, Mark::None);
        flow.ack(4000, last);
        flow
    };
    let flow = clump(Mark::None);
    assert_eq!((flow.bps(), flow.window()), (100 * GBPS, u64::MAX));
    // After a pause the silence is genuine: 8000 B in 4560 ns count.
    let victim = clump(Mark::Undetermined);
    assert_eq!(victim.bps(), 14_708_771_929);
    // A congested flow keeps its class and its bytes in flight until a window measures something.
    let mut flow = Flow::with(Params::default(), 101_000);
    flow.ack(0, Mark::Congested);
    flow.acks(7, 80, Mark::None);
    flow.ack(4000, Mark::None);
    assert_eq!((flow.bps(), flow.window()), (100 * GBPS, 100_000));
    flow.acks(26, 160, Mark::None);
    assert_eq!(flow.bps(), 51_352_000_000);
}

/// Equation (7): draining 100 packets at a tenth of the line takes longer than four T0.
#[test]
fn a_long_stop_halves_what_is_aimed_at() {
    let mut flow = Flow::with(Params::default(), 101_000);
    flow.ack(0, Mark::Congested);
    flow.acks(8, 800, Mark::Congested);
    // 10 Gbit/s of payload, T0 of which are 5200 B.
    assert_eq!(flow.bps(), 10_270_400_000);
    assert!(flow.pair.cc.stopped_until().is_some());
    assert_eq!(flow.pair.cc.target(), BitRate::from_gbps(50));
}

/// A flow with less left to send than its excess does not stop for it.
#[test]
fn a_flow_that_ends_within_its_stop_does_not_stop() {
    let stops = |left: u64| {
        let mut flow = Flow::with(Params::default(), 61_000);
        flow.ack(0, Mark::Congested);
        let packet = Outgoing {
            seq: 60_000,
            payload: 1000,
            snd_una: 1000,
            // By the end of the window, 26 more packets will have been sent.
            end: flow.sent + 25_000 + left,
        };
        assert_eq!(flow.pair.tag(&packet), 0);
        flow.acks(26, 160, Mark::None);
        assert_eq!(flow.bps(), 51_352_000_000);
        flow.pair.cc.stopped_until().is_some()
    };
    assert!(!stops(33_000) && stops(33_001));
}

/// Equation (8), at 50 Gbit/s of payload, 52.4 on the wire.
#[test]
fn victims_by_hand() {
    let after = |victims| {
        let mut flow = Flow::with(
            Params {
                victims,
                ..Params::default()
            },
            61_000,
        );
        flow.ack(0, Mark::Undetermined);
        flow.acks(26, 160, Mark::Undetermined);
        assert_eq!(
            (flow.window(), flow.pair.cc.target()),
            (u64::MAX, BitRate::from_gbps(100))
        );
        flow.bps()
    };
    assert_eq!(after(Victims::Hold), 100 * GBPS);
    assert_eq!(after(Victims::F1), 76_200_000_000);
    assert_eq!(after(Victims::F2), 52_400_000_000);
}

/// Two congested marks out of four: `ce-share` decides whether the flow is congested.
#[test]
fn the_share_of_congested_marks_decides() {
    let bps = |ce_share| {
        let mut flow = Flow::with(
            Params {
                ce_share,
                ..Params::default()
            },
            61_000,
        );
        flow.acks(1, 160, Mark::Congested);
        flow.acks(23, 160, Mark::None);
        flow.acks(1, 160, Mark::Congested);
        flow.acks(2, 160, Mark::Undetermined);
        (flow.bps(), flow.window() == u64::MAX)
    };
    assert_eq!(bps(0.5), (51_352_000_000, false));
    assert_eq!(bps(0.51), (100 * GBPS, true));
}

/// Equation (9) with F = 2, from 50 Gbit/s to a target of 100: half-way twice, then 1 and 5 Gbit/s more.
#[test]
fn increases_by_hand() {
    let mut flow = Flow::with(
        Params {
            recovery_steps: 2,
            margin: 0.0,
            ..Params::default()
        },
        27_000,
    );
    flow.ack(0, Mark::Congested);
    flow.acks(26, 160, Mark::None);
    assert_eq!(flow.bps(), 52_400_000_000);
    flow.pair.cc.target = BitRate::from_gbps(60);
    // Skip the packets in flight at the decrease, and the first ACK of a window.
    flow.acks(27, 160, Mark::None);
    let mut next = || {
        flow.acks(26, 160, Mark::None);
        flow.bps()
    };
    assert_eq!([next(), next()], [56_200_000_000, 58_100_000_000]);
    assert_eq!([next(), next()], [59_550_000_000, 60_775_000_000]);
    assert_eq!([next(), next()], [63_887_500_000, 67_943_750_000]);
    assert_eq!(flow.pair.cc.target(), BitRate::from_gbps(72));
}

/// Equation (10): at most one halving per T0.
#[test]
fn losses_halve_once_per_round_trip() {
    let mut flow = Flow::of(&Params::default());
    let nack = AckInfo {
        nack: true,
        newly_acked: 0,
        ..ack(0, 0)
    };
    flow.pair.ack(&nack);
    flow.pair.ack(&nack);
    assert_eq!(flow.bps(), 50 * GBPS);
    flow.pair.advance(Span::from_ns(4160));
    flow.pair.timeout();
    assert_eq!(
        (flow.bps(), flow.pair.cc.target()),
        (25 * GBPS, BitRate::from_gbps(50))
    );
}

fn mark() -> impl Strategy<Value = Mark> {
    prop_oneof![Just(Mark::None), Just(Mark::Undetermined), Just(Mark::Congested)]
}

proptest! {
    /// For any sequence of ACKs: the rate stays within its bounds, a decrease never raises it, the target is
    /// not below the rate after an increase, and a stop always ends, because it waits for bytes in flight.
    #[test]
    fn rate_and_stops_stay_within_bounds(
        policy in 0usize..3,
        gaps in prop::collection::vec((0u64..3000, mark(), 1u64..30), 1..400),
    ) {
        let victims = [Victims::Hold, Victims::F1, Victims::F2][policy];
        let mut flow = Flow::with(Params { victims, ..Params::default() }, 100_000);
        for (gap, mark, more) in gaps {
            let before = flow.bps();
            flow.ack(gap, mark);
            let now = flow.bps();
            prop_assert!((100_000_000..=100 * GBPS).contains(&now));
            if now > before {
                prop_assert!(mark == Mark::None && now <= flow.pair.cc.target().as_bps());
            }
            if let Some(until) = flow.pair.cc.stopped_until() {
                prop_assert!(flow.acked < until && until < flow.sent);
                prop_assert!(flow.window() >= 1000 && flow.window() < flow.sent - flow.acked);
            }
            let may = flow.window().saturating_sub(flow.sent - flow.acked) / 1000;
            flow.sent += 1000 * may.min(more);
            if flow.sent == flow.acked {
                flow.sent += 1000;
            }
        }
    }
}
