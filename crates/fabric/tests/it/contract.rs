//! The contract with schemes: limits hold from the moment they change, timers expire when set to, and a rate of zero is
//! allowed.

use std::sync::{Arc, Mutex};

use crate::common::{G100, add_flow, assert_complete, natural, run_with, scheme, star, traced};
use paceline_congestion::registry::{SchemeFactory, WindowMode};
use paceline_congestion::{AckInfo, CongestionControl, Ctx, PathInfo, Requirements, SendLimits, TimerSlot};
use paceline_fabric::Outcome;
use paceline_fabric::outcome::TraceKind;
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};

/// Behaviour of a sender.
#[derive(Clone, Copy, Debug)]
enum Script {
    /// A window of one packet until the tenth acknowledgement, then none; the rate stays.
    Opens,
    /// A stop for 100 us at the tenth acknowledgement, once.
    Stops,
    /// A timer set to [`PUT_OFF`] from now at each of the first acknowledgements, as many as given.
    PutsOff(u32),
}

const PUT_OFF: Span = Span::from_us(2500);

/// Times of acknowledgements and expired timers.
#[derive(Clone, Debug, Default)]
struct Log {
    acks: Vec<Time>,
    expired: Vec<Time>,
}

#[derive(Clone, Debug)]
struct Actor {
    script: Script,
    limits: SendLimits,
    log: Arc<Mutex<Log>>,
}

impl CongestionControl for Actor {
    fn limits(&self) -> SendLimits {
        self.limits
    }
    fn on_ack(&mut self, cx: &mut Ctx<'_>, _: &AckInfo<'_>) {
        let mut log = self.log.lock().unwrap();
        log.acks.push(cx.now);
        match (self.script, log.acks.len() as u32) {
            (Script::Opens, 10) => self.limits.window = Bytes::MAX,
            (Script::Stops, 10) => {
                self.limits.rate = BitRate::from_bps(0);
                cx.arm(TimerSlot(0), Span::from_us(100));
            }
            (Script::PutsOff(times), n) if n <= times => cx.arm(TimerSlot(0), PUT_OFF),
            _ => {}
        }
    }
    fn on_timer(&mut self, cx: &mut Ctx<'_>, _: TimerSlot) {
        self.log.lock().unwrap().expired.push(cx.now);
        if let Script::Stops = self.script {
            self.limits.rate = cx.path.line_rate;
        }
    }
}

/// One flow of `packets` packets between two hosts, without quirks unless `change` adds some.
fn act(script: Script, rate: BitRate, packets: u64, change: impl FnOnce(&mut RunSpec)) -> (Outcome, Log) {
    act_with(Requirements::default(), script, rate, packets, change)
}

fn act_with(
    needs: Requirements,
    script: Script,
    rate: BitRate,
    packets: u64,
    change: impl FnOnce(&mut RunSpec),
) -> (Outcome, Log) {
    let log = Arc::<Mutex<Log>>::default();
    let shared = Arc::clone(&log);
    let make = move |_: &PathInfo| -> Box<dyn CongestionControl> {
        let window = match script {
            Script::Opens => Bytes::new(1000),
            _ => Bytes::MAX,
        };
        Box::new(Actor {
            script,
            limits: SendLimits { rate, window },
            log: Arc::clone(&shared),
        })
    };
    let mut scheme = scheme("none");
    scheme.window = WindowMode::Off;
    let mut spec = natural(star(2, scheme));
    spec.record.trace_nodes = vec![NodeId(1), NodeId(2)];
    add_flow(&mut spec, 1, 2, 1000 * packets, 0);
    change(&mut spec);
    let outcome = run_with(spec.clone(), &SchemeFactory::new(make).needing(needs));
    assert_complete(&spec, &outcome);
    let log = log.lock().unwrap().clone();
    (outcome, log)
}

fn sent(outcome: &Outcome) -> Vec<Time> {
    traced(outcome, 1, TraceKind::Dequeue).map(|e| e.at).collect()
}

/// Ten round trips with one packet each, then line rate.
#[test]
fn a_window_that_is_given_up_is_gone() {
    let (outcome, log) = act(Script::Opens, G100, 1000, |_| ());
    let behind = sent(&outcome).into_iter().filter(|&at| at >= log.acks[9]);
    let gaps: Vec<u64> = behind.map(|at| (at - log.acks[9]).as_ps()).collect();
    assert_eq!(gaps.len(), 990);
    // 1048 bytes at 100 Gbit/s.
    assert!(gaps.iter().zip(0..).all(|(&gap, n)| gap == n * 83_840));
}

/// Nothing leaves while the rate is zero. Everything continues with the next rate, paced as before.
#[test]
fn a_rate_of_zero_holds_until_it_changes() {
    let repacing = Requirements {
        repaces: true,
        ..Requirements::default()
    };
    for needs in [Requirements::default(), repacing] {
        for unpaced in [false, true] {
            let (outcome, log) = act_with(needs, Script::Stops, G100, 1000, |spec| {
                spec.nic.pacing = !unpaced;
            });
            let (stop, go) = (log.acks[9], log.expired[0]);
            assert_eq!(go - stop, Span::from_us(100));
            let sent = sent(&outcome);
            assert!(!sent.iter().any(|&at| stop < at && at < go));
            let behind: Vec<u64> = sent
                .iter()
                .filter(|&&at| at >= go)
                .map(|&at| (at - go).as_ps())
                .collect();
            assert!(behind.len() > 900);
            assert!(behind.iter().zip(0..).all(|(&gap, n)| gap == n * 83_840));
            assert_eq!(outcome.counters.timeouts, 0);
        }
    }
}

/// A NIC that does not look again after a timer does so after one that ends a rate of zero.
#[test]
fn a_rate_of_zero_ends_where_wake_ups_are_suppressed() {
    let (outcome, log) = act(Script::Stops, G100, 1000, |spec| {
        spec.quirks.wakeup_suppression = true;
        spec.nic.rto = None;
    });
    assert!(sent(&outcome).contains(&log.expired[0]));
}

/// After 257 settings a timer has the generation of the first again; it expires once, at the last deadline.
#[test]
fn a_timer_expires_when_it_was_set_to_last() {
    for ties in [TieOrder::Structural, TieOrder::Insertion, TieOrder::Shuffled(3)] {
        let (_, log) = act(Script::PutsOff(257), BitRate::from_gbps(1), 1000, |spec| {
            spec.ties = ties;
        });
        assert_eq!(log.expired, [log.acks[256] + PUT_OFF], "{ties:?}");
    }
}

/// The cost of a timeout that a scheme sets at every acknowledgement.
#[test]
fn a_timer_that_is_put_off_costs_one_event_at_a_time() {
    let events = |times| {
        let (outcome, _) = act(Script::PutsOff(times), BitRate::from_gbps(1), 1000, |_| ());
        outcome.counters.events
    };
    // 1000 acknowledgements in 8.5 ms, and at most one event in 2.5 ms.
    assert!(events(1000) - events(0) <= 4, "{} {}", events(1000), events(0));
}
