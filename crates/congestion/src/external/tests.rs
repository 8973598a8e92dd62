use super::*;
use crate::testkit::{Pair, ack, star_path};

fn limits(gbps: u64) -> SendLimits {
    SendLimits {
        rate: BitRate::from_gbps(gbps),
        window: Bytes::new(9000),
    }
}

fn pair(params: &Params) -> Pair<External> {
    Pair::new(star_path(), |path| External::new(params, path))
}

#[test]
fn it_asks_once_per_round_trip_and_tells_what_it_counted() {
    let mut pair = pair(&Params::default());
    pair.advance(Span::from_us(4));
    pair.ack(&ack(1000, 50_000));
    assert!(pair.deciding(), "the first acknowledgement of all");
    assert_eq!(pair.cc.report().unwrap().tally.acks, 1);
    pair.answer(limits(20));
    assert_eq!(pair.cc.limits(), limits(20));
    pair.advance(Span::from_us(2));
    pair.ack(&AckInfo {
        mark: crate::Mark::Congested,
        ..ack(50_000, 80_000)
    });
    assert!(!pair.deciding(), "that packet was sent before");
    pair.ack(&AckInfo {
        rtt: Span::from_ns(8320),
        nack: true,
        ..ack(51_000, 80_000)
    });
    assert!(pair.deciding());
    let report = *pair.cc.report().unwrap();
    let tally = report.tally;
    assert_eq!(
        (tally.acks, tally.acked, tally.marked, tally.nacks),
        (2, 2000, 1, 1)
    );
    assert_eq!(
        (tally.rtt_mean(), tally.rtt_last),
        (Span::from_ns(6240), Span::from_ns(8320))
    );
    assert_eq!(report.span(), Span::from_us(2));
    assert_eq!((report.limits, report.in_flight), (limits(20), 29_000));
}

#[test]
fn it_waits_for_the_interval_and_for_its_answer() {
    let mut pair = pair(&Params {
        interval: Span::from_us(10),
        ..Params::default()
    });
    pair.advance(Span::from_us(4));
    pair.ack(&ack(1000, 2000));
    pair.ack(&ack(3000, 4000));
    assert_eq!(pair.cc.report().unwrap().tally.acks, 1, "an answer is on its way");
    pair.answer(limits(20));
    pair.advance(Span::from_us(9));
    pair.ack(&ack(5000, 6000));
    assert!(!pair.deciding());
    pair.advance(Span::from_us(1));
    pair.ack(&ack(6000, 7000));
    assert!(pair.deciding());
    pair.answer(limits(20));
    pair.timeout();
    assert!(pair.deciding(), "a timeout is news");
    assert_eq!(pair.cc.report().unwrap().tally.timeouts, 1);
}

/// At 10 Gbit/s packets are closer than round trips: silence is three of the latter.
#[test]
fn it_asks_when_nothing_comes_back() {
    let mut pair = pair(&Params {
        silence: 3.0,
        ..Params::default()
    });
    let patience = Span::from_ps(3 * star_path().base_rtt.as_ps());
    let nearly = patience - Span::from_ps(1);
    pair.advance(nearly);
    pair.send(Bytes::new(1000));
    pair.advance(nearly);
    assert!(!pair.deciding(), "what was not sent cannot be answered");
    pair.advance(Span::from_ps(1));
    assert!(pair.deciding());
    assert_eq!(pair.cc.report().unwrap().tally.timeouts, 1);
    pair.answer(limits(20));
    pair.advance(nearly);
    pair.ack(&ack(1000, 50_000));
    assert!(pair.deciding(), "it is answered");
    assert_eq!(pair.cc.report().unwrap().tally.timeouts, 0);
    pair.answer(limits(20));
    // From here on nothing is in flight.
    pair.ack(&ack(50_000, 50_000));
    pair.advance(patience + patience);
    assert!(!pair.deciding());
}

/// Bytes below a gap count as in flight until they are acknowledged, so a silence about them is noticed.
#[test]
fn a_gap_is_in_flight() {
    let mut pair = pair(&Params {
        silence: 3.0,
        ..Params::default()
    });
    pair.advance(Span::from_us(4));
    pair.send(Bytes::new(1000));
    // Packets 0 to 2 of 50 are missing.
    pair.ack(&AckInfo {
        delivered: 47_000,
        ..ack(50_000, 50_000)
    });
    assert!(pair.deciding());
    assert_eq!(pair.cc.report().unwrap().in_flight, 3_000);
    pair.answer(limits(20));
    pair.advance(Span::from_us(20));
    assert!(pair.deciding(), "nothing came back of what is missing");
    assert_eq!(pair.cc.report().unwrap().tally.timeouts, 1);
}

#[test]
fn aligned_flows_ask_at_multiples() {
    let mut pair = pair(&Params {
        clock: Clock::Aligned,
        interval: Span::from_us(10),
        ..Params::default()
    });
    pair.advance(Span::from_us(4));
    pair.ack(&ack(1000, 2000));
    assert!(!pair.deciding());
    pair.advance(Span::from_us(6));
    assert!(pair.deciding());
    pair.answer(limits(20));
    pair.advance(Span::from_ns(9999));
    assert!(!pair.deciding());
    pair.advance(Span::from_ns(1));
    assert!(pair.deciding(), "also without news");
    assert_eq!(pair.cc.report().unwrap().tally.acks, 0);
    assert_eq!(
        pair.cc.report().unwrap().tally.rtt_mean(),
        Span::from_ns(4160),
        "the last known"
    );
}

#[test]
fn rates_stay_in_their_bounds() {
    let mut pair = pair(&Params::default());
    pair.ack(&ack(1000, 2000));
    pair.answer(SendLimits {
        rate: BitRate::from_bps(1),
        ..limits(1)
    });
    assert_eq!(pair.rate(), BitRate::from_bps(1_000_000));
    pair.ack(&ack(3000, 4000));
    pair.answer(limits(400));
    assert_eq!(pair.rate(), BitRate::from_gbps(100));
}

#[test]
fn an_aligned_clock_needs_an_interval() {
    let params = Params {
        clock: Clock::Aligned,
        ..Params::default()
    };
    assert!(params.check().unwrap_err().to_string().contains("above 0"));
}
