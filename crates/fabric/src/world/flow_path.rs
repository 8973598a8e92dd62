//! What of a flow is the same for its whole life, or from one change of topology to the next: all that
//! receivers and switches know of it.

use paceline_congestion::Needs;
use paceline_kernel::Span;

use crate::core::packet::{NONE, Packet};
use crate::outcome::PacketKind;
use crate::world::World;

/// A flow as others than its sender know it, by its queue pair's slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPath {
    pub(crate) flow: u32,
    pub(crate) size: u64,
    /// The way of its ACKs, and the generation of that: an older one than the
    /// network's where there is no path any more.
    pub(crate) ack_route: u64,
    pub(crate) ack_epoch: u16,
    /// Port by which its receiver answers.
    pub(crate) ack_port: u32,
    pub(crate) ack_wire: u16,
    /// Dense class of its ACKs in switches.
    pub(crate) ack_class: u8,
    /// Whether its ACKs say which way the data has come.
    pub(crate) tells_way: bool,
    /// Whether its receiver reports: see [`Needs::reports`].
    pub(crate) reports: bool,
    /// Place of its scheme in the run's list.
    pub(crate) scheme: u16,
    /// The shortest time between two congestion notifications of its receiver; zero for none.
    pub(crate) cnp_interval: Span,
    /// Distinguishes flows that used the same slot one after another.
    pub(crate) life: u16,
}

const _: () = assert!(size_of::<FlowPath>() <= 64, "a cache line");

impl FlowPath {
    /// Of a queue pair that no flow has.
    pub(crate) const NONE: Self = Self {
        flow: NONE,
        size: 0,
        ack_route: 0,
        ack_epoch: 0,
        ack_port: NONE,
        ack_wire: 0,
        ack_class: 0,
        tells_way: false,
        reports: false,
        scheme: 0,
        cnp_interval: Span::ZERO,
        life: 0,
    };
}

impl FlowPath {
    /// Whether its receiver sends packets of its own: notifications or reports.
    #[inline]
    pub(crate) fn is_told(&self) -> bool {
        self.cnp_interval > Span::ZERO || self.reports
    }

    /// A packet of the receiver's own to the sender, about what set out at `sent_at`.
    pub(crate) fn control_packet(&self, world: &World, slot: u32, sent_at: u64) -> Packet {
        Packet {
            kind: PacketKind::Cnp,
            flow: self.flow,
            qp: slot,
            sent_at,
            wire: world.spec.packet.cnp.get() as u16,
            path: self.ack_route,
            epoch: self.ack_epoch,
            class: self.ack_class,
            ..Packet::EMPTY
        }
    }
}

impl World {
    /// A flow has begun, or has found a new way.
    pub(crate) fn write_flow_path(&mut self, slot: u32, path: FlowPath) {
        let slot = slot as usize;
        if self.flow_paths.len() <= slot {
            self.flow_paths.resize(slot + 1, FlowPath::NONE);
        }
        self.flow_paths[slot] = path;
    }

    /// What the scheme of a flow asks of its receiver and of switches.
    pub(crate) fn needs_of(&self, path: &FlowPath) -> Needs {
        self.spec.schemes[usize::from(path.scheme)].config.needs()
    }
}
