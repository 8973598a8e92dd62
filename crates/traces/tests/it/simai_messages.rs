//! Rings of several channels against SimAI: with the network's answers taken from its own run, each message has to start at
//! the ns at which it started there.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::Read;
use std::sync::Arc;

use flate2::read::GzDecoder;
use paceline_kernel::{Span, Time};
use paceline_traces::collective::CollectiveRules;
use paceline_traces::executor::{Executor, Rules};
use paceline_traces::graph::{Graph, Names};
use paceline_traces::network::{Message, MessageId, Network};
use paceline_traces::program::{Collective, CollectiveKind, Lanes, OperationId, Order, Rank, Work};

use crate::chakra::data;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Wake(u64),
    Acknowledged(u32),
}

/// Messages of an ordered pair, by source port: that, bytes, start and flow completion time in ns.
type Recorded = BTreeMap<(Rank, Rank), Vec<(u64, u64, u64, u64)>>;

/// Gives each message the completion time that the k-th of its pair had.
struct Replay {
    now: Time,
    number: u64,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    recorded: Recorded,
    next: BTreeMap<(Rank, Rank), usize>,
    /// What starts from here on, in ns, is not compared.
    until: u64,
    equal: u64,
    wrong: Vec<String>,
}

impl Network for Replay {
    fn now(&self) -> Time {
        self.now
    }

    fn wake(&mut self, at: Time, token: u64) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, Event::Wake(token))));
    }

    fn send(&mut self, message: Message) {
        let pair = (message.from, message.to);
        let k = self.next.entry(pair).or_default();
        let (_, bytes, start, fct) = self.recorded[&pair][*k];
        if start.max(self.now.as_ns()) >= self.until {
            // Not compared.
        } else if (bytes, start) == (message.bytes, self.now.as_ns()) {
            self.equal += 1;
        } else {
            self.wrong.push(format!(
                "{pair:?} number {k}: {} B at {}, expected {bytes} B at {start}",
                message.bytes,
                self.now.as_ns()
            ));
        }
        *k += 1;
        self.number += 1;
        let at = self.now + Span::from_ns(fct);
        self.events
            .push(Reverse((at, self.number, Event::Acknowledged(message.id.0))));
    }
}

fn recorded(file: &str) -> Recorded {
    let bytes = std::fs::read(data(&format!("simai/{file}-lat3-messages.csv.gz"))).unwrap();
    let mut text = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
    let mut all = Recorded::new();
    for row in csv::Reader::from_reader(text.as_bytes()).records() {
        let row = row.unwrap();
        let n = |at: usize| row[at].parse::<u64>().unwrap();
        let pair = (n(0) as Rank, n(1) as Rank);
        all.entry(pair).or_default().push((n(2), n(3), n(4), n(5)));
    }
    for list in all.values_mut() {
        list.sort_unstable();
    }
    all
}

#[derive(Debug)]
struct Nameless;

impl Names for Nameless {
    fn name(&self, _: Rank, _: OperationId) -> String {
        String::new()
    }
}

/// Runs collectives one after another, each after so many ns of computing.
fn replay(file: &str, ranks: Rank, steps: &[(u64, CollectiveKind, u64)], until: u64) -> (u64, Vec<String>) {
    let lanes = Lanes {
        orders: vec![Order::Freed, Order::LastIssued],
    };
    let mut graph = Graph::builder(ranks, lanes);
    let all: Vec<Rank> = (0..ranks).collect();
    let group = graph.group(&all);
    for rank in 0..ranks {
        let mut before: Option<OperationId> = None;
        for &(ns, kind, bytes) in steps {
            let calc = graph.operation(rank, Work::Compute { ns }, 0, 0);
            let work = graph.collective(Collective {
                kind,
                bytes,
                group,
                root: 0,
            });
            let op = graph.operation(rank, work, 1, 0);
            graph.after_end(rank, calc, op);
            if let Some(before) = before {
                graph.after_end(rank, before, calc);
            }
            before = Some(op);
        }
    }
    let rules = Rules {
        collectives: CollectiveRules::simai(8, 3000),
        ..Rules::default()
    };
    let mut executor = Executor::new(Arc::new(graph.finish(Arc::new(Nameless))), rules);
    let mut net = Replay {
        now: Time::ZERO,
        number: 0,
        events: BinaryHeap::new(),
        recorded: recorded(file),
        next: BTreeMap::new(),
        until,
        equal: 0,
        wrong: Vec::new(),
    };
    executor.start(&mut net);
    while let Some(Reverse((at, _, event))) = net.events.pop() {
        net.now = at;
        match event {
            Event::Wake(token) => executor.woken(token, &mut net),
            Event::Acknowledged(id) => {
                executor.sent(MessageId(id), &mut net);
                executor.received(MessageId(id), &mut net);
                executor.acknowledged(MessageId(id), &mut net);
            }
        }
    }
    assert!(executor.is_done());
    (net.equal, net.wrong)
}

#[test]
fn messages_of_rings_start_when_they_do_in_simai() {
    use CollectiveKind::AllReduce;
    let steps = [(556_000, AllReduce, 16_777_216), (556_002, AllReduce, 67_108_864)];
    let (equal, wrong) = replay("microAllReduce", 8, &steps, u64::MAX);
    assert_eq!(wrong, [] as [&str; 0]);
    assert_eq!(equal, 1792);
    // Over two servers, until two messages of a pair start at once: which of them then gets which time is not recorded.
    let steps = [(10_000, AllReduce, 8_388_608)];
    let (equal, wrong) = replay("tp16", 16, &steps, 34_056);
    assert_eq!(wrong, [] as [&str; 0]);
    assert_eq!(equal, 533);
}
