//! Rings of a group, and nested rings.

use crate::program::CollectiveKind;

/// Steps in rings whose neighbours have the same distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    /// Number of members in each ring.
    pub(super) size: u32,
    /// Distance between neighbours in the member order.
    pub(super) stride: u32,
    pub(super) steps: u64,
    pub(super) bytes: u64,
    pub(super) reduces: bool,
}

/// Returns the phase of a step.
pub(super) fn phase(phases: &[Phase], mut step: u64) -> Option<&Phase> {
    for phase in phases {
        if step < phase.steps {
            return Some(phase);
        }
        step -= phase.steps;
    }
    None
}

/// Returns the next member in a ring. Channels are rotated within each server.
pub(super) fn ring_next(phase: &Phase, per_server: u32, channel: u32, member: u32) -> u32 {
    if per_server > 1 {
        let (server, local) = (member / per_server, member % per_server);
        let index = (local + per_server - channel % per_server) % per_server;
        let (server, index) = if index + 1 < per_server {
            (server, index + 1)
        } else {
            ((server + 1) % (phase.size / per_server).max(1), 0)
        };
        return server * per_server + (index + channel) % per_server;
    }
    let index = member / phase.stride % phase.size;
    let next = if index + 1 < phase.size { index + 1 } else { 0 };
    member - index * phase.stride + next * phase.stride
}

/// Rings over several servers, in which the last member of each server sends by way of the first. Each ring has a channel
/// of its own for these members, with a number beyond those of all rings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relays {
    /// Number of rings, which is that of a server's members.
    pub(super) per_server: u32,
    pub(super) servers: u32,
}

impl Relays {
    /// Returns the ring whose relays a channel carries; `None` for the channel of a ring.
    pub(super) fn ring(self, channel: u32) -> Option<u32> {
        channel.checked_sub(self.per_server)
    }

    /// Returns true if the member is its server's first in a ring, to which the one before it in the ring sends.
    pub(super) fn is_first(self, ring: u32, member: u32) -> bool {
        member % self.per_server == ring
    }

    /// Returns true if the member is its server's last in a ring.
    pub(super) fn is_last(self, ring: u32, member: u32) -> bool {
        (member + 1) % self.per_server == ring
    }

    /// Returns the first member of a member's server in a ring.
    pub(super) fn first(self, ring: u32, member: u32) -> u32 {
        member / self.per_server * self.per_server + ring
    }

    /// Returns the first member of the server behind a member's in a ring.
    pub(super) fn next(self, ring: u32, member: u32) -> u32 {
        (member / self.per_server + 1) % self.servers * self.per_server + ring
    }
}

/// Returns the phases of nested rings: data shrinks from the inner to the outer rings by reduction, and is gathered
/// in the opposite direction.
pub(super) fn nested(kind: CollectiveKind, sizes: &[u32], chunk: u64, part: u64) -> Vec<Phase> {
    let mut down = Vec::new();
    let mut stride = 1;
    for &size in sizes {
        down.push((size, stride));
        stride *= size;
    }
    let phase = |size: u32, stride: u32, bytes: u64, reduces: bool| Phase {
        size,
        stride,
        steps: u64::from(size) - 1,
        bytes: bytes.max(1),
        reduces,
    };
    let reduced =
        |&(size, stride): &(u32, u32)| phase(size, stride, chunk / u64::from(stride) / u64::from(size), true);
    let mut phases = Vec::new();
    match kind {
        CollectiveKind::AllGather => {
            // From the outer to the inner rings, a member's data grows with each phase.
            let mut bytes = part;
            for &(size, stride) in down.iter().rev() {
                phases.push(phase(size, stride, bytes, false));
                bytes = bytes.saturating_mul(u64::from(size));
            }
        }
        CollectiveKind::ReduceScatter => phases.extend(down.iter().map(reduced)),
        _ => {
            phases.extend(down.iter().map(reduced));
            phases.extend(down.iter().rev().map(|ring| Phase {
                reduces: false,
                ..reduced(ring)
            }));
        }
    }
    // A ring of one member has no steps.
    phases.retain(|p| p.size > 1);
    phases
}
