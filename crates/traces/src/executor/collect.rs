//! Execution of collectives, chunk by chunk and stage by stage.

use std::sync::Arc;

use paceline_kernel::Time;

use super::member::{Member, Sequence, SequenceKey, StageKey};
use super::{CollectiveRecord, Executor, Flight, Job, Stuck, Todo, Wake, span};
use crate::collective::{Algorithm, Plan};
use crate::network::{Message, MessageId, Network};
use crate::program::{CollectiveKind, OperationId, Rank};

/// Collective in progress: started or issued by a member, and not yet completed by all.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) group: u32,
    pub(super) number: u64,
    pub(super) kind: CollectiveKind,
    bytes: u64,
    root: Rank,
    /// Index of its record, plus one.
    pub(super) label: u32,
    plan: Plan,
    /// Cycle of its channel: see [`crate::program::Program::cycle`].
    cycle: u32,
    pub(super) members: Vec<Member>,
    pub(super) done: u32,
    flights: u32,
    /// Executor of a custom collective.
    pub(super) inner: Option<Box<Executor>>,
}

impl Executor {
    /// Returns the collective that an operation belongs to, and the member's index. Returns `None` and records the
    /// mismatch if it differs from that of another member.
    pub(super) fn acquire(&mut self, rank: Rank, op: OperationId, index: u32) -> Option<(u32, u32)> {
        let program = Arc::clone(&self.program);
        let collective = *program.collectives().get(index as usize)?;
        let group = self.groups.get_mut(collective.group as usize)?;
        let Some(member) = group.member(rank) else {
            self.misfits.push(Stuck::new(
                rank,
                format!(
                    "{} is a collective of group {}, which rank {rank} is not in",
                    program.name(rank, op),
                    collective.group
                ),
            ));
            return None;
        };
        // Members execute the collectives of a group in the same order, so the n-th of each is the same one.
        let number = group.next[member as usize];
        group.next[member as usize] += 1;
        let live = *group.place(number)?;
        // The first member creates the collective, and the others have to agree with it.
        if let Some(instance) = self.instances.get_mut(live) {
            if (instance.kind, instance.bytes, instance.root)
                != (collective.kind, collective.bytes, collective.root)
            {
                let first = self.collectives[instance.label as usize - 1].first;
                self.misfits.push(Stuck::new(
                    rank,
                    format!(
                        "collective {number} of group {} is {:?} of {} B at rank {} ({}), but {:?} of {} B at rank {rank} ({})",
                        collective.group,
                        instance.kind,
                        instance.bytes,
                        first.0,
                        program.name(first.0, first.1),
                        collective.kind,
                        collective.bytes,
                        program.name(rank, op),
                    ),
                ));
                return None;
            }
            return Some((live, member));
        }
        let count = group.members.len() as u32;
        let root = group.member(collective.root).unwrap_or(0);
        let rings = group.rings;
        self.collectives.push(CollectiveRecord {
            first: (rank, op),
            kind: collective.kind,
            group: collective.group,
            number,
            iteration: self.ranks[rank as usize].iteration(),
            bytes: collective.bytes,
            first_start: Time::MAX,
            last_start: Time::ZERO,
            last_end: Time::ZERO,
            done: 0,
            members: if self.rules.keep.members {
                vec![Default::default(); count as usize]
            } else {
                Vec::new()
            },
        });
        let rules = &self.rules.collectives;
        let plan = Plan::new(rules, &collective, count, rings, root).with_shares(program.uneven(index));
        let inner = match rules.algorithm(collective.kind) {
            Algorithm::Custom(program) if count > 1 => {
                Some(Box::new(self.inner(Arc::clone(program), plan.chunks)))
            }
            _ => None,
        };
        let made = self.instances.insert(Instance {
            group: collective.group,
            number,
            kind: collective.kind,
            bytes: collective.bytes,
            root: collective.root,
            label: self.collectives.len() as u32,
            plan,
            cycle: program.cycle(index).unwrap_or(count),
            members: vec![Member::default(); count as usize],
            done: 0,
            flights: 0,
            inner,
        });
        if let Some(live) = self.groups[collective.group as usize].place(number) {
            *live = made;
        }
        Some((made, member))
    }

    /// Starts a member of a collective.
    pub(super) fn start_collective<N: Network>(&mut self, job: Job, index: u32, net: &mut N) {
        let issued = self.ranks[job.rank as usize].issued_member.take();
        let Some((id, at)) = issued.or_else(|| self.acquire(job.rank, job.op, index)) else {
            return;
        };
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        let now = net.now();
        let record = &mut self.collectives[instance.label as usize - 1];
        record.first_start = record.first_start.min(now);
        record.last_start = record.last_start.max(now);
        if let Some(times) = record.members.get_mut(at as usize) {
            times.0 = now;
        }
        instance.members[at as usize].job = Some(job);
        // With no data to exchange, the member does not wait for the others either.
        let nothing = instance.bytes == 0 && instance.kind != CollectiveKind::Barrier;
        if nothing || instance.members.len() <= 1 {
            self.member_done(id, at, net);
        } else if instance.inner.is_some() {
            self.nested(id, net, |inner, net| inner.start_rank(at, net));
        } else {
            self.start_chunks(id, at, net);
        }
    }

    /// Starts as many chunks of a member as may be in progress.
    fn start_chunks<N: Network>(&mut self, id: u32, at: u32, net: &mut N) {
        let active = self.rules.collectives.active.max(1) as usize;
        loop {
            let Some(instance) = self.instances.get_mut(id) else {
                return;
            };
            let channels = instance.plan.channels;
            let member = &mut instance.members[at as usize];
            if member.next_chunk >= instance.plan.chunks
                || (member.next_chunk - member.finished) as usize >= active
            {
                return;
            }
            let chunk = member.next_chunk;
            member.next_chunk += 1;
            // All channels exist before one is entered: a chunk counts as finished once none of it is left.
            for channel in 0..channels {
                member.sequences.push(Sequence {
                    chunk,
                    channel,
                    stage: 0,
                    missing: None,
                    unsent: 0,
                    under_way: 0,
                    is_held: false,
                });
            }
            for channel in 0..channels {
                self.enter(id, at, SequenceKey { chunk, channel }, net);
            }
        }
    }

    /// Enters a stage, and consumes its messages that arrived early.
    fn enter<N: Network>(&mut self, id: u32, at: u32, key: SequenceKey, net: &mut N) {
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        let member = &mut instance.members[at as usize];
        let Some(index) = member.sequence(key) else {
            return;
        };
        let window = instance.plan.window();
        let sequence = &mut member.sequences[index];
        // If held, `go_on` enters the stage once enough messages have left and arrived.
        sequence.is_held = !sequence.may_go_on(window);
        if sequence.is_held {
            return;
        }
        let stage = sequence.stage;
        let mut missing = instance.plan.stage(at, key.channel, stage).needs;
        member.take_early(key.stage(stage), &mut missing);
        member.sequences[index].missing = Some(missing);
        if missing == 0 {
            self.satisfied(id, at, key, net);
        }
    }

    /// Continues a stage whose messages have all arrived.
    fn satisfied<N: Network>(&mut self, id: u32, at: u32, key: SequenceKey, net: &mut N) {
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        let Some(index) = instance.members[at as usize].sequence(key) else {
            return;
        };
        let sequence = &mut instance.members[at as usize].sequences[index];
        // From here on, messages of later stages count as early ones.
        sequence.missing = None;
        let number = sequence.stage;
        let stage = instance.plan.stage(at, key.channel, number);
        let rules = &self.rules.collectives;
        let member = &mut instance.members[at as usize];
        let before = match instance.plan.relayed_ring(key.channel) {
            Some(ring) if stage.sends > 0 => member.count_send(ring),
            _ => number,
        };
        let (numbers, toggle) = ((number, before), &mut member.toggle);
        let delay = stage.delay_ns(rules, instance.kind, numbers, instance.cycle, toggle);
        let (instance, member, SequenceKey { chunk, channel }) = (id, at, key);
        // A direct call would recurse through all stages whose messages have arrived early.
        if delay == 0 {
            self.todo.push_back(Todo::Fire {
                instance,
                member,
                chunk,
                channel,
            });
        } else {
            let wake = Wake::Fire {
                instance,
                member,
                chunk,
                channel,
            };
            self.wake(net.now().saturating_add(span(delay)), wake, net);
        }
    }

    /// Sends a stage's messages after its delay, and enters the next stage.
    pub(super) fn fire<N: Network>(&mut self, id: u32, at: u32, key: SequenceKey, net: &mut N) {
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        let Some(index) = instance.members[at as usize].sequence(key) else {
            return;
        };
        let number = instance.members[at as usize].sequences[index].stage;
        let sends = instance.plan.stage(at, key.channel, number).sends;
        // Counted before they leave: with a latency, the member must not complete in between.
        instance.members[at as usize].unsent += sends;
        let sequence = &mut instance.members[at as usize].sequences[index];
        sequence.unsent += sends;
        sequence.under_way += sends;
        instance.flights += sends;
        // With a latency, the next stage begins before the messages of this one leave.
        match self.rules.collectives.delays.latency_ns {
            0 => self.leave_stage(id, at, key, number, net),
            _ if sends == 0 => {}
            ns => {
                let wake = Wake::LeaveStage {
                    instance: id,
                    member: at,
                    chunk: key.chunk,
                    channel: key.channel,
                    stage: number,
                };
                self.wake(net.now().saturating_add(span(ns)), wake, net);
            }
        }
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        let stages = instance.plan.stages(at, key.channel);
        let member = &mut instance.members[at as usize];
        member.sequences[index].stage += 1;
        if u64::from(member.sequences[index].stage) < stages {
            self.enter(id, at, key, net);
            return;
        }
        member.sequences.remove(index);
        // The last channel of a chunk makes room for another chunk.
        if member.sequences.iter().all(|s| s.chunk != key.chunk) {
            member.finished += 1;
            self.start_chunks(id, at, net);
            self.finish_member(id, at, net);
        }
    }

    /// Passes the messages of a stage to the network.
    pub(super) fn leave_stage<N: Network>(
        &mut self,
        id: u32,
        at: u32,
        key: SequenceKey,
        number: u32,
        net: &mut N,
    ) {
        let Some(instance) = self.instances.get(id) else {
            return;
        };
        let members = &self.groups[instance.group as usize].members;
        for k in 0..instance.plan.stage(at, key.channel, number).sends {
            let step = instance.plan.step(at, key.channel, number, k);
            let flight = self.flights.insert(Flight::Step {
                instance: id,
                from: at,
                to: step.to,
                chunk: key.chunk,
                channel: key.channel,
                to_channel: step.channel,
                stage: step.stage,
                is_sent: false,
            });
            let message = Message {
                id: MessageId(flight),
                from: members[at as usize],
                to: members[step.to as usize],
                from_nic: 0,
                to_nic: 0,
                channel: key.channel,
                bytes: step.bytes,
                label: instance.label,
            };
            if let Some(trail) = &mut self.trail {
                trail.sent(&message, 0, false);
            }
            net.send(message);
        }
    }

    /// Handles the arrival of a collective's message at a member.
    pub(super) fn step_arrived<N: Network>(&mut self, id: u32, at: u32, message: StageKey, net: &mut N) {
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        let member = &mut instance.members[at as usize];
        let waiting = member.sequence(message.sequence()).and_then(|index| {
            let sequence = &mut member.sequences[index];
            let missing = sequence.missing.as_mut()?;
            (sequence.stage == message.stage && *missing > 0).then(|| {
                *missing -= 1;
                *missing
            })
        });
        match waiting {
            Some(0) => self.satisfied(id, at, message.sequence(), net),
            Some(_) => {}
            // The message arrives before its stage began.
            None => member.early.push(message),
        }
    }

    /// Handles the departure of the last packet of a member's message.
    pub(super) fn step_sent<N: Network>(&mut self, id: u32, at: u32, key: SequenceKey, net: &mut N) {
        if let Some(instance) = self.instances.get_mut(id) {
            let member = &mut instance.members[at as usize];
            member.unsent = member.unsent.saturating_sub(1);
            self.go_on(id, at, key, |sequence| sequence.unsent -= 1, net);
            self.finish_member(id, at, net);
        }
    }

    /// Handles the delivery of a member's message.
    pub(super) fn step_crossed<N: Network>(&mut self, id: u32, at: u32, key: SequenceKey, net: &mut N) {
        self.go_on(id, at, key, |sequence| sequence.under_way -= 1, net);
    }

    /// Counts a message of a chunk, and enters the stage that waited for it.
    fn go_on<N: Network>(
        &mut self,
        id: u32,
        at: u32,
        key: SequenceKey,
        count: impl FnOnce(&mut Sequence),
        net: &mut N,
    ) {
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        let window = instance.plan.window();
        let member = &mut instance.members[at as usize];
        // A completed chunk is no longer stored.
        let Some(index) = member.sequence(key) else {
            return;
        };
        let sequence = &mut member.sequences[index];
        count(sequence);
        if sequence.is_held && sequence.may_go_on(window) {
            self.enter(id, at, key, net);
        }
    }

    fn finish_member<N: Network>(&mut self, id: u32, at: u32, net: &mut N) {
        if let Some(instance) = self.instances.get(id) {
            let member = &instance.members[at as usize];
            let sent = member.unsent == 0 || !self.rules.collectives.until_sent;
            if member.finished == instance.plan.chunks && sent && !member.done && instance.inner.is_none() {
                self.member_done(id, at, net);
            }
        }
    }

    /// Completes a member, and its operation with it.
    pub(super) fn member_done<N: Network>(&mut self, id: u32, at: u32, net: &mut N) {
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        let now = net.now();
        let member = &mut instance.members[at as usize];
        member.done = true;
        let job = member.job;
        instance.done += 1;
        let record = &mut self.collectives[instance.label as usize - 1];
        record.done += 1;
        record.last_end = record.last_end.max(now);
        if let Some(times) = record.members.get_mut(at as usize) {
            times.1 = now;
        }
        self.todo.extend(job.map(Todo::Done));
        self.retire(id);
    }

    /// Releases the resources of a collective's message.
    pub(super) fn step_over(&mut self, id: u32) {
        if let Some(instance) = self.instances.get_mut(id) {
            instance.flights = instance.flights.saturating_sub(1);
            self.retire(id);
        }
    }

    /// Removes a collective once all members and messages are finished.
    pub(super) fn retire(&mut self, id: u32) {
        if let Some(instance) = self.instances.get(id)
            && instance.done as usize == instance.members.len()
            && instance.flights == 0
            && instance.inner.as_ref().is_none_or(|inner| inner.is_idle())
        {
            let (group, number) = (instance.group, instance.number);
            self.instances.remove(id);
            self.groups[group as usize].over(number);
        }
    }
}
