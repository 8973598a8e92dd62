//! Interface to the network of a job: the packet network or a cost model.

use paceline_kernel::Time;

use crate::program::Rank;

/// Number of a message in flight, which is reused after its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u32);

/// Message at its departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Number by which the network reports its progress.
    pub id: MessageId,
    /// Rank that sends it.
    pub from: Rank,
    /// Receiving rank, different from the sender.
    pub to: Rank,
    /// NIC of the sender.
    pub from_nic: u8,
    /// NIC of the receiver.
    pub to_nic: u8,
    /// Channel of its collective: the ring, or the part of the data that has messages of its own. 0 for messages
    /// between two ranks.
    pub channel: u32,
    /// Size of the payload in bytes, at least one.
    pub bytes: u64,
    /// Label of its collective in results, which the executor knows.
    pub label: u32,
}

/// Network that carries messages, and its clock.
///
/// Requests take effect later, never within the call: the network then calls the executor's `sent`, `received`,
/// `acknowledged` and `woken` at their times.
pub trait Network {
    /// Returns the current time.
    fn now(&self) -> Time;

    /// Schedules a call of `woken` with this token at this time, which may be now. Calls for the same time happen in
    /// the order of the requests.
    fn wake(&mut self, at: Time, token: u64);

    /// Sends a message. The network reports the departure of its last packet (`sent`), the arrival of its last byte
    /// in order (`received`), and the acknowledgement at its sender (`acknowledged`), each once, in this order or at
    /// the same time. A network that does not know the departure may omit it: a message that has arrived has left.
    fn send(&mut self, message: Message);
}
