//! State that queue pairs of one port share, if they have the same priority (InfiniBand's service level) and scheme.
//!
//! A scheme announces a change ([`paceline_congestion::Ctx::share`]). The other queue pairs take it over at once, and
//! those that start later find it here.

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

    /// Carries out a scheme's requests other than timers.
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

    /// Passes a change of a group's shared state to the other queue pairs of the group.
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
            // A queue pair that is done may still be in the list.
            let is_another = other != slot && !self.qps[other].done;
            if is_another && self.group_of(world, core, other) == group {
                self.notify_shared(world, core, other, &shared);
            }
        }
    }

    /// Passes the shared state of a group to a queue pair that starts, starts again, or moves to another port.
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
