use super::*;
use crate::testkit::{Pair, ack, star_path};

/// Telemetry sample; 1250 bytes in 100 ns are 100 Gbit/s.
fn sample(at_ns: u64, tx_bytes: u64, queue_bytes: u32) -> HopSample {
    HopSample {
        at_ps: at_ns * 1000,
        tx_bytes,
        queue_bytes,
        rate_gbps: 0,
    }
}

fn pair(params: &Params) -> Pair<Hpcc> {
    Pair::new(star_path(), |path| Hpcc::new(params, path))
}

fn feed(pair: &mut Pair<Hpcc>, seq: u64, snd_nxt: u64, hops: &[HopSample]) {
    pair.ack(&AckInfo {
        hops,
        ..ack(seq, snd_nxt)
    });
}

#[test]
fn equations_2_to_4_by_hand() {
    let mut pair = pair(&Params::default());
    feed(&mut pair, 1000, 50_000, &[sample(0, 0, 10_400)]);
    assert_eq!(
        pair.rate(),
        BitRate::from_gbps(100),
        "the first ACK is only recorded"
    );
    // txRate is 50 Gbit/s and the queue term min(10400, 5200)/52000 = 0.1: u' = 0.6. tau = 1040 = T/4: U =
    // 0.75 * 1 + 0.25 * 0.6 = 0.9; R = 100 / (0.9/0.95) + 0.05 = 105.6, capped at the line's rate.
    feed(&mut pair, 2000, 60_000, &[sample(1040, 6500, 5200)]);
    assert!((pair.cc.utilisation() - 0.9).abs() < 1e-12);
    assert_eq!(pair.rate(), BitRate::from_gbps(100));
    // txRate 100 Gbit/s; u' = 1 + 5200/52000 = 1.1, tau capped at T: U = 1.1.
    feed(
        &mut pair,
        3000,
        60_000,
        &[sample(1040 + 8320, 6500 + 104_000, 52_000)],
    );
    assert!((pair.cc.utilisation() - 1.1).abs() < 1e-12);
    // R = 100 / (1.1 / 0.95) + 0.05 Gbit/s; Rc stays.
    assert_eq!(pair.rate().as_bps(), 86_363_636_363 + 50_000_000);
    assert_eq!(pair.cc.reference_rate(), BitRate::from_gbps(100));
    // Past 50000: a full update. At the same load U = 1.1; R follows from Rc, and Rc moves.
    feed(
        &mut pair,
        51_000,
        90_000,
        &[sample(9360 + 4160, 110_500 + 52_000, 5200)],
    );
    assert_eq!(pair.rate().as_bps(), 86_413_636_363);
    assert_eq!(pair.cc.reference_rate(), pair.rate());
}

#[test]
fn stages_of_additive_increase() {
    let mut pair = pair(&Params {
        max_stage: 1,
        rate_ai: Auto::Is(BitRate::from_gbps(1)),
        ..Params::default()
    });
    feed(&mut pair, 1, 10, &[sample(0, 0, 0)]);
    // The queue counts once it is in both samples: U = 1, R = 96; then 1.9: R = 48 + 1 Gbit/s.
    feed(&mut pair, 11, 20, &[sample(4160, 52_000, 46_800)]);
    feed(&mut pair, 21, 30, &[sample(8320, 104_000, 46_800)]);
    let halved = pair.rate().as_bps();
    assert!((halved as i64 - 49_000_000_000).abs() < 2, "{halved}");
    // U = 0.475: one additive step, then (stage 1 >= max-stage) the multiplicative one.
    feed(&mut pair, 31, 40, &[sample(12_480, 104_000 + 24_700, 0)]);
    assert_eq!(pair.rate().as_bps(), halved + 1_000_000_000);
    feed(&mut pair, 41, 50, &[sample(16_640, 104_000 + 2 * 24_700, 0)]);
    assert_eq!(pair.rate(), BitRate::from_gbps(100));
}

#[test]
fn without_fast_reaction_only_full_updates_count() {
    let mut pair = pair(&Params {
        fast_react: false,
        ..Params::default()
    });
    feed(&mut pair, 1000, 50_000, &[sample(0, 0, 0)]);
    feed(&mut pair, 2000, 60_000, &[sample(4160, 52_000, 52_000)]);
    assert_eq!(
        (pair.rate(), pair.cc.utilisation()),
        (BitRate::from_gbps(100), 1.0)
    );
    // The ignored ACK's telemetry was not stored either: q_old is that of the first.
    feed(&mut pair, 51_000, 60_000, &[sample(8320, 104_000, 52_000)]);
    assert_eq!(pair.cc.utilisation(), 1.0);
    assert_eq!(pair.rate().as_bps(), 95_050_000_000);
}

/// Acknowledgements of `equations_2_to_4_by_hand`: the third moves the reference, from which the fourth
/// starts.
#[test]
fn over_reaction_moves_the_reference_with_every_ack() {
    let mut pair = pair(&Params {
        over_react: true,
        ..Params::default()
    });
    feed(&mut pair, 1000, 50_000, &[sample(0, 0, 10_400)]);
    feed(&mut pair, 2000, 60_000, &[sample(1040, 6500, 5200)]);
    feed(&mut pair, 3000, 60_000, &[sample(9360, 110_500, 52_000)]);
    assert_eq!(pair.rate().as_bps(), 86_413_636_363);
    assert_eq!(pair.cc.reference_rate(), pair.rate());
    // Still within the first round trip, U = 1.1 again: R = 86.4136 / (1.1 / 0.95) + 0.05 Gbit/s.
    feed(&mut pair, 4000, 60_000, &[sample(13_520, 162_500, 5200)]);
    assert_eq!(pair.rate().as_bps(), 74_679_958_677);
    assert_eq!(pair.cc.reference_rate(), pair.rate());
}

/// The queue grows by 26,000 bytes in a round trip while 104,000 leave, so 1.25 of the line's rate arrived.
/// Then it drains: 1.0 left and 0.75 arrived.
#[test]
fn received_bytes_count_a_growing_queue() {
    for (rx_rate, grown, shrunk) in [(false, 1.0, 1.0), (true, 1.25, 0.75)] {
        let mut pair = pair(&Params {
            rx_rate,
            ..Params::default()
        });
        feed(&mut pair, 1000, 50_000, &[sample(0, 0, 0)]);
        feed(&mut pair, 2000, 60_000, &[sample(8320, 104_000, 26_000)]);
        assert!((pair.cc.utilisation() - grown).abs() < 1e-12);
        feed(&mut pair, 3000, 60_000, &[sample(16_640, 208_000, 0)]);
        assert!((pair.cc.utilisation() - shrunk).abs() < 1e-12);
    }
}

#[test]
fn the_busiest_hop_sets_the_rate_and_its_line_rate_counts() {
    let mut path = star_path();
    path.hop_rates = vec![BitRate::from_gbps(400), BitRate::from_gbps(100)];
    let mut pair = Pair::new(path, |path| Hpcc::new(&Params::default(), path));
    feed(&mut pair, 1, 10, &[sample(0, 0, 0), sample(0, 0, 0)]);
    // 400G hop: 200/400 = 0.5. 100G hop: 80/100 = 0.8.
    feed(
        &mut pair,
        11,
        20,
        &[sample(4160, 104_000, 0), sample(4160, 41_600, 0)],
    );
    assert!((pair.cc.utilisation() - 0.8).abs() < 1e-12);
    // Now the 400G hop is a little busier: 340/400 = 0.85 against 0.8.
    let busier = [sample(8320, 280_800, 0), sample(8320, 83_200, 0)];
    feed(&mut pair, 21, 30, &busier);
    assert!((pair.cc.utilisation() - 0.85).abs() < 1e-12);
}

#[test]
fn rates_per_hop_with_sampled_feedback() {
    let mut path = star_path();
    path.hop_rates = vec![BitRate::from_gbps(100); 2];
    let params = Params {
        multi_rate: true,
        sample_feedback: true,
        ..Params::default()
    };
    let mut pair = Pair::new(path, |path| Hpcc::new(&params, path));
    feed(&mut pair, 1, 10, &[sample(0, 0, 0), sample(0, 0, 0)]);
    // Full update: hop 0 at u = 1.9 (queue 0.9 needs both samples), hop 1 at 0.475.
    feed(
        &mut pair,
        11,
        20,
        &[sample(4160, 52_000, 46_800), sample(4160, 24_700, 0)],
    );
    feed(
        &mut pair,
        21,
        30,
        &[sample(8320, 104_000, 46_800), sample(8320, 49_400, 0)],
    );
    let halved = pair.rate();
    assert!(halved < BitRate::from_gbps(50), "{halved}");
    // A fast ACK, hop 0 empty: skipped, but its Rc still bounds the rate; its INT is not stored.
    feed(
        &mut pair,
        22,
        30,
        &[sample(8330, 104_000, 0), sample(8330, 49_400, 100)],
    );
    assert_eq!(pair.rate(), halved);
    assert_eq!(pair.cc.hops[0].last, sample(8320, 104_000, 46_800));
    // Both hops are empty: the rate does not change.
    feed(&mut pair, 23, 30, &[sample(8340, 0, 0), sample(8340, 0, 0)]);
    assert_eq!(pair.cc.hops[1].last, sample(8330, 49_400, 100));
}

#[test]
fn no_window_means_division_by_zero_as_in_the_reference() {
    let mut path = star_path();
    path.bdp = Bytes::ZERO;
    let mut pair = Pair::new(path, |path| Hpcc::new(&Params::default(), path));
    feed(&mut pair, 1, 10, &[sample(0, 0, 0)]);
    // 0/0 is not larger than 0: U keeps 1, and each round trip divides by 1/0.95.
    for i in 1..=1000 {
        feed(&mut pair, i * 10 + 1, i * 10 + 10, &[sample(i * 4160, 0, 0)]);
    }
    assert_eq!(pair.cc.utilisation(), 1.0);
    assert_eq!(pair.rate().as_bps(), BitRate::from_gbps(1).as_bps());
    // A queue makes U infinite and the rate minimal.
    feed(&mut pair, 20_001, 20_002, &[sample(5_000_000, 0, 9)]);
    feed(&mut pair, 20_003, 20_004, &[sample(5_001_000, 0, 9)]);
    assert_eq!(pair.cc.utilisation(), f64::INFINITY);
    assert_eq!(pair.rate(), BitRate::from_gbps(1));
}

#[test]
fn telemetry_that_is_missing_or_changes_length_changes_no_rate() {
    let mut pair = pair(&Params::default());
    feed(&mut pair, 1000, 50_000, &[sample(0, 0, 0)]);
    feed(&mut pair, 51_000, 90_000, &[]);
    assert_eq!(
        (pair.rate(), pair.cc.last_update_seq),
        (BitRate::from_gbps(100), 90_000)
    );
    let two = [sample(1, 1, 99_999), sample(1, 1, 99_999)];
    feed(&mut pair, 91_000, 95_000, &two);
    assert_eq!((pair.rate(), pair.cc.hops.len()), (BitRate::from_gbps(100), 2));
}

#[test]
fn telemetry_of_another_way_is_only_recorded() {
    let mut pair = pair(&Params::default());
    let ack_by = |pair: &mut Pair<Hpcc>, path, seq, hops: &[HopSample]| {
        let snd_nxt = seq + 50_000;
        pair.ack(&AckInfo {
            hops,
            header_bits: path,
            ..ack(seq, snd_nxt)
        });
    };
    ack_by(&mut pair, 1, 1000, &[sample(0, 0, 10_400)]);
    // Counters of another port: compared with the first port's they would mean far more than line rate.
    ack_by(&mut pair, 2, 2000, &[sample(1040, 3_000_000_000, 50_000)]);
    assert_eq!(pair.cc.utilisation(), 1.0);
    assert_eq!(pair.rate(), BitRate::from_gbps(100));
    // The same port again, 50 Gbit/s and a tenth of the BDP queued: U = 0.75 + 0.25 * 0.6.
    ack_by(&mut pair, 2, 3000, &[sample(2080, 3_000_006_500, 5200)]);
    assert!((pair.cc.utilisation() - 0.9).abs() < 1e-12);
}

/// Path with the reference's header: 24 bits of ns, 20 bits of 512 bytes, five hops.
fn narrow_path(hop_rates: Vec<BitRate>) -> PathInfo {
    PathInfo {
        hop_rates,
        int: crate::api::IntFormat {
            time_wrap_ps: (1 << 24) * 1000,
            bytes_wrap: (1 << 20) * 512,
            room: 5,
        },
        ..star_path()
    }
}

/// The header encodes a hop of 40 Gbit/s as 25: at 20 Gbit/s its load is 0.8.
#[test]
fn the_rate_in_the_header_counts() {
    let path = narrow_path(vec![BitRate::from_gbps(40)]);
    let mut pair = Pair::new(path, |path| Hpcc::new(&Params::default(), path));
    let coded = |at_ns, tx_bytes| HopSample {
        rate_gbps: 25,
        ..sample(at_ns, tx_bytes, 0)
    };
    feed(&mut pair, 1000, 50_000, &[coded(0, 0)]);
    feed(&mut pair, 2000, 60_000, &[coded(4160, 10_400)]);
    assert!((pair.cc.utilisation() - 0.8).abs() < 1e-12);
}

/// After a failure a packet takes a longer path: its first hop is compared with the last sample of another
/// port, its second with zeros, both modulo the header's counters.
#[test]
fn the_references_header_is_compared_whatever_the_way() {
    let mut pair = Pair::new(narrow_path(vec![BitRate::from_gbps(100)]), |path| {
        Hpcc::new(&Params::default(), path)
    });
    feed(&mut pair, 1000, 50_000, &[sample(0, 26_000, 0)]);
    // In 2080 ns: 26 000 B on the first hop (100 Gbit/s), and on the second 15 600 B since zero (60 Gbit/s).
    let longer = [sample(2080, 52_000, 0), sample(2080, 15_600, 0)];
    feed(&mut pair, 2000, 60_000, &longer);
    assert!((pair.cc.utilisation() - 1.0).abs() < 1e-12);
    // Then the second hop at 120 Gbit/s: half of 1 plus half of 1.2.
    let longer = [sample(4160, 60_000, 0), sample(4160, 15_600 + 31_200, 0)];
    feed(&mut pair, 3000, 60_000, &longer);
    assert!((pair.cc.utilisation() - 1.1).abs() < 1e-12);
    // Again one hop, with a counter behind the last one: it has wrapped at 512 MiB.
    feed(&mut pair, 4000, 60_000, &[sample(8320, 60_000 - 512, 0)]);
    let wrapped = (512.0 * (1u64 << 20) as f64 - 512.0) * 8.0 / 4160e-9 / 100e9;
    assert!((pair.cc.utilisation() / wrapped - 1.0).abs() < 1e-12);
}

/// A flow pauses while others use its port: 10 s at half the line's rate are 62.5 GB, and give a half.
#[test]
fn a_long_pause_does_not_wrap_the_bytes_of_others() {
    let mut pair = pair(&Params::default());
    feed(&mut pair, 1000, 50_000, &[sample(0, 1000, 0)]);
    feed(
        &mut pair,
        51_000,
        90_000,
        &[sample(10_000_000_000, 1000 + 62_500_000_000, 0)],
    );
    assert!(
        (pair.cc.utilisation() - 0.5).abs() < 1e-12,
        "{}",
        pair.cc.utilisation()
    );
}
