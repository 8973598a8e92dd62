//! Memoisation: phases that recur are taken from memory, with the results of a run without it.

use crate::common::{natural, scheme, star};
use paceline_fabric::Simulation;
use paceline_fabric::outcome::{ModelOutcome, Outcome};
use paceline_fabric::spec::*;
use paceline_kernel::{Bytes, Span, Time};
use proptest::prelude::*;

/// Flows of a round: from, to, size, and the delay after the start of the round (ns).
type Round = Vec<(u32, u32, u64, u64)>;

/// Sends the flows of its rounds, and starts the next round when all have arrived.
#[derive(Clone, Debug)]
struct Rounds {
    kinds: Vec<Round>,
    /// Kind of each round, and the pause before it (ns).
    order: Vec<(usize, u64)>,
    next: usize,
    left: usize,
    messages: u32,
    /// Calls of the program, and their times.
    heard: Vec<(u32, u8, u64)>,
}

/// Token for the start of a round.
const BEGIN: u64 = 1 << 40;

impl Rounds {
    fn begin_round(&mut self, asks: &mut dyn Asks) {
        let (kind, _) = self.order[self.next];
        self.next += 1;
        self.left = self.kinds[kind].len();
        for place in 0..self.left {
            let token = (kind as u64) << 20 | place as u64;
            match self.kinds[kind][place].3 {
                0 => self.woken(token, asks),
                after => asks.wake(asks.now() + Span::from_ns(after), token),
            }
        }
    }

    fn pause(&mut self, asks: &mut dyn Asks) {
        match self.order.get(self.next) {
            None => {}
            Some(&(_, 0)) => self.begin_round(asks),
            Some(&(_, pause)) => asks.wake(asks.now() + Span::from_ns(pause), BEGIN),
        }
    }
}

impl Behaviour for Rounds {
    fn begin(&mut self, asks: &mut dyn Asks) {
        self.pause(asks);
    }

    fn woken(&mut self, token: u64, asks: &mut dyn Asks) {
        if token == BEGIN {
            return self.begin_round(asks);
        }
        let (src, dst, size, _) = self.kinds[(token >> 20) as usize][token as usize & 0xf_ffff];
        self.messages += 1;
        let flow = FlowSpec {
            src: NodeId(src),
            dst: NodeId(dst),
            size: Bytes::new(size),
            start: asks.now(),
            class: 3,
            sport: 10_000 + self.messages as u16,
            dport: 100,
            label: 0,
            scheme: 0,
            connection: None,
            nics: Nics::ANY,
        };
        asks.send(self.messages, flow);
    }

    fn left(&mut self, message: u32, asks: &mut dyn Asks) {
        self.heard.push((message, 0, asks.now().as_ps()));
    }

    fn heard(&mut self, message: u32, what: Awaited, asks: &mut dyn Asks) {
        let received = what == Awaited::Received;
        self.heard
            .push((message, if received { 1 } else { 2 }, asks.now().as_ps()));
        if received {
            self.left -= 1;
            if self.left == 0 {
                self.pause(asks);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.next == self.order.len() && self.left == 0
    }

    fn close(&self) -> ModelOutcome {
        ModelOutcome::new(self.heard.clone())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Without,
    With,
    Checked,
}

fn run(spec: &RunSpec, memory: Memory, step: u64) -> Outcome {
    let mut simulation = Simulation::new(spec.clone()).unwrap();
    if memory != Memory::Without {
        simulation.memoise(memory == Memory::Checked).unwrap();
    }
    let mut events = 0;
    loop {
        let progress = simulation.advance(step);
        assert!(progress.events >= events);
        events = progress.events;
        if progress.done {
            return simulation.finish();
        }
    }
}

fn spec_of(
    scheme_name: &str,
    ties: TieOrder,
    stop: Time,
    kinds: &[Round],
    order: &[(usize, u64)],
) -> RunSpec {
    let mut spec = natural(star(4, scheme(scheme_name)));
    (spec.ties, spec.stop) = (ties, stop);
    let rounds = Rounds {
        kinds: kinds.to_vec(),
        order: order.to_vec(),
        next: 0,
        left: 0,
        messages: 0,
        heard: Vec::new(),
    };
    spec.programs = vec![Program {
        digest: String::new(),
        start: Time::from_ns(100),
        hosts: (1..5).map(NodeId).collect(),
        class: 3,
        scheme: 0,
        flows: 100_000,
        largest: 1 << 20,
        state: State::new(rounds),
    }];
    spec
}

fn equal(with: &Outcome, without: &Outcome) -> Result<(), TestCaseError> {
    prop_assert_eq!(with.end, without.end);
    prop_assert_eq!(with.counters, without.counters);
    prop_assert_eq!(&with.ended, &without.ended);
    let heard = |outcome: &Outcome| outcome.programs[0].get::<Vec<(u32, u8, u64)>>().cloned();
    prop_assert_eq!(heard(with), heard(without));
    let plain = |outcome: &Outcome| Outcome {
        repeats: None,
        ..outcome.clone()
    };
    prop_assert!(plain(with) == plain(without), "something else differs");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("CI").is_some() { 150 } else { 30 }))]

    /// Rounds of a few kinds in any order, with or without pauses between them, in any order of simultaneous events.
    #[test]
    fn a_run_with_memory_is_the_run_without(
        kinds in prop::collection::vec(
            prop::collection::vec((1..5u32, 1..4u32, 1..60_000u64, prop_oneof![Just(0), 1..4_000u64]), 1..6),
            1..4,
        ),
        order in prop::collection::vec((0..4usize, prop_oneof![Just(0), Just(20_000), 1..3_000u64]), 1..60),
        insertion in any::<bool>(),
        name in prop::sample::select(vec!["none", "dcqcn", "hpcc", "timely", "swift", "dctcp"]),
        stop in prop_oneof![Just(1 << 40), 100_000..2_000_000u64],
        step in 50..5_000u64,
    ) {
        let other = |(src, other, size, after): (u32, u32, u64, u64)| (src, (src + other - 1) % 4 + 1, size, after);
        let kinds: Vec<Round> = kinds.into_iter().map(|round| round.into_iter().map(other).collect()).collect();
        let order: Vec<_> = order.into_iter().map(|(kind, pause)| (kind % kinds.len(), pause)).collect();
        // Five repetitions, so that there is something to remember.
        let order = order.repeat(5);
        let ties = if insertion { TieOrder::Insertion } else { TieOrder::Structural };
        let spec = spec_of(name, ties, Time::from_ns(stop), &kinds, &order);
        let without = run(&spec, Memory::Without, 100_000);
        equal(&run(&spec, Memory::With, step), &without)?;
        equal(&run(&spec, Memory::Checked, 100_000), &without)?;
    }
}

/// Equal rounds: nearly all are taken from memory, with the network at rest between them and with packets under way.
#[test]
fn most_of_what_is_alike_is_taken() {
    for (name, ties, pause) in [
        ("none", TieOrder::Structural, 20_000),
        ("none", TieOrder::Structural, 0),
        ("dcqcn", TieOrder::Insertion, 0),
        ("dcqcn", TieOrder::Structural, 0),
        ("hpcc", TieOrder::Structural, 20_000),
        ("timely", TieOrder::Structural, 0),
    ] {
        let ring: Round = (1..5).map(|host| (host, host % 4 + 1, 100_000, 0)).collect();
        let spec = spec_of(name, ties, Time::from_ns(1 << 40), &[ring], &[(0, pause); 400]);
        let (with, without) = (run(&spec, Memory::With, 1000), run(&spec, Memory::Without, 1000));
        equal(&with, &without).unwrap();
        let repeats = with.repeats.unwrap();
        let share = repeats.events_taken as f64 / with.counters.events as f64;
        assert!(
            share > 0.9,
            "{name} {ties:?} {pause}: {share}, {:?}",
            repeats.parts
        );
    }
}

/// The reason why phases cannot recur is reported.
#[test]
fn what_cannot_come_again_is_said() {
    let mut spec = natural(star(2, scheme("none")));
    let why = |spec: &RunSpec| Simulation::new(spec.clone()).unwrap().memoise(false).unwrap_err();
    assert_eq!(why(&spec), "no job is by a trace");
    spec = spec_of(
        "none",
        TieOrder::Structural,
        Time::from_ns(1000),
        &[vec![(1, 2, 1, 0)]],
        &[(0, 0)],
    );
    spec.record.port_bin = Some(Span::from_us(1));
    assert!(why(&spec).contains("[record]"));
    spec.record.port_bin = None;
    spec.links[0].error_rate = 0.1;
    assert_eq!(why(&spec), "links lose packets at random");
}

/// The reason why states with packets under way cannot be compared is reported, and only if it applies.
#[test]
fn why_only_states_at_rest_are_compared_is_said() {
    let ring: Round = (1..5).map(|host| (host, host % 4 + 1, 100_000, 0)).collect();
    let irn = Irn {
        rto_low: Span::from_us(100),
        rto_high: Span::from_us(320),
        low_packets: 3,
        bdp_cap: true,
        reordering: 0,
    };
    for (name, recovery, expected) in [
        ("none", Recovery::GoBackN, None),
        ("hpcc", Recovery::GoBackN, Some("packets carry telemetry")),
        (
            "none",
            Recovery::SelectiveRepeat(irn),
            Some("senders remember which packets were acknowledged (selective repeat)"),
        ),
    ] {
        let stop = Time::from_ns(1 << 40);
        let mut spec = spec_of(
            name,
            TieOrder::Structural,
            stop,
            std::slice::from_ref(&ring),
            &[(0, 0); 40],
        );
        spec.nic.recovery = recovery;
        let repeats = run(&spec, Memory::With, 1000).repeats.unwrap();
        assert_eq!(repeats.only_at_rest, expected, "{name}");
        assert_eq!(repeats.taken > 0, expected.is_none(), "{name}");
    }
}
