//! Decisions that take time at NICs: when they take effect, which senders wait, and what becomes of flows that end.

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{add_flow, assert_complete, build_with, natural, run, run_with, scheme, star};
use paceline_congestion::registry::{SchemeFactory, WindowMode};
use paceline_congestion::{
    AckInfo, CongestionControl, Ctx, Decisions, PathInfo, Requirements, SendLimits, SentInfo, TimerSlot,
};
use paceline_fabric::Outcome;
use paceline_fabric::spec::*;
use paceline_kernel::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

/// Index of the sender in the order of starts, time, and whether it asked or got its decision.
type Log = Arc<Mutex<Vec<(usize, Time, What)>>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Asked,
    Decided,
}

/// Occasion on which a sender asks.
#[derive(Clone, Copy, Debug)]
enum Ask {
    /// Once, this long after its first packet.
    After(Span),
    /// At each acknowledgement, unless it waits for an answer; it sends nothing meanwhile.
    EachAck,
    /// At each acknowledgement, unless it waits for an answer; it continues to send.
    OnTheWay,
    Never,
}

#[derive(Clone, Debug)]
struct Thinker {
    id: usize,
    rate: BitRate,
    ask: Ask,
    log: Log,
    begun: bool,
    waits: bool,
}

impl Thinker {
    fn decide(&mut self, cx: &mut Ctx<'_>) {
        self.waits = true;
        cx.decide();
        self.log.lock().unwrap().push((self.id, cx.now, What::Asked));
    }
}

impl CongestionControl for Thinker {
    fn limits(&self) -> SendLimits {
        let holds = self.waits && matches!(self.ask, Ask::EachAck);
        SendLimits {
            rate: self.rate,
            window: match self.ask {
                Ask::EachAck if holds => Bytes::ZERO,
                Ask::EachAck => Bytes::new(1000),
                _ => Bytes::MAX,
            },
        }
    }
    fn on_ack(&mut self, cx: &mut Ctx<'_>, _: &AckInfo<'_>) {
        if matches!(self.ask, Ask::EachAck | Ask::OnTheWay) && !self.waits {
            self.decide(cx);
        }
    }
    fn on_send(&mut self, cx: &mut Ctx<'_>, _: &SentInfo) {
        if let (Ask::After(after), false) = (self.ask, self.begun) {
            cx.arm(TimerSlot(0), after);
        }
        self.begun = true;
    }
    fn on_timer(&mut self, cx: &mut Ctx<'_>, _: TimerSlot) {
        self.decide(cx);
    }
    fn on_decision(&mut self, cx: &mut Ctx<'_>) {
        self.waits = false;
        self.log.lock().unwrap().push((self.id, cx.now, What::Decided));
    }
}

/// Returns a star whose senders are thinkers, in the order in which their flows start.
fn thinkers(hosts: u32, cost: Decisions, senders: Vec<(Ask, BitRate)>) -> (RunSpec, SchemeFactory, Log) {
    let log = Log::default();
    let (next, shared) = (AtomicUsize::new(0), Arc::clone(&log));
    let make = move |_: &PathInfo| -> Box<dyn CongestionControl> {
        let id = next.fetch_add(1, Ordering::Relaxed);
        let (ask, rate) = senders[id];
        Box::new(Thinker {
            id,
            rate,
            ask,
            log: Arc::clone(&shared),
            begun: false,
            waits: false,
        })
    };
    let needs = Requirements {
        counts_sent: true,
        decisions: Some(cost),
        ..Requirements::default()
    };
    let mut scheme = scheme("none");
    scheme.window = WindowMode::Off;
    let factory = SchemeFactory::new(make).needing(needs);
    (natural(star(hosts, scheme)), factory, log)
}

fn cost(latency_us: u64, in_service: u32) -> Decisions {
    Decisions {
        latency: Span::from_us(latency_us),
        in_service,
        outside: false,
    }
}

/// Returns the decisions delivered: (sender, time in ps).
fn decided(log: &Log) -> Vec<(usize, u64)> {
    let log = log.lock().unwrap();
    let decided = log.iter().filter(|(_, _, what)| *what == What::Decided);
    decided.map(|&(id, at, _)| (id, at.as_ps())).collect()
}

const G1: BitRate = BitRate::from_gbps(1);

const US: u64 = 1_000_000;
/// Time of a full packet of 1048 bytes at 100 Gbit/s, in ps.
const PACKET: u64 = 83_840;

/// Three flows of one NIC. Each asks 20, 22 or 24 us after its first packet for a decision that takes 10 us. The first
/// packets leave one after another from 0 on.
fn three_at_one_nic(in_service: u32, ties: TieOrder) -> (Vec<u64>, Outcome) {
    let after = |us| (Ask::After(Span::from_us(us)), BitRate::from_gbps(100));
    let (mut spec, factory, log) = thinkers(4, cost(10, in_service), vec![after(20), after(22), after(24)]);
    spec.ties = ties;
    for dst in 2..=4 {
        add_flow(&mut spec, 1, dst, 1_000_000, 0);
    }
    let outcome = run_with(spec.clone(), &factory);
    assert_complete(&spec, &outcome);
    (decided(&log).into_iter().map(|(_, at)| at).collect(), outcome)
}

#[test]
fn decisions_of_one_nic_by_hand() {
    let asked = [20 * US, 22 * US + PACKET, 24 * US + 2 * PACKET];
    for ties in [TieOrder::Structural, TieOrder::Insertion] {
        // Any number at a time: 10 us after each was asked for.
        let (times, outcome) = three_at_one_nic(0, ties);
        assert_eq!(times, asked.map(|at| at + 10 * US));
        let stats = outcome.decisions.unwrap();
        assert_eq!((stats.made, stats.waited_ps, stats.busy_share()), (3, 0, None));
        // One at a time: the second waits until 30 us, the third until 40 us, and the processor is never idle.
        let (times, outcome) = three_at_one_nic(1, ties);
        assert_eq!(times, [30 * US, 40 * US, 50 * US]);
        let stats = outcome.decisions.unwrap();
        let waits = [30 * US - asked[1], 40 * US - asked[2]];
        assert_eq!(stats.waited_ps, u128::from(waits[0] + waits[1]));
        assert_eq!(stats.waited_max, Span::from_ps(waits[1]));
        assert_eq!(stats.busy_share(), Some(1.0));
        // Two at a time: only the third waits. 30 of 2 x 20 us.
        let (times, outcome) = three_at_one_nic(2, ties);
        assert_eq!(times, [30 * US, 32 * US + PACKET, 40 * US]);
        let stats = outcome.decisions.unwrap();
        assert_eq!(stats.waited_ps, u128::from(30 * US - asked[2]));
        assert_eq!(stats.busy_share(), Some(0.75));
        assert_eq!((stats.nics, stats.under_way, stats.flow_ended), (1, 0, 0));
    }
}

/// A sender with a window of one packet that closes until its decision takes effect: a packet leaves at that instant.
/// The last acknowledgement ends the flow, so the decision requested then is not computed.
#[test]
fn what_is_decided_takes_effect_at_once() {
    // 2 x (83.84 + 4.8 + 2 x 1000) ns.
    const RTT: u64 = 4_177_280;
    for (latency, in_service) in [(0, 1), (7, 1), (7, 0), (250, 3)] {
        let (mut spec, factory, log) =
            thinkers(2, cost(latency, in_service), vec![(Ask::EachAck, common::G100)]);
        add_flow(&mut spec, 1, 2, 3000, 0);
        let outcome = run_with(spec.clone(), &factory);
        assert_complete(&spec, &outcome);
        let by_hand = Span::from_ps(3 * RTT) + Span::from_us(2 * latency);
        assert_eq!(outcome.flows[0].fct, by_hand);
        assert_eq!(decided(&log).len(), 2);
        let stats = outcome.decisions.unwrap();
        assert_eq!((stats.made, stats.flow_ended, stats.under_way), (2, 0, 0));
        assert_eq!(stats.waited_max, Span::ZERO);
    }
}

/// The first flow ends while its decision is in service (which goes on), the second while its decision waits (which is
/// skipped). Others start in their slots and get neither's decision.
#[test]
fn flows_that_end_leave_their_decisions() {
    let after = |us, gbps| (Ask::After(Span::from_us(us)), BitRate::from_gbps(gbps));
    let senders = vec![
        after(10, 1),
        after(12, 1),
        after(14, 1),
        (Ask::Never, G1),
        (Ask::Never, G1),
    ];
    let (mut spec, factory, log) = thinkers(4, cost(100, 1), senders);
    // 8.384 us a packet: over after about 50, 40 and 850 us.
    add_flow(&mut spec, 1, 2, 6000, 0);
    add_flow(&mut spec, 1, 3, 5000, 0);
    add_flow(&mut spec, 1, 4, 100_000, 0);
    // These take over the slots.
    add_flow(&mut spec, 1, 2, 100_000, 60_000);
    add_flow(&mut spec, 1, 3, 100_000, 60_000);
    let outcome = run_with(spec.clone(), &factory);
    assert_complete(&spec, &outcome);
    let ends: Vec<u64> = outcome
        .flows
        .iter()
        .map(|flow| (flow.start + flow.fct).as_ns() / 1000)
        .collect();
    assert!(
        ends[0] < 60 && ends[1] < 60 && ends[2..].iter().all(|&end| end > 210),
        "{ends:?}"
    );
    // The first decision is in service from 10 to 110 us, then it is the third's turn.
    assert_eq!(decided(&log), [(2, 210 * US)]);
    let stats = outcome.decisions.unwrap();
    assert_eq!((stats.made, stats.flow_ended, stats.started), (1, 2, 2));
    assert_eq!(stats.busy_ps, 200_000_000);
    assert_eq!(stats.available_ps, 200_000_000);
    // It asked 14 us after its first packet, which left after two others.
    assert_eq!(stats.waited_max, Span::from_ps(96 * US - 2 * PACKET));
}

/// Decisions in progress at the end of a run count as neither made nor lost.
#[test]
fn runs_that_end_before_decisions_do() {
    let after = (Ask::After(Span::from_us(10)), G1);
    let (mut spec, factory, log) = thinkers(3, cost(100, 1), vec![after; 2]);
    for dst in 2..=3 {
        add_flow(&mut spec, 1, dst, 1_000_000, 0);
    }
    spec.stop = Time::from_ns(60_000);
    let outcome = run_with(spec, &factory);
    assert_eq!(decided(&log), []);
    let stats = outcome.decisions.unwrap();
    assert_eq!((stats.made, stats.flow_ended, stats.under_way), (0, 0, 2));
    assert_eq!((stats.busy_ps, stats.available_ps), (50_000_000, 50_000_000));
}

#[test]
fn runs_without_decisions_say_so() {
    let mut spec = natural(star(2, scheme("hpcc")));
    add_flow(&mut spec, 1, 2, 10_000, 0);
    assert_eq!(run(spec).decisions, None);
}

/// Flows: source, size in packets, start in ns.
fn flows() -> impl Strategy<Value = Vec<(u32, u64, u64)>> {
    prop::collection::vec((1..3u32, 1..12u64, 0..40_000u64), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(paceline_testkit::cases(64)))]
    /// Every requested decision is delivered once, in turn and in time, or its flow has ended; at most the given number
    /// are in service at a time.
    #[test]
    fn each_decision_is_delivered_once_or_its_flow_has_ended(
        mut flows in flows(),
        cost in (0..30u64, 0..4u32),
        shuffle in any::<Option<u64>>(),
        gbps in 1..100u64,
        holds in any::<bool>(),
    ) {
        // Senders are created in the order of starts, which ties may shuffle among equals.
        flows.sort_by_key(|&(_, _, start)| start);
        flows.dedup_by_key(|&mut (_, _, start)| start);
        let ask = if holds { Ask::EachAck } else { Ask::OnTheWay };
        let senders = vec![(ask, BitRate::from_gbps(gbps)); flows.len()];
        let (latency, in_service) = (Span::from_us(cost.0), cost.1 as usize);
        let (mut spec, factory, log) = thinkers(3, self::cost(cost.0, cost.1), senders);
        if let Some(seed) = shuffle {
            spec.ties = TieOrder::Shuffled(seed);
        }
        for &(src, packets, start) in &flows {
            add_flow(&mut spec, src, 3, packets * 1000, start);
        }
        let mut simulation = build_with(spec.clone(), &factory);
        while !simulation.advance(1).done {
            simulation.verify();
        }
        let outcome = simulation.finish();
        assert_complete(&spec, &outcome);
        let log = log.lock().unwrap();
        let end = |id: usize| outcome.flows[id].start + outcome.flows[id].fct;
        // A decision that a flow requests with its last acknowledgement is not computed.
        let asked: Vec<(usize, Time)> = log
            .iter()
            .filter(|&&(id, at, what)| what == What::Asked && at < end(id))
            .map(|&(id, at, _)| (id, at))
            .collect();
        let (mut made, mut flow_ended) = (0, 0);
        for nic in 1..3 {
            let (mut delivered, mut last) = (Vec::new(), Time::from_ps(0));
            for &(id, ask) in asked.iter().filter(|&&(id, _)| flows[id].0 == nic) {
                let next = log.iter().find(|entry| entry.0 == id && entry.1 > ask
                    || entry.0 == id && entry.1 == ask && entry.2 == What::Decided);
                match next {
                    Some(&(_, at, What::Decided)) => {
                        prop_assert!(at >= ask + latency && at < end(id));
                        prop_assert!(at >= last, "in the order of asking");
                        if in_service == 0 {
                            prop_assert_eq!(at, ask + latency);
                        }
                        delivered.push(at);
                        last = at;
                        made += 1;
                    }
                    _ => {
                        prop_assert!(!holds);
                        prop_assert!(in_service > 0 || end(id) <= ask + latency);
                        flow_ended += 1;
                    }
                }
            }
            if in_service > 0 {
                for pair in delivered.windows(in_service + 1) {
                    prop_assert!(pair[in_service] >= pair[0] + latency);
                }
            }
        }
        let decided = log.iter().filter(|entry| entry.2 == What::Decided).count();
        prop_assert_eq!(decided as u64, made);
        let stats = outcome.decisions.unwrap_or_default();
        prop_assert_eq!((stats.made, stats.flow_ended, stats.under_way), (made, flow_ended, 0));
    }
}
