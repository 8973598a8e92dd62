use super::*;
use proptest::prelude::*;

/// Events pushed by a popped event, each with delay class, delay if it has no class, and tie.
#[derive(Clone, Debug)]
struct Step(Vec<(u8, u64, u64)>);

const DELAYS: [u64; 3] = [0, 84_000, 1_084_000];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let odd = prop_oneof![Just(0u64), 0..20_000u64, 0..3_000_000u64, 0..900_000_000u64];
    let push = (0..4u8, odd, 0..8u64);
    prop::collection::vec(prop::collection::vec(push, 0..3).prop_map(Step), 1..400)
}

/// Event queue and heap with the same events.
struct Pair {
    queue: EventQueue,
    lanes: Vec<LaneId>,
    heap: HeapQueue,
    now: u64,
    /// Number of events pushed up to now.
    pushed: u64,
}

impl Pair {
    /// Returns a pair for the queue, which first gets `unused` other lanes.
    fn new(mut queue: EventQueue, unused: u64) -> Self {
        (0..unused).for_each(|i| {
            queue.add_lane(1 + i);
        });
        let lanes = DELAYS.iter().map(|&delay| queue.add_lane(delay)).collect();
        Self {
            queue,
            lanes,
            heap: HeapQueue::default(),
            now: 0,
            pushed: 0,
        }
    }

    fn push(&mut self, step: &Step, insertion: bool) {
        for &(class, odd, tie) in &step.0 {
            self.pushed += 1;
            let (lane, delay) = match DELAYS.get(class as usize) {
                Some(&delay) => (self.lanes[class as usize], delay),
                None => (LaneId::WHEEL, odd),
            };
            let tie = if insertion {
                self.pushed
            } else {
                tie << 32 | self.pushed
            };
            let entry = Entry {
                at: self.now + delay,
                tie,
                what: tie,
            };
            self.queue.push(lane, entry);
            self.heap.push(entry);
        }
    }

    /// Pops the next event before `end` from both.
    fn pop(&mut self, end: u64) -> Result<Option<Entry>, TestCaseError> {
        let next = self.heap.peek().copied();
        prop_assert_eq!(self.queue.peek_time(), next.map(|entry| entry.at));
        prop_assert_eq!(self.queue.is_empty(), next.is_none());
        let popped = self.queue.pop_before(end);
        prop_assert_eq!(popped, next.filter(|next| next.at < end));
        if let Some(entry) = popped {
            self.heap.pop();
            prop_assert!(entry.at >= self.now);
            self.now = entry.at;
        }
        Ok(popped)
    }

    /// Checks that `for_each` shows exactly the events that are popped later.
    fn drain(&mut self) -> Result<(), TestCaseError> {
        let mut shown = Vec::new();
        self.queue.for_each(|entry| shown.push(*entry));
        shown.sort_unstable();
        for entry in shown {
            prop_assert_eq!(self.pop(u64::MAX)?, Some(entry));
        }
        prop_assert_eq!(self.pop(u64::MAX)?, None);
        Ok(())
    }
}

proptest! {
    /// Lanes and wheel pop exactly the events of the heap for any pushes in between, and so does a copy.
    #[test]
    fn lanes_pop_in_the_order_of_the_heap(
        steps in steps(),
        (insertion, untied) in any::<(bool, bool)>(),
        unused in 0..2u64,
        ahead in 0..2_000_000u64,
        copied in 0..400usize,
    ) {
        let queue = if untied { EventQueue::untied() } else { EventQueue::new() };
        let mut pair = Pair::new(queue, 30 * unused);
        for (i, step) in steps.iter().enumerate() {
            pair.push(step, insertion);
            prop_assert_eq!(pair.queue.len(), pair.heap.len());
            if pair.pop(pair.now + ahead)?.is_none() {
                pair.pop(u64::MAX)?;
            }
            if i == copied {
                let original = pair.queue.clone();
                let (heap, now) = (pair.heap.clone(), pair.now);
                pair.drain()?;
                (pair.queue, pair.heap, pair.now) = (original, heap, now);
            }
        }
        pair.drain()?;
    }
}

fn entry(at: u64, tie: u64) -> Entry {
    Entry { at, tie, what: tie }
}

#[test]
fn an_event_pushed_for_now_takes_its_place_among_those_still_to_run() {
    let mut queue = EventQueue::untied();
    for tie in [1, 9, 4] {
        queue.push(LaneId::WHEEL, entry(5, tie));
    }
    assert_eq!(queue.pop().unwrap().tie, 1);
    queue.push(LaneId::WHEEL, entry(5, 6));
    queue.push(LaneId::WHEEL, entry(6, 0));
    let now: Vec<u64> = std::iter::from_fn(|| queue.pop_before(6))
        .map(|e| e.tie)
        .collect();
    assert_eq!(now, [4, 6, 9]);
    queue.push(LaneId::WHEEL, entry(5, 2));
    assert_eq!(queue.peek_time(), Some(5));
    let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|e| e.tie).collect();
    assert_eq!(order, [2, 0]);
}

/// Returns numbers below `n` in an order far from sorted.
fn scattered(n: u64) -> impl Iterator<Item = u64> {
    (0..n).map(move |i| i * 247_213 % n)
}

/// Without a limit each insertion would move half of the others.
#[test]
fn a_crowd_that_meets_in_one_instant_costs_each_of_it_little() {
    const N: u64 = 400_000;
    for mut queue in [EventQueue::untied(), EventQueue::new()] {
        let lane = queue.add_lane(7);
        queue.push(LaneId::WHEEL, entry(0, 0));
        queue.push(LaneId::WHEEL, entry(9, 1));
        assert_eq!(queue.pop(), Some(entry(0, 0)));
        scattered(N).for_each(|tie| queue.push(LaneId::WHEEL, entry(0, tie)));
        assert_eq!(queue.len() as u64, N + 1);
        // Each event adds one at the same instant and one at a later instant.
        for tie in 0..N {
            assert_eq!(queue.pop(), Some(entry(0, tie)));
            queue.push(LaneId::WHEEL, entry(0, N + (tie ^ 0xff)));
            queue.push(lane, entry(7, tie));
        }
        let (mut last, mut count) = ((0, N), 0);
        while let Some(Entry { at, tie, .. }) = queue.pop_before(9) {
            assert!((at, tie) >= last);
            (last, count) = ((at, tie), count + 1);
        }
        assert_eq!(count, 2 * N);
        assert_eq!(queue.pop(), Some(entry(9, 1)));
        assert!(queue.is_empty());
    }
}

/// Without a limit each insertion would traverse half of the list.
#[test]
fn a_crowd_within_a_nanosecond_costs_each_of_it_little() {
    const N: u64 = 400_000;
    let mut queue = EventQueue::untied();
    scattered(N).for_each(|n| queue.push(LaneId::WHEEL, entry(1024 + n % 1000, n)));
    let mut last = (0, 0);
    for _ in 0..N {
        let Entry { at, tie, .. } = queue.pop().unwrap();
        assert!((at, tie) > last);
        last = (at, tie);
    }
    assert!(queue.is_empty());
}

/// Over several turns of the wheel its lists are found at any slot, and events one turn apart are not
/// confused.
#[test]
fn the_wheel_finds_what_is_next_in_every_part_of_its_turn() {
    const TURN: u64 = 1 << 22;
    let mut queue = EventQueue::new();
    for turn in 0..3 {
        for step in 0..500 {
            let at = turn * TURN + step * (TURN / 500) + 7 * step;
            queue.push(LaneId::WHEEL, entry(at, 2));
            queue.push(LaneId::WHEEL, entry(at + TURN - 1025, 1));
            queue.push(LaneId::WHEEL, entry(at + TURN, 0));
            while let Some(popped) = queue.pop_before(at) {
                assert!(popped.at < at);
            }
            assert_eq!(queue.pop_before(at + 1).map(|entry| entry.at), Some(at));
        }
    }
    let mut last = 0;
    while let Some(popped) = queue.pop() {
        assert!(popped.at >= last);
        last = popped.at;
    }
    assert_eq!(last, 2 * TURN + 499 * (TURN / 500) + 7 * 499 + TURN);
}

#[test]
fn a_large_set_shows_what_is_soon_to_run() {
    // First 10 000 instants with one event, then instants with a hundred.
    let instants = [[1_000_000; 10_000].as_slice(), &[2_000_000; 10_000]].concat();
    let event = |n: u64| {
        let instant = if n < 10_000 { n } else { n / 100 * 100 };
        entry(instants[n as usize] + instant, n)
    };
    let mut queue = EventQueue::untied();
    let lane = queue.add_lane(1_000_000);
    assert!(queue.longest_lane() < 10_000);
    (0..20_000).for_each(|n| queue.push(lane, event(n)));
    assert!(queue.longest_lane() >= 20_000);
    let seen = [(); 3].map(|()| std::cell::RefCell::new(std::collections::BTreeSet::new()));
    for n in 0..20_000 {
        assert_eq!(queue.pop(), Some(event(n)));
        let show = |look: usize, ahead: u64| {
            let seen = &seen[look];
            move |what| {
                assert!(what > n && what < n + ahead, "look {look} at {what} after {n}");
                seen.borrow_mut().insert(what);
            }
        };
        queue.for_upcoming(show(0, 13), show(1, 5), show(2, 2));
    }
    let [first, second, last] = seen.map(|seen| seen.borrow().len());
    assert!(
        first > 19_000 && second > 19_000 && last > 19_000,
        "{first} {second} {last}"
    );
}
