//! Flows that depend on others: steps of collectives, closed loops, traces with dependencies.
//!
//! The graph is built once, into flat arrays. A flow that nothing depends on costs a comparison when it ends, and
//! nothing per packet. In a run without dependencies the arrays are empty.

use paceline_kernel::ids::{Id, List};
use paceline_kernel::queue::LaneId;
use paceline_kernel::{Bytes, Time};

use crate::core::Core;
use crate::core::cx::Cx;
use crate::core::event::Event;
use crate::ids::FlowId;
use crate::traffic::Traffic;
use paceline_run::outcome::{FlowRecord, FlowStatus};
use paceline_run::spec::{Awaited, Dependency, RunSpec};

/// Dependencies between flows, and their state.
#[derive(Clone, Debug, Default)]
pub(super) struct Dependencies {
    /// Index of each flow's first successor in `successors`, and the end of the last; empty without dependencies.
    first: List<FlowId, u32>,
    /// Indices of dependencies in the specification, ordered by the flow that meets them.
    successors: Vec<u32>,
    /// State of each flow; empty without dependencies.
    waits: List<FlowId, Wait>,
    /// Last flow whose start time has come.
    due: Option<FlowId>,
    /// Latest start of a flow that waits for nothing but time, in ps.
    pub(in crate::traffic) latest: u64,
}

/// Unmet dependencies of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Wait {
    /// Number of dependencies that are not met.
    pending: u32,
    /// Time from which the met dependencies allow the flow to start, in ps.
    ready_at: u64,
}

impl Dependencies {
    /// Returns true if a flow with all dependencies met has yet to start.
    pub(super) fn is_someone_due(&self, flows: &[FlowRecord]) -> bool {
        let mut waits = self.waits.iter().zip(flows);
        waits.any(|(wait, flow)| wait.pending == 0 && flow.status == FlowStatus::NotStarted)
    }

    /// Creates the dependencies of a description that was checked.
    pub(super) fn of(spec: &RunSpec) -> Self {
        if spec.dependencies.is_empty() {
            return Self::default();
        }
        let mut first: List<FlowId, u32> = List::of(spec.flows.len() + 1, 0);
        let mut waits = List::of(spec.flows.len(), Wait::default());
        for dependency in &spec.dependencies {
            first[FlowId(dependency.after).plus(1)] += 1;
            waits[FlowId(dependency.flow)].pending += 1;
        }
        for flow in waits.ids() {
            first[flow.plus(1)] += first[flow];
        }
        let mut successors = vec![0; spec.dependencies.len()];
        let mut next = first.clone();
        for (number, dependency) in (0..).zip(&spec.dependencies) {
            let index = &mut next[FlowId(dependency.after)];
            successors[*index as usize] = number;
            *index += 1;
        }
        Self {
            first,
            successors,
            waits,
            due: None,
            latest: 0,
        }
    }
}

/// Returns a flow that depends on itself through others, if there is one (Kahn's algorithm). The dependencies must name
/// existing flows.
pub fn find_cycle(flows: usize, dependencies: &[Dependency]) -> Option<u32> {
    let mut pending = vec![0u32; flows];
    let mut by_after: Vec<(u32, u32)> = Vec::with_capacity(dependencies.len());
    for dependency in dependencies {
        pending[dependency.flow as usize] += 1;
        by_after.push((dependency.after, dependency.flow));
    }
    by_after.sort_unstable();
    let mut free: Vec<u32> = (0..flows as u32)
        .filter(|&flow| pending[flow as usize] == 0)
        .collect();
    while let Some(flow) = free.pop() {
        let from = by_after.partition_point(|&(after, _)| after < flow);
        for &(_, waiting) in by_after[from..].iter().take_while(|&&(after, _)| after == flow) {
            pending[waiting as usize] -= 1;
            if pending[waiting as usize] == 0 {
                free.push(waiting);
            }
        }
    }
    // A flow that depends on a cycle need not be part of it: go back until a flow comes up again.
    let mut flow = pending.iter().position(|&pending| pending > 0)? as u32;
    let mut stuck_after = vec![None; flows];
    for dependency in dependencies.iter().filter(|d| pending[d.after as usize] > 0) {
        stuck_after[dependency.flow as usize] = Some(dependency.after);
    }
    let mut seen = vec![false; flows];
    while !std::mem::replace(&mut seen[flow as usize], true) {
        flow = stuck_after[flow as usize]?;
    }
    Some(flow)
}

impl Traffic {
    /// Starts the flows of one start time, in order, and schedules the next start time.
    pub(crate) fn flow_due(&mut self, cx: &mut Cx<'_>, first: FlowId) {
        if self.stream.is_some() {
            return self.draw_due(cx);
        }
        let start = cx.world.flow(cx.core, first).start;
        let mut next = first;
        while let Some(flow) = cx.world.spec.flows.get(next.index())
            && flow.start == start
        {
            if cx.core.has(flow.src) && self.comes_due(cx.core, next) {
                // A separate event, so that events already due at this instant come first.
                cx.core
                    .schedule(LaneId::WHEEL, cx.core.now(), Event::FlowStart { flow: next });
            }
            next = next.plus(1);
        }
        if let Some(flow) = cx.world.spec.flows.get(next.index()) {
            cx.core
                .schedule(LaneId::WHEEL, flow.start.as_ps(), Event::FlowDue { flow: next });
        }
    }

    /// Draws and starts the stream's flows of this start time.
    fn draw_due(&mut self, cx: &mut Cx<'_>) {
        let (Some(stream), Some(arrivals)) = (&mut self.stream, &cx.world.spec.arrivals) else {
            return;
        };
        let now = Time::from_ps(cx.core.now());
        while stream.next_start() == Some(now)
            && let Some(spec) = stream.draw(arrivals)
        {
            let flow = FlowId(self.begun);
            self.begun += 1;
            cx.core.describe(flow, spec);
            self.flows.begin(flow, FlowRecord::not_started(&spec));
            cx.core
                .schedule(LaneId::WHEEL, cx.core.now(), Event::FlowStart { flow });
        }
        if let Some(start) = stream.next_start() {
            let next = FlowId(self.begun);
            cx.core
                .schedule(LaneId::WHEEL, start.as_ps(), Event::FlowDue { flow: next });
        }
    }

    /// Notes that the start time of a flow has come. Returns true if the flow may start.
    pub(super) fn comes_due(&mut self, core: &Core, flow: FlowId) -> bool {
        let now = core.now();
        let Some(wait) = self.dependencies.waits.get(flow) else {
            return true;
        };
        self.dependencies.due = Some(flow);
        wait.pending == 0 && wait.ready_at <= now
    }

    /// Notes an event of `flow` that others may depend on. Flows for which it was the last dependency start, each after
    /// its delay.
    pub fn release(&mut self, cx: &mut Cx<'_>, flow: FlowId, what: Awaited) {
        self.tell_program(cx, flow, what);
        if self.dependencies.first.is_empty() || flow.index() >= cx.world.spec.flows.len() {
            return;
        }
        let first = &self.dependencies.first;
        for index in first[flow] as usize..first[flow.plus(1)] as usize {
            let met = self.dependencies.successors[index] as usize;
            let Dependency {
                flow, awaited, delay, ..
            } = cx.world.spec.dependencies[met];
            // A flow is awaited for its start, its arrival or its acknowledgement, and this is one of them.
            if awaited != what {
                continue;
            }
            let flow = FlowId(flow);
            let src = cx.world.flow(cx.core, flow).src;
            let wait = &mut self.dependencies.waits[flow];
            wait.pending -= 1;
            wait.ready_at = (wait.ready_at).max(cx.world.computed(src, cx.core.now(), delay.as_ps()));
            let (pending, ready_at) = (wait.pending, wait.ready_at);
            let start = cx.world.flow(cx.core, flow).start.as_ps();
            // Otherwise the flow starts when its start time comes.
            if pending == 0 && (ready_at > start || Some(flow) <= self.dependencies.due) {
                let event = Event::FlowStart { flow };
                let at = ready_at.max(start);
                self.dependencies.latest = self.dependencies.latest.max(at);
                cx.core.schedule(LaneId::WHEEL, at, event);
            }
        }
    }

    /// Notes that a flow's last byte has arrived, perhaps again.
    pub(crate) fn received_whole(&mut self, cx: &mut Cx<'_>, flow: FlowId, bytes: Bytes) {
        let Some(record) = self.flows.get_mut(flow) else {
            return;
        };
        if record.received.is_none() {
            record.received = Some(Time::from_ps(cx.core.now()));
            record.delivered = bytes;
            self.release(cx, flow, Awaited::Received);
        }
    }
}
