//! Execution of a program on a network.
//!
//! The executor stores only operations in progress and counts of the remaining ones, so its memory does not grow with
//! a program that is in a file. It is a value: a simulation is forked by cloning it together with its network.

mod collect;
mod group;
mod job;
mod member;
mod nested;
mod point;
mod rank;
mod results;
mod rules;
mod slab;
mod stuck;
#[cfg(test)]
mod tests;
mod todo;
mod trail;

use std::collections::VecDeque;
use std::sync::Arc;

use paceline_kernel::{Span, Time};

pub use results::{After, CollectiveRecord, OperationRecord, RankRecord, Results};
pub use rules::{Keep, PointRules, Rules, SendEnd, check};
pub use stuck::Stuck;
pub use trail::{Activity, Carried, Path, Segment, Until};

use collect::Instance;
use group::Group;
use job::Job;
use member::{SequenceKey, StageKey};
use rank::RankState;
use results::Class;
use slab::Slab;
use todo::Todo;
use trail::Trail;

use crate::collective::Trigger;
use crate::network::{MessageId, Network};
use crate::program::{NO_LANE, OperationId, Order, Program, Rank, Work};
use crate::waiting::Waiting;

/// Label of messages between two ranks that belong to no collective.
pub const POINT_LABEL: u32 = 0;

/// Message in flight, by purpose.
#[derive(Clone, Copy, Debug)]
enum Flight {
    /// Data of a send, with the receive that takes it if that is known already.
    Data {
        job: Job,
        to: Rank,
        receive: Option<OperationId>,
        /// Departure of its last packet, once it is known.
        left: Option<Time>,
    },
    /// Request of a send that needs its receive to be posted first.
    Request { job: Job, to: Rank },
    /// Message of a collective.
    Step {
        instance: u32,
        from: u32,
        to: u32,
        chunk: u64,
        channel: u32,
        /// Channel of the receiver that needs the message.
        to_channel: u32,
        stage: u32,
        /// True if the sender knows that its last packet has left.
        is_sent: bool,
    },
    /// Message of a custom collective.
    Nested { instance: u32, id: MessageId },
}

/// Scheduled event of the executor.
#[derive(Clone, Copy, Debug)]
enum Wake {
    /// Start of the job.
    Start,
    /// Completion of an operation.
    Done(Job),
    /// End of a send's overhead.
    Leave(Job),
    /// Next time at which a send's NIC may be free.
    Again { rank: Rank, op: OperationId },
    /// End of a stage's delay.
    Fire {
        instance: u32,
        member: u32,
        chunk: u64,
        channel: u32,
    },
    /// Departure of a stage's messages.
    LeaveStage {
        instance: u32,
        member: u32,
        chunk: u64,
        channel: u32,
        stage: u32,
    },
    /// Event of a custom collective.
    Nested { instance: u32, token: u64 },
}

impl Wake {
    /// Returns the activity that the event ends.
    fn activity(&self, instances: &Slab<Instance>) -> Option<Activity> {
        Some(match *self {
            Self::Start => return None,
            Self::Done(job) if job.class == Class::Compute => Activity::Compute(job.rank, job.op),
            Self::Done(job) | Self::Leave(job) => Activity::Overhead(job.rank, job.op),
            Self::Again { rank, op } => Activity::Gap(rank, op),
            Self::Fire { instance, .. }
            | Self::LeaveStage { instance, .. }
            | Self::Nested { instance, .. } => {
                Activity::Delay(instances.get(instance).map_or(0, |of| of.label))
            }
        })
    }
}

/// Executor of a program on a network, which calls `sent`, `received`, `acknowledged` and `woken`.
#[derive(Clone, Debug)]
pub struct Executor {
    program: Arc<dyn Program>,
    rules: Arc<Rules>,
    orders: Arc<[Order]>,
    ranks: Vec<RankState>,
    groups: Vec<Group>,
    instances: Slab<Instance>,
    flights: Slab<Flight>,
    wakes: Slab<Wake>,
    /// Actions to perform now, in order.
    todo: VecDeque<Todo>,
    /// Posted receives without a message.
    posted: Waiting<OperationId, u64>,
    /// Messages, and requests of sends whose data is still at the sender.
    arrived: Waiting<Option<Job>, u64>,
    scratch: Vec<OperationId>,
    collectives: Vec<CollectiveRecord>,
    operations: Vec<OperationRecord>,
    /// Mismatches between collectives, for `stuck`.
    misfits: Vec<Stuck>,
    /// Number of ranks that have not ended.
    unfinished: u32,
    /// Ranks that have ended since the last query.
    ended: Vec<Rank>,
    /// Counter that orders operations by the time at which they become free.
    sequence: u64,
    /// Time of the current call.
    now: Time,
    /// Number of sends that blocked their lane after they had left, and the total time for which others waited.
    lingering: (u64, Span),
    /// Causes of events, if the rules require a critical path.
    trail: Option<Box<Trail>>,
}

impl Executor {
    /// Creates an executor before its start. The program must be valid: see [`check`] and the checks of the readers.
    pub fn new(program: Arc<dyn Program>, rules: Rules) -> Self {
        let orders: Arc<[Order]> = program.lanes().orders.clone().into();
        let count = program.ranks();
        let ranks = (0..count).map(|_| RankState::new(&orders)).collect();
        let groups = program
            .groups()
            .iter()
            .map(|members| Group::new(members, &rules.collectives))
            .collect();
        Self {
            now: Time::ZERO,
            trail: rules
                .keep
                .path
                .then(|| Box::new(Trail::new(count, rules.keep.path_of))),
            program,
            rules: Arc::new(rules),
            orders,
            ranks,
            groups,
            instances: Slab::default(),
            flights: Slab::default(),
            wakes: Slab::default(),
            todo: VecDeque::new(),
            posted: Waiting::default(),
            arrived: Waiting::default(),
            scratch: Vec::new(),
            collectives: Vec::new(),
            operations: Vec::new(),
            misfits: Vec::new(),
            unfinished: count,
            ended: Vec::new(),
            sequence: 0,
            lingering: (0, Span::ZERO),
        }
    }

    /// Starts all ranks in ascending order at the time in the rules. Must be called once.
    pub fn start<N: Network>(&mut self, net: &mut N) {
        if net.now() < self.rules.start {
            let token = self.wakes.insert(Wake::Start);
            net.wake(self.rules.start, u64::from(token));
            return;
        }
        self.start_ranks(net);
    }

    fn start_ranks<N: Network>(&mut self, net: &mut N) {
        if let Some(trail) = &mut self.trail {
            trail.begin(net.now());
        }
        for rank in 0..self.program.ranks() {
            self.start_rank(rank, net);
        }
    }

    /// Starts one rank now.
    fn start_rank<N: Network>(&mut self, rank: Rank, net: &mut N) {
        self.now = net.now();
        self.ranks[rank as usize].account.begin(self.now);
        self.todo.push_back(Todo::Begin(rank));
        self.work(net);
    }

    /// Handles the departure of a message's last packet from its sender.
    pub fn sent<N: Network>(&mut self, id: MessageId, net: &mut N) {
        self.message(id, Until::Sent, net);
        if let Some(&Flight::Nested { instance, id }) = self.flights.get(id.0) {
            self.nested(instance, net, |inner, net| inner.sent(id, net));
        }
        self.step_left(id, net);
        self.data_left(id);
        self.work(net);
    }

    /// Records an event of a message as the cause of everything that follows in this call.
    fn message<N: Network>(&mut self, id: MessageId, until: Until, net: &N) {
        self.now = net.now();
        if let Some(trail) = &mut self.trail {
            trail.message(id, until, self.now);
        }
    }

    /// Handles the departure of a collective message's last packet, unless it is known already.
    fn step_left<N: Network>(&mut self, id: MessageId, net: &mut N) {
        if let Some(Flight::Step {
            instance,
            from,
            chunk,
            channel,
            is_sent: is_sent @ false,
            ..
        }) = self.flights.get_mut(id.0)
        {
            *is_sent = true;
            let (instance, from) = (*instance, *from);
            let key = SequenceKey {
                chunk: *chunk,
                channel: *channel,
            };
            self.step_sent(instance, from, key, net);
        }
    }

    /// Handles the arrival of a message's last byte after all others.
    pub fn received<N: Network>(&mut self, id: MessageId, net: &mut N) {
        self.message(id, Until::Received, net);
        // Some networks do not report the departure.
        self.step_left(id, net);
        self.data_left(id);
        if let Some(&Flight::Step {
            instance,
            from,
            chunk,
            channel,
            ..
        }) = self.flights.get(id.0)
        {
            self.step_crossed(instance, from, SequenceKey { chunk, channel }, net);
        }
        match self.flights.get(id.0).copied() {
            Some(Flight::Data {
                job,
                to,
                receive,
                left,
            }) => self.data_received(job, to, receive, left, net),
            Some(Flight::Request { job, to }) => self.request_received(job, to, net),
            Some(Flight::Step {
                instance,
                to,
                chunk,
                to_channel: channel,
                stage,
                ..
            }) if self.rules.collectives.trigger == Trigger::Received => {
                let message = StageKey {
                    chunk,
                    channel,
                    stage,
                };
                self.step_arrived(instance, to, message, net);
            }
            Some(Flight::Nested { instance, id }) => {
                self.nested(instance, net, |inner, net| inner.received(id, net));
            }
            _ => {}
        }
        self.work(net);
    }

    /// Handles the acknowledgement of a message at its sender, after which its number may be reused.
    pub fn acknowledged<N: Network>(&mut self, id: MessageId, net: &mut N) {
        self.message(id, Until::Acknowledged, net);
        match self.flights.remove(id.0) {
            Some(Flight::Data { job, receive, .. }) => {
                if self.rules.point.end == SendEnd::Posted && receive.is_some() {
                    self.todo.push_back(Todo::Done(job));
                }
            }
            Some(Flight::Step {
                instance,
                to,
                chunk,
                to_channel: channel,
                stage,
                ..
            }) => {
                if self.rules.collectives.trigger == Trigger::Acknowledged {
                    let message = StageKey {
                        chunk,
                        channel,
                        stage,
                    };
                    self.step_arrived(instance, to, message, net);
                }
                self.step_over(instance);
            }
            Some(Flight::Nested { instance, id }) => {
                self.nested(instance, net, |inner, net| inner.acknowledged(id, net));
            }
            Some(Flight::Request { .. }) | None => {}
        }
        self.work(net);
    }

    /// Handles a scheduled event with this token.
    pub fn woken<N: Network>(&mut self, token: u64, net: &mut N) {
        self.now = net.now();
        let wake = self.wakes.remove(token as u32);
        if let (Some(trail), Some(wake)) = (&mut self.trail, &wake)
            && let Some(activity) = wake.activity(&self.instances)
        {
            trail.woken(token as u32, activity, self.now);
        }
        match wake {
            Some(Wake::Start) => self.start_ranks(net),
            Some(Wake::Done(job)) => self.todo.push_back(Todo::Done(job)),
            Some(Wake::Leave(job)) => self.leave(job, net),
            Some(Wake::Again { rank, op }) => {
                let lane = self.program.operation(rank, op).lane;
                self.enqueue(rank, op, lane, false);
                self.todo.push_back(Todo::Try(rank));
            }
            Some(Wake::Fire {
                instance,
                member,
                chunk,
                channel,
            }) => self.fire(instance, member, SequenceKey { chunk, channel }, net),
            Some(Wake::LeaveStage {
                instance,
                member,
                chunk,
                channel,
                stage,
            }) => self.leave_stage(instance, member, SequenceKey { chunk, channel }, stage, net),
            Some(Wake::Nested { instance, token }) => {
                self.nested(instance, net, |inner, net| inner.woken(token, net));
            }
            None => {}
        }
        self.work(net);
    }

    /// Returns true if all ranks have ended. Acknowledgements may still be in flight.
    pub fn is_done(&self) -> bool {
        self.unfinished == 0
    }

    /// Returns the number of iterations completed by all ranks, and the total.
    pub fn iterations(&self) -> (u32, u32) {
        let over = self.ranks.iter().map(RankState::iteration).min();
        (over.unwrap_or(0), self.rules.repeats)
    }

    /// Returns the results of the job so far.
    pub fn results(&self) -> Results {
        Results {
            ranks: self.ranks.iter().map(RankState::record).collect(),
            collectives: self.collectives.clone(),
            operations: self.operations.clone(),
            path: self.trail.as_ref().and_then(|trail| trail.path().cloned()),
        }
    }

    /// Returns the collective that messages with a label belong to; `None` for messages between two ranks.
    pub fn label(&self, label: u32) -> Option<&CollectiveRecord> {
        self.collectives.get(label.checked_sub(1)? as usize)
    }

    /// Returns the program that is executed.
    pub fn program(&self) -> &Arc<dyn Program> {
        &self.program
    }

    /// Performs the actions that are due now.
    fn work<N: Network>(&mut self, net: &mut N) {
        while let Some(todo) = self.todo.pop_front() {
            match todo {
                Todo::Begin(rank) => self.begin(rank, net),
                Todo::Start { rank, op } => self.start_operation(rank, op, NO_LANE, net),
                Todo::Done(job) => self.done(job, net),
                Todo::Try(rank) => self.try_lanes(rank, net),
                Todo::Fire {
                    instance,
                    member,
                    chunk,
                    channel,
                } => self.fire(instance, member, SequenceKey { chunk, channel }, net),
            }
        }
    }

    fn wake<N: Network>(&mut self, at: Time, wake: Wake, net: &mut N) {
        let order = self.order_of(&wake);
        let token = self.wakes.insert(wake);
        if let Some(trail) = &mut self.trail {
            let since = trail.since_now();
            trail.asked(token, since);
        }
        net.wake(at, u64::from(order) << 32 | u64::from(token));
    }

    /// Orders events of the same time by rank. Otherwise their order would depend on the past, and iterations would
    /// differ.
    fn order_of(&self, wake: &Wake) -> Rank {
        match *wake {
            Wake::Start | Wake::Nested { .. } => 0,
            Wake::Done(job) | Wake::Leave(job) => job.rank,
            Wake::Again { rank, .. } => rank,
            Wake::Fire { instance, member, .. } | Wake::LeaveStage { instance, member, .. } => {
                let instance = self.instances.get(instance);
                let group = instance.map(|instance| &self.groups[instance.group as usize]);
                group.map_or(member, |group| group.members[member as usize])
            }
        }
    }

    fn scaled(&self, ns: u64) -> Span {
        if self.rules.compute_scale == 1.0 {
            return span(ns);
        }
        Span::from_ps((ns as f64 * 1e3 * self.rules.compute_scale).round() as u64)
    }

    /// Starts an operation that is free and has its lane.
    fn start_operation<N: Network>(&mut self, rank: Rank, op: OperationId, lane: u8, net: &mut N) {
        let operation = self.program.operation(rank, op);
        // Memory nodes of Chakra count as communication, although they only take time.
        let communicates = self.rules.communication_lane == Some(operation.lane);
        let class = match operation.work {
            Work::Nothing => Class::Neither,
            Work::Compute { .. } if !communicates => Class::Compute,
            _ => Class::Communicate,
        };
        // During the gap after a send of the same NIC, the lane is free for operations that need no NIC.
        if let Work::Send { .. } = operation.work {
            let free = self.ranks[rank as usize].send_clock(operation.nic);
            if free > net.now() {
                self.release(rank, lane);
                self.wake(free, Wake::Again { rank, op }, net);
                return;
            }
        }
        let now = net.now();
        let state = &mut self.ranks[rank as usize];
        state.account.start(now, class);
        if self.rules.keep.operations {
            state.started.insert(op, now);
        }
        // Dependents on the start come before those on the end, which may follow at once.
        let mut after = std::mem::take(&mut self.scratch);
        after.clear();
        self.program.after_start(rank, op, &mut after);
        for &next in &after {
            self.dependency_met(rank, next, After::Start(op));
        }
        if !after.is_empty() {
            self.todo.push_back(Todo::Try(rank));
        }
        self.scratch = after;
        let job = Job {
            rank,
            op,
            lane,
            class,
        };
        match operation.work {
            Work::Nothing => self.todo.push_back(Todo::Done(job)),
            Work::Compute { ns } => {
                let span = if communicates { span(ns) } else { self.scaled(ns) };
                if span == Span::ZERO {
                    self.todo.push_back(Todo::Done(job));
                } else {
                    let slow = self.rules.slow.get(rank as usize).filter(|_| !communicates);
                    let end = match slow {
                        Some(slow) => Time::from_ps(slow.end(now.as_ps(), span.as_ps())),
                        None => now.saturating_add(span),
                    };
                    self.wake(end, Wake::Done(job), net);
                }
            }
            Work::Send { bytes, .. } => self.start_send(job, operation.nic, bytes, net),
            Work::Receive { from, bytes, tag } => self.start_receive(job, from, bytes, tag, net),
            Work::Collective(index) => self.start_collective(job, index, net),
        }
    }
}

/// Returns a span in ns, limited to the longest possible.
fn span(ns: u64) -> Span {
    Span::from_ps(ns.saturating_mul(1000))
}
