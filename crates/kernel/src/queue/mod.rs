//! The pending event set.
//!
//! Almost every delay in a packet network is one of a few constants: the serialisation of a full
//! packet or an acknowledgement at a link's speed, and that plus a cable. Events of one such delay
//! class are pushed in order of time, so each class is a FIFO *lane*; the next event is the least
//! of the lane heads and of a timing [`Wheel`] that holds everything else. The cost of an event
//! does not depend on how many are pending.
//!
//! Events of the same instant are taken together and run in the order of their `tie`, so the order
//! hangs on who scheduled them (or, if the tie is a counter, on when), never on where they waited.
//!
//! [`HeapQueue`] is the plain version with the same order: the tests' oracle.

mod heads;
mod heap;
mod lanes;
mod ring;
mod wheel;

pub use heap::HeapQueue;
pub use lanes::EventQueue;
pub use wheel::Wheel;

/// A pending event: when, in which order among equals, and what (opaque here).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Instant in picoseconds.
    pub at: u64,
    /// Order among the events of one instant, ascending.
    pub tie: u64,
    /// The event itself, as its owner encodes it.
    pub what: u64,
}

const _: () = assert!(size_of::<Entry>() == 24);

/// Where an event waits: a lane, or [`LaneId::WHEEL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneId(pub(crate) u8);

impl LaneId {
    /// The wheel: for every event whose delay has no lane.
    pub const WHEEL: Self = Self(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a popped event does: push others, each (delay class, delay of the odd ones, tie).
    #[derive(Clone, Debug)]
    struct Step(Vec<(u8, u64, u64)>);

    const DELAYS: [u64; 3] = [0, 84_000, 1_084_000];

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let odd = prop_oneof![Just(0u64), 0..20_000u64, 0..3_000_000u64, 0..900_000_000u64];
        let push = (0..4u8, odd, 0..8u64);
        prop::collection::vec(prop::collection::vec(push, 0..3).prop_map(Step), 1..400)
    }

    proptest! {
        /// Lanes and wheel pop exactly what the heap pops, whatever is pushed while they run.
        #[test]
        fn lanes_pop_in_the_order_of_the_heap(steps in steps(), insertion in any::<bool>()) {
            let mut lanes = EventQueue::new();
            let ids: Vec<LaneId> = DELAYS.iter().map(|_| lanes.add_lane()).collect();
            let mut heap = HeapQueue::default();
            let mut counter = 0;
            let (mut now, mut popped) = (0, 0);
            for step in &steps {
                for &(class, odd, tie) in &step.0 {
                    counter += 1;
                    let (lane, delay) = match DELAYS.get(class as usize) {
                        Some(&delay) => (ids[class as usize], delay),
                        None => (LaneId::WHEEL, odd),
                    };
                    let tie = if insertion { counter } else { tie << 32 | counter };
                    let entry = Entry { at: now + delay, tie, what: counter };
                    lanes.push(lane, entry);
                    heap.push(entry);
                }
                prop_assert_eq!(lanes.len(), heap.len());
                let mut pending = 0;
                lanes.for_each(|_| pending += 1);
                prop_assert_eq!(pending, lanes.len());
                let (a, b) = (lanes.pop(), heap.pop());
                prop_assert_eq!(a, b);
                if let Some(entry) = a {
                    prop_assert!(entry.at >= now);
                    now = entry.at;
                    popped += 1;
                }
            }
            // What is shown of the pending events is what comes.
            let mut shown = Vec::new();
            lanes.for_each(|entry| shown.push(*entry));
            shown.sort_unstable();
            let mut shown = shown.into_iter();
            while let Some(b) = heap.pop() {
                prop_assert_eq!(lanes.pop(), Some(b));
                prop_assert_eq!(shown.next(), Some(b));
                popped += 1;
            }
            prop_assert_eq!(lanes.pop(), None);
            prop_assert_eq!(popped, counter);
        }
    }

    #[test]
    fn an_event_pushed_for_now_takes_its_place_among_those_still_to_run() {
        let mut queue = EventQueue::new();
        let entry = |tie| Entry {
            at: 5,
            tie,
            what: tie,
        };
        for tie in [1, 9, 4] {
            queue.push(LaneId::WHEEL, entry(tie));
        }
        assert_eq!(queue.pop().unwrap().tie, 1);
        queue.push(LaneId::WHEEL, entry(6));
        queue.push(
            LaneId::WHEEL,
            Entry {
                at: 6,
                tie: 0,
                what: 0,
            },
        );
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|e| e.tie).collect();
        assert_eq!(order, [4, 6, 9, 0]);
    }
}
