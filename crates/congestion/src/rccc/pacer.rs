//! Who is granted what by a receiving host, and when.
//!
//! A sender says in each packet up to where it wants to send, in quanta of 256 bytes: its target. The receiving host grants
//! 64 quanta at a time to the flows that want some, in turn, at just under the rate of its link. While no flow wants any, it
//! grants a little ahead, up to a window per flow.

use std::collections::VecDeque;

/// Bytes of a quantum.
pub const QUANTUM: i64 = 256;
/// Quanta of a grant.
const GRANT: u64 = 64;
/// Where targets and grants start, in quanta.
pub const FIRST: u64 = 100_000_000;

/// Time of a quantum at 99 % of a rate (bit/s), ps.
pub fn quantum_time(rate: u64) -> u64 {
    (((8.0 * QUANTUM as f64 * 1e12) / rate as f64) / 0.99) as u64
}

/// What a receiver knows of a flow's wishes.
#[derive(Clone, Debug)]
pub struct Wishes {
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
    /// A packet carries a target. Returns whether the flow is to be put among the active ones.
    #[inline]
    pub fn raise(&mut self, target: u64) -> bool {
        if target <= self.highest {
            return false;
        }
        self.highest = target;
        self.ask()
    }

    /// Something was trimmed or requested. Returns whether the flow is to be put among the active ones.
    #[inline]
    pub fn ask(&mut self) -> bool {
        !std::mem::replace(&mut self.in_pull, true)
    }

    fn demand(&self) -> u64 {
        self.highest.saturating_sub(self.latest)
    }

    fn slow(&self) -> u64 {
        self.latest.saturating_sub(self.highest)
    }
}

/// A grant that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Whose it is.
    pub flow: u32,
    /// Everything up to this quantum is granted.
    pub number: u64,
    /// Quanta after which the next grant is due.
    pub quanta: u64,
}

/// The pacer of a host.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    active: VecDeque<u32>,
    /// Flows that may get credit ahead; a flow may stand here several times.
    idle: VecDeque<u32>,
    on: bool,
}

impl Pacer {
    /// A flow wants credit. Returns whether the pacer was off: its next grant is due at once.
    pub fn request(&mut self, flow: u32) -> bool {
        self.active.push_back(flow);
        !std::mem::replace(&mut self.on, true)
    }

    /// A flow is over.
    pub fn forget(&mut self, flow: u32) {
        self.active.retain(|&other| other != flow);
        self.idle.retain(|&other| other != flow);
    }

    /// The next grant, if any flow waits for one. `ahead` is how much may be granted ahead, bytes.
    pub fn next<'a>(&mut self, ahead: i64, wishes: impl FnOnce(u32) -> &'a mut Wishes) -> Option<Pull> {
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
