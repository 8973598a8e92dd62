//! Cost of an event: the hold model, in which every event that is taken schedules another, so that
//! the number of pending events stays the same.
//!
//! Delays: 45 % 80 ns (a packet's transmission), 45 % 1 µs (a cable), 10 % timers, uniform
//! between 1 and 100 µs.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use paceline_kernel::queue::{Entry, EventQueue, HeapQueue, LaneId};
use paceline_kernel::rng::mix;

/// Events per measured iteration.
const EVENTS: u64 = 10_000;

/// What both queues do.
trait Pending {
    fn push(&mut self, lane: usize, entry: Entry);
    fn pop(&mut self) -> Entry;
}

/// Lanes for the two constant delays, the wheel for timers.
struct Lanes(EventQueue, [LaneId; 3]);

impl Pending for Lanes {
    fn push(&mut self, lane: usize, entry: Entry) {
        self.0.push(self.1[lane], entry);
    }
    fn pop(&mut self) -> Entry {
        self.0.pop().expect("as many events as at the start")
    }
}

impl Pending for HeapQueue {
    fn push(&mut self, _: usize, entry: Entry) {
        self.push(entry);
    }
    fn pop(&mut self) -> Entry {
        self.pop().expect("as many events as at the start")
    }
}

fn lanes() -> Lanes {
    let mut queue = EventQueue::new();
    let lanes = [queue.add_lane(80_000), queue.add_lane(1_000_000), LaneId::WHEEL];
    Lanes(queue, lanes)
}

/// The delay of the `n`th event in ps, and its lane.
fn delay(n: u64) -> (usize, u64) {
    let random = mix(n);
    match random % 100 {
        0..45 => (0, 80_000),
        45..90 => (1, 1_000_000),
        _ => (2, 1_000_000 + (random >> 8) % 99_000_000),
    }
}

/// A queue in the steady state, with the number of events so far.
struct Hold<Q> {
    queue: Q,
    count: u64,
}

impl<Q: Pending> Hold<Q> {
    fn new(queue: Q, pending: u64) -> Self {
        let mut hold = Self { queue, count: 0 };
        // Timers first: what starts at once in a lane would stay together.
        for _ in 0..pending {
            hold.schedule(0, (2, mix(hold.count) % 1_000_000));
        }
        hold.run(20 * pending);
        hold
    }

    fn schedule(&mut self, now: u64, (lane, delay): (usize, u64)) {
        self.count += 1;
        let entry = Entry {
            at: now + delay,
            tie: self.count,
            what: self.count,
        };
        self.queue.push(lane, entry);
    }

    fn run(&mut self, events: u64) {
        for _ in 0..events {
            let now = self.queue.pop().at;
            self.schedule(now, delay(self.count));
        }
    }
}

fn hold(c: &mut Criterion) {
    let mut group = c.benchmark_group("hold");
    group.throughput(Throughput::Elements(EVENTS));
    for pending in [1_000, 10_000, 100_000] {
        let mut ours = Hold::new(lanes(), pending);
        group.bench_function(BenchmarkId::new("lanes+wheel", pending), |b| {
            b.iter(|| ours.run(EVENTS))
        });
        let mut heap = Hold::new(HeapQueue::default(), pending);
        group.bench_function(BenchmarkId::new("heap", pending), |b| b.iter(|| heap.run(EVENTS)));
    }
    group.finish();
}

criterion_group!(benches, hold);
criterion_main!(benches);
