//! Paths chosen packet by packet, through the entropy values that packets carry: the sender of a flow chooses one, and
//! its receiver answers with the same. In a network of several planes, the lowest bits of a value are its plane.

use paceline_congestion::entropy::{Entropy, PathFeedback, PathSelector};
use paceline_kernel::Time;
use paceline_kernel::ids::Id;
use paceline_kernel::rng::Rng;

use crate::core::packet::Packet;
use crate::ids::PortId;
use crate::world::World;
use crate::world::routing::FlowKey;
use paceline_run::spec::{FlowSpec, NodeId};

/// Paths of a flow in one direction, by entropy value.
#[derive(Clone, Debug)]
pub(super) struct Ways {
    key: FlowKey,
    first: Plane,
    others: Box<[Plane]>,
    /// True if the event of the next probe is pending.
    probes: bool,
}

/// Paths within a plane.
#[derive(Clone, Debug)]
struct Plane {
    /// Path of packets with a value, in the form that they carry; `UNKNOWN` until it is needed.
    routes: Box<[u64]>,
    /// Host's port at the start of the paths, switch's port at their end, and generation of the topology.
    ports: [PortId; 2],
    epoch: u16,
    /// True if the plane is known to have no path.
    is_cut: bool,
    /// Choice of values; `None` for a receiver.
    selector: Option<PathSelector>,
}

const UNKNOWN: u64 = u64::MAX;

impl Plane {
    /// Forgets the paths if they are those of other ports or of another topology. Returns true if so.
    #[inline]
    fn refresh(&mut self, ports: [PortId; 2], epoch: u16) -> bool {
        let is_old = self.ports != ports || self.epoch != epoch;
        if is_old {
            self.routes.fill(UNKNOWN);
            (self.ports, self.epoch) = (ports, epoch);
        }
        is_old
    }
}

impl Ways {
    /// Creates the paths of a flow's data, whose sender chooses.
    pub(super) fn choosing(world: &World, flow: &FlowSpec, entropy: &Entropy, rng: &mut Rng) -> Self {
        let planes = u32::from(world.nic.planes);
        let (hosts, key) = ([flow.src, flow.dst], world.key_of(flow));
        Self::of(world, hosts, key, entropy, || Some(entropy.build(planes, rng)))
    }

    /// Creates the paths of a flow's acknowledgements.
    pub(super) fn answering(world: &World, flow: &FlowSpec, entropy: &Entropy) -> Self {
        let (hosts, key) = ([flow.dst, flow.src], world.key_of(flow).reversed());
        Self::of(world, hosts, key, entropy, || None)
    }

    fn of(
        world: &World,
        [src, dst]: [NodeId; 2],
        key: FlowKey,
        entropy: &Entropy,
        mut selector: impl FnMut() -> Option<PathSelector>,
    ) -> Self {
        let planes = usize::from(world.nic.planes);
        let mut plane = |number: usize| {
            let values = (entropy.values as usize / planes).max(1);
            Plane {
                routes: vec![UNKNOWN; values].into(),
                ports: match planes {
                    1 => [PortId::NONE; 2],
                    _ => world.routing.ends_in_plane(src, dst, number),
                },
                epoch: world.old_epoch(),
                is_cut: false,
                selector: selector(),
            }
        };
        Self {
            key,
            first: plane(0),
            others: (1..planes).map(plane).collect(),
            probes: false,
        }
    }

    fn planes(&self) -> usize {
        1 + self.others.len()
    }

    #[inline]
    fn plane(&mut self, plane: usize) -> &mut Plane {
        match plane.checked_sub(1) {
            None => &mut self.first,
            Some(index) => &mut self.others[index],
        }
    }

    /// Splits a value into its plane and its value there.
    #[inline]
    fn split(&self, entropy: u16) -> (usize, u16) {
        let planes = self.planes() as u16;
        (usize::from(entropy % planes), entropy / planes)
    }

    /// Returns the value of the next packet in a plane.
    #[inline]
    pub(super) fn choose(&mut self, plane: usize, rng: &mut Rng) -> u16 {
        let planes = self.planes() as u16;
        let Plane { selector, routes, .. } = self.plane(plane);
        let value = selector.as_mut().map_or(0, |selector| selector.next(rng));
        match planes {
            1 => value,
            // Only as many bits as the plane has paths leave room for its number.
            _ => (value & (routes.len() - 1) as u16) * planes + plane as u16,
        }
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
        let (plane, value) = self.split(entropy);
        if let Some(selector) = &mut self.plane(plane).selector {
            selector.on_feedback(Time::from_ps(now), value, feedback);
        }
    }

    /// Returns the ends of the paths of a plane, if there are several; otherwise the flow's own.
    #[inline]
    fn ends(&mut self, ports: [PortId; 2], plane: usize) -> [PortId; 2] {
        match self.others.is_empty() {
            true => ports,
            false => self.plane(plane).ports,
        }
    }

    /// Returns true if a plane has a path, and a value that is not assumed to be bad.
    pub(super) fn can_use(&mut self, world: &World, ports: [PortId; 2], plane: usize) -> bool {
        let (key, ends) = (self.key, self.ends(ports, plane));
        let of = self.plane(plane);
        if of.refresh(ends, world.epoch) {
            of.is_cut = world.way_between(ends, key.with_entropy(plane as u16)).is_none();
        }
        !of.is_cut && of.selector.as_ref().is_none_or(PathSelector::has_values)
    }

    /// Returns the path for a value, in the form that packets carry, and its generation; `None` if there is no path.
    /// `ports` are the ends of the flow's path.
    #[inline]
    pub(super) fn route(&mut self, world: &World, ports: [PortId; 2], entropy: u16) -> Option<(u64, u16)> {
        if ports[1] == PortId::NONE {
            return None;
        }
        let (plane, value) = self.split(entropy);
        let ends = self.ends(ports, plane);
        let of = self.plane(plane);
        of.refresh(ends, world.epoch);
        let index = usize::from(value) & (of.routes.len() - 1);
        match of.routes[index] {
            UNKNOWN => self.find(world, plane, index),
            route => Some((route, of.epoch)),
        }
    }

    /// Returns the host's port to the plane of a value, whose path was looked up.
    pub(super) fn port_of(&mut self, entropy: u16) -> PortId {
        let (plane, _) = self.split(entropy);
        self.plane(plane).ports[0]
    }

    #[cold]
    fn find(&mut self, world: &World, plane: usize, index: usize) -> Option<(u64, u16)> {
        let value = index * self.planes() + plane;
        let key = self.key.with_entropy(value as u16);
        let of = self.plane(plane);
        let (route, epoch) = world.way_between(of.ports, key)?;
        if epoch == of.epoch {
            of.routes[index] = route;
        }
        Some((route, epoch))
    }

    /// Returns the time of the next probe, unless its event is pending.
    pub(super) fn next_probe(&mut self) -> Option<Time> {
        if self.probes {
            return None;
        }
        let planes = std::iter::once(&self.first).chain(&self.others);
        let of_plane = |plane: &Plane| plane.selector.as_ref()?.next_probe();
        let next = planes.filter_map(of_plane).min();
        self.probes = next.is_some();
        next
    }

    /// Returns all values to be probed now, in an event of [`Self::next_probe`].
    pub(super) fn probes(&mut self, now: u64) -> Vec<u16> {
        self.probes = false;
        let (now, planes) = (Time::from_ps(now), self.planes());
        let mut all = Vec::new();
        for plane in 0..planes {
            if let Some(selector) = &mut self.plane(plane).selector {
                let due = std::iter::from_fn(|| selector.probe(now));
                all.extend(due.map(|value| value * planes as u16 + plane as u16));
            }
        }
        all
    }
}
