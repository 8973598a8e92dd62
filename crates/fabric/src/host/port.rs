//! What a host's port keeps: its queue pairs, whose turn it is, and when to wake up.

use crate::ids::{PortId, QpId};

/// Up to so many queue pairs of a NIC are looked through at every packet to save an event.
pub(super) const FEW_QPS: usize = 8;

/// The sending half of one host port.
#[derive(Clone, Debug)]
pub(super) struct Nic {
    pub(super) port: PortId,
    /// Queue pairs, in round-robin order.
    pub(super) qps: Vec<QpId>,
    /// Place in `qps` of the one served last.
    pub(super) served: usize,
    /// Time of the pending wake-up; `u64::MAX` for none.
    pub(super) wake_at: u64,
    pub(super) wake_generation: u32,
    /// When many queue pairs may go.
    pub(super) crowd: Crowd,
}

impl Nic {
    pub(super) fn new(port: PortId) -> Self {
        Self {
            port,
            qps: Vec::new(),
            served: 0,
            wake_at: u64::MAX,
            wake_generation: 0,
            crowd: Crowd::default(),
        }
    }
}

/// When the queue pairs of a NIC may go.
#[derive(Clone, Debug, Default)]
pub(super) struct Crowd {
    /// In the order of [`Nic::qps`], pauses apart; [`NEVER`] for what something else than pacing keeps
    /// back. Empty where it is not known.
    pub(super) due: Vec<u64>,
    /// Nothing may go before this.
    pub(super) soonest: u64,
    /// A bit for each class that they have, or had.
    pub(super) classes: u16,
}

/// See [`Crowd::due`].
pub(super) const NEVER: u64 = u64::MAX;

impl Crowd {
    /// The queue pairs of the NIC are others now.
    pub(super) fn forget(&mut self) {
        self.due.clear();
    }

    /// The one at `place` is no more; whether those after it have other places now.
    pub(super) fn remove(&mut self, place: usize) -> bool {
        let known = !self.due.is_empty();
        if known {
            self.due.remove(place);
        }
        known
    }
}
