//! Flows: when they start, what they wait for, what became of them.

pub(crate) mod memo;
mod parts;
mod programs;
mod records;
pub(crate) mod replay;
mod tasks;

use crate::core::Core;
use crate::core::print::Print;
use crate::ids::FlowId;
use crate::world::World;
use paceline_congestion::Mark;
use paceline_kernel::{Bytes, Time};
use paceline_run::outcome::{EndedFlow, FlowRecord, FlowStatus, ModelOutcome};
use paceline_run::spec::{Awaited, RunSpec};

use memo::Memo;
use paceline_run::stream::FlowStream;
use programs::Programs;
use records::Records;
use tasks::Dependencies;
pub use tasks::find_cycle;

/// Flows: what they wait for and what became of them.
#[derive(Clone, Default)]
pub struct Traffic {
    flows: Records,
    dependencies: Dependencies,
    /// Flows of a list that have completed, in that order.
    completions: Vec<FlowId>,
    /// How many flows have completed.
    completed: u64,
    programs: Programs,
    /// Where flows come as a stream, what is still to come.
    stream: Option<FlowStream>,
    /// Flows of the stream so far.
    begun: u32,
    /// Flows of the stream that are over and that nobody has taken yet.
    ended: Vec<EndedFlow>,
}

impl Traffic {
    pub(crate) fn of(spec: &RunSpec) -> Self {
        let stream = spec.arrivals.as_ref();
        let stream = stream.map(|arrivals| FlowStream::new(arrivals, spec.seed));
        let listed = spec.flows.iter().map(FlowRecord::not_started).collect();
        Self {
            flows: Records::of_list(listed),
            programs: Programs::of(spec),
            dependencies: Dependencies::of(spec),
            stream,
            ..Self::default()
        }
    }

    /// What there would be of it where nothing starts any more: what has become of flows.
    pub(crate) fn without_starts(&self) -> Self {
        Self {
            flows: self.flows.clone(),
            ..Self::default()
        }
    }

    /// How many flows have completed.
    pub(crate) fn completed(&self) -> u64 {
        self.completed + self.programs.memo.as_ref().map_or(0, |memo| memo.taken.completed)
    }

    /// The same without those in phases that were taken from memory.
    pub(crate) fn completed_in_network(&self) -> u64 {
        self.completed
    }

    /// Programs, and how far the run is ahead of the network.
    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Phases are kept from here on.
    pub(crate) fn keep_phases(&mut self, memo: Memo) {
        self.programs.memo = Some(Box::new(memo));
    }

    /// Phases that are kept.
    pub(crate) fn kept(&self) -> Option<&Memo> {
        self.programs.memo.as_deref()
    }

    /// The same, to be changed.
    pub(crate) fn kept_mut(&mut self) -> Option<&mut Memo> {
        self.programs.memo.as_deref_mut()
    }

    /// Notes flows that are under way and wakes that are to come; returns wakes that have their places among all events.
    pub(crate) fn note(
        &mut self,
        world: &World,
        core: &Core,
        print: &mut Print,
    ) -> Vec<(u64, u64, [u64; 2])> {
        let mut memo = self.programs.memo.take().expect("phases are kept");
        let ways = |flow| memo.ways(world, &world.flow(core, flow));
        let wakes = self.programs.note(core.now(), &self.flows, print, ways);
        self.programs.memo = Some(memo);
        wakes
    }

    /// Whether the state with this fingerprint was there before.
    pub(crate) fn has_state(&self, print: &Print) -> bool {
        self.programs.memo.as_ref().is_some_and(|memo| memo.has(print))
    }

    /// What has become of a flow, unless it is one of a stream and over.
    #[inline]
    pub fn record(&self, flow: FlowId) -> Option<&FlowRecord> {
        self.flows.get(flow)
    }

    /// The same of a flow that is not over, to be changed.
    #[inline]
    pub fn record_mut(&mut self, flow: FlowId) -> &mut FlowRecord {
        &mut self.flows[flow]
    }

    /// A flow starts.
    pub fn start(&mut self, world: &World, core: &mut Core, flow: FlowId) {
        let record = &mut self.flows[flow];
        record.status = FlowStatus::Unfinished;
        record.start = Time::from_ps(core.now());
        self.release(world, core, flow, Awaited::Started);
    }

    /// So much has arrived of a flow, which is not complete.
    pub(crate) fn has_delivered(&mut self, flow: FlowId, bytes: Bytes) {
        if let Some(record) = self.flows.get_mut(flow)
            && matches!(record.status, FlowStatus::Unfinished | FlowStatus::Unreachable)
        {
            record.delivered = bytes;
        }
    }

    /// A data packet of a flow has come with a mark; what comes after all of the flow has been there does not count.
    pub fn came_marked(&mut self, flow: FlowId, mark: Mark) {
        let record = self.flows.get_mut(flow);
        if let Some(record) = record.filter(|record| record.received.is_none()) {
            match mark {
                Mark::Congested => record.congested += 1,
                _ => record.undetermined += 1,
            }
        }
    }

    /// There is no way for a flow, and will be none.
    pub fn give_up(&mut self, world: &World, core: &mut Core, flow: FlowId) {
        self.flows[flow].status = FlowStatus::Unreachable;
        self.end(world, core, flow, |_| false);
    }

    /// Whether a flow has yet to start that waits for nothing but time, as far as is known.
    pub(crate) fn is_expecting(&self, now: u64) -> bool {
        self.dependencies.latest > now
            || self.programs.are_expecting(now)
            || self.dependencies.is_someone_due(self.flows.listed())
    }

    /// A flow has completed.
    pub fn complete(&mut self, flow: FlowId) {
        self.completed += 1;
        if self.flows.is_listed(flow) {
            self.completions.push(flow);
        }
    }

    /// A flow is over: if it is one of a stream it is given away, and forgotten when nothing can ask for it any more;
    /// `asks` says of one whether its receiver may.
    pub(crate) fn end(
        &mut self,
        world: &World,
        core: &mut Core,
        flow: FlowId,
        asks: impl Fn(FlowId) -> bool,
    ) {
        let Some(record) = self.flows.end(flow) else {
            return;
        };
        if self.programs.has(flow) {
            self.ended.extend(self.programs.end(core.now(), flow, record));
        } else {
            self.ended.push(EndedFlow {
                flow: flow.0,
                spec: world.flow(core, flow),
                record,
            });
        }
        // In the simulators of others, hosts keep flows that are over.
        if !world.quirks.receiver_forgets {
            core.flow_is_over(flow, asks);
        }
    }

    /// Takes the flows of a stream that are over.
    pub(crate) fn take_ended(&mut self) -> Vec<EndedFlow> {
        std::mem::take(&mut self.ended)
    }

    /// Gives away what there is of the flows of a stream that are not over.
    pub(crate) fn end_all(&mut self, world: &World, core: &Core) {
        let (of_programs, left): (Vec<_>, Vec<_>) = (self.flows.underway())
            .map(|(flow, record)| (flow, *record))
            .partition(|&(flow, _)| self.programs.has(flow));
        let first = self.ended.len();
        let of_stream = |(flow, record): (FlowId, FlowRecord)| EndedFlow {
            flow: flow.0,
            spec: world.flow(core, flow),
            record,
        };
        self.ended.extend(left.into_iter().map(of_stream));
        for (flow, record) in of_programs {
            self.ended.push(self.programs.leave(flow, record));
        }
        self.ended[first..].sort_unstable_by_key(|ended| ended.flow);
    }

    /// Puts completions of one instant in the order of flows.
    pub(crate) fn put_in_order(&mut self) {
        let completed = |flow: &FlowId| {
            let record = &self.flows[*flow];
            (record.start + record.fct, *flow)
        };
        self.completions.sort_by_key(completed);
    }

    /// The run is over: the records of a list's flows, flows of a stream that nobody has taken, how many have started, and
    /// which of a list have completed, in that order, and what has become of programs.
    pub(crate) fn close(self) -> (Vec<FlowRecord>, Vec<EndedFlow>, u32, Vec<u32>, Vec<ModelOutcome>) {
        let completions = self.completions.iter().map(|flow| flow.0).collect();
        let programs = self.programs.close();
        (
            self.flows.into_list(),
            self.ended,
            self.begun,
            completions,
            programs,
        )
    }

    /// No flow has started before what it waits for, and those that have completed have come whole, and no sooner than
    /// they could where `bounded` says so.
    pub(crate) fn verify(&self, world: &World, core: &Core, bounded: bool) {
        for dependency in &world.spec.dependencies {
            let (record, before) = (
                &self.flows[FlowId(dependency.flow)],
                &self.flows[FlowId(dependency.after)],
            );
            let happened = match dependency.awaited {
                Awaited::Started => (before.status != FlowStatus::NotStarted).then_some(before.start),
                Awaited::Received => before.received,
                Awaited::Acknowledged => {
                    (before.status == FlowStatus::Completed).then(|| before.start + before.fct)
                }
            };
            assert!(
                record.status == FlowStatus::NotStarted
                    || happened.is_some_and(|at| at + dependency.delay <= record.start),
                "flow {}: it started before what it waits for",
                dependency.flow
            );
        }
        for (i, record) in self.flows.listed().iter().enumerate() {
            if record.status == FlowStatus::Completed && core.is_whole() {
                assert_eq!(
                    record.delivered, world.spec.flows[i].size,
                    "flow {i}: every byte delivered, none twice"
                );
                assert!(
                    record.fct >= record.ideal || !bounded,
                    "flow {i}: done after {}, sooner than alone after {}",
                    record.fct,
                    record.ideal
                );
            }
        }
    }
}
