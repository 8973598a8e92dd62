//! Records of credits: samples, how often ports waited for credits, and the cause of each wait.

use paceline_kernel::Span;

use crate::core::Core;
use crate::ids::PortId;
use paceline_run::outcome::credits::Stalls;

impl Core {
    /// Takes the credit samples that are due before the event at `at`.
    pub(crate) fn sample_credits(&mut self, at: u64, is_over: bool) {
        let Some(links) = self.credits.as_deref() else {
            return;
        };
        let recorder = &mut self.watch.recorder.credits;
        while recorder.due() <= at {
            recorder.sample(is_over, |port, class, _| u64::from(links.sendable((port, class))));
        }
    }

    /// Returns true if a lane of a port has sent a packet.
    pub(crate) fn has_used(&self, port: PortId, class: u8) -> bool {
        (self.credits.as_ref()).is_some_and(|links| links.lanes[(port, class)].used)
    }

    /// Returns how often lanes had a packet and no credit for it. Its time is that of all pauses.
    pub(crate) fn stalls(&self) -> Stalls {
        self.credits
            .as_ref()
            .map_or_else(Stalls::default, |links| Stalls {
                count: links.stalls,
                time: Span::from_ps(self.counters.paused_ps),
            })
    }

    /// Removes and returns a port and lane whose wait is to be explained by the other end, if there is one.
    #[inline(always)]
    pub(crate) fn take_unexplained(&mut self) -> Option<(PortId, u8)> {
        self.links_mut().unexplained.pop()
    }
}
