//! Ranks: free operations, occupied lanes, and remaining work.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_kernel::Time;

use super::results::{Account, After, OperationRecord, RankRecord};
use super::{Executor, Job, Todo};
use crate::frontier::NumberMap;
use crate::network::Network;
use crate::program::{NO_LANE, Operation, OperationId, Order, Rank, Work};

/// Map by operation. Its order is arbitrary, and nothing depends on it.
pub(super) type OperationMap<T> = NumberMap<OperationId, T>;

/// Free operation that waits for its lane, or receive whose message has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    /// Key of the order: the time at which it became free, or its number.
    key: u64,
    op: OperationId,
    /// True for a receive that waits to be charged for its message.
    arrived: bool,
    since: Time,
}

/// Issued operation that has not started.
#[derive(Clone, Copy, Debug)]
struct Issued {
    op: OperationId,
    /// Collective that it belongs to, and the member's index.
    member: Option<(u32, u32)>,
    since: Time,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    busy: bool,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// Stack of issued operations, most recent last.
    issued: Vec<Issued>,
}

/// State of a rank.
#[derive(Clone, Debug)]
pub(super) struct RankState {
    lanes: Vec<Lane>,
    /// Number of operations of this iteration that are not completed.
    left: u32,
    iteration: u32,
    iterations: Vec<Time>,
    pub(super) ended: bool,
    end: Time,
    /// Number of unmet dependencies, for operations with some met and some unmet ones.
    pub(super) remaining: OperationMap<u32>,
    /// Starts of operations in progress, if the rules record operations.
    pub(super) started: OperationMap<Time>,
    /// Time at which uncompleted operations became free, with the dependency met last, if the rules record
    /// operations.
    freed: OperationMap<(Time, After)>,
    pub(super) account: Account,
    /// Collective and member for which the operation that starts now was issued.
    pub(super) issued_member: Option<(u32, u32)>,
    /// Earliest next send of each NIC.
    send_clocks: Vec<Time>,
    /// Earliest next receive of each NIC.
    receive_clocks: Vec<Time>,
}

fn clock(clocks: &mut Vec<Time>, nic: u8) -> &mut Time {
    let index = usize::from(nic);
    if clocks.len() <= index {
        clocks.resize(index + 1, Time::ZERO);
    }
    &mut clocks[index]
}

impl RankState {
    pub(super) fn new(orders: &[Order]) -> Self {
        Self {
            lanes: vec![Lane::default(); orders.len()],
            left: 0,
            iteration: 0,
            iterations: Vec::new(),
            ended: false,
            end: Time::ZERO,
            remaining: OperationMap::default(),
            started: OperationMap::default(),
            freed: OperationMap::default(),
            account: Account::default(),
            issued_member: None,
            send_clocks: Vec::new(),
            receive_clocks: Vec::new(),
        }
    }

    pub(super) fn send_clock(&self, nic: u8) -> Time {
        self.send_clocks
            .get(usize::from(nic))
            .copied()
            .unwrap_or(Time::ZERO)
    }

    pub(super) fn set_send_clock(&mut self, nic: u8, to: Time) {
        *clock(&mut self.send_clocks, nic) = to;
    }

    pub(super) fn receive_clock(&mut self, nic: u8) -> &mut Time {
        clock(&mut self.receive_clocks, nic)
    }

    /// Returns the current iteration.
    pub(super) fn iteration(&self) -> u32 {
        self.iteration
    }

    /// Returns the number of operations of this iteration that are not completed.
    pub(super) fn left(&self) -> u32 {
        self.left
    }

    pub(super) fn record(&self) -> RankRecord {
        RankRecord {
            end: self.end,
            compute: self.account.compute,
            exposed: self.account.exposed,
            waiting: self.account.waiting,
            iterations: self.iterations.clone(),
        }
    }

    /// Returns the time since which an operation has waited for a lane, if any does.
    pub(super) fn waits_since(&self, lane: u8) -> Option<Time> {
        let lane = self.lanes.get(usize::from(lane))?;
        lane.waiting.iter().map(|waiting| waiting.0.since).min()
    }

    /// Returns the operations that wait for a lane, in ascending order.
    pub(super) fn queued(&self) -> Vec<OperationId> {
        let mut all: Vec<OperationId> = self
            .lanes
            .iter()
            .flat_map(|lane| {
                let waiting = lane.waiting.iter().map(|w| w.0.op);
                waiting.chain(lane.issued.iter().map(|i| i.op))
            })
            .collect();
        all.sort_unstable();
        all
    }

    /// Returns the operations with some dependencies met and some unmet, in ascending order.
    pub(super) fn half_free(&self) -> Vec<OperationId> {
        let mut all: Vec<OperationId> = self.remaining.keys().copied().collect();
        all.sort_unstable();
        all
    }
}

impl Executor {
    /// Begins an iteration at a rank.
    pub(super) fn begin<N: Network>(&mut self, rank: Rank, net: &mut N) {
        let operations = self.program.operations(rank);
        let state = &mut self.ranks[rank as usize];
        state.left = operations;
        if operations == 0 {
            self.iteration_over(rank, net);
            return;
        }
        let mut roots = std::mem::take(&mut self.scratch);
        roots.clear();
        self.program.roots(rank, &mut roots);
        for &op in &roots {
            self.free(rank, op, self.program.operation(rank, op), After::Nothing);
        }
        self.scratch = roots;
        self.todo.push_back(Todo::Try(rank));
    }

    fn iteration_over<N: Network>(&mut self, rank: Rank, net: &mut N) {
        let repeats = self.rules.repeats;
        let state = &mut self.ranks[rank as usize];
        state.iterations.push(net.now());
        if let Some(trail) = &mut self.trail {
            trail.iteration_over(state.iteration);
        }
        state.iteration += 1;
        if state.iteration < repeats {
            // Queued: a direct call would recurse once per iteration at a rank without operations.
            self.todo.push_back(Todo::Begin(rank));
        } else {
            state.ended = true;
            state.end = net.now();
            self.unfinished -= 1;
            self.ended.push(rank);
        }
    }

    /// Counts one met dependency of an operation.
    pub(super) fn dependency_met(&mut self, rank: Rank, op: OperationId, after: After) {
        let state = &mut self.ranks[rank as usize];
        match state.remaining.get_mut(&op) {
            Some(left) if *left > 1 => *left -= 1,
            Some(_) => {
                state.remaining.remove(&op);
                self.free(rank, op, self.program.operation(rank, op), after);
            }
            None => {
                let operation = self.program.operation(rank, op);
                // Only an operation that waits for several others gets an entry, which keeps the map small.
                if operation.waits_for > 1 {
                    state.remaining.insert(op, operation.waits_for - 1);
                } else {
                    self.free(rank, op, operation, after);
                }
            }
        }
    }

    /// Queues an operation whose dependencies are all met for its lane.
    fn free(&mut self, rank: Rank, op: OperationId, operation: Operation, after: After) {
        if self.rules.keep.operations {
            let freed = &mut self.ranks[rank as usize].freed;
            freed.insert(op, (self.now, after));
        }
        let lane = match operation.work {
            // A posted receive occupies no lane until its message arrives.
            Work::Receive { .. } => NO_LANE,
            _ => operation.lane,
        };
        match self.orders.get(usize::from(lane)) {
            None => self.todo.push_back(Todo::Start { rank, op }),
            Some(Order::LastIssued) => {
                // Numbered at the issue, in the program's order: the lane starts the last one first.
                let member = match operation.work {
                    Work::Collective(index) => match self.acquire(rank, op, index) {
                        // It differs from the collective of another member, so it can never start.
                        None => return,
                        member => member,
                    },
                    _ => None,
                };
                let since = self.now;
                let lane = &mut self.ranks[rank as usize].lanes[usize::from(lane)];
                lane.issued.push(Issued { op, member, since });
            }
            Some(_) => self.enqueue(rank, op, lane, false),
        }
    }

    /// Queues an operation for its lane.
    pub(super) fn enqueue(&mut self, rank: Rank, op: OperationId, lane: u8, arrived: bool) {
        let lane = usize::from(lane);
        let Some(order) = self.orders.get(lane) else {
            self.todo.push_back(Todo::Start { rank, op });
            return;
        };
        self.sequence += 1;
        let key = match order {
            Order::Number => u64::from(op),
            _ => self.sequence,
        };
        let since = self.now;
        let lane = &mut self.ranks[rank as usize].lanes[lane];
        if *order == Order::LastIssued && !arrived {
            let member = None;
            lane.issued.push(Issued { op, member, since });
        } else {
            lane.waiting.push(Reverse(Waiting {
                key,
                op,
                arrived,
                since,
            }));
        }
    }

    /// Starts operations on free lanes, in the order of their keys across all lanes.
    pub(super) fn try_lanes<N: Network>(&mut self, rank: Rank, net: &mut N) {
        loop {
            let lanes = &self.ranks[rank as usize].lanes;
            let first = lanes
                .iter()
                .enumerate()
                .filter(|(_, lane)| !lane.busy)
                .filter_map(|(index, lane)| Some((lane.waiting.peek()?.0, index)))
                .min();
            let Some((waiting, index)) = first else {
                break;
            };
            let lane = &mut self.ranks[rank as usize].lanes[index];
            lane.waiting.pop();
            lane.busy = true;
            self.waited_for_lane(waiting.since < net.now());
            if waiting.arrived {
                self.charge_receive(rank, waiting.op, index as u8, net);
            } else {
                self.start_operation(rank, waiting.op, index as u8, net);
            }
            // Reset at once, so that the flag marks this activity alone.
            self.waited_for_lane(false);
        }
        for index in 0..self.orders.len() {
            if self.orders[index] == Order::LastIssued {
                self.try_issued(rank, index, net);
            }
        }
    }

    /// Starts the operation that was issued last.
    fn try_issued<N: Network>(&mut self, rank: Rank, index: usize, net: &mut N) {
        loop {
            let lane = &mut self.ranks[rank as usize].lanes[index];
            if lane.busy {
                return;
            }
            let Some(issued) = lane.issued.pop() else {
                return;
            };
            lane.busy = true;
            self.ranks[rank as usize].issued_member = issued.member;
            self.waited_for_lane(issued.since < net.now());
            self.start_operation(rank, issued.op, index as u8, net);
            self.waited_for_lane(false);
        }
    }

    /// Records that the operation that starts now waited for its lane, or did not.
    fn waited_for_lane(&mut self, waited: bool) {
        if let Some(trail) = &mut self.trail {
            trail.waited_for_lane = waited;
        }
    }

    /// Frees a lane; the caller then tries the operations that wait for it.
    pub(super) fn release(&mut self, rank: Rank, lane: u8) {
        if lane != NO_LANE
            && let Some(lane) = self.ranks[rank as usize].lanes.get_mut(usize::from(lane))
        {
            lane.busy = false;
        }
    }

    /// Completes an operation, and frees those that wait for its end.
    pub(super) fn done<N: Network>(&mut self, job: Job, net: &mut N) {
        let now = net.now();
        let state = &mut self.ranks[job.rank as usize];
        state.account.end(now, job.class);
        if self.rules.keep.operations {
            let start = state.started.remove(&job.op).unwrap_or(now);
            let freed = state.freed.remove(&job.op);
            let (free, after) = freed.unwrap_or((start, After::Nothing));
            self.operations.push(OperationRecord {
                rank: job.rank,
                operation: job.op,
                iteration: state.iteration,
                free,
                after,
                start,
                end: now,
            });
        }
        state.left = state.left.saturating_sub(1);
        let over = state.left == 0;
        self.release(job.rank, job.lane);
        // Taken and put back, so that no end of an operation allocates.
        let mut after = std::mem::take(&mut self.scratch);
        after.clear();
        self.program.after_end(job.rank, job.op, &mut after);
        for &next in &after {
            self.dependency_met(job.rank, next, After::End(job.op));
        }
        self.scratch = after;
        if over {
            self.iteration_over(job.rank, net);
        } else {
            self.todo.push_back(Todo::Try(job.rank));
        }
    }
}
