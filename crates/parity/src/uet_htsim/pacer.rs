//! RCCC, the receiver-credit congestion control of Ultra Ethernet: the pacer of one host, and the credit of one flow.
//!
//! A sender says in each packet up to where it wants to send, in quanta of 256 bytes: its pull target. The receiving host
//! grants 64 quanta at a time to the flows that want some, in turn, at just under the rate of its link. While no flow wants
//! any, it grants a little ahead, up to a window per flow. This is the behaviour of uet-htsim at 40ccb05.

use std::collections::VecDeque;

/// Bytes of a quantum.
pub(super) const QUANTUM: i64 = 256;
/// Quanta of a grant.
const GRANT: u64 = 64;
/// Where targets and grants start, quanta.
pub(super) const FIRST: u64 = 100_000_000;

/// Time of a quantum at 99 % of a rate (bit/s), ps.
pub(super) fn quantum_time(rate: u64) -> u64 {
    (((8.0 * QUANTUM as f64 * 1e12) / rate as f64) / 0.99) as u64
}

/// What a receiver knows of a flow's wishes.
#[derive(Clone, Debug)]
pub(super) struct Wishes {
    highest: u64,
    latest: u64,
    /// Whether it stands among the active flows.
    in_pull: bool,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            highest: FIRST,
            latest: FIRST,
            in_pull: false,
        }
    }
}

impl Wishes {
    /// A packet carries a pull target. Returns whether the flow is to be put among the active ones.
    #[inline]
    pub(super) fn raise(&mut self, target: u64) -> bool {
        if target <= self.highest {
            return false;
        }
        self.highest = target;
        self.ask()
    }

    /// Something was trimmed or requested. Returns whether the flow is to be put among the active ones.
    #[inline]
    pub(super) fn ask(&mut self) -> bool {
        !std::mem::replace(&mut self.in_pull, true)
    }

    fn demand(&self) -> u64 {
        self.highest.saturating_sub(self.latest)
    }

    fn slow(&self) -> u64 {
        self.latest.saturating_sub(self.highest)
    }
}

/// What a pacer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pull {
    pub(super) flow: u32,
    /// Everything up to this quantum is granted.
    pub(super) number: u64,
    /// Quanta after which the next pull is due.
    pub(super) quanta: u64,
}

/// The pacer of a host.
#[derive(Clone, Debug, Default)]
pub(super) struct Pacer {
    active: VecDeque<u32>,
    /// Flows that may get credit ahead; a flow may stand here several times.
    idle: VecDeque<u32>,
    on: bool,
}

impl Pacer {
    /// A flow wants credit. Returns whether the pacer was off: its event is to be scheduled at once.
    pub(super) fn request(&mut self, flow: u32) -> bool {
        self.active.push_back(flow);
        !std::mem::replace(&mut self.on, true)
    }

    /// The next pull, if any flow waits for one. `ahead` is how much may be granted ahead, bytes.
    pub(super) fn next<'a>(
        &mut self,
        ahead: i64,
        wishes: impl FnOnce(u32) -> &'a mut Wishes,
    ) -> Option<Pull> {
        if let Some(flow) = self.active.pop_front() {
            let own = wishes(flow);
            let before = own.latest;
            own.latest += GRANT;
            if own.latest > own.highest {
                own.latest = own.highest.max(before);
            }
            if own.demand() > 0 {
                self.active.push_back(flow);
            } else {
                self.idle.push_back(flow);
                own.in_pull = false;
            }
            let granted = own.latest - before;
            return Some(Pull {
                flow,
                number: own.latest,
                quanta: if granted == 0 { 4 } else { granted },
            });
        }
        let Some(flow) = self.idle.pop_front() else {
            self.on = false;
            return None;
        };
        let own = wishes(flow);
        own.in_pull = false;
        own.latest += GRANT;
        if own.demand() == 0 && (own.slow() as i64) < ahead / QUANTUM {
            self.idle.push_back(flow);
        }
        Some(Pull {
            flow,
            number: own.latest,
            quanta: GRANT,
        })
    }
}

/// What a sender's pull target is made of, bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backlog {
    /// To be sent, and to be sent again.
    pub(super) bytes: i64,
    /// The window, if the sender has a congestion control, too.
    pub(super) window: Option<i64>,
    /// The largest window of the network.
    pub(super) most: i64,
    pub(super) credit: i64,
    /// A packet's size if one is to be asked for at least.
    pub(super) least: Option<i64>,
    /// Flows that wait for the NIC.
    pub(super) waiting: usize,
    /// Granted so far, quanta.
    pub(super) pull: u64,
}

impl Backlog {
    /// The pull target, quanta.
    #[inline]
    pub(super) fn target(self) -> u64 {
        let mut bytes = self.bytes;
        if let Some(window) = self.window {
            bytes = bytes.min(window);
        }
        bytes = bytes.min(self.most) - self.credit;
        if let Some(least) = self.least {
            bytes = bytes.max(least);
        }
        if self.waiting > 1 {
            bytes /= self.waiting as i64;
        }
        ((bytes + QUANTUM * self.pull as i64 + 255) / QUANTUM) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quanta_take_their_time() {
        let times = [100, 200, 400, 800].map(|rate| quantum_time(rate * 1_000_000_000));
        assert_eq!(times, [20_686, 10_343, 5171, 2585]);
    }

    #[test]
    fn flows_that_want_credit_take_turns_and_then_get_some_ahead() {
        let mut flows = [Wishes::default(), Wishes::default()];
        let mut pacer = Pacer::default();
        assert!(flows[0].raise(FIRST + 100) && pacer.request(0));
        assert!(flows[1].raise(FIRST + 64) && !pacer.request(1));
        let mut pull = || {
            let mut made = None;
            let next = pacer.next(64 * QUANTUM, |flow| {
                made = Some(flow);
                &mut flows[flow as usize]
            });
            next.map(|pull| (pull.flow, pull.number - FIRST, pull.quanta))
        };
        assert_eq!(pull(), Some((0, 64, 64)));
        assert_eq!(pull(), Some((1, 64, 64)));
        assert_eq!(pull(), Some((0, 100, 36)));
        // Ahead: as much as the window.
        assert_eq!(pull(), Some((1, 128, 64)));
        assert_eq!(pull(), Some((0, 164, 64)));
        assert_eq!(pull(), None);
    }
}
