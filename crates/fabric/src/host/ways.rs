//! Paths that are chosen packet by packet, by the entropy values that packets carry: the sender of a flow chooses one, and
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

/// A flow's paths in one direction, by entropy value.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    key: FlowKey,
    /// What packets with a value carry of their path; `UNKNOWN` until it is asked for.
    routes: Box<[u64]>,
    /// The port of the host where they begin, that of the switch where they end, and the generation of the topology.
    ports: [PortId; 2],
    epoch: u16,
    /// Of a sender.
    selector: Option<PathSelector>,
}

const UNKNOWN: u64 = u64::MAX;

impl Ways {
    /// Of the data of a flow whose sender chooses.
    pub(super) fn choosing(world: &World, flow: &FlowSpec, entropy: &Entropy, rng: &mut Rng) -> Self {
        let selector = Some(entropy.build(rng));
        Self {
            selector,
            ..Self::of(world.key_of(flow), entropy)
        }
    }

    /// Of the acknowledgements of a flow.
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

    /// The value of the next packet.
    #[inline]
    pub(super) fn choose(&mut self, rng: &mut Rng) -> u16 {
        self.selector.as_mut().map_or(0, |selector| selector.next(rng))
    }

    /// A packet is answered.
    #[inline(never)]
    pub(super) fn judge(&mut self, now: u64, answer: &Packet) {
        // The link to the receiver is part of all paths: what was trimmed before it says nothing of this one but its mark.
        let feedback = if answer.is_trimmed() && answer.flags & Packet::AT_LAST_HOP == 0 {
            PathFeedback::Trimmed
        } else if answer.mark.is_set() {
            PathFeedback::Marked
        } else {
            PathFeedback::Good
        };
        self.on_feedback(now, answer.pint, feedback);
    }

    /// What became of a packet.
    #[inline]
    pub(super) fn on_feedback(&mut self, now: u64, entropy: u16, feedback: PathFeedback) {
        if let Some(selector) = &mut self.selector {
            selector.on_feedback(Time::from_ps(now), entropy, feedback);
        }
    }

    /// What a packet with this value carries between these ports, and the generation that goes with it; `None` where there is
    /// no path.
    #[inline]
    pub(super) fn route(&mut self, world: &World, ports: [PortId; 2], entropy: u16) -> Option<(u64, u16)> {
        if ports[1] == PortId::NONE {
            return None;
        }
        if self.ports != ports || self.epoch != world.epoch {
            self.routes.fill(UNKNOWN);
            (self.ports, self.epoch) = (ports, world.epoch);
        }
        let place = usize::from(entropy) & (self.routes.len() - 1);
        match self.routes[place] {
            UNKNOWN => self.find(world, place),
            route => Some((route, self.epoch)),
        }
    }

    #[cold]
    fn find(&mut self, world: &World, place: usize) -> Option<(u64, u16)> {
        let key = self.key.with_entropy(place as u16);
        let (route, epoch) = world.way_between(self.ports, key)?;
        if epoch == self.epoch {
            self.routes[place] = route;
        }
        Some((route, epoch))
    }
}
