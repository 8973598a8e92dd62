//! Runs in steps: the steps do not change a run, and code outside may decide for its senders.

use std::sync::{Arc, Mutex};

use crate::common::{G100, add_flow, assert_complete, build_with, natural, run, run_with, scheme, star};
use crate::networks::{build, case, known::known};
use paceline_congestion::registry::{SchemeFactory, WindowMode};
use paceline_congestion::{AckInfo, CongestionControl, Ctx, Decisions, Requirements, SendLimits};
use paceline_fabric::spec::*;
use paceline_fabric::{Outcome, Simulation, Until};
use paceline_kernel::{BitRate, Bytes, Span, Time};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Events(u64),
    Ns(u64),
}

/// Asserts that the run is the same in these steps, of events and of time. A step of time ends when all events up to
/// then have run and no later one has, with the clock at that time.
fn assert_steps(mut spec: RunSpec, steps: Vec<Step>) {
    spec.record.queue_every = Some(Span::from_us(1));
    spec.record.queue_window = (Time::ZERO, Time::from_ns(200_000));
    spec.record.port_bin = Some(Span::from_us(3));
    spec.record.flow_every = Some(Span::from_us(1));
    spec.record.flows_max = 4;
    let mut simulation = Simulation::new(spec.clone()).unwrap();
    // Event by event: the time of each, and a time after it.
    let mut single = simulation.clone();
    let mut until = Time::ZERO;
    for step in steps {
        let before = simulation.progress();
        match step {
            Step::Events(events) => {
                let now = simulation.advance_to(Until::Events(events));
                assert!(now.done || now.events == before.events + events);
                until = until.max(now.now);
            }
            Step::Ns(ns) => {
                until += Span::from_ns(ns);
                let now = simulation.advance_to(Until::Time(until));
                assert!(now.done || now.now == until, "{} is not {until}", now.now);
                single.advance(now.events - single.progress().events);
                assert!(single.progress().now <= until);
                let next = single.clone().advance(1);
                assert!(next.done || next.now > until);
                // A step to a time that has passed does nothing.
                let passed = Time::from_ps(until.as_ps() / 2);
                assert_eq!(simulation.advance_to(Until::Time(passed)), now);
            }
        }
    }
    assert_eq!(to_the_end(simulation), run(spec));
}

#[test]
fn known_runs_in_steps() {
    for case in known() {
        let steps = [
            Step::Ns(14_198),
            Step::Events(359),
            Step::Events(401),
            Step::Ns(1),
        ];
        assert_steps(build(&case), steps.to_vec());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(200), ..ProptestConfig::default() })]

    #[test]
    fn steps_do_not_change_a_run(
        case in case(&["hpcc", "dcqcn", "timely", "pcn"]),
        steps in prop::collection::vec(
            prop_oneof![(0u64..500).prop_map(Step::Events), (0u64..20_000).prop_map(Step::Ns)],
            1..20,
        ),
    ) {
        assert_steps(build(&case), steps);
    }
}

fn to_the_end(mut simulation: Simulation) -> Outcome {
    while !simulation.advance_to(Until::Time(Time::MAX)).done {}
    simulation.finish()
}

/// A run that is finished at some time ends there, and counts as one that stops there.
#[test]
fn a_run_ends_where_it_was_led() {
    let mut spec = natural(star(3, scheme("hpcc")));
    add_flow(&mut spec, 1, 3, 1_000_000, 0);
    add_flow(&mut spec, 2, 3, 1_000_000, 0);
    let end = Time::from_ps(33_333_333);
    let mut simulation = Simulation::new(spec.clone()).unwrap();
    simulation.advance_to(Until::Time(end));
    spec.stop = end;
    let led = simulation.finish();
    assert_eq!(led.end, end);
    assert_eq!(led, run(spec));
}

/// Returns the limits that a sender gets after `acks` acknowledgements.
fn policy(acks: u64) -> SendLimits {
    SendLimits {
        rate: BitRate::from_gbps(3 + acks * 7 % 40),
        window: Bytes::new(4000 + acks * 1300 % 9000),
    }
}

/// Asks at every `every`-th acknowledgement, unless it waits for an answer.
#[derive(Clone, Debug)]
struct Pupil {
    acks: u64,
    every: u64,
    limits: SendLimits,
    asked_at: Option<u64>,
    /// Index of the flow, and the log of the acknowledgement at which each flow last asked, for those who answer.
    flow: usize,
    log: Log,
}

type Log = Arc<Mutex<Vec<u64>>>;

impl CongestionControl for Pupil {
    fn limits(&self) -> SendLimits {
        self.limits
    }
    fn on_ack(&mut self, cx: &mut Ctx<'_>, _: &AckInfo<'_>) {
        self.acks += 1;
        if self.asked_at.is_none() && self.acks.is_multiple_of(self.every) {
            self.asked_at = Some(self.acks);
            self.log.lock().unwrap()[self.flow] = self.acks;
            cx.decide();
        }
    }
    fn on_decision(&mut self, _: &mut Ctx<'_>) {
        self.limits = policy(self.asked_at.take().unwrap());
    }
    fn on_answer(&mut self, _: &mut Ctx<'_>, limits: SendLimits) {
        self.asked_at = None;
        self.limits = limits;
    }
}

/// Returns a star of such senders, and the log of their questions.
fn pupils(hosts: u32, every: u64, limits: SendLimits, decisions: Decisions) -> (RunSpec, SchemeFactory, Log) {
    let log = Log::default();
    let shared = Arc::clone(&log);
    // Created in the order of the flows.
    let factory = SchemeFactory::new(move |_| {
        let mut asked = shared.lock().unwrap();
        asked.push(0);
        Box::new(Pupil {
            flow: asked.len() - 1,
            acks: 0,
            every,
            limits,
            asked_at: None,
            log: Arc::clone(&shared),
        })
    });
    let needs = Requirements {
        decisions: Some(decisions),
        ..Requirements::default()
    };
    let mut scheme = scheme("none");
    scheme.window = WindowMode::Off;
    (natural(star(hosts, scheme)), factory.needing(needs), log)
}

/// Answers all questions by the same policy.
fn answer_all(spec: RunSpec, factory: &SchemeFactory, log: &Log) -> Outcome {
    let mut simulation = build_with(spec, factory);
    while !simulation.advance_to(Until::Decisions).done {
        simulation.verify();
        for flow in simulation.awaited() {
            let asked_at = log.lock().unwrap()[flow as usize];
            assert!(simulation.decide(flow, policy(asked_at)));
            assert!(!simulation.decide(flow, policy(1)), "answered already");
        }
        assert!(simulation.awaited().is_empty());
    }
    simulation.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(64), ..ProptestConfig::default() })]

    /// Decisions from outside by the rule that others apply themselves give the same run.
    #[test]
    fn those_outside_decide_as_senders_do(
        sizes in prop::collection::vec((1u32..5, 1u64..60), 1..6),
        every in 1u64..6,
        latency_ns in 1u64..8000,
        in_service in 0u32..3,
    ) {
        let cost = |outside| Decisions { latency: Span::from_ns(latency_ns), in_service, outside };
        let build = |outside| {
            let (mut spec, factory, log) = pupils(5, every, policy(0), cost(outside));
            for (i, &(host, packets)) in (0..).zip(&sizes) {
                add_flow(&mut spec, host, 5, packets * 1000, i * 1_234);
            }
            (spec, factory, log)
        };
        let (spec, factory, _) = build(false);
        let (other, asking, log) = build(true);
        let inside = run_with(spec.clone(), &factory);
        assert_complete(&spec, &inside);
        let outside = answer_all(other, &asking, &log);
        prop_assert_eq!(outside, inside);
    }
}

/// Answers in batches: all questions within a latency are answered together, as if at once.
fn answer_in_batches(
    spec: RunSpec,
    factory: &SchemeFactory,
    log: &Log,
    latency: Span,
) -> (Outcome, Vec<usize>) {
    let mut simulation = build_with(spec, factory);
    let mut sizes = Vec::new();
    while !simulation.advance_to(Until::Due(latency)).done {
        simulation.verify();
        sizes.push(simulation.awaited().len());
        let asked_at = log.lock().unwrap().clone();
        simulation.answer(|question| Some(policy(asked_at[question.flow as usize])));
        assert!(simulation.awaited().is_empty());
    }
    (simulation.finish(), sizes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: paceline_testkit::cases(64), ..ProptestConfig::default() })]

    #[test]
    fn decisions_in_batches_are_those_made_one_by_one(
        sizes in prop::collection::vec((1u32..5, 1u64..60), 1..6),
        every in 1u64..6,
        latency_ns in 1u64..8000,
    ) {
        let latency = Span::from_ns(latency_ns);
        let build = |outside| {
            let (mut spec, factory, log) = pupils(5, every, policy(0), Decisions { latency, in_service: 0, outside });
            for (i, &(host, packets)) in (0..).zip(&sizes) {
                add_flow(&mut spec, host, 5, packets * 1000, i * 1_234);
            }
            (spec, factory, log)
        };
        let (spec, factory, _) = build(false);
        let (other, asking, log) = build(true);
        let (mut outside, _) = answer_in_batches(other, &asking, &log, latency);
        let inside = run_with(spec, &factory);
        // A flow that ends before its answer leaves no event behind if nobody answers.
        prop_assert!(outside.counters.events <= inside.counters.events);
        (outside.counters.events, outside.digest) = (inside.counters.events, inside.digest);
        outside.decisions = inside.decisions;
        prop_assert_eq!(outside, inside);
    }
}

/// Flows that ask at different instants within a latency are answered together.
#[test]
fn a_latency_makes_batches() {
    let latency = Span::from_us(2);
    let cost = Decisions {
        latency,
        in_service: 0,
        outside: true,
    };
    let (mut spec, factory, log) = pupils(5, 1, policy(0), cost);
    for (host, start) in [(1, 0), (2, 700), (3, 1400), (4, 2500)] {
        add_flow(&mut spec, host, 5, 8000, start);
    }
    let (_, sizes) = answer_in_batches(spec, &factory, &log, latency);
    assert_eq!(sizes[0], 3, "the fourth begins too late");
}

/// Two senders with equal links ask at the same instants: the run stops once for both.
#[test]
fn senders_that_ask_together_are_told_together() {
    let cost = Decisions {
        latency: Span::ZERO,
        in_service: 0,
        outside: true,
    };
    let (mut spec, factory, _) = pupils(4, 2, policy(0), cost);
    add_flow(&mut spec, 1, 3, 8000, 0);
    add_flow(&mut spec, 2, 4, 8000, 0);
    let mut simulation = build_with(spec.clone(), &factory);
    let mut last = Time::ZERO;
    // At the second, fourth and sixth acknowledgement; the eighth ends the flow.
    for _ in 0..3 {
        assert!(!simulation.advance_to(Until::Decisions).done);
        let now = simulation.progress().now;
        assert!(now > last, "once for each instant");
        assert_eq!(simulation.awaited(), [0, 1]);
        for flow in [1, 0] {
            assert!(simulation.decide(flow, policy(1)));
        }
        last = now;
    }
    assert!(simulation.advance_to(Until::Decisions).done);
    let outcome = simulation.finish();
    assert_complete(&spec, &outcome);
    let stats = outcome.decisions.unwrap();
    assert_eq!((stats.made, stats.flow_ended, stats.under_way), (6, 0, 0));
}

/// A decision takes effect its latency after the answer: a window that opens lets a packet leave at that instant.
#[test]
fn an_answer_takes_its_latency() {
    // 2 x (83.84 + 4.8 + 2 x 1000) ns.
    const RTT: u64 = 4_177_280;
    let limits = |window| SendLimits {
        rate: G100,
        window: Bytes::new(window),
    };
    for (latency_us, late_us) in [(0, 1), (2, 0), (2, 1)] {
        let cost = Decisions {
            latency: Span::from_us(latency_us),
            in_service: 1,
            outside: true,
        };
        let (mut spec, factory, _) = pupils(2, 1, limits(1000), cost);
        add_flow(&mut spec, 1, 2, 50_000, 0);
        let mut simulation = build_with(spec, &factory);
        simulation.advance_to(Until::Decisions);
        assert_eq!(simulation.progress().now, Time::from_ps(RTT));
        let answered = Time::from_ps(RTT) + Span::from_us(late_us);
        simulation.advance_to(Until::Time(answered));
        assert_eq!(
            simulation.awaited(),
            [0],
            "it waits for as long as nobody answers"
        );
        assert!(simulation.decide(0, limits(50_000)));
        let sent_by = |ps| {
            let mut fork = simulation.clone();
            fork.advance_to(Until::Time(Time::from_ps(ps)));
            fork.finish().flows[0].sent
        };
        // The second packet left with the acknowledgement of the first, the third leaves with the answer.
        let effect = (answered + Span::from_us(latency_us)).as_ps();
        assert_eq!(
            (sent_by(effect - 1), sent_by(effect)),
            (Bytes::new(2000), Bytes::new(3000))
        );
    }
}

/// Flows without answers continue as before and end; then they are no longer asked about.
#[test]
fn flows_that_end_unanswered() {
    let cost = Decisions {
        latency: Span::from_us(1),
        in_service: 1,
        outside: true,
    };
    let (mut spec, factory, _) = pupils(3, 2, policy(0), cost);
    add_flow(&mut spec, 1, 3, 6000, 0);
    add_flow(&mut spec, 2, 3, 900_000, 0);
    let mut simulation = build_with(spec.clone(), &factory);
    let first = simulation.advance_to(Until::Decisions);
    let mut waits = simulation.awaited();
    while waits.len() < 2 {
        assert!(!simulation.advance_to(Until::Decisions).done);
        waits = simulation.awaited();
    }
    assert!(simulation.progress().now >= first.now);
    simulation.advance_to(Until::Time(Time::from_ns(100_000)));
    assert_eq!(simulation.awaited(), [1]);
    assert!(!simulation.decide(0, policy(1)), "it has ended");
    // The other flow asked once, and nobody answers: there is no further instant to stop at.
    assert!(simulation.advance_to(Until::Decisions).done);
    let outcome = simulation.finish();
    assert_complete(&spec, &outcome);
    let stats = outcome.decisions.unwrap();
    assert_eq!((stats.made, stats.flow_ended, stats.under_way), (0, 2, 0));
}
