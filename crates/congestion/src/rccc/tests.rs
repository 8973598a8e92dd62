use super::*;
use crate::testkit::{Pair, ack, star_path};

/// Sender at 100 Gbit/s and 4.16 us: an initial credit of 78,000 bytes, packets of 1000.
fn pair() -> Pair<Rccc> {
    let mut pair = Pair::new(star_path(), |path| Rccc::new(&Params::default(), path));
    pair.by_grants = true;
    pair
}

fn packet(seq: u64, end: u64) -> Outgoing {
    Outgoing {
        seq,
        payload: 1000,
        snd_una: 0,
        end,
    }
}

#[test]
fn credit_by_hand() {
    let mut pair = pair();
    // 200 kB are to be sent. Of the 199 kB after this packet it wants a window, minus its remaining credit of
    // 77 kB.
    assert_eq!(pair.words(&packet(0, 200_000)), FIRST + 1000u64.div_ceil(256));
    pair.send(Bytes::new(1000));
    assert_eq!(pair.cc.credit(), 77_000);
    // The first feedback drops the credit.
    pair.ack(&ack(1000, 2000));
    assert_eq!((pair.cc.credit(), pair.rate()), (0, BitRate::from_bps(0)));
    pair.grant(Grant(FIRST + 64));
    assert_eq!((pair.cc.credit(), pair.rate()), (16_384, BitRate::from_gbps(100)));
    // A reordered older grant changes nothing; a grant after a lost one covers both.
    pair.grant(Grant(FIRST + 32));
    pair.grant(Grant(FIRST + 192));
    assert_eq!(pair.cc.credit(), 49_152);
    assert_eq!(
        pair.words(&packet(1000, 200_000)),
        FIRST + 192 + (78_000u64 - 48_152).div_ceil(256)
    );
    pair.send(Bytes::new(1000));
    // Credit never exceeds the window.
    pair.grant(Grant(FIRST + 1000));
    assert_eq!(pair.cc.credit(), 78_000);
}

#[test]
fn the_last_packets_want_what_is_left() {
    let mut pair = pair();
    pair.ack(&ack(0, 0));
    // One packet follows this one, and one was trimmed.
    pair.ack(&AckInfo {
        nack: true,
        newly_acked: 0,
        ..ack(1000, 5000)
    });
    let target = pair.words(&packet(3000, 5000));
    assert_eq!(target, FIRST + (1000 + 1000 + 1000u64).div_ceil(256));
}

/// Ten packets, and credit for many more. The first feedback will drop that credit, so one packet is asked
/// for again.
#[test]
fn a_short_flow_asks_for_a_packet_all_the_same() {
    let mut pair = pair();
    assert_eq!(pair.words(&packet(0, 10_000)), FIRST + 1000u64.div_ceil(256));
    pair.send(Bytes::new(1000));
    pair.ack(&ack(1000, 2000));
    pair.grant(Grant(FIRST + 4));
    assert_eq!(pair.cc.credit(), 1024);
    // Afterwards it asks for all that is left.
    assert_eq!(
        pair.words(&packet(1000, 10_000)),
        FIRST + 4 + (8000u64 - 24).div_ceil(256)
    );
}

#[test]
fn a_grant_may_be_lost() {
    let mut pair = pair();
    pair.ack(&ack(0, 0));
    pair.advance(Span::from_us(999));
    assert_eq!(pair.rate(), BitRate::from_bps(0));
    pair.advance(Span::from_us(1));
    assert!(pair.rate() > BitRate::from_bps(0));
}

#[test]
fn silence_allows_one_packet() {
    let mut pair = pair();
    pair.ack(&ack(0, 0));
    assert_eq!(pair.rate(), BitRate::from_bps(0));
    pair.timeout();
    assert!(pair.rate() > BitRate::from_bps(0));
    pair.words(&packet(0, 5000));
    pair.send(Bytes::new(1000));
    assert_eq!(pair.rate(), BitRate::from_bps(0));
}

/// Two flows alternate at 99 % of the link's rate: 16,384 bytes take 1.324 us at 100 Gbit/s.
#[test]
fn a_host_grants_in_turn() {
    let mut host = Params::default()
        .grant_scheduler(BitRate::from_gbps(100))
        .expect("RCCC grants");
    let wants = |words| Arrived {
        words,
        ..Arrived::default()
    };
    host.on_data(Time::ZERO, 0, &wants(FIRST + 100));
    host.on_data(Time::ZERO, 1, &wants(FIRST + 64));
    let (mut at, mut grants) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let due = host.due().expect("a flow waits");
        at.push(due.as_ps());
        grants.push(
            host.grant(due)
                .map(|(flow, Grant(number))| (flow, number - FIRST)),
        );
    }
    assert_eq!(at, [0, 64 * 20_686, 128 * 20_686]);
    assert_eq!(grants, [Some((0, 64)), Some((1, 64)), Some((0, 100))]);
    // After both are complete one more call is due, which finds no flow.
    host.on_end(0);
    host.on_end(1);
    let due = host.due().expect("the look");
    assert_eq!(due.as_ps(), 164 * 20_686);
    assert_eq!((host.grant(due), host.due()), (None, None));
}

#[test]
fn quanta_take_their_time() {
    let times = [100, 200, 400, 800].map(|rate| quantum_time(rate * 1_000_000_000));
    assert_eq!(times, [20_686, 10_343, 5171, 2585]);
}

#[test]
fn flows_that_want_credit_take_turns_and_then_get_some_ahead() {
    let mut flows = [Wishes::default(), Wishes::default()];
    let mut pacer = Pacer::default();
    assert!(flows[0].raise(FIRST + 100) && pacer.request(0));
    assert!(flows[1].raise(FIRST + 64) && !pacer.request(1));
    let mut pull = || {
        let next = pacer.next(64 * QUANTUM, |flow| &mut flows[flow as usize]);
        next.map(|pull| (pull.flow, pull.number - FIRST, pull.quanta))
    };
    assert_eq!(pull(), Some((0, 64, 64)));
    assert_eq!(pull(), Some((1, 64, 64)));
    assert_eq!(pull(), Some((0, 100, 36)));
    // In advance: up to the window.
    assert_eq!(pull(), Some((1, 128, 64)));
    assert_eq!(pull(), Some((0, 164, 64)));
    assert_eq!(pull(), None);
}
