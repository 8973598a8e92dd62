//! What is told of credits: samples, how often ports waited for some, and behind what.

use paceline_kernel::Span;

use crate::core::Core;
use crate::ids::PortId;
use paceline_run::outcome::credits::Stalls;

impl Core {
    /// Takes the samples of credits that are due before the event at `at`.
    pub(crate) fn sample_credits(&mut self, at: u64, is_over: bool) {
        let Some(links) = self.credits.as_deref() else {
            return;
        };
        let recorder = &mut self.watch.recorder.credits;
        while recorder.due() <= at {
            recorder.sample(is_over, |port, class, _| {
                u64::from(links.available(&links.lanes[(port, class)]))
            });
        }
    }

    /// Whether a lane of a port has ever sent anything.
    pub(crate) fn has_used(&self, port: PortId, class: u8) -> bool {
        (self.credits.as_ref()).is_some_and(|links| links.lanes[(port, class)].used)
    }

    /// How often lanes had a packet and no credit for it; the time is that of all pauses.
    pub(crate) fn stalls(&self) -> Stalls {
        self.credits
            .as_ref()
            .map_or_else(Stalls::default, |links| Stalls {
                count: links.stalls,
                time: Span::from_ps(self.counters.paused_ps),
            })
    }

    /// A port and a lane of which somebody wants to know behind what their packets stand at the other end, if any.
    #[inline(always)]
    pub(crate) fn take_unexplained(&mut self) -> Option<(PortId, u8)> {
        self.links_mut().unexplained.pop()
    }
}
