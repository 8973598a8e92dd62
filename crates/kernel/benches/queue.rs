//! Cost of an event in the hold model: every popped event schedules another, so the number of pending events
//! is constant.
//!
//! Delays are those of a fat tree with permutation traffic at 100 Gbit/s and cables of a microsecond: 36 %
//! are the transmission of a packet plus a cable, 36 % that of an acknowledgement plus a cable, 12 and 7 %
//! are transmissions alone. The remaining 9 % are uniform up to 200 ns (remaining time of a transmission in
//! progress) and have no lane.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use paceline_kernel::queue::{Entry, EventQueue, HeapQueue, LaneId};
use paceline_kernel::rng::mix;

/// Events per measured iteration.
const EVENTS: u64 = 10_000;

/// Interface common to both queues.
trait Pending {
    fn push(&mut self, lane: usize, entry: Entry);
    fn pop(&mut self) -> Entry;
}

/// Constant delays in ps, each with its share of events in per cent.
const DELAYS: [(u64, u64); 4] = [(1_087_200, 36), (1_007_040, 36), (87_200, 12), (7_040, 7)];

/// Event queue with lanes for the constant delays; the wheel takes the others.
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

/// Returns the lane and the delay in ps of the `n`th event.
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

/// Queue in the steady state, with the number of events scheduled up to now.
struct Hold<Q> {
    queue: Q,
    count: u64,
}

impl<Q: Pending> Hold<Q> {
    fn new(queue: Q, pending: u64) -> Self {
        let mut hold = Self { queue, count: 0 };
        // The first events have no lane: events that start together in a lane would stay together.
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
