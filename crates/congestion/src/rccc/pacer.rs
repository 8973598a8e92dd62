//! Pacer of a receiving host: order, size and times of grants.
//!
//! Each packet carries its sender's target: the offset up to which it wants to send, in quanta of 256 bytes.
//! The receiving host grants 64 quanta at a time to flows with demand, round-robin, at just under the rate of
//! its link. Without demand it grants a little in advance, up to a window per flow.

use std::collections::VecDeque;

/// Bytes of a quantum.
pub const QUANTUM: i64 = 256;
/// Quanta of a grant.
const GRANT: u64 = 64;
/// Initial value of targets and grants, in quanta.
pub const FIRST: u64 = 100_000_000;

/// Returns the time of a quantum at 99 % of a rate (bit/s), in ps.
pub fn quantum_time(rate: u64) -> u64 {
    (((8.0 * QUANTUM as f64 * 1e12) / rate as f64) / 0.99) as u64
}

/// Receiver's record of a flow's demand.
#[derive(Clone, Debug)]
pub struct Wishes {
    highest: u64,
    latest: u64,
    /// True while the flow is in the list of active flows.
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
    /// Takes the target of a packet. Returns true if the flow must be added to the active ones.
    #[inline]
    pub fn raise(&mut self, target: u64) -> bool {
        if target <= self.highest {
            return false;
        }
        self.highest = target;
        self.ask()
    }

    /// Handles a trimmed packet or a request. Returns true if the flow must be added to the active ones.
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

/// Grant and its pacing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Flow that receives the grant.
    pub flow: u32,
    /// Quantum up to which everything is granted.
    pub number: u64,
    /// Quanta after which the next grant is due.
    pub quanta: u64,
}

/// Pacer of a host.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    active: VecDeque<u32>,
    /// Flows that may get credit in advance; a flow may occur several times.
    idle: VecDeque<u32>,
    on: bool,
}

impl Pacer {
    /// Adds a flow with demand. Returns true if the pacer was idle: its next grant is then due at once.
    pub fn request(&mut self, flow: u32) -> bool {
        self.active.push_back(flow);
        !std::mem::replace(&mut self.on, true)
    }

    /// Removes a flow that is complete.
    pub fn forget(&mut self, flow: u32) {
        self.active.retain(|&other| other != flow);
        self.idle.retain(|&other| other != flow);
    }

    /// Returns the next grant, if a flow waits for one. `ahead` bounds the credit in advance, in bytes.
    pub fn next<'a>(&mut self, ahead: i64, wishes: impl FnOnce(u32) -> &'a mut Wishes) -> Option<Pull> {
        if let Some(flow) = self.active.pop_front() {
            let own = wishes(flow);
            let before = own.latest;
            own.latest += GRANT;
            // A grant ends at the target, but is never taken back if credit in advance exceeded it.
            if own.latest > own.highest {
                own.latest = own.highest.max(before);
            }
            // Flows with demand take turns.
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
        // Credit in advance lets a flow with new data start without a request, but must stay bounded.
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
