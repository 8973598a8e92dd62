//! The metrics are those of the reference: from its own lists they make its own numbers.

use std::io::Read as _;

use flate2::read::GzDecoder;

use super::super::port::{PortEvents, reaches, step_mean};
use super::fct::{by_size, ideal};
use super::flows::{FULL, after_join, after_leave, between_ends, slot_jain};
use super::tail::events_per_trip;

macro_rules! reference {
    ($path:literal) => {
        include_bytes!(concat!("../../../../../validation/bolt-ns3/", $path)).as_slice()
    };
}

/// A number of a reference run.
fn derived(run: &str, metric: &str) -> Option<f64> {
    let all = std::str::from_utf8(reference!("derived.tsv")).unwrap();
    let mut rows = all.lines().map(|line| line.split('\t'));
    rows.find_map(|mut row| {
        (row.next() == Some(run) && row.next() == Some(metric)).then(|| row.next()?.parse().ok())?
    })
}

/// The rows of a list, without its head.
fn rows(content: &[u8]) -> Vec<Vec<f64>> {
    let mut text = String::new();
    if content.starts_with(&[0x1f, 0x8b]) {
        GzDecoder::new(content).read_to_string(&mut text).unwrap();
    } else {
        text.push_str(std::str::from_utf8(content).unwrap());
    }
    let row = |line: &str| line.split('\t').map(|field| field.parse().unwrap()).collect();
    text.lines().skip(1).map(row).collect()
}

/// A port from the reference's lists: 1502 bytes at 100 Gbit/s take 120 ns there.
fn port(queue: &[u8], sent: &[u8]) -> PortEvents {
    PortEvents {
        queue: rows(queue).iter().map(|row| (row[0], row[1])).collect(),
        sent: rows(sent).iter().map(|row| row[0]).collect(),
        packet: 120.0,
    }
}

/// Equal to the digits that the reference prints.
fn assert_is(ours: Option<f64>, run: &str, metric: &str, unit: f64) {
    let theirs = derived(run, metric).unwrap_or_else(|| panic!("{run} has no {metric}"));
    let ours = ours.unwrap_or_else(|| panic!("no {metric}")) * unit;
    assert!(
        (ours - theirs).abs() <= 6e-6 * theirs.abs(),
        "{metric}: {ours}, {theirs}"
    );
}

/// The second flow's first packet: 1272 ns and 117 ns on the sender's link after 100 µs.
#[test]
fn a_join() {
    let events = port(
        reference!("join100_bolt/queue_events_90_190us.tsv"),
        reference!("join100_bolt/tx_start_90_190us.tsv"),
    );
    let join = 101_389.0;
    let taken = after_join(&events, join);
    let value = |name: &str| taken.iter().find(|(known, _)| *known == name).unwrap().1;
    assert_is(value("peak"), "join100_bolt", "queue_peak", 1e3);
    assert_is(
        value("peak_bdp"),
        "join100_bolt",
        "queue_peak_over_100kB_bdp",
        1.0,
    );
    assert_is(
        value("peak_at"),
        "join100_bolt",
        "queue_peak_time_after_first_pkt",
        1.0,
    );
    assert_is(
        value("empty_rtts"),
        "join100_bolt",
        "queue_zero_after_join_rtts",
        1.0,
    );
    let rtt = super::RTT;
    let share = |from: f64, to: f64| Some(100.0 * events.utilisation(join + from * rtt, join + to * rtt));
    assert_is(share(0.0, 1.0), "join100_bolt", "util_rtt_0_1", 1.0);
    assert_is(share(1.0, 2.0), "join100_bolt", "util_rtt_1_2", 1.0);
    assert_is(share(2.0, 3.0), "join100_bolt", "util_rtt_2_3", 1.0);
    assert_is(share(4.0, 6.0), "join100_bolt", "util_rtt_4_6", 1.0);
}

/// The last packet of the flow that ends: its arrival at 197.422 µs less two links and 117 ns.
#[test]
fn a_leave() {
    let events = port(b"", reference!("leave200_bolt/tx_start_170_300us.tsv"));
    let leave = 194_761.0;
    let cwnd = rows(reference!("leave200_bolt/cwnd.tsv"));
    let window: Vec<(f64, f64)> = cwnd
        .iter()
        .filter(|row| row[1] == 1.0)
        .map(|row| (row[0], row[2]))
        .collect();
    let taken = after_leave(&events, &window, leave);
    let value = |name: &str| taken.iter().find(|(known, _)| *known == name).unwrap().1;
    // The list ends 105 µs after the leave; the link is never idle after that.
    assert_is(
        value("idle"),
        "leave200_bolt",
        "link_idle_time_600us_after_leave",
        1.0,
    );
    assert_is(
        value("bdp95"),
        "leave200_bolt",
        "cwnd_reaches_95pct_of_97260B",
        1.0,
    );
    assert_is(value("stable"), "leave200_bolt", "cwnd_reaches_98pct_of_max", 1.0);
    assert_is(value("largest"), "leave200_bolt", "cwnd_max_after", 1e3);
    let full = reaches(&window, leave, FULL);
    assert_is(full, "leave200_bolt", "cwnd_reaches_100pct_of_97260B", 1e-3);
}

#[test]
fn between_the_first_and_the_last_end() {
    let events = port(
        reference!("star5m1500_bolt/queue_events_0_260us.tsv"),
        reference!("star5m1500_bolt/tx_start_0_260us.tsv"),
    );
    let fct = rows(reference!("star5m1500_bolt/fct.tsv"));
    let ends: Vec<f64> = fct.iter().map(|row| row[5]).collect();
    let share = between_ends(&events, &ends, 1048.0).unwrap();
    let theirs = derived("star5m1500_bolt", "util_first_to_last_completion").unwrap();
    // Packets that end a message are short; where they stand at an end of the stretch matters.
    assert!((share - theirs).abs() < 0.01, "{share}, {theirs}");
    let (first, last) = (167_461.0 - 1048.0, 219_872.0 - 1048.0);
    assert_is(
        Some(events.mean(first, last)),
        "star5m1500_bolt",
        "queue_mean_first_to_last",
        1.0,
    );
    let peak = events.peak(0.0, 260_000.0).map(|(_, bytes)| bytes);
    assert_is(peak, "star5m1500_bolt", "queue_max", 1.0);
}

/// The reference's means are over its bins, ours over time: the indices agree to a few 1e-4.
#[test]
fn shares_of_slots() {
    let cwnd = rows(reference!("fair5_bolt/cwnd.tsv.gz"));
    let of = |flow: f64| -> Vec<(f64, f64)> {
        let rows = cwnd.iter().filter(|row| row[1] == flow);
        rows.map(|row| (row[0], row[2])).collect()
    };
    let windows = [0.0, 1.0, 2.0, 3.0, 4.0].map(of);
    for slot in 0..9 {
        let ours = slot_jain(&windows, slot, (1.0, 2.0)).unwrap();
        let theirs = derived("fair5_bolt", &format!("slot{slot}_1-2ms_jain_cwnd")).unwrap();
        assert!((ours - theirs).abs() < 3e-4, "slot {slot}: {ours}, {theirs}");
    }
}

#[test]
fn slowdowns_by_size() {
    let fct = rows(reference!("star16_fb_bolt/fct.tsv.gz"));
    let slowdowns: Vec<(u64, f64)> = fct
        .iter()
        .map(|row| {
            let size = row[3] as u64;
            (size, f64::max(1.0, (row[6] - row[4]) / ideal(size, 2, 1048.0)))
        })
        .collect();
    let taken = by_size(&slowdowns);
    let value = |name: &str| taken.iter().find(|(known, _)| *known == name).unwrap().1;
    for (name, metric) in [
        ("p50_1k", "slowdown[0-1000]_p50"),
        ("p99_1k", "slowdown[0-1000]_p99"),
        ("p50_62k", "slowdown[10000-62420]_p50"),
        ("p99_300k", "slowdown[62420-300000]_p99"),
        ("p99_20m", "slowdown[2000000-20000000]_p99"),
        ("p50_all", "slowdown[all]_p50"),
        ("p99_all", "slowdown[all]_p99"),
    ] {
        assert_is(value(name), "star16_fb_bolt", metric, 1.0);
    }
}

/// A queue of 0, 10, 20 and 0 bytes for 1, 2, 3 and 4 ns.
#[test]
fn percentiles_over_events_and_over_time() {
    let events = PortEvents {
        queue: vec![(0.0, 0.0), (1.0, 10.0), (3.0, 20.0), (6.0, 0.0), (10.0, 30.0)],
        ..PortEvents::default()
    };
    assert_eq!(
        events.event_percentiles([0.0, 0.5, 0.99]),
        [Some(0.0), Some(10.0), Some(30.0)]
    );
    let percentile = |share| events.time_percentile(0.0, 10.0, share);
    assert_eq!(
        [percentile(0.5), percentile(0.6), percentile(1.0)],
        [Some(0.0), Some(10.0), Some(20.0)]
    );
    assert_eq!(events.mean(0.0, 10.0), 8.0);
    assert_eq!(step_mean(&events.queue, 2.0, 4.0), 15.0);
}

/// Transmissions of 10 ns at 0, 10, 25 and 50 ns.
#[test]
fn idle_time() {
    let events = PortEvents {
        sent: vec![0.0, 10.0, 25.0, 50.0],
        packet: 10.0,
        ..PortEvents::default()
    };
    assert_eq!(events.idle(0.0, 40.0), 5.0 + 15.0);
    assert_eq!(
        events.idle(12.0, 40.0),
        20.0,
        "what is idle after a packet that began before"
    );
    assert_eq!(events.idle(22.0, 24.0), 3.0, "what lies before does not count");
    assert_eq!(events.utilisation(0.0, 50.0), 30.0 / 50.0);
    assert_eq!(events.utilisation(5.0, 15.0), 1.0);
    assert_eq!(events.least_utilisation(0.0, 50.0, 10.0, 5.0), 0.0);
}

/// What the reference says of its ensemble: paired differences of -4.74, -0.14 and -9.97 points.
#[test]
fn the_ensemble() {
    let patterns = rows(reference!("star5_ensemble_mtu1500.tsv"));
    assert_eq!(patterns.len(), 50);
    let differences = [8, 10, 12].map(|column| {
        let sum: f64 = patterns.iter().map(|row| row[column] - row[6]).sum();
        (sum / 50.0 * 100.0).round() / 100.0
    });
    assert_eq!(differences, [-4.74, -0.14, -9.97]);
}

/// Two links, four round trips of 5 us: two events in one of them, one in another, one outside.
#[test]
fn events_of_round_trips() {
    let events = [(0, 101e-6), (0, 104e-6), (1, 117e-6), (1, 99e-6)];
    let (mean, some) = events_per_trip(&events, 2, (100e-6, 120e-6));
    assert!((mean - 3.0 / 8.0).abs() < 1e-12);
    assert!((some - 2.0 / 8.0).abs() < 1e-12);
}
