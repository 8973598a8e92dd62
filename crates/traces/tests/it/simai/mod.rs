//! SimAI's workloads: groups and rings as in SimAI, iterations on a network whose times are formulas, and on one with
//! the times of SimAI's own runs.

mod reading;
mod relays;
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

/// Returns servers of eight GPUs.
fn servers(ranks: u32) -> Servers {
    Servers {
        ranks,
        gpus_per_server: 8,
        nvswitches: ranks / 8,
        mtu: 9000,
    }
}

fn made(name: &str, ranks: u32) -> SimaiProgram {
    program(&workload(name), &servers(ranks)).unwrap().0
}

/// Special tokens: the last packet of a message has left, its last byte arrives, or the last acknowledgement leaves
/// the last switch, inside a server or outside. Simultaneous events happen in the order in which they began.
const SENT: u64 = u64::MAX - 3;
const RECEIVED: u64 = u64::MAX - 2;
const NEAR: u64 = u64::MAX - 1;
const FAR: u64 = u64::MAX;

/// Time, number, and a token or a message.
type Event = (Time, u64, Option<u64>, u32);

/// Network in which each message takes its own time, independent of others. Its last packet and the last
/// acknowledgement cross two links, four between rails, and wait only for the packet before.
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
        let (links, delay, gbps, back) = match (
            message.from / 8 == message.to / 8,
            message.from % 8 == message.to % 8,
        ) {
            (true, _) => (2, 25, 2400, 50),
            (false, true) => (2, 500, 100, 1008),
            (false, false) => (4, 500, 100, 2010),
        };
        // The last packet leaves each switch behind the previous one, which is full.
        let before = message.bytes.min(9000) + 52;
        let forward = links * delay + before * 8 / gbps + (links - 2) * (before * 8 / (4 * gbps));
        let now = self.now.as_ns();
        let at = |before: u64| Time::from_ns(now + ns.saturating_sub(before));
        self.at(at(back + forward), Some(SENT), message.id.0);
        self.at(at(back), Some(RECEIVED), message.id.0);
        let last = match delay {
            _ if ns < delay => None,
            25 => Some(NEAR),
            _ => Some(FAR),
        };
        self.at(at(if last.is_some() { delay } else { 0 }), last, message.id.0);
        self.sent.push(message);
    }
}

/// Executes a program; returns the executor at the end, and all messages in the order of departure.
fn run(
    program: SimaiProgram,
    latency_ns: u64,
    ns: &dyn Fn(Time, &Message) -> u64,
) -> (Executor, Vec<Message>) {
    run_by(program, CollectiveRules::simai(8, latency_ns), ns)
}

/// Executes a program by these rules of collectives.
fn run_by(
    program: SimaiProgram,
    collectives: CollectiveRules,
    ns: &dyn Fn(Time, &Message) -> u64,
) -> (Executor, Vec<Message>) {
    let program: Arc<dyn Program> = Arc::new(program);
    let rules = Rules {
        collectives,
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
            Some(SENT) => executor.sent(MessageId(message), &mut net),
            Some(RECEIVED) => executor.received(MessageId(message), &mut net),
            Some(NEAR) => net.at(Time::from_ns(at.as_ns() + 25), None, message),
            Some(FAR) => net.at(Time::from_ns(at.as_ns() + 500), None, message),
            Some(token) => executor.woken(token, &mut net),
            None => executor.acknowledged(MessageId(message), &mut net),
        }
    }
    assert_eq!(executor.stuck(), []);
    assert!(executor.is_done());
    (executor, net.sent)
}
