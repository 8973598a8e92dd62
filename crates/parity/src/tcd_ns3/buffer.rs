//! Accounts of a switch's buffer, as the simulator counts: from a packet's arrival to the start of its transmission.

use paceline_fabric::model::{PortId, Ports, SwitchId, debit};
use paceline_fabric::spec::{NodeKind, RunSpec};
use paceline_kernel::ids::List;

/// The simulator's cell, bytes: a full packet of an older version.
pub(super) const CELL: u32 = 1030;
/// Ingress bytes of a pool above which packets count as headroom.
pub(super) const POOL: u32 = 4 * 4000 * CELL;
/// Bytes guaranteed to an ingress class, and to a port.
pub(super) const GUARANTEED: u32 = 2 * CELL;
/// Headroom of an ingress class, bytes.
const HEADROOM: u32 = 100 * CELL;
/// Reserved part of an egress queue, bytes.
const RESERVED: u32 = CELL;

/// Buffer accounts of one switch, bytes.
#[derive(Clone, Debug, Default)]
struct Memory {
    total: u32,
    /// Ingress bytes of data, and of acknowledgements.
    pools: [u32; 2],
}

/// Buffer accounts of all switches.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    size: u32,
    switches: List<SwitchId, Memory>,
    /// Ingress bytes by port.
    ports: List<PortId, u32>,
}

/// Accounts of an ingress class, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ingress {
    pub(super) bytes: u32,
    headroom: u32,
    /// True while the other end is asked to pause.
    pub(super) asked: bool,
}

/// Accounts of an egress queue, bytes: the reserved part (`own`) and the shared part. `own` wraps as in the
/// simulator, so that a queue that was long keeps up to a cell in `shared` when it is empty.
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

    /// Adds an arriving packet.
    pub(super) fn add(&mut self, bytes: u32) {
        if self.own.wrapping_add(bytes) < RESERVED {
            self.own = self.own.wrapping_add(bytes);
            return;
        }
        self.shared += bytes;
        self.level();
    }

    /// Removes a departing packet.
    pub(super) fn remove(&mut self, bytes: u32) {
        if self.shared >= bytes {
            self.shared -= bytes;
            return;
        }
        self.own = self.own.wrapping_sub(bytes);
        self.level();
    }

    /// Moves bytes from the shared part to the reserved part, which packets of other sizes leave partly unused.
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

    /// Returns the ingress bytes of a pool.
    pub(super) fn pool(&self, switch: SwitchId, is_ack: bool) -> u32 {
        self.switches[switch].pools[usize::from(is_ack)]
    }

    /// Returns the ingress bytes of a port.
    pub(super) fn of_port(&self, port: PortId) -> u32 {
        self.ports[port]
    }

    /// Admits a packet and returns true, or returns false if there is no room.
    pub(super) fn admit(
        &mut self,
        switch: SwitchId,
        port: PortId,
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

    /// Returns a packet's bytes to the buffer.
    pub(super) fn release(
        &mut self,
        switch: SwitchId,
        port: PortId,
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

    /// The first packet is reserved, the second is shared; from the third on, the queue's reserved part is a whole
    /// cell.
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
