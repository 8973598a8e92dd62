//! Foresight: the round-trip time that senders are given for their next packet, compared with the measured one.

#![allow(clippy::disallowed_macros, reason = "a test says what it measured")]

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{G100, add_flow, assert_complete, natural, run_with, scheme, star};
use crate::networks::{build, case};
use paceline_congestion::registry::{SchemeFactory, WindowMode};
use paceline_congestion::{AckInfo, CongestionControl, Ctx, PathInfo, Requirements, SendLimits};
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span};
use proptest::prelude::*;

/// An acknowledgement: the sender, the time, the measured round-trip time, and the foresight before it, in ps.
#[derive(Clone, Copy, Debug)]
struct Ack {
    sender: usize,
    at: u64,
    rtt: u64,
    got: Option<u64>,
}

type Log = Arc<Mutex<Vec<Ack>>>;

/// Behaviour of a sender.
#[derive(Debug, Clone, Copy)]
struct Manner {
    rate: BitRate,
    window: u64,
    /// Factor of the rate after each acknowledgement, used in turn with its inverse, so that the rate keeps changing.
    swing: f64,
}

const fn window(packets: u64) -> Manner {
    Manner {
        rate: G100,
        window: packets * 1000,
        swing: 1.0,
    }
}

const fn paced(rate: BitRate) -> Manner {
    Manner {
        rate,
        window: u64::MAX,
        swing: 1.0,
    }
}

#[derive(Clone, Debug)]
struct Seer {
    id: usize,
    manner: Manner,
    acks: u32,
    got: Option<u64>,
    log: Log,
}

impl CongestionControl for Seer {
    fn limits(&self) -> SendLimits {
        let swing = if self.acks % 2 == 1 {
            self.manner.swing
        } else {
            1.0
        };
        SendLimits {
            rate: BitRate::from_bps((self.manner.rate.as_bps() as f64 * swing) as u64),
            window: Bytes::new(self.manner.window),
        }
    }
    fn on_foresight(&mut self, rtt: Span) {
        assert_eq!(self.got, None, "told once for each acknowledgement");
        self.got = Some(rtt.as_ps());
    }
    fn on_ack(&mut self, cx: &mut Ctx<'_>, ack: &AckInfo<'_>) {
        self.acks += 1;
        self.log.lock().unwrap().push(Ack {
            sender: self.id,
            at: cx.now.as_ps(),
            rtt: ack.rtt.as_ps(),
            got: self.got.take(),
        });
    }
}

/// Returns a star of such senders, in the order in which their flows start.
fn seers(hosts: u32, foresight: bool, manners: Vec<Manner>) -> (RunSpec, SchemeFactory, Log) {
    let log = Log::default();
    let (next, shared) = (AtomicUsize::new(0), Arc::clone(&log));
    let make = move |_: &PathInfo| -> Box<dyn CongestionControl> {
        let id = next.fetch_add(1, Ordering::Relaxed);
        Box::new(Seer {
            id,
            manner: manners[id],
            acks: 0,
            got: None,
            log: Arc::clone(&shared),
        })
    };
    let needs = Requirements {
        foresight,
        ..Requirements::default()
    };
    let mut scheme = scheme("none");
    scheme.window = WindowMode::Off;
    let factory = SchemeFactory::new(make).needing(needs);
    (natural(star(hosts, scheme)), factory, log)
}

/// Returns the foresight at each acknowledgement, the round-trip time of that sender's next packet, and how long after
/// the acknowledgement it left.
fn comparisons(log: &Log) -> Vec<(u64, u64, u64)> {
    let log = log.lock().unwrap();
    let compare = |(i, ack): (usize, &Ack)| {
        let got = ack.got?;
        let own = log[i + 1..].iter().filter(|later| later.sender == ack.sender);
        let next = own.filter(|later| later.at - later.rtt >= ack.at);
        let next = next.min_by_key(|later| later.at - later.rtt)?;
        Some((got, next.rtt, next.at - next.rtt - ack.at))
    };
    log.iter().enumerate().filter_map(compare).collect()
}

/// Returns the mean absolute relative error, and the share that is exact.
fn error(comparisons: &[(u64, u64, u64)]) -> (f64, f64) {
    let of = |&(got, is, _): &(u64, u64, u64)| (got as f64 - is as f64).abs() / is as f64;
    let exact = comparisons.iter().filter(|(got, is, _)| got == is).count();
    let count = comparisons.len() as f64;
    (
        comparisons.iter().map(of).sum::<f64>() / count,
        exact as f64 / count,
    )
}

/// 2 x (83.84 + 4.8 + 2 x 1000) ns.
const IDLE: u64 = 4_177_280;

#[test]
fn an_idle_network_gives_its_round_trip() {
    let (mut spec, factory, log) = seers(2, true, vec![window(1)]);
    add_flow(&mut spec, 1, 2, 5000, 0);
    let outcome = run_with(spec.clone(), &factory);
    assert_complete(&spec, &outcome);
    let log = log.lock().unwrap();
    let times: Vec<_> = log.iter().map(|ack| (ack.rtt, ack.got)).collect();
    assert_eq!(times, [(IDLE, Some(IDLE)); 5]);
}

/// The first sender's second packet leaves at 4177.28 ns and arrives at the switch 1083.84 ns later, at 5261.12 ns.
/// Ahead of it are the packets that the two others started to send before that, from 3000 ns on: 15 each, from 4083.84
/// ns on. They keep the port busy until 4083.84 + 30 x 83.84 = 6599.04 ns.
#[test]
fn a_queue_by_hand() {
    let (mut spec, factory, log) = seers(4, true, vec![window(1), paced(G100), paced(G100)]);
    add_flow(&mut spec, 1, 3, 2000, 0);
    add_flow(&mut spec, 2, 3, 40_000, 3000);
    add_flow(&mut spec, 4, 3, 40_000, 3000);
    let outcome = run_with(spec.clone(), &factory);
    assert_complete(&spec, &outcome);
    let waits = 6_599_040 - 5_261_120;
    let log = log.lock().unwrap();
    let first: Vec<_> = log.iter().filter(|ack| ack.sender == 0).collect();
    assert_eq!((first[0].at, first[0].got), (IDLE, Some(IDLE + waits)));
    assert_eq!(first[1].rtt, IDLE + waits);
}

/// Foresight changes nothing else.
#[test]
fn a_run_with_foresight_is_the_run_without() {
    let digest = |foresight| {
        let (mut spec, factory, _) = seers(5, foresight, vec![window(5); 8]);
        for i in 0..8 {
            let (there, back) = if i % 3 == 0 {
                (5, 1 + i % 4)
            } else {
                (1 + i % 4, 5)
            };
            add_flow(&mut spec, there, back, 50_000, u64::from(i) * 500);
        }
        run_with(spec, &factory).digest
    };
    assert_eq!(digest(true), digest(false));
}

/// Incast of twenty flows with windows: a packet leaves with each acknowledgement, and packets in the network decide
/// its round-trip time.
#[test]
fn an_incast_of_windows_is_foreseen_exactly() {
    for packets in [1, 3, 8] {
        let (mut spec, factory, log) = seers(21, true, vec![window(packets); 20]);
        for host in 1..=20 {
            add_flow(&mut spec, host, 21, 100_000, u64::from(host) * 37);
        }
        let outcome = run_with(spec.clone(), &factory);
        assert_complete(&spec, &outcome);
        let found = comparisons(&log);
        let (error, exact) = error(&found);
        println!(
            "window of {packets}: error {error:.6}, exact {exact:.4} of {}",
            found.len()
        );
        assert_eq!(found.len() as u64, 20 * (100 - packets));
        assert_eq!(exact, 1.0, "{error}");
    }
}

/// The incast with pacing, where packets leave some time after the acknowledgement: with constant rates that fill the
/// link, and with changing ones.
#[test]
fn an_incast_of_rates_is_foreseen_closely() {
    for (swing, at_most) in [(1.0, 0.02), (1.3, 0.05)] {
        let manner = Manner {
            swing,
            ..paced(BitRate::from_bps(5_200_000_000))
        };
        let (mut spec, factory, log) = seers(21, true, vec![manner; 20]);
        for host in 1..=20 {
            add_flow(&mut spec, host, 21, 200_000, u64::from(host) * 83);
        }
        let outcome = run_with(spec.clone(), &factory);
        assert_complete(&spec, &outcome);
        let found = comparisons(&log);
        let (error, exact) = error(&found);
        let later = found.iter().map(|of| of.2).sum::<u64>() / found.len() as u64;
        println!("swing {swing}: error {error:.4}, exact {exact:.4}, left {later} ps later on average");
        assert!(found.len() > 3000 && error < at_most, "{error}");
    }
}

/// Two switches, traffic in both directions, ACKs in the flows' class or ahead of it, hosts that take time: all senders
/// are at the same distance from both bottlenecks.
#[test]
fn queues_behind_each_other_are_foreseen() {
    for (ack_class, delay) in [(Some(0), 0), (None, 0), (Some(0), 700)] {
        let (mut spec, factory, log) = seers(2, true, vec![window(4); 12]);
        // Hosts 2 to 7 at switch 0, 8 to 13 at switch 1.
        spec.nodes = [vec![NodeKind::Switch; 2], vec![NodeKind::Host; 12]].concat();
        spec.links = (2..14).map(|host| common::link(host / 8, host, G100)).collect();
        spec.links.push(common::link(0, 1, G100));
        spec.nic.ack_class = ack_class;
        spec.nic.endpoint = (delay > 0).then(|| Endpoint {
            delay: Span::from_ns(delay),
            per_packet: Span::from_ns(90),
            rate: None,
            jitter: Span::ZERO,
        });
        for i in 0..6 {
            // To two hosts each: queues at the link between the switches and behind it.
            add_flow(&mut spec, 2 + i, 8 + i % 2, 80_000, u64::from(i) * 191);
            add_flow(&mut spec, 8 + i, 2 + i % 2, 80_000, u64::from(i) * 191 + 97);
        }
        let outcome = run_with(spec.clone(), &factory);
        assert_complete(&spec, &outcome);
        let found = comparisons(&log);
        let (error, exact) = error(&found);
        println!(
            "{ack_class:?}, {delay} ns: error {error:.5}, exact {exact:.4} of {}",
            found.len()
        );
        assert!(found.len() > 800 && exact == 1.0, "{exact} {error}");
    }
}

/// Incast of twenty flows whose switch pauses its senders again and again: a probe waits for the resume. Packets that
/// others send before it, after their resumes, are not known.
#[test]
fn pauses_are_foreseen_closely() {
    let (mut spec, factory, log) = seers(21, true, vec![window(8); 20]);
    common::static_pfc(&mut spec, 4000, 2000, 60_000);
    for host in 1..=20 {
        add_flow(&mut spec, host, 21, 100_000, u64::from(host) * 37);
    }
    let outcome = run_with(spec.clone(), &factory);
    assert_complete(&spec, &outcome);
    assert!(outcome.counters.pauses > 100, "{}", outcome.counters.pauses);
    let (error, exact) = error(&comparisons(&log));
    println!(
        "{} pauses: error {error:.5}, exact {exact:.4}",
        outcome.counters.pauses
    );
    assert!(exact > 0.9 && error < 0.05, "{exact} {error}");
}

/// A sender that gets foresight and does not use it.
#[derive(Clone, Debug)]
struct Deaf(Arc<AtomicUsize>);

impl CongestionControl for Deaf {
    fn limits(&self) -> SendLimits {
        SendLimits {
            rate: G100,
            window: Bytes::new(20_000),
        }
    }
    fn on_foresight(&mut self, _: Span) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn on_ack(&mut self, _: &mut Ctx<'_>, _: &AckInfo<'_>) {}
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(200), ..ProptestConfig::default() })]

    /// In any network, with marks, losses, pauses, failures, and links chosen packet by packet, forks do not change the
    /// run that they leave.
    #[test]
    fn foresight_moves_nothing(case in case(&["dctcp", "hpcc", "pcn", "bolt"])) {
        let outcome = |foresight| {
            let got = Arc::new(AtomicUsize::new(0));
            let spec = build(&case);
            let shared = Arc::clone(&got);
            let factory = SchemeFactory::new(move |_| Box::new(Deaf(Arc::clone(&shared))));
            let needs = Requirements { foresight, ..spec.schemes[0].config.needs() };
            (run_with(spec, &factory.needing(needs)), got.load(Ordering::Relaxed))
        };
        let ((with, got), (without, never)) = (outcome(true), outcome(false));
        prop_assert_eq!(with, without);
        prop_assert!(got > 0 && never == 0);
    }
}
