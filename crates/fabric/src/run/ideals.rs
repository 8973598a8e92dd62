//! A cache of ideal completion times, since most of many small messages have the same size and kind of path.

use paceline_kernel::Span;
use paceline_kernel::ids::Id as _;

use crate::ids::{PortId, ProfileId};
use crate::world::World;

/// The most links that the two paths of a flow may have together for its time to be cached.
const LINKS: usize = 16;
/// The number of times that the cache holds, a power of two.
const KEPT: usize = 256;

/// Everything in a given run that the ideal time of a flow depends on, if all its packets take one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    size: u64,
    forward: u8,
    /// The profiles of the links of the path, then of the path back, then [`ProfileId::NONE`] up to the end.
    links: [ProfileId; LINKS],
}

/// The cached times, each at the index that the hash of its key gives.
#[derive(Clone, Debug, Default)]
pub(super) struct Ideals(Vec<Option<(Key, Span)>>);

impl Key {
    /// Returns the key of a flow, or `None` if its two paths have more than [`LINKS`] links together.
    pub(super) fn of(world: &World, size: u64, forward: &[PortId], back: &[PortId]) -> Option<Self> {
        let mut links = [ProfileId::NONE; LINKS];
        let (there, rest) = links.split_at_mut_checked(forward.len())?;
        let (here, _) = rest.split_at_mut_checked(back.len())?;
        let ports = forward.iter().chain(back);
        for (link, &port) in there.iter_mut().chain(here).zip(ports) {
            *link = world.routing.end(port).profile;
        }
        Some(Self {
            size,
            forward: forward.len() as u8,
            links,
        })
    }

    fn index(&self) -> usize {
        let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let hash = self
            .links
            .iter()
            .fold(mix(u64::from(self.forward), self.size), |hash, link| {
                mix(hash, u64::from(link.0))
            });
        hash as usize % KEPT
    }
}

impl Ideals {
    /// Returns the time of a flow with this key, if it is cached.
    pub(super) fn get(&self, key: &Key) -> Option<Span> {
        let (kept, ideal) = self.0.get(key.index())?.as_ref()?;
        // Two keys may share an index, and the time of the other flow would be wrong for this one.
        (kept == key).then_some(*ideal)
    }

    /// Caches a time and discards the one at its index, if any.
    pub(super) fn keep(&mut self, key: Key, ideal: Span) {
        if self.0.is_empty() {
            self.0.resize(KEPT, None);
        }
        self.0[key.index()] = Some((key, ideal));
    }
}
