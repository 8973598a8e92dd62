//! Descriptions of flows: in the run's list, or, for streams, of the flows that are not over.

use paceline_congestion::registry::ActiveScheme;

use crate::core::Core;
use crate::core::flow_table::FlowTable;
use crate::core::packet::PacketSlab;
use crate::ids::{FlowId, HeldId};
use crate::world::World;
use paceline_kernel::ids::{Id, List};
use paceline_run::spec::FlowSpec;

/// A value for each flow that is under way, found by the flow's number.
#[derive(Clone, Debug)]
pub(crate) struct Underway<T> {
    indices: FlowTable<HeldId>,
    list: List<HeldId, (FlowId, T)>,
    free: Vec<HeldId>,
}

impl<T> Default for Underway<T> {
    fn default() -> Self {
        Self {
            indices: FlowTable::default(),
            list: List::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Underway<T> {
    pub(crate) fn insert(&mut self, flow: FlowId, what: T) {
        let index = match self.free.pop() {
            Some(index) => {
                self.list[index] = (flow, what);
                index
            }
            None => self.list.push((flow, what)),
        };
        self.indices.set(flow, index);
    }

    pub(crate) fn get(&self, flow: FlowId) -> Option<&T> {
        let index = self.indices.get(flow)?;
        Some(&self.list[index].1)
    }

    pub(crate) fn get_mut(&mut self, flow: FlowId) -> Option<&mut T> {
        let index = self.indices.get(flow)?;
        Some(&mut self.list[index].1)
    }

    pub(crate) fn remove(&mut self, flow: FlowId) -> Option<T> {
        let index = self.indices.take(flow)?;
        let slot = &mut self.list[index];
        slot.0 = FlowId::NONE;
        self.free.push(index);
        Some(slot.1)
    }

    /// Returns all flows and their values, in arbitrary order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (FlowId, &T)> {
        let all = self.list.iter().filter(|&&(flow, _)| flow != FlowId::NONE);
        all.map(|(flow, what)| (*flow, what))
    }

    /// Returns the number of slots: the most flows that were under way at a time.
    pub(super) fn indices(&self) -> usize {
        self.list.len()
    }
}

/// Descriptions of a stream's flows, from their starts until nothing in the network can ask for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Described {
    flows: Underway<FlowSpec>,
    /// Flows that are over, of which packets may still be under way: notifications, or retransmitted data.
    over: Vec<FlowId>,
    /// Number of flows in `over` at which the next search for unneeded ones starts.
    look_at: usize,
}

impl Described {
    /// Smallest number of flows in `over` that makes a search worthwhile.
    const FEW: usize = 1024;

    pub(super) fn begin(&mut self, flow: FlowId, spec: FlowSpec) {
        self.flows.insert(flow, spec);
    }

    /// Notes that a flow is over. `asks` returns true if a flow's receiver may still ask for its description.
    pub(super) fn end(&mut self, flow: FlowId, packets: &PacketSlab, asks: impl Fn(FlowId) -> bool) {
        self.over.push(flow);
        if self.over.len() < self.look_at.max(Self::FEW) {
            return;
        }
        // Free slots still name the flow of their last packet. That only keeps a few flows for longer.
        let mut named: Vec<FlowId> = packets.all().map(|packet| packet.flow).collect();
        named.sort_unstable();
        let flows = &mut self.flows;
        self.over.retain(|&flow| {
            let kept = asks(flow) || named.binary_search(&flow).is_ok();
            if !kept {
                flows.remove(flow);
            }
            kept
        });
        // The search is amortised: looking at all packets costs each flow little.
        self.look_at = (2 * self.over.len()).max(named.len() / 4);
    }

    /// Returns the most flows that were described at a time.
    pub(super) fn most(&self) -> usize {
        self.flows.indices()
    }
}

impl World {
    /// Returns true if a program has started the flow.
    #[inline]
    pub(crate) fn is_of_program(&self, flow: FlowId) -> bool {
        !self.spec.programs.is_empty() && flow.index() >= self.spec.described_flows()
    }

    /// Returns the scheme of a flow.
    pub(crate) fn scheme_of(&self, core: &Core, flow: FlowId) -> &ActiveScheme {
        &self.schemes[usize::from(self.flow(core, flow).scheme)]
    }

    /// Returns the description of a flow that has started and is not over.
    #[inline]
    pub fn flow(&self, core: &Core, flow: FlowId) -> FlowSpec {
        match self.spec.flows.get(flow.index()) {
            Some(listed) => *listed,
            None => *core
                .described
                .flows
                .get(flow)
                .expect("a flow is described until no packet names it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut underway = Underway::default();
        for number in 0..100 {
            underway.insert(FlowId(number), number * 2);
            if number >= 3 {
                let before = FlowId(number - 3);
                assert_eq!(underway.remove(before), Some(before.0 * 2));
                assert_eq!(underway.remove(before), None);
            }
        }
        assert_eq!((underway.indices(), underway.get(FlowId(99))), (4, Some(&198)));
        *underway.get_mut(FlowId(98)).unwrap() += 1;
        let mut left: Vec<_> = underway.iter().map(|(flow, &what)| (flow.0, what)).collect();
        left.sort_unstable();
        assert_eq!(left, [(97, 194), (98, 197), (99, 198)]);
    }
}
