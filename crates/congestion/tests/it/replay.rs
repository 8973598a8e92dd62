//! Replays logs of the reference simulator: our schemes make the same decisions.
//!
//! `data/two-flows` holds logs of congestion control in HPCC's ns-3 simulator
//! (alibaba-edu/High-Precision-Congestion-Control, commit 9f4be2a): hosts 1 and 2 send 2 MB and 1 MB to host
//! 3 through one switch, over links of 100 Gbit/s and 1 us, the second flow 5 us after the first. Base RTT
//! 4160 ns, bandwidth-delay product 52000 B. Times in ns, rates in Gbit/s.
//!
//! * `hpcc.log` (its first 900 lines): `time update|fast sip dip sport dport [lastUpdateSeq,ackSeq,sndNxt]`,
//!   then `queue(last) txBytes(last) time(last) txRate u'` of the one hop, `u= U= dt= max_c= rate:Rc->new`. A
//!   flow's first line has only the telemetry. Telemetry has its wire precision: time modulo 2^24 ns, bytes
//!   modulo 2^20 times 512.
//! * `hpcc-rates.txt`, once per round trip: `time src dst sport ackSeq rtt rate`, the rate in bit/s before
//!   the ACK.
//! * `dcqcn.log`: `time what: sip dip sport dport (Rt R)->(Rt R)`. It does not contain the times of CNPs.
//! * `timely.log`: `time node rtt rttDiff gradient rate:old ^|v new`.
//! * `dctcp.log`: `time alpha sip dip sport dport [lastUpdateSeq,ackSeq,sndNxt] old->new F:`; a flow's first
//!   line has no new alpha.

use std::collections::BTreeMap;

use paceline_congestion::dcqcn::{self, Nic};
use paceline_congestion::dctcp::{self, Dctcp};
use paceline_congestion::hpcc::{self, Hpcc};
use paceline_congestion::testkit::{Pair, ack, star_path};
use paceline_congestion::timely::{self, Timely};
use paceline_congestion::{AckInfo, HopSample, IntFormat, Mark, PathInfo};
use paceline_kernel::{Span, Time};

fn path() -> PathInfo {
    PathInfo {
        int: IntFormat {
            time_wrap_ps: (1 << 24) * 1000,
            bytes_wrap: (1 << 20) * 512,
            room: 5,
        },
        ..star_path()
    }
}

/// Parses the number at the start of `text`.
fn number<T: std::str::FromStr>(text: &str) -> T {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
        .unwrap_or(text.len());
    text[..end]
        .parse()
        .unwrap_or_else(|_| panic!("no number at the start of `{text}`"))
}

/// Parses the number after `key` in `line`.
fn after<T: std::str::FromStr>(line: &str, key: &str) -> T {
    let start = line.find(key).unwrap_or_else(|| panic!("no `{key}` in `{line}`"));
    number(line[start + key.len()..].trim_start())
}

/// Parses the three numbers of `[lastUpdateSeq,ackSeq,sndNxt]`.
fn sequence_numbers(field: &str) -> [u64; 3] {
    let mut numbers = field
        .trim_matches(['[', ']'])
        .split(',')
        .map(|n| n.parse().unwrap());
    std::array::from_fn(|_| numbers.next().unwrap())
}

/// Returns the state of the flow with this key; creates it if necessary.
fn flow<'a, C>(flows: &'a mut BTreeMap<String, C>, key: &str, new: impl FnOnce() -> C) -> &'a mut C {
    flows.entry(key.to_string()).or_insert_with(new)
}

#[test]
fn hpcc_ack_by_ack() {
    let log = include_str!("../data/two-flows/hpcc.log");
    // Exact rates before some of the ACKs.
    let rates: BTreeMap<(u64, String), u64> = include_str!("../data/two-flows/hpcc-rates.txt")
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let address = format!("0b000{}01", fields[1]);
            ((number(fields[0]), address), number(fields[6]))
        })
        .collect();
    let (mut flows, mut acks, mut exact) = (BTreeMap::new(), 0, 0);
    for line in log.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let pair = flow(&mut flows, fields[2], || {
            Pair::new(path(), |path| Hpcc::new(&hpcc::Params::default(), path))
        });
        if let Some(&rate) = rates.get(&(number(fields[0]), fields[2].to_string())) {
            assert_eq!(pair.rate().as_bps(), rate, "bit/s before: {line}");
            exact += 1;
        }
        let before = format!("{:.3}", pair.cc.reference_rate().as_gbps_f64());
        let [_, seq, snd_nxt] = sequence_numbers(fields[6]);
        let hop = HopSample {
            queue_bytes: number(fields[7]),
            tx_bytes: number(fields[8]),
            at_ps: number::<u64>(fields[9]) * 1000,
            rate_gbps: 100,
        };
        pair.advance_to(Time::from_ns(number(fields[0])));
        pair.ack(&AckInfo {
            hops: &[hop],
            ..ack(seq, snd_nxt)
        });
        if fields.len() > 10 {
            acks += 1;
            let ours = format!("u={:.6}", pair.cc.utilisation());
            assert!(line.contains(&ours), "{ours}: {line}");
            let ours = format!("rate:{before}->{:.3}", pair.rate().as_gbps_f64());
            assert!(line.ends_with(&ours), "{ours}: {line}");
        }
    }
    assert_eq!((flows.len(), acks), (2, 898));
    assert!(exact >= 20, "{exact} exact rates");
}

#[test]
fn timely_round_by_round() {
    // The first round trip of each flow is only recorded; its log starts with the second.
    let first_rtt = |node| Span::from_ns(if node == "node:1" { 4176 } else { 4217 });
    let (mut flows, mut rounds) = (BTreeMap::new(), 0);
    for line in include_str!("../data/two-flows/timely.log").lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let (pair, seq) = flow(&mut flows, fields[1], || {
            let mut pair = Pair::new(path(), |path| Timely::new(&timely::Params::default(), path));
            pair.ack(&AckInfo {
                rtt: first_rtt(fields[1]),
                ..ack(1, 1)
            });
            (pair, 1)
        });
        *seq += 1;
        assert_eq!(
            format!("{:.3}", pair.rate().as_gbps_f64()),
            fields[5][5..],
            "{line}"
        );
        pair.advance_to(Time::from_ns(number(fields[0])));
        pair.ack(&AckInfo {
            rtt: Span::from_ns(after(line, "rtt:")),
            ..ack(*seq, *seq)
        });
        rounds += 1;
        assert_eq!(
            format!("rttDiff:{:.0}", pair.cc.rtt_diff_ns()),
            fields[3],
            "{line}"
        );
        assert_eq!(format!("gradient:{:.3}", pair.cc.gradient()), fields[4], "{line}");
        assert_eq!(format!("{:.3}", pair.rate().as_gbps_f64()), fields[7], "{line}");
    }
    assert_eq!((flows.len(), rounds), (2, 76));
}

#[test]
fn dctcp_round_by_round() {
    let (mut flows, mut rounds) = (BTreeMap::new(), 0);
    for line in include_str!("../data/two-flows/dctcp.log").lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let pair = flow(&mut flows, fields[2], || {
            Pair::new(path(), |path| Dctcp::new(&dctcp::Params::default(), path))
        });
        let [_, seq, snd_nxt] = sequence_numbers(fields[6]);
        let before = format!("{:.3}->", pair.cc.alpha());
        // No packet of this run is marked.
        pair.ack(&ack(seq, snd_nxt));
        if fields.len() > 8 {
            assert_eq!(fields[8], "F:0.000");
            assert_eq!(format!("{before}{:.3}", pair.cc.alpha()), fields[7], "{line}");
            rounds += 1;
        } else {
            assert_eq!((before.as_str(), pair.cc.alpha()), (fields[7], 1.0));
        }
    }
    assert_eq!((flows.len(), rounds), (2, 57));
}

/// First CNP of a flow and, for each four-microsecond interval after it, a bit mask of the microseconds in
/// which further CNPs arrived. The log does not contain these; this is one of the few patterns that give its
/// rates.
struct Notifications {
    flow: &'static str,
    first_ns: u64,
    microseconds: &'static [u8],
}

const NOTIFICATIONS: [Notifications; 2] = [
    Notifications {
        flow: "0b000201",
        first_ns: 2_000_043_433,
        microseconds: &[1, 0, 4, 0, 0, 1, 1],
    },
    Notifications {
        flow: "0b000101",
        first_ns: 2_000_048_994,
        microseconds: &[0, 1, 1, 0, 2, 1, 1, 1],
    },
];

#[test]
fn dcqcn_cut_by_cut() {
    let log = include_str!("../data/two-flows/dcqcn.log");
    for Notifications {
        flow,
        first_ns,
        microseconds,
    } in NOTIFICATIONS
    {
        let mut pair = Pair::new(path(), |path| Nic::new(&dcqcn::Params::default(), path));
        let marked = AckInfo {
            mark: Mark::Congested,
            ..ack(1000, 2000)
        };
        pair.advance_to(Time::from_ns(first_ns));
        pair.ack(&marked);
        for (i, bits) in microseconds.iter().enumerate() {
            for k in (0..4).filter(|k| bits & (1 << k) != 0) {
                pair.advance_to(Time::from_ns(first_ns + 4000 * i as u64 + 1000 * k + 500));
                pair.ack(&marked);
            }
        }
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(flow)).collect();
        pair.advance_to(Time::from_ns(number(lines[lines.len() - 1])));
        let ours: Vec<String> = pair.history[1..]
            .iter()
            .map(|(at, rate)| format!("{} {:.3}", at.as_ns(), rate.as_gbps_f64()))
            .collect();
        let theirs: Vec<String> = lines
            .iter()
            .map(|line| {
                let (_, after) = line.rsplit_once(' ').unwrap();
                format!("{} {}", number::<u64>(line), after.trim_end_matches(')'))
            })
            .collect();
        assert_eq!(ours, theirs);
        assert_eq!(format!("{:.3}", pair.cc.target_rate().as_gbps_f64()), "100.000");
    }
}
