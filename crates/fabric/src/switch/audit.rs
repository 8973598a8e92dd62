//! Checks of the accounts of buffers, and fingerprints of the switches' state.

use crate::core::Core;
use crate::core::port::{ClassQueue, Port};
use crate::core::print::{Part, StateHash};
use crate::ids::{PortId, SwitchId};
use crate::switch::Switches;
use crate::switch::shared_buffer::{BufferRules, SwitchBuffer};
use crate::world::World;
use crate::world::classes::STRICT;
use paceline_kernel::ids::{Grid, List};

/// Buffers of switches after all packets have left except those that wait behind certain ports.
pub(crate) struct Drained<'a> {
    rules: &'a BufferRules,
    buffers: List<SwitchId, SwitchBuffer>,
    queues: Grid<PortId, ClassQueue>,
}

impl Drained<'_> {
    /// Returns true if the pause that `port` has requested could end.
    pub(crate) fn may_resume(&self, world: &World, id: PortId, port: &Port, class: u8) -> bool {
        let (buffer, queue) = (&self.buffers[port.switch()], &self.queues[(id, class)]);
        let shift = world.profiles[port.profile].shift;
        self.rules.may_resume(buffer, queue, shift)
    }
}

impl Switches {
    /// Returns the buffers as they are once all has left but `held` bytes of each ingress port and class.
    pub(crate) fn drained(&self, core: &Core, held: &Grid<PortId, u32>) -> Drained<'_> {
        let (mut buffers, mut queues) = (self.buffers.clone(), core.queues.clone());
        for (id, port) in core.ports.numbered().filter(|(_, port)| !port.is_host) {
            for class in STRICT + 1..core.class_count() as u8 {
                let queue = &mut queues[(id, class)];
                // All other bytes count as gone: a pause that could not end even then never will.
                let leaves = (queue.ingress + queue.headroom).saturating_sub(held[(id, class)]);
                self.rules.release(&mut buffers[port.switch()], queue, leaves);
            }
        }
        Drained {
            rules: &self.rules,
            buffers,
            queues,
        }
    }

    /// Notes the state of switches without packets. Returns false if a buffer is in use.
    pub(crate) fn are_at_rest(&self, core: &Core, print: &mut StateHash) -> bool {
        print.begin(Part::Streams);
        self.mark_rng.note(print);
        print.begin(Part::Ports);
        // The reference's telemetry counts sent bytes in units, so the remainder matters for what packets read later.
        if let (true, Some((unit, _))) = (self.telemetry.on, self.telemetry.wire_units) {
            for port in &core.ports {
                print.note(port.tx_bytes % u64::from(unit));
            }
        }
        self.buffers.iter().all(|buffer| buffer.shared_used == 0)
    }

    /// Notes buffers and streams, or returns why they cannot be compared.
    pub(crate) fn note(&self, print: &mut StateHash) -> Result<(), &'static str> {
        if self.telemetry.on {
            return Err("packets carry telemetry");
        }
        if self.notices.is_some() {
            return Err("switches notify senders");
        }
        if self.isolation.is_some() {
            return Err("switches isolate flows");
        }
        print.begin(Part::Streams);
        self.mark_rng.note(print);
        print.begin(Part::Ports);
        for buffer in &self.buffers {
            print.note(u64::from(buffer.shared_used));
        }
        Ok(())
    }

    /// Returns true if idle switches have no state but what [`Self::are_at_rest`] notes.
    pub(crate) fn forget_what_is_over(&self) -> bool {
        self.assists.are_none()
            && self.telemetry.pint.is_none()
            && self.notices.is_none()
            && self.isolation.is_none()
            && !self.spreading.is_on()
            && self.ties.is_none()
    }

    /// Checks that what came in and has not gone out is in the queues, and that the pool counts its share.
    pub(crate) fn verify_buffers(&self, core: &Core) {
        let mut held: List<SwitchId, u64> = List::of(self.buffers.len(), 0);
        let (mut counted, mut shared) = (held.clone(), held.clone());
        for (id, port) in core.ports.numbered().filter(|(_, port)| !port.is_host) {
            let switch = port.switch();
            for queue in &core.queues.row(id)[usize::from(STRICT) + 1..] {
                held[switch] += u64::from(queue.bytes);
                counted[switch] += u64::from(queue.ingress) + u64::from(queue.headroom);
                shared[switch] += u64::from(self.rules.shared_of(queue));
            }
        }
        for switch in self.buffers.ids() {
            assert_eq!(
                held[switch], counted[switch],
                "switch {switch}: bytes held against bytes counted at ingress"
            );
            assert_eq!(
                shared[switch],
                u64::from(self.buffers[switch].shared_used),
                "switch {switch}: shared pool"
            );
        }
    }
}
