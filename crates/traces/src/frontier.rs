//! Operations freed by starts and ends of others, for executors whose memory grows only with the operations in
//! progress.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::program::{Operation, OperationId, Program, Rank};
use crate::walk::At;

/// Multiplicative hash of numbers that the input cannot choose freely.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let product =
            u128::from(self.0.rotate_left(23) ^ value ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

/// Map with numeric keys and no random seed.
pub(crate) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Operation whose dependencies are all met.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freed {
    pub(crate) number: OperationId,
    pub(crate) operation: Operation,
    /// Time at which the last dependency was met; `last` is that operation.
    pub(crate) ready: u64,
    pub(crate) last: Option<OperationId>,
    /// True if the start of another operation freed it.
    pub(crate) by_start: bool,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    waits_for: u32,
    ready: u64,
    last: Option<OperationId>,
}

/// Operations with some dependencies met and some unmet.
#[derive(Debug, Default)]
pub(crate) struct Frontier {
    pending: NumberMap<(Rank, OperationId), Pending>,
    list: Vec<OperationId>,
}

impl Frontier {
    /// Adds the operations that a start frees to `freed`, in the order of the trace. `time` is the time of the start,
    /// or 0 if starts do not count.
    pub(crate) fn started(&mut self, program: &dyn Program, at: At, time: u64, freed: &mut Vec<Freed>) {
        self.list.clear();
        program.after_start(at.0, at.1, &mut self.list);
        self.release(program, at, time, true, freed);
    }

    /// Adds the operations that an end at this time frees.
    pub(crate) fn done(&mut self, program: &dyn Program, at: At, time: u64, freed: &mut Vec<Freed>) {
        self.list.clear();
        program.after_end(at.0, at.1, &mut self.list);
        self.release(program, at, time, false, freed);
    }

    /// Adds the operations that a second end frees.
    pub(crate) fn done_again(&mut self, program: &dyn Program, at: At, time: u64, freed: &mut Vec<Freed>) {
        self.list.clear();
        program.after_end(at.0, at.1, &mut self.list);
        // An operation that is not pending was freed by the first end, and would start a second time.
        let pending = &self.pending;
        self.list.retain(|&number| pending.contains_key(&(at.0, number)));
        self.release(program, at, time, false, freed);
    }

    fn release(&mut self, program: &dyn Program, at: At, time: u64, by_start: bool, freed: &mut Vec<Freed>) {
        let (rank, source) = at;
        let mut list = std::mem::take(&mut self.list);
        for number in list.drain(..) {
            // Read at most once, since an operation may have to be decoded from its file.
            let mut known = None;
            let pending = self.pending.entry((rank, number)).or_insert_with(|| {
                let operation = program.operation(rank, number);
                known = Some(operation);
                Pending {
                    waits_for: operation.waits_for,
                    ready: 0,
                    last: None,
                }
            });
            // On a tie the first source stays, so the critical path is the same in every run.
            if pending.last.is_none() || time > pending.ready {
                pending.ready = time;
                pending.last = Some(source);
            }
            pending.waits_for = pending.waits_for.saturating_sub(1);
            if pending.waits_for == 0 {
                let Pending { ready, last, .. } = *pending;
                self.pending.remove(&(rank, number));
                freed.push(Freed {
                    number,
                    operation: known.unwrap_or_else(|| program.operation(rank, number)),
                    ready,
                    last,
                    by_start,
                });
            }
        }
        self.list = list;
    }
}
