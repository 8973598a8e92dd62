//! Paths chosen packet by packet, through the entropy values that packets carry: the sender of a flow chooses one, and
//! its receiver answers with the same.

use paceline_congestion::entropy::{Entropy, PathFeedback, PathSelector};
use paceline_kernel::Time;
use paceline_kernel::ids::Id;
use paceline_kernel::rng::Rng;

use crate::core::packet::Packet;
use crate::ids::PortId;
use crate::world::World;
use crate::world::routing::FlowKey;
use paceline_run::spec::FlowSpec;

/// Paths of a flow in one direction, by entropy value.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    key: FlowKey,
    /// Path of packets with a value, in the form that they carry; `UNKNOWN` until it is needed.
    routes: Box<[u64]>,
    /// Host's port at the start of the paths, switch's port at their end, and generation of the topology.
    ports: [PortId; 2],
    epoch: u16,
    /// Choice of values; `None` for a receiver.
    selector: Option<PathSelector>,
}

const UNKNOWN: u64 = u64::MAX;

impl Ways {
    /// Creates the paths of a flow's data, whose sender chooses.
    pub(super) fn choosing(world: &World, flow: &FlowSpec, entropy: &Entropy, rng: &mut Rng) -> Self {
        let selector = Some(entropy.build(rng));
        Self {
            selector,
            ..Self::of(world.key_of(flow), entropy)
        }
    }

    /// Creates the paths of a flow's acknowledgements.
    pub(super) fn answering(world: &World, flow: &FlowSpec, entropy: &Entropy) -> Self {
        Self::of(world.key_of(flow).reversed(), entropy)
    }

    fn of(key: FlowKey, entropy: &Entropy) -> Self {
        Self {
            key,
            routes: vec![UNKNOWN; entropy.values as usize].into(),
            ports: [PortId::NONE; 2],
            epoch: 0,
            selector: None,
        }
    }

    /// Returns the value of the next packet.
    #[inline]
    pub(super) fn choose(&mut self, rng: &mut Rng) -> u16 {
        self.selector.as_mut().map_or(0, |selector| selector.next(rng))
    }

    /// Passes the feedback of an acknowledgement to the selector.
    #[inline(never)]
    pub(super) fn judge(&mut self, now: u64, answer: &Packet) {
        // The link to the receiver is part of all paths: a trim before it says nothing about this path, only a mark
        // does.
        let feedback = if answer.is_trimmed() && answer.flags & Packet::AT_LAST_HOP == 0 {
            PathFeedback::Trimmed
        } else if answer.mark.is_set() {
            PathFeedback::Marked
        } else {
            PathFeedback::Good
        };
        self.on_feedback(now, answer.pint, feedback);
    }

    /// Passes the fate of a packet to the selector.
    #[inline]
    pub(super) fn on_feedback(&mut self, now: u64, entropy: u16, feedback: PathFeedback) {
        if let Some(selector) = &mut self.selector {
            selector.on_feedback(Time::from_ps(now), entropy, feedback);
        }
    }

    /// Returns the path between these ports for a value, in the form that packets carry, and its generation; `None` if
    /// there is no path.
    #[inline]
    pub(super) fn route(&mut self, world: &World, ports: [PortId; 2], entropy: u16) -> Option<(u64, u16)> {
        if ports[1] == PortId::NONE {
            return None;
        }
        // Paths of another port or topology lead elsewhere.
        if self.ports != ports || self.epoch != world.epoch {
            self.routes.fill(UNKNOWN);
            (self.ports, self.epoch) = (ports, world.epoch);
        }
        let index = usize::from(entropy) & (self.routes.len() - 1);
        match self.routes[index] {
            UNKNOWN => self.find(world, index),
            route => Some((route, self.epoch)),
        }
    }

    #[cold]
    fn find(&mut self, world: &World, index: usize) -> Option<(u64, u16)> {
        let key = self.key.with_entropy(index as u16);
        let (route, epoch) = world.way_between(self.ports, key)?;
        if epoch == self.epoch {
            self.routes[index] = route;
        }
        Some((route, epoch))
    }
}
