use proptest::prelude::*;

use super::*;
use paceline_lab::files::{QUEUE, Range};

/// Decodes a packed track like the page's script.
pub(crate) fn unpack(packed: &Packed) -> Vec<Run> {
    let text = packed.data.trim_end_matches('=').bytes();
    let six = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let bits: Vec<u8> = text
        .flat_map(|letter| (0..6).rev().map(move |i| six(letter) >> i & 1))
        .collect();
    let whole = bits.chunks_exact(8);
    let bytes: Vec<u8> = whole
        .map(|byte| byte.iter().fold(0, |all, bit| all << 1 | bit))
        .collect();
    let mut rest = bytes.iter();
    let mut varint = || {
        let (mut number, mut shift) = (0u64, 0);
        loop {
            let byte = rest.next()?;
            number |= u64::from(byte & 127) << shift;
            shift += 7;
            if *byte < 128 {
                return Some(number);
            }
        }
    };
    let (mut runs, mut next, mut mean): (Vec<Run>, u64, i64) = (Vec::new(), 0, 0);
    while let Some(head) = varint() {
        match head {
            0 => {
                let more = varint().unwrap();
                runs.last_mut().unwrap().count += more;
                next += more;
            }
            1 => next += varint().unwrap(),
            _ => {
                let change = head - 2;
                mean += (change >> 1) as i64 ^ -((change & 1) as i64);
                let [below, above] = match packed.ranges {
                    true => [varint().unwrap(), varint().unwrap()].map(|size| size as i64),
                    false => [0, 0],
                };
                let value = |whole: i64| whole as f64 * packed.step;
                runs.push(Run {
                    number: next,
                    count: 1,
                    min: value(mean - below),
                    max: value(mean + above),
                    mean: value(mean),
                    share: 1.0,
                });
                next += 1;
            }
        }
    }
    runs
}

/// Returns minimum, maximum and mean of each bin of a track, by number; `None` in gaps.
fn bins(runs: &[Run]) -> Vec<Option<[f64; 3]>> {
    let mut all = Vec::new();
    for run in runs {
        all.resize(run.number as usize, None);
        all.resize(
            (run.number + run.count) as usize,
            Some([run.min, run.max, run.mean]),
        );
    }
    all
}

const WIDTH: u64 = 200_000;

/// Returns a series of samples with ranges of equal values, in the written format.
fn series(values: &[u64]) -> Series {
    let mut points: Vec<(u64, f64)> = Vec::new();
    for (k, &value) in values.iter().enumerate() {
        if points.last().is_none_or(|last| last.1 != value as f64) || k + 1 == values.len() {
            points.push((7_000_000 + k as u64 * WIDTH, value as f64));
        }
    }
    Series {
        period_ps: WIDTH,
        bin_ps: WIDTH,
        ..Series::new("port 0.1->1", QUEUE, points)
    }
}

fn values() -> impl Strategy<Value = Vec<u64>> {
    let stretch = prop_oneof![
        2 => (0u64..40, 1usize..300).prop_map(|(packets, count)| vec![1048 * packets; count]),
        2 => (1usize..200).prop_map(|count| vec![0; count]),
        3 => prop::collection::vec((0u64..2000).prop_map(|packets| 1048 * packets), 1..60),
        1 => prop::collection::vec(0u64..30_000_000, 1..20),
    ];
    prop::collection::vec(stretch, 1..20).prop_map(|parts| parts.concat())
}

proptest! {
    /// The finest level equals the record; each wider one has its smallest, largest and mean; and so has the page's
    /// decoding, to a millionth of the largest value.
    #[test]
    fn every_level_tells_what_was_recorded(values in values()) {
        let mut track = Track::of(&series(&values));
        let largest = *values.iter().max().unwrap() as f64;
        for level in 0..8 {
            let parts = values.chunks(1 << level).map(|part| {
                let mean = part.iter().sum::<u64>() as f64 / part.len() as f64;
                [*part.iter().min().unwrap() as f64, *part.iter().max().unwrap() as f64, mean]
            });
            let expected: Vec<[f64; 3]> = parts.collect();
            let found: Vec<[f64; 3]> = bins(&track.runs).into_iter().map(|bin| bin.unwrap()).collect();
            prop_assert_eq!(found.len(), expected.len());
            let packed = track.pack(1e6, 1.0, 1.0);
            prop_assert_eq!((packed.origin, packed.width), (7.0, 0.2 * f64::from(1 << level)));
            let shown: Vec<[f64; 3]> = bins(&unpack(&packed)).into_iter().map(|bin| bin.unwrap()).collect();
            prop_assert_eq!(shown.len(), expected.len());
            for ((found, shown), expected) in found.iter().zip(&shown).zip(&expected) {
                prop_assert_eq!(found[..2].to_vec(), expected[..2].to_vec());
                prop_assert!((found[2] - expected[2]).abs() <= 1e-9 * expected[2]);
                let slack = 1e-6 * largest;
                // A single value is rounded; bounds stay bounds.
                let tight = if packed.ranges { 1e-9 * largest } else { slack };
                if level == 0 && largest <= 16e6 {
                    prop_assert_eq!(*shown, *expected, "exact");
                }
                prop_assert!(shown[0] <= expected[0] + tight && shown[0] >= expected[0] - 2.0 * slack);
                prop_assert!(shown[1] >= expected[1] - tight && shown[1] <= expected[1] + 2.0 * slack);
                prop_assert!((shown[2] - expected[2]).abs() <= slack);
            }
            track = track.wider();
        }
    }
}

#[test]
fn what_the_run_thinned_is_drawn_as_it_was_kept() {
    let range = |min, max| Range { min, max, last: min };
    let series = Series {
        period_ps: 10,
        bin_ps: 40,
        ranges: vec![range(2.0, 9.0), range(3.0, 3.0), range(0.0, 3.0)],
        ..Series::new("flow 1", QUEUE, vec![(87, 5.0), (120, 3.0), (240, 1.0)])
    };
    let track = Track::of(&series);
    // The first sample was taken within a bin.
    assert_eq!((track.origin_ps, track.begin_ps, track.end_ps()), (80, 87, 280));
    assert_eq!((track.recorded_ps, track.kept_ps, track.width_ps), (10, 40, 40));
    let run = |number, count, min, max, mean, share| Run {
        number,
        count,
        min,
        max,
        mean,
        share,
    };
    let expected = [
        run(0, 1, 2.0, 9.0, 5.0, 1.0),
        run(1, 3, 3.0, 3.0, 3.0, 1.0),
        run(4, 1, 0.0, 3.0, 1.0, 1.0),
    ];
    assert_eq!(track.runs, expected);
    let wide = track.wider();
    let expected = [
        run(0, 1, 2.0, 9.0, 4.0, 1.0),
        run(1, 1, 3.0, 3.0, 3.0, 1.0),
        run(2, 1, 0.0, 3.0, 1.0, 0.5),
    ];
    assert_eq!((wide.runs, wide.width_ps), (expected.to_vec(), 80));
}

#[test]
fn a_series_of_unknown_resolution_has_that_of_its_times() {
    let track = Track::of(&Series::new(
        "flow 0",
        QUEUE,
        vec![(100, 1.0), (160, 2.0), (250, 0.0)],
    ));
    assert_eq!((track.origin_ps, track.width_ps, track.end_ps()), (100, 30, 280));
}

#[test]
fn counts_add_up() {
    let counts = [0, 3, 0, 0, 7, 1, 0];
    let track = Track::of_counts(50, 10, counts);
    let wide = track.wider();
    let found: Vec<f64> = bins(&wide.runs).into_iter().map(|bin| bin.unwrap()[2]).collect();
    assert_eq!(found, [3.0, 0.0, 8.0, 0.0]);
    let packed = wide.pack(1.0, 1.0, 1.0);
    assert!(packed.counts && !packed.ranges);
    assert_eq!(bins(&unpack(&packed)), bins(&wide.runs));
}

#[test]
fn gaps_stay_gaps() {
    let mut track = Track::of_counts(0, 10, [4]);
    track.counts = false;
    track.push_value(6, 4.0);
    let packed = track.pack(1.0, 1.0, 1.0);
    assert_eq!(unpack(&packed), track.runs);
    assert_eq!(
        track
            .wider()
            .runs
            .iter()
            .map(|run| run.number)
            .collect::<Vec<_>>(),
        [0, 3]
    );
}

/// Samples at arbitrary times are correct in the page's decoding at every level: each bin only contains values of its
/// samples.
#[test]
fn samples_at_any_times_are_told_at_every_level() {
    let mut at = 3_000_000u64;
    let samples: Vec<(u64, f64)> = (0..5_000u64)
        .map(|k| {
            at += 4_000_000 + k * 7_919 % 3_000_000;
            (at, 4.16 + (k * 31 % 997) as f64 / 10.0)
        })
        .collect();
    let finest = Track::of_samples(&samples);
    // Each sample has its own bin.
    let kept = |track: &Track| bins(&unpack(&track.pack(1.0, 1.0, 1e-6)));
    let close = |a: f64, b: f64| (a - b).abs() <= finest.largest() / LEVELS;
    for &(at, value) in &samples {
        let bin = kept_bin(&finest, &kept(&finest), at);
        assert!(bin.iter().all(|&got| close(got, value)), "{bin:?}: {value}");
    }
    let mut track = finest.clone();
    for _ in 0..10 {
        track = track.wider();
        let got = kept(&track);
        let index = |at: u64| (at - track.origin_ps) / track.width_ps;
        for (k, of_bin) in samples.chunk_by(|a, b| index(a.0) == index(b.0)).enumerate() {
            let [min, max, mean] = kept_bin(&track, &got, of_bin[0].0);
            let of = |f: fn(f64, f64) -> f64, start| of_bin.iter().map(|one| one.1).fold(start, f);
            let (least, largest) = (of(f64::min, f64::INFINITY), of(f64::max, f64::NEG_INFINITY));
            assert!(
                min <= least + 1e-3 && max >= largest - 1e-3 && min <= mean && mean <= max,
                "bin {k}"
            );
            // The other value is the one that held at the start of the bin.
            let before = samples
                .iter()
                .rev()
                .find(|one| one.0 < of_bin[0].0)
                .map_or(least, |one| one.1);
            assert!(
                close(min, least.min(before)) || close(min, least),
                "{min} {least} {before}"
            );
            assert!(
                close(max, largest.max(before)) || close(max, largest),
                "{max} {largest} {before}"
            );
        }
    }
    // Both values at one time are kept, and too many bins are merged.
    let pair = Track::of_samples(&[(5, 1.0), (5, 3.0), (9, 2.0)]);
    assert_eq!(
        (pair.runs[0].min, pair.runs[0].max, pair.runs[0].mean),
        (1.0, 3.0, 2.0)
    );
    let many: Vec<(u64, f64)> = (0..300_000).map(|k| (k, (k % 7) as f64)).collect();
    let joined = Track::of_samples(&many);
    let last = joined.runs.last().unwrap();
    assert!(last.number + last.count <= SAMPLE_BINS_MAX + 1 && joined.width_ps == 5);
    assert!(
        joined
            .runs
            .iter()
            .all(|run| run.max - run.min >= 4.0 && run.min < run.mean && run.mean < run.max)
    );
    assert_eq!(Track::of_samples(&[]).runs, []);
}

fn kept_bin(track: &Track, bins: &[Option<[f64; 3]>], at: u64) -> [f64; 3] {
    bins[((at - track.origin_ps) / track.width_ps) as usize].expect("a bin of a sample")
}
