//! Merging of the switches of a run's parts ([`crate::run::cut`]).

use crate::core::Core;
use crate::switch::Switches;
use crate::switch::pint::PintPorts;
use crate::switch::spread::Spreading;

impl Switches {
    /// Takes over the switches of another part.
    pub(crate) fn take_over(&mut self, other: &mut Self, core: &Core) {
        for (id, port) in core.ports.numbered() {
            if port.is_host || !core.has(port.node) {
                continue;
            }
            self.mark_rng.take_over(&other.mark_rng, id);
            self.assists.exchange(&mut other.assists, id);
            if let (Some(mine), Some(theirs)) = (&mut self.ties, &mut other.ties) {
                mine.exchange(theirs, id);
            }
            if let (Some(mine), Some(theirs)) = (&mut self.telemetry.pint, &mut other.telemetry.pint) {
                PintPorts::exchange(mine, theirs, id);
            }
            // Once per switch: a second exchange would undo the first.
            if port.index == 0 {
                let switch = port.switch();
                self.buffers.exchange(&mut other.buffers, switch);
                Spreading::exchange(&mut self.spreading, &mut other.spreading, switch);
            }
        }
        if let (Some(mine), Some(theirs)) = (&mut self.ties, &mut other.ties) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.watchdog, &mut other.watchdog) {
            mine.take_over(theirs);
        }
    }
}
