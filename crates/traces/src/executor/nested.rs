//! Custom collectives: an executor within an executor.

use std::sync::Arc;

use super::group::Group;
use super::slab::Slab;
use super::trail::Trail;
use super::{Executor, Flight, Rules, Wake};
use crate::collective::CollectiveRules;
use crate::network::{Message, MessageId, Network};
use crate::program::Program;
use paceline_kernel::Time;

/// Network of a custom collective, whose ranks are the members of a group.
pub(super) struct Nested<'a> {
    net: &'a mut (dyn Network + 'a),
    flights: &'a mut Slab<Flight>,
    wakes: &'a mut Slab<Wake>,
    trail: Option<&'a mut Trail>,
    group: &'a Group,
    instance: u32,
    label: u32,
}

impl Network for Nested<'_> {
    fn now(&self) -> Time {
        self.net.now()
    }

    fn wake(&mut self, at: Time, token: u64) {
        let instance = self.instance;
        let token = self.wakes.insert(Wake::Nested { instance, token });
        if let Some(trail) = &mut self.trail {
            let since = trail.since_now();
            trail.asked(token, since);
        }
        self.net.wake(at, u64::from(token));
    }

    fn send(&mut self, message: Message) {
        // The inner executor numbers its own messages, so they get an id of the outer one.
        let id = self.flights.insert(Flight::Nested {
            instance: self.instance,
            id: message.id,
        });
        let message = Message {
            id: MessageId(id),
            from: self.group.members[message.from as usize],
            to: self.group.members[message.to as usize],
            label: self.label,
            ..message
        };
        if let Some(trail) = &mut self.trail {
            trail.sent(&message, 0, false);
        }
        self.net.send(message);
    }
}

impl Executor {
    /// Creates the executor of a custom collective, which executes one chunk after the other.
    pub(super) fn inner(&self, program: Arc<dyn Program>, chunks: u64) -> Self {
        let rules = Rules {
            start: Time::ZERO,
            // Each iteration of the inner program is a chunk.
            repeats: u32::try_from(chunks).unwrap_or(u32::MAX),
            compute_scale: self.rules.compute_scale,
            slow: Vec::new(),
            communication_lane: None,
            point: self.rules.point,
            collectives: CollectiveRules::default(),
            keep: super::Keep::default(),
        };
        Self::new(program, rules)
    }

    /// Returns true if no message or event is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        self.flights.len() == 0 && self.wakes.len() == 0
    }

    /// Calls the executor of a custom collective, and completes the members that have finished.
    pub(super) fn nested<N: Network>(
        &mut self,
        id: u32,
        net: &mut N,
        call: impl FnOnce(&mut Self, &mut Nested<'_>),
    ) {
        let Some(instance) = self.instances.get_mut(id) else {
            return;
        };
        // Taken out of the instance, since the call needs other fields of this executor at the same time.
        let Some(mut inner) = instance.inner.take() else {
            return;
        };
        let mut seen = Nested {
            net,
            flights: &mut self.flights,
            wakes: &mut self.wakes,
            trail: self.trail.as_deref_mut(),
            group: &self.groups[instance.group as usize],
            instance: id,
            label: instance.label,
        };
        call(&mut inner, &mut seen);
        // Members complete only once the inner executor is back in its instance.
        let ended = std::mem::take(&mut inner.ended);
        instance.inner = Some(inner);
        for member in ended {
            self.member_done(id, member, net);
        }
        self.retire(id);
    }
}
