//! Carries a program out on a network.
//!
//! The executor keeps what is under way and counts of what is left, no more, so that memory follows what is under way where
//! the program lives in a file. It is a value: a simulation is forked by cloning it together with its network.

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
use rank::RankState;
use results::Class;
use slab::Slab;
use todo::Todo;
use trail::Trail;

use crate::collective::Trigger;
use crate::network::{MessageId, Network};
use crate::program::{NO_LANE, OperationId, Order, Program, Rank, Work};
use crate::waiting::Waiting;

/// The label of messages between two ranks that belong to no collective.
pub const POINT_LABEL: u32 = 0;

/// A message under way.
#[derive(Clone, Copy, Debug)]
enum Flight {
    /// The bytes of a send; with the receive that takes them, if that is known already.
    Data {
        job: Job,
        to: Rank,
        receive: Option<OperationId>,
        /// When its last packet left, once that is known.
        left: Option<Time>,
    },
    /// The request of a send whose receive has to be posted first.
    Request { job: Job, to: Rank },
    /// A message of a collective.
    Step {
        instance: u32,
        from: u32,
        to: u32,
        chunk: u64,
        channel: u32,
        stage: u32,
        /// Whether its sender knows that its last packet has left.
        is_sent: bool,
    },
    /// A message of a custom collective.
    Nested { instance: u32, id: MessageId },
}

/// What happens at a time.
#[derive(Clone, Copy, Debug)]
enum Wake {
    /// The job starts.
    Start,
    /// An operation is done.
    Done(Job),
    /// The overhead of a send is over.
    Leave(Job),
    /// The NIC of a send may be free.
    Again { rank: Rank, op: OperationId },
    /// The delay of a stage is over.
    Fire {
        instance: u32,
        member: u32,
        chunk: u64,
        channel: u32,
    },
    /// Messages of a stage leave that have been handed over.
    LeaveStage {
        instance: u32,
        member: u32,
        chunk: u64,
        channel: u32,
        stage: u32,
    },
    /// Of a custom collective.
    Nested { instance: u32, token: u64 },
}

impl Wake {
    /// What has taken the time until it comes.
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

/// Carries a program out on a network, which calls `sent`, `received`, `acknowledged` and `woken`.
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
    /// What has to be done now, in order.
    todo: VecDeque<Todo>,
    /// Receives that are posted.
    posted: Waiting<OperationId, u64>,
    /// Messages, and sends whose request has come: their bytes are still at the sender.
    arrived: Waiting<Option<Job>, u64>,
    scratch: Vec<OperationId>,
    collectives: Vec<CollectiveRecord>,
    operations: Vec<OperationRecord>,
    /// Collectives that do not fit together, for `stuck`.
    misfits: Vec<Stuck>,
    /// Ranks that have not ended.
    unfinished: u32,
    /// Ranks that have ended since this was last looked at.
    ended: Vec<Rank>,
    /// Counts what becomes free.
    sequence: u64,
    /// The time of the present call.
    now: Time,
    /// Sends that kept others waiting for their lane after they had left, and for how long.
    lingering: (u64, Span),
    /// What follows from what, where the rules keep it.
    trail: Option<Box<Trail>>,
}

impl Executor {
    /// Everything is still to be done. The program is sound: see [`check`] and the checks of the readers.
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

    /// Starts all ranks in ascending order at the time that the rules say. To be called once.
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

    /// The last packet of a message has left its sender.
    pub fn sent<N: Network>(&mut self, id: MessageId, net: &mut N) {
        self.message(id, Until::Sent, net);
        if let Some(&Flight::Nested { instance, id }) = self.flights.get(id.0) {
            self.nested(instance, net, |inner, net| inner.sent(id, net));
        }
        self.step_left(id, net);
        self.data_left(id);
        self.work(net);
    }

    /// Something becomes of a message: all that follows is due to it.
    fn message<N: Network>(&mut self, id: MessageId, until: Until, net: &N) {
        self.now = net.now();
        if let Some(trail) = &mut self.trail {
            trail.message(id, until, self.now);
        }
    }

    /// The last packet of a message of a collective has left, if it is not known yet.
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
            let (instance, from, key) = (*instance, *from, (*chunk, *channel));
            self.step_sent(instance, from, key, net);
        }
    }

    /// The last byte of a message has arrived, all before it having arrived, too.
    pub fn received<N: Network>(&mut self, id: MessageId, net: &mut N) {
        self.message(id, Until::Received, net);
        // Not every network knows when it left.
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
            self.step_crossed(instance, from, (chunk, channel), net);
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
                channel,
                stage,
                ..
            }) if self.rules.collectives.trigger == Trigger::Received => {
                self.step_arrived(instance, to, (chunk, channel, stage), net);
            }
            Some(Flight::Nested { instance, id }) => {
                self.nested(instance, net, |inner, net| inner.received(id, net));
            }
            _ => {}
        }
        self.work(net);
    }

    /// The sender of a message knows that it has arrived whole; its number is free.
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
                channel,
                stage,
                ..
            }) => {
                if self.rules.collectives.trigger == Trigger::Acknowledged {
                    self.step_arrived(instance, to, (chunk, channel, stage), net);
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

    /// A time has come that was asked for with this token.
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
            }) => self.fire(instance, member, (chunk, channel), net),
            Some(Wake::LeaveStage {
                instance,
                member,
                chunk,
                channel,
                stage,
            }) => self.leave_stage(instance, member, (chunk, channel), stage, net),
            Some(Wake::Nested { instance, token }) => {
                self.nested(instance, net, |inner, net| inner.woken(token, net));
            }
            None => {}
        }
        self.work(net);
    }

    /// Whether all ranks have ended. Acknowledgements may still be under way.
    pub fn is_done(&self) -> bool {
        self.unfinished == 0
    }

    /// Iterations that are over at all ranks, and all.
    pub fn iterations(&self) -> (u32, u32) {
        let over = self.ranks.iter().map(RankState::iteration).min();
        (over.unwrap_or(0), self.rules.repeats)
    }

    /// What came of the job, up to now.
    pub fn results(&self) -> Results {
        Results {
            ranks: self.ranks.iter().map(RankState::record).collect(),
            collectives: self.collectives.clone(),
            operations: self.operations.clone(),
            path: self.trail.as_ref().and_then(|trail| trail.path().cloned()),
        }
    }

    /// The collective that messages of a label belong to; nothing for messages between two ranks.
    pub fn label(&self, label: u32) -> Option<&CollectiveRecord> {
        self.collectives.get(label.checked_sub(1)? as usize)
    }

    /// The program that is carried out.
    pub fn program(&self) -> &Arc<dyn Program> {
        &self.program
    }

    /// Works off what has to be done now.
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
                } => self.fire(instance, member, (chunk, channel), net),
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

    /// Of several wakes at one time, those of the lowest rank come first: not in an order that depends on what was before, so
    /// iterations are alike.
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

    /// An operation is free and has its lane.
    fn start_operation<N: Network>(&mut self, rank: Rank, op: OperationId, lane: u8, net: &mut N) {
        let operation = self.program.operation(rank, op);
        let communicates = self.rules.communication_lane == Some(operation.lane);
        let class = match operation.work {
            Work::Nothing => Class::Neither,
            Work::Compute { .. } if !communicates => Class::Compute,
            _ => Class::Communicate,
        };
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
            Work::Collective(place) => self.start_collective(job, place, net),
        }
    }
}

/// A span of so many ns, at most the longest.
fn span(ns: u64) -> Span {
    Span::from_ps(ns.saturating_mul(1000))
}
