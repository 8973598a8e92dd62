//! NICs with many queue pairs: when each of them may go is kept in one tree ([`super::crowd`]), so that the NIC
//! need not look at hundreds of queue pairs to find the one that may, or that none may.
//!
//! What is chosen is what looking at all of them would choose.

use crate::core::Core;
use crate::host::Hosts;
use crate::host::crowd::{Crowd, NEVER};
use crate::host::nic::Choice;
use crate::host::port::{FEW_QPS, Nic};
use crate::host::qp::Qp;
use crate::ids::{NicId, QpId};
use crate::world::World;

pub(super) fn due(qp: &Qp) -> u64 {
    if qp.is_blocked(0) { NEVER } else { qp.next_avail }
}

impl Hosts {
    /// The same of several queue pairs.
    #[inline(never)]
    pub(super) fn choose_among(&mut self, world: &World, core: &Core, nic: NicId, paused: u16) -> Choice {
        let gathered = self.gather(world, core, nic);
        let chosen = if !self.regards {
            self.choose_of_many(core, nic, paused)
        } else if !gathered && self.holds_all(nic, paused) {
            return Choice::None;
        } else if self.turns.is_some() {
            self.choose_by_turns(core, nic, paused, gathered)
        } else if gathered {
            self.choose_of_crowd(core, nic)
        } else {
            self.choose_of_many(core, nic, paused)
        };
        match chosen {
            Some(place) => Choice::Now(place, self.nics[nic].qps[place]),
            None => (self.soonest(world, core, nic)).map_or(Choice::None, Choice::Later),
        }
    }

    /// Whether the NIC knows when each of its queue pairs may go; where it can know, it does after
    /// this. With few of them looking is cheaper, and quirks are not in the array, nor are pauses of some of their
    /// classes.
    #[inline]
    pub(super) fn gather(&mut self, world: &World, core: &Core, nic: NicId) -> bool {
        let n = &self.nics[nic];
        if n.qps.len() <= FEW_QPS || !n.crowd.is_known() && !self.gather_anew(world, nic) {
            return false;
        }
        let n = &self.nics[nic];
        core.ports[n.port].paused & n.crowd.classes == 0
    }

    /// Whether it is known that pauses hold back all of them.
    #[inline]
    pub(super) fn holds_all(&self, nic: NicId, paused: u16) -> bool {
        let crowd = &self.nics[nic].crowd;
        crowd.is_known() && crowd.classes & !paused == 0
    }

    #[cold]
    fn gather_anew(&mut self, world: &World, nic: NicId) -> bool {
        let quirks = &world.quirks;
        if quirks.wakeup_suppression || quirks.lazy_qp_removal {
            return false;
        }
        self.regards = true;
        let Nic { qps, crowd, .. } = &mut self.nics[nic];
        let (mut all, mut classes) = (Vec::with_capacity(qps.len()), 0);
        for (place, &slot) in qps.iter().enumerate() {
            let qp = &mut self.qps[slot];
            qp.place = place as u32;
            all.push(due(qp));
            classes |= 1 << qp.class;
        }
        *crowd = Crowd::of(all, classes);
        true
    }

    /// A queue pair has changed.
    #[inline]
    pub(super) fn regard(&mut self, core: &Core, slot: QpId) {
        if self.regards {
            self.regard_in_crowd(core, slot);
        }
    }

    /// A queue pair has sent a packet of `wire` bytes.
    #[inline]
    pub(super) fn regard_sent(&mut self, core: &Core, slot: QpId, wire: u16) {
        if self.regards {
            self.regard_turn(core, slot, wire);
        }
    }

    #[inline(never)]
    fn regard_turn(&mut self, core: &Core, slot: QpId, wire: u16) {
        if let Some(turns) = &mut self.turns {
            turns.sent(core.ports[self.qps[slot].port].nic(), slot, wire);
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
        if place < nic.crowd.len() && nic.qps[place] == slot {
            nic.crowd.set(place, due(qp));
        }
    }

    /// Round robin from the queue pair served last, in a NIC that has gathered.
    pub(super) fn choose_of_crowd(&self, core: &Core, nic: NicId) -> Option<usize> {
        let Nic { served, crowd, .. } = &self.nics[nic];
        crowd.next_due(*served + 1, core.now())
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
            qps, served, crowd, ..
        } = &self.nics[nic];
        let (turns, now) = (self.turns.as_ref()?, core.now());
        if gathered {
            let due = crowd.due();
            return match crowd.soonest() <= now {
                true => turns.choose(nic, qps, *served, |place| due[place] <= now),
                false => None,
            };
        }
        turns.choose(nic, qps, *served, |place| {
            let qp = &self.qps[qps[place]];
            !qp.is_blocked(paused) && qp.next_avail <= now
        })
    }

    /// When the first of the queue pairs may go, in a NIC that has gathered.
    pub(super) fn soonest_of_crowd(&self, nic: NicId) -> Option<u64> {
        Some(self.nics[nic].crowd.soonest()).filter(|&at| at != NEVER)
    }

    pub(crate) fn verify_turns(&self) {
        if let Some(turns) = &self.turns {
            turns.verify();
        }
    }

    /// What NICs know of their queue pairs is so.
    pub(crate) fn verify_crowds(&self) {
        let gathered = self.nics.numbered().filter(|(_, nic)| nic.crowd.is_known());
        for (id, nic) in gathered {
            assert_eq!(nic.crowd.len(), nic.qps.len(), "NIC {id}: queue pairs");
            for (&slot, &known) in nic.qps.iter().zip(nic.crowd.due()) {
                let is = due(&self.qps[slot]);
                assert_eq!(known, is, "NIC {id}: when queue pair {slot} may go");
            }
            let soonest = nic.crowd.due().iter().copied().min();
            assert_eq!(
                soonest,
                Some(nic.crowd.soonest()),
                "NIC {id}: when the first may go"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::common::{add_flow, assert_complete, natural, scheme, star};
    use crate::run::simulation::Simulation;
    use crate::spec::{FlowControl, Irn, LinkFailure, PfcThreshold, Recovery};
    use paceline_kernel::{Bytes, Span, Time};

    const IRN: Irn = Irn {
        rto_low: Span::from_us(100),
        rto_high: Span::from_us(320),
        low_packets: 3,
        bdp_cap: true,
        reordering: 0,
    };

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
                    if !hosts.gather(world, core, nic) {
                        if hosts.holds_all(nic, paused) {
                            assert_eq!(hosts.choose_of_many(core, nic, paused), None, "{name}");
                            held += 1;
                        }
                        continue;
                    }
                    let found = hosts.choose_of_crowd(core, nic);
                    assert_eq!(found, hosts.choose_of_many(core, nic, 0), "{name}");
                    chosen += u32::from(found.is_some());
                }
            }
            assert!(chosen > 300, "{name}: {chosen}");
            assert_complete(&spec, &simulation.finish());
        }
        assert!(held > 0, "never paused");
    }
}
