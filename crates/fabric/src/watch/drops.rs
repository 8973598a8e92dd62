//! Recorder of single dropped packets.

use super::probe::{Probe, Sight, View};
use crate::core::lost::Lost;
use crate::ids::{FlowId, PortId};
use paceline_kernel::ids::Id;
use paceline_run::outcome::{PacketKind, PortRef};
use paceline_run::recorded;
use paceline_run::table::Table;

recorded! {
    /// a packet that was lost, in order of time
    pub struct LostPacket = "drops", needs "record.drops" {
        /// when
        time_ps: u64,
        /// the port: of a full buffer or an emptied queue the egress port, otherwise the one that it came in by
        port: PortRef,
        /// why: `buffer` (no room, or a scheme's half in the switch), `watchdog` (a PFC storm), `link` (an error or a failure),
        /// `route` (none leads on)
        why: Lost,
        /// its flow; nothing for link control
        flow_id: Option<u32>,
        /// `data`, `ack`, `nack`, `cnp`, `signal`, `grant`, `pause`, `resume` or `credit`
        packet: PacketKind,
        /// first payload byte of a data packet
        seq: u64,
        /// size on the wire
        wire_bytes: u32,
        /// priority class, 0 for what nothing holds back
        class: u8,
        /// bytes that wait at the port
        queued_bytes: u32,
    }
}

/// Recorder of dropped packets.
#[derive(Clone, Default)]
pub(crate) struct Drops(Vec<LostPacket>);

impl Probe for Drops {
    fn copy(&self) -> Box<dyn Probe> {
        Box::new(self.clone())
    }

    fn follows_packets(&self) -> bool {
        false
    }

    fn see(&mut self, view: &dyn View, port: PortId, sight: Sight) {
        let Sight::Lost(id, why) = sight else { return };
        let packet = view.packet(id);
        self.0.push(LostPacket {
            time_ps: view.now(),
            port: view.port_ref(port),
            why,
            flow_id: (packet.flow != FlowId::NONE).then_some(packet.flow.0),
            packet: packet.kind,
            seq: packet.seq,
            wire_bytes: packet.wire.into(),
            class: view.world().classes.priority(packet.class),
            queued_bytes: view.port(port).queued,
        });
    }

    fn close(self: Box<Self>, _: &dyn View) -> Table {
        Table::new(self.0)
    }
}
