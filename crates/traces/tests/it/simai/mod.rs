//! SimAI's workloads: groups and rings as SimAI makes them, iterations on a network whose times are formulas, and on one that
//! has the times of SimAI's own runs.

mod reading;
mod replay;
mod rings;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use paceline_kernel::Time;
use paceline_traces::collective::CollectiveRules;
use paceline_traces::executor::{Executor, Rules};
use paceline_traces::network::{Message, MessageId, Network};
use paceline_traces::program::Program;
use paceline_traces::simai::{Servers, SimaiProgram, Workload, program, read};

fn text(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/simai")
        .join(name);
    let bytes = fs::read(path).unwrap();
    let mut text = String::new();
    match name.ends_with(".gz") {
        true => flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text),
        false => (&bytes[..]).read_to_string(&mut text),
    }
    .unwrap();
    text
}

fn workload(name: &str) -> Workload {
    read(name, &text(name)).unwrap().0
}

/// Servers of eight GPUs.
fn servers(ranks: u32) -> Servers {
    Servers {
        ranks,
        gpus_per_server: 8,
        mtu: 9000,
    }
}

fn made(name: &str, ranks: u32) -> SimaiProgram {
    program(&workload(name), &servers(ranks)).unwrap().0
}

/// In place of a token: the last byte of a message arrives.
const RECEIVED: u64 = u64::MAX;

/// Its time, its number, and a token or a message.
type Event = (Time, u64, Option<u64>, u32);

/// A network in which each message takes a time of its own, whatever else is under way. The last acknowledgement takes two
/// links from the receiver to the sender, four between rails.
struct Ideal<'a> {
    now: Time,
    events: BinaryHeap<Reverse<Event>>,
    number: u64,
    sent: Vec<Message>,
    ns: &'a dyn Fn(Time, &Message) -> u64,
}

impl Ideal<'_> {
    fn at(&mut self, at: Time, token: Option<u64>, message: u32) {
        self.number += 1;
        self.events.push(Reverse((at, self.number, token, message)));
    }
}

impl Network for Ideal<'_> {
    fn now(&self) -> Time {
        self.now
    }
    fn wake(&mut self, at: Time, token: u64) {
        self.at(at, Some(token), 0);
    }
    fn send(&mut self, message: Message) {
        let ns = (self.ns)(self.now, &message);
        let back = match (
            message.from / 8 == message.to / 8,
            message.from % 8 == message.to % 8,
        ) {
            (true, _) => 50,
            (false, true) => 1004,
            (false, false) => 2010,
        };
        let at = Time::from_ps(self.now.as_ps() + ns.saturating_sub(back) * 1000);
        self.at(at, Some(RECEIVED), message.id.0);
        self.at(Time::from_ps(self.now.as_ps() + ns * 1000), None, message.id.0);
        self.sent.push(message);
    }
}

/// Carries a program out; the executor at the end, and all messages in the order in which they left.
fn run(
    program: SimaiProgram,
    latency_ns: u64,
    ns: &dyn Fn(Time, &Message) -> u64,
) -> (Executor, Vec<Message>) {
    let program: Arc<dyn Program> = Arc::new(program);
    let rules = Rules {
        collectives: CollectiveRules::simai(8, latency_ns),
        ..Rules::default()
    };
    let mut executor = Executor::new(program, rules);
    let mut net = Ideal {
        now: Time::ZERO,
        events: BinaryHeap::new(),
        number: 0,
        sent: Vec::new(),
        ns,
    };
    executor.start(&mut net);
    while let Some(Reverse((at, _, token, message))) = net.events.pop() {
        net.now = at;
        match token {
            Some(RECEIVED) => executor.received(MessageId(message), &mut net),
            Some(token) => executor.woken(token, &mut net),
            None => executor.acknowledged(MessageId(message), &mut net),
        }
    }
    assert_eq!(executor.stuck(), []);
    assert!(executor.is_done());
    (executor, net.sent)
}
