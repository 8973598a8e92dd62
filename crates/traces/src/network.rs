//! What carries the messages of a job: the packet network or a cost model.

use paceline_kernel::Time;

use crate::program::Rank;

/// A message of a job under way: a number that is used again after it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u32);

/// A message that leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// By which the network tells what becomes of it.
    pub id: MessageId,
    /// Sender.
    pub from: Rank,
    /// Receiver, another rank.
    pub to: Rank,
    /// NIC of the sender.
    pub from_nic: u8,
    /// NIC of the receiver.
    pub to_nic: u8,
    /// Payload bytes, at least one.
    pub bytes: u64,
    /// What it belongs to, for results: a label that the executor has made known.
    pub label: u32,
}

/// What carries messages, and the clock.
///
/// What it is asked for happens later, never within the call: it then calls the executor's `sent`, `received`,
/// `acknowledged`, `woken`, each at its time.
pub trait Network {
    /// The time.
    fn now(&self) -> Time;

    /// Calls `woken` with this token at this time, which may be now. Of several calls for the same time the first asked
    /// for comes first.
    fn wake(&mut self, at: Time, token: u64);

    /// A message leaves. Its last packet has left (`sent`), its last byte has arrived in order (`received`), and its sender
    /// knows that it has arrived whole (`acknowledged`): each is told once, in this order or at the same time. A network that
    /// does not know when the last packet has left need not tell: what has arrived has left.
    fn send(&mut self, message: Message);
}
