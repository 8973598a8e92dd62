//! What has to be done now.

use std::collections::VecDeque;

use super::job::Job;
use crate::program::{OperationId, Rank};

/// What has to be done now, in order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Todo {
    Begin(Rank),
    Start {
        rank: Rank,
        op: OperationId,
    },
    Done(Job),
    Try(Rank),
    Fire {
        instance: u32,
        member: u32,
        chunk: u64,
        channel: u32,
    },
}

impl Todo {
    /// The rank of which an operation starts or ends.
    fn rank(&self) -> Option<Rank> {
        match *self {
            Self::Start { rank, .. } => Some(rank),
            Self::Done(job) => Some(job.rank),
            _ => None,
        }
    }
}

/// What has to be done now, and at which ranks: there may be as much of it as a group has members.
#[derive(Clone, Debug)]
pub(super) struct Todos {
    queue: VecDeque<Todo>,
    /// Starts and ends of operations in the queue, by rank.
    due: Vec<u32>,
}

impl Todos {
    pub(super) fn new(ranks: Rank) -> Self {
        Self {
            queue: VecDeque::new(),
            due: vec![0; ranks as usize],
        }
    }

    pub(super) fn push_back(&mut self, todo: Todo) {
        if let Some(rank) = todo.rank() {
            self.due[rank as usize] += 1;
        }
        self.queue.push_back(todo);
    }

    pub(super) fn pop_front(&mut self) -> Option<Todo> {
        let todo = self.queue.pop_front()?;
        if let Some(rank) = todo.rank() {
            self.due[rank as usize] -= 1;
        }
        Some(todo)
    }

    /// Whether an operation of a rank starts or ends.
    pub(super) fn is_due(&self, rank: Rank) -> bool {
        self.due[rank as usize] > 0
    }
}

impl Extend<Todo> for Todos {
    fn extend<I: IntoIterator<Item = Todo>>(&mut self, all: I) {
        all.into_iter().for_each(|todo| self.push_back(todo));
    }
}
