//! What stands in the queue of a model, and the clocks that it needs.

use super::parking;
use crate::program::{OperationId, Rank};

/// In the order in which `loggopsim` sorts what is freed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Send,
    Receive,
    Calc,
    Message,
}

/// Something that is due: an operation that is free, or a message that arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub(super) kind: Kind,
    /// Where it is due.
    pub(super) rank: Rank,
    /// Of the operation, or of the message's send at `peer`.
    pub(super) number: OperationId,
    /// The receiver of a send, the sender of a message, what a receive takes.
    pub(super) peer: u32,
    pub(super) tag: u32,
    /// Of a message those of its send.
    pub(super) cpu: u8,
    pub(super) nic: u8,
    /// Bytes, or ns of a calc.
    pub(super) size: u64,
    /// When what it waited for was over; of a message when it arrived.
    pub(super) ready: u64,
    /// Its number in the queue.
    pub(super) order: u64,
    /// It has found its clocks busy.
    pub(super) parked: bool,
}

impl Element {
    /// The clocks that it needs to be free.
    pub(super) fn clocks(&self) -> parking::Clocks {
        let nic = if self.kind == Kind::Calc {
            0
        } else {
            u32::from(self.nic)
        };
        (self.rank, self.kind as u32, u32::from(self.cpu), nic)
    }
}

/// That an operation has started, or that it is done at some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) rank: Rank,
    pub(super) number: OperationId,
    pub(super) end: Option<u64>,
    /// It is done for a second time.
    pub(super) again: bool,
}

/// Clocks of all ranks: by rank and number of a cpu or NIC.
#[derive(Debug, Default)]
pub(super) struct Clocks(pub(super) Vec<Vec<u64>>);

impl Clocks {
    pub(super) fn get(&self, rank: Rank, number: u8) -> u64 {
        self.0[rank as usize]
            .get(usize::from(number))
            .copied()
            .unwrap_or(0)
    }

    pub(super) fn set(&mut self, rank: Rank, number: u8, time: u64) {
        let clocks = &mut self.0[rank as usize];
        if clocks.len() <= usize::from(number) {
            clocks.resize(usize::from(number) + 1, 0);
        }
        clocks[usize::from(number)] = time;
    }

    pub(super) fn rise(&mut self, rank: Rank, number: u8, time: u64) {
        self.set(rank, number, self.get(rank, number).max(time));
    }
}
