//! Flows: their starts, their dependencies and their results.

pub(crate) mod memo;
mod parts;
mod programs;
mod records;
pub(crate) mod replay;
mod tasks;

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::print::StateHash;
use crate::ids::FlowId;
use crate::world::World;
use paceline_congestion::Mark;
use paceline_kernel::{Bytes, Time};
use paceline_run::outcome::{EndedFlow, FlowRecord, FlowStatus, ModelOutcome};
use paceline_run::spec::{Awaited, RunSpec};

use memo::Memo;
use paceline_run::stream::FlowStream;
pub(crate) use parts::TrafficResults;
use programs::Programs;
use records::Records;
use tasks::Dependencies;
pub use tasks::find_cycle;

/// Flows: their dependencies and results.
#[derive(Clone, Default)]
pub struct Traffic {
    flows: Records,
    dependencies: Dependencies,
    /// Flows of a list that have completed, in that order.
    completions: Vec<FlowId>,
    /// Number of flows that have completed.
    completed: u64,
    programs: Programs,
    /// Flows of a stream still to come; `None` without a stream.
    stream: Option<FlowStream>,
    /// Number of the stream's flows so far.
    begun: u32,
    /// Flows of the stream that are over and were not yet taken by the caller.
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

    /// Returns a copy in which no flow starts any more, with the results of flows.
    pub(crate) fn without_starts(&self) -> Self {
        Self {
            flows: self.flows.clone(),
            ..Self::default()
        }
    }

    /// Returns the number of completed flows.
    pub(crate) fn completed(&self) -> u64 {
        self.completed + self.programs.memo.as_ref().map_or(0, |memo| memo.taken.completed)
    }

    /// Returns the number of completed flows, except those in phases taken from memory.
    pub(crate) fn completed_in_network(&self) -> u64 {
        self.completed
    }

    /// Returns the programs, which know how far the run is ahead of the network.
    pub(crate) fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Starts the memoisation of phases.
    pub(crate) fn keep_phases(&mut self, memo: Memo) {
        self.programs.memo = Some(Box::new(memo));
    }

    /// Returns the memory of phases, if it is on.
    pub(crate) fn kept(&self) -> Option<&Memo> {
        self.programs.memo.as_deref()
    }

    /// Returns the memory of phases, to be changed.
    pub(crate) fn kept_mut(&mut self) -> Option<&mut Memo> {
        self.programs.memo.as_deref_mut()
    }

    /// Notes flows under way and pending wake-ups. Returns wake-ups whose order among all events matters.
    pub(crate) fn note(
        &mut self,
        world: &World,
        core: &Core,
        print: &mut StateHash,
    ) -> Vec<(u64, u64, [u64; 2])> {
        let mut memo = self.programs.memo.take().expect("phases are kept");
        let ways = |flow| memo.ways(world, &world.flow(core, flow));
        let wakes = self.programs.note(core.now(), &self.flows, print, ways);
        self.programs.memo = Some(memo);
        wakes
    }

    /// Returns true if the state with this fingerprint has occurred before.
    pub(crate) fn has_state(&self, print: &StateHash) -> bool {
        self.programs.memo.as_ref().is_some_and(|memo| memo.has(print))
    }

    /// Returns the record of a flow, unless it is one of a stream and over.
    #[inline]
    pub fn record(&self, flow: FlowId) -> Option<&FlowRecord> {
        self.flows.get(flow)
    }

    /// Returns the record of a flow that is not over, to be changed.
    #[inline]
    pub fn record_mut(&mut self, flow: FlowId) -> &mut FlowRecord {
        &mut self.flows[flow]
    }

    /// Notes that a flow starts.
    pub fn start(&mut self, cx: &mut Cx<'_>, flow: FlowId) {
        let record = &mut self.flows[flow];
        record.status = FlowStatus::Unfinished;
        record.start = Time::from_ps(cx.core.now());
        self.release(cx, flow, Awaited::Started);
    }

    /// Writes the bytes that have arrived of an incomplete flow.
    pub(crate) fn has_delivered(&mut self, flow: FlowId, bytes: Bytes) {
        // A complete flow has its bytes in the record already.
        if let Some(record) = self.flows.get_mut(flow)
            && matches!(record.status, FlowStatus::Unfinished | FlowStatus::Unreachable)
        {
            record.delivered = bytes;
        }
    }

    /// Counts a marked data packet of a flow. Packets that arrive after the flow is complete at its receiver do not
    /// count.
    pub fn came_marked(&mut self, flow: FlowId, mark: Mark) {
        let record = self.flows.get_mut(flow);
        if let Some(record) = record.filter(|record| record.received.is_none()) {
            match mark {
                Mark::Congested => record.congested += 1,
                _ => record.undetermined += 1,
            }
        }
    }

    /// Gives up a flow that has no path, and will never have one.
    pub fn give_up(&mut self, cx: &mut Cx<'_>, flow: FlowId) {
        self.flows[flow].status = FlowStatus::Unreachable;
        self.end(cx, flow, |_| false);
    }

    /// Returns true if a flow is known that has yet to start and waits for nothing but time.
    pub(crate) fn is_expecting(&self, now: u64) -> bool {
        self.dependencies.latest > now
            || self.programs.are_expecting(now)
            || self.dependencies.is_someone_due(self.flows.listed())
    }

    /// Counts a flow that has completed.
    pub fn complete(&mut self, flow: FlowId) {
        self.completed += 1;
        if self.flows.is_listed(flow) {
            self.completions.push(flow);
        }
    }

    /// Ends a flow. A stream's flow is handed to the caller, and forgotten when nothing can ask for it any more; `asks`
    /// returns true if a flow's receiver may.
    pub(crate) fn end(&mut self, cx: &mut Cx<'_>, flow: FlowId, asks: impl Fn(FlowId) -> bool) {
        let Some(record) = self.flows.end(flow) else {
            return;
        };
        if self.programs.has(flow) {
            self.ended.extend(self.programs.end(cx.core.now(), flow, record));
        } else {
            self.ended.push(EndedFlow {
                flow: flow.0,
                spec: cx.world.flow(cx.core, flow),
                record,
            });
        }
        // In other simulators, hosts keep flows that are over.
        if !cx.world.quirks.receiver_forgets {
            cx.core.flow_is_over(flow, asks);
        }
    }

    /// Removes and returns the flows of a stream that are over.
    pub(crate) fn take_ended(&mut self) -> Vec<EndedFlow> {
        std::mem::take(&mut self.ended)
    }

    /// Hands over the flows of a stream that are not over at the end of the run.
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
        // Flows under way come in arbitrary order.
        self.ended[first..].sort_unstable_by_key(|ended| ended.flow);
    }

    /// Sorts completions of one instant by flow.
    pub(crate) fn put_in_order(&mut self) {
        let completed = |flow: &FlowId| {
            let record = &self.flows[*flow];
            (record.start + record.fct, *flow)
        };
        self.completions.sort_by_key(completed);
    }

    /// Returns the records of a list's flows, the stream's flows not yet taken, the number of flows started, the
    /// completions of a list's flows in order, and the outcomes of programs.
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

    /// Checks that no flow has started before its dependencies were met, and that completed flows have arrived whole,
    /// and if `bounded` no sooner than their ideal time.
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
            // In a cut run, a part sees only one end of some flows.
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
