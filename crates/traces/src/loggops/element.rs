//! Elements of a model's queue, and the clocks that they need.

use super::parking;
use crate::program::{OperationId, Rank};

/// Kinds in the order in which `loggopsim` sorts operations that are freed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ElementKind {
    Send,
    Receive,
    Calc,
    Message,
}

/// Due element: an operation that is free, or a message that arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    pub(super) kind: ElementKind,
    /// Rank at which it is due.
    pub(super) rank: Rank,
    /// Number of the operation, or of the message's send at `peer`.
    pub(super) number: OperationId,
    /// Receiver of a send, sender of a message, or source that a receive accepts.
    pub(super) peer: u32,
    pub(super) tag: u32,
    /// Cpu; a message has that of its send.
    pub(super) cpu: u8,
    pub(super) nic: u8,
    /// Size in bytes, or duration in ns of a calc.
    pub(super) size: u64,
    /// Time at which its dependencies were met; for a message, its arrival.
    pub(super) ready: u64,
    /// Number in the queue, which breaks ties.
    pub(super) order: u64,
    /// True if it found its clocks busy.
    pub(super) parked: bool,
}

impl Element {
    /// Returns the clocks that it needs to be free.
    pub(super) fn clocks(&self) -> parking::Clocks {
        let nic = if self.kind == ElementKind::Calc {
            0
        } else {
            u32::from(self.nic)
        };
        (self.rank, self.kind as u32, u32::from(self.cpu), nic)
    }
}

/// Start of an operation, or its end at some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) rank: Rank,
    pub(super) number: OperationId,
    pub(super) end: Option<u64>,
    /// True if it is a second end.
    pub(super) again: bool,
}

/// Clocks of all ranks, by rank and number of a cpu or NIC.
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
