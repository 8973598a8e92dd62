//! State of a connection: sender and receiver.

use paceline_congestion::nscc::window::Window;
use paceline_congestion::rccc::pacer::Wishes;

use super::counters::Finish;
use super::packet::Ends;
use super::parts::{Messages, Sleek};
use super::records::{AckedBits, Records};
use super::schedule::NONE;

/// Retransmission timer of a sender.
#[derive(Clone, Copy)]
pub(super) struct Timer {
    pub(super) running: bool,
    /// Send time of the packet that the timer waits for, ps; `u64::MAX` if none.
    pub(super) reference: u64,
    pub(super) expiry: u64,
    /// Node of the timer's event in the schedule; `NONE` if it has none.
    pub(super) node: u32,
}

/// Packets of a flow, counted by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Packed {
    pub(super) new: u64,
    pub(super) again: u64,
    pub(super) requests: u32,
    pub(super) acks: u64,
    pub(super) nacks: u64,
    pub(super) pulls: u64,
    pub(super) timeouts: u64,
}

/// State of the sending end.
#[derive(Clone)]
pub(super) struct Conn {
    pub(super) src: u32,
    pub(super) dst: u32,
    /// Flow id of the data direction.
    pub(super) flow: u32,
    /// Payload of the whole flow, bytes.
    pub(super) size: i64,
    pub(super) started: Option<u64>,
    pub(super) finish: Option<Finish>,
    /// Index of the trigger that the flow's end activates.
    pub(super) then: Option<u32>,

    /// Wire bytes never sent yet (`backlog`), and lost and to be retransmitted (`again`).
    pub(super) backlog: i64,
    pub(super) again: i64,
    pub(super) in_flight: i64,
    pub(super) credit: i64,
    /// Credit granted so far, quanta.
    pub(super) pull: u64,
    pub(super) target: u64,
    pub(super) next_seq: u32,
    /// True until the first feedback arrives; packets are speculative so long.
    pub(super) speculating: bool,
    /// True while it waits for its turn at the NIC.
    pub(super) blocked: bool,
    pub(super) last_received: u64,
    pub(super) last_request: u64,
    pub(super) records: Records,
    pub(super) timer: Timer,
    pub(super) nscc: Window,
    pub(super) packets: Packed,
    pub(super) sleek: Sleek,
    pub(super) messages: Option<Box<Messages>>,
}

impl Conn {
    pub(super) fn new(ends: Ends, size: i64, nscc: Window) -> Self {
        let Ends { flow, src, dst, .. } = ends;
        Self {
            src,
            dst,
            flow,
            size,
            started: None,
            finish: None,
            then: None,
            backlog: 0,
            again: 0,
            in_flight: 0,
            credit: 0,
            pull: 0,
            target: 0,
            next_seq: 0,
            speculating: true,
            blocked: false,
            last_received: 0,
            last_request: 0,
            records: Records::default(),
            timer: Timer {
                running: false,
                reference: u64::MAX,
                expiry: u64::MAX,
                node: NONE,
            },
            nscc,
            packets: Packed::default(),
            sleek: Sleek::default(),
            messages: None,
        }
    }

    /// Returns the connection's name in the simulator's output.
    pub(super) fn name(&self) -> String {
        format!("Uec_{}_{}", self.src, self.dst)
    }
}

/// State of the receiving end.
#[derive(Clone, Default)]
pub(super) struct Sink {
    /// Next sequence number expected in order.
    pub(super) expected: u32,
    pub(super) held: AckedBits,
    pub(super) out_of_order: u32,
    /// Wire bytes of data received, without duplicates.
    pub(super) received: u64,
    /// Bytes since the last ACK. It wraps as the simulator's 16-bit counter does.
    pub(super) accepted: u16,
    pub(super) payload: u64,
    /// True if an ACK is due as soon as no packet is missing.
    pub(super) owes_ack: bool,
    pub(super) wishes: Wishes,
    /// Entropy value of the last pull.
    pub(super) pull_ev: u8,
}
