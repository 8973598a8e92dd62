//! Cost of an event: the hold model, in which every event that is taken schedules another, so that
//! the number of pending events stays the same.
//!
//! Delays are those of a fat tree's permutation at 100 Gbit/s with cables of a microsecond: 36 % are
//! a packet's transmission and a cable, 36 % an acknowledgement's, 12 and 7 % the transmissions alone,
//! 9 % are uniform up to 200 ns (waits for the end of one that had started) and have no lane.

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

/// The constant delays in ps, each with the share of events that it has, in per cent.
const DELAYS: [(u64, u64); 4] = [(1_087_200, 36), (1_007_040, 36), (87_200, 12), (7_040, 7)];

/// Lanes for the constant delays, the wheel for the others.
struct Lanes(EventQueue, [LaneId; DELAYS.len() + 1]);

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
    let mut queue = EventQueue::untied();
    let mut lanes = [LaneId::WHEEL; DELAYS.len() + 1];
    for (lane, &(delay, _)) in lanes.iter_mut().zip(&DELAYS) {
        *lane = queue.add_lane(delay);
    }
    Lanes(queue, lanes)
}

/// The delay of the `n`th event in ps, and its lane.
fn delay(n: u64) -> (usize, u64) {
    let random = mix(n);
    let mut share = random % 100;
    for (lane, &(delay, of_all)) in DELAYS.iter().enumerate() {
        if share < of_all {
            return (lane, delay);
        }
        share -= of_all;
    }
    (DELAYS.len(), 1 + (random >> 8) % 200_000)
}

/// A queue in the steady state, with the number of events so far.
struct Hold<Q> {
    queue: Q,
    count: u64,
}

impl<Q: Pending> Hold<Q> {
    fn new(queue: Q, pending: u64) -> Self {
        let mut hold = Self { queue, count: 0 };
        // Without a lane at first: what starts at once in one would stay together.
        for _ in 0..pending {
            hold.schedule(0, (DELAYS.len(), 1 + mix(hold.count) % 1_000_000));
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
