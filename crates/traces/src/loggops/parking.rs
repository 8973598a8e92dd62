//! Elements with busy clocks, which are kept out of the queue.
//!
//! In `loggopsim` an element that finds its clocks busy returns to the queue until they are free. With thousands of
//! free elements, all but one would return again and again. Elements that need the same clocks run in the order of
//! their numbers, since time and number determine all order, so only the first of them is in the queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::heap::Due;
use crate::frontier::NumberMap;

/// Clocks that an element needs: rank, kind, cpu, NIC.
pub(super) type Clocks = (u32, u32, u32, u32);

/// Elements that need the same clocks.
#[derive(Debug, Default)]
struct Class {
    /// Numbers and slots, lowest number first.
    elements: BinaryHeap<Reverse<(u64, u32)>>,
    /// Time and number of the first element's entry in the queue.
    queued: Option<(u64, u64)>,
}

/// All elements whose clocks were busy.
#[derive(Debug, Default)]
pub(super) struct Parking {
    classes: NumberMap<Clocks, Class>,
}

impl Parking {
    /// Adds an element that has to wait until some time. Returns an entry for the queue if it is now the first.
    pub(super) fn add(&mut self, clocks: Clocks, due: Due, until: u64) -> Option<Due> {
        let class = self.classes.entry(clocks).or_default();
        class.elements.push(Reverse((due.number, due.slot)));
        if class.queued.is_some_and(|(_, number)| number < due.number) {
            return None;
        }
        class.queued = Some((until, due.number));
        Some(Due { time: until, ..due })
    }

    /// Returns true if an entry from the queue represents a class, and was not replaced by another.
    pub(super) fn is_first(&self, clocks: Clocks, due: Due) -> bool {
        self.classes
            .get(&clocks)
            .is_some_and(|class| class.queued == Some((due.time, due.number)))
    }

    /// Postpones the first element of a class.
    pub(super) fn wait(&mut self, clocks: Clocks, due: Due, until: u64) -> Due {
        if let Some(class) = self.classes.get_mut(&clocks) {
            class.queued = Some((until, due.number));
        }
        Due { time: until, ..due }
    }

    /// Removes the first element of a class before it happens.
    pub(super) fn remove_first(&mut self, clocks: Clocks) {
        if let Some(class) = self.classes.get_mut(&clocks) {
            class.elements.pop();
            class.queued = None;
            if class.elements.is_empty() {
                self.classes.remove(&clocks);
            }
        }
    }

    /// Returns an entry at this time for the next element of a class, unless one with a lower number has been queued.
    pub(super) fn next(&mut self, clocks: Clocks, time: u64) -> Option<Due> {
        let class = self
            .classes
            .get_mut(&clocks)
            .filter(|class| class.queued.is_none())?;
        let Reverse((number, slot)) = *class.elements.peek()?;
        class.queued = Some((time, number));
        Some(Due { time, number, slot })
    }
}

#[cfg(test)]
mod tests {
    use crate::goal;
    use crate::loggops::model::Model;
    use crate::loggops::{Parameters, Variant};

    /// Returns a program with many free operations: each send has its receive, and dependencies go forwards.
    fn random_program(seed: u64) -> goal::Program {
        let mut state = seed;
        let mut random = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let ranks = 2 + random(4);
        let mut lines: Vec<Vec<String>> = vec![Vec::new(); ranks as usize];
        for tag in 0..150 {
            let (from, to, bytes) = (
                random(ranks),
                random(ranks),
                [1, 8, 3000, 70_000][random(4) as usize],
            );
            let mut options = || format!("cpu {} nic {}", random(2), random(2));
            let (sender, receiver) = (options(), options());
            lines[from as usize].push(format!("send {bytes}b to {to} tag {tag} {sender}"));
            lines[to as usize].push(format!("recv {bytes}b from {from} tag {tag} {receiver}"));
            let (rank, cpu) = (random(ranks), random(2));
            lines[rank as usize].push(format!(
                "calc {} cpu {cpu}",
                [0, 1, 700, 1500, 1500][random(5) as usize]
            ));
        }
        let mut text = format!("num_ranks {ranks}\n");
        for (rank, lines) in lines.iter().enumerate() {
            text += &format!("rank {rank} {{\n");
            for (n, line) in lines.iter().enumerate() {
                text += &format!("l{n}: {line}\n");
                if line.starts_with("calc") && n > 0 && random(2) == 0 {
                    text += &format!(
                        "l{n} {} l{}\n",
                        ["requires", "irequires"][random(2) as usize],
                        random(n as u64)
                    );
                }
            }
            text += "}\n";
        }
        goal::read_bytes("random.goal", text.as_bytes()).unwrap().0
    }

    #[test]
    fn parking_changes_nothing() {
        let mut ends = 0;
        for seed in 0..60 {
            let program = random_program(seed);
            for (latency, overhead, gap, gap_per_byte) in
                [(2500, 1500, 1000, 6.0), (0, 0, 0, 0.0), (1000, 200, 700, 1.0)]
            {
                let parameters = Parameters {
                    latency,
                    overhead,
                    gap,
                    gap_per_byte,
                    overhead_per_byte: 0,
                    eager: 65_535,
                };
                let outcome = |parks: bool| {
                    let mut model = Model::new(&program, Variant::LogGopSim, parameters);
                    model.parks &= parks;
                    model.run().unwrap()
                };
                assert_eq!(outcome(true), outcome(false), "{seed}");
                ends += outcome(true).end();
            }
        }
        assert!(ends > 0);
    }
}
