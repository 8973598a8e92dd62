//! What a host's port keeps: its queue pairs, whose turn it is, and when to wake up.

use crate::host::crowd::Crowd;
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
    /// The same for each lane of a port under credits, as far as they have sent: each has a round robin of its own.
    pub(super) served_of_lane: Vec<usize>,
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
            served_of_lane: Vec::new(),
            wake_at: u64::MAX,
            wake_generation: 0,
            crowd: Crowd::default(),
        }
    }
}
