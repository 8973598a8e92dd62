//! NICs with many queue pairs: when each of them may go is kept in one tree ([`super::pacing_tree`]), so that the NIC
//! need not look at hundreds of queue pairs to find the one that may, or that none may.
//!
//! What is chosen is what looking at all of them would choose.

use crate::core::Core;
use crate::host::Hosts;
use crate::host::nic::Choice;
use crate::host::pacing_tree::NEVER;
use crate::host::port::{FEW_QPS, Nic};
use crate::host::qp::Qp;
use crate::ids::{NicId, QpId};
use crate::world::World;

impl Hosts {
    /// The same of several queue pairs.
    #[inline(never)]
    pub(super) fn choose_among(&mut self, world: &World, core: &Core, nic: NicId, paused: u16) -> Choice {
        let gathered = self.gather(world, nic);
        let chosen = if self.scheduler.is_some() {
            self.choose_by_turns(core, nic, paused, gathered)
        } else if gathered {
            self.choose_of_crowd(core, nic, paused)
        } else {
            self.choose_of_many(core, nic, paused)
        };
        match chosen {
            Some(place) => Choice::Now(place, self.nics[nic].qps[place]),
            None => (self.soonest(world, core, nic)).map_or(Choice::None, Choice::Later),
        }
    }

    /// Whether the NIC knows when each of its queue pairs may go; where it can know, it does after
    /// this. With few of them looking is cheaper, and quirks are not in the trees.
    #[inline]
    pub(super) fn gather(&mut self, world: &World, nic: NicId) -> bool {
        let n = &self.nics[nic];
        n.qps.len() > FEW_QPS && (n.pacing_tree.is_known() || self.gather_anew(world, nic))
    }

    #[cold]
    fn gather_anew(&mut self, world: &World, nic: NicId) -> bool {
        let quirks = &world.quirks;
        if quirks.wakeup_suppression || quirks.lazy_qp_removal {
            return false;
        }
        self.tracks_qps = true;
        self.nics[nic].gather(&mut self.qps);
        true
    }

    /// A queue pair has changed.
    #[inline]
    pub(super) fn update_schedule(&mut self, core: &Core, slot: QpId) {
        if self.tracks_qps {
            self.regard_in_crowd(core, slot);
        }
    }

    /// A queue pair has sent a packet of `wire` bytes.
    #[inline]
    pub(super) fn regard_sent(&mut self, core: &Core, slot: QpId, wire: u16) {
        if self.tracks_qps {
            self.regard_turn(core, slot, wire);
        }
    }

    #[inline(never)]
    fn regard_turn(&mut self, core: &Core, slot: QpId, wire: u16) {
        if let Some(scheduler) = &mut self.scheduler {
            scheduler.sent(core.ports[self.qps[slot].port].nic(), slot, wire);
        }
        self.find_in_crowd(core, slot);
    }

    #[inline(never)]
    fn regard_in_crowd(&mut self, core: &Core, slot: QpId) {
        self.find_in_crowd(core, slot);
    }

    #[inline(always)]
    fn find_in_crowd(&mut self, core: &Core, slot: QpId) {
        let qp = &self.qps[slot];
        let nic = &mut self.nics[core.ports[qp.port].nic()];
        let place = qp.place as usize;
        if place < nic.pacing_tree.len() && nic.qps[place] == slot {
            nic.pacing_tree.set(place, qp.class, qp.due());
        }
    }

    /// Round robin from the queue pair served last, in a NIC that has gathered.
    pub(super) fn choose_of_crowd(&self, core: &Core, nic: NicId, paused: u16) -> Option<usize> {
        let Nic {
            served, pacing_tree, ..
        } = &self.nics[nic];
        pacing_tree.next_due(*served + 1, core.now(), paused)
    }

    /// Whose turn it is, where that is not round robin.
    #[inline(never)]
    pub(super) fn choose_by_turns(
        &self,
        core: &Core,
        nic: NicId,
        paused: u16,
        gathered: bool,
    ) -> Option<usize> {
        let Nic {
            qps,
            served,
            pacing_tree,
            ..
        } = &self.nics[nic];
        let (scheduler, now) = (self.scheduler.as_ref()?, core.now());
        let may_go = |place: usize| {
            let qp = self.qps.get(qps[place]);
            qp.is_some_and(|qp| !qp.is_blocked(paused) && qp.next_avail <= now)
        };
        if !gathered {
            return scheduler.choose(nic, qps, *served, may_go);
        }
        if pacing_tree.soonest(paused) > now {
            return None;
        }
        if scheduler.is_by_quantum() {
            let goes_on = scheduler.goes_on(nic, qps, *served) && may_go(*served);
            return match goes_on {
                true => Some(*served),
                false => self.choose_of_crowd(core, nic, paused),
            };
        }
        scheduler.choose(nic, qps, *served, may_go)
    }

    pub(crate) fn verify_turns(&self) {
        if let Some(scheduler) = &self.scheduler {
            scheduler.verify();
        }
    }

    /// What NICs know of their queue pairs is so.
    pub(crate) fn verify_crowds(&self) {
        let gathered = self.nics.numbered().filter(|(_, nic)| nic.pacing_tree.is_known());
        for (id, nic) in gathered {
            assert_eq!(nic.pacing_tree.len(), nic.qps.len(), "NIC {id}: queue pairs");
            nic.verify();
            let mut soonest = NEVER;
            for (place, &slot) in nic.qps.iter().enumerate() {
                let is = self.qps.get(slot).map_or(NEVER, Qp::due);
                let known = nic.pacing_tree.due(place);
                assert_eq!(known, is, "NIC {id}: when queue pair {slot} may go");
                soonest = soonest.min(is);
            }
            assert_eq!(
                soonest,
                nic.pacing_tree.soonest(0),
                "NIC {id}: when the first may go"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::common::{add_flow, assert_complete, natural, scheme, star};
    use crate::run::simulation::Simulation;
    use paceline_kernel::{Bytes, Span, Time};
    use paceline_run::spec::{FlowControl, Irn, LinkFailure, PfcThreshold, Recovery};

    const IRN: Irn = Irn {
        rto_low: Span::from_us(100),
        rto_high: Span::from_us(320),
        low_packets: 3,
        bdp_cap: true,
        reordering: 0,
    };

    use super::*;

    impl Hosts {
        /// The place that looking at all would choose.
        fn choose_by_looking(&self, core: &Core, nic: NicId, paused: u16) -> Option<usize> {
            let Nic { qps, served, .. } = &self.nics[nic];
            let start = served + 1;
            let may_go = |place: &usize| {
                let qp = self.qps.get(qps[*place]);
                qp.is_some_and(|qp| !qp.is_blocked(paused) && qp.next_avail <= core.now())
            };
            (start..qps.len()).chain(0..start.min(qps.len())).find(may_go)
        }
    }

    /// Hundreds of flows of two senders, with windows, pacing, pauses, losses and a failure: what is
    /// known of each queue pair is so after every event, and what would be chosen by looking is chosen.
    #[test]
    fn the_array_is_what_looking_would_find() {
        let mut held = 0;
        for (name, recovery) in [
            ("bolt", Recovery::GoBackN),
            ("hpcc", Recovery::SelectiveRepeat(IRN)),
            ("dcqcn", Recovery::GoBackN),
        ] {
            let mut spec = natural(star(3, scheme(name)));
            spec.check = false;
            spec.nic.recovery = recovery;
            if let FlowControl::Pfc(pfc) = &mut spec.switch.flow_control {
                let (xoff, xon) = (Bytes::new(20_000), Bytes::new(15_000));
                pfc.threshold = PfcThreshold::Static { xoff, xon };
            }
            for flow in 0..60 {
                add_flow(
                    &mut spec,
                    1 + flow % 2,
                    3,
                    9_000 + u64::from(flow) * 100,
                    u64::from(flow / 40) * 7000,
                );
            }
            for link in &mut spec.links {
                link.error_rate = 0.002;
            }
            spec.failures.push(LinkFailure {
                link: 0,
                at: Time::from_ns(15_000),
                until: Some(Time::from_ns(25_000)),
            });
            let mut simulation = Simulation::new(spec.clone()).unwrap();
            let mut chosen = 0;
            while !simulation.advance(1).done {
                let Simulation {
                    world, core, hosts, ..
                } = &mut simulation;
                hosts.verify_crowds();
                for nic in hosts.nics.ids() {
                    let paused = core.ports[hosts.nics[nic].port].paused;
                    if !hosts.gather(world, nic) {
                        continue;
                    }
                    let found = hosts.choose_of_crowd(core, nic, paused);
                    assert_eq!(found, hosts.choose_by_looking(core, nic, paused), "{name}");
                    chosen += u32::from(found.is_some());
                    held += u32::from(paused != 0);
                }
            }
            assert!(chosen > 300, "{name}: {chosen}");
            assert_complete(&spec, &simulation.finish());
        }
        assert!(held > 0, "never paused");
    }
}
