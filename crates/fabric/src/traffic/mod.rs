//! Flows: when they start, what they wait for, what became of them.

mod parts;
mod records;
pub mod stream;
mod tasks;

use crate::core::Core;
use crate::core::flows::Underway;
use crate::ids::FlowId;
use crate::outcome::{EndedFlow, FlowRecord};
use crate::spec::RunSpec;
use crate::world::World;

pub(crate) use records::Records;
pub(crate) use stream::FlowStream;
pub(crate) use tasks::Dependencies;
pub use tasks::find_cycle;

/// Flows: what they wait for and what became of them.
#[derive(Clone, Default)]
pub(crate) struct Traffic {
    pub(crate) flows: Records,
    pub(crate) dependencies: Dependencies,
    /// Flows of a list that have completed, in that order.
    pub(crate) completions: Vec<FlowId>,
    /// How many flows have completed.
    pub(crate) completed: u64,
    /// Where flows come as a stream, what is still to come.
    pub(crate) stream: Option<FlowStream>,
    /// Flows of the stream so far.
    pub(crate) begun: u32,
    /// Flows of the stream that are over and that nobody has taken yet.
    pub(crate) ended: Vec<EndedFlow>,
}

impl Traffic {
    pub(crate) fn of(spec: &RunSpec) -> Self {
        let stream = spec.arrivals.as_ref();
        let stream = stream.map(|arrivals| FlowStream::new(arrivals, spec.seed));
        let listed = || spec.flows.iter().map(FlowRecord::not_started).collect();
        Self {
            flows: match stream {
                Some(_) => Records::Streamed(Underway::default()),
                None => Records::Listed(listed()),
            },
            dependencies: Dependencies::of(spec),
            stream,
            ..Self::default()
        }
    }

    /// A flow has completed.
    pub(crate) fn complete(&mut self, flow: FlowId) {
        self.completed += 1;
        if self.stream.is_none() {
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
        let Records::Streamed(underway) = &mut self.flows else {
            return;
        };
        let Some(record) = underway.remove(flow) else {
            return;
        };
        self.ended.push(EndedFlow {
            flow: flow.0,
            spec: world.flow(core, flow),
            record,
        });
        core.described.end(flow, &core.packets, asks);
    }

    /// Gives away what there is of the flows of a stream that are not over.
    pub(crate) fn end_all(&mut self, world: &World, core: &Core) {
        let Records::Streamed(underway) = &self.flows else {
            return;
        };
        let left = underway.iter().map(|(flow, record)| EndedFlow {
            flow: flow.0,
            spec: world.flow(core, flow),
            record: *record,
        });
        let first = self.ended.len();
        self.ended.extend(left);
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
}
