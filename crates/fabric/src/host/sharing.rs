//! What queue pairs of one port have in common: those of one priority (InfiniBand's service level) and scheme.
//!
//! A scheme says so when it has changed ([`paceline_congestion::Ctx::share`]): the others take it over at once, and those
//! that begin later find it here.

use paceline_congestion::{Requests, Shared};

use crate::core::Core;
use crate::host::Hosts;
use crate::host::qp::Group;
use crate::ids::QpId;
use crate::world::World;

impl Hosts {
    fn group_of(&self, world: &World, core: &Core, slot: QpId) -> Group {
        let qp = &self.qps[slot];
        let flow = world.flow(core, qp.flow);
        (qp.port, flow.class, flow.scheme)
    }

    /// What a scheme has asked for alongside timers.
    #[cold]
    #[inline(never)]
    pub(super) fn grant(&mut self, world: &World, core: &mut Core, slot: QpId, asked: Requests) {
        if asked.decision() {
            self.decide(core, slot);
        }
        if asked.count() {
            self.count_trigger();
        }
        if asked.share() {
            self.share(world, core, slot);
        }
    }

    /// What a queue pair has in common with others has changed: these learn of it.
    fn share(&mut self, world: &World, core: &mut Core, slot: QpId) {
        let group = self.group_of(world, core, slot);
        let Some(shared) = self.qps[slot].scheme.shared() else {
            return;
        };
        self.shared.insert(group, shared);
        let nic = core.ports[group.0].nic();
        for place in 0..self.scheduler.places(nic) {
            let Some(other) = self.scheduler.at(nic, place) else {
                continue;
            };
            let is_another = other != slot && !self.qps[other].done;
            if is_another && self.group_of(world, core, other) == group {
                self.notify_shared(world, core, other, &shared);
            }
        }
    }

    /// A queue pair begins, begins again, or goes by another port: it has in common with others there what these have.
    pub(crate) fn join_group(&mut self, world: &World, core: &mut Core, slot: QpId) {
        if self.shared.is_empty() {
            return;
        }
        let group = self.group_of(world, core, slot);
        if let Some(&shared) = self.shared.get(&group) {
            self.notify_shared(world, core, slot, &shared);
        }
    }

    fn notify_shared(&mut self, world: &World, core: &mut Core, slot: QpId, shared: &Shared) {
        if core.watch.is_traced() {
            core.settle(&self.qps[slot]);
        }
        self.call_scheme(world, core, slot, |scheme, cx| scheme.on_shared(cx, shared));
    }
}
