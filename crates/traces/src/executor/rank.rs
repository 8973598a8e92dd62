//! Ranks: what is free, what occupies a lane, what is left.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use paceline_kernel::Time;

use super::results::{Account, After, OperationRecord, RankRecord};
use super::{Executor, Job, Todo};
use crate::frontier::NumberMap;
use crate::network::Network;
use crate::program::{NO_LANE, Operation, OperationId, Order, Rank, Work};

/// By operation. Its order is never asked for.
pub(super) type OperationMap<T> = NumberMap<OperationId, T>;

/// A free operation that waits for its lane, or a receive whose message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    /// By which it is ordered: when it became free, or its number.
    key: u64,
    op: OperationId,
    /// A receive that waits to be charged for its message.
    arrived: bool,
    since: Time,
}

/// An issued operation.
#[derive(Clone, Copy, Debug)]
struct Issued {
    op: OperationId,
    /// The collective that it takes part in, and as which member.
    member: Option<(u32, u32)>,
    since: Time,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    busy: bool,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// The last issued is the last.
    issued: Vec<Issued>,
}

/// A rank.
#[derive(Clone, Debug)]
pub(super) struct RankState {
    lanes: Vec<Lane>,
    /// Operations of this iteration that are not done.
    left: u32,
    iteration: u32,
    iterations: Vec<Time>,
    pub(super) ended: bool,
    end: Time,
    /// How many others operations still wait for, of those where some but not all are met.
    pub(super) remaining: OperationMap<u32>,
    /// Starts of what is under way, where the rules keep them.
    pub(super) started: OperationMap<Time>,
    /// Since when and after what operations are free that are not done, where the rules keep them.
    freed: OperationMap<(Time, After)>,
    pub(super) account: Account,
    /// The collective, and the member, that the operation which starts now was issued as.
    pub(super) issued_member: Option<(u32, u32)>,
    /// When a NIC may send again.
    send_clocks: Vec<Time>,
    /// When a NIC may receive again.
    receive_clocks: Vec<Time>,
}

fn clock(clocks: &mut Vec<Time>, nic: u8) -> &mut Time {
    let place = usize::from(nic);
    if clocks.len() <= place {
        clocks.resize(place + 1, Time::ZERO);
    }
    &mut clocks[place]
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

    /// Which iteration it is in.
    pub(super) fn iteration(&self) -> u32 {
        self.iteration
    }

    /// How many operations of this iteration are not done.
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

    /// Since when the first of the operations waits that wait for a lane.
    pub(super) fn waits_since(&self, lane: u8) -> Option<Time> {
        let lane = self.lanes.get(usize::from(lane))?;
        lane.waiting.iter().map(|waiting| waiting.0.since).min()
    }

    /// Operations that wait for a lane, ascending.
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

    /// Operations some of whose dependencies are met, ascending.
    pub(super) fn half_free(&self) -> Vec<OperationId> {
        let mut all: Vec<OperationId> = self.remaining.keys().copied().collect();
        all.sort_unstable();
        all
    }
}

impl Executor {
    /// An iteration begins at a rank.
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
            self.todo.push_back(Todo::Begin(rank));
        } else {
            state.ended = true;
            state.end = net.now();
            self.unfinished -= 1;
            self.ended.push(rank);
        }
    }

    /// One of the dependencies of an operation is met.
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
                if operation.waits_for > 1 {
                    state.remaining.insert(op, operation.waits_for - 1);
                } else {
                    self.free(rank, op, operation, after);
                }
            }
        }
    }

    /// An operation waits for nothing any more but its lane.
    fn free(&mut self, rank: Rank, op: OperationId, operation: Operation, after: After) {
        if self.rules.keep.operations {
            let freed = &mut self.ranks[rank as usize].freed;
            freed.insert(op, (self.now, after));
        }
        let lane = match operation.work {
            // A posted receive occupies nothing until its message comes.
            Work::Receive { .. } => NO_LANE,
            _ => operation.lane,
        };
        match self.orders.get(usize::from(lane)) {
            None => self.todo.push_back(Todo::Start { rank, op }),
            Some(Order::LastIssued) => {
                let member = match operation.work {
                    Work::Collective(place) => match self.acquire(rank, op, place) {
                        // It fits no other member's: it never starts.
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

    /// An operation waits for its lane.
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

    /// Starts what can be started, in the order of its keys, whichever lane it waits for.
    pub(super) fn try_lanes<N: Network>(&mut self, rank: Rank, net: &mut N) {
        loop {
            let lanes = &self.ranks[rank as usize].lanes;
            let first = lanes
                .iter()
                .enumerate()
                .filter(|(_, lane)| !lane.busy)
                .filter_map(|(place, lane)| Some((lane.waiting.peek()?.0, place)))
                .min();
            let Some((waiting, place)) = first else {
                break;
            };
            let lane = &mut self.ranks[rank as usize].lanes[place];
            lane.waiting.pop();
            lane.busy = true;
            self.waited_for_lane(waiting.since < net.now());
            if waiting.arrived {
                self.charge_receive(rank, waiting.op, place as u8, net);
            } else {
                self.start_operation(rank, waiting.op, place as u8, net);
            }
            self.waited_for_lane(false);
        }
        for place in 0..self.orders.len() {
            if self.orders[place] == Order::LastIssued {
                self.try_issued(rank, place, net);
            }
        }
    }

    /// Starts the last issued operation.
    fn try_issued<N: Network>(&mut self, rank: Rank, place: usize, net: &mut N) {
        loop {
            let lane = &mut self.ranks[rank as usize].lanes[place];
            if lane.busy {
                return;
            }
            let Some(issued) = lane.issued.pop() else {
                return;
            };
            lane.busy = true;
            self.ranks[rank as usize].issued_member = issued.member;
            self.waited_for_lane(issued.since < net.now());
            self.start_operation(rank, issued.op, place as u8, net);
            self.waited_for_lane(false);
        }
    }

    /// Whether what starts now had waited for its lane.
    fn waited_for_lane(&mut self, waited: bool) {
        if let Some(trail) = &mut self.trail {
            trail.waited_for_lane = waited;
        }
    }

    /// A lane is free again; what waits for it is to be tried.
    pub(super) fn release(&mut self, rank: Rank, lane: u8) {
        if lane != NO_LANE
            && let Some(lane) = self.ranks[rank as usize].lanes.get_mut(usize::from(lane))
        {
            lane.busy = false;
        }
    }

    /// An operation is done.
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
