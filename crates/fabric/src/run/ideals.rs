//! Ideal completion times that were found before: of many small messages most are alike.

use paceline_kernel::Span;
use paceline_kernel::ids::Id as _;

use crate::ids::{PortId, ProfileId};
use crate::world::World;

/// Links of both paths of a flow whose time is kept.
const LINKS: usize = 16;
/// Times that are kept, a power of two.
const KEPT: usize = 256;

/// All that the ideal time of a flow on one path depends on, in a given run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    size: u64,
    forward: u8,
    /// Links of the path, then those of the way back; none behind them.
    links: [ProfileId; LINKS],
}

/// The times of some flows, each at the index of its key's hash.
#[derive(Clone, Debug, Default)]
pub(super) struct Ideals(Vec<Option<(Key, Span)>>);

impl Key {
    /// Returns the key of a flow, unless its paths are too long.
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
    /// Returns the time of a flow with this key.
    pub(super) fn get(&self, key: &Key) -> Option<Span> {
        let (kept, ideal) = self.0.get(key.index())?.as_ref()?;
        (kept == key).then_some(*ideal)
    }

    /// Keeps a time, in place of another's.
    pub(super) fn keep(&mut self, key: Key, ideal: Span) {
        if self.0.is_empty() {
            self.0.resize(KEPT, None);
        }
        self.0[key.index()] = Some((key, ideal));
    }
}
