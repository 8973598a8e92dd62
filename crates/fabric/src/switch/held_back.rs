//! PCN: marks that spare packets which were paused. Its receivers' reports are in [`crate::host::reports`].

use paceline_congestion::SwitchPart;

use crate::core::Core;
use crate::core::packet::NONE;
use crate::core::port::STRICT;
use crate::run::simulation::Simulation;
use crate::spec::RunSpec;
use crate::switch::Switches;
use crate::switch::qcn::takes_part;
use crate::world::World;

/// Packets of each (port, class) that were held back by a pause and have not left; empty where marks
/// do not ask for it.
pub(crate) fn held_back(spec: &RunSpec, queues: usize) -> Vec<u32> {
    let asked = |part: Option<SwitchPart>| part == Some(SwitchPart::NonPausedEcn);
    let any = spec
        .schemes
        .iter()
        .any(|scheme| asked(scheme.config.switch_part()));
    vec![0; if any { queues } else { 0 }]
}

impl Core {
    /// Packets of a queue.
    pub(crate) fn queue_length(&self, slot: usize) -> u32 {
        let (mut count, mut next) = (0, self.queues[slot].head);
        while next != NONE {
            count += 1;
            next = self.packets.get(next).next;
        }
        count
    }
}

impl Switches {
    /// A pause of a port's class has ended: what is in the queue now was held back by it.
    #[inline]
    pub(crate) fn count_held_back(&mut self, world: &World, core: &Core, port: u32, class: u8) {
        if !self.held_back.is_empty()
            && takes_part(world.spec.switch.assist, &core.ports[port as usize], &core.ports)
        {
            let slot = port as usize * core.class_count + usize::from(class);
            self.held_back[slot] = core.queue_length(slot);
        }
    }

    /// Whether the packet that leaves a port's class now was held back by a pause.
    #[inline(never)]
    pub(crate) fn was_held_back(&mut self, core: &Core, port: u32, class: u8) -> bool {
        let held = &mut self.held_back[port as usize * core.class_count + usize::from(class)];
        let was = *held > 0;
        *held -= u32::from(was);
        was
    }

    /// What waited in a port's queues is lost.
    pub(crate) fn forget_held_back(&mut self, core: &Core, port: u32) {
        if !self.held_back.is_empty() {
            let first = port as usize * core.class_count;
            self.held_back[first..first + core.class_count].fill(0);
        }
    }
}

impl Simulation {
    /// No more packets were held back than wait.
    pub(crate) fn verify_held_back(&self) {
        for (slot, &held) in self.switches.held_back.iter().enumerate() {
            let class = (slot % self.core.class_count) as u8;
            assert!(
                held == 0 || class > STRICT && held <= self.core.queue_length(slot),
                "queue {slot}: {held} packets were held back"
            );
        }
    }
}
