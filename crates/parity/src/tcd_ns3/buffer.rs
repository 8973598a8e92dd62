//! What a switch's memory holds, and for whom: as that program counts, from a packet's arrival to the start of its
//! transmission.

use paceline_fabric::model::{PortId, Ports, SwitchId, debit};
use paceline_fabric::spec::{NodeKind, RunSpec};
use paceline_kernel::ids::List;

/// What that program calls a cell: a full packet of an older version.
pub(super) const CELL: u32 = 1030;
/// Ingress bytes of a pool from which on packets are counted as headroom.
pub(super) const POOL: u32 = 4 * 4000 * CELL;
/// Bytes that an ingress class, and a port, has for itself.
pub(super) const GUARANTEED: u32 = 2 * CELL;
/// Headroom of an ingress class.
const HEADROOM: u32 = 100 * CELL;
/// Bytes of a queue that are its own.
const RESERVED: u32 = CELL;

/// A switch's accounts.
#[derive(Clone, Debug, Default)]
struct Memory {
    total: u32,
    /// Of ingress, data and (by its class) acknowledgements apart.
    pools: [u32; 2],
}

/// The accounts of all switches.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    size: u32,
    switches: List<SwitchId, Memory>,
    /// Bytes that came in through each port.
    ports: List<PortId, u32>,
}

/// An ingress class's accounts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ingress {
    pub(super) bytes: u32,
    headroom: u32,
    /// Whether the other end has been asked for a pause.
    pub(super) asked: bool,
}

/// A queue's accounts: the part that is its own, and what it shares. The former wraps, as there: a queue that has been
/// long keeps up to a cell in `shared` once it is empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occupancy {
    own: u32,
    pub(super) shared: u32,
}

impl Ingress {
    pub(super) const NONE: Self = Self {
        bytes: 0,
        headroom: 0,
        asked: false,
    };
}

impl Occupancy {
    pub(super) const NONE: Self = Self { own: 0, shared: 0 };

    /// A packet comes.
    pub(super) fn add(&mut self, bytes: u32) {
        if self.own.wrapping_add(bytes) < RESERVED {
            self.own = self.own.wrapping_add(bytes);
            return;
        }
        self.shared += bytes;
        self.level();
    }

    /// A packet goes.
    pub(super) fn remove(&mut self, bytes: u32) {
        if self.shared >= bytes {
            self.shared -= bytes;
            return;
        }
        self.own = self.own.wrapping_sub(bytes);
        self.level();
    }

    /// Packets of other sizes leave room in what is the queue's own.
    fn level(&mut self) {
        if self.own < RESERVED && self.shared > RESERVED {
            self.shared -= RESERVED - self.own;
            self.own = RESERVED;
        }
    }
}

impl Buffers {
    pub(super) fn new(spec: &RunSpec, ports: &Ports) -> Self {
        let switches = spec
            .nodes
            .iter()
            .filter(|kind| **kind == NodeKind::Switch)
            .count();
        Self {
            size: u32::try_from(spec.switch.buffer.get()).unwrap_or(u32::MAX),
            switches: List::of(switches, Memory::default()),
            ports: List::of(ports.len(), 0),
        }
    }

    /// Bytes of a class's pool.
    pub(super) fn pool(&self, switch: SwitchId, is_ack: bool) -> u32 {
        self.switches[switch].pools[usize::from(is_ack)]
    }

    /// Bytes that came in through a port.
    pub(super) fn of_port(&self, port: PortId) -> u32 {
        self.ports[port]
    }

    /// Takes a packet in, if there is room.
    pub(super) fn admit(
        &mut self,
        (switch, port): (SwitchId, PortId),
        ingress: &mut Ingress,
        is_ack: bool,
        bytes: u32,
    ) -> bool {
        let memory = &mut self.switches[switch];
        let pool = &mut memory.pools[usize::from(is_ack)];
        let guaranteed = ingress.bytes + bytes <= GUARANTEED || self.ports[port] + bytes <= GUARANTEED;
        let has_room = guaranteed || *pool <= POOL || ingress.headroom + bytes <= HEADROOM;
        if u64::from(memory.total) + u64::from(bytes) > u64::from(self.size) || !has_room {
            return false;
        }
        memory.total += bytes;
        *pool += bytes;
        self.ports[port] += bytes;
        ingress.bytes += bytes;
        if *pool > POOL {
            ingress.headroom += bytes;
        }
        true
    }

    /// Lets go of a packet.
    pub(super) fn release(
        &mut self,
        (switch, port): (SwitchId, PortId),
        ingress: &mut Ingress,
        is_ack: bool,
        bytes: u32,
    ) {
        let memory = &mut self.switches[switch];
        debit(&mut memory.total, bytes);
        debit(&mut memory.pools[usize::from(is_ack)], bytes);
        debit(&mut self.ports[port], bytes);
        debit(&mut ingress.bytes, bytes);
        ingress.headroom = ingress.headroom.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One packet is the queue's own, the second is shared, from the third on the queue has a whole cell of its own.
    #[test]
    fn full_packets_in_a_queue() {
        let mut queue = Occupancy::NONE;
        let mut shared = Vec::new();
        for _ in 0..4 {
            queue.add(1020);
            shared.push(queue.shared);
        }
        assert_eq!(shared, [0, 1020, 2030, 3050]);
        shared.clear();
        for _ in 0..4 {
            queue.remove(1020);
            shared.push(queue.shared);
        }
        assert_eq!(shared, [2030, 1010, 1010, 1010]);
        queue.add(1020);
        assert_eq!((queue.own, queue.shared), (10, 1010));
    }
}
