//! Triggers, which start flows when others end.

use super::counters::{Line, LogLine};
use super::sim::Sim;
use super::spec::TriggerKind;

impl Sim {
    /// Activates the trigger of a flow that has ended.
    pub(super) fn fire(&mut self, trigger: u32) {
        let at = self.now();
        let own = &mut self.triggers[trigger as usize];
        let (id, targets) = (own.id, own.targets.len());
        own.activations += 1;
        let most = match own.kind {
            TriggerKind::OneShot => 1,
            TriggerKind::MultiShot => u32::MAX,
            TriggerKind::Barrier(count) => count,
        };
        if own.activations > most {
            self.stop(format!(
                "trigger {id} is activated after it has started its connections"
            ));
            return;
        }
        if targets == 0 && own.kind != TriggerKind::MultiShot {
            self.stop(format!(
                "trigger {id} is activated and has no connection to start"
            ));
            return;
        }
        let what = match own.kind {
            TriggerKind::MultiShot => match own.targets.get(own.activations as usize - 1) {
                Some(target) => {
                    self.pending.push(*target);
                    LogLine::Fired("Multishot Trigger", id, targets)
                }
                None => LogLine::NoneLeft,
            },
            _ if own.activations < most => LogLine::Waiting(id, most - own.activations),
            _ => {
                self.pending.extend(&own.targets);
                LogLine::Fired("Trigger", id, targets)
            }
        };
        self.lines.push(Line { at, what });
    }

    /// Starts a flow whose trigger has fired.
    pub(super) fn activate(&mut self, flow: u32) {
        self.say(LogLine::Activate(flow));
        self.start(flow);
    }

    pub(super) fn say(&mut self, what: LogLine) {
        let at = self.now();
        self.lines.push(Line { at, what });
    }
}
