//! Flows of programs: a program that starts the flows of a list gives the run of the list.

use crate::common::{natural, run, scheme, star};
use paceline_fabric::outcome::{EndedFlow, FlowRecord, FlowStatus, ModelOutcome};
use paceline_fabric::spec::*;
use paceline_fabric::{BuildError, Simulation};
use paceline_kernel::{Bytes, Span, Time};
use proptest::prelude::*;

/// Starts each flow of a list when its dependencies are met.
#[derive(Clone, Debug, Default)]
struct Follows {
    flows: Vec<FlowSpec>,
    dependencies: Vec<Dependency>,
    /// Number of unmet dependencies of each flow, and the earliest start.
    waits: Vec<(usize, Time)>,
    left: usize,
}

impl Follows {
    fn new(flows: Vec<FlowSpec>, dependencies: Vec<Dependency>) -> Self {
        let pending = |flow| dependencies.iter().filter(|wait| wait.flow == flow).count();
        Self {
            waits: (0..flows.len() as u32)
                .map(|flow| (pending(flow), flows[flow as usize].start))
                .collect(),
            left: flows.len(),
            flows,
            dependencies,
        }
    }
}

impl Behaviour for Follows {
    fn begin(&mut self, asks: &mut dyn Asks) {
        for (flow, &(pending, at)) in self.waits.iter().enumerate() {
            if pending == 0 {
                asks.wake(at, flow as u64);
            }
        }
    }

    fn woken(&mut self, token: u64, asks: &mut dyn Asks) {
        asks.send(token as u32, self.flows[token as usize]);
    }

    fn heard(&mut self, message: u32, what: Awaited, asks: &mut dyn Asks) {
        self.left -= usize::from(what == Awaited::Acknowledged);
        for met in &self.dependencies {
            if met.after == message && met.awaited == what {
                let (pending, at) = &mut self.waits[met.flow as usize];
                *pending -= 1;
                *at = (*at).max(asks.now() + met.delay);
                if *pending == 0 {
                    asks.wake(*at, u64::from(met.flow));
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.left == 0
    }

    fn close(&self) -> ModelOutcome {
        ModelOutcome::new(self.left)
    }
}

fn program(spec: &RunSpec, follows: Follows) -> Program {
    let flows = follows.flows.clone();
    program_of(spec, &flows, follows)
}

/// Returns a program of all hosts that starts these flows.
fn program_of(spec: &RunSpec, flows: &[FlowSpec], behaviour: impl Behaviour) -> Program {
    Program {
        digest: String::new(),
        start: Time::ZERO,
        hosts: (1..spec.nodes.len() as u32).map(NodeId).collect(),
        class: 3,
        scheme: 0,
        flows: flows.len() as u32,
        largest: flows.iter().map(|flow| flow.size.get()).max().unwrap_or(1),
        state: State::new(behaviour),
    }
}

/// Returns a flow that starts at `start` ns.
fn flow(src: u32, dst: u32, size: u64, start: u64) -> FlowSpec {
    FlowSpec {
        src: NodeId(src),
        dst: NodeId(dst),
        size: Bytes::new(size),
        start: Time::from_ns(start),
        class: 3,
        sport: 1,
        dport: 100,
        label: 0,
        scheme: 0,
        connection: None,
        nics: Nics::ANY,
    }
}

/// Returns the results of all flows, sorted, with start, size and hosts to tell flows apart.
fn sorted(
    flows: impl Iterator<Item = (FlowSpec, FlowRecord)>,
) -> Vec<(u64, u64, u32, u32, FlowStatus, u64, u64)> {
    let told = |(spec, record): (FlowSpec, FlowRecord)| {
        let ps = |span: Span| span.as_ps();
        let FlowRecord {
            status,
            start,
            fct,
            ideal,
            ..
        } = record;
        (
            start.as_ps(),
            spec.size.get(),
            spec.src.0,
            spec.dst.0,
            status,
            ps(fct),
            ps(ideal),
        )
    };
    let mut all: Vec<_> = flows.map(told).collect();
    all.sort_unstable_by_key(|&(start, size, src, dst, ..)| (start, size, src, dst));
    all
}

/// Flows among four hosts; each depends on some of those before it.
fn flows() -> impl Strategy<Value = (Vec<FlowSpec>, Vec<Dependency>)> {
    let flow = (1..5u32, 1..4u32, 1..40_000u64, 0..20_000u64);
    let wait = (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<bool>(),
        0..9_000u64,
    );
    (
        prop::collection::vec(flow, 2..14),
        prop::collection::vec(wait, 0..12),
    )
        .prop_map(|(flows, waits)| {
            let spec = |(src, other, size, start): (u32, u32, u64, u64)| FlowSpec {
                src: NodeId(src),
                dst: NodeId((src + other - 1) % 4 + 1),
                size: Bytes::new(size),
                start: Time::from_ps(start * 1_000 + size),
                class: 3,
                sport: 10_000 + size as u16,
                dport: 100,
                label: 0,
                scheme: 0,
                connection: None,
                nics: Nics::ANY,
            };
            let mut flows: Vec<FlowSpec> = flows.into_iter().map(spec).collect();
            flows.sort_by_key(|flow| flow.start);
            let depends = |(a, b, received, delay): (prop::sample::Index, prop::sample::Index, bool, u64)| {
                let (a, b) = (a.index(flows.len()) as u32, b.index(flows.len()) as u32);
                (a != b).then(|| Dependency {
                    flow: a.max(b),
                    after: a.min(b),
                    awaited: if received {
                        Awaited::Received
                    } else {
                        Awaited::Acknowledged
                    },
                    delay: Span::from_ns(delay),
                })
            };
            let waits = waits.into_iter().filter_map(depends).collect();
            (flows, waits)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("CI").is_some() { 200 } else { 40 }))]

    /// The starts, completion times and events are the same, whether a list describes the flows or a program starts
    /// them.
    #[test]
    fn a_program_gives_the_run_of_its_list((flows, waits) in flows(), natural_ in any::<bool>()) {
        let mut spec = star(4, scheme("dcqcn"));
        if natural_ {
            spec = natural(spec);
        }
        spec.check = true;
        let listed = RunSpec { flows: flows.clone(), dependencies: waits.clone(), ..spec.clone() };
        let listed = run(listed);
        let programs = vec![program(&spec, Follows::new(flows.clone(), waits))];
        let outcome = run(RunSpec { programs, ..spec });
        let ended = outcome.ended.iter().map(|&EndedFlow { spec, record, .. }| (spec, record));
        prop_assert_eq!(
            sorted(ended),
            sorted(flows.into_iter().zip(listed.flows.iter().copied()))
        );
        prop_assert_eq!(outcome.counters.data_received, listed.counters.data_received);
        prop_assert_eq!(outcome.programs[0].get::<usize>(), Some(&0));
    }
}

/// A list together with a program; a copy of the run continues in the same way.
#[test]
fn a_program_runs_alongside_a_list_and_in_copies() {
    let mut spec = natural(star(4, scheme("hpcc")));
    spec.flows = vec![flow(1, 2, 100_000, 0), flow(3, 2, 50_000, 2_000)];
    let after = |flow| Dependency {
        flow,
        after: flow - 1,
        awaited: Awaited::Received,
        delay: Span::from_us(1),
    };
    let chain = (0..6)
        .map(|n| flow(1 + n % 4, 1 + (n + 1) % 4, 30_000, 1_000))
        .collect();
    let follows = Follows::new(chain, (1..6).map(after).collect());
    spec.programs = vec![program(&spec, follows)];
    let mut first = Simulation::new(spec.clone()).unwrap();
    first.advance(300);
    let mut copy = first.clone();
    while !first.advance(1_000).done {}
    while !copy.advance(7).done {}
    let (first, copy) = (first.finish(), copy.finish());
    assert_eq!(first.digest, copy.digest);
    assert_eq!((first.flows, &first.ended), (copy.flows, &copy.ended));
    assert_eq!((first.ended.len(), first.completions.len()), (6, 2));
    assert!(
        first
            .ended
            .iter()
            .all(|flow| flow.record.status == FlowStatus::Completed)
    );
    assert_eq!(first.programs[0].get::<usize>(), Some(&0));
}

#[test]
fn a_program_of_hosts_that_are_not_there_is_refused() {
    let mut spec = natural(star(2, scheme("hpcc")));
    let mut strange = program(&spec, Follows::default());
    strange.hosts = vec![NodeId(0)];
    spec.programs = vec![strange.clone()];
    let error = Simulation::new(spec.clone()).err().unwrap();
    assert!(
        matches!(&error, BuildError::BadProgram { program: 0, why } if why == "node 0 is a switch"),
        "{error}"
    );
    strange.hosts = vec![NodeId(1)];
    strange.class = 9;
    spec.programs = vec![strange];
    let error = Simulation::new(spec).err().unwrap().to_string();
    assert_eq!(error, "program 0: priority 9 is not one of 1 to 7");
}

/// Sends a flow at a time, the next a microsecond after the last; and requests many wake-ups, later.
#[derive(Clone, Debug)]
struct Impatient {
    flow: FlowSpec,
    left: u32,
}

const LATER: u64 = 1 << 32;

impl Behaviour for Impatient {
    fn begin(&mut self, asks: &mut dyn Asks) {
        for us in 0..1000 {
            asks.wake(Time::from_ns(50_500 + us * 1000), LATER);
        }
        asks.wake(Time::from_ns(1000), 0);
    }

    fn woken(&mut self, token: u64, asks: &mut dyn Asks) {
        if token != LATER {
            asks.send(0, self.flow);
        }
    }

    fn heard(&mut self, _: u32, what: Awaited, asks: &mut dyn Asks) {
        if what == Awaited::Acknowledged {
            self.left -= 1;
            if self.left > 0 {
                asks.wake(asks.now() + Span::from_us(1), 0);
            }
        }
    }

    fn is_done(&self) -> bool {
        self.left == 0
    }

    fn close(&self) -> ModelOutcome {
        ModelOutcome::new(self.left)
    }
}

/// A wake-up that is requested later for an earlier time leaves an event behind, and no more, in any order of events.
#[test]
fn a_program_is_woken_by_an_event_for_each_time() {
    for ties in [TieOrder::Structural, TieOrder::Insertion, TieOrder::Shuffled(7)] {
        let mut spec = natural(star(2, scheme("hpcc")));
        spec.ties = ties;
        let flow = flow(1, 2, 1000, 0);
        let impatient = Impatient { flow, left: 200 };
        spec.programs = vec![Program {
            flows: 200,
            ..program_of(&spec, &[flow], impatient)
        }];
        let outcome = run(spec);
        assert_eq!(outcome.programs[0].get::<u32>(), Some(&0));
        let events = outcome.counters.events;
        assert!((1000..4000).contains(&events), "{ties:?}: {events}");
    }
}

/// Sends one flow, and logs its calls with their times.
#[derive(Clone, Debug, Default)]
struct Hears {
    flow: Option<FlowSpec>,
    heard: Vec<(&'static str, u64)>,
}

impl Behaviour for Hears {
    fn begin(&mut self, asks: &mut dyn Asks) {
        asks.send(7, self.flow.expect("it has one"));
    }

    fn woken(&mut self, _: u64, _: &mut dyn Asks) {}

    fn left(&mut self, message: u32, asks: &mut dyn Asks) {
        assert_eq!(message, 7);
        self.heard.push(("left", asks.now().as_ps()));
    }

    fn heard(&mut self, _: u32, what: Awaited, asks: &mut dyn Asks) {
        let what = match what {
            Awaited::Received => "received",
            _ => "acknowledged",
        };
        self.heard.push((what, asks.now().as_ps()));
    }

    fn is_done(&self) -> bool {
        self.heard.len() == 3
    }

    fn close(&self) -> ModelOutcome {
        ModelOutcome::new(self.heard.clone())
    }
}

/// Three packets of 1048 bytes at 100 Gbit/s, 83.84 ns each: the last has left when it is completely on the wire.
#[test]
fn a_program_hears_when_the_last_packet_has_left() {
    let mut spec = natural(star(2, scheme("none")));
    let flow = flow(1, 2, 3_000, 0);
    let hears = Hears {
        flow: Some(flow),
        ..Hears::default()
    };
    spec.programs = vec![program_of(&spec, &[flow], hears)];
    let outcome = run(spec);
    let heard: &Vec<(&str, u64)> = outcome.programs[0].get().unwrap();
    let names: Vec<&str> = heard.iter().map(|(what, _)| *what).collect();
    assert_eq!(names, ["left", "received", "acknowledged"]);
    assert_eq!(heard[0].1, 3 * 83_840);
    assert_eq!(heard[1].1, 4 * 83_840 + 2_000_000);
}
