//! Triggers: flows that start when others end.

use super::counters::{Line, Said};
use super::sim::Sim;
use super::spec::TriggerKind;

impl Sim {
    /// A flow has ended that activates a trigger.
    pub(super) fn fire(&mut self, trigger: u32) {
        let at = self.now();
        let own = &mut self.triggers[trigger as usize];
        let (id, targets) = (own.id, own.targets.len());
        own.activations += 1;
        let what = match own.kind {
            TriggerKind::OneShot if own.activations > 1 => return,
            TriggerKind::OneShot => {
                self.pending.extend(&own.targets);
                Said::Fired("Trigger", id, targets)
            }
            TriggerKind::MultiShot => {
                self.pending.extend(own.targets.get(own.activations as usize - 1));
                Said::Fired("Multishot Trigger", id, targets)
            }
            TriggerKind::Barrier(count) if own.activations < count => {
                Said::Waiting(id, count - own.activations)
            }
            TriggerKind::Barrier(count) if own.activations > count => return,
            TriggerKind::Barrier(_) => {
                self.pending.extend(&own.targets);
                Said::Fired("Trigger", id, targets)
            }
        };
        self.lines.push(Line { at, what });
    }

    /// A flow's trigger has fired.
    pub(super) fn activate(&mut self, flow: u32) {
        self.say(Said::Activate(flow));
        self.start(flow);
    }

    pub(super) fn say(&mut self, what: Said) {
        let at = self.now();
        self.lines.push(Line { at, what });
    }
}
