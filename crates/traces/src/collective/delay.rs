//! Delays of stages, by the rules of collectives.

use super::plan::Stage;
use super::{CollectiveRules, Processing};
use crate::program::CollectiveKind;

impl Stage {
    /// Returns the delay of the stage in ns, before its messages are handed over or, if it has none, before the member
    /// completes. `number` is the stage's; `before` counts the member's earlier sends in its ring. `cycle` is the
    /// collective's and `toggle` the member's: see [`Processing::Fixed`].
    pub(crate) fn delay_ns(
        self,
        rules: &CollectiveRules,
        kind: CollectiveKind,
        (number, before): (u32, u32),
        cycle: u32,
        toggle: &mut bool,
    ) -> u64 {
        let delays = &rules.delays;
        let processing = match delays.processing {
            Processing::None => 0,
            Processing::Memory { bytes_per_ns } => self.reduces.map_or(0, |bytes| {
                let pass = (bytes as f64 / bytes_per_ns) as u64;
                pass.saturating_mul(3).saturating_mul(u64::from(self.needs))
            }),
            Processing::Fixed { ns } => {
                let counts = match kind {
                    CollectiveKind::ReduceScatter => true,
                    CollectiveKind::AllReduce => *toggle,
                    _ => false,
                };
                if self.sends == 0 {
                    0
                } else if before.is_multiple_of(cycle.max(1)) {
                    *toggle = !*toggle;
                    0
                } else if counts {
                    ns
                } else {
                    0
                }
            }
        };
        let fixed = match (number, self.sends) {
            (_, 0) => delays.last_ns,
            (0, _) => delays.first_ns,
            _ => delays.next_ns,
        };
        fixed.saturating_add(processing)
    }
}
