//! State that queue pairs of one port share, if they have the same priority (InfiniBand's service level) and scheme.
//!
//! A scheme announces a change ([`paceline_congestion::Ctx::share`]). The other queue pairs take it over at once, and
//! those that start later find it here.

use paceline_congestion::{Requests, Shared};

use crate::core::cx::Cx;
use crate::host::Hosts;
use crate::host::qp::Group;
use crate::ids::QpId;

impl Hosts {
    fn group_of(&self, cx: &Cx<'_>, slot: QpId) -> Group {
        let qp = &self.qps[slot];
        let flow = cx.world.flow(cx.core, qp.flow);
        (qp.data.port, flow.class, flow.scheme)
    }

    /// Carries out a scheme's requests other than timers.
    #[cold]
    #[inline(never)]
    pub(super) fn grant(&mut self, cx: &mut Cx<'_>, slot: QpId, asked: Requests) {
        if asked.decision() {
            self.decide(cx.core, slot);
        }
        if asked.count() {
            self.count_trigger();
        }
        if asked.share() {
            self.share(cx, slot);
        }
    }

    /// Passes a change of a group's shared state to the other queue pairs of the group.
    fn share(&mut self, cx: &mut Cx<'_>, slot: QpId) {
        let group = self.group_of(cx, slot);
        let Some(shared) = self.qps[slot].scheme.shared() else {
            return;
        };
        self.shared.insert(group, shared);
        let nic = cx.core.ports[group.0].nic();
        for index in 0..self.scheduler.indices(nic) {
            let Some(other) = self.scheduler.at(nic, index) else {
                continue;
            };
            // A queue pair that is done may still be in the list.
            let is_another = other != slot && !self.qps[other].done;
            if is_another && self.group_of(cx, other) == group {
                self.notify_shared(cx, other, &shared);
            }
        }
    }

    /// Passes the shared state of a group to a queue pair that starts, starts again, or moves to another port.
    pub(crate) fn join_group(&mut self, cx: &mut Cx<'_>, slot: QpId) {
        if self.shared.is_empty() {
            return;
        }
        let group = self.group_of(cx, slot);
        if let Some(&shared) = self.shared.get(&group) {
            self.notify_shared(cx, slot, &shared);
        }
    }

    fn notify_shared(&mut self, cx: &mut Cx<'_>, slot: QpId, shared: &Shared) {
        if cx.core.watch.is_traced() {
            cx.core.settle(&self.qps[slot]);
        }
        self.call_scheme(cx, slot, |scheme, ctx| scheme.on_shared(ctx, shared));
    }
}
