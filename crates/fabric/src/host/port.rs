//! What a host's port keeps: its queue pairs, whose turn it is, and when to wake up.

use crate::host::pacing_tree::{NEVER, PacingTree};
use crate::host::qp::Qp;
use crate::ids::{PortId, QpId};
use paceline_kernel::ids::{Id, List};

/// Up to so many queue pairs of a NIC are looked through at every packet to save an event.
pub(super) const FEW_QPS: usize = 8;

/// Longer lists keep the places of queue pairs that are gone until these are half of them: to close up at each would take
/// a time in proportion to the list.
const SHORT_LIST: usize = 64;

/// The sending half of one host port.
#[derive(Clone, Debug)]
pub(super) struct Nic {
    pub(super) port: PortId,
    /// Queue pairs, in round-robin order. [`QpId::NONE`] stands for one that is gone, in lists of more than
    /// [`SHORT_LIST`] whose `crowd` is known; neither the last nor, at `first`, the first.
    pub(super) qps: Vec<QpId>,
    pub(super) first: usize,
    gone: usize,
    /// Place in `qps` of the one served last; if that is gone, the last one before it was.
    pub(super) served: usize,
    /// The same for each lane of a port under credits, as far as they have sent: each has a round robin of its own.
    pub(super) served_of_lane: Vec<usize>,
    /// Time of the pending wake-up; `u64::MAX` for none.
    pub(super) wake_at: u64,
    pub(super) wake_generation: u32,
    /// When many queue pairs may go.
    pub(super) pacing_tree: PacingTree,
}

impl Nic {
    pub(super) fn new(port: PortId) -> Self {
        Self {
            port,
            qps: Vec::new(),
            first: 0,
            gone: 0,
            served: 0,
            served_of_lane: Vec::new(),
            wake_at: u64::MAX,
            wake_generation: 0,
            pacing_tree: PacingTree::default(),
        }
    }

    /// Its queue pairs, in order.
    pub(super) fn live(&self) -> impl Iterator<Item = QpId> {
        (self.qps.iter().copied()).filter(|&slot| slot != QpId::NONE)
    }

    /// Takes a queue pair out of the list. The one that would have been next stays next.
    pub(super) fn remove(&mut self, slot: QpId, qps: &mut List<QpId, Qp>) -> bool {
        let place = match self.pacing_tree.is_known() {
            true => Some(qps[slot].place as usize).filter(|&place| self.qps.get(place) == Some(&slot)),
            false => self.qps.iter().position(|&other| other == slot),
        };
        let Some(place) = place else {
            return false;
        };
        if self.pacing_tree.is_known() && self.qps.len() > SHORT_LIST {
            self.vacate(place, qps);
        } else {
            self.qps.remove(place);
            if self.pacing_tree.remove(place) {
                for &later in &self.qps[place..] {
                    qps[later].place -= 1;
                }
            }
            let last = self.qps.len().saturating_sub(1);
            for served in std::iter::once(&mut self.served).chain(&mut self.served_of_lane) {
                if place <= *served {
                    *served = served.checked_sub(1).unwrap_or(last);
                }
            }
        }
        true
    }

    /// Leaves a place empty.
    fn vacate(&mut self, place: usize, qps: &mut List<QpId, Qp>) {
        let slot = std::mem::replace(&mut self.qps[place], QpId::NONE);
        self.pacing_tree.set(place, qps[slot].class, NEVER);
        self.gone += 1;
        while self.qps.last() == Some(&QpId::NONE) {
            self.qps.pop();
            self.pacing_tree.pop();
            self.gone -= 1;
        }
        while self.qps.get(self.first) == Some(&QpId::NONE) {
            self.first += 1;
        }
        let (first, last) = (self.first, self.qps.len().saturating_sub(1));
        for served in std::iter::once(&mut self.served).chain(&mut self.served_of_lane) {
            if *served < first || *served > last {
                *served = last;
            }
        }
        if self.qps.len() <= SHORT_LIST || 2 * self.gone > self.qps.len() {
            self.close_up();
            self.gather(qps);
        }
    }

    /// Finds out when each queue pair of a list without empty places may go.
    pub(super) fn gather(&mut self, qps: &mut List<QpId, Qp>) {
        let list = (self.qps.iter().enumerate()).map(|(place, &slot)| {
            let qp = &mut qps[slot];
            qp.place = place as u32;
            (qp.class, qp.due())
        });
        self.pacing_tree = PacingTree::of(&list.collect::<Vec<_>>());
    }

    /// Takes the empty places out of the list.
    fn close_up(&mut self) {
        if self.gone > 0 {
            for served in std::iter::once(&mut self.served).chain(&mut self.served_of_lane) {
                let up_to = self.qps[..=*served].iter();
                let live = up_to.filter(|&&slot| slot != QpId::NONE).count();
                *served = live.saturating_sub(1);
            }
            self.qps.retain(|&slot| slot != QpId::NONE);
        }
        (self.first, self.gone) = (0, 0);
    }

    /// Keeps only some of the queue pairs; when they may go is not known after this.
    pub(super) fn retain(&mut self, keep: impl FnMut(&QpId) -> bool) {
        self.close_up();
        self.qps.retain(keep);
        self.pacing_tree.forget();
    }

    /// Empty places are where they are said to be.
    pub(super) fn verify(&self) {
        assert_eq!(self.qps.len() - self.live().count(), self.gone);
        if self.gone > 0 {
            assert!(self.pacing_tree.is_known() && self.qps.len() > SHORT_LIST);
            assert!(self.qps[..self.first].iter().all(|&slot| slot == QpId::NONE));
            assert!(self.qps[self.first] != QpId::NONE && self.qps[self.qps.len() - 1] != QpId::NONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::common::{self, add_flow, natural, scheme, static_pfc};
    use crate::common_lanes as lanes;
    use crate::host::Hosts;
    use crate::ids::FlowId;
    use crate::run::simulation::Simulation;
    use paceline_run::spec::{Arbitration, NodeId, RunSpec};

    /// A list that closes up at every queue pair that goes, and whose turn it was: of the NIC, or of each lane.
    #[derive(Default)]
    struct Closed {
        list: Vec<FlowId>,
        served: BTreeMap<u8, usize>,
    }

    impl Closed {
        /// Takes over what happened in one event: who has gone, who is new, who sent.
        fn follow(&mut self, live: &[FlowId], sent: Option<(FlowId, u8)>) {
            for place in (0..self.list.len()).rev() {
                if live.contains(&self.list[place]) {
                    continue;
                }
                self.list.remove(place);
                for served in self.served.values_mut().filter(|served| place <= **served) {
                    *served = (served.checked_sub(1)).unwrap_or(self.list.len().saturating_sub(1));
                }
            }
            let known = self.list.len();
            self.list.extend(&live[known..]);
            if let Some((flow, lane)) = sent {
                let place = self.list.iter().position(|&other| other == flow).unwrap();
                for lower in 0..lane {
                    self.served.entry(lower).or_insert(0);
                }
                self.served.insert(lane, place);
            }
        }
    }

    /// How far each queue pair of a NIC has sent.
    fn sent(hosts: &Hosts, nic: &Nic) -> BTreeMap<FlowId, (u8, u64)> {
        let qps = nic.live().map(|slot| &hosts.qps[slot]);
        qps.map(|qp| (qp.flow, (qp.class, qp.snd_nxt))).collect()
    }

    /// Runs the flows of node 1; how often its list had empty places, and how often it closed up.
    fn compare(spec: RunSpec, by_lane: bool) -> (usize, usize) {
        let mut simulation = Simulation::new(spec).unwrap();
        let (mut closed, mut before) = (Closed::default(), BTreeMap::new());
        if !by_lane {
            closed.served.insert(0, 0);
        }
        let (mut sparse, mut closings, mut gone) = (0, 0, 0);
        while !simulation.advance(1).done {
            let Simulation { core, hosts, .. } = &simulation;
            hosts.verify_crowds();
            let of_sender = |nic: &&Nic| core.ports[nic.port].node == NodeId(1);
            let nic = hosts.nics.iter().find(of_sender).unwrap();
            let live: Vec<FlowId> = nic.live().map(|slot| hosts.qps[slot].flow).collect();
            let after = sent(hosts, nic);
            let moved = |&(flow, &(_, next)): &(&FlowId, &(u8, u64))| {
                next > before.get(flow).map_or(0, |&(_, before)| before)
            };
            let sender = after.iter().find(moved);
            let lane = |class: u8| if by_lane { class } else { 0 };
            closed.follow(&live, sender.map(|(&flow, &(class, _))| (flow, lane(class))));
            assert_eq!(live, closed.list);
            let rank = |served: usize| {
                let up_to = nic.qps.iter().take(served + 1);
                up_to
                    .filter(|&&slot| slot != QpId::NONE)
                    .count()
                    .saturating_sub(1)
            };
            match by_lane {
                false => assert_eq!(rank(nic.served), closed.served[&0]),
                true => {
                    let ranks = nic.served_of_lane.iter().map(|&served| rank(served));
                    assert!(ranks.eq(closed.served.values().copied()));
                }
            }
            sparse += usize::from(nic.gone > 0);
            closings += usize::from(gone > 0 && nic.gone == 0);
            (before, gone) = (after, nic.gone);
        }
        assert_eq!(
            simulation
                .finish()
                .flows
                .iter()
                .filter(|flow| flow.received.is_none())
                .count(),
            0
        );
        (sparse, closings)
    }

    /// Hundreds of flows of several sizes, in two classes; more begin while others end.
    fn crowded(mut spec: RunSpec) -> RunSpec {
        add_flow(&mut spec, 3, 2, 1_000_000, 0);
        for flow in 0..500_u64 {
            let size = 1 + flow * 7919 % 4000;
            add_flow(
                &mut spec,
                1,
                2,
                size,
                flow / 200 * 9_000 + 20 * flow.saturating_sub(350),
            );
            spec.flows.last_mut().unwrap().class = if flow % 3 == 0 { 5 } else { 3 };
        }
        spec.check = false;
        spec
    }

    #[test]
    fn empty_places_do_not_change_whose_turn_it_is() {
        let mut spec = crowded(natural(common::star(3, scheme("dcqcn"))));
        static_pfc(&mut spec, 20_000, 15_000, 100_000);
        let (sparse, closings) = compare(spec, false);
        assert!(sparse > 500 && closings > 2, "{sparse} {closings}");
        let mut two = lanes::ib(400);
        two.buffers = vec![400; 2];
        two.lane_of[5] = 1;
        two.arbitration = Arbitration::fair(2);
        let (sparse, closings) = compare(crowded(lanes::star(3, two)), true);
        assert!(sparse > 500 && closings > 2, "{sparse} {closings}");
    }
}
